/* Fields of processes, from /proc. */
#include "monitor/process_fields.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "proc/task.h"

const char *const fsc_process_field_names[FSC_PROCESS_FIELDS + 1] = {"started", "exe", "cmdline",
								     NULL};

static void add_started(pid_t pid, struct fsc_buf *b)
{
	const uint64_t booted = fsc_clock_ns(CLOCK_REALTIME) - fsc_clock_ns(CLOCK_BOOTTIME);
	const uint64_t tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t ticks;
	pid_t parent;

	if (fsc_task_stat(pid, &parent, &ticks))
		fsc_fmt_time(b, booted + ticks * tick_ns);
}

/* The end of a path tells more than its beginning. */
static void add_exe(pid_t pid, struct fsc_buf *b)
{
	const size_t most = FSC_PROCESS_FIELD_BYTES;
	char exe[PATH_MAX];
	size_t n;

	fsc_task_exe(pid, exe);
	n = strlen(exe);
	if (n > most)
		fsc_buf_printf(b, "...%s", exe + n - (most - 3));
	else
		fsc_buf_puts(b, exe);
}

/* Words are ended by NULs there. */
static size_t read_cmdline(pid_t pid, char *text, size_t size)
{
	size_t n;

	memset(text, 0, size);
	fsc_task_read(pid, "cmdline", text, size);
	for (n = size - 1; n && !text[n - 1]; n--)
		;
	for (size_t i = 0; i < n; i++)
		text[i] = text[i] ? text[i] : ' ';
	return n;
}

static void add_cmdline(pid_t pid, struct fsc_buf *b)
{
	const size_t most = FSC_PROCESS_FIELD_BYTES;
	char text[FSC_PROCESS_FIELD_BYTES + 2];
	const size_t n = read_cmdline(pid, text, sizeof(text));

	if (n > most)
		fsc_buf_printf(b, "%.*s...", (int)most - 3, text);
	else
		fsc_buf_puts(b, text);
}

bool fsc_process_fields(pid_t pid, unsigned which, struct fsc_buf *b)
{
	static void (*const add[FSC_PROCESS_FIELDS])(pid_t pid, struct fsc_buf * b) = {
	    add_started, add_exe, add_cmdline};
	pid_t parent;
	uint64_t start;

	if (!fsc_task_stat(pid, &parent, &start) || fsc_task_is_zombie(pid))
		return false;
	for (size_t i = 0; i < FSC_PROCESS_FIELDS; i++) {
		if (!(which & 1u << i))
			continue;
		add[i](pid, b);
		fsc_buf_putc(b, '\0');
	}
	if (!fsc_buf_failed(b))
		return true;
	fsc_buf_release(b);
	b->failed = true;
	return false;
}
