/* src/model/stacks.h: equal stacks are one, differences, order, and the trees they make. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "model/stacks.h"

static const struct fsc_func funcs[] = {{.kind = "uprobe", .binary = "/b", .name = "f"},
					{.kind = "uprobe", .binary = "/b", .name = "g"}};

static struct fsc_stacks stacks(void)
{
	struct fsc_stacks t;

	fsc_stacks_init(&t, funcs, 2);
	return t;
}

static uint32_t frame(struct fsc_stacks *t, const char *name, uint64_t offset)
{
	struct fsc_frame f = {.name = name, .binary = "/b", .offset = offset, .line = 7};
	uint32_t id = 0;

	assert_int_equal(fsc_stacks_frame(t, &f, &id, NULL), 0);
	return id;
}

/* Adds a stack of one-letter functions, the leaf first; returns it. */
static void add(struct fsc_stacks *t, struct fsc_stack s, const char *letters)
{
	uint32_t ids[32];
	size_t n = 0;

	for (; letters[n]; n++)
		ids[n] = frame(t, (char[]){letters[n], 0}, n);
	assert_int_equal(fsc_stacks_add(t, &s, ids, n, NULL), 0);
}

/* "leaf..root:calls/time" of each stack. */
static const char *text(const struct fsc_stacks *t)
{
	static char out[800];
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < t->stacks.n; i++) {
		const struct fsc_stack *s = FSC_AT(struct fsc_stack, &t->stacks, i);

		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s", i ? " " : "");
		for (size_t k = 0; k < s->n; k++)
			n += (size_t)snprintf(out + n, sizeof(out) - n, "%s",
					      fsc_stacks_at(t, s, k)->name);
		n += (size_t)snprintf(out + n, sizeof(out) - n, ":%llu/%llu",
				      (unsigned long long)s->calls, (unsigned long long)s->time_ns);
	}
	return out;
}

static void equals_are_one(void **state)
{
	struct fsc_stacks t = stacks();

	(void)state;
	add(&t, (struct fsc_stack){.calls = 1, .time_ns = 10, .pid = 5}, "abc");
	add(&t, (struct fsc_stack){.calls = 2, .time_ns = 20, .pid = 6}, "abc");
	add(&t, (struct fsc_stack){.calls = 4}, "ab");
	add(&t, (struct fsc_stack){.calls = 4}, "");
	add(&t, (struct fsc_stack){.calls = 4}, "");
	assert_string_equal(text(&t), "abc:3/30 ab:4/0 :8/0");
	assert_int_equal(FSC_AT(struct fsc_stack, &t.stacks, 0)->pid, 0);
	assert_int_equal(t.frames.n, 3);
	fsc_stacks_release(&t);
}

static void what_tells_stacks_apart(void **state)
{
	struct fsc_stacks t = stacks();

	(void)state;
	t.per_process = true;
	add(&t, (struct fsc_stack){.calls = 1}, "a");
	add(&t, (struct fsc_stack){.calls = 1, .func = 1}, "a");
	add(&t, (struct fsc_stack){.calls = 1, .pid = 1}, "a");
	add(&t, (struct fsc_stack){.calls = 1, .comm = "sixteen-letters!"}, "a");
	add(&t, (struct fsc_stack){.calls = 1, .truncated = true}, "a");
	add(&t, (struct fsc_stack){.calls = 1}, "aa");
	assert_int_equal(t.stacks.n, 6);
	fsc_stacks_release(&t);
}

static void frames_with_and_without_offsets(void **state)
{
	struct fsc_stacks t = stacks();
	struct fsc_frame unknown = {
	    .name = "[unknown]", .binary = "/b", .offset = 1, .unknown = true};
	struct fsc_frame inlined = {.name = "a", .binary = "/b", .inlined = true};
	uint32_t a, b;

	(void)state;
	assert_int_equal(frame(&t, "a", 1), frame(&t, "a", 2));
	assert_int_equal(FSC_AT(struct fsc_frame, &t.frames, 0)->line, 0);
	assert_int_equal(fsc_stacks_frame(&t, &unknown, &a, NULL), 0);
	unknown.offset = 2;
	assert_int_equal(fsc_stacks_frame(&t, &unknown, &b, NULL), 0);
	assert_int_not_equal(a, b);
	assert_int_equal(fsc_stacks_frame(&t, &inlined, &a, NULL), 0);
	assert_int_not_equal(a, frame(&t, "a", 0));
	t.offsets = true;
	assert_int_not_equal(frame(&t, "z", 1), frame(&t, "z", 2));
	fsc_stacks_release(&t);
}

static void differences(void **state)
{
	struct fsc_stacks a = stacks(), b = stacks(), d;

	(void)state;
	/* The frames have other numbers in each. */
	add(&a, (struct fsc_stack){.calls = 9, .time_ns = 1}, "x");
	add(&a, (struct fsc_stack){.calls = 5, .time_ns = 50}, "ab");
	add(&b, (struct fsc_stack){.calls = 8, .time_ns = 90}, "ab");
	add(&b, (struct fsc_stack){.calls = 9, .time_ns = 1}, "x");
	add(&b, (struct fsc_stack){.calls = 1, .time_ns = 2}, "abc");
	b.time_ns = 99;
	b.by_time = true;
	assert_int_equal(fsc_stacks_subtract(&b, &a, &d, NULL), 0);
	assert_string_equal(text(&d), "ab:3/40 abc:1/2");
	assert_int_equal(d.time_ns, 99);
	assert_true(d.by_time);
	assert_int_equal(fsc_stacks_total(&d), 42);
	fsc_stacks_release(&d);
	fsc_stacks_release(&a);
	assert_int_equal(fsc_stacks_subtract(&b, &a, &d, NULL), 0); /* from nothing */
	assert_string_equal(text(&d), text(&b));
	fsc_stacks_release(&d);
	fsc_stacks_release(&b);
}

