/* Entries and returns of calls, joined: which return belongs to which entry, what is over without
 * one, and how deep a call is in a tree. */
#include <stdlib.h>
#include <string.h>

#include "source/calls_priv.h"

static bool same_call(const struct record *a, const struct fsc_rec_call *b)
{
	return a->call->tid == b->tid && a->call->row == b->row && a->call->entry_ns == b->entry_ns;
}

/* Whether two entries are one call, of which several probes tell: the same function at the same
 * place of the stack. (A function that another one jumped to is at the same place, too.) */
static bool same_entry(const struct fsc_call_source *s, const struct fsc_rec_call *a,
		       const struct fsc_rec_call *b)
{
	size_t n;
	const struct fsc_func *funcs = fsc_live_funcs(s->live, &n);

	return a->tid == b->tid && a->duration_ns == b->duration_ns && a->row < n && b->row < n &&
	       !strcmp(funcs[a->row].name, funcs[b->row].name) &&
	       !strcmp(funcs[a->row].binary, funcs[b->row].binary);
}

/* In how many calls the one at place `at` of the open ones is. */
static uint32_t depth_of(const struct fsc_call_source *s, size_t at)
{
	const struct fsc_rec_call *call = FSC_AT(struct record, &s->open, at)->call, *outer = NULL;
	uint32_t n = 0;

	for (size_t i = 0; i < at; i++) {
		const struct fsc_rec_call *c = FSC_AT(struct record, &s->open, i)->call;

		if (c->tid != call->tid || same_entry(s, c, call))
			continue;
		n += !outer || !same_entry(s, c, outer);
		outer = c;
	}
	return n;
}

uint32_t fsc_calls_depth(const struct showing *w, size_t at)
{
	return w->s->opts.shape == FSC_CALLS_TREE ? depth_of(w->s, at) : 0;
}

static void close_call(struct fsc_vec *open, size_t at)
{
	struct record *r = FSC_AT(struct record, open, at);

	free(r->call);
	memmove(r, r + 1, (open->n - at - 1) * sizeof(*r));
	open->n--;
}

/* What a return adds to the record of its entry. */
static void join(struct fsc_rec_call *entry, const struct fsc_rec_call *ret)
{
	entry->event = FSC_CALL_BOTH;
	entry->flags |= STACK_OF_ENTRY;
	entry->ret = ret->ret;
	entry->duration_ns = ret->duration_ns;
	entry->time_ns = ret->time_ns;
}

/* In a tree: the thread's innermost call is not shown until something happens inside it. SHOWN: it
 * was. */
static int show_opener(struct showing *w, const struct fsc_rec_call *entry, struct fsc_err *err)
{
	struct fsc_vec *open = &w->s->open;
	const struct fsc_rec_call *opener = NULL;
	int rc = 0;

	for (size_t i = open->n; !opener && i-- > 0;)
		if (FSC_AT(struct record, open, i)->call->tid == entry->tid)
			opener = FSC_AT(struct record, open, i)->call;
	if (!opener || same_entry(w->s, opener, entry))
		return 0;
	for (size_t i = 0; !rc && i < open->n; i++) {
		struct record *r = FSC_AT(struct record, open, i);

		if (r->call->flags & SHOWN || !same_entry(w->s, r->call, opener))
			continue;
		r->call->flags |= SHOWN;
		rc = fsc_calls_show(w, r, depth_of(w->s, i), err);
	}
	return rc;
}

/* Whether an open call is over when another one of its thread begins, as bpf/calls.bpf.h has it: it
 * lies deeper on the same stack, or is the same function at the same place. */
static bool is_over(const struct fsc_rec_call *c, const struct fsc_rec_call *entry)
{
	uint64_t at = c->duration_ns, now = entry->duration_ns;
	bool other_stack = now >> 63 && (at ^ now) >> 14;

	if (c->tid != entry->tid || other_stack)
		return false;
	return at < now || (at == now && c->row == entry->row);
}

