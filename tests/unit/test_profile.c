/* src/model/profile.h: what happened in between, in which order it is shown, and that nothing
 * depends on the order in which it was read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "model/profile.h"

static const struct fsc_func funcs[] = {
    {.kind = "uprobe", .binary = "/b", .name = "beta"},
    {.kind = "uprobe", .binary = "/b", .name = "alpha"},
    {.kind = "uprobe", .binary = "/a", .name = "beta"},
    {.kind = "uretprobe", .binary = "/b", .name = "beta"},
};

static struct fsc_profile profile(uint32_t by)
{
	return (struct fsc_profile){.funcs = funcs,
				    .n_funcs = sizeof(funcs) / sizeof(funcs[0]),
				    .by = by,
				    .counts = FSC_VEC_INIT(struct fsc_count)};
}

static struct fsc_count *add(struct fsc_profile *p, uint32_t func, uint64_t count)
{
	struct fsc_count *c = fsc_vec_push(&p->counts);

	assert_non_null(c);
	c->func = func;
	c->count = count;
	return c;
}

static const struct fsc_count *at(const struct fsc_profile *p, size_t i)
{
	assert_true(i < p->counts.n);
	return FSC_AT(struct fsc_count, &p->counts, i);
}

/* The rows as "func:count func:count". */
static const char *rows(const struct fsc_profile *p)
{
	static char text[400];
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < p->counts.n; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u:%llu", i ? " " : "",
				      at(p, i)->func, (unsigned long long)at(p, i)->count);
	return text;
}

static void differences(void **state)
{
	struct fsc_profile a = profile(0), b = profile(0), d;

	(void)state;
	add(&a, 0, 10);
	add(&a, 1, 5);
	add(&b, 1, 5);
	add(&b, 0, 17);
	add(&b, 2, 3); /* new since then */
	b.time_ns = 99;
	assert_int_equal(fsc_profile_subtract(&b, &a, false, &d, NULL), 0);
	assert_string_equal(rows(&d), "0:7 2:3");
	assert_int_equal(d.time_ns, 99);
	assert_ptr_equal(d.funcs, funcs);
	assert_int_equal(fsc_profile_total(&d), 10);
	fsc_profile_release(&d);
	assert_int_equal(fsc_profile_subtract(&b, &a, true, &d, NULL), 0);
	assert_string_equal(rows(&d), "1:0 0:7 2:3");
	fsc_profile_release(&d);
	/* the operands are left as they were */
	assert_string_equal(rows(&b), "1:5 0:17 2:3");
	fsc_profile_release(&a);
	fsc_profile_release(&b);
}

static void of_nothing(void **state)
{
	struct fsc_profile a = profile(0), b = profile(0), d;

	(void)state;
	assert_int_equal(fsc_profile_subtract(&b, &a, true, &d, NULL), 0);
	assert_int_equal(d.counts.n, 0);
	assert_int_equal(fsc_profile_total(&d), 0);
	fsc_profile_sort(&d, FSC_SORT_COUNT, true, 5);
	fsc_profile_release(&d);
	add(&b, 0, 4);
	assert_int_equal(fsc_profile_subtract(&b, &a, false, &d, NULL), 0);
	assert_string_equal(rows(&d), "0:4");
	fsc_profile_release(&d);
	fsc_profile_release(&b);
}

/* Every key tells rows apart when a difference is made. */
static void differences_by_key(void **state)
{
	struct fsc_profile a = profile(~0u), b = profile(~0u), d;

	(void)state;
	for (uint32_t i = 0; i < 6; i++) {
		struct fsc_count *was = add(&a, 0, 100 + i), *is;

		was->pid = i == 1;
		was->tid = i == 2;
		was->cpu = i == 3;
		was->cgroup = i == 4 ? 1ull << 40 : 0;
		snprintf(was->comm, sizeof(was->comm), "%s", i == 5 ? "sixteen-letters!" : "");
		is = add(&b, 0, 0);
		*is = *was;
		is->count = 200 + 2 * i;
		is->cgroup_path = "/x"; /* no key */
	}
	assert_int_equal(fsc_profile_subtract(&b, &a, false, &d, NULL), 0);
	assert_string_equal(rows(&d), "0:100 0:101 0:102 0:103 0:104 0:105");
	assert_string_equal(at(&d, 5)->comm, "sixteen-letters!");
	assert_string_equal(at(&d, 5)->cgroup_path, "/x");
	assert_int_equal(at(&d, 4)->cgroup, 1ull << 40);
	fsc_profile_release(&a);
	fsc_profile_release(&b);
	fsc_profile_release(&d);
}

