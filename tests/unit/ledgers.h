/* What the tests of the ledger share: a ledger of its own for each test, and what the probes and
 * the table of processes say, made up. Include after cmocka.h. */
#ifndef LEDGERS_H
#define LEDGERS_H

#include <stdlib.h>
#include <string.h>

#include "monitor/ledger.h"
#include "slots.h"

/* ---- stand-ins ---- */

struct fsc_hooks {
	struct fsc_tally running, ended; /* ended: to be collected once */
	struct fsc_func funcs[2];
	bool fold; /* the second function shall be summed up in the first */
};

struct fsc_processes {
	const char *comm;
};

int fsc_hooks_collect(struct fsc_hooks *h, int (*met)(pid_t pid, void *arg, struct fsc_err *err),
		      void *arg, struct fsc_tally *ended, struct fsc_err *err)
{
	int rc = fsc_tally_merge(ended, &h->ended, true, err);

	(void)met;
	(void)arg;
	fsc_tally_release(&h->ended);
	fsc_tally_init(&h->ended);
	return rc;
}

int fsc_hooks_read(struct fsc_hooks *h, struct fsc_tally *to, struct fsc_err *err)
{
	return fsc_tally_merge(to, &h->running, true, err);
}

const struct fsc_func *fsc_hooks_funcs(const struct fsc_hooks *h, size_t *ret_n)
{
	*ret_n = 2;
	return h->funcs;
}

int fsc_hooks_to_fold(struct fsc_hooks *h, size_t most, struct fsc_vec *ret, struct fsc_err *err)
{
	const struct fsc_fold fold = {1, 0};

	(void)most;
	return h->fold ? fsc_vec_add(ret, &fold, err) : 0;
}

int fsc_hooks_fold(struct fsc_hooks *h, const struct fsc_vec *folds,
		   void (*which)(const struct fsc_tally_part *p, uint32_t *func, uint32_t *pid,
				 void *arg),
		   void *arg, struct fsc_err *err)
{
	(void)folds, (void)which, (void)arg, (void)err;
	h->fold = false;
	return 0;
}

const char *fsc_hooks_error_name(const struct fsc_hooks *h, uint32_t func, int64_t code)
{
	(void)h;
	return func == 1 && code == 5 ? "EIO" : NULL;
}

const char *fsc_processes_comm(const struct fsc_processes *p, pid_t pid)
{
	(void)pid;
	return p->comm;
}

size_t fsc_processes_count(const struct fsc_processes *p, bool ever)
{
	(void)p;
	return ever ? 7 : 3;
}

/* ---- a ledger of its own for each test ---- */

struct world {
	struct fsc_hooks hooks;
	struct fsc_processes processes;
	struct fsc_slow *slow;
	struct fsc_ledger *l;
	size_t keep_rows;
};

static inline void ok(int rc, const struct fsc_err *err)
{
	if (rc)
		fail_msg("%s", err->msg);
}

static inline void begin(struct world *w)
{
	struct fsc_err err = {0};

	*w = (struct world){.processes = {"app"}, .keep_rows = 600};
	fsc_tally_init(&w->hooks.running);
	fsc_tally_init(&w->hooks.ended);
	w->hooks.funcs[0].name = "f";
	w->hooks.funcs[1].name = "g";
	ok(fsc_slow_new(5, 5, &w->slow, &err), &err);
	ok(fsc_ledger_new(&w->hooks, &w->processes, w->slow, &w->l, &err), &err);
}

static inline void end(struct world *w)
{
	fsc_ledger_free(w->l);
	fsc_slow_free(w->slow);
	fsc_tally_release(&w->hooks.running);
	fsc_tally_release(&w->hooks.ended);
}

static inline void measured(struct fsc_tally *t, uint32_t func, uint32_t pid, uint64_t calls)
{
	struct fsc_slot *s = slot_of(NULL, 0);
	struct fsc_err err = {0};

	while (calls--)
		keep(s, 100);
	ok(fsc_tally_add(t, func, pid, s, &err), &err);
	free(s);
}

/* A process ends that has made so many calls, and is collected later. */
static inline void ended(struct world *w, uint32_t pid, uint64_t calls)
{
	struct fsc_err err = {0};

	ok(fsc_ledger_ended(w->l, (pid_t)pid, &err), &err);
	if (calls)
		measured(&w->hooks.ended, 0, pid, calls);
}

static inline void collect(struct world *w, double keep_s)
{
	struct fsc_err err = {0};

	ok(fsc_ledger_collect(w->l, keep_s, w->keep_rows, NULL, NULL, &err), &err);
}

static inline uint64_t sum_of(const struct fsc_latencies *calls)
{
	uint64_t n = 0;

	for (size_t i = 0; i < calls->rows.n; i++)
		n += FSC_AT(struct fsc_latency, &calls->rows, i)->slot->count;
	return n;
}

static inline const struct fsc_latency *row_of(const struct fsc_latencies *calls, uint32_t func,
					       uint32_t pid)
{
	for (size_t i = 0; i < calls->rows.n; i++) {
		const struct fsc_latency *row = FSC_AT(struct fsc_latency, &calls->rows, i);

		if (row->key.func == func && row->key.pid == pid)
			return row;
	}
	return NULL;
}

/* How many calls of f the total has in the row of a process. */
static inline uint64_t calls_of(struct world *w, uint32_t pid)
{
	const struct fsc_latency *row;
	struct fsc_tally t;
	struct fsc_err err = {0};
	uint64_t n;

	ok(fsc_ledger_total(w->l, true, &t, &err), &err);
	row = row_of(&t.calls, 0, pid);
	n = row ? row->slot->count : 0;
	fsc_tally_release(&t);
	return n;
}

static inline uint64_t all_calls(struct world *w)
{
	struct fsc_tally t;
	struct fsc_err err = {0};
	uint64_t n;

	ok(fsc_ledger_total(w->l, false, &t, &err), &err);
	n = sum_of(&t.calls);
	fsc_tally_release(&t);
	return n;
}

#endif
