/* The first copies of a run bring the rules for all that follow, so a few are unwound at once; the
 * more there are, the larger the batches, since a batch takes a child process. */
#include "source/copies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/map.h"
#include "dwarf/unwind.h"

enum {
	FEW = 64,		/* unwound at once */
	BATCH = 512,		/* at most */
	MOST_BYTES = 512 << 20, /* of copies that wait: leave the rest in the ring */
	MOST_PASSING = 16384,	/* stacks that one call refers to */
};

struct copy {
	struct fsc_copied_hit hit; /* without its stack */
	int32_t id;
	uint32_t flags;
	uint64_t space;
	struct fsc_unwind unwind;
	void *stack;
};

/* An unwound stack. */
struct unwound {
	pid_t pid;
	bool cut;
	uint64_t time_ns;
	size_t n;
	uint64_t *addrs; /* owned; NULL: dropped */
};

struct fsc_copies {
	struct fsc_copies_opts opts;
	struct fsc_vec waiting; /* struct copy */
	size_t bytes;		/* of these */
	struct fsc_vec unwound; /* struct unwound */
	struct fsc_vec unused;	/* size_t: places in it */
	size_t lasting;		/* stacks that later records may refer to */
	struct fsc_map by_id;	/* ID -> index + 1 */
	struct fsc_vec passing; /* int32_t: IDs that no later record refers to, the oldest first */
	struct fsc_map told;	/* struct fsc_unwind_key: rules that the kernel has */
	bool no_more_rules;
	uint64_t n_copies; /* unwound so far */
};

static void release_copy(struct copy *c)
{
	free(c->stack);
	free(c->unwind.addrs);
	free(c->unwind.rules);
}

void fsc_copies_free(struct fsc_copies *c)
{
	if (!c)
		return;
	fsc_log(FSC_LOG_DEBUG, "%llu copies of stacks were unwound, %zu rules passed to the kernel",
		(unsigned long long)c->n_copies, c->told.n);
	for (size_t i = 0; i < c->waiting.n; i++)
		release_copy(FSC_AT(struct copy, &c->waiting, i));
	for (size_t i = 0; i < c->unwound.n; i++)
		free(FSC_AT(struct unwound, &c->unwound, i)->addrs);
	fsc_vec_release(&c->waiting);
	fsc_vec_release(&c->unwound);
	fsc_vec_release(&c->unused);
	fsc_vec_release(&c->passing);
	fsc_map_release(&c->by_id);
	fsc_map_release(&c->told);
	free(c);
}

int fsc_copies_new(const struct fsc_copies_opts *opts, struct fsc_copies **ret, struct fsc_err *err)
{
	struct fsc_copies *c = calloc(1, sizeof(*c));

	if (!c)
		return fsc_err_nomem(err);
	c->opts = *opts;
	c->waiting = FSC_VEC_INIT(struct copy);
	c->unwound = FSC_VEC_INIT(struct unwound);
	c->unused = FSC_VEC_INIT(size_t);
	c->passing = FSC_VEC_INIT(int32_t);
	*ret = c;
	return 0;
}

void fsc_copies_rename(struct fsc_copies *c, struct fsc_namer *namer)
{
	c->opts.namer = namer;
}

/* ---- waiting ---- */

#if defined(__x86_64__)
/* pt_regs by DWARF register number: rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip */
static const uint8_t dwarf_regs[FSC_UNWIND_REGS] = {10, 12, 11, 5, 13, 14, 4, 19, 9,
						    8,	7,  6,	3, 2,  1,  0, 16};
