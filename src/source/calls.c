/* Records are copied out of the rings at once, to keep these empty, and are held back a little:
 * another CPU may still be writing an earlier one. */
#include "source/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "source/calls_priv.h"
#include "source/copies.h"
#include "types/types.h"

enum { LAG_NS = 20000000, ROUNDS = 64 };

void fsc_call_source_free(struct fsc_call_source *s)
{
	if (!s)
		return;
	fsc_copies_free(s->copies);
	fsc_timeline_release(&s->pending);
	for (size_t i = 0; i < s->open.n; i++)
		free(FSC_AT(struct record, &s->open, i)->call);
	fsc_vec_release(&s->open);
	fsc_vec_release(&s->frames);
	fsc_vec_release(&s->used);
	fsc_buf_release(&s->text);
	fsc_buf_release(&s->ret_text);
	free(s);
}

static bool add_rule(void *session, const struct fsc_unwind_key *key, uint64_t rule)
{
	return fsc_session_add_rule(session, key, rule);
}

static int open_copies(struct fsc_call_source *s, struct fsc_err *err)
{
	struct fsc_session *session = fsc_live_session(s->live);
	struct fsc_copies_opts o = {.namer = s->namer,
				    .own_row = fsc_session_rows(session),
				    .most_lasting = 2 * fsc_session_options(session)->max_stacks,
				    .add_rule = add_rule,
				    .of = session};
	int rc = fsc_copies_new(&o, &s->copies, err);

	if (!rc)
		fsc_session_on_copy(session, fsc_copies_take, s->copies);
	return rc;
}

int fsc_call_source_new(struct fsc_live *live, struct fsc_namer *namer,
			const struct fsc_call_opts *opts, struct fsc_call_source **ret,
			struct fsc_err *err)
{
	struct fsc_call_source *s = calloc(1, sizeof(*s));

	if (!s)
		return fsc_err_nomem(err);
	s->live = live;
	s->namer = namer;
	s->opts = *opts;
	s->to_wall = fsc_clock_ns(CLOCK_REALTIME) - fsc_clock_mono();
	fsc_timeline_init(&s->pending);
	s->open = FSC_VEC_INIT(struct record);
	s->frames = FSC_VEC_INIT(const char *);
	s->used = FSC_VEC_INIT(int32_t);
	*ret = s;
	return opts->copies ? open_copies(s, err) : 0;
}

void fsc_call_source_rename(struct fsc_call_source *s, struct fsc_namer *namer)
{
	if (s->copies)
		fsc_copies_rename(s->copies, namer);
	s->namer = namer;
}

static int queue_record(const void *record, size_t size, void *arg)
{
	struct fsc_call_source *s = arg;
	const struct fsc_rec_call *call = record;
	size_t n;

	if (size < sizeof(*call))
		return -EBADMSG;
	fsc_live_funcs(s->live, &n);
	if (call->row == n)
		return 0; /* from calibration */
	return fsc_timeline_add(&s->pending, call->time_ns, record, size, NULL);
}

/* ---- showing a call ---- */

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
	bool cut;

	if (!kernel && s->copies) {
		if (!fsc_copies_find(s->copies, rec->ustack, &a, &cut))
			return 0;
		a.returned = at_return(rec);
		return fsc_namer_frames(s->namer, &a, add_frame, &s->frames, err);
	}
	fsc_namer_stack(fsc_live_session(s->live), kernel ? rec->kstack : rec->ustack, kernel,
			(pid_t)rec->pid, kernel ? 0 : rec->ip, &a);
	a.returned = at_return(rec);
	return fsc_namer_frames(s->namer, &a, add_frame, &s->frames, err);
}

/* The function that returned is put before the frame that it returned to; if the return was probed
 * at its instruction, the stack has it already. */
static void drop_duplicate_frame(struct fsc_vec *frames)
{
	const char **f = frames->data;

	if (frames->n < 2 || strcmp(f[0], f[1]))
		return;
	memmove(f + 1, f + 2, (frames->n - 2) * sizeof(*f));
	frames->n--;
}

/* The frames of both stacks are in one array, the kernel's first. */
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
	drop_duplicate_frame(&s->frames);
	c->n_kernel = s->frames.n;
	if (!rc && with_own && !in_kernel && s->opts.user_stack)
		rc = add_frame(&own, &s->frames, err);
	if (!rc && s->opts.user_stack)
		rc = add_stack(s, rec, false, err);
	if (!c->n_kernel)
		drop_duplicate_frame(&s->frames);
	c->n_user = s->frames.n - c->n_kernel;
	c->kernel_stack = s->frames.data;
	c->user_stack = s->frames.n ? c->kernel_stack + c->n_kernel : NULL;
	return rc;
}

static int add_used_stacks(struct fsc_call_source *s, const struct fsc_rec_call *rec,
			   struct fsc_err *err)
{
	const int32_t ids[] = {rec->kstack, s->copies ? -1 : rec->ustack};

	for (size_t i = 0; i < 2; i++) {
		int32_t *slot = ids[i] < 0 ? NULL : fsc_vec_push(&s->used);

		if (!slot && ids[i] >= 0)
			return fsc_err_nomem(err);
		if (slot)
			*slot = ids[i];
	}
	return 0;
}

