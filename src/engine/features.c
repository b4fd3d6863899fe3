/* The kernel features, each with a trial. Trials attach a program that does nothing to our own code
 * or to a harmless kernel function, and detach it. */
#include "engine/features.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "engine/self.h"
#include "engine/sys.h"
#include "kernel/tracefs.h"

#define TRIAL_KERNEL_FUNCTION "vfs_read"

/* What a trial returns: rc, and what failed in words where it is negative. */
static int explain(char *why, unsigned n, int rc, const char *text)
{
	if (rc < 0)
		snprintf(why, n, "%s: %s", text, strerror(-rc));
	return rc < 0 ? rc : 0;
}

static int load_nothing(int attach_type)
{
	return fsc_sys_load_nothing(BPF_PROG_TYPE_KPROBE, attach_type, 0);
}

static int try_bpf(char *why, unsigned n)
{
	FSC_AUTO(fsc_closep) int prog = load_nothing(0);

	return explain(why, n, prog, "loading a program");
}

/* Closes the perf event. */
static int try_perf(int perf_fd, enum bpf_prog_type type, const char *what, char *why, unsigned n)
{
	FSC_AUTO(fsc_closep) int perf = perf_fd;
	FSC_AUTO(fsc_closep) int prog = -1;
	FSC_AUTO(fsc_closep) int link = -1;

	if (perf < 0)
		return explain(why, n, perf, what);
	prog = fsc_sys_load_nothing(type, 0, 0);
	if (prog < 0)
		return explain(why, n, prog, "loading a program");
	link = fsc_sys_link_perf(prog, fsc_take_fd(&perf), 1);
	return explain(why, n, link, "linking with a cookie (Linux 5.15)");
}

static int try_uprobe(char *why, unsigned n)
{
	uint64_t offset;
	int rc = fsc_self_offset(fsc_self_ordinary, &offset, NULL);

	if (rc)
		return explain(why, n, rc, "finding our own code");
	return try_perf(fsc_sys_perf_uprobe(FSC_SELF_PATH, offset, 0, false, getpid()),
			BPF_PROG_TYPE_KPROBE, "opening a uprobe event", why, n);
}

/* pid 0: in all processes. A descriptor or -errno. */
static int link_self(void (*fn)(void), pid_t pid, int attach_type,
		     int (*link)(int prog, const struct fsc_sys_uprobes *u))
{
	FSC_AUTO(fsc_closep) int prog = load_nothing(attach_type);
	uint64_t offset;
	struct fsc_sys_uprobes u = {.path = FSC_SELF_PATH, .offsets = &offset, .n = 1, .pid = pid};
	int rc = fsc_self_offset(fn, &offset, NULL);

	if (prog < 0 || rc)
		return prog < 0 ? prog : rc;
	return link(prog, &u);
}

static int try_uprobe_multi(char *why, unsigned n)
{
	FSC_AUTO(fsc_closep)
	int link =
	    link_self(fsc_self_ordinary, getpid(), FSC_ATTACH_UPROBE_MULTI, fsc_sys_link_uprobes);

	return explain(why, n, link, "linking many uprobes at once (Linux 6.6)");
}

bool fsc_feature_uprobe_multi_quick(bool by_pid)
{
	FSC_AUTO(fsc_closep) int prog = load_nothing(FSC_ATTACH_UPROBE_MULTI);

	return prog >= 0 && fsc_sys_knows_uprobes(prog) &&
	       (!by_pid || fsc_sys_knows_uprobes_pid(prog));
}

bool fsc_feature_uprobe_session_quick(void)
{
	FSC_AUTO(fsc_closep) int prog = load_nothing(FSC_ATTACH_UPROBE_SESSION);

	return prog >= 0 && fsc_sys_knows_uprobe_session(prog);
}

static int try_uprobe_multi_pid(char *why, unsigned n)
{
	if (fsc_feature_uprobe_multi_quick(true))
		return 0;
	snprintf(why, n, "%s",
		 fsc_feature_uprobe_multi_quick(false)
		     ? "the kernel filters by thread, not by process (fixed in Linux 6.10)"
		     : "uprobe.multi does not work");
	return -ENOTSUP;
}

static int try_uprobe_session(char *why, unsigned n)
{
	FSC_AUTO(fsc_closep)
	int link = link_self(fsc_self_ordinary, getpid(), FSC_ATTACH_UPROBE_SESSION,
			     fsc_sys_link_uprobe_session);

	return explain(why, n, link, "linking entry and return in one (Linux 6.13)");
}

static int try_tracepoint(char *why, unsigned n)
{
	struct fsc_err err = {0};
	FSC_AUTO(fsc_closep) int tracefs = fsc_tracefs_open(&err);
	int id =
	    tracefs < 0 ? tracefs : fsc_tracepoint_id(tracefs, "sched", "sched_process_fork", &err);

	if (id < 0) {
		snprintf(why, n, "%s", err.msg);
		return id;
	}
	return try_perf(fsc_sys_perf_tracepoint(id), BPF_PROG_TYPE_TRACEPOINT,
			"opening a tracepoint event", why, n);
}

