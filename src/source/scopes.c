/* Instrumented processes: reads their memory into rows, summed over processes and threads, and
 * their books. */
#include "source/scopes.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "proc/task.h"
#include "source/scopes_priv.h"
#include "sym/demangle.h"
#include "elf/elf.h"

enum { TRIES = 50 };

/* ---- create and free ---- */

static void release_process(struct process *p)
{
	fsc_region_free(p->region);
	free(p->path);
	free(p->binary);
	free(p->funcs);
}

void fsc_scopes_free(struct fsc_scopes *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->processes.n; i++)
		release_process(FSC_AT(struct process, &s->processes, i));
	for (size_t i = 0; i < s->funcs.n; i++) {
		struct fsc_func *f = FSC_AT(struct fsc_func, &s->funcs, i);

		free((char *)f->binary);
		free((char *)f->name);
	}
	for (size_t i = 0; i < s->files.n; i++) {
		fsc_elf_free(FSC_AT(struct file, &s->files, i)->elf);
		free(FSC_AT(struct file, &s->files, i)->path);
	}
	fsc_vec_release(&s->processes);
	fsc_vec_release(&s->funcs);
	fsc_vec_release(&s->files);
	fsc_map_release(&s->by_name);
	free(s);
}

int fsc_scopes_new(uint32_t by, bool raw, struct fsc_scopes **ret, struct fsc_err *err)
{
	struct fsc_scopes *s = calloc(1, sizeof(*s));

	if (!s)
		return fsc_err_nomem(err);
	s->by = by;
	s->raw = raw;
	s->processes = FSC_VEC_INIT(struct process);
	s->funcs = FSC_VEC_INIT(struct fsc_func);
	s->files = FSC_VEC_INIT(struct file);
	fsc_ticks_measure(&s->clock);
	*ret = s;
	return 0;
}

/* ---- processes ---- */

static char *binary_of(pid_t pid)
{
	char path[PATH_MAX];

	return strdup(fsc_task_exe(pid, path) ? path : "[unknown]");
}

/* Takes ownership of the chunks. */
static int add_process(struct fsc_scopes *s, struct process *new, struct fsc_chunks *chunks,
		       struct fsc_err *err)
{
	struct process *p;
	char name[PATH_MAX];
	const struct funcscope_region *h;
	int rc;

	if (new->path)
		snprintf(name, sizeof(name), "'%s'", new->path);
	else
		snprintf(name, sizeof(name), "process %d", (int)new->pid);
	rc = fsc_region_open(chunks, name, &new->region, err);
	if (rc) {
		release_process(new);
		return rc;
	}
	h = fsc_region_header(new->region);
	if (!new->binary)
		new->binary = strdup(h->program);
	new->funcs = calloc(h->cells ? h->cells : 1, sizeof(*new->funcs));
	p = new->funcs &&new->binary ? fsc_vec_push(&s->processes) : NULL;
	if (!p) {
		release_process(new);
		return fsc_err_nomem(err);
	}
	*p = *new;
	if (!p->path)
		fsc_ticks_check(&s->clock, h->start_ticks, h->start_ns);
	return 0;
}

int fsc_scopes_add(struct fsc_scopes *s, pid_t pid, bool *ret_added, struct fsc_err *err)
{
	struct process p = {.pid = pid};
	struct fsc_chunks chunks;
	int rc;

	*ret_added = false;
	for (size_t i = 0; i < s->processes.n; i++) {
		const struct process *q = FSC_AT(struct process, &s->processes, i);

		if (q->pid == pid && !q->ended)
			return 0;
	}
	rc = fsc_chunks_of(pid, &chunks, err);
	if (rc)
		return rc;
	fsc_task_comm(pid, p.comm, sizeof(p.comm));
	p.binary = binary_of(pid);
	rc = add_process(s, &p, &chunks, err);
	*ret_added = !rc;
	return rc;
}

