/* src/sink/gpu_*.c, perfetto.c: what each format makes of what CUDA programs did, to the byte, with
 * names that hurt, with strings that are not known, and where memory runs out of columns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "pb_read.h"
#include "sink/gpu_prometheus.h"
#include "sink/sink.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

struct written {
	struct fsc_sink sink;
	char *out;
	size_t n;
};

static void begin(struct written *w, const struct fsc_sink_ops *ops)
{
	*w = (struct written){.sink = {.ops = ops}};
	w->sink.out = open_memstream(&w->out, &w->n);
	assert_non_null(w->sink.out);
	w->sink.side = w->sink.out;
}

static void event(struct written *w, const struct fsc_gpu_event *e)
{
	struct fsc_err err = {0};

	assert_int_equal(fsc_sink_gpu_event(&w->sink, e, &err), 0);
}

static void report(struct written *w, const struct fsc_gpu_report *r)
{
	struct fsc_err err = {0};

	assert_int_equal(fsc_sink_gpu_report(&w->sink, r, &err), 0);
}

static const struct fsc_summary books = {.seen = 10,
					 .kept = 7,
					 .lost = {{"ring_full", 2}, {FSC_UNRETURNED, 1}},
					 .functions = 1,
					 .attached = 1,
					 .places = 1,
					 .via = {{"uprobe.multi", 1}}};

static void summary(struct written *w)
{
	struct fsc_err err = {0};

	assert_int_equal(fsc_sink_summary(&w->sink, &books, &err), 0);
}

static void end(struct written *w, const char *out)
{
	fsc_sink_release(&w->sink);
	fclose(w->sink.out);
	assert_string_equal(w->out, out);
	free(w->out);
}

/* ---- events ---- */

static const char *const frames[] = {"cuLaunchKernel", "__cudaLaunchKernel", "train<float>(int)",
				     "main"};
static const char *const cuda_frames[] = {"cuMemAlloc_v2 (libcuda.so.1)",
					  "[unknown] (libcudart.so.13+0x1)"};
static const char *const lines[] = {"step (train.py:12)", "<module> (train.py:3)"};
static const uint64_t args[] = {0xffffffff00000001, 0x7f0000001234, 0x12345678};
static const uint16_t arg_sizes[] = {4, 8, 1};

#define CALLER(name, gpu) .pid = 100, .tid = 101, .ppid = 1, .comm = (name), .device = (gpu)

static const struct fsc_gpu_event launch = {CALLER("python3", 1),
					    .type = FSC_GPU_EV_LAUNCH,
					    .time_ns = 1000001,
					    .api = "cuLaunchKernel",
					    .via = "cudaLaunchKernel",
					    .library = "cublasGemmEx",
					    .owner = "libcublasLt.so.13",
					    .launch = FSC_GPU_KERNEL,
					    .kernel = "gemm<float>(float*, int)",
					    .symbol = "_Z4gemmIfEvPT_i",
					    .grid = {128, 2, 1},
					    .block = {256, 1, 1},
					    .shared = 4096,
					    .stream = 0x7f10,
					    .args = args,
					    .arg_sizes = arg_sizes,
					    .n_args = 3,
					    .stack = {frames, 4, lines, 2}};
static const struct fsc_gpu_event captured = {CALLER("python3", -1),
					      .type = FSC_GPU_EV_LAUNCH,
					      .time_ns = 1000500,
					      .api = "cuLaunchKernelEx",
					      .launch = FSC_GPU_COOPERATIVE,
					      .captured = true,
					      .grid = {1, 1, 1},
					      .block = {1, 1, 1},
					      .args = args,
					      .n_args = 1};
static const struct fsc_gpu_event graph = {
    CALLER("python3", -1), .inner_pid = 7,	   .type = FSC_GPU_EV_LAUNCH,
    .time_ns = 1001000,	   .api = "cuGraphLaunch", .launch = FSC_GPU_GRAPH_LAUNCH,
    .graph_kernels = 12};
static const struct fsc_gpu_event alloc = {CALLER("python3", 0),
					   .type = FSC_GPU_EV_ALLOC,
					   .time_ns = 2000000,
					   .dur_ns = 5500,
					   .timed = true,
					   .api = "cuMemAlloc_v2",
					   .via = "cudaMalloc",
					   .owner = "prog",
					   .mem = FSC_GPU_MEM_DEVICE,
					   .addr = 0x7f2000000000,
					   .bytes = 2 << 20};
static const struct fsc_gpu_event pinned = {CALLER("python3", -1),
					    .type = FSC_GPU_EV_ALLOC,
					    .time_ns = 2100000,
					    .api = "cuMemHostAlloc",
					    .mem = FSC_GPU_MEM_PINNED,
					    .addr = 0x10,
					    .bytes = 4096};
static const struct fsc_gpu_event given_back = {CALLER("python3", -1),
						.type = FSC_GPU_EV_FREE,
						.time_ns = 3000000,
						.dur_ns = 1000,
						.timed = true,
						.api = "cuMemFree_v2",
						.mem = FSC_GPU_MEM_DEVICE,
						.addr = 0x7f2000000000,
						.bytes = 1 << 20,
						.known = true};
static const struct fsc_gpu_event unknown_free = {CALLER("python3", -1),
						  .type = FSC_GPU_EV_FREE,
						  .time_ns = 3100000,
						  .api = "cuMemFree_v2",
						  .mem = FSC_GPU_MEM_DEVICE,
						  .addr = 0x20,
						  .bytes = 77};
static const struct fsc_gpu_event copy = {CALLER("python3", -1),
					  .type = FSC_GPU_EV_COPY,
					  .time_ns = 4000000,
					  .dur_ns = 2000,
					  .timed = true,
					  .api = "cuMemcpyHtoD_v2",
					  .dir = FSC_GPU_H2D,
					  .addr = 0x30,
					  .src = 0x40,
					  .bytes = 8192,
					  .host = FSC_GPU_HOST_PAGEABLE,
					  .timing = FSC_GPU_COMPLETE};
static const struct fsc_gpu_event enqueued = {CALLER("python3", -1), .type = FSC_GPU_EV_COPY,
					      .time_ns = 4100000,    .dur_ns = 900,
					      .timed = true,	     .api = "cuMemcpyBatchAsync",
					      .dir = FSC_GPU_D2D,    .bytes = 100,
					      .cut = true,	     .async = true,
					      .stream = 0x7f10,	     .timing = FSC_GPU_ENQUEUE};
static const struct fsc_gpu_event set = {CALLER("python3", -1), .type = FSC_GPU_EV_MEMSET,
					 .time_ns = 4200000,	.api = "cuMemsetD8Async",
					 .bytes = 64,		.addr = 0x50,
					 .async = true};
static const struct fsc_gpu_event sync_event = {
    CALLER("python3", -1), .type = FSC_GPU_EV_SYNC,	 .time_ns = 5000000, .dur_ns = 1500000,
    .timed = true,	   .api = "cuStreamSynchronize", .stream = 0x7f10};
static const struct fsc_gpu_event tensor = {
    CALLER("python3", -1), .type = FSC_GPU_EV_TENSOR, .time_ns = 6000000, .addr = 0x60,
    .delta = -512,	   .allocated = 1024,	      .reserved = 2 << 20};
static const struct fsc_gpu_event failed = {CALLER("python3", 0),
					    .type = FSC_GPU_EV_ALLOC,
					    .time_ns = 7000000,
					    .dur_ns = 100,
					    .timed = true,
					    .api = "cuMemAlloc_v2",
					    .via = "cudaMalloc",
					    .owner = "libtorch_cuda.so",
					    .ret = 2,
					    .error = "CUDA_ERROR_OUT_OF_MEMORY",
					    .bytes = 3ull << 30,
					    .stack = {cuda_frames, 2, lines, 2}};
static const struct fsc_gpu_event other = {CALLER("a\"b\n", -1), .type = FSC_GPU_EV_OTHER,
					   .time_ns = 7100000,	 .api = "cuCtxCreate_v4",
					   .ret = 100,		 .error = "CUDA_ERROR_NO_DEVICE"};

static const struct fsc_gpu_event *const all[] = {
    &launch, &captured, &graph, &alloc,	     &pinned, &given_back, &unknown_free,
    &copy,   &enqueued, &set,	&sync_event, &tensor, &failed,	   &other};

