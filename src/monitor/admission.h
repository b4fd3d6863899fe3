/* Which processes have series of their own on a page with a limited number of them, and which are
 * folded into one. The decision is made when a process is first seen and kept, so that its series
 * do not come and go. Only processes with rows are remembered. */
#ifndef FSC_MONITOR_ADMISSION_H
#define FSC_MONITOR_ADMISSION_H

#include "model/tally.h"

struct fsc_admission {
	struct fsc_map states; /* pid -> enum state */
	size_t rows;	       /* that were not folded the last time */
};

void fsc_admission_release(struct fsc_admission *a);
/* Marks the rows of folded processes. A new process is admitted, with all its functions, while the
 * rows of admitted ones are below the cap. Processes without rows are forgotten. */
int fsc_admission_fold(struct fsc_admission *a, struct fsc_tally *t, size_t cap,
		       struct fsc_err *err);
/* Whether a process is known to be folded. */
bool fsc_admission_folded(const struct fsc_admission *a, uint32_t pid);
/* The pid may be reused from now on. */
void fsc_admission_forget(struct fsc_admission *a, uint32_t pid);

#endif
