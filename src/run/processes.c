/* The table of processes: filled from the kernel's records of fork, exec, mmap and exit, and from
 * /proc. */
#include "run/processes_priv.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/map.h"
#include "engine/mmaps.h"
#include "proc/cputime.h"
#include "proc/libs.h"
#include "proc/task.h"

/* Context of one reading. */
struct reading {
	struct fsc_processes *p;
	const struct fsc_processes_to *to;
};

int fsc_processes_new(const struct fsc_filter *targets, struct fsc_processes **ret,
		      struct fsc_err *err)
{
	struct fsc_processes *p = calloc(1, sizeof(*p));
	struct fsc_err why = {0};

	if (!p)
		return fsc_err_nomem(err);
	p->targets = targets;
	p->readings = 1;
	p->all = FSC_VEC_INIT(struct process *);
	if (fsc_mmaps_open(&p->mmaps, &why))
		fsc_log(FSC_LOG_WARN,
			"%s: processes and libraries that appear later are found within seconds "
			"instead of at once",
			why.msg);
	*ret = p;
	return 0;
}

static void process_free(struct process *x)
{
	free(x->program);
	free(x);
}

void fsc_processes_free(struct fsc_processes *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->all.n; i++)
		process_free(process_at(p, i));
	fsc_vec_release(&p->all);
	fsc_map_release(&p->at);
	fsc_map_release(&p->gone_at);
	fsc_map_release(&p->seen);
	fsc_mmaps_free(p->mmaps);
	free(p);
}

void fsc_processes_retarget(struct fsc_processes *p, const struct fsc_filter *targets)
{
	p->targets = targets;
	for (size_t i = 0; i < p->all.n; i++)
		process_at(p, i)->has_verdict = false;
	fsc_processes_replay(p);
}

void fsc_processes_use(struct fsc_processes *p, const struct fsc_filter *targets)
{
	p->targets = targets;
}

void fsc_processes_replay(struct fsc_processes *p)
{
	fsc_map_release(&p->seen);
	p->seen = (struct fsc_map){0};
}

bool fsc_processes_has_events(const struct fsc_processes *p)
{
	return p->mmaps;
}

bool fsc_processes_all(const struct fsc_processes *p)
{
	return fsc_filter_passes_all(p->targets);
}

/* ---- the table ---- */

struct process *fsc_processes_find(const struct fsc_processes *p, pid_t pid)
{
	const uint64_t *at = fsc_map_get(&p->at, &pid, sizeof(pid));

	return at ? (struct process *)(uintptr_t)*at : NULL;
}

static void set_program(struct process *x, const char *path)
{
	const char *base = strrchr(path, '/');

	free(x->program);
	x->program = strdup(base ? base + 1 : path);
}

static void read_program(struct process *x)
{
	char exe[PATH_MAX];

	if (fsc_task_exe(x->pid, exe))
		set_program(x, exe);
}

static struct process *find_or_add(struct fsc_processes *p, pid_t pid, struct fsc_err *err)
{
	struct process *x = fsc_processes_find(p, pid), **slot;
	uint64_t *at;

	if (x)
		return x;
	x = calloc(1, sizeof(*x));
	slot = x ? fsc_vec_push(&p->all) : NULL;
	at = slot ? fsc_map_put(&p->at, &pid, sizeof(pid), NULL) : NULL;
	if (!at) {
		p->all.n -= slot != NULL;
		free(x);
		fsc_err_nomem(err);
		return NULL;
	}
	x->pid = pid;
	*slot = x;
	*at = (uintptr_t)x;
	return x;
}

/* ---- verdicts ---- */

/* A path below the root of cgroups, or the id of a container, which is part of such a path. */
static bool in_cgroup(pid_t pid, const char *wanted)
{
	char path[64], line[4096];
	FSC_AUTO(fsc_fclosep) FILE *f = NULL;
	size_t n = strlen(wanted);

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		char *at = strchr(line, '/');

		line[strcspn(line, "\n")] = '\0';
		if (!at)
			continue;
		if (wanted[0] != '/' && strstr(at, wanted))
			return true;
		if (!strncmp(at, wanted, n) && (!at[n] || at[n] == '/' || wanted[n - 1] == '/'))
			return true;
	}
	return false;
}

