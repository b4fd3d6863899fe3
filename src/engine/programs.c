/* Chooses the programs and maps that a session needs, sizes and loads them. What is not needed is
 * not created, for a quick start. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/log.h"
#include "engine/descriptors.h"
#include "engine/features.h"
#include "engine/preempt.h"
#include "engine/privilege.h"
#include "engine/session_priv.h"
#include "engine/sys.h"
#include "func_snoop.skel.h"

enum {
	MOST_TASKS = 65536,
	MOST_CLAIMS = 65536, /* threads that hit probes while rows move */
	MOST_ERRORS = 4096,  /* distinct ones, per function and process */
	MOST_PIDS = 32768,   /* whose address spaces are tracked */
	MOST_THREADS =
	    2048, /* inside probed functions at a time, if the kernel has no task storage */
	SPARE_THREADS = 64,	/* if it temporarily has none */
	SLOT_MEMORY = 64 << 20, /* for per-CPU copies of the measurements */
	MONITOR_STRIPES = 2,	/* copies of a monitor's: each is of one process */
};

size_t fsc_session_sites(const struct fsc_targets *t, enum fsc_site site)
{
	size_t n = 0;

	for (size_t i = 0; i < fsc_targets_count(t); i++)
		n += fsc_targets_at(t, i)->site == site;
	return n;
}

static bool any_end(const struct fsc_session *s, enum fsc_site site, enum fsc_end end)
{
	for (size_t i = 0; i < fsc_targets_count(s->targets); i++) {
		const struct fsc_target *t = fsc_targets_at(s->targets, i);

		if (t->site == site && fsc_attach_needs_end(s, t, end))
			return true;
	}
	return false;
}

static void want_program(struct bpf_program *p, bool wanted)
{
	if (wanted)
		bpf_program__set_autoload(p, true);
}

/* ---- programs ---- */

/* A session that is not loaded yet has no descriptor. */
enum { SESSION_PLANNED = INT_MAX };

/* Without paired calls a session is only useful if the link is not limited to the traced processes:
 * then it does not touch the returns of others. */
static bool wants_session(const struct fsc_session *s, bool by_pid)
{
	for (size_t i = 0; !s->pairs && !by_pid && i < fsc_targets_count(s->targets); i++) {
		const struct fsc_target *t = fsc_targets_at(s->targets, i);

		if (t->site == FSC_SITE_USER && t->ret && !t->by_insns)
			return true;
	}
	return s->pairs;
}

/* A session replaces the programs for each end, which take a tenth of a second to verify. If it
 * turns out not to load, everything is redone without one. */
static int choose_user(struct fsc_session *s, struct fsc_err *err)
{
	bool by_pid = fsc_session_limits(s->opts.n_pids, s->opts.follow), entry, leave;

	s->user_multi = s->opts.via != FSC_VIA_SINGLE && fsc_feature_uprobe_multi_quick(by_pid);
	if (!s->user_multi && s->opts.via == FSC_VIA_MULTI)
		return fsc_err_set(err, ENOTSUP,
				   "this kernel cannot link many uprobes at once%s; leave "
				   "--via out, or see: funcscope doctor",
				   by_pid ? " for one process" : "");
	if (wants_session(s, by_pid) && s->user_multi && !s->opts.per_row &&
	    s->opts.via == FSC_VIA_BEST && !s->no_session && fsc_feature_uprobe_session_quick())
		s->user_session = SESSION_PLANNED;
	/* The parts of a monitor's session may need any of them. */
	entry = s->opts.rules || any_end(s, FSC_SITE_USER, FSC_END_ENTRY);
	leave = s->opts.rules || any_end(s, FSC_SITE_USER, FSC_END_RETURN) ||
		any_end(s, FSC_SITE_USER, FSC_END_INSNS);
	want_program(s->skel->progs.uprobe_multi_entry, entry && s->user_multi);
	want_program(s->skel->progs.uprobe_multi_exit, leave && s->user_multi);
	want_program(s->skel->progs.generic_entry, entry && !s->user_multi);
	want_program(s->skel->progs.generic_exit, leave && !s->user_multi);
	want_program(s->skel->progs.uprobe_session, s->user_session == SESSION_PLANNED);
	fsc_programs_choose_fast(s);
	return 0;
}

