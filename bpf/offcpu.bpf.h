/* Off-CPU time of threads inside timed calls. The tracepoint has only the thread IDs of a switch,
 * so there is a map by thread ID; it holds those that are inside. */
#ifndef FSC_BPF_OFFCPU_H
#define FSC_BPF_OFFCPU_H

#include "common.bpf.h"
#include "wire/time.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fsc_off);
} off_cpu SEC(".maps");

/* Off-CPU time of the current thread so far; tracked from now on. */
static __always_inline __u64 off_so_far(void)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct fsc_off none = {}, *o;

	if (!cfg.off_cpu)
		return 0;
	o = bpf_map_lookup_elem(&off_cpu, &tid);
	if (o)
		return o->total;
	if (bpf_map_update_elem(&off_cpu, &tid, &none, BPF_NOEXIST))
		count_loss(FSC_LOSS_UNWATCHED);
	return 0;
}

static __always_inline void off_forget(void)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();

	if (cfg.off_cpu)
		bpf_map_delete_elem(&off_cpu, &tid);
}

/* sched:sched_switch; user space has checked the offsets of the two IDs. */
static __always_inline int on_switch(void *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 prev = *(__u32 *)(ctx + FSC_SWITCH_PREV), next = *(__u32 *)(ctx + FSC_SWITCH_NEXT);
	struct fsc_off *o = bpf_map_lookup_elem(&off_cpu, &prev);

	if (o)
		o->since = now;
	o = bpf_map_lookup_elem(&off_cpu, &next);
	if (o && o->since) {
		o->total += now - o->since;
		o->since = 0;
	}
	return 0;
}

#endif