static int try_raw_tracepoint(char *why, unsigned n)
{
	FSC_AUTO(fsc_closep) int prog = fsc_sys_load_nothing(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0);
	FSC_AUTO(fsc_closep) int link = -1;

	if (prog < 0)
		return explain(why, n, prog, "loading a program");
	link = bpf_raw_tracepoint_open("sched_process_fork", prog);
	return explain(why, n, link < 0 ? -errno : 0, "opening a raw tracepoint");
}

static int try_kprobes(int attach_type, int (*link_fn)(int prog, const struct fsc_sys_kprobes *k),
		       const char *what, char *why, unsigned n)
{
	FSC_AUTO(fsc_closep) int prog = load_nothing(attach_type);
	FSC_AUTO(fsc_closep) int link = -1;
	const char *name = TRIAL_KERNEL_FUNCTION;
	struct fsc_sys_kprobes k = {.names = &name, .n = 1};

	if (prog < 0)
		return explain(why, n, prog, "loading a program");
	link = link_fn(prog, &k);
	return explain(why, n, link, what);
}

static int try_kprobe_multi(char *why, unsigned n)
{
	return try_kprobes(FSC_ATTACH_KPROBE_MULTI, fsc_sys_link_kprobes,
			   "linking many kernel functions at once (Linux 5.18 with fprobe)", why,
			   n);
}

static int try_kprobe_session(char *why, unsigned n)
{
	return try_kprobes(FSC_ATTACH_KPROBE_SESSION, fsc_sys_link_kprobe_session,
			   "linking entry and return in one (Linux 6.10)", why, n);
}

static int try_fentry(char *why, unsigned n)
{
	int id = libbpf_find_vmlinux_btf_id(TRIAL_KERNEL_FUNCTION, BPF_TRACE_FENTRY);
	FSC_AUTO(fsc_closep) int prog = -1;
	FSC_AUTO(fsc_closep) int link = -1;

	if (id < 0)
		return explain(why, n, id, "finding a function in the kernel's BTF");
	prog = fsc_sys_load_nothing(BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, id);
	if (prog < 0)
		return explain(why, n, prog, "loading an fentry program");
	link = fsc_sys_link_tracing(prog);
	return explain(why, n, link, "linking it");
}

static int try_kprobe(char *why, unsigned n)
{
	return try_perf(fsc_sys_perf_kprobe(TRIAL_KERNEL_FUNCTION, 0, 0, false),
			BPF_PROG_TYPE_KPROBE, "opening a kprobe event", why, n);
}

static int try_ringbuf(char *why, unsigned n)
{
	FSC_AUTO(fsc_closep)
	int map = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "fsc_nothing", 0, 0, 65536, NULL);

	return explain(why, n, map < 0 ? -errno : 0, "making a ring buffer (Linux 5.8)");
}

/* ---- the optimised uprobe ---- */

enum { NO_FAST = 10, NOP5 = 11, NOP10 = 12, CHILD_DIED = 20 };

/* Returns the child's exit code, or -errno. In a child because the calls below may be fatal. */
static int run_in_child(int (*fn)(int go), int go)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (!pid) {
		prctl(PR_SET_DUMPABLE, 0);
		_exit(fn(go));
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : CHILD_DIED;
}

#ifdef __x86_64__
/* Outside of a uprobe this system call fails with an errno that tells its version. */
static int probe_uprobe_syscall(int go)
{
	enum { SYS_UPROBE = 336 };

	(void)go;
	signal(SIGILL, SIG_DFL);
	if (syscall(SYS_UPROBE) == 0)
		return NO_FAST;
	return errno == ENXIO ? NOP5 : errno == EPROTO ? NOP10 : NO_FAST;
}

static void exit_died(int sig)
{
	(void)sig;
	_exit(CHILD_DIED);
}

/* The signal is caught, since the kernel logs every fatal one. */
static int call_nop5(int go)
{
	static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP};

	(void)go;
	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		signal(fatal[i], exit_died);
	for (int i = 0; i < 10; i++)
		fsc_self_nop5();
	return 0;
}

/* The probed process: waits for the probe, calls the function so that the kernel optimises it, then
 * has a child of its own call it. */
static int fork_under_probe(int go)
{
	char c;

	if (read(go, &c, 1) != 1)
		return NO_FAST;
	call_nop5(go);
	return run_in_child(call_nop5, go) == 0 ? 0 : CHILD_DIED;
}

