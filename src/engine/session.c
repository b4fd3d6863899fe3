/* The life of a session: open, configure, size the maps, load, attach, read, detach. */
#include "engine/session_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "engine/features.h"
#include "engine/privilege.h"
#include "engine/sys.h"
#include "func_snoop.skel.h"
#include "sym/libs.h"
#include "sym/tpformat.h"
#include "sym/tracefs.h"

const char *const fsc_rung_names[FSC_RUNG_MAX] = {
    [FSC_RUNG_UPROBE_MULTI] = "uprobe.multi",
    [FSC_RUNG_UPROBE] = "uprobe",
    [FSC_RUNG_KPROBE_MULTI] = "kprobe.multi",
    [FSC_RUNG_FENTRY] = "fentry",
    [FSC_RUNG_KPROBE] = "kprobe",
    [FSC_RUNG_RAW_TRACEPOINT] = "raw_tracepoint",
    [FSC_RUNG_TRACEPOINT] = "tracepoint",
};

static size_t count_sites(const struct fsc_targets *t, enum fsc_site site)
{
	size_t n = 0;

	for (size_t i = 0; i < fsc_targets_count(t); i++)
		n += fsc_targets_at(t, i)->site == site;
	return n;
}

static bool any_nop(const struct fsc_targets *t)
{
	for (size_t i = 0; i < fsc_targets_count(t); i++)
		if (fsc_targets_at(t, i)->nop5)
			return true;
	return false;
}

/* ---- configuration: the one place that fills it ---- */

static void configure_pidns(struct fsc_config *cfg)
{
	enum { INITIAL_PIDNS = 0xEFFFFFFC };
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == INITIAL_PIDNS)
		return;
	cfg->pidns_dev = st.st_dev;
	cfg->pidns_ino = st.st_ino;
}

static int configure_follow(struct fsc_session *s, struct fsc_err *err)
{
	FSC_AUTO(fsc_closep) int tracefs = -1;
	unsigned offset;
	int rc;

	if (s->cfg.pidns_ino)
		return fsc_err_set(err, ENOTSUP,
				   "cannot follow children from inside a pid namespace; run in the "
				   "initial one, or give --no-follow");
	tracefs = fsc_tracefs_open(err);
	if (tracefs < 0)
		return fsc_err_hint(err, "following children needs tracepoints; give --no-follow");
	rc =
	    fsc_tracepoint_field(tracefs, "sched", "sched_process_fork", "child_pid", &offset, err);
	if (rc)
		return rc;
	s->cfg.fork_child_offset = offset;
	return 0;
}

static bool is_target(const struct fsc_targets *t, const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	for (size_t i = 0; i < t->files.n; i++) {
		const struct fsc_target_file *f = FSC_AT(struct fsc_target_file, &t->files, i);

		if (f->dev == st.st_dev && f->ino == st.st_ino)
			return true;
	}
	return false;
}

/* Whether our own process can hit a probe: in the kernel always, in user space if we map the file.
 * Where it cannot, the program need not ask. */
static bool hits_self(const struct fsc_targets *t)
{
	struct fsc_vec files = FSC_VEC_INIT(struct fsc_libs_file);
	bool hits = count_sites(t, FSC_SITE_USER) < fsc_targets_count(t) ||
		    fsc_libs_mapped(getpid(), &files, NULL);

	for (size_t i = 0; !hits && i < files.n; i++)
		hits = is_target(t, FSC_AT(struct fsc_libs_file, &files, i)->path);
	fsc_libs_release(&files);
	return hits;
}

