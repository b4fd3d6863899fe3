/* Records are copied out of the rings at once, so that these stay empty, and wait a little: another
 * CPU may still be writing one that is earlier. */
#include "source/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"
#include "sym/types.h"

enum { LAG_NS = 20000000 };

/* What is noted in a record here. */
enum { SHOWN = 1, STACK_OF_ENTRY = 2 };

struct record {
	struct fsc_rec_call *call;
	size_t size;
};

struct fsc_call_source {
	struct fsc_live *live;
	struct fsc_namer *namer;
	struct fsc_call_opts opts;
	uint64_t to_wall;	/* what makes the kernel's clock the wall clock */
	struct fsc_vec waiting; /* struct record */
	struct fsc_vec open;	/* struct record: entries without return, and in a tree not shown */
	uint64_t last_ns;	/* of the last one shown */
	uint64_t late;
	struct fsc_buf text; /* values as text, each ended by a zero byte */
	struct fsc_buf ret_text;
	struct fsc_vec frames; /* const char * */
	struct fsc_vec used;   /* int32_t: ids of stacks that were shown */
};

static void release_records(struct fsc_vec *v)
{
	for (size_t i = 0; i < v->n; i++)
		free(FSC_AT(struct record, v, i)->call);
	fsc_vec_release(v);
}

void fsc_call_source_free(struct fsc_call_source *s)
{
	if (!s)
		return;
	release_records(&s->waiting);
	release_records(&s->open);
	fsc_vec_release(&s->frames);
	fsc_vec_release(&s->used);
	fsc_buf_release(&s->text);
	fsc_buf_release(&s->ret_text);
	free(s);
}

static void fsc_call_source_freep(struct fsc_call_source **s)
{
	fsc_call_source_free(*s);
}

int fsc_call_source_new(struct fsc_live *live, struct fsc_namer *namer,
			const struct fsc_call_opts *opts, struct fsc_call_source **ret,
			struct fsc_err *err)
{
	FSC_AUTO(fsc_call_source_freep) struct fsc_call_source *s = calloc(1, sizeof(*s));

	if (!s)
		return fsc_err_nomem(err);
	s->live = live;
	s->namer = namer;
	s->opts = *opts;
	s->to_wall = fsc_clock_ns(CLOCK_REALTIME) - fsc_clock_mono();
	s->waiting = FSC_VEC_INIT(struct record);
	s->open = FSC_VEC_INIT(struct record);
	s->frames = FSC_VEC_INIT(const char *);
	s->used = FSC_VEC_INIT(int32_t);
	*ret = fsc_take(&s);
	return 0;
}

void fsc_call_source_rename(struct fsc_call_source *s, struct fsc_namer *namer)
{
	s->namer = namer;
}

static int note(const void *record, size_t size, void *arg)
{
	struct fsc_call_source *s = arg;
	struct record *r;
	void *copy;
	size_t n;

	if (size < sizeof(struct fsc_rec_call))
		return -EBADMSG;
	fsc_live_funcs(s->live, &n);
	if (((const struct fsc_rec_call *)record)->row == n)
		return 0; /* our own, to know what it costs */
	copy = malloc(size);
	r = copy ? fsc_vec_push(&s->waiting) : NULL;
	if (!r) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, record, size);
	*r = (struct record){copy, size};
	return 0;
}

/* ---- showing one ---- */

struct showing {
	struct fsc_call_source *s;
	fsc_call_fn fn;
	void *arg;
};

static int add_frame(const struct fsc_frame *f, void *arg, struct fsc_err *err)
{
	struct fsc_vec *frames = arg;
	const char **slot = fsc_vec_push(frames);

	if (!slot)
		return fsc_err_nomem(err);
	*slot = f->name;
	return 0;
}

static bool at_return(const struct fsc_rec_call *rec)
{
	return rec->event != FSC_CALL_ENTRY && !(rec->flags & STACK_OF_ENTRY);
}

static int add_stack(struct fsc_call_source *s, const struct fsc_rec_call *rec, bool kernel,
		     struct fsc_err *err)
{
	struct fsc_addrs a;

