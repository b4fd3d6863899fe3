/* The common histogram, for BPF and user space: log-linear, 32 buckets per power of two, so that a
 * bucket is at most 1/32 of its value wide and its middle is never off by more than 1.6 %. */
#ifndef FSC_WIRE_HIST_H
#define FSC_WIRE_HIST_H

#include <linux/types.h>

enum {
	FSC_HIST_SUB_BITS = 5,
	FSC_HIST_SUB = 1 << FSC_HIST_SUB_BITS,
	FSC_HIST_TOP = 38, /* 2^38 ns are 275 s: longer calls are in the last bucket */
	FSC_HIST_OVER = (FSC_HIST_TOP - FSC_HIST_SUB_BITS + 1) * FSC_HIST_SUB,
	FSC_HIST_BUCKETS = FSC_HIST_OVER + 1,
};

/* Position of the highest bit; v is not 0. BPF has no instruction for it. */
static inline __attribute__((always_inline)) __u32 fsc_hist_log2(__u64 v)
{
	__u32 n = 0;

	if (v >> 32) {
		v >>= 32;
		n += 32;
	}
	if (v >> 16) {
		v >>= 16;
		n += 16;
	}
	if (v >> 8) {
		v >>= 8;
		n += 8;
	}
	if (v >> 4) {
		v >>= 4;
		n += 4;
	}
	if (v >> 2) {
		v >>= 2;
		n += 2;
	}
	return n + (__u32)(v >> 1);
}

static inline __attribute__((always_inline)) __u32 fsc_hist_bucket(__u64 v)
{
	__u32 e;

	if (v < FSC_HIST_SUB)
		return (__u32)v;
	if (v >> FSC_HIST_TOP)
		return FSC_HIST_OVER;
	e = fsc_hist_log2(v);
	return (e - FSC_HIST_SUB_BITS + 1) * FSC_HIST_SUB +
	       ((__u32)(v >> (e - FSC_HIST_SUB_BITS)) & (FSC_HIST_SUB - 1));
}

/* The lowest value of a bucket; also valid for the one after the last. */
static inline __attribute__((always_inline)) __u64 fsc_hist_low(__u32 bucket)
{
	__u32 octave = bucket / FSC_HIST_SUB, sub = bucket % FSC_HIST_SUB;

	return octave ? (__u64)(FSC_HIST_SUB + sub) << (octave - 1) : sub;
}

#endif
