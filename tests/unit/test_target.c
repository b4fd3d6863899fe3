/* src/probe/target.h: one entry per place, one row per function, nothing twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/target.h"

static int setup(void **state)
{
	static struct fsc_targets t;

	fsc_targets_init(&t);
	*state = &t;
	return 0;
}

static int teardown(void **state)
{
	fsc_targets_release(*state);
	return 0;
}

static void user(struct fsc_targets *t, uint64_t offset, const char *name, const char *symbol)
{
	struct fsc_target at = {.site = FSC_SITE_USER, .offset = offset, .row = 77};

	assert_int_equal(fsc_targets_add(t, &at, "uprobe", "/bin/x", name, symbol, NULL), 0);
}

static void kernel(struct fsc_targets *t, uint64_t addr, uint64_t offset, const char *name)
{
	struct fsc_target at = {.site = FSC_SITE_KERNEL, .addr = addr, .offset = offset};

	assert_int_equal(fsc_targets_add(t, &at, "kprobe", "kernel", name, NULL, NULL), 0);
}

static void counts(const struct fsc_targets *t, size_t places, size_t rows)
{
	assert_int_equal(fsc_targets_count(t), places);
	assert_int_equal(t->rows.n, rows);
	for (size_t i = 0; i < places; i++)
		assert_true(fsc_targets_at(t, i)->row < rows);
}

static void places_of_one_name_share_a_row(void **state)
{
	struct fsc_targets *t = *state;

	user(t, 0x100, "helper", NULL);
	user(t, 0x200, "other", NULL);
	user(t, 0x300, "helper", NULL); /* a second static function of that name */
	counts(t, 3, 2);
	assert_int_equal(fsc_targets_at(t, 0)->row, 0);
	assert_int_equal(fsc_targets_at(t, 1)->row, 1);
	assert_int_equal(fsc_targets_at(t, 2)->row, 0);
	assert_int_equal(fsc_targets_at(t, 2)->offset, 0x300);
	assert_string_equal(fsc_targets_row(t, 0)->name, "helper");
	assert_string_equal(fsc_targets_row(t, 0)->binary, "/bin/x");
	assert_string_equal(fsc_targets_row(t, 0)->kind, "uprobe");
	assert_null(fsc_targets_row(t, 0)->symbol);
}

static void a_place_under_two_names_is_one(void **state)
{
	struct fsc_targets *t = *state;

	user(t, 0x100, "lock", NULL);
	user(t, 0x100, "__lock", NULL);
	user(t, 0x100, "___lock", NULL);
	counts(t, 1, 1);
	assert_string_equal(fsc_targets_at(t, 0)->aliases, "__lock, ___lock");
	assert_string_equal(fsc_targets_row(t, 0)->name, "lock");
}

static void an_alias_is_named_once(void **state)
{
	struct fsc_targets *t = *state;

	for (int i = 0; i < 3; i++) { /* as three probes that match the same would */
		user(t, 0x100, "lock", NULL);
		user(t, 0x100, "__lock", NULL);
		user(t, 0x100, "lo", NULL);
	}
	counts(t, 1, 1);
	assert_string_equal(fsc_targets_at(t, 0)->aliases, "__lock, lo");
}

static void the_same_again_changes_nothing(void **state)
{
	struct fsc_targets *t = *state;

	user(t, 0x100, "f", NULL);
	user(t, 0x100, "f", NULL);
	kernel(t, 0xffff0000, 0, "f");
	kernel(t, 0xffff0000, 0, "f");
	counts(t, 2, 2);
	assert_null(fsc_targets_at(t, 0)->aliases);
	assert_null(fsc_targets_at(t, 1)->aliases);
}

static void entry_and_return_are_two(void **state)
{
	struct fsc_target at = {.site = FSC_SITE_USER, .offset = 0x100};
	struct fsc_targets *t = *state;

	assert_int_equal(fsc_targets_add(t, &at, "uprobe", "/bin/x", "f", NULL, NULL), 0);
	at.ret = true;
	assert_int_equal(fsc_targets_add(t, &at, "uretprobe", "/bin/x", "f", NULL, NULL), 0);
	counts(t, 2, 2);
	assert_true(fsc_targets_at(t, 1)->ret);
}

