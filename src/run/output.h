/* Options and steps shared by every command that shows data: how long, how often, in which format,
 * where to. */
#ifndef FSC_RUN_OUTPUT_H
#define FSC_RUN_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"
#include "sink/sink.h"

struct fsc_output_opts {
	double duration, interval; /* 0: none */
	bool timestamps, verbose;
	int format;
	const char *output;
	unsigned ready_fd; /* tests and benchmarks: written to when probes are attached */
};

/* Between them in the help comes -f, whose choices depend on the command. */
extern const struct fsc_opt fsc_output_when_opts[], fsc_output_where_opts[];
extern const struct fsc_opt fsc_table_formats[], fsc_stack_formats[], fsc_gpu_formats[],
    fsc_report_formats[];

#define FSC_OUTPUT_TABLES(formats) fsc_output_when_opts, formats, fsc_output_where_opts
/* The same with the struct fsc_output_opts they fill in. */
#define FSC_OUTPUT_SETS(formats, out)                                                              \
	{fsc_output_when_opts, out}, {formats, out},                                               \
	{                                                                                          \
		fsc_output_where_opts, out                                                         \
	}

/* Opens the output and fills in the sink; a usage error if the format does not support the data.
 * Never waits for a FIFO's reader. */
int fsc_output_open(const struct fsc_output_opts *o, enum fsc_data data, struct fsc_sink *sink,
		    struct fsc_err *err);
/* Fills in only where data goes: a path ("-" or NULL: stdout). */
int fsc_output_to(const char *path, struct fsc_sink *sink, struct fsc_err *err);
/* Opens a file to go on with, after it was moved away or in place of another: nothing in it is
 * overwritten. ret has only `out` set. */
int fsc_output_append(const char *path, struct fsc_sink *ret, struct fsc_err *err);
/* Whether the path no longer leads to the file that is open; false for what is no file. */
bool fsc_output_moved(const char *path, const struct fsc_sink *sink);
/* Where the output ends now, and back to it after a failed write: nothing of it stays in the file,
 * or waits to be written. Of standard output and what is no file, what was written stays. */
int64_t fsc_output_mark(const struct fsc_sink *sink);
void fsc_output_undo(struct fsc_sink *sink, int64_t mark);
/* Closes it; a failed write is an error. A second call does nothing. */
int fsc_output_close(const char *path, struct fsc_sink *sink, struct fsc_err *err);

#endif
