/* The walk through Python's frames, for test_python_kernel.c: at every hit of a process that it is
 * told of, the frames are left in a map. */
#include "python.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile struct fsc_config cfg = {};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, struct fsc_python);
} pythons SEC(".maps");

struct taken {
	__u32 n, tid;
	struct fsc_python_frame frames[FSC_PYTHON_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct taken);
} taken SEC(".maps");

__u64 hits;

SEC("uprobe")
int on_call(struct pt_regs *ctx)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32, zero = 0;
	const struct fsc_python *py = bpf_map_lookup_elem(&pythons, &tgid);
	struct taken *t = bpf_map_lookup_elem(&taken, &zero);

	if (!py || !t)
		return 0;
	t->tid = (__u32)bpf_get_current_pid_tgid();
	t->n = python_frames(py, t->frames);
	__sync_fetch_and_add(&hits, 1);
	return 0;
}
