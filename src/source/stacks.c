/* Builds stacks. Counted ones are read from the kernel's maps at each report; copies are unwound in
 * batches as they arrive, and kept here. */
#include "source/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dwarf/unwind.h"

enum {
	FEW = 64,		/* fewer new copies than this: time to unwind */
	BATCH = 512,		/* copies unwound at once */
	MANY_BYTES = 256 << 20, /* of pending copies: unwind even if more are arriving */
	MOST_BYTES = 512 << 20, /* likewise: leave the rest in the ring, which may overflow */
	RING = 4096,		/* more copies than fit in the ring */
};

/* A stack as counted in the kernel. */
struct counted {
	struct fsc_stack_key key;
	struct fsc_stack_sums sums;
};

struct copy {
	uint32_t row;
	char comm[FSC_COMM_LEN];
	int32_t kernel;
	struct fsc_unwind unwind;
	void *stack;
};

struct fsc_stack_source {
	struct fsc_live *live;
	struct fsc_namer *namer;
	struct fsc_stack_opts opts;
	struct fsc_vec counted; /* struct counted, of the current report */
	struct fsc_vec copies;	/* struct copy, not unwound yet */
	size_t copied;		/* bytes of these */
	struct fsc_stacks kept; /* of unwound copies */
	uint64_t unknown, all;	/* frames */
	uint64_t cut;		/* calls whose stack was truncated */
};

/* The oldest n. */
static void drop_copies(struct fsc_stack_source *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct copy *c = FSC_AT(struct copy, &s->copies, i);

		s->copied -= c->unwind.sample.n;
		free(c->stack);
		free(c->unwind.addrs);
	}
	s->copies.n -= n;
	if (s->copies.n)
		memmove(s->copies.data, FSC_AT(struct copy, &s->copies, n),
			s->copies.n * sizeof(struct copy));
}

void fsc_stack_source_free(struct fsc_stack_source *s)
{
	if (!s)
		return;
	drop_copies(s, s->copies.n);
	fsc_vec_release(&s->copies);
	fsc_vec_release(&s->counted);
	fsc_stacks_release(&s->kept);
	free(s);
}

static void init_stacks(const struct fsc_stack_source *s, struct fsc_stacks *t)
{
	size_t n;
	const struct fsc_func *funcs = fsc_live_funcs(s->live, &n);

	fsc_stacks_init(t, funcs, n);
	t->per_process = s->opts.per_process;
	t->by_time = s->opts.by_time;
	t->offsets = s->opts.offsets;
	t->time_ns = fsc_clock_ns(CLOCK_REALTIME);
}

int fsc_stack_source_new(struct fsc_live *live, struct fsc_namer *namer,
			 const struct fsc_stack_opts *opts, struct fsc_stack_source **ret,
			 struct fsc_err *err)
{
	struct fsc_stack_source *s = calloc(1, sizeof(*s));

	if (!s)
		return fsc_err_nomem(err);
	s->live = live;
	s->namer = namer;
	s->opts = *opts;
	s->counted = FSC_VEC_INIT(struct counted);
	s->copies = FSC_VEC_INIT(struct copy);
	init_stacks(s, &s->kept);
	*ret = s;
	return 0;
}

/* ---- from addresses to a stack ---- */

struct building {
	struct fsc_stack_source *source;
	struct fsc_stacks *out;
	struct fsc_vec ids; /* uint32_t */
	unsigned left;	    /* addresses that may still follow */
};

static int add_frame(const struct fsc_frame *f, void *arg, struct fsc_err *err)
{
	struct building *b = arg;
	uint32_t *id = fsc_vec_push(&b->ids);
	struct fsc_frame plain = *f;

	if (!id)
		return fsc_err_nomem(err);
	b->source->all++;
	b->source->unknown += f->unknown;
	/* Addresses where nothing is mapped carry no information: all are one frame. */
	if (f->unknown && !f->binary[0])
		plain.offset = 0;
	return fsc_stacks_frame(b->out, &plain, id, err);
}

static void limit_depth(const struct fsc_stack_source *s, struct fsc_addrs *a)
{
	if (s->opts.depth && a->n > s->opts.depth)
		a->n = s->opts.depth;
}

/* A stack of full length was cut by the kernel. */
static int add_parts(struct building *b, struct fsc_addrs *kernel, struct fsc_addrs *user,
		     struct fsc_stack *s, struct fsc_err *err)
{
	int rc;

	s->truncated |= kernel->n >= FSC_STACK_DEPTH || user->n >= FSC_STACK_DEPTH;
	b->source->cut += s->truncated ? s->calls : 0;
	limit_depth(b->source, kernel);
	limit_depth(b->source, user);
	rc = fsc_namer_frames(b->source->namer, kernel, add_frame, b, err);
	if (!rc)
		rc = fsc_namer_frames(b->source->namer, user, add_frame, b, err);
	if (!rc)
		rc = fsc_stacks_add(b->out, s, b->ids.data, b->ids.n, err);
	b->ids.n = 0;
	return rc;
}

