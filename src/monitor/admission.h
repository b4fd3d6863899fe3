/* Which rows have series of their own on a page with a limited number of them, and which are folded
 * into one. It is decided when a row (of a function and a process, or an error of one) is first
 * seen, and kept, so that series do not come and go and the folded sum never decreases. The limit
 * holds at every moment: a row is admitted only while fewer than that are there. Only rows that
 * exist are remembered. */
#ifndef FSC_MONITOR_ADMISSION_H
#define FSC_MONITOR_ADMISSION_H

#include "model/tally.h"

struct fsc_admission {
	struct fsc_map states; /* of rows -> enum state */
	struct fsc_map errors; /* likewise, of errors of rows */
	uint32_t by;	       /* what rows were of, the last time */
};

void fsc_admission_release(struct fsc_admission *a);
/* Marks folded rows, and folded errors: those of folded rows, and those beyond the cap. At most cap
 * of each are not. If the cap is lower than it was, the last ones are folded from now on. */
int fsc_admission_fold(struct fsc_admission *a, struct fsc_tally *t, size_t cap,
		       struct fsc_err *err);
/* Whether a part of a tally is known to be folded. */
bool fsc_admission_folded(const struct fsc_admission *a, const struct fsc_tally_part *p);

#endif
