/* Stacks that lead to a function, counted or weighted by the time spent in it. */
#ifndef FSC_BPF_STACK_H
#define FSC_BPF_STACK_H

#include "args.bpf.h"
#include "copies.bpf.h"
#include "rings.bpf.h"
#include "sample.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, FSC_STACK_DEPTH * sizeof(__u64));
} stacks SEC(".maps");

/* A stack's ID is the hash of its addresses. Of two with the same one, the second is kept here. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, FSC_STACK_DEPTH * sizeof(__u64));
} more_stacks SEC(".maps");

/* Those of calibration have their own map, and take no room from others. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 16);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, FSC_STACK_DEPTH * sizeof(__u64));
} own_stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct fsc_stack_key);
	__type(value, struct fsc_stack_sums);
} stack_sums SEC(".maps");

/* Processes whose stacks were taken; 0: not read by user space yet. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} seen_pids SEC(".maps");

static __always_inline void note_pid(__u32 pid)
{
	__u8 not_told = 0;

	if (!bpf_map_lookup_elem(&seen_pids, &pid) &&
	    !bpf_map_update_elem(&seen_pids, &pid, &not_told, BPF_NOEXIST))
		count_seen(cfg.calibrate_row + FSC_COUNTER_PIDS);
}

enum { NO_STACK = -1, LOST_STACK = -2, SENT_STACK = -3 };

/* The stack was taken twice: if the IDs differ, it is lost. */
static __always_inline long confirm_stack(long id, long again)
{
	return id == again || id < 0 ? id : -16 /* EBUSY */;
}

static __always_inline long stack_id(const struct call *c, void *map, __u64 flags)
{
	long id;

	guard_begin();
	id = bpf_get_stackid(c->ctx, map, flags);
	guard_end();
	if (cfg.stack_guard == FSC_GUARD_TWICE)
		id = confirm_stack(id, bpf_get_stackid(c->ctx, map, flags));
	return id;
}

/* A stack's ID; NO_STACK: there is none (a kernel thread has no user stack). User code always has
 * one: there EFAULT means that the kernel's buffer is in use. */
static __always_inline __s32 take_stack(const struct call *c, __u64 flags)
{
	long id;

	if (c->row == cfg.calibrate_row) {
		stack_id(c, &own_stacks, flags);
		return NO_STACK;
	}
	id = stack_id(c, &stacks, flags);
	if (id == -17 /* EEXIST */) {
		id = stack_id(c, &more_stacks, flags);
		if (id >= 0)
			return id | FSC_STACK_MORE;
	}
	if (id >= 0)
		return id;
	if (id == -14 /* EFAULT */ && c->user && flags)
		id = -16;
	if (id != -17 && id != -12 /* ENOMEM */ && id != -16)
		return NO_STACK;
	count_loss(id == -17   ? FSC_LOSS_STACK_COLLIDED
		   : id == -12 ? FSC_LOSS_STACK_FULL
			       : FSC_LOSS_STACK_BUSY);
	return LOST_STACK;
}

/* The registers of the program: those of the probe, or those with which it entered the kernel. */
static __always_inline const void *user_regs(const struct call *c)
{
	return c->user ? c->ctx
		       : (const void *)bpf_task_pt_regs((void *)bpf_get_current_task_btf());
}

/* The user's part by debug information. A copy without room is a loss: of the hit, unless it is
 * kept without its stack. */
static __always_inline __s32 take_unwound(const struct call *c, __s32 kernel,
					  enum copy_else or_else)
{
	__s32 id = unwound_stack(user_regs(c), (__u64)or_else << 32 | c->row, kernel, NULL);

	if (c->row == cfg.calibrate_row)
		return NO_STACK;
	if (id == COPY_NO_ROOM) {
		count_loss(FSC_LOSS_COPIES_FULL);
		return LOST_STACK;
	}
	return id == COPY_COUNTS ? SENT_STACK : id;
}

/* The return address of a user function that was just entered. The kernel walks frame pointers, and
 * at the entry that of the caller is still set: it would skip the caller. */
static __always_inline __u64 caller_of(const struct call *c)
{
	struct pt_regs *ctx = c->ctx;
	__u64 caller = 0;

	if (!c->regs || !c->at_entry)
		return 0;
#if defined(__TARGET_ARCH_x86)
	if (PT_REGS_SP(ctx) >> 63)
		return 0; /* a kernel function */
	bpf_probe_read_user(&caller, sizeof(caller), (void *)PT_REGS_SP(ctx));
#else
	if (PT_REGS_IP(ctx) >> 63)
		return 0;
	caller = ((const struct user_pt_regs *)ctx)->regs[30];
#endif
	return caller;
}

