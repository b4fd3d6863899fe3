/* Builtins that user space carries out: printing and its like. */
#include <ctype.h>
#include <string.h>

#include <linux/bpf.h>

#include "lang/builtins.h"

/* One %-sequence of a format: its letter, 0 at the end; *s goes behind it. */
static char format_next(const char **s, const char *end)
{
	const char *p = *s;
	char letter;

	for (; p < end; p++) {
		if (*p != '%')
			continue;
		p++;
		if (p < end && *p == '%')
			continue;
		while (p < end && strchr("-+ #0123456789.*lhzjtL'", *p) && *p)
			p++;
		letter = p < end ? *p : '%';
		p += p < end;
		if (letter == 'r' && p < end && (*p == 'x' || *p == 'h'))
			p++;
		if (letter == 'g' && p < end && *p == 'r')
			p++;
		*s = p;
		return letter;
	}
	*s = end;
	return 0;
}

static bool format_takes(char letter, const struct fsc_vtype *t)
{
	if (strchr("dixXuoc", letter))
		return fsc_vt_is_number(t) || fsc_vtype_aggregates(t);
	if (letter == 'p')
		return fsc_vt_is_number(t);
	if (letter == 's')
		return t->kind != FSC_V_POINTER && (t->kind != FSC_V_INT || t->n_enumerators) &&
		       t->kind != FSC_V_BUFFER;
	if (letter == 'r')
		return t->kind == FSC_V_BUFFER;
	return letter == 'g' && fsc_vt_is_integer(t);
}

static void format_check(struct fsc_lang *c, struct fsc_expr *e)
{
	const struct fsc_expr *f = e->args[0];
	const char *s = f->name, *end = f->name + f->size;
	size_t n = 0;
	char letter;

	while ((letter = format_next(&s, end))) {
		const struct fsc_expr *a = ++n < e->n_args ? e->args[n] : NULL;

		if (!strchr("dixXuocpsrg", letter))
			fsc_lang_fail(c, f->at, "%s: Unknown format string token: %%%c", e->name,
				      letter);
		if (a && a->type && !format_takes(letter, a->type))
			fsc_lang_fail(c, a->at,
				      "%s: %%%c specifier expects a value of another type (%s "
				      "provided)",
				      e->name, letter, fsc_vt_name(c, a->type));
	}
	if (n != e->n_args - 1)
		fsc_lang_fail(
		    c, e->at, "%s: %s arguments for format string (%zu expected, %zu provided)",
		    e->name, n > e->n_args - 1 ? "Not enough" : "Too many", n, e->n_args - 1);
}

void fsc_check_printf(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_string_arg(c, e, 0);
	e->type = &fsc_vt_void;
	format_check(c, e);
}

static struct fsc_val printf_value(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_plan_event *ev =
	    fsc_gen_event_new(g, (enum fsc_plan_action)e->builtin->param, e->at);

	ev->format = e->args[0]->name;
	ev->format_size = e->args[0]->size;
	fsc_gen_event_send(g, ev, e->args + 1, e->n_args - 1);
	return (struct fsc_val){.type = e->type};
}
const struct fsc_builtin_gen fsc_gen_printf = {.value = printf_value};

static void print_map_check(struct fsc_lang *c, struct fsc_expr *e, struct fsc_script_map *m)
{
	c->check->changed |= !m->scalar && !m->keyed && m->key;
	if (c->check->final && !m->value)
		fsc_lang_fail(c, e->args[0]->at, "Undefined map: %s", m->name);
	for (unsigned i = 1; i < e->n_args; i++) {
		fsc_check_value(c, e->args[i]);
		fsc_want_integer(c, e, i);
		if (fsc_const_arg(c, e, i) < 0)
			fsc_lang_fail(c, e->args[i]->at, "Invalid argument: it must be positive");
	}
}

