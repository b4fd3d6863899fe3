/* The table of CUDA calls. The order of arguments is that of cuda.h and cuda_runtime_api.h, counted
 * from 0; a dim3 takes two places. */
#include "gpu/calls.h"

#include <fnmatch.h>
#include <string.h>

#include "model/errors.h"

#define X     FSC_GPU_NO_ARG
#define ASYNC FSC_GPU_ASYNC

#define ROW(symbol_, when_, layer_, op_, kind_, flags_, addr_, src_, size_, height_, stream_,      \
	    dir_, n_)                                                                              \
	{                                                                                          \
		.symbol = (symbol_), .when = FSC_GPU_##when_, .call = {                            \
			.op = FSC_GPU_##op_,                                                       \
			.layer = FSC_GPU_##layer_,                                                 \
			.kind = (kind_),                                                           \
			.flags = (flags_),                                                         \
			.addr = (addr_),                                                           \
			.src = (src_),                                                             \
			.size = (size_),                                                           \
			.height = (height_),                                                       \
			.stream = (stream_),                                                       \
			.dir = (dir_),                                                             \
			.n_args = (n_)                                                             \
		}                                                                                  \
	}

/* ---- launches: arguments in a fixed order ---- */
#define LAUNCH(symbol, op, kind, n)                                                                \
	ROW(symbol, ALWAYS, DRIVER, op, FSC_GPU_##kind, FSC_GPU_ENTRY, 0, X, X, X, X, X, n)
#define RT_LAUNCH(symbol, op, kind, n)                                                             \
	ROW(symbol, LAUNCHES, RUNTIME, op, FSC_GPU_##kind, 0, 0, X, X, X, X, X, n)
/* ---- memory: where the address is written to, or stands; the size; the stream ---- */
#define ALLOC(layer, symbol, mem, flags, addr, size, stream, n)                                    \
	ROW(symbol, ALWAYS, layer, ALLOC, FSC_GPU_MEM_##mem, flags, addr, X, size, X, stream, X, n)
#define PITCHED(layer, symbol)                                                                     \
	ROW(symbol, ALWAYS, layer, ALLOC, FSC_GPU_MEM_DEVICE, 0, 0, 1, 2, 3, X, X, 5)
#define FREE(layer, symbol, mem, stream)                                                           \
	ROW(symbol, ALWAYS, layer, FREE, FSC_GPU_MEM_##mem, 0, 0, X, X, X, stream, X, 2)
/* ---- copies: destination, source, bytes, stream ---- */
#define COPY(layer, symbol, way, flags, dst, src, size, stream, n)                                 \
	ROW(symbol, ALWAYS, layer, COPY, FSC_GPU_##way, flags, dst, src, size, X, stream, X, n)
#define RT_COPY(symbol, flags, dst, src, size, height, stream, way, n)                             \
	ROW(symbol, ALWAYS, RUNTIME, COPY, FSC_GPU_DIR_UNKNOWN, flags, dst, src, size, height,     \
	    stream, way, n)
#define MEMSET(layer, symbol, element, flags, size, height, stream, n)                             \
	ROW(symbol, ALWAYS, layer, MEMSET, element, flags, 0, X, size, height, stream, X, n)
#define SYNC(layer, symbol, flags, stream)                                                         \
	ROW(symbol, ALWAYS, layer, SYNC, 0, flags, X, X, X, X, stream, X, 1)
#define LIBRARY(symbol) ROW(symbol, LIBRARIES, LIBRARY, FRAME, 0, 0, X, X, X, X, X, X, 0)

const struct fsc_gpu_row fsc_gpu_rows[] = {
    {.symbol = NULL},

    LAUNCH("cuLaunchKernel", LAUNCH, KERNEL, 11),
    LAUNCH("cuLaunchKernelEx", LAUNCH_EX, KERNEL, 4),
    LAUNCH("cuLaunchCooperativeKernel", LAUNCH, COOPERATIVE, 10),
    ROW("cuGraphLaunch", ALWAYS, DRIVER, GRAPH, FSC_GPU_GRAPH_LAUNCH, FSC_GPU_ENTRY, 0, X, X, X, 1,
	X, 2),
    RT_LAUNCH("cudaLaunchKernel", LAUNCH_DIM, KERNEL, 8),
    RT_LAUNCH("cudaLaunchCooperativeKernel", LAUNCH_DIM, COOPERATIVE, 8),
    RT_LAUNCH("cudaLaunchKernelExC", LAUNCH_EX, KERNEL, 3),
    ROW("cudaGraphLaunch", LAUNCHES, RUNTIME, GRAPH, FSC_GPU_GRAPH_LAUNCH, 0, 0, X, X, X, 1, X, 2),

    ALLOC(DRIVER, "cuMemAlloc_v2", DEVICE, 0, 0, 1, X, 2),
    PITCHED(DRIVER, "cuMemAllocPitch_v2"),
    ALLOC(DRIVER, "cuMemAllocManaged", MANAGED, 0, 0, 1, X, 3),
    ALLOC(DRIVER, "cuMemAllocAsync", POOL, ASYNC, 0, 1, 2, 3),
    ALLOC(DRIVER, "cuMemAllocFromPoolAsync", POOL, ASYNC, 0, 1, 3, 4),
    ALLOC(DRIVER, "cuMemCreate", VMM, 0, 0, 1, X, 4),
    ALLOC(DRIVER, "cuMemHostAlloc", PINNED, 0, 0, 1, X, 3),
    ALLOC(DRIVER, "cuMemAllocHost_v2", PINNED, 0, 0, 1, X, 2),
    ALLOC(DRIVER, "cuMemHostRegister_v2", REGISTERED, FSC_GPU_ADDR_IN, 0, 1, X, 3),
    FREE(DRIVER, "cuMemFree_v2", DEVICE, X),
    FREE(DRIVER, "cuMemFreeAsync", POOL, 1),
    FREE(DRIVER, "cuMemRelease", VMM, X),
    FREE(DRIVER, "cuMemFreeHost", PINNED, X),
    FREE(DRIVER, "cuMemHostUnregister", REGISTERED, X),
    ROW("cuMemMap", ALWAYS, DRIVER, MAP, FSC_GPU_MEM_VMM, 0, 0, 3, 1, X, X, X, 5),
    ROW("cuMemUnmap", ALWAYS, DRIVER, UNMAP, FSC_GPU_MEM_VMM, 0, 0, X, 1, X, X, X, 2),
    ALLOC(RUNTIME, "cudaMalloc", DEVICE, 0, 0, 1, X, 2),
    PITCHED(RUNTIME, "cudaMallocPitch"),
    ALLOC(RUNTIME, "cudaMallocManaged", MANAGED, 0, 0, 1, X, 3),
    ALLOC(RUNTIME, "cudaMallocAsync", POOL, ASYNC, 0, 1, 2, 3),
    ALLOC(RUNTIME, "cudaMallocFromPoolAsync", POOL, ASYNC, 0, 1, 3, 4),
    ALLOC(RUNTIME, "cudaHostAlloc", PINNED, 0, 0, 1, X, 3),
    ALLOC(RUNTIME, "cudaMallocHost", PINNED, 0, 0, 1, X, 2),
    ALLOC(RUNTIME, "cudaHostRegister", REGISTERED, FSC_GPU_ADDR_IN, 0, 1, X, 3),
    FREE(RUNTIME, "cudaFree", DEVICE, X),
    FREE(RUNTIME, "cudaFreeAsync", POOL, 1),
    FREE(RUNTIME, "cudaFreeHost", PINNED, X),
    FREE(RUNTIME, "cudaHostUnregister", REGISTERED, X),

    COPY(DRIVER, "cuMemcpyHtoD_v2", H2D, 0, 0, 1, 2, X, 3),
    COPY(DRIVER, "cuMemcpyDtoH_v2", D2H, 0, 0, 1, 2, X, 3),
    COPY(DRIVER, "cuMemcpyDtoD_v2", D2D, 0, 0, 1, 2, X, 3),
    COPY(DRIVER, "cuMemcpyHtoDAsync_v2", H2D, ASYNC, 0, 1, 2, 3, 4),
    COPY(DRIVER, "cuMemcpyDtoHAsync_v2", D2H, ASYNC, 0, 1, 2, 3, 4),
    COPY(DRIVER, "cuMemcpyDtoDAsync_v2", D2D, ASYNC, 0, 1, 2, 3, 4),
    COPY(DRIVER, "cuMemcpy", DIR_UNKNOWN, 0, 0, 1, 2, X, 3),
    COPY(DRIVER, "cuMemcpyAsync", DIR_UNKNOWN, ASYNC, 0, 1, 2, 3, 4),
    COPY(DRIVER, "cuMemcpyPeer", P2P, 0, 0, 2, 4, X, 5),
    COPY(DRIVER, "cuMemcpyPeerAsync", P2P, ASYNC, 0, 2, 4, 5, 6),
    COPY(DRIVER, "cuMemcpyAtoH_v2", D2H, 0, 0, 1, 3, X, 4),
    COPY(DRIVER, "cuMemcpyHtoA_v2", H2D, 0, 0, 2, 3, X, 4),
    ROW("cuMemcpy2D_v2", ALWAYS, DRIVER, COPY_2D, FSC_GPU_DIR_UNKNOWN, 0, X, X, X, X, X, X, 1),
    ROW("cuMemcpy2DUnaligned_v2", ALWAYS, DRIVER, COPY_2D, FSC_GPU_DIR_UNKNOWN, 0, X, X, X, X, X, X,
	1),
    ROW("cuMemcpy2DAsync_v2", ALWAYS, DRIVER, COPY_2D, FSC_GPU_DIR_UNKNOWN, ASYNC, X, X, X, X, 1, X,
	2),
    ROW("cuMemcpy3D_v2", ALWAYS, DRIVER, COPY_3D, FSC_GPU_DIR_UNKNOWN, 0, X, X, X, X, X, X, 1),
    ROW("cuMemcpy3DAsync_v2", ALWAYS, DRIVER, COPY_3D, FSC_GPU_DIR_UNKNOWN, ASYNC, X, X, X, X, 1, X,
	2),
    ROW("cuMemcpy3DPeer", ALWAYS, DRIVER, COPY_3D, FSC_GPU_P2P, 0, X, X, X, X, X, X, 1),
    /* 12.8: dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, failIdx, stream; 13 dropped
     * failIdx */
    ROW("cuMemcpyBatchAsync", ALWAYS, DRIVER, COPY_BATCH, FSC_GPU_DIR_UNKNOWN, ASYNC, X, X, X, 3, 8,
	X, 9),
    ROW("cuMemcpyBatchAsync_v2", ALWAYS, DRIVER, COPY_BATCH, FSC_GPU_DIR_UNKNOWN, ASYNC, X, X, X, 3,
	7, X, 8),
    RT_COPY("cudaMemcpy", 0, 0, 1, 2, X, X, 3, 4),
    RT_COPY("cudaMemcpyAsync", ASYNC, 0, 1, 2, X, 4, 3, 5),
    RT_COPY("cudaMemcpy2D", 0, 0, 2, 4, 5, X, 6, 7),
    RT_COPY("cudaMemcpy2DAsync", ASYNC, 0, 2, 4, 5, 7, 6, 8),
    RT_COPY("cudaMemcpyToSymbol", 0, 0, 1, 2, X, X, 4, 5),
    RT_COPY("cudaMemcpyFromSymbol", 0, 0, 1, 2, X, X, 4, 5),
    RT_COPY("cudaMemcpyPeer", 0, 0, 2, 4, X, X, X, 5),
    RT_COPY("cudaMemcpyPeerAsync", ASYNC, 0, 2, 4, X, 5, X, 6),
    RT_COPY("cudaMemcpy3D", 0, X, X, X, X, X, X, 1),
    RT_COPY("cudaMemcpy3DAsync", ASYNC, X, X, X, X, 1, X, 2),

    MEMSET(DRIVER, "cuMemsetD8_v2", 1, 0, 2, X, X, 3),
    MEMSET(DRIVER, "cuMemsetD16_v2", 2, 0, 2, X, X, 3),
    MEMSET(DRIVER, "cuMemsetD32_v2", 4, 0, 2, X, X, 3),
    MEMSET(DRIVER, "cuMemsetD2D8_v2", 1, 0, 3, 4, X, 5),
    MEMSET(DRIVER, "cuMemsetD2D16_v2", 2, 0, 3, 4, X, 5),
    MEMSET(DRIVER, "cuMemsetD2D32_v2", 4, 0, 3, 4, X, 5),
    MEMSET(DRIVER, "cuMemsetD8Async", 1, ASYNC, 2, X, 3, 4),
    MEMSET(DRIVER, "cuMemsetD16Async", 2, ASYNC, 2, X, 3, 4),
    MEMSET(DRIVER, "cuMemsetD32Async", 4, ASYNC, 2, X, 3, 4),
    MEMSET(DRIVER, "cuMemsetD2D8Async", 1, ASYNC, 3, 4, 5, 6),
    MEMSET(DRIVER, "cuMemsetD2D16Async", 2, ASYNC, 3, 4, 5, 6),
    MEMSET(DRIVER, "cuMemsetD2D32Async", 4, ASYNC, 3, 4, 5, 6),
    MEMSET(RUNTIME, "cudaMemset", 1, 0, 2, X, X, 3),
    MEMSET(RUNTIME, "cudaMemsetAsync", 1, ASYNC, 2, X, 3, 4),
    MEMSET(RUNTIME, "cudaMemset2D", 1, 0, 3, 4, X, 5),
    MEMSET(RUNTIME, "cudaMemset2DAsync", 1, ASYNC, 3, 4, 5, 6),

    SYNC(DRIVER, "cuStreamSynchronize", 0, 0),
    SYNC(DRIVER, "cuCtxSynchronize", 0, X),
    SYNC(DRIVER, "cuCtxSynchronize_v2", 0, X),
    SYNC(DRIVER, "cuEventSynchronize", FSC_GPU_ON_EVENT, 0),
    SYNC(RUNTIME, "cudaStreamSynchronize", 0, 0),
    SYNC(RUNTIME, "cudaDeviceSynchronize", 0, X),
    SYNC(RUNTIME, "cudaEventSynchronize", FSC_GPU_ON_EVENT, 0),

    ROW("cuModuleGetFunction", ALWAYS, DRIVER, NAME, 0, 0, 0, 2, X, X, X, X, 3),
    ROW("cuLibraryGetKernel", ALWAYS, DRIVER, NAME, 0, 0, 0, 2, X, X, X, X, 3),
    ROW("cuKernelGetFunction", ALWAYS, DRIVER, ALIAS, 0, 0, 0, 1, X, X, X, X, 2),
    ROW("__cudaRegisterFunction", WITHOUT, RUNTIME, NAME, 0, FSC_GPU_BY_VALUE | FSC_GPU_ENTRY, 1, 3,
	X, X, X, X, 4),
    ROW("__cudaGetKernel", WITHOUT, RUNTIME, ALIAS, 0, 0, 0, 1, X, X, X, X, 2),

    ROW("cuStreamBeginCapture_v2", ALWAYS, DRIVER, CAPTURE, 0, 0, X, X, X, X, 0, X, 2),
    ROW("cuStreamBeginCaptureToGraph", ALWAYS, DRIVER, CAPTURE, 0, 0, X, X, X, X, 0, X, 6),
    ROW("cuStreamEndCapture", ALWAYS, DRIVER, CAPTURED, 0, 0, 1, X, X, X, 0, X, 2),
    ROW("cuGraphInstantiateWithFlags", ALWAYS, DRIVER, INSTANTIATE, 0, 0, 0, 1, X, X, X, X, 3),
    ROW("cuGraphInstantiateWithParams", ALWAYS, DRIVER, INSTANTIATE, 0, 0, 0, 1, X, X, X, X, 3),

    ROW("cudaSetDevice", SEVERAL, RUNTIME, DEVICE, 0, 0, 0, X, X, X, X, X, 1),
    ROW("cuCtxSetCurrent", SEVERAL, DRIVER, CONTEXT, 0, 0, 0, X, X, X, X, X, 1),
    ROW("cuCtxPushCurrent_v2", SEVERAL, DRIVER, CONTEXT, 0, 0, 0, X, X, X, X, X, 1),
    ROW("cuCtxPopCurrent_v2", SEVERAL, DRIVER, CONTEXT, 0, 0, X, X, X, X, X, X, 1),
    ROW("cuDevicePrimaryCtxRetain", SEVERAL, DRIVER, RETAIN, 0, 0, 0, 1, X, X, X, X, 2),

    LIBRARY("cublasSgemm_v2"),
    LIBRARY("cublasDgemm_v2"),
    LIBRARY("cublasHgemm"),
    LIBRARY("cublasCgemm_v2"),
    LIBRARY("cublasGemmEx"),
    LIBRARY("cublasGemmBatchedEx"),
    LIBRARY("cublasGemmStridedBatchedEx"),
    LIBRARY("cublasSgemmStridedBatched"),
    LIBRARY("cublasSgemmBatched"),
    LIBRARY("cublasSgemv_v2"),
    LIBRARY("cublasSgemmEx"),
    LIBRARY("cublasLtMatmul"),
    LIBRARY("cudnnBackendExecute"),
    LIBRARY("cudnnConvolutionForward"),
    LIBRARY("cudnnConvolutionBackwardData"),
    LIBRARY("cudnnConvolutionBackwardFilter"),
    LIBRARY("cudnnBatchNormalizationForwardTrainingEx"),
    LIBRARY("cudnnBatchNormalizationBackwardEx"),
    LIBRARY("cudnnRNNForward"),
    LIBRARY("ncclAllReduce"),
    LIBRARY("ncclBroadcast"),
    LIBRARY("ncclReduce"),
    LIBRARY("ncclAllGather"),
    LIBRARY("ncclReduceScatter"),
    LIBRARY("ncclSend"),
    LIBRARY("ncclRecv"),
    LIBRARY("ncclGroupEnd"),

    {.symbol = "_ZN3c1027reportMemoryUsageToProfilerE*",
     .shown = "c10::reportMemoryUsageToProfiler",
     .when = FSC_GPU_TENSORS,
     .call = {.op = FSC_GPU_TENSOR,
	      .layer = FSC_GPU_LIBRARY,
	      .flags = FSC_GPU_ENTRY,
	      .addr = 0,
	      .src = X,
	      .stream = X,
	      .n_args = 5}},
    {.symbol = "_ZN3c1027reportOutOfMemoryToProfilerE*",
     .shown = "c10::reportOutOfMemoryToProfiler",
     .when = FSC_GPU_ALWAYS,
     .call = {.op = FSC_GPU_TENSOR_OOM,
	      .layer = FSC_GPU_LIBRARY,
	      .flags = FSC_GPU_ENTRY,
	      .addr = X,
	      .src = X,
	      .stream = X,
	      .n_args = 4}},
};

const size_t fsc_gpu_n_rows = sizeof(fsc_gpu_rows) / sizeof(fsc_gpu_rows[0]);

static const struct {
	const char *file;
	enum fsc_gpu_layer layer;
	const char *prefix; /* of its functions */
} files[] = {
    {"libcuda.so*", FSC_GPU_DRIVER, "cu"},	  {"libcudart.so*", FSC_GPU_RUNTIME, ""},
    {"libcublas.so*", FSC_GPU_LIBRARY, "cublas"}, {"libcublasLt.so*", FSC_GPU_LIBRARY, "cublasLt"},
    {"libcudnn.so*", FSC_GPU_LIBRARY, "cudnn"},	  {"libnccl.so*", FSC_GPU_LIBRARY, "nccl"},
    {"libc10.so*", FSC_GPU_LIBRARY, "_ZN3c10"},
};
enum { N_FILES = sizeof(files) / sizeof(files[0]) };

int fsc_gpu_layer_of(const char *base_name)
{
	for (size_t i = 0; i < N_FILES; i++)
		if (!fnmatch(files[i].file, base_name, 0))
			return files[i].layer;
	return -1;
}

bool fsc_gpu_row_in(const struct fsc_gpu_row *row, const char *base_name)
{
	for (size_t i = 0; i < N_FILES; i++)
		if (!fnmatch(files[i].file, base_name, 0))
			return row->call.layer == files[i].layer &&
			       !strncmp(row->symbol, files[i].prefix, strlen(files[i].prefix));
	return row->call.layer == FSC_GPU_RUNTIME; /* linked into a program */
}

const char *fsc_gpu_error_name(uint32_t call, int code)
{
	static const enum fsc_error_rule rules[] = {FSC_ERRORS_CU, FSC_ERRORS_CUDA};
	const struct fsc_gpu_row *row = &fsc_gpu_rows[call];

	if (row->call.layer != FSC_GPU_LIBRARY)
		return fsc_error_name(rules[row->call.layer], code);
	if (!strncmp(row->symbol, "cublas", 6))
		return fsc_error_name(FSC_ERRORS_CUBLAS, code);
	return fsc_error_name(strncmp(row->symbol, "nccl", 4) ? FSC_ERRORS_CUDNN : FSC_ERRORS_NCCL,
			      code);
}
