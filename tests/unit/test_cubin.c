/* What fatbins are made of: the attributes of a cubin's kernels, and the two packings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <zstd.h>

#include "base/cleanup.h"
#include "fatbins.h"

/* The kernels of a cubin with one section of attributes; how many. */
static int kernels_of(const struct fsc_buf *info, struct seen *ret)
{
	const struct part part = {".nv.info.k", info->s, info->n};
	FSC_AUTO(fsc_buf_release) struct fsc_buf cubin = {0};

	*ret = (struct seen){0};
	build_elf(&cubin, EM_CUDA, &part, 1);
	assert_int_equal(fsc_cubin_each(cubin.s, cubin.n, note, ret, NULL), 0);
	return ret->n;
}

static void attributes(void **state)
{
	static const uint16_t want[][2] = {{0, 1}, {8, 5000}, {5008, 8}};
	FSC_AUTO(fsc_buf_release) struct fsc_buf info = {0};
	struct seen seen;

	(void)state;
	assert_int_equal(kernels_of(&info, &seen), 1);
	assert_string_equal(seen.name, "k");
	assert_int_equal(seen.params.n, 0);

	add(&info, "\x04\x37\x04\x00\x82\x00\x00\x00\x03\x1b\xff\x00", 12);
	add_param_v2(&info, 2, 5008, 8);
	add_param_v2(&info, 1, 8, 5000);
	add_param(&info, 0, 0, 1);
	add_block_size(&info, 5016);
	assert_int_equal(kernels_of(&info, &seen), 1);
	assert_params(&seen.params, 3, want);
}

static void more_parameters_than_room(void **state)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf info = {0};
	struct seen seen;

	(void)state;
	for (uint16_t i = 0; i < 100; i++)
		add_param(&info, i, i * 4, 4);
	assert_int_equal(kernels_of(&info, &seen), 1);
	assert_int_equal(seen.params.n, FSC_KERNEL_PARAMS_MAX);
	assert_int_equal(seen.params.at[63].offset, 252);
}

/* Rather no answer than a wrong one. */
static void attributes_that_contradict(void **state)
{
	struct fsc_buf info[5] = {0};
	struct seen seen;

	(void)state;
	add_param(&info[0], 1, 8, 8); /* none of number 0 */
	add_param(&info[1], 0, 0, 8);
	add_param(&info[1], 0, 8, 8); /* twice */
	add_param(&info[2], 0, 8, 8);
	add_block_size(&info[2], 15); /* too long */
	add_block_size(&info[3], 8);  /* none, but there must be */
	add(&info[4], "\x04\x17\x0c\x00\x00\x00", 6);
	for (size_t i = 0; i < sizeof(info) / sizeof(info[0]); i++) {
		assert_int_equal(kernels_of(&info[i], &seen), 0);
		fsc_buf_release(&info[i]);
	}
}

/* Of memory that ends where the bytes end, so that a sanitizer sees every byte too far. */
static bool unpack(enum fsc_packing packing, const void *packed, size_t n, char *ret, size_t ret_n)
{
	FSC_AUTO(fsc_freep) char *in = malloc(n + !n);
	FSC_AUTO(fsc_freep) char *out = malloc(ret_n + !ret_n);
	bool ok;

	assert_true(in && out);
	memcpy(in, packed, n);
	ok = fsc_fatbin_unpackable(packing, in, n, ret_n) &&
	     fsc_fatbin_unpack(packing, in, n, out, ret_n);
	if (ok)
		memcpy(ret, out, ret_n);
	return ok;
}

static void lz4(void **state)
{
	/* "ab", 2 back and 4 + 15 + 255 + 3 long, and "!" */
	static const char packed[] = "\x2f"
				     "ab\x02\x00\xff\x03\x10!";
	char out[300];

	(void)state;
	assert_true(unpack(FSC_PACKING_LZ4, packed, 9, out, 280));
	for (int i = 0; i < 279; i++)
		assert_int_equal(out[i], i % 2 ? 'b' : 'a');
	assert_int_equal(out[279], '!');
	for (size_t n = 0; n < 9; n++)
		assert_false(unpack(FSC_PACKING_LZ4, packed, n, out, 280));
	assert_false(unpack(FSC_PACKING_LZ4, packed, 9, out, 279));
	assert_false(unpack(FSC_PACKING_LZ4, packed, 9, out, 281));
	assert_false(
	    unpack(FSC_PACKING_LZ4, "\x20xy\x03\x00\x00", 6, out, 6)); /* before the start */
	assert_false(unpack(FSC_PACKING_LZ4, "\x20xy\x00\x00\x00", 6, out, 6)); /* no way back */
	assert_false(fsc_fatbin_unpackable(FSC_PACKING_LZ4, packed, 9, 1u << 20));
}

static void zstd(void **state)
{
	char packed[100], out[32];
	size_t n = ZSTD_compress(packed, sizeof(packed), "cubin", 5, 1);

	(void)state;
	assert_true(unpack(FSC_PACKING_ZSTD, packed, n, out, 5));
	assert_memory_equal(out, "cubin", 5);
	assert_false(unpack(FSC_PACKING_ZSTD, packed, n, out, 6));
	assert_false(unpack(FSC_PACKING_ZSTD, packed, n - 1, out, 5));
	assert_false(unpack(FSC_PACKING_ZSTD, "cubin", 5, out, 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(attributes),
	    cmocka_unit_test(more_parameters_than_room),
	    cmocka_unit_test(attributes_that_contradict),
	    cmocka_unit_test(lz4),
	    cmocka_unit_test(zstd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
