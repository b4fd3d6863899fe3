/* Python stacks: offsets to walk the frames of a process, and the resulting frames. Both sides
 * compile this header; the layouts are asserted. */
#ifndef FSC_WIRE_PYTHON_H
#define FSC_WIRE_PYTHON_H

#include <linux/types.h>

#define FSC_PYTHON_FRAMES 32 /* a power of two */
/* An offset that does not exist in this version of Python. */
#define FSC_PYTHON_NONE 0xffffffffu
/* Frames of this owner and above are C code that calls the interpreter, without a function.
 * Versions without such frames use smaller numbers only. */
#define FSC_PYTHON_SHIM 3
/* Python 3.14 keeps tags in the low bits of a reference; objects are aligned to 8 bytes. */
#define FSC_PYTHON_TAGS 7ull

/* One process. Offsets are in bytes, within the structure that begins the name. */
struct fsc_python {
	__u64 runtime; /* address of _PyRuntime */
	__u64 pidns_dev,
	    pidns_ino; /* the process's own pid namespace, whose thread IDs Python uses */
	__u32 runtime_interpreters; /* first PyInterpreterState */
	__u32 interpreter_next;
	__u32 interpreter_threads; /* first PyThreadState */
	__u32 thread_next;
	__u32 thread_id;    /* thread ID; or its pthread_t, if pthread_tid is given */
	__u32 pthread_tid;  /* of the thread ID in what pthread_t points to */
	__u32 thread_frame; /* innermost frame; or its _PyCFrame, if cframe_frame is given */
	__u32 cframe_frame;
	__u32 frame_previous;
	__u32 frame_code;
	__u32 frame_instr;
	__u32 frame_instr_size; /* 8: a pointer; 4: an index into the code (3.10) */
	__u32 frame_owner;	/* one byte, see FSC_PYTHON_SHIM */
	__u32 minor;		/* of 3.MINOR */
};
_Static_assert(sizeof(struct fsc_python) == 80, "wire layout changed");

struct fsc_python_frame {
	__u64 code;  /* address of the PyCodeObject */
	__u64 instr; /* address of the instruction; its index in 3.10 */
};
_Static_assert(sizeof(struct fsc_python_frame) == 16, "wire layout changed");

#endif
