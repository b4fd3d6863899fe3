/* Calls in progress: what is stored between the entry of a function and its return. Each thread has
 * a stack of open calls, identified by the stack pointer, so that recursion, longjmp() and lost
 * returns never match a call with another one's return. */
#ifndef FSC_BPF_CALLS_H
#define FSC_BPF_CALLS_H

#include "common.bpf.h"
#include "wire/time.h"

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct fsc_thread);
} threads SEC(".maps");

/* The same if the kernel has no task storage, or cannot allocate it at the moment: a thread that is
 * preempted while it allocates keeps others on that CPU from doing so. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct fsc_thread);
} threads_by_id SEC(".maps");

/* The initial value of a thread, with by_id set. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fsc_thread);
} no_calls SEC(".maps");

/* A call as its probe sees it. */
struct call {
	void *ctx;
	__u64 id; /* 0: use the context's address */
	__u32 row;
	__u32 gate;    /* see FSC_GATES */
	__u32 n_args;  /* of fentry and fexit */
	bool perhaps;  /* may not be a return at all */
	bool before;   /* reached before a return */
	bool at_entry; /* the function's first instruction */
	bool regs;     /* the context is pt_regs */
	bool own;      /* the context is fentry's */
	bool user;     /* the registers are the program's own */
	bool session;  /* the result of an entry can suppress its return */
};

static __always_inline struct fsc_thread *thread_by_id(bool make)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct fsc_thread *t = bpf_map_lookup_elem(&threads_by_id, &id);
	__u32 zero = 0;
	void *empty;

	if (t || !make)
		return t;
	empty = bpf_map_lookup_elem(&no_calls, &zero);
	if (empty)
		bpf_map_update_elem(&threads_by_id, &id, empty, BPF_NOEXIST);
	return bpf_map_lookup_elem(&threads_by_id, &id);
}

