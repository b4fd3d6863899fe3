/* Sends records to user space: a ring for each probe that the user named, so that a flood of one
 * does not displace another. */
#ifndef FSC_BPF_RINGS_H
#define FSC_BPF_RINGS_H

#include "common.bpf.h"

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring);
} rings SEC(".maps");

/* Which ring a row writes to, and how many records were dropped. */
struct ring_row {
	__u32 ring;
	__u32 pad;
	__u64 lost;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ring_row);
} ring_rows SEC(".maps");

/* Reserves room for a record of constant size; NULL, and a counted loss, if the ring is full. */
static __always_inline void *ring_reserve(__u32 row, __u64 size, __u32 loss, void **ring)
{
	struct ring_row *r = bpf_map_lookup_elem(&ring_rows, &row);
	void *rec;
	__u32 at;

	if (!r)
		return NULL;
	at = r->ring;
	*ring = bpf_map_lookup_elem(&rings, &at);
	if (!*ring)
		return NULL;
	rec = bpf_ringbuf_reserve(*ring, size, 0);
	if (!rec && row != cfg.calibrate_row) {
		__sync_fetch_and_add(&r->lost, 1);
		count_loss(loss);
	}
	return rec;
}

/* User space polls every few milliseconds; it is woken only when a ring fills up. */
static __always_inline void ring_submit(void *ring, void *rec)
{
	bool hurry = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > cfg.ring_bytes / 4;

	bpf_ringbuf_submit(rec, hurry ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

#endif
