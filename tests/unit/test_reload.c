/* src/monitor/reload.c: when a file has changed, that a bad one changes nothing, and what of the
 * processes and the command stays. The functions are of a library that no machine has: nothing is
 * attached. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "monitor/monitor_priv.h"
#include "monitors.h"

#define NOBODY "\"targets\": {\"names\": [\"no-such-process\"]}"

struct world {
	char path[64];
	struct fsc_monitor_opts opts;
	struct fsc_output_opts out;
	struct fsc_run run;
	struct fsc_monitor m;
};

static void write_file(const struct world *w, const char *text)
{
	FILE *f = fopen(w->path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void begin(struct world *w, const char *text)
{
	struct fsc_err err = {0};
	struct fsc_monitor *m = &w->m;
	int fd;

	*w = (struct world){.path = "/tmp/funcscope-reload.XXXXXX"};
	fd = mkstemp(w->path);
	assert_true(fd >= 0);
	close(fd);
	write_file(w, text);
	w->opts.path = w->path;
	w->opts.out = &w->out;
	m->opts = &w->opts;
	m->run = &w->run;
	monitor_ok(fsc_loop_init(&w->run.loop, &err), &err);
	m->config = calloc(1, sizeof(*m->config));
	assert_non_null(m->config);
	monitor_config(text, m->config);
	monitor_ok(fsc_slow_new(1, 1, &m->slow, &err), &err);
	monitor_ok(fsc_processes_new(&m->config->targets, &m->processes, &err), &err);
	monitor_ok(fsc_hooks_new(m->config, m->processes, &m->hooks, &err), &err);
	monitor_ok(fsc_ledger_new(m->hooks, m->processes, m->slow, &m->ledger, &err), &err);
	m->config_ok = true;
	fsc_monitor_note_file(m);
}

static void end(struct world *w)
{
	fsc_loop_release(&w->run.loop);
	fsc_ledger_free(w->m.ledger);
	fsc_hooks_free(w->m.hooks);
	fsc_processes_free(w->m.processes);
	fsc_slow_free(w->m.slow);
	fsc_snoop_config_release(w->m.config);
	free(w->m.config);
	unlink(w->path);
}

static void add_name(const struct fsc_snoop_func *f, void *arg)
{
	strcat(arg, f->name);
}

/* The functions that are looked for. */
static void looks_for(struct world *w, const char *names)
{
	char all[64] = "";

	fsc_hooks_missing(w->m.hooks, add_name, all);
	assert_string_equal(all, names);
}

static const char A[] = "{" MONITOR_FUNCS(MONITOR_FUNC("a")) "," NOBODY "}";
static const char B[] = "{" MONITOR_FUNCS(MONITOR_FUNC("b")) "," NOBODY "}";

/* ---- the file ---- */

static void a_file_has_changed_when_its_contents_may_have(void **state)
{
	struct timespec past[2];
	char other[sizeof(((struct world *)0)->path) + 2];
	struct world w;

	(void)state;
	begin(&w, A);
	assert_false(fsc_monitor_file_changed(&w.m));
	past[0] = past[1] = w.m.file.st_mtim;
	past[1].tv_sec -= 5;
	assert_int_equal(utimensat(AT_FDCWD, w.path, past, 0), 0); /* as long as before */
	assert_true(fsc_monitor_file_changed(&w.m));
	fsc_monitor_note_file(&w.m);
	assert_false(fsc_monitor_file_changed(&w.m));
	/* Another file of its name, with the same size and time. */
	snprintf(other, sizeof(other), "%s.n", w.path);
	assert_int_equal(rename(w.path, other), 0);
	assert_false(fsc_monitor_file_changed(&w.m)); /* none: not to be read */
	write_file(&w, A);
	assert_int_equal(utimensat(AT_FDCWD, w.path, past, 0), 0);
	assert_true(fsc_monitor_file_changed(&w.m));
	assert_int_equal(rename(other, w.path), 0);
	assert_false(fsc_monitor_file_changed(&w.m));
	end(&w);
}

