/* Signatures out of DWARF (src/dwarf/signatures.h) on tests/unit/make-fixtures' types.c and
 * types-cxx.cc: both versions of DWARF, with and without optimisation, and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "base/buf.h"
#include "dwarf/signatures.h"
#include "sym_fixtures.h"

/* A function as one line: "int f(int a@1, double x@0)". Caller frees. */
static char *line_of(const struct fsc_signature *sig)
{
	struct fsc_buf b = {0};

	fsc_type_name(&b, sig->ret);
	fsc_buf_printf(&b, "%s %s(", sig->ret_readable ? "" : " ?", sig->name);
	for (size_t i = 0; i < sig->n_params; i++) {
		const struct fsc_param *p = &sig->params[i];

		fsc_buf_puts(&b, i ? ", " : "");
		fsc_type_name(&b, p->type);
		fsc_buf_printf(&b, " %s@%d", p->name ? p->name : "-", p->arg);
		if (p->n_arg > 1)
			fsc_buf_printf(&b, "+%d", p->n_arg - 1);
	}
	fsc_buf_puts(&b, sig->variadic ? ", ...)" : ")");
	assert_false(fsc_buf_failed(&b));
	return b.s;
}

/* One file, its functions and their types. */
struct file {
	struct fsc_elf *e;
	struct fsc_types types;
};

static struct file open_file(const char *name, const char *root, unsigned depth)
{
	struct file f = {.e = open_fixture(name, root)};

	fsc_types_init(&f.types, depth);
	return f;
}

static void close_file(struct file *f)
{
	fsc_types_release(&f->types);
	fsc_elf_free(f->e);
}

static struct fsc_signature ask(struct file *f, const char *symbol)
{
	const struct fsc_sym *s = find_symbol(f->e, symbol, NULL);
	struct fsc_signature sig = {0};
	struct fsc_err err = {0};

	if (!s)
		fail_msg("no symbol '%s'", symbol);
	if (fsc_dwarf_signature(f->e, s->addr, &f->types, &sig, &err))
		fail_msg("'%s': %s", symbol, err.msg);
	assert_true(sig.found);
	return sig;
}

static void assert_signature(struct file *f, const char *symbol, const char *expected)
{
	struct fsc_signature sig = ask(f, symbol);
	char *line = line_of(&sig);

	assert_string_equal(line, expected);
	free(line);
}

#ifdef __x86_64__
static const char *const expected[][2] = {
    {"t_plain", "int t_plain(int a@1, unsigned char b@2, const char * s@3, size_t n@4, "
		"_Bool flag@5, char c@6, void * last@0)"},
    {"t_enums", "enum color t_enums(enum color c@1, enum access a@2, enum below b@3)"},
    {"t_node", "struct node * t_node(struct node * n@1, struct node ** out@2, handle_t h@3)"},
    {"t_floats", "double ? t_floats(int a@1, double x@0, long int b@2, float y@0, int c@3, "
		 "long double z@0)"},
    {"t_byvalue", "long int t_byvalue(struct small s@1, struct two t@2+1, int z@4)"},
    {"t_memory", "long int t_memory(struct large l@0, struct point p@0, struct mixed m@0, "
		 "struct crooked k@0, int z@2)"},
    {"t_returns", "struct large ? t_returns(int a@2, int b@3)"},
    {"t_pair", "struct two ? t_pair(int a@1, char * b@2)"},
    {"t_full", "int t_full(long int a@1, long int b@2, long int c@3, long int d@4, long int e@5, "
	       "struct two t@0, long int f@6)"},
    {"t_variadic", "void ? t_variadic(const char * fmt@1, ...)"},
    {"t_void", "void ? t_void()"},
    {"t_callback", "void ? t_callback(callback_t cb@1, function * plain@2, small_t * s@3, "
		   "const union either u@4, __int128 wide@5+1)"},
};
#define BOX "_ZN4shop3Box"
static const char *const expected_cxx[][2] = {
    {"_ZNK4shop3Box3addEiRKNS_7TrivialE",
     "int add(const Box * const this@1, int n@2, const Trivial & t@3)"},
    {BOX "4makeEi", "int make(int n@1)"},
    {BOX "C1ERKS0_", "void ? Box(Box * const this@1, const Box & o@2)"},
    {"_ZN4shop4giveEi", "Box ? give(int z@2)"},
    {"_ZN4shop4passENS_3BoxENS_7TrivialENS_5EmptyENS_4ModeENSt7__cxx1112basic_stringIcSt11char_"
     "traitsIcESaIcEEEi",
     "int pass(Box & b@1, Trivial t@2+1, Empty -@0, Mode m@4, string & s@5, int z@6)"},
};
#else
/* What differs by machine is in test_types.c. */
static const char *const expected[][2] = {
    {"t_enums", "enum color t_enums(enum color c@1, enum access a@2, enum below b@3)"},
    {"t_node", "struct node * t_node(struct node * n@1, struct node ** out@2, handle_t h@3)"},
    {"t_variadic", "void ? t_variadic(const char * fmt@1, ...)"},
};
static const char *const expected_cxx[][2] = {
    {"_ZN4shop3Box4makeEi", "int make(int n@1)"},
};
#endif

