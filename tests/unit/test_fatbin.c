/* Parameters of CUDA kernels: programs made by hand, two fatbins that nvcc made, some that it makes
 * now where it is installed, and damage of all sorts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "fatbin_samples.h"
#include "fatbins.h"
#include "sym_fixtures.h"

/* A cubin with one kernel of one parameter. */
static void build_cubin(struct fsc_buf *out, const char *section, uint16_t size)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf info = {0};

	add_param(&info, 0, 0, size);
	add_block_size(&info, size);
	build_elf(out, EM_CUDA, &(struct part){section, info.s, info.n}, 1);
}

/* Adds such a cubin to the entries, packed or not. */
static void add_cubin(struct fsc_buf *entries, uint64_t flags, const char *section, uint16_t size)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf cubin = {0};
	char packed[2048];
	size_t n;

	build_cubin(&cubin, section, size);
	if (!flags) {
		add_entry(entries, KIND_ELF, 0, cubin.s, cubin.n, 0);
		return;
	}
	assert_int_equal(flags, FLAG_ZSTD);
	n = ZSTD_compress(packed, sizeof(packed), cubin.s, cubin.n, 1);
	add_entry(entries, KIND_ELF, flags, packed, n, cubin.n);
}

/* A program with fatbins in three sections: linked ones with gap between them, one of an object
 * file, one at an odd place among data. */
static void build_program(struct fsc_buf *out)
{
	struct fsc_buf entries[4] = {0}, bytes[3] = {0};
	struct part parts[3] = {
	    {.name = ".nv_fatbin"}, {.name = "__nv_relfatbin"}, {.name = ".rodata"}};

	add_entry(&entries[0], KIND_PTX, 0, ".version 9.0", 12, 0);
	add_cubin(&entries[0], FLAG_ZSTD, ".nv.info.of_two", 3);
	add_cubin(&entries[0], 0, ".nv.info.of_two_and_longer", 5);
	add_cubin(&entries[1], 0, ".nv.info.second", 7);
	add_cubin(&entries[1], 0, ".nv.info.ambiguous", 1);
	add_cubin(&entries[2], FLAG_ZSTD, ".nv.info.object", 9);
	add_cubin(&entries[2], FLAG_ZSTD, ".nv.info.ambiguous", 2);
	add_cubin(&entries[3], 0, ".nv.info.data", 11);
	add_fatbin(&bytes[0], &entries[0]);
	add(&bytes[0], "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
	add_fatbin(&bytes[0], &entries[1]);
	add_fatbin(&bytes[1], &entries[2]);
	add(&bytes[2], "abcd", 4);
	add_fatbin(&bytes[2], &entries[3]);
	for (size_t i = 0; i < 3; i++) {
		parts[i].bytes = bytes[i].s;
		parts[i].n = bytes[i].n;
	}
	build_elf(out, HOST_MACHINE, parts, 3);
	for (size_t i = 0; i < 4; i++)
		fsc_buf_release(&entries[i]);
	for (size_t i = 0; i < 3; i++)
		fsc_buf_release(&bytes[i]);
}

static void programs(void **state)
{
	static const struct {
		const char *kernel;
		int rc;
		uint16_t size;
	} want[] = {
	    {"of_two", 1, 3},	 {"second", 1, 7},	    {"of_two_and_longer", 1, 5},
	    {"object", 1, 9},	 {"data", 1, 11},	    {"nowhere", 0, 0},
	    {"ambiguous", 0, 0}, {".nv.info.of_two", 0, 0}, {"", 0, 0},
	    {"of_two", 1, 3},
	};
	FSC_AUTO(fsc_fatbins_freep) struct fsc_fatbins *f = NULL;
	FSC_AUTO(fsc_buf_release) struct fsc_buf program = {0};
	const struct fsc_kernel_params *p;
	struct fsc_err err = {0};
	const char *path;

	(void)state;
	build_program(&program);
	path = make_file("fatbins", program.s, program.n);
	assert_int_equal(fsc_fatbins_new(&f, &err), 0);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(fsc_fatbins_params(f, path, want[i].kernel, &p, &err), want[i].rc);
		if (want[i].rc)
			assert_params(p, 1, (const uint16_t[][2]){{0, want[i].size}});
	}
	unlink(path);
	assert_int_equal(fsc_fatbins_params(f, path, "data", &p, &err), 1);
	assert_int_equal(fsc_fatbins_params(f, "/bin/sh", "data", &p, &err), 0);
}

