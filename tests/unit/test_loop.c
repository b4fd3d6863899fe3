/* src/base/loop.h: descriptors, timers, signals, and the two ways to end. Nothing here measures
 * time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/loop.h"

struct seen {
	int calls, sum, last;
	int stop_after; /* calls; 0: do not stop */
};

static int count(struct fsc_loop *l, int n, void *arg, struct fsc_err *err)
{
	struct seen *s = arg;

	(void)err;
	s->calls++;
	s->sum += n;
	s->last = n;
	if (s->calls == s->stop_after)
		l->stop = true;
	return 0;
}

static int fail_with_eio(struct fsc_loop *l, int n, void *arg, struct fsc_err *err)
{
	(void)l, (void)n, (void)arg;
	return fsc_err_set(err, EIO, "the disk is gone");
}

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static struct fsc_loop make(void)
{
	struct fsc_loop l;

	assert_int_equal(fsc_loop_init(&l, NULL), 0);
	return l;
}

static void a_timer_fires(void **state)
{
	struct seen s = {.stop_after = 1};
	struct fsc_loop l = make();

	(void)state;
	assert_int_equal(fsc_loop_timer(&l, 0.001, false, count, &s, NULL), 0);
	assert_int_equal(fsc_loop_run(&l, NULL), 0);
	assert_int_equal(s.calls, 1);
	assert_int_equal(s.last, 1);
	fsc_loop_release(&l);
}

static void a_timer_repeats(void **state)
{
	struct seen s = {.stop_after = 3};
	struct fsc_loop l = make();

	(void)state;
	assert_int_equal(fsc_loop_timer(&l, 0.0005, true, count, &s, NULL), 0);
	assert_int_equal(fsc_loop_run(&l, NULL), 0);
	assert_int_equal(s.calls, 3);
	assert_true(s.sum >= 3); /* late ones are added up, none is lost */
	fsc_loop_release(&l);
}

/* The one that does not repeat fires once while the other ends the loop. */
static void two_timers(void **state)
{
	struct seen once = {0}, often = {.stop_after = 20};
	struct fsc_loop l = make();

	(void)state;
	assert_int_equal(fsc_loop_timer(&l, 1e-6, false, count, &once, NULL), 0);
	assert_int_equal(fsc_loop_timer(&l, 0.0005, true, count, &often, NULL), 0);
	assert_int_equal(fsc_loop_run(&l, NULL), 0);
	assert_int_equal(once.calls, 1);
	assert_int_equal(often.calls, 20);
	fsc_loop_release(&l);
}

static void impossible_timers(void **state)
{
	static const double bad[] = {-1, -0.5};
	struct fsc_loop l = make();
	struct fsc_err err = {0};
	int fds = open_fds();

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_true(fsc_loop_timer(&l, bad[i], false, count, NULL, &err) < 0);
		assert_non_null(strstr(err.msg, "timer"));
	}
	assert_int_equal(open_fds(), fds);
	fsc_loop_release(&l);
}

static int read_one(struct fsc_loop *l, int n, void *arg, struct fsc_err *err)
{
	int *pipe_and_sum = arg;
	char c;

	(void)err;
	assert_int_equal(n, 0);
	assert_int_equal(read(pipe_and_sum[0], &c, 1), 1);
	pipe_and_sum[2] += c;
	l->stop = c == 'z';
	return 0;
}

static void a_descriptor_is_read(void **state)
{
	int p[3] = {0};
	struct fsc_loop l = make();

	(void)state;
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	assert_int_equal(write(p[1], "abz", 3), 3);
	assert_int_equal(fsc_loop_watch_fd(&l, p[0], read_one, p, NULL), 0);
	assert_int_equal(fsc_loop_run(&l, NULL), 0);
	assert_int_equal(p[2], 'a' + 'b' + 'z');
	fsc_loop_release(&l);
	/* it is the caller's still */
	assert_int_equal(fcntl(p[0], F_GETFD), FD_CLOEXEC);
	close(p[0]);
	close(p[1]);
}

static void the_other_end_closed(void **state)
{
	struct seen s = {.stop_after = 1};
	struct fsc_loop l = make();
	int p[2];

	(void)state;
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	assert_int_equal(fsc_loop_watch_fd(&l, p[0], count, &s, NULL), 0);
	close(p[1]);
	assert_int_equal(fsc_loop_run(&l, NULL), 0);
	assert_int_equal(s.calls, 1);
	fsc_loop_release(&l);
	close(p[0]);
}

struct once {
	int fd, calls;
};

static int unwatch(struct fsc_loop *l, int n, void *arg, struct fsc_err *err)
{
	struct once *o = arg;

	(void)n, (void)err;
	o->calls++;
	fsc_loop_unwatch_fd(l, o->fd);
	return 0;
}

