/* Sums of what several sources measured, by function and process: calls, and errors by their codes.
 * Pure data. */
#ifndef FSC_MODEL_TALLY_H
#define FSC_MODEL_TALLY_H

#include "model/latency.h"
#include "model/snapshot.h"

struct fsc_tally {
	struct fsc_latencies calls; /* funcs and by are whoever fills it's */
	struct fsc_map row_at;
	struct fsc_vec errors; /* struct fsc_call_errors; rows by number, names not filled in */
	struct fsc_map error_at;
};

/* A process that is none: those that ended, and those without room of their own. FOLDED: likewise,
 * of rows that were folded. */
#define FSC_TALLY_NOBODY 0u
#define FSC_TALLY_FOLDED 0xffffffffu

void fsc_tally_init(struct fsc_tally *t);
void fsc_tally_release(struct fsc_tally *t);
/* The row of a function and process, made if it is new (its slot all zero); NULL where memory is
 * out. Valid until the next row is made. */
struct fsc_latency *fsc_tally_row(struct fsc_tally *t, uint32_t func, uint32_t pid);
/* The number of that row; false: there is none. */
bool fsc_tally_find(const struct fsc_tally *t, uint32_t func, uint32_t pid, uint32_t *ret);
int fsc_tally_add(struct fsc_tally *t, uint32_t func, uint32_t pid, const struct fsc_slot *slot,
		  struct fsc_err *err);
int fsc_tally_error(struct fsc_tally *t, uint32_t func, uint32_t pid, int64_t code, uint64_t n,
		    struct fsc_err *err);
/* How often an error was met. */
uint64_t fsc_tally_errors_of(const struct fsc_tally *t, uint32_t func, uint32_t pid, int64_t code);
/* Adds another one. apart: processes stay apart, otherwise all are NOBODY. */
int fsc_tally_merge(struct fsc_tally *t, const struct fsc_tally *from, bool apart,
		    struct fsc_err *err);
/* Gives the rows of processes of which `which` returns true to somebody else, whose number it puts
 * in *to. */
int fsc_tally_move(struct fsc_tally *t, bool (*which)(uint32_t pid, uint32_t *to, void *arg),
		   void *arg, struct fsc_err *err);

#endif
