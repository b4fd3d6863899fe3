/* Scripts that nobody wrote: arithmetic that must give what C gives, programs that must load or be
 * refused with a message, and damaged text that must never crash or hang the compiler. Seeded, so
 * that every run is the same; LANG_ROUNDS=N makes it longer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lang_kernel.h"

static uint64_t seed;

static uint64_t rnd(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static unsigned rounds(unsigned usual)
{
	const char *given = getenv("LANG_ROUNDS");

	return given ? (unsigned)strtoul(given, NULL, 10) : usual;
}

static int compile(const char *text, size_t n, struct fsc_plan **plan, struct fsc_buf *said)
{
	struct fsc_world w = lang_world();
	struct fsc_lang_opts opts = {.unsafe = true};
	struct fsc_diags diags;
	struct fsc_err err = {0};
	int code;

	fsc_diags_init(&diags);
	code = fsc_lang_compile(text, n, &opts, &w, plan, &diags, &err);
	if (said)
		fsc_diags_format(&diags, "stdin", text, n, said);
	if (code)
		assert_true(diags.list.n > 0);
	fsc_diags_release(&diags);
	return code;
}

/* An expression and what it is in C, with 64 bits. Numbers of both signs are kept apart: where they
 * meet, C and the language agree only by a cast. */
static const int64_t values[] = {
    0, 1, 2, 7, -1, -8, 255, 65536, -65537, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1000003};
enum { VALUES = sizeof(values) / sizeof(*values), VARS = 4 };
static int64_t vars[VARS];

static int64_t by_zero(const char *op, uint64_t a, uint64_t b, bool is_signed)
{
	if (!b)
		return 1;
	if (!is_signed)
		return (int64_t)(*op == '/' ? a / b : a % b);
	if (b == UINT64_MAX)
		return *op == '/' ? (int64_t)(0 - a) : 0;
	return *op == '/' ? (int64_t)a / (int64_t)b : (int64_t)a % (int64_t)b;
}

static int64_t compute(const char *op, int64_t sa, int64_t sb, bool is_signed)
{
	uint64_t a = (uint64_t)sa, b = (uint64_t)sb;

	switch (*op) {
	case '+':
		return (int64_t)(a + b);
	case '-':
		return (int64_t)(a - b);
	case '*':
		return (int64_t)(a * b);
	case '/':
	case '%':
		return by_zero(op, a, b, is_signed);
	case '&':
		return sa & sb;
	case '|':
		return sa | sb;
	case '^':
		return sa ^ sb;
	case '=':
		return sa == sb;
	case '!':
		return sa != sb;
	}
	if (op[0] == '<' && op[1] == '<')
		return (int64_t)(a << (b & 63));
	if (op[0] == '>' && op[1] == '>')
		return is_signed ? sa >> (b & 63) : (int64_t)(a >> (b & 63));
	if (op[0] == '<' && op[1] == '=')
		return is_signed ? sa <= sb : a <= b;
	return is_signed ? sa < sb : a < b;
}

static int64_t expression(struct fsc_buf *b, unsigned depth, bool is_signed)
{
	static const char *const ops[] = {"+", "-",  "*",  "/", "%",  "&",  "|",
					  "^", "<<", ">>", "<", "<=", "==", "!="};
	const char *op = ops[rnd(sizeof(ops) / sizeof(*ops))];
	const char *type = is_signed ? "int64" : "uint64";
	int64_t x, y;

	if (!depth || rnd(6) == 0) {
		unsigned which = (unsigned)rnd(VARS);

		if (rnd(3) == 0) {
			x = (int64_t)rnd(1000);
			fsc_buf_printf(b, "(%s)%lld", type, (long long)x);
			return x;
		}
		fsc_buf_printf(b, "(%s)$v%u", type, which);
		return vars[which];
	}
	fsc_buf_printf(b, "(%s)(", type);
	x = expression(b, depth - 1, is_signed);
	fsc_buf_printf(b, " %s ", op);
	/* A divisor that is known to be 0 is a mistake. */
	if (*op == '/' || *op == '%')
		fsc_buf_puts(b, "(1 | ");
	y = expression(b, depth - 1, is_signed);
	if (*op == '/' || *op == '%') {
		fsc_buf_puts(b, ")");
		y |= 1;
	}
	fsc_buf_puts(b, ")");
	return compute(op, x, y, is_signed);
}

struct results {
	const int64_t *expected;
	size_t n, seen;
	const char *text;
	const struct fsc_plan *plan;
};

static void result(void *arg, const void *record, size_t n)
{
	struct results *r = arg;
	const struct fsc_plan_event *e = &r->plan->events[*(const uint64_t *)record];
	int64_t v;

	(void)n;
	if (e->action != FSC_ACT_PRINT)
		return;
	memcpy(&v, (const char *)record + e->args[0].offset, 8);
	assert_int_equal(e->args[0].type->size, 8);
	if (r->seen >= r->n || v != r->expected[r->seen])
		fail_msg("%s\nresult %zu is %lld instead of %lld", r->text, r->seen, (long long)v,
			 (long long)r->expected[r->seen]);
	r->seen++;
}