static void assert_signatures(const char *name, const char *root, const char *const (*lines)[2],
			      size_t n)
{
	struct file f = open_file(name, root, 1), full = open_file("types-id", "", 1);

	for (size_t i = 0; i < n; i++) {
		const struct fsc_sym *s = find_symbol(root[0] ? full.e : f.e, lines[i][0], NULL);
		struct fsc_signature sig = {0};
		char *line;

		assert_non_null(s);
		assert_int_equal(fsc_dwarf_signature(f.e, s->addr, &f.types, &sig, NULL), 0);
		line = line_of(&sig);
		assert_string_equal(line, lines[i][1]);
		free(line);
	}
	close_file(&f);
	close_file(&full);
}

static void c_functions(void **state)
{
	static const char *const files[] = {"types-4-0", "types-4-2", "types-5-0", "types-5-2"};

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_signatures(files[i], "", expected, sizeof(expected) / sizeof(expected[0]));
}

static void cxx_functions(void **state)
{
	static const char *const files[] = {"types-cxx-4-0", "types-cxx-4-2", "types-cxx-5-0",
					    "types-cxx-5-2", "types-cxx-units"};

	(void)state;
	for (size_t i = 0; i < 5; i++)
		assert_signatures(files[i], "", expected_cxx,
				  sizeof(expected_cxx) / sizeof(expected_cxx[0]));
}

static void separate_debug_file(void **state)
{
	(void)state;
	assert_signatures("types-stripped", fixture("root"), expected,
			  sizeof(expected) / sizeof(expected[0]));
}

/* gcc leaves out the first parameter of the only calls there are; the second moves up. */
static void changed_by_the_compiler(void **state)
{
	struct file f = open_file("types-5-2", "", 1);

	(void)state;
	if (find_symbol(f.e, "t_local.constprop.0", NULL))
		assert_signature(&f, "t_local.constprop.0",
				 "int t_local(int unused@0, int used@1)");
	close_file(&f);
}

static void assert_member(const struct fsc_type *type, const char *name, uint64_t offset_bits,
			  uint64_t size_bits, const char *type_name)
{
	struct fsc_buf b = {0};
	struct fsc_member m;

	assert_true(fsc_type_member(type, name, &m));
	assert_int_equal(m.offset_bits, offset_bits);
	assert_int_equal(m.size_bits, size_bits);
	fsc_type_name(&b, m.type);
	assert_string_equal(fsc_buf_str(&b), type_name);
	fsc_buf_release(&b);
}