/* False if a stack was lost, one loss per hit, or was sent as a hit. */
static __always_inline bool fill_stack_key(const struct call *c, struct fsc_stack_key *key)
{
	key->row = c->row;
	key->pid = pid_tgid() >> 32;
	key->kernel = key->user = NO_STACK;
	if (cfg.by & FSC_BY_COMM)
		bpf_get_current_comm(key->comm, sizeof(key->comm));
	if (cfg.stacks & FSC_STACKS_KERNEL)
		key->kernel = take_stack(c, 0);
	if (key->kernel == LOST_STACK)
		return false;
	if (cfg.stacks & FSC_STACKS_USER && cfg.copy_stacks) {
		note_pid(key->pid);
		key->user = take_unwound(c, key->kernel, cfg.pairs ? COPY_LASTING : COPY_COUNTED);
	} else if (cfg.stacks & FSC_STACKS_USER) {
		key->user = take_stack(c, BPF_F_USER_STACK);
		key->caller = caller_of(c);
	}
	return key->user != LOST_STACK && key->user != SENT_STACK;
}

static __always_inline void add_stack(const struct fsc_stack_key *key, __u64 time_ns)
{
	struct fsc_stack_sums first = {.calls = 1, .time_ns = time_ns}, *sums;

	sums = bpf_map_lookup_elem(&stack_sums, key);
	if (!sums) {
		if (cfg.stacks & FSC_STACKS_USER)
			note_pid(key->pid);
		if (!bpf_map_update_elem(&stack_sums, key, &first, BPF_NOEXIST))
			return;
		/* Another CPU may have added the key in between. */
		sums = bpf_map_lookup_elem(&stack_sums, key);
	}
	if (!sums) {
		lose_hit(key->row, FSC_LOSS_KEYS_FULL);
		return;
	}
	__sync_fetch_and_add(&sums->calls, 1);
	if (time_ns)
		__sync_fetch_and_add(&sums->time_ns, time_ns);
}

/* ---- hits ---- */

static __always_inline int stack_hit(const struct call *c)
{
	struct fsc_stack_key key = {};

	if (!admits_hit(c->row, c->gate))
		return 0;
	if (sampled_out(c->row))
		return 0;
	count_seen(c->row);
	if (fill_stack_key(c, &key) && c->row != cfg.calibrate_row)
		add_stack(&key, 0);
	return 0;
}

/* With weights the stack is taken at the entry, and counted when the time is known. */
static __always_inline int stack_entry(const struct call *c)
{
	struct fsc_stack_key key = {};
	struct fsc_frame_open *f;
	struct fsc_thread *t;

	if (!admits_hit(c->row, c->gate) || sampled_out(c->row))
		return 1;
	count_seen(c->row);
	if (!fill_stack_key(c, &key))
		return 1;
	t = thread_state(true);
	if (!t) {
		lose_hit(c->row, FSC_LOSS_NO_THREAD);
		return 1;
	}
	f = call_open(t, c);
	if (!f) {
		lose_hit(c->row, FSC_LOSS_TOO_DEEP);
		return 1;
	}
	count_extra(c->row, FSC_COUNTER_OPENED);
	f->args[0] = (__u32)key.kernel;
	f->args[1] = (__u32)key.user;
	f->args[2] = key.caller;
	f->start = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int stack_exit(const struct call *c)
{
	__u64 now = bpf_ktime_get_ns();
	struct fsc_stack_key key = {};
	struct fsc_frame_open *f;
	struct fsc_thread *me;

	if (!accepts_hit(c->row))
		return 0;
	me = thread_state(false);
	f = me ? call_close(me, c) : NULL;
	if (!f)
		return 0;
	count_extra(c->row, FSC_COUNTER_CLOSED);
	key.row = c->row;
	key.pid = pid_tgid() >> 32;
	key.kernel = (__s32)f->args[0];
	key.user = (__s32)f->args[1];
	key.caller = f->args[2];
	if (cfg.by & FSC_BY_COMM)
		bpf_get_current_comm(key.comm, sizeof(key.comm));
	if (c->row != cfg.calibrate_row)
		add_stack(&key, now - f->start);
	thread_release(me);
	return 0;
}

#endif