static int configure(struct fsc_session *s, struct fsc_err *err)
{
	const struct fsc_session_opts *o = &s->opts;
	struct fsc_config *cfg = &s->cfg;

	cfg->by = o->by;
	cfg->calibrate_row = (uint32_t)s->targets->rows.n;
	cfg->stride = (cfg->calibrate_row + 1 + 7) & ~7u;
	configure_pidns(cfg);
	cfg->self_tgid = (uint32_t)getpid();
	if (o->n_tids)
		cfg->only |= FSC_ONLY_TIDS;
	else if (o->n_pids == 1 && !o->follow)
		cfg->only |= FSC_ONLY_TGID, cfg->tgid = (uint32_t)o->pids[0];
	else if (o->n_pids)
		cfg->only |= FSC_ONLY_TGIDS;
	else if (hits_self(s->targets))
		cfg->only |= FSC_ONLY_OTHERS;
	if (o->comm) {
		cfg->only |= FSC_ONLY_COMM;
		strncpy(cfg->comm, o->comm, sizeof(cfg->comm) - 1);
	}
	if (o->cgroup_id) {
		cfg->only |= FSC_ONLY_CGROUP;
		cfg->cgroup_id = o->cgroup_id;
		cfg->cgroup_level = o->cgroup_level;
	}
	return o->n_pids && o->follow ? configure_follow(s, err) : 0;
}

/* ---- choosing programs ---- */

static int choose_user(struct fsc_session *s, struct fsc_err *err)
{
	bool by_pid = s->opts.n_pids && !s->opts.follow;

	s->user_multi = s->opts.via != FSC_VIA_SINGLE && fsc_feature_uprobe_multi_quick(by_pid);
	if (!s->user_multi && s->opts.via == FSC_VIA_MULTI)
		return fsc_err_set(err, ENOTSUP,
				   "this kernel cannot link many uprobes at once%s; leave "
				   "--via out, or see: funcscope doctor",
				   by_pid ? " for one process" : "");
	bpf_program__set_autoload(
	    s->user_multi ? s->skel->progs.uprobe_multi_entry : s->skel->progs.generic_entry, true);
	s->fast = s->opts.fast_uprobes ||
		  (any_nop(s->targets) && fsc_feature_works(FSC_FEATURE_FAST_UPROBE_FORK));
	return 0;
}

static void choose_kernel(struct fsc_session *s)
{
	bpf_program__set_autoload(s->skel->progs.kprobe_multi_entry, true);
	bpf_program__set_autoload(s->skel->progs.generic_entry, true);
	bpf_program__set_autoload(s->skel->progs.own_entry, true);
}

static void choose_tracepoints(struct fsc_session *s)
{
	bpf_program__set_autoload(s->skel->progs.tracepoint_entry, true);
	bpf_program__set_autoload(s->skel->progs.own_entry, true);
	bpf_program__set_autoload(s->skel->progs.syscall_enter, true);
	bpf_program__set_autoload(s->skel->progs.syscall_exit, true);
}

static int choose_programs(struct fsc_session *s, struct fsc_err *err)
{
	int rc = 0;

	bpf_program__set_expected_attach_type(s->skel->progs.uprobe_multi_entry,
					      (enum bpf_attach_type)FSC_ATTACH_UPROBE_MULTI);
	bpf_program__set_expected_attach_type(s->skel->progs.kprobe_multi_entry,
					      (enum bpf_attach_type)FSC_ATTACH_KPROBE_MULTI);
	if (count_sites(s->targets, FSC_SITE_USER))
		rc = choose_user(s, err);
	if (count_sites(s->targets, FSC_SITE_KERNEL))
		choose_kernel(s);
	if (count_sites(s->targets, FSC_SITE_TRACEPOINT))
		choose_tracepoints(s);
	if (s->opts.n_pids && s->opts.follow) {
		bpf_program__set_autoload(s->skel->progs.follow_fork, true);
		bpf_program__set_autoload(s->skel->progs.follow_exit, true);
	}
	return rc;
}

/* ---- loading ---- */

static int size_maps(struct fsc_session *s, struct fsc_err *err)
{
	const struct fsc_session_opts *o = &s->opts;
	uint64_t slots = (uint64_t)s->n_cpus * s->cfg.stride;
	size_t tasks = o->n_tids ? o->n_tids : o->n_pids;

	if (slots > UINT32_MAX / 8)
		return fsc_err_set(err, E2BIG,
				   "%u functions on %u CPUs are too many to count at once",
				   s->cfg.calibrate_row, s->n_cpus);
	bpf_map__set_max_entries(s->skel->maps.counts, (uint32_t)slots);
	if (o->by)
		bpf_map__set_max_entries(s->skel->maps.keyed, o->max_keys + 1); /* + calibration */
	bpf_map__set_max_entries(s->skel->maps.tasks, o->follow ? 65536
						      : tasks	? (uint32_t)tasks
								: 1);
	return 0;
}

