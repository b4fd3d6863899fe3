/* Privileges are dropped in independent layers: user and groups, capabilities,
 * limits, system calls. Files that are open stay open: they are what the child is there to read. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* setresuid */
#endif
#include "base/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534

static void become_nobody(void)
{
	/* Each may fail, for an ordinary user for example: the next is tried regardless. */
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		errno = 0;
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	syscall(SYS_capset, &head, none);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static void limit_resources(void)
{
	/* A limit of 1 byte prevents core files and core handlers; 0 would still run a handler. */
	const struct rlimit none = {0, 0}, one = {1, 1};

	setrlimit(RLIMIT_CORE, &one);
	setrlimit(RLIMIT_FSIZE, &none);
	setrlimit(RLIMIT_NPROC, &none);
}

/* Both are undone by a change of user. */
static void tie_to_parent(void)
{
	prctl(PR_SET_DUMPABLE, 0); /* our memory is a copy of our parent's: keep debuggers out */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* ---- system calls ---- */

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

#ifdef OWN_ARCH
/* What a C library, libdw and the sanitizers need to read files and to compute. */
static const unsigned short harmless[] = {
    SYS_read,	     SYS_pread64,	SYS_readv,	  SYS_write,
    SYS_writev,	     SYS_close,		SYS_lseek,	  SYS_fstat,
    SYS_newfstatat,  SYS_statx,		SYS_readlinkat,	  SYS_faccessat,
    SYS_mmap,	     SYS_munmap,	SYS_mprotect,	  SYS_mremap,
    SYS_madvise,     SYS_brk,		SYS_futex,	  SYS_exit,
    SYS_exit_group,  SYS_rt_sigreturn,	SYS_rt_sigaction, SYS_rt_sigprocmask,
    SYS_sigaltstack, SYS_clock_gettime, SYS_gettimeofday, SYS_getpid,
    SYS_gettid,	     SYS_getuid,	SYS_geteuid,	  SYS_getgid,
    SYS_getegid,     SYS_getrandom,	SYS_sched_yield,  SYS_sched_getaffinity,
    SYS_sysinfo,     SYS_dup,		SYS_fcntl,	  SYS_restart_syscall,
#ifdef __x86_64__
    SYS_stat,	     SYS_lstat,		SYS_readlink,	  SYS_access,
#endif
};

enum { MOST_INSNS = 2 * sizeof(harmless) / sizeof(harmless[0]) + 32 };

struct filter {
	struct sock_filter insns[MOST_INSNS];
	unsigned short n;
};

static void add_load(struct filter *f, size_t offset)
{
	f->insns[f->n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

static void add_return(struct filter *f, uint32_t what)
{
	f->insns[f->n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what);
}

/* Continues with the next instruction if true, else skips this many. */
static void add_unless(struct filter *f, unsigned short test, uint32_t value, uint8_t skip)
{
	f->insns[f->n++] =
	    (struct sock_filter)BPF_JUMP((unsigned short)(BPF_JMP | test | BPF_K), value, 0, skip);
}

static const uint32_t allow = SECCOMP_RET_ALLOW, refuse = SECCOMP_RET_ERRNO | EPERM;

/* The low half of an argument: on both machines it comes first. */
static size_t argument_offset(int i)
{
	return offsetof(struct seccomp_data, args) + sizeof(uint64_t) * (size_t)i;
}

/* Tests an argument of a call, and ends with one of the two actions. */
static void add_test(struct filter *f, uint32_t nr, int arg, unsigned short test, uint32_t value,
		     uint32_t if_true, uint32_t if_false)
{
	add_unless(f, BPF_JEQ, nr, 4);
	add_load(f, argument_offset(arg));
	add_unless(f, test, value, 1);
	add_return(f, if_true);
	add_return(f, if_false);
}

static void filter_system_calls(void)
{
	const uint32_t writing = O_ACCMODE | O_CREAT | O_TRUNC;
	struct filter f = {.n = 0};
	struct sock_fprog prog = {.filter = f.insns};

	add_load(&f, offsetof(struct seccomp_data, arch));
	add_unless(&f, BPF_JEQ, OWN_ARCH, 1);
	add_load(&f, offsetof(struct seccomp_data, nr)); /* else the arch, which is no number */
	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++) {
		add_unless(&f, BPF_JEQ, harmless[i], 1);
		add_return(&f, allow);
	}
	/* parts of DWARF lie in other files */
	add_test(&f, SYS_openat, 2, BPF_JSET, writing, refuse, allow);
#ifdef SYS_open
	add_test(&f, SYS_open, 1, BPF_JSET, writing, refuse, allow);
#endif
	/* abort() */
	add_test(&f, SYS_tgkill, 0, BPF_JEQ, (uint32_t)getpid(), allow, refuse);
	add_return(&f, refuse);
	prog.len = f.n;
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0);
}
#else
static void filter_system_calls(void)
{
}
#endif

void fsc_confine(void)
{
	become_nobody();
	drop_capabilities();
	limit_resources();
	tie_to_parent();
	filter_system_calls();
}
