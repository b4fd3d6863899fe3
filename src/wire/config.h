/* What user space tells the BPF programs before they are loaded, and what they count into. Both
 * sides compile this header; the layouts are asserted. */
#ifndef FSC_WIRE_CONFIG_H
#define FSC_WIRE_CONFIG_H

#include <linux/types.h>

#define FSC_COMM_LEN 16

/* What a count is kept by, besides the function itself. */
enum fsc_by {
	FSC_BY_COMM = 1 << 0,
	FSC_BY_PID = 1 << 1,
	FSC_BY_TID = 1 << 2,
	FSC_BY_CPU = 1 << 3,
	FSC_BY_CGROUP = 1 << 4,
};

/* Which hits count at all. FSC_ONLY_TGID compares with one process, FSC_ONLY_TGIDS and
 * FSC_ONLY_TIDS look into the map of tasks. */
enum fsc_only {
	FSC_ONLY_TGID = 1 << 0,
	FSC_ONLY_TGIDS = 1 << 1,
	FSC_ONLY_TIDS = 1 << 2,
	FSC_ONLY_COMM = 1 << 3,
	FSC_ONLY_CGROUP = 1 << 4,
	FSC_ONLY_OTHERS = 1 << 5, /* not our own process */
};

struct fsc_config {
	__u32 by;	     /* enum fsc_by; 0: by function alone */
	__u32 only;	     /* enum fsc_only */
	__u32 stride;	     /* counters of one CPU: rows, rounded up to a cache line */
	__u32 calibrate_row; /* a row for our own hits alone */
	__u32 tgid;
	__u32 cgroup_level;
	__u64 cgroup_id;
	__u64 pidns_dev, pidns_ino; /* our own pid namespace; 0 in the initial one */
	__u32 fork_child_offset;    /* of child_pid in sched:sched_process_fork */
	__u32
	    self_tgid; /* our own process: only its hits of calibrate_row count; 0: not looked at */
	char comm[FSC_COMM_LEN];
};
_Static_assert(sizeof(struct fsc_config) == 72, "wire layout changed");

/* A key of the map that holds counts by more than the function. Fields nobody asked for are 0. */
struct fsc_count_key {
	__u32 row, pid, tid, cpu;
	__u64 cgroup;
	char comm[FSC_COMM_LEN];
};
_Static_assert(sizeof(struct fsc_count_key) == 40, "wire layout changed");

/* System calls by number in the map of rows: entries first, then exits. A row is kept as row + 1.
 */
#define FSC_SYSCALLS 512

/* What stands in the prepared instructions for the row; user space puts the row there before
 * loading them for one place. */
#define FSC_ROW_MARK 0x5eed5eed0badcafe

/* Named losses. A hit is counted once per row when seen, and once here if its key could not be
 * kept. */
enum fsc_loss {
	FSC_LOSS_KEYS_FULL,  /* no room for another key: --max-keys */
	FSC_LOSS_KEYS_BUSY,  /* the key map was locked by the code that was interrupted */
	FSC_LOSS_UNFOLLOWED, /* a child that could not be followed: its hits are not among those
				seen */
	FSC_LOSS_MAX,
};

#endif
