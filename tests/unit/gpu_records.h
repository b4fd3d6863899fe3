/* What the tests of src/gpu share: the books and what turns records into events, without a kernel.
 * Records are made by the names of calls, as the table has them (src/gpu/calls.c). */
#ifndef GPU_RECORDS_H
#define GPU_RECORDS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "gpu/books_priv.h"
#include "gpu/calls.h"
#include "gpu/events.h"
#include "gpu/kernels.h"

/* Numbers that no process has. */
enum { GPU_PID = 0x7ffffff0, GPU_OTHER_PID };

struct gpu_world {
	struct fsc_gpu_texts texts;
	struct fsc_namer *namer;
	struct fsc_gpu_stacks *stacks;
	struct fsc_gpu_books *books;
	struct fsc_gpu_hooks *hooks;
	struct fsc_gpu_events *events;
	struct fsc_vec told; /* struct fsc_gpu_event, in the order in which they came */
	struct fsc_gpu_process_facts facts;
	unsigned asked; /* for facts */
};

static inline void gpu_ok(int rc, const struct fsc_err *err)
{
	if (rc)
		fail_msg("%s", err->msg);
}

static inline int gpu_on_event(void *arg, const struct fsc_gpu_event *e, uint32_t stack,
			       struct fsc_err *err)
{
	struct gpu_world *w = arg;
	struct fsc_gpu_event *copy = fsc_vec_push(&w->told);

	(void)stack;
	(void)err;
	assert_non_null(copy);
	*copy = *e;
	return 0;
}

static inline int gpu_on_process(void *arg, uint32_t pid, struct fsc_gpu_process_facts *f,
				 struct fsc_err *err)
{
	struct gpu_world *w = arg;

	(void)pid;
	(void)err;
	w->asked++;
	*f = w->facts;
	return 0;
}

static inline struct fsc_gpu_events_opts gpu_opts(const struct gpu_world *w, int device)
{
	return (struct fsc_gpu_events_opts){.stacks = w->stacks,
					    .texts = (struct fsc_gpu_texts *)&w->texts,
					    .books = w->books,
					    .hooks = w->hooks,
					    .namer = w->namer,
					    .device = device};
}

static inline void gpu_begin_on(struct gpu_world *w, int device)
{
	const struct fsc_namer_opts quiet = {.external_events = true};
	const struct fsc_gpu_hooks_opts none = {0};
	const struct fsc_gpu_events_to to = {w, gpu_on_event, gpu_on_process};
	struct fsc_gpu_events_opts opts;
	struct fsc_err err = {0};

	*w = (struct gpu_world){.told = FSC_VEC_INIT(struct fsc_gpu_event)};
	fsc_gpu_texts_init(&w->texts);
	gpu_ok(fsc_namer_new(&quiet, &w->namer, &err), &err);
	gpu_ok(fsc_gpu_stacks_new(w->namer, NULL, &w->texts, &w->stacks, &err), &err);
	gpu_ok(fsc_gpu_books_new(w->stacks, &w->books, &err), &err);
	gpu_ok(fsc_gpu_hooks_new(NULL, &none, &w->hooks, &err), &err);
	opts = gpu_opts(w, device);
	gpu_ok(fsc_gpu_events_new(&opts, &to, &w->events, &err), &err);
}

static inline void gpu_begin(struct gpu_world *w)
{
	gpu_begin_on(w, 0);
}

static inline void gpu_end(struct gpu_world *w)
{
	fsc_gpu_events_free(w->events);
	fsc_gpu_hooks_free(w->hooks);
	fsc_gpu_books_free(w->books);
	fsc_gpu_stacks_free(w->stacks);
	fsc_namer_free(w->namer);
	fsc_gpu_texts_release(&w->texts);
	fsc_vec_release(&w->told);
}

/* ---- records ---- */

static inline uint32_t gpu_call(const char *symbol)
{
	for (uint32_t i = 1; i < fsc_gpu_n_rows; i++)
		if (!strcmp(fsc_gpu_rows[i].symbol, symbol))
			return i;
	fail_msg("the table has no %s", symbol);
	return 0;
}

static inline struct fsc_gpu_rec gpu_record(const char *symbol, uint64_t start, uint64_t end)
{
	uint32_t call = gpu_call(symbol);
	const struct fsc_gpu_call *c = &fsc_gpu_rows[call].call;

	return (struct fsc_gpu_rec){.time_ns = start,
				    .dur_ns = end - start,
				    .pid = GPU_PID,
				    .tid = GPU_PID,
				    .call = call,
				    .flags = FSC_GPU_REC_RETURN,
				    .device = FSC_GPU_NO_DEVICE,
				    .dir = c->op == FSC_GPU_COPY ? c->kind : 0,
				    .comm = "app"};
}

/* With a name behind it, if it is not NULL. */
static inline void gpu_take_named(struct gpu_world *w, struct fsc_gpu_rec r, const char *name)
{
	size_t n = name ? strlen(name) + 1 : 0;
	char *bytes = malloc(sizeof(r) + n);
	struct fsc_err err = {0};

	assert_non_null(bytes);
	r.n_name = (uint32_t)n;
	memcpy(bytes, &r, sizeof(r));
	if (n)
		memcpy(bytes + sizeof(r), name, n);
	gpu_ok(fsc_gpu_events_take(w->events, bytes, sizeof(r) + n, &err), &err);
	free(bytes);
}

static inline void gpu_take(struct gpu_world *w, struct fsc_gpu_rec r)
{
	gpu_take_named(w, r, NULL);
}

static inline void gpu_flush(struct gpu_world *w)
{
	struct fsc_err err = {0};

	gpu_ok(fsc_gpu_events_flush(w->events, UINT64_MAX, &err), &err);
}

/* A record by itself, to its end. */
static inline void gpu_pass(struct gpu_world *w, struct fsc_gpu_rec r)
{
	gpu_take(w, r);
	gpu_flush(w);
}

static inline const struct fsc_gpu_event *gpu_told(const struct gpu_world *w, size_t i)
{
	if (i >= w->told.n)
		fail_msg("%zu events were told, %zu expected at least", w->told.n, i + 1);
	return FSC_AT(struct fsc_gpu_event, &w->told, i);
}

/* ---- the books alone ---- */

static inline void gpu_meet(struct gpu_world *w, uint32_t pid)
{
	struct fsc_gpu_event e = {.pid = pid, .comm = "app"};
	struct fsc_err err = {0};

	gpu_ok(fsc_gpu_books_process(w->books, &e, &w->facts, &err), &err);
}

static inline struct fsc_gpu_event gpu_add_on(struct gpu_world *w, struct fsc_gpu_event e,
					      uint32_t stack)
{
	struct fsc_err err = {0};

	if (!e.pid)
		e.pid = GPU_PID;
	gpu_ok(fsc_gpu_books_add(w->books, &e, stack, &err), &err);
	return e;
}

static inline struct fsc_gpu_event gpu_add(struct gpu_world *w, struct fsc_gpu_event e)
{
	return gpu_add_on(w, e, 0);
}

static inline struct fsc_gpu_report gpu_report(struct gpu_world *w, double leak_age_s, size_t top)
{
	const struct fsc_gpu_report_opts o = {.leak_age_s = leak_age_s, .top = top};
	struct fsc_gpu_report r;
	struct fsc_err err = {0};

	gpu_ok(fsc_gpu_books_report(w->books, &o, &r, &err), &err);
	return r;
}

#endif