	fsc_namer_stack(fsc_live_session(s->live), kernel ? rec->kstack : rec->ustack, kernel,
			(pid_t)rec->pid, kernel ? 0 : rec->ip, &a);
	a.returned = at_return(rec);
	return fsc_namer_frames(s->namer, &a, add_frame, &s->frames, err);
}

/* The function that returned stands before where it returned to; where the return was caught by its
 * instruction it is on the stack itself. */
static void drop_double(struct fsc_vec *frames)
{
	const char **f = frames->data;

	if (frames->n < 2 || strcmp(f[0], f[1]))
		return;
	memmove(f + 1, f + 2, (frames->n - 2) * sizeof(*f));
	frames->n--;
}

/* The frames of both stacks lie in one array, the kernel's first. */
static int name_stacks(struct fsc_call_source *s, const struct fsc_rec_call *rec,
		       struct fsc_call *c, struct fsc_err *err)
{
	bool in_kernel = c->func->kind[0] == 'k' || c->func->kind[0] == 't';
	struct fsc_frame own = {.name = c->func->name};
	bool with_own = s->opts.own_frame && at_return(rec);
	int rc = 0;

	s->frames.n = 0;
	if (with_own && in_kernel && s->opts.kernel_stack)
		rc = add_frame(&own, &s->frames, err);
	if (!rc && s->opts.kernel_stack)
		rc = add_stack(s, rec, true, err);
	drop_double(&s->frames);
	c->n_kernel = s->frames.n;
	if (!rc && with_own && !in_kernel && s->opts.user_stack)
		rc = add_frame(&own, &s->frames, err);
	if (!rc && s->opts.user_stack)
		rc = add_stack(s, rec, false, err);
	if (!c->n_kernel)
		drop_double(&s->frames);
	c->n_user = s->frames.n - c->n_kernel;
	c->kernel_stack = s->frames.data;
	c->user_stack = s->frames.n ? c->kernel_stack + c->n_kernel : NULL;
	return rc;
}

static int note_used(struct fsc_call_source *s, const struct fsc_rec_call *rec, struct fsc_err *err)
{
	const int32_t ids[] = {rec->kstack, rec->ustack};

	for (size_t i = 0; i < 2; i++) {
		int32_t *slot = ids[i] < 0 ? NULL : fsc_vec_push(&s->used);

		if (!slot && ids[i] >= 0)
			return fsc_err_nomem(err);
		if (slot)
			*slot = ids[i];
	}
	return 0;
}

static bool is_awaited(const struct fsc_call_source *s, int32_t id)
{
	for (size_t i = 0; i < s->waiting.n; i++) {
		const struct fsc_rec_call *rec = FSC_AT(struct record, &s->waiting, i)->call;

		if (rec->kstack == id || rec->ustack == id)
			return true;
	}
	return false;
}

/* A record that is written right now with one of these stacks will be shown without. */
static void drop_used(struct fsc_call_source *s)
{
	if (s->used.n < s->opts.drop_stacks)
		return;
	for (size_t i = 0; i < s->used.n; i++) {
		int32_t id = *FSC_AT(int32_t, &s->used, i);

		if (!is_awaited(s, id))
			fsc_session_drop_stack(fsc_live_session(s->live), id);
	}
	s->used.n = 0;
}

static int put_symbol(const struct fsc_frame *f, void *arg, struct fsc_err *err)
{
	struct fsc_buf *b = arg;

	(void)err;
	if (!b->n || !b->s[b->n - 1]) {
		fsc_buf_puts(b, f->name);
		if (!f->unknown && f->offset)
			fsc_buf_printf(b, "+%#llx", (unsigned long long)f->offset);
	}
	return 0;
}

static int name_address(struct fsc_call_source *s, const struct fsc_call *c, bool kernel,
			uint64_t addr, struct fsc_err *err)
{
	struct fsc_addrs a = {.pid = (pid_t)c->pid, .kernel = kernel, .n = 1, .at = {addr}};

	return fsc_namer_frames(s->namer, &a, put_symbol, &s->text, err);
}

