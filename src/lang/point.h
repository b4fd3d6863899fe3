/* A point: one place that a program of a script is attached to, after wildcards, libraries and
 * symbols have been looked up. The world (lang/world.h) makes points, the compiler reads kind and
 * names, the attacher reads the rest. */
#ifndef FSC_LANG_POINT_H
#define FSC_LANG_POINT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fsc_targets;

enum fsc_point_kind {
	FSC_POINT_BEGIN, /* run once before anything is attached */
	FSC_POINT_END,	 /* run once after everything is detached */
	FSC_POINT_SELF,	 /* self:signal: funcscope itself received a signal */
	FSC_POINT_KPROBE,
	FSC_POINT_KRETPROBE,
	FSC_POINT_FENTRY,
	FSC_POINT_FEXIT,
	FSC_POINT_UPROBE,
	FSC_POINT_URETPROBE,
	FSC_POINT_USDT,
	FSC_POINT_TRACEPOINT,
	FSC_POINT_RAWTRACEPOINT,
	FSC_POINT_PROFILE,
	FSC_POINT_INTERVAL,
	FSC_POINT_SOFTWARE,
	FSC_POINT_HARDWARE,
	FSC_POINT_WATCHPOINT,
	FSC_POINT_ASYNCWATCHPOINT,
	FSC_POINT_ITER,
	FSC_POINT_TEST,	 /* test:NAME, run with --test only */
	FSC_POINT_BENCH, /* bench:NAME, run with --bench only */
	FSC_POINT_KINDS,
};

struct fsc_point {
	enum fsc_point_kind kind;
	const char
	    *name; /* in full, what `probe` is: "kprobe:vfs_read", "BEGIN" as it was written */
	const char *type; /* what `probetype` is: "kprobe"; "special" for BEGIN and END */
	/* uprobe, uretprobe, usdt: path of the file; kernel functions: module, NULL for any;
	 * tracepoint, rawtracepoint: category or module, may be NULL; iter: pin, or NULL */
	const char *target;
	const char *space; /* usdt: provider; uprobe: language prefix ("cpp") or NULL */
	/* function, usdt probe, event of a tracepoint, of software and hardware; kind of iterator;
	 * name of a signal, test or bench; NULL where there is none */
	const char *func;
	/* uprobe, usdt: offset in the file. kprobe: address, 0 where it is not known; watchpoint:
	 * address, unless func is set. fentry:bpf: the program's ID. */
	uint64_t address;
	uint64_t offset;    /* kprobe, uprobe: behind the beginning of func; what the user wrote */
	uint64_t ref_ctr;   /* usdt: file offset of the semaphore, 0: none */
	uint64_t period;    /* software, hardware: events; profile, interval: ns, or 0 and */
	uint64_t frequency; /* hertz */
	uint32_t perf_type; /* software, hardware: for perf_event_open() */
	uint64_t perf_config;
	int64_t event_id; /* tracepoint: number in tracefs */
	uint32_t btf_id;  /* fentry, fexit, rawtracepoint, iter: what the program is loaded for */
	int btf_fd;	  /* the module's BTF, -1: the kernel's own. Owned by the world. */
	int signal;	  /* self:signal */
	uint32_t length;  /* watchpoint: bytes */
	uint8_t access;	  /* watchpoint: 1 read, 2 write, 4 execute */
	int8_t watch_arg; /* watchpoint on func+argN: N, else -1 */
	pid_t pid;	  /* limited to this process (-p, -c, or written in the probe); 0: none */
	/* usdt: the arguments as the ELF note has them ("-4@%edi 8@..."), or NULL. */
	const char *usdt_args;
	/* kprobe, uprobe, usdt, tracepoint: what probe/ resolved, for the attacher; targets is NULL
	 * for all others. fsc_targets_at(targets, place) has the offset behind no-operations, the
	 * instructions by which a function ends, and whether returns are to be caught there. The
	 * file to open is fsc_targets.files[].path; target above is for people. */
	const struct fsc_targets *targets;
	uint32_t place;
};

#endif
