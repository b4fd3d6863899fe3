/* What a monitor does with a running session: rules of rows, whose calls count, errors, and room
 * that processes leave behind. */
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "engine/session_priv.h"
#include "func_snoop.skel.h"

int fsc_rules_open(struct fsc_session *s, struct fsc_err *err)
{
	int map = bpf_map__fd(s->skel->maps.free_slots);

	for (uint32_t slot = s->cfg.calibrate_row + 1; slot < s->cfg.slots; slot++)
		if (bpf_map_update_elem(map, NULL, &slot, BPF_ANY))
			return fsc_err_sys(err, errno, "cannot give the kernel room to measure in");
	return 0;
}

int fsc_session_set_rule(struct fsc_session *s, uint32_t row, const struct fsc_rule *rule,
			 struct fsc_err *err)
{
	if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.rules), &row, rule, BPF_ANY))
		return fsc_err_sys(err, errno, "cannot tell the kernel which calls are slow");
	return 0;
}

int fsc_session_judge(struct fsc_session *s, pid_t pid, bool wanted, struct fsc_err *err)
{
	uint8_t verdict = wanted ? FSC_WANTED : FSC_UNWANTED;

	if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.tasks), &pid, &verdict, BPF_ANY))
		return fsc_err_sys(err, errno, "cannot tell the kernel whether to watch process %d",
				   pid);
	return 0;
}

int fsc_session_errors(const struct fsc_session *s,
		       int (*fn)(const struct fsc_error_key *key, uint64_t n, void *arg), void *arg,
		       struct fsc_err *err)
{
	int map = bpf_map__fd(s->skel->maps.errors), rc = 0;
	struct fsc_error_key key, *prev = NULL;
	uint64_t n;

	while (!rc && !bpf_map_get_next_key(map, prev, &key)) {
		prev = &key;
		if (!bpf_map_lookup_elem(map, &key, &n))
			rc = fn(&key, n, arg);
	}
	return rc ? fsc_err_nomem(err) : 0;
}

/* The next key is asked for before the present one goes: a key that is gone would begin anew. */
static void forget_errors(struct fsc_session *s, enum fsc_forget (*what)(pid_t pid, void *arg),
			  void *arg)
{
	int map = bpf_map__fd(s->skel->maps.errors);
	struct fsc_error_key key, next;
	bool more = !bpf_map_get_next_key(map, NULL, &key);

	while (more) {
		more = !bpf_map_get_next_key(map, &key, &next);
		if (what((pid_t)key.pid, arg))
			bpf_map_delete_elem(map, &key);
		key = next;
	}
}

static void give_back(struct fsc_session *s, uint32_t slot)
{
	if (slot <= s->cfg.calibrate_row || slot >= s->cfg.slots)
		return;
	memset(&s->slots[(size_t)slot * s->cfg.stripes], 0,
	       s->cfg.stripes * sizeof(struct fsc_slot));
	bpf_map_update_elem(bpf_map__fd(s->skel->maps.free_slots), NULL, &slot, BPF_ANY);
}

static void forget_slots(struct fsc_session *s, enum fsc_forget (*what)(pid_t pid, void *arg),
			 void *arg)
{
	int map = bpf_map__fd(s->skel->maps.slot_of);
	struct fsc_count_key key, next;
	uint32_t slot;
	bool more = !bpf_map_get_next_key(map, NULL, &key);

	while (more) {
		more = !bpf_map_get_next_key(map, &key, &next);
		if (what((pid_t)key.pid, arg) && !bpf_map_lookup_elem(map, &key, &slot) &&
		    !bpf_map_delete_elem(map, &key))
			give_back(s, slot);
		key = next;
	}
}

static void forget_numbers(int map, enum fsc_forget (*what)(pid_t pid, void *arg), void *arg)
{
	uint32_t pid, next;
	bool more = map >= 0 && !bpf_map_get_next_key(map, NULL, &pid);

	while (more) {
		more = !bpf_map_get_next_key(map, &pid, &next);
		if (what((pid_t)pid, arg) == FSC_FORGET_ALL)
			bpf_map_delete_elem(map, &pid);
		pid = next;
	}
}

void fsc_session_forget(struct fsc_session *s, enum fsc_forget (*what)(pid_t pid, void *arg),
			void *arg)
{
	forget_slots(s, what, arg);
	forget_errors(s, what, arg);
	if (s->opts.judged)
		forget_numbers(bpf_map__fd(s->skel->maps.tasks), what, arg);
	if (s->opts.stacks & FSC_STACKS_USER)
		forget_numbers(bpf_map__fd(s->skel->maps.seen_pids), what, arg);
}

int fsc_session_mute(struct fsc_session *s, uint32_t row, bool mute, struct fsc_err *err)
{
	int map = bpf_map__fd(s->skel->maps.costs);
	struct fsc_cost_row cost;

	if (bpf_map_lookup_elem(map, &row, &cost))
		return fsc_err_sys(err, errno, "cannot ask the kernel what a probe costs");
	cost.ready = !mute;
	if (bpf_map_update_elem(map, &row, &cost, BPF_ANY))
		return fsc_err_sys(err, errno, "cannot tell the kernel to leave a function alone");
	return 0;
}

void fsc_session_drop_stack(struct fsc_session *s, int32_t id)
{
	if (id >= 0)
		bpf_map_delete_elem(bpf_map__fd(s->skel->maps.stacks), &id);
}