static void without_a_file_nothing_is_read_again(void **state)
{
	struct world w;
	struct fsc_err err = {0};

	(void)state;
	begin(&w, A);
	w.opts.path = NULL;
	assert_true(fsc_monitor_reload(&w.m, &err) < 0);
	assert_non_null(strstr(err.msg, "without a configuration file"));
	assert_int_equal(w.m.failed_reloads, 0);
	end(&w);
}

/* ---- good and bad ---- */

static void a_good_file_is_in_force(void **state)
{
	struct world w;
	struct fsc_err err = {0};

	(void)state;
	begin(&w, A);
	looks_for(&w, "a");
	write_file(&w, B);
	monitor_ok(fsc_monitor_reload(&w.m, &err), &err);
	looks_for(&w, "b");
	assert_int_equal(w.m.reloads, 1);
	assert_int_equal(w.m.failed_reloads, 0);
	assert_false(fsc_monitor_file_changed(&w.m));
	end(&w);
}

static void a_bad_file_changes_nothing_and_is_read_once(void **state)
{
	struct world w;
	struct fsc_snoop_config *config;

	(void)state;
	begin(&w, A);
	config = w.m.config;
	write_file(&w, "{\"slwo\": 1}");
	assert_true(fsc_monitor_file_changed(&w.m));
	fsc_monitor_reload_and_log(&w.m); /* the monitor goes on */
	assert_ptr_equal(w.m.config, config);
	looks_for(&w, "a");
	assert_int_equal(w.m.reloads, 0);
	assert_int_equal(w.m.failed_reloads, 1);
	assert_false(w.m.config_ok);
	assert_false(fsc_monitor_file_changed(&w.m));
	write_file(&w, B);
	fsc_monitor_reload_and_log(&w.m);
	assert_true(w.m.config_ok);
	looks_for(&w, "b");
	end(&w);
}

static pthread_mutex_t hold = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for_test(void *arg)
{
	__atomic_store_n((pid_t *)arg, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	pthread_mutex_lock(&hold);
	pthread_mutex_unlock(&hold);
	return NULL;
}

/* What is found out only when it is tried, here that a number is a thread's, is taken back. */
static void a_file_that_cannot_be_carried_out_changes_nothing(void **state)
{
	struct world w;
	struct fsc_err err = {0};
	pthread_t thread;
	pid_t tid = 0;
	char text[256];

	(void)state;
	begin(&w, A);
	pthread_mutex_lock(&hold);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_test, &tid), 0);
	while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
		sched_yield();
	snprintf(text, sizeof(text),
		 "{" MONITOR_FUNCS(MONITOR_FUNC("b")) ", \"targets\": {\"pids\": [%d]}}", (int)tid);
	write_file(&w, text);
	assert_true(fsc_monitor_reload(&w.m, &err) < 0);
	assert_non_null(strstr(err.msg, "is a thread of process"));
	looks_for(&w, "a");
	assert_int_equal(w.m.failed_reloads, 1);
	pthread_mutex_unlock(&hold);
	pthread_join(thread, NULL);
	end(&w);
}

/* ---- who is meant ---- */

static void other_targets_are_judged_anew(void **state)
{
	static const char everybody[] = "{" MONITOR_FUNCS(MONITOR_FUNC("a")) "}";
	struct world w;
	struct fsc_err err = {0};

	(void)state;
	begin(&w, A);
	assert_false(fsc_processes_all(w.m.processes));
	assert_int_equal(fsc_processes_count(w.m.processes, false), 0);
	write_file(&w, everybody);
	monitor_ok(fsc_monitor_reload(&w.m, &err), &err);
	assert_true(fsc_processes_all(w.m.processes));
	assert_true(fsc_processes_wanted(w.m.processes, getppid()));
	write_file(&w, A);
	monitor_ok(fsc_monitor_reload(&w.m, &err), &err);
	assert_false(fsc_processes_all(w.m.processes));
	assert_false(fsc_processes_wanted(w.m.processes, getppid()));
	end(&w);
}

