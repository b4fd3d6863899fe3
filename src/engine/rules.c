/* What a monitor does with a running session: rules of rows, verdicts on processes, errors, and
 * reclaiming the slots of exited processes. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "engine/session_priv.h"
#include "func_snoop.skel.h"

int fsc_session_judge(struct fsc_session *s, enum fsc_judging how, struct fsc_err *err)
{
	uint32_t zero = 0, value = how;

	if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.judging), &zero, &value, BPF_ANY))
		return fsc_err_sys(err, errno, "cannot tell the kernel whose calls count");
	return 0;
}

uint64_t fsc_session_row_bystanders(const struct fsc_session *s, uint32_t row)
{
	return fsc_counts_sum(&s->counts, s->cfg.calibrate_row + FSC_COUNTERS + s->first_row + row);
}

int fsc_session_reserve(struct fsc_session *s, size_t spare, const struct fsc_meanwhile *m,
			struct fsc_err *err)
{
	uint32_t zero = 0, taken;

	if (bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.next_slot), &zero, &taken))
		return fsc_err_sys(err, errno, "cannot ask the kernel for the slots in use");
	return fsc_pool_reserve(&s->pool, taken, spare, m, err);
}

int fsc_session_set_rule(struct fsc_session *s, uint32_t row, const struct fsc_rule *rule,
			 struct fsc_err *err)
{
	row += s->first_row;
	if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.rules), &row, rule, BPF_ANY))
		return fsc_err_sys(err, errno, "cannot tell the kernel which calls are slow");
	return 0;
}

int fsc_session_set_verdict(struct fsc_session *s, pid_t pid, bool wanted, struct fsc_err *err)
{
	uint8_t verdict = wanted ? FSC_WANTED : FSC_UNWANTED;

	if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.tasks), &pid, &verdict, BPF_ANY))
		return fsc_err_sys(err, errno, "cannot tell the kernel whether to watch process %d",
				   pid);
	return 0;
}

static uint8_t verdict_on(const struct fsc_session *s, pid_t pid)
{
	uint8_t verdict = 0;

	bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.tasks), &pid, &verdict);
	return verdict;
}

bool fsc_session_is_pending(const struct fsc_session *s, pid_t pid)
{
	return verdict_on(s, pid) == FSC_PENDING;
}

void fsc_session_clear_verdict(struct fsc_session *s, pid_t pid)
{
	if (verdict_on(s, pid) == FSC_UNWANTED)
		bpf_map_delete_elem(bpf_map__fd(s->skel->maps.tasks), &pid);
}

static bool is_running(pid_t pid)
{
	return !kill(pid, 0) || errno != ESRCH;
}

/* ---- errors ---- */

int fsc_session_errors(const struct fsc_session *s,
		       int (*fn)(const struct fsc_error_key *key, uint64_t n, void *arg), void *arg,
		       struct fsc_err *err)
{
	struct fsc_error_key key;
	uint64_t n;
	struct fsc_map_walk w = {.map = s->skel->maps.errors, .key = &key, .value = &n};
	int rc = 0;

	while (!rc && fsc_map_walk_next(&w)) {
		const uint64_t *taken = fsc_map_get(&s->errors_taken, &key, sizeof(key));

		n -= taken ? *taken : 0;
		if (n)
			rc = fn(&key, n, arg);
	}
	return rc ? fsc_err_nomem(err) : 0;
}

/* A deleted map element is reused for another key at once, though a program may be about to add to
 * it. So it stays while the process runs, and its previous value is remembered. */
static int take_error(struct fsc_session *s, int map, const struct fsc_error_key *key,
		      struct fsc_err *err)
{
	uint64_t *taken, n;

	if (!is_running((pid_t)key->pid)) {
		bpf_map_delete_elem(map, key);
		fsc_map_remove(&s->errors_taken, key, sizeof(*key));
		return 0;
	}
	if (bpf_map_lookup_elem(map, key, &n))
		return 0;
	taken = fsc_map_put(&s->errors_taken, key, sizeof(*key), NULL);
	if (!taken)
		return fsc_err_nomem(err);
	*taken = n;
	return 0;
}

/* The next key is fetched before this one is deleted: after a deleted key the walk would restart.
 */
static int forget_errors(struct fsc_session *s, bool (*which)(pid_t pid, void *arg), void *arg,
			 struct fsc_err *err)
{
	int map = bpf_map__fd(s->skel->maps.errors), rc = 0;
	struct fsc_error_key key, next;
	bool more = !bpf_map_get_next_key(map, NULL, &key);

	while (!rc && more) {
		more = !bpf_map_get_next_key(map, &key, &next);
		if (which((pid_t)key.pid, arg))
			rc = take_error(s, map, &key, err);
		key = next;
	}
	return rc;
}

/* ---- slots ---- */

