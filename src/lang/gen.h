/* Code generation: from the checked tree to the intermediate form (lang/ir.h), and to the plan's
 * maps and events. A value is a constant, a register, memory that the program may touch (its stack,
 * a map's value, the ring), or memory that only helpers can read (the kernel's and the process's).
 *
 * Memory for what does not fit a register is on the stack if small, else in the scratch map: a slot
 * that the program holds from its first instruction to its last. */
#ifndef FSC_LANG_GEN_H
#define FSC_LANG_GEN_H

#include "lang/check.h"
#include "lang/ir.h"

enum fsc_val_kind {
	FSC_VAL_NONE,
	FSC_VAL_IMM, /* imm */
	FSC_VAL_REG, /* vr; extended to 64 bits by type */
	FSC_VAL_MEM, /* at vr + off, or at the stack frame + off where vr is 0 */
	FSC_VAL_FAR, /* at vr + off in the kernel (space KERNEL) or the process (USER) */
};

struct fsc_val {
	enum fsc_val_kind kind;
	const struct fsc_vtype *type;
	int64_t imm;
	fsc_vr vr;
	int32_t off;
	enum fsc_v_space space;
	uint8_t bit_shift, bits; /* MEM, FAR of a bit field */
	bool trusted;		 /* REG: a pointer to the kernel's memory that the verifier knows */
};

struct fsc_loop {
	struct fsc_loop *up;
	uint32_t next, end; /* labels */
	bool is_func;	    /* the loop's body is a function: break returns 1 */
};

struct fsc_inline {
	struct fsc_inline *up;
	uint32_t end;
	struct fsc_val result;
};

struct fsc_gen {
	struct fsc_lang *c;
	struct fsc_ir_func *f;
	struct fsc_vec funcs; /* struct fsc_ir_func * */
	fsc_vr ctx;	      /* the program's context */
	fsc_vr scratch;	      /* base of the scratch slot */
	fsc_vr outer;	      /* in a loop's function: the frame of the program */
	struct fsc_loop *loop;
	struct fsc_inline *inlined;
	uint32_t end; /* label: the function's end */
	uint32_t scratch_used, scratch_most;
	int32_t ctx_slot, scratch_slot,
	    return_slot; /* in the program's frame, for loops' functions */
	bool in_func, uses_loops, may_return;
	const struct fsc_point **points;
	uint64_t *cookies;
	size_t n_points;
	const struct fsc_point *point;
	struct fsc_probe *probe;
	bool in_user;
};

struct fsc_builtin_gen {
	/* The builtin's value. */
	struct fsc_val (*value)(struct fsc_gen *g, struct fsc_expr *e);
	/* Writes it to memory of the expression's type; NULL: value() and a copy. */
	void (*into)(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest);
};

/* The machine's registers in pt_regs. */
struct fsc_reg_name {
	const char *name;
	uint16_t offset;
};
extern const uint16_t fsc_reg_args[];
extern const unsigned fsc_reg_n_args;
extern const uint16_t fsc_reg_ret, fsc_reg_ip, fsc_reg_sp;
int fsc_reg_find(const char *name); /* -1: none */

/* gen_mem.c */
struct fsc_val fsc_val_imm(const struct fsc_vtype *t, int64_t imm);
struct fsc_val fsc_val_reg(const struct fsc_vtype *t, fsc_vr vr);
struct fsc_val fsc_val_mem(const struct fsc_vtype *t, fsc_vr base, int32_t off);
struct fsc_val fsc_gen_temp(struct fsc_gen *g, const struct fsc_vtype *t);
/* A number in a register, read from wherever the value is. */
fsc_vr fsc_gen_reg(struct fsc_gen *g, const struct fsc_val *v);
/* The address of MEM or FAR. */
fsc_vr fsc_gen_address(struct fsc_gen *g, const struct fsc_val *v);
struct fsc_ir_arg fsc_gen_address_arg(struct fsc_gen *g, const struct fsc_val *v);
/* dest (MEM) becomes the value, converted to dest's type. */
void fsc_gen_store(struct fsc_gen *g, const struct fsc_val *dest, const struct fsc_val *v);
void fsc_gen_zero(struct fsc_gen *g, const struct fsc_val *dest, uint64_t from, uint64_t size);
/* The value as MEM: itself, or a copy. */
struct fsc_val fsc_gen_mem(struct fsc_gen *g, const struct fsc_val *v);
struct fsc_val fsc_val_part(const struct fsc_val *v, const struct fsc_vtype *t, uint64_t offset);
void fsc_gen_load_imm(struct fsc_gen *g, const struct fsc_val *v, unsigned size, int32_t off,
		      fsc_vr *ret);
fsc_vr fsc_gen_mem_load(struct fsc_gen *g, const struct fsc_val *v, unsigned size, int32_t off);
void fsc_gen_mem_store(struct fsc_gen *g, const struct fsc_val *v, unsigned size, int32_t off,
		       fsc_vr value);
void fsc_gen_mem_store_imm(struct fsc_gen *g, const struct fsc_val *v, unsigned size, int32_t off,
			   int64_t imm);
/* bpf_probe_read*() of size bytes. */
void fsc_gen_read(struct fsc_gen *g, const struct fsc_val *dest, uint64_t size,
		  enum fsc_v_space space, fsc_vr address);
/* Bytes in the constant map; their offset. */
uint32_t fsc_gen_constant(struct fsc_gen *g, const void *bytes, size_t n);