static __always_inline struct fsc_thread *thread_storage(bool make)
{
	return bpf_task_storage_get(&threads, (void *)bpf_get_current_task_btf(), NULL,
				    make ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
}

/* A thread has its calls in one map only: as long as any are stored by ID, it gets no storage. */
static __always_inline struct fsc_thread *thread_state(bool make)
{
	struct fsc_thread *t = cfg.keep == FSC_KEEP_HASH ? NULL : thread_storage(false);

	if (t)
		return t;
	t = thread_by_id(make && cfg.keep == FSC_KEEP_HASH);
	if (t || !make || cfg.keep == FSC_KEEP_HASH)
		return t;
	t = thread_storage(true);
	return t ? t : thread_by_id(true);
}

/* Kernel stacks are 16 kB, aligned; an interrupt has one of its own. Positions on different stacks
 * cannot be compared; neither can the user stack with a kernel stack. */
static __always_inline bool same_stack(__u64 a, __u64 b)
{
	return !((a ^ b) >> (a >> 63 ? 14 : 63));
}

/* The verifier allows no arithmetic on the context's address, but does on a number that was read.
 */
static __always_inline __u64 call_id(struct fsc_thread *t, const struct call *c)
{
	if (c->id)
		return c->id;
	*(void *volatile *)&t->plain = c->ctx;
	return *(volatile __u64 *)&t->plain;
}

/* Hides a number's value from the verifier, so that every round of a loop begins and ends in the
 * same state, and the code after the loop is verified once. */
static __always_inline __u32 hide_value(const __u32 *n)
{
	return *(const volatile __u32 *)n;
}

/* A frame for a call that begins. Calls deeper on the same stack are over: their returns were
 * skipped or missed. So is one of the same function at the same position; one of another function
 * there may have ended in a tail jump to this one, and is kept as long as there is room: a loop
 * that is left by longjmp() again and again must not fill it for good. NULL: no room, which the
 * caller counts as a loss. The caller fills in the rest. */
static __always_inline struct fsc_frame_open *call_open(struct fsc_thread *t, const struct call *c)
{
	struct fsc_frame_open *f;
	__u64 id = call_id(t, c);
	__u32 depth;

	t->full = t->depth / FSC_FRAMES;

	for (int i = 0; i < FSC_FRAMES; i++) {
		depth = hide_value(&t->depth);
		if (!depth)
			break;
		f = &t->frames[(depth - 1) & (FSC_FRAMES - 1)];
		if (f->id > id || !same_stack(f->id, id))
			break;
		if (f->id == id && f->row != c->row && !hide_value(&t->full))
			break;
		t->depth = depth - 1;
	}
	depth = hide_value(&t->depth);
	if (depth >= FSC_FRAMES)
		return NULL;
	f = &t->frames[depth & (FSC_FRAMES - 1)];
	f->id = id;
	f->row = c->row;
	f->child_ns = 0;
	f->overhead = t->overhead;
	t->depth = depth + 1;
	return f;
}

/* Swaps two calls word by word: a whole one does not fit on the stack. */
static __always_inline void call_swap(struct fsc_frame_open *a, struct fsc_frame_open *b)
{
	volatile __u64 *x = (void *)a, *y = (void *)b;

#pragma unroll
	for (int i = 0; i < sizeof(*a) / sizeof(__u64); i++) {
		__u64 word = x[i];

		x[i] = y[i];
		y[i] = word;
	}
}

/* In a trace one function may have several rows, whose returns come in the order of their entries:
 * those above the one that returns, at the same position, stay. It is moved to the top. */
static __always_inline struct fsc_frame_open *call_raise(struct fsc_thread *t,
							 struct fsc_frame_open *f, __u32 depth)
{
	struct fsc_frame_open *above;

	for (int i = 0; i < FSC_SAME_PLACE; i++) {
		if (depth >= t->depth)
			break;
		above = &t->frames[depth & (FSC_FRAMES - 1)];
		if (above->id != f->id)
			break;
		call_swap(f, above);
		f = above;
		depth++;
	}
	t->depth = depth - 1;
	return f;
}

/* While the gate is shut, no entry is expected to be there; nor if a newer link may have taken the
 * return. */
static __always_inline void lose_unmatched(const struct call *c)
{
	if (!c->perhaps && is_gate_open(c->row, c->gate) && !is_leaving(c->gate))
		lose_hit(c->row, FSC_LOSS_UNMATCHED);
}

/* Pops the call that returns, with everything above it; NULL if its entry was not seen. The frame
 * stays readable until the thread's next call. A call that ends in a tail jump leaves the next
 * function at the same stack position, so the row must match, too. */
static __always_inline struct fsc_frame_open *call_close(struct fsc_thread *t, const struct call *c)
{
	struct fsc_frame_open *f = NULL;
	__u64 id = call_id(t, c);
	__u32 depth = t->depth;

	for (int i = 0; i < FSC_FRAMES; i++) {
		struct fsc_frame_open *at;

		if (!depth)
			break;
		at = &t->frames[(depth - 1) & (FSC_FRAMES - 1)];
		if (at->id == id && at->row == c->row) {
			f = at;
			break;
		}
		if (at->id > id && same_stack(at->id, id))
			break;
		depth--;
	}
	if (f && FSC_MODE == FSC_MODE_TRACE)
		return call_raise(t, f, depth);
	if (f)
		t->depth = depth - 1;
	else
		lose_unmatched(c);
	return f;
}

/* The caller of the call just closed; NULL: none. */
static __always_inline struct fsc_frame_open *call_parent(struct fsc_thread *t)
{
	__u32 depth = t->depth;

	if (!depth || depth > FSC_FRAMES)
		return NULL;
	return &t->frames[(depth - 1) & (FSC_FRAMES - 1)];
}

/* Deletes what is stored by thread ID once the thread is in no call. */
static __always_inline void thread_release(const struct fsc_thread *t)
{
	__u64 id;

	if (!t->by_id || t->depth)
		return;
	id = bpf_get_current_pid_tgid();
	bpf_map_delete_elem(&threads_by_id, &id);
}

#endif
