/* Sends records of CUDA calls to user space: launches have their own ring, so that a flood of them
 * does not displace allocations. */
#ifndef FSC_BPF_GPU_SEND_H
#define FSC_BPF_GPU_SEND_H

#include "copies.bpf.h"
#include "gpu_read.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} gpu_launches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} gpu_events SEC(".maps");

/* Streams that are being captured into a graph. */
struct capture {
	__u64 stream;
	__u32 pid, pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct capture);
	__type(value, __u8);
} gpu_captures SEC(".maps");

/* Python interpreters, by process. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct fsc_python);
} gpu_pythons SEC(".maps");

/* Python code that was seen before. */
struct code {
	__u64 instr;
	__u32 pid, pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct code);
	__type(value, __u8);
} gpu_codes SEC(".maps");

struct task_struct {
	struct task_struct *real_parent;
	int tgid;
} __attribute__((preserve_access_index));

static __always_inline __u32 parent_pid(void)
{
	struct task_struct *task = (void *)bpf_get_current_task(), *parent = NULL;
	__u32 tgid = 0;

	if (!bpf_probe_read_kernel(&parent, sizeof(parent), &task->real_parent))
		bpf_probe_read_kernel(&tgid, sizeof(tgid), &parent->tgid);
	return tgid;
}

static __always_inline void note_capture(struct hit *h)
{
	struct fsc_gpu_rec *r = &h->t->out.rec;
	struct capture key = {.stream = r->stream, .pid = pid_tgid() >> 32};
	__u8 one = 1;

	r->flags = bpf_map_lookup_elem(&gpu_captures, &key) ? FSC_GPU_REC_CAPTURED : 0;
	if (h->ret)
		return;
	if (h->c->op == FSC_GPU_CAPTURE)
		bpf_map_update_elem(&gpu_captures, &key, &one, BPF_ANY);
	else if (h->c->op == FSC_GPU_CAPTURED)
		bpf_map_delete_elem(&gpu_captures, &key);
}

/* The thread's current device. */
static __always_inline void note_device(struct hit *h)
{
	if (h->ret)
		return;
	if (h->c->op == FSC_GPU_DEVICE)
		h->t->device = (__s32)hit_arg(h, 0) + 1;
	else if (h->c->op == FSC_GPU_CONTEXT)
		h->t->context = h->c->addr < FSC_GPU_ARGS ? hit_arg(h, 0) : 0;
}

/* The kernel's name, from the driver's object. */
static __always_inline __u64 name_at(const struct hit *h)
{
	const struct fsc_gpu_names_at *n;
	__u32 file = h->file;
	__u64 at = 0;

	if (h->c->op == FSC_GPU_NAME)
		return hit_arg(h, h->c->src);
	if (op_class(h->c->op) != FSC_GPU_LAUNCH || h->c->layer != FSC_GPU_DRIVER)
		return 0;
	n = bpf_map_lookup_elem(&gpu_names, &file);
	if (!n || n->function < 0)
		return 0;
	bpf_probe_read_user(&at, sizeof(at), (void *)(h->t->out.rec.addr + n->function));
	return at;
}

static __always_inline bool has_stack(const struct hit *h)
{
	__u32 of = op_class(h->c->op);

	if (h->ret)
		return gpu.stacks & FSC_GPU_STACKS_REST;
	if (of == FSC_GPU_LAUNCH || of == FSC_GPU_GRAPH)
		return gpu.stacks & FSC_GPU_STACKS_LAUNCHES &&
		       (gpu.sample < 2 || h->t->launches++ % gpu.sample == 0);
	if (of == FSC_GPU_COPY || of == FSC_GPU_MEMSET)
		return gpu.stacks & FSC_GPU_STACKS_COPIES;
	if (of == FSC_GPU_NAME || of == FSC_GPU_ALIAS)
		return false;
	return gpu.stacks & FSC_GPU_STACKS_REST;
}

/* Names of Python functions are read from the process, which may exit at any moment: user space is
 * woken at once for new code. */
static __always_inline void note_code(struct hit *h, __u32 pid, __u64 instr)
{
	struct code key = {.instr = instr, .pid = pid};
	__u8 one = 1;

	if (bpf_map_lookup_elem(&gpu_codes, &key))
		return;
	bpf_map_update_elem(&gpu_codes, &key, &one, BPF_ANY);
	h->hurry = true;
}

/* Calls that this thread has not left yet: their return addresses are the kernel's. */
static __always_inline void find_hijacked(const struct gpu_thread *t, struct fsc_hijacked *to)
{
	__u32 depth = t->depth;

#pragma unroll
	for (int i = 0; i < FSC_HIJACKED; i++) {
		const struct gpu_frame *f =
		    &t->frames[(depth - 1 - i) & (FSC_GPU_FRAMES_DEPTH - 1)];

		to->at[i] = to->was[i] = 0;
		if (i >= depth)
			continue;
		to->at[i] = f->sp;
		to->was[i] = f->caller;
	}
}