/* gen_expr.c */
struct fsc_val fsc_gen_expr(struct fsc_gen *g, struct fsc_expr *e);
fsc_vr fsc_gen_number(struct fsc_gen *g, struct fsc_expr *e);
void fsc_gen_into(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest);
void fsc_gen_branch(struct fsc_gen *g, struct fsc_expr *e, uint32_t yes, uint32_t no);
struct fsc_val fsc_gen_arith(struct fsc_gen *g, int op, const struct fsc_vtype *t, bool is_unsigned,
			     struct fsc_val a, struct fsc_val b);
/* gen_compare.c: jumps to no if they differ (same) or are the same (!same) */
void fsc_gen_compare_memory(struct fsc_gen *g, const struct fsc_val *a, const struct fsc_val *b,
			    uint32_t equal, uint32_t differs);
fsc_vr fsc_gen_strncmp(struct fsc_gen *g, const struct fsc_val *a, const struct fsc_val *b,
		       uint64_t n);

/* gen_map.c */
struct fsc_val fsc_gen_map_read(struct fsc_gen *g, struct fsc_expr *e);
struct fsc_val fsc_gen_map_read_key(struct fsc_gen *g, struct fsc_script_map *m,
				    const struct fsc_val *key);
struct fsc_val fsc_gen_key(struct fsc_gen *g, struct fsc_script_map *m, struct fsc_expr *key);
fsc_vr fsc_gen_lookup(struct fsc_gen *g, struct fsc_script_map *m, const struct fsc_val *key);
void fsc_gen_map_assign(struct fsc_gen *g, struct fsc_stmt *s);
struct fsc_val fsc_gen_map_step(struct fsc_gen *g, struct fsc_expr *e);
void fsc_gen_map_lost(struct fsc_gen *g, fsc_vr result);
void fsc_gen_map_set(struct fsc_gen *g, struct fsc_script_map *m, const struct fsc_val *key,
		     const struct fsc_val *value);
/* gen_agg.c */
void fsc_gen_aggregate(struct fsc_gen *g, struct fsc_script_map *m, struct fsc_expr *key,
		       struct fsc_expr *call);
struct fsc_val fsc_gen_agg_read(struct fsc_gen *g, struct fsc_script_map *m,
				const struct fsc_val *key);

/* gen_stmt.c */
void fsc_gen_block(struct fsc_gen *g, struct fsc_stmt *s);
/* The statements of a block and then an assignment of its value, an aggregation. */
void fsc_gen_block_with(struct fsc_gen *g, struct fsc_expr *e, struct fsc_stmt *assign);
struct fsc_val fsc_gen_block_expr(struct fsc_gen *g, struct fsc_expr *e);
void fsc_gen_probe(struct fsc_gen *g, struct fsc_probe *p);
void fsc_gen_return(struct fsc_gen *g);
struct fsc_val fsc_gen_var_place(struct fsc_gen *g, struct fsc_scope_var *v);
/* gen_loop.c */
void fsc_gen_for(struct fsc_gen *g, struct fsc_stmt *s);
/* Calls bpf_for_each_map_elem() with a function that only counts; the result. */
fsc_vr fsc_gen_map_count(struct fsc_gen *g, struct fsc_script_map *m);

/* gen_event.c */
struct fsc_plan_event *fsc_gen_event_new(struct fsc_gen *g, enum fsc_plan_action action,
					 struct fsc_loc at);
/* A record in the ring with these arguments, sent. */
void fsc_gen_event_send(struct fsc_gen *g, struct fsc_plan_event *ev, struct fsc_expr **args,
			size_t n);
/* The same in steps: layout from types, memory or a jump to `lost`, and submission. */
struct fsc_val fsc_gen_event_begin(struct fsc_gen *g, struct fsc_plan_event *ev,
				   const struct fsc_vtype *const *types, size_t n, uint32_t lost);
void fsc_gen_event_end(struct fsc_gen *g, const struct fsc_val *record);
/* With -k: if result is negative, an event that says so. */
void fsc_gen_helper_failed(struct fsc_gen *g, const char *helper, fsc_vr result);
/* The same wherever the program gets to. */
void fsc_gen_helper_event(struct fsc_gen *g, const char *helper, fsc_vr result);
/* A warning of the program's, while it runs: FSC_ACT_RUNTIME. */
void fsc_gen_warning(struct fsc_gen *g, const char *text);
void fsc_gen_loss(struct fsc_gen *g, enum fsc_plan_loss loss);
uint32_t fsc_gen_text(struct fsc_gen *g, const char *text);

/* The program of the points that are being checked; adds it to the plan. */
void fsc_gen_program(struct fsc_lang *c, struct fsc_probe *p);
/* plan_maps.c */
void fsc_plan_maps_init(struct fsc_lang *c);
void fsc_plan_maps_script(struct fsc_lang *c);
uint32_t fsc_plan_map_stacks(struct fsc_lang *c, uint32_t depth);
uint32_t fsc_plan_map_skb(struct fsc_lang *c);
uint32_t fsc_plan_map_names(struct fsc_lang *c, const void *content, uint32_t size, uint32_t n);
void fsc_plan_maps_finish(struct fsc_lang *c);

/* What the plan is being built of. */
struct fsc_planner {
	struct fsc_vec maps, progs, events, texts; /* of the plan, in keep */
	struct fsc_vec constant;		   /* char: the content of the map of texts */
	uint32_t constants, scratch, ring, globals, losses;
	uint32_t scratch_size;
	uint32_t stacks[129]; /* by depth: map + 1 */
	bool has_scratch;
};

/* btf.c: the program's BTF, in keep. */
void fsc_btf_build(struct fsc_lang *c, struct fsc_plan_prog *p);

#endif
