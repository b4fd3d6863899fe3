/* Joins entries and returns of calls: which return belongs to which entry, which calls will never
 * return, and how deep a call is in a tree. */
#include <stdlib.h>
#include <string.h>

#include "source/calls_priv.h"

static bool same_call(const struct record *a, const struct fsc_rec_call *b)
{
	return a->call->tid == b->tid && a->call->row == b->row && a->call->entry_ns == b->entry_ns;
}

/* Whether two entries, from different probes, are one call: the same function at the same stack
 * position. (A function reached by a tail jump is at the same position, too.) */
static bool same_entry(const struct fsc_call_source *s, const struct fsc_rec_call *a,
		       const struct fsc_rec_call *b)
{
	size_t n;
	const struct fsc_func *funcs = fsc_live_funcs(s->live, &n);

	return a->tid == b->tid && a->duration_ns == b->duration_ns && a->row < n && b->row < n &&
	       !strcmp(funcs[a->row].name, funcs[b->row].name) &&
	       !strcmp(funcs[a->row].binary, funcs[b->row].binary);
}

/* How many calls enclose the open call at that index. */
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

static void join_return(struct fsc_rec_call *entry, const struct fsc_rec_call *ret)
{
	entry->event = FSC_CALL_BOTH;
	entry->flags |= STACK_OF_ENTRY;
	entry->ret = ret->ret;
	entry->duration_ns = ret->duration_ns;
	entry->time_ns = ret->time_ns;
}

/* In a tree the innermost call of a thread is shown only when something happens inside it. */
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

/* Whether an open call cannot return any more because another one of its thread begins, as in
 * bpf/calls.bpf.h: it is deeper on the same stack, or the same function at the same position. */
static bool is_over(const struct fsc_call_source *s, const struct fsc_rec_call *c,
		    const struct fsc_rec_call *entry)
{
	uint64_t at = c->duration_ns, now = entry->duration_ns;
	bool other_stack = now >> 63 && (at ^ now) >> 14;

	(void)s;
	if (c->tid != entry->tid || other_stack)
		return false;
	return at < now || (at == now && c->row == entry->row);
}

/* Whether an open call was made inside another one. */
static bool is_inside(const struct fsc_call_source *s, const struct fsc_rec_call *c,
		      const struct fsc_rec_call *outer)
{
	return c->tid == outer->tid && !same_entry(s, c, outer);
}

/* Shows and closes the open calls, from index first on, that `by` says will not return because of
 * that call; outer ones first. */
static int show_unreturned(struct showing *w, size_t first, const struct fsc_rec_call *call,
			   bool (*by)(const struct fsc_call_source *s, const struct fsc_rec_call *c,
				      const struct fsc_rec_call *call),
			   struct fsc_err *err)
{
	struct fsc_vec *open = &w->s->open;
	int rc = 0;

	for (size_t i = first; !rc && i < open->n; i++) {
		const struct record *r = FSC_AT(struct record, open, i);

		if (by(w->s, r->call, call) && !(r->call->flags & SHOWN))
			rc = fsc_calls_show(w, r, fsc_calls_depth(w, i), err);
	}
	for (size_t i = open->n; i-- > first;)
		if (by(w->s, FSC_AT(struct record, open, i)->call, call))
			close_call(open, i);
	return rc;
}

/* Only when a thread goes on are calls known to have been left by longjmp() or an exception. */
static int take_entry(struct showing *w, const struct record *r, struct fsc_err *err)
{
	struct record *slot;
	void *copy;
	int rc = show_unreturned(w, 0, r->call, is_over, err);

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
		return 0; /* its entry was dropped, and counted */
	rc = show_unreturned(w, i + 1, FSC_AT(struct record, open, i)->call, is_inside, err);
	if (rc)
		return rc;
	entry = FSC_AT(struct record, open, i);
	depth = fsc_calls_depth(w, i);
	if (entry->call->flags & SHOWN) {
		rc = fsc_calls_show(w, r, depth, err);
	} else {
		join_return(entry->call, r->call);
		rc = fsc_calls_show(w, entry, depth, err);
	}
	close_call(open, i);
	return rc;
}

int fsc_calls_take_record(void *record, size_t size, void *showing, struct fsc_err *err)
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
