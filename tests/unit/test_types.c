/* src/types/types.h without any file: members, names and values of types made by hand, and the
 * argument registers of both calling conventions (src/types/abi.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "types/abi.h"
#include "types/types.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static const struct fsc_type t_void = {.kind = FSC_TYPE_VOID};
static const struct fsc_type t_unknown = {.kind = FSC_TYPE_UNKNOWN};
static const struct fsc_type t_int = {
    .kind = FSC_TYPE_INT, .name = "int", .is_signed = true, .size = 4};
static const struct fsc_type t_long = {
    .kind = FSC_TYPE_INT, .name = "long", .is_signed = true, .size = 8};
static const struct fsc_type t_u8 = {.kind = FSC_TYPE_INT, .name = "unsigned char", .size = 1};
static const struct fsc_type t_wide = {.kind = FSC_TYPE_INT, .name = "__int128", .size = 16};
static const struct fsc_type t_bool = {
    .kind = FSC_TYPE_INT, .name = "_Bool", .is_bool = true, .size = 1};
static const struct fsc_type t_char = {
    .kind = FSC_TYPE_INT, .name = "char", .is_char = true, .is_signed = true, .size = 1};
static const struct fsc_type t_cchar = {.kind = FSC_TYPE_INT,
					.name = "char",
					.is_char = true,
					.is_signed = true,
					.is_const = true,
					.size = 1};
static const struct fsc_type t_rune = {
    .kind = FSC_TYPE_INT, .name = "char32_t", .is_char = true, .size = 4};
static const struct fsc_type t_float = {.kind = FSC_TYPE_FLOAT, .name = "float", .size = 4};
static const struct fsc_type t_double = {.kind = FSC_TYPE_FLOAT, .name = "double", .size = 8};
static const struct fsc_type t_string = {.kind = FSC_TYPE_POINTER, .size = 8, .to = &t_cchar};
static const struct fsc_type t_strings = {.kind = FSC_TYPE_POINTER, .size = 8, .to = &t_string};
static const struct fsc_type t_pvoid = {.kind = FSC_TYPE_POINTER, .size = 8, .to = &t_void};
static const struct fsc_type t_text = {.kind = FSC_TYPE_ARRAY, .size = 8, .to = &t_char, .n = 8};
static const struct fsc_type t_row = {.kind = FSC_TYPE_ARRAY, .size = 12, .to = &t_int, .n = 3};
static const struct fsc_type t_grid = {.kind = FSC_TYPE_ARRAY, .size = 24, .to = &t_row, .n = 2};
static const struct fsc_type t_open = {.kind = FSC_TYPE_ARRAY, .to = &t_int};

static const struct fsc_enumerator colors[] = {{"RED", 0}, {"GREEN", 1}, {"BLUE", 2}, {"PINK", 3}};
static const struct fsc_enumerator modes[] = {{"NONE", 0}, {"R", 1}, {"W", 2}, {"X", 4}, {"RW", 3}};
static const struct fsc_enumerator below[] = {{"MINUS", -1}, {"PLUS", 1}};
static const struct fsc_type t_color = {.kind = FSC_TYPE_ENUM,
					.name = "color",
					.is_tagged = true,
					.size = 4,
					.enumerators = colors,
					.n_enumerators = N(colors)};
static const struct fsc_type t_mode = {
    .kind = FSC_TYPE_ENUM, .size = 4, .enumerators = modes, .n_enumerators = N(modes)};
static const struct fsc_type t_below = {.kind = FSC_TYPE_ENUM,
					.is_signed = true,
					.size = 4,
					.enumerators = below,
					.n_enumerators = N(below)};

/* struct inner { int x; union { int i; float f; }; }; struct outer { inner; long n:4, m:60; ... }
 */
static const struct fsc_member either_members[] = {{"i", &t_int, 0, 32, false},
						   {"f", &t_float, 0, 32, false}};
static const struct fsc_type t_either = {.kind = FSC_TYPE_UNION,
					 .size = 4,
					 .is_complete = true,
					 .members = either_members,
					 .n_members = 2};
static const struct fsc_member inner_members[] = {{"x", &t_int, 0, 32, false},
						  {NULL, &t_either, 32, 32, false}};
static const struct fsc_type t_inner = {.kind = FSC_TYPE_STRUCT,
					.name = "inner",
					.is_tagged = true,
					.size = 8,
					.is_complete = true,
					.members = inner_members,
					.n_members = 2};
