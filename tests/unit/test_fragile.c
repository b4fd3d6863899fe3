/* src/probe/fragile.h: what cannot stand a replaced return address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "probe/fragile.h"
#include "base/vec.h"
#include "proc/libs.h"
#include "sym_fixtures.h"

static void names_that_are_never_entered_by_a_call(void **state)
{
	static const char *const names[] = {"_start",
					    "setjmp",
					    "__sigsetjmp",
					    "vfork",
					    "__restore_rt",
					    "_Unwind_RaiseException",
					    "clone",
					    "_Unwind_Backtrace",
					    "_dl_runtime_resolve_xsavec"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(fsc_fragile_function(names[i]), FSC_FRAGILE_ALWAYS);
}

static void names_that_are_unwound_through(void **state)
{
	static const char *const names[] = {
	    "qsort",
	    "__GI___qsort_r",
	    "msort_with_tmp.part.0",
	    "trecurse",
	    "read",
	    "__libc_read",
	    "__GI___read",
	    "__pread64",
	    "writev",
	    "__new_sem_wait_slow64.constprop.0",
	    "__once_proxy",
	    "dlsym",
	    "__fentry__",
	    "_mcount",
	    "backtrace",
	    "__pthread_once_slow",
	    "accept",
	    "preadv64v2",
	    "__futex_abstimed_wait_cancelable64",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(fsc_fragile_function(names[i]), FSC_FRAGILE_UNWOUND);
}

static void other_names(void **state)
{
	static const char *const names[] = {
	    "malloc", "memcpy", "printf",  "reads", "",
	    "_",      "__",	".part.0", "64",    "__read_nocancel"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(fsc_fragile_function(names[i]), FSC_FRAGILE_NOT);
}

/* A file of the machine or, with a '/', of the fixtures. */
static struct fsc_elf *open_elf(const char *name)
{
	struct fsc_vec files = FSC_VEC_INIT(struct fsc_libs_file);
	struct fsc_elf *e = NULL;

	if (fsc_libs_find(name, &(struct fsc_libs_scope){0}, &files, NULL))
		skip();
	assert_int_equal(fsc_elf_open(FSC_AT(struct fsc_libs_file, &files, 0)->path, "", &e, NULL),
			 0);
	fsc_libs_release(&files);
	return e;
}

static enum fsc_fragile_file kind_of_library(const char *name)
{
	struct fsc_elf *e = open_elf(name);
	enum fsc_fragile_file kind = fsc_fragile_file(e);

	fsc_elf_free(e);
	return kind;
}

/* The C library loads the unwinder when a thread is cancelled; its own functions are known by name.
 */
static void c_library(void **state)
{
	(void)state;
	assert_int_equal(kind_of_library("c"), FSC_FRAGILE_FILE_NOT);
	assert_int_equal(kind_of_library("m"), FSC_FRAGILE_FILE_NOT);
}

static void cxx_library(void **state)
{
	(void)state;
	assert_int_equal(kind_of_library("stdc++"), FSC_FRAGILE_FILE_ANY);
}

static bool switches(const char *name)
{
	struct fsc_elf *e = open_elf(name);
	bool yes = fsc_fragile_switches(e);

	fsc_elf_free(e);
	return yes;
}

static bool shared(const char *name)
{
	struct fsc_elf *e = open_elf(name);
	bool yes = fsc_fragile_shared(e);

	fsc_elf_free(e);
	return yes;
}

static void coroutines(void **state)
{
	(void)state;
	assert_true(switches(fixture("coroutine")));
	assert_true(switches(fixture("coroutine-static")));
	assert_false(switches(fixture("prog-static")));
	assert_false(switches(fixture("libforeign.so")));
	assert_true(switches(fixture("altstack")));
	assert_false(switches(fixture("loading")));
	assert_false(switches("c"));
	assert_false(switches("crypto"));
}

static void libraries_of_callbacks(void **state)
{
	(void)state;
	assert_true(shared(fixture("libforeign.so")));
	assert_true(shared(fixture("libforeign-noplt.so")));
	assert_false(shared(fixture("prog-pie")));
	assert_false(shared(fixture("prog-nopie")));
	assert_false(shared(fixture("prog-static")));
	assert_false(shared("c"));
	assert_false(shared("m"));
}

static bool loads(const char *name)
{
	struct fsc_elf *e = open_elf(name);
	bool yes = fsc_fragile_loads(e);

	fsc_elf_free(e);
	return yes;
}

static void loaders(void **state)
{
	(void)state;
	assert_true(loads(fixture("loading")));
	assert_false(loads(fixture("backtrace")));
	assert_false(loads("c"));
	assert_false(loads("crypto"));
}

static void unwinder(void **state)
{
	(void)state;
	assert_int_equal(kind_of_library(fixture("backtrace")), FSC_FRAGILE_FILE_ANY);
	assert_int_equal(kind_of_library(fixture("loading")), FSC_FRAGILE_FILE_NOT);
	assert_int_equal(kind_of_library("gcc_s"), FSC_FRAGILE_FILE_ANY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_that_are_never_entered_by_a_call),
	    cmocka_unit_test(names_that_are_unwound_through),
	    cmocka_unit_test(other_names),
	    cmocka_unit_test(c_library),
	    cmocka_unit_test(cxx_library),
	    cmocka_unit_test(unwinder),
	    cmocka_unit_test(coroutines),
	    cmocka_unit_test(loaders),
	    cmocka_unit_test(libraries_of_callbacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