int fsc_scopes_add_file(struct fsc_scopes *s, const char *path, struct fsc_err *err)
{
	struct process p = {.ended = true};
	struct fsc_chunks chunks;
	int rc = fsc_chunks_open(path, &chunks, err);

	if (rc) {
		fsc_chunks_release(&chunks);
		return rc;
	}
	p.pid = (pid_t)chunks.pid;
	p.path = strdup(path);
	if (!p.path) {
		fsc_chunks_release(&chunks);
		return fsc_err_nomem(err);
	}
	return add_process(s, &p, &chunks, err);
}

static bool has_file(const struct fsc_scopes *s, const char *path)
{
	for (size_t i = 0; i < s->processes.n; i++) {
		const char *has = FSC_AT(struct process, &s->processes, i)->path;

		if (has && !strcmp(has, path))
			return true;
	}
	return false;
}

int fsc_scopes_add_directory(struct fsc_scopes *s, const char *dir, struct fsc_err *err)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int rc = 0;

	if (!d)
		return fsc_err_sys(err, errno, "cannot read directory '%s'", dir);
	while (!rc && (e = readdir(d))) {
		FSC_AUTO(fsc_freep) char *path = NULL;
		size_t n = strlen(e->d_name);

		if (strncmp(e->d_name, "funcscope.", 10) || n < 13 ||
		    strcmp(e->d_name + n - 2, ".0"))
			continue;
		if (asprintf(&path, "%s/%s", dir, e->d_name) < 0)
			rc = fsc_err_nomem(err);
		else if (!has_file(s, path))
			rc = fsc_scopes_add_file(s, path, err);
		if (rc == -EBADMSG)
			rc = 0; /* not initialised yet: try again next time */
	}
	closedir(d);
	return rc;
}

void fsc_scopes_ended(struct fsc_scopes *s, pid_t pid)
{
	for (size_t i = 0; i < s->processes.n; i++)
		if (FSC_AT(struct process, &s->processes, i)->pid == pid)
			FSC_AT(struct process, &s->processes, i)->ended = true;
}

/* A process that released its memory may have allocated new memory since. */
int fsc_scopes_renew(struct fsc_scopes *s, struct fsc_err *err)
{
	for (size_t i = 0; i < s->processes.n; i++) {
		struct process *p = FSC_AT(struct process, &s->processes, i);
		bool more, added;
		int rc;

		if (p->ended || p->path)
			continue;
		rc = fsc_region_update(p->region, &more, err);
		if (rc)
			return rc;
		if (!fsc_region_header(p->region)->exited)
			continue;
		p->ended = true;
		rc = fsc_scopes_add(s, p->pid, &added, NULL);
		if (rc == -ENOMEM)
			return fsc_err_nomem(err);
		if (rc) /* none yet: try again */
			FSC_AT(struct process, &s->processes, i)->ended = false;
	}
	return 0;
}

size_t fsc_scopes_processes(const struct fsc_scopes *s)
{
	return s->processes.n;
}

double fsc_scopes_seconds(const struct fsc_scopes *s)
{
	uint64_t now = fsc_clock_ns(CLOCK_MONOTONIC_RAW);
	double most = 0;

	for (size_t i = 0; i < s->processes.n; i++) {
		const struct process *p = FSC_AT(struct process, &s->processes, i);
		uint64_t start = fsc_region_header(p->region)->start_ns;

		if (!p->ended && start < now && (double)(now - start) / 1e9 > most)
			most = (double)(now - start) / 1e9;
	}
	return most;
}

const struct fsc_tick_clock *fsc_scopes_clock(const struct fsc_scopes *s)
{
	return &s->clock;
}

/* ---- reading ---- */

struct reading {
	struct fsc_scopes *s;
	struct process *p;
	struct fsc_latencies *to;
	struct fsc_map rows;
};

static struct fsc_latency *row_of(struct reading *r, const struct fsc_count *key)
{
	struct fsc_key k = fsc_count_key(key);
	struct fsc_latency *row;
	bool is_new;
	uint64_t *at = fsc_map_put(&r->rows, &k, sizeof(k), &is_new);