static const struct fsc_member outer_members[] = {
    {NULL, &t_inner, 0, 64, false},   {"n", &t_long, 64, 4, true},
    {"m", &t_u8, 68, 3, true},	      {"in", &t_inner, 128, 64, false},
    {"to", &t_pvoid, 192, 64, false}, {"name", &t_text, 256, 64, false},
    {"row", &t_row, 320, 96, false},  {"late", &t_int, 4096, 32, false},
};
static const struct fsc_type t_outer = {.kind = FSC_TYPE_STRUCT,
					.name = "outer",
					.size = 56,
					.is_complete = true,
					.members = outer_members,
					.n_members = N(outer_members)};

static void assert_text(struct fsc_buf *b, const char *expected)
{
	assert_string_equal(fsc_buf_str(b), expected);
	fsc_buf_release(b);
}

static void assert_name(const struct fsc_type *type, const char *expected)
{
	struct fsc_buf b = {0};

	fsc_type_name(&b, type);
	assert_text(&b, expected);
}

static void assert_value(const struct fsc_type *type, uint64_t value, const char *expected)
{
	struct fsc_buf b = {0};

	fsc_type_format_value(&b, type, value);
	assert_text(&b, expected);
}

static void assert_bytes(const struct fsc_type *type, const void *bytes, size_t n,
			 const char *expected)
{
	struct fsc_buf b = {0};

	fsc_type_format(&b, type, bytes, n);
	assert_text(&b, expected);
}

static void names(void **state)
{
	struct fsc_type named = t_inner, pointer = {.kind = FSC_TYPE_POINTER, .to = &named};

	(void)state;
	assert_name(&t_void, "void");
	assert_name(&t_string, "const char *");
	assert_name(&t_strings, "const char **");
	assert_name(&t_grid, "int [2][3]");
	assert_name(&t_open, "int []");
	assert_name(&t_color, "enum color");
	assert_name(&t_mode, "enum {...}");
	assert_name(&t_either, "union {...}");
	assert_name(&pointer, "struct inner *");
	named.is_named = true;
	named.name = "inner_t";
	assert_name(&pointer, "inner_t *");
	pointer.to = &pointer; /* as no compiler writes it */
	pointer.is_reference = true;
	assert_name(&pointer, "... &&&&&&&&&&&&&&&&&");
}

static void members(void **state)
{
	struct fsc_member m;

	(void)state;
	assert_true(fsc_type_member(&t_outer, "in", &m));
	assert_int_equal(m.offset_bits, 128);
	assert_ptr_equal(m.type, &t_inner);
	assert_true(fsc_type_member(&t_inner, "f", &m));
	assert_int_equal(m.offset_bits, 32);
	assert_true(fsc_type_member(&t_outer, "i", &m)); /* two anonymous ones deep */
	assert_int_equal(m.offset_bits, 32);
	assert_false(fsc_type_member(&t_outer, "inner", &m));
	assert_false(fsc_type_member(&t_int, "x", &m));
}

/* A struct that holds itself, many times: the answer comes at once. */
static void circles_end(void **state)
{
	struct fsc_member in[100];
	struct fsc_type t = {.kind = FSC_TYPE_STRUCT,
			     .size = 8,
			     .is_complete = true,
			     .members = in,
			     .n_members = N(in)};
	struct fsc_param p = {.type = &t};
	struct fsc_member m;
	uint64_t zero = 0;

	(void)state;
	for (size_t i = 0; i < N(in); i++)
		in[i] = (struct fsc_member){.type = &t, .size_bits = 64};
	assert_false(fsc_type_member(&t, "x", &m));
	assert_bytes(&t, &zero, 8, "{}");
	fsc_abi_place(&fsc_abi_x86_64, &t, &p, 1);
	fsc_abi_place(&fsc_abi_arm64, &t, &p, 1);
}

static void numbers(void **state)
{
	(void)state;
	assert_value(&t_int, 0xdeadbeefffffffffu, "-1");
	assert_value(&t_u8, 0x1ff, "255");
	assert_value(&t_long, UINT64_MAX, "-1");
	assert_value(&t_bool, 0xff00, "false");
	assert_value(&t_bool, 1, "true");
	assert_value(&t_char, 'a', "'a'");
	assert_value(&t_char, '\n', "'\\n'");
	assert_value(&t_char, 0, "'\\0'");
	assert_value(&t_char, '\'', "'\\''");
	assert_value(&t_char, 0x9b, "'\\x9b'");
	assert_value(&t_rune, 0x1f600, "'\\u1f600'");
	assert_value(&t_string, 0, "NULL");
	assert_value(&t_string, 0x1f, "0x1f");
	assert_value(&t_unknown, 0x1f, "0x1f");
	assert_value(&t_float, 0x3fc00000, "1.5");
	assert_value(&t_double, 0x3ff8000000000000, "1.5");
	assert_value(&t_wide, 7, "0x7"); /* half of it */
	assert_bytes(&t_wide, "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0", 16,
		     "0x00000000000000020000000000000001");
	assert_bytes(&t_int, "\1\0\0\0", 3, "?");
}

