/* The programs on functions. There is one short entry point per program type; all of them end in
 * on_entry() or on_exit(). The configuration is constant, so that the verifier removes unused code;
 * the mode (FSC_MODE) is constant at compile time, so that counting does not wait until the code of
 * trace is loaded. */
#include "common.bpf.h"
#include "count.bpf.h"
#include "stack.bpf.h"
#include "time.bpf.h"
#include "trace.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile struct fsc_config cfg;

/* Without pairs every hit counts, at entry or return. */
static __always_inline int on_hit(const struct call *c)
{
	if (FSC_MODE == FSC_MODE_STACK)
		return stack_hit(c);
	if (FSC_MODE == FSC_MODE_TRACE)
		return trace_hit(c);
	if (!admits_hit(c->row, c->gate))
		return 0;
	count_seen(c->row);
	if (cfg.by)
		count_keyed(c->row);
	return 0;
}

static __always_inline int on_entry(const struct call *c)
{
	if (FSC_MODE == FSC_MODE_COUNT || !cfg.pairs)
		return on_hit(c);
	if (FSC_MODE == FSC_MODE_TIME)
		return time_entry(c);
	return FSC_MODE == FSC_MODE_STACK ? stack_entry(c) : trace_entry(c);
}

static __always_inline int on_exit(const struct call *c)
{
	if (FSC_MODE == FSC_MODE_COUNT || !cfg.pairs)
		return on_hit(c);
	if (over)
		return 0;
	if (FSC_MODE == FSC_MODE_TIME)
		return time_exit(c);
	return FSC_MODE == FSC_MODE_STACK ? stack_exit(c) : trace_exit(c);
}

/* ---- with registers: all kprobes and uprobes ---- */

static __always_inline struct call entry_of(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);

	return (struct call){.ctx = ctx,
			     .row = (__u32)cookie,
			     .gate = cookie >> FSC_COOKIE_GATE,
			     .id = PT_REGS_SP(ctx),
			     .before = true,
			     .at_entry = !(cookie & FSC_COOKIE_INSIDE),
			     .regs = true,
			     .user = !(PT_REGS_IP(ctx) >> 63)};
}

/* After the return instruction, x86 has taken the return address off the stack. */
static __always_inline struct call exit_of(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), id = PT_REGS_SP(ctx);

#if defined(__TARGET_ARCH_x86)
	if (!(cookie & FSC_COOKIE_AT_RETURN))
		id -= 8;
#endif
	return (struct call){.ctx = ctx,
			     .row = (__u32)cookie,
			     .gate = cookie >> FSC_COOKIE_GATE,
			     .id = id,
			     .perhaps = cookie & FSC_COOKIE_PERHAPS,
			     .regs = true,
			     .user = !(PT_REGS_IP(ctx) >> 63)};
}

/* The link decides whether a program runs at entry or return. Each exists three times, differing
 * only in the attach type (none, kprobe.multi, uprobe.multi). */
#define ENTRY(name)                                                                                \
	SEC("?kprobe")                                                                             \
	int name##_entry(struct pt_regs *ctx)                                                      \
	{                                                                                          \
		struct call c;                                                                     \
                                                                                                   \
		refuse_private_stack();                                                            \
		c = entry_of(ctx);                                                                 \
		on_entry(&c);                                                                      \
		return 0;                                                                          \
	}
#define EXIT(name)                                                                                 \
	SEC("?kprobe")                                                                             \
	int name##_exit(struct pt_regs *ctx)                                                       \
	{                                                                                          \
		struct call c;                                                                     \
                                                                                                   \
		refuse_private_stack();                                                            \
		c = exit_of(ctx);                                                                  \
		on_exit(&c);                                                                       \
		return 0;                                                                          \
	}

ENTRY(generic)
EXIT(generic)
ENTRY(kprobe_multi)
EXIT(kprobe_multi)
ENTRY(uprobe_multi)
EXIT(uprobe_multi)

/* ---- sessions: one program at both ends, and 8 bytes that the kernel keeps for each call ---- */

