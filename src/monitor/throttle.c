/* struct fsc_throttle. */
#include "monitor/throttle.h"

#define FIRST_S 5.0
#define MOST_S	600.0
#define ROOM	0.8 /* of the budget: above it nothing is tried, so that functions do not flap */

static struct fsc_throttled *find_func(const struct fsc_throttle *t, uint32_t func)
{
	for (size_t i = 0; i < t->of.n; i++) {
		struct fsc_throttled *f = FSC_AT(struct fsc_throttled, &t->of, i);

		if (f->func == func)
			return f;
	}
	return NULL;
}

void fsc_throttle_release(struct fsc_throttle *t)
{
	fsc_vec_release(&t->of);
}

static double wait_s(unsigned failures)
{
	double s = FIRST_S;

	while (--failures && s < MOST_S)
		s *= 2;
	return s < MOST_S ? s : MOST_S;
}

int fsc_throttle_detached(struct fsc_throttle *t, uint32_t func, double share, uint64_t now_ns,
			  double *ret_s, struct fsc_err *err)
{
	struct fsc_throttled *f = find_func(t, func);

	if (!f) {
		f = fsc_vec_push(&t->of);
		if (!f)
			return fsc_err_nomem(err);
		*f = (struct fsc_throttled){.func = func};
	}
	/* It stayed for as long as it had waited: this is another story. */
	if (!f->detached && now_ns - f->since_ns >= f->wait_ns)
		f->failures = 0;
	*ret_s = wait_s(++f->failures);
	f->detached = true;
	f->share = share;
	f->since_ns = now_ns;
	f->wait_ns = (uint64_t)(*ret_s * 1e9);
	return 0;
}

bool fsc_throttle_due(const struct fsc_throttle *t, double share, double most, uint64_t now_ns,
		      uint32_t *ret)
{
	const struct fsc_throttled *best = NULL;

	if (share > ROOM * most)
		return false;
	for (size_t i = 0; i < t->of.n; i++) {
		const struct fsc_throttled *f = FSC_AT(struct fsc_throttled, &t->of, i);

		if (f->detached && now_ns - f->since_ns >= f->wait_ns &&
		    (!best || f->share < best->share))
			best = f;
	}
	if (best)
		*ret = best->func;
	return best;
}

void fsc_throttle_back(struct fsc_throttle *t, uint32_t func, uint64_t now_ns)
{
	struct fsc_throttled *f = find_func(t, func);

	if (!f)
		return;
	f->detached = false;
	f->since_ns = now_ns;
}

void fsc_throttle_reset(struct fsc_throttle *t)
{
	for (size_t i = 0; i < t->of.n; i++) {
		struct fsc_throttled *f = FSC_AT(struct fsc_throttled, &t->of, i);

		f->detached = false;
		f->failures = 0;
	}
}

bool fsc_throttle_is_detached(const struct fsc_throttle *t, uint32_t func)
{
	const struct fsc_throttled *f = find_func(t, func);

	return f && f->detached;
}

void fsc_throttle_forget(struct fsc_throttle *t, uint32_t func)
{
	struct fsc_throttled *f = find_func(t, func);

	if (f)
		*f = *FSC_AT(struct fsc_throttled, &t->of, --t->of.n);
}
