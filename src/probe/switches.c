/* A search for the few encodings that store the stack pointer outside the stack; what follows them
 * is decoded until something loads it, or control goes elsewhere. */
#include "probe/switches.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "probe/insn.h"

enum {
	NEAR = 128, /* bytes from the store to the load, at most */
	LONGEST = 15,
	CHUNK = 1 << 20,
};

#ifdef __x86_64__

enum { STEP = 1, SP = 4, FP = 5 };

/* A move of 64 bits, without other prefixes than REX. */
struct move {
	bool store; /* 89: from the register to the operand; else 8b, the other way */
	bool memory;
	uint8_t reg, rm; /* rm: the base in memory, NONE for an address without one */
};

enum { NONE = 16 };

static uint8_t base_of(const uint8_t *c, size_t n, uint8_t rex)
{
	uint8_t mod = c[2] >> 6, rm = c[2] & 7;

	if (rm == 4 && n > 3)
		rm = c[3] & 7;
	return rm == FP && !mod ? NONE : rm + 8 * (rex & 1);
}

static bool read_move(const uint8_t *c, size_t n, struct move *ret)
{
	if (n < 4 || (c[0] & 0xf8) != 0x48 || (c[1] != 0x89 && c[1] != 0x8b))
		return false;
	*ret = (struct move){.store = c[1] == 0x89,
			     .memory = c[2] >> 6 != 3,
			     .reg = (c[2] >> 3 & 7) + 2 * (c[0] & 4)};
	ret->rm = ret->memory ? base_of(c, n, c[0]) : (c[2] & 7) + 8 * (c[0] & 1);
	return true;
}

/* Frames keep the stack pointer on the stack: that is no other place. */
static bool stores_sp(const uint8_t *c, size_t n)
{
	struct move m;

	return read_move(c, n, &m) && m.store && m.memory && m.reg == SP && m.rm != SP &&
	       m.rm != FP;
}

/* From the frame pointer it is a function's end. */
static bool loads_sp(const uint8_t *c, size_t n)
{
	struct move m;
	uint8_t from;

	if (!read_move(c, n, &m))
		return false;
	if (m.memory)
		return !m.store && m.reg == SP;
	from = m.store ? m.reg : m.rm;
	return (m.store ? m.rm : m.reg) == SP && from != SP && from != FP;
}

static bool load_follows(const uint8_t *code, size_t n)
{
	size_t at = 0;

	while (at < n && at < NEAR) {
		struct fsc_insn in = fsc_insn_decode(code + at, n - at);

		if (loads_sp(code + at, n - at))
			return true;
		if (!in.length || (in.flow != FSC_FLOW_ON && in.flow != FSC_FLOW_CALL))
			return false;
		at += in.length;
	}
	return false;
}

static bool switch_begins(const uint8_t *code, size_t n)
{
	return code[1] == 0x89 && stores_sp(code, n) && load_follows(code, n);
}

#else

enum { STEP = 4, SP = 31, FP = 29 };

static uint32_t word_at(const uint8_t *code)
{
	uint32_t w;

	memcpy(&w, code, sizeof(w));
	return w;
}

/* str or stp of a register, to a base that is neither the stack nor the frame. */
static bool stores_register(uint32_t w, uint32_t reg)
{
	uint32_t base = w >> 5 & 31;
	bool pair = (w & 0xfe400000) == 0xa8000000;
	bool one = (w & 0xffc00000) == 0xf9000000 || (w & 0xffe00000) == 0xf8000000;

	if ((!pair && !one) || base == SP || base == FP)
		return false;
	return (w & 31) == reg || (pair && (w >> 10 & 31) == reg);
}

/* mov xN, sp; then both in any order: xN to memory, mov sp, xM. */
static bool switch_begins(const uint8_t *code, size_t n)
{
	uint32_t first = word_at(code), reg = first & 31;
	bool stored = false, loaded = false;

	if ((first & 0xffffffe0) != 0x910003e0 || reg == FP || reg == SP)
		return false;
	for (size_t at = 4; at + 4 <= n && at < NEAR && !(stored && loaded); at += 4) {
		uint32_t w = word_at(code + at);

		if ((w & 0xfffffc1f) == 0xd65f0000) /* ret */
			break;
		stored |= stores_register(w, reg);
		loaded |= (w & 0xfffffc1f) == 0x9100001f && (w >> 5 & 31) != FP;
	}
	return stored && loaded;
}

#endif

bool fsc_switches_code(const uint8_t *code, size_t n)
{
	for (size_t at = 0; at + 4 <= n; at += STEP)
		if (switch_begins(code + at, n - at))
			return true;
	return false;
}

/* In pieces that overlap by what is looked at together. */
static bool segment_switches(const struct fsc_elf *e, uint64_t offset, uint64_t size, uint8_t *buf)
{
	enum { OVERLAP = NEAR + LONGEST + 1 };

	for (uint64_t at = 0; at < size; at += CHUNK - OVERLAP) {
		size_t n = size - at < CHUNK ? (size_t)(size - at) : CHUNK;

		n = fsc_elf_read(e, offset + at, buf, n);
		if (fsc_switches_code(buf, n))
			return true;
		if (n < CHUNK)
			break;
	}
	return false;
}

bool fsc_switches_file(const struct fsc_elf *e)
{
	FSC_AUTO(fsc_freep) uint8_t *buf = malloc(CHUNK);
	uint64_t offset, size;

	for (size_t i = 0; buf && fsc_elf_code(e, i, &offset, &size); i++)
		if (segment_switches(e, offset, size, buf))
			return true;
	return false;
}
