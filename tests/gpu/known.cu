/* known: makes CUDA calls of every kind that `funcscope gpu` tells, in numbers that are written
 * here, and says on stdout what it made, for tests/gpu/gpu_compare.py: one JSON object a line.
 *
 *   known calls      all kinds of calls. "window": the time in which nothing else was called;
 *                    "truth": that many events have the fields of "match", were made by the
 *                    runtime's call "via" and have these "addresses"; "leak": what was never freed
 *   known bandwidth  large synchronous copies. "bandwidth": the median by CUDA's own events
 *   known count      asks the runtime for the number of devices
 *   known version    loads the driver and asks for its version, which takes no GPU
 *
 * Built twice (make gpu-known): with the runtime as a library, and with the one linked in. */
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <unistd.h>

#define CHECK(call) check((int)(call), #call, __LINE__)

static void check(int status, const char *call, int line)
{
	if (!status)
		return;
	fprintf(stderr, "known.cu:%d: %s gave %d\n", line, call, status);
	exit(1);
}

#define TIMES(n, call)                                                                             \
	for (int i = 0; i < (n); i++)                                                              \
	CHECK(call)

/* A call that has to fail, and must not spoil what follows. */
#define FAILS(call) fails((int)(call), #call, __LINE__)

static void fails(int status, const char *call, int line)
{
	cudaGetLastError();
	if (!status)
		check(-1, call, line);
}

static unsigned long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

typedef std::vector<void *> addresses;

/* JSON, with ' where it has ". */
static void vsay(const char *format, va_list args)
{
	char text[1024];

	vsnprintf(text, sizeof(text), format, args);
	for (char *c = text; *c; c++)
		putchar(*c == '\'' ? '"' : *c);
}

static void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsay(format, args);
	va_end(args);
}

/* Says what has been called; match is the inside of an object. */
static void truth(const char *name, int count, const char *via, const addresses &at,
		  const char *match, ...)
{
	va_list args;

	say("{'type':'truth','name':'%s','count':%d,", name, count);
	if (via)
		say("'via':'%s',", via);
	for (size_t i = 0; i < at.size(); i++)
		say("%s'%p'%s", i ? "," : "'addresses':[", at[i], i + 1 < at.size() ? "" : "],");
	say("'match':{");
	va_start(args, match);
	vsay(match, args);
	va_end(args);
	say("}}\n");
}

/* A function of the driver, as libraries get theirs. */
template <class F> static F *driver(const char *name)
{
	cudaDriverEntryPointQueryResult how;
	void *f = NULL;

	CHECK(cudaGetDriverEntryPointByVersion(name, &f, 12000, cudaEnableDefault, &how));
	return (F *)f;
}

#define DRIVER(name) driver<decltype(name)>(#name)

__global__ void plain(int *out, int n)
{
	if (n < 0)
		*out = n;
}

template <class T> __global__ void templated(T *out, T value)
{
	if (value < 0)
		*out = value;
}

namespace deep
{
__global__ void extended(const float *in, double *out)
{
	if (!in)
		*out = 0;
}
} // namespace deep

__global__ void together(int *out)
{
	if (!out)
		__trap();
}

__global__ void node(int *out)
{
	if (!out)
		__trap();
}

extern "C" __global__ void by_driver(int *out)
{
	if (!out)
		__trap();
}

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			  ".visible .entry from_ptx(.param .u64 out)\n{\n\tret;\n}\n";

/* What all calls work on; made before the window, freed after it. */
struct stage {
	char *a, *b; /* on the device */
	char *pinned, *other, *pageable;
	cudaStream_t stream;
};

static const size_t STAGE = 1 << 20;

static void stage_make(struct stage *s)
{
	CHECK(cudaMalloc(&s->a, STAGE));
	CHECK(cudaMalloc(&s->b, STAGE));
	CHECK(cudaHostAlloc(&s->pinned, STAGE, cudaHostAllocDefault));
	CHECK(cudaHostAlloc(&s->other, STAGE, cudaHostAllocDefault));
	s->pageable = (char *)calloc(1, STAGE);
	CHECK(cudaStreamCreate(&s->stream));
	CHECK(cudaDeviceSynchronize());
}