static bool is_target(const struct fsc_processes *p, const struct process *x)
{
	const struct fsc_filter *t = p->targets;

	if (fsc_processes_all(p) || (t->command.n && x->of_command))
		return true;
	for (size_t i = 0; i < t->pids.n; i++)
		if (*FSC_AT(pid_t, &t->pids, i) == x->pid)
			return true;
	for (size_t i = 0; i < t->names.n; i++) {
		const char *name = *FSC_AT(char *, &t->names, i);

		if (!fnmatch(name, x->comm, 0) || (x->program && !fnmatch(name, x->program, 0)))
			return true;
	}
	for (size_t i = 0; i < t->cgroups.n; i++)
		if (in_cgroup(x->pid, *FSC_AT(char *, &t->cgroups, i)))
			return true;
	return false;
}

static int report_file(const struct reading *r, pid_t pid, const void *key, size_t n,
		       const char *path, struct fsc_err *err)
{
	bool is_new;

	if (r->p->seen.n >= MOST_SEEN) {
		fsc_map_release(&r->p->seen);
		r->p->seen = (struct fsc_map){0};
	}
	if (!fsc_map_put(&r->p->seen, key, n, &is_new))
		return fsc_err_nomem(err);
	return is_new ? r->to->file(r->to->arg, pid, path, err) : 0;
}

/* Reports all files mapped so far; none if the process has exited or we lack permission. */
static int report_mapped(const struct reading *r, pid_t pid, struct fsc_err *err)
{
	struct fsc_vec files = FSC_VEC_INIT(struct fsc_libs_file);
	int rc = 0;

	fsc_libs_mapped(pid, &files, NULL);
	for (size_t i = 0; !rc && i < files.n; i++) {
		const struct fsc_libs_file *f = FSC_AT(struct fsc_libs_file, &files, i);

		rc = report_file(r, pid, f->path, strlen(f->path), f->name, err);
	}
	fsc_libs_release(&files);
	return rc;
}

/* A process that does not match is checked again after the next reading: records of different CPUs
 * arrive out of order, and the name of a new program may follow its mappings. Nothing is lost:
 * pending processes count. */
static int decide_process(const struct reading *r, struct process *x, bool at_once,
			  struct fsc_err *err)
{
	bool wanted, late = x->pending_since;
	int rc;

	if (!x->comm[0])
		fsc_task_comm(x->pid, x->comm, sizeof(x->comm));
	if (!x->program)
		read_program(x);
	wanted = is_target(r->p, x);
	if (x->has_verdict && wanted == x->wanted)
		return 0;
	if (wanted)
		x->pending_since = 0;
	else if (!x->pending_since)
		x->pending_since = r->p->readings;
	if (!wanted && !at_once && x->pending_since == r->p->readings)
		return 0;
	x->has_verdict = true;
	x->wanted = wanted;
	fsc_log(FSC_LOG_DEBUG, "process %d, %s, program %s: %s", x->pid, x->comm,
		x->program ? x->program : "unknown", wanted ? "watched" : "left alone");
	if (wanted && !x->cpu_start)
		x->cpu_start = x->cpu_last = fsc_cputime_process(x->pid);
	rc = r->to->judged(r->to->arg, x->pid, wanted, err);
	/* Files mapped while the verdict was pending have not been reported. */
	return !rc && wanted && late ? report_mapped(r, x->pid, err) : rc;
}

/* ---- what processes map ---- */

static int on_mmap(void *arg, pid_t pid, uint64_t start, uint64_t len, uint64_t offset, dev_t dev,
		   ino_t ino, const char *path, struct fsc_err *err)
{
	const struct reading *r = arg;
	const struct fsc_mmaps_to *also = &r->to->also;
	struct process *x;
	struct {
		uint64_t dev, ino;
	} key = {dev, ino};

	if (also->mmap && also->mmap(also->arg, pid, start, len, offset, dev, ino, path, err))
		return -ENOMEM;
	if (path[0] != '/' || !ino)
		return 0;
	x = find_or_add(r->p, pid, err);
	if (!x)
		return -ENOMEM;
	if (!x->program)
		set_program(x, path);
	/* By now the name and program of a new process are known. */
	if (!x->has_verdict) {
		int rc = decide_process(r, x, false, err);

		if (rc)
			return rc;
	}
	return x->wanted ? report_file(r, pid, &key, sizeof(key), path, err) : 0;
}