static void assert_struct(const char *name)
{
	struct file f = open_file(name, "", 1);
	struct fsc_signature sig = ask(&f, "t_node");
	const struct fsc_type *node = sig.params[0].type->to;
	struct fsc_member m;

	assert_int_equal(node->kind, FSC_TYPE_STRUCT);
	assert_true(node->is_complete);
	assert_member(node, "next", 0, 64, "struct node *");
	assert_member(node, "name", 64, 96, "char [12]");
	assert_member(node, "low", 160, 3, "unsigned int");
	assert_member(node, "high", 163, 5, "unsigned int");
	assert_member(node, "neg", 168, 4, "int");
	assert_member(node, "leaf", 192, 128, "struct leaf");
	assert_member(node, "as_float", 320, 32, "float");
	assert_member(node, "grid", 352, 192, "int [2][3]");
	assert_member(node, "access", 544, 32, "enum access");
	assert_member(node, "call", 576, 64, "function *");
	assert_true(fsc_type_member(node, "low", &m) && m.bitfield);
	assert_true(fsc_type_member(node, "leaf", &m) && !m.bitfield);
	assert_member(m.type, "back", 64, 64, "struct node *"); /* part of node: no further away */
	assert_ptr_equal(sig.params[0].type->to, sig.params[1].type->to->to);
	close_file(&f);
}

static void structs(void **state)
{
	(void)state;
	assert_struct("types-4-2");
	assert_struct("types-5-0");
}

static void depth(void **state)
{
	struct file none = open_file("types-5-2", "", 0), one = open_file("types-5-2", "", 1);
	struct fsc_signature sig = ask(&none, "t_node"), value;

	(void)state;
	assert_false(sig.params[0].type->to->is_complete);
	assert_string_equal(sig.params[0].type->to->name, "node");
	assert_int_equal(sig.params[0].type->to->size, 80);
	value = ask(&none, "t_byvalue");
	assert_true(value.params[0].type->is_complete);
	sig = ask(&one, "t_callback");
	assert_true(sig.params[2].type->to->is_complete);
	close_file(&none);
	close_file(&one);
}

static void assert_formatted(const struct fsc_type *type, uint64_t value, const char *text)
{
	struct fsc_buf b = {0};

	fsc_type_format_value(&b, type, value);
	assert_string_equal(fsc_buf_str(&b), text);
	fsc_buf_release(&b);
}

static void values(void **state)
{
	struct file f = open_file("types-4-0", "", 1), cxx = open_file("types-cxx-5-2", "", 1);
	struct fsc_signature sig = ask(&f, "t_enums");

	(void)state;
	assert_formatted(sig.params[0].type, 6, "BLUE");
	assert_formatted(sig.params[1].type, 6, "WRITE|EXEC");
	assert_formatted(sig.params[2].type, 0xffffffff, "MINUS");
	sig = ask(&f, "t_plain");
	assert_formatted(sig.params[1].type, 'a', "97");
	assert_formatted(sig.params[4].type, 1, "true");
	assert_formatted(sig.params[5].type, 'a', "'a'");
	sig = ask(&f, "t_byvalue");
	assert_formatted(sig.params[0].type, 0x200000001, "{.a = 1, .b = 2}");
	sig = ask(&cxx, "_ZN4shop4passENS_3BoxENS_7TrivialENS_5EmptyENS_4ModeENSt7__cxx1112basic_"
			"stringIcSt11char_traitsIcESaIcEEEi");
	assert_formatted(sig.params[3].type, 0xff, "Off");
	assert_member(sig.params[0].type->to, "base_field", 64, 32, "int"); /* of the base class */
	close_file(&f);
	close_file(&cxx);
}

static void many_at_once(void **state)
{
	struct file f = open_file("types-cxx-5-0", "", 3);
	struct fsc_signature *sigs;
	const struct fsc_sym *s;
	struct fsc_err err = {0};
	size_t n, found = 0;
	uint64_t *addrs;

	(void)state;
	assert_int_equal(fsc_elf_symbols(f.e, &s, &n, &err), 0);
	addrs = calloc(n + 1, sizeof(*addrs));
	sigs = calloc(n + 1, sizeof(*sigs));
	for (size_t i = 0; i < n; i++) /* aliases are there twice */
		addrs[i] = s[i].addr;
	addrs[n] = 1;
	assert_int_equal(fsc_dwarf_signatures(f.e, addrs, n + 1, &f.types, sigs, &err), 0);
	for (size_t i = 0; i < n; i++) {
		found += sigs[i].found;
		if (i && s[i].addr == s[i - 1].addr && sigs[i].found)
			assert_memory_equal(&sigs[i], &sigs[i - 1], sizeof(sigs[i]));
	}
	assert_true(found > 20);
	assert_false(sigs[n].found);
	assert_int_equal(fsc_dwarf_signatures(f.e, NULL, 0, &f.types, NULL, &err), 0);
	free(addrs);
	free(sigs);
	close_file(&f);
}

