/* The expressions of `trace` from text to value: compiled by probe/, evaluated by the kernel's own
 * evaluator built for user space, compared with what C says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval_cases.h"
#include "eval_native.h"
#include "base/cleanup.h"
#include "probe/tracefields.h"
#include "probe/tracespec.h"
#include "kernel/tpformat.h"

static const struct fsc_names plain = {.user = true};

/* Compiles `f TEXT`; the program is good when 0 comes back. */
static int compile(const char *text, const struct fsc_names *names, enum fsc_trace_at at,
		   struct fsc_trace_prog *prog, struct fsc_err *err)
{
	struct fsc_tracespec s;
	struct fsc_format f;
	int rc = fsc_tracespec_parse(text, &s, err);

	if (rc)
		return rc;
	rc = fsc_tracespec_compile(&s, names, at, prog, &f, err);
	if (!rc)
		fsc_format_release(&f);
	fsc_tracespec_release(&s);
	return rc;
}

static struct fsc_eval evaluated(const struct fsc_trace_prog *prog, void *ctx, int *verdict)
{
	struct fsc_eval e = {.prog = prog,
			     .ctx = ctx,
			     .pid_tgid = 77ull << 32 | 78,
			     .retval = 0xfffffffe,
			     .duration_ns = 1500,
			     .args = EVAL_ARGS};

	*verdict = fsc_eval_run(&e, FSC_TRACE_OPS);
	return e;
}

/* The one value of an expression. */
static struct fsc_eval value_of(const char *expr, const struct fsc_names *names, void *ctx)
{
	struct fsc_trace_prog prog;
	struct fsc_err err = {0};
	struct fsc_eval e;
	char text[1200];
	int verdict;

	snprintf(text, sizeof(text), "f \"%%ld\", %s", expr);
	if (compile(text, names, FSC_AT_BOTH, &prog, &err))
		fail_msg("%s: %s", text, err.msg);
	e = evaluated(&prog, ctx, &verdict);
	assert_int_equal(verdict, FSC_EVAL_YES);
	return e;
}

static void as_c_does(void **state)
{
	struct eval_case cases[400];
	size_t n = eval_cases(cases, 400);

	(void)state;
	assert_true(n > 120 && n < 400);
	for (size_t i = 0; i < n; i++) {
		struct fsc_eval e = value_of(cases[i].text, &plain, NULL);

		if (e.values[0] != cases[i].want || e.unreadable)
			fail_msg("%s is 0x%llx, and not 0x%llx", cases[i].text,
				 (unsigned long long)cases[i].want,
				 (unsigned long long)e.values[0]);
	}
}