void fsc_programs_choose_fast(struct fsc_session *s)
{
	s->fast = s->opts.fast_uprobes;
	for (size_t i = 0; !s->fast && i < fsc_targets_count(s->targets); i++)
		s->fast = fsc_targets_at(s->targets, i)->nop5 &&
			  fsc_feature_works(FSC_FEATURE_FAST_UPROBE_FORK);
}

static void choose_kernel(struct fsc_session *s)
{
	bool entry = any_end(s, FSC_SITE_KERNEL, FSC_END_ENTRY);
	bool leave = any_end(s, FSC_SITE_KERNEL, FSC_END_RETURN);
	bool best = s->opts.via == FSC_VIA_BEST, multi = best || s->opts.via == FSC_VIA_MULTI;
	bool single = best || s->opts.via == FSC_VIA_SINGLE;
	bool fentry = best || s->opts.via == FSC_VIA_FENTRY;

	want_program(s->skel->progs.kprobe_multi_entry, entry && multi);
	want_program(s->skel->progs.generic_entry, entry && single);
	want_program(s->skel->progs.own_entry, entry && fentry);
	want_program(s->skel->progs.kprobe_multi_exit, leave && multi);
	want_program(s->skel->progs.generic_exit, leave && single);
	want_program(s->skel->progs.own_exit, leave && fentry);
	want_program(s->skel->progs.kprobe_session, s->pairs && s->opts.via == FSC_VIA_BEST);
}

/* trace reads the fields of the record, which raw tracepoints do not have. */
static void choose_tracepoints(struct fsc_session *s)
{
	bool raw = s->opts.mode != FSC_MODE_TRACE;

	want_program(s->skel->progs.tracepoint_entry, true);
	want_program(s->skel->progs.own_entry, raw);
	want_program(s->skel->progs.syscall_enter, raw);
	want_program(s->skel->progs.syscall_exit, raw);
}

static void set_attach_types(struct func_snoop_bpf *skel)
{
	const struct {
		struct bpf_program *prog;
		int type;
	} all[] = {{skel->progs.uprobe_multi_entry, FSC_ATTACH_UPROBE_MULTI},
		   {skel->progs.uprobe_multi_exit, FSC_ATTACH_UPROBE_MULTI},
		   {skel->progs.kprobe_multi_entry, FSC_ATTACH_KPROBE_MULTI},
		   {skel->progs.kprobe_multi_exit, FSC_ATTACH_KPROBE_MULTI}};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		bpf_program__set_expected_attach_type(all[i].prog,
						      (enum bpf_attach_type)all[i].type);
}

/* ---- maps ---- */

static void want_map(struct bpf_map *m, bool wanted, uint64_t entries)
{
	bpf_map__set_autocreate(m, wanted);
	if (wanted && entries)
		bpf_map__set_max_entries(m, (uint32_t)entries);
}

/* Enough chunks for every key, and for calibration. */
static uint32_t chunks_of(const struct fsc_session *s)
{
	return s->opts.max_keys / FSC_CHUNK_SLOTS + 1;
}

/* One copy of the measurements per CPU, as far as memory allows. */
static void size_slots(struct fsc_session *s)
{
	uint64_t most;

	if (s->opts.mode != FSC_MODE_TIME)
		return;
	s->cfg.slots = (s->opts.by ? s->opts.max_keys : s->cfg.calibrate_row) + 1;
	most = s->opts.rules ? MONITOR_STRIPES
			     : SLOT_MEMORY / (s->cfg.slots * sizeof(struct fsc_slot));
	s->cfg.stripes = most < 1 ? 1 : most > s->n_cpus ? s->n_cpus : (uint32_t)most;
	if (s->opts.rules)
		s->cfg.slots = FSC_CHUNK_SLOTS * chunks_of(s);
}

