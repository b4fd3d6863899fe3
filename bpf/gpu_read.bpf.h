/* A hit of a CUDA call: the open calls of its thread, and its arguments, located by the table. */
#ifndef FSC_BPF_GPU_READ_H
#define FSC_BPF_GPU_READ_H

#include "common.bpf.h"
#include "python.bpf.h"
#include "wire/gpu.h"

extern const volatile struct fsc_gpu_config gpu;

struct gpu_frame {
	__u64 sp, start, caller, library_caller;
	__u32 call, via, library;
	__u32 ops; /* classes of operations that the driver executed inside */
	__u8 layer;
	__u8 inside; /* a call of the driver */
	__u8 failed; /* an inner call failed */
	__u8 pad;
	__u32 dir;
	__u64 args[FSC_GPU_ARGS];
};

/* Per thread, since programs on uprobes can be preempted. */
struct gpu_thread {
	__u32 depth;
	__s32 device;
	__u64 context;
	__u64 launches;
	struct gpu_frame frames[FSC_GPU_FRAMES_DEPTH];
	__u64 args[FSC_GPU_ARGS + 4];
	__u64 words[32]; /* room for a structure */
	struct {
		struct fsc_gpu_rec rec;
		union {
			char name[FSC_GPU_NAME_LEN];
			struct {
				struct fsc_gpu_rec_stack stacks;
				char name_behind[FSC_GPU_NAME_LEN];
			};
		};
	} out;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct gpu_thread);
} gpu_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FSC_GPU_CALLS);
	__type(key, __u32);
	__type(value, struct fsc_gpu_call);
} gpu_calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FSC_GPU_FILES);
	__type(key, __u32);
	__type(value, struct fsc_gpu_names_at);
} gpu_names SEC(".maps");

struct hit {
	struct pt_regs *ctx;
	struct gpu_thread *t;
	struct fsc_gpu_call *c;
	__u64 sp, caller, start, now;
	__u32 call, file;
	__u32 dir_above;
	__s32 ret;
	bool returned;
	bool hurry; /* wake user space now */
};

/* By thread ID, if the kernel cannot allocate storage; see threads_by_id. The least recently used
 * threads are evicted. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, __u64);
	__type(value, struct gpu_thread);
} gpu_threads_by_id SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gpu_thread);
} gpu_no_calls SEC(".maps");

static __always_inline struct gpu_thread *gpu_thread_storage(bool make)
{
	return bpf_task_storage_get(&gpu_threads, (void *)bpf_get_current_task_btf(), NULL,
				    make ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
}

static __always_inline struct gpu_thread *gpu_thread(bool make)
{
	struct gpu_thread *t = gpu_thread_storage(false);
	__u32 zero = 0;
	void *empty;
	__u64 id;

	if (t)
		return t;
	id = bpf_get_current_pid_tgid();
	t = bpf_map_lookup_elem(&gpu_threads_by_id, &id);
	if (t || !make)
		return t;
	t = gpu_thread_storage(true);
	if (t)
		return t;
	empty = bpf_map_lookup_elem(&gpu_no_calls, &zero);
	if (empty)
		bpf_map_update_elem(&gpu_threads_by_id, &id, empty, BPF_NOEXIST);
	return bpf_map_lookup_elem(&gpu_threads_by_id, &id);
}

static __always_inline bool hit_of(struct hit *h)
{
	__u64 cookie = bpf_get_attach_cookie(h->ctx);

	h->call = (__u32)cookie & (FSC_GPU_CALLS - 1);
	h->file = (__u32)(cookie >> 32) & (FSC_GPU_FILES - 1);
	h->c = bpf_map_lookup_elem(&gpu_calls, &h->call);
	return h->c;
}

static __always_inline bool gpu_wanted(const struct hit *h)
{
	return h->call >= FSC_GPU_CALIBRATE ? is_self() : is_wanted();
}

/* Our own calls, for calibration, are no loss. */
static __always_inline void gpu_lose(const struct hit *h, __u32 why)
{
	if (h->call < FSC_GPU_CALIBRATE)
		count_loss(why);
}

/* All kinds of launches, copies and so on are one class: the driver may execute another kind than
 * the runtime was called with. */