static void check_results(const char *text, const int64_t *expected, size_t n)
{
	struct results r = {.expected = expected, .n = n, .text = text};
	struct fsc_buf said = {0};
	struct lang_loaded l;
	struct fsc_plan *plan;

	if (compile(text, strlen(text), &plan, &said))
		fail_msg("%s", fsc_buf_str(&said));
	if (lang_load(plan, &l))
		fail_msg("%s\nrefused: %s", text, l.log);
	r.plan = plan;
	assert_int_equal(lang_run(&l, 0), 0);
	lang_records(&l, result, &r);
	assert_int_equal(r.seen, n);
	lang_unload(&l);
	fsc_plan_free(plan);
	fsc_buf_release(&said);
}

static void test_arithmetic(void **state)
{
	enum { PRINTS = 6 };

	(void)state;
	if (geteuid())
		skip();
	seed = 88172645463325252;
	for (unsigned i = 0; i < rounds(150); i++) {
		int64_t expected[PRINTS];
		struct fsc_buf b = {0};

		fsc_buf_puts(&b, "BEGIN { ");
		for (unsigned k = 0; k < VARS; k++) {
			vars[k] = values[rnd(VALUES)];
			/* Half of them are not known while compiling. */
			fsc_buf_printf(&b,
				       rnd(2) ? "$v%u = (int64)%llu; "
					      : "$v%u = (int64)(%llu + (uint64)(pid * 0)); ",
				       k, (unsigned long long)vars[k]);
		}
		for (unsigned k = 0; k < PRINTS; k++) {
			fsc_buf_puts(&b, "print(");
			expected[k] = expression(&b, 3, k % 2);
			fsc_buf_puts(&b, "); ");
		}
		fsc_buf_puts(&b, "}");
		check_results(fsc_buf_str(&b), expected, PRINTS);
		fsc_buf_release(&b);
	}
}

/* Programs: every name has one type, so that most are right. */
static void statements(struct fsc_buf *b, unsigned depth, unsigned n);

static void number(struct fsc_buf *b, unsigned depth)
{
	static const char *const leaves[] = {
	    "pid",	  "tid",	  "cpu",	 "nsecs", "$i",	    "$j",    "@n",
	    "@k[$i]",	  "@w[comm, $j]", "7",		 "-3",	  "0xffff", "$t.0",  "strlen($s)",
	    "@t[1].0",	  "len(@k)",	  "(uint64)@c",	 "rand",  "$p->a",  "$p->b", "$p->all[1]",
	    "sizeof($s)", "(int8)$i",	  "$p->next->a", "uid"};
	static const char *const ops[] = {"+",	"-",  "*", "/", "%",  "&",  "|",  "^",
					  "<<", ">>", "<", ">", "==", "!=", "&&", "||"};

	if (!depth || rnd(3) == 0) {
		fsc_buf_puts(b, leaves[rnd(sizeof(leaves) / sizeof(*leaves))]);
		return;
	}
	fsc_buf_puts(b, "(int64)(");
	number(b, depth - 1);
	fsc_buf_printf(b, " %s ", ops[rnd(sizeof(ops) / sizeof(*ops))]);
	number(b, depth - 1);
	if (rnd(8) == 0) {
		fsc_buf_puts(b, " ? ");
		number(b, depth - 1);
		fsc_buf_puts(b, " : ");
		number(b, depth - 1);
	}
	fsc_buf_putc(b, ')');
}

static const char *string(void)
{
	static const char *const all[] = {"comm",	   "$s",       "\"text\"", "@s[1]",
					  "str($p->next)", "$p->name", "$t.1",	   "probe",
					  "str(0, 10)"};

	return all[rnd(sizeof(all) / sizeof(*all))];
}

static void simple(struct fsc_buf *b)
{
	static const char *const calls[] = {"@k[$i]++",
					    "@n--",
					    "@c = count()",
					    "@h[comm] = hist($i)",
					    "@l = lhist($j, 0, 100, 10)",
					    "@st[cpu] = stats($i)",
					    "@mx = max($j)",
					    "@av[$s] = avg($i)",
					    "delete(@k, $i)",
					    "clear(@h)",
					    "print(@k)",
					    "time(\"%H\")",
					    "print($t)",
					    "printf(\"%d %s %d\", $i, $s, @n)",
					    "$i++",
					    "$j -= 3",
					    "$t = ($i, \"new\", 1)",
					    "print(*$p)",
					    "@s[1] = $s",
					    "@st2[kstack(3)] = count()",
					    "print(ntop($i))",
					    "$s = comm",
					    "print((1, $s, $t))",
					    "@q = tseries($i, 1s, 4)",
					    "printf(\"%r\", buf($p, 8))"};

	if (rnd(3)) {
		fsc_buf_puts(b, calls[rnd(sizeof(calls) / sizeof(*calls))]);
	} else if (rnd(2)) {
		fsc_buf_puts(b, rnd(2) ? "$i = " : "@n = (int64)");
		number(b, 2);
	} else {
		fsc_buf_printf(b, "@w[%s, $j] = ", string());
		number(b, 1);
	}
	fsc_buf_puts(b, ";\n");
}

