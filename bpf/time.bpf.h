/* Timing. A call's duration is the time between two clock readings, less the cost of the probes:
 * the part of this call's own probes between the readings, and all of the probes that the thread
 * hit inside. */
#ifndef FSC_BPF_TIME_H
#define FSC_BPF_TIME_H

#include "calls.bpf.h"
#include "offcpu.bpf.h"
#include "slots.bpf.h"
#include "trace.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fsc_cost_row);
} costs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct fsc_overhead);
} overheads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct fsc_overhead);
} overheads_by_id SEC(".maps");

/* The initial value of one stored by thread ID. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fsc_overhead);
} no_overhead SEC(".maps");

static __always_inline struct fsc_overhead *overhead_storage(bool make)
{
	return bpf_task_storage_get(&overheads, (void *)bpf_get_current_task_btf(), NULL,
				    make ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
}

/* Like thread_state(). */
static __always_inline struct fsc_overhead *thread_overhead(bool make)
{
	struct fsc_overhead *o = overhead_storage(false), *first;
	__u32 zero = 0;
	__u64 id;

	if (o)
		return o;
	id = bpf_get_current_pid_tgid();
	o = bpf_map_lookup_elem(&overheads_by_id, &id);
	if (o || !make)
		return o;
	o = overhead_storage(true);
	if (o)
		return o;
	first = bpf_map_lookup_elem(&no_overhead, &zero);
	if (first)
		bpf_map_update_elem(&overheads_by_id, &id, first, BPF_NOEXIST);
	return bpf_map_lookup_elem(&overheads_by_id, &id);
}

/* Deletes what is stored by thread ID once the thread is in no call. */
static __always_inline void overhead_release(const struct fsc_overhead *o)
{
	__u64 id;

	if (!o->by_id || o->open)
		return;
	id = bpf_get_current_pid_tgid();
	bpf_map_delete_elem(&overheads_by_id, &id);
}

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fsc_rule);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct fsc_error_key);
	__type(value, __u64);
} errors SEC(".maps");

/* Several CPUs may share a slot; after eight failed attempts it would have changed nine times in
 * the meantime. */
static __always_inline void raise_to(__u64 *at, __u64 v)
{
	__u64 was = *(volatile __u64 *)at, now;

#pragma unroll
	for (int i = 0; i < 8; i++) {
		if (v <= was)
			return;
		now = __sync_val_compare_and_swap(at, was, v);
		if (now == was)
			return;
		was = now;
	}
}

static __always_inline void add_square(struct fsc_slot *s, __u64 v)
{
	__u64 low = (__u32)v, high = v >> 32, middle, sum, was;

	/* (high * 2^32 + low)^2 in two words */
	middle = high * low;
	sum = low * low;
	high = high * high + (middle >> 31);
	middle <<= 33;
	sum += middle;
	high += sum < middle;
	was = __sync_fetch_and_add(&s->square_low, sum);
	high += was + sum < was;
	if (high)
		__sync_fetch_and_add(&s->square_high, high);
}

/* The result of a call. */
struct timing {
	__u64 raw;
	__u64 inside; /* cost of the probes hit inside; may be negative */
	__u64 child_ns, off;
	__u64 slow_ns; /* calls that take this long are slow; 0: none */
	__u64 ns;      /* filled in: corrected */
};

static __always_inline void keep_time(__u32 row, struct timing *t, const struct fsc_cost_row *cost)
{
	__s64 left = t->raw - t->inside - cost->inner;
	struct fsc_slot *s = find_slot(row);
	__u32 bucket;

	/* The cost of probes is an average: a short call may come out negative, or shorter than
	 * what it called. */
	t->ns = left > 0 ? left : 0;
	if (t->ns < t->child_ns)
		t->ns = t->child_ns;
	if (!s)
		return;
	bucket = fsc_hist_bucket(t->ns);
	if (bucket > FSC_HIST_OVER)
		return;
	__sync_fetch_and_add(&s->hist[bucket], 1);
	__sync_fetch_and_add(&s->count, 1);
	__sync_fetch_and_add(&s->total, t->ns);
	__sync_fetch_and_add(&s->raw_total, t->raw);
	raise_to(&s->max, t->ns);
	raise_to(&s->min_inverted, ~t->ns);
	add_square(s, t->ns);
	if (!t->ns)
		__sync_fetch_and_add(&s->floored, 1);
	if (cfg.self)
		__sync_fetch_and_add(&s->self_total, t->ns - t->child_ns);
	if (cfg.off_cpu)
		__sync_fetch_and_add(&s->off_total, t->off < t->ns ? t->off : t->ns);
	if (t->slow_ns && t->ns >= t->slow_ns)
		__sync_fetch_and_add(&s->slow, 1);
}

