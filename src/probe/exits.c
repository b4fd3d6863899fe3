/* Reading a function from its first byte to its last, instruction by instruction. A jump that
 * leaves it ends it if the stack is then as it was at entry; only the probe itself can tell, so
 * every such jump is marked "perhaps". */
#include "probe/exits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "probe/insn.h"

enum { LARGEST = 1 << 20 };

enum ending { STAYS, RETURNS, JUMPS, UNKNOWN };

#ifdef __x86_64__
static int64_t displacement(const uint8_t *p, size_t n)
{
	int32_t wide;

	if (n == 1)
		return (int8_t)p[0];
	memcpy(&wide, p, sizeof(wide));
	return wide;
}

/* What the instruction at code[at] does to the function; *len is its length, *to where it jumps,
 * counted from the function's start. */
static enum ending classify(const uint8_t *code, size_t size, size_t at, size_t *len, int64_t *to)
{
	const uint8_t *p = code + at;
	size_t i = 0;

	*len = fsc_insn_length(p, size - at);
	if (!*len)
		return UNKNOWN;
	while (i < *len && memchr("\xf2\xf3\x66\x3e", p[i], 4))
		i++;
	if (p[i] == 0xc3 || p[i] == 0xc2)
		return RETURNS;
	if (p[i] == 0xff && i + 1 < *len && (p[i + 1] & 0x38) == 0x20)
		return i && p[0] == 0x3e ? STAYS : JUMPS; /* notrack: a switch's table */
	if (p[i] != 0xe9 && p[i] != 0xeb)
		return STAYS;
	*to = (int64_t)(at + *len) + displacement(p + i + 1, *len - i - 1);
	return *to < 0 || *to >= (int64_t)size ? JUMPS : STAYS;
}
#else
static enum ending classify(const uint8_t *code, size_t size, size_t at, size_t *len, int64_t *to)
{
	uint32_t w;

	*len = 4;
	if (size - at < 4)
		return UNKNOWN;
	memcpy(&w, code + at, sizeof(w));
	if (w == 0xd65f03c0 || w == 0xd65f0bff || w == 0xd65f0fff) /* ret, retaa, retab */
		return RETURNS;
	if ((w & 0xfffffc1f) == 0xd61f0000) /* br */
		return JUMPS;
	if (w >> 26 != 5) /* b */
		return STAYS;
	*to = (int64_t)at + ((int64_t)(int32_t)(w << 6) >> 4);
	return *to < 0 || *to >= (int64_t)size ? JUMPS : STAYS;
}
#endif

/* Whether another function begins at the address; the split-off part of one does not count. */
static bool begins(const struct fsc_sym *syms, size_t n, uint64_t addr)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (syms[mid].addr < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && syms[low].addr == addr && !strstr(syms[low].name, ".cold");
}

static int add(struct fsc_vec *exits, uint64_t offset, bool perhaps, struct fsc_err *err)
{
	struct fsc_exit *x = fsc_vec_push(exits);

	if (!x)
		return fsc_err_nomem(err);
	*x = (struct fsc_exit){offset, perhaps};
	return 0;
}

struct function {
	const struct fsc_sym *sym;
	const uint8_t *code;
	const struct fsc_sym *syms; /* of the file */
	size_t n_syms;
};

/* 1: all known; 0: not; negative: memory is out. */
static int scan(const struct function *f, struct fsc_vec *exits, struct fsc_err *err)
{
	size_t at = 0, size = f->sym->size, len;

	while (at < size) {
		int64_t to = 0;
		enum ending what = classify(f->code, size, at, &len, &to);
		bool sure = what == RETURNS ||
			    (to && begins(f->syms, f->n_syms, f->sym->addr + (uint64_t)to));
		int rc = 0;

		if (what == UNKNOWN || (what != STAYS && fsc_insn_refused(f->code + at, size - at)))
			return 0;
		if (what != STAYS)
			rc = add(exits, f->sym->offset + at, !sure, err);
		if (rc)
			return rc;
		at += len;
	}
	return 1;
}

int fsc_exits_find(struct fsc_elf *e, const struct fsc_sym *sym, struct fsc_target *t,
		   struct fsc_err *err)
{
	struct fsc_vec exits = FSC_VEC_INIT(struct fsc_exit);
	FSC_AUTO(fsc_freep) uint8_t *code = NULL;
	struct function f = {.sym = sym};
	int rc;

	if (!sym->size || sym->size > LARGEST)
		return 0;
	code = malloc(sym->size);
	if (!code)
		return fsc_err_nomem(err);
	if (fsc_elf_read(e, sym->offset, code, sym->size) != sym->size)
		return 0;
	f.code = code;
	rc = fsc_elf_symbols(e, &f.syms, &f.n_syms, err);
	if (!rc)
		rc = scan(&f, &exits, err);
	if (rc <= 0) {
		fsc_vec_release(&exits);
		return rc;
	}
	t->by_insns = true;
	t->exits = exits.data;
	t->n_exits = exits.n;
	return 0;
}