static void json_events(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_json);
	for (size_t i = 0; i < N(all); i++)
		event(&w, all[i]);
	end(&w,
	    "{\"type\":\"gpu_launch\",\"time_ns\":1000001,\"pid\":100,\"tid\":101,\"ppid\":1,"
	    "\"comm\":\"python3\",\"api\":\"cuLaunchKernel\",\"via\":\"cudaLaunchKernel\","
	    "\"library\":\"cublasGemmEx\",\"owner\":\"libcublasLt.so.13\",\"device\":1,"
	    "\"kind\":\"kernel\",\"kernel\":\"gemm<float>(float*, "
	    "int)\",\"symbol\":\"_Z4gemmIfEvPT_i\",\"grid\":[128,2,1],\"block\":[256,1,1],"
	    "\"shared\":4096,\"stream\":\"0x7f10\",\"captured\":false,\"args\":[\"0x1\","
	    "\"0x7f0000001234\",\"0x78\"],\"stack\":[\"cuLaunchKernel\",\"__cudaLaunchKernel\","
	    "\"train<float>(int)\",\"main\"],\"python\":[\"step (train.py:12)\",\"<module> "
	    "(train.py:3)\"]}\n"
	    "{\"type\":\"gpu_launch\",\"time_ns\":1000500,\"pid\":100,\"tid\":101,\"ppid\":1,"
	    "\"comm\":\"python3\",\"api\":\"cuLaunchKernelEx\",\"device\":null,\"kind\":"
	    "\"cooperative\",\"grid\":[1,1,1],\"block\":[1,1,1],\"shared\":0,\"stream\":\"0x0\","
	    "\"captured\":true,\"args\":[\"0xffffffff00000001\"]}\n"
	    "{\"type\":\"gpu_launch\",\"time_ns\":1001000,\"pid\":100,\"tid\":101,\"ppid\":1,"
	    "\"inner_pid\":7,\"comm\":\"python3\",\"api\":\"cuGraphLaunch\",\"device\":null,"
	    "\"kind\":\"graph\",\"graph_kernels\":12,\"stream\":\"0x0\",\"captured\":"
	    "false}\n"
	    "{\"type\":\"gpu_alloc\",\"time_ns\":2000000,\"pid\":100,\"tid\":101,\"ppid\":1,"
	    "\"comm\":\"python3\",\"api\":\"cuMemAlloc_v2\",\"via\":\"cudaMalloc\",\"owner\":"
	    "\"prog\",\"device\":0,\"ret\":0,\"kind\":\"device\",\"address\":\"0x7f2000000000\","
	    "\"bytes\":2097152,\"duration_ns\":5500}\n"
	    "{\"type\":\"gpu_alloc\",\"time_ns\":2100000,\"pid\":100,\"tid\":101,\"ppid\":1,"
	    "\"comm\":\"python3\",\"api\":\"cuMemHostAlloc\",\"device\":null,\"kind\":"
	    "\"pinned\",\"address\":\"0x10\",\"bytes\":4096}\n"
	    "{\"type\":\"gpu_free\",\"time_ns\":3000000,\"pid\":100,\"tid\":101,\"ppid\":1,"
	    "\"comm\":\"python3\",\"api\":\"cuMemFree_v2\",\"device\":null,\"ret\":0,\"kind\":"
	    "\"device\",\"address\":\"0x7f2000000000\",\"bytes\":1048576,\"known\":true,\"duration_"
	    "ns\":1000}\n"
	    "{\"type\":\"gpu_free\",\"time_ns\":3100000,\"pid\":100,\"tid\":101,\"ppid\":1,"
	    "\"comm\":\"python3\",\"api\":\"cuMemFree_v2\",\"device\":null,\"kind\":"
	    "\"device\",\"address\":\"0x20\",\"bytes\":null,\"known\":false}\n"
	    "{\"type\":\"gpu_copy\",\"time_ns\":4000000,\"pid\":100,\"tid\":101,\"ppid\":1,"
	    "\"comm\":\"python3\",\"api\":\"cuMemcpyHtoD_v2\",\"device\":null,\"ret\":0,"
	    "\"direction\":\"H2D\",\"bytes\":8192,\"dst\":\"0x30\",\"src\":\"0x40\",\"host\":"
	    "\"pageable\",\"async\":false,\"stream\":\"0x0\",\"duration_ns\":2000,\"bandwidth\":"
	    "4096000000,\"timing\":\"complete\"}\n"
	    "{\"type\":\"gpu_copy\",\"time_ns\":4100000,\"pid\":100,\"tid\":101,\"ppid\":1,"
	    "\"comm\":\"python3\",\"api\":\"cuMemcpyBatchAsync\",\"device\":null,\"ret\":0,"
	    "\"direction\":\"D2D\",\"bytes\":100,\"dst\":\"0x0\",\"src\":\"0x0\",\"async\":true,"
	    "\"cut\":true,\"stream\":\"0x7f10\",\"duration_ns\":900,\"timing\":\"enqueue\"}\n"
	    "{\"type\":\"gpu_memset\",\"time_ns\":4200000,\"pid\":100,\"tid\":101,\"ppid\":1,"
	    "\"comm\":\"python3\",\"api\":\"cuMemsetD8Async\",\"device\":null,\"bytes\":"
	    "64,\"dst\":\"0x50\",\"async\":true,\"stream\":\"0x0\"}\n"
	    "{\"type\":\"gpu_sync\",\"time_ns\":5000000,\"pid\":100,\"tid\":101,\"ppid\":1,"
	    "\"comm\":\"python3\",\"api\":\"cuStreamSynchronize\",\"device\":null,\"ret\":0,"
	    "\"duration_ns\":1500000,\"stream\":\"0x7f10\"}\n"
	    "{\"type\":\"gpu_tensor\",\"time_ns\":6000000,\"pid\":100,\"tid\":101,\"ppid\":1,"
	    "\"comm\":\"python3\",\"device\":null,\"address\":\"0x60\",\"delta\":-512,"
	    "\"allocated\":1024,\"reserved\":2097152}\n"
	    "{\"type\":\"gpu_error\",\"time_ns\":7000000,\"pid\":100,\"tid\":101,\"ppid\":1,"
	    "\"comm\":\"python3\",\"api\":\"cuMemAlloc_v2\",\"via\":\"cudaMalloc\",\"owner\":"
	    "\"libtorch_cuda.so\",\"device\":0,\"ret\":2,\"op\":\"alloc\",\"code\":2,\"error\":"
	    "\"CUDA_ERROR_OUT_OF_MEMORY\",\"kind\":\"device\",\"address\":\"0x0\",\"bytes\":"
	    "3221225472,\"duration_ns\":100,\"stack\":[\"cuMemAlloc_v2 "
	    "(libcuda.so.1)\",\"[unknown] (libcudart.so.13+0x1)\"],\"python\":[\"step "
	    "(train.py:12)\",\"<module> (train.py:3)\"]}\n"
	    "{\"type\":\"gpu_error\",\"time_ns\":7100000,\"pid\":100,\"tid\":101,\"ppid\":1,"
	    "\"comm\":\"a\\\"b\\u000a\",\"api\":\"cuCtxCreate_v4\",\"device\":null,\"ret\":100,"
	    "\"op\":\"other\",\"code\":100,\"error\":\"CUDA_ERROR_NO_DEVICE\"}\n");
}

/* ---- reports ---- */

static const struct fsc_gpu_process_row processes[] = {
    {.pid = 100,
     .ppid = 1,
     .comm = "python3",
     .python = true,
     .before = true,
     .launches = 1234567,
     .allocs = 20,
     .frees = 18,
     .unknown_frees = 3,
     .copies = 400,
     .memsets = 2,
     .syncs = 50,
     .errors = 1,
     .sync_ns = 1234000000,
     .live_bytes = 3ull << 30,
     .peak_bytes = 5ull << 30,
     .first_ns = 1,
     .last_ns = 2},
    {.pid = 2000000, .inner_pid = 7, .ppid = 100, .comm = "bad\033name", .ended = true}};
static const struct fsc_gpu_kernel_row kernels[] = {
    {.kernel =
	 "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add>(int)",
     .owner = "libtorch_cuda.so",
     .launches = 600,
     .grid = {1024, 8, 2},
     .block = {256, 1, 1},
     .shared = 16},
    {.kernel = "gemm",
     .owner = "libcublasLt.so.13",
     .library = "cublasGemmEx",
     .launches = 300,
     .captured = 100,
     .grid = {16, 1, 4},
     .block = {32, 4, 1}},
    {.owner = "prog", .launches = 60, .grid = {1, 1, 1}, .block = {64, 1, 1}},
    {.launch = FSC_GPU_GRAPH_LAUNCH, .launches = 40}};
static const struct fsc_gpu_mem_row memory[] = {{.pid = 100,
						 .comm = "python3",
						 .owner = "libtorch_cuda.so",
						 .mem = FSC_GPU_MEM_DEVICE,
						 .allocs = 20,
						 .frees = 18,
						 .failed = 1,
						 .bytes = 10ull << 30,
						 .live = 2,
						 .live_bytes = 3ull << 30,
						 .peak_bytes = 5ull << 30},
						{.pid = 2000000,
						 .comm = "bad\033name",
						 .mem = FSC_GPU_MEM_REGISTERED,
						 .allocs = 1,
						 .bytes = 1000,
						 .live = 1,
						 .live_bytes = 1000,
						 .peak_bytes = 1000},
						{.pid = 200,
						 .owner = "libtorch_cuda.so",
						 .mem = FSC_GPU_MEM_DEVICE,
						 .allocs = 5,
						 .frees = 5,
						 .bytes = 1 << 20,
						 .peak_bytes = 1048000}};
static const struct fsc_gpu_copy_row copies[] = {{.dir = FSC_GPU_H2D,
						  .host = FSC_GPU_HOST_PAGEABLE,
						  .copies = 100,
						  .bytes = 1 << 30,
						  .timed_bytes = 1 << 29,
						  .timed_ns = 100000000,
						  .sized = {99, 0, 0, 1},
						  .speeds = {{0, 90, 9}, {0}, {0}, {[12] = 1}}},
						 {.dir = FSC_GPU_D2H,
						  .host = FSC_GPU_HOST_PINNED,
						  .async = true,
						  .copies = 300,
						  .bytes = 12345,
						  .sized = {300}}};
static const struct fsc_gpu_sync_row syncs[] = {
    {.api = "cuStreamSynchronize",
     .via = "cudaStreamSynchronize",
     .calls = 40,
     .ns = 1200000000,
     .max_ns = 90000000,
     .stack = {frames, 4, lines, 2}},
    {.api = "cuCtxSynchronize", .calls = 10, .ns = 34000000, .max_ns = 9000, .stack = {frames, 4}},
    {.api = "cuCtxSynchronize", .calls = 1, .ns = 5, .max_ns = 5}};
