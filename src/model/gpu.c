/* Names of GPU operations and their properties. */
#include "model/gpu.h"

const char *const fsc_gpu_mem_names[FSC_GPU_MEM_MAX] = {
    "device", "managed", "pool", "vmm", "pinned", "registered",
};
const char *const fsc_gpu_dir_names[FSC_GPU_DIR_MAX] = {
    "H2H", "H2D", "D2H", "D2D", "unknown", "P2P",
};
const char *const fsc_gpu_layer_names[3] = {"driver", "runtime", "library"};
const char *const fsc_gpu_launch_names[3] = {"kernel", "cooperative", "graph"};
const char *const fsc_gpu_host_names[4] = {"none", "pinned", "pageable", "unknown"};
const char *const fsc_gpu_timing_names[3] = {"complete", "enqueue", "synchronised"};
const char *const fsc_gpu_size_names[FSC_GPU_SIZES] = {
    "< 4 KB", "< 64 KB", "< 1 MB", "< 16 MB", ">= 16 MB",
};

unsigned fsc_gpu_size_class(uint64_t bytes)
{
	static const uint64_t below[] = {4 << 10, 64 << 10, 1 << 20, 16 << 20};
	unsigned i = 0;

	while (i < FSC_GPU_SIZES - 1 && bytes >= below[i])
		i++;
	return i;
}