static void variables(void **state)
{
	static const struct {
		const char *expr;
		uint64_t want;
	} cases[] = {{"$pid", 77},
		     {"$tgid", 77},
		     {"$tid", 78},
		     {"$uid", 1001},
		     {"$gid", 1002},
		     {"$cpu", 3},
		     {"$duration", 1500},
		     {"$duration > 1000", 1},
		     {"$task", 0xffff888000000000},
		     {"retval", 0xfffffffe},
		     {"(int)retval", (uint64_t)-2},
		     {"(int)retval < 0", 1},
		     {"retval < 0", 0},
		     {"STRCMP(\"worker\", $comm)", 1},
		     {"STRCMP(\"work\", $comm)", 0},
		     {"!STRCMP(\"workers\", $comm)", 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (value_of(cases[i].expr, &plain, NULL).values[0] != cases[i].want)
			fail_msg("%s", cases[i].expr);
}

/* ---- memory, with types a resolver knows ---- */

struct inner {
	char name[8];
	unsigned flag : 3, mode : 5;
	int last : 4;
};

struct thing {
	long number;
	struct inner in;
	struct inner *out;
	short list[4];
	const char *label;
};

enum { ID_THING = 1, ID_INNER };

static int thing_param(void *ctx, const char *name, struct fsc_typed *ret, struct fsc_err *err)
{
	(void)ctx;
	(void)err;
	if (strcmp(name, "t"))
		return -ENOENT;
	*ret = (struct fsc_typed){.type = {.class = FSC_CLASS_STRUCT,
					   .size = sizeof(struct thing),
					   .id = ID_THING,
					   .pointers = 1}};
	return 0;
}

static int thing_type(void *ctx, const char *name, struct fsc_ctype *ret, struct fsc_err *err)
{
	(void)ctx;
	(void)err;
	if (strcmp(name, "struct thing"))
		return -ENOENT;
	*ret = (struct fsc_ctype){
	    .class = FSC_CLASS_STRUCT, .size = sizeof(struct thing), .id = ID_THING};
	return 0;
}

#define OFFSET(type, member) offsetof(struct type, member)

static int thing_member(void *ctx, const struct fsc_ctype *of, const char *name,
			struct fsc_cmember *ret, struct fsc_err *err)
{
	static const struct {
		uint64_t of;
		const char *name;
		struct fsc_cmember member;
	} members[] = {
	    {ID_THING, "number", {.type = {.size = 8, .is_signed = true}, .offset = 0}},
	    {ID_THING,
	     "in",
	     {.type = {.class = FSC_CLASS_STRUCT, .size = sizeof(struct inner), .id = ID_INNER},
	      .offset = OFFSET(thing, in)}},
	    {ID_THING,
	     "out",
	     {.type = {.class = FSC_CLASS_STRUCT,
		       .size = sizeof(struct inner),
		       .id = ID_INNER,
		       .pointers = 1},
	      .offset = OFFSET(thing, out)}},
	    {ID_THING,
	     "list",
	     {.type = {.size = 2, .is_signed = true, .count = 4}, .offset = OFFSET(thing, list)}},
	    {ID_THING,
	     "label",
	     {.type = {.size = 1, .is_text = true, .pointers = 1}, .offset = OFFSET(thing, label)}},
	    {ID_INNER,
	     "name",
	     {.type = {.size = 1, .is_text = true, .count = 8}, .offset = OFFSET(inner, name)}},
	    {ID_INNER, "flag", {.type = {.size = 4}, .offset = 8, .bit_size = 3}},
	    {ID_INNER, "mode", {.type = {.size = 4}, .offset = 8, .bit_offset = 3, .bit_size = 5}},
	    {ID_INNER,
	     "last",
	     {.type = {.size = 4, .is_signed = true}, .offset = 8, .bit_offset = 8, .bit_size = 4}},
	};

	(void)ctx;
	(void)err;
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (members[i].of == of->id && !strcmp(members[i].name, name)) {
			*ret = members[i].member;
			return 0;
		}
	return -ENOENT;
}

static void thing_near(void *ctx, const struct fsc_ctype *of, struct fsc_nearest *n)
{
	(void)ctx;
	fsc_nearest_offer(n, of ? "number" : "thing");
}

static const struct fsc_names typed = {.user = true,
				       .param = thing_param,
				       .type = thing_type,
				       .member = thing_member,
				       .near = thing_near};

static struct fsc_eval with_arg1(const char *text, const void *arg1, int *verdict,
				 struct fsc_trace_prog *prog)
{
	struct fsc_err err = {0};
	struct fsc_eval e = {.prog = prog, .args = {(__u64)(uintptr_t)arg1, 2, 3, 4, 5, 6}};

	if (compile(text, &typed, FSC_AT_ENTRY, prog, &err))
		fail_msg("%s: %s", text, err.msg);
	*verdict = fsc_eval_run(&e, FSC_TRACE_OPS);
	return e;
}

static void members_and_arrays(void **state)
{
	struct inner out = {.name = "outer", .flag = 5, .mode = 17, .last = -3};
	struct thing t = {.number = -9,
			  .in = {.name = "inner", .flag = 1},
			  .out = &out,
			  .list = {1, -2, 3, 4},
			  .label = "hello"};
	static const struct {
		const char *expr;
		int64_t want;
	} cases[] = {{"t->number", -9},
		     {"t->number < 0", 1},
		     {"t->in.flag", 1},
		     {"t->out->flag", 5},
		     {"t->out->mode", 17},
		     {"t->out->last", -3},
		     {"t->out->name[1]", 'u'},
		     {"t->list[1]", -2},
		     {"t->list[arg2]", 3},
		     {"t->list[arg2 - 1 + 0 * arg3]", -2},
		     {"*t->list", 1},
		     {"*(t->list + 3)", 4},
		     {"*(3 + t->list)", 4},
		     {"*(t->list + (arg2 - (arg3 - arg2)))", -2},
		     {"t->list + 2 - t->list", 2},
		     {"t->label[4]", 'o'},
		     {"*t->label", 'h'},
		     {"STRCMP(\"hello\", t->label)", 1},
		     {"STRCMP(\"hell\", t->label)", 0},
		     {"STRCMP(\"outer\", t->out->name)", 1},
		     {"STRCMP(\"inner\", t->in.name) && !STRCMP(\"x\", t->label)", 1},
		     {"((struct thing *)arg1)->number", -9},
		     {"(*t).number", -9},
		     {"*(long *)arg1", -9},
		     {"*(s16 *)arg1 == -9", 1},
		     {"((long *)arg1)[0]", -9},
		     {"t[0].number", -9},
		     {"(t && t->out ? t->out : t->out)->flag", 5}};
	struct fsc_trace_prog prog;
	int verdict;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[200];
		struct fsc_eval e;

		snprintf(text, sizeof(text), "f \"%%d\", %s", cases[i].expr);
		e = with_arg1(text, &t, &verdict, &prog);
		if ((int64_t)e.values[0] != cases[i].want || e.unreadable)
			fail_msg("%s is not %lld", cases[i].expr, (long long)e.values[0]);
	}
}

static void what_cannot_be_read(void **state)
{
	struct fsc_trace_prog prog;
	struct fsc_eval e;
	int verdict;

	(void)state;
	e = with_arg1("f \"%d %d %d %d\", t->number, 7, arg2 / (arg3 - 3), 5 % 0", NULL, &verdict,
		      &prog);
	assert_int_equal(verdict, FSC_EVAL_YES);
	assert_int_equal(e.unreadable, 1 | 4 | 8);
	assert_int_equal(e.values[0], 0);
	assert_int_equal(e.values[1], 7);
	with_arg1("f (t->number == 0)", NULL, &verdict, &prog);
	assert_int_equal(verdict, FSC_EVAL_UNREADABLE);
	with_arg1("f (t && t->number == 0)", NULL, &verdict, &prog);
	assert_int_equal(verdict, FSC_EVAL_NO);
	with_arg1("f (arg2 == 2)", NULL, &verdict, &prog);
	assert_int_equal(verdict, FSC_EVAL_YES);
	with_arg1("f (arg2 == 3)", NULL, &verdict, &prog);
	assert_int_equal(verdict, FSC_EVAL_NO);
	with_arg1("f (STRCMP(\"\", t))", NULL, &verdict, &prog);
	assert_int_equal(verdict, FSC_EVAL_UNREADABLE);
}

static void texts_are_copied(void **state)
{
	struct inner in = {.name = {'f', 'u', 'l', 'l', 'f', 'u', 'l', 'l'}, .flag = 7};
	struct thing t = {.out = &in, .label = "a label that is long"};
	struct fsc_trace_prog prog;
	struct fsc_rec_call *rec = calloc(1, fsc_rec_call_size(4, 12));
	struct fsc_eval e;
	int verdict;

	(void)state;
	assert_non_null(rec);
	e = with_arg1("f \"%s %s %s %d\", t->label, t->out->name, arg4, arg2", &t, &verdict, &prog);
	assert_int_equal(prog.n_strings, 3);
	assert_int_equal(prog.strings[1].limit, 8);
	fsc_eval_store(&e, rec, 4, 12);
	assert_string_equal(rec->strings, "a label tha");
	assert_string_equal(rec->strings + 12, "fullfull");
	assert_string_equal(rec->strings + 24, "");
	assert_string_equal(rec->strings + 36, "");
	assert_int_equal(rec->unreadable, 4ull << FSC_TRACE_NO_TEXT);
	assert_int_equal(rec->values[3], 2);
	assert_int_equal(rec->n_values, 4);
	free(rec);
}

static void fields_of_tracepoints(void **state)
{
	static const char format[] =
	    "name: x\nformat:\n"
	    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
	    "\tfield:int nr;\toffset:4;\tsize:4;\tsigned:1;\n"
	    "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	    "\tfield:__data_loc char[] path;\toffset:24;\tsize:4;\tsigned:0;\n"
	    "\tfield:__rel_loc char[] rel;\toffset:28;\tsize:4;\tsigned:0;\n"
	    "\tfield:unsigned long args[2];\toffset:32;\tsize:16;\tsigned:0;\n"
	    "\tfield:const char * file;\toffset:48;\tsize:8;\tsigned:0;\n";
	struct {
		uint16_t type, pad;
		int32_t nr;
		char comm[16];
		uint32_t path, rel;
		uint64_t args[2];
		const char *file;
		char tail[16];
	} rec = {.nr = -5,
		 .comm = "bash",
		 .path = 5u << 16 | 56,
		 .rel = 3u << 16 | (56 + 5 - 32),
		 .args = {11, 12},
		 .file = "/etc",
		 .tail = "/tmp\0no"};
	static const struct {
		const char *expr;
		int64_t want;
	} cases[] = {{"args->nr", -5},
		     {"args.nr + 1", -4},
		     {"args->args[1]", 12},
		     {"args->comm[0]", 'b'},
		     {"STRCMP(\"bash\", args->comm)", 1},
		     {"STRCMP(\"/tmp\", args->path)", 1},
		     {"STRCMP(\"no\", args->rel)", 1},
		     {"STRCMP(\"/etc\", args->file)", 1}};
	FSC_AUTO(fsc_vec_release) struct fsc_vec fields = FSC_VEC_INIT(struct fsc_tp_field);
	struct fsc_names names;
	struct fsc_err err = {0};
	struct fsc_trace_prog prog;

	(void)state;
	assert_int_equal(fsc_tracepoint_fields_parse(format, &fields, &err), 0);
	assert_int_equal(fields.n, 7);
	fsc_tracefields_names(&fields, &names);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fsc_eval e = value_of(cases[i].expr, &names, &rec);

		if ((int64_t)e.values[0] != cases[i].want || e.unreadable)
			fail_msg("%s is not %lld", cases[i].expr, (long long)e.values[0]);
	}
	assert_int_equal(compile("t:x (args->nrr)", &names, FSC_AT_ENTRY, &prog, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "did you mean 'nr'"));
	assert_int_equal(compile("t:x (arg1)", &names, FSC_AT_ENTRY, &prog, &err), -EINVAL);
	assert_int_equal(compile("t:x", &names, FSC_AT_ENTRY, &prog, &err), 0);
	assert_int_equal(prog.n_values, 5);
	assert_int_equal(prog.n_strings, 4);
}