/* The fork record may arrive after those of the child: each CPU has its own buffer. */
static int mark_descendant(const struct reading *r, struct process *x, struct fsc_err *err)
{
	if (x->of_command)
		return 0;
	x->of_command = true;
	if (!x->has_verdict && !x->pending_since)
		return 0;
	if (!x->pending_since)
		x->pending_since = r->p->readings;
	return decide_process(r, x, true, err);
}

static int on_fork(void *arg, pid_t parent, pid_t child, struct fsc_err *err)
{
	const struct reading *r = arg;
	const struct process none = {0}, *was = fsc_processes_find(r->p, parent);
	const struct fsc_mmaps_to *also = &r->to->also;
	struct process *x = find_or_add(r->p, child, err);

	if (!x || (also->fork && also->fork(also->arg, parent, child, err)))
		return -ENOMEM;
	if (!was)
		was = &none;
	/* Already known from a call or from /proc, or from later records read first. */
	if ((x->has_verdict || x->of_command || x->comm[0]) && !x->ended)
		return was->of_command ? mark_descendant(r, x, err) : 0;
	/* The pid of a process that exited is reused. */
	if (x->has_verdict && r->to->gone(r->to->arg, child, err))
		return -ENOMEM;
	free(x->program);
	*x = (struct process){.pid = child, .of_command = was->of_command};
	memcpy(x->comm, was->comm, sizeof(x->comm));
	x->program = was->program ? strdup(was->program) : NULL;
	/* Most children exec at once: the verdict waits for a mapping, a call or the exit. */
	return 0;
}

static int on_exec(void *arg, pid_t pid, const char *comm, struct fsc_err *err)
{
	const struct reading *r = arg;
	const struct fsc_mmaps_to *also = &r->to->also;
	struct process *x = find_or_add(r->p, pid, err);

	if (!x || (also->exec && also->exec(also->arg, pid, comm, err)))
		return -ENOMEM;
	snprintf(x->comm, sizeof(x->comm), "%s", comm);
	free(x->program);
	x->program = NULL; /* the first file it maps, which is the next record */
	x->has_verdict = x->has_verdict && x->wanted; /* the new program may match */
	x->pending_since = 0;
	return r->to->exec ? r->to->exec(r->to->arg, pid, err) : 0;
}

static void on_exit_of(void *arg, pid_t pid)
{
	const struct reading *r = arg;
	struct process *x = fsc_processes_find(r->p, pid);

	if (r->to->also.exit)
		r->to->also.exit(r->to->also.arg, pid);
	if (x && !x->ended)
		x->ended = 1;
}

static bool is_gone(const struct reading *r, struct process *x, bool all)
{
	bool gone = (x->ended == 2 || all) && kill(x->pid, 0) && errno == ESRCH;

	if (x->ended == 1)
		x->ended = 2;
	/* Records of its name and exit may be pending: two readings from now they are not. */
	if (gone && !x->has_verdict && !x->ended && r->p->mmaps) {
		x->ended = 1;
		return false;
	}
	return gone;
}

/* Remembers the verdict on a process that exited, in place of the oldest one. */
static int remember_exited(struct fsc_processes *p, const struct process *x, struct fsc_err *err)
{
	const size_t slot = p->n_gone % MOST_GONE;
	const pid_t oldest = p->gone[slot].pid;
	const uint64_t *last = fsc_map_get(&p->gone_at, &oldest, sizeof(oldest));
	uint64_t *at;

	/* A pid that was used again has a newer entry, which stays. */
	if (last && *last + MOST_GONE == p->n_gone)
		fsc_map_remove(&p->gone_at, &oldest, sizeof(oldest));
	at = fsc_map_put(&p->gone_at, &x->pid, sizeof(x->pid), NULL);
	if (!at)
		return fsc_err_nomem(err);
	*at = p->n_gone++;
	p->gone[slot].pid = x->pid;
	p->gone[slot].wanted = x->wanted;
	return 0;
}

