/* Counting: without keys the counter of hits is enough; keys have a map. */
#ifndef FSC_BPF_COUNT_H
#define FSC_BPF_COUNT_H

#include "common.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct fsc_count_key);
	__type(value, __u64);
} keyed SEC(".maps");

static __always_inline void count_keyed(__u32 row)
{
	struct fsc_count_key key = {};
	__u64 one = 1, *n;
	long rc;

	fill_key(&key, row);
	n = bpf_map_lookup_elem(&keyed, &key);
	if (n) {
		__sync_fetch_and_add(n, 1);
		return;
	}
	rc = bpf_map_update_elem(&keyed, &key, &one, BPF_NOEXIST);
	if (!rc)
		return;
	/* Another CPU may have added the key in between. */
	n = bpf_map_lookup_elem(&keyed, &key);
	if (n)
		__sync_fetch_and_add(n, 1);
	else if (row != cfg.calibrate_row)
		count_loss(rc == -16 /* EBUSY */ ? FSC_LOSS_KEYS_BUSY : FSC_LOSS_KEYS_FULL);
}

#endif
