/* Reading a session: counters, keys, losses, and the hits that the kernel itself missed. */
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "engine/session_priv.h"
#include "engine/sys.h"
#include "func_snoop.skel.h"
#include "model/latency.h"

const char *const fsc_rung_names[FSC_RUNG_MAX] = {
    [FSC_RUNG_UPROBE_SESSION] = "uprobe.session",
    [FSC_RUNG_UPROBE_MULTI] = "uprobe.multi",
    [FSC_RUNG_UPROBE] = "uprobe",
    [FSC_RUNG_KPROBE_SESSION] = "kprobe.session",
    [FSC_RUNG_KPROBE_MULTI] = "kprobe.multi",
    [FSC_RUNG_FENTRY] = "fentry",
    [FSC_RUNG_KPROBE] = "kprobe",
    [FSC_RUNG_RAW_TRACEPOINT] = "raw_tracepoint",
    [FSC_RUNG_TRACEPOINT] = "tracepoint",
};

const struct fsc_session_opts *fsc_session_options(const struct fsc_session *s)
{
	return &s->opts;
}

bool fsc_session_pairs(const struct fsc_session *s)
{
	return s->pairs;
}

static bool is_target_pid(const struct fsc_session *s, uint32_t pid)
{
	for (size_t i = 0; i < s->opts.n_pids; i++)
		if ((uint32_t)s->opts.pids[i] == pid)
			return true;
	return false;
}

static uint64_t extra_counter(const struct fsc_session *s, enum fsc_counter which)
{
	return fsc_counts_sum(&s->counts, s->cfg.calibrate_row + which);
}

bool fsc_session_bystanders(const struct fsc_session *s, struct fsc_bystander_hits *ret)
{
	int map = bpf_map__fd(s->skel->maps.bystanders);
	uint32_t pid, *prev = NULL;

	*ret = (struct fsc_bystander_hits){0};
	if (!s->cfg.bystanders || s->of)
		return false;
	ret->hits = extra_counter(s, FSC_COUNTER_BYSTANDERS);
	for (; !bpf_map_get_next_key(map, prev, &pid); prev = &pid) {
		ret->partly += is_target_pid(s, pid);
		ret->processes += !is_target_pid(s, pid);
	}
	return true;
}

uint64_t fsc_counts_sum(const struct fsc_counts *c, uint32_t row)
{
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < c->n_cpus; cpu++)
		sum += __atomic_load_n(&c->at[(size_t)cpu * c->stride + row], __ATOMIC_RELAXED);
	return sum;
}

uint64_t fsc_session_seen(const struct fsc_session *s, uint32_t row)
{
	return fsc_counts_sum(&s->counts, s->first_row + row);
}

/* Those of a part are counted by the session as a whole, as are losses. */
uint64_t fsc_session_open_calls(const struct fsc_session *s)
{
	uint64_t closed = extra_counter(s, FSC_COUNTER_CLOSED);

	return s->of ? 0 : extra_counter(s, FSC_COUNTER_OPENED) - closed;
}

uint64_t fsc_session_records(const struct fsc_session *s)
{
	return s->records;
}

bool fsc_session_detached(const struct fsc_session *s)
{
	return s->detached;
}

bool fsc_map_walk_next(struct fsc_map_walk *w)
{
	int map = bpf_map__fd(w->map);

	while (!bpf_map_get_next_key(map, w->begun ? w->key : NULL, w->key)) {
		w->begun = true;
		if (!bpf_map_lookup_elem(map, w->key, w->value))
			return true;
	}
	return false;
}

int fsc_session_keys(const struct fsc_session *s,
		     int (*fn)(const struct fsc_count_key *key, uint64_t count, void *arg),
		     void *arg, struct fsc_err *err)
{
	struct fsc_count_key key;
	uint64_t count;
	struct fsc_map_walk w = {.map = s->skel->maps.keyed, .key = &key, .value = &count};
	int rc = 0;

	while (!rc && fsc_map_walk_next(&w))
		if (key.row != s->cfg.calibrate_row)
			rc = fn(&key, count, arg);
	return rc ? fsc_err_nomem(err) : 0;
}

/* ---- measurements ---- */

/* Programs write to it meanwhile: every word is read once. */
static void copy_slot(struct fsc_slot *to, const struct fsc_slot *slot)
{
	uint64_t *words = (uint64_t *)to;
	const uint64_t *from = (const uint64_t *)slot;

	for (size_t i = 0; i < sizeof(*to) / sizeof(uint64_t); i++)
		words[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

void fsc_session_slot(const struct fsc_session *s, uint32_t slot, struct fsc_slot *ret)
{
	struct fsc_slot stripe;
	const struct fsc_slot *copies = s->opts.rules ? fsc_pool_slot(&s->pool, slot)
						      : &s->slots[(size_t)slot * s->cfg.stripes];

	memset(ret, 0, sizeof(*ret));
	for (uint32_t i = 0; copies && i < s->cfg.stripes; i++) {
		copy_slot(&stripe, &copies[i]);
		fsc_slot_add(ret, &stripe);
	}
}

int fsc_session_slots(const struct fsc_session *s,
		      int (*fn)(const struct fsc_count_key *key, uint32_t slot, void *arg),
		      void *arg, struct fsc_err *err)
{
	struct fsc_count_key key;
	uint32_t slot;
	struct fsc_map_walk w = {.map = s->skel->maps.slot_of, .key = &key, .value = &slot};
	int rc = 0;

	while (!rc && fsc_map_walk_next(&w))
		rc = fn(&key, slot, arg);
	return rc ? fsc_err_nomem(err) : 0;
}

int fsc_session_set_cost(struct fsc_session *s, uint32_t row, double inner_ns, double outer_ns,
			 struct fsc_err *err)
{
	struct fsc_cost_row cost = {
	    .inner = (uint32_t)inner_ns, .outer = (uint32_t)outer_ns, .ready = 1};

	row += s->first_row;
	if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.costs), &row, &cost, BPF_ANY))
		return fsc_err_sys(err, errno, "cannot tell the kernel what a probe costs");
	return 0;
}

