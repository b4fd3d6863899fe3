/* The Python stack of the current thread. Python keeps its frames in lists; this walks them in the
 * process's memory, with the offsets that user space found for it (src/python/python.h). Python's
 * threads are recognised by their IDs, not by the thread pointer: that would have to be read from
 * kernel structures, which vary. */
#ifndef FSC_BPF_PYTHON_H
#define FSC_BPF_PYTHON_H

#include "common.bpf.h"
#include "wire/python.h"

/* The most threads and interpreters to search for the current thread. */
#define PYTHON_THREADS_MAX 2048

/* Cache of PyThreadState by thread, so that the list is walked once. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u64);
} python_threads SEC(".maps");

struct python_search {
	const struct fsc_python *py;
	__u64 interpreter, thread;
	__u64 tid; /* in the process's pid namespace */
};

/* An unreadable word ends a list. */
static __always_inline __u64 python_word(__u64 addr)
{
	__u64 word = 0;

	bpf_probe_read_user(&word, sizeof(word), (const void *)addr);
	return word;
}

static __always_inline __u64 python_tid(const struct fsc_python *py)
{
	struct bpf_pidns_info ns = {};

	if (bpf_get_ns_current_pid_tgid(py->pidns_dev, py->pidns_ino, &ns, sizeof(ns)))
		return 0;
	return ns.pid;
}

static __always_inline bool python_is_thread(const struct fsc_python *py, __u64 thread, __u64 tid)
{
	__u64 id = python_word(thread + py->thread_id);
	__u32 number = 0;

	if (py->pthread_tid == FSC_PYTHON_NONE)
		return id == tid;
	bpf_probe_read_user(&number, sizeof(number), (const void *)(id + py->pthread_tid));
	return number == tid;
}

/* One step of the search: the thread, the next one, or the first of the next interpreter. */
static long python_search_step(__u32 step, struct python_search *s)
{
	const struct fsc_python *py = s->py;

	if (!s->thread) {
		if (!s->interpreter)
			return 1;
		s->thread = python_word(s->interpreter + py->interpreter_threads);
		s->interpreter = python_word(s->interpreter + py->interpreter_next);
		return 0;
	}
	if (python_is_thread(py, s->thread, s->tid))
		return 1;
	s->thread = python_word(s->thread + py->thread_next);
	return 0;
}

/* The current thread's PyThreadState, 0 if it has none. */
static __always_inline __u64 python_thread(const struct fsc_python *py)
{
	struct python_search s = {.py = py, .tid = python_tid(py)};
	__u64 key = bpf_get_current_pid_tgid(), *known;

	if (!s.tid)
		return 0;
	known = bpf_map_lookup_elem(&python_threads, &key);
	/* Threads exit, IDs are reused, programs exec: the entry is valid while the ID matches. */
	if (known && python_is_thread(py, *known, s.tid))
		return *known;
	s.interpreter = python_word(py->runtime + py->runtime_interpreters);
	bpf_loop(PYTHON_THREADS_MAX, python_search_step, &s, 0);
	if (!s.thread || !python_is_thread(py, s.thread, s.tid))
		return 0;
	bpf_map_update_elem(&python_threads, &key, &s.thread, BPF_ANY);
	return s.thread;
}

static __always_inline __u64 python_first_frame(const struct fsc_python *py)
{
	__u64 thread = python_thread(py), at;

	if (!thread)
		return 0;
	at = python_word(thread + py->thread_frame);
	if (!at || py->cframe_frame == FSC_PYTHON_NONE)
		return at;
	return python_word(at + py->cframe_frame);
}

static __always_inline bool python_is_shim(const struct fsc_python *py, __u64 frame)
{
	__u8 owner = 0;

	if (py->frame_owner == FSC_PYTHON_NONE)
		return false;
	bpf_probe_read_user(&owner, sizeof(owner), (const void *)(frame + py->frame_owner));
	return owner >= FSC_PYTHON_SHIM;
}

static __always_inline __u64 python_instr(const struct fsc_python *py, __u64 frame)
{
	const void *at = (const void *)(frame + py->frame_instr);
	__s32 index = 0;

	if (py->frame_instr_size == sizeof(__u64))
		return python_word(frame + py->frame_instr);
	bpf_probe_read_user(&index, sizeof(index), at);
	return (__u64)(__s64)index;
}

struct python_walk {
	const struct fsc_python *py;
	struct fsc_python_frame *out;
	__u64 frame;
	__u32 n;
};

/* One frame. A shim is between two frames that have a function, never next to another shim. */
static long python_walk_step(__u32 step, struct python_walk *w)
{
	const struct fsc_python *py = w->py;
	/* Always less, but the verifier must see it. */
	__u64 n = step & (FSC_PYTHON_FRAMES - 1);
	struct fsc_python_frame *out = &w->out[n];
	__u64 frame = w->frame;

	if (frame && python_is_shim(py, frame))
		frame = python_word(frame + py->frame_previous);
	if (!frame)
		return 1;
	out->code = python_word(frame + py->frame_code) & ~FSC_PYTHON_TAGS;
	out->instr = python_instr(py, frame);
	w->frame = python_word(frame + py->frame_previous);
	w->n = n + 1;
	return 0;
}

/* Writes the current thread's Python frames into out, of FSC_PYTHON_FRAMES elements, innermost
 * first; returns how many. py describes the current process. Uses bpf_loop() (5.17), whose counter
 * is the frame's index: the verifier then checks one step, not all paths through all of them, which
 * would be too many. */
static __always_inline __u32 python_frames(const struct fsc_python *py,
					   struct fsc_python_frame *out)
{
	struct python_walk w = {.py = py, .out = out, .frame = python_first_frame(py)};

	bpf_loop(FSC_PYTHON_FRAMES, python_walk_step, &w, 0);
	return w.n;
}

#endif