static void stage_free(struct stage *s)
{
	CHECK(cudaStreamDestroy(s->stream));
	CHECK(cudaFree(s->a));
	CHECK(cudaFree(s->b));
	CHECK(cudaFreeHost(s->pinned));
	CHECK(cudaFreeHost(s->other));
	free(s->pageable);
}

#define PLAIN	 "'kind':'kernel','captured':false"
#define CAPTURED "'kind':'kernel','captured':true"
#define JOINT	 "'kind':'cooperative'"

static void launched(const char *name, int count, const char *via, const char *kind,
		     const char *kernel, const char *shape, const void *stream)
{
	truth(name, count, via, {}, "'type':'gpu_launch',%s,'kernel':'%s',%s,'stream':'0x%zx'",
	      kind, kernel, shape, (size_t)stream);
}

static void launches_of_runtime(struct stage *s)
{
	const float *in = (const float *)s->b;
	double *result = (double *)s->a;
	void *args[] = {&in, &result}, *one[] = {&s->a};
	cudaLaunchConfig_t config = {};

	for (int i = 0; i < 37; i++)
		plain<<<dim3(3, 2), dim3(64, 2), 128, s->stream>>>((int *)s->a, i);
	launched("plain launches", 37, "cudaLaunchKernel", PLAIN ",'symbol':'_Z5plainPii'",
		 "plain(int*, int)", "'grid':[3,2,1],'block':[64,2,1],'shared':128", s->stream);
	for (int i = 0; i < 11; i++)
		templated<float><<<5, 96>>>((float *)s->a, 1.0f);
	launched("launches of a template, no stream", 11, "cudaLaunchKernel", PLAIN,
		 "void templated<float>(float*, float)",
		 "'grid':[5,1,1],'block':[96,1,1],'shared':0", NULL);
	config.gridDim = dim3(6, 1, 2);
	config.blockDim = dim3(16, 4, 2);
	config.dynamicSmemBytes = 512;
	config.stream = s->stream;
	TIMES(13, cudaLaunchKernelExC(&config, (const void *)deep::extended, args));
	launched("launches with a configuration", 13, "cudaLaunchKernelExC", PLAIN,
		 "deep::extended(float const*, double*)",
		 "'grid':[6,1,2],'block':[16,4,2],'shared':512", s->stream);
	TIMES(7, cudaLaunchCooperativeKernel((const void *)together, 4, 32, one, 0, s->stream));
	launched("cooperative launches", 7, "cudaLaunchCooperativeKernel", JOINT, "together(int*)",
		 "'grid':[4,1,1],'block':[32,1,1],'shared':0", s->stream);
}

