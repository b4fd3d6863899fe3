/* src/base/buf.h, map.h, vec.h: growth, emptiness, and keys that are bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"

static void an_empty_text_is_a_text(void **state)
{
	struct fsc_buf b = {0};

	(void)state;
	assert_string_equal(fsc_buf_str(&b), "");
	fsc_buf_clear(&b);
	fsc_buf_pad(&b, ' ', 0);
	assert_string_equal(fsc_buf_str(&b), "");
	fsc_buf_puts(&b, "");
	assert_string_equal(fsc_buf_str(&b), "");
	assert_int_equal(b.n, 0);
	fsc_buf_release(&b);
	fsc_buf_release(&b);
}

static void a_text_grows(void **state)
{
	struct fsc_buf b = {0};

	(void)state;
	for (size_t i = 0; i < 5000; i++) {
		fsc_buf_putc(&b, (char)('a' + i % 26));
		assert_int_equal(b.n, i + 1);
		assert_int_equal(b.s[b.n], '\0');
	}
	fsc_buf_clear(&b);
	fsc_buf_puts(&b, "one");
	fsc_buf_add(&b, " two and", 4);
	fsc_buf_pad(&b, '.', 3);
	fsc_buf_printf(&b, "%d%s", 42, "!");
	assert_string_equal(fsc_buf_str(&b), "one two...42!");
	assert_int_equal(b.n, strlen("one two...42!"));
	fsc_buf_release(&b);
}

/* Around the sizes at which memory is asked for: the terminating zero must have its place. */
static void growth_at_the_edges(void **state)
{
	char text[600];

	(void)state;
	for (size_t n = 0; n < sizeof(text); n++) {
		struct fsc_buf b = {0};

		memset(text, 'x', sizeof(text));
		text[n] = '\0';
		fsc_buf_printf(&b, "%s", text);
		assert_int_equal(b.n, n);
		assert_int_equal(strlen(fsc_buf_str(&b)), n);
		fsc_buf_pad(&b, 'y', 64);
		assert_int_equal(strlen(fsc_buf_str(&b)), n + 64);
		fsc_buf_release(&b);
	}
}

static void bytes_may_be_zero(void **state)
{
	struct fsc_buf b = {0};

	(void)state;
	fsc_buf_add(&b, "a\0b", 3);
	assert_int_equal(b.n, 3);
	assert_memory_equal(b.s, "a\0b", 4);
	fsc_buf_release(&b);
}

/* A size that no machine has is a failure that is remembered, not a crash or an endless loop. */
static void an_absurd_size_fails(void **state)
{
	struct fsc_buf b = {0};

	(void)state;
	fsc_buf_puts(&b, "kept");
	fsc_buf_pad(&b, ' ', SIZE_MAX - 100);
	assert_true(fsc_buf_failed(&b));
	fsc_buf_puts(&b, "not added");
	assert_string_equal(fsc_buf_str(&b), "kept");
	fsc_buf_clear(&b);
	assert_false(fsc_buf_failed(&b));
	fsc_buf_puts(&b, "again");
	assert_string_equal(fsc_buf_str(&b), "again");
	fsc_buf_release(&b);
}

static void an_empty_map(void **state)
{
	struct fsc_map m = {0};

	(void)state;
	assert_null(fsc_map_get(&m, "a", 1));
	fsc_map_release(&m);
}

static void keys_are_bytes(void **state)
{
	struct fsc_map m = {0};
	bool is_new;

	(void)state;
	*fsc_map_put(&m, "ab", 2, &is_new) = 1;
	assert_true(is_new);
	*fsc_map_put(&m, "a", 1, &is_new) = 2;
	assert_true(is_new);
	*fsc_map_put(&m, "ab\0", 3, &is_new) = 3;
	assert_true(is_new);
	*fsc_map_put(&m, "", 0, &is_new) = 4;
	assert_true(is_new);
	assert_int_equal(*fsc_map_put(&m, "ab", 2, &is_new), 1);
	assert_false(is_new);
	assert_int_equal(m.n, 4);
	assert_int_equal(*fsc_map_get(&m, "a", 1), 2);
	assert_int_equal(*fsc_map_get(&m, "ab\0", 3), 3);
	assert_int_equal(*fsc_map_get(&m, "", 0), 4);
	assert_null(fsc_map_get(&m, "b", 1));
	fsc_map_release(&m);
	assert_null(fsc_map_get(&m, "a", 1));
}

