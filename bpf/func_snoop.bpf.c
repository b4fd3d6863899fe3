/* The programs that sit on functions. Entry points are one per program type and three lines long;
 * all of them end in on_hit(). What is counted by what is constant configuration, so that the
 * verifier removes the rest. Nothing here reads kernel structures, so no kernel type information is
 * needed. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "wire/config.h"

char LICENSE[] SEC("license") = "GPL";

const volatile struct fsc_config cfg;

/* counts[cpu * stride + row]: every hit seen. User space maps it and sums over the CPUs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct fsc_count_key);
	__type(value, __u64);
} keyed SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FSC_LOSS_MAX);
	__type(key, __u32);
	__type(value, __u64);
} losses SEC(".maps");

/* Processes (FSC_ONLY_TGIDS) or threads (FSC_ONLY_TIDS) that count; following forks adds to it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * FSC_SYSCALLS);
	__type(key, __u32);
	__type(value, __u32);
} syscalls SEC(".maps");

/* Numbers as our own pid namespace has them: those the user typed and will read. */
static __always_inline __u64 pid_tgid(void)
{
	struct bpf_pidns_info ns = {};

	if (!cfg.pidns_ino)
		return bpf_get_current_pid_tgid();
	if (bpf_get_ns_current_pid_tgid(cfg.pidns_dev, cfg.pidns_ino, &ns, sizeof(ns)))
		return 0;
	return (__u64)ns.tgid << 32 | ns.pid;
}

static __always_inline int same_comm(void)
{
	char comm[FSC_COMM_LEN] = {};

	bpf_get_current_comm(comm, sizeof(comm));
#pragma unroll
	for (int i = 0; i < FSC_COMM_LEN; i++) {
		if (comm[i] != cfg.comm[i])
			return 0;
		if (!comm[i])
			break;
	}
	return 1;
}

static __always_inline int is_self(void)
{
	return pid_tgid() >> 32 == cfg.self_tgid;
}

static __always_inline int wanted(void)
{
	__u32 id;

	if (cfg.only & FSC_ONLY_OTHERS && is_self())
		return 0;
	if (cfg.only & FSC_ONLY_TGID && pid_tgid() >> 32 != cfg.tgid)
		return 0;
	if (cfg.only & FSC_ONLY_TGIDS) {
		id = pid_tgid() >> 32;
		if (!bpf_map_lookup_elem(&tasks, &id))
			return 0;
	}
	if (cfg.only & FSC_ONLY_TIDS) {
		id = (__u32)pid_tgid();
		if (!bpf_map_lookup_elem(&tasks, &id))
			return 0;
	}
	if (cfg.only & FSC_ONLY_CGROUP &&
	    bpf_get_current_ancestor_cgroup_id(cfg.cgroup_level) != cfg.cgroup_id)
		return 0;
	return !(cfg.only & FSC_ONLY_COMM) || same_comm();
}

static __always_inline void lose(__u32 why)
{
	__u64 *n = bpf_map_lookup_elem(&losses, &why);

	if (n)
		__sync_fetch_and_add(n, 1);
}

static __always_inline void count_keyed(__u32 row)
{
	struct fsc_count_key key = {.row = row};
	__u64 one = 1, *n;
	long rc;

	if (cfg.by & FSC_BY_PID)
		key.pid = pid_tgid() >> 32;
	if (cfg.by & FSC_BY_TID)
		key.tid = (__u32)pid_tgid();
	if (cfg.by & FSC_BY_CPU && row != cfg.calibrate_row)
		key.cpu = bpf_get_smp_processor_id();
	if (cfg.by & FSC_BY_CGROUP)
		key.cgroup = bpf_get_current_cgroup_id();
	if (cfg.by & FSC_BY_COMM)
		bpf_get_current_comm(key.comm, sizeof(key.comm));
	n = bpf_map_lookup_elem(&keyed, &key);
	if (n) {
		__sync_fetch_and_add(n, 1);
		return;
	}
	rc = bpf_map_update_elem(&keyed, &key, &one, BPF_NOEXIST);
	if (!rc)
		return;
	/* Another CPU may have made the key in between: then it is there now. */
	n = bpf_map_lookup_elem(&keyed, &key);
	if (n)
		__sync_fetch_and_add(n, 1);
	else if (row != cfg.calibrate_row)
		lose(rc == -16 /* EBUSY */ ? FSC_LOSS_KEYS_BUSY : FSC_LOSS_KEYS_FULL);
}

