/* The clocks, in nanoseconds. */
#ifndef FSC_BASE_CLOCK_H
#define FSC_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t fsc_clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline uint64_t fsc_clock_mono(void)
{
	return fsc_clock_ns(CLOCK_MONOTONIC);
}

#endif
