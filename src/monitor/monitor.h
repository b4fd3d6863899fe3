/* The monitor itself: a configuration carried out until somebody says stop. */
#ifndef FSC_MONITOR_MONITOR_H
#define FSC_MONITOR_MONITOR_H

#include <signal.h>

#include "monitor/config.h"
#include "sink/sink.h"

struct fsc_monitor_opts {
	const char *path;  /* of the configuration */
	double duration_s; /* 0: until a signal, or the end of the command */
	double every_s;	   /* of reports; 0: as the configuration says */
	const pid_t *pids; /* besides the configuration's, which has them already */
	size_t n_pids;
	const sigset_t *mask;  /* the command's signals */
	const sigset_t *ends;  /* signals that end it, SIGHUP among them reloads; blocked */
	unsigned ready_fd;     /* tests: written to when armed */
	bool no_control;       /* no sockets */
	struct fsc_sink *sink; /* for reports */
};

/* Takes the configuration over. Blocks until the end; the last report and the books are written
 * then. */
int fsc_monitor_run(struct fsc_snoop_config *config, const struct fsc_monitor_opts *opts,
		    struct fsc_err *err);

#endif
