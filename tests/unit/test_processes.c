/* The table of processes, with numbers that no process has: they are asked for, found gone, and
 * leave it again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/processes_priv.h"

enum {
	FIRST = 5000000, /* larger than any process's number can be */
	MANY = 100000,	 /* searched one by one they would take minutes */
};

struct told {
	size_t judged, exited, asked_back;
	struct fsc_processes *p;
};

static int on_file(void *arg, pid_t pid, const char *path, struct fsc_err *err)
{
	(void)arg, (void)pid, (void)path, (void)err;
	return 0;
}

static int on_judged(void *arg, pid_t pid, bool wanted, struct fsc_err *err)
{
	struct told *t = arg;

	(void)wanted, (void)err;
	t->judged += pid >= FIRST;
	return 0;
}

static struct fsc_processes_to to(struct told *t);

/* Whoever is told of an end may ask for others, which then come into the table. */
static int on_exited(void *arg, pid_t pid, struct fsc_err *err)
{
	struct told *t = arg;
	const struct fsc_processes_to self = to(t);

	t->exited += pid >= FIRST;
	if (pid < FIRST || pid >= FIRST + 1000)
		return 0;
	t->asked_back++;
	return fsc_processes_add(t->p, pid + 2 * MANY, &self, err);
}

static struct fsc_processes_to to(struct told *t)
{
	return (struct fsc_processes_to){
	    .arg = t, .file = on_file, .judged = on_judged, .exited = on_exited};
}

static struct fsc_filter no_targets(void)
{
	return (struct fsc_filter){.pids = FSC_VEC_INIT(pid_t),
				   .names = FSC_VEC_INIT(char *),
				   .cgroups = FSC_VEC_INIT(char *),
				   .command = FSC_VEC_INIT(char *)};
}

static void many_processes_come_and_go(void **state)
{
	struct fsc_filter targets = no_targets();
	struct fsc_err err = {0};
	struct told t = {0};
	const struct fsc_processes_to self = to(&t);

	(void)state;
	for (pid_t i = 0; i < 20; i += 2)
		*(pid_t *)fsc_vec_push(&targets.pids) = FIRST + i;
	assert_int_equal(fsc_processes_new(&targets, &t.p, &err), 0);
	for (pid_t i = 0; i < MANY; i++)
		assert_int_equal(fsc_processes_add(t.p, FIRST + i, &self, &err), 0);
	for (pid_t i = 0; i < MANY; i++)
		assert_int_equal(fsc_processes_verdict(t.p, FIRST + i), -1);
	assert_int_equal(fsc_processes_scan(t.p, &self, &err), 0);
	for (int i = 0; i < 6; i++)
		assert_int_equal(fsc_processes_read(t.p, true, &self, &err), 0);
	assert_int_equal(fsc_processes_scan(t.p, &self, &err), 0);
	for (int i = 0; i < 6; i++)
		assert_int_equal(fsc_processes_read(t.p, true, &self, &err), 0);
	assert_int_equal(t.asked_back, 1000);
	assert_int_equal(t.judged, MANY + 1000);
	assert_int_equal(t.exited, MANY + 1000);
	assert_int_equal(fsc_processes_count(t.p, true), 10);
	assert_int_equal(fsc_processes_count(t.p, false), 0);
	assert_string_equal(fsc_processes_comm(t.p, FIRST), "");
	fsc_processes_free(t.p);
	fsc_vec_release(&targets.pids);
}

/* n processes from first on start and exit, in this order. */
static void start_and_exit(struct told *t, pid_t first, pid_t n)
{
	const struct fsc_processes_to self = to(t);
	struct fsc_err err = {0};

	for (pid_t i = 0; i < n; i++)
		assert_int_equal(fsc_processes_add(t->p, first + i, &self, &err), 0);
	assert_int_equal(fsc_processes_scan(t->p, &self, &err), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(fsc_processes_read(t->p, true, &self, &err), 0);
}

static void the_latest_exited_processes_have_verdicts(void **state)
{
	enum {
		N = 3 * MOST_EXITED,
		/* other processes of this machine may exit meanwhile, and are remembered too */
		SURE = MOST_EXITED / 2
	};
	struct fsc_filter targets = no_targets(), others = no_targets();
	const pid_t base = FIRST + 1000, last = base + N - 1;
	struct fsc_err err = {0};
	struct told t = {0};

	(void)state;
	*(pid_t *)fsc_vec_push(&targets.pids) = base;
	*(pid_t *)fsc_vec_push(&targets.pids) = last;
	*(pid_t *)fsc_vec_push(&others.pids) = last - 1;
	assert_int_equal(fsc_processes_new(&targets, &t.p, &err), 0);
	start_and_exit(&t, base, N);
	assert_int_equal(fsc_processes_verdict(t.p, last), 1);
	for (pid_t pid = last - SURE; pid < last; pid++)
		assert_int_equal(fsc_processes_verdict(t.p, pid), 0);
	for (pid_t pid = base; pid <= last - MOST_EXITED; pid++)
		assert_int_equal(fsc_processes_verdict(t.p, pid), -1);
	assert_true(t.p->exited_at.n <= MOST_EXITED);

	/* Two pids are used again: the verdict on the later process counts, also after the entry of
	 * the earlier one was overwritten. */
	fsc_processes_retarget(t.p, &others);
	start_and_exit(&t, base, SURE);
	start_and_exit(&t, last - 1, 2);
	start_and_exit(&t, base, SURE + 100);
	assert_int_equal(fsc_processes_verdict(t.p, last), 0);
	assert_int_equal(fsc_processes_verdict(t.p, last - 1), 1);
	start_and_exit(&t, base, MOST_EXITED);
	assert_int_equal(fsc_processes_verdict(t.p, last - 1), -1);
	assert_true(t.p->exited_at.n <= MOST_EXITED);
	fsc_processes_free(t.p);
	fsc_vec_release(&targets.pids);
	fsc_vec_release(&others.pids);
}

static void a_scan_in_parts(void **state)
{
	struct fsc_filter targets = no_targets();
	struct fsc_err err = {0};
	struct told t = {0};
	const struct fsc_processes_to self = to(&t);
	bool done = false;
	int parts = 0;

	(void)state;
	assert_int_equal(fsc_processes_new(&targets, &t.p, &err), 0);
	for (; !done; parts++)
		assert_int_equal(fsc_processes_scan_part(t.p, 1, &self, &done, &err), 0);
	assert_true(parts > 2);
	assert_int_equal(fsc_processes_verdict(t.p, getppid()), 1);
	assert_int_equal(fsc_processes_verdict(t.p, getpid()), -1);
	/* One that has begun and is not continued. */
	assert_int_equal(fsc_processes_scan_part(t.p, 1, &self, &done, &err), 0);
	assert_false(done);
	fsc_processes_free(t.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(many_processes_come_and_go), cmocka_unit_test(a_scan_in_parts),
	    cmocka_unit_test(the_latest_exited_processes_have_verdicts)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
