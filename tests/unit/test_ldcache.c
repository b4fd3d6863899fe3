/* fsc_ldcache_each: both layouts of ld.so.cache, and images made to lead it astray. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "proc/libs.h"

#if defined(__aarch64__)
#define OWN 0x0a03
#else
#define OWN 0x0303
#endif
#define HEADER 48
#define ENTRY  24

struct seen {
	int n, stop_at;
	char soname[64], path[64];
};

static int note(const char *soname, const char *path, void *arg)
{
	struct seen *s = arg;

	s->n++;
	strncpy(s->soname, soname, sizeof(s->soname) - 1);
	strncpy(s->path, path, sizeof(s->path) - 1);
	return s->n == s->stop_at ? 77 : 0;
}

static void put32(unsigned char *at, uint32_t v)
{
	memcpy(at, &v, 4);
}

/* An image with two entries, the second for another machine; its size. */
static size_t build(unsigned char *image)
{
	static const char strings[] = "libx.so.1\0/lib/libx.so.1";
	const uint32_t at = HEADER + 2 * ENTRY;

	memset(image, 0, 512);
	memcpy(image, "glibc-ld.so.cache1.1", 20);
	put32(image + 20, 2);
	put32(image + 24, sizeof(strings));
	for (int i = 0; i < 2; i++) {
		put32(image + HEADER + i * ENTRY, i ? 0x0003 : OWN);
		put32(image + HEADER + i * ENTRY + 4, at);
		put32(image + HEADER + i * ENTRY + 8, at + 10);
	}
	memcpy(image + at, strings, sizeof(strings));
	return at + sizeof(strings);
}

/* From memory that ends where the image ends, so that a sanitizer sees every byte too far. */
static int walk(const unsigned char *image, size_t n, struct seen *s)
{
	unsigned char *copy = malloc(n ? n : 1);
	int rc;

	assert_non_null(copy);
	memcpy(copy, image, n);
	rc = fsc_ldcache_each(copy, n, note, s);
	free(copy);
	return rc;
}

static void entries_of_this_machine(void **state)
{
	unsigned char image[512];
	size_t n = build(image);
	struct seen s = {0};

	(void)state;
	assert_int_equal(walk(image, n, &s), 0);
	assert_int_equal(s.n, 1);
	assert_string_equal(s.soname, "libx.so.1");
	assert_string_equal(s.path, "/lib/libx.so.1");
	put32(image + HEADER + ENTRY, OWN);
	s = (struct seen){.stop_at = 1};
	assert_int_equal(walk(image, n, &s), 77);
	assert_int_equal(s.n, 1);
}

static void the_old_table_is_skipped(void **state)
{
	unsigned char image[1024] = "ld.so-1.7.0";
	struct seen s = {0};
	size_t n;

	(void)state;
	put32(image + 12, 3); /* 16 + 3 * 12 = 52, rounded up to 56 */
	n = build(image + 56);
	assert_int_equal(walk(image, 56 + n, &s), 0);
	assert_int_equal(s.n, 1);
	s.n = 0;
	put32(image + 12, 0xffffffff);
	assert_int_equal(walk(image, 56 + n, &s), 0);
	assert_int_equal(s.n, 0);
}

static void wild_offsets(void **state)
{
	static const uint32_t wild[] = {0xffffffff, 0x7fffffff, 0x80000000, 512};
	unsigned char image[512];
	size_t n;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		for (int field = 4; field <= 8; field += 4) {
			struct seen s = {0};

			n = build(image);
			put32(image + HEADER + field, wild[i]);
			assert_int_equal(walk(image, n, &s), 0);
			assert_int_equal(s.n, 0);
		}
	}
}

static void too_many_entries(void **state)
{
	unsigned char image[512];
	size_t n = build(image);
	struct seen s = {0};

	(void)state;
	put32(image + 20, 0xffffffff);
	assert_int_equal(walk(image, n, &s), 0);
	assert_int_equal(s.n, 1);
}

static void strings_without_end(void **state)
{
	unsigned char image[512];
	size_t n = build(image);
	struct seen s = {0};

	(void)state;
	assert_int_equal(walk(image, n - 1, &s), 0); /* the last zero byte is cut off */
	assert_int_equal(s.n, 0);
}

static void cut_anywhere(void **state)
{
	unsigned char image[512];
	size_t n = build(image);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		struct seen s = {0};

		assert_int_equal(walk(image, i, &s), 0);
		assert_int_equal(s.n, 0);
	}
}

static void random_bytes(void **state)
{
	unsigned char image[512];
	size_t n;

	(void)state;
	srand(1);
	for (int i = 0; i < 20000; i++) {
		struct seen s = {0};

		n = build(image);
		for (int k = 0; k < 4; k++)
			image[20 + (size_t)rand() % (n - 20)] = (unsigned char)rand();
		walk(image, n, &s);
		assert_true(s.n <= 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(entries_of_this_machine),
	    cmocka_unit_test(the_old_table_is_skipped),
	    cmocka_unit_test(wild_offsets),
	    cmocka_unit_test(too_many_entries),
	    cmocka_unit_test(strings_without_end),
	    cmocka_unit_test(cut_anywhere),
	    cmocka_unit_test(random_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
