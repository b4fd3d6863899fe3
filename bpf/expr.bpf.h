/* Runs the expressions of `trace` in the kernel: one interpreter for every type of program. A probe
 * fills a struct fsc_eval, asks fsc_eval_run() (predicate and values, no record needed yet), and
 * when the answer is yes reserves a record and lets fsc_eval_store() put values and texts into it.
 *
 * For the verifier: what steers the loop is either constant per round (the index) or unknown from
 * the start (`zero` comes from the map), so that the states of all paths through a round are alike
 * and are pruned; every index is masked. Included behind bpf_helpers.h; holds no maps. */
#ifndef FSC_BPF_EXPR_H
#define FSC_BPF_EXPR_H

#include "wire/trace.h"

enum fsc_verdict {
	FSC_EVAL_NO,
	FSC_EVAL_YES,
	FSC_EVAL_UNREADABLE, /* the predicate could not be computed: to be counted, not shown */
};

struct fsc_eval {
	const struct fsc_trace_prog *prog; /* map value */
	void *ctx;			   /* of the BPF program: pt_regs or tracepoint record */
	__u64 pid_tgid;			   /* in the user's pid namespace */
	__u64 retval, duration_ns;
	__u64 args[FSC_TRACE_ARGS];
	/* results */
	__u64 unreadable; /* bit i: value i */
	__u64 values[FSC_TRACE_VALUES];
};

/* The machine's state between two operations. The verifier does not know its exact address, hence
 * nothing of its contents: every round of the loop begins in the same state. */
struct fsc_eval_machine {
	__u64 next;   /* operation */
	__u64 sp;     /* of the stack: the first free slot */
	__u64 bad;    /* not 0: a read or a division failed since the last result */
	__u64 record; /* address of the context */
	__u64 word;   /* what memory is read into */
	__u64 stack[FSC_TRACE_DEPTH];
};

/* Room for a text to compare with a literal. */
struct fsc_eval_words {
	__u64 at[FSC_TRACE_LITERAL / 8];
};

/* x != 0 without a branch, which would double the verifier's states. */
static __always_inline __u64 fsc_eval_truth(__u64 x)
{
	return (x | -x) >> 63;
}

static __always_inline __u64 fsc_eval_extend(__u64 v, __u32 how)
{
	__u32 shift = (64 - 8 * (how & FSC_OP_SIZE)) & 63;

	v <<= shift;
	return how & FSC_OP_SIGNED ? (__u64)((__s64)v >> shift) : v >> shift;
}

/* Kernel probes see kernel and user pointers, which can be distinguished. A process must not be
 * able to expose kernel memory by passing its address: for user probes FSC_OP_USER is set. */
static __always_inline int fsc_eval_is_user(__u64 addr, __u32 how)
{
#if defined(__TARGET_ARCH_arm64)
	return how & FSC_OP_USER || !(addr >> 55 & 1); /* the top byte may be a tag */
#else
	return how & FSC_OP_USER || !(addr >> 63);
#endif
}

static __always_inline long fsc_eval_read(void *to, __u32 n, __u64 addr, __u32 how)
{
	if (fsc_eval_is_user(addr, how))
		return bpf_probe_read_user(to, n, (void *)addr);
	return bpf_probe_read_kernel(to, n, (void *)addr);
}

static __always_inline long fsc_eval_text(void *to, __u64 n, __u64 addr, __u32 how)
{
	if (fsc_eval_is_user(addr, how))
		return bpf_probe_read_user_str(to, n, (void *)addr);
	return bpf_probe_read_kernel_str(to, n, (void *)addr);
}

static __always_inline __u32 fsc_eval_bytes(const struct fsc_op *op)
{
	__u32 n = op->size & FSC_OP_SIZE;

	return n > 8 ? 8 : n;
}

static __always_inline __u64 fsc_eval_var(const struct fsc_eval *e, __u32 var)
{
	if (var == FSC_VAR_RETVAL)
		return e->retval;
	if (var == FSC_VAR_DURATION)
		return e->duration_ns;
	if (var == FSC_VAR_PID)
		return e->pid_tgid >> 32;
	if (var == FSC_VAR_TID)
		return (__u32)e->pid_tgid;
	if (var == FSC_VAR_UID)
		return (__u32)bpf_get_current_uid_gid();
	if (var == FSC_VAR_GID)
		return bpf_get_current_uid_gid() >> 32;
	if (var == FSC_VAR_CPU)
		return bpf_get_smp_processor_id();
	return bpf_get_current_task();
}

/* Both are padded with zeros. */
static __always_inline __u64 fsc_eval_same(const struct fsc_eval *e,
					   const struct fsc_eval_words *text, __u32 literal)
{
	const __u64 *want = (const __u64 *)e->prog->literals[literal & (FSC_TRACE_LITERALS - 1)];
	__u64 differ = 0;

#pragma unroll
	for (int i = 0; i < FSC_TRACE_LITERAL / 8; i++)
		differ |= text->at[i] ^ want[i];
	return !differ;
}

