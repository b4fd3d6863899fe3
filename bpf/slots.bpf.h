/* Slots: where the times of a row, or of one of its keys, are added up. */
#ifndef FSC_BPF_SLOTS_H
#define FSC_BPF_SLOTS_H

#include "calls.bpf.h"

/* slots[slot * stripes + cpu % stripes]; slot 0 is for calibration, that of a row is row + 1. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fsc_slot);
} slots SEC(".maps");

/* The slot of a key; without keys it follows from the row. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct fsc_count_key);
	__type(value, __u32);
} slot_of SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} next_slot SEC(".maps");

/* The pool of a monitor: it grows by chunks, slot n is in chunk n / FSC_CHUNK_SLOTS. Chunk 0 has
 * none in its first place: slot 0 is for calibration. */
struct slot_chunk {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fsc_slot);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct slot_chunk);
} slot_chunks SEC(".maps");

/* Free slots of the pool. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__type(value, __u32);
} free_slots SEC(".maps");

/* A slot for the key; cfg.slots if none is left. next_slot counts those that were taken. */
static __always_inline __u32 borrow_slot(const struct fsc_count_key *key)
{
	__u32 zero = 0, *taken = bpf_map_lookup_elem(&next_slot, &zero), slot, *there;

	if (!taken || bpf_map_pop_elem(&free_slots, &slot))
		return cfg.slots;
	/* Another CPU may have been quicker. */
	if (bpf_map_update_elem(&slot_of, key, &slot, BPF_NOEXIST))
		bpf_map_push_elem(&free_slots, &slot, 0);
	else
		__sync_fetch_and_add(taken, 1);
	there = bpf_map_lookup_elem(&slot_of, key);
	return there ? *there : cfg.slots;
}

static __always_inline __u32 claim_slot(const struct fsc_count_key *key)
{
	__u32 zero = 0, *next = bpf_map_lookup_elem(&next_slot, &zero), slot, *there;

	slot = next ? __sync_fetch_and_add(next, 1) + 1 : cfg.slots;
	if (slot < cfg.slots)
		bpf_map_update_elem(&slot_of, key, &slot, BPF_NOEXIST);
	/* Another CPU may have been faster: then its slot is used, and ours stays empty. */
	there = bpf_map_lookup_elem(&slot_of, key);
	return there ? *there : cfg.slots;
}

static __always_inline struct fsc_slot *pool_slot(__u32 slot)
{
	__u32 at = slot / FSC_CHUNK_SLOTS;
	void *chunk = bpf_map_lookup_elem(&slot_chunks, &at);

	if (!chunk)
		return NULL;
	at = slot % FSC_CHUNK_SLOTS * cfg.stripes + bpf_get_smp_processor_id() % cfg.stripes;
	return bpf_map_lookup_elem(chunk, &at);
}

static __always_inline struct fsc_slot *find_slot(__u32 row)
{
	struct fsc_count_key key = {};
	__u32 at = row == cfg.calibrate_row ? 0 : row + 1, *there;

	if (cfg.by && at) {
		fill_key(&key, row);
		there = bpf_map_lookup_elem(&slot_of, &key);
		at = there ? *there : cfg.rules ? borrow_slot(&key) : claim_slot(&key);
	}
	if (at >= cfg.slots) {
		lose_hit(row, FSC_LOSS_KEYS_FULL);
		return NULL;
	}
	if (cfg.rules)
		return pool_slot(at);
	at = at * cfg.stripes + bpf_get_smp_processor_id() % cfg.stripes;
	return bpf_map_lookup_elem(&slots, &at);
}

#endif
