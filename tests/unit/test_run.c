/* src/run/run.h: the order of things in a run, and whatever ends it. The command's part is a list
 * of letters, one for each call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "run/run.h"

struct fake {
	char calls[64];
	char fails; /* the call that fails */
	char stops; /* the call that ends the run, or sends a signal: */
	int signal;
	bool interrupted;
	pid_t child;
	int status;
	bool child_held;
};

static int note(struct fsc_run *r, char letter, struct fsc_err *err)
{
	struct fake *f = r->state;
	size_t n = strlen(f->calls);

	/* Ticks may be many. */
	if (n + 1 < sizeof(f->calls) && (letter != 't' || !n || f->calls[n - 1] != 't'))
		f->calls[n] = letter;
	if (letter == f->stops && f->signal)
		raise(f->signal);
	else if (letter == f->stops)
		r->loop.stop = true;
	return letter == f->fails ? fsc_err_set(err, EIO, "%c fails", letter) : 0;
}

static int fake_open(struct fsc_run *r, struct fsc_err *err)
{
	struct fake *f = r->state;

	f->child = r->child.pid;
	f->child_held = r->child.held;
	return note(r, 'o', err);
}

static int fake_attach(struct fsc_run *r, struct fsc_err *err)
{
	assert_non_null(r->sink.out);
	assert_int_equal(r->start_ns, 0);
	return note(r, 'a', err);
}

static void fake_ready(struct fsc_run *r)
{
	assert_true(r->start_ns > 0);
	note(r, 'r', NULL);
}

static int fake_tick(struct fsc_run *r, struct fsc_err *err)
{
	return note(r, 't', err);
}

static int fake_report(struct fsc_run *r, bool last, struct fsc_err *err)
{
	return note(r, last ? 'L' : 'i', err);
}

static int fake_detach(struct fsc_run *r, struct fsc_err *err)
{
	assert_true(r->end_ns >= r->start_ns);
	return note(r, 'd', err);
}

static int fake_books(struct fsc_run *r, struct fsc_summary *ret, struct fsc_err *err)
{
	ret->seen = ret->kept = 1;
	return note(r, 'b', err);
}

static void fake_close(struct fsc_run *r)
{
	struct fake *f = r->state;

	if (!f->fails)
		assert_null(r->sink.out); /* everything is written by now */
	f->interrupted = r->interrupted;
	f->status = r->child.status;
	note(r, 'c', NULL);
}

static int fake_reload(struct fsc_run *r, struct fsc_err *err)
{
	r->loop.stop = true;
	return note(r, 'h', err);
}

static const struct fsc_run_ops ops = {.open = fake_open,
				       .attach = fake_attach,
				       .ready = fake_ready,
				       .tick = fake_tick,
				       .report = fake_report,
				       .detach = fake_detach,
				       .books = fake_books,
				       .close = fake_close};

static char output[] = "/tmp/test_run.XXXXXX";

static int run(struct fake *f, const struct fsc_run_ops *o, char *const *command,
	       struct fsc_output_opts out, struct fsc_err *err)
{
	const struct fsc_run_opts ro = {.ops = o,
					.state = f,
					.out = &out,
					.data = FSC_DATA_COUNTS,
					.command = command,
					.tick_s = 0.001};

	out.output = output;
	out.format = 1; /* JSON */
	return fsc_run(&ro, err);
}

static void everything_in_order(void **state)
{
	struct fake f = {.stops = 't'};

	(void)state;
	assert_int_equal(run(&f, &ops, NULL, (struct fsc_output_opts){0}, NULL), 0);
	assert_string_equal(f.calls, "oartdLbc");
	assert_false(f.interrupted);
}

static void a_duration_ends_it(void **state)
{
	struct fake f = {0};
	const struct fsc_output_opts out = {.duration = 0.02};

	(void)state;
	assert_int_equal(run(&f, &ops, NULL, out, NULL), 0);
	assert_string_equal(f.calls, "oartdLbc");
}

