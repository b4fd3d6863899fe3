/* The configuration of the BPF programs, set before they are loaded, and what they count into. Both
 * sides compile this header; the layouts are asserted. */
#ifndef FSC_WIRE_CONFIG_H
#define FSC_WIRE_CONFIG_H

#include <linux/types.h>

#define FSC_COMM_LEN 16

/* Gates: a bit each in one word that programs read first. Hits at a probe count while its gate is
 * open, so that user space starts and stops any set of links at one moment, by one store. The
 * number of the gate is in the cookie's upper six bits; probes without a cookie have gate 0. */
#define FSC_GATES	64
#define FSC_COOKIE_GATE 58 /* bits to shift */
#define FSC_GATE_RUN                                                                               \
	0 /* opened when all probes are attached, shut before the first is detached                \
	   */
#define FSC_GATE_BIT(n) (1ull << (n))

/* Rows that move from one link to another are at both for a while, so that no hit is lost: one word
 * has the gates of the links that will be closed, and in its upper half those of the links that
 * replace them. A hit at both counts once: the kernel runs the newest link's program first, which
 * counts it and claims it for its thread; the other one finds the claim. */
#define FSC_MOVING_GATES		32 /* only these */
#define FSC_HANDOVER(leaving, arriving) ((__u64)(arriving) << FSC_MOVING_GATES | (leaving))

struct fsc_claim {
	__u32 row, turn; /* the number of the handover */
};

/* Keys of counts, besides the function itself. */
enum fsc_by {
	FSC_BY_COMM = 1 << 0,
	FSC_BY_PID = 1 << 1,
	FSC_BY_TID = 1 << 2,
	FSC_BY_CPU = 1 << 3,
	FSC_BY_CGROUP = 1 << 4,
};

/* Filters of hits. FSC_ONLY_TGID compares with one process, FSC_ONLY_TGIDS and FSC_ONLY_TIDS use
 * the map of tasks. */
enum fsc_only {
	FSC_ONLY_TGID = 1 << 0,
	FSC_ONLY_TGIDS = 1 << 1,
	FSC_ONLY_TIDS = 1 << 2,
	FSC_ONLY_COMM = 1 << 3,
	FSC_ONLY_CGROUP = 1 << 4,
	FSC_ONLY_OTHERS = 1 << 5, /* not our own process */
	FSC_ONLY_WANTED = 1 << 6, /* by enum fsc_judging */
};

/* Verdicts in the map of tasks. */
enum fsc_judged {
	FSC_WANTED = 1,
	FSC_UNWANTED = 2,
	FSC_PENDING = 3, /* none yet, but calls that were counted */
};

/* Whose hits a monitor counts; may change at any time. */
enum fsc_judging {
	FSC_JUDGING_NONE,  /* those of all processes */
	FSC_JUDGING_LATER, /* not of unwanted ones; without a verdict they count, until there is one
			    */
	FSC_JUDGING_FIRST, /* only of wanted ones */
};

/* What is done with a hit. */
enum fsc_mode { FSC_MODE_COUNT, FSC_MODE_TIME, FSC_MODE_STACK, FSC_MODE_TRACE };

/* Where the start of a call is kept until its return. */
enum fsc_keep {
	FSC_KEEP_COOKIE,  /* the session cookie: 8 bytes per call */
	FSC_KEEP_STORAGE, /* a stack of calls per thread, in task storage; by thread ID while the
			     kernel cannot allocate any */
	FSC_KEEP_HASH,	  /* the same in a map by thread ID */
};

/* How a stack is taken: the kernel walks it into a per-CPU buffer. Until Linux 7.0 a program on a
 * uprobe can be preempted while it uses that. */
enum fsc_stack_guard {
	FSC_GUARD_NONE,	   /* kernels that do not preempt kernel code */
	FSC_GUARD_PREEMPT, /* preemption is off meanwhile (Linux 6.10) */
	FSC_GUARD_TWICE,   /* taken twice, and lost if they differ */
};

/* Which stacks are taken. */
enum fsc_stacks_of { FSC_STACKS_KERNEL = 1 << 0, FSC_STACKS_USER = 1 << 1 };

/* Counters besides the hits of functions, from calibrate_row on. */
enum fsc_counter {
	FSC_COUNTER_OWN,	/* our own hits, for calibration */
	FSC_COUNTER_BYSTANDERS, /* hits of processes that are not traced */
	FSC_COUNTER_OPENED,	/* calls whose entry was stored */
	FSC_COUNTER_CLOSED,	/* of these, returned ones */
	FSC_COUNTER_PIDS,	/* processes whose stacks were taken for the first time */
	FSC_COUNTERS,
	/* Then, if there are rules, the hits of processes that are not traced, by row. */
};