void fsc_check_print(struct fsc_lang *c, struct fsc_expr *e)
{
	struct fsc_expr *a = e->args[0];

	e->type = &fsc_vt_void;
	if (a->kind == FSC_E_MAP && !a->a) {
		print_map_check(c, e, fsc_check_map(c, a));
		return;
	}
	fsc_check_expr(c, a);
	if (e->n_args > 1)
		fsc_lang_fail(c, e->at, "Non-map print() only takes 1 argument, %zu found",
			      e->n_args);
	if (a->type && fsc_vtype_aggregates(a->type)) {
		if (a->kind == FSC_E_MAP && !fsc_vt_castable(a->type, &a->type))
			fsc_lang_fail(
			    c, e->at,
			    "Map type %s cannot print the value of individual keys. You must print "
			    "the whole map.",
			    fsc_vt_name(c, a->type));
	}
	fsc_check_value(c, a);
}

static struct fsc_val print_value(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_expr *a = e->args[0];
	struct fsc_plan_event *ev;

	if (a->kind == FSC_E_MAP && !a->a) {
		ev = fsc_gen_event_new(g, FSC_ACT_PRINT_MAP, e->at);
		ev->map = a->map->number;
		ev->has_top = e->n_args > 1;
		ev->has_div = e->n_args > 2;
		for (size_t i = 1; i < e->n_args; i++)
			e->args[i]->type = &fsc_vt_u64;
		fsc_gen_event_send(g, ev, e->args + 1, e->n_args - 1);
	} else if (a->kind == FSC_E_MAP) {
		struct fsc_expr *both[] = {a, a->a};

		ev = fsc_gen_event_new(g, FSC_ACT_PRINT_ENTRY, e->at);
		ev->map = a->map->number;
		fsc_gen_event_send(g, ev, both, 2);
	} else {
		ev = fsc_gen_event_new(g, FSC_ACT_PRINT, e->at);
		fsc_gen_event_send(g, ev, &a, 1);
	}
	return (struct fsc_val){.type = e->type};
}
const struct fsc_builtin_gen fsc_gen_print = {.value = print_value};

void fsc_check_time(struct fsc_lang *c, struct fsc_expr *e)
{
	if (e->n_args)
		fsc_string_arg(c, e, 0);
	e->type = &fsc_vt_void;
}

static struct fsc_val time_value(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_plan_event *ev = fsc_gen_event_new(g, FSC_ACT_TIME, e->at);

	ev->format = e->n_args ? e->args[0]->name : "%H:%M:%S\n";
	ev->format_size = strlen(ev->format);
	fsc_gen_event_send(g, ev, NULL, 0);
	return (struct fsc_val){.type = e->type};
}
const struct fsc_builtin_gen fsc_gen_time = {.value = time_value};

void fsc_check_exit(struct fsc_lang *c, struct fsc_expr *e)
{
	if (e->n_args)
		fsc_want_integer(c, e, 0);
	e->type = &fsc_vt_void;
}

/* What is behind it is not run. */
static struct fsc_val exit_value(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_expr zero = {.at = e->at}, *code = e->n_args ? e->args[0] : &zero;

	if (!e->n_args)
		fsc_expr_const(code, &fsc_vt_i64, 0);
	code->type = &fsc_vt_i64;
	fsc_gen_event_send(g, fsc_gen_event_new(g, FSC_ACT_EXIT, e->at), &code, 1);
	fsc_gen_return(g);
	fsc_ir_place(g->f, fsc_ir_label(g->f));
	return (struct fsc_val){.type = e->type};
}
const struct fsc_builtin_gen fsc_gen_exit = {.value = exit_value};

void fsc_check_unwatch(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_want_number(c, e, 0);
	e->type = &fsc_vt_void;
}

static struct fsc_val unwatch_value(struct fsc_gen *g, struct fsc_expr *e)
{
	fsc_gen_event_send(g, fsc_gen_event_new(g, FSC_ACT_UNWATCH, e->at), e->args, 1);
	return (struct fsc_val){.type = e->type};
}
const struct fsc_builtin_gen fsc_gen_unwatch = {.value = unwatch_value};

void fsc_check_assert(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_string_arg(c, e, 1);
	if (e->args[0]->type && !fsc_vt_is_number(e->args[0]->type))
		fsc_lang_fail(c, e->args[0]->at, "assert() expects a condition");
	e->type = &fsc_vt_void;
}

static struct fsc_val assert_value(struct fsc_gen *g, struct fsc_expr *e)
{
	uint32_t holds = fsc_ir_label(g->f), fails = fsc_ir_label(g->f);
	struct fsc_expr code = {.at = e->at}, *args = &code;
	struct fsc_plan_event *ev;