static bool is_stack_pending(const struct fsc_call_source *s, int32_t id)
{
	for (size_t i = 0; i < s->pending.records.n; i++) {
		const struct fsc_rec_call *rec = fsc_timeline_at(&s->pending, i);

		if (rec->kstack == id || rec->ustack == id)
			return true;
	}
	return false;
}

/* A record that is being written now with one of these stacks will be shown without it. */
static void drop_used_stacks(struct fsc_call_source *s)
{
	if (s->used.n < s->opts.drop_stacks)
		return;
	for (size_t i = 0; i < s->used.n; i++) {
		int32_t id = *FSC_AT(int32_t, &s->used, i);

		if (!is_stack_pending(s, id))
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

/* Values whose type says more than the number. */
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

/* Formats a return value by its type, and cuts it to its size. */
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

/* A call that was shown at its entry was shown with its stack. */
static bool has_stack(const struct fsc_call_source *s, const struct fsc_rec_call *rec, bool slow)
{
	if (!s->opts.kernel_stack && !s->opts.user_stack)
		return false;
	if (s->opts.slow_stacks)
		return slow;
	return s->opts.shape == FSC_CALLS_SINGLE || rec->event != FSC_CALL_RETURN;
}

/* The record of a slow call has no values, but the argument registers. */
static void take_registers(struct fsc_call *c, const struct fsc_format *format)
{
	c->format = format;
	for (size_t i = 0; i < FSC_TRACE_ARGS; i++)
		c->values[i].number = c->args[i];
}

int fsc_calls_show(struct showing *w, const struct record *r, uint32_t depth, struct fsc_err *err)
{
	struct fsc_call_source *s = w->s;
	size_t n;
	const struct fsc_func *funcs = fsc_live_funcs(s->live, &n);
	const struct fsc_rec_call *rec = r->call;
	const struct fsc_format *format = NULL;
	struct fsc_call c;
	int rc;

	if (rec->row >= n)
		return fsc_err_set(err, EBADMSG, "a record from the kernel belongs to no function");
	/* The return of a call that was shown at its entry has no values. */
	if (s->opts.formats && (s->opts.shape == FSC_CALLS_SINGLE || rec->event != FSC_CALL_RETURN))
		format = &s->opts.formats[rec->row];
	rc = fsc_call_decode(rec, r->size, &funcs[rec->row], format, &c, err);
	if (!rc && s->opts.slow_formats && s->opts.slow_formats[rec->row].convs.n)
		take_registers(&c, &s->opts.slow_formats[rec->row]);
	if (!rc)
		rc = name_values(s, &c, err);
	if (!rc)
		rc = name_return(s, rec->row, &c, err);
	if (!rc && has_stack(s, rec, c.slow))
		rc = name_stacks(s, rec, &c, err);
	if (!rc && s->opts.drop_stacks)
		rc = add_used_stacks(s, rec, err);
	if (rc)
		return rc;
	c.depth = depth;
	c.time_ns += s->to_wall;
	return w->fn(&c, w->arg, err);
}

/* ---- reading ---- */

static int show_open(struct showing *w, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < w->s->open.n; i++) {
		struct record *r = FSC_AT(struct record, &w->s->open, i);

		if (!(r->call->flags & SHOWN))
			rc = fsc_calls_show(w, r, fsc_calls_depth(w, i), err);
	}
	return rc;
}

/* The stacks of all records that were read, and what their processes had mapped. While it unwinds,
 * the rings are emptied. */
static int unwind_copies(struct fsc_call_source *s, struct fsc_err *err)
{
	struct fsc_session *session = fsc_live_session(s->live);
	int rc = fsc_namer_tick(s->namer, session, err);

	for (int left = ROUNDS; !rc && left && fsc_copies_waiting(s->copies); left--) {
		rc = fsc_copies_unwind(s->copies, left == 1, err);
		if (!rc && left > 1 && !fsc_copies_full(s->copies))
			rc = fsc_session_drain(session, queue_record, s, err);
		if (!rc)
			rc = fsc_namer_tick(s->namer, session, err);
	}
	return rc;
}

int fsc_call_source_read(struct fsc_call_source *s, bool last, fsc_call_fn fn, void *arg,
			 struct fsc_err *err)
{
	struct showing w = {s, fn, arg};
	uint64_t until = last ? UINT64_MAX : fsc_clock_mono() - LAG_NS;
	int rc = s->namer ? fsc_namer_tick(s->namer, fsc_live_session(s->live), err) : 0;

	if (!rc)
		rc = fsc_session_drain(fsc_live_session(s->live), queue_record, s, err);
	if (!rc && s->copies)
		rc = unwind_copies(s, err);
	if (!rc)
		rc = fsc_timeline_take(&s->pending, until, fsc_calls_take_record, &w, err);
	if (s->opts.drop_stacks)
		drop_used_stacks(s);
	return rc || !last ? rc : show_open(&w, err);
}

uint64_t fsc_call_source_late(const struct fsc_call_source *s)
{
	return s->late;
}