static void launches_of_driver(struct stage *s)
{
	auto launch = DRIVER(cuLaunchKernel);
	void *args[] = {&s->a};
	cudaFunction_t f;
	CUmodule module;
	CUfunction g;

	CHECK(cudaGetFuncBySymbol(&f, (const void *)by_driver));
	TIMES(17, launch((CUfunction)f, 2, 3, 4, 8, 4, 2, 256, (CUstream)s->stream, args, NULL));
	launched("launches by the driver", 17, NULL, PLAIN, "by_driver",
		 "'grid':[2,3,4],'block':[8,4,2],'shared':256", s->stream);
	CHECK(DRIVER(cuModuleLoadData)(&module, ptx));
	CHECK(DRIVER(cuModuleGetFunction)(&g, module, "from_ptx"));
	TIMES(3, launch(g, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	launched("launches of a kernel compiled at run time", 3, NULL, PLAIN, "from_ptx",
		 "'grid':[1,1,1],'block':[1,1,1],'shared':0", NULL);
}

static void graph(struct stage *s)
{
	cudaGraphExec_t exec;
	cudaGraph_t made;

	CHECK(cudaStreamBeginCapture(s->stream, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < 5; i++)
		node<<<9, 33, 0, s->stream>>>((int *)s->a);
	CHECK(cudaStreamEndCapture(s->stream, &made));
	CHECK(cudaGraphInstantiate(&exec, made, 0));
	TIMES(20, cudaGraphLaunch(exec, s->stream));
	launched("launches captured for a graph", 5, "cudaLaunchKernel", CAPTURED, "node(int*)",
		 "'grid':[9,1,1],'block':[33,1,1],'shared':0", s->stream);
	truth("launches of the graph", 20, "cudaGraphLaunch", {},
	      "'type':'gpu_launch','kind':'graph','stream':'%p'", (void *)s->stream);
	CHECK(cudaStreamSynchronize(s->stream));
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(made));
}

/* So many pieces of memory, and their frees; the size may be known only after the first. */
template <class A, class R>
static void pieces(int n, const char *kind, const size_t &size, const char *via,
		   const char *via_free, A alloc, R release)
{
	addresses at(n);

	for (void *&p : at)
		CHECK(alloc(&p));
	for (void *p : at)
		CHECK(release(p));
	truth("allocations", n, via, at, "'type':'gpu_alloc','kind':'%s','bytes':%zu", kind, size);
	truth("frees", n, via_free, at, "'type':'gpu_free','kind':'%s','known':true,'bytes':%zu",
	      kind, size);
}

static cudaError_t registered(void **p, size_t size)
{
	*p = aligned_alloc(4096, size);
	return cudaHostRegister(*p, size, cudaHostRegisterDefault);
}

static cudaError_t unregistered(void *p)
{
	cudaError_t status = cudaHostUnregister(p);

	free(p);
	return status;
}

static void memory(struct stage *s)
{
	size_t pitch, size = 0;
	auto pitched = [&](void **p) {
		cudaError_t status = cudaMallocPitch(p, &pitch, 1000, 100);

		size = pitch * 100;
		return status;
	};

	pieces(
	    9, "device", 1 << 18, "cudaMalloc", "cudaFree",
	    [](void **p) { return cudaMalloc(p, 1 << 18); }, cudaFree);
	pieces(2, "device", size, "cudaMallocPitch", "cudaFree", pitched, cudaFree);
	pieces(
	    6, "pool", 1 << 16, "cudaMallocAsync", "cudaFreeAsync",
	    [=](void **p) { return cudaMallocAsync(p, 1 << 16, s->stream); },
	    [=](void *p) { return cudaFreeAsync(p, s->stream); });
	pieces(
	    4, "managed", 1 << 19, "cudaMallocManaged", "cudaFree",
	    [](void **p) { return cudaMallocManaged(p, 1 << 19); }, cudaFree);
	pieces(
	    5, "pinned", 3 << 16, "cudaHostAlloc", "cudaFreeHost",
	    [](void **p) { return cudaHostAlloc(p, 3 << 16, cudaHostAllocPortable); },
	    cudaFreeHost);
	pieces(
	    2, "pinned", 5 << 16, "cudaMallocHost", "cudaFreeHost",
	    [](void **p) { return cudaMallocHost(p, 5 << 16); }, cudaFreeHost);
	pieces(
	    3, "registered", 7 << 12, "cudaHostRegister", "cudaHostUnregister",
	    [](void **p) { return registered(p, 7 << 12); }, unregistered);
}

/* Three pieces of physical memory, each mapped somewhere. */
static void virtual_memory(void)
{
	CUmemAllocationProp prop = {};
	CUmemGenericAllocationHandle handle[3];
	CUdeviceptr at[3];
	size_t size = 0;

	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	CHECK(
	    DRIVER(cuMemGetAllocationGranularity)(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	for (int i = 0; i < 3; i++) {
		CHECK(DRIVER(cuMemCreate)(&handle[i], size, &prop, 0));
		CHECK(DRIVER(cuMemAddressReserve)(&at[i], size, 0, 0, 0));
		CHECK(DRIVER(cuMemMap)(at[i], size, 0, handle[i], 0));
	}
	for (int i = 0; i < 3; i++) {
		CHECK(DRIVER(cuMemUnmap)(at[i], size));
		CHECK(DRIVER(cuMemRelease)(handle[i]));
		CHECK(DRIVER(cuMemAddressFree)(at[i], size));
	}
	truth("allocations by cuMemCreate", 3, NULL, {},
	      "'type':'gpu_alloc','kind':'vmm','bytes':%zu", size);
	truth("frees of cuMemCreate", 3, NULL, {}, "'type':'gpu_free','kind':'vmm','bytes':%zu",
	      size);
}

/* host: NULL for copies that have none. */
static void copied(const char *direction, const char *host, int count, int bytes, const char *via)
{
	truth("copies", count, via, {},
	      "'type':'gpu_copy','async':false,'direction':'%s','bytes':%d%s%s%s", direction, bytes,
	      host ? ",'host':'" : "", host ? host : "", host ? "'" : "");
}

static void copies(struct stage *s)
{
	TIMES(6, cudaMemcpy(s->a, s->pageable, 1000, cudaMemcpyHostToDevice));
	copied("H2D", "pageable", 6, 1000, "cudaMemcpy");
	TIMES(5, cudaMemcpy(s->a, s->pinned, 2000, cudaMemcpyHostToDevice));
	copied("H2D", "pinned", 5, 2000, "cudaMemcpy");
	TIMES(4, cudaMemcpy(s->pageable, s->a, 3000, cudaMemcpyDeviceToHost));
	copied("D2H", "pageable", 4, 3000, "cudaMemcpy");
	TIMES(3, cudaMemcpy(s->pinned, s->a, 4000, cudaMemcpyDeviceToHost));
	copied("D2H", "pinned", 3, 4000, "cudaMemcpy");
	TIMES(7, cudaMemcpy(s->a, s->b, 5000, cudaMemcpyDeviceToDevice));
	copied("D2D", NULL, 7, 5000, "cudaMemcpy");
	TIMES(2, cudaMemcpy(s->pinned, s->other, 6000, cudaMemcpyHostToHost));
	copied("H2H", NULL, 2, 6000, "cudaMemcpy");
	TIMES(3, cudaMemcpy(s->a, s->pinned, 7000, cudaMemcpyDefault));
	copied("H2D", "pinned", 3, 7000, "cudaMemcpy");
	TIMES(2, DRIVER(cuMemcpyHtoD)((CUdeviceptr)s->a, s->pinned, 12000));
	copied("H2D", "pinned", 2, 12000, NULL);
	TIMES(3, cudaMemcpy2D(s->a, 1024, s->pinned, 768, 512, 16, cudaMemcpyHostToDevice));
	copied("H2D", "pinned", 3, 512 * 16, "cudaMemcpy2D");
}

static void copied_async(const char *direction, const char *host, int count, int bytes,
			 const char *via, cudaStream_t stream)
{
	truth("asynchronous copies", count, via, {},
	      "'type':'gpu_copy','async':true,'direction':'%s','bytes':%d,'stream':'%p'%s%s%s",
	      direction, bytes, (void *)stream, host ? ",'host':'" : "", host ? host : "",
	      host ? "'" : "");
}

static void async_copies(struct stage *s)
{
	TIMES(8, cudaMemcpyAsync(s->a, s->pinned, 8000, cudaMemcpyHostToDevice, s->stream));
	copied_async("H2D", "pinned", 8, 8000, "cudaMemcpyAsync", s->stream);
	TIMES(3, cudaMemcpyAsync(s->a, s->pageable, 9000, cudaMemcpyHostToDevice, s->stream));
	copied_async("H2D", "pageable", 3, 9000, "cudaMemcpyAsync", s->stream);
	TIMES(4, cudaMemcpyAsync(s->pinned, s->a, 10000, cudaMemcpyDeviceToHost, s->stream));
	copied_async("D2H", "pinned", 4, 10000, "cudaMemcpyAsync", s->stream);
	TIMES(5, cudaMemcpyAsync(s->a, s->b, 11000, cudaMemcpyDeviceToDevice, s->stream));
	copied_async("D2D", NULL, 5, 11000, "cudaMemcpyAsync", s->stream);
	TIMES(2, cudaMemcpy2DAsync(s->pinned, 768, s->a, 1024, 256, 10, cudaMemcpyDeviceToHost,
				   s->stream));
	copied_async("D2H", "pinned", 2, 256 * 10, "cudaMemcpy2DAsync", s->stream);
}

#define MEMSET(async) "'type':'gpu_memset','async':" async ",'bytes':%d,'dst':'%p'"
#define SYNC	      "'type':'gpu_sync','api':'%s'"

static void memsets_and_syncs(struct stage *s)
{
	cudaEvent_t event;

	TIMES(5, cudaMemset(s->a, 0, 4096));
	truth("memsets", 5, "cudaMemset", {}, MEMSET("false"), 4096, (void *)s->a);
	TIMES(4, cudaMemsetAsync(s->b, 1, 65536, s->stream));
	truth("asynchronous memsets", 4, "cudaMemsetAsync", {}, MEMSET("true"), 65536,
	      (void *)s->b);
	TIMES(3, cudaMemset2D(s->b, 256, 2, 100, 30));
	truth("memsets of 30 rows", 3, "cudaMemset2D", {}, MEMSET("false"), 100 * 30, (void *)s->b);
	CHECK(cudaEventCreate(&event));
	CHECK(cudaEventRecord(event, s->stream));
	TIMES(4, cudaDeviceSynchronize());
	truth("waits for the device", 4, "cudaDeviceSynchronize", {}, SYNC, "cuCtxSynchronize*");
	TIMES(5, cudaStreamSynchronize(s->stream)); /* and one in graph() */
	truth("waits for a stream", 6, "cudaStreamSynchronize", {}, SYNC ",'stream':'%p'",
	      "cuStreamSynchronize*", (void *)s->stream);
	TIMES(2, cudaEventSynchronize(event));
	truth("waits for an event", 2, "cudaEventSynchronize", {}, SYNC, "cuEventSynchronize*");
	CHECK(cudaEventDestroy(event));
}

#define ERROR(op, code, name) "'type':'gpu_error','op':'" op "','code':" code ",'error':'" name "'"
#define INVALID(op)	      ERROR(op, "1", "CUDA_ERROR_INVALID_VALUE")

static void errors(struct stage *s)
{
	void *args[] = {&s->a}, *p;
	CUstream stream = (CUstream)s->stream;
	CUDA_MEMCPY2D copy = {};
	cudaFunction_t f;

	for (int i = 0; i < 2; i++)
		FAILS(cudaMalloc(&p, 1ull << 50));
	truth("allocations that failed", 2, "cudaMalloc", {},
	      ERROR("alloc", "2", "CUDA_ERROR_OUT_OF_MEMORY") ",'bytes':%llu", 1ull << 50);
	for (int i = 0; i < 3; i++) {
		plain<<<8, 2048, 0, s->stream>>>((int *)s->a, 0);
		FAILS(cudaPeekAtLastError());
	}
	truth("launches that failed", 3, "cudaLaunchKernel", {},
	      "'type':'gpu_error','op':'launch','kernel':'plain(int*, int)','block':[2048,1,1]");
	CHECK(cudaGetFuncBySymbol(&f, (const void *)by_driver));
	for (int i = 0; i < 2; i++)
		FAILS(DRIVER(cuLaunchKernel)((CUfunction)f, 7, 1, 1, 4096, 1, 1, 0, stream, args,
					     NULL));
	truth("launches by the driver that failed", 2, NULL, {},
	      INVALID("launch") ",'kernel':'by_driver','grid':[7,1,1],'block':[4096,1,1]");
	FAILS(DRIVER(cuMemFree)((CUdeviceptr)0x1000));
	truth("frees that failed", 1, NULL, {}, INVALID("free") ",'address':'0x1000'");
	copy.srcMemoryType = (CUmemorytype)99;
	copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	copy.dstDevice = (CUdeviceptr)s->a;
	copy.WidthInBytes = copy.srcPitch = copy.dstPitch = 130;
	copy.Height = 100;
	FAILS(DRIVER(cuMemcpy2D)(&copy));
	truth("copies that failed", 1, NULL, {}, INVALID("copy") ",'bytes':13000");
}

/* Seven leaks, by three ways. */
static __attribute__((noinline)) void leak_loader(void)
{
	void *p;

	CHECK(cudaMalloc(&p, 1 << 20));
}

static __attribute__((noinline)) void leak_cache(void)
{
	void *p;

	CHECK(cudaMalloc(&p, 2 << 20));
}

static __attribute__((noinline)) void leak_staging(void)
{
	void *p;

	CHECK(cudaHostAlloc(&p, 3 << 20, cudaHostAllocDefault));
}

static void leaks(void)
{
	static const struct {
		void (*leak)(void);
		const char *function, *kind;
		int count, bytes;
	} ways[] = {{leak_loader, "leak_loader", "device", 3, 1 << 20},
		    {leak_cache, "leak_cache", "device", 2, 2 << 20},
		    {leak_staging, "leak_staging", "pinned", 2, 3 << 20}};

	for (const auto &w : ways) {
		for (int i = 0; i < w.count; i++)
			w.leak();
		say("{'type':'leak','function':'%s','kind':'%s','count':%d,'bytes':%d}\n",
		    w.function, w.kind, w.count, w.count * w.bytes);
	}
}

static void calls(void)
{
	unsigned long long begin;
	struct stage s;

	stage_make(&s);
	begin = now_ns();
	launches_of_runtime(&s);
	launches_of_driver(&s);
	graph(&s);
	memory(&s);
	virtual_memory();
	copies(&s);
	async_copies(&s);
	memsets_and_syncs(&s);
	errors(&s);
	say("{'type':'window','pid':%d,'begin_ns':%llu,'end_ns':%llu}\n", (int)getpid(), begin,
	    now_ns());
	stage_free(&s);
	leaks();
}

static const size_t BIG = 256 << 20;

static void copy_timed(const char *direction, const char *host, void *dst, void *src,
		       cudaMemcpyKind kind)
{
	std::vector<double> rates;
	cudaEvent_t from, to;
	float ms;

	CHECK(cudaEventCreate(&from));
	CHECK(cudaEventCreate(&to));
	CHECK(cudaMemcpy(dst, src, BIG / 2, kind));
	for (int i = 0; i < 20; i++) {
		CHECK(cudaEventRecord(from));
		CHECK(cudaMemcpy(dst, src, BIG, kind));
		CHECK(cudaEventRecord(to));
		CHECK(cudaEventSynchronize(to));
		CHECK(cudaEventElapsedTime(&ms, from, to));
		rates.push_back(BIG / (ms / 1000));
	}
	std::sort(rates.begin(), rates.end());
	say("{'type':'bandwidth','pid':%d,'direction':'%s','host':'%s','bytes':%zu,'count':20,'"
	    "median':%.0f}\n",
	    (int)getpid(), direction, host, BIG, (rates[9] + rates[10]) / 2);
}

static void bandwidth(void)
{
	char *pageable = (char *)malloc(BIG);
	void *device, *pinned;

	memset(pageable, 1, BIG);
	CHECK(cudaMalloc(&device, BIG));
	CHECK(cudaHostAlloc(&pinned, BIG, cudaHostAllocDefault));
	memset(pinned, 1, BIG);
	copy_timed("H2D", "pinned", device, pinned, cudaMemcpyHostToDevice);
	copy_timed("D2H", "pinned", pinned, device, cudaMemcpyDeviceToHost);
	copy_timed("H2D", "pageable", device, pageable, cudaMemcpyHostToDevice);
	copy_timed("D2H", "pageable", pageable, device, cudaMemcpyDeviceToHost);
	CHECK(cudaFree(device));
	CHECK(cudaFreeHost(pinned));
	free(pageable);
}

static void count(void)
{
	int n;

	CHECK(cudaGetDeviceCount(&n));
}

static void version(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	auto ask =
	    library ? (decltype(cuDriverGetVersion) *)dlsym(library, "cuDriverGetVersion") : NULL;
	int n;

	CHECK(!ask);
	CHECK(ask(&n));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
	    {"calls", calls}, {"bandwidth", bandwidth}, {"count", count}, {"version", version}};

	for (const auto &mode : modes) {
		if (argc != 2 || strcmp(argv[1], mode.name))
			continue;
		mode.run();
		return fflush(stdout) ? 1 : 0;
	}
	fprintf(stderr, "usage: known calls|bandwidth|count|version\n");
	return 2;
}
