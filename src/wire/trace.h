/* Expressions of `trace` as programs of a small stack machine, and the record of one call. probe/
 * compiles the programs, bpf/expr.bpf.h runs them, model/call.c reads the records. */
#ifndef FSC_WIRE_TRACE_H
#define FSC_WIRE_TRACE_H

#include <linux/types.h>

#define FSC_TRACE_OPS	   64 /* operations of one program */
#define FSC_TRACE_DEPTH	   8  /* of the machine's stack; a power of two */
#define FSC_TRACE_VALUES   12 /* of one record */
#define FSC_TRACE_STRINGS  6  /* of these, texts copied from memory */
#define FSC_TRACE_LITERALS 4  /* texts to compare with */
#define FSC_TRACE_LITERAL  64 /* bytes of each, with the NUL */
#define FSC_TRACE_ARGS	   6
#define FSC_TRACE_NO_TEXT  32 /* bits of a record's `unreadable` from here on are for texts */

/* x is the top of the stack, y the one below; the order groups operations by what they do to it. */
enum fsc_op_code {
	/* push one */
	FSC_OP_CONST,	/* imm */
	FSC_OP_ARG,	/* argument arg, from 0 */
	FSC_OP_VAR,	/* enum fsc_var arg */
	FSC_OP_FIELD,	/* the tracepoint record at offset arg */
	FSC_OP_ADDRESS, /* the address of that field: for arrays */
	FSC_OP_DYNAMIC, /* the address of a __data_loc field at arg; counted from imm */
	FSC_OP_REG,	/* the register at offset arg of pt_regs */
	FSC_OP_STRCOMM, /* whether the task's comm equals literal arg */
	/* replace x */
	FSC_OP_CAST,	/* x, cut to size */
	FSC_OP_EXTRACT, /* a bitfield: x << arg >> imm */
	FSC_OP_DEREF,	/* memory at x + imm */
	FSC_OP_STRCMP,	/* whether the text at x equals literal arg */
	FSC_OP_NEG,
	FSC_OP_COMPL, /* ~x */
	FSC_OP_NOT,   /* !x */
	FSC_OP_BOOL,  /* x != 0 */
	FSC_OP_JUMP,  /* jumps forward to operation arg; keeps x */
	/* replace y and x by y OP x, both cut to size */
	FSC_OP_ADD, /* y + x * imm: pointer arithmetic */
	FSC_OP_SUB, /* y - x * imm */
	FSC_OP_MUL,
	FSC_OP_DIV,
	FSC_OP_MOD,
	FSC_OP_SHL,
	FSC_OP_SHR,
	FSC_OP_AND,
	FSC_OP_XOR,
	FSC_OP_OR,
	FSC_OP_EQ,
	FSC_OP_NE,
	FSC_OP_LT,
	FSC_OP_LE,
	/* pop x */
	FSC_OP_JZERO, /* if it is 0, jump to arg */
	FSC_OP_ANDIF, /* like JZERO, but keeps the 0: && */
	FSC_OP_ORIF,  /* if it is not 0, pushes 1 and jumps to arg: || */
	FSC_OP_CHECK, /* the end of a predicate: 0 ends the program */
	FSC_OP_EMIT,  /* value arg of the record */
	FSC_OP_MAX,
};

/* The size field of an operation. Results are extended to 64 bits. */
#define FSC_OP_SIZE   0x0f /* bytes of the result: 1, 2, 4, 8 */
#define FSC_OP_SIGNED 0x10
#define FSC_OP_USER   0x20 /* user memory, whatever the address looks like */
#define FSC_OP_SWAP   0x40 /* x OP y: the operands were computed in the other order */

struct fsc_op {
	__u16 code; /* enum fsc_op_code */
	__u16 size; /* FSC_OP_SIZE and flags */
	__u32 arg;
	__u64 imm;
};
_Static_assert(sizeof(struct fsc_op) == 16, "wire layout changed");

enum fsc_var {
	FSC_VAR_RETVAL,
	FSC_VAR_DURATION, /* ns */
	FSC_VAR_PID,	  /* the process, the kernel's tgid */
	FSC_VAR_TID,
	FSC_VAR_UID,
	FSC_VAR_GID,
	FSC_VAR_CPU,
	FSC_VAR_TASK, /* address of the task_struct */
	FSC_VAR_MAX,
};

/* What a program needs; nothing else is prepared. */
enum fsc_trace_need {
	FSC_NEED_ARGS = 1 << 0,
	FSC_NEED_RETVAL = 1 << 1, /* can only be evaluated at the return */
	FSC_NEED_DURATION = 1 << 2,
	FSC_NEED_RECORD = 1 << 3, /* the tracepoint's record */
	FSC_NEED_REGS = 1 << 4,	  /* pt_regs */
};

/* A text to copy from memory, after the values. */
struct fsc_trace_string {
	__u16 value; /* the value that is its address */
	__u16 how;   /* FSC_OP_USER or 0 */
	__u32 limit; /* size of its array; 0: up to the NUL */
};

/* Predicate first (up to a CHECK), then the values (each ends in an EMIT). */
struct fsc_trace_prog {
	__u32 n_ops, n_pred;
	__u32 n_values, n_strings;
	__u32 needs; /* enum fsc_trace_need */
	__u32 zero;  /* always 0, unknown to the verifier */
	struct fsc_trace_string strings[FSC_TRACE_STRINGS];
	struct fsc_op ops[FSC_TRACE_OPS];
	char literals[FSC_TRACE_LITERALS][FSC_TRACE_LITERAL]; /* padded with zeros */
};
_Static_assert(sizeof(struct fsc_trace_prog) == 24 + 48 + 1024 + 256, "wire layout changed");

enum fsc_call_event { FSC_CALL_ENTRY, FSC_CALL_RETURN, FSC_CALL_BOTH };

/* One call. The texts follow, n_strings of the run's programs, string_size bytes each. */
struct fsc_rec_call {
	__u64 time_ns, entry_ns;
	__u64 duration_ns; /* in an entry whose return will follow: the stack position */
	__u64 ret, ip;
	__u64 args[FSC_TRACE_ARGS];
	__u32 row, prog, depth;
	__u32 pid, tid, cpu, uid, gid;
	__s32 kstack, ustack; /* stack IDs, negative: none */
	__u16 event;	      /* enum fsc_call_event */
	__u16 n_values;
	__u16 flags; /* the lower bits are for user space */
	__u16 string_size;
	/* Bit i: value i could not be computed; bit i + FSC_TRACE_NO_TEXT: its text could not be
	 * read. */
	__u64 unreadable;
	char comm[16];
	__u64 values[FSC_TRACE_VALUES];
	char strings[];
};
_Static_assert(sizeof(struct fsc_rec_call) == 256, "wire layout changed");

/* Flags of a record that the kernel sets. */
#define FSC_REC_SLOW 0x100 /* it was slow by the row's rule */
/* Only passed to the code that fills the record: the probe is in user space. */
#define FSC_REC_USER 0x8000

/* Size of a text in the record for n characters: one more shows that the text is longer. */
static inline __u32 fsc_trace_slot(__u32 n)
{
	return n + 2;
}

static inline __u32 fsc_rec_call_size(__u32 n_strings, __u32 string_size)
{
	return (__u32)sizeof(struct fsc_rec_call) + n_strings * string_size;
}

#endif