	if (!at)
		return NULL;
	if (!is_new)
		return FSC_AT(struct fsc_latency, &r->to->rows, *at);
	row = fsc_latencies_add(r->to);
	if (!row)
		return NULL;
	*at = r->to->rows.n - 1;
	row->key = *key;
	return row;
}

static void add_sums(struct fsc_slot *s, const struct fsc_region_cell *c)
{
	s->count += c->count;
	s->total += c->total;
	s->raw_total += c->total;
	if (c->count && c->max > s->max)
		s->max = c->max;
	if (c->count && ~c->min > s->min_inverted)
		s->min_inverted = ~c->min;
	for (uint32_t i = 0; i < FSC_HIST_BUCKETS; i++)
		s->hist[i] += c->hist[i];
}
_Static_assert((int)FSC_HIST_BUCKETS == (int)FUNCSCOPE_HIST_BUCKETS, "one histogram for all");

/* Keeps the slowest, slowest first. */
static void add_sample(struct fsc_recent *r, double ns)
{
	enum { MOST = sizeof(r->slow) / sizeof(r->slow[0]) };
	unsigned at = r->n_slow;

	while (at && r->slow[at - 1] < ns)
		at--;
	if (at == MOST)
		return;
	if (r->n_slow < MOST)
		r->n_slow++;
	memmove(&r->slow[at + 1], &r->slow[at], (r->n_slow - at - 1) * sizeof(r->slow[0]));
	r->slow[at] = ns;
}

static int add_cell(const struct fsc_region_cell *c, void *arg, struct fsc_err *err)
{
	struct reading *r = arg;
	struct fsc_scopes *s = r->s;
	struct fsc_count key = {0};
	struct fsc_latency *row;
	int rc;

	r->p->torn += c->torn;
	r->p->lapped += c->lapped;
	if (c->open && r->p->ended && !fsc_scopes_func(s, r->p, c->index, &r->p->open_func, err))
		r->p->left_open++;
	if (!c->count)
		return 0;
	rc = fsc_scopes_func(s, r->p, c->index, &key.func, err);
	if (rc)
		return rc;
	if (s->by & FSC_BY_PID)
		key.pid = (uint32_t)r->p->pid;
	if (s->by & FSC_BY_TID)
		key.tid = c->tid;
	if (s->by & FSC_BY_COMM)
		memcpy(key.comm, r->p->comm, sizeof(key.comm));
	row = row_of(r, &key);
	if (!row)
		return fsc_err_nomem(err);
	row->ticks = (struct fsc_ticks){s->clock.ns, s->raw ? 0 : s->clock.floor[c->ordered],
					s->raw ? 0 : s->clock.mean[c->ordered], c->ordered};
	s->ways[c->ordered] = true;
	row->floor_ns = s->clock.floor[c->ordered] * s->clock.ns;
	add_sums(row->slot, c);
	row->recent.n += c->n_samples;
	for (uint32_t i = 0; i < c->n_samples; i++)
		add_sample(&row->recent, fsc_latency_ns(row, (double)c->samples[i]));
	return 0;
}

/* Maps memory that the process has allocated since. */
static int refresh_region(struct process *p, struct fsc_err *err)
{
	struct fsc_chunks chunks;
	bool more;
	int rc = fsc_region_update(p->region, &more, err);

	if (rc || !more || fsc_region_header(p->region)->exited)
		return rc;
	if (p->path)
		rc = fsc_chunks_open(p->path, &chunks, err);
	else
		rc = p->ended ? -ESRCH : fsc_chunks_of(p->pid, &chunks, err);
	if (rc == -ESRCH || rc == -ENOENT || rc == -EACCES)
		return 0; /* it has exited: there is no more */
	return rc ? rc : fsc_region_extend(p->region, &chunks, err);
}