static const struct fsc_gpu_error_row errors[] = {{.api = "cuMemAlloc_v2",
						   .via = "cudaMalloc",
						   .error = "CUDA_ERROR_OUT_OF_MEMORY",
						   .code = 2,
						   .n = 3,
						   .stack = {cuda_frames, 2}},
						  {.api = "cuMemAlloc_v2",
						   .error = "CUDA_ERROR_OUT_OF_MEMORY",
						   .code = 2,
						   .n = 1,
						   .stack = {frames, 4, lines, 1}},
						  {.api = "cuLaunchKernel", .code = 98, .n = 1}};
static const struct fsc_gpu_leak_row leaks[] = {{.pid = 100,
						 .comm = "python3",
						 .owner = "libtorch_cuda.so",
						 .mem = FSC_GPU_MEM_DEVICE,
						 .allocs = 2,
						 .bytes = 3ull << 30,
						 .oldest_s = 12.5,
						 .newest_s = 0.25,
						 .growth = 1.5 * 1024 * 1024,
						 .stack = {frames, 4, lines, 2}},
						{.pid = 2000000,
						 .comm = "bad\033name",
						 .ended = true,
						 .mem = FSC_GPU_MEM_REGISTERED,
						 .allocs = 1,
						 .bytes = 1000,
						 .oldest_s = 3,
						 .newest_s = 3}};
static const struct fsc_gpu_oom ooms[] = {{.event = failed,
					   .holders = leaks,
					   .n_holders = 2,
					   .last = &alloc,
					   .n_last = 1,
					   .live_bytes = 70ull << 30,
					   .allocated = 60ull << 30,
					   .reserved = 65ull << 30,
					   .retried = true}};
static const struct fsc_gpu_coverage_row coverage[] = {
    {.file = "/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05", .hooked = 98},
    {.file = "/home/u/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcudart.so.13",
     .layer = FSC_GPU_RUNTIME,
     .hooked = 40,
     .refused = 2,
     .note = "optimised for \033[1mspeed"},
    {.file = "libcublas.so.13", .layer = FSC_GPU_LIBRARY, .hooked = 0, .refused = 1}};
static const char *const findings[] = {
    "asynchronous copies from pageable memory wait: 300 of them took 1.2 s, at step (train.py:12); "
    "pin the memory",
    "short"};

static const struct fsc_gpu_report whole = {.time_ns = 1700000000123456789,
					    .seconds = 5.04,
					    .processes = processes,
					    .n_processes = N(processes),
					    .kernels = kernels,
					    .n_kernels = N(kernels),
					    .kernels_left_out = 2,
					    .launches = 1010,
					    .unnamed = 60,
					    .captured = 100,
					    .graphs = 40,
					    .copies = copies,
					    .n_copies = N(copies),
					    .memsets = 2,
					    .memset_bytes = 3000,
					    .memory = memory,
					    .n_memory = N(memory),
					    .syncs = syncs,
					    .n_syncs = N(syncs),
					    .errors = errors,
					    .n_errors = N(errors),
					    .leaks = leaks,
					    .n_leaks = N(leaks),
					    .ooms = ooms,
					    .n_ooms = N(ooms),
					    .coverage = coverage,
					    .n_coverage = N(coverage),
					    .findings = findings,
					    .n_findings = N(findings),
					    .unseen_frees = 3,
					    .last = true};