static __always_inline __u32 op_class(__u32 op)
{
	if (op >= FSC_GPU_LAUNCH && op <= FSC_GPU_LAUNCH_EX)
		return FSC_GPU_LAUNCH;
	if (op >= FSC_GPU_COPY && op <= FSC_GPU_COPY_BATCH)
		return FSC_GPU_COPY;
	return op & 31;
}

static __always_inline __u64 caller_of(struct pt_regs *ctx)
{
#if defined(__TARGET_ARCH_x86)
	__u64 caller = 0;

	bpf_probe_read_user(&caller, sizeof(caller), (void *)PT_REGS_SP(ctx));
	return caller;
#else
	return ((const struct user_pt_regs *)ctx)->regs[30];
#endif
}

/* By the calling convention: first registers, then the stack. */
static __always_inline void read_args(struct hit *h)
{
	__u64 *args = h->t->args;

#if defined(__TARGET_ARCH_x86)
	args[0] = h->ctx->rdi;
	args[1] = h->ctx->rsi;
	args[2] = h->ctx->rdx;
	args[3] = h->ctx->rcx;
	args[4] = h->ctx->r8;
	args[5] = h->ctx->r9;
	if (h->c->n_args > 6)
		bpf_probe_read_user(&args[6], 6 * 8, (void *)(PT_REGS_SP(h->ctx) + 8));
#else
	const struct user_pt_regs *regs = (const void *)h->ctx;

	args[0] = regs->regs[0];
	args[1] = regs->regs[1];
	args[2] = regs->regs[2];
	args[3] = regs->regs[3];
	args[4] = regs->regs[4];
	args[5] = regs->regs[5];
	args[6] = regs->regs[6];
	args[7] = regs->regs[7];
	if (h->c->n_args > 8)
		bpf_probe_read_user(&args[8], 4 * 8, (void *)PT_REGS_SP(h->ctx));
#endif
}

static __always_inline __u64 hit_arg(const struct hit *h, __u8 i)
{
	return i < FSC_GPU_ARGS ? h->t->args[i & 15] : 0;
}

/* What an argument points to; 0 if that cannot be read. */
static __always_inline __u64 hit_arg_deref(const struct hit *h, __u8 i)
{
	__u64 at = hit_arg(h, i), value = 0;

	if (at)
		bpf_probe_read_user(&value, sizeof(value), (void *)at);
	return value;
}

static __always_inline __u32 runtime_dir(const struct hit *h)
{
	__u64 dir;

	if (h->c->dir >= FSC_GPU_ARGS)
		return FSC_GPU_DIR_UNKNOWN;
	dir = (__u32)hit_arg(h, h->c->dir);
	return dir <= FSC_GPU_D2D ? dir : FSC_GPU_DIR_UNKNOWN; /* 4 is cudaMemcpyDefault */
}

/* ---- launches ---- */

/* grid at words[0], block 12 bytes after it, shared memory at 24, stream at 32. */
static __always_inline void fill_launch_ex(struct hit *h, struct fsc_gpu_rec *r)
{
	__u64 *w = h->t->words;

	w[0] = w[1] = w[2] = w[3] = w[4] = 0;
	bpf_probe_read_user(w, 40, (void *)hit_arg(h, 0));
	r->grid[0] = (__u32)w[0];
	r->grid[1] = w[0] >> 32;
	r->grid[2] = (__u32)w[1];
	r->block[0] = w[1] >> 32;
	r->block[1] = (__u32)w[2];
	r->block[2] = w[2] >> 32;
	r->shared = (__u32)w[3];
	r->stream = w[4];
	r->addr = hit_arg(h, 1);
	r->src = hit_arg(h, 2);
}

static __always_inline void fill_launch_dim(struct hit *h, struct fsc_gpu_rec *r)
{
	r->addr = hit_arg(h, 0);
	r->grid[0] = (__u32)hit_arg(h, 1);
	r->grid[1] = hit_arg(h, 1) >> 32;
	r->grid[2] = (__u32)hit_arg(h, 2);
	r->block[0] = (__u32)hit_arg(h, 3);
	r->block[1] = hit_arg(h, 3) >> 32;
	r->block[2] = (__u32)hit_arg(h, 4);
	r->src = hit_arg(h, 5);
	r->shared = (__u32)hit_arg(h, 6);
	r->stream = hit_arg(h, 7);
}

