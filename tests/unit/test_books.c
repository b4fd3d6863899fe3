/* The books of a session (src/source/live_books.c): what is seen, kept and lost is counted by
 * itself, so that a hole shows. Holes are made here, in what the kernel has kept. Needs root;
 * skipped otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "engine/session_priv.h"
#include "func_snoop.skel.h"
#include "probe/uprobe.h"
#include "source/live.h"

enum { CALLS = 100 };

int fsc_test_counted(void (*inside)(void));

__attribute__((noinline)) int fsc_test_counted(void (*inside)(void))
{
	if (inside)
		inside();
	__asm__ volatile("");
	return 1;
}

struct measured {
	struct fsc_targets targets;
	struct fsc_session *session;
	struct fsc_live *live;
};

static struct fsc_session *to_detach;

static void detach(void)
{
	fsc_session_detach(to_detach);
}

/* So many calls, and one more inside which the probes come off. */
static void measure(struct measured *m, struct fsc_session_opts o)
{
	struct fsc_libs_file file = {"/proc/self/exe", "/proc/self/exe", ""};
	struct fsc_wanted wanted = {.function = "fsc_test_counted"};
	const bool pairs = o.mode == FSC_MODE_TIME || o.weigh;
	const struct fsc_scope scope = {.pairs = pairs};
	const pid_t self = getpid();
	struct fsc_err err = {0};

	fsc_targets_init(&m->targets);
	assert_int_equal(fsc_uprobe_search(&file, &wanted, 1, &scope, &m->targets, &err), 0);
	o.pids = &self;
	o.n_pids = 1;
	if (fsc_session_open(&m->targets, &o, &m->session, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(fsc_live_new(m->session, &m->targets, o.by, &m->live, &err), 0);
	if (o.mode == FSC_MODE_TIME)
		assert_int_equal(fsc_live_arm(m->live, &err), 0);
	if (fsc_session_attach(m->session, &err))
		fail_msg("%s", err.msg);
	fsc_session_count(m->session, true);
	for (int i = 0; i < CALLS; i++)
		fsc_test_counted(NULL);
	to_detach = m->session;
	fsc_test_counted(detach);
}

static void release(struct measured *m)
{
	fsc_live_free(m->live);
	fsc_session_free(m->session);
	fsc_targets_release(&m->targets);
}

static uint64_t lost(const struct fsc_summary *s, const char *name)
{
	for (size_t i = 0; s->lost[i].name; i++)
		if (!strcmp(s->lost[i].name, name))
			return s->lost[i].n;
	return 0;
}

static void expect(struct measured *m, uint64_t kept, uint64_t unreturned, uint64_t unexplained)
{
	struct fsc_summary s;

	assert_int_equal(fsc_live_summary(m->live, 0, false, 1, &s, NULL), 0);
	assert_int_equal(s.seen, CALLS + 1);
	assert_int_equal(s.kept, kept);
	assert_int_equal(lost(&s, "unreturned"), unreturned);
	assert_int_equal(lost(&s, "unexplained"), unexplained);
}

static bool may_load(void)
{
	return !geteuid() && !fsc_session_possible(NULL);
}

/* Adds to the number of calls that were timed, in whichever stripe of the row has enough of them.
 */
static void add_calls(const struct fsc_session *s, int64_t n)
{
	int map = bpf_map__fd(s->skel->maps.slots);
	uint32_t at = s->cfg.stripes; /* of row 0 */
	struct fsc_slot slot;

	for (;; at++) {
		assert_int_equal(bpf_map_lookup_elem(map, &at, &slot), 0);
		if (slot.count >= 10)
			break;
	}
	slot.count += (uint64_t)n;
	assert_int_equal(bpf_map_update_elem(map, &at, &slot, BPF_ANY), 0);
}

static void timed_calls(void **state)
{
	struct measured m = {0};

	(void)state;
	if (!may_load())
		skip();
	measure(&m, (struct fsc_session_opts){.mode = FSC_MODE_TIME});
	expect(&m, CALLS, 1, 0);
	add_calls(m.session, -7);
	expect(&m, CALLS - 7, 1, 7);
	add_calls(m.session, 10);
	expect(&m, CALLS + 3, 1, -(uint64_t)3);
	release(&m);
}

static void drop_map(const struct bpf_map *map, void *key)
{
	assert_int_equal(bpf_map_get_next_key(bpf_map__fd(map), NULL, key), 0);
	assert_int_equal(bpf_map_delete_elem(bpf_map__fd(map), key), 0);
}

static void weighed_stacks(void **state)
{
	struct measured m = {0};
	struct fsc_stack_key key;
	struct fsc_summary s;

	(void)state;
	if (!may_load())
		skip();
	measure(&m, (struct fsc_session_opts){.mode = FSC_MODE_STACK,
					      .stacks = FSC_STACKS_USER,
					      .max_stacks = 64,
					      .weigh = true});
	expect(&m, CALLS, 1, 0);
	drop_map(m.session->skel->maps.stack_sums, &key);
	assert_int_equal(fsc_live_summary(m.live, 0, false, 1, &s, NULL), 0);
	assert_true(s.kept < CALLS);
	assert_int_equal(lost(&s, "unreturned"), 1);
	assert_int_equal(lost(&s, "unexplained"), CALLS - s.kept);
	release(&m);
}

static void counts_by_process(void **state)
{
	struct measured m = {0};
	struct fsc_count_key key;

	(void)state;
	if (!may_load())
		skip();
	measure(&m, (struct fsc_session_opts){
			.mode = FSC_MODE_COUNT, .by = FSC_BY_PID, .max_keys = 64});
	expect(&m, CALLS + 1, 0, 0);
	drop_map(m.session->skel->maps.keyed, &key);
	expect(&m, 0, 0, CALLS + 1);
	release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(timed_calls),
	    cmocka_unit_test(weighed_stacks),
	    cmocka_unit_test(counts_by_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
