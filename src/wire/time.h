/* Timing: measurements of each function (or key), and the state of a thread inside probed
 * functions. Both sides compile this header; the layouts are asserted. */
#ifndef FSC_WIRE_TIME_H
#define FSC_WIRE_TIME_H

#include "wire/hist.h"

/* Measurements of one function, or of one key. Initially all zero, hence the inverted minimum.
 * Durations are corrected for the cost of the probes, raw ones are not. */
struct fsc_slot {
	__u64 count;
	__u64 total, raw_total;
	__u64 max, min_inverted;
	__u64 square_low, square_high; /* 128-bit sum of the squares */
	__u64 self_total, off_total;
	__u64 slow;
	__u64 floored; /* calls shorter than the cost of the probes, counted as 0 */
	__u64 hist[FSC_HIST_BUCKETS];
};
_Static_assert(sizeof(struct fsc_slot) == (11 + 1089) * 8, "wire layout changed");

/* A monitor's slots are allocated in chunks of so many. */
#define FSC_CHUNK_SLOTS 64

/* The cost of a row's probes, subtracted from durations. Until it is ready, hits of the row are
 * ignored: the cost is measured after attaching. */
struct fsc_cost_row {
	__u32 inner; /* measured duration of an empty function, ns */
	__u32 outer; /* ns that one call of it costs its caller */
	__u32 ready;
	__u32 pad;
};

/* Which return values are errors. */
enum fsc_failed {
	FSC_FAILED_NEVER,
	FSC_FAILED_NONZERO,  /* as an int, not 0 */
	FSC_FAILED_NEGATIVE, /* as an int, below 0 */
	FSC_FAILED_NULL,
	FSC_FAILED_NOT_ONE,
};

/* A monitor's settings for a row; may change at any time. */
struct fsc_rule {
	__u64 slow_ns; /* calls that take this long are sent; 0: none */
	__u32 sample;  /* one call in N is sent, at entry and at return; 0: none */
	__u32 failed;  /* enum fsc_failed */
};

struct fsc_error_key {
	__u32 row, pid;
	__s64 code;
};
_Static_assert(sizeof(struct fsc_error_key) == 16, "wire layout changed");

/* Off-CPU time of a thread inside a timed call. */
struct fsc_off {
	__u64 since; /* 0 while it runs */
	__u64 total;
};

#define FSC_FRAMES 64
/* Rows of one function that a trace distinguishes. */
#define FSC_SAME_PLACE 8

/* A call that has begun. */
struct fsc_frame_open {
	__u64 id;	     /* stack position: identifies a call within its thread */
	__u64 start;	     /* ns */
	__u64 overhead, off; /* the thread's sums at the start */
	__u64 child_ns;	     /* time in probed callees */
	__u64 args[6];
	__u64 ret; /* set on return */
	__u32 row;
	__u32 sampled; /* bool: its entry was sent, or in a trace: its return is to be sent */
};

/* A thread's open calls, innermost last, and its sums. */
struct fsc_thread {
	__u64 overhead; /* cost of probes so far, ns */
	__u64 plain;	/* scratch: turns a pointer into a scalar for the verifier */
	__u32 depth;
	__u32 full;   /* not 0: no room for the last call */
	__u32 wanted; /* bool: the value of `sampled` for the call that begins */
	__u32 by_id;  /* bool: stored by thread ID, and deleted outside of calls */
	struct fsc_frame_open frames[FSC_FRAMES];
};
_Static_assert(sizeof(struct fsc_thread) == 32 + FSC_FRAMES * 104, "wire layout changed");

/* State of a thread whose calls have their start in the session cookie. A forked child returns from
 * its parent's calls, with their cookies, but has no open call itself. */
struct fsc_overhead {
	__u64 ns; /* cost of probes so far */
	__u32 open;
	__u32 by_id; /* bool: stored by thread ID, see threads_by_id */
	/* Time in probed callees, by nesting. Where a return was lost, a call finds the sum of
	 * deeper ones: less than its own, and within it. */
	__u64 child_ns[FSC_FRAMES];
};
_Static_assert(sizeof(struct fsc_overhead) == 16 + FSC_FRAMES * 8, "wire layout changed");

/* Flags of a cookie, besides the row. For returns: the probe is on a return instruction (or on a
 * jump that ends the function), so that the stack is as it was at entry; it may be a jump within
 * the function. */
#define FSC_COOKIE_AT_RETURN (1ull << 32)
#define FSC_COOKIE_PERHAPS   (1ull << 33)
/* For entries: the probe is inside the function, not at its start. */
#define FSC_COOKIE_INSIDE (1ull << 34)

#endif
