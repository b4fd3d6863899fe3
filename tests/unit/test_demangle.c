/* src/sym/demangle.h: C++, both Rust schemes, names that only look mangled, and names that would
 * unfold without end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sym/demangle.h"

static const struct {
	const char *mangled, *full, *bare;
} names[] = {
    {"_ZN5torch2nn10LinearImpl7forwardERKN2at6TensorE",
     "torch::nn::LinearImpl::forward(at::Tensor const&)", "torch::nn::LinearImpl::forward"},
    {"_ZN3foo3barEv.constprop.0", "foo::bar() [clone .constprop.0]", "foo::bar"},
    {"_ZSt3maxIiERKT_S2_S2_", "int const& std::max<int>(int const&, int const&)", "std::max<int>"},
    {"_ZNK3foo3barEi", "foo::bar(int) const", "foo::bar"},
    /* Rust, the older scheme: C++ with a hash, which people never type */
    {"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt",
     "core::fmt::Write::write_fmt"},
    {"_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Write$GT$9write_"
     "str17h0123456789abcdefE",
     "<alloc::string::String as core::fmt::Write>::write_str",
     "<alloc::string::String as core::fmt::Write>::write_str"},
    /* Rust v0 */
    {"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar", "mycrate::foo::bar"},
};

static void known_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *full = fsc_demangle(names[i].mangled, true);
		char *bare = fsc_demangle(names[i].mangled, false);

		assert_true(fsc_demangle_is_mangled(names[i].mangled));
		assert_non_null(full);
		assert_non_null(bare);
		assert_string_equal(full, names[i].full);
		assert_string_equal(bare, names[i].bare);
		free(full);
		free(bare);
	}
}

static void plain_names_stay(void **state)
{
	static const char *const plain[] = {"",	  "main",  "malloc", "_",      "__",  "_Z",
					    "_R", "_ZZZZ", "_RX",    "foo@@V", "_ZN", "Z3foov"};

	(void)state;
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		assert_null(fsc_demangle(plain[i], true));
	assert_false(fsc_demangle_is_mangled("malloc"));
	assert_false(fsc_demangle_is_mangled(""));
}

/* f(P<int,int>, P<P<..>,P<..>>, ...), each argument a pair of the one before: doubles at every
 * step. */
static char *unfold(size_t steps)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[1024] = "_Z1f1PIiiE";

	for (size_t i = 0; i < steps; i++)
		snprintf(name + strlen(name), sizeof(name) - strlen(name), "S_IS%c_S%c_E",
			 digits[i], digits[i]);
	return fsc_demangle(name, true);
}

static void a_bomb_ends(void **state)
{
	char *text = unfold(4);

	(void)state;
	assert_non_null(text);
	assert_true(strlen(text) > 200);
	free(text);
	assert_null(unfold(35));
}

/* f(int***...), with n letters in all. */
static char *long_name(size_t n)
{
	char *name = malloc(n + 1), *text;

	assert_non_null(name);
	memset(name, 'P', n);
	memcpy(name, "_Z1f", 4);
	name[n - 1] = 'i';
	name[n] = '\0';
	text = fsc_demangle(name, true);
	free(name);
	return text;
}

/* Templates have names of thousands of letters; a hostile one must not use up the stack. */
static void long_names(void **state)
{
	char *text = long_name(600);

	(void)state;
	assert_non_null(text);
	assert_int_equal(strlen(text), strlen("f(int)") + 600 - strlen("_Z1fi"));
	free(text);
	free(long_name(8000));
	assert_null(long_name(1u << 20));
}

static void a_long_template(void **state)
{
	char name[4096] = "_Z1fI", *text;

	(void)state;
	for (int i = 0; i < 300; i++)
		strcat(name, "5Thing");
	strcat(name, "EvT_");
	text = fsc_demangle(name, false);
	assert_non_null(text);
	assert_int_equal(strncmp(text, "f<Thing, Thing", 14), 0);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(known_names),     cmocka_unit_test(plain_names_stay),
	    cmocka_unit_test(a_bomb_ends),     cmocka_unit_test(long_names),
	    cmocka_unit_test(a_long_template),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
