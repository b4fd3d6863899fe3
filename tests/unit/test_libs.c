/* src/proc/libs.h: names people type, the files of this very process and of a deleted program, a
 * command's own directories, and hostile images of ld.so.cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "proc/libs.h"
#include "proc/libs_priv.h"
#include "sym_fixtures.h"

static void short_names(void **state)
{
	static const struct {
		const char *base, *what;
		bool match;
	} names[] = {
	    {"libc.so.6", "c", true},
	    {"libc.so.6", "libc", true},
	    {"libc.so.6", "libc.so.6", true},
	    {"libc.so.6", "libc.so", true},
	    {"libc.so.6", "", false},
	    {"libc.so.6", "li", false},
	    {"libc.so.6", "lib", false},
	    {"libcrypt.so.1", "c", false},
	    {"libc-2.31.so", "c", true},
	    {"libc-2.31.so", "libc", true},
	    {"libstdc++.so.6.0.30", "libstdc++.so.6", true},
	    {"libstdc++.so.6.0.30", "stdc++", true},
	    {"libpython3.11.so.1.0", "python3.11", true},
	    {"libpython3.11.so.1.0", "python3", false},
	    {"libfoo.sock", "foo", false},
	    {"redis-server", "redis-server", true},
	    {"redis-server", "redis", false},
	    {"ld-linux-x86-64.so.2", "ld-linux-x86-64", true},
	    {".so", "", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (fsc_libname_match(names[i].base, names[i].what) != names[i].match)
			fail_msg("'%s' for '%s'", names[i].what, names[i].base);
	}
}

/* The one file found; the caller releases. */
static const struct fsc_libs_file *find_one(const char *what, const struct fsc_libs_scope *scope,
					    struct fsc_vec *files)
{
	struct fsc_err err = {0};

