/* Labels of processes: container, pod, cgroup, unit. Processes with equal values share a set, whose
 * number is the owner of their rows (FSC_TALLY_SETS). A set outlives its processes, so that its
 * series goes on when a unit restarts. There are at most so many sets: of those without a process
 * the one that lost its last one first is folded into FSC_TALLY_OTHER, whose values are all
 * "other", and while all have processes, so is whoever comes next. */
#ifndef FSC_MONITOR_LABELSETS_H
#define FSC_MONITOR_LABELSETS_H

#include "model/snapshot.h"
#include "model/tally.h"
#include "monitor/process_fields.h"
#include "monitor/process_labels.h"

struct fsc_labelsets_opts {
	unsigned labels; /* bits, by the order of fsc_label_names */
	unsigned fields; /* likewise, of fsc_process_field_names */
	size_t most;	 /* sets */
};

struct fsc_labelsets;

/* Without labels. The caller owns *ret. */
int fsc_labelsets_new(struct fsc_labelsets **ret, struct fsc_err *err);
void fsc_labelsets_free(struct fsc_labelsets *s);
/* Whether other labels are asked for than now. */
bool fsc_labelsets_differ(const struct fsc_labelsets *s, const struct fsc_labelsets_opts *o);
/* Changes what is asked for. If labels differ, all sets are gone, and processes get theirs anew;
 * those that have exited have empty values. */
int fsc_labelsets_use(struct fsc_labelsets *s, const struct fsc_labelsets_opts *o,
		      struct fsc_err *err);
/* Whether there are labels. */
bool fsc_labelsets_on(const struct fsc_labelsets *s);

/* A process that is a target: reads its labels and fields, unless it is known to have called a
 * function. called: it has now, so that they stay as they are, and it gets its set. If it has
 * exited, they are what was read before, or empty. */
int fsc_labelsets_note(struct fsc_labelsets *s, pid_t pid, bool called, struct fsc_err *err);
/* Whether the process would get its set if one of the others were folded. */
bool fsc_labelsets_needs_room(struct fsc_labelsets *s, pid_t pid);
/* It has exited, and has no rows of its own any more. */
void fsc_labelsets_forget(struct fsc_labelsets *s, pid_t pid);
/* The number of a process's set; NOBODY: it has not called a function, or all values are empty. */
uint32_t fsc_labelsets_owner(const struct fsc_labelsets *s, pid_t pid);
/* Whether the process is known. */
bool fsc_labelsets_knows(const struct fsc_labelsets *s, pid_t pid);
/* The labels of the rows of an owner, a process's pid or the number of a set; NULL: there are none.
 * Valid until the set is dropped. */
const struct fsc_label *fsc_labelsets_of(const struct fsc_labelsets *s, uint32_t owner,
					 size_t *ret_n);
/* The fields of a process, until it is forgotten; NULL: none. */
const struct fsc_label *fsc_labelsets_fields(const struct fsc_labelsets *s, uint32_t pid,
					     size_t *ret_n);

/* ---- folding ---- */

size_t fsc_labelsets_count(const struct fsc_labelsets *s);
/* How many were folded, and processes for which there was no place. */
uint64_t fsc_labelsets_folded(const struct fsc_labelsets *s);
/* How many there may be. */
size_t fsc_labelsets_most(const struct fsc_labelsets *s);
/* How many processes a set has. */
size_t fsc_labelsets_users(const struct fsc_labelsets *s, uint32_t owner);
/* Counts a row of an owner, if that is a set; fsc_labelsets_mark() forgets it. */
void fsc_labelsets_count_row(struct fsc_labelsets *s, uint32_t owner);
/* Marks sets without processes, the oldest first, until at most so many sets, and so many of the
 * rows counted, would be left. *ret: how many are marked. */
int fsc_labelsets_mark(struct fsc_labelsets *s, size_t sets, size_t rows, size_t *ret,
		       struct fsc_err *err);
bool fsc_labelsets_marked(const struct fsc_labelsets *s, uint32_t owner);
/* Their rows have been moved. */
void fsc_labelsets_drop_marked(struct fsc_labelsets *s);

#endif