/* Records the exit of a process and reports it. */
static int report_exit(const struct reading *r, struct process *x, struct fsc_err *err)
{
	int rc = x->has_verdict ? 0 : decide_process(r, x, true, err);

	if (!rc)
		rc = remember_exited(r->p, x, err);
	if (rc)
		return rc;
	r->p->ended += x->wanted;
	r->p->cpu_past += x->wanted ? x->cpu_last - x->cpu_start : 0;
	return r->to->gone(r->to->arg, x->pid, err);
}

/* Removes processes whose last thread has exited. Callbacks may add processes at the end meanwhile.
 */
static int remove_exited(const struct reading *r, bool all, struct fsc_err *err)
{
	size_t kept = 0;
	int rc = 0;

	for (size_t i = 0; i < r->p->all.n; i++) {
		struct process *x = process_at(r->p, i);
		bool gone = is_gone(r, x, all);

		if (gone && !rc)
			rc = report_exit(r, x, err);
		if (!gone || rc) {
			*FSC_AT(struct process *, &r->p->all, kept++) = x;
			continue;
		}
		fsc_map_remove(&r->p->at, &x->pid, sizeof(x->pid));
		process_free(x);
	}
	r->p->all.n = kept;
	return rc;
}

int fsc_processes_read(struct fsc_processes *p, bool last, const struct fsc_processes_to *to,
		       struct fsc_err *err)
{
	struct reading r = {p, to};
	const struct fsc_mmaps_to handlers = {
	    .arg = &r, .mmap = on_mmap, .fork = on_fork, .exec = on_exec, .exit = on_exit_of};
	int rc = 0;

	p->readings++;
	if (p->mmaps)
		rc = fsc_mmaps_read(p->mmaps, &handlers, err);
	for (size_t i = 0; !rc && i < p->all.n; i++) {
		struct process *x = process_at(p, i);

		if (!x->has_verdict && (x->pending_since || last))
			rc = decide_process(&r, x, last, err);
	}
	return rc ? rc : remove_exited(&r, false, err);
}

/* ---- running processes ---- */

static int scan_process(const struct reading *r, pid_t pid, struct fsc_err *err)
{
	struct process *x = find_or_add(r->p, pid, err);
	int rc = x ? decide_process(r, x, false, err) : -ENOMEM;

	return rc || !x->wanted ? rc : report_mapped(r, pid, err);
}

int fsc_processes_scan(struct fsc_processes *p, const struct fsc_processes_to *to,
		       struct fsc_err *err)
{
	struct reading r = {p, to};
	DIR *d = opendir("/proc");
	struct dirent *e;
	int rc = 0;

	if (!d)
		return fsc_err_sys(err, errno, "cannot list the processes in /proc");
	while (!rc && (e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]) && atoi(e->d_name) != getpid())
			rc = scan_process(&r, (pid_t)atoi(e->d_name), err);
	closedir(d);
	return rc ? rc : remove_exited(&r, true, err);
}

/* ---- queries ---- */

int fsc_processes_command(struct fsc_processes *p, pid_t pid, struct fsc_err *err)
{
	struct process *x = find_or_add(p, pid, err);

	if (!x)
		return -ENOMEM;
	p->command = pid;
	x->of_command = true;
	return 0;
}

/* Descends from the command, as far as /proc still shows it. */
static bool descends_from(pid_t pid, pid_t from)
{
	for (int i = 0; i < 64 && pid > 1; i++) {
		uint64_t start;

		if (pid == from)
			return true;
		if (!fsc_task_stat(pid, &pid, &start))
			return false;
	}
	return false;
}

int fsc_processes_add(struct fsc_processes *p, pid_t pid, const struct fsc_processes_to *to,
		      struct fsc_err *err)
{
	struct reading r = {p, to};
	struct process *x = find_or_add(p, pid, err);

	if (!x)
		return -ENOMEM;
	if (x->has_verdict)
		return 0;
	if (p->command && !x->of_command)
		x->of_command = descends_from(pid, p->command);
	/* If it has exited already, the kernel's pending records decide. */
	if (!x->comm[0])
		fsc_task_comm(x->pid, x->comm, sizeof(x->comm));
	return x->comm[0] || x->of_command ? decide_process(&r, x, false, err) : 0;
}