/* The rows of reports have the time where there are several, but for events, which have theirs. */
static void json_report(void **state)
{
	const struct fsc_gpu_report few = {.time_ns = 5,
					   .copies = copies,
					   .n_copies = 1,
					   .ooms = &(struct fsc_gpu_oom){.event = other},
					   .n_ooms = 1};
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_json);
	report(&w, &whole);
	end(&w,
	    "{\"type\":\"gpu_report\",\"time_ns\":1700000000123456789,\"seconds\":5.040,\"last\":"
	    "true,\"processes\":2,\"launches\":1010,\"unnamed\":60,\"captured\":100,\"graphs\":40,"
	    "\"kernels\":4,\"kernels_left_out\":2,\"memsets\":2,\"memset_bytes\":3000,\"unseen_"
	    "frees\":3,\"pending_copies\":0,\"verdicts_full\":0,\"python_full\":0}\n"
	    "{\"type\":\"gpu_process\",\"pid\":100,\"ppid\":1,\"comm\":\"python3\",\"ended\":false,"
	    "\"python\":true,\"before\":true,\"launches\":1234567,\"allocs\":20,\"frees\":18,"
	    "\"unknown_frees\":3,\"copies\":400,\"memsets\":2,\"syncs\":50,\"errors\":1,\"sync_"
	    "ns\":1234000000,\"live_bytes\":3221225472,\"peak_bytes\":5368709120,\"first_ns\":1,"
	    "\"last_ns\":2}\n"
	    "{\"type\":\"gpu_process\",\"pid\":2000000,\"inner_pid\":7,\"ppid\":100,\"comm\":"
	    "\"bad\\u001bname\",\"ended\":true,\"python\":false,\"before\":false,\"launches\":0,"
	    "\"allocs\":0,\"frees\":0,\"unknown_frees\":0,\"copies\":0,\"memsets\":0,\"syncs\":0,"
	    "\"errors\":0,\"sync_ns\":0,\"live_bytes\":0,\"peak_bytes\":0,\"first_ns\":0,\"last_"
	    "ns\":0}\n"
	    "{\"type\":\"gpu_kernel\",\"kernel\":\"void "
	    "at::native::vectorized_elementwise_kernel<4, "
	    "at::native::CUDAFunctor_add>(int)\",\"owner\":\"libtorch_cuda.so\",\"kind\":"
	    "\"kernel\",\"launches\":600,\"captured\":0,\"grid\":[1024,8,2],\"block\":[256,1,1],"
	    "\"shared\":16}\n"
	    "{\"type\":\"gpu_kernel\",\"kernel\":\"gemm\",\"owner\":\"libcublasLt.so.13\","
	    "\"library\":\"cublasGemmEx\",\"kind\":\"kernel\",\"launches\":300,\"captured\":100,"
	    "\"grid\":[16,1,4],\"block\":[32,4,1],\"shared\":0}\n"
	    "{\"type\":\"gpu_kernel\",\"kernel\":null,\"owner\":\"prog\",\"kind\":\"kernel\","
	    "\"launches\":60,\"captured\":0,\"grid\":[1,1,1],\"block\":[64,1,1],\"shared\":0}\n"
	    "{\"type\":\"gpu_kernel\",\"kernel\":null,\"kind\":\"graph\",\"launches\":40,"
	    "\"captured\":0}\n"
	    "{\"type\":\"gpu_memory\",\"pid\":100,\"comm\":\"python3\",\"owner\":\"libtorch_cuda."
	    "so\",\"kind\":\"device\",\"allocs\":20,\"frees\":18,\"failed\":1,\"bytes\":"
	    "10737418240,\"live\":2,\"live_bytes\":3221225472,\"peak_bytes\":5368709120}\n"
	    "{\"type\":\"gpu_memory\",\"pid\":2000000,\"comm\":\"bad\\u001bname\",\"kind\":"
	    "\"registered\",\"allocs\":1,\"frees\":0,\"failed\":0,\"bytes\":1000,\"live\":1,\"live_"
	    "bytes\":1000,\"peak_bytes\":1000}\n"
	    "{\"type\":\"gpu_memory\",\"pid\":200,\"owner\":\"libtorch_cuda.so\",\"kind\":"
	    "\"device\",\"allocs\":5,\"frees\":5,\"failed\":0,\"bytes\":1048576,\"live\":0,\"live_"
	    "bytes\":0,\"peak_bytes\":1048000}\n"
	    "{\"type\":\"gpu_copies\",\"direction\":\"H2D\",\"host\":\"pageable\",\"async\":false,"
	    "\"copies\":100,\"bytes\":1073741824,\"timed_bytes\":536870912,\"timed_ns\":100000000,"
	    "\"bandwidth\":5368709120,\"hidden_syncs\":0,\"sizes\":[{\"size\":\"< 4 "
	    "KB\",\"copies\":99,\"speeds\":[0,90,9]},{\"size\":\"< 16 "
	    "MB\",\"copies\":1,\"speeds\":[0,0,0,0,0,0,0,0,0,0,0,0,1]}]}\n"
	    "{\"type\":\"gpu_copies\",\"direction\":\"D2H\",\"host\":\"pinned\",\"async\":true,"
	    "\"copies\":300,\"bytes\":12345,\"timed_bytes\":0,\"timed_ns\":0,\"hidden_syncs\":0,"
	    "\"sizes\":[{\"size\":\"< 4 KB\",\"copies\":300,\"speeds\":[]}]}\n"
	    "{\"type\":\"gpu_syncs\",\"api\":\"cuStreamSynchronize\",\"via\":"
	    "\"cudaStreamSynchronize\",\"calls\":40,\"total_ns\":1200000000,\"max_ns\":90000000,"
	    "\"stack\":[\"cuLaunchKernel\",\"__cudaLaunchKernel\",\"train<float>(int)\",\"main\"],"
	    "\"python\":[\"step (train.py:12)\",\"<module> (train.py:3)\"]}\n"
	    "{\"type\":\"gpu_syncs\",\"api\":\"cuCtxSynchronize\",\"calls\":10,\"total_ns\":"
	    "34000000,\"max_ns\":9000,\"stack\":[\"cuLaunchKernel\",\"__cudaLaunchKernel\",\"train<"
	    "float>(int)\",\"main\"]}\n"
	    "{\"type\":\"gpu_syncs\",\"api\":\"cuCtxSynchronize\",\"calls\":1,\"total_ns\":5,\"max_"
	    "ns\":5}\n"
	    "{\"type\":\"gpu_errors\",\"api\":\"cuMemAlloc_v2\",\"via\":\"cudaMalloc\",\"code\":2,"
	    "\"error\":\"CUDA_ERROR_OUT_OF_MEMORY\",\"count\":3,\"stack\":[\"cuMemAlloc_v2 "
	    "(libcuda.so.1)\",\"[unknown] (libcudart.so.13+0x1)\"]}\n"
	    "{\"type\":\"gpu_errors\",\"api\":\"cuMemAlloc_v2\",\"code\":2,\"error\":\"CUDA_ERROR_"
	    "OUT_OF_MEMORY\",\"count\":1,\"stack\":[\"cuLaunchKernel\",\"__cudaLaunchKernel\","
	    "\"train<float>(int)\",\"main\"],\"python\":[\"step (train.py:12)\"]}\n"
	    "{\"type\":\"gpu_errors\",\"api\":\"cuLaunchKernel\",\"code\":98,\"count\":1}\n"
	    "{\"type\":\"gpu_leak\",\"pid\":100,\"comm\":\"python3\",\"ended\":false,\"kind\":"
	    "\"device\",\"owner\":\"libtorch_cuda.so\",\"count\":2,\"bytes\":3221225472,\"oldest_"
	    "s\":12.500,\"newest_s\":0.250,\"growth\":1572864,\"stack\":[\"cuLaunchKernel\",\"__"
	    "cudaLaunchKernel\",\"train<float>(int)\",\"main\"],\"python\":[\"step "
	    "(train.py:12)\",\"<module> (train.py:3)\"]}\n"
	    "{\"type\":\"gpu_leak\",\"pid\":2000000,\"comm\":\"bad\\u001bname\",\"ended\":true,"
	    "\"kind\":\"registered\",\"count\":1,\"bytes\":1000,\"oldest_s\":3.000,\"newest_s\":3."
	    "000}\n"
	    "{\"type\":\"gpu_oom\",\"time_ns\":7000000,\"pid\":100,\"tid\":101,\"ppid\":1,\"comm\":"
	    "\"python3\",\"api\":\"cuMemAlloc_v2\",\"via\":\"cudaMalloc\",\"owner\":\"libtorch_"
	    "cuda.so\",\"device\":0,\"ret\":2,\"op\":\"alloc\",\"code\":2,\"error\":\"CUDA_ERROR_"
	    "OUT_OF_MEMORY\",\"kind\":\"device\",\"address\":\"0x0\",\"bytes\":3221225472,"
	    "\"duration_ns\":100,\"stack\":[\"cuMemAlloc_v2 (libcuda.so.1)\",\"[unknown] "
	    "(libcudart.so.13+0x1)\"],\"python\":[\"step (train.py:12)\",\"<module> "
	    "(train.py:3)\"],\"live_bytes\":75161927680,\"torch_allocated\":64424509440,\"torch_"
	    "reserved\":69793218560,\"retried\":true,\"holders\":[{\"pid\":100,\"comm\":"
	    "\"python3\",\"ended\":false,\"kind\":\"device\",\"owner\":\"libtorch_cuda.so\","
	    "\"count\":2,\"bytes\":3221225472,\"oldest_s\":12.500,\"newest_s\":0.250,\"growth\":"
	    "1572864,\"stack\":[\"cuLaunchKernel\",\"__cudaLaunchKernel\",\"train<float>(int)\","
	    "\"main\"],\"python\":[\"step (train.py:12)\",\"<module> "
	    "(train.py:3)\"]},{\"pid\":2000000,\"comm\":\"bad\\u001bname\",\"ended\":true,\"kind\":"
	    "\"registered\",\"count\":1,\"bytes\":1000,\"oldest_s\":3.000,\"newest_s\":3.000}],"
	    "\"last\":[{\"time_ns\":2000000,\"pid\":100,\"tid\":101,\"ppid\":1,\"comm\":"
	    "\"python3\",\"api\":\"cuMemAlloc_v2\",\"via\":\"cudaMalloc\",\"owner\":\"prog\","
	    "\"device\":0,\"ret\":0,\"kind\":\"device\",\"address\":\"0x7f2000000000\",\"bytes\":"
	    "2097152,\"duration_ns\":5500}]}\n"
	    "{\"type\":\"gpu_finding\",\"text\":\"asynchronous copies from pageable memory wait: "
	    "300 of them took 1.2 s, at step (train.py:12); pin the memory\"}\n"
	    "{\"type\":\"gpu_finding\",\"text\":\"short\"}\n"
	    "{\"type\":\"gpu_coverage\",\"file\":\"/usr/lib/x86_64-linux-gnu/"
	    "libcuda.so.580.95.05\",\"layer\":\"driver\",\"hooked\":98,\"refused\":0}\n"
	    "{\"type\":\"gpu_coverage\",\"file\":\"/home/u/venv/lib/python3.12/site-packages/"
	    "nvidia/cu13/lib/"
	    "libcudart.so.13\",\"layer\":\"runtime\",\"hooked\":40,\"refused\":2,\"note\":"
	    "\"optimised for \\u001b[1mspeed\"}\n"
	    "{\"type\":\"gpu_coverage\",\"file\":\"libcublas.so.13\",\"layer\":\"library\","
	    "\"hooked\":0,\"refused\":1}\n");
	begin(&w, &fsc_sink_json);
	w.sink.intervals = true;
	report(&w, &few);
	end(&w,
	    "{\"type\":\"gpu_report\",\"time_ns\":5,\"seconds\":0.000,\"last\":false,\"processes\":"
	    "0,\"launches\":0,\"unnamed\":0,\"captured\":0,\"graphs\":0,\"kernels\":0,\"kernels_"
	    "left_out\":0,\"memsets\":0,\"memset_bytes\":0,\"unseen_frees\":0,\"pending_copies\":0,"
	    "\"verdicts_full\":0,\"python_full\":0}\n"
	    "{\"type\":\"gpu_copies\",\"time_ns\":5,\"direction\":\"H2D\",\"host\":\"pageable\","
	    "\"async\":false,\"copies\":100,\"bytes\":1073741824,\"timed_bytes\":536870912,\"timed_"
	    "ns\":100000000,\"bandwidth\":5368709120,\"hidden_syncs\":0,\"sizes\":[{\"size\":\"< 4 "
	    "KB\",\"copies\":99,\"speeds\":[0,90,9]},{\"size\":\"< 16 "
	    "MB\",\"copies\":1,\"speeds\":[0,0,0,0,0,0,0,0,0,0,0,0,1]}]}\n"
	    "{\"type\":\"gpu_oom\",\"time_ns\":7100000,\"pid\":100,\"tid\":101,\"ppid\":1,\"comm\":"
	    "\"a\\\"b\\u000a\",\"api\":\"cuCtxCreate_v4\",\"device\":null,\"ret\":100,\"op\":"
	    "\"other\",\"code\":100,\"error\":\"CUDA_ERROR_NO_DEVICE\",\"live_bytes\":0,"
	    "\"retried\":false,\"holders\":[],\"last\":[]}\n");
}

static void text_report(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_text);
	w.sink.width = 80;
	event(&w, &launch);
	report(&w, &whole);
	end(&w,
	    "5.0 s: 2 processes, 1010 launches (40 of graphs, 100 captured, 60 unnamed)\n"
	    "\n"
	    "processes\n"
	    "    PID  COMM         LAUNCHES  COPIES  WAITED     LIVE  ERRORS  NOTE\n"
	    "    100  python3       1234567     400  1.23 s  3.00 GB       1  ran before\n"
	    "2000000  bad\\x1bname         0       0       -      0 B       0  ended, inside 7\n"
	    "\n"
	    "kernels (grid and block of the last launch)\n"
	    "LAUNCHES  SHARE      GRID  BLOCK  OWNER          KERNEL\n"
	    "     600  59.4%  1024x8x2    256  libtorch_cuda  void at::native::vectorized_el~\n"
	    "     300  29.7%    16x1x4   32x4  libcublasLt    gemm\n"
	    "      60   5.9%         1     64  prog           (unknown)\n"
	    "      40   4.0%         -      -  -              (graph)\n"
	    "2 more kernels (--top)\n"
	    "\n"
	    "memory\n"
	    "PROCESS               KIND        OWNER          ALLOCS  FREES     LIVE     PEAK\n"
	    "python3 [100]         device      libtorch_cuda      20     18  3.00 GB  5.00 GB\n"
	    "bad\\x1bname [200000~  registered  -                   1      0   1000 B   1000 B\n"
	    "[200]                 device      libtorch_cuda       5      5      0 B  1023 KB\n"
	    "3 frees of memory whose allocation was not seen\n"
	    "\n"
	    "copies\n"
	    "DIRECTION  HOST      HOW    COPIES    BYTES  BANDWIDTH\n"
	    "H2D        pageable  sync      100  1.00 GB  5.00 GB/s (50% timed)\n"
	    "D2H        pinned    async     300  12.1 KB  enqueued\n"
	    "2 memsets of 2.93 KB in all\n"
	    "\n"
	    "waits\n"
	    "CALLS    TOTAL      MAX  CALL                   WHERE\n"
	    "   40   1.20 s  90.0 ms  cudaStreamSynchronize  step (train.py:12)\n"
	    "   10  34.0 ms  9.00 us  cuCtxSynchronize       train<float>(int)\n"
	    "    1  5.00 ns  5.00 ns  cuCtxSynchronize       -\n"
	    "\n"
	    "errors\n"
	    "COUNT  CALL            ERROR                     WHERE\n"
	    "    3  cudaMalloc      CUDA_ERROR_OUT_OF_MEMORY  [unknown] (libcudart.so.13+0x1)\n"
	    "    1  cuMemAlloc_v2   CUDA_ERROR_OUT_OF_MEMORY  step (train.py:12)\n"
	    "    1  cuLaunchKernel  98                        -\n"
	    "\n"
	    "leaks\n"
	    "3.00 GB in 2 allocations of device memory by libtorch_cuda.so\n"
	    "    python3 [100]; oldest 12.5 s, newest 250 ms; grows by 1.50 MB/s\n"
	    "        step (train.py:12)\n"
	    "        <module> (train.py:3)\n"
	    "        cuLaunchKernel\n"
	    "        __cudaLaunchKernel\n"
	    "        train<float>(int)\n"
	    "        main\n"
	    "1000 B in 1 allocation of registered memory\n"
	    "    bad\\x1bname [2000000], ended; oldest 3.00 s\n"
	    "\n"
	    "out of memory\n"
	    "python3 [100] asked for 3.00 GB of device memory on GPU 0\n"
	    "    cudaMalloc said CUDA_ERROR_OUT_OF_MEMORY\n"
	    "    at step (train.py:12)\n"
	    "    it held 70.0 GB\n"
	    "    PyTorch had reserved 65.0 GB, 60.0 GB of it in use\n"
	    "    held by\n"
	    "        3.00 GB device, 2 allocations, libtorch_cuda: step (train.py:12)\n"
	    "        1000 B registered, 1 allocation, bad\\x1bname [2000000]: -\n"
	    "    allocations before it, newest first\n"
	    "        2.00 MB device: -\n"
	    "    it then freed memory and got the same size: slow, but not a failure\n"
	    "\n"
	    "findings\n"
	    "- asynchronous copies from pageable memory wait: 300 of them took 1.2 s, at step\n"
	    "  (train.py:12); pin the memory\n"
	    "- short\n"
	    "\n"
	    "coverage\n"
	    "FILE                                      LAYER    HOOKED  NOTE\n"
	    "...x86_64-linux-gnu/libcuda.so.580.95.05  driver       98  -\n"
	    "...kages/nvidia/cu13/lib/libcudart.so.13  runtime      40  2 refused; optimised~\n"
	    "libcublas.so.13                           library       0  1 refused\n");
}

