/* Loads the programs on CUDA calls, fills their tables, and reads their records. */
#include "engine/gpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "engine/features.h"
#include "engine/gpu_priv.h"
#include "engine/kfuncs.h"
#include "engine/preempt.h"
#include "engine/privilege.h"
#include "engine/sys.h"
#include "gpuevent_snoop.skel.h"

enum {
	RING = 16 << 20,
	RING_STACKS = 64 << 20, /* if launches carry stacks */
	MOST_TASKS = 65536,
	MOST_CHAINS = 16384,	    /* stacks that are copied once */
	STRIDE = 2 * FSC_GPU_CALLS, /* counters of one CPU: calls that are records, and all hits */
};

static void gpu_session_freep(struct fsc_gpu_session **s)
{
	fsc_gpu_session_free(*s);
}

void fsc_gpu_session_free(struct fsc_gpu_session *s)
{
	if (!s)
		return;
	fsc_attacher_release(&s->attacher);
	ring_buffer__free(s->rings);
	fsc_copies_close(&s->copies);
	fsc_counts_unmap(&s->counts);
	gpuevent_snoop_bpf__destroy(s->skel);
	free(s);
}

/* ---- loading ---- */

static void configure_gpu(struct fsc_gpu_session *s, const struct fsc_gpu_session_opts *o)
{
	struct fsc_config *cfg = (struct fsc_config *)&s->skel->rodata->cfg;
	struct fsc_gpu_config *gpu = (struct fsc_gpu_config *)&s->skel->rodata->gpu;

	fsc_configure_pidns(cfg);
	cfg->stride = STRIDE;
	cfg->self_tgid = (uint32_t)getpid();
	cfg->only = FSC_ONLY_OTHERS | (o->judged ? FSC_ONLY_WANTED : 0);
	cfg->stack_guard = o->stacks ? fsc_preempt_guard() : FSC_GUARD_NONE;
	cfg->copy_stacks = o->stacks && o->copy_stacks;
	if (cfg->copy_stacks)
		fsc_copies_configure(cfg);
	gpu->stacks = o->stacks;
	gpu->python = o->python;
	gpu->args = o->args;
	gpu->sample = o->sample;
	gpu->ring_bytes = RING;
}

static void choose_programs(struct fsc_gpu_session *s, const struct fsc_gpu_session_opts *o)
{
	struct gpuevent_snoop_bpf *k = s->skel;

	s->multi = fsc_feature_uprobe_multi_quick(false);
	bpf_program__set_autoload(s->multi ? k->progs.gpu_multi_entry : k->progs.gpu_entry, true);
	bpf_program__set_autoload(s->multi ? k->progs.gpu_multi_exit : k->progs.gpu_exit, true);
	bpf_program__set_expected_attach_type(k->progs.gpu_multi_entry,
					      (enum bpf_attach_type)FSC_ATTACH_UPROBE_MULTI);
	bpf_program__set_expected_attach_type(k->progs.gpu_multi_exit,
					      (enum bpf_attach_type)FSC_ATTACH_UPROBE_MULTI);
	bpf_map__set_max_entries(k->maps.counts, (uint32_t)libbpf_num_possible_cpus() * STRIDE);
	bpf_map__set_max_entries(k->maps.tasks, o->max_tasks ? o->max_tasks : MOST_TASKS);
	if (o->max_tasks)
		bpf_map__set_max_entries(k->maps.gpu_pythons, o->max_tasks);
	bpf_map__set_max_entries(k->maps.gpu_launches,
				 o->stacks & FSC_GPU_STACKS_LAUNCHES ? RING_STACKS : RING);
	bpf_map__set_max_entries(k->maps.gpu_events, RING);
	fsc_copies_size(k->maps.copies, k->maps.unwind_rules, k->maps.chains, k->maps.copy_ids,
			o->stacks && o->copy_stacks, MOST_CHAINS);
}

static int on_record(void *arg, void *rec, size_t size)
{
	struct fsc_gpu_session *s = arg;
	const struct fsc_gpu_rec *r = rec;

	if (size >= sizeof(*r) && r->call >= FSC_GPU_CALIBRATE && r->call < FSC_GPU_CALLS)
		return 0; /* from calibration */
	if (size < sizeof(*r) || r->call >= FSC_GPU_CALIBRATE) {
		s->damaged++;
		return 0;
	}
	return s->fn(rec, size, s->arg);
}

static int on_copy(void *arg, void *record, size_t size)
{
	struct fsc_gpu_session *s = arg;

	return s->copy_fn ? s->copy_fn(record, size, s->copy_arg) : 0;
}

