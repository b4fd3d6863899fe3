/* Values: reading, copying, clearing, and the memory for them. */
#include <string.h>

#include <linux/bpf.h>

#include "lang/gen.h"

enum { ON_STACK = 64, STACK_ROOM = 280, INLINE_COPY = 64, ZEROS = 2048 };

struct fsc_val fsc_val_imm(const struct fsc_vtype *t, int64_t imm)
{
	return (struct fsc_val){.kind = FSC_VAL_IMM, .type = t, .imm = imm};
}

struct fsc_val fsc_val_reg(const struct fsc_vtype *t, fsc_vr vr)
{
	return (struct fsc_val){.kind = FSC_VAL_REG, .type = t, .vr = vr};
}

struct fsc_val fsc_val_mem(const struct fsc_vtype *t, fsc_vr base, int32_t off)
{
	return (struct fsc_val){.kind = FSC_VAL_MEM, .type = t, .vr = base, .off = off};
}

struct fsc_val fsc_val_part(const struct fsc_val *v, const struct fsc_vtype *t, uint64_t offset)
{
	struct fsc_val part = *v;

	part.type = t;
	part.off += (int32_t)offset;
	part.bits = part.bit_shift = 0;
	return part;
}

struct fsc_val fsc_gen_temp(struct fsc_gen *g, const struct fsc_vtype *t)
{
	uint64_t size = (t->size + 7) & ~7ull;
	uint32_t at = g->scratch_used;

	if (size <= ON_STACK && g->f->frame + (int32_t)size <= STACK_ROOM)
		return fsc_val_mem(t, 0, fsc_ir_frame(g->f, size ? size : 8));
	if (size > 30000 || at + size > 30000)
		fsc_lang_fail(g->c, g->f->at,
			      "this needs more memory than a program can have: %llu bytes",
			      (unsigned long long)(at + size));
	g->scratch_used += (uint32_t)size;
	if (g->scratch_used > g->scratch_most)
		g->scratch_most = g->scratch_used;
	return fsc_val_mem(t, g->scratch, (int32_t)(8 + at));
}

fsc_vr fsc_gen_address(struct fsc_gen *g, const struct fsc_val *v)
{
	if (!v->vr)
		return fsc_ir_frame_vr(g->f, v->off);
	return v->off ? fsc_ir_alu_imm(g->f, BPF_ADD, v->vr, v->off) : v->vr;
}

struct fsc_ir_arg fsc_gen_address_arg(struct fsc_gen *g, const struct fsc_val *v)
{
	return v->vr ? FSC_A_VR(fsc_gen_address(g, v)) : FSC_A_FRAME(v->off);
}

fsc_vr fsc_gen_mem_load(struct fsc_gen *g, const struct fsc_val *v, unsigned size, int32_t off)
{
	return fsc_ir_load(g->f, size, v->vr, v->off + off);
}

void fsc_gen_mem_store(struct fsc_gen *g, const struct fsc_val *v, unsigned size, int32_t off,
		       fsc_vr value)
{
	fsc_ir_store(g->f, size, v->vr, v->off + off, value);
}

void fsc_gen_mem_store_imm(struct fsc_gen *g, const struct fsc_val *v, unsigned size, int32_t off,
			   int64_t imm)
{
	fsc_ir_store_imm(g->f, size, v->vr, v->off + off, imm);
}

static const char *helper_name(int helper)
{
	return helper == BPF_FUNC_probe_read_kernel ? "probe_read_kernel"
	       : helper == BPF_FUNC_probe_read_user ? "probe_read_user"
						    : "probe_read";
}

void fsc_gen_read(struct fsc_gen *g, const struct fsc_val *dest, uint64_t size,
		  enum fsc_v_space space, fsc_vr address)
{
	int helper = space == FSC_SPACE_KERNEL ? BPF_FUNC_probe_read_kernel
		     : space == FSC_SPACE_USER ? BPF_FUNC_probe_read_user
					       : BPF_FUNC_probe_read;

	fsc_gen_helper_failed(g, helper_name(helper),
			      fsc_ir_call(g->f, helper, fsc_gen_address_arg(g, dest),
					  FSC_A_IMM(size), FSC_A_VR(address)));
}

/* A bit field's bits, from the unit that it lies in. */
static fsc_vr reg_bits(struct fsc_gen *g, const struct fsc_val *v, fsc_vr r)
{
	int left = 64 - v->bit_shift - v->bits;

	if (!v->bits)
		return r;
	if (left)
		r = fsc_ir_alu_imm(g->f, BPF_LSH, r, left);
	return fsc_ir_alu_imm(g->f, v->type->is_signed ? BPF_ARSH : BPF_RSH, r, 64 - v->bits);
}

static fsc_vr reg_load(struct fsc_gen *g, const struct fsc_val *v)
{
	unsigned size = (unsigned)v->type->size;
	fsc_vr r = fsc_gen_mem_load(g, v, size, 0);

	if (v->bits)
		return reg_bits(g, v, r);
	return v->type->is_signed ? fsc_ir_extend(g->f, r, size, true) : r;
}

fsc_vr fsc_gen_reg(struct fsc_gen *g, const struct fsc_val *v)
{
	struct fsc_val temp;

	switch (v->kind) {
	case FSC_VAL_IMM:
		return fsc_ir_imm(g->f, v->imm);
	case FSC_VAL_REG:
		return v->vr;
	case FSC_VAL_MEM:
		return reg_load(g, v);
	case FSC_VAL_FAR:
		temp = fsc_val_mem(v->type, 0, fsc_ir_frame(g->f, 8));
		temp.bits = v->bits;
		temp.bit_shift = v->bit_shift;
		fsc_gen_read(g, &temp, v->type->size, v->space, fsc_gen_address(g, v));
		return reg_load(g, &temp);
	default:
		return fsc_ir_imm(g->f, 0);
	}
}