/* Calls that were left by longjmp() or an exception are known to be when the thread goes on. */
static int show_over(struct showing *w, const struct fsc_rec_call *entry, struct fsc_err *err)
{
	struct fsc_vec *open = &w->s->open;
	int rc = 0;

	for (size_t k = 0; !rc && k < open->n; k++) {
		const struct record *r = FSC_AT(struct record, open, k);

		if (is_over(r->call, entry) && !(r->call->flags & SHOWN))
			rc = fsc_calls_show(w, r, fsc_calls_depth(w, k), err);
	}
	for (size_t k = open->n; k-- > 0;)
		if (is_over(FSC_AT(struct record, open, k)->call, entry))
			close_call(open, k);
	return rc;
}

static int take_entry(struct showing *w, const struct record *r, struct fsc_err *err)
{
	struct record *slot;
	void *copy;
	int rc = show_over(w, r->call, err);

	if (!rc && w->s->opts.shape == FSC_CALLS_TREE)
		rc = show_opener(w, r->call, err);
	if (rc)
		return rc;
	copy = malloc(r->size);
	slot = copy ? fsc_vec_push(&w->s->open) : NULL;
	if (!slot) {
		free(copy);
		return fsc_err_nomem(err);
	}
	*slot = (struct record){memcpy(copy, r->call, r->size), r->size};
	return 0;
}

/* Calls deeper in the thread than the one that returns never will: they are shown as they are, the
 * outer ones first. */
static int show_left(struct showing *w, size_t at, struct fsc_err *err)
{
	struct fsc_vec *open = &w->s->open;
	const struct fsc_rec_call *entry = FSC_AT(struct record, open, at)->call;
	int rc = 0;

	for (size_t k = at + 1; !rc && k < open->n; k++) {
		struct record *inner = FSC_AT(struct record, open, k);

		if (inner->call->tid == entry->tid && !same_entry(w->s, inner->call, entry) &&
		    !(inner->call->flags & SHOWN))
			rc = fsc_calls_show(w, inner, fsc_calls_depth(w, k), err);
	}
	for (size_t k = open->n; k-- > at + 1;) {
		const struct fsc_rec_call *inner = FSC_AT(struct record, open, k)->call;

		if (inner->tid == entry->tid && !same_entry(w->s, inner, entry))
			close_call(open, k);
	}
	return rc;
}

static int take_return(struct showing *w, const struct record *r, struct fsc_err *err)
{
	struct fsc_vec *open = &w->s->open;
	size_t i = open->n, last = open->n;
	struct record *entry;
	uint32_t depth;
	int rc;

	while (i-- > 0)
		if (same_call(FSC_AT(struct record, open, i), r->call))
			break;
	if (i >= last)
		return 0; /* the entry was lost, and counted */
	rc = show_left(w, i, err);
	if (rc)
		return rc;
	entry = FSC_AT(struct record, open, i);
	depth = fsc_calls_depth(w, i);
	if (entry->call->flags & SHOWN) {
		rc = fsc_calls_show(w, r, depth, err);
	} else {
		join(entry->call, r->call);
		rc = fsc_calls_show(w, entry, depth, err);
	}
	close_call(open, i);
	return rc;
}

int fsc_calls_take(void *record, size_t size, void *showing, struct fsc_err *err)
{
	struct showing *w = showing;
	struct fsc_call_source *s = w->s;
	const struct record r = {record, size};

	if (r.call->time_ns < s->last_ns)
		s->late++;
	else
		s->last_ns = r.call->time_ns;
	if (s->opts.shape == FSC_CALLS_SINGLE || r.call->event == FSC_CALL_BOTH)
		return fsc_calls_show(w, &r, 0, err);
	return r.call->event == FSC_CALL_ENTRY ? take_entry(w, &r, err) : take_return(w, &r, err);
}
