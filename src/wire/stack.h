/* Stacks: what they are counted by, and the copy of a user stack that is unwound by its debug
 * information. Both sides compile this header; the layouts are asserted. */
#ifndef FSC_WIRE_STACK_H
#define FSC_WIRE_STACK_H

#include "wire/config.h"

#define FSC_STACK_DEPTH 127

/* Frames are in the map of stacks under their ids; negative: none. The process is always part of
 * the key: its addresses mean nothing to another one. */
struct fsc_stack_key {
	__u32 row, pid;
	__s32 kernel, user;
	__u64 caller; /* where a user function just entered returns to; 0: not known */
	char comm[FSC_COMM_LEN];
};
_Static_assert(sizeof(struct fsc_stack_key) == 40, "wire layout changed");

struct fsc_stack_sums {
	__u64 calls, time_ns;
};

/* Registers as pt_regs has them, the parts that unwinding begins with. */
#define FSC_STACK_REGS 34

/* What is copied of a stack: from the stack pointer to the end of its page, and so many bytes of
 * the pages behind it. Page by page: a stack may end within, and a page that nobody touched, or
 * that was swapped out, cannot be read. */
#define FSC_STACK_PAGE 4096
#define FSC_STACK_COPY 16384

struct fsc_rec_stack {
	__u32 row, pid;
	__s32 kernel;
	__u32 size;  /* bytes of the stack that follow */
	__u32 pages; /* bit i: the page so far behind the stack pointer's own is in the copy */
	__u32 pad;
	char comm[FSC_COMM_LEN];
	__u64 regs[FSC_STACK_REGS];
	char stack[];
};
_Static_assert(sizeof(struct fsc_rec_stack) == 40 + FSC_STACK_REGS * 8, "wire layout changed");

#endif
