/* Options and steps shared by every command that takes probes: which processes, which functions. */
#ifndef FSC_CMD_PROBES_H
#define FSC_CMD_PROBES_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/opt.h"
#include "base/vec.h"
#include "probe/target.h"

struct fsc_probe_opts {
	struct fsc_vec pids;	 /* -p, const char * */
	struct fsc_vec excludes; /* -x, const char * */
	bool regex;
	bool skip_missing; /* probes that name nothing there is are left out */
};

extern const struct fsc_opt fsc_probe_opts[];
#define FSC_PROBE_OPTS_INIT                                                                        \
	{                                                                                          \
		.pids = FSC_VEC_INIT(const char *), .excludes = FSC_VEC_INIT(const char *)         \
	}
void fsc_probe_opts_release(struct fsc_probe_opts *o);

/* Turns "12", "12,13" of a list into the pids (pid_t) of existing tasks. */
int fsc_probes_pids(const struct fsc_vec *texts, struct fsc_vec *ret, struct fsc_err *err);
/* Parses and resolves every probe. scope: whose files; its patterns are filled in here. */
int fsc_probes_resolve(char *const *probes, int n, const struct fsc_probe_opts *o,
		       const struct fsc_scope *scope, struct fsc_targets *ret, struct fsc_err *err);

#endif
