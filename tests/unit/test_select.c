/* Rows of a session that come and go while children call them (engine/select.c): what stays loses
 * no call and counts none twice, whatever moves beside it. Needs root and links of many uprobes;
 * skipped otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/features.h"
#include "engine/session.h"
#include "probe/uprobe.h"

enum { FUNCS = 3, CHILDREN = 2, THREADS = 2, CHANGES = 24 };

int fsc_test_stays(int n);
int fsc_test_outer(int n);
int fsc_test_goes(int n);

__attribute__((noinline)) int fsc_test_stays(int n)
{
	__asm__ volatile("");
	return n;
}

__attribute__((noinline)) int fsc_test_outer(int n)
{
	n += fsc_test_stays(n);
	__asm__ volatile("");
	return n;
}

__attribute__((noinline)) int fsc_test_goes(int n)
{
	__asm__ volatile("");
	return n;
}

/* ---- children ---- */

static struct shared {
	atomic_bool start, stop;
	atomic_ulong rounds;
} * shared;

static void *call_all(void *arg)
{
	while (!atomic_load(&shared->start))
		usleep(100);
	while (!atomic_load(&shared->stop)) {
		fsc_test_outer(1);
		fsc_test_stays(2);
		fsc_test_goes(3);
		atomic_fetch_add(&shared->rounds, 1);
	}
	return arg;
}

static void run_child(void)
{
	pthread_t threads[THREADS];

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails does not stop us */

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, call_all, NULL))
			_exit(1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}

static void start_children(pid_t *pids)
{
	atomic_store(&shared->start, false);
	atomic_store(&shared->stop, false);
	atomic_store(&shared->rounds, 0);
	for (int i = 0; i < CHILDREN; i++) {
		pids[i] = fork();
		if (!pids[i])
			run_child();
		assert_true(pids[i] > 0);
	}
}

