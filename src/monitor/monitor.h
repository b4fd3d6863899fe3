/* The monitor itself: runs a configuration until it is stopped. */
#ifndef FSC_MONITOR_MONITOR_H
#define FSC_MONITOR_MONITOR_H

#include "monitor/config.h"
#include "run/output.h"

struct fsc_monitor_opts {
	const char *path;		   /* of the configuration */
	const struct fsc_output_opts *out; /* interval 0: the configuration's */
	const pid_t *pids;		   /* besides the configuration's, which has them already */
	size_t n_pids;
	bool dwarf;	 /* as if the configuration said so */
	bool no_control; /* no sockets */
};

/* Takes the configuration over. Blocks until the end; the last report and the books are written
 * then. */
int fsc_monitor_run(struct fsc_snoop_config *config, const struct fsc_monitor_opts *opts,
		    struct fsc_err *err);

#endif