static void refusals(void **state)
{
	static const struct part huge = {".nv_fatbin", "", 0};
	FSC_AUTO(fsc_fatbins_freep) struct fsc_fatbins *f = NULL;
	FSC_AUTO(fsc_buf_release) struct fsc_buf program = {0};
	const uint64_t size = (2ull << 30) + 1;
	const struct fsc_kernel_params *p;
	struct fsc_err err = {0};
	Elf64_Ehdr eh;
	const char *path;

	(void)state;
	assert_int_equal(fsc_fatbins_new(&f, &err), 0);
	assert_int_equal(fsc_fatbins_params(f, "/nowhere", "k", &p, &err), -ENOENT);
	assert_int_equal(fsc_fatbins_params(f, "/dev/null", "k", &p, &err), -ENOEXEC);
	build_elf(&program, HOST_MACHINE, &huge, 1);
	memcpy(&eh, program.s, sizeof(eh));
	memcpy(program.s + eh.e_shoff + sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size), &size,
	       sizeof(size));
	path = make_file("fatbin-huge", program.s, program.n);
	for (int i = 0; i < 2; i++) {
		err = (struct fsc_err){0};
		assert_int_equal(fsc_fatbins_params(f, path, "k", &p, &err), -EFBIG);
		assert_non_null(strstr(err.msg, "longer than 2 GB"));
	}
}

/* The file of a program whose one fatbin has these entries. */
static const char *make_program(const char *name, const struct fsc_buf *entries)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf fatbin = {0};
	FSC_AUTO(fsc_buf_release) struct fsc_buf program = {0};

	add_fatbin(&fatbin, entries);
	build_elf(&program, HOST_MACHINE, &(struct part){".nv_fatbin", fatbin.s, fatbin.n}, 1);
	return make_file(name, program.s, program.n);
}

/* Entries that want more memory and time than there is sense in. */
static void bombs(void **state)
{
	FSC_AUTO(fsc_fatbins_freep) struct fsc_fatbins *f = NULL;
	FSC_AUTO(fsc_buf_release) struct fsc_buf entries = {0};
	const struct fsc_kernel_params *p;
	struct fsc_err err = {0};
	const char *path;

	(void)state;
	for (int i = 0; i < 18; i++)
		add_entry(&entries, KIND_ELF, FLAG_ZSTD, "bomb", 4, 1ull << 30);
	add_entry(&entries, KIND_ELF, FLAG_LZ4, "bomb", 4, UINT64_MAX);
	path = make_program("fatbin-bombs", &entries);
	assert_int_equal(fsc_fatbins_new(&f, &err), 0);
	assert_int_equal(fsc_fatbins_params(f, path, "k", &p, &err), -EFBIG);
	assert_non_null(strstr(err.msg, "unpacks to more than 16 GB"));
}

static void too_many_kernels(void **state)
{
	const size_t n = 200001;
	FSC_AUTO(fsc_freep) struct part *parts = calloc(n, sizeof(*parts));
	FSC_AUTO(fsc_freep) char(*names)[24] = calloc(n, sizeof(*names));
	FSC_AUTO(fsc_fatbins_freep) struct fsc_fatbins *f = NULL;
	FSC_AUTO(fsc_buf_release) struct fsc_buf cubin = {0};
	FSC_AUTO(fsc_buf_release) struct fsc_buf entries = {0};
	const struct fsc_kernel_params *p;
	struct fsc_err err = {0};
	const char *path;

	(void)state;
	assert_true(parts && names);
	for (size_t i = 0; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), ".nv.info.k%zu", i);
		parts[i] = (struct part){names[i], "", 0};
	}
	build_elf(&cubin, EM_CUDA, parts, n);
	add_entry(&entries, KIND_ELF, 0, cubin.s, cubin.n, 0);
	path = make_program("fatbin-many", &entries);
	assert_int_equal(fsc_fatbins_new(&f, &err), 0);
	assert_int_equal(fsc_fatbins_params(f, path, "k199999", &p, &err), 1);
	assert_int_equal(fsc_fatbins_params(f, path, "other", &p, &err), -EFBIG);
	assert_non_null(strstr(err.msg, "more than 200000 GPU kernels"));
	unlink(path);
}

