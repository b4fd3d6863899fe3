/* src/run/pids.h: the CPU time of several processes, of which one exits; and the loop, which sees
 * each exit once. CPU time is compared with CPU time; nothing here measures how long it took. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/cputime.h"
#include "proc/family.h"
#include "proc/task.h"
#include "run/pids.h"

enum { BURN_MS = 200 };

struct burner {
	pid_t pid;
	int to, from;
};

/* For each byte that comes, uses so much CPU time, and answers. */
static _Noreturn void burn_when_asked(int from, int to)
{
	char c;

	while (read(from, &c, 1) == 1) {
		uint64_t end = fsc_clock_ns(CLOCK_PROCESS_CPUTIME_ID) + BURN_MS * 1000000ull;

		while (fsc_clock_ns(CLOCK_PROCESS_CPUTIME_ID) < end)
			;
		if (write(to, &c, 1) != 1)
			break;
	}
	_exit(0);
}

static struct burner burner_start(void)
{
	struct burner b = {0};
	int ask[2], answer[2];

	assert_int_equal(pipe(ask), 0);
	assert_int_equal(pipe(answer), 0);
	b.pid = fork();
	assert_true(b.pid >= 0);
	if (!b.pid) {
		close(ask[1]);
		burn_when_asked(ask[0], answer[1]);
	}
	close(ask[0]);
	close(answer[1]);
	b.to = ask[1];
	b.from = answer[0];
	return b;
}

static void burner_burn(const struct burner *b)
{
	char c = 0;

	assert_int_equal(write(b->to, &c, 1), 1);
	assert_int_equal(read(b->from, &c, 1), 1);
}

static void burner_end(const struct burner *b)
{
	kill(b->pid, SIGKILL);
	assert_int_equal(waitpid(b->pid, NULL, 0), b->pid);
	close(b->to);
	close(b->from);
}

struct seen {
	struct fsc_pids *pids;
	int calls;
	pid_t exited[4];
	size_t n_exited, left;
};

static void note_exit(pid_t pid, void *arg)
{
	struct seen *s = arg;

	assert_true(s->n_exited < 4);
	s->exited[s->n_exited++] = pid;
}

static int on_exit_of(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct seen *s = arg;

	(void)n, (void)err;
	s->calls++;
	s->left = fsc_pids_take_exited(s->pids, note_exit, s);
	loop->stop = !s->left;
	return 0;
}

static int stop(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	(void)n, (void)arg, (void)err;
	loop->stop = true;
	return 0;
}

/* What one has used stays when it exits, and what the other uses comes on top. */
static void one_of_two_exits(void **state)
{
	struct burner a = burner_start(), b = burner_start();
	struct fsc_loop loop;
	struct fsc_pids p;
	struct seen s = {.pids = &p};
	uint64_t first;

	(void)state;
	assert_int_equal(fsc_loop_init(&loop, NULL), 0);
	fsc_pids_init(&p, &loop, on_exit_of, &s);
	assert_int_equal(fsc_pids_add(&p, a.pid, NULL), 0);
	assert_int_equal(fsc_pids_add(&p, b.pid, NULL), 0);
	assert_int_equal(fsc_pids_add(&p, a.pid, NULL), 0);
	assert_int_equal(p.all.n, 2);
	fsc_pids_start(&p, false);
	burner_burn(&a);
	first = fsc_pids_cpu(&p);
	assert_true(first > BURN_MS / 2 * 1000000ull);
	burner_end(&a);
	burner_burn(&b);
	assert_true(fsc_pids_cpu(&p) > first + BURN_MS / 2 * 1000000ull);

	/* One that has exited is reported once, and not again and again. */
	assert_int_equal(fsc_loop_timer(&loop, 0.02, false, stop, NULL, NULL), 0);
	assert_int_equal(fsc_loop_run(&loop, NULL), 0);
	assert_int_equal(s.calls, 1);
	assert_int_equal(s.n_exited, 1);
	assert_int_equal(s.exited[0], a.pid);
	assert_int_equal(s.left, 1);
	burner_end(&b);
	loop.stop = false;
	assert_int_equal(fsc_loop_run(&loop, NULL), 0);
	assert_int_equal(s.exited[1], b.pid);
	assert_int_equal(s.left, 0);
	fsc_loop_release(&loop);
	fsc_pids_release(&p);
}

