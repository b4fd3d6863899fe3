/* src/gpu/trial.h: drivers that keep the name here, there and nowhere, that fail, hang and crash,
 * and that others wrote; and the cache. The drivers are made here with the machine's compiler. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "gpu/trial_priv.h"

/* Macros say where the name lies and what cuInit() does; the rest of an object is wild pointers. */
static const char driver_source[] =
    "#include <signal.h>\n"
    "#include <stdint.h>\n"
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "#include <unistd.h>\n"
    "static void *object(const char *name, int at, int also)\n"
    "{\n"
    "	uintptr_t *o = calloc(64, sizeof(*o));\n"
    "	for (int i = 0; i < 64; i++)\n"
    "		o[i] = i % 3 ? 0xdead00000000u + i : (uintptr_t)o;\n"
    "	if (at >= 0)\n"
    "		o[at / 8] = (uintptr_t)strdup(name);\n"
    "	if (also >= 0)\n"
    "		o[also / 8] = (uintptr_t)strdup(name);\n"
    "	return o;\n"
    "}\n"
    "#ifndef INIT\n"
    "#define INIT return 0\n"
    "#endif\n"
    "#ifndef ALSO\n"
    "#define ALSO -1\n"
    "#endif\n"
    "int cuInit(unsigned flags) { INIT; }\n"
    "int cuDeviceGetCount(int *n) { *n = 1; return 0; }\n"
    "int cuDeviceGet(int *d, int i) { *d = i; return 0; }\n"
    "int cuDevicePrimaryCtxRetain(void **c, int d) { *c = &cuInit; return 0; }\n"
    "int cuCtxSetCurrent(void *c) { return 0; }\n"
    "int cuModuleLoadData(void **m, const void *image) { *m = strdup(image); return 0; }\n"
    "int cuModuleUnload(void *m) { free(m); return 0; }\n"
    "int cuModuleGetFunction(void **f, void *m, const char *name)\n"
    "{\n"
    "	*f = object(name, FUNCTION, ALSO);\n"
    "	return strstr(m, name) ? 0 : 500;\n"
    "}\n"
    "#ifdef KERNEL\n"
    "int cuLibraryLoadData(void **l, const void *image, int *a, void **b, unsigned c, int *d,\n"
    "		      void **e, unsigned f)\n"
    "{\n"
    "	return cuModuleLoadData(l, image);\n"
    "}\n"
    "int cuLibraryGetKernel(void **k, void *l, const char *name)\n"
    "{\n"
    "	*k = object(name, KERNEL, -1);\n"
    "	return strstr(l, name) ? 0 : 500;\n"
    "}\n"
    "int cuLibraryUnload(void *l) { return cuModuleUnload(l); }\n"
    "#endif\n";

#define HERE_8 "-DFUNCTION=8 -DKERNEL=8"

static char directory[] = "/tmp/funcscope-trial.XXXXXX";

