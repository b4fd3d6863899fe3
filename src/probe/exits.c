/* Reading a function from its first byte to its last, instruction by instruction, and then the part
 * that the compiler has split off from it, if there is one. A jump that leaves it ends it if the
 * stack is then as it was at entry; only the probe itself can tell, so every such jump is marked
 * "perhaps". */
#include "probe/exits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "probe/insn.h"

enum { LARGEST = 1 << 20 };

enum ending { STAYS, RETURNS, JUMPS, UNKNOWN };

/* One instruction. */
struct insn {
	size_t len;
	int64_t to;		       /* where it jumps, from the function's start; 0: not known */
	bool onward;		       /* what follows may be reached from it */
	int sum;		       /* the register it adds a register to, -1 for none */
	bool nop;		       /* does nothing */
	enum fsc_insn_verdict verdict; /* whether a uprobe may be put on it */
};

#ifdef __x86_64__
/* What the instruction at code[at] does to the function; in holds the one before. */
static enum ending classify_insn(const uint8_t *code, size_t size, size_t at, struct insn *in)
{
	const struct fsc_insn x = fsc_insn_decode(code + at, size - at);
	int sum = in->sum;

	if (!x.length)
		return UNKNOWN;
	*in = (struct insn){.len = x.length, .sum = x.sum, .verdict = x.verdict, .nop = x.nop};
	switch (x.flow) {
	case FSC_FLOW_ON:
		in->onward = true;
		return STAYS;
	case FSC_FLOW_RETURN:
		return RETURNS;
	case FSC_FLOW_INDIRECT: /* to an address that was calculated just before: a switch, too */
		return x.by >= 0 && x.by == sum ? STAYS : JUMPS;
	case FSC_FLOW_JUMP:
		in->to = (int64_t)at + x.to;
		return in->to < 0 || in->to >= (int64_t)size ? JUMPS : STAYS;
	default: /* What follows a call need not be reached: the function may never return. */
		return STAYS;
	}
}
#else
static enum ending classify_insn(const uint8_t *code, size_t size, size_t at, struct insn *in)
{
	int sum = in->sum;
	uint32_t w;

	if (size - at < 4)
		return UNKNOWN;
	memcpy(&w, code + at, sizeof(w));
	*in = (struct insn){.len = 4, .onward = true, .sum = -1, .nop = w == 0xd503201f};
	if ((w & 0xffe00000) == 0x8b200000) /* add, extended register */
		in->sum = (int)(w & 31);
	/* bl, blr, udf, brk: what follows need not be reached */
	if (w >> 26 == 0x25 || (w & 0xfffffc1f) == 0xd63f0000 || !(w >> 16) ||
	    (w & 0xffe0001f) == 0xd4200000)
		in->onward = false;
	/* ret, retaa, retab */
	if ((w & 0xfffffc1f) == 0xd65f0000 || w == 0xd65f0bff || w == 0xd65f0fff) {
		in->onward = false;
		return RETURNS;
	}
	if ((w & 0xfffffc1f) == 0xd61f0000) { /* br: after an addition, a switch's */
		in->onward = false;
		return sum == (int)(w >> 5 & 31) ? STAYS : JUMPS;
	}
	if (w >> 26 != 5) /* b */
		return STAYS;
	in->onward = false;
	in->to = (int64_t)at + ((int64_t)(int32_t)(w << 6) >> 4);
	return in->to < 0 || in->to >= (int64_t)size ? JUMPS : STAYS;
}
#endif

/* ---- parts ---- */

bool fsc_exits_is_part(const char *name)
{
	return strstr(name, ".cold") != NULL;
}

/* Two static functions of one name may each have a part: then it is unknown which is whose. */
enum { AMBIGUOUS = 0 };

static int read_parts(struct fsc_exits_file *f, struct fsc_err *err)
{
	for (size_t i = 0; i < f->n_syms; i++) {
		const char *name = f->syms[i].name, *end = strstr(name, ".cold");
		uint64_t *at;
		bool fresh;

		if (!end)
			continue;
		at = fsc_map_put(&f->parts, name, (size_t)(end - name), &fresh);
		if (!at)
			return fsc_err_nomem(err);
		*at = fresh ? i + 1 : AMBIGUOUS;
	}
	return 0;
}

