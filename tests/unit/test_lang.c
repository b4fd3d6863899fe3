/* The compiler: what scripts mean, by running them (BEGIN probes, in the kernel; needs root,
 * skipped otherwise), and what it says about scripts that mean nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lang_kernel.h"

static void show_value(struct fsc_buf *b, const struct fsc_vtype *t, const char *p)
{
	int64_t v = 0;

	if (t->kind == FSC_V_STRING) {
		fsc_buf_printf(b, "%.*s", (int)t->size, p);
	} else if (t->kind == FSC_V_TUPLE || t->kind == FSC_V_RECORD) {
		for (size_t i = 0; i < t->n_fields; i++) {
			fsc_buf_puts(b, i ? "," : "(");
			show_value(b, t->fields[i].type, p + t->fields[i].offset);
		}
		fsc_buf_putc(b, ')');
	} else if (t->size <= 8) {
		memcpy(&v, p, t->size);
		if (t->is_signed && t->size < 8)
			v = (int64_t)((uint64_t)v << (64 - 8 * t->size)) >> (64 - 8 * t->size);
		fsc_buf_printf(b, t->is_signed ? "%lld" : "%llu", (long long)v);
	} else {
		fsc_buf_putc(b, '?');
	}
}

struct shown {
	const struct fsc_plan *plan;
	struct fsc_buf text;
};

static void show_event(void *arg, const void *record, size_t n)
{
	struct shown *s = arg;
	const struct fsc_plan_event *e = &s->plan->events[*(const uint64_t *)record];

	assert_true(n == e->size);
	if (e->action == FSC_ACT_EXIT || e->action == FSC_ACT_RUNTIME ||
	    e->action == FSC_ACT_HELPER)
		fsc_buf_puts(&s->text, e->action == FSC_ACT_EXIT      ? "exit"
				       : e->action == FSC_ACT_RUNTIME ? "warning"
								      : e->text);
	for (size_t i = 0; i < e->n_args; i++) {
		if (i || e->action == FSC_ACT_EXIT || e->action == FSC_ACT_HELPER)
			fsc_buf_putc(&s->text, ' ');
		show_value(&s->text, e->args[i].type, (const char *)record + e->args[i].offset);
	}
	fsc_buf_putc(&s->text, '\n');
}

static const char *const params[] = {"hello", "41"};

static int compile(const char *text, struct fsc_plan **plan, struct fsc_buf *said)
{
	struct fsc_world w = lang_world();
	struct fsc_lang_opts opts = {
	    .warnings = true, .unsafe = true, .params = params, .n_params = 2};
	struct fsc_diags diags;
	struct fsc_err err = {0};
	int code;

	fsc_diags_init(&diags);
	code = fsc_lang_compile(text, strlen(text), &opts, &w, plan, &diags, &err);
	if (said)
		fsc_diags_format(&diags, "stdin", text, strlen(text), said);
	fsc_diags_release(&diags);
	return code;
}

/* What the script's BEGIN probes print, a line for each event. */
static char *run(const char *text)
{
	struct shown s = {0};
	struct fsc_buf said = {0};
	struct lang_loaded l;
	struct fsc_plan *plan;
	int refused;

	if (compile(text, &plan, &said))
		fail_msg("%s", fsc_buf_str(&said));
	refused = lang_load(plan, &l);
	if (refused)
		fail_msg("%s\nrefused: %s", text, l.log);
	s.plan = plan;
	for (size_t i = 0; i < plan->n_progs; i++) {
		if (plan->progs[i].kind != FSC_POINT_BEGIN)
			continue;
		assert_int_equal(lang_run(&l, i), 0);
		lang_records(&l, show_event, &s);
	}
	lang_unload(&l);
	fsc_plan_free(plan);
	fsc_buf_release(&said);
	return s.text.s ? s.text.s : strdup("");
}