/* Good until the next call. */
static const char *in_directory(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

/* A driver library with these macros. */
static const char *driver(const char *flags)
{
	static char path[256];
	char command[600];
	FILE *cc;

	snprintf(path, sizeof(path), "%s/libcuda.so.1", directory);
	unlink(path);
	snprintf(command, sizeof(command), "cc -w -shared -fPIC %s -o %s -x c -", flags, path);
	cc = popen(command, "w");
	assert_non_null(cc);
	fputs(driver_source, cc);
	assert_int_equal(pclose(cc), 0);
	assert_int_equal(chmod(path, 0755), 0);
	return path;
}

static const char *cache(void)
{
	return in_directory("cache/funcscope/driver-names");
}

static void write_cache(const char *text, mode_t mode)
{
	FILE *f;

	mkdir(in_directory("cache"), 0755);
	mkdir(in_directory("cache/funcscope"), 0755);
	f = fopen(cache(), "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	chmod(cache(), mode);
}

/* What the cache file holds, "" where there is none. */
static const char *read_cache(void)
{
	static char text[20000];
	FILE *f = fopen(cache(), "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = '\0';
	if (f)
		fclose(f);
	return text;
}

static struct fsc_gpu_names trial_in(const char *path, const char *root, int timeout_ms)
{
	struct fsc_gpu_names names;
	struct fsc_err err = {0};

	assert_int_equal(fsc_gpu_trial_with(path, root, cache(), timeout_ms, &names, &err), 0);
	assert_int_equal(err.code, 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no zombie stays */
	return names;
}

static struct fsc_gpu_names trial(const char *path)
{
	return trial_in(path, "", 10000);
}

static void expect(struct fsc_gpu_names names, int function, int kernel, const char *why)
{
	if (!strstr(names.why, why) || (!why[0] && names.why[0]))
		fail_msg("not '%s' but '%s'", why, names.why);
	assert_int_equal(names.function_offset, function);
	assert_int_equal(names.kernel_offset, kernel);
}

static const char *id_of(const char *path)
{
	static char id[192];
	struct fsc_driver_file f;

	assert_int_equal(fsc_driver_file_open(path, "", &f), 0);
	memcpy(id, f.id, sizeof(id));
	fsc_driver_file_close(&f);
	return id;
}

static int forget(void **state)
{
	(void)state;
	unlink(cache());
	return 0;
}

/* ---- what a driver can be ---- */

static void name_is_found(void **state)
{
	(void)state;
	expect(trial(driver(HERE_8)), 8, 8, "");
	expect(trial(driver("-DFUNCTION=24 -DKERNEL=504")), 24, 504, "");
	expect(trial(driver("-DFUNCTION=0 -DKERNEL=16 -DALSO=40")), 0, 16, "");
	expect(trial(driver("-DFUNCTION=64 -DKERNEL=8 -DALSO=32")), 32, 8, ""); /* the smallest */
}

static void name_is_absent(void **state)
{
	(void)state;
	expect(trial(driver("-DFUNCTION=-1 -DKERNEL=8")), -1, 8, "512 bytes of a CUfunction");
	assert_string_equal(read_cache(), "");
	expect(trial(driver("-DFUNCTION=8 -DKERNEL=-1")), 8, -1, "512 bytes of a CUkernel");
}

static void driver_without_kernels(void **state)
{
	const char *path = driver("-DFUNCTION=8");

	(void)state;
	expect(trial(path), 8, -1, "no CUkernel");
	assert_non_null(strstr(read_cache(), "function=8 kernel=-1\n"));
	expect(trial(path), 8, -1, "no CUkernel");
}

static void init_fails(void **state)
{
	(void)state;
	expect(trial(driver(HERE_8 " '-DINIT=return 100'")), -1, -1, "cuInit: 100, no CUDA device");
	expect(trial(driver(HERE_8 " '-DINIT=return 34'")), -1, -1, "stub");
	expect(trial(driver(HERE_8 " '-DINIT=return 12345'")), -1, -1, "cuInit: 12345");
	assert_string_equal(read_cache(), "");
}

static void driver_hangs(void **state)
{
	const char *path = driver(HERE_8 " '-DINIT=signal(SIGTERM, SIG_IGN); for (;;) pause()'");
	uint64_t start = fsc_clock_mono();

	(void)state;
	expect(trial_in(path, "", 300), -1, -1, "did not answer within 0.3 s");
	assert_true(fsc_clock_mono() - start < 3000000000u);
	assert_string_equal(read_cache(), "");
}

static void driver_crashes(void **state)
{
	(void)state;
	expect(trial(driver(HERE_8 " '-DINIT=raise(SIGSEGV); return 0'")), -1, -1,
	       "crashed (signal 11)");
	expect(trial(driver(HERE_8 " '-DINIT=_exit(0)'")), -1, -1, "no answer");
	expect(trial(driver(HERE_8 " '-DINIT=for (;;) puts(\"function 3\")'")), -1, -1,
	       "was killed");
	assert_string_equal(read_cache(), "");
}

/* A driver that talks, and control bytes in what it says. */
static void noise_is_no_answer(void **state)
{
	(void)state;
	expect(trial(driver(HERE_8 " '-DINIT=puts(\"hello\\nfunctions 3\"); return 0'")), 8, 8, "");
	expect(trial(driver(HERE_8 " '-DINIT=puts(\"error a\\033[31mb\"); exit(0)'")), -1, -1,
	       "a?[31mb");
}

static void what_is_no_driver(void **state)
{
	(void)state;
	expect(trial(in_directory("nothing")), -1, -1, "cannot be opened: No such file");
	expect(trial(directory), -1, -1, "cannot be opened");
	write_cache("some text\n", 0644);
	expect(trial(cache()), -1, -1, "cannot be loaded");
	expect(trial("/proc/self/exe"), -1, -1, "cannot be loaded");
}

static void environment_is_cleaned(void **state)
{
	const char *path =
	    driver(HERE_8 " '-DINIT=return getenv(\"LD_PRELOAD\") || getenv(\"LD_AUDIT\") || "
			  "getenv(\"CUDA_INJECTION64_PATH\") || !getenv(\"FSC_KEPT\") ? 999 : 0'");

	(void)state;
	setenv("LD_PRELOAD", "/nowhere.so", 1);
	setenv("LD_AUDIT", "/nowhere.so", 1);
	setenv("CUDA_INJECTION64_PATH", "/nowhere.so", 1);
	setenv("FSC_KEPT", "1", 1);
	expect(trial(path), 8, 8, "");
	unsetenv("LD_PRELOAD");
	unsetenv("LD_AUDIT");
	unsetenv("CUDA_INJECTION64_PATH");
	unsetenv("FSC_KEPT");
}

/* ---- whose code it is ---- */

static bool can_set_apart(const char *test)
{
	pid_t pid = geteuid() ? -1 : fork();
	int status = -1;

	if (!pid)
		_exit(unshare(CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC) ? 1 : 0);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && !status)
		return true;
	print_message("# skip %s: needs root and namespaces\n", test);
	return false;
}

/* As nobody, without our environment and as the first process of its namespace. */
#define APART                                                                                      \
	HERE_8 " '-DINIT=return geteuid() == 65534 && getegid() == 65534 && getpid() == 1 && "     \
	       "!getenv(\"PATH\") ? 0 : 999'"

static void library_of_others(void **state)
{
	const char *path = driver(APART);

	(void)state;
	if (!can_set_apart("library_of_others"))
		return;
	expect(trial(path), -1, -1, "cuInit: 999"); /* ours: it runs as we do */
	chmod(path, 0777);
	expect(trial(path), 8, 8, "");
	chmod(path, 0755);
	assert_int_equal(chown(path, 12345, 12345), 0);
	expect(trial(path), 8, 8, "");
	assert_string_equal(read_cache(), "");
	expect(trial(driver(HERE_8)), 8, 8, "");
}

static void library_of_a_container(void **state)
{
	const char *path = driver(APART);
	char through[300];

	(void)state;
	if (!can_set_apart("library_of_a_container"))
		return;
	expect(trial_in(path, directory, 10000), 8, 8, "");
	assert_string_equal(read_cache(), "");
	/* The host's own file, seen through the root of a process. */
	path = driver(HERE_8);
	snprintf(through, sizeof(through), "/proc/self/root%s", path);
	expect(trial_in(through, "/proc/self/root", 10000), 8, 8, "");
	assert_non_null(strstr(read_cache(), id_of(path)));
}

/* It is killed with all it has started, wherever these went. */
static void nothing_stays_of_it(void **state)
{
	const char *path = driver(
	    HERE_8
	    " '-DINIT=if (!fork()) { setsid(); for (int i = 0; i < 100; i++, usleep(10000)) {} "
	    "write(1, \"x\", 1); FILE *f = fopen(\"/tmp/funcscope-trial.stays\", \"w\"); "
	    "if (f) fclose(f); exit(0); } return 100'");

	(void)state;
	if (!can_set_apart("nothing_stays_of_it"))
		return;
	unlink("/tmp/funcscope-trial.stays");
	chmod(path, 0777);
	expect(trial(path), -1, -1, "no CUDA device");
	sleep(2);
	assert_int_equal(access("/tmp/funcscope-trial.stays", F_OK), -1);
}

/* ---- the cache ---- */

static void cache_saves_the_trial(void **state)
{
	const char *path = driver(HERE_8);
	struct fsc_gpu_names names = trial(path);
	char text[300];

	(void)state;
	assert_false(names.from_cache);
	snprintf(text, sizeof(text), "%s function=8 kernel=8\n", id_of(path));
	assert_string_equal(read_cache(), text);
	assert_true(trial(path).from_cache);
	/* Nothing runs: it would fail. */
	path = driver(HERE_8 " '-DINIT=return 100'");
	snprintf(text, sizeof(text), "%s function=48 kernel=56\n", id_of(path));
	write_cache(text, 0644);
	names = trial(path);
	assert_true(names.from_cache);
	expect(names, 48, 56, "");
}

static void cache_without_build_id(void **state)
{
	const char *path = driver(HERE_8 " -Wl,--build-id=none");

	(void)state;
	assert_int_equal(strncmp(id_of(path), "file-", 5), 0);
	assert_false(trial(path).from_cache);
	assert_true(trial(path).from_cache);
	path = driver(HERE_8 " -Wl,--build-id=none"); /* another file */
	assert_false(trial(path).from_cache);
}

static void damaged_cache(void **state)
{
	static const char *const lines[] = {
	    "%s function=9 kernel=8",	"%s function=8",
	    "%s function=512 kernel=8", "%s function=-1 kernel=8",
	    "%s function=8 kernel=-8",	"%s function=8 kernel=8 more",
	    "%s\tfunction=x kernel=8",	"function=8 kernel=8\n\n\n%s",
	};
	const char *path = driver("-DFUNCTION=16 -DKERNEL=24");
	char text[1000], bad[300];

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct fsc_gpu_names names;

		snprintf(bad, sizeof(bad), lines[i], id_of(path));
		snprintf(text, sizeof(text), "abc function=8 kernel=-1\n%s\n\x80\xff", bad);
		write_cache(text, 0644);
		names = trial(path);
		assert_false(names.from_cache);
		expect(names, 16, 24, "");
		snprintf(text, sizeof(text), "abc function=8 kernel=-1\n%s function=16 kernel=24\n",
			 id_of(path));
		assert_string_equal(read_cache(), text); /* the good lines stay */
	}
}

static void cache_of_others(void **state)
{
	const char *path = driver("-DFUNCTION=16 -DKERNEL=24");
	char text[300];

	(void)state;
	snprintf(text, sizeof(text), "%s function=8 kernel=8\n", id_of(path));
	write_cache(text, 0666);
	expect(trial(path), 16, 24, "");
	unlink(cache());
	write_cache(text, 0644);
	if (!geteuid())
		assert_int_equal(chown(cache(), 12345, 12345), 0);
	expect(trial(path), geteuid() ? 8 : 16, geteuid() ? 8 : 24, "");
}

static void cache_stays_small(void **state)
{
	const char *path = driver(HERE_8);
	char text[10000];
	size_t n = 0;
	int lines = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "id%d function=8 kernel=8\n", i);
	write_cache(text, 0644);
	expect(trial(path), 8, 8, "");
	for (const char *p = read_cache(); *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines, 64);
	assert_non_null(strstr(read_cache(), "id99 "));
	assert_null(strstr(read_cache(), "id36 "));
}

static void cache_cannot_be_written(void **state)
{
	struct fsc_gpu_names names;

	(void)state;
	assert_int_equal(
	    fsc_gpu_trial_with(driver(HERE_8), "", "/proc/none/x/names", 10000, &names, NULL), 0);
	expect(names, 8, 8, "");
	assert_int_equal(fsc_gpu_trial_with(driver(HERE_8), "", NULL, 10000, &names, NULL), 0);
	expect(names, 8, 8, "");
}

/* ---- the program ---- */

static void program_needs_no_new_libc(void **state)
{
	(void)state;
	for (size_t i = 0; i + 10 < fsc_driver_trial_size; i++) {
		const char *at = (const char *)fsc_driver_trial + i;

		if (memcmp(at, "GLIBC_2.", 8))
			continue;
		if (strtol(at + 8, NULL, 10) > 34)
			fail_msg("needs %s", at);
	}
}

static int make_directory(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(name_is_found, forget),
	    cmocka_unit_test_setup(name_is_absent, forget),
	    cmocka_unit_test_setup(driver_without_kernels, forget),
	    cmocka_unit_test_setup(init_fails, forget),
	    cmocka_unit_test_setup(driver_hangs, forget),
	    cmocka_unit_test_setup(driver_crashes, forget),
	    cmocka_unit_test_setup(noise_is_no_answer, forget),
	    cmocka_unit_test_setup(what_is_no_driver, forget),
	    cmocka_unit_test_setup(environment_is_cleaned, forget),
	    cmocka_unit_test_setup(library_of_others, forget),
	    cmocka_unit_test_setup(library_of_a_container, forget),
	    cmocka_unit_test_setup(nothing_stays_of_it, forget),
	    cmocka_unit_test_setup(cache_saves_the_trial, forget),
	    cmocka_unit_test_setup(cache_without_build_id, forget),
	    cmocka_unit_test_setup(damaged_cache, forget),
	    cmocka_unit_test_setup(cache_of_others, forget),
	    cmocka_unit_test_setup(cache_stays_small, forget),
	    cmocka_unit_test_setup(cache_cannot_be_written, forget),
	    cmocka_unit_test(program_needs_no_new_libc),
	};

	if (system("command -v cc >/dev/null 2>&1")) {
		print_message("# skip test_gpu_trial: no C compiler\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
