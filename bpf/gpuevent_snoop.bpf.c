/* The programs on CUDA calls: of the driver, where everything is counted, of the runtime above it
 * and of libraries above that. Each thread has a stack of open calls, so that an operation is one
 * event whatever layers it crossed. User space fills a table that says how the arguments of a call
 * are read. */
#include "gpu_read.bpf.h"
#include "gpu_send.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile struct fsc_config cfg;
const volatile struct fsc_gpu_config gpu;

/* ---- launches ---- */

static __always_inline int handle_cuda_launch(struct hit *h)
{
	fill_launch(h);
	note_capture(h);
	send_record(h);
	return 0;
}

/* ---- at the entry ---- */

/* Calls deeper on the stack are over: their returns were skipped or missed. */
static __always_inline void drop_stale(struct gpu_thread *t, __u64 sp)
{
	__u32 depth = t->depth;

	for (int i = 0; i < FSC_GPU_FRAMES_DEPTH; i++) {
		if (!depth || t->frames[(depth - 1) & (FSC_GPU_FRAMES_DEPTH - 1)].sp > sp)
			break;
		depth--;
	}
	t->depth = depth;
}

/* Finds the enclosing calls: the innermost of the runtime and the outermost of a library, which own
 * the operation. True inside a call of the driver, which is recorded instead. */
static __always_inline bool find_enclosing(struct hit *h)
{
	struct gpu_thread *t = h->t;
	bool inside = false;

	t->out.rec.via = t->out.rec.library = 0;
	t->out.rec.library_caller = 0;
	for (int i = 0; i < FSC_GPU_FRAMES_DEPTH; i++) {
		struct gpu_frame *f = &t->frames[i];

		if (i >= t->depth)
			break;
		if (f->layer == FSC_GPU_LIBRARY && !t->out.rec.library) {
			t->out.rec.library = f->call;
			t->out.rec.library_caller = f->caller;
		}
		if (f->layer == FSC_GPU_RUNTIME) {
			t->out.rec.via = f->call;
			h->caller = f->caller;
			if (h->c->layer == FSC_GPU_DRIVER)
				f->ops |= 1 << op_class(h->c->op);
			/* The runtime's call says the direction of a copy. */
			if (f->dir != FSC_GPU_DIR_UNKNOWN)
				h->dir_above = f->dir;
		}
		inside |= f->layer == FSC_GPU_DRIVER;
	}
	return inside;
}

