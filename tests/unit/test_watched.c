/* src/cmd/watched.h: the CPU time of several processes, of which one ends. CPU time is compared
 * with CPU time; nothing here measures how long it took. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/watched.h"

enum { BURN_MS = 200 };

struct burner {
	pid_t pid;
	int to, from;
	char text[16];
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
	snprintf(b.text, sizeof(b.text), "%d", (int)b.pid);
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

static void push(struct fsc_vec *v, const char *text)
{
	const char **slot = fsc_vec_push(v);

	assert_non_null(slot);
	*slot = text;
}

/* What one has used stays when it ends, and what the other uses comes on top. */
static void one_of_two_ends(void **state)
{
	const struct fsc_vec none = FSC_VEC_INIT(const char *);
	struct fsc_vec pids = FSC_VEC_INIT(const char *);
	struct burner a = burner_start(), b = burner_start();
	struct fsc_watched w;
	uint64_t first;

	(void)state;
	push(&pids, a.text);
	push(&pids, b.text);
	fsc_watched_init(&w, NULL);
	assert_int_equal(fsc_watched_find(&w, &pids, &none, NULL, NULL), 0);
	fsc_watched_start(&w);
	burner_burn(&a);
	first = fsc_watched_cpu(&w);
	assert_true(first > BURN_MS / 2 * 1000000ull);
	burner_end(&a);
	burner_burn(&b);
	assert_true(fsc_watched_cpu(&w) > first + BURN_MS / 2 * 1000000ull);
	burner_end(&b);
	fsc_watched_release(&w);
	fsc_vec_release(&pids);
}

/* The end is seen before anybody has asked for the status, and by those who may not signal. */
static void a_zombie_has_ended(void **state)
{
	const struct fsc_vec none = FSC_VEC_INIT(const char *);
	struct fsc_vec pids = FSC_VEC_INIT(const char *);
	struct burner a = burner_start();
	struct fsc_watched w;
	struct fsc_err err = {0};
	int fd = fsc_watched_open(a.pid);
	siginfo_t si;

	(void)state;
	assert_true(fd >= 0);
	assert_false(fsc_watched_ended(fd));
	kill(a.pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)a.pid, &si, WEXITED | WNOWAIT), 0);
	assert_true(fsc_watched_ended(fd));
	push(&pids, a.text);
	fsc_watched_init(&w, NULL);
	assert_int_equal(fsc_watched_find(&w, &pids, &none, NULL, &err), -ESRCH);
	assert_non_null(strstr(err.msg, "zombie"));
	fsc_watched_release(&w);
	fsc_vec_release(&pids);
	burner_end(&a);
	assert_int_equal(fsc_watched_open(a.pid), -ESRCH);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_of_two_ends),
	    cmocka_unit_test(a_zombie_has_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
