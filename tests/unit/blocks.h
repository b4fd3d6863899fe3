/* What the unit tests of comparisons share: a seeded generator, and blocks made of durations as the
 * kernel side makes them. Include after cmocka.h. */
#ifndef FSC_TESTS_BLOCKS_H
#define FSC_TESTS_BLOCKS_H

#include <math.h>
#include <string.h>

#include "model/blocks.h"
#include "slots.h"

static uint64_t blocks_seed = 88172645463325252u;

static inline double uniform(void)
{
	blocks_seed ^= blocks_seed << 13;
	blocks_seed ^= blocks_seed >> 7;
	blocks_seed ^= blocks_seed << 17;
	return ((double)(blocks_seed >> 11) + 0.5) / 9007199254740992.0;
}

static inline double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

static inline void block_of_slot(const struct fsc_slot *s, struct fsc_block *b)
{
	for (uint32_t i = 0; i < FSC_HIST_OVER; i++)
		if (s->hist[i])
			assert_non_null(fsc_block_bin(b, (double)fsc_hist_low(i),
						      (double)fsc_hist_low(i + 1), s->hist[i]));
	b->count = (double)s->count;
	b->total_ns = (double)s->total;
	b->min_ns = (double)fsc_slot_min(s);
	b->max_ns = (double)s->max;
}

/* A block of so many calls, lognormal around centre_ns. */
static inline struct fsc_block skewed_block(size_t calls, double centre_ns, double sigma,
					    uint64_t time_ns)
{
	struct fsc_block b = FSC_BLOCK_INIT;
	struct fsc_slot s = {0};

	for (size_t i = 0; i < calls; i++)
		keep(&s, (uint64_t)(centre_ns * exp(sigma * normal())));
	b.time_ns = time_ns;
	block_of_slot(&s, &b);
	return b;
}

static inline void give_block(struct fsc_recording *r, const char *kind, const char *binary,
			      const char *function, struct fsc_block b)
{
	struct fsc_recorded *f = fsc_recording_function(r, kind, binary, function);

	assert_non_null(f);
	assert_int_equal(fsc_recorded_append(f, &b, NULL), 0);
}

static inline struct fsc_recording *new_run(struct fsc_vec *side)
{
	struct fsc_recording *r = fsc_vec_push(side);

	assert_non_null(r);
	*r = (struct fsc_recording)FSC_RECORDING_INIT;
	return r;
}

static inline void release_side(struct fsc_vec *side)
{
	for (size_t i = 0; i < side->n; i++)
		fsc_recording_release(FSC_AT(struct fsc_recording, side, i));
	fsc_vec_release(side);
}

#endif
