/* The table of processes, with numbers that no process has: they are asked for, found gone, and
 * leave it again. */
#include <setjmp.h>
#include <stdarg.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/mmaps.h"
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

/* ---- processes that map nothing that matters ---- */

enum { STARTS = 20 };

struct started {
	pid_t pids[STARTS];
	size_t judged, exited; /* of those */
	const char *matters;   /* part of the path of the files that do */
	struct fsc_processes *p;
};

static bool is_started(const struct started *s, pid_t pid)
{
	for (size_t i = 0; i < STARTS; i++)
		if (s->pids[i] == pid)
			return true;
	return false;
}

static bool file_matters(void *arg, dev_t dev, ino_t ino, const char *path, bool program)
{
	const struct started *s = arg;

	(void)dev, (void)ino, (void)program;
	return strstr(path, s->matters);
}

static int on_started_judged(void *arg, pid_t pid, bool wanted, struct fsc_err *err)
{
	struct started *s = arg;

	(void)wanted, (void)err;
	s->judged += is_started(s, pid);
	return 0;
}

static int on_started_exited(void *arg, pid_t pid, struct fsc_err *err)
{
	struct started *s = arg;

	(void)err;
	s->exited += is_started(s, pid);
	return 0;
}

static struct fsc_processes_to started_to(struct started *s)
{
	return (struct fsc_processes_to){.arg = s,
					 .matters = file_matters,
					 .file = on_file,
					 .judged = on_started_judged,
					 .exited = on_started_exited};
}

/* Starts them and reads that they have exited. False: the kernel reports nothing to us. */
static bool start_and_read(struct started *s, const struct fsc_filter *targets)
{
	const struct fsc_processes_to self = started_to(s);
	char *const argv[] = {(char *)"true", NULL};
	struct fsc_err err = {0};

	assert_int_equal(fsc_processes_new(targets, &s->p, &err), 0);
	s->p->self = 0; /* this test is a process like others */
	if (!fsc_processes_has_events(s->p))
		return false;
	assert_int_equal(fsc_processes_scan(s->p, &self, &err), 0);
	for (size_t i = 0; i < STARTS; i++) {
		assert_int_equal(posix_spawn(&s->pids[i], "/usr/bin/true", NULL, NULL, argv, NULL),
				 0);
		assert_int_equal(waitpid(s->pids[i], NULL, 0), s->pids[i]);
	}
	assert_int_equal(fsc_processes_read(s->p, false, &self, &err), 0);
	return true;
}

static void read_often(struct started *s)
{
	const struct fsc_processes_to self = started_to(s);
	struct fsc_err err = {0};

	for (size_t i = s->p->first_kept; i < s->p->kept.n; i++)
		FSC_AT(struct kept_exited, &s->p->kept, i)->until_ns = 0;
	for (int i = 0; i < 4; i++)
		assert_int_equal(fsc_processes_read(s->p, false, &self, &err), 0);
}

static void what_maps_nothing_that_matters_is_left_alone(void **state)
{
	struct fsc_filter targets = no_targets();
	struct started s = {.matters = "/no/such/file"};
	const struct fsc_processes_to self = started_to(&s);
	struct fsc_err err = {0};
	size_t before;

	(void)state;
	if (!start_and_read(&s, &targets)) {
		fsc_processes_free(s.p);
		skip();
	}
	assert_int_equal(s.judged, 0);
	/* They are known for a while, for calls that turn up. */
	for (size_t i = 0; i < STARTS; i++)
		assert_string_equal(fsc_processes_comm(s.p, s.pids[i]), "true");
	assert_int_equal(fsc_processes_add(s.p, s.pids[0], &self, &err), 0);
	assert_int_equal(s.judged, 1);
	assert_int_equal(fsc_processes_verdict(s.p, s.pids[0]), 1);
	before = s.p->ended;
	read_often(&s);
	assert_int_equal(s.judged, 1);
	assert_int_equal(s.exited, 1);
	assert_true(s.p->ended - before >= STARTS);
	for (size_t i = 0; i < STARTS; i++)
		assert_string_equal(fsc_processes_comm(s.p, s.pids[i]), "");
	fsc_processes_free(s.p);
}

