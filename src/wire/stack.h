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

/* Stacks of programs without frame pointers are unwound by call frame information. The kernel does
 * so with rules that user space has looked up for the code addresses that it met; where it lacks
 * one, or one is too complicated, registers and stack are copied and unwound in user space, which
 * then adds the rules. A stack that the kernel could follow to its end is known again by its
 * addresses: it is copied once. */

/* A code address in one address space. */
struct fsc_unwind_key {
	__u64 space; /* changes with exec */
	__u64 at;    /* with FSC_UNWIND_RETURN if it is a return address */
};
#define FSC_UNWIND_RETURN (1ull << 63)

/* A rule is one word, so that it is never read half written. CFA: the stack pointer of the caller.
 * Bits: 0-1 enum fsc_unwind_how, 2: the CFA is counted from the frame pointer, 3: the return
 * address is in the link register, 4: the frame pointer was saved; then signed: 8-31 the CFA's
 * offset, 32-47 and 48-63 where, from the CFA, the return address and the frame pointer are, in
 * words. */
enum fsc_unwind_how {
	FSC_UNWIND_PLAIN = 1, /* as above */
	FSC_UNWIND_END = 2,   /* nobody called it */
};
#define FSC_UNWIND_BY_FP    4
#define FSC_UNWIND_IN_LR    8
#define FSC_UNWIND_SAVED_FP 16

/* A stack that the kernel followed to its end: two hashes of its addresses. */
struct fsc_chain_key {
	__u64 space, hash[2];
};

/* Registers in the order of pt_regs, for unwinding. */
#define FSC_STACK_REGS 34

/* A stack is copied from the stack pointer to the end of its page, plus this many bytes. Page by
 * page: the stack may end before, and untouched or swapped-out pages cannot be read. */
#define FSC_STACK_PAGE 4096
#define FSC_STACK_COPY 16384

/* Return addresses that the kernel has replaced to catch returns: where they are, and what they
 * were. 0: none. */
#define FSC_HIJACKED 3
struct fsc_hijacked {
	__u64 at[FSC_HIJACKED], was[FSC_HIJACKED];
};

enum fsc_copy_flags {
	FSC_COPY_COUNTS = 1 << 0,  /* it is a hit of its own, counted by who reads it */
	FSC_COPY_LASTING = 1 << 1, /* later hits may refer to it */
};

struct fsc_rec_stack {
	__u64 time_ns, space;
	__u32 row, pid;
	__s32 kernel; /* with FSC_COPY_COUNTS: the ID of the kernel's part */
	__s32 id;     /* by which stacks and calls refer to it */
	__u32 flags;  /* enum fsc_copy_flags */
	__u32 size;   /* bytes of the stack that follow */
	__u32 pages;  /* bit i: page i after that of the stack pointer is in the copy */
	__u32 pad;
	char comm[FSC_COMM_LEN];
	__u64 regs[FSC_STACK_REGS];
	struct fsc_hijacked hijacked;
	char stack[];
};
_Static_assert(sizeof(struct fsc_rec_stack) == 112 + FSC_STACK_REGS * 8, "wire layout changed");

#endif
