/* Resolving names: arguments, parameters, variables, fields of tracepoints, members of structs;
 * and reading what was found in memory. For unknown names the nearest known ones are suggested. */
#include "probe/expr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	enum fsc_var var;
	unsigned size;
} vars[] = {
    {"pid", FSC_VAR_PID, 4},	       {"tgid", FSC_VAR_PID, 4},  {"tid", FSC_VAR_TID, 4},
    {"uid", FSC_VAR_UID, 4},	       {"gid", FSC_VAR_GID, 4},	  {"cpu", FSC_VAR_CPU, 4},
    {"duration", FSC_VAR_DURATION, 8}, {"task", FSC_VAR_TASK, 8},
};

/* ", did you mean 'a' or 'b'?" */
static const char *suggest_names(const struct fsc_nearest *near, char *buf, size_t size)
{
	char names[520];

	fsc_nearest_text(near, names, sizeof(names));
	snprintf(buf, size, names[0] ? "; did you mean %.300s?" : "%.300s", names);
	return buf;
}

/* "; it has a, b, c": all there are, as far as they fit. */
static void list_names(const struct fsc_gen *g, char *buf, size_t size)
{
	struct fsc_typed t;
	const char *name;
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; g->names->list && !g->names->list(g->names->ctx, i, &name, &t, g->err);
	     i++) {
		if (n + strlen(name) + 12 > size) {
			snprintf(buf + n, size - n, ", ...");
			break;
		}
		n += (size_t)snprintf(buf + n, size - n, "%s%s", i ? ", " : "; it has ", name);
	}
}

static int unknown_name(struct fsc_gen *g, const struct fsc_node *n, const char *name)
{
	static const char *const known[] = {"arg1", "arg2", "arg3",   "arg4",
					    "arg5", "arg6", "retval", "STRCMP"};
	struct fsc_nearest near = {.wanted = name};
	char buf[400], param[FSC_EXPR_NAME];

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		fsc_nearest_offer(&near, known[i]);
	for (size_t i = 0; i < g->params->n; i++) {
		fsc_slice_copy(FSC_AT(struct fsc_expr_param, g->params, i)->name, param);
		fsc_nearest_offer(&near, param);
	}
	if (g->names->near)
		g->names->near(g->names->ctx, NULL, &near);
	suggest_names(&near, buf, sizeof(buf));
	return fsc_err_usage(g->err, "column %u: unknown name '%s'%s", n->column, name,
			     buf[0] ? buf
				    : "; expected arg1 to arg6, retval, a $variable or a "
				      "parameter of the function");
}

static int gen_usdt(struct fsc_gen *g, const struct fsc_usdt_arg *a, struct fsc_operand *ret)
{
	unsigned how = a->size | (a->is_signed ? FSC_OP_SIGNED : 0);
	int rc = 0;

	if (a->form == FSC_USDT_CONST)
		return fsc_gen_emit(g, FSC_OP_CONST, how, 0, a->imm);
	if (a->form == FSC_USDT_REG) {
		rc = fsc_gen_emit(g, FSC_OP_REG, 8, a->base_reg, 0);
		if (!rc && a->second_byte)
			rc = fsc_gen_emit(g, FSC_OP_EXTRACT, 8, 48, 56);
		return rc || a->size == 8 ? rc : fsc_gen_emit(g, FSC_OP_CAST, how, 0, 0);
	}
	if (a->base)
		rc = fsc_gen_emit(g, FSC_OP_REG, 8, a->base_reg, 0);
	if (!rc && a->index)
		rc = fsc_gen_emit(g, FSC_OP_REG, 8, a->index_reg, 0);
	if (!rc && a->index && !a->base)
		rc = fsc_gen_emit(g, FSC_OP_CONST, 8, 0, 0);
	if (!rc && a->index)
		rc = fsc_gen_emit(g, FSC_OP_ADD, 8 | (a->base ? 0 : FSC_OP_SWAP), 0, a->scale);
	ret->in_memory = true;
	ret->offset = a->imm;
	return rc;
}

static int gen_retval(struct fsc_gen *g)
{
	if (g->at == FSC_AT_ENTRY)
		return fsc_err_usage(g->err, "what a function returns is not known when it is "
					     "entered; write r: before the probe or use --ret");
	return fsc_gen_emit(g, FSC_OP_VAR, 8, FSC_VAR_RETVAL, 0);
}