/* Atomic although the counter belongs to one CPU: uprobe programs can be preempted by another
 * thread that hits the same probe on the same CPU. */
static __always_inline int on_hit(__u32 row)
{
	__u32 slot = bpf_get_smp_processor_id() * cfg.stride + row;
	__u64 *n;

	if (row == cfg.calibrate_row ? !is_self() : !wanted())
		return 0;
	n = bpf_map_lookup_elem(&counts, &slot);
	if (n)
		__sync_fetch_and_add(n, 1);
	if (cfg.by)
		count_keyed(row);
	return 0;
}

/* Functions of user space and of the kernel, entry or return: the link decides. The three differ
 * only in the attach type they are loaded with (none, kprobe.multi, uprobe.multi). */
SEC("?kprobe")
int generic_entry(void *ctx)
{
	return on_hit(bpf_get_attach_cookie(ctx));
}

SEC("?kprobe")
int kprobe_multi_entry(void *ctx)
{
	return on_hit(bpf_get_attach_cookie(ctx));
}

SEC("?kprobe")
int uprobe_multi_entry(void *ctx)
{
	return on_hit(bpf_get_attach_cookie(ctx));
}

SEC("?tracepoint")
int tracepoint_entry(void *ctx)
{
	return on_hit(bpf_get_attach_cookie(ctx));
}

/* fentry, fexit and raw tracepoints take one program per place, and have no cookie on older
 * kernels. User space loads these instructions again for each place, with the row in the mark's
 * stead; the section only says how libbpf is to prepare them. */
SEC("?kprobe")
int own_entry(void *ctx)
{
	__u64 row;

	asm volatile("%0 = 0x5eed5eed0badcafe ll" : "=r"(row)); /* FSC_ROW_MARK */
	return on_hit((__u32)row);
}

/* The tracepoints syscalls:sys_enter_* and sys_exit_* are all made from two: one program on each of
 * those is hundreds of times quicker to take off, and cheaper to hit. */
static __always_inline int on_syscall(__u64 regs, __u32 first)
{
	__u64 words[2] = {};
	__u32 at, *row;

#if defined(__TARGET_ARCH_x86)
	/* orig_ax and the code segment: 0x23 is a 32-bit program, whose numbers mean other calls.
	 */
	if (bpf_probe_read_kernel(&words[0], 8, (void *)(regs + 15 * 8)) ||
	    bpf_probe_read_kernel(&words[1], 8, (void *)(regs + 17 * 8)) || words[1] == 0x23)
		return 0;
	at = (__u32)words[0];
#else
	/* syscallno, and bit 4 of pstate: a 32-bit program. */
	if (bpf_probe_read_kernel(&words[0], 4, (void *)(regs + 35 * 8)) ||
	    bpf_probe_read_kernel(&words[1], 8, (void *)(regs + 33 * 8)) || words[1] & 0x10)
		return 0;
	at = (__u32)words[0];
#endif
	if (at >= FSC_SYSCALLS)
		return 0;
	at += first;
	row = bpf_map_lookup_elem(&syscalls, &at);
	return row && *row ? on_hit(*row - 1) : 0;
}

SEC("?raw_tracepoint")
int syscall_enter(struct bpf_raw_tracepoint_args *ctx)
{
	return on_syscall(ctx->args[0], 0);
}

SEC("?raw_tracepoint")
int syscall_exit(struct bpf_raw_tracepoint_args *ctx)
{
	return on_syscall(ctx->args[0], FSC_SYSCALLS);
}

/* Following forks: a child of a task that counts, counts. The tracepoint does not say whether the
 * child is a process or a thread; a thread's number is taken out again when the thread ends. */
SEC("?tracepoint")
int follow_fork(void *ctx)
{
	__u32 parent = bpf_get_current_pid_tgid() >> 32, child = 0;
	__u8 one = 1;

	if (!bpf_map_lookup_elem(&tasks, &parent))
		return 0;
	if (cfg.fork_child_offset == 44)
		child = *(__u32 *)(ctx + 44);
	else if (cfg.fork_child_offset == 20)
		child = *(__u32 *)(ctx + 20);
	if (bpf_map_update_elem(&tasks, &child, &one, BPF_ANY))
		lose(FSC_LOSS_UNFOLLOWED);
	return 0;
}

SEC("?tracepoint")
int follow_exit(void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tid = (__u32)id;

	if (tid != id >> 32)
		bpf_map_delete_elem(&tasks, &tid);
	return 0;
}