/* Without a terminal nothing is cut; what there is nothing of has no section. */
static void what_found_no_room_is_said(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_text);
	report(&w,
	       &(struct fsc_gpu_report){.pending_copies = 1, .verdicts_full = 4, .python_full = 5});
	end(&w, "0.0 s: 0 processes, 0 launches\n"
		"1 copy is pending, not in any total yet\n"
		"4 processes found no room in the kernel's filter: their calls are filtered later, "
		"which costs more (verdicts_full)\n"
		"5 Python interpreters found no room in the kernel: their stacks have no Python "
		"lines (python_full)\n");
}

static void text_of_little(void **state)
{
	static const struct fsc_gpu_copy_row hidden = {.dir = FSC_GPU_D2D,
						       .async = true,
						       .copies = 2,
						       .bytes = 10,
						       .timed_bytes = 10,
						       .timed_ns = 1000,
						       .syncs = 1};
	const struct fsc_gpu_report some = {.seconds = 1,
					    .kernels = kernels,
					    .n_kernels = 1,
					    .kernels_left_out = 1,
					    .launches = 800,
					    .copies = &hidden,
					    .n_copies = 1,
					    .findings = findings,
					    .n_findings = 1,
					    .coverage = coverage,
					    .n_coverage = 2};
	const struct fsc_gpu_report less = {.memsets = 1, .memset_bytes = 8, .unseen_frees = 1};
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_text);
	report(&w, &(struct fsc_gpu_report){0});
	report(&w, &some);
	report(&w, &less);
	end(&w, "0.0 s: 0 processes, 0 launches\n"
		"\n"
		"1.0 s: 0 processes, 800 launches\n"
		"\n"
		"kernels (grid and block of the last launch)\n"
		"LAUNCHES  SHARE      GRID  BLOCK  OWNER          KERNEL\n"
		"     600  75.0%  1024x8x2    256  libtorch_cuda  void "
		"at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add>(int)\n"
		"1 more kernel (--top)\n"
		"\n"
		"copies (WAITED: asynchronous copies that blocked)\n"
		"DIRECTION  HOST  HOW    COPIES  BYTES  WAITED  BANDWIDTH\n"
		"D2D        -     async       2   10 B       1  9.54 MB/s\n"
		"\n"
		"findings\n"
		"- asynchronous copies from pageable memory wait: 300 of them took 1.2 s, at step "
		"(train.py:12); pin the memory\n"
		"\n"
		"coverage\n"
		"FILE                                                                       LAYER  "
		"  HOOKED  NOTE\n"
		"/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05                             driver "
		"      98  -\n"
		"/home/u/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcudart.so.13  "
		"runtime      40  2 refused; optimised for \\x1b[1mspeed\n"
		"\n"
		"0.0 s: 0 processes, 0 launches\n"
		"\n"
		"1 free of memory whose allocation was not seen\n"
		"\n"
		"1 memset of 8 B\n");
}

static void text_has_the_time(void **state)
{
	const struct fsc_gpu_report r = {.time_ns = 1700000000123456789, .n_processes = 0};
	struct written w;

	(void)state;
	setenv("TZ", "UTC", 1);
	begin(&w, &fsc_sink_text);
	w.sink.timestamps = w.sink.intervals = true;
	report(&w, &r);
	report(&w, &r);
	end(&w, "22:13:20.123\n"
		"0.0 s: 0 processes, 0 launches\n"
		"\n"
		"22:13:20.123\n"
		"0.0 s: 0 processes, 0 launches\n");
}

static void text_of_bytes(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {{0, " 0 B"},	    {1023, " 1023 B"},	      {1024, " 1.00 KB"},
		     {10235, " 10.0 KB"},   {102400, " 100 KB"},      {1048063, " 1023 KB"},
		     {1048575, " 1.00 MB"}, {3ull << 40, " 3.00 TB"}, {3ull << 50, " 3072 TB"}};

	(void)state;
	for (size_t i = 0; i < N(cases); i++) {
		const struct fsc_gpu_report r = {.memsets = 1, .memset_bytes = cases[i].bytes};
		struct written w;

		begin(&w, &fsc_sink_text);
		report(&w, &r);
		fclose(w.sink.out);
		if (!strstr(w.out, cases[i].text))
			fail_msg("'%s' instead of%s", w.out, cases[i].text);
		free(w.out);
	}
}

/* ---- a trace for Perfetto ---- */

