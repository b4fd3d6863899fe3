/* The parameters of a function with type information, as names for the expressions of `trace`; and
 * the format that shows them where the user gave none. */
#ifndef FSC_PROBE_PARAMS_H
#define FSC_PROBE_PARAMS_H

#include "probe/names.h"
#include "types/types.h"

/* sig must outlive the names. user: pointers lead into the memory of the process. */
void fsc_params_names(const struct fsc_signature *sig, bool user, struct fsc_names *ret);

/* How parameters are written where the user gave no format. */
struct fsc_params_shown {
	struct fsc_buf
	    format; /* in quotes, and the expressions behind it: to be put behind a probe */
	struct fsc_vec types; /* const struct fsc_type *, one per conversion; NULL: as it is */
	struct fsc_vec names; /* char *, one per conversion: owned */
};

/* Writes `"a=%d s=\"%s\"", a, s`: numbers by their sign, texts, enums (as numbers: their types tell
 * the names), and of pointers to small structs the members, if deep. Caller releases. */
int fsc_params_show(const struct fsc_signature *sig, bool deep, struct fsc_params_shown *ret,
		    struct fsc_err *err);
void fsc_params_shown_release(struct fsc_params_shown *s);

#endif
