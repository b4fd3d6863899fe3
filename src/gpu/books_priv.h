/* Shared by the files behind gpu/books.h. */
#ifndef FSC_GPU_BOOKS_PRIV_H
#define FSC_GPU_BOOKS_PRIV_H

#include "gpu/books.h"

enum {
	FSC_GPU_LAST = 8,	       /* last allocations kept for an out-of-memory report */
	FSC_GPU_MOST_ALLOCS = 1 << 20, /* live at a time */
	FSC_GPU_MOST_ROWS = 65536,     /* per table; later ones share the last row */
	FSC_GPU_MOST_OOMS = 16,
};

/* A live allocation, in a tree by process and address or handle. */
struct fsc_gpu_alloc {
	uint32_t process; /* its index */
	bool handle;
	uint64_t addr;
	uint64_t bytes, time_ns;
	uint32_t mem, row, stack, maps;
	bool released; /* a released handle that still has mappings */
	const char *api;
};

/* Mappings of handles, and ranges of pinned memory: in trees by process and address. */
struct fsc_gpu_range {
	uint32_t process;
	uint64_t start, end;
	uint64_t handle; /* of a mapping */
	bool pinned;
};

struct fsc_gpu_failure {
	struct fsc_gpu_event event;
	uint64_t live_bytes, allocated, reserved;
	bool freed, retried;
	struct fsc_vec holders; /* struct fsc_gpu_leak_row */
	struct fsc_gpu_event last[FSC_GPU_LAST];
	size_t n_last;
};

struct fsc_gpu_books {
	struct fsc_gpu_stacks *stacks;
	uint64_t start_ns;
	struct fsc_map index;	  /* keys of all rows -> index */
	struct fsc_map pids;	  /* pid -> index of the current process; pids are reused */
	struct fsc_map graphs_of; /* process and handle -> kernels captured */
	struct fsc_vec processes; /* struct fsc_gpu_process_row */
	struct fsc_vec kernels;	  /* struct fsc_gpu_kernel_row */
	struct fsc_vec memory;	  /* struct fsc_gpu_mem_row */
	struct fsc_vec syncs;	  /* struct fsc_gpu_sync_row */
	struct fsc_vec errors;	  /* struct fsc_gpu_error_row */
	struct fsc_vec failures;  /* struct fsc_gpu_failure */
	struct fsc_gpu_copy_row copies[FSC_GPU_DIR_MAX][4][2];
	void *allocs, *maps, *hosts; /* trees */
	size_t n_allocs, n_hosts;
	uint64_t lost;
	uint64_t launches, unnamed, captured, graphs, memsets, memset_bytes, unseen_frees;
	uint64_t pageable_async, allocs_made, frees_made, retries;
	struct fsc_gpu_event last[FSC_GPU_LAST]; /* allocations, a ring */
	size_t n_last;
	/* buffers of a report */
	struct fsc_vec rows[8];
	struct fsc_vec findings; /* char * */
};

/* The index of the row with this key in v, added if it is new. */
int fsc_gpu_row(struct fsc_gpu_books *b, struct fsc_vec *v, const void *key, size_t n,
		uint32_t *ret, bool *fresh, struct fsc_err *err);
/* The index of the process that has this pid now, from 1; 0: none. */
uint32_t fsc_gpu_books_number(const struct fsc_gpu_books *b, uint32_t pid);
struct fsc_gpu_process_row *fsc_gpu_books_at(struct fsc_gpu_books *b, uint32_t number);
static inline struct fsc_gpu_process_row *fsc_gpu_books_of(struct fsc_gpu_books *b, uint32_t pid)
{
	return fsc_gpu_books_at(b, fsc_gpu_books_number(b, pid));
}

/* memory.c and held.c */
/* The row by process, kind and owner. */
int fsc_gpu_memory_row(struct fsc_gpu_books *b, const struct fsc_gpu_event *e, uint32_t *ret,
		       struct fsc_err *err);
int fsc_gpu_memory_alloc(struct fsc_gpu_books *b, const struct fsc_gpu_event *e, uint32_t stack,
			 struct fsc_err *err);
int fsc_gpu_memory_free(struct fsc_gpu_books *b, struct fsc_gpu_event *e, struct fsc_err *err);
int fsc_gpu_memory_failed(struct fsc_gpu_books *b, const struct fsc_gpu_event *e, uint32_t stack,
			  struct fsc_err *err);
/* Whether the address lies in live memory, and its kind. */
bool fsc_gpu_memory_has(struct fsc_gpu_books *b, uint32_t pid, uint64_t addr, uint32_t *ret_mem);
/* A report of PyTorch's allocator; e->bytes: the size it failed to allocate. */
void fsc_gpu_memory_tensor(struct fsc_gpu_books *b, const struct fsc_gpu_event *e);
void fsc_gpu_memory_release(struct fsc_gpu_books *b);
/* Memory held by a process (its index; 0: all) for at least age_s, by kind, owner and stack;
 * struct fsc_gpu_leak_row. */
int fsc_gpu_memory_held(struct fsc_gpu_books *b, uint32_t process, uint64_t now_ns, double age_s,
			struct fsc_vec *ret, struct fsc_err *err);

/* copies.c */
int fsc_gpu_copies_add(struct fsc_gpu_books *b, struct fsc_gpu_event *e, struct fsc_err *err);
/* Host memory is pinned or unpinned. */
int fsc_gpu_hosts_pin(struct fsc_gpu_books *b, uint32_t pid, uint64_t addr, uint64_t bytes,
		      struct fsc_err *err);
void fsc_gpu_hosts_unpin(struct fsc_gpu_books *b, uint32_t pid, uint64_t addr);

/* findings.c */
int fsc_gpu_findings(struct fsc_gpu_books *b, struct fsc_err *err);

int fsc_gpu_range_compare(const void *a, const void *b);

#endif
