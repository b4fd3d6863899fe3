/* Waiting for a descriptor until a deadline or a request to stop. */
#ifndef FSC_WEB_WAIT_H
#define FSC_WEB_WAIT_H

#include <stdint.h>

struct fsc_deadline {
	uint64_t until; /* on the monotonic clock, ns */
	int stop_fd;	/* readable: stop; -1: none */
};

/* poll()'s events; -ETIMEDOUT, -ECANCELED if stop_fd is readable, or another negative errno. */
int fsc_wait(int fd, short events, const struct fsc_deadline *p);

#endif