/* All kernels of a program in memory that ends where it ends. 0 if it is no program at all. */
static int read_program(const void *bytes, size_t n, struct seen *ret)
{
	char *copy = malloc(n + !n);
	struct fsc_err err = {0};
	struct fsc_image im;

	*ret = (struct seen){0};
	assert_non_null(copy);
	memcpy(copy, bytes, n);
	if (fsc_image_from_mem(&im, "sample", copy, n, &err))
		return 0;
	for (int pass = 0; pass < FSC_FATBIN_PASSES; pass++) {
		if (fsc_fatbin_each(&im, (enum fsc_fatbin_pass)pass, note, ret, &err))
			assert_true(err.code > 0 && err.msg[0]);
	}
	fsc_image_release(&im);
	return ret->n;
}

static void samples_of_nvcc(void **state)
{
	const struct part parts[] = {{".nv_fatbin", sample_zstd, sizeof(sample_zstd)},
				     {".nv_fatbin", sample_lz4, sizeof(sample_lz4)}};
	static const uint16_t want[][2] = {{0, 1},  {2, 2},   {4, 4}, {8, 8},
					   {16, 8}, {24, 40}, {64, 1}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		FSC_AUTO(fsc_buf_release) struct fsc_buf program = {0};
		FSC_AUTO(fsc_fatbins_freep) struct fsc_fatbins *f = NULL;
		const struct fsc_kernel_params *p;
		const char *path;

		build_elf(&program, HOST_MACHINE, &parts[i], 1);
		path = make_file("fatbin-sample", program.s, program.n);
		assert_int_equal(fsc_fatbins_new(&f, NULL), 0);
		assert_int_equal(fsc_fatbins_params(f, path, "mixed", &p, NULL), 1);
		assert_params(p, 7, want);
		assert_int_equal(fsc_fatbins_params(f, path, "none", &p, NULL), 1);
		assert_int_equal(p->n, 0);
	}
}

/* nvcc, where there is one. */
static const char *find_nvcc(void)
{
	static const char *const places[] = {"/usr/local/cuda/bin/nvcc",
					     "/usr/local/cuda-13.0/bin/nvcc"};

	if (!system("nvcc --version >/dev/null 2>&1"))
		return "nvcc";
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!access(places[i], X_OK))
			return places[i];
	}
	return NULL;
}

static const char nvcc_source[] =
    "struct forty { double d[5]; };\n"
    "struct big { char b[5000]; };\n"
    "struct empty {};\n"
    "extern \"C\" __global__ void mixed(char c, short s, int i, double d, const float *p, forty "
    "f,\n"
    "				char tail) {}\n"
    "extern \"C\" __global__ void none() {}\n"
    "extern \"C\" __global__ void large(int n, big b, void *p) { *(char *)p = b.b[n]; }\n"
    "extern \"C\" __global__ void odd(int a, empty e, char b, long long c) {}\n"
    "template <typename T> __global__ void tmpl(T a, T *b) { *b = a; }\n"
    "template __global__ void tmpl<short>(short, short *);\n";

static void check_built(const char *path)
{
	static const struct {
		const char *kernel;
		size_t n;
		uint16_t at[7][2];
	} want[] = {
	    {"mixed", 7, {{0, 1}, {2, 2}, {4, 4}, {8, 8}, {16, 8}, {24, 40}, {64, 1}}},
	    {"none", 0, {{0}}},
	    {"large", 3, {{0, 4}, {4, 5000}, {5008, 8}}},
	    {"odd", 4, {{0, 4}, {4, 1}, {5, 1}, {8, 8}}},
	    {"_Z4tmplIsEvT_PS0_", 2, {{0, 2}, {8, 8}}},
	};
	FSC_AUTO(fsc_fatbins_freep) struct fsc_fatbins *f = NULL;
	const struct fsc_kernel_params *p;

	assert_int_equal(fsc_fatbins_new(&f, NULL), 0);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(fsc_fatbins_params(f, path, want[i].kernel, &p, NULL), 1);
		assert_params(p, want[i].n, want[i].at);
	}
	assert_int_equal(fsc_fatbins_params(f, path, "absent", &p, NULL), 0);
}

