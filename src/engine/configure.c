/* Fills in the configuration of the BPF programs. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "engine/inodes.h"
#include "engine/preempt.h"
#include "engine/session_priv.h"
#include "proc/libs.h"
#include "kernel/tpformat.h"
#include "kernel/tracefs.h"

void fsc_configure_pidns(struct fsc_config *cfg)
{
	enum { INITIAL_PIDNS = 0xEFFFFFFC };
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == INITIAL_PIDNS)
		return;
	cfg->pidns_dev = st.st_dev;
	cfg->pidns_ino = st.st_ino;
}

/* BPF programs can read their context only at constant offsets; follow_fork() knows these two. */
int fsc_configure_fork(struct fsc_config *cfg, unsigned offset, struct fsc_err *err)
{
	enum { WITH_COMM_ARRAYS = 44, WITH_COMM_STRINGS = 20 };

	if (offset != WITH_COMM_ARRAYS && offset != WITH_COMM_STRINGS) {
		fsc_err_set(err, ENOTSUP,
			    "this kernel's sched_process_fork has child_pid at byte %u, where "
			    "funcscope does not expect it (%d and %d are known)",
			    offset, WITH_COMM_STRINGS, WITH_COMM_ARRAYS);
		return fsc_err_hint(err, "use --no-follow to trace without following children");
	}
	cfg->fork_child_offset = offset;
	return 0;
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
	if (tracefs < 0) {
		fsc_err_hint(err, "following children needs tracepoints; give --no-follow");
		return tracefs;
	}
	rc =
	    fsc_tracepoint_field(tracefs, "sched", "sched_process_fork", "child_pid", &offset, err);
	return rc ? rc : fsc_configure_fork(&s->cfg, offset, err);
}

/* Following needs tracefs, which usually only root can read. */
int fsc_session_try_follow(struct fsc_session *s,
			   int (*follow)(struct fsc_session *s, struct fsc_err *err),
			   struct fsc_err *err)
{
	struct fsc_err why = {0};
	int rc = follow(s, &why);

	if (!s->opts.follow_if_may || (rc != -EPERM && rc != -EACCES)) {
		if (rc && err)
			*err = why;
		return rc;
	}
	s->opts.follow = false;
	fsc_log(FSC_LOG_WARN,
		"the command's children are not followed: %s (this needs CAP_SYS_ADMIN and "
		"CAP_DAC_READ_SEARCH; --no-follow silences this warning)",
		why.msg);
	return 0;
}

/* Whether we have mapped one of the files, perhaps by another mount. If that cannot be found out,
 * we have. */
static bool maps_target(const struct fsc_targets *t, const struct fsc_vec *mapped,
			struct fsc_inodes *inodes)
{
	uint64_t number, n_targets;

	for (size_t i = 0; i < t->files.n; i++)
		fsc_inodes_number(inodes, FSC_AT(struct fsc_target_file, &t->files, i)->path,
				  &number, NULL);
	n_targets = fsc_inodes_count(inodes);
	for (size_t i = 0; i < mapped->n; i++)
		if (fsc_inodes_number(inodes, FSC_AT(struct fsc_libs_file, mapped, i)->path,
				      &number, NULL) ||
		    number <= n_targets)
			return true;
	return false;
}

/* Whether our own process can hit a probe: in the kernel always, in user space if we map the file.
 * If not, the program need not check. */
static bool can_hit_self(const struct fsc_targets *t)
{
	struct fsc_vec files = FSC_VEC_INIT(struct fsc_libs_file);
	struct fsc_inodes *inodes = NULL;
	bool hits = fsc_session_sites(t, FSC_SITE_USER) < fsc_targets_count(t) ||
		    fsc_libs_mapped(getpid(), &files, NULL) || fsc_inodes_new(&inodes, NULL);

	if (!hits)
		hits = maps_target(t, &files, inodes);
	fsc_inodes_free(inodes);
	fsc_libs_release(&files);
	return hits;
}

static uint32_t most_ops(const struct fsc_session_opts *o, size_t n_rows)
{
	uint32_t most = 0;

	for (size_t i = 0; o->programs && i < n_rows; i++)
		if (o->programs[i].n_ops > most)
			most = o->programs[i].n_ops;
	return most;
}

int fsc_configure(struct fsc_session *s, struct fsc_err *err)
{
	const struct fsc_session_opts *o = &s->opts;
	struct fsc_config *cfg = &s->cfg;
	bool more;
	int rc;

	fsc_configure_pidns(cfg);
	rc = fsc_session_follows(s) ? fsc_session_try_follow(s, configure_follow, err) : 0;
	if (rc)
		return rc;
	cfg->pairs = s->pairs;
	cfg->stacks = o->stacks;
	cfg->stack_guard = o->stacks ? fsc_preempt_guard() : FSC_GUARD_NONE;
	if (cfg->stack_guard != FSC_GUARD_NONE)
		fsc_log(FSC_LOG_DEBUG, "stacks are taken %s",
			cfg->stack_guard == FSC_GUARD_TWICE ? "twice" : "with preemption off");
	cfg->copy_stacks = o->copy_stacks;
	if (o->copy_stacks)
		fsc_copies_configure(cfg);
	cfg->sample = o->sample;
	cfg->n_strings = o->n_strings;
	cfg->string_size = o->string_size;
	cfg->ring_bytes = fsc_rings_bytes(s);
	cfg->most_ops = most_ops(o, s->targets->rows.n);
	/* The session cookie has 8 bytes, enough for the start time only, and belongs to one link.
	 */
	more = o->mode != FSC_MODE_TIME || o->self || o->off_cpu || o->slow_ns || o->raw ||
	       o->rules || o->per_row;
	cfg->keep = more ? FSC_KEEP_STORAGE : FSC_KEEP_COOKIE;
	if (cfg->keep < o->keep)
		cfg->keep = o->keep;
	cfg->self = o->self;
	cfg->off_cpu = o->off_cpu;
	cfg->slow_ns = o->slow_ns;
	cfg->rules = o->rules;
	cfg->moves = o->per_row || o->rules;
	cfg->by = o->by;
	cfg->calibrate_row = fsc_session_rows(s);
	cfg->stride = ((o->rules ? 2 : 1) * cfg->calibrate_row + FSC_COUNTERS + 7) & ~7u;
	cfg->self_tgid = (uint32_t)getpid();
	if (o->n_tids)
		cfg->only |= FSC_ONLY_TIDS;
	else if (o->n_pids == 1 && !o->follow)
		cfg->only |= FSC_ONLY_TGID, cfg->tgid = (uint32_t)o->pids[0];
	else if (o->n_pids)
		cfg->only |= FSC_ONLY_TGIDS;
	else if (o->rules || can_hit_self(s->targets))
		cfg->only |= FSC_ONLY_OTHERS;
	if (o->rules)
		cfg->only |= FSC_ONLY_WANTED;
	if (o->comm) {
		cfg->only |= FSC_ONLY_COMM;
		strncpy(cfg->comm, o->comm, sizeof(cfg->comm) - 1);
	}
	if (o->cgroup_id) {
		cfg->only |= FSC_ONLY_CGROUP;
		cfg->cgroup_id = o->cgroup_id;
		cfg->cgroup_level = o->cgroup_level;
	}
	cfg->bystanders = (cfg->only & ~(uint32_t)FSC_ONLY_OTHERS) != 0;
	return 0;
}