	fsc_expr_const(&code, &fsc_vt_i64, 1);
	fsc_gen_branch(g, e->args[0], holds, fails);
	fsc_ir_place(g->f, fails);
	ev = fsc_gen_event_new(g, FSC_ACT_ERRORF, e->at);
	ev->format = fsc_zone_printf(g->c->keep, "assert failed: %s", e->args[1]->name);
	ev->format_size = strlen(ev->format);
	fsc_gen_event_send(g, ev, NULL, 0);
	fsc_gen_event_send(g, fsc_gen_event_new(g, FSC_ACT_EXIT, e->at), &args, 1);
	fsc_gen_return(g);
	fsc_ir_place(g->f, holds);
	return (struct fsc_val){.type = e->type};
}
const struct fsc_builtin_gen fsc_gen_assert = {.value = assert_value};

enum { JOIN_ARGS = 16, JOIN_SIZE = 1024 };

void fsc_check_join(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_want_number(c, e, 0);
	if (e->n_args > 1)
		fsc_string_arg(c, e, 1);
	e->type = &fsc_vt_void;
}

/* The texts that an array of pointers points to, up to a NULL. */
static void join_texts(struct fsc_gen *g, const struct fsc_val *texts, const struct fsc_val *count,
		       fsc_vr array, enum fsc_v_space space)
{
	int helper = space == FSC_SPACE_KERNEL ? BPF_FUNC_probe_read_kernel_str
		     : space == FSC_SPACE_USER ? BPF_FUNC_probe_read_user_str
					       : BPF_FUNC_probe_read_str;
	struct fsc_val word = fsc_val_mem(&fsc_vt_u64, 0, fsc_ir_frame(g->f, 8));
	uint32_t end = fsc_ir_label(g->f);

	for (int i = 0; i < JOIN_ARGS; i++) {
		struct fsc_val to = fsc_val_part(texts, texts->type, (uint64_t)i * JOIN_SIZE);
		fsc_vr p;

		fsc_gen_read(g, &word, 8, space, fsc_ir_alu_imm(g->f, BPF_ADD, array, i * 8));
		p = fsc_gen_mem_load(g, &word, 8, 0);
		fsc_ir_branch_imm(g->f, BPF_JEQ, p, 0, end);
		fsc_ir_call(g->f, helper, fsc_gen_address_arg(g, &to), FSC_A_IMM(JOIN_SIZE),
			    FSC_A_VR(p));
		fsc_gen_mem_store_imm(g, count, 4, 0, i + 1);
	}
	fsc_ir_place(g->f, end);
}

static struct fsc_val join_value(struct fsc_gen *g, struct fsc_expr *e)
{
	const struct fsc_vtype *types[] = {&fsc_vt_u32,
					   fsc_vt_string(g->c, (uint64_t)JOIN_ARGS * JOIN_SIZE)};
	struct fsc_plan_event *ev = fsc_gen_event_new(g, FSC_ACT_JOIN, e->at);
	size_t number = g->c->planner->events.n - 1;
	fsc_vr array = fsc_ir_mov(g->f, fsc_gen_number(g, e->args[0]));
	uint32_t lost = fsc_ir_label(g->f);
	struct fsc_val record, count, texts;

	ev->text = e->n_args > 1 ? e->args[1]->name : " ";
	ev->join_size = JOIN_SIZE;
	record = fsc_gen_event_begin(g, ev, types, 2, lost);
	ev = FSC_AT(struct fsc_plan_event, &g->c->planner->events, number);
	count = fsc_val_part(&record, types[0], ev->args[0].offset);
	texts = fsc_val_part(&record, types[1], ev->args[1].offset);
	fsc_gen_mem_store_imm(g, &count, 4, 0, 0);
	join_texts(g, &texts, &count, array, (enum fsc_v_space)e->args[0]->type->space);
	fsc_gen_event_end(g, &record);
	fsc_ir_place(g->f, lost);
	return (struct fsc_val){.type = e->type};
}
const struct fsc_builtin_gen fsc_gen_join = {.value = join_value};

