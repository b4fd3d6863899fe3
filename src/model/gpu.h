/* What CUDA programs did: one event per operation, and the sums. Pure data, no I/O. Strings are
 * borrowed from the producer. */
#ifndef FSC_MODEL_GPU_H
#define FSC_MODEL_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/gpu.h"

/* A stack, innermost first: functions, and lines of Python if there are any. */
struct fsc_gpu_stack {
	const char *const *frames; /* of n strings */
	size_t n;
	const char *const *python; /* "function (file:line)" */
	size_t n_python;
};

enum fsc_gpu_type {
	FSC_GPU_EV_LAUNCH,
	FSC_GPU_EV_ALLOC,
	FSC_GPU_EV_FREE,
	FSC_GPU_EV_COPY,
	FSC_GPU_EV_MEMSET,
	FSC_GPU_EV_SYNC,
	FSC_GPU_EV_TENSOR,
	FSC_GPU_EV_OTHER, /* reported only if it failed */
	FSC_GPU_EV_MAX,
};

/* What the duration of a copy means. */
enum fsc_gpu_timing {
	FSC_GPU_COMPLETE,     /* the call returned once the copy was done */
	FSC_GPU_ENQUEUE,      /* until it was enqueued; its completion is unknown */
	FSC_GPU_SYNCHRONISED, /* from enqueueing to the end of the wait for it: an upper bound */
};

/* The kind of a copy's host memory. */
enum fsc_gpu_host {
	FSC_GPU_HOST_NONE,
	FSC_GPU_HOST_PINNED,
	FSC_GPU_HOST_PAGEABLE,
	FSC_GPU_HOST_UNKNOWN
};

struct fsc_gpu_event {
	enum fsc_gpu_type type;
	uint64_t time_ns, dur_ns; /* CLOCK_MONOTONIC */
	bool timed;		  /* dur_ns is known */
	uint32_t pid, tid, ppid;
	uint32_t inner_pid; /* in the process's own pid namespace; 0: the same */
	const char *comm;
	const char *api, *via, *library, *owner; /* NULL: none */
	int device;				 /* -1: not known */
	int ret;
	const char *error; /* NULL: it did not fail; else its name or number */
	/* launch */
	uint32_t launch;	     /* enum fsc_gpu_launch_kind */
	const char *kernel, *symbol; /* NULL: not known */
	uint32_t grid[3], block[3], shared;
	uint64_t stream;
	bool captured;
	uint32_t graph_kernels; /* of a graph; 0: not known */
	const uint64_t *args;
	const uint16_t *arg_sizes; /* NULL: not known */
	size_t n_args;
	/* memory and copies */
	uint32_t mem; /* enum fsc_gpu_mem */
	uint32_t dir; /* enum fsc_gpu_dir */
	uint64_t addr, src, bytes;
	bool known; /* of a free: the allocation was seen */
	bool async;
	bool cut; /* bytes cover only a part of a batch */
	enum fsc_gpu_timing timing;
	enum fsc_gpu_host host;
	/* tensor: what PyTorch's allocator has handed out, and what it has reserved */
	int64_t delta;
	uint64_t allocated, reserved;
	struct fsc_gpu_stack stack;
};

/* ---- sums ---- */

struct fsc_gpu_kernel_row {
	const char *kernel; /* NULL: unknown */
	const char *owner, *library;
	uint32_t launch; /* enum fsc_gpu_launch_kind */
	uint64_t launches, captured;
	uint32_t grid[3], block[3], shared; /* of the last launch */
};

enum { FSC_GPU_SIZES = 5 };   /* classes of copies by size: below 4 KB, 64 KB, 1 MB, 16 MB, above */
enum { FSC_GPU_SPEEDS = 24 }; /* of bandwidth: powers of two from 1 MB/s */

struct fsc_gpu_copy_row {
	uint32_t dir;
	enum fsc_gpu_host host;
	bool async;
	uint64_t copies, bytes;
	uint64_t timed_bytes, timed_ns; /* of copies whose duration is known */
	uint64_t syncs;			/* hidden: the asynchronous call waited anyway */
	uint64_t sized[FSC_GPU_SIZES], speeds[FSC_GPU_SIZES][FSC_GPU_SPEEDS];
};