static int try_fast(char *why, unsigned n)
{
	int answer = run_in_child(probe_uprobe_syscall, -1);

	if (answer == NOP5)
		return 0;
	snprintf(why, n,
		 answer == NOP10 ? "the kernel takes 10-byte nops, not 5-byte ones"
				 : "the kernel has no uprobe system call (Linux 6.18)");
	return -ENOTSUP;
}

/* Probes the nop in a forked process and checks whether that process's own child survives the call.
 */
static int try_fast_fork(char *why, unsigned n)
{
	FSC_AUTO(fsc_closep) int link = -1;
	int go[2], status = 0;
	pid_t pid;

	if (!fsc_feature_works(FSC_FEATURE_FAST_UPROBE)) {
		snprintf(why, n, "no fast uprobes here");
		return -ENOTSUP;
	}
	if (pipe2(go, O_CLOEXEC))
		return explain(why, n, -errno, "making a pipe");
	pid = fork();
	if (!pid) {
		prctl(PR_SET_DUMPABLE, 0);
		close(go[1]);
		_exit(fork_under_probe(go[0]));
	}
	close(go[0]);
	link = pid < 0 ? -errno : link_self(fsc_self_nop5, 0, 0, fsc_sys_link_uprobe);
	if (link >= 0 && write(go[1], "", 1) != 1)
		link = -EPIPE;
	close(go[1]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (link < 0)
		return explain(why, n, link, "probing a 5-byte nop");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	snprintf(why, n, "a forked child of the probed process dies (Linux 6.18 to 7.2)");
	return -EFAULT;
}
#else
static int try_fast(char *why, unsigned n)
{
	(void)run_in_child;
	snprintf(why, n, "only x86-64 has them");
	return -ENOTSUP;
}

static int try_fast_fork(char *why, unsigned n)
{
	return try_fast(why, n);
}
#endif

const struct fsc_feature_row fsc_features[FSC_FEATURE_MAX] = {
    [FSC_FEATURE_BPF] = {"bpf", "everything", try_bpf,
			 "run as root, or give the file CAP_BPF and CAP_PERFMON"},
    [FSC_FEATURE_UPROBE] = {"uprobe", "user functions, one event each", try_uprobe,
			    "needs Linux 5.15 with CONFIG_UPROBE_EVENTS"},
    [FSC_FEATURE_UPROBE_MULTI] = {"uprobe.multi", "thousands of user functions in one link",
				  try_uprobe_multi, "one event per function is used instead"},
    [FSC_FEATURE_UPROBE_MULTI_PID] = {"uprobe.multi -p", "limiting that link to one process",
				      try_uprobe_multi_pid,
				      "with -p one event per function is used instead"},
    [FSC_FEATURE_UPROBE_SESSION] = {"uprobe.session", "entry and return in one program",
				    try_uprobe_session, "two programs are used instead"},
    [FSC_FEATURE_FAST_UPROBE] = {"fast uprobe", "probes without a trap on 5-byte nops", try_fast,
				 "every hit of a user function costs a trap"},
    [FSC_FEATURE_FAST_UPROBE_FORK] =
	{"fast uprobe, fork", "using them by default", try_fast_fork,
	 "probes are placed after the 5-byte nop; --fast-uprobes overrides this"},
    [FSC_FEATURE_RAW_TRACEPOINT] = {"raw tracepoint", "tracepoints that detach at once",
				    try_raw_tracepoint, "one perf event each is used instead"},
    [FSC_FEATURE_TRACEPOINT] = {"tracepoint", "kernel tracepoints, --follow", try_tracepoint,
				"needs CONFIG_FTRACE_SYSCALLS or CONFIG_EVENT_TRACING"},
    [FSC_FEATURE_KPROBE_MULTI] = {"kprobe.multi", "thousands of kernel functions in one link",
				  try_kprobe_multi,
				  "fentry or kprobe is used instead, if it works (below)"},
    [FSC_FEATURE_KPROBE_SESSION] = {"kprobe.session", "entry and return in one program",
				    try_kprobe_session, "two programs are used instead"},
    [FSC_FEATURE_FENTRY] = {"fentry", "kernel functions at the lowest cost", try_fentry,
			    "kprobe is used instead, if it works (below)"},
    [FSC_FEATURE_KPROBE] = {"kprobe", "kernel functions, one event each", try_kprobe,
			    "needs CONFIG_KPROBE_EVENTS; without any of the three, kernel "
			    "functions cannot be probed on this kernel"},
    [FSC_FEATURE_RINGBUF] = {"ring buffer", "one line per call", try_ringbuf, "needs Linux 5.8"},
};

int fsc_feature_try(enum fsc_feature f, const char **why)
{
	static struct {
		bool tried;
		int rc;
		char why[200];
	} known[FSC_FEATURE_MAX];

	if (!known[f].tried) {
		known[f].rc = fsc_features[f].trial(known[f].why, sizeof(known[f].why));
		known[f].tried = true;
	}
	if (why)
		*why = known[f].why;
	return known[f].rc;
}