static void compound(struct fsc_buf *b, unsigned depth)
{
	switch (rnd(6)) {
	case 0:
		fsc_buf_puts(b, "if (");
		number(b, 2);
		fsc_buf_puts(b, ") {\n");
		break;
	case 1:
		fsc_buf_printf(b, "if (%s == %s) {\n", string(), string());
		break;
	case 2:
		fsc_buf_printf(b, "for ($f%u : 0..%u) {\n", depth, (unsigned)rnd(20));
		break;
	case 3:
		fsc_buf_printf(b, "for ($f%u : @%s) {\n", depth, rnd(2) ? "k" : "w");
		break;
	case 4:
		fsc_buf_printf(b, "unroll(%u) {\n", (unsigned)rnd(3) + 1);
		break;
	default:
		fsc_buf_printf(b, "$l%u = 0; while ($l%u < 5) { $l%u++;\n", depth, depth, depth);
	}
	statements(b, depth - 1, 2);
	fsc_buf_puts(b, "}\n");
}

static void statements(struct fsc_buf *b, unsigned depth, unsigned n)
{
	while (n--) {
		if (depth && rnd(3) == 0)
			compound(b, depth);
		else
			simple(b);
	}
}

static void program(struct fsc_buf *b)
{
	static const char *const probes[] = {"BEGIN",	       "kprobe:f",
					     "uprobe:./x:f",   "profile:hz:9",
					     "tracepoint:a:b", "uretprobe:./x:f, uprobe:./y:g"};

	fsc_buf_printf(
	    b,
	    "BEGIN { @k[1] = 1; @n = -1; @w[\"a\", 1] = -5; @s[1] = \"x\"; @t[1] = (1, \"b\", 3); "
	    "@c = count(); @h[comm] = hist(1); }\n%s {\n$i = (int64)1; $j = (int64)pid; $s = "
	    "\"start\"; "
	    "$t = ((int64)1, \"two\", 3); $p = (struct pair *)0;\n",
	    probes[rnd(sizeof(probes) / sizeof(*probes))]);
	statements(b, 2, 5);
	fsc_buf_puts(b, "}\n");
}

/* The kernel's own limits are no defect of a program: too long, too much stack, too complex. */
static bool refused_by_limits(const char *log)
{
	return strstr(log, "too complex") || strstr(log, "BPF program is too large") ||
	       strstr(log, "combined stack size");
}

static void test_programs(void **state)
{
	unsigned taken = 0, n = rounds(200);

	(void)state;
	if (geteuid())
		skip();
	seed = 362436069521288629;
	for (unsigned i = 0; i < n; i++) {
		struct fsc_buf b = {0}, said = {0};
		struct lang_loaded l;
		struct fsc_plan *plan;

		program(&b);
		if (compile(fsc_buf_str(&b), b.n, &plan, &said)) {
			if (getenv("LANG_WHY"))
				printf("%s", fsc_buf_str(&said));
		} else {
			if (lang_load(plan, &l) && !refused_by_limits(l.log))
				fail_msg("%s\nrefused: %s", fsc_buf_str(&b),
					 strlen(l.log) > 1500 ? l.log + strlen(l.log) - 1500
							      : l.log);
			lang_unload(&l);
			fsc_plan_free(plan);
			taken++;
		}
		fsc_buf_release(&said);
		fsc_buf_release(&b);
	}
	assert_true(taken > n / 2);
}

/* Letters changed, taken out and doubled in text that was right. */
static void test_damage(void **state)
{
	(void)state;
	seed = 521288629362436069;
	for (unsigned i = 0; i < rounds(1500); i++) {
		static const char letters[] = "{}()[];:,.$@\"'#/*+-<>=!&|?%~^\\ \n0aAzx_9";
		struct fsc_buf b = {0};
		struct fsc_plan *plan;
		char *text;
		size_t n;

		program(&b);
		n = b.n;
		text = malloc(n + 1);
		memcpy(text, fsc_buf_str(&b), n + 1);
		for (unsigned k = (unsigned)rnd(6) + 1; k; k--) {
			size_t at = rnd(n);

			if (rnd(3) == 0 && n > 20) {
				size_t cut = rnd(n - at < 12 ? n - at : 12);

				memmove(text + at, text + at + cut, n - at - cut);
				n -= cut;
			} else {
				text[at] =
				    rnd(4) ? letters[rnd(sizeof(letters) - 1)] : (char)rnd(256);
			}
		}
		if (!compile(text, n, &plan, NULL))
			fsc_plan_free(plan);
		free(text);
		fsc_buf_release(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_arithmetic),
	    cmocka_unit_test(test_programs),
	    cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