/* The exit is seen before anybody has asked for the status, and by those who may not signal. */
static void a_zombie_has_exited(void **state)
{
	struct burner a = burner_start();
	struct fsc_loop loop;
	struct fsc_pids p;
	struct seen s = {.pids = &p};
	struct fsc_err err = {0};
	siginfo_t si;

	(void)state;
	assert_int_equal(fsc_loop_init(&loop, NULL), 0);
	fsc_pids_init(&p, &loop, on_exit_of, &s);
	assert_int_equal(fsc_pids_refuse_zombie(a.pid, &err), 0);
	assert_int_equal(fsc_pids_add(&p, a.pid, NULL), 0);
	kill(a.pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)a.pid, &si, WEXITED | WNOWAIT), 0);
	assert_int_equal(fsc_loop_run(&loop, NULL), 0);
	assert_int_equal(s.n_exited, 1);
	assert_int_equal(fsc_pids_refuse_zombie(a.pid, &err), -ESRCH);
	assert_non_null(strstr(err.msg, "zombie"));
	burner_end(&a);
	fsc_loop_release(&loop);
	fsc_pids_release(&p);
	fsc_pids_init(&p, &loop, on_exit_of, &s);
	assert_int_equal(fsc_pids_add(&p, a.pid, NULL), -ESRCH);
	assert_int_equal(fsc_pids_owner(a.pid), 0);
	assert_int_equal(fsc_pids_owner(getpid()), getpid());
	fsc_pids_release(&p);
}

/* The children of a process count while they live, and afterwards; and whoever never waits for them
 * does not take back what they used. */
static void a_family_counts_its_children(void **state)
{
	uint64_t own = fsc_cputime_process(getpid()), before, during;
	const uint64_t burnt = BURN_MS * 1000000ull;
	struct fsc_family f = FSC_FAMILY_INIT;
	struct burner a = burner_start();

	(void)state;
	assert_int_equal(fsc_family_add(&f, getpid()), 0);
	before = fsc_family_cpu(&f);
	burner_burn(&a);
	during = fsc_family_cpu(&f);
	assert_true(during - before >= burnt);
	burner_end(&a);
	assert_true(fsc_family_cpu(&f) >= during);
	assert_true(fsc_cputime_process(getpid()) - own < burnt);
	fsc_family_release(&f);

	signal(SIGCHLD, SIG_IGN); /* nobody waits */
	a = burner_start();
	assert_int_equal(fsc_family_add(&f, getpid()), 0);
	before = fsc_family_cpu(&f);
	burner_burn(&a);
	during = fsc_family_cpu(&f);
	assert_true(during - before >= burnt);
	kill(a.pid, SIGKILL);
	while (!kill(a.pid, 0))
		usleep(1000);
	signal(SIGCHLD, SIG_DFL);
	close(a.to);
	close(a.from);
	a = burner_start();
	burner_burn(&a);
	for (int i = 0; i < 1000 && fsc_family_cpu(&f) - during < burnt; i++)
		usleep(1000); /* until it is looked for */
	assert_true(fsc_family_cpu(&f) - during >= burnt);
	burner_end(&a);
	fsc_family_release(&f);
}

/* With -p and --follow: a server's children. */
static void children_of_a_process_count(void **state)
{
	struct burner a;
	struct fsc_loop loop;
	struct fsc_pids p;
	struct seen s = {.pids = &p};

	(void)state;
	assert_int_equal(fsc_loop_init(&loop, NULL), 0);
	fsc_pids_init(&p, &loop, on_exit_of, &s);
	assert_int_equal(fsc_pids_add(&p, getpid(), NULL), 0);
	fsc_pids_start(&p, true);
	a = burner_start();
	burner_burn(&a);
	for (int i = 0; i < 1000 && fsc_pids_cpu(&p) < BURN_MS * 1000000ull; i++)
		usleep(1000);
	assert_true(fsc_pids_cpu(&p) >= BURN_MS * 1000000ull);
	burner_end(&a);
	fsc_loop_release(&loop);
	fsc_pids_release(&p);
}

static void *thread_waits(void *arg)
{
	(void)arg;
	pause();
	return NULL;
}

static pid_t start_without_main_thread(void)
{
	pid_t pid = fork();
	pthread_t thread;

	assert_true(pid >= 0);
	if (pid)
		return pid;
	if (pthread_create(&thread, NULL, thread_waits, NULL))
		_exit(1);
	pthread_exit(NULL);
}

/* Nothing of the process can be read under its own number, but it is alive. */
static void the_main_thread_has_exited(void **state)
{
	pid_t pid = start_without_main_thread();
	struct fsc_err err = {0};
	siginfo_t si;

	(void)state;
	while (!fsc_task_is_zombie(pid))
		sched_yield();
	assert_false(fsc_task_has_exited(pid));
	assert_int_equal(fsc_pids_refuse_zombie(pid, &err), -ESRCH);
	assert_non_null(strstr(err.msg, "the main thread"));
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT), 0);
	assert_true(fsc_task_has_exited(pid));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(fsc_task_has_exited(pid));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_of_two_exits),
	    cmocka_unit_test(a_zombie_has_exited),
	    cmocka_unit_test(a_family_counts_its_children),
	    cmocka_unit_test(children_of_a_process_count),
	    cmocka_unit_test(the_main_thread_has_exited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