static __always_inline int open_frame(struct hit *h, bool inside)
{
	struct gpu_thread *t = h->t;
	__u32 depth = t->depth;
	struct gpu_frame *f;

	if (depth >= FSC_GPU_FRAMES_DEPTH) {
		count_seen(h->call);
		gpu_lose(h, FSC_LOSS_TOO_DEEP);
		return 0;
	}
	f = &t->frames[depth & (FSC_GPU_FRAMES_DEPTH - 1)];
	f->sp = h->sp;
	f->call = h->call;
	f->layer = h->c->layer;
	f->inside = inside;
	f->ops = f->failed = 0;
	f->via = t->out.rec.via;
	f->library = t->out.rec.library;
	f->library_caller = t->out.rec.library_caller;
	f->caller = h->caller;
	f->dir = h->c->layer == FSC_GPU_RUNTIME ? runtime_dir(h) : h->dir_above;
#pragma unroll
	for (int i = 0; i < FSC_GPU_ARGS; i++)
		f->args[i] = t->args[i];
	t->depth = depth + 1;
	f->start = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int on_entry(struct pt_regs *ctx)
{
	struct hit h = {.ctx = ctx, .dir_above = FSC_GPU_DIR_UNKNOWN};
	bool inside;

	if (!hit_of(&h) || !gpu_wanted(&h))
		return 0;
	count_seen(FSC_GPU_CALLS + h.call); /* all hits, recorded or not */
	h.t = gpu_thread(true);
	if (!h.t) {
		count_seen(h.call);
		gpu_lose(&h, FSC_LOSS_NO_THREAD);
		return 0;
	}
	h.sp = PT_REGS_SP(ctx);
	h.caller = caller_of(ctx);
	drop_stale(h.t, h.sp);
	inside = find_enclosing(&h);
	read_args(&h);
	if (!(h.c->flags & FSC_GPU_ENTRY))
		return open_frame(&h, inside);
	if (inside)
		return 0;
	count_seen(h.call);
	if (op_class(h.c->op) == FSC_GPU_LAUNCH)
		return handle_cuda_launch(&h);
	fill_operation(&h);
	note_capture(&h);
	send_record(&h);
	return 0;
}

/* ---- at the return ---- */

static __always_inline struct gpu_frame *close_frame(struct gpu_thread *t, __u32 call, __u64 sp)
{
	__u32 depth = t->depth;

	for (int i = 0; i < FSC_GPU_FRAMES_DEPTH; i++) {
		struct gpu_frame *f;

		if (!depth)
			break;
		f = &t->frames[(depth - 1) & (FSC_GPU_FRAMES_DEPTH - 1)];
		if (f->sp > sp)
			break;
		depth--;
		if (f->sp == sp && f->call == call) {
			t->depth = depth;
			return f;
		}
	}
	return NULL;
}

static __always_inline void mark_failure(struct gpu_thread *t)
{
	for (int i = 0; i < FSC_GPU_FRAMES_DEPTH; i++) {
		if (i >= t->depth)
			break;
		t->frames[i].failed = 1;
	}
}

/* A call of the runtime is an event of its own if it did not call the driver, or if the driver
 * succeeded and the runtime failed. */
static __always_inline bool is_recorded(const struct hit *h, const struct gpu_frame *f)
{
	if (f->inside || f->layer == FSC_GPU_LIBRARY)
		return f->layer == FSC_GPU_LIBRARY && h->ret && !f->failed;
	if (f->layer == FSC_GPU_DRIVER || !(f->ops & 1 << op_class(h->c->op)))
		return true;
	return h->ret && !f->failed;
}

static __always_inline int on_exit(struct pt_regs *ctx)
{
	struct hit h = {.ctx = ctx, .now = bpf_ktime_get_ns(), .returned = true};
	struct gpu_frame *f;

	if (!hit_of(&h) || !gpu_wanted(&h))
		return 0;
	h.t = gpu_thread(false);
	if (!h.t)
		return 0;
	h.sp = PT_REGS_SP(ctx);
#if defined(__TARGET_ARCH_x86)
	h.sp -= 8; /* the return address was popped */
#endif
	f = close_frame(h.t, h.call, h.sp);
	if (!f) {
		gpu_lose(&h, FSC_LOSS_UNMATCHED);
		return 0;
	}
	h.ret = (__s32)PT_REGS_RC(ctx);
	h.caller = f->caller;
	h.start = f->start;
	h.dir_above = f->dir;
	h.t->out.rec.via = f->via;
	h.t->out.rec.library = f->library;
	h.t->out.rec.library_caller = f->library_caller;
	if (h.ret)
		mark_failure(h.t);
	if (!is_recorded(&h, f))
		return 0;
#pragma unroll
	for (int i = 0; i < FSC_GPU_ARGS; i++)
		h.t->args[i] = f->args[i];
	count_seen(h.call);
	if (op_class(h.c->op) == FSC_GPU_LAUNCH)
		return handle_cuda_launch(&h);
	fill_operation(&h);
	note_capture(&h);
	send_record(&h);
	return 0;
}

/* The link decides whether a program runs at entry or return. Each exists twice, differing only in
 * the attach type (none, uprobe.multi). */
SEC("?kprobe")
int gpu_entry(struct pt_regs *ctx)
{
	refuse_private_stack();
	return on_entry(ctx);
}

SEC("?kprobe")
int gpu_exit(struct pt_regs *ctx)
{
	refuse_private_stack();
	return on_exit(ctx);
}

SEC("?kprobe")
int gpu_multi_entry(struct pt_regs *ctx)
{
	refuse_private_stack();
	return on_entry(ctx);
}

SEC("?kprobe")
int gpu_multi_exit(struct pt_regs *ctx)
{
	refuse_private_stack();
	return on_exit(ctx);
}