static void stop_children(const pid_t *pids)
{
	int status;

	atomic_store(&shared->stop, true);
	for (int i = 0; i < CHILDREN; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
}

/* ---- the session ---- */

static struct fsc_targets targets;
static size_t stays, outer, goes; /* rows */

static size_t row_of(const char *name)
{
	for (size_t i = 0; i < targets.rows.n; i++)
		if (!strcmp(fsc_targets_row(&targets, i)->name, name))
			return i;
	fail_msg("no row %s", name);
	return 0;
}

static void find_targets(enum fsc_mode mode)
{
	struct fsc_libs_file file = {"/proc/self/exe", "/proc/self/exe", ""};
	struct fsc_wanted wanted[FUNCS] = {{.function = "fsc_test_stays"},
					   {.function = "fsc_test_outer"},
					   {.function = "fsc_test_goes"}};
	const struct fsc_scope scope = {.pairs = mode == FSC_MODE_TIME};

	fsc_targets_init(&targets);
	assert_int_equal(fsc_uprobe_search(&file, wanted, FUNCS, &scope, &targets, NULL), 0);
	assert_int_equal(targets.rows.n, FUNCS);
	stays = row_of("fsc_test_stays");
	outer = row_of("fsc_test_outer");
	goes = row_of("fsc_test_goes");
}

static void open_session(enum fsc_mode mode, const pid_t *pids, struct fsc_session **ret)
{
	const struct fsc_session_opts o = {
	    .mode = mode, .max_keys = 16, .per_row = true, .pids = pids, .n_pids = CHILDREN};
	struct fsc_err err = {0};

	find_targets(mode);
	if (fsc_session_open(&targets, &o, ret, &err))
		fail_msg("%s", err.msg);
	for (uint32_t row = 0; mode == FSC_MODE_TIME && row < FUNCS; row++)
		assert_int_equal(fsc_session_set_cost(*ret, row, 0, 0, &err), 0);
	if (fsc_session_attach(*ret, &err))
		fail_msg("%s", err.msg);
	fsc_session_count(*ret, true);
}

static void select_rows(struct fsc_session *s, bool with_goes)
{
	bool rows[FUNCS] = {false};
	struct fsc_err err = {0};

	rows[stays] = rows[outer] = true;
	rows[goes] = with_goes;
	if (fsc_session_select(s, rows, &err))
		fail_msg("%s", err.msg);
	while (fsc_session_selecting(s))
		usleep(1000);
}

static uint64_t returned(const struct fsc_session *s, size_t row)
{
	struct fsc_slot slot;

	fsc_session_slot(s, (uint32_t)row + 1, &slot);
	return slot.count;
}

static void move_rows(enum fsc_mode mode)
{
	struct fsc_session *s;
	pid_t pids[CHILDREN];
	uint64_t rounds, gone;

	if (geteuid() || !fsc_feature_works(FSC_FEATURE_UPROBE_MULTI_PID))
		skip();
	start_children(pids);
	open_session(mode, pids, &s);
	atomic_store(&shared->start, true);
	for (int i = 0; i < CHANGES; i++)
		select_rows(s, i % 2);
	select_rows(s, false);
	gone = fsc_session_seen(s, (uint32_t)goes);
	stop_children(pids);
	rounds = atomic_load(&shared->rounds);
	assert_int_equal(fsc_session_seen(s, (uint32_t)outer), rounds);
	assert_int_equal(fsc_session_seen(s, (uint32_t)stays), 2 * rounds);
	assert_int_equal(fsc_session_seen(s, (uint32_t)goes), gone);
	assert_true(gone > 0 && gone < rounds);
	if (mode == FSC_MODE_TIME) {
		assert_int_equal(returned(s, outer), rounds);
		assert_int_equal(returned(s, stays), 2 * rounds);
		/* Of the row that comes and goes: calls in progress when it came. */
		assert_true(fsc_session_loss(s, FSC_LOSS_UNMATCHED) <=
			    CHANGES * CHILDREN * THREADS / 2);
	}
	fsc_session_free(s);
	fsc_targets_release(&targets);
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

/* ---- tests ---- */

static void counts_of_rows_that_stay_are_exact(void **state)
{
	(void)state;
	move_rows(FSC_MODE_COUNT);
}

static void calls_of_rows_that_stay_are_all_timed(void **state)
{
	(void)state;
	move_rows(FSC_MODE_TIME);
}

/* Whoever waits for the end of a session does not wait for the kernel: no time at all is given
 * here. What is counted by then stays as it is, and we hold no link any more. */
static void the_end_does_not_wait(void **state)
{
	struct fsc_session *s;
	pid_t pids[CHILDREN];
	uint64_t seen, kept;

	(void)state;
	if (geteuid() || !fsc_feature_works(FSC_FEATURE_UPROBE_MULTI_PID))
		skip();
	start_children(pids);
	open_session(FSC_MODE_TIME, pids, &s);
	atomic_store(&shared->start, true);
	while (fsc_session_seen(s, (uint32_t)stays) < 1000)
		usleep(1000);
	select_rows(s, false);
	fsc_session_count(s, false);
	fsc_session_leave(s, 0);
	assert_int_equal(count_links(), 0);
	usleep(1000); /* programs that were running when it ended */
	seen = fsc_session_seen(s, (uint32_t)stays);
	kept = returned(s, stays);
	stop_children(pids);
	assert_int_equal(fsc_session_seen(s, (uint32_t)stays), seen);
	assert_int_equal(returned(s, stays), kept);
	assert_true(kept <= seen && seen <= kept + fsc_session_open_calls(s));
	fsc_session_free(s);
	fsc_targets_release(&targets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(counts_of_rows_that_stay_are_exact),
	    cmocka_unit_test(calls_of_rows_that_stay_are_all_timed),
	    cmocka_unit_test(the_end_does_not_wait),
	};

	shared =
	    mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