/* Values that their type says more of than the number does. */
static int name_values(struct fsc_call_source *s, struct fsc_call *c, struct fsc_err *err)
{
	size_t at[FSC_TRACE_VALUES];
	bool any[FSC_TRACE_VALUES] = {false};

	fsc_buf_clear(&s->text);
	for (size_t i = 0; c->format && i < c->format->convs.n; i++) {
		const struct fsc_conv *conv = FSC_AT(struct fsc_conv, &c->format->convs, i);

		bool symbol = s->namer && (conv->kind == 'K' || conv->kind == 'U');
		uint64_t number;

		if ((!conv->type && !symbol) || conv->value < 0 || conv->value >= FSC_TRACE_VALUES)
			continue;
		number = c->values[conv->value].number;
		any[conv->value] = true;
		at[conv->value] = s->text.n;
		if (symbol && name_address(s, c, conv->kind == 'K', number, err))
			return -ENOMEM;
		if (!symbol)
			fsc_type_format_value(&s->text, conv->type, number);
		fsc_buf_putc(&s->text, '\0');
	}
	if (fsc_buf_failed(&s->text))
		return fsc_err_nomem(err);
	for (size_t i = 0; i < FSC_TRACE_VALUES; i++)
		if (any[i])
			c->values[i].text = s->text.s + at[i];
	return 0;
}

/* A return value by its type, cut to its size. */
static int name_return(struct fsc_call_source *s, uint32_t row, struct fsc_call *c,
		       struct fsc_err *err)
{
	const struct fsc_returned *r = s->opts.returns ? &s->opts.returns[row] : NULL;
	const struct fsc_type *t = r ? r->type : NULL;

	if (!t || !c->has_ret)
		return 0;
	c->has_ret = t->kind != FSC_TYPE_VOID;
	if (!r->readable) {
		c->ret_as = FSC_RET_UNREADABLE;
		return 0;
	}
	fsc_buf_clear(&s->ret_text);
	fsc_type_format_value(&s->ret_text, t, c->ret);
	if (fsc_buf_failed(&s->ret_text))
		return fsc_err_nomem(err);
	c->ret_text = fsc_buf_str(&s->ret_text);
	c->ret = fsc_type_number(t, c->ret);
	if (t->kind == FSC_TYPE_ENUM || t->is_bool || t->is_char)
		c->ret_as = FSC_RET_NAMED;
	else
		c->ret_as = t->is_signed ? FSC_RET_SIGNED : FSC_RET_UNSIGNED;
	return 0;
}

static int show(struct showing *w, const struct record *r, uint32_t depth, struct fsc_err *err)
{
	struct fsc_call_source *s = w->s;
	size_t n;
	const struct fsc_func *funcs = fsc_live_funcs(s->live, &n);
	const struct fsc_rec_call *rec = r->call;
	const struct fsc_format *format = NULL;
	struct fsc_call c;
	int rc;

	if (rec->row >= n)
		return fsc_err_set(err, EBADMSG, "a record of the kernel is of no function");
	/* The return of a call that was shown at its entry has no values of its own. */
	if (s->opts.formats && (s->opts.shape == FSC_CALLS_SINGLE || rec->event != FSC_CALL_RETURN))
		format = &s->opts.formats[rec->row];
	rc = fsc_call_decode(rec, r->size, &funcs[rec->row], format, &c, err);
	if (!rc)
		rc = name_values(s, &c, err);
	if (!rc)
		rc = name_return(s, rec->row, &c, err);
	if (!rc && (s->opts.kernel_stack || s->opts.user_stack) && (c.slow || !s->opts.slow_stacks))
		rc = name_stacks(s, rec, &c, err);
	if (!rc && s->opts.drop_stacks)
		rc = note_used(s, rec, err);
	if (rc)
		return rc;
	c.depth = depth;
	c.time_ns += s->to_wall;
	return w->fn(&c, w->arg, err);
}