static void enums(void **state)
{
	(void)state;
	assert_value(&t_color, 2, "BLUE");
	assert_value(&t_color, 9, "9");
	assert_value(&t_mode, 0, "NONE");
	assert_value(&t_mode, 3, "RW");
	assert_value(&t_mode, 7, "R|W|X");
	assert_value(&t_mode, 8, "8");
	assert_value(&t_mode, 9, "9");
	assert_value(&t_below, 0xffffffff, "MINUS");
	assert_value(&t_below, 0xfffffffe, "-2");
}

static void structs(void **state)
{
	unsigned char bytes[56] = {1, 0, 0, 0, 2, 0, 0, 0, 0xde};

	(void)state;
	memcpy(bytes + 32, "funcname", 8);
	bytes[44] = 5;
	assert_bytes(&t_outer, bytes, sizeof(bytes),
		     "{.x = 1, .i = 2, .f = 2.8026e-45, .n = -2, .m = 5, .in = {...}, .to = NULL, "
		     ".name = \"funcname\", .row = {0, 5, 0}, .late = ?}");
	bytes[35] = 0;
	assert_bytes(&t_outer, bytes, 40,
		     "{.x = 1, .i = 2, .f = 2.8026e-45, .n = -2, .m = 5, .in = {...}, .to = NULL, "
		     ".name = \"fun\", .row = ?, .late = ?}");
	assert_bytes(&t_outer, bytes, 4,
		     "{.x = 1, .i = ?, .f = ?, .n = ?, .m = ?, .in = {...}, .to = ?, "
		     ".name = ?, .row = ?, .late = ?}");
	assert_bytes(&t_text, "funcname", 4, "\"func\"...");
	assert_bytes(&t_row, "\1\0\0\0", 4, "{1, ...}");
	assert_bytes(&t_row, "\1\0\0\0\2\0\0\0\3\0\0", 12, "{1, 2, 3}");
	assert_value(&t_inner, 0x500000003, "{.x = 3, .i = 5, .f = 7.00649e-45}");
}

/* ---- argument registers ---- */

static const struct fsc_member m_pair[] = {{"a", &t_long, 0, 64, false},
					   {"b", &t_pvoid, 64, 64, false}};
static const struct fsc_member m_point[] = {{"x", &t_double, 0, 64, false},
					    {"y", &t_double, 64, 64, false}};
static const struct fsc_member m_mixed[] = {{"n", &t_long, 0, 64, false},
					    {"d", &t_double, 64, 64, false}};
static const struct fsc_member m_large[] = {{"a", &t_grid, 0, 192, false}};
static const struct fsc_member m_packed[] = {{"c", &t_char, 0, 8, false},
					     {"i", &t_int, 8, 32, false}};
#define STRUCT(bytes, m)                                                                           \
	{                                                                                          \
		.kind = FSC_TYPE_STRUCT, .is_complete = true, .size = (bytes), .members = (m),     \
		.n_members = N(m)                                                                  \
	}
static const struct fsc_type t_pair = STRUCT(16, m_pair), t_point = STRUCT(16, m_point),
			     t_mixed = STRUCT(16, m_mixed), t_large = STRUCT(24, m_large),
			     t_packed = STRUCT(5, m_packed);
static const struct fsc_type t_empty = {.kind = FSC_TYPE_STRUCT, .is_complete = true, .size = 1};
static const struct fsc_type t_opaque = {.kind = FSC_TYPE_STRUCT, .size = 8};

#define ARGS_MAX 10

/* The registers that parameters of these types get, as a text: '0' for none. */
static const char *place(const struct fsc_abi *abi, const struct fsc_type *ret,
			 const struct fsc_type *const *types)
{
	static char text[ARGS_MAX + 1];
	struct fsc_param p[ARGS_MAX] = {0};
	size_t n = 0;

	for (; types[n]; n++)
		p[n].type = types[n];
	fsc_abi_place(abi, ret, p, n);
	for (size_t i = 0; i < n; i++)
		text[i] = (char)('0' + p[i].arg);
	text[n] = '\0';
	return text;
}

