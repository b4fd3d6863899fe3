/* The raw system calls behind probes: links of every kind and the perf events under them. Written
 * out because Debian 12's libbpf and kernel headers are older than multi and session links. Each
 * returns a descriptor that the caller owns, or -errno. */
#ifndef FSC_ENGINE_SYS_H
#define FSC_ENGINE_SYS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/bpf.h>

/* Attach types newer than the installed headers. */
enum {
	FSC_ATTACH_KPROBE_MULTI = 42,
	FSC_ATTACH_UPROBE_MULTI = 48,
	FSC_ATTACH_KPROBE_SESSION = 56,
	FSC_ATTACH_UPROBE_SESSION = 57,
};

/* A program that does nothing, for trials. */
int fsc_sys_load_nothing(enum bpf_prog_type type, int attach_type, int btf_id);

/* One link on many places of one file. ref_ctrs and cookies may be NULL. pid 0: every process. */
struct fsc_sys_uprobes {
	const char *path;
	const uint64_t *offsets, *ref_ctrs, *cookies;
	uint32_t n;
	bool ret;
	pid_t pid;
};

int fsc_sys_link_uprobes(int prog, const struct fsc_sys_uprobes *u);
/* The same by a perf event, for a single place; -E2BIG with more. */
int fsc_sys_link_uprobe(int prog, const struct fsc_sys_uprobes *u);
/* The same with a program loaded as a session: entry and return. */
int fsc_sys_link_uprobe_session(int prog, const struct fsc_sys_uprobes *u);
/* Whether the kernel has links on many user functions, and whether it filters them by process as it
 * should (before 6.10 it did by thread). Tested with arguments that it must refuse, so that nothing
 * is attached: detaching takes tens of milliseconds. prog: any that is loaded with that attach
 * type. */
bool fsc_sys_knows_uprobes(int prog);
/* prog: loaded for a session. */
bool fsc_sys_knows_uprobe_session(int prog);
bool fsc_sys_knows_uprobes_pid(int prog);
/* One link on many kernel functions: by address, or by name if addrs is NULL. */
struct fsc_sys_kprobes {
	const uint64_t *addrs;
	const char *const *names;
	const uint64_t *cookies;
	uint32_t n;
	bool ret;
};
int fsc_sys_link_kprobes(int prog, const struct fsc_sys_kprobes *k);
/* The same with a program loaded as a session. */
int fsc_sys_link_kprobe_session(int prog, const struct fsc_sys_kprobes *k);
/* An fentry or fexit program that was loaded for its function. */
int fsc_sys_link_tracing(int prog);
/* The same with a cookie (Linux 5.19); attach_type: that of the program. */
int fsc_sys_link_tracing_cookie(int prog, int attach_type, uint64_t cookie);
/* A raw tracepoint program; name: NULL if it was loaded for its tracepoint. A cookie other than 0
 * needs Linux 6.10. */
int fsc_sys_link_raw(int prog, const char *name, uint64_t cookie);
/* An iterator, and a descriptor that runs it when it is read. */
int fsc_sys_link_iter(int prog);
int fsc_sys_open_iter(int link);
/* A program on a perf event, with its cookie. The link takes over the event, whose descriptor is
 * closed; a negative perf_fd is returned. */
int fsc_sys_link_perf(int prog, int perf_fd, uint64_t cookie);

/* Perf events to attach a program to. pid 0: every process. */
int fsc_sys_perf_uprobe(const char *path, uint64_t offset, uint64_t ref_ctr, bool ret, pid_t pid);
/* By address unless addr is 0, else by name; offset within the function. */
int fsc_sys_perf_kprobe(const char *name, uint64_t addr, uint64_t offset, bool ret);
int fsc_sys_perf_tracepoint(int id);
/* Every so many events, or so many times a second; pid 0: all processes, on that CPU; otherwise
 * cpu may be -1. */
struct fsc_sys_sampler {
	uint32_t type; /* of perf_event_open() */
	uint64_t config;
	uint64_t period, frequency; /* one of them */
	pid_t pid;
	int cpu;
};
int fsc_sys_perf_sampler(const struct fsc_sys_sampler *e);
/* Accesses (1 read, 2 write, 4 execute) to length bytes of memory; pid 0: the kernel's, on that
 * CPU. */
struct fsc_sys_breakpoint {
	uint64_t address;
	uint32_t length;
	uint8_t access;
	pid_t pid;
	int cpu;
};
int fsc_sys_perf_breakpoint(const struct fsc_sys_breakpoint *w);

/* How often the kernel did not run a program because another was running on that CPU; 0 if unknown.
 */
uint64_t fsc_sys_prog_missed(int prog);
/* How often a link's probes were missed (kprobe.multi and perf kprobes since 6.7); 0 if unknown. */
uint64_t fsc_sys_link_missed(int link);

#endif
