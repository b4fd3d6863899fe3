/* Builds stacks. Counted ones are read from the kernel's maps at each report; copies are unwound in
 * batches as they arrive, and kept here. */
#include "source/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "source/copies.h"

enum {
	ROUNDS = 8,    /* batches of copies that one tick unwinds */
	RING = 1 << 16 /* more copies than fit in the ring */
};

/* A stack as counted in the kernel. */
struct counted {
	struct fsc_stack_key key;
	struct fsc_stack_sums sums;
};

struct frames {
	uint64_t unknown, all;
	uint64_t cut; /* calls whose stack was truncated */
};

struct fsc_stack_source {
	struct fsc_live *live;
	struct fsc_namer *namer;
	struct fsc_stack_opts opts;
	struct fsc_vec counted;	   /* struct counted, of the current report */
	struct fsc_copies *copies; /* NULL: the kernel has the stacks */
	struct fsc_stacks kept;	   /* of copies that are hits themselves */
	struct frames of_counted, of_hits;
};

void fsc_stack_source_free(struct fsc_stack_source *s)
{
	if (!s)
		return;
	fsc_copies_free(s->copies);
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
	t->one_in = s->opts.one_in;
	t->time_ns = fsc_clock_ns(CLOCK_REALTIME);
}

/* ---- from addresses to a stack ---- */

struct building {
	struct fsc_stack_source *source;
	struct fsc_stacks *out;
	struct frames *frames;
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
	b->frames->all++;
	b->frames->unknown += f->unknown;
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
	uint64_t one_in = b->source->opts.one_in > 1 ? b->source->opts.one_in : 1;
	int rc;

	s->calls *= one_in;
	s->time_ns *= one_in;
	s->truncated |= kernel->n >= FSC_STACK_DEPTH || user->n >= FSC_STACK_DEPTH;
	b->frames->cut += s->truncated ? s->calls : 0;
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
			  struct fsc_addrs *kernel, struct fsc_addrs *user, bool *cut)
{
	const struct fsc_session *session = fsc_live_session(s->live);
	const struct fsc_stack_key *k = &c->key;

	fsc_namer_stack(session, k->kernel, true, (pid_t)k->pid, 0, kernel);
	*cut = false;
	if (!s->copies)
		fsc_namer_stack(session, k->user, false, (pid_t)k->pid, k->caller, user);
	else if (!fsc_copies_find(s->copies, k->user, user, cut))
		*user = (struct fsc_addrs){.pid = (pid_t)k->pid};
}

/* Two passes: first all addresses are resolved at once, then the stacks are built. */
static int build_counted(struct fsc_stack_source *s, struct fsc_stacks *out, struct fsc_err *err)
{
	struct building b = {
	    .source = s, .out = out, .frames = &s->of_counted, .ids = FSC_VEC_INIT(uint32_t)};
	struct fsc_addrs kernel, user;
	bool cut;
	int rc = 0;

	for (size_t i = 0; !rc && i < s->counted.n; i++) {
		counted_addrs(s, FSC_AT(struct counted, &s->counted, i), &kernel, &user, &cut);
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
		counted_addrs(s, c, &kernel, &user, &stack.truncated);
		rc = add_parts(&b, &kernel, &user, &stack, err);
	}
	fsc_vec_release(&b.ids);
	return rc;
}

/* ---- copies ---- */

static int keep_hit(struct building *b, const struct fsc_copied_hit *h, struct fsc_err *err)
{
	struct fsc_stack stack = {.func = h->row, .calls = 1, .truncated = h->cut};
	struct fsc_addrs kernel, user = h->stack;

	name_process(b->source, (uint32_t)user.pid, h->comm, &stack);
	fsc_namer_stack(fsc_live_session(b->source->live), h->kernel, true, user.pid, 0, &kernel);
	return add_parts(b, &kernel, &user, &stack, err);
}

/* Hits that the kernel has not counted. */
static int keep_hits(const struct fsc_copied_hit *hits, size_t n, void *arg, struct fsc_err *err)
{
	struct fsc_stack_source *s = arg;
	struct building b = {
	    .source = s, .out = &s->kept, .frames = &s->of_hits, .ids = FSC_VEC_INIT(uint32_t)};
	int rc = 0;

	for (size_t i = 0; !rc && i < n; i++)
		rc = fsc_namer_want(s->namer, &hits[i].stack, err);
	if (!rc)
		rc = fsc_namer_resolve(s->namer, err);
	for (size_t i = 0; !rc && i < n; i++)
		rc = keep_hit(&b, &hits[i], err);
	fsc_vec_release(&b.ids);
	return rc;
}

