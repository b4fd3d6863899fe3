/* The evaluator that runs in the kernel, compiled for user space: its helpers read our own memory,
 * and fail where the kernel's would. */
#ifndef FSC_TEST_EVAL_NATIVE_H
#define FSC_TEST_EVAL_NATIVE_H

#include <linux/types.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

static long bpf_probe_read_user(void *to, __u32 n, const void *from)
{
	struct iovec local = {to, n}, remote = {(void *)from, n};

	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)n)
		return 0;
	memset(to, 0, n);
	return -14;
}

/* Tracepoint records and registers are ours as well. */
static long bpf_probe_read_kernel(void *to, __u32 n, const void *from)
{
	return bpf_probe_read_user(to, n, from);
}

static long bpf_probe_read_user_str(void *to, __u32 n, const void *from)
{
	char *out = to;

	for (__u32 i = 0; i < n; i++) {
		if (bpf_probe_read_user(&out[i], 1, (const char *)from + i))
			return -14;
		if (i == n - 1)
			out[i] = '\0';
		if (!out[i])
			return i + 1;
	}
	return n;
}

static long bpf_probe_read_kernel_str(void *to, __u32 n, const void *from)
{
	return bpf_probe_read_user_str(to, n, from);
}

static __u64 bpf_get_current_uid_gid(void)
{
	return 1001 | 1002ull << 32;
}

static __u32 bpf_get_smp_processor_id(void)
{
	return 3;
}

static __u64 bpf_get_current_task(void)
{
	return 0xffff888000000000;
}

static long bpf_get_current_comm(void *to, __u32 n)
{
	memset(to, 0, n);
	memcpy(to, "worker", 6);
	return 0;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#include "../../bpf/expr.bpf.h"
#pragma GCC diagnostic pop

#endif
