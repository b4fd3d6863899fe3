/* User stacks by call frame information: followed in the kernel by rules from user space (see
 * wire/stack.h), or copied. All state is on the program's stack or in the record: a program may be
 * preempted anywhere, and the same one run meanwhile. */
#ifndef FSC_BPF_COPIES_H
#define FSC_BPF_COPIES_H

#include "common.bpf.h"
#include "wire/stack.h"

struct copy_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

/* One ring; user space puts a larger one in its place. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct copy_ring);
} copies SEC(".maps");

/* Only user space adds to it, and nobody takes away. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct fsc_unwind_key);
	__type(value, __u64);
} unwind_rules SEC(".maps");

/* IDs of stacks that were sent. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct fsc_chain_key);
	__type(value, __u32);
} chains SEC(".maps");

/* The last ID that was given. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} copy_ids SEC(".maps");

/* The address space of the current process: when it was started, and how many programs it has run.
 * 0: not known. */
static __always_inline __u64 address_space(void)
{
	__u64 task = bpf_get_current_task(), leader = 0, start = 0;
	__u32 execs = 0;

	if (!cfg.task_leader || !cfg.task_start || !cfg.task_execs ||
	    bpf_probe_read_kernel(&leader, 8, (void *)(task + cfg.task_leader)) ||
	    bpf_probe_read_kernel(&start, 8, (void *)(leader + cfg.task_start)) ||
	    bpf_probe_read_kernel(&execs, 4, (void *)(leader + cfg.task_execs)))
		return 0;
	return (start * 0x9e3779b97f4a7c15 + execs) * 0xc2b2ae3d27d4eb4f + (pid_tgid() >> 32);
}

#if defined(__TARGET_ARCH_x86)
enum { AT_FP = 4 * 8, AT_PC = 16 * 8, AT_SP = 19 * 8, AT_LR = 0 };
#else
enum { AT_FP = 29 * 8, AT_LR = 30 * 8, AT_SP = 31 * 8, AT_PC = 32 * 8 };
#endif

static __always_inline __u64 reg_at(const void *regs, __u32 at)
{
	__u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), regs + at);
	return value;
}

/* Follows the stack of a program from its registers as far as user space would, and hashes the
 * addresses. False: not to its end. A step has no branches but those that leave the loop, or the
 * verifier would walk thousands of ways through it. */
static __always_inline bool walk_stack(const void *regs, const struct fsc_hijacked *hijacked,
				       struct fsc_chain_key *chain)
{
	struct fsc_unwind_key key = {.space = chain->space};
	__u64 pc = reg_at(regs, AT_PC), sp = reg_at(regs, AT_SP), fp = reg_at(regs, AT_FP);
	__u64 a = 0, b = 0, cfa, at, rule, mask, saved[2], *found;
	bool whole = true;

	for (int i = 0; i < FSC_STACK_DEPTH; i++) {
		bool bad;

		key.at = pc | (i ? FSC_UNWIND_RETURN : 0);
		found = bpf_map_lookup_elem(&unwind_rules, &key);
		whole = found;
		if (!found)
			break;
		rule = *(volatile __u64 *)found;
		a = (a ^ pc) * 0x9e3779b97f4a7c15;
		a ^= a >> 29;
		b = (b + pc) * 0xff51afd7ed558ccd;
		b ^= b >> 32;
		if (rule & FSC_UNWIND_END)
			break;
		mask = 0 - (rule >> 2 & 1);
		cfa = ((fp & mask) | (sp & ~mask)) + ((__s64)(rule << 32) >> 40);
		saved[0] = saved[1] = 0;
		at = cfa + ((__s64)(rule << 16) >> 48) * 8;
		bad = bpf_probe_read_user(&saved[0], 8, (void *)at);
		bad |= bpf_probe_read_user(&saved[1], 8, (void *)(cfa + ((__s64)rule >> 48) * 8));
		pc = saved[0];
		if (hijacked) {
#pragma unroll
			for (int k = 0; k < FSC_HIJACKED; k++) {
				mask = 0 - (__u64)(at == hijacked->at[k]);
				pc = (hijacked->was[k] & mask) | (pc & ~mask);
			}
		}
#if !defined(__TARGET_ARCH_x86)
		/* Only of the innermost function can it still be there. */
		mask = 0 - (rule >> 3 & 1);
		pc = (reg_at(regs, AT_LR) & mask) | (pc & ~mask);
		bad |= i && mask;
#endif
		mask = 0 - (rule >> 4 & 1);
		fp = (saved[1] & mask) | (fp & ~mask);
		bad |= cfa < sp;
		sp = cfa;
		whole = !bad;
		if (bad | !pc)
			break;
	}
	chain->hash[0] = a;
	chain->hash[1] = b;
	return whole;
}

/* For calibration: as much work as following a stack of that many frames. Funcscope's own code has
 * no rules. */
enum { USUAL_FRAMES = 16 };

static __always_inline void walk_usual_stack(const void *regs)
{
	struct fsc_unwind_key key = {.at = reg_at(regs, AT_PC)};
	__u64 sp = reg_at(regs, AT_SP), saved[2] = {};

	for (int i = 0; i < USUAL_FRAMES; i++) {
		bpf_map_lookup_elem(&unwind_rules, &key);
		bpf_probe_read_user(&saved[0], 8, (void *)sp);
		bpf_probe_read_user(&saved[1], 8, (void *)(sp + 8));
		key.at += saved[0] & 1;
	}
}