/* ---- joining ---- */

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

static uint32_t shown_depth(const struct showing *w, size_t at)
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
		rc = show(w, r, depth_of(w->s, i), err);
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
			rc = show(w, r, shown_depth(w, k), err);
	}
	for (size_t k = open->n; k-- > 0;)
		if (is_over(FSC_AT(struct record, open, k)->call, entry))
			close_call(open, k);
	return rc;
}

static int take_entry(struct showing *w, struct record *r, struct fsc_err *err)
{
	struct record *slot;
	int rc = show_over(w, r->call, err);

	if (!rc && w->s->opts.shape == FSC_CALLS_TREE)
		rc = show_opener(w, r->call, err);
	slot = rc ? NULL : fsc_vec_push(&w->s->open);
	if (!rc && !slot)
		return fsc_err_nomem(err);
	if (!rc) {
		*slot = *r;
		r->call = NULL; /* handed over */
	}
	return rc;
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
			rc = show(w, inner, shown_depth(w, k), err);
	}
	for (size_t k = open->n; k-- > at + 1;) {
		const struct fsc_rec_call *inner = FSC_AT(struct record, open, k)->call;

		if (inner->tid == entry->tid && !same_entry(w->s, inner, entry))
			close_call(open, k);
	}
	return rc;
}

static int take_return(struct showing *w, struct record *r, struct fsc_err *err)
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
	depth = shown_depth(w, i);
	if (entry->call->flags & SHOWN) {
		rc = show(w, r, depth, err);
	} else {
		join(entry->call, r->call);
		rc = show(w, entry, depth, err);
	}
	close_call(open, i);
	return rc;
}

static int take(struct showing *w, struct record *r, struct fsc_err *err)
{
	struct fsc_call_source *s = w->s;

	if (r->call->time_ns < s->last_ns)
		s->late++;
	else
		s->last_ns = r->call->time_ns;
	if (s->opts.shape == FSC_CALLS_SINGLE || r->call->event == FSC_CALL_BOTH)
		return show(w, r, 0, err);
	return r->call->event == FSC_CALL_ENTRY ? take_entry(w, r, err) : take_return(w, r, err);
}

/* ---- order ---- */

static int by_time(const void *pa, const void *pb)
{
	const struct record *a = pa, *b = pb;

	return (a->call->time_ns > b->call->time_ns) - (a->call->time_ns < b->call->time_ns);
}

static int show_open(struct showing *w, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < w->s->open.n; i++) {
		struct record *r = FSC_AT(struct record, &w->s->open, i);

		if (!(r->call->flags & SHOWN))
			rc = show(w, r, shown_depth(w, i), err);
	}
	return rc;
}

int fsc_call_source_read(struct fsc_call_source *s, bool last, fsc_call_fn fn, void *arg,
			 struct fsc_err *err)
{
	struct showing w = {s, fn, arg};
	uint64_t until = last ? UINT64_MAX : fsc_clock_mono() - LAG_NS;
	size_t done = 0;
	int rc = s->namer ? fsc_namer_tick(s->namer, fsc_live_session(s->live), err) : 0;

	if (!rc)
		rc = fsc_session_drain(fsc_live_session(s->live), note, s, err);
	if (s->waiting.n)
		qsort(s->waiting.data, s->waiting.n, sizeof(struct record), by_time);
	while (!rc && done < s->waiting.n &&
	       FSC_AT(struct record, &s->waiting, done)->call->time_ns <= until) {
		struct record *r = FSC_AT(struct record, &s->waiting, done);

		rc = take(&w, r, err);
		free(r->call);
		done++;
	}
	if (done) {
		s->waiting.n -= done;
		memmove(s->waiting.data, FSC_AT(struct record, &s->waiting, done),
			s->waiting.n * sizeof(struct record));
	}
	if (s->opts.drop_stacks)
		drop_used(s);
	return rc || !last ? rc : show_open(&w, err);
}

uint64_t fsc_call_source_late(const struct fsc_call_source *s)
{
	return s->late;
}