	*files = FSC_VEC_INIT(struct fsc_libs_file);
	if (fsc_libs_find(what, scope, files, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(files->n, 1);
	return files->data;
}

static void libraries_of_a_process(void **state)
{
	struct fsc_libs_scope scope = {.pid = getpid()};
	static const char *const names[] = {"c", "libc", "cmocka"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct fsc_vec files;
		const struct fsc_libs_file *f = find_one(names[i], &scope, &files);

		assert_string_equal(f->root, "");
		assert_string_equal(f->path, f->name);
		assert_int_equal(f->path[0], '/');
		assert_non_null(strstr(f->path, names[i]));
		fsc_libs_release(&files);
	}
}

static void the_program_itself(void **state)
{
	struct fsc_libs_scope scope = {.pid = getpid()};
	const struct fsc_libs_file *f;
	struct fsc_vec files;
	char exe[4096] = "";

	(void)state;
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	f = find_one("", &scope, &files);
	assert_string_equal(f->path, exe);
	fsc_libs_release(&files);
	f = find_one(strrchr(exe, '/') + 1, &scope, &files);
	assert_string_equal(f->path, exe);
	fsc_libs_release(&files);
	files = FSC_VEC_INIT(struct fsc_libs_file);
	assert_int_equal(fsc_libs_mapped(getpid(), &files, NULL), 0);
	assert_true(files.n >= 3);
	assert_string_equal(FSC_AT(struct fsc_libs_file, &files, 0)->path, exe);
	fsc_libs_release(&files);
}

/* A copy of sleep under that name, running; its pid. */
static pid_t start_copy(const char *name)
{
	char command[1200];
	pid_t pid;

	snprintf(command, sizeof(command), "cp /bin/sleep '%s'", fixture(name));
	assert_int_equal(system(command), 0);
	pid = fork();
	if (!pid) {
		execl(fixture(name), name, "60", (char *)NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	for (int i = 0; i < 200; i++) {
		char link[64], exe[4096] = "";

		snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
		if (readlink(link, exe, sizeof(exe) - 1) > 0 && strstr(exe, name))
			break;
		usleep(10000);
	}
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void a_deleted_program_is_still_reached(void **state)
{
	static const char name[] = "odd name\n(deleted) x";
	pid_t pid = start_copy(name);
	struct fsc_libs_scope scope = {.pid = pid};
	const struct fsc_libs_file *f;
	struct fsc_elf *e = NULL;
	struct fsc_vec files;

	(void)state;
	f = find_one(name, &scope, &files);
	assert_non_null(strstr(f->path, name));
	fsc_libs_release(&files);
	assert_int_equal(unlink(fixture(name)), 0);
	if (geteuid()) {
		stop(pid);
		skip(); /* map_files needs CAP_SYS_ADMIN */
	}
	f = find_one(name, &scope, &files);
	assert_non_null(strstr(f->path, "/map_files/"));
	assert_non_null(strstr(f->name, " (deleted)"));
	assert_int_equal(fsc_elf_open(f->path, f->root, &e, NULL), 0);
	fsc_elf_free(e);
	fsc_libs_release(&files);
	stop(pid);
}

/* A file that took the place of the running one is not the running one. */
static void a_replaced_program_is_told_apart(void **state)
{
	pid_t pid = start_copy("replaced");
	struct fsc_libs_scope scope = {.pid = pid};
	const struct fsc_libs_file *f;
	struct fsc_vec files;
	struct stat now, found;
	char command[1200];

	(void)state;
	snprintf(command, sizeof(command), "cp '%s' '%s.new' && mv '%s.new' '%s'",
		 fixture("prog-pie"), fixture("replaced"), fixture("replaced"),
		 fixture("replaced"));
	assert_int_equal(system(command), 0);
	if (geteuid()) {
		stop(pid);
		skip();
	}
	f = find_one(fixture("replaced"), &scope, &files);
	assert_int_equal(stat(fixture("replaced"), &now), 0);
	assert_int_equal(stat(f->path, &found), 0);
	assert_true(now.st_ino != found.st_ino);
	fsc_libs_release(&files);
	stop(pid);
}

static void a_command_and_its_directories(void **state)
{
	struct fsc_libs_scope scope = {.command = fixture("prog-runpath")};
	const struct fsc_libs_file *f;
	struct fsc_vec files;

	(void)state;
	f = find_one("", &scope, &files);
	assert_non_null(strstr(f->path, "/prog-runpath"));
	fsc_libs_release(&files);
	f = find_one("prog-runpath", &scope, &files);
	fsc_libs_release(&files);
	/* sub/ has libver.so.2 too, but the program needs libver.so */
	f = find_one("ver", &scope, &files);
	assert_non_null(strstr(f->path, "/sub/libver.so"));
	assert_null(strstr(f->path, "libver.so.2"));
	fsc_libs_release(&files);
	setenv("LD_LIBRARY_PATH", fixture("."), 1);
	f = find_one("ver", &scope, &files);
	unsetenv("LD_LIBRARY_PATH");
	assert_null(strstr(f->path, "/sub/"));
	fsc_libs_release(&files);
}

static void the_system(void **state)
{
	struct fsc_libs_scope scope = {0};
	const struct fsc_libs_file *f;
	struct fsc_vec files;

	(void)state;
	f = find_one("c", &scope, &files);
	assert_non_null(strstr(f->path, "libc.so"));
	fsc_libs_release(&files);
	f = find_one("sh", &scope, &files); /* a program in PATH */
	assert_non_null(strstr(f->path, "/sh"));
	fsc_libs_release(&files);
}

static void assert_not_found(const char *what, pid_t pid, int code, const char *text)
{
	struct fsc_vec files = FSC_VEC_INIT(struct fsc_libs_file);
	struct fsc_libs_scope scope = {.pid = pid};
	struct fsc_err err = {0};

	assert_int_equal(fsc_libs_find(what, &scope, &files, &err), -code);
	assert_int_equal(files.n, 0);
	if (!strstr(err.msg, text) && !strstr(err.hint, text))
		fail_msg("'%s' [%s] does not say '%s'", err.msg, err.hint, text);
	fsc_libs_release(&files);
}

static void what_is_missing_is_said(void **state)
{
	(void)state;
	assert_not_found("libcmokca", getpid(), ENOENT, "'libcmocka'");
	assert_not_found("no-such-library-at-all", 0, ENOENT, "path");
	assert_not_found("/no/such/file", 0, ENOENT, "/no/such/file");
	assert_not_found("c", 0x3fffffff, ESRCH, "no process");
	assert_not_found("/bin/sh", 0x3fffffff, ESRCH, "no process");
	assert_not_found("", 0, EINVAL, "no program");
}

static void which(void **state)
{
	char *path = fsc_libs_which("sh");

	(void)state;
	assert_non_null(path);
	assert_int_equal(access(path, X_OK), 0);
	free(path);
	assert_null(fsc_libs_which("no-such-program-at-all"));
	assert_null(fsc_libs_which(""));
	assert_null(fsc_libs_which("/"));
	assert_null(fsc_libs_which("/etc/passwd"));
}

static void what_may_fork(void **state)
{
	(void)state;
	assert_false(fsc_libs_may_fork(fixture("prog-pie")));
	assert_false(fsc_libs_may_fork(fixture("prog-nopie")));
	assert_true(fsc_libs_may_fork(fixture("forker")));
	assert_true(fsc_libs_may_fork(fixture("behind"))); /* a library of its does */
}

static void what_may_fork_for_all_we_know(void **state)
{
	(void)state;
	assert_true(fsc_libs_may_fork(fixture("prog-static")));
	assert_true(fsc_libs_may_fork(fixture("behind-lost"))); /* a library that is not found */
	assert_true(fsc_libs_may_fork(fixture("script")));
	assert_true(fsc_libs_may_fork("/lib64/ld-linux-x86-64.so.2"));
	assert_true(fsc_libs_may_fork(fixture("not-there")));
	assert_int_equal(setenv("LD_PRELOAD", "libwhatever.so", 1), 0);
	assert_true(fsc_libs_may_fork(fixture("prog-pie")));
	unsetenv("LD_PRELOAD");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(short_names),
	    cmocka_unit_test(libraries_of_a_process),
	    cmocka_unit_test(the_program_itself),
	    cmocka_unit_test(a_deleted_program_is_still_reached),
	    cmocka_unit_test(a_replaced_program_is_told_apart),
	    cmocka_unit_test(a_command_and_its_directories),
	    cmocka_unit_test(the_system),
	    cmocka_unit_test(what_is_missing_is_said),
	    cmocka_unit_test(which),
	    cmocka_unit_test(what_may_fork),
	    cmocka_unit_test(what_may_fork_for_all_we_know),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