/* The row's cost, once it is ready. */
static __always_inline struct fsc_cost_row *ready_cost(__u32 row)
{
	struct fsc_cost_row *cost = bpf_map_lookup_elem(&costs, &row);

	return cost && cost->ready ? cost : NULL;
}

/* The cost of a call is charged in two parts, each where it arises: calls without a return (left by
 * longjmp(), or nested too deeply) have only cost their entry, and their callers must not seem to
 * have spent it. The way from a trap to its clock reading is about as long at either end, so that
 * the entry costs what lies between the two readings; a single-stepped first instruction is in
 * both. */
static __always_inline __u64 entry_cost(const struct fsc_cost_row *cost)
{
	return cost->inner < cost->outer ? cost->inner : cost->outer;
}

static __always_inline __u64 exit_cost(const struct fsc_cost_row *cost)
{
	return cost->outer - entry_cost(cost);
}

/* What a call that took t->ns is charged at its return, so that its callers have spent exactly that
 * in it: for what is within its two clock readings, what was taken out of it and not the average,
 * which may be more than there was. */
static __always_inline __u64 return_cost(const struct fsc_cost_row *cost, const struct timing *t)
{
	return t->raw - t->inside - t->ns - cost->inner + exit_cost(cost);
}

/* ---- with the start in the session cookie ---- */

/* The cookie has 8 bytes. The lower 50 bits, a week either way, are the start less the cost of
 * probes until then. Above is roughly that cost, from which the correction of a call is known well
 * enough on average. */
#define COOKIE_CLOCK 50
#define COOKIE_UNIT  16 /* 65 us, modulo a second */

static __always_inline __u64 cookie_of(__u64 clock, __u64 sum)
{
	return sum >> COOKIE_UNIT << COOKIE_CLOCK |
	       (clock << (64 - COOKIE_CLOCK) >> (64 - COOKIE_CLOCK));
}

static __always_inline int time_entry_cookie(__u32 row, __u32 gate, __u64 *cookie)
{
	struct fsc_cost_row *cost;
	struct fsc_overhead *o;

	if (!admits_hit(row, gate))
		return 1; /* suppress the return */
	cost = ready_cost(row);
	if (!cost)
		return 1;
	count_seen(row);
	o = thread_overhead(true);
	if (!o) {
		lose_hit(row, FSC_LOSS_NO_THREAD);
		return 1;
	}
	o->child_ns[o->open++ & (FSC_FRAMES - 1)] = 0;
	count_extra(row, FSC_COUNTER_OPENED);
	o->ns += entry_cost(cost);
	*cookie = cookie_of(bpf_ktime_get_ns() - o->ns, o->ns);
	return 0;
}

static __always_inline int time_exit_cookie(__u32 row, const __u64 *cookie)
{
	__u64 now = bpf_ktime_get_ns();
	struct fsc_overhead *o = thread_overhead(false);
	struct fsc_cost_row *cost = ready_cost(row);
	struct timing t = {};

	if (!cost)
		return 0;
	if (!o || !o->open) {
		lose_hit(row, FSC_LOSS_UNMATCHED);
		return 0;
	}
	o->open--;
	t.child_ns = o->child_ns[o->open & (FSC_FRAMES - 1)];
	count_extra(row, FSC_COUNTER_CLOSED);
	/* The cost inside may be overestimated: the difference has a sign. */
	t.inside =
	    ((o->ns >> COOKIE_UNIT << COOKIE_CLOCK) - (*cookie >> COOKIE_CLOCK << COOKIE_CLOCK)) >>
	    COOKIE_CLOCK << COOKIE_UNIT;
	t.slow_ns = cfg.slow_ns;
	t.raw = ((__s64)((now - o->ns - *cookie) << (64 - COOKIE_CLOCK)) >> (64 - COOKIE_CLOCK)) +
		t.inside;
	keep_time(row, &t, cost);
	o->ns += return_cost(cost, &t);
	if (o->open)
		o->child_ns[(o->open - 1) & (FSC_FRAMES - 1)] += t.ns;
	overhead_release(o);
	return 0;
}

/* ---- rules of a monitor ---- */

static __always_inline bool is_error(__u32 how, __u64 ret)
{
	switch (how) {
	case FSC_FAILED_NONZERO:
		return (__u32)ret != 0;
	case FSC_FAILED_NEGATIVE:
		return (__s32)ret < 0;
	case FSC_FAILED_NULL:
		return !ret;
	case FSC_FAILED_NOT_ONE:
		return (__u32)ret != 1;
	default:
		return false;
	}
}

