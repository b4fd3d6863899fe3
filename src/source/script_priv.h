/* The parts of source/script*.c. */
#ifndef FSC_SOURCE_SCRIPT_PRIV_H
#define FSC_SOURCE_SCRIPT_PRIV_H

#include "base/map.h"
#include "source/namer.h"
#include "source/script.h"

struct fsc_readings {
	struct fsc_script *script;
	const struct fsc_plan *plan;
	struct fsc_values arena;
	struct fsc_namer *namer;       /* NULL: no addresses are printed */
	struct fsc_vec named;	       /* char *: texts of cgroups and users */
	struct fsc_map users, cgroups; /* a number (and filter) -> index in named */
	struct fsc_map moved; /* name of a probed function -> how far behind its beginning */
	int64_t wall_minus[FSC_CLOCK_SW_TAI + 1]; /* per clock: what makes it wall time */
	uint64_t cut;
};

/* script_names.c: what user space knows more about than the kernel. */
void fsc_readings_clocks(struct fsc_readings *r);
int fsc_readings_stack(struct fsc_readings *r, const struct fsc_vtype *t,
		       const struct fsc_v_stack *stack, struct fsc_value *ret, struct fsc_err *err);
int fsc_readings_symbol(struct fsc_readings *r, uint64_t addr, pid_t pid, bool kernel,
			struct fsc_value *ret, struct fsc_err *err);
struct fsc_value fsc_readings_time(struct fsc_readings *r, const struct fsc_v_timestamp *t);
struct fsc_value fsc_readings_user(struct fsc_readings *r, uint64_t uid);
struct fsc_value fsc_readings_cgroup(struct fsc_readings *r, const struct fsc_v_cgroup_path *c);
struct fsc_value fsc_readings_inet(struct fsc_readings *r, const struct fsc_v_inet *a);
struct fsc_value fsc_readings_syscall(struct fsc_readings *r, int64_t number);

/* script_cgroups.c: "unified:/a.slice" or the like, "" if no hierarchy that the filter (a glob,
 * NULL: any) admits has such a cgroup; NULL if memory is out. The caller frees. */
char *fsc_readings_find_cgroup(uint64_t id, const char *filter);

/* script_values.c: a value as it lies in memory. part: bytes from one CPU's part to the next, and
 * how many parts; 1 for all that is no aggregation. */
struct fsc_parts {
	const void *bytes;
	size_t stride;
	unsigned n;
};
int fsc_readings_value(struct fsc_readings *r, const struct fsc_vtype *t, const void *bytes,
		       struct fsc_value *ret, struct fsc_err *err);
/* script_merge.c: aggregations. *ret_rank: what entries of a map are ordered by. */
void fsc_readings_merge(struct fsc_readings *r, const struct fsc_vtype *t,
			const struct fsc_parts *parts, uint64_t div, struct fsc_value *ret);
__int128 fsc_readings_rank(const struct fsc_vtype *t, const struct fsc_parts *parts);
/* Of a time series: the merged slots between two intervals. */
uint64_t fsc_readings_last_epoch(const struct fsc_vtype *t, const struct fsc_parts *parts);
struct fsc_value fsc_readings_series(struct fsc_readings *r, const struct fsc_vtype *t,
				     const struct fsc_parts *parts, uint64_t last_epoch);

#endif