static void perfetto(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_perfetto);
	for (size_t i = 0; i < N(all); i++)
		event(&w, all[i]);
	report(&w, &whole);
	summary(&w);
	end(&w,
	    "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
	    "{\"ph\":\"M\",\"pid\":100,\"tid\":100,\"name\":\"process_name\",\"args\":{\"name\":"
	    "\"python3\"}},\n"
	    "{\"ph\":\"M\",\"pid\":100,\"tid\":101,\"name\":\"thread_name\",\"args\":{\"name\":"
	    "\"python3\"}},\n"
	    "{\"ph\":\"X\",\"pid\":100,\"tid\":101,\"name\":\"cudaLaunchKernel\",\"cat\":\"cuda\","
	    "\"ts\":1000.001,\"dur\":0.000,\"args\":{\"api\":\"cuLaunchKernel\",\"via\":"
	    "\"cudaLaunchKernel\",\"library\":\"cublasGemmEx\",\"owner\":\"libcublasLt.so.13\","
	    "\"device\":1,\"kind\":\"kernel\",\"kernel\":\"gemm<float>(float*, "
	    "int)\",\"grid\":\"128x2x1\",\"block\":\"256x1x1\",\"shared\":4096,\"where\":\"step "
	    "(train.py:12)\"}},\n"
	    "{\"ph\":\"M\",\"pid\":100,\"tid\":10000000,\"name\":\"thread_name\",\"args\":{"
	    "\"name\":\"stream 0x7f10 (enqueued)\"}},\n"
	    "{\"ph\":\"X\",\"pid\":100,\"tid\":10000000,\"name\":\"gemm<float>(float*, "
	    "int)\",\"cat\":\"enqueued\",\"ts\":1000.001,\"dur\":0.000,\"args\":{\"api\":"
	    "\"cuLaunchKernel\",\"via\":\"cudaLaunchKernel\",\"library\":\"cublasGemmEx\","
	    "\"owner\":\"libcublasLt.so.13\",\"device\":1,\"kind\":\"kernel\",\"kernel\":\"gemm<"
	    "float>(float*, "
	    "int)\",\"grid\":\"128x2x1\",\"block\":\"256x1x1\",\"shared\":4096,\"where\":\"step "
	    "(train.py:12)\"}},\n"
	    "{\"ph\":\"X\",\"pid\":100,\"tid\":101,\"name\":\"cuLaunchKernelEx\",\"cat\":\"cuda\","
	    "\"ts\":1000.500,\"dur\":0.000,\"args\":{\"api\":\"cuLaunchKernelEx\",\"kind\":"
	    "\"cooperative\",\"captured\":true,\"grid\":\"1x1x1\",\"block\":\"1x1x1\",\"shared\":0}"
	    "},\n"
	    "{\"ph\":\"X\",\"pid\":100,\"tid\":101,\"name\":\"cuGraphLaunch\",\"cat\":\"cuda\","
	    "\"ts\":1001.000,\"dur\":0.000,\"args\":{\"api\":\"cuGraphLaunch\",\"kind\":\"graph\"}}"
	    ",\n"
	    "{\"ph\":\"M\",\"pid\":100,\"tid\":10000001,\"name\":\"thread_name\",\"args\":{"
	    "\"name\":\"stream 0x0 (enqueued)\"}},\n"
	    "{\"ph\":\"X\",\"pid\":100,\"tid\":10000001,\"name\":\"graph\",\"cat\":\"enqueued\","
	    "\"ts\":1001.000,\"dur\":0.000,\"args\":{\"api\":\"cuGraphLaunch\",\"kind\":\"graph\"}}"
	    ",\n"
	    "{\"ph\":\"X\",\"pid\":100,\"tid\":101,\"name\":\"cudaMalloc\",\"cat\":\"cuda\",\"ts\":"
	    "2000.000,\"dur\":5.500,\"args\":{\"api\":\"cuMemAlloc_v2\",\"via\":\"cudaMalloc\","
	    "\"owner\":\"prog\",\"device\":0,\"bytes\":2097152,\"kind\":\"device\"}},\n"
	    "{\"ph\":\"C\",\"pid\":100,\"tid\":100,\"name\":\"GPU "
	    "memory\",\"ts\":2005.500,\"args\":{\"bytes\":2097152}},\n"
	    "{\"ph\":\"X\",\"pid\":100,\"tid\":101,\"name\":\"cuMemHostAlloc\",\"cat\":\"cuda\","
	    "\"ts\":2100.000,\"dur\":0.000,\"args\":{\"api\":\"cuMemHostAlloc\",\"bytes\":4096,"
	    "\"kind\":\"pinned\"}},\n"
	    "{\"ph\":\"C\",\"pid\":100,\"tid\":100,\"name\":\"pinned "
	    "memory\",\"ts\":2100.000,\"args\":{\"bytes\":4096}},\n"
	    "{\"ph\":\"X\",\"pid\":100,\"tid\":101,\"name\":\"cuMemFree_v2\",\"cat\":\"cuda\","
	    "\"ts\":3000.000,\"dur\":1.000,\"args\":{\"api\":\"cuMemFree_v2\",\"bytes\":1048576,"
	    "\"kind\":\"device\"}},\n"
	    "{\"ph\":\"C\",\"pid\":100,\"tid\":100,\"name\":\"GPU "
	    "memory\",\"ts\":3001.000,\"args\":{\"bytes\":1048576}},\n"
	    "{\"ph\":\"X\",\"pid\":100,\"tid\":101,\"name\":\"cuMemFree_v2\",\"cat\":\"cuda\","
	    "\"ts\":3100.000,\"dur\":0.000,\"args\":{\"api\":\"cuMemFree_v2\",\"kind\":\"device\"}}"
	    ",\n"
	    "{\"ph\":\"X\",\"pid\":100,\"tid\":101,\"name\":\"cuMemcpyHtoD_v2\",\"cat\":\"cuda\","
	    "\"ts\":4000.000,\"dur\":2.000,\"args\":{\"api\":\"cuMemcpyHtoD_v2\",\"bytes\":8192,"
	    "\"direction\":\"H2D\",\"host\":\"pageable\",\"timing\":\"complete\"}},\n"
	    "{\"ph\":\"X\",\"pid\":100,\"tid\":10000001,\"name\":\"H2D\",\"cat\":\"enqueued\","
	    "\"ts\":4000.000,\"dur\":0.000,\"args\":{\"api\":\"cuMemcpyHtoD_v2\",\"bytes\":8192,"
	    "\"direction\":\"H2D\",\"host\":\"pageable\",\"timing\":\"complete\"}},\n"
	    "{\"ph\":\"X\",\"pid\":100,\"tid\":101,\"name\":\"cuMemcpyBatchAsync\",\"cat\":"
	    "\"cuda\",\"ts\":4100.000,\"dur\":0.900,\"args\":{\"api\":\"cuMemcpyBatchAsync\","
	    "\"bytes\":100,\"direction\":\"D2D\",\"timing\":\"enqueue\"}},\n"
	    "{\"ph\":\"X\",\"pid\":100,\"tid\":10000000,\"name\":\"D2D\",\"cat\":\"enqueued\","
	    "\"ts\":4100.000,\"dur\":0.000,\"args\":{\"api\":\"cuMemcpyBatchAsync\",\"bytes\":100,"
	    "\"direction\":\"D2D\",\"timing\":\"enqueue\"}},\n"
	    "{\"ph\":\"X\",\"pid\":100,\"tid\":101,\"name\":\"cuMemsetD8Async\",\"cat\":\"cuda\","
	    "\"ts\":4200.000,\"dur\":0.000,\"args\":{\"api\":\"cuMemsetD8Async\",\"bytes\":64}},\n"
	    "{\"ph\":\"X\",\"pid\":100,\"tid\":10000001,\"name\":\"memset\",\"cat\":\"enqueued\","
	    "\"ts\":4200.000,\"dur\":0.000,\"args\":{\"api\":\"cuMemsetD8Async\",\"bytes\":64}},\n"
	    "{\"ph\":\"X\",\"pid\":100,\"tid\":101,\"name\":\"cuStreamSynchronize\",\"cat\":"
	    "\"cuda\",\"ts\":5000.000,\"dur\":1500.000,\"args\":{\"api\":\"cuStreamSynchronize\"}},"
	    "\n"
	    "{\"ph\":\"C\",\"pid\":100,\"tid\":100,\"name\":\"PyTorch "
	    "memory\",\"ts\":6000.000,\"args\":{\"allocated\":1024,\"reserved\":2097152}},\n"
	    "{\"ph\":\"X\",\"pid\":100,\"tid\":101,\"name\":\"cudaMalloc\",\"cat\":\"error\","
	    "\"ts\":7000.000,\"dur\":0.100,\"args\":{\"api\":\"cuMemAlloc_v2\",\"via\":"
	    "\"cudaMalloc\",\"owner\":\"libtorch_cuda.so\",\"device\":0,\"error\":\"CUDA_ERROR_OUT_"
	    "OF_MEMORY\",\"code\":2,\"bytes\":3221225472,\"kind\":\"device\",\"where\":\"step "
	    "(train.py:12)\"}},\n"
	    "{\"ph\":\"i\",\"pid\":100,\"tid\":101,\"name\":\"CUDA_ERROR_OUT_OF_MEMORY\",\"cat\":"
	    "\"error\",\"s\":\"p\",\"ts\":7000.100,\"args\":{\"api\":\"cuMemAlloc_v2\",\"via\":"
	    "\"cudaMalloc\",\"owner\":\"libtorch_cuda.so\",\"device\":0,\"error\":\"CUDA_ERROR_OUT_"
	    "OF_MEMORY\",\"code\":2,\"bytes\":3221225472,\"kind\":\"device\",\"where\":\"step "
	    "(train.py:12)\"}},\n"
	    "{\"ph\":\"X\",\"pid\":100,\"tid\":101,\"name\":\"cuCtxCreate_v4\",\"cat\":\"error\","
	    "\"ts\":7100.000,\"dur\":0.000,\"args\":{\"api\":\"cuCtxCreate_v4\",\"error\":\"CUDA_"
	    "ERROR_NO_DEVICE\",\"code\":100}},\n"
	    "{\"ph\":\"i\",\"pid\":100,\"tid\":101,\"name\":\"CUDA_ERROR_NO_DEVICE\",\"cat\":"
	    "\"error\",\"s\":\"p\",\"ts\":7100.000,\"args\":{\"api\":\"cuCtxCreate_v4\",\"error\":"
	    "\"CUDA_ERROR_NO_DEVICE\",\"code\":100}}\n"
	    "],\"otherData\":{\"books\":\"seen 10 = kept 7 + ring_full 2 + unreturned 1; missed by "
	    "the kernel 0\\u000a1 function: 1 attached by uprobe.multi, 0 refused\\u000acost: "
	    "could not be measured\\u000a\"}}\n");
}

/* A document all the same; and one that was cut short is a beginning. */
static void perfetto_of_nothing(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_perfetto);
	summary(&w);
	end(&w, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
		"],\"otherData\":{\"books\":\"seen 10 = kept 7 + ring_full 2 + unreturned 1; "
		"missed by the kernel 0\\u000a1 function: 1 attached by uprobe.multi, 0 "
		"refused\\u000acost: could not be measured\\u000a\"}}\n");
	begin(&w, &fsc_sink_perfetto);
	event(&w, &tensor);
	end(&w, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
		"{\"ph\":\"M\",\"pid\":100,\"tid\":100,\"name\":\"process_name\",\"args\":{"
		"\"name\":\"python3\"}},\n"
		"{\"ph\":\"M\",\"pid\":100,\"tid\":101,\"name\":\"thread_name\",\"args\":{\"name\":"
		"\"python3\"}},\n"
		"{\"ph\":\"C\",\"pid\":100,\"tid\":100,\"name\":\"PyTorch "
		"memory\",\"ts\":6000.000,\"args\":{\"allocated\":1024,\"reserved\":2097152}}");
}

/* More is given back than was seen: the counter stays at 0. */
static void perfetto_counts_memory(void **state)
{
	struct fsc_gpu_event a = alloc, f = given_back;
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_perfetto);
	event(&w, &a);
	a.pid = f.pid = 200;
	event(&w, &a);
	event(&w, &f);
	event(&w, &f);
	f.bytes = 1;
	event(&w, &f);
	fflush(w.sink.out);
	assert_non_null(strstr(w.out, "\"pid\":100,\"tid\":100,\"name\":\"GPU memory\","
				      "\"ts\":2005.500,\"args\":{\"bytes\":2097152}}"));
	assert_non_null(strstr(w.out, "\"pid\":200,\"tid\":200,\"name\":\"GPU memory\","
				      "\"ts\":2005.500,\"args\":{\"bytes\":2097152}}"));
	assert_non_null(strstr(w.out, "\"ts\":3001.000,\"args\":{\"bytes\":1048576}}"));
	assert_null(strstr(strstr(w.out, "\"bytes\":1048576}}"), "\"bytes\":18446744073709551615"));
	fsc_sink_release(&w.sink);
	fsc_sink_release(&w.sink);
	fclose(w.sink.out);
	assert_string_equal(w.out + w.n - strlen("\"args\":{\"bytes\":0}}"),
			    "\"args\":{\"bytes\":0}}");
	free(w.out);
}

