/* Calls in progress: what is remembered between the entry of a function and its return. Each thread
 * has a stack of open calls, told apart by where the machine's stack was, so that recursion,
 * longjmp() and lost returns leave no call matched with another one's return. */
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

/* The same where the kernel has no task storage, or has none to give at the moment: a thread that
 * was preempted while it asked for some keeps others on that CPU from getting any. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct fsc_thread);
} threads_by_id SEC(".maps");

/* A thread that has no calls yet; its by_id is set. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fsc_thread);
} no_calls SEC(".maps");

/* A call as its probe sees it. */
struct call {
	void *ctx;
	__u64 id; /* 0: the context's own address will do */
	__u32 row;
	__u32 n_args;  /* of fentry and fexit */
	bool perhaps;  /* may not be a return at all */
	bool before;   /* not a return */
	bool at_entry; /* the function's first instruction */
	bool regs;     /* the context is pt_regs */
	bool own;      /* the context is fentry's */
	bool user;     /* the registers are the program's own */
	bool session;  /* an entry that says so keeps its return away */
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

/* A thread has its calls in one place: as long as any are kept by number, it gets no storage. */
static __always_inline struct fsc_thread *thread(bool make)
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

/* Kernel stacks are 16 kB, aligned; an interrupt has one of its own. What lies on another stack is
 * neither deeper nor less deep; nor is the process's own stack to a function of the kernel. */
static __always_inline bool same_stack(__u64 a, __u64 b)
{
	return !((a ^ b) >> (a >> 63 ? 14 : 63));
}

/* The verifier does not calculate with the context's address, but does with a number it read. */
static __always_inline __u64 call_id(struct fsc_thread *t, const struct call *c)
{
	if (c->id)
		return c->id;
	*(void *volatile *)&t->plain = c->ctx;
	return *(volatile __u64 *)&t->plain;
}

/* A number as memory has it. The verifier knows nothing of it, so that to it every round of a loop
 * begins and ends in the same state, and what follows the loop is looked at once. */
static __always_inline __u32 forget(const __u32 *n)
{
	return *(const volatile __u32 *)n;
}

/* Room for a call that begins. Calls deeper on the same stack are over: their returns were jumped
 * over or missed. So is one of the same function at the same place; one of another function there
 * may have ended in a jump to this one, and is kept as long as there is room: a loop that is left
 * by longjmp() again and again must not fill it for good. NULL: none, which is the caller's loss.
 * The caller fills in the rest. */
static __always_inline struct fsc_frame_open *call_open(struct fsc_thread *t, const struct call *c)
{
	struct fsc_frame_open *f;
	__u64 id = call_id(t, c);
	__u32 depth;

	t->full = t->depth / FSC_FRAMES;

	for (int i = 0; i < FSC_FRAMES; i++) {
		depth = forget(&t->depth);
		if (!depth)
			break;
		f = &t->frames[(depth - 1) & (FSC_FRAMES - 1)];
		if (f->id > id || !same_stack(f->id, id))
			break;
		if (f->id == id && f->row != c->row && !forget(&t->full))
			break;
		t->depth = depth - 1;
	}
	depth = forget(&t->depth);
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

/* Exchanges two calls, word by word: there is no room on the stack for a whole one. */
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
 * those that lie above the one that returns, at the same place, stay. It is put on top of them. */
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

/* A return without its entry. */
static __always_inline void lose_unmatched(const struct call *c)
{
	if (!c->perhaps)
		lose_hit(c->row, FSC_LOSS_UNMATCHED);
}

/* The call that returns, taken off with everything above it; NULL if it never began. What it points
 * to stays readable until the thread's next call. A call that ends by a jump to another function
 * leaves that one at the same place of the stack, so the row must be right, too. */
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

/* The call inside which the one just closed was made, NULL if there is none. */
static __always_inline struct fsc_frame_open *call_parent(struct fsc_thread *t)
{
	__u32 depth = t->depth;

	if (!depth || depth > FSC_FRAMES)
		return NULL;
	return &t->frames[(depth - 1) & (FSC_FRAMES - 1)];
}

/* The thread is in no call any more: nothing needs to be kept by its number. */
static __always_inline void thread_rest(const struct fsc_thread *t)
{
	__u64 id;

	if (!t->by_id || t->depth)
		return;
	id = bpf_get_current_pid_tgid();
	bpf_map_delete_elem(&threads_by_id, &id);
}

#endif