/* As the kernel declares system calls: 8 bytes without a sign, whatever the type. */
static void arguments_of_system_calls_have_signs(void **state)
{
	static const char format[] =
	    "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
	    "\tfield:int dfd;\toffset:16;\tsize:8;\tsigned:0;\n"
	    "\tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;\n"
	    "\tfield:umode_t mode;\toffset:32;\tsize:8;\tsigned:0;\n"
	    "\tfield:loff_t pos;\toffset:40;\tsize:8;\tsigned:0;\n"
	    "\tfield:size_t n;\toffset:48;\tsize:8;\tsigned:0;\n";
	static const struct {
		unsigned size;
		bool is_signed;
	} want[] = {{4, true}, {4, true}, {8, false}, {2, false}, {8, true}, {8, false}};
	FSC_AUTO(fsc_vec_release) struct fsc_vec fields = FSC_VEC_INIT(struct fsc_tp_field);

	(void)state;
	assert_int_equal(fsc_tracepoint_fields_parse(format, &fields, NULL), 0);
	assert_int_equal(fields.n, 6);
	for (size_t i = 0; i < fields.n; i++) {
		const struct fsc_tp_field *f = FSC_AT(struct fsc_tp_field, &fields, i);

		if (f->size != want[i].size || f->is_signed != want[i].is_signed)
			fail_msg("%s: %u bytes, signed %d", f->name, f->size, f->is_signed);
	}
}

