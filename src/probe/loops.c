/* Looking for jumps to a function's first instruction. Nearly no function has one, so its bytes are
 * first compared with what such a jump would be, at every offset; only where one matches is the
 * function decoded. */
#include "probe/loops.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "probe/insn.h"

enum { LARGEST = 1 << 20 };

/* Code of a function, or of the part split off from it. */
struct code {
	uint8_t *bytes;
	size_t size;
	int64_t start; /* address, as that of the symbols */
};

static void code_release(struct code *c)
{
	free(c->bytes);
}

/* Code that is too large or cannot be read is empty. */
static int code_read(const struct fsc_exits_file *f, const struct fsc_sym *sym, struct code *c,
		     struct fsc_err *err)
{
	if (!sym->size || sym->size > LARGEST)
		return 0;
	c->bytes = malloc(sym->size);
	if (!c->bytes)
		return fsc_err_nomem(err);
	c->size = fsc_elf_read(f->elf, sym->offset, c->bytes, sym->size);
	c->start = (int64_t)sym->addr;
	return 0;
}

#ifdef __x86_64__
/* Whether a short jump to `to`, counted from the code's start, may be there. */
static bool has_short_jump(const struct code *c, int64_t to)
{
	int64_t first = to < 126 ? 0 : to - 126, last = to + 129;

	for (int64_t at = first; at <= last && at + 2 <= (int64_t)c->size; at++)
		if ((c->bytes[at] == 0xeb || (c->bytes[at] & 0xf0) == 0x70) &&
		    at + 2 + (int8_t)c->bytes[at + 1] == to)
			return true;
	return false;
}

static bool has_near_jump(const struct code *c, int64_t to)
{
	for (size_t at = 1; at + 4 <= c->size; at++) {
		uint8_t before = c->bytes[at - 1];
		uint32_t distance;

		memcpy(&distance, c->bytes + at, sizeof(distance));
		if (distance + (uint32_t)at + 4 != (uint32_t)to)
			continue;
		if (before == 0xe9 ||
		    (at >= 2 && c->bytes[at - 2] == 0x0f && (before & 0xf0) == 0x80))
			return true;
	}
	return false;
}

/* Code that cannot be decoded counts as a jump: the bytes looked like one. */
static bool has_decoded_jump(const struct code *c, int64_t to)
{
	for (size_t at = 0; at < c->size;) {
		const struct fsc_insn in = fsc_insn_decode(c->bytes + at, c->size - at);
		int64_t jump = in.flow == FSC_FLOW_JUMP ? in.to
			       : in.flow == FSC_FLOW_ON ? in.also
							: 0;

		if (!in.length || (jump && (int64_t)at + jump == to))
			return true;
		at += in.length;
	}
	return false;
}

static bool has_jump(const struct code *c, int64_t to)
{
	return (has_short_jump(c, to) || has_near_jump(c, to)) && has_decoded_jump(c, to);
}

static bool begins_with_endbr(const struct code *c)
{
	return fsc_insn_decode(c->bytes, c->size).endbr;
}
#else
/* The distance of a jump in bytes, 0 for any other instruction. */
static int64_t jump_distance(uint32_t w)
{
	if (w >> 26 == 5) /* b */
		return (int64_t)(int32_t)(w << 6) >> 4;
	if (w >> 24 == 0x54 || (w & 0x7e000000) == 0x34000000) /* b.cond, cbz, cbnz */
		return (int64_t)(int32_t)((w & 0xffffe0) << 8) >> 11;
	if ((w & 0x7e000000) == 0x36000000) /* tbz, tbnz */
		return (int64_t)(int32_t)((w & 0x7ffe0) << 13) >> 16;
	return 0;
}

static bool has_jump(const struct code *c, int64_t to)
{
	for (size_t at = 0; at + 4 <= c->size; at += 4) {
		int64_t distance;
		uint32_t w;

		memcpy(&w, c->bytes + at, sizeof(w));
		distance = jump_distance(w);
		if (distance && (int64_t)at + distance == to)
			return true;
	}
	return false;
}

static bool begins_with_endbr(const struct code *c)
{
	(void)c;
	return false;
}
#endif

static bool jumps_to(const struct code *hot, const struct code *cold, int64_t addr)
{
	return has_jump(hot, addr - hot->start) || has_jump(cold, addr - cold->start);
}

int fsc_loops_avoid(const struct fsc_exits_file *f, const struct fsc_sym *sym, struct fsc_target *t,
		    struct fsc_err *err)
{
	FSC_AUTO(code_release) struct code hot = {0};
	FSC_AUTO(code_release) struct code cold = {0};
	const struct fsc_sym *part = fsc_exits_part(f, sym);
	int64_t start = (int64_t)sym->addr;
	int rc = code_read(f, sym, &hot, err);

	if (!rc && part)
		rc = code_read(f, part, &cold, err);
	if (rc || !jumps_to(&hot, &cold, start + (int64_t)(t->body - t->offset)))
		return rc;
	t->looped = true;
	/* endbr64 is skipped only because that is cheaper. */
	if (t->body == t->offset || !begins_with_endbr(&hot) || jumps_to(&hot, &cold, start))
		return 0;
	t->body = t->offset;
	t->stepped = true;
	t->looped = false;
	return 0;
}
