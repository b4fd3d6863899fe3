/* The intermediate form: instructions over any number of registers (fsc_vr), in order, with labels.
 * A register may be written more than once. The generator appends them (gen*.c), regalloc.c gives
 * each register one of the machine's or a place on the stack, emit.c makes BPF instructions of it.
 *
 * The machine's registers: r0 and r5 are the emitter's own, r1..r4 hold what no call lies within,
 * r6..r9 the rest. The stack frame has the generator's objects on top and spilled registers below.
 */
#ifndef FSC_LANG_IR_H
#define FSC_LANG_IR_H

#include "lang/lang_priv.h"

typedef uint32_t fsc_vr; /* 0: none */

enum fsc_ir_op {
	FSC_IR_NOP,
	FSC_IR_MOV,    /* dst = a */
	FSC_IR_IMM,    /* dst = imm, 64 bits */
	FSC_IR_ALU,    /* dst = a sub b, or imm; BPF_ADD... in sub; size 4: 32 bits */
	FSC_IR_NEG,    /* dst = -a */
	FSC_IR_SWAP,   /* dst = a with its size * 8 low bits swapped */
	FSC_IR_LOAD,   /* dst = *(size)(a + off); without a: of the stack frame */
	FSC_IR_STORE,  /* *(size)(a + off) = b, or imm */
	FSC_IR_ATOMIC, /* *(size)(a + off) op= b by imm: BPF_ADD, BPF_ADD | BPF_FETCH, BPF_XCHG;
			  dst: before */
	FSC_IR_FRAME,  /* dst = the stack frame + off */
	FSC_IR_MAP,    /* dst = map number imm */
	FSC_IR_MAPVAL, /* dst = value of map number imm, + off */
	FSC_IR_FUNC,   /* dst = the function number imm, for a helper */
	FSC_IR_KVAR,   /* dst = the kernel's variable of BTF ID imm */
	FSC_IR_PARAM,  /* dst = parameter number imm of this function */
	FSC_IR_CALL,   /* dst = helper imm (args) */
	FSC_IR_KCALL,  /* dst = kernel function imm (args) */
	FSC_IR_LABEL,  /* imm */
	FSC_IR_JUMP,   /* to label */
	FSC_IR_BRANCH, /* to label if a sub b, or imm: BPF_JEQ... */
	FSC_IR_EXIT,   /* return a, or imm */
	FSC_IR_GUARD,  /* the dead tail call */
};

enum fsc_ir_arg_kind {
	FSC_IRA_NONE,
	FSC_IRA_VR,
	FSC_IRA_IMM,
	FSC_IRA_FRAME,
	FSC_IRA_MAP,
	FSC_IRA_MAPVAL,
	FSC_IRA_FUNC
};

struct fsc_ir_arg {
	enum fsc_ir_arg_kind kind;
	fsc_vr vr;
	int64_t imm; /* number, offset in the frame, map, function */
	int32_t off; /* MAPVAL */
};

struct fsc_ir {
	uint8_t op, sub, size;
	bool has_imm; /* instead of b */
	fsc_vr dst, a, b;
	int32_t off;
	int64_t imm;
	uint32_t label;
	struct fsc_ir_arg *args; /* five */
	struct fsc_loc at;
};

struct fsc_ir_func {
	struct fsc_lang *c;
	const char *name;
	struct fsc_vec code; /* struct fsc_ir */
	uint32_t n_vrs, n_labels, n_params;
	int32_t frame, frame_most; /* bytes of objects: in use, at most */
	struct fsc_loc at;	   /* of what is being generated */
	bool callback, used;
	/* regalloc.c */
	int8_t *regs;	 /* by vr: 1..9, or -1: on the stack at spills[vr] */
	int16_t *spills; /* offset from the frame */
	int32_t stack;	 /* bytes of the frame in all */
	bool *keeps;	 /* never to be spilled */
};

/* What emit.c adds up, over the functions of a program. */
struct fsc_ir_out {
	struct fsc_vec insns;  /* struct bpf_insn */
	struct fsc_vec relocs; /* struct fsc_plan_reloc */
	struct fsc_vec lines;  /* struct fsc_plan_line */
	struct fsc_vec funcs;  /* struct fsc_plan_func */
	struct fsc_vec calls;  /* struct fsc_ir_funcref: to be patched */
};

struct fsc_ir_funcref {
	uint32_t insn, func;
};

struct fsc_ir_func *fsc_ir_func_new(struct fsc_lang *c, const char *name, uint32_t n_params);
struct fsc_ir *fsc_ir_push(struct fsc_ir_func *f, enum fsc_ir_op op);
fsc_vr fsc_ir_vr(struct fsc_ir_func *f);
/* Room on the stack, 8-byte aligned; a negative offset from the frame pointer. */
int32_t fsc_ir_frame(struct fsc_ir_func *f, uint64_t size);