static int size_maps(struct fsc_session *s, struct fsc_err *err)
{
	const struct fsc_session_opts *o = &s->opts;
	uint64_t counters = (uint64_t)s->n_cpus * s->cfg.stride;
	size_t tasks = o->n_tids ? o->n_tids : o->n_pids;
	uint32_t more_stacks = o->max_stacks / 4 + 1;
	bool timed = o->mode == FSC_MODE_TIME;

	if (counters > UINT32_MAX / 8)
		return fsc_err_set(err, E2BIG,
				   "%u functions on %u CPUs are too many to count at once",
				   s->cfg.calibrate_row, s->n_cpus);
	size_slots(s);
	want_map(s->skel->maps.counts, true, counters);
	want_map(s->skel->maps.keyed, o->mode == FSC_MODE_COUNT && o->by,
		 (uint64_t)o->max_keys + 1); /* + calibration */
	want_map(s->skel->maps.tasks, true, o->follow || o->rules ? MOST_TASKS : tasks ? tasks : 1);
	want_map(s->skel->maps.claims, s->cfg.moves, MOST_CLAIMS);
	want_map(s->skel->maps.judging, o->rules, 1);
	want_map(s->skel->maps.syscalls, fsc_session_sites(s->targets, FSC_SITE_TRACEPOINT), 0);
	want_map(s->skel->maps.threads, s->pairs && s->cfg.keep != FSC_KEEP_HASH, 0);
	want_map(s->skel->maps.threads_by_id, s->pairs && s->cfg.keep != FSC_KEEP_COOKIE,
		 s->cfg.keep == FSC_KEEP_HASH ? MOST_THREADS : SPARE_THREADS);
	want_map(s->skel->maps.no_calls, s->pairs && s->cfg.keep != FSC_KEEP_COOKIE, 1);
	want_map(s->skel->maps.bystanders, s->cfg.bystanders, FSC_MOST_BYSTANDERS);
	want_map(s->skel->maps.overheads, s->pairs && s->cfg.keep == FSC_KEEP_COOKIE, 0);
	want_map(s->skel->maps.no_overhead, s->pairs && s->cfg.keep == FSC_KEEP_COOKIE, 1);
	want_map(s->skel->maps.overheads_by_id, s->pairs && s->cfg.keep == FSC_KEEP_COOKIE,
		 SPARE_THREADS);
	want_map(s->skel->maps.slots, timed && !o->rules, (uint64_t)s->cfg.slots * s->cfg.stripes);
	want_map(s->skel->maps.slot_chunks, o->rules, chunks_of(s));
	want_map(s->skel->maps.slot_of, timed && o->by, o->max_keys);
	want_map(s->skel->maps.next_slot, timed && o->by, 1);
	want_map(s->skel->maps.free_slots, o->rules, s->cfg.slots);
	want_map(s->skel->maps.rules, o->rules, s->cfg.calibrate_row + 1);
	want_map(s->skel->maps.errors, o->rules, MOST_ERRORS);
	want_map(s->skel->maps.off_cpu, o->off_cpu, MOST_THREADS);
	want_map(s->skel->maps.costs, timed, s->cfg.calibrate_row + 1);
	want_map(s->skel->maps.stacks, o->stacks, o->max_stacks);
	want_map(s->skel->maps.more_stacks, o->stacks, more_stacks);
	want_map(s->skel->maps.own_stacks, o->stacks, 0);
	want_map(s->skel->maps.stack_sums, o->mode == FSC_MODE_STACK, o->max_stacks + more_stacks);
	fsc_copies_size(s->skel->maps.copies, s->skel->maps.unwind_rules, s->skel->maps.chains,
			s->skel->maps.copy_ids, o->copy_stacks, o->max_stacks);
	want_map(s->skel->maps.seen_pids, o->stacks & FSC_STACKS_USER, MOST_PIDS);
	want_map(s->skel->maps.rings, o->n_rings, o->n_rings + 1); /* + calibration */
	want_map(s->skel->maps.ring_rows, o->n_rings, s->cfg.calibrate_row + 1);
	want_map(s->skel->maps.programs, o->mode == FSC_MODE_TRACE, s->cfg.calibrate_row + 1);
	want_map(s->skel->maps.ticks, o->sample > 1 || o->rules, s->cfg.calibrate_row + 1);
	return 0;
}

