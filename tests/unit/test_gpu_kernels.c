/* src/gpu/kernels.c: where the name of a kernel comes from: the record, what the program looked up,
 * or the function that stands for it on the host. */
#include <unistd.h>

#include "gpu_records.h"

static struct fsc_gpu_kernels *begin(struct gpu_world *w)
{
	struct fsc_gpu_events_opts opts;
	struct fsc_gpu_kernels *k;
	struct fsc_err err = {0};

	gpu_begin(w);
	opts = gpu_opts(w, 0);
	gpu_ok(fsc_gpu_kernels_new(&opts, &k, &err), &err);
	return k;
}

static void end(struct gpu_world *w, struct fsc_gpu_kernels *k)
{
	fsc_gpu_kernels_free(k);
	gpu_end(w);
}

/* A record with a name behind it, in memory that ends where it ends. */
static struct fsc_gpu_rec *with_name(struct fsc_gpu_rec r, const char *name, bool stack)
{
	size_t between = stack ? sizeof(struct fsc_gpu_rec_stack) : 0,
	       n = name ? strlen(name) + 1 : 0;
	char *bytes = calloc(1, sizeof(r) + between + n);

	assert_non_null(bytes);
	r.n_name = (uint32_t)n;
	r.flags |= stack ? FSC_GPU_REC_STACK : 0;
	memcpy(bytes, &r, sizeof(r));
	if (n)
		memcpy(bytes + sizeof(r) + between, name, n);
	return (struct fsc_gpu_rec *)(void *)bytes;
}

static struct fsc_gpu_event named(struct fsc_gpu_kernels *k, struct fsc_gpu_rec r, const char *name,
				  bool stack)
{
	struct fsc_gpu_rec *rec = with_name(r, name, stack);
	struct fsc_gpu_event e = {.type = FSC_GPU_EV_LAUNCH};
	struct fsc_err err = {0};

	gpu_ok(fsc_gpu_kernels_name(k, rec, fsc_gpu_rows[r.call].call.layer, &e, &err), &err);
	free(rec);
	return e;
}

static struct fsc_gpu_rec launch_of(uint64_t handle)
{
	struct fsc_gpu_rec r = gpu_record("cuLaunchKernel", 10, 20);

	r.addr = handle;
	return r;
}

static void learn(struct fsc_gpu_kernels *k, uint64_t handle, const char *name)
{
	struct fsc_gpu_rec r = gpu_record("cuModuleGetFunction", 1, 2), *rec;
	struct fsc_err err = {0};

	r.addr = handle;
	rec = with_name(r, name, false);
	gpu_ok(fsc_gpu_kernels_learn(k, rec, false, &err), &err);
	free(rec);
}

static void alias(struct fsc_gpu_kernels *k, uint64_t handle, uint64_t from)
{
	struct fsc_gpu_rec r = gpu_record("cuKernelGetFunction", 1, 2);
	struct fsc_err err = {0};

	r.addr = handle;
	r.src = from;
	gpu_ok(fsc_gpu_kernels_learn(k, &r, true, &err), &err);
}

static void the_name_in_the_record_is_shown_demangled(void **state)
{
	struct gpu_world w;
	struct fsc_gpu_kernels *k = begin(&w);
	struct fsc_gpu_event e = named(k, launch_of(1), "_Z3addPfi", false), again;

	(void)state;
	assert_string_equal(e.symbol, "_Z3addPfi");
	assert_string_equal(e.kernel, "add(float*, int)");
	again = named(k, launch_of(2), "_Z3addPfi", true); /* behind a stack */
	assert_ptr_equal(again.kernel, e.kernel);
	e = named(k, launch_of(1), "plain_kernel", false);
	assert_string_equal(e.kernel, "plain_kernel");
	end(&w, k);
}

/* An object that is not what we think has anything where the name would be. */
static void what_is_no_name_is_not_taken_for_one(void **state)
{
	static const char *const no[] = {"", "1abc", "a b", "ab\x01", "a\xff", "-x", "a/b"};
	static const char *const yes[] = {"_x", "$x", "a.b", "a@b", "A1"};
	struct gpu_world w;
	struct fsc_gpu_kernels *k = begin(&w);

	(void)state;
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_null(named(k, launch_of(1), no[i], false).kernel);
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		assert_string_equal(named(k, launch_of(1), yes[i], false).symbol, yes[i]);
	assert_null(named(k, launch_of(1), NULL, false).symbol);
	end(&w, k);
}

static void a_handle_has_the_name_it_was_looked_up_by(void **state)
{
	struct gpu_world w;
	struct fsc_gpu_kernels *k = begin(&w);
	struct fsc_gpu_rec other = launch_of(0x10);

	(void)state;
	learn(k, 0x10, "_Z3subPf");
	learn(k, 0, "nothing");
	learn(k, 0x30, "not a name");
	alias(k, 0x20, 0x10);
	alias(k, 0x40, 0x99); /* of nobody */
	assert_string_equal(named(k, launch_of(0x10), NULL, false).kernel, "sub(float*)");
	assert_string_equal(named(k, launch_of(0x20), NULL, false).symbol, "_Z3subPf");
	assert_null(named(k, launch_of(0), NULL, false).kernel);
	assert_null(named(k, launch_of(0x30), NULL, false).kernel);
	assert_null(named(k, launch_of(0x40), NULL, false).kernel);
	/* What the record says is newer. */
	assert_string_equal(named(k, launch_of(0x10), "fresh", false).kernel, "fresh");
	other.pid = GPU_OTHER_PID;
	assert_null(named(k, other, NULL, false).kernel);
	learn(k, 0x10, "another"); /* a module was unloaded, and the handle has come again */
	assert_string_equal(named(k, launch_of(0x10), NULL, false).kernel, "another");
	end(&w, k);
}

/* What stands for a kernel on the host, in programs of up to CUDA 12. */
__attribute__((noinline, used)) void __device_stub__saxpy(void);
__attribute__((noinline, used)) void __device_stub__saxpy(void)
{
	__asm__ volatile("" ::: "memory");
}

static void the_runtime_knows_a_kernel_by_its_function_on_the_host(void **state)
{
	struct gpu_world w;
	struct fsc_gpu_kernels *k = begin(&w);
	struct fsc_gpu_rec r = gpu_record("cudaLaunchKernel", 10, 20);
	struct fsc_err err = {0};
	struct fsc_gpu_event e;

	(void)state;
	gpu_ok(fsc_namer_add_process(w.namer, getpid(), &err), &err);
	r.pid = (uint32_t)getpid();
	r.addr = (uintptr_t)__device_stub__saxpy;
	e = named(k, r, NULL, false);
	assert_string_equal(e.kernel, "saxpy");
	assert_string_equal(e.symbol, "saxpy");
	r.call = gpu_call("cuLaunchKernel"); /* the driver's are handles, not addresses */
	assert_null(named(k, r, NULL, false).kernel);
	end(&w, k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_name_in_the_record_is_shown_demangled),
	    cmocka_unit_test(what_is_no_name_is_not_taken_for_one),
	    cmocka_unit_test(a_handle_has_the_name_it_was_looked_up_by),
	    cmocka_unit_test(the_runtime_knows_a_kernel_by_its_function_on_the_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