static void programs_are_checked(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
	    {"f (retval == 1)", "not known when it is entered"},
	    {"f \"%d\", $duration", "at the return only"},
	    {"f (arg7)", "up to arg6"},
	    {"f (foo)", "unknown name 'foo'"},
	    {"f (ag1)", "did you mean 'arg1'"},
	    {"f ($pd)", "there is no $pd"},
	    {"f (args->x)", "only tracepoints"},
	    {"f (t->nummber)", "did you mean 'number'"},
	    {"f (arg1->x)", "is unknown"},
	    {"f (*arg1)", "cast such as"},
	    {"f (*(void *)arg1)", "cast such as"},
	    {"f (t->in)", "this is a struct"},
	    {"f ((struct thing)arg1)", "not to 'struct thing'"},
	    {"f ((struct nosuch)arg1)", "unknown type 'struct nosuch'"},
	    {"f \"%s\", t->in.flag", "is a number of 4 bytes"},
	    {"f \"%d\", $comm", "$comm is a string"},
	    {"f ($comm == 1)", "$comm is a string"},
	    {"f \"%d\"", "1 conversions, but 0"},
	    {"f \"%d\", 1, 2", "1 conversions, but 2"},
	    {"f \"%n\", 1", "writes to memory"},
	    {"f \"%f\", 1", "floating point"},
	    {"f \"%*d\", 1", "width"},
	    {"f \"%y\", 1", "is not a conversion"},
	    {"f \"%\"", "is not a conversion"},
	    {"f \"%99999d\", 1", "a width is at most"},
	    {"f \"%s %s %s %s %s %s %s\", arg1, arg1, arg1, arg1, arg1, arg1, arg1", "6 strings"},
	    {"f \"%d %d %d %d %d %d %d %d %d %d %d %d %d\", 1,1,1,1,1,1,1,1,1,1,1,1,1",
	     "12 values"},
	    {"f (STRCMP(\"0123456789012345678901234567890123456789012345678901234567890123\", t))",
	     "63 characters"},
	    {"f (STRCMP(\"\",t)||STRCMP(\"\",t)||STRCMP(\"\",t)||STRCMP(\"\",t)||STRCMP(\"\",t))",
	     "4 STRCMPs"},
	    {"f (1+arg1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1)",
	     "64 operations"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fsc_trace_prog prog;
		struct fsc_err err = {0};
		int rc = compile(cases[i].text, &typed, FSC_AT_ENTRY, &prog, &err);

		if (rc != -EINVAL || !err.usage || !strstr(err.msg, cases[i].says))
			fail_msg("%s: %d '%s'", cases[i].text, rc, err.msg);
	}
}