/* ---- stacks ---- */

int fsc_session_stacks(const struct fsc_session *s,
		       int (*fn)(const struct fsc_stack_key *key, const struct fsc_stack_sums *sums,
				 void *arg),
		       void *arg, struct fsc_err *err)
{
	struct fsc_stack_key key;
	struct fsc_stack_sums sums;
	struct fsc_map_walk w = {.map = s->skel->maps.stack_sums, .key = &key, .value = &sums};
	int rc = 0;

	while (!rc && fsc_map_walk_next(&w))
		rc = fn(&key, &sums, arg);
	return rc ? fsc_err_nomem(err) : 0;
}

/* The map that has a stack; its key there. */
static int map_of_stack(const struct fsc_session *s, int32_t id, uint32_t *ret_key)
{
	const bool more = id & FSC_STACK_MORE;

	*ret_key = (uint32_t)id & ~(uint32_t)FSC_STACK_MORE;
	return bpf_map__fd(more ? s->skel->maps.more_stacks : s->skel->maps.stacks);
}

void fsc_session_drop_stack(struct fsc_session *s, int32_t id)
{
	uint32_t key;

	if (id >= 0)
		bpf_map_delete_elem(map_of_stack(s, id, &key), &key);
}

size_t fsc_session_stack(const struct fsc_session *s, int32_t id, uint64_t *addrs, size_t max)
{
	uint64_t all[FSC_STACK_DEPTH] = {0};
	size_t n = 0;
	uint32_t key;

	if (id < 0 || bpf_map_lookup_elem(map_of_stack(s, id, &key), &key, all))
		return 0;
	while (n < FSC_STACK_DEPTH && n < max && all[n]) {
		addrs[n] = all[n];
		n++;
	}
	return n;
}

int fsc_session_new_pids(struct fsc_session *s, int (*fn)(pid_t pid, void *arg), void *arg,
			 struct fsc_err *err)
{
	const uint64_t n = extra_counter(s, FSC_COUNTER_PIDS);
	const uint8_t reported = 1;
	uint32_t pid;
	uint8_t state;
	struct fsc_map_walk w = {.map = s->skel->maps.seen_pids, .key = &pid, .value = &state};
	int rc = 0;

	/* To find an empty map empty, the kernel looks into all of it. */
	if (n == s->pids_reported)
		return 0;
	while (!rc && fsc_map_walk_next(&w)) {
		if (state)
			continue;
		bpf_map_update_elem(bpf_map__fd(w.map), &pid, &reported, BPF_EXIST);
		rc = fn((pid_t)pid, arg);
	}
	if (!rc)
		s->pids_reported = n;
	return rc ? fsc_err_nomem(err) : 0;
}

uint64_t fsc_loss_read(const struct bpf_map *losses, enum fsc_loss which)
{
	uint32_t key = which;
	uint64_t n = 0;

	bpf_map_lookup_elem(bpf_map__fd(losses), &key, &n);
	return n;
}

uint64_t fsc_session_loss(const struct fsc_session *s, enum fsc_loss which)
{
	return s->of ? 0 : fsc_loss_read(s->skel->maps.losses, which);
}

uint64_t fsc_session_missed(const struct fsc_session *s)
{
	struct bpf_program *p;
	uint64_t n = fsc_attacher_missed(&s->attacher);

	if (s->of)
		return n;
	for (size_t i = 0; i < s->programs.n; i++)
		n += fsc_sys_prog_missed(*FSC_AT(int, &s->programs, i));
	bpf_object__for_each_program(p, s->skel->obj) if (bpf_program__fd(p) >= 0) n +=
	    fsc_sys_prog_missed(bpf_program__fd(p));
	return n;
}

const struct fsc_vec *fsc_session_refused(const struct fsc_session *s)
{
	return &s->refused;
}

size_t fsc_session_on_rung(const struct fsc_session *s, enum fsc_rung rung)
{
	return s->on_rung[rung];
}

size_t fsc_session_shifted(const struct fsc_session *s)
{
	size_t n = 0;

	for (size_t i = 0; i < fsc_targets_count(s->targets); i++) {
		const struct fsc_target *t = fsc_targets_at(s->targets, i);

		n += t->nop5 && t->body > t->nop5 && !fsc_attach_fast(s, t);
	}
	return n;
}

bool fsc_session_on_loop(const struct fsc_session *s, const struct fsc_target *t)
{
	return t->looped && !fsc_attach_fast(s, t);
}
