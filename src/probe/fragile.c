/* Tables of names, and a look at what a file needs. The names are those of the C library and
 * of the unwinder; a function of the same name elsewhere is only timed by its instructions. */
#include "probe/fragile.h"

#include <stdlib.h>
#include <string.h>

#include "probe/switches.h"

/* Not entered by a call, or the return address is kept for later, or the stack is walked from it
 * on. Sorted. */
static const char *const always[] = {
    "_Unwind_Backtrace",
    "_Unwind_ForcedUnwind",
    "_Unwind_RaiseException",
    "_Unwind_Resume",
    "_Unwind_Resume_or_Rethrow",
    "__clone",
    "__clone3",
    "__libc_vfork",
    "__longjmp",
    "__restore_rt",
    "__setjmp",
    "__sigsetjmp",
    "__start_context",
    "__vfork",
    "_dl_start",
    "_dl_start_user",
    "_longjmp",
    "_setjmp",
    "_start",
    "clone",
    "getcontext",
    "longjmp",
    "setcontext",
    "setjmp",
    "siglongjmp",
    "sigsetjmp",
    "swapcontext",
    "vfork",
};

/* They call a function of the program back, which may throw, are points where a thread is
 * cancelled, or look who has called them (dlsym() for RTLD_NEXT, the hooks of profilers); without
 * the prefixes and suffixes of their other names. The functions that do their work inside the C
 * library are here too: debug symbols name them. Sorted. */
static const char *const unwound[] = {
    "accept",
    "accept4",
    "aio_suspend",
    "argp_parse",
    "backtrace",
    "bsearch",
    "call_once",
    "cancel_handler",
    "clock_nanosleep",
    "close",
    "cnd_timedwait",
    "cnd_wait",
    "connect",
    "copy_file_range",
    "creat",
    "dl_iterate_phdr",
    "dlmopen",
    "dlopen",
    "dlsym",
    "dlvsym",
    "do_sigwait",
    "do_system",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "fallocate",
    "fcntl",
    "fdatasync",
    "fentry__",
    "fsync",
    "fts_build",
    "fts_children",
    "fts_open",
    "fts_read",
    "ftw",
    "ftw_dir",
    "ftw_startup",
    "futex_abstimed_wait",
    "futex_abstimed_wait_cancelable",
    "futex_abstimed_wait_common",
    "getmsg",
    "getpmsg",
    "getrandom",
    "glob",
    "glob_in_dir",
    "lfind",
    "lockf",
    "lsearch",
    "mcount",
    "mq_receive",
    "mq_send",
    "mq_timedreceive",
    "mq_timedsend",
    "msgrcv",
    "msgsnd",
    "msort_with_tmp",
    "msync",
    "nanosleep",
    "nftw",
    "once_proxy",
    "open",
    "openat",
    "pause",
    "poll",
    "ppoll",
    "pread",
    "preadv",
    "preadv2",
    "preadv64v2",
    "process_entry",
    "pselect",
    "pthread_clockjoin_ex",
    "pthread_clockjoin_np",
    "pthread_cond_clockwait",
    "pthread_cond_timedwait",
    "pthread_cond_wait",
    "pthread_cond_wait_common",
    "pthread_enable_asynccancel",
    "pthread_join",
    "pthread_once",
    "pthread_once_slow",
    "pthread_setcancelstate",
    "pthread_setcanceltype",
    "pthread_testcancel",
    "pthread_timedjoin_np",
    "pwrite",
    "pwritev",
    "pwritev2",
    "pwritev64v2",
    "qsort",
    "qsort_r",
    "quicksort",
    "read",
    "readv",
    "recv",
    "recvfrom",
    "recvmmsg",
    "recvmsg",
    "scandir",
    "scandir_tail",
    "scandirat",
    "select",
    "sem_clockwait",
    "sem_timedwait",
    "sem_wait",
    "sem_wait_slow",
    "send",
    "sendmmsg",
    "sendmsg",
    "sendto",
    "sigcancel_handler",
    "sigpause",
    "sigsuspend",
    "sigtimedwait",
    "sigwait",
    "sigwaitinfo",
    "sleep",
    "splice",
    "sync_file_range",
    "syscall_cancel",
    "system",
    "tcdrain",
    "tdelete",
    "tdestroy",
    "tdestroy_recurse",
    "tee",
    "tfind",
    "thrd_join",
    "thrd_sleep",
    "trecurse",
    "trecurse_r",
    "tsearch",
    "twalk",
    "twalk_r",
    "usleep",
    "vmsplice",
    "wait",
    "wait3",
    "wait4",
    "waitid",
    "waitpid",
    "write",
    "writev",
};