static const struct {
	const char *text, *printed;
} meanings[] = {
    /* numbers */
    {"$d = -10; print($d / 3); print($d % 3); print($d >> 1); print((uint64)$d >> 1);",
     "-3\n-1\n-5\n9223372036854775803\n"},
    {"print((uint8)300); print((int8)200); print(-1 == 0xffffffffffffffff); print(5 > -1);",
     "44\n-56\n1\n1\n"},
    {"print(0x10); print(010); print(1_000); print(2e3); print(5us); print(1ms);",
     "16\n8\n1000\n2000\n5000\n1000000\n"},
    {"$z = 0; print(7 / $z); print(7 % $z);", "1\nwarning\n1\nwarning\n"},
    {"$b = (uint8)200; $c = $b + (uint8)100; print($c); print(~10); print(!5); print(!0);",
     "300\n18446744073709551605\n0\n1\n"},
    {"let $x: uint8 = 255; $x++; print($x); $y = 1; $y += 300; print($y); $y -= 400; print($y);",
     "0\n301\n-99\n"},
    {"print(sizeof(1)); print(sizeof(300)); $i = 0; $i++; print(sizeof($i)); print(1 ? 2 : 3);",
     "1\n2\n8\n2\n"},
    {"$x = 10; $y = $x--; print(($x, $y)); $y = --$x; print(($x, $y));", "(9,10)\n(8,8)\n"},
    {"print(1 && 0); print(1 || 0); print(2 + 3 * 4); print((2 + 3) * 4); print(7 & 3 | 8);",
     "0\n1\n14\n20\n11\n"},
    {"print(bswap((uint32)0x11223344)); print((uint64)(uint8[8])12345);", "1144201745\n12345\n"},
    /* texts */
    {"$a = \"abc\"; if ($a == \"abc\") { print(1) } if ($a != \"abd\") { print(2) } print($a);",
     "1\n2\nabc\n"},
    {"$a = \"ab\"; $a = \"longer\"; print($a); print(strlen($a)); print(strcontains($a, \"nge\"));",
     "longer\n6\n1\n"},
    {"print(strncmp(\"abcd\", \"abxy\", 2)); print(strncmp(\"abcd\", \"abxy\", 3));", "0\n1\n"},
    {"$h = \"haystack\"; print(strstr($h, \"st\")); print(strstr($h, \"no\"));", "3\n-1\n"},
    {"print($1); print(str($1)); print($2 + 1); print($#); print(str($1 + 2)); print(str($9));",
     "hello\nhello\n42\n2\nllo\n\n"},
    /* variables, tuples, records */
    {"$t = (1, \"abc\", (2, 3)); print($t.0); print($t.1); print($t.2.1); print($t);",
     "1\nabc\n3\n(1,abc,(2,3))\n"},
    {"$r = (a=1, b=\"x\"); print($r.b); $r = (b=\"longer\", a=300); print($r);",
     "x\n(300,longer)\n"},
    {"$a = 1; $b = &$a; print(*$b); let $c; print($c); $s = \"hello\"; print(*((int8 *)&$s + 1));",
     "1\n0\n101\n"},
    {"let $w = { let $b = 1; $b + 2 }; print($w); print(0 ?: 5); print(7 ?: 5);", "3\n5\n7\n"},
    {"print(if (1 == 2) { 3 } else if (1 == 1) { 4 } else { 5 });", "4\n"},
    /* maps */
    {"@x[1] = 10; @x[2] = @x[1] + 1; print((@x[2], @x[3])); @x[1]++; ++@x[1]; print((@x[1],));",
     "(11,0)\n(12)\n"},
    {"@a[1, \"b\"] = \"v\"; print((@a[1, \"b\"], @a[2, \"b\"])); print(has_key(@a, (1, \"b\")));",
     "(v,)\n1\n"},
    {"@s = 5; @s++; print((@s,)); delete(@s); print((@s,)); @u[1] = 1; delete(@u, 1); "
     "print(len(@u));",
     "(6)\n(0)\n0\n"},
    {"@c = count(); @c = count(); print((uint64)@c); @m = sum(5); @m = sum(-7); print((int64)@m);",
     "2\n-2\n"},
    {"@a = avg(4); @a = avg(8); print((int64)@a); @n = min(3); @n = min(-9); @x = max(2); @x = "
     "max(7); "
     "print((@n + 0, @x + 0));",
     "6\n(-9,7)\n"},
    {"@m[5] = 1; let $v; print(find(@m, 5, $v)); print($v); print(find(@m, 6, $v)); print($v);",
     "1\n1\n0\n1\n"},
    {"@k[1] = 1; @k[70000] = 2; print(len(@k)); @k[-3] = 4; print((@k[70000], @k[-3]));",
     "2\n(2,4)\n"},
    {"delete(@never, 1); @never[1] = 1;", "map_delete_elem -2\n"},
    /* loops */
    {"$i = 0; while ($i < 10) { $i++; if ($i == 5) { break } } print($i);", "5\n"},
    {"$i = 0; while (1) { $i++; if ($i % 2) { continue; } if ($i > 9) { break; } } print($i);",
     "10\n"},
    {"$s = 0; for ($i : 0..10) { if ($i == 3) { continue } $s += $i; if ($i == 7) { break } } "
     "print($s);",
     "25\n"},
    {"for ($i : 0..3) { for ($j : 0..3) { @n[$i, $j] = $i * 10 + $j; if ($j == 1) { break } } } "
     "print(len(@n)); print((@n[2, 1],));",
     "6\n(21)\n"},
    {"@x[7] = \"seven\"; for ($kv : @x) { print($kv); print($kv.1); }", "(7,seven)\nseven\n"},
    {"$t = \"a\"; for ($i : 0..2) { $t = \"bb\"; } print($t); for ($i : 5..5) { print(0); }",
     "bb\n"},
    {"for ($i : 0..4) { if ($i == 2) { return; } print($i); } print(99);", "0\n1\n"},
    {"unroll(3) { @u++; } print((@u,)); unroll(2) { $v = 5; print($v); }", "(3)\n5\n5\n"},
    {"if (2 > 1) { exit(3); print(1); } print(2);", "exit 3\n"},
};