/* What `trace` has: with its duration, up to when it was told; or an instant. */
static void perfetto_of_calls(void **state)
{
	static const struct fsc_func func = {
	    .kind = "uprobe", .binary = "/bin/x", .name = "wo\"rk"};
	struct fsc_call c = {.func = &func,
			     .event = FSC_CALL_BOTH,
			     .time_ns = 5000,
			     .pid = 10,
			     .tid = 11,
			     .comm = "sh",
			     .has_ret = true,
			     .ret = (uint64_t)-2,
			     .has_duration = true,
			     .duration_ns = 1500};
	struct fsc_err err = {0};
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_perfetto);
	assert_int_equal(fsc_sink_call(&w.sink, &c, &err), 0);
	c.event = FSC_CALL_ENTRY;
	c.has_ret = c.has_duration = false;
	assert_int_equal(fsc_sink_call(&w.sink, &c, &err), 0);
	summary(&w);
	end(&w, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
		"{\"ph\":\"M\",\"pid\":10,\"tid\":10,\"name\":\"process_name\",\"args\":{\"name\":"
		"\"sh\"}},\n"
		"{\"ph\":\"M\",\"pid\":10,\"tid\":11,\"name\":\"thread_name\",\"args\":{\"name\":"
		"\"sh\"}},\n"
		"{\"ph\":\"X\",\"pid\":10,\"tid\":11,\"name\":\"wo\\\"rk\",\"cat\":\"call\",\"ts\":"
		"3.500,\"dur\":1.500,\"args\":{\"binary\":\"/bin/x\",\"ret\":-2}},\n"
		"{\"ph\":\"i\",\"pid\":10,\"tid\":11,\"name\":\"wo\\\"rk\",\"cat\":\"entry\","
		"\"ts\":5.000,\"s\":\"t\",\"args\":{\"binary\":\"/bin/x\"}}\n"
		"],\"otherData\":{\"books\":\"seen 10 = kept 7 + ring_full 2 + unreturned 1; "
		"missed by the kernel 0\\u000a1 function: 1 attached by uprobe.multi, 0 "
		"refused\\u000acost: could not be measured\\u000a\"}}\n");
}

/* ---- which format takes what ---- */

static void who_takes_it(void **state)
{
	static const enum fsc_data not_perfetto[] = {
	    FSC_DATA_COUNTS, FSC_DATA_LATENCIES, FSC_DATA_STACKS, FSC_DATA_DIFFS, FSC_DATA_REPORTS};
	struct fsc_sink s = {.ops = &fsc_sink_csv};
	struct fsc_err err = {0};

	(void)state;
	assert_int_equal(fsc_sink_takes(&s, FSC_DATA_GPU, &err), -EINVAL);
	assert_string_equal(err.msg, "-f csv cannot show GPU data");
	assert_string_equal(err.hint, "use one of: text, json, perfetto");
	s.ops = &fsc_sink_perfetto;
	for (size_t i = 0; i < N(not_perfetto); i++)
		assert_int_equal(fsc_sink_takes(&s, not_perfetto[i], &err), -EINVAL);
	assert_int_equal(fsc_sink_takes(&s, FSC_DATA_STACKS, &err), -EINVAL);
	assert_string_equal(err.msg, "-f perfetto cannot show stacks");
	assert_string_equal(err.hint, "use one of: text, json, csv, folded, flamegraph");
	assert_int_equal(fsc_sink_takes(&s, FSC_DATA_GPU, &err), 0);
	assert_int_equal(fsc_sink_takes(&s, FSC_DATA_CALLS, &err), 0);
	s.intervals = true;
	assert_int_equal(fsc_sink_takes(&s, FSC_DATA_GPU, &err), -EINVAL);
	assert_string_equal(err.msg,
			    "-f perfetto cannot show intervals, because it is a single document");
	assert_string_equal(err.hint, "use one of: text, json");
}

static void a_full_disk_is_an_error(void **state)
{
	(void)state;
	for (const struct fsc_sink_ops *const *ops = fsc_sinks; *ops; ops++) {
		struct fsc_sink s = {.ops = *ops, .out = fopen("/dev/full", "w")};
		struct fsc_err err = {0};

		assert_non_null(s.out);
		/* Events are many: written out by and by. */
		assert_int_equal(fsc_sink_gpu_event(&s, &launch, &err), 0);
		assert_int_equal(fsc_sink_flush(&s, &err), (*ops)->gpu_event ? -ENOSPC : 0);
		assert_int_equal(fsc_sink_gpu_report(&s, &whole, &err),
				 (*ops)->gpu_report ? -ENOSPC : 0);
		fsc_sink_release(&s);
		fclose(s.out);
	}
}

/* ---- metrics ---- */

static void page_of(const struct fsc_gpu_report *r, const struct fsc_summary *sum,
		    struct fsc_map *shown, enum fsc_prometheus_format f, struct fsc_buf *b)
{
	fsc_buf_clear(b);
	fsc_gpu_prometheus_write(r, sum, shown, f, b);
	assert_false(fsc_buf_failed(b));
}