static void name_process(const struct fsc_stack_source *s, uint32_t pid, const char *comm,
			 struct fsc_stack *to)
{
	if (!s->opts.per_process)
		return;
	to->pid = pid;
	memcpy(to->comm, comm, FSC_COMM_LEN);
}

/* ---- counted in the kernel ---- */

static int add_counted(const struct fsc_stack_key *key, const struct fsc_stack_sums *sums,
		       void *arg)
{
	struct fsc_stack_source *s = arg;
	struct counted *c = fsc_vec_push(&s->counted);

	if (!c)
		return -1;
	*c = (struct counted){*key, *sums};
	return 0;
}

static void counted_addrs(const struct fsc_stack_source *s, const struct counted *c,
			  struct fsc_addrs *kernel, struct fsc_addrs *user)
{
	const struct fsc_session *session = fsc_live_session(s->live);
	const struct fsc_stack_key *k = &c->key;

	fsc_namer_stack(session, k->kernel, true, (pid_t)k->pid, 0, kernel);
	fsc_namer_stack(session, k->user, false, (pid_t)k->pid, k->caller, user);
}

/* Two passes: first all addresses are resolved at once, then the stacks are built. */
static int build_counted(struct fsc_stack_source *s, struct fsc_stacks *out, struct fsc_err *err)
{
	struct building b = {.source = s, .out = out, .ids = FSC_VEC_INIT(uint32_t)};
	struct fsc_addrs kernel, user;
	int rc = 0;

	for (size_t i = 0; !rc && i < s->counted.n; i++) {
		counted_addrs(s, FSC_AT(struct counted, &s->counted, i), &kernel, &user);
		rc = fsc_namer_want(s->namer, &kernel, err);
		if (!rc)
			rc = fsc_namer_want(s->namer, &user, err);
	}
	if (!rc)
		rc = fsc_namer_resolve(s->namer, err);
	for (size_t i = 0; !rc && i < s->counted.n; i++) {
		const struct counted *c = FSC_AT(struct counted, &s->counted, i);
		struct fsc_stack stack = {
		    .func = c->key.row, .calls = c->sums.calls, .time_ns = c->sums.time_ns};

		name_process(s, c->key.pid, c->key.comm, &stack);
		counted_addrs(s, c, &kernel, &user);
		rc = add_parts(&b, &kernel, &user, &stack, err);
	}
	fsc_vec_release(&b.ids);
	return rc;
}

/* ---- copies ---- */

#if defined(__x86_64__)
/* pt_regs by DWARF register number: rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip */
static const uint8_t dwarf_regs[FSC_UNWIND_REGS] = {10, 12, 11, 5, 13, 14, 4, 19, 9,
						    8,	7,  6,	3, 2,  1,  0, 16};
#else
static const uint8_t dwarf_regs[FSC_UNWIND_REGS] = {0,	1,  2,	3,  4,	5,  6,	7,  8,	9,  10,
						    11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
						    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
#endif

static int queue_copy(const void *record, size_t size, void *arg)
{
	const struct fsc_rec_stack *rec = record;
	struct fsc_stack_source *s = arg;
	struct copy *c;
	size_t n;

	if (size < sizeof(*rec) || rec->size > size - sizeof(*rec))
		return -EBADMSG;
	fsc_live_funcs(s->live, &n);
	if (rec->row == n)
		return 0; /* from calibration */
	c = fsc_vec_push(&s->copies);
	if (!c)
		return -ENOMEM;
	c->row = rec->row;
	c->kernel = rec->kernel;
	memcpy(c->comm, rec->comm, sizeof(c->comm));
	c->stack = malloc(rec->size ? rec->size : 1);
	c->unwind.addrs = calloc(FSC_STACK_DEPTH, sizeof(uint64_t));
	if (!c->stack || !c->unwind.addrs)
		return -ENOMEM;
	memcpy(c->stack, rec->stack, rec->size);
	s->copied += rec->size;
	for (size_t i = 0; i < FSC_UNWIND_REGS; i++)
		c->unwind.sample.regs[i] = rec->regs[dwarf_regs[i]];
	c->unwind.pid = (pid_t)rec->pid;
	c->unwind.max = FSC_STACK_DEPTH;
	c->unwind.sample.sp = c->unwind.sample.regs[FSC_UNWIND_SP];
	c->unwind.sample.stack = c->stack;
	c->unwind.sample.n = rec->size;
	c->unwind.sample.missing = ~(uint64_t)rec->pages;
	return 0;
}

/* The first n. */
static int unwind_copies(struct fsc_stack_source *s, size_t n, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) struct fsc_unwind *all = calloc(n ? n : 1, sizeof(*all));
	int rc;

	if (!all)
		return fsc_err_nomem(err);
	for (size_t i = 0; i < n; i++)
		all[i] = FSC_AT(struct copy, &s->copies, i)->unwind;
	rc = fsc_unwind(fsc_namer_spaces(s->namer), all, n, err);
	for (size_t i = 0; i < n; i++) {
		struct fsc_unwind *u = &FSC_AT(struct copy, &s->copies, i)->unwind;

		u->n = rc ? 0 : all[i].n;
		u->cut = all[i].cut;
	}
	return rc;
}

