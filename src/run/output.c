#include "run/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

const struct fsc_opt fsc_output_when_opts[] = {
    {'d', "duration", FSC_OPT_SECONDS, offsetof(struct fsc_output_opts, duration), "SEC",
     "stop after this time (0.5 is half a second)", NULL},
    {'i', "interval", FSC_OPT_SECONDS, offsetof(struct fsc_output_opts, interval), "SEC",
     "report at this interval", NULL},
    {'T', "timestamps", FSC_OPT_FLAG, offsetof(struct fsc_output_opts, timestamps), NULL,
     "print the time with each report", NULL},
    {0},
};

const struct fsc_opt fsc_output_where_opts[] = {
    {'o', "output", FSC_OPT_STRING, offsetof(struct fsc_output_opts, output), "FILE",
     "write the data to a file", NULL},
    {'v', "verbose", FSC_OPT_FLAG, offsetof(struct fsc_output_opts, verbose), NULL,
     "say what is being done, on stderr", NULL},
    {0, "ready-fd", FSC_OPT_UINT, offsetof(struct fsc_output_opts, ready_fd), "N", NULL, NULL},
    {0},
};

/* The first two of all formats. */
static const char *const report_names[] = {"text", "json", NULL};

#define FORMAT_OPT(help, names)                                                                    \
	{                                                                                          \
		{'f',	   "format", FSC_OPT_CHOICE, offsetof(struct fsc_output_opts, format),     \
		 "FORMAT", help,     names},                                                       \
		    {0},                                                                           \
	}
const struct fsc_opt fsc_table_formats[] = FORMAT_OPT("output", fsc_sink_table_names);
const struct fsc_opt fsc_stack_formats[] = FORMAT_OPT("output", fsc_sink_stack_names);
const struct fsc_opt fsc_gpu_formats[] = FORMAT_OPT("as", fsc_sink_names);
const struct fsc_opt fsc_report_formats[] = FORMAT_OPT("output", report_names);

static bool to_file(const char *path)
{
	return path && strcmp(path, "-");
}

/* Nonblocking: a FIFO without a reader is an error, not a reason to hang with probes attached. */
static FILE *open_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);

	if (fd < 0)
		return NULL;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fdopen(fd, "w");
}

int fsc_output_to(const char *path, struct fsc_sink *sink, struct fsc_err *err)
{
	struct winsize ws;

	sink->out = stdout;
	sink->side = stderr;
	if (to_file(path)) {
		sink->out = open_file(path);
		if (!sink->out)
			return fsc_err_sys(err, errno, "cannot write to '%s'", path);
	} else if ((fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY) {
		return fsc_err_set(err, EBADF,
				   "cannot write to stdout: it is closed; give -o FILE, or "
				   "redirect it to /dev/null");
	} else if (isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws)) {
		sink->width = ws.ws_col;
	}
	return 0;
}

int fsc_output_open(const struct fsc_output_opts *o, enum fsc_data data, struct fsc_sink *sink,
		    struct fsc_err *err)
{
	int rc;

	sink->ops = fsc_sinks[o->format];
	sink->timestamps = o->timestamps;
	sink->intervals = o->interval > 0;
	rc = fsc_sink_takes(sink, data, err);
	return rc ? rc : fsc_output_to(o->output, sink, err);
}

int fsc_output_close(const char *path, struct fsc_sink *sink, struct fsc_err *err)
{
	FILE *f = to_file(path) ? sink->out : NULL;

	sink->out = NULL;
	fsc_sink_release(sink);
	if (f && fclose(f))
		return fsc_err_sys(err, errno, "cannot write to '%s'", path);
	return 0;
}