/* A global function, which the verifier looks at once instead of at the end of every way that leads
 * here. The registers of a user function's probe are those with which the thread entered the
 * kernel. */
__attribute__((noinline)) int unwound_call(__u32 row, struct fsc_hijacked *hijacked)
{
	const void *regs = (const void *)bpf_task_pt_regs((void *)bpf_get_current_task_btf());

	if (!hijacked)
		return -1;
	return unwound_stack(regs, (__u64)COPY_PASSING << 32 | row, -1, hijacked);
}

/* By debug information. */
static __always_inline void take_copy(struct hit *h)
{
	__u32 row = h->call >= FSC_GPU_CALIBRATE ? cfg.calibrate_row : h->call;
	struct fsc_hijacked hijacked;
	int id;

	find_hijacked(h->t, &hijacked);
	id = unwound_call(row, &hijacked);
	h->t->out.rec.copy = id > 0 ? id : 0;
	if (id == COPY_NO_ROOM && row != cfg.calibrate_row)
		count_loss(FSC_LOSS_COPIES_FULL);
}

/* The thread's current stack: at a return, that of the caller. */
static __always_inline void take_stacks(struct hit *h)
{
	struct fsc_gpu_rec_stack *s = &h->t->out.stacks;
	struct fsc_gpu_rec *r = &h->t->out.rec;
	struct fsc_python *py;
	__u32 pid = r->pid;
	long n;

	if (cfg.copy_stacks) {
		take_copy(h);
	} else {
		guard_begin();
		n = bpf_get_stack(h->ctx, s->stack, sizeof(s->stack), BPF_F_USER_STACK);
		guard_end();
		r->n_stack = n > 0 ? (__u32)n / 8 : 0;
	}
	if (!gpu.python)
		return;
	py = bpf_map_lookup_elem(&gpu_pythons, &pid);
	if (!py)
		return;
	r->n_python = python_frames(py, s->python);
	if (r->n_python)
		note_code(h, pid, s->python[0].instr);
}

static __always_inline void fill_head(struct hit *h)
{
	struct fsc_gpu_rec *r = &h->t->out.rec;
	__u64 id = pid_tgid();

	if (!h->now)
		h->now = bpf_ktime_get_ns();
	r->time_ns = h->returned ? h->start : h->now;
	r->dur_ns = h->returned ? h->now - h->start : 0;
	r->pid = id >> 32;
	r->tid = (__u32)id;
	r->ppid = parent_pid();
	r->call = h->call;
	r->ret = h->ret;
	r->caller = h->caller;
	r->context = h->t->context;
	r->device = h->t->device - 1;
	r->n_stack = r->n_python = r->n_name = r->copy = 0;
	if (h->returned)
		r->flags |= FSC_GPU_REC_RETURN;
	bpf_get_current_comm(r->comm, sizeof(r->comm));
}

/* Reads the name into the record; returns its length, with the NUL. */
static __always_inline __u32 take_name(struct hit *h, char *to)
{
	struct fsc_gpu_rec *r = &h->t->out.rec;
	__u64 at = name_at(h);
	long n;

	if (!at)
		return 0;
	n = bpf_probe_read_user_str(to, FSC_GPU_NAME_LEN - 1, (void *)at);
	r->flags |= n > 1 ? FSC_GPU_REC_NAMED : FSC_GPU_REC_NULL;
	return n > 1 ? n & (FSC_GPU_NAME_LEN - 1) : 0;
}

static __always_inline void output_record(struct hit *h, void *ring)
{
	struct fsc_gpu_rec *r = &h->t->out.rec;
	__u32 n;
	long rc;

	if (bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > gpu.ring_bytes / 4)
		h->hurry = true;
	if (has_stack(h)) {
		r->flags |= FSC_GPU_REC_STACK;
		take_stacks(h);
		n = take_name(h, h->t->out.name_behind);
		r->n_name = n;
		rc = bpf_ringbuf_output(ring, r, sizeof(*r) + sizeof(h->t->out.stacks) + n,
					h->hurry ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	} else {
		n = take_name(h, h->t->out.name);
		r->n_name = n;
		rc = bpf_ringbuf_output(ring, r, sizeof(*r) + n,
					h->hurry ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	}
	if (rc)
		gpu_lose(h, FSC_LOSS_RING_FULL);
}

static __always_inline void send_record(struct hit *h)
{
	__u32 of = op_class(h->c->op);

	fill_head(h);
	note_device(h);
	/* Captured launches stay in order with the creation of their graph. */
	if ((of == FSC_GPU_LAUNCH || of == FSC_GPU_GRAPH) &&
	    !(h->t->out.rec.flags & FSC_GPU_REC_CAPTURED))
		output_record(h, &gpu_launches);
	else
		output_record(h, &gpu_events);
}

#endif