int fsc_programs_choose(struct fsc_session *s, struct fsc_err *err)
{
	int rc = 0;

	set_attach_types(s->skel);
	if (fsc_session_sites(s->targets, FSC_SITE_USER) || s->opts.rules)
		rc = choose_user(s, err);
	if (fsc_session_sites(s->targets, FSC_SITE_KERNEL))
		choose_kernel(s);
	if (fsc_session_sites(s->targets, FSC_SITE_TRACEPOINT))
		choose_tracepoints(s);
	want_program(s->skel->progs.follow_fork, fsc_session_follows(s));
	want_program(s->skel->progs.follow_exit, fsc_session_follows(s));
	want_program(s->skel->progs.sched_switch, s->opts.off_cpu);
	want_program(s->skel->progs.judge_anew, s->opts.rules);
	want_program(s->skel->progs.try_threads, s->pairs && s->cfg.keep == FSC_KEEP_STORAGE);
	want_program(s->skel->progs.try_overheads, s->pairs && s->cfg.keep == FSC_KEEP_COOKIE);
	return rc ? rc : size_maps(s, err);
}

/* ---- loading ---- */

static void *map_memory(const struct bpf_map *m, size_t size, int prot, size_t *ret_size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p;

	*ret_size = (size + page - 1) / page * page;
	p = mmap(NULL, *ret_size, prot, MAP_SHARED, bpf_map__fd(m), 0);
	return p == MAP_FAILED ? NULL : p;
}

int fsc_counts_map(struct fsc_counts *c, const struct bpf_map *m, uint32_t n_cpus, uint32_t stride)
{
	size_t size = (size_t)n_cpus * stride * sizeof(*c->at);

	c->n_cpus = n_cpus;
	c->stride = stride;
	c->at = map_memory(m, size, PROT_READ | PROT_WRITE, &c->size);
	return c->at ? 0 : -errno;
}

void fsc_counts_unmap(struct fsc_counts *c)
{
	if (c->at)
		munmap((void *)c->at, c->size);
}

static int map_results(struct fsc_session *s, struct fsc_err *err)
{
	size_t slots = (size_t)s->cfg.slots * s->cfg.stripes * sizeof(struct fsc_slot);
	int rc = fsc_counts_map(&s->counts, s->skel->maps.counts, s->n_cpus, s->cfg.stride);

	if (rc)
		return fsc_err_sys(err, -rc, "cannot map the counters");
	if (s->opts.rules)
		return fsc_pool_install(&s->pool, bpf_map__fd(s->skel->maps.slot_chunks),
					bpf_map__fd(s->skel->maps.free_slots), err);
	if (!slots)
		return 0;
	s->slots = map_memory(s->skel->maps.slots, slots, PROT_READ, &s->slots_size);
	return s->slots ? 0 : fsc_err_sys(err, errno, "cannot map the measurements");
}

static int fill_programs(struct fsc_session *s, struct fsc_err *err)
{
	int map = bpf_map__fd(s->skel->maps.programs);

	for (uint32_t row = 0; s->opts.programs && row < s->cfg.calibrate_row; row++)
		if (bpf_map_update_elem(map, &row, &s->opts.programs[row], BPF_ANY))
			return fsc_err_sys(err, errno, "cannot pass an expression to the kernel");
	return 0;
}

/* If the kernel does not accept the program for both ends, two are used instead. -EAGAIN: these
 * must be loaded first. */
static int load_sessions(struct fsc_session *s)
{
	if (bpf_program__autoload(s->skel->progs.kprobe_session) &&
	    fsc_feature_works(FSC_FEATURE_KPROBE_SESSION))
		s->kernel_session =
		    fsc_own_session(s, s->skel->progs.kprobe_session, FSC_ATTACH_KPROBE_SESSION);
	if (s->user_session != SESSION_PLANNED)
		return 0;
	s->user_session =
	    fsc_own_session(s, s->skel->progs.uprobe_session, FSC_ATTACH_UPROBE_SESSION);
	if (s->user_session >= 0)
		return 0;
	fsc_log(FSC_LOG_DEBUG, "no uprobe session: %s", strerror(-s->user_session));
	s->no_session = true;
	return -EAGAIN;
}

/* The template for threads whose calls are kept by thread ID. */
static int fill_no_calls(struct fsc_session *s, struct fsc_err *err)
{
	const struct fsc_thread no_calls = {.by_id = 1};
	const struct fsc_overhead no_overhead = {.by_id = 1};
	const bool in_cookie = s->cfg.keep == FSC_KEEP_COOKIE;
	const struct bpf_map *m = in_cookie ? s->skel->maps.no_overhead : s->skel->maps.no_calls;
	const void *none = in_cookie ? (const void *)&no_overhead : &no_calls;
	uint32_t zero = 0;

	if (s->pairs && bpf_map_update_elem(bpf_map__fd(m), &zero, none, BPF_ANY))
		return fsc_err_sys(err, errno, "cannot prepare a thread's calls");
	return 0;
}