struct fsc_config {
	__u32 keep;	     /* enum fsc_keep */
	__u32 by;	     /* enum fsc_by; 0: none */
	__u32 only;	     /* enum fsc_only */
	__u32 stride;	     /* counters per CPU, rounded up to a cache line */
	__u32 calibrate_row; /* a row for our own hits; counters after it: enum fsc_counter */
	__u32 tgid;
	__u32 cgroup_level;
	__u32 fork_child_offset; /* of child_pid in sched:sched_process_fork */
	__u64 cgroup_id;
	__u64 pidns_dev, pidns_ino; /* our own pid namespace; 0 in the initial one */
	/* bool: a monitor. Every row has a rule (struct fsc_rule), and slots are borrowed from a
	 * pool and given back. */
	__u32 rules;
	__u32 self_tgid; /* our own process: only its hits of calibrate_row count; 0: not checked */
	char comm[FSC_COMM_LEN];
	__u32 slots;		      /* slots for measurements, per stripe */
	__u32 stripes;		      /* copies of them: CPU n uses copy n % stripes */
	__u32 self, off_cpu;	      /* bool */
	__u64 slow_ns;		      /* 0: off */
	__u32 stacks;		      /* enum fsc_stacks_of */
	__u32 pairs;		      /* entry and return are probed together */
	__u32 sample;		      /* one call in N; 0 or 1: all */
	__u32 n_strings, string_size; /* of a record */
	__u32 copy_stacks;	      /* bool: user stacks are unwound by debug information */
	__u32 ring_bytes;	      /* of each ring */
	__u32 most_ops;		      /* of the longest expression */
	__u32 never;		      /* 0, known to the verifier but not to the compiler */
	__u32 stack_guard;	      /* enum fsc_stack_guard */
	__u32 bystanders;	      /* bool: count hits of processes that are not traced */
	/* Of struct task_struct: group_leader, start_time, self_exec_id; 0: not known. */
	__u32 task_leader, task_start, task_execs;
	__u32 moves; /* bool: rows move between links, see FSC_HANDOVER */
};
_Static_assert(sizeof(struct fsc_config) == 168, "wire layout changed");

/* Unused fields are 0. */
struct fsc_count_key {
	__u32 row, pid, tid, cpu;
	__u64 cgroup;
	char comm[FSC_COMM_LEN];
};
_Static_assert(sizeof(struct fsc_count_key) == 40, "wire layout changed");

/* Offsets of the two thread IDs in sched:sched_switch. */
#define FSC_SWITCH_PREV 24
#define FSC_SWITCH_NEXT 56

/* Rows of system calls by number: entries first, then exits. A row is stored as row + 1. */
#define FSC_SYSCALLS 512

/* Placeholder for the row in the prepared instructions; user space replaces it before loading them
 * for one place. */
#define FSC_ROW_MARK 0x5eed5eed0badcafe
/* Likewise for calls of the kernel's own functions bpf_session_is_return() and
 * bpf_session_cookie(). */
#define FSC_IS_RETURN_MARK 0x5eed5eed0badca01
#define FSC_COOKIE_MARK	   0x5eed5eed0badca02
/* The number of arguments of the function. */
#define FSC_ARGS_MARK 0x5eed5eed0badca03
/* Calls of bpf_preempt_disable() and bpf_preempt_enable(). */
#define FSC_PREEMPT_OFF_MARK 0x5eed5eed0badca04
#define FSC_PREEMPT_ON_MARK  0x5eed5eed0badca05

/* Named losses. A hit is counted once per row when seen, and once here if it could not be kept. */
enum fsc_loss {
	FSC_LOSS_KEYS_FULL,   /* no room for another key: --max-keys */
	FSC_LOSS_KEYS_BUSY,   /* the key map was locked by the interrupted code */
	FSC_LOSS_UNFOLLOWED,  /* a child that could not be followed: its hits are not among those
				 seen */
	FSC_LOSS_TOO_DEEP,    /* more nested calls than can be stored */
	FSC_LOSS_NO_THREAD,   /* no memory for the thread's calls */
	FSC_LOSS_UNMATCHED,   /* a return whose entry was not seen: no hit either */
	FSC_LOSS_UNWATCHED,   /* a thread whose off-CPU time could not be tracked: no hit either */
	FSC_LOSS_RING_FULL,   /* no room in the ring: it was not read in time */
	FSC_LOSS_RETURN_FULL, /* likewise for a return, or for a slow call, which is counted anyway
			       */
	FSC_LOSS_STACK_FULL,  /* no room for another stack: --max-stacks */
	FSC_LOSS_STACK_COLLIDED, /* hash collision with another stack */
	FSC_LOSS_STACK_BUSY,	 /* the kernel was taking another stack on this CPU */
	FSC_LOSS_UNREADABLE,	 /* the predicate's memory could not be read */
	FSC_LOSS_FILTERED,	 /* not seen: the predicate was false */
	FSC_LOSS_SAMPLED_OUT,	 /* not seen: not the one in N */
	FSC_LOSS_COPIES_FULL,	 /* no room for a copy of the stack in its ring */
	FSC_LOSS_ERRORS_FULL,	 /* no room to count an error by its code; no hit */
	FSC_LOSS_MAX,
};

#endif
