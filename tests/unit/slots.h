/* What the unit tests of timings share: slots made from values, as the kernel side makes them.
 * Include after cmocka.h. */
#ifndef FSC_TESTS_SLOTS_H
#define FSC_TESTS_SLOTS_H

#include <stdlib.h>

#include "wire/time.h"

__extension__ typedef unsigned __int128 slots_wide;

/* As the kernel side keeps a call. */
static inline void keep(struct fsc_slot *s, uint64_t ns)
{
	slots_wide squares =
	    ((slots_wide)s->square_high << 64 | s->square_low) + (slots_wide)ns * ns;

	s->count++;
	s->total += ns;
	s->max = ns > s->max ? ns : s->max;
	s->min_inverted = ~ns > s->min_inverted ? ~ns : s->min_inverted;
	s->square_low = (uint64_t)squares;
	s->square_high = (uint64_t)(squares >> 64);
	s->hist[fsc_hist_bucket(ns)]++;
}

static inline struct fsc_slot *slot_of(const uint64_t *v, size_t n)
{
	struct fsc_slot *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	for (size_t i = 0; i < n; i++)
		keep(s, v[i]);
	return s;
}

#endif