static bool add_rule(void *session, const struct fsc_unwind_key *key, uint64_t rule)
{
	return fsc_session_add_rule(session, key, rule);
}

static int drop_record(const void *record, size_t size, void *arg)
{
	(void)record, (void)size, (void)arg;
	return 0;
}

static int open_copies(struct fsc_stack_source *s, struct fsc_err *err)
{
	struct fsc_session *session = fsc_live_session(s->live);
	struct fsc_copies_opts o = {.namer = s->namer,
				    .most_lasting = 2 * fsc_session_options(session)->max_stacks,
				    .add_rule = add_rule,
				    .of = session,
				    .hits = keep_hits,
				    .arg = s};
	size_t n;
	int rc;

	fsc_live_funcs(s->live, &n);
	o.own_row = (uint32_t)n;
	rc = fsc_copies_new(&o, &s->copies, err);
	if (!rc)
		fsc_session_on_copy(session, fsc_copies_take, s->copies);
	return rc;
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
	init_stacks(s, &s->kept);
	*ret = s;
	return opts->copies ? open_copies(s, err) : 0;
}

/* What processes have mapped is read before and after, so that all that those of these copies had
 * is known. */
static int drain_ring(struct fsc_stack_source *s, struct fsc_err *err)
{
	int rc = fsc_namer_tick(s->namer, fsc_live_session(s->live), err);

	if (rc || !s->copies || fsc_copies_full(s->copies))
		return rc;
	rc = fsc_session_drain(fsc_live_session(s->live), drop_record, s, err);
	return rc ? rc : fsc_namer_tick(s->namer, fsc_live_session(s->live), err);
}

/* Emptying the ring has priority over unwinding. */
int fsc_stack_source_tick(struct fsc_stack_source *s, struct fsc_err *err)
{
	int rc = drain_ring(s, err);

	for (int i = 0; !rc && i < ROUNDS && s->copies && fsc_copies_waiting(s->copies); i++) {
		rc = fsc_copies_unwind(s->copies, false, err);
		if (!rc)
			rc = drain_ring(s, err);
	}
	return rc;
}

/* Unwinds everything that waits or is in the ring now. */
static int finish_copies(struct fsc_stack_source *s, struct fsc_err *err)
{
	size_t left = fsc_copies_waiting(s->copies) + RING, n;
	int rc = 0;

	while (!rc && left && (n = fsc_copies_waiting(s->copies))) {
		left -= left < n ? left : n;
		rc = fsc_copies_unwind(s->copies, true, err);
		if (!rc)
			rc = drain_ring(s, err);
	}
	return rc;
}

/* A copy of what is kept; copying is subtracting nothing. */
static int copy_kept(struct fsc_stack_source *s, struct fsc_stacks *ret, struct fsc_err *err)
{
	struct fsc_stacks nothing;
	int rc;

	init_stacks(s, &nothing);
	s->kept.time_ns = nothing.time_ns;
	rc = fsc_stacks_subtract(&s->kept, &nothing, ret, err);
	fsc_stacks_release(&nothing);
	return rc;
}

/* What the kernel has counted is read before the last copies: their stacks are known then. */
int fsc_stack_source_read(struct fsc_stack_source *s, struct fsc_stacks *ret, struct fsc_err *err)
{
	int rc = fsc_stack_source_tick(s, err);

	if (rc)
		return rc;
	s->counted.n = 0;
	rc = fsc_session_stacks(fsc_live_session(s->live), add_counted, s, err);
	if (!rc && s->copies)
		rc = finish_copies(s, err);
	if (!rc && s->copies)
		rc = copy_kept(s, ret, err);
	else if (!rc)
		init_stacks(s, ret);
	if (rc)
		return rc;
	s->of_counted = (struct frames){0};
	if (!rc)
		rc = build_counted(s, ret, err);
	if (rc)
		fsc_stacks_release(ret);
	return rc;
}

void fsc_stack_source_books(const struct fsc_stack_source *s, struct fsc_summary *sum)
{
	sum->frames_known = true;
	sum->unknown_frames = s->of_counted.unknown + s->of_hits.unknown;
	sum->frames = s->of_counted.all + s->of_hits.all;
	sum->truncated = s->of_counted.cut + s->of_hits.cut;
}