#else
static const uint8_t dwarf_regs[FSC_UNWIND_REGS] = {0,	1,  2,	3,  4,	5,  6,	7,  8,	9,  10,
						    11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
						    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
#endif

/* Puts the return addresses back that the kernel has replaced. */
static void restore_returns(struct copy *c, const struct fsc_rec_stack *rec)
{
	uint64_t sp = rec->regs[dwarf_regs[FSC_UNWIND_SP]];

	for (size_t i = 0; i < FSC_HIJACKED; i++) {
		uint64_t at = rec->hijacked.at[i] - sp;

		if (rec->hijacked.was[i] && at < rec->size && rec->size - at >= sizeof(uint64_t))
			memcpy((char *)c->stack + at, &rec->hijacked.was[i], sizeof(uint64_t));
	}
}

static int fill_copy(struct copy *c, const struct fsc_rec_stack *rec)
{
	*c = (struct copy){
	    .hit = {.row = rec->row, .kernel = rec->kernel},
	    .id = rec->id,
	    .flags = rec->flags,
	    .space = rec->space,
	    .unwind = {.pid = (pid_t)rec->pid, .time_ns = rec->time_ns, .max = FSC_STACK_DEPTH}};
	memcpy(c->hit.comm, rec->comm, sizeof(c->hit.comm));
	c->stack = malloc(rec->size ? rec->size : 1);
	c->unwind.addrs = calloc(FSC_STACK_DEPTH, sizeof(uint64_t));
	c->unwind.rules = calloc(FSC_STACK_DEPTH, sizeof(uint64_t));
	if (!c->stack || !c->unwind.addrs || !c->unwind.rules)
		return -ENOMEM;
	memcpy(c->stack, rec->stack, rec->size);
	restore_returns(c, rec);
	for (size_t i = 0; i < FSC_UNWIND_REGS; i++)
		c->unwind.sample.regs[i] = rec->regs[dwarf_regs[i]];
	c->unwind.sample.sp = c->unwind.sample.regs[FSC_UNWIND_SP];
	c->unwind.sample.stack = c->stack;
	c->unwind.sample.n = rec->size;
	c->unwind.sample.missing = ~(uint64_t)rec->pages;
	return 0;
}

int fsc_copies_take(const void *copy, size_t size, void *copies)
{
	const struct fsc_rec_stack *rec = copy;
	struct fsc_copies *c = copies;
	struct copy *slot;

	if (size < sizeof(*rec) || rec->size > size - sizeof(*rec))
		return -EBADMSG;
	if (rec->row == c->opts.own_row)
		return 0;
	slot = fsc_vec_push(&c->waiting);
	if (!slot)
		return -ENOMEM;
	c->bytes += rec->size;
	return fill_copy(slot, rec);
}

size_t fsc_copies_waiting(const struct fsc_copies *c)
{
	return c->waiting.n;
}

bool fsc_copies_full(const struct fsc_copies *c)
{
	return c->bytes > MOST_BYTES;
}

/* The oldest n. */
static void drop_waiting(struct fsc_copies *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct copy *w = FSC_AT(struct copy, &c->waiting, i);

		c->bytes -= w->unwind.sample.n;
		release_copy(w);
	}
	c->waiting.n -= n;
	if (c->waiting.n)
		memmove(c->waiting.data, FSC_AT(struct copy, &c->waiting, n),
			c->waiting.n * sizeof(struct copy));
}

/* ---- what comes out ---- */

static int tell_rules(struct fsc_copies *c, const struct copy *w, struct fsc_err *err)
{
	for (size_t i = 0; w->space && !c->no_more_rules && i < w->unwind.n; i++) {
		struct fsc_unwind_key key = {
		    .space = w->space, .at = w->unwind.addrs[i] | (i ? FSC_UNWIND_RETURN : 0)};
		bool fresh;

		if (!w->unwind.rules[i])
			continue;
		if (!fsc_map_put(&c->told, &key, sizeof(key), &fresh))
			return fsc_err_nomem(err);
		if (fresh && !c->opts.add_rule(c->opts.of, &key, w->unwind.rules[i]))
			c->no_more_rules = true;
	}
	return 0;
}

static int drop_unwound(struct fsc_copies *c, int32_t id, struct fsc_err *err)
{
	const uint64_t *at = fsc_map_get(&c->by_id, &id, sizeof(id));
	size_t place = at ? *at - 1 : 0;
	struct unwound *u = at ? FSC_AT(struct unwound, &c->unwound, place) : NULL;

	if (!u)
		return 0;
	free(u->addrs);
	u->addrs = NULL;
	fsc_map_remove(&c->by_id, &id, sizeof(id));
	return fsc_vec_add(&c->unused, &place, err);
}

/* Stacks that only one call refers to are dropped when they are old. */
static int note_passing(struct fsc_copies *c, int32_t id, struct fsc_err *err)
{
	size_t half = MOST_PASSING / 2;
	int rc = 0;

	if (c->passing.n < MOST_PASSING)
		return fsc_vec_add(&c->passing, &id, err);
	for (size_t i = 0; !rc && i < half; i++)
		rc = drop_unwound(c, *FSC_AT(int32_t, &c->passing, i), err);
	c->passing.n -= half;
	memmove(c->passing.data, FSC_AT(int32_t, &c->passing, half),
		c->passing.n * sizeof(int32_t));
	return rc ? rc : fsc_vec_add(&c->passing, &id, err);
}