/* ---- copies ---- */

static __always_inline void copy_regs(const void *regs, struct fsc_rec_stack *rec)
{
#if defined(__TARGET_ARCH_x86)
	bpf_probe_read_kernel(rec->regs, 21 * 8, regs);
#else
	bpf_probe_read_kernel(rec->regs, 34 * 8, regs);
#endif
}

static __always_inline __u64 sp_of(const struct fsc_rec_stack *rec)
{
#if defined(__TARGET_ARCH_x86)
	return rec->regs[19];
#else
	return rec->regs[31];
#endif
}

/* As much of the stack as there is, page by page. What was read is tracked in the record: the
 * verifier does not track values there, so that all outcomes of a page are one state. */
static __always_inline void copy_stack(struct fsc_rec_stack *rec)
{
	__u64 sp = sp_of(rec), first = FSC_STACK_PAGE - (sp & (FSC_STACK_PAGE - 1));

	rec->size = rec->pages = rec->pad = 0;
	asm volatile("" : "+r"(first)); /* keep the check below for the verifier */
	if (first > FSC_STACK_PAGE)
		return;
	if (!bpf_probe_read_user(rec->stack, first, (void *)sp)) {
		rec->size = first;
		rec->pages = 1;
	}
#pragma unroll
	for (int i = 0; i < FSC_STACK_COPY / FSC_STACK_PAGE; i++) {
		__u64 at = first + i * FSC_STACK_PAGE;

		if (bpf_probe_read_user(rec->stack + at, FSC_STACK_PAGE, (void *)(sp + at)))
			continue;
		rec->size = at + FSC_STACK_PAGE;
		rec->pages |= 2 << i;
	}
}

/* Sends a copy, whose ID is returned; -1: there is no room for it. row_flags: the row, above it
 * enum fsc_copy_flags. A subprogram, so that its variables are not added to those of who calls it.
 */
static __attribute__((noinline)) int send_copy(const void *regs, __u64 space, __u64 row_flags,
					       __s32 kernel, const struct fsc_hijacked *hijacked)
{
	__u32 zero = 0;
	__u32 *last = bpf_map_lookup_elem(&copy_ids, &zero);
	void *ring = bpf_map_lookup_elem(&copies, &zero);
	struct fsc_rec_stack *rec;
	__u64 waiting;
	int id;

	if (!last || !ring)
		return -1;
	waiting = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);
	rec = bpf_ringbuf_reserve(ring, sizeof(*rec) + FSC_STACK_PAGE + FSC_STACK_COPY, 0);
	if (!rec)
		return -1;
	id = (__sync_fetch_and_add(last, 1) + 1) & 0x3fffffff;
	rec->time_ns = bpf_ktime_get_ns();
	rec->space = space;
	rec->row = (__u32)row_flags;
	rec->pid = pid_tgid() >> 32;
	rec->kernel = kernel;
	rec->id = id;
	rec->flags = row_flags >> 32;
	bpf_get_current_comm(rec->comm, sizeof(rec->comm));
	copy_regs(regs, rec);
	if (hijacked)
		rec->hijacked = *hijacked;
	else
		__builtin_memset(&rec->hijacked, 0, sizeof(rec->hijacked));
	copy_stack(rec);
	/* The first of many brings the rules for the others: user space is to hurry. */
	bpf_ringbuf_submit(rec, waiting < sizeof(*rec) ||
					waiting > bpf_ringbuf_query(ring, BPF_RB_RING_SIZE) / 4
				    ? BPF_RB_FORCE_WAKEUP
				    : BPF_RB_NO_WAKEUP);
	return id;
}

enum { COPY_NO_ROOM = -1, COPY_COUNTS = -2 };

/* What becomes of a stack that the kernel cannot follow. */
enum copy_else {
	COPY_PASSING, /* one record refers to it */
	COPY_LASTING, /* more may do so */
	COPY_COUNTED, /* it is a hit that user space counts: COPY_COUNTS is returned */
};

/* The ID of the current user stack. row_else: the row, above it enum copy_else. hijacked may be
 * NULL. */
static __attribute__((noinline)) int unwound_stack(const void *regs, __u64 row_else, __s32 kernel,
						   const struct fsc_hijacked *hijacked)
{
	struct fsc_chain_key chain = {.space = address_space()};
	__u32 or_else = row_else >> 32, flags = FSC_COPY_LASTING, *known;
	bool whole;
	int id;

	if ((__u32)row_else == cfg.calibrate_row) {
		walk_usual_stack(regs);
		return COPY_NO_ROOM;
	}
	whole = chain.space && walk_stack(regs, hijacked, &chain);
	if (whole) {
		known = bpf_map_lookup_elem(&chains, &chain);
		if (known)
			return *known;
	} else if (or_else != COPY_LASTING) {
		flags = or_else == COPY_COUNTED ? FSC_COPY_COUNTS : 0;
	}
	id = send_copy(regs, chain.space, (__u64)flags << 32 | (__u32)row_else, kernel, hijacked);
	if (id < 0)
		return COPY_NO_ROOM;
	if (!whole)
		return or_else == COPY_COUNTED ? COPY_COUNTS : id;
	bpf_map_update_elem(&chains, &chain, &id, BPF_NOEXIST);
	return id;
}

#endif
