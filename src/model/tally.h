/* Sums over several sources, by function and process: calls, and errors by code. Pure data. */
#ifndef FSC_MODEL_TALLY_H
#define FSC_MODEL_TALLY_H

#include "model/latency.h"
#include "model/snapshot.h"

struct fsc_tally {
	struct fsc_latencies calls; /* funcs and by are set by the caller */
	struct fsc_map row_at;
	struct fsc_vec errors; /* struct fsc_call_errors, without names */
	struct fsc_map error_at;
};

/* Owners of rows that are not a process. NOBODY: exited ones, and those without a slot of their
 * own. From SETS on: processes with the same labels, by the number of the set; OTHER: those of sets
 * beyond the limit. FOLDED: of folded rows. */
#define FSC_TALLY_NOBODY 0u
#define FSC_TALLY_SETS	 0x80000000u
#define FSC_TALLY_OTHER	 0xfffffffeu
#define FSC_TALLY_FOLDED 0xffffffffu

/* The pid to show for an owner: 0 unless it is a process. */
static inline uint32_t fsc_tally_pid(uint32_t owner)
{
	return owner < FSC_TALLY_SETS ? owner : 0;
}

void fsc_tally_init(struct fsc_tally *t);
void fsc_tally_release(struct fsc_tally *t);
/* The row of a function and process, added with a zeroed slot if it is new; NULL: out of memory.
 * Valid until the next row is added. */
struct fsc_latency *fsc_tally_row(struct fsc_tally *t, uint32_t func, uint32_t pid);
/* The index of that row; false: there is none. */
bool fsc_tally_find(const struct fsc_tally *t, uint32_t func, uint32_t pid, uint32_t *ret);
int fsc_tally_add(struct fsc_tally *t, uint32_t func, uint32_t pid, const struct fsc_slot *slot,
		  struct fsc_err *err);
int fsc_tally_error(struct fsc_tally *t, uint32_t func, uint32_t pid, int64_t code, uint64_t n,
		    struct fsc_err *err);
/* How often an error was returned. */
uint64_t fsc_tally_errors_of(const struct fsc_tally *t, uint32_t func, uint32_t pid, int64_t code);
/* Adds another tally. apart: by process, otherwise all as NOBODY. */
int fsc_tally_merge(struct fsc_tally *t, const struct fsc_tally *from, bool apart,
		    struct fsc_err *err);
/* Calls of a function and process, or those of them that returned one error. */
struct fsc_tally_part {
	uint32_t func, pid;
	const int64_t *code; /* NULL: all calls */
};
/* Adds another tally: each part for which `which` returns true as that of the process *to. */
int fsc_tally_merge_parts(struct fsc_tally *t, const struct fsc_tally *from,
			  bool (*which)(const struct fsc_tally_part *p, uint32_t *to, void *arg),
			  void *arg, struct fsc_err *err);
/* Moves each part for which `which` returns true to the process *to. */
int fsc_tally_move_parts(struct fsc_tally *t,
			 bool (*which)(const struct fsc_tally_part *p, uint32_t *to, void *arg),
			 void *arg, struct fsc_err *err);
/* Makes *ret a copy in which each part counts for the function *func and the process *pid; `which`
 * may change them. */
int fsc_tally_renumber(const struct fsc_tally *t,
		       void (*which)(const struct fsc_tally_part *p, uint32_t *func, uint32_t *pid,
				     void *arg),
		       void *arg, struct fsc_tally *ret, struct fsc_err *err);
/* Moves everything of another tally here, each part to the process that `which` says, if it returns
 * true. After a failure the rest is still there, to be moved later. */
int fsc_tally_drain(struct fsc_tally *t, struct fsc_tally *from,
		    bool (*which)(const struct fsc_tally_part *p, uint32_t *to, void *arg),
		    void *arg, struct fsc_err *err);
/* Moves what another tally has of processes for which `only` returns true, as theirs; failures as
 * above. */
int fsc_tally_take(struct fsc_tally *t, struct fsc_tally *from,
		   bool (*only)(uint32_t pid, void *arg), void *arg, struct fsc_err *err);

#endif