static __always_inline void fill_launch_args(struct hit *h, struct fsc_gpu_rec *r)
{
	r->addr = hit_arg(h, 0);
#pragma unroll
	for (int i = 0; i < 3; i++) {
		r->grid[i] = (__u32)hit_arg(h, 1 + i);
		r->block[i] = (__u32)hit_arg(h, 4 + i);
	}
	r->shared = (__u32)hit_arg(h, 7);
	r->stream = hit_arg(h, 8);
	r->src = hit_arg(h, 9);
}

/* The first eight bytes of each argument of the kernel. We cannot read their number: takes as many
 * as are readable; user space may know it and drops the rest. */
static __always_inline void fill_kernel_args(struct hit *h, struct fsc_gpu_rec *r)
{
	__u64 *where = h->t->words;

	r->n_args = 0;
	if (!gpu.args || !r->src ||
	    bpf_probe_read_user(where, FSC_GPU_KERNEL_ARGS * 8, (void *)r->src))
		return;
	for (int i = 0; i < FSC_GPU_KERNEL_ARGS; i++) {
		if (bpf_probe_read_user(&r->args[i], 8, (void *)where[i]))
			break;
		r->n_args = i + 1;
	}
}

static __always_inline void fill_launch(struct hit *h)
{
	struct fsc_gpu_rec *r = &h->t->out.rec;

	r->bytes = 0;
	r->dir = FSC_GPU_DIR_UNKNOWN;
	if (h->c->op == FSC_GPU_LAUNCH_EX)
		fill_launch_ex(h, r);
	else if (h->c->op == FSC_GPU_LAUNCH_DIM)
		fill_launch_dim(h, r);
	else
		fill_launch_args(h, r);
	fill_kernel_args(h, r);
}

/* ---- copies ---- */

/* Values of CUmemorytype: host, device, array, unified. */
static __always_inline __u32 dir_of(__u32 from, __u32 to)
{
	bool from_host = from == 1, to_host = to == 1;

	if (from < 1 || from > 3 || to < 1 || to > 3)
		return FSC_GPU_DIR_UNKNOWN;
	if (from_host)
		return to_host ? FSC_GPU_H2H : FSC_GPU_H2D;
	return to_host ? FSC_GPU_D2H : FSC_GPU_D2D;
}

/* CUDA_MEMCPY2D */
static __always_inline void fill_copy_2d(struct hit *h, struct fsc_gpu_rec *r)
{
	__u64 *w = h->t->words;

	if (bpf_probe_read_user(w, 16 * 8, (void *)hit_arg(h, 0)))
		return;
	r->src = (__u32)w[2] == 1 ? w[3] : w[4];
	r->addr = (__u32)w[9] == 1 ? w[10] : w[11];
	r->dir = dir_of((__u32)w[2], (__u32)w[9]);
	r->bytes = w[14] * w[15];
}

/* CUDA_MEMCPY3D */
static __always_inline void fill_copy_3d(struct hit *h, struct fsc_gpu_rec *r)
{
	__u64 *w = h->t->words;

	if (bpf_probe_read_user(w, 25 * 8, (void *)hit_arg(h, 0)))
		return;
	r->src = (__u32)w[4] == 1 ? w[5] : w[6];
	r->addr = (__u32)w[15] == 1 ? w[16] : w[17];
	r->dir = dir_of((__u32)w[4], (__u32)w[15]);
	r->bytes = w[22] * w[23] * w[24];
}

/* Arrays of destinations, sources and sizes, and how many there are. */
static __always_inline void fill_copy_batch(struct hit *h, struct fsc_gpu_rec *r)
{
	__u64 n = hit_arg(h, h->c->height), size;

	r->addr = hit_arg_deref(h, 0);
	r->src = hit_arg_deref(h, 1);
	r->n_args = (__u32)n;
	for (int i = 0; i < 64; i++) {
		if (i >= n)
			break;
		size = 0;
		if (bpf_probe_read_user(&size, 8, (void *)(hit_arg(h, 2) + i * 8)))
			break;
		r->bytes += size;
	}
	if (n > 64)
		r->shared = 1; /* only a part of it */
}

