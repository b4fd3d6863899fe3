/* Timing: what is kept of each function (or key), and of each thread while it is inside probed
 * functions. Both sides compile this header; the layouts are asserted. */
#ifndef FSC_WIRE_TIME_H
#define FSC_WIRE_TIME_H

#include "wire/hist.h"

/* What was measured of one function, or of one key. All zero in the beginning: the least value is
 * therefore kept inverted. Durations are corrected for the probes' own cost, raw ones are not. */
struct fsc_slot {
	__u64 count;
	__u64 total, raw_total;
	__u64 max, min_inverted;
	__u64 square_low, square_high; /* 128-bit sum of the squares */
	__u64 self_total, off_total;
	__u64 slow;
	__u64 floored; /* calls shorter than the probe's own cost, counted as 0 */
	__u64 hist[FSC_HIST_BUCKETS];
};
_Static_assert(sizeof(struct fsc_slot) == (11 + 1089) * 8, "wire layout changed");

/* What the probes of one row cost, taken out of the durations. Before it is ready, hits of the row
 * are not looked at: the cost is measured after the probes are on. */
struct fsc_cost_row {
	__u32 inner; /* ns that an empty function seems to last */
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

/* What a monitor asks of the calls of a row; may change while they are made. */
struct fsc_rule {
	__u64 slow_ns; /* a call that takes so long is sent; 0: none is slow */
	__u32 sample;  /* one call in so many is sent, at entry and at return; 0: none */
	__u32 failed;  /* enum fsc_failed */
};

struct fsc_error_key {
	__u32 row, pid;
	__s64 code;
};
_Static_assert(sizeof(struct fsc_error_key) == 16, "wire layout changed");

/* A thread that is inside a timed call: how long it was not running. */
struct fsc_off {
	__u64 since; /* 0 while it runs */
	__u64 total;
};

#define FSC_FRAMES 64
/* Rows of one function that a trace keeps apart. */
#define FSC_SAME_PLACE 8

/* A call that has begun. */
struct fsc_frame_open {
	__u64 id;	     /* where the stack was: tells calls of one thread apart */
	__u64 start;	     /* ns */
	__u64 overhead, off; /* the thread's sums at the start */
	__u64 child_ns;	     /* spent in probed callees */
	__u64 args[6];
	__u64 ret; /* once it has returned */
	__u32 row;
	__u32 sampled; /* bool: its entry was sent, or in a trace: its return is wanted */
};

/* The calls a thread is in, innermost last, and its sums. */
struct fsc_thread {
	__u64 overhead; /* ns that probes have cost it */
	__u64 plain;	/* an address becomes a number by way of memory */
	__u32 depth;
	__u32 full;   /* not 0: there was no room when the last call began */
	__u32 wanted; /* bool, of the call that begins: its frame will say so */
	__u32 by_id;  /* bool: kept by thread number, and given back outside of calls */
	struct fsc_frame_open frames[FSC_FRAMES];
};
_Static_assert(sizeof(struct fsc_thread) == 32 + FSC_FRAMES * 104, "wire layout changed");

/* Besides the row, what a cookie says of a return: bit 32, the probe sits on a return instruction
 * (or on a jump that ends the function), so that the stack is as it was at entry; bit 33, it may be
 * a jump inside the function. */
#define FSC_COOKIE_AT_RETURN (1ull << 32)
#define FSC_COOKIE_PERHAPS   (1ull << 33)
/* And of an entry: the probe sits inside the function, not at its start. */
#define FSC_COOKIE_INSIDE (1ull << 34)

#endif
