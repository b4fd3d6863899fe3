/* Which processes have series of their own on a page with a limited number of them, and which are
 * folded into one. A process keeps what it was given when it was first seen, or its series would
 * come and go; what is remembered is bounded by the processes that have rows. */
#ifndef FSC_MONITOR_ADMISSION_H
#define FSC_MONITOR_ADMISSION_H

#include "model/tally.h"

struct fsc_admission {
	struct fsc_map states; /* pid -> enum state */
	size_t rows;	       /* of those that have series of their own, at the last look */
};

void fsc_admission_release(struct fsc_admission *a);
/* Marks the rows of processes that are folded. A new process is let in, with all its functions,
 * while the rows of those that are in leave room below the cap. Processes without rows are
 * forgotten. */
int fsc_admission_fold(struct fsc_admission *a, struct fsc_tally *t, size_t cap,
		       struct fsc_err *err);
/* Whether a process is known to be folded. */
bool fsc_admission_folded(const struct fsc_admission *a, uint32_t pid);
/* The number may be another process's from now on. */
void fsc_admission_forget(struct fsc_admission *a, uint32_t pid);

#endif
