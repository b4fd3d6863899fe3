/* Tables of names, and a look at what a file needs. The names are those of the C library and
 * of the unwinder; a function of the same name elsewhere is only timed by its instructions. */
#include "probe/fragile.h"

#include <stdlib.h>
#include <string.h>

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

/* They call a function of the program back, which may throw, or are points where a thread is
 * cancelled; without the prefixes and suffixes of their other names. The functions that do their
 * work inside the C library are here too: debug symbols name them. Sorted. */
static const char *const unwound[] = {
    "accept",
    "accept4",
    "aio_suspend",
    "argp_parse",
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
    "do_sigwait",
    "do_system",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "fallocate",
    "fcntl",
    "fdatasync",
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

/* Functions that change to another stack, or are called for it to be changed: of the C library,
 * which only has them, and of libcrypto, which does so for engines that ask for it. Sorted. */
static const char *const contexts[] = {"ASYNC_pause_job", "makecontext", "setcontext",
				       "swapcontext"};

/* Functions by which programs and languages change to another stack: Boost, D, Emacs' and Ruby's
 * coroutines, greenlet, Julia, libaco, libco, libcoro, minicoro, OCaml 5, PHP, QEMU. Sorted. */
static const char *const switchers[] = {
    "PyInit__greenlet",
    "aco_resume",
    "caml_perform",
    "co_resume",
    "co_switch",
    "coro_transfer",
    "coroutine_transfer",
    "fiber_switchContext",
    "ijl_switch",
    "jl_switch",
    "jump_fcontext",
    "make_fcontext",
    "mco_resume",
    "ontop_fcontext",
    "qemu_coroutine_switch",
    "rb_fiber_resume",
    "zend_fiber_switch_context",
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

static bool switches_in_program(const char *name, bool defined)
{
	(void)defined;
	return is_among(name, contexts, LENGTH(contexts)) ||
	       is_among(name, switchers, LENGTH(switchers));
}

static bool switches_in_library(const char *name, bool defined)
{
	return is_among(name, switchers, LENGTH(switchers)) ||
	       (!defined && is_among(name, contexts, LENGTH(contexts)));
}

bool fsc_fragile_switches(struct fsc_elf *e)
{
	const char *soname = fsc_elf_soname(e);

	if (soname && !strncmp(soname, "libcrypto.so", 12))
		return false;
	return fsc_elf_mentions(e, soname ? switches_in_library : switches_in_program);
}

bool fsc_fragile_shared(struct fsc_elf *e)
{
	const char *soname = fsc_elf_soname(e);

	if (soname && is_among(soname, c_library, LENGTH(c_library)))
		return false;
	return !fsc_elf_is_program(e);
}

enum fsc_fragile_file fsc_fragile_file(struct fsc_elf *e)
{
	const char *const *needed = fsc_elf_needed(e);
	enum fsc_fragile_file found = FSC_FRAGILE_FILE_NOT;
	const struct fsc_sym *syms;
	size_t n;

	if (needs_library(needed, "libstdc++") || needs_library(needed, "libc++"))
		return FSC_FRAGILE_FILE_CXX;
	if (needs_library(needed, "libgcc_s") || needs_library(needed, "libunwind"))
		return FSC_FRAGILE_FILE_ANY;
	if (fsc_elf_symbols(e, &syms, &n, NULL))
		return FSC_FRAGILE_FILE_NOT;
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(syms[i].name, "__gxx_personality_v0"))
			return FSC_FRAGILE_FILE_CXX;
		if (!strcmp(syms[i].name, "_Unwind_RaiseException"))
			found = FSC_FRAGILE_FILE_ANY;
	}
	if (found == FSC_FRAGILE_FILE_NOT && fsc_fragile_switches(e))
		found = FSC_FRAGILE_FILE_ANY;
	return found;
}
