/* Waiting for a descriptor, but not beyond a moment, and not when told to stop. */
#ifndef FSC_WEB_WAIT_H
#define FSC_WEB_WAIT_H

#include <stdint.h>

/* Until when, and what cuts it short. */
struct fsc_patience {
	uint64_t until; /* on the monotonic clock, ns */
	int stop_fd;	/* readable: stop; -1: nothing does */
};

/* The events that came (poll's); -ETIMEDOUT, -ECANCELED where stop_fd is readable, or another
 * negative errno. */
int fsc_wait(int fd, short events, const struct fsc_patience *p);

#endif
