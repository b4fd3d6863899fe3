/* Each call is stored once, with a reference count of the lists that hold it. */
#include "monitor/slow.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"

enum { RECENT = 1024 }; /* for receivers */

struct kept {
	struct fsc_noted_call noted; /* first: fsc_slow_func() */
	struct fsc_call call;
	uint32_t func;
	unsigned holders;
	const char **frames;	 /* one allocation with their text */
	struct fsc_label *about; /* likewise */
};

struct of_func {
	struct fsc_vec slowest; /* struct kept *, unordered */
	struct fsc_vec latest;	/* struct kept *, the oldest first */
};

struct fsc_slow {
	unsigned most_slowest, most_latest;
	struct fsc_vec funcs;  /* struct of_func */
	struct fsc_vec recent; /* struct kept *, the oldest first */
	uint64_t last_id;
};

int fsc_slow_new(unsigned slowest, unsigned latest, struct fsc_slow **ret, struct fsc_err *err)
{
	struct fsc_slow *s = calloc(1, sizeof(*s));

	if (!s)
		return fsc_err_nomem(err);
	s->funcs = FSC_VEC_INIT(struct of_func);
	s->recent = FSC_VEC_INIT(struct kept *);
	fsc_slow_limit(s, slowest, latest);
	*ret = s;
	return 0;
}

static void call_free(struct kept *k)
{
	free(k->about);
	free(k->frames);
	free(k);
}

static void call_unref(struct kept *k)
{
	if (--k->holders)
		return;
	call_free(k);
}

static void release_list(struct fsc_vec *list)
{
	for (size_t i = 0; i < list->n; i++)
		call_unref(*FSC_AT(struct kept *, list, i));
	fsc_vec_release(list);
}

void fsc_slow_free(struct fsc_slow *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->funcs.n; i++) {
		release_list(&FSC_AT(struct of_func, &s->funcs, i)->slowest);
		release_list(&FSC_AT(struct of_func, &s->funcs, i)->latest);
	}
	fsc_vec_release(&s->funcs);
	release_list(&s->recent);
	free(s);
}

static struct kept **find_quickest(struct fsc_vec *list)
{
	struct kept **quickest = NULL;

	for (size_t i = 0; i < list->n; i++) {
		struct kept **at = FSC_AT(struct kept *, list, i);

		if (!quickest || (*at)->call.duration_ns < (*quickest)->call.duration_ns)
			quickest = at;
	}
	return quickest;
}

static void drop_first(struct fsc_vec *list)
{
	call_unref(*FSC_AT(struct kept *, list, 0));
	list->n--;
	memmove(list->data, FSC_AT(struct kept *, list, 1), list->n * sizeof(struct kept *));
}

void fsc_slow_limit(struct fsc_slow *s, unsigned slowest, unsigned latest)
{
	s->most_slowest = slowest;
	s->most_latest = latest;
	for (size_t i = 0; i < s->funcs.n; i++) {
		struct of_func *f = FSC_AT(struct of_func, &s->funcs, i);

		while (f->latest.n > latest)
			drop_first(&f->latest);
		while (f->slowest.n > slowest) {
			struct kept **quickest = find_quickest(&f->slowest);

			call_unref(*quickest);
			*quickest = *FSC_AT(struct kept *, &f->slowest, --f->slowest.n);
		}
	}
}

static void release_lists(struct of_func *f)
{
	release_list(&f->slowest);
	release_list(&f->latest);
	*f = (struct of_func){FSC_VEC_INIT(struct kept *), FSC_VEC_INIT(struct kept *)};
}

void fsc_slow_fold(struct fsc_slow *s, uint32_t func, uint32_t to)
{
	if (func < s->funcs.n)
		release_lists(FSC_AT(struct of_func, &s->funcs, func));
	for (size_t i = 0; i < s->recent.n; i++) {
		struct kept *k = *FSC_AT(struct kept *, &s->recent, i);

		if (k->func == func)
			k->func = to;
	}
}

uint64_t fsc_slow_count(const struct fsc_slow *s)
{
	return s->last_id;
}

/* ---- keeping ---- */

static int copy_frames(struct kept *k, const struct fsc_call *c)
{
	size_t n = c->n_kernel + c->n_user, size = 0;
	char *text;

	for (size_t i = 0; i < n; i++)
		size += strlen(c->kernel_stack[i]) + 1;
	k->frames = malloc(n * sizeof(*k->frames) + size + 1);
	if (!k->frames)
		return -1;
	text = (char *)(k->frames + n);
	for (size_t i = 0; i < n; i++) {
		k->frames[i] = text;
		text = stpcpy(text, c->kernel_stack[i]) + 1;
	}
	k->call.kernel_stack = k->frames;
	k->call.user_stack = k->frames + c->n_kernel;
	return 0;
}

static int copy_about(struct kept *k, const struct fsc_call *c)
{
	size_t size = 0;
	char *text;

	for (size_t i = 0; i < c->n_about; i++)
		size += strlen(c->about[i].value) + 1;
	k->about = malloc(c->n_about * sizeof(*k->about) + size + 1);
	if (!k->about)
		return -1;
	text = (char *)(k->about + c->n_about);
	for (size_t i = 0; i < c->n_about; i++) {
		k->about[i] = (struct fsc_label){c->about[i].name, text};
		text = stpcpy(text, c->about[i].value) + 1;
	}
	k->call.about = k->about;
	return 0;
}