static void metrics(void **state)
{
	struct fsc_buf b = {0};

	(void)state;
	page_of(&whole, &books, NULL, FSC_PROMETHEUS_TEXT, &b);
	assert_string_equal(
	    fsc_buf_str(&b),
	    "# HELP funcscope_gpu_launches_total Launches on GPUs.\n"
	    "# TYPE funcscope_gpu_launches_total counter\n"
	    "funcscope_gpu_launches_total{kind=\"kernel\",owner=\"libtorch_cuda.so\"} 600\n"
	    "funcscope_gpu_launches_total{kind=\"kernel\",owner=\"libcublasLt.so.13\"} 300\n"
	    "funcscope_gpu_launches_total{kind=\"kernel\",owner=\"prog\"} 60\n"
	    "funcscope_gpu_launches_total{kind=\"graph\",owner=\"unknown\"} 40\n"
	    "funcscope_gpu_launches_total{kind=\"kernel\",owner=\"other\"} 10\n"
	    "# HELP funcscope_gpu_kernel_launches_total Launches of single kernels.\n"
	    "# TYPE funcscope_gpu_kernel_launches_total counter\n"
	    "funcscope_gpu_kernel_launches_total{kernel=\"void "
	    "at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add>(int)\"} "
	    "600\n"
	    "funcscope_gpu_kernel_launches_total{kernel=\"gemm\"} 300\n"
	    "funcscope_gpu_kernel_launches_total{kernel=\"unknown\"} 60\n"
	    "funcscope_gpu_kernel_launches_total{kernel=\"graph\"} 40\n"
	    "funcscope_gpu_kernel_launches_total{kernel=\"other\"} 10\n"
	    "# HELP funcscope_gpu_mem_live_bytes Memory allocated at the moment.\n"
	    "# TYPE funcscope_gpu_mem_live_bytes gauge\n"
	    "funcscope_gpu_mem_live_bytes{kind=\"device\",owner=\"libtorch_cuda.so\"} 3221225472\n"
	    "funcscope_gpu_mem_live_bytes{kind=\"registered\",owner=\"unknown\"} 1000\n"
	    "# HELP funcscope_gpu_mem_peak_bytes The most that one process had at a time.\n"
	    "# TYPE funcscope_gpu_mem_peak_bytes gauge\n"
	    "funcscope_gpu_mem_peak_bytes{kind=\"device\",owner=\"libtorch_cuda.so\"} 5368709120\n"
	    "funcscope_gpu_mem_peak_bytes{kind=\"registered\",owner=\"unknown\"} 1000\n"
	    "# HELP funcscope_gpu_allocs_total Allocations.\n"
	    "# TYPE funcscope_gpu_allocs_total counter\n"
	    "funcscope_gpu_allocs_total{kind=\"device\"} 25\n"
	    "funcscope_gpu_allocs_total{kind=\"registered\"} 1\n"
	    "# HELP funcscope_gpu_frees_total Allocations that were freed.\n"
	    "# TYPE funcscope_gpu_frees_total counter\n"
	    "funcscope_gpu_frees_total{kind=\"device\"} 23\n"
	    "funcscope_gpu_frees_total{kind=\"registered\"} 0\n"
	    "# HELP funcscope_gpu_unseen_frees_total Frees of memory whose allocation was not "
	    "seen.\n"
	    "# TYPE funcscope_gpu_unseen_frees_total counter\n"
	    "funcscope_gpu_unseen_frees_total 3\n"
	    "# HELP funcscope_gpu_copies_pending Copies that are pending.\n"
	    "# TYPE funcscope_gpu_copies_pending gauge\n"
	    "funcscope_gpu_copies_pending 0\n"
	    "# HELP funcscope_gpu_verdicts_full_total Processes that found no room in the kernel's "
	    "filter.\n"
	    "# TYPE funcscope_gpu_verdicts_full_total counter\n"
	    "funcscope_gpu_verdicts_full_total 0\n"
	    "# HELP funcscope_gpu_python_full_total Python interpreters that found no room in the "
	    "kernel.\n"
	    "# TYPE funcscope_gpu_python_full_total counter\n"
	    "funcscope_gpu_python_full_total 0\n"
	    "# HELP funcscope_gpu_alloc_failures_total Allocations that failed.\n"
	    "# TYPE funcscope_gpu_alloc_failures_total counter\n"
	    "funcscope_gpu_alloc_failures_total{code=\"CUDA_ERROR_OUT_OF_MEMORY\"} 4\n"
	    "# HELP funcscope_gpu_leaked_bytes Memory that seems to have leaked.\n"
	    "# TYPE funcscope_gpu_leaked_bytes gauge\n"
	    "funcscope_gpu_leaked_bytes{kind=\"device\"} 3221225472\n"
	    "funcscope_gpu_leaked_bytes{kind=\"registered\"} 1000\n"
	    "# HELP funcscope_gpu_api_errors_total Calls that returned an error.\n"
	    "# TYPE funcscope_gpu_api_errors_total counter\n"
	    "funcscope_gpu_api_errors_total{api=\"cuMemAlloc_v2\",code=\"CUDA_ERROR_OUT_OF_"
	    "MEMORY\"} 4\n"
	    "funcscope_gpu_api_errors_total{api=\"cuLaunchKernel\",code=\"unknown\"} 1\n"
	    "# HELP funcscope_gpu_memcpy_bytes_total Bytes copied.\n"
	    "# TYPE funcscope_gpu_memcpy_bytes_total counter\n"
	    "funcscope_gpu_memcpy_bytes_total{dir=\"H2D\",host=\"pageable\",sync=\"sync\"} "
	    "1073741824\n"
	    "funcscope_gpu_memcpy_bytes_total{dir=\"D2H\",host=\"pinned\",sync=\"async\"} 12345\n"
	    "# HELP funcscope_gpu_memcpy_copies_total Copies.\n"
	    "# TYPE funcscope_gpu_memcpy_copies_total counter\n"
	    "funcscope_gpu_memcpy_copies_total{dir=\"H2D\",host=\"pageable\",sync=\"sync\"} 100\n"
	    "funcscope_gpu_memcpy_copies_total{dir=\"D2H\",host=\"pinned\",sync=\"async\"} 300\n"
	    "# HELP funcscope_gpu_memcpy_timed_bytes_total Bytes of copies whose time is known.\n"
	    "# TYPE funcscope_gpu_memcpy_timed_bytes_total counter\n"
	    "funcscope_gpu_memcpy_timed_bytes_total{dir=\"H2D\",host=\"pageable\",sync=\"sync\"} "
	    "536870912\n"
	    "# HELP funcscope_gpu_memcpy_seconds_total Time of copies, where it is known.\n"
	    "# TYPE funcscope_gpu_memcpy_seconds_total counter\n"
	    "funcscope_gpu_memcpy_seconds_total{dir=\"H2D\",host=\"pageable\",sync=\"sync\"} 0.1\n"
	    "# HELP funcscope_gpu_sync_wait_seconds_total Time spent waiting for GPUs.\n"
	    "# TYPE funcscope_gpu_sync_wait_seconds_total counter\n"
	    "funcscope_gpu_sync_wait_seconds_total{api=\"cuStreamSynchronize\"} 1.2\n"
	    "funcscope_gpu_sync_wait_seconds_total{api=\"cuCtxSynchronize\"} 0.034000005\n"
	    "# HELP funcscope_gpu_sync_calls_total Calls that wait for GPUs.\n"
	    "# TYPE funcscope_gpu_sync_calls_total counter\n"
	    "funcscope_gpu_sync_calls_total{api=\"cuStreamSynchronize\"} 40\n"
	    "funcscope_gpu_sync_calls_total{api=\"cuCtxSynchronize\"} 11\n"
	    "# HELP funcscope_gpu_events_seen_total CUDA calls that probes saw: kept and lost.\n"
	    "# TYPE funcscope_gpu_events_seen_total counter\n"
	    "funcscope_gpu_events_seen_total 10\n"
	    "# HELP funcscope_gpu_events_lost_total CUDA calls that were seen and not kept.\n"
	    "# TYPE funcscope_gpu_events_lost_total counter\n"
	    "funcscope_gpu_events_lost_total{reason=\"ring_full\"} 2\n"
	    "# HELP funcscope_gpu_processes Processes that use CUDA.\n"
	    "# TYPE funcscope_gpu_processes gauge\n"
	    "funcscope_gpu_processes 1\n");
	page_of(&(struct fsc_gpu_report){0}, NULL, NULL, FSC_PROMETHEUS_OPENMETRICS, &b);
	assert_string_equal(
	    fsc_buf_str(&b),
	    "# HELP funcscope_gpu_unseen_frees Frees of memory whose allocation was not seen.\n"
	    "# TYPE funcscope_gpu_unseen_frees counter\n"
	    "funcscope_gpu_unseen_frees_total 0\n"
	    "# HELP funcscope_gpu_copies_pending Copies that are pending.\n"
	    "# TYPE funcscope_gpu_copies_pending gauge\n"
	    "funcscope_gpu_copies_pending 0\n"
	    "# HELP funcscope_gpu_verdicts_full Processes that found no room in the kernel's "
	    "filter.\n"
	    "# TYPE funcscope_gpu_verdicts_full counter\n"
	    "funcscope_gpu_verdicts_full_total 0\n"
	    "# HELP funcscope_gpu_python_full Python interpreters that found no room in the "
	    "kernel.\n"
	    "# TYPE funcscope_gpu_python_full counter\n"
	    "funcscope_gpu_python_full_total 0\n"
	    "# HELP funcscope_gpu_processes Processes that use CUDA.\n"
	    "# TYPE funcscope_gpu_processes gauge\n"
	    "funcscope_gpu_processes 0\n"
	    "# EOF\n");
	page_of(&whole, &books, NULL, FSC_PROMETHEUS_OPENMETRICS, &b);
	assert_non_null(strstr(fsc_buf_str(&b), "# TYPE funcscope_gpu_memcpy_bytes counter\n"
						"# UNIT funcscope_gpu_memcpy_bytes bytes\n"));
	fsc_buf_release(&b);
}

/* Families one behind the other, each with its length. */
static void metrics_in_protobuf(void **state)
{
	struct fsc_buf b = {0};
	size_t n = 0;
	struct pb m;

	(void)state;
	page_of(&whole, &books, NULL, FSC_PROMETHEUS_PROTOBUF, &b);
	for (m = pb_of(b.s, b.n); m.at != m.end; n++)
		pb_delimited(&m);
	assert_int_equal(n, 22);
	fsc_buf_release(&b);
}

enum { MANY = 25 };

/* The value of a kernel's series, -1 where it has none. */
static double kernel_launches(const struct fsc_buf *b, const char *kernel)
{
	const char *at;
	char head[96];

	snprintf(head, sizeof(head), "\nfuncscope_gpu_kernel_launches_total{kernel=\"%s\"} ",
		 kernel);
	at = strstr(fsc_buf_str(b), head);
	return at ? atof(at + strlen(head)) : -1;
}

/* Kernels keep their series, and others do not get it: no sum ever goes back. */
static void series_of_kernels_stay(void **state)
{
	struct fsc_gpu_kernel_row rows[MANY + 1] = {0};
	struct fsc_gpu_report r = {.kernels = rows, .n_kernels = MANY + 1};
	char names[MANY][8];
	struct fsc_map shown = {0};
	struct fsc_buf b = {0};

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "k%zu", i);
		rows[i] = (struct fsc_gpu_kernel_row){.kernel = names[i], .launches = 100 - i};
	}
	/* The same kernel from another file is no second series. */
	rows[MANY] = (struct fsc_gpu_kernel_row){.kernel = "k0", .owner = "b", .launches = 1};
	page_of(&r, NULL, &shown, FSC_PROMETHEUS_TEXT, &b);
	assert_true(kernel_launches(&b, "k0") == 101);
	assert_true(kernel_launches(&b, "k19") == 81);
	assert_true(kernel_launches(&b, "k20") == -1);
	assert_true(kernel_launches(&b, "other") == 80 + 79 + 78 + 77 + 76);
	rows[24].launches = 1000;
	rows[MANY] = rows[0]; /* the last becomes the first */
	rows[0] = rows[24];
	rows[24] = rows[MANY];
	r.n_kernels = MANY;
	page_of(&r, NULL, &shown, FSC_PROMETHEUS_TEXT, &b);
	assert_true(kernel_launches(&b, "k0") == 100);
	assert_true(kernel_launches(&b, "k24") == -1);
	assert_true(kernel_launches(&b, "other") == 80 + 79 + 78 + 77 + 1000);
	page_of(&r, NULL, NULL, FSC_PROMETHEUS_TEXT, &b);
	assert_true(kernel_launches(&b, "k24") == 1000);
	fsc_map_release(&shown);
	fsc_buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_found_no_room_is_said),
	    cmocka_unit_test(json_events),
	    cmocka_unit_test(json_report),
	    cmocka_unit_test(text_report),
	    cmocka_unit_test(text_of_little),
	    cmocka_unit_test(text_has_the_time),
	    cmocka_unit_test(text_of_bytes),
	    cmocka_unit_test(perfetto),
	    cmocka_unit_test(perfetto_of_nothing),
	    cmocka_unit_test(perfetto_counts_memory),
	    cmocka_unit_test(perfetto_of_calls),
	    cmocka_unit_test(who_takes_it),
	    cmocka_unit_test(a_full_disk_is_an_error),
	    cmocka_unit_test(metrics),
	    cmocka_unit_test(metrics_in_protobuf),
	    cmocka_unit_test(series_of_kernels_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
