/* A job that may take long, while the caller goes on with something else. */
#ifndef FSC_BASE_ASIDE_H
#define FSC_BASE_ASIDE_H

#include "base/err.h"

/* What the caller does meanwhile, again and again; it must not touch what the job works on. */
struct fsc_meanwhile {
	void (*fn)(void *arg); /* NULL: nothing */
	void *arg;
};

/* Runs the job in a thread, and fn() in this one every few milliseconds until it is done; without
 * fn(), or where there is no thread to be had, runs it at once. */
int fsc_aside(int (*job)(void *arg, struct fsc_err *err), void *arg, const struct fsc_meanwhile *m,
	      struct fsc_err *err);

#endif
