/* The default libraries of groups of functions. */
#include "monitor/config.h"

#include <stdio.h>
#include <string.h>

/* cuDNN's sub-libraries export the same names as libcudnn.so, which calls them: with both, every
 * call would be counted twice. */
static const struct {
	const char *group;
	const char *libraries[7]; /* NULL-ended */
} usual[] = {
    {"cuda", {"libcudart.so*", "libcuda.so*"}},
    {"cuda_driver", {"libcuda.so*"}},
    {"cublas", {"libcublas.so*", "libcublasLt.so*"}},
    {"cudnn", {"libcudnn.so*"}},
    {"nccl", {"libnccl.so*"}},
    {"libtorch",
     {"libtorch_cpu.so*", "libtorch_cuda.so*", "libtorch.so*", "libc10.so*", "libc10_cuda.so*",
      "libtorch_python.so*"}},
    {"libc", {"libc.so*"}},
    {"openssl", {"libssl.so*", "libcrypto.so*"}},
};

const char *const *fsc_group_libraries(const char *group)
{
	static _Thread_local char name[80];
	static _Thread_local const char *other[2];

	if (!strcmp(group, "custom"))
		return NULL;
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (!strcmp(usual[i].group, group))
			return usual[i].libraries;
	snprintf(name, sizeof(name), "%s%s.so*", strncmp(group, "lib", 3) ? "lib" : "", group);
	other[0] = name;
	return other;
}