static __always_inline void count_error(__u32 row, __u64 ret)
{
	struct fsc_error_key key = {.row = row, .pid = pid_tgid() >> 32, .code = (__s32)ret};
	__u64 one = 1, *n = bpf_map_lookup_elem(&errors, &key);

	/* Another CPU may have been quicker. */
	if (!n && bpf_map_update_elem(&errors, &key, &one, BPF_NOEXIST)) {
		n = bpf_map_lookup_elem(&errors, &key);
		if (!n)
			count_loss(FSC_LOSS_ERRORS_FULL);
	} else if (!n) {
		return;
	}
	if (n)
		__sync_fetch_and_add(n, 1);
}

static __always_inline const struct fsc_rule *rule_of(__u32 row)
{
	return cfg.rules ? bpf_map_lookup_elem(&rules, &row) : NULL;
}

static __always_inline __u64 slow_limit(__u32 row)
{
	const struct fsc_rule *rule = rule_of(row);

	return rule ? rule->slow_ns : cfg.slow_ns;
}

/* Sampled calls are sent at their entry and at their return. */
static __always_inline void begin_by_rule(const struct call *c, struct fsc_frame_open *f)
{
	const struct fsc_rule *rule = rule_of(c->row);
	__u32 sample = rule ? rule->sample : 0;
	__u64 row_event;

	f->sampled = sample && one_in(c->row, sample);
	if (!f->sampled)
		return;
	f->ret = 0;
	f->start = bpf_ktime_get_ns();
	row_event = row_event_of(c, FSC_CALL_ENTRY);
	send_record(c->ctx, f, row_event, f->id, user_stack_of(c, row_event, false));
}

static __always_inline void end_by_rule(const struct call *c, struct fsc_frame_open *f,
					const struct timing *t)
{
	const struct fsc_rule *rule = rule_of(c->row);
	__u64 flags = t->slow_ns && t->ns >= t->slow_ns ? FSC_REC_SLOW : 0;

	if (!rule)
		return;
	if (is_error(rule->failed, call_ret(c)))
		count_error(c->row, call_ret(c));
	if (flags || f->sampled)
		send_return(c, f, t->ns,
			    flags << 16 | (f->sampled ? FSC_CALL_RETURN : FSC_CALL_BOTH));
}

/* ---- with a stack of calls per thread ---- */

static __always_inline int time_entry(const struct call *c)
{
	struct fsc_frame_open *f;
	struct fsc_cost_row *cost;
	struct fsc_thread *t;

	if (!admits_hit(c->row, c->gate))
		return 1;
	cost = ready_cost(c->row);
	if (!cost)
		return 1;
	count_seen(c->row);
	t = thread_state(true);
	if (!t) {
		lose_hit(c->row, FSC_LOSS_NO_THREAD);
		return 1;
	}
	t->overhead += entry_cost(cost);
	f = call_open(t, c);
	if (!f) {
		lose_hit(c->row, FSC_LOSS_TOO_DEEP);
		return 1;
	}
	count_extra(c->row, FSC_COUNTER_OPENED);
	f->off = off_so_far();
	if (cfg.slow_ns || cfg.rules)
		call_args(c, f->args);
	if (cfg.rules && c->row != cfg.calibrate_row)
		begin_by_rule(c, f);
	f->start = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int time_exit(const struct call *c)
{
	__u64 now = bpf_ktime_get_ns();
	struct fsc_frame_open *f, *parent;
	struct fsc_cost_row *cost;
	struct timing t = {};
	struct fsc_thread *me;
	struct call mine = *c;

	/* A monitor may have found meanwhile that the process is not meant: what was entered is
	 * still seen to its end, so that the books close. */
	if (!accepts_hit(c->row)) {
		if (!cfg.rules)
			return 0;
		mine.perhaps = true;
	}
	c = &mine;
	cost = ready_cost(c->row);
	if (!cost)
		return 0;
	me = thread_state(false);
	f = me ? call_close(me, c) : NULL;
	if (!me)
		lose_unmatched(c);
	if (!f) {
		if (me)
			me->overhead += exit_cost(cost);
		return 0;
	}
	count_extra(c->row, FSC_COUNTER_CLOSED);
	t.raw = now - f->start;
	t.inside = me->overhead - f->overhead;
	t.child_ns = f->child_ns;
	t.off = off_so_far() - f->off;
	t.slow_ns = slow_limit(c->row);
	keep_time(c->row, &t, cost);
	if (cfg.rules && c->row != cfg.calibrate_row)
		end_by_rule(c, f, &t);
	else if (t.slow_ns && t.ns >= t.slow_ns && c->row != cfg.calibrate_row)
		send_return(c, f, t.ns, FSC_CALL_BOTH);
	me->overhead += return_cost(cost, &t);
	parent = call_parent(me);
	if (parent)
		parent->child_ns += t.ns;
	if (!me->depth)
		off_forget();
	thread_release(me);
	return 0;
}

#endif