static int open_rings(struct fsc_gpu_session *s, bool copies, struct fsc_err *err)
{
	/* In this order: every event before a launch is read no later than the launch. */
	s->rings = ring_buffer__new(bpf_map__fd(s->skel->maps.gpu_launches), on_record, s, NULL);
	if (!s->rings ||
	    ring_buffer__add(s->rings, bpf_map__fd(s->skel->maps.gpu_events), on_record, s))
		return fsc_err_sys(err, errno, "cannot read a ring buffer");
	return copies ? fsc_copies_open(&s->copies, s->skel->maps.copies,
					s->skel->maps.unwind_rules, &s->rings, on_copy, s, err)
		      : 0;
}

/* For calibration: a launch, recorded at its entry, and a call that is recorded at its return. */
static const struct fsc_gpu_call own_calls[] = {
    {.op = FSC_GPU_LAUNCH, .flags = FSC_GPU_ENTRY, .n_args = 11},
    {.op = FSC_GPU_SYNC,
     .addr = FSC_GPU_NO_ARG,
     .src = FSC_GPU_NO_ARG,
     .size = FSC_GPU_NO_ARG,
     .height = FSC_GPU_NO_ARG,
     .dir = FSC_GPU_NO_ARG,
     .n_args = 1},
};

static int fill_calls(struct fsc_gpu_session *s, const struct fsc_gpu_session_opts *o,
		      struct fsc_err *err)
{
	const struct fsc_gpu_names_at none = {-1, -1};
	int map = bpf_map__fd(s->skel->maps.gpu_calls);

	for (uint32_t i = 0; i < o->n_calls; i++)
		if (bpf_map_update_elem(map, &i, &o->calls[i], BPF_ANY))
			return fsc_err_sys(err, errno, "cannot pass the CUDA calls to the kernel");
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t key = FSC_GPU_CALIBRATE + i;

		bpf_map_update_elem(map, &key, &own_calls[i], BPF_ANY);
	}
	for (uint32_t i = 0; i < FSC_GPU_FILES; i++)
		bpf_map_update_elem(bpf_map__fd(s->skel->maps.gpu_names), &i, &none, BPF_ANY);
	return 0;
}

static int load_programs(struct fsc_gpu_session *s, const struct fsc_gpu_session_opts *o,
			 struct fsc_err *err)
{
	int rc;

	fsc_kfuncs_prepare();
	s->skel = gpuevent_snoop_bpf__open();
	if (!s->skel)
		return fsc_err_sys(err, errno, "cannot open funcscope's BPF programs");
	configure_gpu(s, o);
	choose_programs(s, o);
	rc = gpuevent_snoop_bpf__load(s->skel);
	if (rc == -EPERM || rc == -EACCES)
		return fsc_privilege_err(err, -rc, "load gpu's BPF programs");
	if (rc)
		return fsc_err_sys(err, -rc,
				   "the kernel rejects gpu's BPF programs (-v shows why)");
	rc = fsc_preempt_check("gpu_entry", fsc_gpu_prog(s, false), err);
	if (!rc)
		rc = fsc_preempt_check("gpu_exit", fsc_gpu_prog(s, true), err);
	if (!rc)
		rc = fill_calls(s, o, err);
	if (rc)
		return rc;
	rc = fsc_counts_map(&s->counts, s->skel->maps.counts, (uint32_t)libbpf_num_possible_cpus(),
			    STRIDE);
	return rc ? fsc_err_sys(err, -rc, "cannot map the counters")
		  : open_rings(s, o->stacks && o->copy_stacks, err);
}

int fsc_gpu_session_open(const struct fsc_gpu_session_opts *opts, struct fsc_gpu_session **ret,
			 struct fsc_err *err)
{
	FSC_AUTO(gpu_session_freep) struct fsc_gpu_session *s = NULL;
	int rc = fsc_session_possible(err);

	if (rc)
		return rc;
	if (opts->n_calls > FSC_GPU_CALIBRATE)
		return fsc_err_set(err, E2BIG, "%zu CUDA calls are too many", opts->n_calls);
	s = calloc(1, sizeof(*s));
	if (!s)
		return fsc_err_nomem(err);
	fsc_attacher_init(&s->attacher);
	s->copies.copies = s->copies.rules = -1;
	s->copies.fds = FSC_VEC_INIT(int);
	fsc_session_log_libbpf();
	rc = load_programs(s, opts, err);
	if (!rc)
		*ret = fsc_take(&s);
	return rc;
}

int fsc_gpu_prog(const struct fsc_gpu_session *s, bool ret)
{
	const struct gpuevent_snoop_bpf *k = s->skel;

	if (s->multi)
		return bpf_program__fd(ret ? k->progs.gpu_multi_exit : k->progs.gpu_multi_entry);
	return bpf_program__fd(ret ? k->progs.gpu_exit : k->progs.gpu_entry);
}

/* ---- the programs' tables ---- */

