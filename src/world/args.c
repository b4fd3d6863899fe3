/* What `args` and `retval` are at a point: by the tracepoint's format, by BTF, or by DWARF. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dwarf/signatures.h"
#include "engine/btf.h"
#include "kernel/tpformat.h"
#include "world/ctype.h"
#include "world/files.h"
#include "world/machine_priv.h"

static struct fsc_arg *args_alloc(struct fsc_machine *m, size_t n, struct fsc_err *err)
{
	return fsc_machine_alloc(m, n * sizeof(struct fsc_arg), err);
}

/* ---- tracepoints ---- */

static int field_to_arg(struct fsc_machine *m, const struct fsc_tp_field *f, bool user,
			struct fsc_arg *a, struct fsc_err *err)
{
	static const enum fsc_arg_at ats[] = {
	    [FSC_TP_FIXED] = FSC_ARG_AT_RECORD,
	    [FSC_TP_DATA_LOC] = FSC_ARG_AT_DATA_LOC,
	    [FSC_TP_REL_LOC] = FSC_ARG_AT_REL_LOC,
	};
	const struct fsc_type *type =
	    fsc_ctype_parse(m, f->type, f->place == FSC_TP_FIXED ? f->size : 0, f->is_signed, err);

	if (type && f->place == FSC_TP_FIXED && f->count)
		type = fsc_ctype_array(m, type, f->count, err);
	*a = (struct fsc_arg){
	    .name = fsc_machine_text(m, err, "%s", f->name),
	    .type = type,
	    .at = ats[f->place],
	    .offset = f->offset,
	    .user = user,
	    .is_text = f->is_text && f->place != FSC_TP_FIXED,
	};
	return type && a->name ? 0 : -ENOMEM;
}

static int args_of_tracepoint(struct fsc_machine *m, const struct fsc_point *p,
			      struct fsc_args *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_vec_release) struct fsc_vec fields = FSC_VEC_INIT(struct fsc_tp_field);
	bool user = !strcmp(p->target, "syscalls");
	int rc = fsc_machine_tracefs(m, err);
	struct fsc_arg *args;

	if (rc >= 0)
		rc = fsc_tracepoint_fields(rc, p->target, p->func, &fields, err);
	if (rc)
		return rc;
	args = args_alloc(m, fields.n, err);
	if (!args)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < fields.n; i++)
		rc = field_to_arg(m, FSC_AT(struct fsc_tp_field, &fields, i), user, &args[i], err);
	ret->args = args;
	ret->n = fields.n;
	ret->name = fsc_machine_text(m, err, "struct _tracepoint_%s_%s", p->target, p->func);
	return rc;
}

/* ---- functions of the kernel ---- */

static struct fsc_btf *btf_of_point(struct fsc_machine *m, const struct fsc_point *p)
{
	if (p->target && strcmp(p->target, "vmlinux"))
		return fsc_machine_module_btf(m, p->target);
	return fsc_machine_btf(m, NULL);
}

static int no_signature(const struct fsc_point *p, struct fsc_err *err)
{
	return fsc_err_set(err, ENOENT, "the kernel's type information (BTF) has no function '%s'",
			   p->func);
}

static int proto_of_point(struct fsc_machine *m, const struct fsc_point *p, uint32_t id,
			  struct fsc_signature *sig, struct fsc_err *err)
{
	struct fsc_btf *btf = btf_of_point(m, p);
	int rc;

	if (btf && !id)
		id = fsc_btf_find(btf, p->func, FSC_BTF_FUNC);
	if (!btf || !id)
		return no_signature(p, err);
	rc = fsc_btf_proto(btf, id, &m->types, sig, err);
	return rc || sig->found ? rc : no_signature(p, err);
}

/* Words of the context: a struct of up to 16 bytes takes as many as it has. The first `skip`
 * parameters are not among them. */
static int args_by_slots(struct fsc_machine *m, const struct fsc_signature *sig, size_t skip,
			 struct fsc_args *ret, struct fsc_err *err)
{
	struct fsc_arg *args = args_alloc(m, sig->n_params, err);
	uint32_t slot = 0;

	if (!args)
		return -ENOMEM;
	for (size_t i = skip; i < sig->n_params; i++) {
		const struct fsc_param *param = &sig->params[i];
		uint32_t n = param->type->size > 8 ? (uint32_t)(param->type->size + 7) / 8 : 1;

		args[ret->n++] = (struct fsc_arg){
		    .name = param->name,
		    .type = param->type,
		    .at = FSC_ARG_AT_SLOT,
		    .index = slot,
		    .n_regs = n,
		};
		slot += n;
	}
	ret->args = args;
	ret->ret = sig->ret;
	ret->ret_slot = slot;
	ret->variadic = sig->variadic;
	return 0;
}

static int args_of_tracing(struct fsc_machine *m, const struct fsc_point *p, struct fsc_args *ret,
			   struct fsc_err *err)
{
	struct fsc_signature sig;
	int rc = proto_of_point(m, p, p->btf_id, &sig, err);

	return rc ? rc : args_by_slots(m, &sig, 0, ret, err);
}

/* The typedef that programs are loaded for has no names of parameters; the functions that are made
 * for the event have. The first parameter is the tracer's own. */
