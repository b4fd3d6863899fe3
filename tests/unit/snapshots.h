/* What the unit tests of exporters share: snapshots made by hand, whose names are partly hostile.
 * Include after cmocka.h. */
#ifndef FSC_TESTS_SNAPSHOTS_H
#define FSC_TESTS_SNAPSHOTS_H

#include <stdio.h>
#include <string.h>

#include "model/snapshot.h"
#include "slots.h"

#define SNAP_START 1700000000000000000ull
#define SNAP_NOW   1700000060500000000ull
#define SNAP_EVIL  "f\x1b[2J\"\\\xff\n{}<img>"

static const struct fsc_func snap_funcs[] = {
    {.kind = "uprobe", .binary = "/usr/bin/prog", .name = "work", .group = "app"},
    {.kind = "kprobe", .binary = "kernel", .name = "vfs_read"},
    {.kind = "uprobe", .binary = "/tmp/a\nb,\"c\"", .name = SNAP_EVIL, .group = "g\\\xc3\xb6"},
    {.kind = "uretprobe", .binary = "/usr/bin/prog", .name = "work", .group = "app"}, /* as 0 */
};

static const char *const snap_stack[] = {"work+0x12 (work.c:34)", "ma\x1bin", "_start"};

static const struct fsc_call snap_call = {.func = &snap_funcs[0],
					  .pid = 42,
					  .tid = 43,
					  .comm = "prog",
					  .slow = true,
					  .has_ret = true,
					  .ret = (uint64_t)-22,
					  .ret_as = FSC_RET_SIGNED,
					  .has_duration = true,
					  .duration_ns = 25000000,
					  .args = {1, 0x7f0000001000},
					  .kernel_stack = snap_stack,
					  .user_stack = snap_stack,
					  .n_user = 3};

static const struct fsc_call snap_evil_call = {.func = &snap_funcs[2],
					       .pid = 7,
					       .tid = 7,
					       .comm = "e\"\nvil\xff",
					       .has_duration = true,
					       .duration_ns = 20000000000};

static const struct fsc_noted_call snap_noted[] = {
    {.call = &snap_call, .wall_ns = SNAP_NOW - 2000000000, .id = 5, .threshold_ns = 1e7, .row = 0},
    {.call = &snap_call,
     .wall_ns = SNAP_NOW - 1000000000,
     .id = 6,
     .threshold_ns = 1e7,
     .error = "EINVAL",
     .row = 0},
    {.call = &snap_evil_call,
     .wall_ns = SNAP_NOW - 1500000000,
     .id = 7,
     .threshold_ns = 1e9,
     .row = 2},
};

static const struct fsc_call_errors snap_errors[] = {
    {.row = 0, .code = -22, .name = "EINVAL", .n = 3},
    {.row = 0, .code = -5, .n = 2},
    {.row = 2, .code = 1, .name = "e\"\n\xff", .n = 1},
};

static const struct fsc_label snap_labels[] = {{"dc", "north"}, {"rack", "r\"1\\\n"}};

static const struct fsc_summary snap_books = {.seen = 1010,
					      .kept = 1000,
					      .lost = {{"no room", 7}, {"too deep", 3}},
					      .missed = 11,
					      .timed = true,
					      .unmatched = 4,
					      .returns_lost = 2,
					      .stacks_lost = 1,
					      .cost_known = true,
					      .share_known = true,
					      .ns_per_hit = 812.5,
					      .percent = 1.25};

static const struct fsc_receiver_state snap_receivers[] = {
    {.name = "otlp", .sent = 12, .retried = 3, .dropped_full = 1, .rejected = 4, .up = true},
    {.name = "alertmanager", .sent = 2, .dropped_refused = 5, .queued = 6},
};

static inline struct fsc_latency *snap_row(struct fsc_latencies *l, uint32_t func, uint32_t pid,
					   const char *comm)
{
	struct fsc_latency *row = fsc_latencies_add(l);

	assert_non_null(row);
	row->key.func = func;
	row->key.pid = pid;
	snprintf(row->key.comm, sizeof(row->key.comm), "%s", comm);
	return row;
}

/* Three functions: 0 with calls of 1 us, 1.5 ms and 25 ms, 1 with none, 2 with one of 20 s. The
 * caller releases it. */
static inline struct fsc_latencies snap_latencies(uint32_t by)
{
	struct fsc_latencies l = {.funcs = snap_funcs,
				  .n_funcs = sizeof(snap_funcs) / sizeof(snap_funcs[0]),
				  .by = by,
				  .rows = FSC_VEC_INIT(struct fsc_latency)};
	struct fsc_latency *row = snap_row(&l, 0, 42, "prog");

	for (int i = 0; i < 100; i++)
		keep(row->slot, 1000);
	for (int i = 0; i < 10; i++)
		keep(row->slot, 1500000);
	keep(row->slot, 25000000);
	keep(row->slot, 25000000);
	row->slot->slow = 2;
	snap_row(&l, 1, 43, "cat");
	row = snap_row(&l, 2, 7, "e\"\nvil\xff");
	keep(row->slot, 20000000000);
	row->slot->slow = 1;
	return l;
}

static const struct fsc_label snap_container[] = {{"container", "4f1b0a3c5d7e"},
						  {"unit", "we\"i\\rd\n.service"}};
static const struct fsc_label snap_host[] = {{"container", ""}, {"unit", "a.service"}};

/* A function by labels of its processes: 1 call, and two rows of 2 and 3 calls that look the same.
 * The caller releases it. */
static inline struct fsc_latencies snap_labelled(void)
{
	static const struct fsc_label *const of[] = {snap_container, snap_host, snap_host};
	struct fsc_latencies l = {
	    .funcs = snap_funcs, .n_funcs = 4, .rows = FSC_VEC_INIT(struct fsc_latency)};

	for (uint32_t i = 0; i < 3; i++) {
		struct fsc_latency *row = snap_row(&l, 0, 0x80000001u + i, "");

		for (uint32_t k = 0; k <= i; k++)
			keep(row->slot, 1000);
		row->labels = of[i];
		row->n_labels = 2;
	}
	return l;
}

static inline struct fsc_snapshot snapshot(const struct fsc_latencies *l)
{
	return (struct fsc_snapshot){.start_ns = SNAP_START,
				     .time_ns = SNAP_NOW,
				     .calls = l,
				     .errors = snap_errors,
				     .n_errors = 3,
				     .noted = snap_noted,
				     .n_noted = 3,
				     .labels = snap_labels,
				     .n_labels = 2,
				     .books = &snap_books,
				     .functions = 3,
				     .refused = 1,
				     .processes = 5,
				     .reloads = 2,
				     .failed_reloads = 1,
				     .config_ok = true,
				     .own_cpu_s = 0.25,
				     .own_memory = 9437184,
				     .series_cap = 2000,
				     .receivers = snap_receivers,
				     .n_receivers = 2};
}

#endif