/* If the kernel has task storage but cannot allocate any, the session is opened again without. */
static int try_storage(const struct fsc_session *s, struct fsc_err *err)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	const struct bpf_program *p = s->cfg.keep == FSC_KEEP_COOKIE ? s->skel->progs.try_overheads
								     : s->skel->progs.try_threads;

	if (!bpf_program__autoload(p) || bpf_prog_test_run_opts(bpf_program__fd(p), &run) ||
	    run.retval)
		return 0;
	return fsc_err_set(err, ENOMEM, "the kernel has no task storage");
}

static int check_private_stacks(const struct fsc_session *s, struct fsc_err *err)
{
	const struct bpf_program *const on_user[] = {
	    s->skel->progs.uprobe_multi_entry, s->skel->progs.uprobe_multi_exit,
	    s->skel->progs.generic_entry, s->skel->progs.generic_exit};
	int rc = fsc_preempt_check("uprobe_session", s->user_session, err);

	for (size_t i = 0; !rc && i < sizeof(on_user) / sizeof(on_user[0]); i++)
		if (bpf_program__autoload(on_user[i]))
			rc = fsc_preempt_check(bpf_program__name(on_user[i]),
					       bpf_program__fd(on_user[i]), err);
	return rc;
}

/* In advance: if they run out halfway, libbpf concludes that the kernel lacks a feature, and says
 * "Invalid argument". */
static int check_descriptors(const struct fsc_session *s, struct fsc_err *err)
{
	enum { TEMPORARY = 3 }; /* for libbpf's own probing */
	struct bpf_program *p;
	struct bpf_map *m;
	size_t n = TEMPORARY;

	bpf_object__for_each_map(m, s->skel->obj) n += bpf_map__autocreate(m);
	bpf_object__for_each_program(p, s->skel->obj) n += bpf_program__autoload(p);
	return n > fsc_descriptors_left() ? fsc_descriptors_err(err, "the BPF programs") : 0;
}

static int open_pool(struct fsc_session *s, struct fsc_err *err)
{
	int rc;

	fsc_pool_release(&s->pool);
	rc = fsc_pool_init(&s->pool, s->cfg.stripes, s->cfg.slots, err);
	if (rc)
		return rc;
	rc = bpf_map__set_inner_map_fd(s->skel->maps.slot_chunks, fsc_pool_template(&s->pool));
	return rc ? fsc_err_sys(err, -rc, "cannot prepare memory for measurements") : 0;
}

static int explain_load(const struct fsc_session *s, int rc, struct fsc_err *err)
{
	if (rc == -EPERM || rc == -EACCES)
		return fsc_privilege_err(err, -rc, "load a BPF program");
	if (rc != -ENOMEM || !s->opts.by)
		return fsc_err_sys(err, -rc, "the kernel rejects funcscope's BPF programs");
	fsc_err_sys(err, -rc, "the kernel has no room for %u keys", s->opts.max_keys);
	return fsc_err_hint(err, "a smaller --max-keys needs less");
}

int fsc_programs_load(struct fsc_session *s, struct fsc_err *err)
{
	int rc = check_descriptors(s, err);

	if (rc)
		return rc;
	memcpy((void *)&s->skel->rodata->cfg, &s->cfg, sizeof(s->cfg));
	rc = s->opts.rules ? open_pool(s, err) : 0;
	if (rc)
		return rc;
	rc = func_snoop_bpf__load(s->skel);
	if (rc)
		return explain_load(s, rc, err);
	rc = load_sessions(s);
	if (rc)
		return rc;
	rc = check_private_stacks(s, err);
	if (!rc)
		rc = try_storage(s, err);
	if (!rc)
		rc = fill_no_calls(s, err);
	if (!rc)
		rc = map_results(s, err);
	if (!rc)
		rc = fsc_tasks_fill(s, err);
	if (!rc)
		rc = fill_programs(s, err);
	if (rc)
		return rc;
	fsc_session_count(s, s->opts.rules);
	return fsc_rings_open(s, err);
}