static const struct {
	const char *text, *printed;
} scripts[] = {
    {"macro twice(x) { x * 2 } macro inc($a, @b) { $a += 1; @b += 1; } BEGIN { $v = 5; @m = 1; "
     "inc($v, @m); print(twice($v + @m)); print(twice(twice(1))); }",
     "16\n4\n"},
    {"fn half($x: int64): int64 { if ($x > 100) { return 0; } return $x / 2; } BEGIN { "
     "print(half(42)); "
     "print(half(200)); }",
     "21\n0\n"},
    {"#define LIMIT 7\n#ifdef BPFTRACE_HAVE_BTF\n#define YES 1\n#else\n#define YES 0\n#endif\n"
     "#include <linux/sched.h>\nBEGIN { print(LIMIT + YES); }",
     "8\n"},
    {"struct S { int a; char b[6]; unsigned c : 3; unsigned d : 7; short e[4]; struct { int f; } "
     "g; }; "
     "enum E { A = 5, B }; BEGIN { print(sizeof(struct S)); print(offsetof(struct S, e)); "
     "print(offsetof(struct S, g.f)); print(B); }",
     "24\n12\n20\n6\n"},
    {"struct P { char a; int b; } __attribute__((packed)); BEGIN { print(sizeof(struct P)); }",
     "5\n"},
    {"struct T { uint8 low : 4; uint8 high : 4; int8 s : 3; } BEGIN { $x = (uint64)0x05a7; "
     "$t = (struct T *)&$x; print($t->low); print($t->high); print($t->s); }",
     "7\n10\n-3\n"},
    {"struct V { int n; short all[4]; } BEGIN { $w = ((int32)7, (int16)1, (int16)2, (int16)3, "
     "(int16)4); "
     "$v = *(struct V *)&$w; print($v.n); $i = 2; print($v.all[$i]); $i = 9; print($v.all[$i]); }",
     "7\n3\n0\nwarning\n"},
    {"BEGIN /1 == 2/ { print(1); } BEGIN /pid != 0/ { print(2); } BEGIN { print(RED + GREEN); }",
     "2\n3\n"},
    {"config = { max_map_keys = 2 } BEGIN { @a[1] = 1; @a[2] = 2; @a[3] = 3; @a[4] = 4; "
     "print(len(@a)); }",
     "map_update_elem -7\n2\n"},
    {"let @l = lruhash(10); BEGIN { @l[1] = 5; print((@l[1],)); print(getopt(\"n\", 4)); "
     "print(SIGKILL); }",
     "(5)\n4\n9\n"},
};

static void expect_printed(const char *text, const char *printed)
{
	char *got = run(text);

	if (strcmp(got, printed))
		fail_msg("%s\nprinted:\n%sinstead of:\n%s", text, got, printed);
	free(got);
}

static void test_meanings(void **state)
{
	char text[1024];

	(void)state;
	if (geteuid())
		skip();
	for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++) {
		snprintf(text, sizeof(text), "BEGIN { %s }", meanings[i].text);
		expect_printed(text, meanings[i].printed);
	}
	for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++)
		expect_printed(scripts[i].text, scripts[i].printed);
}