/* What the names that a file mentions say about it. */
enum {
	THROWS = 1,   /* has C++ in it */
	UNWINDS = 2,  /* unwinds its stack, or looks at it in that way */
	SWITCHES = 4, /* changes to another stack */
	ALTSTACK = 8, /* has a stack for signal handlers, by which some make coroutines ... */
	LONGJMP = 16, /* ... and by this change between them */
	LOADS = 32,   /* loads further code */
};

/* Where a name counts. */
enum where {
	ANYWHERE,
	IMPORTED, /* not where it is defined */
	USED,	  /* imported, or linked into a program */
};

/* Functions that change to another stack, or are called for it to be changed: of the C library,
 * which only has them, and of libcrypto, which does so for engines that ask for it. Those by which
 * programs and languages do it: Boost, D, Emacs' and Ruby's coroutines, greenlet, Julia, libaco,
 * libco, libcoro, minicoro, OCaml 5, PHP, QEMU. The unwinder, hooks of profilers that record the
 * caller of each function, and what loads code. Sorted. */
static const struct mark {
	const char *name;
	unsigned is;
	enum where where;
} marks[] = {
    {"ASYNC_pause_job", SWITCHES, USED},
    {"PyInit__greenlet", SWITCHES, ANYWHERE},
    {"_Unwind_Backtrace", UNWINDS, IMPORTED},
    {"_Unwind_ForcedUnwind", UNWINDS, IMPORTED},
    {"_Unwind_RaiseException", UNWINDS, ANYWHERE},
    {"__cyg_profile_func_enter", UNWINDS, USED},
    {"__fentry__", UNWINDS, USED},
    {"__gxx_personality_v0", THROWS, ANYWHERE},
    {"__longjmp_chk", LONGJMP, USED},
    {"_longjmp", LONGJMP, USED},
    {"_mcount", UNWINDS, USED},
    {"aco_resume", SWITCHES, ANYWHERE},
    {"backtrace", UNWINDS, IMPORTED},
    {"caml_perform", SWITCHES, ANYWHERE},
    {"co_resume", SWITCHES, ANYWHERE},
    {"co_switch", SWITCHES, ANYWHERE},
    {"coro_transfer", SWITCHES, ANYWHERE},
    {"coroutine_transfer", SWITCHES, ANYWHERE},
    {"dlmopen", LOADS, USED},
    {"dlopen", LOADS, USED},
    {"execl", LOADS, USED},
    {"execle", LOADS, USED},
    {"execlp", LOADS, USED},
    {"execv", LOADS, USED},
    {"execve", LOADS, USED},
    {"execveat", LOADS, USED},
    {"execvp", LOADS, USED},
    {"execvpe", LOADS, USED},
    {"fexecve", LOADS, USED},
    {"fiber_switchContext", SWITCHES, ANYWHERE},
    {"ijl_switch", SWITCHES, ANYWHERE},
    {"jl_switch", SWITCHES, ANYWHERE},
    {"jump_fcontext", SWITCHES, ANYWHERE},
    {"longjmp", LONGJMP, USED},
    {"make_fcontext", SWITCHES, ANYWHERE},
    {"makecontext", SWITCHES, USED},
    {"mco_resume", SWITCHES, ANYWHERE},
    {"mcount", UNWINDS, USED},
    {"ontop_fcontext", SWITCHES, ANYWHERE},
    {"qemu_coroutine_switch", SWITCHES, ANYWHERE},
    {"rb_fiber_resume", SWITCHES, ANYWHERE},
    {"setcontext", SWITCHES, USED},
    {"sigaltstack", ALTSTACK, USED},
    {"siglongjmp", LONGJMP, USED},
    {"swapcontext", SWITCHES, USED},
    {"zend_fiber_switch_context", SWITCHES, ANYWHERE},
};

/* No foreign code runs inside their functions except those named above. Sorted. */
static const char *const c_library[] = {
    "ld-linux-aarch64.so.1",
    "ld-linux-x86-64.so.2",
    "libc.musl-aarch64.so.1",
    "libc.musl-x86_64.so.1",
    "libc.so.6",
    "libdl.so.2",
    "libm.so.6",
    "libmvec.so.1",
    "libpthread.so.0",
    "libresolv.so.2",
    "librt.so.1",
};

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, *(const char *const *)b);
}

static bool is_among(const char *name, const char *const *names, size_t n)
{
	return bsearch(name, names, n, sizeof(*names), compare_names) != NULL;
}

/* The C library has many names for one function: "__GI___libc_read", "__new_sem_wait_slow64". */
static const char *skip_prefixes(const char *name)
{
	static const char *const prefixes[] = {"_", "GI_", "libc_", "new_", "old_"};
	size_t i = 0;

	while (i < LENGTH(prefixes)) {
		size_t n = strlen(prefixes[i]);

		if (strncmp(name, prefixes[i], n)) {
			i++;
			continue;
		}
		name += n;
		i = 0;
	}
	return name;
}

