/* The rows of a snapshot as receivers see them: one series for each set of labels. Rows that would
 * look the same there are one series, and so are all that are folded. Names are safe to send:
 * as fsc_fmt_term() makes them. */
#ifndef FSC_SINK_SERIES_H
#define FSC_SINK_SERIES_H

#include "model/snapshot.h"
#include "sink/spread.h"

struct fsc_series {
	bool folded; /* the sum of all rows beyond the limit; it has no names */
	/* Owned by the set. NULL: the function has none, or it is not a label. */
	const char *group, *function, *binary, *comm;
	bool has_pid;
	uint32_t pid;
	const struct fsc_label *labels; /* of its processes; values owned by the set */
	size_t n_labels;
	uint64_t slow;
	uint32_t first_row, first_noted; /* of chains in the set; FSC_SERIES_END: none */
};

/* Calls of a series that returned one error. */
struct fsc_series_error {
	uint32_t series;   /* FSC_SERIES_END: the sum of all that are folded */
	const char *error; /* its name or number, owned by the set; NULL: any, of the folded ones */
	uint64_t n;
};

#define FSC_SERIES_END UINT32_MAX

struct fsc_series_set {
	const struct fsc_snapshot *s;
	struct fsc_vec series; /* struct fsc_series */
	struct fsc_vec errors; /* struct fsc_series_error */
	uint32_t *series_of;   /* by row */
	uint32_t *next_row, *next_noted;
	struct fsc_vec texts; /* char *: what the names point into, and lists of labels */
	size_t folded;	      /* how many rows, and errors of other rows */
};

/* Borrows s. The caller releases *ret in any case; false: memory is out. */
bool fsc_series_build(const struct fsc_snapshot *s, struct fsc_series_set *ret);
void fsc_series_release(struct fsc_series_set *t);
/* The series that an error is of. */
const struct fsc_series *fsc_series_of_error(const struct fsc_series_set *t,
					     const struct fsc_series_error *e);
/* The distribution of a series' durations, with exemplars. */
void fsc_series_spread(const struct fsc_series_set *t, const struct fsc_series *e,
		       struct fsc_spread *ret);

/* Whether the constant label at i can be sent along with own: its name is valid (letters, digits,
 * '_'; not "le") and is not that of an earlier one or of one in own. The configuration rejects most
 * of these; one that gets through must not spoil the message. */
bool fsc_series_label_fits(const struct fsc_label *labels, size_t i, const struct fsc_label *own,
			   size_t n_own);

#endif