static int merge_process(struct reading *all, struct fsc_latencies *one, struct fsc_err *err)
{
	for (size_t i = 0; i < one->rows.n; i++) {
		struct fsc_latency *from = FSC_AT(struct fsc_latency, &one->rows, i);
		struct fsc_latency *to = row_of(all, &from->key);

		if (!to)
			return fsc_err_nomem(err);
		to->ticks = from->ticks;
		to->floor_ns = from->floor_ns;
		fsc_slot_add(to->slot, from->slot);
		to->recent.n += from->recent.n;
		for (unsigned k = 0; k < from->recent.n_slow; k++)
			add_sample(&to->recent, from->recent.slow[k]);
	}
	return 0;
}

/* If a process allocates memory while we read, its reading starts over: nothing is added twice. */
static int read_process(struct reading *all, struct process *p, struct fsc_err *err)
{
	struct fsc_latencies one = {0};
	struct reading r = {.s = all->s, .p = p, .to = &one};
	int rc;

	for (int left = TRIES; left >= 0; left--) {
		p->torn = p->lapped = p->left_open = 0;
		one = (struct fsc_latencies){.rows = FSC_VEC_INIT(struct fsc_latency)};
		rc = refresh_region(p, err);
		if (!rc)
			rc = fsc_region_each(p->region, p->ended || !left, add_cell, &r, err);
		fsc_map_release(&r.rows);
		if (rc != -EAGAIN)
			break;
		fsc_latencies_release(&one);
	}
	if (!rc)
		rc = merge_process(all, &one, err);
	fsc_latencies_release(&one);
	return rc;
}

int fsc_scopes_read(struct fsc_scopes *s, struct fsc_latencies *ret, struct fsc_err *err)
{
	struct reading all = {.s = s, .to = ret};
	int rc = 0;

	*ret = (struct fsc_latencies){.by = s->by, .rows = FSC_VEC_INIT(struct fsc_latency)};
	for (size_t i = 0; !rc && i < s->processes.n; i++)
		rc = read_process(&all, FSC_AT(struct process, &s->processes, i), err);
	fsc_map_release(&all.rows);
	ret->funcs = s->funcs.data;
	ret->n_funcs = s->funcs.n;
	ret->time_ns = fsc_clock_ns(CLOCK_REALTIME);
	if (rc)
		fsc_latencies_release(ret);
	return rc;
}

/* ---- the books ---- */

static void add_process_books(const struct process *p, struct fsc_summary *sum, uint64_t lost[3])
{
	const struct funcscope_region *h = fsc_region_header(p->region);

	lost[0] += h->lost_calls;
	lost[1] += h->too_deep;
	lost[2] += fsc_region_skipped(p->region);
	sum->unmatched += h->unmatched;
	sum->scopes.threads += fsc_region_threads(p->region);
	sum->scopes.lost_threads += h->lost_threads;
	sum->scopes.lost_names += h->lost_names;
	sum->scopes.backwards += h->backwards;
	sum->scopes.left_open += p->left_open;
	sum->scopes.torn += p->torn;
	sum->scopes.lapped += p->lapped;
}

void fsc_scopes_books(const struct fsc_scopes *s, struct fsc_summary *sum)
{
	uint64_t lost[3] = {0};
	bool ordered = s->ways[1] && !s->ways[0];

	sum->scopes = (struct fsc_scope_books){.known = true,
					       .processes = s->processes.n,
					       .clock = s->clock.name,
					       .tick_ns = s->clock.ns,
					       .step_ns = s->clock.step_ns,
					       .empty_ns = s->clock.floor[ordered] * s->clock.ns,
					       .ordered = ordered,
					       .raw = s->raw,
					       .grade = s->clock.grade,
					       .why = s->clock.why};
	for (size_t i = 0; i < s->processes.n; i++) {
		const struct process *p = FSC_AT(struct process, &s->processes, i);

		add_process_books(p, sum, lost);
		if (p->left_open)
			sum->scopes.open_name =
			    FSC_AT(struct fsc_func, &s->funcs, p->open_func)->name;
	}
	sum->lost[0] = (struct fsc_named){"no_memory", lost[0]};
	sum->lost[1] = (struct fsc_named){"too_deep", lost[1]};
	sum->scopes.unseen = lost[2];
	sum->functions = sum->attached = s->funcs.n;
}