static int args_of_raw(struct fsc_machine *m, const struct fsc_point *p, struct fsc_args *ret,
		       struct fsc_err *err)
{
	static const char *const makes[] = {"__traceiter_", "__bpf_trace_"};
	struct fsc_btf *btf = btf_of_point(m, p);
	struct fsc_signature sig = {0};
	uint32_t id = 0;
	int rc;

	for (size_t i = 0; btf && !id && i < sizeof(makes) / sizeof(makes[0]); i++) {
		char name[160];

		snprintf(name, sizeof(name), "%s%s", makes[i], p->func);
		id = fsc_btf_find(btf, name, FSC_BTF_FUNC);
	}
	rc = proto_of_point(m, p, id ? id : p->btf_id, &sig, err);
	if (!rc)
		rc = args_by_slots(m, &sig, 1, ret, err);
	ret->ret = NULL;
	return rc;
}

/* ---- by registers ---- */

static int args_by_registers(struct fsc_machine *m, const struct fsc_signature *sig, bool user,
			     struct fsc_args *ret, struct fsc_err *err)
{
	struct fsc_arg *args = args_alloc(m, sig->n_params, err);

	if (!args)
		return -ENOMEM;
	for (size_t i = 0; i < sig->n_params; i++) {
		const struct fsc_param *param = &sig->params[i];

		args[i] = (struct fsc_arg){
		    .name = param->name,
		    .type = param->type,
		    .at = param->arg ? FSC_ARG_AT_REGISTER : FSC_ARG_AT_NOWHERE,
		    .index = param->arg ? param->arg - 1u : 0,
		    .n_regs = param->n_arg,
		    .user = user,
		};
	}
	ret->args = args;
	ret->n = sig->n_params;
	ret->ret = sig->ret_readable ? sig->ret : NULL;
	ret->variadic = sig->variadic;
	return 0;
}

static int args_of_kprobe(struct fsc_machine *m, const struct fsc_point *p, struct fsc_args *ret,
			  struct fsc_err *err)
{
	struct fsc_signature sig;
	int rc = proto_of_point(m, p, 0, &sig, err);

	return rc ? rc : args_by_registers(m, &sig, false, ret, err);
}

static int args_of_uprobe(struct fsc_machine *m, const struct fsc_point *p, struct fsc_args *ret,
			  struct fsc_err *err)
{
	struct fsc_machine_file *f = fsc_machine_file(m, p, err);
	struct fsc_signature sig;
	uint64_t addr;
	int rc;

	if (!f)
		return err && err->code ? -err->code : -ENOENT;
	if (!fsc_elf_addr(f->elf, p->address - p->offset, &addr))
		return fsc_err_set(err, ENOENT, "'%s' is no function of %s", p->func, p->target);
	rc = fsc_dwarf_signature(f->elf, addr, &f->types, &sig, err);
	if (rc)
		return rc == -ENODATA
			   ? fsc_err_set(err, ENOENT, "%s has no debug information (DWARF)",
					 p->target)
			   : rc;
	ret->name = fsc_machine_text(m, err, "struct %s_args", p->func);
	return args_by_registers(m, &sig, true, ret, err);
}

/* ---- iterators ---- */

static int args_of_iter(struct fsc_machine *m, const struct fsc_point *p, struct fsc_args *ret,
			struct fsc_err *err)
{
	const char *name = fsc_machine_text(m, err, "struct bpf_iter__%s", p->func);
	struct fsc_world_type found;
	struct fsc_arg *args;

	if (!name)
		return -ENOMEM;
	if (!fsc_machine_type(m, name, NULL, &found))
		return fsc_err_set(err, ENOENT, "the kernel's type information has no '%s'", name);
	args = args_alloc(m, found.type->n_members, err);
	if (!args)
		return -ENOMEM;
	for (size_t i = 0; i < found.type->n_members; i++) {
		const struct fsc_member *member = &found.type->members[i];
		const struct fsc_type *type = member->type;

		/* Each is in a union of its own, which gives pointers 8 bytes everywhere. */
		if (!member->name && type->n_members)
			member = type->members;
		args[i] = (struct fsc_arg){
		    .name = member->name,
		    .type = member->type,
		    .at = FSC_ARG_AT_CONTEXT,
		    .offset = (uint32_t)(found.type->members[i].offset_bits / 8),
		};
	}
	ret->args = args;
	ret->n = found.type->n_members;
	ret->name = name;
	return 0;
}

static int (*const readers[FSC_POINT_KINDS])(struct fsc_machine *m, const struct fsc_point *p,
					     struct fsc_args *ret, struct fsc_err *err) = {
    [FSC_POINT_KPROBE] = args_of_kprobe,
    [FSC_POINT_KRETPROBE] = args_of_kprobe,
    [FSC_POINT_FENTRY] = args_of_tracing,
    [FSC_POINT_FEXIT] = args_of_tracing,
    [FSC_POINT_UPROBE] = args_of_uprobe,
    [FSC_POINT_URETPROBE] = args_of_uprobe,
    [FSC_POINT_TRACEPOINT] = args_of_tracepoint,
    [FSC_POINT_RAWTRACEPOINT] = args_of_raw,
    [FSC_POINT_ITER] = args_of_iter,
};

int fsc_machine_args(void *arg, const struct fsc_point *point, struct fsc_args *ret,
		     struct fsc_err *err)
{
	*ret = (struct fsc_args){0};
	if (!readers[point->kind])
		return fsc_err_set(err, ENOENT, "%s has no arguments by name", point->name);
	return readers[point->kind](arg, point, ret, err);
}