#define PLACE(abi, ret, ...)                                                                       \
	place(&fsc_abi_##abi, ret, (const struct fsc_type *const[]){__VA_ARGS__, NULL})

static void registers_of_x86_64(void **state)
{
	(void)state;
	assert_string_equal(
	    PLACE(x86_64, &t_int, &t_int, &t_string, &t_bool, &t_u8, &t_color, &t_long, &t_int),
	    "1234560");
	assert_string_equal(PLACE(x86_64, &t_int, &t_double, &t_int, &t_float, &t_int), "0102");
	assert_string_equal(PLACE(x86_64, &t_int, &t_pair, &t_int, &t_wide, &t_int), "1346");
	/* One register is left: the pair goes to memory, the register to the next. */
	assert_string_equal(PLACE(x86_64, &t_void, &t_pair, &t_pair, &t_int, &t_pair, &t_int),
			    "13506");
	/* Half of it is in a register, which then is not free. */
	assert_string_equal(PLACE(x86_64, &t_int, &t_mixed, &t_int), "02");
	assert_string_equal(PLACE(x86_64, &t_int, &t_point, &t_large, &t_packed, &t_empty, &t_int),
			    "00001");
	assert_string_equal(PLACE(x86_64, &t_large, &t_int), "2");
	assert_string_equal(PLACE(x86_64, &t_packed, &t_int), "2");
	assert_string_equal(PLACE(x86_64, &t_pair, &t_int), "1");
	assert_string_equal(PLACE(x86_64, &t_int, &t_int, &t_opaque, &t_int), "100");
	assert_string_equal(PLACE(x86_64, &t_int, &t_inner, &t_int), "12");
	assert_true(fsc_abi_returns(&fsc_abi_x86_64, &t_inner));
	assert_false(fsc_abi_returns(&fsc_abi_x86_64, &t_pair));
	assert_false(fsc_abi_returns(&fsc_abi_x86_64, &t_double));
	assert_false(fsc_abi_returns(&fsc_abi_x86_64, &t_void));
}

static void registers_of_arm64(void **state)
{
	(void)state;
	assert_string_equal(PLACE(arm64, &t_int, &t_int, &t_double, &t_int, &t_point, &t_int),
			    "10203");
	/* Seven and eight are not read. */
	assert_string_equal(
	    PLACE(arm64, &t_int, &t_long, &t_long, &t_long, &t_long, &t_pair, &t_pair, &t_long),
	    "1234500");
	assert_string_equal(PLACE(arm64, &t_int, &t_mixed, &t_int), "13");
	assert_string_equal(PLACE(arm64, &t_int, &t_int, &t_wide, &t_int), "135");
	/* Its address is passed. */
	assert_string_equal(PLACE(arm64, &t_int, &t_large, &t_int), "12");
	assert_true(fsc_abi_by_reference(&fsc_abi_arm64, &t_large));
	assert_false(fsc_abi_by_reference(&fsc_abi_x86_64, &t_large));
	/* The place for a large result has a register of its own. */
	assert_string_equal(PLACE(arm64, &t_large, &t_int), "1");
	assert_string_equal(PLACE(arm64, &t_int, &t_packed, &t_int), "12");
}

/* A C++ class with a destructor, or one that holds such. */
static void nontrivial_classes(void **state)
{
	struct fsc_type inner = t_inner;
	const struct fsc_member m[] = {{"in", &inner, 0, 64, false}};
	const struct fsc_type outer = STRUCT(8, m);

	(void)state;
	assert_false(fsc_abi_by_reference(&fsc_abi_x86_64, &outer));
	inner.is_nontrivial = true;
	assert_true(fsc_abi_by_reference(&fsc_abi_x86_64, &outer));
	assert_true(fsc_abi_by_reference(&fsc_abi_arm64, &outer));
	assert_string_equal(PLACE(x86_64, &outer, &t_int), "2");
	assert_string_equal(PLACE(arm64, &outer, &t_int), "1");
	assert_false(fsc_abi_returns(&fsc_abi_x86_64, &outer));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names),
	    cmocka_unit_test(members),
	    cmocka_unit_test(circles_end),
	    cmocka_unit_test(numbers),
	    cmocka_unit_test(enums),
	    cmocka_unit_test(structs),
	    cmocka_unit_test(registers_of_x86_64),
	    cmocka_unit_test(registers_of_arm64),
	    cmocka_unit_test(nontrivial_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
