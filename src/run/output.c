#include "run/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
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
static FILE *open_file(const char *path, int how)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | how, 0666);

	if (fd < 0)
		return NULL;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fdopen(fd, how & O_APPEND ? "a" : "w");
}

static int output_to(const char *path, int how, struct fsc_sink *sink, struct fsc_err *err)
{
	struct winsize ws;

	sink->out = stdout;
	sink->side = stderr;
	if (to_file(path)) {
		sink->out = open_file(path, how);
		if (!sink->out)
			return fsc_err_sys(err, errno, "cannot write to '%s'", path);
		sink->path = path;
	} else if ((fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY) {
		return fsc_err_set(err, EBADF,
				   "cannot write to stdout: it is closed; give -o FILE, or "
				   "redirect it to /dev/null");
	} else if (isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws)) {
		sink->width = ws.ws_col;
	}
	return 0;
}

int fsc_output_to(const char *path, struct fsc_sink *sink, struct fsc_err *err)
{
	return output_to(path, O_TRUNC, sink, err);
}

int fsc_output_append(const char *path, struct fsc_sink *ret, struct fsc_err *err)
{
	return output_to(path, O_APPEND, ret, err);
}

static bool is_regular(const struct fsc_sink *sink, struct stat *st)
{
	return sink->out && sink->out != stdout && !fstat(fileno(sink->out), st) &&
	       S_ISREG(st->st_mode);
}

bool fsc_output_moved(const char *path, const struct fsc_sink *sink)
{
	struct stat have, there;

	if (!to_file(path) || !is_regular(sink, &have))
		return false;
	return stat(path, &there) || have.st_dev != there.st_dev || have.st_ino != there.st_ino;
}

int64_t fsc_output_mark(const struct fsc_sink *sink)
{
	struct stat st;
	int fd;

	if (!is_regular(sink, &st))
		return -1;
	fd = fileno(sink->out);
	return fcntl(fd, F_GETFL) & O_APPEND ? st.st_size : lseek(fd, 0, SEEK_CUR);
}

void fsc_output_undo(struct fsc_sink *sink, int64_t mark)
{
	int fd = fileno(sink->out);

	__fpurge(sink->out);
	clearerr(sink->out);
	if (mark >= 0 && !ftruncate(fd, mark))
		lseek(fd, mark, SEEK_SET);
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