static void files_and_binaries_are_told_apart(void **state)
{
	struct fsc_target at = {.site = FSC_SITE_USER, .offset = 0x100, .file = 0};
	struct fsc_targets *t = *state;

	assert_int_equal(fsc_targets_add(t, &at, "uprobe", "/bin/x", "f", NULL, NULL), 0);
	at.file = 1;
	assert_int_equal(fsc_targets_add(t, &at, "uprobe", "/bin/y", "f", NULL, NULL), 0);
	counts(t, 2, 2);
}

static void symbols_are_kept_where_they_differ(void **state)
{
	struct fsc_targets *t = *state;

	user(t, 0x100, "ns::f(int)", "_ZN2ns1fEi");
	user(t, 0x200, "plain", "plain");
	counts(t, 2, 2);
	assert_string_equal(fsc_targets_row(t, 0)->symbol, "_ZN2ns1fEi");
	assert_null(fsc_targets_row(t, 1)->symbol);
}

static void kernel_places(void **state)
{
	struct fsc_targets *t = *state;

	kernel(t, 0xffff1000, 0, "vfs_read");
	kernel(t, 0xffff1000, 4, "vfs_read+0x4");
	kernel(t, 0xffff2000, 0, "vfs_read"); /* another static one of that name */
	kernel(t, 0xffff2000, 0, "vfs_read_alias");
	counts(t, 3, 2);
	assert_string_equal(fsc_targets_at(t, 2)->aliases, "vfs_read_alias");
}

/* With kptr_restrict every address is 0: the name is all there is. */
static void hidden_addresses_go_by_name(void **state)
{
	struct fsc_targets *t = *state;

	kernel(t, 0, 0, "vfs_read");
	kernel(t, 0, 0, "vfs_write");
	kernel(t, 0, 0, "vfs_read");
	kernel(t, 0, 8, "vfs_write+0x8");
	counts(t, 3, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(fsc_targets_at(t, i)->row, i);
		assert_null(fsc_targets_at(t, i)->aliases);
	}
}

static void tracepoints_go_by_number(void **state)
{
	struct fsc_target a = {.site = FSC_SITE_TRACEPOINT, .event_id = 300, .syscall = -1};
	struct fsc_target b = {.site = FSC_SITE_TRACEPOINT, .event_id = 301, .syscall = 0};
	struct fsc_targets *t = *state;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(fsc_targets_add(t, &a, "tracepoint", "sched", "a", NULL, NULL), 0);
		assert_int_equal(fsc_targets_add(t, &b, "tracepoint", "syscalls", "b", NULL, NULL),
				 0);
	}
	counts(t, 2, 2);
	assert_int_equal(fsc_targets_at(t, 1)->event_id, 301);
	assert_int_equal(fsc_targets_at(t, 1)->syscall, 0);
}

/* Names may contain what separates the parts of a key. */
static void rows_are_not_confused(void **state)
{
	struct fsc_target at = {.site = FSC_SITE_USER};
	struct fsc_targets *t = *state;

	at.offset = 1;
	assert_int_equal(fsc_targets_add(t, &at, "uprobe", "/a\nb", "c", NULL, NULL), 0);
	at.offset = 2;
	assert_int_equal(fsc_targets_add(t, &at, "uprobe", "/a", "b\nc", NULL, NULL), 0);
	counts(t, 2, 2);
	assert_string_equal(fsc_targets_row(t, fsc_targets_at(t, 1)->row)->binary, "/a");
}