static void keys_are_copied(void **state)
{
	struct fsc_map m = {0};
	char key[] = "key";

	(void)state;
	*fsc_map_put(&m, key, 3, NULL) = 7;
	key[0] = 'x';
	assert_null(fsc_map_get(&m, key, 3));
	assert_int_equal(*fsc_map_get(&m, "key", 3), 7);
	fsc_map_release(&m);
}

static void many_keys(void **state)
{
	struct fsc_map m = {0};

	(void)state;
	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t *v = fsc_map_put(&m, &i, sizeof(i), NULL);

		assert_non_null(v);
		assert_int_equal(*v, 0);
		*v = i * 3;
	}
	assert_int_equal(m.n, 20000);
	assert_true(m.n * 4 <= m.cap * 3 + 4);
	for (uint64_t i = 0; i < 20000; i++)
		assert_int_equal(*fsc_map_get(&m, &i, sizeof(i)), i * 3);
	for (uint64_t i = 20000; i < 20100; i++)
		assert_null(fsc_map_get(&m, &i, sizeof(i)));
	fsc_map_release(&m);
}

/* Keys come and go in runs that wrap around the end of the table; what stays is always found. */
static void keys_can_be_removed(void **state)
{
	struct fsc_map m = {0};
	size_t cap = 0;

	(void)state;
	fsc_map_remove(&m, "x", 1);
	for (uint64_t round = 0; round < 200; round++) {
		for (uint64_t i = 0; i < 40; i++) {
			uint64_t key = round * 40 + i;

			*fsc_map_put(&m, &key, sizeof(key), NULL) = key + 1;
		}
		cap = m.cap > cap ? m.cap : cap;
		for (uint64_t i = 0; i < 40; i += 1 + (round % 3 == 0)) {
			uint64_t key = round * 40 + i;

			fsc_map_remove(&m, &key, sizeof(key));
			fsc_map_remove(&m, &key, sizeof(key));
			assert_null(fsc_map_get(&m, &key, sizeof(key)));
		}
		for (uint64_t key = 0; key < (round + 1) * 40; key++) {
			const uint64_t *v = fsc_map_get(&m, &key, sizeof(key));
			bool stays = key / 40 % 3 == 0 && key % 2;

			assert_int_equal(v ? *v : 0, stays ? key + 1 : 0);
		}
	}
	assert_int_equal(m.n, 67 * 20);
	assert_int_equal(cap, 2048);
	fsc_map_release(&m);
}

static void a_copy_of_a_map_is_its_own(void **state)
{
	struct fsc_map m = {0}, copy;

	(void)state;
	assert_true(fsc_map_copy(&m, &copy));
	assert_int_equal(copy.n, 0);
	for (uint64_t i = 0; i < 100; i++)
		*fsc_map_put(&m, &i, sizeof(i), NULL) = i;
	assert_true(fsc_map_copy(&m, &copy));
	fsc_map_release(&m);
	assert_int_equal(copy.n, 100);
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(*fsc_map_get(&copy, &i, sizeof(i)), i);
	fsc_map_release(&copy);
}

static void a_vector_grows_zeroed(void **state)
{
	struct fsc_vec v = FSC_VEC_INIT(uint64_t);

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < 1000; i++) {
			uint64_t *e = fsc_vec_push(&v);

			assert_non_null(e);
			assert_int_equal(*e, 0);
			*e = i + 1;
		}
		for (uint64_t i = 0; i < 1000; i++)
			assert_int_equal(*FSC_AT(uint64_t, &v, i), i + 1);
		fsc_vec_release(&v);
		assert_int_equal(v.n, 0);
	}
}

static void a_vector_too_large_is_refused(void **state)
{
	struct fsc_vec v = {.size = SIZE_MAX / 2};

	(void)state;
	assert_null(fsc_vec_push(&v));
	assert_int_equal(v.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_empty_text_is_a_text),
	    cmocka_unit_test(a_text_grows),
	    cmocka_unit_test(growth_at_the_edges),
	    cmocka_unit_test(bytes_may_be_zero),
	    cmocka_unit_test(an_absurd_size_fails),
	    cmocka_unit_test(an_empty_map),
	    cmocka_unit_test(keys_are_bytes),
	    cmocka_unit_test(keys_are_copied),
	    cmocka_unit_test(many_keys),
	    cmocka_unit_test(keys_can_be_removed),
	    cmocka_unit_test(a_copy_of_a_map_is_its_own),
	    cmocka_unit_test(a_vector_grows_zeroed),
	    cmocka_unit_test(a_vector_too_large_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
