/* Common to all modes: configuration, counters of hits and losses, and the filters. Nothing here
 * reads kernel structures, so no BTF of the kernel is needed. */
#ifndef FSC_BPF_COMMON_H
#define FSC_BPF_COMMON_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#if defined(__TARGET_ARCH_x86)
#include <linux/ptrace.h>
#else
/* The kernel's layout, which never changed; the installed headers are those of the build machine.
 */
struct user_pt_regs {
	__u64 regs[31];
	__u64 sp, pc, pstate;
};
struct pt_regs;
#endif
#include <bpf/bpf_tracing.h>

#include "wire/config.h"

extern const volatile struct fsc_config cfg;

/* counts[cpu * stride + row]: hits seen. User space maps it and sums over the CPUs. */
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

/* Traced processes (FSC_ONLY_TGIDS) or threads (FSC_ONLY_TIDS); following forks adds to it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} tasks SEC(".maps");

/* See FSC_GATES. User space maps it. */
volatile __u64 gates;

/* See FSC_HANDOVER, and which handover it is. */
volatile __u64 handover;
volatile __u32 turn;

/* bool: not even returns are seen. */
volatile __u32 over;

/* By thread. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fsc_claim);
} claims SEC(".maps");

/* A monitor's enum fsc_judging. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} judging SEC(".maps");

/* Called first in every program that can be on a user function. Since Linux 6.13 the JIT gives a
 * program of that type a private stack per CPU if it needs 64 bytes. Uprobes can be preempted, and
 * another thread that hits the same program on that CPU would overwrite it: panics were seen.
 * Programs that contain a tail call get none. Ours is in dead code that the verifier removes, but
 * only after the kernel has seen it. */
static __always_inline void refuse_private_stack(void)
{
	if (cfg.never)
		asm volatile("call 12" /* bpf_tail_call */ ::: "r0", "r1", "r2", "r3", "r4", "r5");
}

/* In our own pid namespace, which is the user's. */
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

static __always_inline bool is_judged_wanted(void)
{
	__u32 id = 0, *how = bpf_map_lookup_elem(&judging, &id);
	__u8 *verdict, pending = FSC_PENDING;

	if (!how || *how == FSC_JUDGING_NONE)
		return true;
	id = pid_tgid() >> 32;
	verdict = bpf_map_lookup_elem(&tasks, &id);
	if (verdict && *verdict != FSC_PENDING)
		return *verdict == FSC_WANTED;
	if (*how == FSC_JUDGING_FIRST)
		return false;
	if (!verdict)
		bpf_map_update_elem(&tasks, &id, &pending, BPF_NOEXIST);
	return true;
}

static __always_inline int is_wanted(void)
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
	if (cfg.only & FSC_ONLY_WANTED && !is_judged_wanted())
		return 0;
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

static __always_inline void count_loss(__u32 why)
{
	__u64 *n = bpf_map_lookup_elem(&losses, &why);

	if (n)
		__sync_fetch_and_add(n, 1);
}

/* Our own hits, for calibration, are no loss. */
static __always_inline void lose_hit(__u32 row, __u32 why)
{
	if (row != cfg.calibrate_row)
		count_loss(why);
}

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

/* Calibration does not count in the extra counters. */
static __always_inline void count_extra(__u32 row, enum fsc_counter which)
{
	if (row != cfg.calibrate_row)
		count_seen(cfg.calibrate_row + which);
}

/* Whether a hit of the row counts: in the calibration row only our own, in others those that pass
 * the filters. */
static __always_inline bool accepts_hit(__u32 row)
{
	return row == cfg.calibrate_row ? is_self() : is_wanted();
}

/* Processes that are not traced but hit probes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} bystanders SEC(".maps");

static __always_inline void count_bystander(__u32 row)
{
	__u32 tgid = pid_tgid() >> 32;
	__u8 one = 1;

	if (tgid == cfg.self_tgid)
		return;
	count_seen(cfg.calibrate_row + FSC_COUNTER_BYSTANDERS);
	if (cfg.rules)
		count_seen(cfg.calibrate_row + FSC_COUNTERS + row);
	if (!bpf_map_lookup_elem(&bystanders, &tgid))
		bpf_map_update_elem(&bystanders, &tgid, &one, BPF_NOEXIST);
}

/* Calibration is not concerned: it measures while the run's gate is shut. */
static __always_inline bool is_gate_open(__u32 row, __u32 gate)
{
	return row == cfg.calibrate_row || gates >> gate & 1;
}

/* Whether a newer link's program has counted this hit. */
static __always_inline bool is_claimed(__u32 row)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct fsc_claim *c = bpf_map_lookup_elem(&claims, &tid);

	if (!c || c->row != row || c->turn != turn)
		return false;
	bpf_map_delete_elem(&claims, &tid);
	return true;
}

/* A claim that cannot be stored leaves the hit to the other program. */
static __always_inline bool claim_hit(__u32 row)
{
	struct fsc_claim c = {.row = row, .turn = turn};
	__u32 tid = (__u32)bpf_get_current_pid_tgid();

	return !bpf_map_update_elem(&claims, &tid, &c, BPF_ANY);
}

static __always_inline bool is_leaving(__u32 gate)
{
	return cfg.moves && gate < FSC_MOVING_GATES && handover >> gate & 1;
}

/* Whether a hit counts at this link. */
static __always_inline bool counts_here(__u32 row, __u32 gate)
{
	__u64 moving;

	if (!is_gate_open(row, gate))
		return false;
	if (!cfg.moves || row == cfg.calibrate_row || gate >= FSC_MOVING_GATES)
		return true;
	moving = handover;
	if (moving >> gate & 1)
		return !is_claimed(row);
	return !(moving >> (FSC_MOVING_GATES + gate) & 1) || claim_hit(row);
}

/* The same at the start of a call: only while the gate is open, and untraced processes are counted.
 * Returns are not asked, so that calls which began in time are seen to their end. */
static __always_inline bool admits_hit(__u32 row, __u32 gate)
{
	if (!counts_here(row, gate))
		return false;
	if (accepts_hit(row))
		return true;
	if (cfg.bystanders && row != cfg.calibrate_row)
		count_bystander(row);
	return false;
}

/* Calls of kernel functions by BTF ID, which user space inserts: libbpf would read all of the
 * kernel's BTF at every start of every command to find them. */
#define KERNEL_CALL(mark, ctx)                                                                     \
	({                                                                                         \
		__u64 got;                                                                         \
		asm volatile("r1 = %1\n\tr0 = " mark " ll\n\t%0 = r0"                              \
			     : "=r"(got)                                                           \
			     : "r"(ctx)                                                            \
			     : "r0", "r1", "r2", "r3", "r4", "r5");                                \
		got;                                                                               \
	})

/* For functions without arguments and result. */
#define KERNEL_DO(mark) asm volatile("r0 = " mark " ll" ::: "r0", "r1", "r2", "r3", "r4", "r5")

/* Around the use of a per-CPU buffer; see enum fsc_stack_guard. */
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