static void copy_addrs(const struct copy *c, struct fsc_addrs *user)
{
	*user = (struct fsc_addrs){.pid = c->unwind.pid, .n = c->unwind.n};
	memcpy(user->at, c->unwind.addrs, c->unwind.n * sizeof(user->at[0]));
}

static int keep_copy(struct building *b, const struct copy *c, struct fsc_err *err)
{
	struct fsc_stack stack = {.func = c->row, .calls = 1, .truncated = c->unwind.cut};
	struct fsc_addrs kernel, user;

	name_process(b->source, (uint32_t)c->unwind.pid, c->comm, &stack);
	fsc_namer_stack(fsc_live_session(b->source->live), c->kernel, true, c->unwind.pid, 0,
			&kernel);
	copy_addrs(c, &user);
	return add_parts(b, &kernel, &user, &stack, err);
}

/* Unwinds and keeps a batch of copies. */
static int keep_batch(struct fsc_stack_source *s, struct fsc_err *err)
{
	struct building b = {.source = s, .out = &s->kept, .ids = FSC_VEC_INIT(uint32_t)};
	size_t n = s->copies.n < BATCH ? s->copies.n : BATCH;
	int rc = unwind_copies(s, n, err);

	for (size_t i = 0; !rc && i < n; i++) {
		struct fsc_addrs user;

		copy_addrs(FSC_AT(struct copy, &s->copies, i), &user);
		rc = fsc_namer_want(s->namer, &user, err);
	}
	if (!rc)
		rc = fsc_namer_resolve(s->namer, err);
	for (size_t i = 0; !rc && i < n; i++)
		rc = keep_copy(&b, FSC_AT(struct copy, &s->copies, i), err);
	drop_copies(s, n);
	fsc_vec_release(&b.ids);
	return rc;
}

static int drain_ring(struct fsc_stack_source *s, struct fsc_err *err)
{
	int rc = fsc_namer_tick(s->namer, fsc_live_session(s->live), err);

	if (rc || !s->opts.copies || s->copied > MOST_BYTES)
		return rc;
	rc = fsc_session_drain(fsc_live_session(s->live), queue_copy, s, err);
	/* Again, so that all that the processes of these copies had mapped is known. */
	return rc ? rc : fsc_namer_tick(s->namer, fsc_live_session(s->live), err);
}

/* Emptying the ring has priority over unwinding: while copies arrive fast they are only queued,
 * until they are too many. The first batch takes longest, since files are opened and read. */
int fsc_stack_source_tick(struct fsc_stack_source *s, struct fsc_err *err)
{
	size_t before = s->copies.n;
	int rc = drain_ring(s, err);

	while (!rc && s->copies.n >= BATCH &&
	       (s->copies.n < before + FEW || s->copied > MANY_BYTES)) {
		rc = keep_batch(s, err);
		before = s->copies.n;
		if (!rc)
			rc = drain_ring(s, err);
	}
	return rc;
}

/* A copy of what is kept, after unwinding everything that is pending or in the ring now. Copying is
 * subtracting nothing. */
static int copy_kept(struct fsc_stack_source *s, struct fsc_stacks *ret, struct fsc_err *err)
{
	struct fsc_stacks nothing;
	int rc = 0;

	for (size_t left = s->copies.n + RING; !rc && s->copies.n && left;) {
		left -= left < BATCH ? left : BATCH;
		rc = keep_batch(s, err);
		if (!rc)
			rc = drain_ring(s, err);
	}
	init_stacks(s, &nothing);
	s->kept.time_ns = nothing.time_ns;
	if (!rc)
		rc = fsc_stacks_subtract(&s->kept, &nothing, ret, err);
	fsc_stacks_release(&nothing);
	return rc;
}

int fsc_stack_source_read(struct fsc_stack_source *s, struct fsc_stacks *ret, struct fsc_err *err)
{
	int rc = fsc_stack_source_tick(s, err);

	if (rc)
		return rc;
	if (s->opts.copies)
		return copy_kept(s, ret, err);
	s->all = s->unknown = s->cut = 0;
	s->counted.n = 0;
	init_stacks(s, ret);
	rc = fsc_session_stacks(fsc_live_session(s->live), add_counted, s, err);
	if (!rc)
		rc = build_counted(s, ret, err);
	if (rc)
		fsc_stacks_release(ret);
	return rc;
}

void fsc_stack_source_books(const struct fsc_stack_source *s, struct fsc_summary *sum)
{
	sum->frames_known = true;
	sum->unknown_frames = s->unknown;
	sum->frames = s->all;
	sum->truncated = s->cut;
}
