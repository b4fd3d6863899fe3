/* The evaluator in programs of each type, for test_eval_kernel.c: does the verifier take it, and
 * does it compute what it should. */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "expr.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile __u32 n_strings, string_size, rec_size;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fsc_trace_prog);
} progs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16);
} ring SEC(".maps");

__u64 verdicts[3];
__u32 only_tgid;

static __always_inline int evaluate(struct fsc_eval *e)
{
	struct fsc_rec_call *rec;
	__u32 zero = 0, verdict;

	e->pid_tgid = bpf_get_current_pid_tgid();
	if (e->pid_tgid >> 32 != only_tgid)
		return 0;
	e->prog = bpf_map_lookup_elem(&progs, &zero);
	if (!e->prog)
		return 0;
	verdict = fsc_eval_run(e, FSC_TRACE_OPS);
	if (verdict < 3)
		__sync_fetch_and_add(&verdicts[verdict], 1);
	if (verdict != FSC_EVAL_YES)
		return 0;
	rec = bpf_ringbuf_reserve(&ring, rec_size, 0);
	if (!rec)
		return 0;
	rec->time_ns = 0;
	bpf_get_current_comm(rec->comm, sizeof(rec->comm));
	fsc_eval_store(e, rec, n_strings, string_size);
	bpf_ringbuf_submit(rec, 0);
	return 0;
}

SEC("kprobe")
int on_function(struct pt_regs *ctx)
{
	struct fsc_eval e = {.ctx = ctx};

	e.args[0] = PT_REGS_PARM1(ctx);
	e.args[1] = PT_REGS_PARM2(ctx);
	e.args[2] = PT_REGS_PARM3(ctx);
	e.args[3] = PT_REGS_PARM4(ctx);
	e.args[4] = PT_REGS_PARM5(ctx);
#if defined(__TARGET_ARCH_x86)
	e.args[5] = ctx->r9;
#else
	e.args[5] = ((struct user_pt_regs *)ctx)->regs[5];
#endif
	return evaluate(&e);
}

SEC("tracepoint")
int on_tracepoint(void *ctx)
{
	struct fsc_eval e = {.ctx = ctx};

	return evaluate(&e);
}

SEC("raw_tracepoint")
int on_raw_tracepoint(struct bpf_raw_tracepoint_args *ctx)
{
	struct fsc_eval e = {.ctx = ctx};

#pragma unroll
	for (int i = 0; i < FSC_TRACE_ARGS; i++)
		e.args[i] = ctx->args[i];
	return evaluate(&e);
}
