/* Tracing: one record for a call that passes the predicate, or one at its entry and one at its
 * return. Slow calls of `time` are the same records without values. */
#ifndef FSC_BPF_TRACE_H
#define FSC_BPF_TRACE_H

#include "stack.bpf.h"

#include "expr.bpf.h"

/* One program per row. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fsc_trace_prog);
} programs SEC(".maps");

/* A monitor needs stacks only of slow calls. If the entry of a call was sent, its record has the
 * stack. */
static __always_inline bool wants_stack(__u64 row_event)
{
	if (cfg.rules)
		return row_event >> 48 & ~FSC_REC_USER;
	return FSC_MODE != FSC_MODE_TRACE || !cfg.pairs ||
	       (__u16)(row_event >> 32) != FSC_CALL_RETURN;
}

/* What a record is told of the user stack: the caller (see caller_of()), or, where it is unwound by
 * debug information, its ID. Taken before, not in the subprograms that write the record: the depth
 * of their stacks is limited together. */
static __always_inline __u64 user_stack_of(const struct call *c, __u64 row_event, bool at_entry)
{
	if (!(cfg.stacks & FSC_STACKS_USER))
		return 0;
	if (!cfg.copy_stacks)
		return at_entry ? caller_of(c) : 0;
	if (!wants_stack(row_event))
		return (__u32)NO_STACK;
	note_pid(pid_tgid() >> 32);
	return (__u32)take_unwound(c, NO_STACK, COPY_PASSING);
}

/* Fills the common part of a record. stack: see user_stack_of(). row_event: the row, above it 16
 * bits of event, above these the flags. */
static __always_inline void fill_record(void *ctx, struct fsc_rec_call *rec, __u64 row_event,
					__u64 stack)
{
	struct call c = {.ctx = ctx, .row = (__u32)row_event, .user = row_event >> 63};
	__u64 id = pid_tgid(), user = bpf_get_current_uid_gid();

	rec->time_ns = bpf_ktime_get_ns();
	rec->entry_ns = rec->duration_ns = rec->ret = 0;
	rec->ip = cfg.copy_stacks ? 0 : stack;
	rec->row = c.row;
	rec->prog = rec->depth = 0;
	rec->flags = row_event >> 48 & ~FSC_REC_USER;
	rec->pid = id >> 32;
	rec->tid = (__u32)id;
	rec->cpu = bpf_get_smp_processor_id();
	rec->uid = (__u32)user;
	rec->gid = user >> 32;
	rec->event = (__u16)(row_event >> 32);
	rec->kstack = rec->ustack = NO_STACK;
	if (cfg.stacks & FSC_STACKS_KERNEL && wants_stack(row_event))
		rec->kstack = take_stack(&c, 0);
	if (cfg.stacks & FSC_STACKS_USER && cfg.copy_stacks) {
		rec->ustack = (__s32)stack;
	} else if (cfg.stacks & FSC_STACKS_USER && wants_stack(row_event)) {
		note_pid(rec->pid);
		rec->ustack = take_stack(&c, BPF_F_USER_STACK);
	}
	bpf_get_current_comm(rec->comm, sizeof(rec->comm));
}

/* The two below are subprograms, so that their stack is not added to the evaluator's; hence the few
 * scalar arguments. row_event: the event in the upper half. */
static __attribute__((noinline)) int send_record(void *ctx, const struct fsc_frame_open *f,
						 __u64 row_event, __u64 duration_ns, __u64 stack)
{
	__u64 size = sizeof(struct fsc_rec_call) + cfg.n_strings * cfg.string_size;
	struct fsc_rec_call *rec;
	void *ring;

	rec = ring_reserve((__u32)row_event, size, FSC_LOSS_RETURN_FULL, &ring);
	if (!rec)
		return 0;
	fill_record(ctx, rec, row_event, stack);
	rec->entry_ns = f->start;
	rec->duration_ns = duration_ns;
	rec->ret = f->ret;
	rec->n_values = 0;
	rec->string_size = cfg.string_size;
	rec->unreadable = 0;
#pragma unroll
	for (int i = 0; i < FSC_TRACE_ARGS; i++)
		rec->args[i] = f->args[i];
	ring_submit(ring, rec);
	return 0;
}

static __attribute__((noinline)) int send_evaluated(void *ctx, const struct fsc_eval *e,
						    __u64 row_event, __u64 entry_ns, __u64 stack)
{
	__u64 size = sizeof(struct fsc_rec_call) + cfg.n_strings * cfg.string_size;
	struct fsc_rec_call *rec;
	void *ring;

	rec = ring_reserve((__u32)row_event, size, FSC_LOSS_RING_FULL, &ring);
	if (!rec)
		return 0;
	fill_record(ctx, rec, row_event, stack);
	rec->entry_ns = rec->event == FSC_CALL_ENTRY && !entry_ns ? rec->time_ns : entry_ns;
	rec->duration_ns = e->duration_ns;
	rec->ret = e->retval;
#pragma unroll
	for (int i = 0; i < FSC_TRACE_ARGS; i++)
		rec->args[i] = e->args[i];
	fsc_eval_store(e, rec, cfg.n_strings, cfg.string_size);
	ring_submit(ring, rec);
	return 0;
}

static __always_inline __u64 row_event_of(const struct call *c, __u64 event)
{
	return (c->user ? (__u64)FSC_REC_USER << 48 : 0) | event << 32 | c->row;
}

