/* What every mode shares: configuration, the counters of hits, losses, and the question whether a
 * hit is wanted at all. Nothing here reads kernel structures, so no kernel type information is
 * needed. */
#ifndef FSC_BPF_COMMON_H
#define FSC_BPF_COMMON_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#if defined(__TARGET_ARCH_x86)
#include <linux/ptrace.h>
#else
/* As the kernel has had it from the beginning; the headers at hand are those of the machine that
 * builds. */
struct user_pt_regs {
	__u64 regs[31];
	__u64 sp, pc, pstate;
};
struct pt_regs;
#endif
#include <bpf/bpf_tracing.h>

#include "wire/config.h"

extern const volatile struct fsc_config cfg;

/* counts[cpu * stride + row]: every hit seen. User space maps it and sums over the CPUs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

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

/* First thing in every program that can sit on a user function. From Linux 6.13 on, the JIT gives a
 * program of that type a stack of its own per CPU once it needs 64 bytes. Uprobes can be preempted,
 * and another thread that hits the same program on that CPU would write over it: panics were seen.
 * The kernel does so with no program that contains a tail call. Ours is in code that the verifier
 * knows is never reached, and takes out: what remains is that the kernel has seen it. */
static __always_inline void refuse_private_stack(void)
{
	if (cfg.never)
		asm volatile("call 12" /* bpf_tail_call */ ::: "r0", "r1", "r2", "r3", "r4", "r5");
}

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
	if (cfg.only & FSC_ONLY_WANTED) {
		__u8 *verdict;

		id = pid_tgid() >> 32;
		verdict = bpf_map_lookup_elem(&tasks, &id);
		if (verdict && *verdict == FSC_UNWANTED)
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

/* A hit that is lost; our own, which measure cost, are nobody's loss. */
static __always_inline void lose_hit(__u32 row, __u32 why)
{
	if (row != cfg.calibrate_row)
		lose(why);
}

/* Fills a key with what is asked for. */
static __always_inline void fill_key(struct fsc_count_key *key, __u32 row)
{
	key->row = row;
	if (cfg.by & FSC_BY_PID)
		key->pid = pid_tgid() >> 32;
	if (cfg.by & FSC_BY_TID)
		key->tid = (__u32)pid_tgid();
	if (cfg.by & FSC_BY_CPU && row != cfg.calibrate_row)
		key->cpu = bpf_get_smp_processor_id();
	if (cfg.by & FSC_BY_CGROUP)
		key->cgroup = bpf_get_current_cgroup_id();
	if (cfg.by & FSC_BY_COMM)
		bpf_get_current_comm(key->comm, sizeof(key->comm));
}

/* Atomic although the counter belongs to one CPU: uprobe programs can be preempted by another
 * thread that hits the same probe on the same CPU. */
static __always_inline void count_seen(__u32 row)
{
	__u32 slot = bpf_get_smp_processor_id() * cfg.stride + row;
	__u64 *n = bpf_map_lookup_elem(&counts, &slot);

	if (n)
		__sync_fetch_and_add(n, 1);
}

/* Our own hits are not among what is counted besides. */
static __always_inline void count_besides(__u32 row, enum fsc_counter which)
{
	if (row != cfg.calibrate_row)
		count_seen(cfg.calibrate_row + which);
}

/* Whether a hit of the row counts: our own hits of the row that measures cost, everybody's wanted
 * ones of the others. */
static __always_inline bool accepts(__u32 row)
{
	return row == cfg.calibrate_row ? is_self() : wanted();
}

/* Processes that are not watched and hit probes all the same. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} bystanders SEC(".maps");

static __always_inline void note_bystander(void)
{
	__u32 tgid = pid_tgid() >> 32;
	__u8 one = 1;

	if (tgid == cfg.self_tgid)
		return;
	count_seen(cfg.calibrate_row + FSC_COUNTER_BYSTANDERS);
	if (!bpf_map_lookup_elem(&bystanders, &tgid))
		bpf_map_update_elem(&bystanders, &tgid, &one, BPF_NOEXIST);
}

/* The same where a call begins: who is not watched pays for it, and is counted for that. */
static __always_inline bool admits(__u32 row)
{
	if (accepts(row))
		return true;
	if (cfg.bystanders && row != cfg.calibrate_row)
		note_bystander();
	return false;
}

/* Calls of kernel functions by their number, which user space puts in: libbpf would read the whole
 * of the kernel's type information at every start of every command to find them. */
#define KERNEL_CALL(mark, ctx)                                                                     \
	({                                                                                         \
		__u64 got;                                                                         \
		asm volatile("r1 = %1\n\tr0 = " mark " ll\n\t%0 = r0"                              \
			     : "=r"(got)                                                           \
			     : "r"(ctx)                                                            \
			     : "r0", "r1", "r2", "r3", "r4", "r5");                                \
		got;                                                                               \
	})

/* Of one that takes and returns nothing. */
#define KERNEL_DO(mark) asm volatile("r0 = " mark " ll" ::: "r0", "r1", "r2", "r3", "r4", "r5")

/* Around what uses a buffer of the CPU; see enum fsc_stack_guard. */
static __always_inline void guard_begin(void)
{
	if (cfg.stack_guard == FSC_GUARD_PREEMPT)
		KERNEL_DO("0x5eed5eed0badca04"); /* FSC_PREEMPT_OFF_MARK */
}

static __always_inline void guard_end(void)
{
	if (cfg.stack_guard == FSC_GUARD_PREEMPT)
		KERNEL_DO("0x5eed5eed0badca05"); /* FSC_PREEMPT_ON_MARK */
}

#endif
