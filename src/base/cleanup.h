/* Scope cleanup: resources release themselves when their variable goes out of scope, and a
 * hand-over is visible as fsc_take(). Declare and initialise in one statement, so that unwinding is
 * right. */
#ifndef FSC_BASE_CLEANUP_H
#define FSC_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FSC_AUTO(fn) __attribute__((cleanup(fn)))

/* Gives the pointer's value away and leaves NULL behind. */
#define fsc_take(pp)                                                                               \
	({                                                                                         \
		__typeof__(*(pp)) taken_ = *(pp);                                                  \
		*(pp) = NULL;                                                                      \
		taken_;                                                                            \
	})

/* Gives the descriptor away and leaves -1 behind. */
static inline int fsc_take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

static inline void fsc_freep(void *pp)
{
	free(*(void **)pp);
}

static inline void fsc_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void fsc_fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}

#endif