/* The last stretch is the last report's, though its timer may have fired, too. */
static void intervals(void **state)
{
	struct fake f = {0};
	const struct fsc_output_opts out = {.duration = 0.1, .interval = 0.04};
	size_t n = 0;

	(void)state;
	assert_int_equal(run(&f, &ops, NULL, out, NULL), 0);
	for (const char *c = f.calls; *c; c++)
		n += *c == 'i';
	assert_true(n >= 1 && n <= 2);
	assert_non_null(strstr(f.calls, "dLbc"));
}

static void signals_end_it_or_reload(void **state)
{
	struct fsc_run_ops reloads = ops;
	struct fake f = {.stops = 'r', .signal = SIGTERM};
	struct fake hup = {.stops = 'r', .signal = SIGHUP};

	(void)state;
	assert_int_equal(run(&f, &ops, NULL, (struct fsc_output_opts){0}, NULL), 0);
	assert_non_null(strstr(f.calls, "dLbc"));
	assert_true(f.interrupted);
	assert_int_equal(run(&hup, &ops, NULL, (struct fsc_output_opts){0}, NULL), 0);
	assert_null(strchr(hup.calls, 'h'));
	hup = (struct fake){.stops = 'r', .signal = SIGHUP};
	reloads.reload = fake_reload;
	assert_int_equal(run(&hup, &reloads, NULL, (struct fsc_output_opts){0}, NULL), 0);
	assert_non_null(strchr(hup.calls, 'h'));
}

static void its_command_ends_it(void **state)
{
	char *const command[] = {"sh", "-c", "exit 7", NULL};
	struct fake f = {0};

	(void)state;
	assert_int_equal(run(&f, &ops, command, (struct fsc_output_opts){0}, NULL), 0);
	assert_true(f.child > 0);
	assert_true(f.child_held);
	assert_int_equal(WEXITSTATUS(f.status), 7);
}

/* Whatever fails, nothing after it is called, and a command that was held has never run. */
static void failures(void **state)
{
	static const struct {
		char fails;
		const char *calls;
	} rows[] = {{'o', "o"}, {'a', "oa"}, {'t', "oart"}, {'d', "oartdc"}, {'b', "oartdLbc"}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *const command[] = {"touch", "/tmp/test_run.touched", NULL};
		const bool early = rows[i].fails == 'o' || rows[i].fails == 'a';
		struct fake f = {.fails = rows[i].fails, .stops = 't'};
		struct fsc_err err = {0};

		unlink(command[1]);
		assert_int_equal(
		    run(&f, &ops, early ? command : NULL, (struct fsc_output_opts){0}, &err), -EIO);
		assert_string_equal(f.calls, rows[i].calls);
		assert_int_equal(access(command[1], F_OK), -1);
		if (early)
			assert_int_equal(kill(f.child, 0), -1);
	}
}

/* A run that cannot begin leaves the file as it was. */
static void what_was_written_stays(void **state)
{
	struct fake f = {.fails = 'o'};
	struct stat st;
	int fd = open(output, O_WRONLY | O_TRUNC);

	(void)state;
	assert_int_equal(write(fd, "before", 6), 6);
	close(fd);
	assert_int_equal(run(&f, &ops, NULL, (struct fsc_output_opts){0}, NULL), -EIO);
	assert_int_equal(stat(output, &st), 0);
	assert_int_equal(st.st_size, 6);
}

static int set_up(void **state)
{
	int fd = mkstemp(output);

	(void)state;
	fsc_log_set_level(FSC_LOG_ERROR);
	return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(everything_in_order),
	    cmocka_unit_test(a_duration_ends_it),
	    cmocka_unit_test(intervals),
	    cmocka_unit_test(signals_end_it_or_reload),
	    cmocka_unit_test(its_command_ends_it),
	    cmocka_unit_test(failures),
	    cmocka_unit_test(what_was_written_stays),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
