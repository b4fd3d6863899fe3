/* What the files of the label sets share. */
#ifndef FSC_MONITOR_LABELSETS_PRIV_H
#define FSC_MONITOR_LABELSETS_PRIV_H

#include "monitor/labelsets.h"

struct labelset {
	uint32_t number;
	size_t users;	/* processes that made calls, and run or have exited lately */
	uint64_t since; /* of one without: how many had lost theirs before */
	size_t rows;
	bool marked;
	struct fsc_label labels[FSC_LABELS];
	struct fsc_buf values; /* each ended by a NUL */
};

struct labelset_member {
	pid_t pid;
	bool settled;	       /* has called a function: labels and fields stay */
	struct fsc_buf values; /* of its labels, before that: most processes never do */
	struct labelset *set;  /* afterwards */
	struct fsc_label fields[FSC_PROCESS_FIELDS];
	size_t n_fields;
	struct fsc_buf texts; /* of the fields */
};

struct fsc_labelsets {
	struct fsc_labelsets_opts o;
	size_t n_labels;
	struct labelset none, other; /* not among all */
	struct fsc_vec all;	     /* struct labelset * */
	struct fsc_map by_values, by_number;
	struct fsc_map members; /* pid -> struct labelset_member * */
	uint32_t last;		/* number of the newest set */
	uint64_t idled;
	uint64_t folded;
};

/* The set of that number; those of no values and of others have theirs, too. */
struct labelset *labelset_by_number(const struct fsc_labelsets *s, uint32_t number);
/* Takes it out of the indexes, and frees it; not out of s->all. */
void labelset_drop(struct fsc_labelsets *s, struct labelset *x);

#endif