void fsc_check_skboutput(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_string_arg(c, e, 0);
	fsc_want_kinds(c, e, FSC_KIND(FENTRY) | FSC_KIND(FEXIT));
	if (!c->world->features.skb_output)
		fsc_lang_fail(c, e->at, "this kernel has no bpf_skb_output() (Linux 5.5)");
	fsc_want_number(c, e, 1);
	fsc_want_integer(c, e, 2);
	fsc_want_integer(c, e, 3);
	e->type = &fsc_vt_u32;
}

static struct fsc_val skboutput_value(struct fsc_gen *g, struct fsc_expr *e)
{
	enum { SKB_OUTPUT = 111, LENGTH_SHIFT = 32 };
	uint32_t number = (uint32_t)g->c->planner->events.n;
	struct fsc_plan_event *ev = fsc_gen_event_new(g, FSC_ACT_SKBOUTPUT, e->at);
	struct fsc_val meta =
	    fsc_val_mem(&fsc_vt_u64, 0, fsc_ir_frame(g->f, sizeof(struct fsc_plan_skb)));
	fsc_vr skb, flags, length;

	ev->text = e->args[0]->name;
	skb = fsc_ir_mov(g->f, fsc_gen_number(g, e->args[1]));
	length = fsc_gen_number(g, e->args[2]);
	fsc_gen_mem_store_imm(g, &meta, 8, 0, number);
	fsc_gen_mem_store(g, &meta, 8, 16, length);
	flags = fsc_ir_alu_imm(g->f, BPF_LSH, length, LENGTH_SHIFT);
	flags = fsc_ir_alu(g->f, BPF_OR, flags, fsc_ir_imm(g->f, 0xffffffff));
	fsc_gen_mem_store(g, &meta, 8, 8,
			  fsc_ir_call_n(g->f, FSC_IR_CALL, BPF_FUNC_ktime_get_boot_ns, 0, NULL));
	return fsc_val_reg(e->type, fsc_ir_call(g->f, SKB_OUTPUT, FSC_A_VR(skb),
						FSC_A_MAP(fsc_plan_map_skb(g->c)), FSC_A_VR(flags),
						FSC_A_FRAME(meta.off),
						FSC_A_IMM(sizeof(struct fsc_plan_skb))));
}
const struct fsc_builtin_gen fsc_gen_skboutput = {.value = skboutput_value};

/* debugf: into the kernel's trace_pipe, by the kernel's own formatting. */
enum { TRACE_PRINTK = 6, DEBUG_ARGS = 3 };

void fsc_check_debugf(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_string_arg(c, e, 0);
	if (e->n_args - 1 > DEBUG_ARGS)
		fsc_lang_fail(c, e->at, "debugf() takes up to %d values behind its format",
			      DEBUG_ARGS);
	for (size_t i = 1; i < e->n_args; i++)
		if (e->args[i]->type && !fsc_vt_is_number(e->args[i]->type) &&
		    e->args[i]->type->kind != FSC_V_STRING)
			fsc_lang_fail(c, e->args[i]->at, "debugf() takes numbers and texts");
	e->type = &fsc_vt_void;
}

static struct fsc_val debugf_value(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_ir_arg args[2 + DEBUG_ARGS] = {
	    FSC_A_MAPVAL(g->c->planner->constants,
			 (int32_t)fsc_gen_constant(g, e->args[0]->name, e->args[0]->size + 1)),
	    FSC_A_IMM(e->args[0]->size + 1)};

	for (size_t i = 1; i < e->n_args; i++) {
		struct fsc_val v = fsc_gen_expr(g, e->args[i]);

		if (v.type->kind == FSC_V_STRING) {
			v = fsc_gen_mem(g, &v);
			args[1 + i] = FSC_A_VR(fsc_gen_address(g, &v));
		} else {
			args[1 + i] = FSC_A_VR(fsc_ir_mov(g->f, fsc_gen_reg(g, &v)));
		}
	}
	fsc_ir_call_n(g->f, FSC_IR_CALL, TRACE_PRINTK, 1 + (unsigned)e->n_args, args);
	return (struct fsc_val){.type = e->type};
}
const struct fsc_builtin_gen fsc_gen_debugf = {.value = debugf_value};
