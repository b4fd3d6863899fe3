/* Arithmetic on profiles: difference, order, sum. */
#include "model/profile.h"

#include <stdlib.h>
#include <string.h>

void fsc_profile_release(struct fsc_profile *p)
{
	fsc_vec_release(&p->counts);
	*p = (struct fsc_profile){0};
}

struct fsc_key fsc_count_key(const struct fsc_count *c)
{
	struct fsc_key k;

	memset(&k, 0, sizeof(k));
	k.func = c->func;
	k.pid = c->pid;
	k.tid = c->tid;
	k.cpu = c->cpu;
	k.cgroup = c->cgroup;
	memcpy(k.comm, c->comm, sizeof(k.comm));
	return k;
}

int fsc_count_index(const struct fsc_vec *rows, struct fsc_map *ret, struct fsc_err *err)
{
	for (size_t i = 0; i < rows->n; i++) {
		struct fsc_key k = fsc_count_key((void *)FSC_AT(char, rows, i * rows->size));
		uint64_t *at = fsc_map_put(ret, &k, sizeof(k), NULL);

		if (!at)
			return fsc_err_nomem(err);
		*at = i;
	}
	return 0;
}

static int subtract_counts(const struct fsc_profile *later, const struct fsc_profile *earlier,
			   const struct fsc_map *index, bool zeros, struct fsc_profile *ret,
			   struct fsc_err *err)
{
	for (size_t i = 0; i < later->counts.n; i++) {
		const struct fsc_count *c = FSC_AT(struct fsc_count, &later->counts, i);
		struct fsc_key k = fsc_count_key(c);
		const uint64_t *at = fsc_map_get(index, &k, sizeof(k));
		uint64_t was = at ? FSC_AT(struct fsc_count, &earlier->counts, *at)->count : 0;
		uint64_t n = c->count - was;
		struct fsc_count *out;

		if (!n && !zeros)
			continue;
		out = fsc_vec_push(&ret->counts);
		if (!out)
			return fsc_err_nomem(err);
		*out = *c;
		out->count = n;
	}
	return 0;
}

int fsc_profile_subtract(const struct fsc_profile *later, const struct fsc_profile *earlier,
			 bool zeros, struct fsc_profile *ret, struct fsc_err *err)
{
	struct fsc_map index = {0};
	int rc;

	*ret = *later;
	ret->counts = FSC_VEC_INIT(struct fsc_count);
	rc = fsc_count_index(&earlier->counts, &index, err);
	if (!rc)
		rc = subtract_counts(later, earlier, &index, zeros, ret, err);
	fsc_map_release(&index);
	if (rc)
		fsc_profile_release(ret);
	return rc;
}

struct row_order {
	const struct fsc_profile *p;
	enum fsc_sort by;
	bool reverse;
};

int fsc_count_compare(const struct fsc_func *funcs, const struct fsc_count *a,
		      const struct fsc_count *b)
{
	int r = strcmp(funcs[a->func].name, funcs[b->func].name);

	if (!r)
		r = strcmp(funcs[a->func].binary, funcs[b->func].binary);
	if (!r)
		r = strcmp(funcs[a->func].kind, funcs[b->func].kind);
	if (!r)
		r = strcmp(a->comm, b->comm);
	if (!r)
		r = fsc_compare_u64(a->pid, b->pid);
	if (!r)
		r = fsc_compare_u64(a->tid, b->tid);
	if (!r)
		r = fsc_compare_u64(a->cpu, b->cpu);
	if (!r)
		r = fsc_compare_u64(a->cgroup, b->cgroup);
	return r ? r : fsc_compare_u64(a->func, b->func);
}

static int compare_rows(const void *pa, const void *pb, void *arg)
{
	const struct row_order *o = arg;
	int r = o->by == FSC_SORT_COUNT ? fsc_compare_u64(((const struct fsc_count *)pb)->count,
							  ((const struct fsc_count *)pa)->count)
					: 0;

	if (!r)
		r = fsc_count_compare(o->p->funcs, pa, pb);
	return o->reverse ? -r : r;
}

static void sort_counts(struct fsc_profile *p, enum fsc_sort by, bool reverse)
{
	struct row_order o = {p, by, reverse};

	qsort_r(p->counts.data, p->counts.n, sizeof(struct fsc_count), compare_rows, &o);
}

void fsc_profile_sort(struct fsc_profile *p, enum fsc_sort by, bool reverse, size_t top)
{
	if (!p->counts.n)
		return;
	/* The top rows have the most calls, whatever order they are shown in. */
	if (top && top < p->counts.n) {
		sort_counts(p, FSC_SORT_COUNT, false);
		p->counts.n = top;
	}
	sort_counts(p, by, reverse);
}

uint64_t fsc_profile_total(const struct fsc_profile *p)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->counts.n; i++)
		sum += FSC_AT(struct fsc_count, &p->counts, i)->count;
	return sum;
}

void fsc_summary_balance(struct fsc_summary *s)
{
	const size_t max = sizeof(s->lost) / sizeof(s->lost[0]);
	uint64_t sum = s->kept;
	size_t n = 0;

	for (; s->lost[n].name; n++)
		sum += s->lost[n].n;
	if (sum == s->seen || n + 1 >= max)
		return;
	/* If more was kept than seen, the huge number (modulo 2^64) cannot be overlooked. */
	s->lost[n] = (struct fsc_named){"unexplained", s->seen - sum};
}

uint64_t fsc_summary_lost(const struct fsc_summary *s, const char *name)
{
	for (size_t i = 0; i < sizeof(s->lost) / sizeof(s->lost[0]) && s->lost[i].name; i++)
		if (!strcmp(s->lost[i].name, name))
			return s->lost[i].n;
	return 0;
}