/* The largest access that both addresses allow. */
static unsigned chunk_at(int32_t a, int32_t b, uint64_t left)
{
	unsigned size = 8;

	while (size > left || a % (int32_t)size || b % (int32_t)size)
		size /= 2;
	return size;
}

uint32_t fsc_gen_constant(struct fsc_gen *g, const void *bytes, size_t n)
{
	struct fsc_vec *v = &g->c->planner->constant;
	uint32_t at;

	while (v->n < ZEROS || v->n % 8)
		*(char *)fsc_zone_push(g->c->keep, v) = 0;
	at = (uint32_t)v->n;
	for (size_t i = 0; i < n; i++)
		*(char *)fsc_zone_push(g->c->keep, v) = ((const char *)bytes)[i];
	return at;
}

void fsc_gen_zero(struct fsc_gen *g, const struct fsc_val *dest, uint64_t from, uint64_t size)
{
	uint64_t at = from;

	while (at < size && (size - at <= INLINE_COPY || (dest->off + (int32_t)at) % 8)) {
		unsigned n = chunk_at(dest->off + (int32_t)at, 0, size - at);

		fsc_gen_mem_store_imm(g, dest, n, (int32_t)at, 0);
		at += n;
	}
	while (at < size) {
		struct fsc_val part = fsc_val_part(dest, dest->type, at);
		uint64_t n = size - at > ZEROS ? ZEROS : size - at;

		fsc_gen_constant(g, "", 0);
		fsc_ir_call(g->f, BPF_FUNC_probe_read_kernel, fsc_gen_address_arg(g, &part),
			    FSC_A_IMM(n), FSC_A_MAPVAL(g->c->planner->constants, 0));
		at += n;
	}
}

static void store_copy(struct fsc_gen *g, const struct fsc_val *dest, const struct fsc_val *v,
		       uint64_t size)
{
	if (v->kind == FSC_VAL_FAR) {
		fsc_gen_read(g, dest, size, v->space, fsc_gen_address(g, v));
		return;
	}
	if (size > INLINE_COPY) {
		fsc_gen_read(g, dest, size, FSC_SPACE_KERNEL, fsc_gen_address(g, v));
		return;
	}
	for (uint64_t at = 0; at < size;) {
		unsigned n = chunk_at(dest->off + (int32_t)at, v->off + (int32_t)at, size - at);

		fsc_gen_mem_store(g, dest, n, (int32_t)at, fsc_gen_mem_load(g, v, n, (int32_t)at));
		at += n;
	}
}

/* The i-th member, or the one of that name. */
static const struct fsc_vfield *member_of(const struct fsc_vtype *t, size_t i, const char *name)
{
	for (size_t k = 0; name && k < t->n_fields; k++)
		if (!strcmp(t->fields[k].name, name))
			return &t->fields[k];
	return &t->fields[i];
}

static void store_tuple(struct fsc_gen *g, const struct fsc_val *dest, const struct fsc_val *v)
{
	if (fsc_vt_same(dest->type, v->type) && dest->type->size == v->type->size) {
		store_copy(g, dest, v, v->type->size);
		return;
	}
	fsc_gen_zero(g, dest, 0, dest->type->size);
	for (size_t i = 0; i < dest->type->n_fields; i++) {
		struct fsc_val to =
		    fsc_val_part(dest, dest->type->fields[i].type, dest->type->fields[i].offset);
		const struct fsc_vfield *f = member_of(v->type, i, dest->type->fields[i].name);
		struct fsc_val from = fsc_val_part(v, f->type, f->offset);

		fsc_gen_store(g, &to, &from);
	}
}

void fsc_gen_store(struct fsc_gen *g, const struct fsc_val *dest, const struct fsc_val *v)
{
	uint64_t size = v->type->size < dest->type->size ? v->type->size : dest->type->size;

	if (fsc_vt_is_number(dest->type) && fsc_vt_is_number(v->type)) {
		if (v->kind == FSC_VAL_IMM)
			fsc_gen_mem_store_imm(g, dest, (unsigned)dest->type->size, 0, v->imm);
		else
			fsc_gen_mem_store(g, dest, (unsigned)dest->type->size, 0,
					  fsc_gen_reg(g, v));
		return;
	}
	if (v->kind == FSC_VAL_IMM || v->kind == FSC_VAL_REG) {
		unsigned n = dest->type->size > 8 ? 8 : (unsigned)dest->type->size;

		fsc_gen_mem_store(g, dest, n, 0, fsc_gen_reg(g, v));
		fsc_gen_zero(g, dest, n, dest->type->size);
	} else if ((dest->type->kind == FSC_V_TUPLE && v->type->kind == FSC_V_TUPLE) ||
		   (dest->type->kind == FSC_V_RECORD && !dest->type->name &&
		    v->type->kind == FSC_V_RECORD && v->kind == FSC_VAL_MEM && !v->type->name &&
		    !dest->type->is_union && dest->type->fields != v->type->fields &&
		    dest->type->n_fields == v->type->n_fields && dest->type->n_fields &&
		    dest->type->fields[0].name)) {
		store_tuple(g, dest, v);
	} else {
		store_copy(g, dest, v, size);
		fsc_gen_zero(g, dest, size, dest->type->size);
	}
}

struct fsc_val fsc_gen_mem(struct fsc_gen *g, const struct fsc_val *v)
{
	struct fsc_val temp;

	if (v->kind == FSC_VAL_MEM && !v->bits)
		return *v;
	temp = fsc_gen_temp(g, v->type);
	fsc_gen_store(g, &temp, v);
	return temp;
}