static void what_maps_something_that_matters_is_judged(void **state)
{
	struct fsc_filter targets = no_targets();
	struct started s = {.matters = "/bin/true"};

	(void)state;
	if (!start_and_read(&s, &targets)) {
		fsc_processes_free(s.p);
		skip();
	}
	assert_int_equal(s.judged, STARTS);
	read_often(&s);
	assert_int_equal(s.exited, STARTS);
	fsc_processes_free(s.p);
}

/* Before a child executes its program it is what its parent is. */
static void children_of_what_maps_it_are_judged(void **state)
{
	struct fsc_filter targets = no_targets();
	struct started s = {.matters = "libcmocka"};

	(void)state;
	if (!start_and_read(&s, &targets)) {
		fsc_processes_free(s.p);
		skip();
	}
	read_often(&s);
	assert_int_equal(s.judged, STARTS);
	assert_int_equal(s.exited, STARTS);
	fsc_processes_free(s.p);
}

static void targets_by_name_are_known_whatever_they_map(void **state)
{
	struct fsc_filter targets = no_targets();
	struct started s = {.matters = "/no/such/file"};

	(void)state;
	*(const char **)fsc_vec_push(&targets.names) = "true";
	if (start_and_read(&s, &targets)) {
		assert_int_equal(s.judged, STARTS);
		read_often(&s);
		assert_int_equal(s.exited, STARTS);
		assert_true(fsc_processes_count(s.p, true) >= STARTS);
	}
	fsc_processes_free(s.p);
	fsc_vec_release(&targets.names);
}

/* A child that takes its second name when it is told, as exec gives a process one. It ends
 * when the pipe to tell it with is closed. */
struct child {
	pid_t pid;
	int tell, named; /* a byte comes for each name */
};

static struct child start_child(void)
{
	int tell[2], named[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(tell), 0);
	assert_int_equal(pipe(named), 0);
	pid = fork();
	if (!pid) {
		close(tell[1]);
		prctl(PR_SET_NAME, "name-before");
		(void)!write(named[1], "", 1);
		if (read(tell[0], &byte, 1) == 1)
			prctl(PR_SET_NAME, "name-after");
		(void)!write(named[1], "", 1);
		(void)!read(tell[0], &byte, 1);
		_exit(0);
	}
	close(tell[0]);
	close(named[1]);
	assert_int_equal(read(named[0], &byte, 1), 1);
	return (struct child){pid, tell[1], named[0]};
}

static void without_events_a_scan_notices_another_name(void **state)
{
	struct fsc_filter targets = no_targets();
	struct fsc_err err = {0};
	struct told t = {0};
	const struct fsc_processes_to self = to(&t);
	struct child child;
	char byte;

	(void)state;
	*(char **)fsc_vec_push(&targets.names) = "name-after";
	assert_int_equal(fsc_processes_new(&targets, &t.p, &err), 0);
	fsc_mmaps_free(t.p->mmaps);
	t.p->mmaps = NULL;
	child = start_child();
	assert_int_equal(fsc_processes_scan(t.p, &self, &err), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(fsc_processes_read(t.p, false, &self, &err), 0);
	assert_int_equal(fsc_processes_verdict(t.p, child.pid), 0);
	assert_int_equal(write(child.tell, "", 1), 1);
	assert_int_equal(read(child.named, &byte, 1), 1);
	assert_int_equal(fsc_processes_scan(t.p, &self, &err), 0);
	assert_int_equal(fsc_processes_verdict(t.p, child.pid), 1);
	close(child.tell);
	close(child.named);
	waitpid(child.pid, NULL, 0);
	fsc_processes_free(t.p);
	fsc_vec_release(&targets.names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(many_processes_come_and_go),
	    cmocka_unit_test(a_scan_in_parts),
	    cmocka_unit_test(the_latest_exited_processes_have_verdicts),
	    cmocka_unit_test(what_maps_nothing_that_matters_is_left_alone),
	    cmocka_unit_test(what_maps_something_that_matters_is_judged),
	    cmocka_unit_test(children_of_what_maps_it_are_judged),
	    cmocka_unit_test(targets_by_name_are_known_whatever_they_map),
	    cmocka_unit_test(without_events_a_scan_notices_another_name)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
