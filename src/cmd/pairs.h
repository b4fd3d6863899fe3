/* Two shell commands compared by running them in turn. */
#ifndef FSC_CMD_PAIRS_H
#define FSC_CMD_PAIRS_H

#include "model/compare.h"

enum { FSC_PAIRS_MOST = 10000 };

struct fsc_pairs_opts {
	const char *commands[2]; /* A and B */
	unsigned pairs;
	bool verbose; /* what the commands print goes to stderr */
	struct fsc_compare_opts compare;
};

/* Warms both up, compares A with itself, then A with B, and reports progress on stderr. Appends
 * struct fsc_recording of every counted run to *before and *after, the caller's to release also
 * after a failure; *ret is the caller's to release after success. A command that fails, or a
 * signal, is a failure; nothing is left running. */
int fsc_pairs_run(const struct fsc_pairs_opts *o, struct fsc_vec *before, struct fsc_vec *after,
		  struct fsc_comparison *ret, struct fsc_err *err);

#endif
