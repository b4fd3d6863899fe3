/* One hit in N. */
#ifndef FSC_BPF_SAMPLE_H
#define FSC_BPF_SAMPLE_H

#include "common.bpf.h"

/* Hits of a row, to sample one in N. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} ticks SEC(".maps");

/* Whether this hit of the row is the one in N. Which of each N differs: a program that calls in
 * turns would be seen from one side only. */
static __always_inline bool one_in(__u32 row, __u32 so_many)
{
	__u64 *n = bpf_map_lookup_elem(&ticks, &row), at;

	if (!n)
		return true;
	at = __sync_fetch_and_add(n, 1);
	return at % so_many == (at / so_many * 0x9e3779b97f4a7c15 >> 32) % so_many;
}

static __always_inline bool sampled_out(__u32 row)
{
	if (cfg.sample < 2 || row == cfg.calibrate_row || one_in(row, cfg.sample))
		return false;
	count_loss(FSC_LOSS_SAMPLED_OUT);
	return true;
}

#endif