static struct unwound *add_unwound(struct fsc_copies *c, int32_t id)
{
	size_t place = c->unused.n ? *FSC_AT(size_t, &c->unused, c->unused.n - 1) : c->unwound.n;
	uint64_t *at = fsc_map_put(&c->by_id, &id, sizeof(id), NULL);

	if (!at || (!c->unused.n && !fsc_vec_push(&c->unwound)))
		return NULL;
	c->unused.n -= !!c->unused.n;
	*at = place + 1;
	return FSC_AT(struct unwound, &c->unwound, place);
}

static int keep_unwound(struct fsc_copies *c, const struct copy *w, struct fsc_err *err)
{
	struct unwound *u = add_unwound(c, w->id);

	if (!u)
		return fsc_err_nomem(err);
	*u = (struct unwound){.pid = w->unwind.pid,
			      .cut = w->unwind.cut,
			      .time_ns = w->unwind.time_ns,
			      .n = w->unwind.n,
			      .addrs = calloc(w->unwind.n + 1, sizeof(uint64_t))};
	if (!u->addrs)
		return fsc_err_nomem(err);
	memcpy(u->addrs, w->unwind.addrs, u->n * sizeof(uint64_t));
	/* The kernel remembers no more than that many. */
	if (w->flags & FSC_COPY_LASTING && c->lasting < c->opts.most_lasting) {
		c->lasting++;
		return 0;
	}
	return note_passing(c, w->id, err);
}

static struct fsc_copied_hit hit_of(const struct copy *w)
{
	struct fsc_copied_hit h = w->hit;

	h.cut = w->unwind.cut;
	h.stack = (struct fsc_addrs){
	    .pid = w->unwind.pid, .time_ns = w->unwind.time_ns, .n = w->unwind.n};
	memcpy(h.stack.at, w->unwind.addrs, w->unwind.n * sizeof(uint64_t));
	return h;
}

static int keep_batch(struct fsc_copies *c, size_t n, struct fsc_err *err)
{
	FSC_AUTO(fsc_vec_release) struct fsc_vec hits = FSC_VEC_INIT(struct fsc_copied_hit);
	int rc = 0;

	for (size_t i = 0; !rc && i < n; i++) {
		const struct copy *w = FSC_AT(struct copy, &c->waiting, i);

		rc = tell_rules(c, w, err);
		if (!rc && !(w->flags & FSC_COPY_COUNTS)) {
			rc = keep_unwound(c, w, err);
		} else if (!rc) {
			struct fsc_copied_hit h = hit_of(w);

			rc = fsc_vec_add(&hits, &h, err);
		}
	}
	return rc || !hits.n ? rc : c->opts.hits(hits.data, hits.n, c->opts.arg, err);
}

static int unwind_batch(struct fsc_copies *c, size_t n, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) struct fsc_unwind *all = calloc(n ? n : 1, sizeof(*all));
	int rc;

	if (!all)
		return fsc_err_nomem(err);
	for (size_t i = 0; i < n; i++)
		all[i] = FSC_AT(struct copy, &c->waiting, i)->unwind;
	rc = fsc_unwind(fsc_namer_spaces(c->opts.namer), all, n, err);
	for (size_t i = 0; !rc && i < n; i++)
		FSC_AT(struct copy, &c->waiting, i)->unwind = all[i];
	c->n_copies += rc ? 0 : n;
	if (!rc)
		rc = keep_batch(c, n, err);
	drop_waiting(c, n);
	return rc;
}

int fsc_copies_unwind(struct fsc_copies *c, bool all, struct fsc_err *err)
{
	size_t left = all ? c->waiting.n : c->waiting.n > BATCH ? BATCH : FEW;
	int rc = 0;

	while (!rc && left && c->waiting.n) {
		size_t n = left < BATCH ? left : BATCH;

		n = n < c->waiting.n ? n : c->waiting.n;
		left -= n;
		rc = unwind_batch(c, n, err);
	}
	return rc;
}

bool fsc_copies_find(const struct fsc_copies *c, int32_t id, struct fsc_addrs *ret, bool *ret_cut)
{
	const uint64_t *at = id < 0 ? NULL : fsc_map_get(&c->by_id, &id, sizeof(id));
	const struct unwound *u = at && *at ? FSC_AT(struct unwound, &c->unwound, *at - 1) : NULL;

	if (!u || !u->addrs)
		return false;
	*ret = (struct fsc_addrs){.pid = u->pid, .time_ns = u->time_ns, .n = u->n};
	memcpy(ret->at, u->addrs, u->n * sizeof(uint64_t));
	*ret_cut = u->cut;
	return true;
}