static void what_is_missing_is_said(void **state)
{
	struct file with = open_file("types-5-2", "", 1), without = open_file("prog-pie", "", 1);
	struct fsc_signature sig;
	struct fsc_err err = {0};

	(void)state;
	assert_int_equal(fsc_dwarf_signature(with.e, 1, &with.types, &sig, &err), -ENOENT);
	assert_false(sig.found);
	assert_non_null(strstr(err.msg, "no function at 0x1"));
	assert_int_equal(fsc_dwarf_signature(without.e, 1, &without.types, &sig, &err), -ENODATA);
	assert_non_null(strstr(err.hint, "-g"));
	close_file(&with);
	close_file(&without);
}

/* All that the fixture has to say, whatever of it is true. */
static void use_all(const char *path, const uint64_t *addrs, size_t n)
{
	struct fsc_signature sigs[32];
	struct fsc_err err = {0};
	struct fsc_types types;
	struct fsc_elf *e;

	if (fsc_elf_open(path, "", &e, NULL))
		return;
	fsc_types_init(&types, 2);
	if (fsc_dwarf_signatures(e, addrs, n, &types, sigs, &err))
		assert_true(err.code > 0 && err.msg[0]);
	for (size_t i = 0; i < n; i++) {
		struct fsc_buf b = {0};
		struct fsc_member m;
		char *line = sigs[i].found ? line_of(&sigs[i]) : NULL;

		free(line);
		for (size_t j = 0; j < sigs[i].n_params; j++) {
			const struct fsc_type *t = sigs[i].params[j].type;

			t = t->to ? t->to : t;
			fsc_type_format(&b, t, addrs, n * sizeof(*addrs));
			fsc_type_member(t, "no such", &m);
		}
		fsc_buf_release(&b);
	}
	fsc_types_release(&types);
	fsc_elf_free(e);
}

static void assert_damage_is_survived(const char *name, const char *first, unsigned rounds)
{
	size_t size, n = 0, n_syms;
	unsigned char *bytes = fixture_bytes(name, &size);
	struct fsc_elf *e = open_fixture(name, "");
	const struct fsc_sym *s;
	uint64_t addrs[32];

	assert_int_equal(fsc_elf_symbols(e, &s, &n_syms, NULL), 0);
	for (size_t i = 0; i < n_syms && n < 32; i++)
		if (!strncmp(s[i].name, first, strlen(first)))
			addrs[n++] = s[i].addr;
	assert_true(n > 3);
	srand(7);
	for (unsigned i = 0; i < rounds; i++) {
		size_t at = 0x3000 + (size_t)rand() % (size - 0x3000 - 8), many = 1 + i % 8;
		unsigned char old[8];

		memcpy(old, bytes + at, many);
		for (size_t j = 0; j < many; j++)
			bytes[at + j] = (unsigned char)rand();
		use_all(make_file("damaged", bytes, size), addrs, n);
		memcpy(bytes + at, old, many);
	}
	fsc_elf_free(e);
	free(bytes);
}

static void damaged_debug_information(void **state)
{
	(void)state;
	assert_damage_is_survived("types-5-2", "t_", 150);
	assert_damage_is_survived("types-4-0", "t_", 50);
	assert_damage_is_survived("types-cxx-units", "_ZN", 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(c_functions),
	    cmocka_unit_test(cxx_functions),
	    cmocka_unit_test(separate_debug_file),
	    cmocka_unit_test(changed_by_the_compiler),
	    cmocka_unit_test(structs),
	    cmocka_unit_test(depth),
	    cmocka_unit_test(values),
	    cmocka_unit_test(many_at_once),
	    cmocka_unit_test(what_is_missing_is_said),
	    cmocka_unit_test(damaged_debug_information),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