int fsc_exits_open(struct fsc_exits_file *f, struct fsc_elf *e, struct fsc_err *err)
{
	int rc;

	*f = (struct fsc_exits_file){.elf = e};
	rc = fsc_elf_symbols(e, &f->syms, &f->n_syms, err);
	if (!rc)
		rc = read_parts(f, err);
	if (rc)
		fsc_exits_release(f);
	return rc;
}

void fsc_exits_release(struct fsc_exits_file *f)
{
	fsc_map_release(&f->parts);
}

const struct fsc_sym *fsc_exits_part(const struct fsc_exits_file *f, const struct fsc_sym *sym)
{
	const uint64_t *at = fsc_map_get(&f->parts, sym->name, strlen(sym->name));

	return at && *at != AMBIGUOUS ? &f->syms[*at - 1] : NULL;
}

/* Whether another function begins at the address; the split-off part of one does not count. */
static bool begins_function(const struct fsc_exits_file *f, uint64_t addr)
{
	size_t low = 0, high = f->n_syms;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (f->syms[mid].addr < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < f->n_syms && f->syms[low].addr == addr &&
	       !fsc_exits_is_part(f->syms[low].name);
}

/* ---- reading ---- */

/* A range of code to scan. */
struct code_range {
	const struct fsc_exits_file *file;
	const struct fsc_sym *sym, *other; /* other: the function's other range, NULL for none */
	struct fsc_vec *exits;
};

static int add_exit(const struct code_range *s, size_t at, bool jump, bool perhaps,
		    struct fsc_err *err)
{
	const struct fsc_exit x = {s->sym->offset + at, perhaps, jump};

	return fsc_vec_add(s->exits, &x, err);
}

static int scan_code(const struct code_range *s, const uint8_t *code, struct fsc_err *err)
{
	size_t at = 0, size = s->sym->size;
	struct insn in = {.sum = -1};
	bool onward = true;

	while (at < size) {
		enum ending what = classify_insn(code, size, at, &in);
		uint64_t to = s->sym->addr + (uint64_t)in.to;
		int rc = 0;

		if (in.to && s->other && to - s->other->addr < s->other->size)
			what = STAYS;
		/* Where a relocated jump goes is not known. */
		if ((what != STAYS || in.to) &&
		    fsc_elf_relocates(s->file->elf, s->sym->offset + at, in.len))
			return 0;
		if (what == UNKNOWN || (what != STAYS && in.verdict != FSC_INSN_FINE))
			return 0;
		if (what != STAYS)
			rc = add_exit(s, at, what == JUMPS,
				      what == JUMPS && !(in.to && begins_function(s->file, to)),
				      err);
		if (rc)
			return rc;
		if (!in.nop)
			onward = in.onward;
		at += in.len;
	}
	return !onward;
}

/* 1: all known; 0: not (code that cannot be decoded, or that runs on into the next function);
 * negative: out of memory. */
static int scan_range(const struct code_range *s, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) uint8_t *code = NULL;

	if (!s->sym->size || s->sym->size > LARGEST)
		return 0;
	code = malloc(s->sym->size);
	if (!code)
		return fsc_err_nomem(err);
	if (fsc_elf_read(s->file->elf, s->sym->offset, code, s->sym->size) != s->sym->size)
		return 0;
	return scan_code(s, code, err);
}

int fsc_exits_find(const struct fsc_exits_file *f, const struct fsc_sym *sym, struct fsc_target *t,
		   struct fsc_err *err)
{
	struct fsc_vec exits = FSC_VEC_INIT(struct fsc_exit);
	const struct fsc_sym *part = fsc_exits_part(f, sym);
	const struct code_range hot = {f, sym, part, &exits}, cold = {f, part, sym, &exits};
	int rc = scan_range(&hot, err);

	/* A part may end anywhere: in a function that does not return, or by an exception. */
	if (rc > 0 && part)
		rc = scan_range(&cold, err) < 0 ? -ENOMEM : 1;
	if (rc <= 0) {
		fsc_vec_release(&exits);
		return rc;
	}
	t->by_insns = true;
	t->exits = exits.data;
	t->n_exits = exits.n;
	return 0;
}