/* As in C; division by 0 gives 0, and sets bad. */
static __always_inline __u64 fsc_eval_divide(struct fsc_eval_machine *m, const struct fsc_op *op,
					     __u64 y, __u64 x)
{
	__u64 y_sign = 0, x_sign = 0, some = fsc_eval_truth(x);

	m->bad |= some ^ 1;
	if (op->size & FSC_OP_SIGNED) {
		y_sign = (__u64)((__s64)y >> 63);
		x_sign = (__u64)((__s64)x >> 63);
	}
	/* |v| is (v ^ sign) - sign */
	y = (y ^ y_sign) - y_sign;
	x = ((x ^ x_sign) - x_sign) | (some ^ 1);
	if (op->code == FSC_OP_MOD)
		return some * (((y % x) ^ y_sign) - y_sign);
	x_sign ^= y_sign;
	return some * (((y / x) ^ x_sign) - x_sign);
}

static __always_inline __u64 fsc_eval_binary(struct fsc_eval_machine *m, const struct fsc_op *op,
					     __u64 y, __u64 x)
{
	__u64 bias = op->size & FSC_OP_SIGNED ? 1ull << 63 : 0;

	y = fsc_eval_extend(y, op->size);
	x = fsc_eval_extend(x, op->size);
	switch (op->code) {
	case FSC_OP_ADD:
		return y + x * op->imm;
	case FSC_OP_SUB:
		return y - x * op->imm;
	case FSC_OP_MUL:
		return y * x;
	case FSC_OP_DIV:
	case FSC_OP_MOD:
		return fsc_eval_divide(m, op, y, x);
	case FSC_OP_SHL:
		return y << (x & 63);
	case FSC_OP_SHR:
		return op->size & FSC_OP_SIGNED ? (__u64)((__s64)y >> (x & 63)) : y >> (x & 63);
	case FSC_OP_AND:
		return y & x;
	case FSC_OP_XOR:
		return y ^ x;
	case FSC_OP_OR:
		return y | x;
	case FSC_OP_EQ:
		return y == x;
	case FSC_OP_NE:
		return y != x;
	case FSC_OP_LT:
		return (y ^ bias) < (x ^ bias);
	default:
		return (y ^ bias) <= (x ^ bias);
	}
}

/* Operations that push a value. */
static __always_inline __u64 fsc_eval_push(const struct fsc_eval *e, struct fsc_eval_machine *m,
					   const struct fsc_op *op)
{
	struct fsc_eval_words text = {};
	__u32 arg = op->arg, bytes = fsc_eval_bytes(op);

	switch (op->code) {
	case FSC_OP_CONST:
		return op->imm;
	case FSC_OP_ARG:
		return arg < FSC_TRACE_ARGS ? e->args[arg] : 0;
	case FSC_OP_VAR:
		return fsc_eval_var(e, arg);
	case FSC_OP_ADDRESS:
		return m->record + (arg & 0xffff);
	case FSC_OP_STRCOMM:
		bpf_get_current_comm(text.at, 16);
		return fsc_eval_same(e, &text, arg);
	}
	m->word = 0;
	if (op->code == FSC_OP_DYNAMIC)
		bytes = 4;
	m->bad |= (__u64)bpf_probe_read_kernel(&m->word, bytes, (char *)e->ctx + (arg & 0xffff));
	if (op->code == FSC_OP_DYNAMIC)
		return m->record + (m->word & 0xffff) + (op->imm & 0xffff);
	return m->word; /* FIELD, REG */
}

/* Operations that replace the top. */
static __always_inline __u64 fsc_eval_unary(const struct fsc_eval *e, struct fsc_eval_machine *m,
					    const struct fsc_op *op, __u64 x)
{
	struct fsc_eval_words text = {};

	switch (op->code) {
	case FSC_OP_EXTRACT:
		x <<= op->arg & 63;
		return op->size & FSC_OP_SIGNED ? (__u64)((__s64)x >> (op->imm & 63))
						: x >> (op->imm & 63);
	case FSC_OP_DEREF:
		m->word = 0;
		m->bad |= (__u64)fsc_eval_read(&m->word, fsc_eval_bytes(op), x + op->imm, op->size);
		return m->word;
	case FSC_OP_STRCMP:
		m->bad |= (__u64)fsc_eval_text(text.at, sizeof(text), x, op->size) >> 63;
		return fsc_eval_same(e, &text, op->arg);
	case FSC_OP_NEG:
		return -x;
	case FSC_OP_COMPL:
		return ~x;
	case FSC_OP_NOT:
		return !fsc_eval_truth(x);
	case FSC_OP_BOOL:
		return fsc_eval_truth(x);
	case FSC_OP_JUMP:
		m->next = op->arg;
	}
	return x; /* CAST, JUMP */
}

/* Operations that pop the top: jumps, the end of the predicate, results. Returns FSC_EVAL_YES to
 * continue; *v becomes the new top. */