static __always_inline int on_session(struct pt_regs *ctx)
{
	bool is_return = KERNEL_CALL("0x5eed5eed0badca01", ctx) & 1; /* FSC_IS_RETURN_MARK */
	struct call c;
	__u64 *kept, cookie = bpf_get_attach_cookie(ctx), put_in;

	/* When libbpf loads it, before the calls are inserted, everything below is dead code. */
	asm volatile("%0 = 0x5eed5eed0badcafe ll" : "=r"(put_in)); /* FSC_ROW_MARK */
	if (put_in != 1)
		return 0;
	if (FSC_MODE == FSC_MODE_TIME && cfg.keep == FSC_KEEP_COOKIE) {
		kept = (__u64 *)KERNEL_CALL("0x5eed5eed0badca02", ctx); /* FSC_COOKIE_MARK */
		if (is_return && over)
			return 0;
		if (is_return)
			return time_exit_cookie((__u32)cookie, kept);
		return time_entry_cookie((__u32)cookie, cookie >> FSC_COOKIE_GATE, kept);
	}
	/* Returns only: the entry suppresses those of processes that are not traced. */
	if (!cfg.pairs && !is_return)
		return !admits_hit((__u32)cookie, cookie >> FSC_COOKIE_GATE);
	c = is_return ? exit_of(ctx) : entry_of(ctx);
	c.session = true;
	return is_return ? on_exit(&c) : on_entry(&c);
}

SEC("?kprobe")
int kprobe_session(struct pt_regs *ctx)
{
	return on_session(ctx);
}

SEC("?kprobe")
int uprobe_session(struct pt_regs *ctx)
{
	refuse_private_stack();
	return on_session(ctx);
}

/* Whether task storage can be allocated: on some machines the kernel supports it but never has
 * memory for it. User space runs one of these before relying on it. */
SEC("?raw_tracepoint")
int try_threads(void *ctx)
{
	return thread_storage(true) != NULL;
}

SEC("?raw_tracepoint")
int try_overheads(void *ctx)
{
	return overhead_storage(true) != NULL;
}

/* ---- one program per place ---- */

SEC("?tracepoint")
int tracepoint_entry(void *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	struct call c = {
	    .ctx = ctx, .row = (__u32)cookie, .gate = cookie >> FSC_COOKIE_GATE, .before = true};

	return on_hit(&c);
}

/* fentry, fexit and raw tracepoints need one program per place, and have no cookie on older
 * kernels. User space loads these instructions again for each place, with the mark replaced by the
 * row; the section only tells libbpf how to prepare them. Entry and exit of a call have the same
 * context, which is on the stack: it identifies calls as well as the stack pointer. */
static __always_inline struct call own_call(void *ctx)
{
	__u64 row, n_args;

	asm volatile("%0 = 0x5eed5eed0badcafe ll" : "=r"(row));	   /* FSC_ROW_MARK */
	asm volatile("%0 = 0x5eed5eed0badca03 ll" : "=r"(n_args)); /* FSC_ARGS_MARK */
	return (struct call){.ctx = ctx, .row = (__u32)row, .n_args = (__u32)n_args, .own = true};
}

SEC("?kprobe")
int own_entry(void *ctx)
{
	struct call c = own_call(ctx);

	c.before = c.at_entry = true;
	on_entry(&c);
	return 0;
}

SEC("?kprobe")
int own_exit(void *ctx)
{
	struct call c = own_call(ctx);

	on_exit(&c);
	return 0;
}

/* ---- system calls ---- */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * FSC_SYSCALLS);
	__type(key, __u32);
	__type(value, __u32);
} syscalls SEC(".maps");

/* The tracepoints syscalls:sys_enter_* and sys_exit_* are all derived from two: one program on each
 * of these detaches hundreds of times faster, and its hits are cheaper. */
static __always_inline int on_syscall(struct bpf_raw_tracepoint_args *ctx, __u32 first)
{
	struct call c = {.ctx = ctx};
	__u64 regs = ctx->args[0];
	__u64 words[2] = {};
	__u32 at, *row;

#if defined(__TARGET_ARCH_x86)
	/* orig_ax and the code segment: 0x23 is a 32-bit program, which has other system call
	 * numbers. */
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
	if (!row || !*row)
		return 0;
	c.row = *row - 1;
	return on_hit(&c);
}

SEC("?raw_tracepoint")
int syscall_enter(struct bpf_raw_tracepoint_args *ctx)
{
	return on_syscall(ctx, 0);
}

SEC("?raw_tracepoint")
int syscall_exit(struct bpf_raw_tracepoint_args *ctx)
{
	return on_syscall(ctx, FSC_SYSCALLS);
}

SEC("?tracepoint")
int sched_switch(void *ctx)
{
	return on_switch(ctx);
}

/* Children of traced tasks are traced. The tracepoint does not say whether the child is a process
 * or a thread; the ID of a thread is removed when it exits. */
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
		count_loss(FSC_LOSS_UNFOLLOWED);
	return 0;
}

/* After exec a process is another program: the verdict on it is void. */
SEC("?raw_tracepoint")
int judge_anew(void *ctx)
{
	__u32 tgid = pid_tgid() >> 32;
	__u8 *judged = bpf_map_lookup_elem(&tasks, &tgid);

	if (judged && *judged == FSC_UNWANTED)
		bpf_map_delete_elem(&tasks, &tgid);
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
