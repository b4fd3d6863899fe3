/* A session of a monitor on a function of this program, which children call: slots that go from one
 * process to another lose nothing and carry nothing over. Needs root; skipped otherwise. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/calibrate.h"
#include "engine/session.h"
#include "probe/target.h"
#include "probe/uprobe.h"

/* ---- children ---- */

int fsc_test_called(int n);

__attribute__((noinline)) int fsc_test_called(int n)
{
	__asm__ volatile("");
	return n;
}

struct child {
	pid_t pid;
	int to, from;
};

static void serve(int in, int out)
{
	int n;

	while (read(in, &n, sizeof(n)) == sizeof(n)) {
		for (int i = 0; i < n; i++)
			fsc_test_called(i % 5 == 0 ? -7 : 0);
		if (write(out, &n, sizeof(n)) != sizeof(n))
			break;
	}
	_exit(0);
}

static void child_start(struct child *c)
{
	int to[2], from[2];

	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	c->pid = fork();
	if (!c->pid) {
		close(to[1]);
		close(from[0]);
		serve(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	c->to = to[1];
	c->from = from[0];
}

static void child_call(const struct child *c, int n)
{
	int done;

	assert_int_equal(write(c->to, &n, sizeof(n)), sizeof(n));
	assert_int_equal(read(c->from, &done, sizeof(done)), sizeof(done));
}

static void child_end(struct child *c)
{
	close(c->to);
	close(c->from);
	kill(c->pid, SIGKILL); /* other children have the pipe, too */
	assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
}

/* ---- the session ---- */

static struct fsc_targets targets;

static void find_target(void)
{
	struct fsc_libs_file file = {"/proc/self/exe", "/proc/self/exe", ""};
	struct fsc_wanted wanted = {.function = "fsc_test_called"};
	const struct fsc_scope scope = {.pairs = true};

	fsc_targets_init(&targets);
	assert_int_equal(fsc_uprobe_search(&file, &wanted, 1, &scope, &targets, NULL), 0);
	assert_int_equal(wanted.found, 1);
}

static void open_part(struct fsc_session *s, struct fsc_session **ret, const struct fsc_rule *rule)
{
	struct fsc_err err = {0};

	if (fsc_session_open_part(s, &targets, &(struct fsc_part_opts){0}, ret, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(fsc_session_set_rule(*ret, 0, rule, &err), 0);
	assert_int_equal(fsc_session_set_cost(*ret, 0, 0, 0, &err), 0);
	assert_int_equal(fsc_session_attach(*ret, &err), 0);
}

static void open_session(const struct fsc_session_opts *more, struct fsc_session **ret)
{
	struct fsc_session_opts o = *more;
	const struct fsc_rule rule = {.failed = FSC_FAILED_NEGATIVE};
	struct fsc_err err = {0};

	find_target();
	o.mode = FSC_MODE_TIME;
	o.rules = true;
	o.by = FSC_BY_PID;
	o.n_rings = 1;
	o.per_row = true;
	if (fsc_session_open(&targets, &o, ret, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(fsc_session_set_rule(*ret, 0, &rule, &err), 0);
	assert_int_equal(fsc_session_set_cost(*ret, 0, 0, 0, &err), 0);
}

static void close_session(struct fsc_session *s)
{
	fsc_session_free(s);
	fsc_targets_release(&targets);
}

struct sum {
	pid_t pid; /* 0: all */
	uint64_t n, keys;
};

static const struct fsc_session *reading;

static int add_slot(const struct fsc_count_key *key, uint32_t slot, void *arg)
{
	struct sum *sum = arg;
	struct fsc_slot s;

	if (sum->pid && (pid_t)key->pid != sum->pid)
		return 0;
	fsc_session_slot(reading, slot, &s);
	sum->n += s.count;
	sum->keys++;
	return 0;
}

static uint64_t calls_of(const struct fsc_session *s, pid_t pid)
{
	struct sum sum = {.pid = pid};

	reading = s;
	assert_int_equal(fsc_session_slots(s, add_slot, &sum, NULL), 0);
	return sum.n;
}

static int add_reclaimed(const struct fsc_count_key *key, const struct fsc_slot *slot, void *arg)
{
	struct sum *sum = arg;
	uint64_t in_hist = 0;

	for (size_t i = 0; i < FSC_HIST_BUCKETS; i++)
		in_hist += slot->hist[i];
	assert_int_equal(in_hist, slot->count);
	assert_int_equal(key->pid, sum->pid);
	sum->n += slot->count;
	sum->keys++;
	return 0;
}

static int add_error(const struct fsc_error_key *key, uint64_t n, void *arg)
{
	struct sum *sum = arg;

	if ((pid_t)key->pid == sum->pid)
		sum->n += n;
	return 0;
}

static uint64_t errors_of(const struct fsc_session *s, pid_t pid)
{
	struct sum sum = {.pid = pid};

	assert_int_equal(fsc_session_errors(s, add_error, &sum, NULL), 0);
	return sum.n;
}

/* ---- tests ---- */

/* The caller's list is gone when the row is attached again. */
static void the_processes_are_copied(void **state)
{
	pid_t *pids = calloc(1, sizeof(*pids));
	struct fsc_session_opts o = {.max_keys = 16, .n_pids = 1, .pids = pids};
	struct fsc_err err = {0};
	struct fsc_session *s;
	struct child c;

	(void)state;
	if (geteuid())
		skip();
	child_start(&c);
	pids[0] = c.pid;
	open_session(&o, &s);
	free(pids);
	assert_int_equal(fsc_session_attach(s, &err), 0);
	fsc_session_count(s, true);
	child_call(&c, 3);
	assert_int_equal(fsc_session_pause(s, 0, &err), 0);
	child_call(&c, 100);
	if (fsc_session_resume(s, 0, &err))
		fail_msg("%s", err.msg);
	child_call(&c, 20);
	assert_int_equal(calls_of(s, c.pid), 23);
	close_session(s);
	child_end(&c);
}

static unsigned count_links(void)
{
	char path[64], to[64] = "";
	unsigned n = 0;

	for (int fd = 0; fd < 1024; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		memset(to, 0, sizeof(to));
		if (readlink(path, to, sizeof(to) - 1) > 0)
			n += !strncmp(to, "anon_inode:bpf", 14) && strstr(to, "link");
	}
	return n;
}

/* Whoever closes them may take their time. */
static void await_links(unsigned n)
{
	for (int i = 0; i < 10000 && count_links() != n; i++)
		usleep(1000);
	assert_int_equal(count_links(), n);
}

static void calibration_leaves_no_links(void **state)
{
	struct fsc_session_opts o = {.max_keys = 16};
	struct fsc_cost_ns ns = {0};
	struct fsc_err err = {0};
	struct fsc_session *s;
	unsigned links;

	(void)state;
	if (geteuid())
		skip();
	open_session(&o, &s);
	assert_int_equal(fsc_session_attach(s, &err), 0);
	fsc_session_count(s, true);
	links = count_links();
	assert_true(links > 0);
	close_session(s);
	assert_int_equal(count_links(), 0);
	open_session(&o, &s);
	if (fsc_calibrate(s, FSC_COST_USER, &ns, &err))
		fail_msg("%s", err.msg);
	assert_true(ns.outer > 0);
	assert_true(ns.inner > 0);
	assert_true(count_links() > 0);
	assert_int_equal(fsc_session_attach(s, &err), 0);
	fsc_session_count(s, true);
	await_links(links);
	if (fsc_calibrate(s, FSC_COST_USER_STEPPED, &ns, &err))
		fail_msg("%s", err.msg);
	await_links(links);
	fsc_session_detach(s);
	await_links(0);
	close_session(s);
}

struct late {
	struct child *c;
	int n;
};

/* Calls that are made when everything has been read, and the key is about to go. */
static bool forget_late(pid_t pid, void *arg)
{
	struct late *l = arg;

	if (pid != l->c->pid)
		return false;
	child_call(l->c, l->n);
	l->n = 0;
	return true;
}

static void what_comes_late_is_its_own(void **state)
{
	struct fsc_session_opts o = {.max_keys = 2};
	struct fsc_err err = {0};
	struct fsc_session *s;
	struct child a, b;
	struct late late = {&a, 5};
	struct sum sum = {0};
	bool alive = false;

	(void)state;
	if (geteuid())
		skip();
	open_session(&o, &s);
	assert_int_equal(fsc_session_attach(s, &err), 0);
	fsc_session_count(s, true);
	child_start(&a);
	child_start(&b);
	child_call(&a, 10);
	child_call(&b, 20);
	assert_int_equal(fsc_session_retire(s, forget_late, &late, &alive, &err), 0);
	assert_true(alive);
	/* It has no key any more, and its slot is nobody's: what it does now gets another. */
	assert_int_equal(calls_of(s, a.pid), 0);
	child_call(&a, 40);
	child_call(&b, 80);
	assert_int_equal(fsc_session_settle(s, &err), 0);
	sum.pid = a.pid;
	assert_int_equal(fsc_session_reclaim(s, add_reclaimed, &sum, &err), 0);
	assert_int_equal(sum.keys, 1);
	assert_int_equal(sum.n, 15);
	child_call(&a, 160);
	assert_int_equal(calls_of(s, a.pid), 200);
	assert_int_equal(calls_of(s, b.pid), 100);
	close_session(s);
	child_end(&a);
	child_end(&b);
}

static int add_row(const struct fsc_count_key *key, const struct fsc_slot *slot, void *arg)
{
	uint64_t *rows = arg;

	rows[key->row] += slot->count;
	return 0;
}

/* Parts come and go: a row is given to another function only when it is empty, and the session goes
 * on. */
static void a_part_leaves_nothing_behind(void **state)
{
	const struct fsc_session_opts o = {.mode = FSC_MODE_TIME,
					   .rules = true,
					   .max_rows = 2,
					   .max_keys = 16,
					   .by = FSC_BY_PID,
					   .n_rings = 1};
	const struct fsc_rule rule = {0};
	struct fsc_session *s, *part, *more;
	struct fsc_targets none;
	struct fsc_err err = {0};
	struct child a;

	(void)state;
	if (geteuid())
		skip();
	fsc_targets_init(&none);
	find_target();
	assert_int_equal(fsc_session_open(&none, &o, &s, &err), 0);
	assert_int_equal(fsc_session_attach(s, &err), 0);
	fsc_session_count(s, true);
	child_start(&a);
	for (int round = 0; round < 3; round++) {
		uint64_t rows[2] = {0};

		open_part(s, &part, &rule);
		assert_int_equal(fsc_session_first_row(part), 0);
		child_call(&a, 10 + round);
		assert_int_equal(calls_of(s, a.pid), 10 + round);
		assert_int_equal(fsc_session_seen(part, 0), 10 + round);
		/* A second one of the same function: each counts for itself. */
		open_part(s, &more, &rule);
		assert_int_equal(fsc_session_first_row(more), 1);
		assert_int_equal(
		    fsc_session_open_part(s, &targets, &(struct fsc_part_opts){0}, &part, &err),
		    -ENOSPC);
		fsc_session_detach(more);
		fsc_session_detach(part);
		child_call(&a, 50);
		assert_int_equal(fsc_session_retire_part(part, &err), 0);
		assert_int_equal(fsc_session_reclaim(s, add_row, rows, &err), 0);
		assert_int_equal(rows[0], 10 + round);
		assert_int_equal(rows[1], 0);
		fsc_session_free(more);
		fsc_session_free(part);
		assert_int_equal(calls_of(s, a.pid), 0);
	}
	fsc_session_free(s);
	fsc_targets_release(&targets);
	child_end(&a);
}

/* Whose calls count can change at any time, and those of others are counted apart. */
static void only_calls_of_judged_processes_count(void **state)
{
	struct fsc_session_opts o = {.max_keys = 16};
	struct fsc_err err = {0};
	struct fsc_session *s;
	struct child a, b;

	(void)state;
	if (geteuid())
		skip();
	open_session(&o, &s);
	assert_int_equal(fsc_session_attach(s, &err), 0);
	fsc_session_count(s, true);
	child_start(&a);
	child_start(&b);
	child_call(&a, 1);
	assert_int_equal(fsc_session_set_verdict(s, b.pid, false, &err), 0);
	child_call(&b, 2); /* nobody is judged */
	assert_int_equal(fsc_session_judge(s, FSC_JUDGING_LATER, &err), 0);
	child_call(&a, 4);
	child_call(&b, 8);
	assert_int_equal(fsc_session_judge(s, FSC_JUDGING_FIRST, &err), 0);
	child_call(&a, 16);
	assert_int_equal(fsc_session_set_verdict(s, a.pid, true, &err), 0);
	child_call(&a, 32);
	assert_int_equal(calls_of(s, a.pid), 1 + 4 + 32);
	assert_int_equal(calls_of(s, b.pid), 2);
	assert_int_equal(fsc_session_row_bystanders(s, 0), 8 + 16);
	close_session(s);
	child_end(&a);
	child_end(&b);
}

static bool forget_one(pid_t pid, void *arg)
{
	return pid == *(pid_t *)arg;
}

/* What was forgotten of a process that runs on does not come back, and what is new counts. */
static void errors_are_forgotten(void **state)
{
	struct fsc_session_opts o = {.max_keys = 16};
	struct fsc_err err = {0};
	struct fsc_session *s;
	struct child a, b;
	bool alive = false;
	pid_t pid;

	(void)state;
	if (geteuid())
		skip();
	open_session(&o, &s);
	assert_int_equal(fsc_session_attach(s, &err), 0);
	fsc_session_count(s, true);
	child_start(&a);
	child_start(&b);
	child_call(&a, 10);
	child_call(&b, 20);
	assert_int_equal(errors_of(s, a.pid), 2);
	assert_int_equal(fsc_session_forget(s, forget_one, &a.pid, &err), 0);
	assert_int_equal(errors_of(s, a.pid), 0);
	child_call(&a, 15);
	assert_int_equal(errors_of(s, a.pid), 3);
	assert_int_equal(errors_of(s, b.pid), 4);
	pid = a.pid;
	child_end(&a);
	assert_int_equal(fsc_session_retire(s, forget_one, &pid, &alive, &err), 0);
	assert_false(alive);
	assert_int_equal(fsc_session_forget(s, forget_one, &pid, &err), 0);
	assert_int_equal(errors_of(s, pid), 0);
	assert_int_equal(errors_of(s, b.pid), 4);
	close_session(s);
	child_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_processes_are_copied),
	    cmocka_unit_test(calibration_leaves_no_links),
	    cmocka_unit_test(what_comes_late_is_its_own),
	    cmocka_unit_test(errors_are_forgotten),
	    cmocka_unit_test(a_part_leaves_nothing_behind),
	    cmocka_unit_test(only_calls_of_judged_processes_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
