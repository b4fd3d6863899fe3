/* What the files of the ledger share. */
#ifndef FSC_MONITOR_LEDGER_PRIV_H
#define FSC_MONITOR_LEDGER_PRIV_H

#include "monitor/admission.h"
#include "monitor/ledger.h"

struct ended {
	pid_t pid;
	uint64_t at_ns;
	char comm[FSC_COMM_LEN + 1];
};

/* What the rows of a report are of. */
struct ledger_shape {
	bool apart;
	uint64_t labels; /* how often other labels were asked for */
};

struct fsc_ledger {
	struct fsc_hooks *hooks;
	struct fsc_processes *processes;
	struct fsc_slow *slow;
	struct fsc_labelsets *labels;
	uint64_t relabelled;	  /* how often */
	struct fsc_tally past;	  /* of exited processes */
	struct fsc_tally arrived; /* of exited processes, while memory is too short to add it */
	struct fsc_vec ended;	  /* struct ended, the oldest first */
	struct fsc_map ended_at;  /* pid -> how many had exited before it */
	uint64_t left;		  /* how many of those have left the list */
	struct fsc_tally before;  /* at the last report */
	struct ledger_shape before_shape;
	uint64_t kept; /* calls, at the last reading */
	uint64_t start_ns, start_mono, before_mono;
	uint64_t end_mono;    /* 0: running */
	uint64_t slow_before; /* the last slow call of the last report */
	struct fsc_admission admission;
};

/* What is a part of the folded sum stays one. */
static inline uint32_t ledger_owner_unless_folded(const struct fsc_ledger *l,
						  const struct fsc_tally_part *p, uint32_t owner)
{
	return fsc_admission_folded(&l->admission, p) ? FSC_TALLY_FOLDED : owner;
}

/* Everything since the start, as fsc_ledger_total(). folded: what is a part of the folded sum of a
 * page stays apart. */
int fsc_ledger_read(struct fsc_ledger *l, bool apart, bool folded, struct fsc_tally *ret,
		    struct fsc_err *err);
/* Names of processes and errors. */
void fsc_ledger_name_rows(const struct fsc_ledger *l, struct fsc_tally *t);
/* Adds the rows of the first n exited processes to those of their labels, or of no process. */
int fsc_ledger_forget_ended(struct fsc_ledger *l, size_t n, struct fsc_err *err);

/* ledger_labels.c: adds another tally, by labels. folded: folded rows are left apart. */
int fsc_ledger_merge_labelled(struct fsc_ledger *l, const struct fsc_tally *from, bool folded,
			      struct fsc_tally *ret, struct fsc_err *err);
/* Labels, and of single processes fields, of all rows. */
void fsc_ledger_name_labels(const struct fsc_ledger *l, struct fsc_tally *t);
/* Before the rows are kept: labels may be gone when they are used. */
void fsc_ledger_clear_labels(struct fsc_tally *t);
/* The labels of all processes with calls stay from now on. Folds sets without processes, in t too,
 * where there is no place for a new one. */
int fsc_ledger_settle_labels(struct fsc_ledger *l, struct fsc_tally *t, struct fsc_err *err);
/* Folds labels without processes, if there are too many of them or of their rows. */
int fsc_ledger_fold_labels(struct fsc_ledger *l, size_t keep_rows, struct fsc_err *err);

#endif
