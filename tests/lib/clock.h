/* A clock that stands until it is told: durations are known exactly. For programs that are compiled
 * with FUNCSCOPE_CLOCK=fake_clock, as is their funcscope.c. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

static uint64_t fake_now = 1000000, fake_reads;

uint64_t fake_clock(void);
uint64_t fake_clock(void)
{
	fake_reads++;
	return fake_now;
}

/* Time goes by. */
static inline void pass(uint64_t ticks)
{
	fake_now += ticks;
}

#endif