static void files_are_known_by_inode(void **state)
{
	char dir[] = "/tmp/fsc-test-target.XXXXXX", a[64], b[64], c[64], d[64];
	struct fsc_targets *t = *state;
	struct fsc_err err = {0};
	uint32_t i[4] = {9, 9, 9, 9};

	assert_non_null(mkdtemp(dir));
	snprintf(a, sizeof(a), "%s/a", dir);
	snprintf(b, sizeof(b), "%s/b", dir);
	snprintf(c, sizeof(c), "%s/c", dir);
	snprintf(d, sizeof(d), "%s/d", dir);
	fclose(fopen(a, "w"));
	assert_int_equal(symlink("a", b), 0);
	assert_int_equal(link(a, c), 0);
	fclose(fopen(d, "w"));
	assert_int_equal(fsc_targets_file(t, a, "/a", &i[0], &err), 0);
	assert_int_equal(fsc_targets_file(t, b, "/b", &i[1], &err), 0);
	assert_int_equal(fsc_targets_file(t, c, "/c", &i[2], &err), 0);
	assert_int_equal(fsc_targets_file(t, d, "/d", &i[3], &err), 0);
	unlink(a), unlink(b), unlink(c), unlink(d);
	assert_int_equal(fsc_targets_file(t, a, "/a", &i[0], &err), -ENOENT);
	assert_non_null(strstr(err.msg, a));
	rmdir(dir);
	assert_true(i[0] == 0 && i[1] == 0 && i[2] == 0 && i[3] == 1);
	assert_int_equal(t->files.n, 2);
	assert_string_equal(FSC_AT(struct fsc_target_file, &t->files, 0)->name, "/a");
	assert_string_equal(FSC_AT(struct fsc_target_file, &t->files, 1)->path, d);
}

static void what_is_skipped_has_a_reason(void **state)
{
	struct fsc_targets *t = *state;

	assert_int_equal(fsc_targets_skip(t, "memcpy", "indirect function", NULL), 0);
	assert_int_equal(t->skipped.n, 1);
	assert_string_equal(FSC_AT(struct fsc_skipped, &t->skipped, 0)->name, "memcpy");
	assert_string_equal(FSC_AT(struct fsc_skipped, &t->skipped, 0)->why, "indirect function");
	counts(t, 0, 0);
}

static void many_places(void **state)
{
	struct fsc_targets *t = *state;
	char name[32];

	for (uint64_t i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "f%d", (int)(i % 1000));
		user(t, i * 16, name, NULL);
	}
	counts(t, 5000, 1000);
	for (size_t i = 0; i < 5000; i++)
		assert_int_equal(fsc_targets_at(t, i)->row, i % 1000);
}

static void excludes(void **state)
{
	struct fsc_pattern p[2];
	struct fsc_scope none = {0}, scope = {.excludes = p, .n_excludes = 2};

	(void)state;
	assert_int_equal(fsc_pattern_init(&p[0], "EVP_PKEY_*", false, NULL), 0);
	assert_int_equal(fsc_pattern_init(&p[1], "exact", false, NULL), 0);
	assert_true(fsc_scope_excluded(&scope, "EVP_PKEY_new"));
	assert_true(fsc_scope_excluded(&scope, "exact"));
	assert_false(fsc_scope_excluded(&scope, "EVP_MD_new"));
	assert_false(fsc_scope_excluded(&scope, "exactly"));
	assert_false(fsc_scope_excluded(&none, "exact"));
	fsc_pattern_release(&p[0]);
	fsc_pattern_release(&p[1]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(places_of_one_name_share_a_row),
	    TEST(a_place_under_two_names_is_one),
	    TEST(an_alias_is_named_once),
	    TEST(the_same_again_changes_nothing),
	    TEST(entry_and_return_are_two),
	    TEST(files_and_binaries_are_told_apart),
	    TEST(symbols_are_kept_where_they_differ),
	    TEST(kernel_places),
	    TEST(hidden_addresses_go_by_name),
	    TEST(tracepoints_go_by_number),
	    TEST(rows_are_not_confused),
	    TEST(files_are_known_by_inode),
	    TEST(what_is_skipped_has_a_reason),
	    TEST(many_places),
	    TEST(excludes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