int fsc_gen_typed(struct fsc_gen *g, const struct fsc_typed *t, struct fsc_operand *ret)
{
	unsigned how = fsc_ctype_how(&t->type);
	int rc;

	*ret = (struct fsc_operand){.type = t->type, .user = g->names->user};
	switch (t->where) {
	case FSC_WHERE_USDT:
		return gen_usdt(g, &t->usdt, ret);
	case FSC_WHERE_DYNAMIC:
		ret->type.count = 0;
		ret->type.pointers++;
		return fsc_gen_emit(g, FSC_OP_DYNAMIC, 8, t->at, t->from);
	case FSC_WHERE_FIELD:
		if (!t->type.count && (t->type.pointers || t->type.class == FSC_CLASS_INT))
			return fsc_gen_emit(g, FSC_OP_FIELD, how, t->at, 0);
		ret->in_memory = true;
		return fsc_gen_emit(g, FSC_OP_ADDRESS, 8, t->at, 0);
	case FSC_WHERE_RETVAL:
		rc = gen_retval(g);
		break;
	default:
		if (g->at == FSC_AT_RETURN)
			return fsc_err_usage(g->err,
					     "arguments are no longer known when a function "
					     "returns; leave r: out and use --ret");
		if (g->names->no_args)
			return fsc_err_usage(g->err, "%s", g->names->no_args);
		rc = g->names->arg_reg ? fsc_gen_emit(g, FSC_OP_REG, 8, g->names->arg_reg(t->at), 0)
				       : fsc_gen_emit(g, FSC_OP_ARG, 8, t->at, 0);
	}
	/* The upper half of a register that holds an int is undefined. */
	return rc || how == 8 ? rc : fsc_gen_emit(g, FSC_OP_CAST, how, 0, 0);
}

/* "arg12" is 12, anything else 0. */
static unsigned arg_number(const char *name)
{
	char *end;
	unsigned long n;

	if (strncmp(name, "arg", 3) || name[3] < '1' || name[3] > '9')
		return 0;
	n = strtoul(name + 3, &end, 10);
	return *end || n > 1000 ? 0 : (unsigned)n;
}

static int numbered_arg(struct fsc_gen *g, const struct fsc_node *n, unsigned number,
			struct fsc_operand *ret)
{
	struct fsc_typed t = {.type = FSC_CTYPE_U64, .at = number - 1};
	int rc = 0;

	if (g->names->arg)
		rc = g->names->arg(g->names->ctx, number, &t, g->err);
	else if (g->names->field)
		return fsc_err_usage(g->err,
				     "column %u: a tracepoint has fields, not arguments; "
				     "write args->NAME",
				     n->column);
	else if (number > FSC_TRACE_ARGS)
		return fsc_err_usage(g->err, "column %u: arguments are read up to arg%d", n->column,
				     FSC_TRACE_ARGS);
	if (rc == -ENOENT)
		return fsc_err_usage(g->err, "column %u: there is no arg%u here", n->column,
				     number);
	return rc ? rc : fsc_gen_typed(g, &t, ret);
}

/* A parameter of the signature the user wrote; -ENOENT if it has none of the name. */
static int declared_param(struct fsc_gen *g, const struct fsc_node *n, struct fsc_typed *ret)
{
	for (size_t i = 0; i < g->params->n; i++) {
		const struct fsc_expr_param *p = FSC_AT(struct fsc_expr_param, g->params, i);

		if (p->name.n != n->name.n || memcmp(p->name.s, n->name.s, p->name.n))
			continue;
		if (i >= FSC_TRACE_ARGS)
			return fsc_err_usage(g->err, "column %u: arguments are read up to the %dth",
					     n->column, FSC_TRACE_ARGS);
		*ret = (struct fsc_typed){.at = (uint32_t)i};
		return fsc_gen_type(g, &p->type, &ret->type);
	}
	return -ENOENT;
}

int fsc_gen_name(struct fsc_gen *g, const struct fsc_node *n, struct fsc_operand *ret)
{
	struct fsc_typed t = {.type = FSC_CTYPE_U64, .where = FSC_WHERE_RETVAL};
	char name[FSC_EXPR_NAME];
	bool is_retval;
	int rc;

	fsc_slice_copy(n->name, name);
	is_retval = !strcmp(name, "retval");
	if (arg_number(name))
		return numbered_arg(g, n, arg_number(name), ret);
	rc = declared_param(g, n, &t);
	if (rc == -ENOENT && g->names->param)
		rc = g->names->param(g->names->ctx, name, &t, g->err);
	if (rc == -ENOENT && is_retval)
		rc = 0;
	if (rc == -ENOENT)
		return unknown_name(g, n, name);
	return rc ? rc : fsc_gen_typed(g, &t, ret);
}

int fsc_gen_field(struct fsc_gen *g, const struct fsc_node *n, struct fsc_operand *ret)
{
	struct fsc_typed t = {0};
	char name[FSC_EXPR_NAME], buf[400];
	struct fsc_nearest near = {.wanted = name};
	int rc;

	fsc_slice_copy(n->name, name);
	if (!g->names->field)
		return fsc_err_usage(g->err,
				     "column %u: only tracepoints have args->%s; a function has "
				     "arg1 to arg%d",
				     n->column, name, FSC_TRACE_ARGS);
	rc = g->names->field(g->names->ctx, name, &t, g->err);
	if (rc != -ENOENT)
		return rc ? rc : fsc_gen_typed(g, &t, ret);
	if (g->names->near)
		g->names->near(g->names->ctx, NULL, &near);
	if (!suggest_names(&near, buf, sizeof(buf))[0])
		list_names(g, buf, sizeof(buf));
	return fsc_err_usage(g->err, "column %u: the tracepoint has no field '%s'%s", n->column,
			     name, buf);
}

