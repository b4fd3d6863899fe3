/* Options and steps shared by every command that shows data: how long, how often, in which format,
 * where to. */
#ifndef FSC_RUN_OUTPUT_H
#define FSC_RUN_OUTPUT_H

#include <stdbool.h>

#include "base/opt.h"
#include "sink/sink.h"

struct fsc_output_opts {
	double duration, interval; /* 0: none */
	bool timestamps, verbose;
	int format;
	const char *output;
	unsigned ready_fd; /* tests and benchmarks: written to when probes are on */
};

extern const struct fsc_opt fsc_output_opts[];
/* The same for a command that shows stacks, which have formats of their own. */
extern const struct fsc_opt fsc_output_stack_opts[];
/* And of events of GPUs, which have one more. */
extern const struct fsc_opt fsc_output_gpu_opts[];
/* And of reports, which are text or JSON: the first of all formats. */
extern const struct fsc_opt fsc_output_report_opts[];

/* Opens what the options name and fills in the sink's format and where it goes to; a usage error
 * where the format has no place for the data. Never waits for a FIFO's reader. */
int fsc_output_open(const struct fsc_output_opts *o, enum fsc_data data, struct fsc_sink *sink,
		    struct fsc_err *err);
/* Where data goes to alone: a path ("-" or NULL: stdout). */
int fsc_output_to(const char *path, struct fsc_sink *sink, struct fsc_err *err);
/* Closes it; what could not be written is an error. To be called again does nothing. */
int fsc_output_close(const char *path, struct fsc_sink *sink, struct fsc_err *err);

#endif
