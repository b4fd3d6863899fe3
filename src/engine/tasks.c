/* The table of traced processes and threads: what it begins with, and the removal of those that
 * have exited. Programs add the children that are followed. */
#include <errno.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "engine/session_priv.h"
#include "func_snoop.skel.h"
#include "proc/task.h"

int fsc_tasks_fill(struct fsc_session *s, struct fsc_err *err)
{
	const struct fsc_session_opts *o = &s->opts;
	const pid_t *ids = o->n_tids ? o->tids : o->pids;
	size_t n = o->n_tids ? o->n_tids : o->n_pids;
	uint8_t one = 1;

	for (size_t i = 0; i < n; i++)
		if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.tasks), &ids[i], &one, BPF_ANY))
			return fsc_err_sys(err, errno, "cannot tell the kernel to watch task %d",
					   ids[i]);
	return 0;
}

/* Removing while walking would begin the walk again. Without memory some stay until the next time.
 */
size_t fsc_session_forget_exited_tasks(struct fsc_session *s)
{
	FSC_AUTO(fsc_vec_release) struct fsc_vec gone = FSC_VEC_INIT(uint32_t);
	uint32_t id, *slot;
	uint8_t verdict;
	struct fsc_map_walk w = {.map = s->skel->maps.tasks, .key = &id, .value = &verdict};
	size_t left = 0;

	while (fsc_map_walk_next(&w)) {
		slot = fsc_task_has_exited((pid_t)id) ? fsc_vec_push(&gone) : NULL;
		if (slot)
			*slot = id;
		left += !slot;
	}
	for (size_t i = 0; i < gone.n; i++)
		bpf_map_delete_elem(bpf_map__fd(s->skel->maps.tasks), FSC_AT(uint32_t, &gone, i));
	return left;
}