fsc_vr fsc_ir_imm(struct fsc_ir_func *f, int64_t imm);
fsc_vr fsc_ir_mov(struct fsc_ir_func *f, fsc_vr a);
void fsc_ir_set(struct fsc_ir_func *f, fsc_vr dst, fsc_vr a);
void fsc_ir_set_imm(struct fsc_ir_func *f, fsc_vr dst, int64_t imm);
fsc_vr fsc_ir_alu(struct fsc_ir_func *f, int sub, fsc_vr a, fsc_vr b);
fsc_vr fsc_ir_alu_imm(struct fsc_ir_func *f, int sub, fsc_vr a, int64_t imm);
fsc_vr fsc_ir_load(struct fsc_ir_func *f, unsigned size, fsc_vr base, int32_t off);
void fsc_ir_store(struct fsc_ir_func *f, unsigned size, fsc_vr base, int32_t off, fsc_vr value);
void fsc_ir_store_imm(struct fsc_ir_func *f, unsigned size, fsc_vr base, int32_t off, int64_t imm);
fsc_vr fsc_ir_frame_vr(struct fsc_ir_func *f, int32_t off);
uint32_t fsc_ir_label(struct fsc_ir_func *f);
void fsc_ir_place(struct fsc_ir_func *f, uint32_t label);
void fsc_ir_jump(struct fsc_ir_func *f, uint32_t label);
void fsc_ir_branch(struct fsc_ir_func *f, int sub, fsc_vr a, fsc_vr b, uint32_t label);
void fsc_ir_branch_imm(struct fsc_ir_func *f, int sub, fsc_vr a, int64_t imm, uint32_t label);
void fsc_ir_exit(struct fsc_ir_func *f, int64_t value);
/* *(size)(base + off) op= value at once; the result is what was there, if fetch. */
fsc_vr fsc_ir_atomic(struct fsc_ir_func *f, int op, bool fetch, unsigned size, fsc_vr base,
		     int32_t off, fsc_vr value);
/* Cuts to size bytes and extends by the sign. */
fsc_vr fsc_ir_extend(struct fsc_ir_func *f, fsc_vr a, unsigned size, bool is_signed);

#define FSC_A_VR(v)	   ((struct fsc_ir_arg){.kind = FSC_IRA_VR, .vr = (v)})
#define FSC_A_IMM(i)	   ((struct fsc_ir_arg){.kind = FSC_IRA_IMM, .imm = (int64_t)(i)})
#define FSC_A_FRAME(o)	   ((struct fsc_ir_arg){.kind = FSC_IRA_FRAME, .imm = (o)})
#define FSC_A_MAP(m)	   ((struct fsc_ir_arg){.kind = FSC_IRA_MAP, .imm = (m)})
#define FSC_A_MAPVAL(m, o) ((struct fsc_ir_arg){.kind = FSC_IRA_MAPVAL, .imm = (m), .off = (o)})
#define FSC_A_FUNC(n)	   ((struct fsc_ir_arg){.kind = FSC_IRA_FUNC, .imm = (n)})

/* Calls with up to five arguments; the result's register. */
fsc_vr fsc_ir_call_n(struct fsc_ir_func *f, enum fsc_ir_op op, int64_t helper, unsigned n,
		     const struct fsc_ir_arg *args);
#define fsc_ir_call(f, helper, ...)                                                                \
	fsc_ir_call_n((f), FSC_IR_CALL, (helper),                                                  \
		      sizeof((struct fsc_ir_arg[]){__VA_ARGS__}) / sizeof(struct fsc_ir_arg),      \
		      (struct fsc_ir_arg[]){__VA_ARGS__})

/* regalloc.c, after which the function can be emitted. Fails if the stack is too small. */
void fsc_ir_allocate(struct fsc_ir_func *f);
/* emit.c */
void fsc_ir_out_init(struct fsc_ir_out *o);
void fsc_ir_emit(struct fsc_ir_func *f, struct fsc_ir_out *o);
/* Patches the references between functions, once all are emitted: numbers has each one's among
 * those. */
void fsc_ir_finish(struct fsc_ir_out *o, const uint32_t *numbers);
/* The registers that an instruction reads; returns how many (at most 7). */
unsigned fsc_ir_uses(const struct fsc_ir *i, fsc_vr *uses);
bool fsc_ir_ends(const struct fsc_ir *i); /* control does not go on behind it */

#endif