/* A record without values: a return, or a slow call. f: the call as it began. */
static __always_inline void send_return(const struct call *c, struct fsc_frame_open *f,
					__u64 duration_ns, __u64 event)
{
	__u64 row_event = row_event_of(c, event);

	f->ret = call_ret(c);
	send_record(c->ctx, f, row_event, duration_ns, user_stack_of(c, row_event, false));
}

static __always_inline void send_values(const struct call *c, const struct fsc_eval *e, __u64 event,
					__u64 entry_ns)
{
	__u64 row_event = row_event_of(c, event);

	send_evaluated(c->ctx, e, row_event, entry_ns, user_stack_of(c, row_event, true));
}

/* Whether the call passes; a predicate that could not be read is a loss of a seen hit. */
static __always_inline bool predicate_passes(__u32 row, struct fsc_eval *e)
{
	int verdict = fsc_eval_run(e, cfg.most_ops);

	if (verdict == FSC_EVAL_NO) {
		lose_hit(row, FSC_LOSS_FILTERED);
		return false;
	}
	count_seen(row);
	if (verdict == FSC_EVAL_YES)
		return true;
	lose_hit(row, FSC_LOSS_UNREADABLE);
	return false;
}

/* An unpaired hit: at entry, or at return if the spec says so. */
static __always_inline int trace_hit(const struct call *c)
{
	struct fsc_eval e = {.ctx = c->ctx};
	__u32 row = c->row;

	if (!admits_hit(row, c->gate) || sampled_out(row))
		return 0;
	e.prog = bpf_map_lookup_elem(&programs, &row);
	if (!e.prog)
		return 0;
	e.pid_tgid = pid_tgid();
	if (c->before)
		call_args(c, e.args);
	else
		e.retval = call_ret(c);
	if (predicate_passes(row, &e))
		send_values(c, &e, c->before ? FSC_CALL_ENTRY : FSC_CALL_RETURN, 0);
	return 0;
}

/* Expressions are evaluated at the entry unless they use the return value or the duration. */
static __always_inline bool waits_for_return(const struct fsc_trace_prog *prog)
{
	return prog->needs & (FSC_NEED_RETVAL | FSC_NEED_DURATION);
}

/* A call that cannot be stored until its return. Those evaluated at the return were not counted
 * yet. */
static __always_inline void lose_open(__u32 row, const struct fsc_trace_prog *prog, __u32 why)
{
	if (waits_for_return(prog))
		count_seen(row);
	lose_hit(row, why);
}

/* Calls that do not pass are stored, too, unless their return can be suppressed: it would look like
 * one without an entry. */
static __always_inline int trace_entry(const struct call *c)
{
	struct fsc_eval e = {.ctx = c->ctx};
	struct fsc_frame_open *f;
	struct fsc_thread *t;
	__u32 row = c->row;
	bool wanted;

	if (!admits_hit(row, c->gate))
		return 1;
	e.prog = bpf_map_lookup_elem(&programs, &row);
	if (!e.prog)
		return 1;
	e.pid_tgid = pid_tgid();
	call_args(c, e.args);
	wanted = !sampled_out(row) && (waits_for_return(e.prog) || predicate_passes(row, &e));
	if (!wanted && c->session)
		return 1;
	t = thread_state(true);
	if (!t) {
		if (wanted)
			lose_open(row, e.prog, FSC_LOSS_NO_THREAD);
		return 1;
	}
	/* Through memory, so that the two are one state to the verifier from here on. */
	t->wanted = wanted;
	f = call_open(t, c);
	if (!f) {
		if (hide_value(&t->wanted))
			lose_open(row, e.prog, FSC_LOSS_TOO_DEEP);
		return 1;
	}
	f->sampled = hide_value(&t->wanted);
	if (!f->sampled)
		return 1;
#pragma unroll
	for (int i = 0; i < FSC_TRACE_ARGS; i++)
		f->args[i] = e.args[i];
	f->start = bpf_ktime_get_ns();
	e.duration_ns = f->id;
	if (!waits_for_return(e.prog))
		send_values(c, &e, FSC_CALL_ENTRY, f->start);
	return 0;
}

static __always_inline int trace_exit(const struct call *c)
{
	__u64 now = bpf_ktime_get_ns();
	struct fsc_eval e = {.ctx = c->ctx};
	struct fsc_frame_open *f;
	struct fsc_thread *me;
	__u32 row = c->row;

	if (!accepts_hit(row))
		return 0;
	e.prog = bpf_map_lookup_elem(&programs, &row);
	me = thread_state(false);
	f = e.prog && me ? call_close(me, c) : NULL;
	if (!f)
		return 0;
	if (!f->sampled) {
		thread_release(me);
		return 0;
	}
	if (!waits_for_return(e.prog)) {
		send_return(c, f, now - f->start, FSC_CALL_RETURN);
	} else {
		e.pid_tgid = pid_tgid();
		e.retval = call_ret(c);
		e.duration_ns = now - f->start;
#pragma unroll
		for (int i = 0; i < FSC_TRACE_ARGS; i++)
			e.args[i] = f->args[i];
		if (predicate_passes(row, &e))
			send_values(c, &e, FSC_CALL_BOTH, f->start);
	}
	thread_release(me);
	return 0;
}

#endif