static __always_inline int fsc_eval_take(struct fsc_eval *e, struct fsc_eval_machine *m,
					 const struct fsc_op *op, __u64 x, __u64 *v)
{
	__u64 arg = op->arg;

	if (op->code == FSC_OP_CHECK) {
		if (m->bad)
			return FSC_EVAL_UNREADABLE;
		return x ? FSC_EVAL_YES : FSC_EVAL_NO;
	}
	if (op->code == FSC_OP_EMIT) {
		if (arg < FSC_TRACE_VALUES)
			e->values[arg] = x;
		e->unreadable |= fsc_eval_truth(m->bad) << (arg & 63);
		m->bad = 0;
		return FSC_EVAL_YES;
	}
	if (op->code == FSC_OP_ORIF ? !x : !!x)
		return FSC_EVAL_YES;
	m->next = arg;
	if (op->code != FSC_OP_JZERO) {
		m->sp++;
		*v = fsc_eval_truth(x);
	}
	return FSC_EVAL_YES;
}

/* Executes one operation. */
static __always_inline int fsc_eval_step(struct fsc_eval *e, struct fsc_eval_machine *m,
					 const struct fsc_op *op)
{
	__u64 x = m->stack[(m->sp - 1) & (FSC_TRACE_DEPTH - 1)];
	__u64 y = m->stack[(m->sp - 2) & (FSC_TRACE_DEPTH - 1)];
	int verdict = FSC_EVAL_YES;
	__u64 v = y;

	if (op->size & FSC_OP_SWAP) {
		y = x;
		x = v;
	}
	if (op->code < FSC_OP_CAST) {
		v = fsc_eval_push(e, m, op);
		m->sp++;
	} else if (op->code < FSC_OP_ADD) {
		v = fsc_eval_unary(e, m, op, x);
	} else if (op->code < FSC_OP_JZERO) {
		v = fsc_eval_binary(m, op, y, x);
		m->sp--;
	} else {
		m->sp--;
		verdict = fsc_eval_take(e, m, op, x, &v);
	}
	m->stack[(m->sp - 1) & (FSC_TRACE_DEPTH - 1)] = fsc_eval_extend(v, op->size);
	return verdict;
}

/* Evaluates e->prog: FSC_EVAL_YES with values and unreadable filled in, or why not. A subprogram,
 * so that its stack is separate from the caller's. Jumps only go forward, so programs always end.
 * most: operations of the longest program, constant to the verifier, which walks through that many
 * rounds: it determines how long loading takes. */
static __attribute__((noinline)) int fsc_eval_run(struct fsc_eval *e, __u32 most)
{
	const struct fsc_trace_prog *prog = e->prog;
	__u64 room[sizeof(struct fsc_eval_machine) / 8 + 1] = {};
	struct fsc_eval_machine *m = (void *)((char *)room + (prog->zero & 8));

	e->unreadable = 0;
	m->record = (__u64)e->ctx;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < most && i < FSC_TRACE_OPS; i++) {
		__u64 at = m->next++;
		int verdict;

		if (at >= prog->n_ops)
			break;
		verdict = fsc_eval_step(e, m, &prog->ops[at & (FSC_TRACE_OPS - 1)]);
		if (verdict != FSC_EVAL_YES)
			return verdict;
	}
	return FSC_EVAL_YES;
}

/* Stores the values and texts of a successful evaluation in the record, which has room for
 * n_strings texts of string_size bytes; both constant. */
static __always_inline void fsc_eval_store(const struct fsc_eval *e, struct fsc_rec_call *rec,
					   __u32 n_strings, __u32 string_size)
{
	const struct fsc_trace_prog *prog = e->prog;
	__u64 unreadable = e->unreadable;

	rec->n_values = (__u16)prog->n_values;
	rec->string_size = (__u16)string_size;
#pragma unroll
	for (int i = 0; i < FSC_TRACE_VALUES; i++)
		rec->values[i] = e->values[i];
#pragma unroll
	for (__u32 i = 0; i < FSC_TRACE_STRINGS; i++) {
		const struct fsc_trace_string *s = &prog->strings[i];
		__u64 room = s->limit;
		__u32 value = s->value;
		char *to;

		if (i >= n_strings)
			break;
		to = rec->strings + i * string_size;
		*to = 0;
		asm volatile("" : "+r"(value)); /* must not be read again after the check */
		if (i >= prog->n_strings || value >= FSC_TRACE_VALUES)
			continue;
		if (!room || room >= string_size)
			room = string_size - 1;
		room++;
		/* Repeated in a form that the compiler preserves and older verifiers understand. */
		asm volatile("" : "+r"(room));
		if (room > string_size)
			room = string_size;
		if (fsc_eval_text(to, room, e->values[value], s->how) < 0)
			unreadable |= 1ull << (value + FSC_TRACE_NO_TEXT);
	}
	rec->unreadable = unreadable;
}

#endif