/* Cuts what the compiler puts behind the names of parts and copies (".part.0"), and the suffixes of
 * functions for large files and for times past 2038. */
static void cut_suffixes(char *name)
{
	static const char *const suffixes[] = {"64", "_time", "_2"};

	name[strcspn(name, ".")] = '\0';
	for (size_t i = 0; i < LENGTH(suffixes); i++) {
		size_t n = strlen(name), m = strlen(suffixes[i]);

		if (n > m && !strcmp(name + n - m, suffixes[i]))
			name[n - m] = '\0';
	}
}

enum fsc_fragile fsc_fragile_function(const char *name)
{
	char plain[64];
	size_t n;

	if (is_among(name, always, LENGTH(always)) || !strncmp(name, "_dl_runtime_", 12))
		return FSC_FRAGILE_ALWAYS;
	name = skip_prefixes(name);
	n = strlen(name) + 1;
	if (n > sizeof(plain))
		return FSC_FRAGILE_NOT;
	memcpy(plain, name, n);
	cut_suffixes(plain);
	return is_among(plain, unwound, LENGTH(unwound)) ? FSC_FRAGILE_UNWOUND : FSC_FRAGILE_NOT;
}

static bool needs_library(const char *const *needed, const char *library)
{
	for (; needed && *needed; needed++)
		if (strstr(*needed, library))
			return true;
	return false;
}

static bool is_c_library(struct fsc_elf *e)
{
	const char *soname = fsc_elf_soname(e);

	return soname && is_among(soname, c_library, LENGTH(c_library));
}

static bool is_crypto(struct fsc_elf *e)
{
	const char *soname = fsc_elf_soname(e);

	return soname && !strncmp(soname, "libcrypto.so", 12);
}

struct marks_found {
	bool program;
	unsigned is;
};

static int compare_marks(const void *a, const void *b)
{
	return strcmp(a, ((const struct mark *)b)->name);
}

/* Never ends the walk: all names count. */
static bool find_mark(const char *name, bool defined, void *arg)
{
	const struct mark *m = bsearch(name, marks, LENGTH(marks), sizeof(marks[0]), compare_marks);
	struct marks_found *found = arg;

	if (m && (m->where == ANYWHERE || !defined || (m->where == USED && found->program)))
		found->is |= m->is;
	return false;
}

static unsigned marks_of(struct fsc_elf *e)
{
	struct marks_found found = {.program = !fsc_elf_soname(e) && fsc_elf_is_program(e)};

	fsc_elf_mentions(e, find_mark, &found);
	return found.is;
}

/* By the names alone. */
static bool marks_switch(unsigned is)
{
	return is & SWITCHES || (is & (ALTSTACK | LONGJMP)) == (ALTSTACK | LONGJMP);
}

bool fsc_fragile_switches(struct fsc_elf *e)
{
	if (is_c_library(e) || is_crypto(e))
		return false;
	return marks_switch(marks_of(e)) || fsc_switches_file(e);
}

bool fsc_fragile_shared(struct fsc_elf *e)
{
	if (is_c_library(e))
		return false;
	/* Some libraries can also be run; programs have no such name. */
	return fsc_elf_soname(e) || !fsc_elf_is_program(e);
}

bool fsc_fragile_c_library(struct fsc_elf *e)
{
	return is_c_library(e);
}

bool fsc_fragile_loads(struct fsc_elf *e)
{
	return !is_c_library(e) && !is_crypto(e) && marks_of(e) & LOADS;
}

enum fsc_fragile_file fsc_fragile_file(struct fsc_elf *e)
{
	const char *const *needed = fsc_elf_needed(e);
	unsigned is;

	if (is_c_library(e))
		return FSC_FRAGILE_FILE_NOT;
	if (needs_library(needed, "libstdc++") || needs_library(needed, "libc++"))
		return FSC_FRAGILE_FILE_CXX;
	if (needs_library(needed, "libgcc_s") || needs_library(needed, "libunwind"))
		return FSC_FRAGILE_FILE_ANY;
	is = marks_of(e);
	if (is & THROWS)
		return FSC_FRAGILE_FILE_CXX;
	if (is & UNWINDS)
		return FSC_FRAGILE_FILE_ANY;
	/* C++ linked in, and stripped: what catches exceptions has a table. */
	if (fsc_elf_has_section(e, ".gcc_except_table"))
		return FSC_FRAGILE_FILE_CXX;
	if (!is_crypto(e) && (marks_switch(is) || fsc_switches_file(e)))
		return FSC_FRAGILE_FILE_ANY;
	return FSC_FRAGILE_FILE_NOT;
}