static struct kept *copy_call(const struct fsc_call *c)
{
	struct kept *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->call = *c;
	k->call.ret_text = NULL;
	k->call.format = NULL;
	if (copy_frames(k, c) || copy_about(k, c)) {
		call_free(k);
		return NULL;
	}
	k->noted.call = &k->call;
	return k;
}

static int hold_call(struct fsc_vec *list, struct kept *k)
{
	struct kept **slot = fsc_vec_push(list);

	if (!slot)
		return -1;
	*slot = k;
	k->holders++;
	return 0;
}

static int hold_latest(struct fsc_vec *list, size_t most, struct kept *k)
{
	while (list->n && list->n >= most)
		drop_first(list);
	return most ? hold_call(list, k) : 0;
}

/* Replaces the quickest if this one is slower. */
static int hold_slowest(struct fsc_vec *list, size_t most, struct kept *k)
{
	struct kept **quickest;

	if (list->n < most)
		return hold_call(list, k);
	quickest = most ? find_quickest(list) : NULL;
	if (!quickest || (*quickest)->call.duration_ns >= k->call.duration_ns)
		return 0;
	call_unref(*quickest);
	*quickest = k;
	k->holders++;
	return 0;
}

static struct of_func *func_at(struct fsc_slow *s, uint32_t func)
{
	while (s->funcs.n <= func) {
		struct of_func *f = fsc_vec_push(&s->funcs);

		if (!f)
			return NULL;
		*f = (struct of_func){FSC_VEC_INIT(struct kept *), FSC_VEC_INIT(struct kept *)};
	}
	return FSC_AT(struct of_func, &s->funcs, func);
}

int fsc_slow_add(struct fsc_slow *s, const struct fsc_call *c, uint32_t func, double threshold_ns,
		 const char *error, const struct fsc_noted_call **ret, struct fsc_err *err)
{
	struct of_func *f = func_at(s, func);
	struct kept *k = f ? copy_call(c) : NULL;

	if (!k)
		return fsc_err_nomem(err);
	k->func = func;
	k->noted.wall_ns = c->time_ns;
	k->noted.id = ++s->last_id;
	k->noted.threshold_ns = threshold_ns;
	k->noted.error = error;
	*ret = &k->noted;
	if (hold_latest(&s->recent, RECENT, k)) {
		call_free(k);
		return fsc_err_nomem(err);
	}
	if (hold_latest(&f->latest, s->most_latest, k) ||
	    hold_slowest(&f->slowest, s->most_slowest, k))
		return fsc_err_nomem(err);
	return 0;
}

/* ---- listing ---- */

uint32_t fsc_slow_func(const struct fsc_noted_call *c)
{
	return ((const struct kept *)c)->func;
}

static int list_call(struct kept *k, const struct fsc_func *funcs, struct fsc_vec *ret)
{
	const struct fsc_noted_call **slot = fsc_vec_push(ret);

	if (!slot)
		return -1;
	k->call.func = &funcs[k->func];
	*slot = &k->noted;
	return 0;
}

static bool list_has(const struct fsc_vec *list, const struct kept *k)
{
	for (size_t i = 0; i < list->n; i++)
		if (*FSC_AT(struct kept *, list, i) == k)
			return true;
	return false;
}

static int list_func(const struct of_func *f, const struct fsc_func *funcs, struct fsc_vec *ret)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < f->slowest.n; i++)
		rc = list_call(*FSC_AT(struct kept *, &f->slowest, i), funcs, ret);
	for (size_t i = 0; !rc && i < f->latest.n; i++) {
		struct kept *k = *FSC_AT(struct kept *, &f->latest, i);

		if (!list_has(&f->slowest, k))
			rc = list_call(k, funcs, ret);
	}
	return rc;
}

static int by_duration(const void *pa, const void *pb)
{
	const struct fsc_noted_call *const *a = pa, *const *b = pb;
	uint64_t x = (*a)->call->duration_ns, y = (*b)->call->duration_ns;

	return (y > x) - (y < x);
}

int fsc_slow_list(struct fsc_slow *s, const struct fsc_func *funcs, int64_t func,
		  struct fsc_vec *ret, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < s->funcs.n; i++)
		if (func < 0 || (uint64_t)func == i)
			rc = list_func(FSC_AT(struct of_func, &s->funcs, i), funcs, ret);
	if (ret->n)
		qsort(ret->data, ret->n, sizeof(const struct fsc_noted_call *), by_duration);
	return rc ? fsc_err_nomem(err) : 0;
}

int fsc_slow_since(struct fsc_slow *s, const struct fsc_func *funcs, uint64_t *since,
		   struct fsc_vec *ret, uint64_t *ret_missed, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < s->recent.n; i++) {
		struct kept *k = *FSC_AT(struct kept *, &s->recent, i);

		if (k->noted.id > *since)
			rc = list_call(k, funcs, ret);
	}
	*ret_missed = s->last_id - *since - ret->n;
	*since = s->last_id;
	return rc ? fsc_err_nomem(err) : 0;
}