/* Programs of other kinds are only loaded: the verifier takes them. */
static const char *const loads[] = {
    "kprobe:f { @[comm, arg0] = count(); @h = hist(arg1); } kretprobe:f /retval != 0/ { @r = "
    "lhist(retval, 0, 100, 10); }",
    "uprobe:./x:f { @[ustack] = count(); @k[kstack(5)] = count(); printf(\"%s %d\", str(arg0), "
    "arg1); }",
    "uretprobe:./x:f { @start[tid] = nsecs; } uprobe:./x:f /@start[tid]/ { @us = hist((nsecs - "
    "@start[tid]) / 1000); delete(@start[tid]); }",
    "tracepoint:a:b { printf(\"%d %s %s %d\", args.n, args.comm, str(args.text), args.p->a); "
    "print(args); }",
    "tracepoint:a:b /args->n > 3 && args.comm == \"x\"/ { @[args.p->next->name] = "
    "sum(args.p->all[1]); @b = args.p->c; }",
    "profile:hz:99 { @[kstack, ustack, comm] = count(); @u = usermode; }",
    "interval:s:1 { time(\"%H:%M\"); print(@a); clear(@a); zero(@a); @a = count(); "
    "cat(\"/proc/%d/maps\", pid); }",
    "uprobe:./x:f { join(arg1); print(usym(arg0)); print(ksym(arg0)); print(ntop(2, arg0)); "
    "print(username); print(buf(arg0, arg1)); }",
    "uprobe:./x:f* { @[probe] = count(); printf(\"%s %s\\n\", func, probe); }",
    "usdt:./x:a:b { printf(\"%d %d %d\", arg0, arg1, arg2); }",
    "uprobe:./x:f { print(reg(\"ip\")); print(strftime(\"%H\", nsecs)); print(macaddr(arg0)); "
    "print(strerror(2)); print(pton(\"::1\")); }",
    "uprobe:./x:f { $p = (struct pair *)arg0; print(*$p); @[$p->b] = stats($p->a); @m[$p->name] = "
    "max($p->all[2]); $s = \"big\"; }",
    "uprobe:./x:f { @a[str(arg0)] = str(arg1); @b[str(arg0), str(arg1)] = count(); for ($kv : @a) "
    "{ print($kv); @c[$kv.1] = $kv.0; } }",
    "uprobe:./x:f { if (strcontains(str(arg0, 32), \"ab\")) { @ = avg(arg1); } @t = tseries(arg1, "
    "100ms, 20); @h5 = hist(arg0, 5); }",
    "kprobe:f { signal(9); system(\"echo %d\", pid); } uprobe:./x:f { signal(9); }",
    "rawtracepoint:x { @[arg0] = count(); $t = curtask; @c = cgroup; @r = rand % 10; @e = elapsed; "
    "@j = jiffies; @n = numaid; }",
};

static void test_loads(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	for (size_t i = 0; i < sizeof(loads) / sizeof(*loads); i++) {
		struct fsc_buf said = {0};
		struct lang_loaded l;
		struct fsc_plan *plan;

		if (compile(loads[i], &plan, &said)) {
			fail_msg("%s", fsc_buf_str(&said));
		}
		if (lang_load(plan, &l))
			fail_msg("%s\nrefused: %s", loads[i], l.log);
		lang_unload(&l);
		fsc_plan_free(plan);
		fsc_buf_release(&said);
	}
}