static void order(void **state)
{
	struct fsc_stacks t = stacks();

	(void)state;
	fsc_stacks_sort(&t, 3); /* nothing */
	add(&t, (struct fsc_stack){.calls = 4, .time_ns = 1}, "b");
	add(&t, (struct fsc_stack){.calls = 1, .time_ns = 9}, "c");
	add(&t, (struct fsc_stack){.calls = 4, .time_ns = 2}, "ab");
	add(&t, (struct fsc_stack){.calls = 4, .time_ns = 2}, "a");
	fsc_stacks_sort(&t, 0);
	assert_string_equal(text(&t), "a:4/2 ab:4/2 b:4/1 c:1/9");
	t.by_time = true;
	fsc_stacks_sort(&t, 2);
	assert_string_equal(text(&t), "c:1/9 a:4/2");
	assert_int_equal(t.left_out, 2);
	assert_int_equal(t.left_out_weight, 3);
	assert_int_equal(fsc_stacks_total(&t), 14);
	fsc_stacks_release(&t);
}

/* "depth name total self", in order. */
static const char *tree_text(const struct fsc_stacks *t, bool bottom_up)
{
	static char out[800];
	struct fsc_tree tree;
	size_t n = 0;

	assert_int_equal(fsc_tree_make(t, bottom_up, &tree, NULL), 0);
	for (uint32_t i = 0; i != FSC_NO_NODE; i = fsc_tree_next(&tree, i)) {
		const struct fsc_tree_node *node = FSC_AT(struct fsc_tree_node, &tree.nodes, i);
		static const char *const kinds[] = {"all", "process", "...", ""};
		const char *name = kinds[node->kind];

		if (node->kind == FSC_NODE_FRAME)
			name = FSC_AT(struct fsc_frame, &t->frames, node->id)->name;
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s%u%s:%llu/%llu", i ? " " : "",
				      node->depth, name, (unsigned long long)node->total,
				      (unsigned long long)node->self);
	}
	fsc_tree_release(&tree);
	return out;
}

static void trees(void **state)
{
	struct fsc_stacks t = stacks();

	(void)state;
	assert_string_equal(tree_text(&t, false), "0all:0/0");
	add(&t, (struct fsc_stack){.calls = 1}, "xm");
	add(&t, (struct fsc_stack){.calls = 5}, "ypm");
	add(&t, (struct fsc_stack){.calls = 2}, "pm");
	add(&t, (struct fsc_stack){.calls = 3}, "yqm");
	assert_string_equal(tree_text(&t, false),
			    "0all:11/0 1m:11/0 2p:7/2 3y:5/5 2q:3/0 3y:3/3 2x:1/1");
	assert_string_equal(tree_text(&t, true), "0all:11/0 1y:8/8 2p:5/0 3m:5/0 2q:3/0 3m:3/0 "
						 "1p:2/2 2m:2/0 1x:1/1 2m:1/0");
	fsc_stacks_release(&t);
}

static void trees_of_processes_and_cut_stacks(void **state)
{
	struct fsc_stacks t = stacks();

	(void)state;
	t.per_process = true;
	add(&t, (struct fsc_stack){.calls = 1, .comm = "a", .pid = 1}, "xm");
	add(&t, (struct fsc_stack){.calls = 2, .comm = "a", .pid = 2}, "xm");
	add(&t, (struct fsc_stack){.calls = 4, .comm = "a", .pid = 2, .truncated = true}, "xm");
	assert_string_equal(tree_text(&t, false), "0all:7/0 1process:6/0 2...:4/0 3m:4/0 4x:4/4 "
						  "2m:2/0 3x:2/2 1process:1/0 2m:1/0 3x:1/1");
	assert_string_equal(tree_text(&t, true), "0all:7/0 1x:7/7 2m:7/0 3...:4/0 4process:4/0 "
						 "3process:2/0 3process:1/0");
	fsc_stacks_release(&t);
}

/* Deep and many: no recursion, no quadratic time. */
static void large(void **state)
{
	enum { DEPTH = 3000, N = 2000 };
	static uint32_t ids[DEPTH];
	struct fsc_stacks t = stacks();
	struct fsc_tree tree;
	uint32_t seen = 0;

	(void)state;
	for (uint32_t i = 0; i < DEPTH; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%u", i % 50);
		ids[i] = frame(&t, name, 0);
	}
	for (uint32_t i = 0; i < N; i++) {
		struct fsc_stack s = {.calls = i};

		ids[0] = i % 50;
		ids[1] = i / 50;
		assert_int_equal(fsc_stacks_add(&t, &s, ids, i ? 60 : DEPTH, NULL), 0);
	}
	assert_int_equal(fsc_tree_make(&t, false, &tree, NULL), 0);
	assert_int_equal(tree.depth, DEPTH);
	for (uint32_t i = 0; i != FSC_NO_NODE; i = fsc_tree_next(&tree, i))
		seen++;
	assert_int_equal(seen, tree.nodes.n);
	fsc_tree_release(&tree);
	fsc_stacks_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(equals_are_one),
	    cmocka_unit_test(what_tells_stacks_apart),
	    cmocka_unit_test(frames_with_and_without_offsets),
	    cmocka_unit_test(differences),
	    cmocka_unit_test(order),
	    cmocka_unit_test(trees),
	    cmocka_unit_test(trees_of_processes_and_cut_stacks),
	    cmocka_unit_test(large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
