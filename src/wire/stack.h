/* Stacks: the key that they are counted by, and the copy of a user stack to be unwound by debug
 * information. Both sides compile this header; the layouts are asserted. */
#ifndef FSC_WIRE_STACK_H
#define FSC_WIRE_STACK_H

#include "wire/config.h"

#define FSC_STACK_DEPTH 127

#define FSC_STACK_MORE 0x40000000 /* in an ID: it is in the second map */

/* kernel and user are IDs in the maps of stacks; negative: none. The process is always part of the
 * key, since addresses are only valid in it. */
struct fsc_stack_key {
	__u32 row, pid;
	__s32 kernel, user;
	__u64 caller; /* return address of a user function just entered; 0: unknown */
	char comm[FSC_COMM_LEN];
};
_Static_assert(sizeof(struct fsc_stack_key) == 40, "wire layout changed");

struct fsc_stack_sums {
	__u64 calls, time_ns;
};

/* Registers in the order of pt_regs, for unwinding. */
#define FSC_STACK_REGS 34

/* A stack is copied from the stack pointer to the end of its page, plus this many bytes. Page by
 * page: the stack may end before, and untouched or swapped-out pages cannot be read. */
#define FSC_STACK_PAGE 4096
#define FSC_STACK_COPY 16384

struct fsc_rec_stack {
	__u32 row, pid;
	__s32 kernel;
	__u32 size;  /* bytes of the stack that follow */
	__u32 pages; /* bit i: page i after that of the stack pointer is in the copy */
	__u32 pad;
	char comm[FSC_COMM_LEN];
	__u64 regs[FSC_STACK_REGS];
	char stack[];
};
_Static_assert(sizeof(struct fsc_rec_stack) == 40 + FSC_STACK_REGS * 8, "wire layout changed");

#endif
