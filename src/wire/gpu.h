/* Shared by the BPF programs of `gpu` and user space: how a CUDA call's arguments are read, and its
 * record. Both sides compile this header; the layouts are asserted. */
#ifndef FSC_WIRE_GPU_H
#define FSC_WIRE_GPU_H

#include <linux/types.h>

#include "wire/config.h"
#include "wire/python.h"
#include "wire/stack.h"

/* What a call does. */
enum fsc_gpu_op {
	FSC_GPU_FRAME,	    /* no operation itself: inner calls are attributed to it */
	FSC_GPU_LAUNCH,	    /* dimensions as arguments */
	FSC_GPU_LAUNCH_DIM, /* as two dim3, by value */
	FSC_GPU_LAUNCH_EX,  /* in a configuration */
	FSC_GPU_GRAPH,
	FSC_GPU_ALLOC,
	FSC_GPU_FREE,
	FSC_GPU_MAP,   /* of memory that was created before */
	FSC_GPU_UNMAP, /* the reverse */
	FSC_GPU_COPY,
	FSC_GPU_COPY_2D, /* described by a structure of the driver */
	FSC_GPU_COPY_3D,
	FSC_GPU_COPY_BATCH,
	FSC_GPU_MEMSET,
	FSC_GPU_SYNC,
	FSC_GPU_NAME,	     /* a handle and its kernel's name */
	FSC_GPU_ALIAS,	     /* a handle derived from another one */
	FSC_GPU_CAPTURE,     /* of a stream into a graph begins */
	FSC_GPU_CAPTURED,    /* ends */
	FSC_GPU_INSTANTIATE, /* makes an executable graph */
	FSC_GPU_DEVICE,	     /* selected for the thread, by index */
	FSC_GPU_CONTEXT,     /* likewise, by context */
	FSC_GPU_RETAIN,	     /* the context of a device */
	FSC_GPU_TENSOR,	     /* PyTorch's allocator handed out or took back memory */
	FSC_GPU_TENSOR_OOM,  /* or is out of it */
	FSC_GPU_OP_MAX,
};

/* Operations are counted at the driver; enclosing calls of the runtime and of libraries tell the
 * owner. */
enum fsc_gpu_layer { FSC_GPU_DRIVER, FSC_GPU_RUNTIME, FSC_GPU_LIBRARY };

enum fsc_gpu_mem {
	FSC_GPU_MEM_DEVICE,
	FSC_GPU_MEM_MANAGED,
	FSC_GPU_MEM_POOL,
	FSC_GPU_MEM_VMM,
	FSC_GPU_MEM_PINNED,
	FSC_GPU_MEM_REGISTERED,
	FSC_GPU_MEM_MAX,
};

/* As in cudaMemcpyKind, and more. */
enum fsc_gpu_dir {
	FSC_GPU_H2H,
	FSC_GPU_H2D,
	FSC_GPU_D2H,
	FSC_GPU_D2D,
	FSC_GPU_DIR_UNKNOWN,
	FSC_GPU_P2P,
	FSC_GPU_DIR_MAX,
};

enum fsc_gpu_launch_kind { FSC_GPU_KERNEL, FSC_GPU_COOPERATIVE, FSC_GPU_GRAPH_LAUNCH };

enum fsc_gpu_call_flags {
	FSC_GPU_ASYNC = 1 << 0,
	FSC_GPU_ADDR_IN = 1 << 1,  /* the address is the argument, not what it points to */
	FSC_GPU_ENTRY = 1 << 2,	   /* the return is not probed: recorded at the entry */
	FSC_GPU_ON_EVENT = 1 << 3, /* a synchronisation with an event */
	FSC_GPU_BY_VALUE = 1 << 4, /* FSC_GPU_NAME: the handle is an argument */
};

#define FSC_GPU_NO_ARG 15 /* the call has no such argument */
#define FSC_GPU_ARGS   12 /* read at most */