/* The processes of the command line and the command that was started are in no file. */
static void the_command_lines_processes_and_command_stay(void **state)
{
	static char *const argv[] = {"sleep", "1"};
	const pid_t self = getpid();
	struct world w;
	struct fsc_err err = {0};
	const struct fsc_filter *t;

	(void)state;
	begin(&w, A);
	w.opts.pids = &self;
	w.opts.n_pids = 1;
	monitor_ok(fsc_snoop_config_command(w.m.config, argv, 2, &err), &err);
	write_file(&w, B);
	monitor_ok(fsc_monitor_reload(&w.m, &err), &err);
	t = &w.m.config->targets;
	assert_int_equal(t->pids.n, 1);
	assert_int_equal(*FSC_AT(pid_t, &t->pids, 0), self);
	assert_int_equal(t->command.n, 2);
	assert_string_equal(*FSC_AT(char *, &t->command, 0), "sleep");
	assert_int_equal(t->names.n, 1);
	end(&w);
}

/* ---- shortages ---- */

static void lack_of_memory_is_counted_and_not_fatal(void **state)
{
	struct fsc_snapshot s = {0};
	struct fsc_err err = {0};
	struct world w;

	(void)state;
	begin(&w, A);
	for (int i = 0; i < 3; i++) {
		fsc_err_nomem(&err);
		assert_int_equal(fsc_monitor_spare(&w.m, FSC_STEP_COLLECT, -ENOMEM, &err), 0);
		assert_int_equal(err.code, 0);
	}
	assert_false(w.m.rescan);
	assert_int_equal(fsc_monitor_spare(&w.m, FSC_STEP_EVENTS, -ENOMEM, &err), 0);
	assert_true(w.m.rescan); /* what was overlooked */
	assert_int_equal(fsc_monitor_spare(&w.m, FSC_STEP_COLLECT, 0, &err), 0);
	assert_int_equal(fsc_monitor_spare(&w.m, FSC_STEP_COLLECT, -EIO, &err), -EIO);
	fsc_monitor_shortages(&w.m, &s);
	assert_int_equal(s.n_skipped, FSC_STEPS);
	assert_string_equal(s.skipped[FSC_STEP_COLLECT].name, "collect");
	assert_int_equal(s.skipped[FSC_STEP_COLLECT].n, 3);
	assert_int_equal(s.skipped[FSC_STEP_EVENTS].n, 1);
	assert_int_equal(s.skipped[FSC_STEP_REPORT].n, 0);
	end(&w);
}

/* The next report covers the time of those that were not written. */
static void a_full_disk_is_counted_and_not_fatal(void **state)
{
	struct fsc_err err = {0};
	struct world w;

	(void)state;
	begin(&w, A);
	w.run.sink = (struct fsc_sink){.ops = &fsc_sink_json, .out = fopen("/dev/full", "w")};
	assert_non_null(w.run.sink.out);
	for (int i = 1; i <= 3; i++) {
		int rc = fsc_ledger_report(w.m.ledger, &w.run.sink, false, false, 0, &err);

		assert_int_equal(rc, -ENOSPC);
		assert_int_equal(fsc_monitor_wrote(&w.m, -1, rc, &err), 0);
		assert_int_equal(w.m.reports_dropped, i);
		assert_false(ferror(w.run.sink.out));
	}
	assert_int_equal(fsc_monitor_wrote(&w.m, -1, -EIO, &err), -EIO); /* not of the output */
	assert_int_equal(fsc_monitor_wrote(&w.m, -1, 0, &err), 0);
	assert_false(w.m.output_down);
	fclose(w.run.sink.out);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lack_of_memory_is_counted_and_not_fatal),
	    cmocka_unit_test(a_full_disk_is_counted_and_not_fatal),
	    cmocka_unit_test(a_file_has_changed_when_its_contents_may_have),
	    cmocka_unit_test(without_a_file_nothing_is_read_again),
	    cmocka_unit_test(a_good_file_is_in_force),
	    cmocka_unit_test(a_bad_file_changes_nothing_and_is_read_once),
	    cmocka_unit_test(a_file_that_cannot_be_carried_out_changes_nothing),
	    cmocka_unit_test(other_targets_are_judged_anew),
	    cmocka_unit_test(the_command_lines_processes_and_command_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