static __always_inline void fill_copy(struct hit *h, struct fsc_gpu_rec *r)
{
	r->dir = h->c->kind;
	switch (h->c->op) {
	case FSC_GPU_COPY_2D:
		fill_copy_2d(h, r);
		break;
	case FSC_GPU_COPY_3D:
		fill_copy_3d(h, r);
		break;
	case FSC_GPU_COPY_BATCH:
		fill_copy_batch(h, r);
		break;
	default:
		r->addr = hit_arg(h, h->c->addr);
		r->src = hit_arg(h, h->c->src);
		r->bytes = hit_arg(h, h->c->size);
		if (h->c->height < FSC_GPU_ARGS)
			r->bytes *= hit_arg(h, h->c->height);
	}
	if (r->dir == FSC_GPU_DIR_UNKNOWN)
		r->dir = h->dir_above;
}

/* ---- memory ---- */

static __always_inline void fill_alloc(struct hit *h, struct fsc_gpu_rec *r)
{
	r->addr =
	    h->c->flags & FSC_GPU_ADDR_IN ? hit_arg(h, h->c->addr) : hit_arg_deref(h, h->c->addr);
	r->bytes = hit_arg(h, h->c->size);
	if (h->c->height >= FSC_GPU_ARGS)
		return;
	/* The driver has chosen the pitch. */
	if (!h->ret && h->c->src < FSC_GPU_ARGS)
		r->bytes = hit_arg_deref(h, h->c->src);
	r->bytes *= hit_arg(h, h->c->height);
}

/* c10::reportMemoryUsageToProfiler(void *, int64_t size, size_t allocated, size_t reserved, Device)
 */
static __always_inline void fill_tensor(struct hit *h, struct fsc_gpu_rec *r)
{
	r->addr = hit_arg(h, 0);
	r->bytes = hit_arg(h, 1);
	r->args[0] = hit_arg(h, 2);
	r->args[1] = hit_arg(h, 3);
	r->args[2] = hit_arg(h, 4);
	r->n_args = 3;
}

/* c10::reportOutOfMemoryToProfiler(int64_t size, size_t allocated, size_t reserved, Device) */
static __always_inline void fill_tensor_oom(struct hit *h, struct fsc_gpu_rec *r)
{
	r->bytes = hit_arg(h, 0);
	r->args[0] = hit_arg(h, 1);
	r->args[1] = hit_arg(h, 2);
	r->args[2] = hit_arg(h, 3);
	r->n_args = 3;
}

/* All but launches. */
static __always_inline void fill_operation(struct hit *h)
{
	struct fsc_gpu_rec *r = &h->t->out.rec;

	r->addr = hit_arg(h, h->c->addr);
	r->src = hit_arg(h, h->c->src);
	r->bytes = 0;
	r->n_args = 0;
	r->dir = FSC_GPU_DIR_UNKNOWN;
	r->stream = hit_arg(h, h->c->stream);
	r->grid[0] = r->grid[1] = r->grid[2] = 0;
	r->block[0] = r->block[1] = r->block[2] = 0;
	r->shared = 0;
	switch (op_class(h->c->op)) {
	case FSC_GPU_ALLOC:
		fill_alloc(h, r);
		break;
	case FSC_GPU_COPY:
		fill_copy(h, r);
		break;
	case FSC_GPU_MEMSET:
		r->bytes = hit_arg(h, h->c->size) * h->c->kind;
		if (h->c->height < FSC_GPU_ARGS)
			r->bytes *= hit_arg(h, h->c->height);
		break;
	case FSC_GPU_MAP:
	case FSC_GPU_UNMAP:
		r->bytes = hit_arg(h, h->c->size);
		break;
	case FSC_GPU_NAME:
	case FSC_GPU_ALIAS:
		if (!(h->c->flags & FSC_GPU_BY_VALUE))
			r->addr = hit_arg_deref(h, h->c->addr);
		break;
	case FSC_GPU_CAPTURED:
	case FSC_GPU_INSTANTIATE:
	case FSC_GPU_RETAIN:
		r->addr = hit_arg_deref(h, h->c->addr);
		break;
	case FSC_GPU_TENSOR:
		fill_tensor(h, r);
		break;
	case FSC_GPU_TENSOR_OOM:
		fill_tensor_oom(h, r);
		break;
	}
}

#endif