/* A descriptor that stays readable is reported once, where the handler takes it out. */
static void a_descriptor_is_taken_out(void **state)
{
	struct seen s = {.stop_after = 20};
	struct fsc_loop l = make();
	struct once first, second;
	int p[2];

	(void)state;
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	first = (struct once){.fd = p[0]};
	second = (struct once){.fd = p[0]};
	close(p[1]);
	assert_int_equal(fsc_loop_watch_fd(&l, p[0], unwatch, &first, NULL), 0);
	assert_int_equal(fsc_loop_timer(&l, 0.0005, true, count, &s, NULL), 0);
	assert_int_equal(fsc_loop_run(&l, NULL), 0);
	assert_int_equal(first.calls, 1);
	/* and may be watched again */
	s = (struct seen){.stop_after = 2};
	l.stop = false;
	assert_int_equal(fsc_loop_watch_fd(&l, p[0], unwatch, &second, NULL), 0);
	assert_int_equal(fsc_loop_run(&l, NULL), 0);
	assert_int_equal(second.calls, 1);
	fsc_loop_release(&l);
	close(p[0]);
}

static void signals_come_one_by_one(void **state)
{
	struct seen s = {.stop_after = 2};
	struct fsc_loop l = make();
	sigset_t set, old;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, &old);
	assert_int_equal(fsc_loop_signals(&l, &set, count, &s, NULL), 0);
	raise(SIGUSR1);
	raise(SIGUSR2);
	assert_int_equal(fsc_loop_run(&l, NULL), 0);
	assert_int_equal(s.calls, 2);
	assert_int_equal(s.sum, SIGUSR1 + SIGUSR2);
	fsc_loop_release(&l);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

static void an_error_ends_the_loop(void **state)
{
	struct seen s = {0};
	struct fsc_loop l = make();
	struct fsc_err err = {0};

	(void)state;
	assert_int_equal(fsc_loop_timer(&l, 0.001, false, fail_with_eio, NULL, NULL), 0);
	assert_int_equal(fsc_loop_timer(&l, 1000, false, count, &s, NULL), 0);
	assert_int_equal(fsc_loop_run(&l, &err), -EIO);
	assert_string_equal(err.msg, "the disk is gone");
	assert_int_equal(s.calls, 0);
	fsc_loop_release(&l);
}

/* Both are ready; the first to run says stop, and the other is not called any more. */
static void stop_means_at_once(void **state)
{
	struct seen s = {.stop_after = 1};
	struct fsc_loop l = make();
	int p[2];

	(void)state;
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	assert_int_equal(fsc_loop_watch_fd(&l, p[0], count, &s, NULL), 0);
	assert_int_equal(write(p[1], "x", 1), 1);
	l.stop = true;
	assert_int_equal(fsc_loop_run(&l, NULL), 0);
	assert_int_equal(s.calls, 0);
	l.stop = false;
	assert_int_equal(fsc_loop_run(&l, NULL), 0);
	assert_int_equal(s.calls, 1);
	fsc_loop_release(&l);
	close(p[0]);
	close(p[1]);
}

static void what_cannot_be_watched(void **state)
{
	struct fsc_loop l = make();
	struct fsc_err err = {0};
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(fsc_loop_watch_fd(&l, file, count, NULL, &err), -EPERM);
	assert_non_null(strstr(err.msg, "watch"));
	assert_int_equal(fcntl(file, F_GETFD), FD_CLOEXEC); /* not closed behind our back */
	close(file);
	assert_int_equal(fsc_loop_watch_fd(&l, file, count, NULL, &err), -EBADF);
	fsc_loop_release(&l);
}

static void release_closes_all(void **state)
{
	int fds = open_fds();
	struct fsc_loop l = make();
	sigset_t set;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	for (int i = 0; i < 10; i++)
		assert_int_equal(fsc_loop_timer(&l, 100, i & 1, count, NULL, NULL), 0);
	assert_int_equal(fsc_loop_signals(&l, &set, count, NULL, NULL), 0);
	fsc_loop_release(&l);
	assert_int_equal(open_fds(), fds);
	fsc_loop_release(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_timer_fires),
	    cmocka_unit_test(a_timer_repeats),
	    cmocka_unit_test(two_timers),
	    cmocka_unit_test(impossible_timers),
	    cmocka_unit_test(a_descriptor_is_read),
	    cmocka_unit_test(the_other_end_closed),
	    cmocka_unit_test(a_descriptor_is_taken_out),
	    cmocka_unit_test(signals_come_one_by_one),
	    cmocka_unit_test(an_error_ends_the_loop),
	    cmocka_unit_test(stop_means_at_once),
	    cmocka_unit_test(what_cannot_be_watched),
	    cmocka_unit_test(release_closes_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