static int retire_slot(struct fsc_session *s, const struct fsc_count_key *key, struct fsc_err *err)
{
	int map = bpf_map__fd(s->skel->maps.slot_of);
	struct fsc_retired *r;
	uint32_t slot;

	if (bpf_map_lookup_elem(map, key, &slot) || !fsc_pool_slot(&s->pool, slot))
		return 0;
	r = fsc_vec_push(&s->retired);
	if (!r)
		return fsc_err_nomem(err);
	*r = (struct fsc_retired){*key, slot};
	if (bpf_map_delete_elem(map, key))
		s->retired.n--;
	return 0;
}

/* Deletes the keys for which `matches` is true. The next one is fetched first. */
static int retire_keys(struct fsc_session *s,
		       bool (*matches)(const struct fsc_count_key *key, void *arg), void *arg,
		       struct fsc_err *err)
{
	int map = bpf_map__fd(s->skel->maps.slot_of), rc = 0;
	struct fsc_count_key key, next;
	bool more = !bpf_map_get_next_key(map, NULL, &key);

	while (!rc && more) {
		more = !bpf_map_get_next_key(map, &key, &next);
		if (matches(&key, arg))
			rc = retire_slot(s, &key, err);
		key = next;
	}
	return rc;
}

struct forgetting {
	bool (*which)(pid_t pid, void *arg);
	void *arg;
};

static bool is_forgotten(const struct fsc_count_key *key, void *arg)
{
	const struct forgetting *f = arg;

	return f->which((pid_t)key->pid, f->arg);
}

/* Whether a process runs is checked after its keys are deleted: a program that found the slot
 * before runs in one of its threads, so the process still exists. */
int fsc_session_retire(struct fsc_session *s, bool (*which)(pid_t pid, void *arg), void *arg,
		       bool *ret_alive, struct fsc_err *err)
{
	struct forgetting f = {which, arg};
	int rc = retire_keys(s, is_forgotten, &f, err);

	for (size_t i = 0; !*ret_alive && i < s->retired.n; i++)
		*ret_alive = is_running((pid_t)FSC_AT(struct fsc_retired, &s->retired, i)->key.pid);
	return rc;
}

static bool is_of_part(const struct fsc_count_key *key, void *arg)
{
	const struct fsc_session *part = arg;

	return key->row - part->first_row < part->targets->rows.n;
}

int fsc_session_retire_part(const struct fsc_session *part, struct fsc_err *err)
{
	return retire_keys(part->of, is_of_part, (void *)part, err);
}

/* When the update of a map of maps returns, the kernel guarantees that programs which could see the
 * old value have finished. The value does not change here. */
int fsc_session_settle(const struct fsc_session *s, struct fsc_err *err)
{
	uint32_t at = s->opts.n_rings;

	if (s->own_ring_fd < 0)
		return fsc_err_set(err, EINVAL, "a session without rings cannot wait for programs");
	if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.rings), &at, &s->own_ring_fd, BPF_ANY))
		return fsc_err_sys(err, errno, "cannot wait for BPF programs that are running");
	return 0;
}

int fsc_session_reclaim(struct fsc_session *s,
			int (*fn)(const struct fsc_count_key *key, const struct fsc_slot *slot,
				  void *arg),
			void *arg, struct fsc_err *err)
{
	int rc = 0;

	while (!rc && s->retired.n) {
		struct fsc_retired r = *FSC_AT(struct fsc_retired, &s->retired, s->retired.n - 1);
		struct fsc_slot slot;

		fsc_session_slot(s, r.slot, &slot);
		rc = fn(&r.key, &slot, arg);
		if (rc)
			break;
		s->retired.n--;
		fsc_pool_free(&s->pool, r.slot);
	}
	return rc ? fsc_err_nomem(err) : 0;
}

/* ---- verdicts ---- */

int fsc_session_forget(struct fsc_session *s, bool (*which)(pid_t pid, void *arg), void *arg,
		       struct fsc_err *err)
{
	return forget_errors(s, which, arg, err);
}

void fsc_session_forget_exited(struct fsc_session *s, pid_t pid)
{
	const struct bpf_map *const maps[] = {
	    s->skel->maps.tasks, s->skel->maps.bystanders,
	    s->opts.stacks & FSC_STACKS_USER ? s->skel->maps.seen_pids : NULL};

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		if (maps[i] && bpf_map__fd(maps[i]) >= 0)
			bpf_map_delete_elem(bpf_map__fd(maps[i]), &pid);
}

int fsc_session_mute(struct fsc_session *s, uint32_t row, bool mute, struct fsc_err *err)
{
	int map = bpf_map__fd(s->skel->maps.costs);
	struct fsc_cost_row cost;

	row += s->first_row;
	if (bpf_map_lookup_elem(map, &row, &cost))
		return fsc_err_sys(err, errno, "cannot ask the kernel what a probe costs");
	cost.ready = !mute;
	if (bpf_map_update_elem(map, &row, &cost, BPF_ANY))
		return fsc_err_sys(err, errno, "cannot disable a function in the kernel");
	return 0;
}