int fsc_gpu_session_names(struct fsc_gpu_session *s, uint32_t file,
			  const struct fsc_gpu_names_at *at, struct fsc_err *err)
{
	if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.gpu_names), &file, at, BPF_ANY))
		return fsc_err_sys(
		    err, errno,
		    "cannot pass the location of a driver's kernel names to the kernel");
	return 0;
}

/* A full table is not an error: it is reported once, and counted. */
static int set_process_entry(struct fsc_gpu_session *s, const struct bpf_map *map, pid_t pid,
			     const void *value, enum fsc_gpu_full which, const char *what,
			     struct fsc_err *err)
{
	if (!bpf_map_update_elem(bpf_map__fd(map), &pid, value, BPF_ANY))
		return 0;
	if (errno != E2BIG)
		return fsc_err_sys(err, errno, "cannot tell the kernel %s (process %d)", what,
				   (int)pid);
	if (!s->full[which]++)
		fsc_log(FSC_LOG_WARN,
			"a table in the kernel is full: cannot tell it %s (process %d and others "
			"from now on)",
			what, (int)pid);
	return 0;
}

int fsc_gpu_session_set_verdict(struct fsc_gpu_session *s, pid_t pid, bool wanted,
				struct fsc_err *err)
{
	uint8_t verdict = wanted ? FSC_WANTED : FSC_UNWANTED;

	return set_process_entry(s, s->skel->maps.tasks, pid, &verdict, FSC_GPU_FULL_VERDICTS,
				 "whether a process counts", err);
}

int fsc_gpu_session_python(struct fsc_gpu_session *s, pid_t pid, const struct fsc_python *py,
			   struct fsc_err *err)
{
	return set_process_entry(s, s->skel->maps.gpu_pythons, pid, py, FSC_GPU_FULL_PYTHON,
				 "that a process is Python", err);
}

uint64_t fsc_gpu_session_full(const struct fsc_gpu_session *s, enum fsc_gpu_full which)
{
	return s->full[which];
}

uint64_t fsc_gpu_session_damaged(const struct fsc_gpu_session *s)
{
	return s->damaged;
}

void fsc_gpu_session_forget(struct fsc_gpu_session *s, pid_t pid)
{
	bpf_map_delete_elem(bpf_map__fd(s->skel->maps.tasks), &pid);
	bpf_map_delete_elem(bpf_map__fd(s->skel->maps.gpu_pythons), &pid);
}

/* ---- reading ---- */

int fsc_gpu_session_fd(const struct fsc_gpu_session *s)
{
	return ring_buffer__epoll_fd(s->rings);
}

int fsc_gpu_session_drain(struct fsc_gpu_session *s,
			  int (*fn)(const void *rec, size_t size, void *arg), void *arg,
			  struct fsc_err *err)
{
	int n;

	s->fn = fn;
	s->arg = arg;
	n = ring_buffer__consume(s->rings);
	fsc_copies_grow(&s->copies, fsc_gpu_session_loss(s, FSC_LOSS_COPIES_FULL));
	if (n == -ENOMEM)
		return fsc_err_nomem(err);
	return n < 0 ? fsc_err_sys(err, -n, "cannot read the records of CUDA calls") : 0;
}

void fsc_gpu_session_on_copy(struct fsc_gpu_session *s,
			     int (*fn)(const void *copy, size_t size, void *arg), void *arg)
{
	s->copy_fn = fn;
	s->copy_arg = arg;
}

bool fsc_gpu_session_add_rule(struct fsc_gpu_session *s, const struct fsc_unwind_key *key,
			      uint64_t rule)
{
	return fsc_copies_add_rule(&s->copies, key, rule);
}

uint64_t fsc_gpu_session_seen(const struct fsc_gpu_session *s, uint32_t call)
{
	return fsc_counts_sum(&s->counts, call);
}

uint64_t fsc_gpu_session_hits(const struct fsc_gpu_session *s, uint32_t call)
{
	return fsc_counts_sum(&s->counts, FSC_GPU_CALLS + call);
}

uint64_t fsc_gpu_session_loss(const struct fsc_gpu_session *s, enum fsc_loss which)
{
	return fsc_loss_read(s->skel->maps.losses, which);
}

uint64_t fsc_gpu_session_missed(const struct fsc_gpu_session *s)
{
	return fsc_attacher_missed(&s->attacher) + fsc_sys_prog_missed(fsc_gpu_prog(s, false)) +
	       fsc_sys_prog_missed(fsc_gpu_prog(s, true));
}

const char *fsc_gpu_session_rung(const struct fsc_gpu_session *s)
{
	return fsc_rung_names[s->multi ? FSC_RUNG_UPROBE_MULTI : FSC_RUNG_UPROBE];
}