int fsc_gen_var(struct fsc_gen *g, const struct fsc_node *n, struct fsc_operand *ret)
{
	char name[FSC_EXPR_NAME];

	fsc_slice_copy(n->name, name);
	if (!strcmp(name, "comm"))
		return fsc_err_usage(g->err,
				     "column %u: $comm is a string; it can be shown with %%s or "
				     "compared: STRCMP(\"name\", $comm)",
				     n->column);
	if (!strcmp(name, "duration") && g->at == FSC_AT_ENTRY)
		return fsc_err_usage(g->err,
				     "column %u: $duration is known at the return only; "
				     "write r: before the probe or use --ret",
				     n->column);
	for (size_t i = 0; i < sizeof(vars) / sizeof(vars[0]); i++) {
		if (strcmp(vars[i].name, name))
			continue;
		ret->type = (struct fsc_ctype){.size = vars[i].size};
		if (vars[i].var == FSC_VAR_TASK && g->names->type &&
		    !g->names->type(g->names->ctx, "struct task_struct", &ret->type, NULL))
			ret->type.pointers++;
		return fsc_gen_emit(g, FSC_OP_VAR, 8, vars[i].var, 0);
	}
	return fsc_err_usage(g->err,
			     "column %u: there is no $%s; expected $pid, $tgid, $tid, $uid, $gid, "
			     "$cpu, $comm, $task or $duration",
			     n->column, name);
}

int fsc_gen_member(struct fsc_gen *g, const struct fsc_node *n, struct fsc_operand *ret)
{
	struct fsc_cmember m = {0};
	char name[FSC_EXPR_NAME], buf[400];
	struct fsc_nearest near = {.wanted = name};
	int rc = fsc_gen_place(g, n->a, ret);

	fsc_slice_copy(n->name, name);
	/* A pointer, wherever it lies, is followed; a struct in memory is already there. */
	if (!rc && (ret->type.pointers || !ret->in_memory || ret->type.count)) {
		rc = fsc_gen_load(g, n->column, ret);
		ret->in_memory = true;
		ret->offset = 0;
		if (!rc && ret->type.pointers)
			ret->type.pointers--;
	}
	if (rc)
		return rc;
	if (ret->type.class != FSC_CLASS_STRUCT || ret->type.pointers || !g->names->member)
		return fsc_err_usage(
		    g->err,
		    "column %u: cannot look up '%s': the type of what precedes it is unknown; "
		    "arguments have types where the binary or the kernel has type information",
		    n->column, name);
	rc = g->names->member(g->names->ctx, &ret->type, name, &m, g->err);
	if (rc == -ENOENT) {
		if (g->names->near)
			g->names->near(g->names->ctx, &ret->type, &near);
		return fsc_err_usage(g->err, "column %u: the struct has no member '%s'%s",
				     n->column, name, suggest_names(&near, buf, sizeof(buf)));
	}
	ret->type = m.type;
	ret->offset += m.offset;
	ret->bit_offset = m.bit_offset;
	ret->bit_size = m.bit_size;
	return rc;
}

/* An array is its address. */
static int decay_array(struct fsc_gen *g, struct fsc_operand *o)
{
	uint64_t offset = o->offset;
	int rc;

	o->type.count = 0;
	o->type.pointers++;
	o->in_memory = false;
	if (!offset)
		return 0;
	rc = fsc_gen_emit(g, FSC_OP_CONST, 8, 0, offset);
	return rc ? rc : fsc_gen_emit(g, FSC_OP_ADD, 8, 0, 1);
}

int fsc_gen_load(struct fsc_gen *g, unsigned column, struct fsc_operand *o)
{
	unsigned how = fsc_ctype_how(&o->type), shift;
	int rc;

	if (o->type.class == FSC_CLASS_OTHER && !o->type.pointers)
		return fsc_err_usage(
		    g->err, "column %u: only integers, pointers and strings can be used here",
		    column);
	if (!o->in_memory)
		return 0;
	if (o->type.count)
		return decay_array(g, o);
	if (!o->type.pointers && o->type.class != FSC_CLASS_INT)
		return fsc_err_usage(g->err, "column %u: this is a struct; name one of its members",
				     column);
	o->in_memory = false;
	rc = fsc_gen_emit(g, FSC_OP_DEREF, how | (o->user ? FSC_OP_USER : 0), 0, o->offset);
	if (rc || !o->bit_size)
		return rc;
	shift = 64 - o->bit_offset - o->bit_size;
	o->type.size = o->bit_size > 32 ? 8 : 4;
	rc = fsc_gen_emit(g, FSC_OP_EXTRACT, 8 | (how & FSC_OP_SIGNED), shift, 64 - o->bit_size);
	o->bit_size = 0;
	return rc;
}