static int map_counts(struct fsc_session *s, struct fsc_err *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = (size_t)s->n_cpus * s->cfg.stride * sizeof(uint64_t);
	void *p;

	size = (size + page - 1) / page * page;
	p = mmap(NULL, size, PROT_READ, MAP_SHARED, bpf_map__fd(s->skel->maps.counts), 0);
	if (p == MAP_FAILED)
		return fsc_err_sys(err, errno, "cannot map the counters");
	s->counts = p;
	s->counts_size = size;
	return 0;
}

static int fill_tasks(struct fsc_session *s, struct fsc_err *err)
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

static int load(struct fsc_session *s, struct fsc_err *err)
{
	int rc;

	memcpy((void *)&s->skel->rodata->cfg, &s->cfg, sizeof(s->cfg));
	rc = func_snoop_bpf__load(s->skel);
	if (rc == -EPERM || rc == -EACCES)
		return fsc_privilege_err(err, -rc, "load a BPF program");
	if (rc)
		return fsc_err_sys(err, -rc, "the kernel does not take funcscope's BPF programs");
	return 0;
}

/* Every probe of the single rungs is a descriptor: use all we may have. */
static void raise_file_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur == r.rlim_max)
		return;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char text[800];

	vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	if (level == LIBBPF_DEBUG)
		return 0;
	fsc_log(FSC_LOG_DEBUG, "%s", text);
	return 0;
}

static int open_session(struct fsc_session *s, struct fsc_err *err)
{
	const char *why;
	int rc = fsc_feature_try(FSC_FEATURE_BPF, &why);

	if (rc == -EPERM || rc == -EACCES)
		return fsc_privilege_err(err, -rc, "load a BPF program");
	if (rc)
		return fsc_err_set(err, -rc, "this kernel runs no BPF programs for us (%s)", why);
	raise_file_limit();
	s->skel = func_snoop_bpf__open();
	if (!s->skel)
		return fsc_err_sys(err, errno, "cannot open funcscope's BPF programs");
	rc = configure(s, err);
	if (rc)
		return rc;
	rc = choose_programs(s, err);
	if (!rc)
		rc = size_maps(s, err);
	if (!rc)
		rc = load(s, err);
	if (!rc)
		rc = map_counts(s, err);
	return rc ? rc : fill_tasks(s, err);
}

int fsc_session_open(struct fsc_targets *targets, const struct fsc_session_opts *opts,
		     struct fsc_session **ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_session_freep) struct fsc_session *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return fsc_err_nomem(err);
	s->targets = targets;
	s->opts = *opts;
	s->n_cpus = (uint32_t)libbpf_num_possible_cpus();
	s->links = FSC_VEC_INIT(int);
	s->late_links = FSC_VEC_INIT(int);
	s->programs = FSC_VEC_INIT(int);
	s->refused = FSC_VEC_INIT(struct fsc_refused);
	libbpf_set_print(print_libbpf);
	rc = open_session(s, err);
	if (rc)
		return rc;
	*ret = fsc_take(&s);
	return 0;
}

/* ---- attaching and detaching ---- */

int fsc_session_keep(struct fsc_vec *fds, int fd, struct fsc_err *err)
{
	int *slot = fsc_vec_push(fds);

	if (!slot) {
		close(fd);
		return fsc_err_nomem(err);
	}
	*slot = fd;
	return 0;
}

int fsc_session_refuse(struct fsc_session *s, size_t target, int code, struct fsc_err *err)
{
	struct fsc_refused *r = fsc_vec_push(&s->refused);

	if (!r)
		return fsc_err_nomem(err);
	*r = (struct fsc_refused){.target = target, .code = code < 0 ? -code : code};
	return 0;
}