static const struct {
	const char *text, *said;
} refusals[] = {
    {"", "the script has no probe"},
    {"BEGIN", "'{' and what to do are expected, not the end of the script"},
    {"BEGIN { ", "an expression is expected, not the end of the script"},
    {"BEGIN { print(1 }", "stdin:1:17-18: ERROR: ')' behind the arguments is expected, not '}'"},
    {"BEGIN { print($x); }", "stdin:1:15-17: ERROR: Undefined or undeclared variable: $x"},
    {"BEGIN { $count = 1; print($coutn); }", "did you mean '$count'?"},
    {"BEGIN { print(@x); }", "Undefined map: @x"},
    {"BEGIN { prinft(\"x\"); }", "Unknown function: 'prinft'"},
    {"BEGIN { prinft(\"x\"); }", "did you mean 'printf'"},
    {"BEGIN { $a = 1; $a = \"x\"; }", "Type mismatch for $a"},
    {"BEGIN { @a = 1; @a = \"x\"; }", "Type mismatch for @a"},
    {"BEGIN { @a[1] = 1; @a = 2; }", "without an explicit key"},
    {"BEGIN { @a[1] = 1; @a[\"x\"] = 2; }", "Argument mismatch for @a"},
    {"BEGIN { printf(\"%d\"); }", "Not enough arguments"},
    {"BEGIN { printf(\"%d\", \"x\"); }", "%d specifier expects a value of another type"},
    {"BEGIN { printf(1); }", "expects a string literal"},
    {"BEGIN { $p = (struct nosuch *)0; print($p->x); }", "nothing is known of the members"},
    {"BEGIN { $p = (struct pair *)0; print($p->nam); }", "did you mean 'name'?"},
    {"BEGIN { print(1 / 0); }", "the divisor is 0"},
    {"BEGIN { break; }", "'break' is outside of any loop"},
    {"BEGIN { print(retval); }", "retval can not be used with \"special\" probes"},
    {"BEGIN { $x = count(); }", "count() should be assigned to a map"},
    {"BEGIN { @x = hist(1); $y = @x; }", "cannot be used in an expression"},
    {"BEGIN { unroll(0) { } }", "unroll minimum value is 1"},
    {"BEGIN { @ = lhist(1, 0, 10, 0); }", "step must be >= 1"},
    {"nosuch:x { }", "'nosuch:x' matches nothing"},
    {"kprobe:f { print(args.x); }", "nothing is known of 'kprobe:f'"},
    {"tracepoint:a:b { print(args.nn); }", "did you mean 'n'?"},
    {"BEGIN { \"abc", "this string does not end"},
    {"/* x", "this comment does not end"},
    {"BEGIN { print(12x); }", "'12x' is not a number"},
    {"BEGIN { print(99999999999999999999); }", "does not fit into 64 bits"},
    {"config = { nosuch = 1 } BEGIN { }", "nosuch: not a known configuration option"},
    {"import \"x\"; BEGIN { }", "'import' is not supported"},
    {"#define F(x) x\nBEGIN { print(F(1)); }", "#define with arguments is not supported"},
    {"macro m() { m() } BEGIN { m(); }", "Recursive macro call"},
    {"BEGIN { if (1) { $b = 1; } print($b); }", "Undefined or undeclared variable: $b"},
    {"BEGIN { (1, 2).5; }", "Invalid tuple index"},
    {"BEGIN { print(\"a\" < \"b\"); }", "can not be used on expressions of type 'string'"},
    {"BEGIN { exit(\"x\"); }", "only supports integer arguments"},
};

static void test_refusals(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
		struct fsc_buf said = {0};
		struct fsc_plan *plan;

		if (!compile(refusals[i].text, &plan, &said))
			fail_msg("taken: %s", refusals[i].text);
		if (!strstr(fsc_buf_str(&said), refusals[i].said))
			fail_msg("%s\nsaid:\n%sinstead of '%s'", refusals[i].text,
				 fsc_buf_str(&said), refusals[i].said);
		fsc_buf_release(&said);
	}
}

static void test_lines(void **state)
{
	struct fsc_plan_line line;
	struct fsc_plan *plan;
	bool found = false;

	(void)state;
	assert_int_equal(compile("BEGIN {\n  $a = 1;\n  @b = pid;\n}\n", &plan, NULL), 0);
	for (uint32_t i = 0; i < plan->progs[0].n_insns; i++) {
		assert_true(fsc_plan_line_of(&plan->progs[0], i, &line));
		found |= line.line == 3;
	}
	assert_true(found);
	assert_string_equal(plan->source_lines[1], "  $a = 1;");
	fsc_plan_free(plan);
}

static void test_dumps(void **state)
{
	struct fsc_buf b = {0};
	struct fsc_plan *plan;
	struct fsc_err err = {0};

	(void)state;
	assert_int_equal(fsc_lang_dump_tree("BEGIN { @x[1] = $1 + 2; }", 25, &b, &err), 0);
	assert_non_null(strstr(fsc_buf_str(&b), "binary '+'"));
	assert_int_not_equal(fsc_lang_dump_tree("BEGIN {", 7, &b, &err), 0);
	assert_int_equal(compile("BEGIN { print(1); }", &plan, NULL), 0);
	fsc_plan_dump(plan, &b);
	assert_non_null(strstr(fsc_buf_str(&b), "event 0 print"));
	fsc_plan_free(plan);
	fsc_buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_meanings), cmocka_unit_test(test_loads),
	    cmocka_unit_test(test_refusals), cmocka_unit_test(test_lines),
	    cmocka_unit_test(test_dumps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