static void large_counts(void **state)
{
	struct fsc_profile a = profile(0), b = profile(0), d;

	(void)state;
	add(&a, 0, 1);
	add(&b, 0, UINT64_MAX);
	add(&b, 1, 1ull << 63);
	assert_int_equal(fsc_profile_subtract(&b, &a, false, &d, NULL), 0);
	assert_int_equal(at(&d, 0)->count, UINT64_MAX - 1);
	fsc_profile_sort(&d, FSC_SORT_COUNT, false, 0);
	assert_int_equal(at(&d, 0)->func, 0);
	fsc_profile_release(&a);
	fsc_profile_release(&b);
	fsc_profile_release(&d);
}

static void orders(void **state)
{
	static const struct {
		enum fsc_sort by;
		bool reverse;
		size_t top;
		const char *rows;
	} all[] = {
	    {FSC_SORT_COUNT, false, 0, "1:9 2:4 0:4"}, /* a tie goes by name, then binary */
	    {FSC_SORT_COUNT, true, 0, "0:4 2:4 1:9"},	{FSC_SORT_COUNT, false, 2, "1:9 2:4"},
	    {FSC_SORT_COUNT, true, 2, "2:4 1:9"}, /* the same two, turned round */
	    {FSC_SORT_COUNT, false, 99, "1:9 2:4 0:4"}, {FSC_SORT_NAME, false, 0, "1:9 2:4 0:4"},
	    {FSC_SORT_NAME, true, 0, "0:4 2:4 1:9"},	{FSC_SORT_NAME, false, 1, "1:9"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct fsc_profile p = profile(0);

		add(&p, 0, 4);
		add(&p, 1, 9);
		add(&p, 2, 4);
		fsc_profile_sort(&p, all[i].by, all[i].reverse, all[i].top);
		assert_string_equal(rows(&p), all[i].rows);
		fsc_profile_release(&p);
	}
}

/* Sorts the same rows from every order they could have been read in. */
static void ties(size_t n, void (*make)(struct fsc_profile *p, size_t i), bool reverse)
{
	char first[400] = "";

	for (size_t start = 0; start < n; start++) {
		for (int backwards = 0; backwards < 2; backwards++) {
			struct fsc_profile p = profile(~0u);

			for (size_t i = 0; i < n; i++)
				make(&p, (start + (backwards ? n - i : i)) % n);
			fsc_profile_sort(&p, FSC_SORT_COUNT, reverse, 0);
			if (!first[0])
				snprintf(first, sizeof(first), "%s", rows(&p));
			assert_string_equal(rows(&p), first);
			fsc_profile_release(&p);
		}
	}
}

static void same_function_other_keys(struct fsc_profile *p, size_t i)
{
	struct fsc_count *c = add(p, 0, 5);

	c->comm[0] = i == 0 ? 'b' : 'a';
	c->pid = i == 1;
	c->tid = i == 2;
	c->cpu = i == 3;
	c->cgroup = i == 4;
	c->func = i == 5 ? 2 : 0;
}

static void entry_and_return(struct fsc_profile *p, size_t i)
{
	add(p, i ? 3 : 0, 5);
}

static void ties_do_not_depend_on_the_input(void **state)
{
	(void)state;
	ties(6, same_function_other_keys, false);
	ties(6, same_function_other_keys, true);
	ties(2, entry_and_return, false); /* same name, same file, other kind */
	ties(2, entry_and_return, true);
}

static void totals(void **state)
{
	struct fsc_profile p = profile(0);

	(void)state;
	assert_int_equal(fsc_profile_total(&p), 0);
	add(&p, 0, 1ull << 40);
	add(&p, 1, 2);
	add(&p, 2, 0);
	assert_int_equal(fsc_profile_total(&p), (1ull << 40) + 2);
	fsc_profile_sort(&p, FSC_SORT_COUNT, false, 1);
	assert_int_equal(fsc_profile_total(&p), 1ull << 40);
	fsc_profile_release(&p);
	fsc_profile_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(differences),
	    cmocka_unit_test(of_nothing),
	    cmocka_unit_test(differences_by_key),
	    cmocka_unit_test(large_counts),
	    cmocka_unit_test(orders),
	    cmocka_unit_test(ties_do_not_depend_on_the_input),
	    cmocka_unit_test(totals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