struct fsc_gpu_mem_row {
	uint32_t pid;
	const char *comm, *owner;
	uint32_t mem;
	bool ended; /* the process has exited, and its memory was freed */
	uint64_t allocs, frees, failed;
	uint64_t bytes, live, live_bytes, peak_bytes; /* allocated in total; held now; peak */
};

struct fsc_gpu_sync_row {
	const char *api, *via;
	struct fsc_gpu_stack stack;
	uint64_t calls, ns, max_ns;
};

struct fsc_gpu_error_row {
	const char *api, *via, *error;
	int code;
	uint64_t n;
	struct fsc_gpu_stack stack; /* of the first */
};

struct fsc_gpu_leak_row {
	uint32_t pid, mem;
	const char *comm, *owner;
	bool ended; /* the process has exited */
	uint64_t allocs, bytes;
	double oldest_s, newest_s;
	double growth; /* bytes per second; 0: unknown */
	struct fsc_gpu_stack stack;
};

struct fsc_gpu_process_row {
	uint32_t pid, inner_pid, ppid;
	const char *comm;
	bool ended, python, before; /* before: it was running before the trace began */
	uint64_t launches, allocs, frees, unknown_frees, copies, memsets, syncs, errors;
	uint64_t sync_ns, live_bytes, peak_bytes;
	uint64_t first_ns, last_ns; /* of its calls */
};

/* A file that was hooked, or why not. */
struct fsc_gpu_coverage_row {
	const char *file;
	uint32_t layer; /* enum fsc_gpu_layer */
	size_t hooked, refused;
	const char *note; /* NULL: nothing to say */
};

/* Out of memory: who holds what. */
struct fsc_gpu_oom {
	struct fsc_gpu_event event; /* the call that failed */
	const struct fsc_gpu_leak_row *holders;
	size_t n_holders;
	const struct fsc_gpu_event *last; /* allocations before it, newest first */
	size_t n_last;
	uint64_t live_bytes;
	uint64_t allocated, reserved; /* PyTorch's; 0: it said nothing */
	bool retried; /* memory was freed afterwards, and the same size was allocated */
};

struct fsc_gpu_report {
	uint64_t time_ns; /* wall clock */
	double seconds;	  /* that it covers */
	const struct fsc_gpu_process_row *processes;
	size_t n_processes;
	const struct fsc_gpu_kernel_row *kernels;
	size_t n_kernels, kernels_left_out;
	uint64_t launches, unnamed, captured, graphs;
	const struct fsc_gpu_copy_row *copies;
	size_t n_copies;
	uint64_t memsets, memset_bytes;
	const struct fsc_gpu_mem_row *memory;
	size_t n_memory;
	const struct fsc_gpu_sync_row *syncs;
	size_t n_syncs;
	const struct fsc_gpu_error_row *errors;
	size_t n_errors;
	const struct fsc_gpu_leak_row *leaks;
	size_t n_leaks;
	const struct fsc_gpu_oom *ooms;
	size_t n_ooms;
	const struct fsc_gpu_coverage_row *coverage;
	size_t n_coverage;
	const char *const *findings; /* in words */
	size_t n_findings;
	uint64_t unseen_frees;
	uint64_t lost;		 /* calls that are in no sum: their records were dropped */
	uint64_t pending_copies; /* enqueued, and in no sum until they are synchronised */
	/* Processes that did not fit in the kernel's tables: verdicts, and Python interpreters. */
	uint64_t verdicts_full, python_full;
	size_t processes_left_out, memory_left_out, syncs_left_out, errors_left_out;
	bool last; /* the run has ended */
};

extern const char *const fsc_gpu_mem_names[FSC_GPU_MEM_MAX];
extern const char *const fsc_gpu_dir_names[FSC_GPU_DIR_MAX];
extern const char *const fsc_gpu_layer_names[3];
extern const char *const fsc_gpu_launch_names[3];
extern const char *const fsc_gpu_host_names[4];
extern const char *const fsc_gpu_timing_names[3];
unsigned fsc_gpu_size_class(uint64_t bytes);
extern const char *const fsc_gpu_size_names[FSC_GPU_SIZES];

#endif
