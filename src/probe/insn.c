/* A look at x86-64 code: just enough to tell no-operations and cheap instructions. On other
 * machines every instruction is treated alike. */
#include "probe/insn.h"

#include <string.h>

#define PREFIXES "\x66\x2e\x36\x3e\x26\x64\x65\x67\xf2\xf3\xf0"

static size_t prefixes(const uint8_t *code, size_t n)
{
	size_t i = 0;

	while (i < n &&
	       (memchr(PREFIXES, code[i], sizeof(PREFIXES) - 1) || (code[i] & 0xf0) == 0x40))
		i++;
	return i;
}

size_t fsc_insn_operand(const uint8_t *p, size_t n)
{
	uint8_t mod, rm;
	size_t len = 1;

	if (n < 2)
		return n;
	mod = p[0] >> 6;
	rm = p[0] & 7;
	if (mod == 3)
		return len;
	if (rm == 4) {
		if (mod == 0 && (p[1] & 7) == 5)
			return len + 1 + 4;
		len++;
	}
	if (mod == 0)
		return rm == 5 ? len + 4 : len;
	return len + (mod == 1 ? 1 : 4);
}

bool fsc_insn_nop5(const uint8_t *code, size_t n)
{
	size_t at = prefixes(code, n);

	if (n < 5 || at > 4)
		return false;
	if (code[at] == 0x90)
		return at == 4;
	if (at > 2 || code[at] != 0x0f || code[at + 1] != 0x1f)
		return false;
	return at + 2 + fsc_insn_operand(code + at + 2, n - at - 2) == 5;
}

bool fsc_insn_emulated(const uint8_t *code, size_t n)
{
	size_t at = n && (code[0] & 0xf0) == 0x40; /* REX */

	if (n < 2)
		return false;
	if ((code[at] & 0xf8) == 0x50) /* push */
		return true;
	if (at)
		return false;
	return code[0] == 0x90 || code[0] == 0xe8 || code[0] == 0xe9 || code[0] == 0xeb ||
	       (code[0] & 0xf0) == 0x70 || (code[0] == 0x0f && (code[1] & 0xf0) == 0x80);
}

/* The opcodes that uprobes leave out. A vector instruction (VEX, EVEX) is judged by its own opcode
 * as if it were of the first map. */
static bool bad_opcode(uint8_t op)
{
	static const uint8_t bad[] = {
	    0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f, 0x37, 0x3f, 0x60, 0x61, 0x6c,
	    0x6d, 0x6e, 0x6f, 0x82, 0x9a, 0xcc, 0xcd, 0xce, 0xcf, 0xd4, 0xd5, 0xd6, 0xe4, 0xe5,
	    0xe6, 0xe7, 0xea, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf4, 0xfa, 0xfb,
	};

	return memchr(bad, op, sizeof(bad)) != NULL;
}

bool fsc_insn_refused(const uint8_t *code, size_t n)
{
	static const uint8_t taboo[] = {0xf0, 0x26, 0x2e, 0x36, 0x3e};
	size_t at = prefixes(code, n), payload;

	if (at >= n || fsc_insn_nop5(code, n))
		return false;
	for (size_t i = 0; i < at; i++)
		if (memchr(taboo, code[i], sizeof(taboo)))
			return true;
	payload = code[at] == 0xc5 ? 1 : code[at] == 0xc4 ? 2 : code[at] == 0x62 ? 3 : 0;
	if (payload)
		return at + payload + 1 >= n || bad_opcode(code[at + payload + 1]);
	return bad_opcode(code[at]);
}

#ifdef __x86_64__
static bool is_endbr64(const uint8_t *code, size_t n)
{
	return n >= 4 && !memcmp(code, "\xf3\x0f\x1e\xfa", 4);
}

void fsc_insn_inspect(const struct fsc_elf *e, struct fsc_target *t)
{
	uint8_t code[16];
	size_t n;

	t->body = t->offset;
	for (;;) {
		n = fsc_elf_read(e, t->body, code, sizeof(code));
		if (fsc_insn_nop5(code, n)) {
			if (!t->nop5)
				t->nop5 = t->body;
			t->body += 5;
		} else if (t->at_entry && is_endbr64(code, n)) {
			t->body += 4;
		} else {
			break;
		}
		if (t->body - t->offset > 64)
			break;
	}
	t->stepped = !fsc_insn_emulated(code, n);
	t->refused = fsc_insn_refused(code, n);
}
#else
void fsc_insn_inspect(const struct fsc_elf *e, struct fsc_target *t)
{
	(void)e;
	t->body = t->offset;
	t->stepped = true;
}
#endif

#ifdef __x86_64__
bool fsc_insn_boundary(const struct fsc_elf *e, uint64_t start, uint64_t offset, uint64_t *before,
		       uint64_t *after)
{
	uint64_t at = 0;

	*before = *after = 0;
	while (at < offset) {
		uint8_t code[16];
		size_t len = fsc_insn_length(code, fsc_elf_read(e, start + at, code, sizeof(code)));

		if (!len)
			return false;
		*before = at;
		at += len;
	}
	*after = at;
	return at == offset;
}
#else
bool fsc_insn_boundary(const struct fsc_elf *e, uint64_t start, uint64_t offset, uint64_t *before,
		       uint64_t *after)
{
	(void)e;
	(void)start;
	*before = offset & ~3ull;
	*after = *before + 4;
	return offset % 4 == 0;
}
#endif