/* The meaning of a call's arguments, by position. Those of launches are in a fixed order. */
struct fsc_gpu_call {
	__u8 op;    /* enum fsc_gpu_op */
	__u8 layer; /* enum fsc_gpu_layer */
	__u8 kind;  /* of memory or launch; direction of a copy; element size of a memset */
	__u8 flags; /* enum fsc_gpu_call_flags */
	__u8 addr;  /* destination, address, or pointer to it; the function */
	__u8 src;   /* source; pointer to a pitch; a name; what is mapped */
	__u8 size, height;
	__u8 stream;
	__u8 dir;    /* cudaMemcpyKind */
	__u8 n_args; /* to be read */
	__u8 pad;
};
_Static_assert(sizeof(struct fsc_gpu_call) == 12, "wire layout changed");

/* The cookie of a probe: the call, and the file that it is in. */
#define FSC_GPU_COOKIE(call, file) ((__u64)(call) | (__u64)(file) << 32)

#define FSC_GPU_CALLS 512 /* 0: none */
/* From here on our own, for calibration: one of each kind. */
#define FSC_GPU_CALIBRATE    510
#define FSC_GPU_FILES	     64	  /* drivers, each with its offsets of names; the last has none */
#define FSC_GPU_NAME_LEN     4096 /* of a kernel */
#define FSC_GPU_KERNEL_ARGS  16
#define FSC_GPU_NO_DEVICE    (-1)
#define FSC_GPU_FRAMES_DEPTH 8

enum fsc_gpu_rec_flags {
	FSC_GPU_REC_NAMED = 1 << 0,    /* the name follows */
	FSC_GPU_REC_STACK = 1 << 1,    /* struct fsc_gpu_rec_stack follows */
	FSC_GPU_REC_CAPTURED = 1 << 2, /* not executed, but captured into a graph */
	FSC_GPU_REC_RETURN = 1 << 4,   /* ret is known */
	FSC_GPU_REC_NULL = 1 << 5,     /* the name could not be read */
};

struct fsc_gpu_rec {
	__u64 time_ns, dur_ns;
	__u32 pid, tid, ppid;
	__u32 call, via, library; /* of the table; 0: none */
	__u32 flags;		  /* enum fsc_gpu_rec_flags */
	__s32 ret;
	__u64 caller;	      /* return address of the call, or of the enclosing runtime call */
	__u64 library_caller; /* likewise the library's; 0: none */
	__u64 stream;
	__u64 addr; /* destination; function; handle */
	__u64 src;  /* source; other handle */
	__u64 bytes;
	__u64 context; /* current; 0: not known */
	__s32 device;  /* current; FSC_GPU_NO_DEVICE: not known */
	__u32 dir;     /* enum fsc_gpu_dir */
	__u32 grid[3], block[3];
	__u32 shared; /* memory; of a batch of copies: bytes cover only a part */
	__u32 n_args;
	__u64 args[FSC_GPU_KERNEL_ARGS]; /* the first eight bytes of each */
	char comm[FSC_COMM_LEN];
	__u32 n_stack, n_python, n_name;
	__s32 copy; /* instead of n_stack: ID of the stack (struct fsc_rec_stack); 0: none */
};
_Static_assert(sizeof(struct fsc_gpu_rec) == 304, "wire layout changed");

/* After the record, with FSC_GPU_REC_STACK; then the name, n_name bytes with the NUL. */
struct fsc_gpu_rec_stack {
	__u64 stack[FSC_STACK_DEPTH];
	struct fsc_python_frame python[FSC_PYTHON_FRAMES];
};

/* Which calls have a stack. */
enum fsc_gpu_stacks_of {
	FSC_GPU_STACKS_REST = 1 << 0, /* all but launches, copies and memsets */
	FSC_GPU_STACKS_COPIES = 1 << 1,
	FSC_GPU_STACKS_LAUNCHES = 1 << 2,
};

struct fsc_gpu_config {
	__u32 stacks; /* enum fsc_gpu_stacks_of */
	__u32 python; /* bool */
	__u32 args;   /* bool: of kernels */
	__u32 sample; /* one launch in N has a stack; 0 or 1: all */
	__u32 ring_bytes, pad;
};
_Static_assert(sizeof(struct fsc_gpu_config) == 24, "wire layout changed");

/* Offsets of the pointer to the kernel's name in the driver's objects. */
struct fsc_gpu_names_at {
	__s32 function, kernel; /* -1: not known */
};

#endif