static void needs_are_noted(void **state)
{
	struct fsc_trace_prog prog;

	(void)state;
	assert_int_equal(compile("f", &plain, FSC_AT_ENTRY, &prog, NULL), 0);
	assert_int_equal(prog.needs, FSC_NEED_ARGS);
	assert_int_equal(prog.n_values, 6);
	assert_int_equal(compile("f", &plain, FSC_AT_RETURN, &prog, NULL), 0);
	assert_int_equal(prog.needs, 0);
	assert_int_equal(compile("f (retval) \"x\"", &plain, FSC_AT_BOTH, &prog, NULL), 0);
	assert_int_equal(prog.needs, FSC_NEED_RETVAL);
	assert_int_equal(prog.n_pred, 2);
	assert_int_equal(compile("f ($duration > 5)", &plain, FSC_AT_RETURN, &prog, NULL), 0);
	assert_int_equal(prog.needs, FSC_NEED_RETVAL | FSC_NEED_DURATION);
	assert_int_equal(compile("f \"%d\", $pid", &plain, FSC_AT_ENTRY, &prog, NULL), 0);
	assert_int_equal(prog.needs, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(as_c_does),
	    cmocka_unit_test(variables),
	    cmocka_unit_test(members_and_arrays),
	    cmocka_unit_test(what_cannot_be_read),
	    cmocka_unit_test(texts_are_copied),
	    cmocka_unit_test(fields_of_tracepoints),
	    cmocka_unit_test(arguments_of_system_calls_have_signs),
	    cmocka_unit_test(programs_are_checked),
	    cmocka_unit_test(needs_are_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