static int all_refused(const struct fsc_session *s, struct fsc_err *err)
{
	const struct fsc_refused *r = FSC_AT(struct fsc_refused, &s->refused, 0);
	const struct fsc_target *t = fsc_targets_at(s->targets, r->target);

	if (r->code == EPERM || r->code == EACCES)
		return fsc_privilege_err(err, r->code, "attach to %s",
					 fsc_targets_row(s->targets, t->row)->name);
	fsc_err_sys(err, r->code, "the kernel refuses %s%s",
		    s->refused.n > 1 ? "every function asked for, the first being " : "",
		    fsc_targets_row(s->targets, t->row)->name);
	return fsc_err_hint(err, "see what this machine can do with: funcscope doctor");
}

int fsc_session_attach(struct fsc_session *s, struct fsc_err *err)
{
	int rc = fsc_attach_follow(s, err);

	if (!rc)
		rc = fsc_attach_user(s, err);
	if (!rc)
		rc = fsc_attach_kernel(s, err);
	if (!rc)
		rc = fsc_attach_tracepoints(s, err);
	if (!rc && s->refused.n == fsc_targets_count(s->targets))
		rc = all_refused(s, err);
	if (rc)
		fsc_session_detach(s);
	return rc;
}

void fsc_session_detach(struct fsc_session *s)
{
	for (size_t i = 0; i < s->links.n; i++)
		s->missed += fsc_sys_link_missed(*FSC_AT(int, &s->links, i));
	for (size_t i = 0; i < s->links.n; i++)
		close(*FSC_AT(int, &s->links, i));
	s->links.n = 0;
}

void fsc_session_free(struct fsc_session *s)
{
	if (!s)
		return;
	fsc_session_detach(s);
	for (size_t i = 0; i < s->late_links.n; i++)
		close(*FSC_AT(int, &s->late_links, i));
	for (size_t i = 0; i < s->programs.n; i++)
		close(*FSC_AT(int, &s->programs, i));
	if (s->counts)
		munmap((void *)s->counts, s->counts_size);
	func_snoop_bpf__destroy(s->skel);
	fsc_vec_release(&s->links);
	fsc_vec_release(&s->late_links);
	fsc_vec_release(&s->programs);
	fsc_vec_release(&s->refused);
	free(s);
}

void fsc_session_freep(struct fsc_session **s)
{
	fsc_session_free(*s);
}

/* ---- reading ---- */

uint64_t fsc_session_seen(const struct fsc_session *s, uint32_t row)
{
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < s->n_cpus; cpu++)
		sum += __atomic_load_n(&s->counts[(size_t)cpu * s->cfg.stride + row],
				       __ATOMIC_RELAXED);
	return sum;
}

int fsc_session_keys(const struct fsc_session *s,
		     int (*fn)(const struct fsc_count_key *key, uint64_t count, void *arg),
		     void *arg, struct fsc_err *err)
{
	int map = bpf_map__fd(s->skel->maps.keyed), rc = 0;
	struct fsc_count_key key, *prev = NULL;
	uint64_t count;

	while (!rc && !bpf_map_get_next_key(map, prev, &key)) {
		prev = &key;
		if (key.row == s->cfg.calibrate_row || bpf_map_lookup_elem(map, &key, &count))
			continue;
		rc = fn(&key, count, arg);
	}
	return rc ? fsc_err_nomem(err) : 0;
}

uint64_t fsc_session_loss(const struct fsc_session *s, enum fsc_loss which)
{
	uint32_t key = which;
	uint64_t n = 0;

	bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.losses), &key, &n);
	return n;
}

uint64_t fsc_session_missed(const struct fsc_session *s)
{
	struct bpf_program *p;
	uint64_t n = s->missed;

	for (size_t i = 0; i < s->links.n; i++)
		n += fsc_sys_link_missed(*FSC_AT(int, &s->links, i));
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

		n += t->nop5 && !fsc_attach_fast(s, t);
	}
	return n;
}