static void nvcc_agrees(void **state)
{
	static const char *const options[] = {
	    "-gencode arch=compute_75,code=sm_75 -gencode arch=compute_90,code=[sm_90,compute_90]",
	    "-arch=sm_90 -Xfatbin -compress-all",
	    "-arch=sm_90 -Xfatbin -compress-all --compress-mode=speed",
	    "-arch=sm_75 -Xfatbin -compress-all --compress-mode=size",
	    "-arch=sm_75 -Xfatbin -compress-all --compress-mode=none",
	    "-arch=sm_90 -rdc=true",
	};
	const char *nvcc = find_nvcc();
	const char *source, *built;

	(void)state;
	if (!nvcc)
		skip();
	source = make_file("fatbin.cu", nvcc_source, strlen(nvcc_source));
	built = fixture("fatbin-nvcc.so");
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		char command[2048];

		snprintf(command, sizeof(command),
			 "%s %s -cudart none -shared -Xcompiler -fPIC -o '%s' '%s' >'%s.log' 2>&1",
			 nvcc, options[i], built, source, built);
		assert_int_equal(system(command), 0);
		check_built(built);
	}
}

static void truncated(void **state)
{
	const struct part part = {".nv_fatbin", sample_lz4, sizeof(sample_lz4)};
	struct fsc_buf program = {0}, sample = {0};
	struct seen seen;

	(void)state;
	build_program(&program);
	assert_int_equal(read_program(program.s, program.n, &seen), 7);
	for (size_t n = 0; n < program.n; n++)
		read_program(program.s, n, &seen);
	/* The table is at the end, so that programs cut short have no sections; fatbins do. */
	for (size_t n = 0; n < part.n; n++) {
		struct fsc_buf cut = {0};

		build_elf(&cut, HOST_MACHINE, &(struct part){part.name, part.bytes, n}, 1);
		read_program(cut.s, cut.n, &seen);
		fsc_buf_release(&cut);
	}
	fsc_buf_release(&program);
	build_cubin(&sample, ".nv.info.k", 8);
	for (size_t n = 0; n < sample.n; n++) {
		FSC_AUTO(fsc_freep) char *cut = malloc(n + !n);

		assert_non_null(cut);
		memcpy(cut, sample.s, n);
		assert_int_equal(fsc_cubin_each(cut, n, note, &seen, NULL), 0);
	}
	fsc_buf_release(&sample);
}

/* Up to four bytes of n changed, and changed back. */
static void flip_and_read(char *bytes, size_t n)
{
	size_t at[4];
	char old[4];
	struct seen seen;

	for (int i = 0; i < 4; i++) {
		at[i] = (size_t)rand() % n;
		old[i] = bytes[at[i]];
		bytes[at[i]] = (char)(rand() % 4 ? rand() : rand() % 2 ? 0 : -1);
	}
	read_program(bytes, n, &seen);
	for (int i = 3; i >= 0; i--)
		bytes[at[i]] = old[i];
}

static void flipped(void **state)
{
	struct fsc_buf program = {0}, sample[2] = {0}, cubin = {0};
	struct seen seen;

	(void)state;
	srand(1);
	build_program(&program);
	build_elf(&sample[0], HOST_MACHINE,
		  &(struct part){".nv_fatbin", sample_lz4, sizeof(sample_lz4)}, 1);
	build_elf(&sample[1], HOST_MACHINE,
		  &(struct part){".nv_fatbin", sample_zstd, sizeof(sample_zstd)}, 1);
	build_cubin(&cubin, ".nv.info.k", 8);
	for (int i = 0; i < 1000; i++) {
		size_t at = (size_t)rand() % cubin.n;
		char old = cubin.s[at];

		flip_and_read(program.s, program.n);
		flip_and_read(sample[0].s, sample[0].n);
		flip_and_read(sample[1].s, sample[1].n);
		cubin.s[at] = (char)rand();
		assert_int_equal(fsc_cubin_each(cubin.s, cubin.n, note, &seen, NULL), 0);
		cubin.s[at] = old;
	}
	assert_int_equal(read_program(program.s, program.n, &seen), 7);
	fsc_buf_release(&program);
	fsc_buf_release(&sample[0]);
	fsc_buf_release(&sample[1]);
	fsc_buf_release(&cubin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(programs),	       cmocka_unit_test(refusals),
	    cmocka_unit_test(bombs),	       cmocka_unit_test(too_many_kernels),
	    cmocka_unit_test(samples_of_nvcc), cmocka_unit_test(nvcc_agrees),
	    cmocka_unit_test(truncated),       cmocka_unit_test(flipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
