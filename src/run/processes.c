/* The table of processes: filled from the kernel's records of fork, exec, mmap and exit, and from
 * /proc. */
#include "run/processes_priv.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "engine/mmaps.h"
#include "proc/cputime.h"
#include "proc/libs.h"
#include "proc/task.h"

int fsc_processes_new(const struct fsc_filter *targets, struct fsc_processes **ret,
		      struct fsc_err *err)
{
	struct fsc_processes *p = calloc(1, sizeof(*p));
	struct fsc_err why = {0};

	if (!p)
		return fsc_err_nomem(err);
	p->targets = targets;
	p->readings = 1;
	p->self = getpid();
	p->all = FSC_VEC_INIT(struct process *);
	p->pending = FSC_VEC_INIT(pid_t);
	p->leaving = FSC_VEC_INIT(pid_t);
	p->kept = FSC_VEC_INIT(struct kept_exited);
	if (fsc_mmaps_open(&p->mmaps, &why))
		fsc_log(FSC_LOG_WARN,
			"%s: processes and libraries that appear later are found within seconds "
			"instead of at once",
			why.msg);
	*ret = p;
	return 0;
}

void fsc_process_free(struct process *x)
{
	free(x->program);
	free(x);
}

void fsc_processes_free(struct fsc_processes *p)
{
	if (!p)
		return;
	if (p->mmaps && fsc_mmaps_lost(p->mmaps))
		fsc_log(
		    FSC_LOG_WARN,
		    "%llu events of processes were lost: some were noticed late, and frames may "
		    "have no names",
		    (unsigned long long)fsc_mmaps_lost(p->mmaps));
	for (size_t i = 0; i < p->all.n; i++)
		fsc_process_free(process_at(p, i));
	fsc_vec_release(&p->all);
	fsc_vec_release(&p->pending);
	fsc_vec_release(&p->leaving);
	fsc_vec_release(&p->kept);
	fsc_map_release(&p->at);
	fsc_map_release(&p->exited_at);
	fsc_map_release(&p->seen);
	fsc_mmaps_free(p->mmaps);
	if (p->scanned)
		closedir(p->scanned);
	free(p);
}

void fsc_processes_retarget(struct fsc_processes *p, const struct fsc_filter *targets)
{
	p->targets = targets;
	for (size_t i = 0; i < p->all.n; i++) {
		struct process *x = process_at(p, i);

		/* What is known of it is known for good: it need not wait. */
		if (x->has_verdict)
			x->pending_since = p->readings;
		x->has_verdict = false;
	}
	p->readings++;
	p->relist = true;
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

void fsc_process_set_program(struct process *x, const char *path)
{
	free(x->program);
	x->program = strdup(fsc_str_base(path));
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
	x->place = p->all.n - 1;
	*slot = x;
	*at = (uintptr_t)x;
	return x;
}

/* ---- what processes map ---- */

/* The device numbers of overlays are used again as soon as one is unmounted, and the next one may
 * have another file under the same inode number. 0: not known. */
static uint64_t change_of_overlaid(pid_t pid, dev_t dev, const char *path)
{
	char inside[PATH_MAX + 32];
	struct stat st;

	if (major(dev))
		return 0;
	snprintf(inside, sizeof(inside), "/proc/%d/root%s", (int)pid, path);
	return stat(inside, &st) ? 0 : changed_ns(&st);
}

static bool matters(const struct reading *r, dev_t dev, ino_t ino, const char *path, bool program)
{
	return !r->to->matters || r->to->matters(r->to->arg, dev, ino, path, program);
}

/* Whether a process that was there before us has a file mapped that matters. */
static void look_at_maps(const struct reading *r, struct process *x)
{
	struct fsc_vec files = FSC_VEC_INIT(struct fsc_libs_file);
	struct stat st;

	x->maps_known = true;
	if (!r->to->matters || fsc_libs_mapped(x->pid, &files, NULL))
		x->maps_watched = true; /* perhaps */
	for (size_t i = 0; !x->maps_watched && i < files.n; i++) {
		const struct fsc_libs_file *f = FSC_AT(struct fsc_libs_file, &files, i);

		x->maps_watched =
		    stat(f->path, &st) || matters(r, st.st_dev, st.st_ino, f->name, true);
	}
	fsc_libs_release(&files);
}

/* A file that does not matter. Of targets by name it is known that they run, whatever they map; to
 * ask for the cgroup of every process that starts would take too long. */
static int on_other_file(const struct reading *r, struct process *x, bool program,
			 struct fsc_err *err)
{
	if (x->has_verdict || !program || fsc_processes_all(r->p) || !fsc_process_is_named(r->p, x))
		return 0;
	return fsc_process_decide(r, x, false, err);
}

/* The inode number of a deleted file is used for the next one: the path tells them apart, unless
 * that is the same, too. */
static int report_record(const struct reading *r, pid_t pid, dev_t dev, ino_t ino, const char *path,
			 struct fsc_err *err)
{
	const struct mapped_key key = {dev, ino, change_of_overlaid(pid, dev, path)};
	char text[sizeof(key) + PATH_MAX];
	size_t n = strnlen(path, PATH_MAX);

	memcpy(text, &key, sizeof(key));
	memcpy(text + sizeof(key), path, n);
	return fsc_process_report_file(r, pid, text, sizeof(key) + n, path, err);
}

static int on_mmap(void *arg, pid_t pid, uint64_t start, uint64_t len, uint64_t offset, dev_t dev,
		   ino_t ino, const char *path, struct fsc_err *err)
{
	const struct reading *r = arg;
	const struct fsc_mmaps_to *also = &r->to->also;
	struct process *x;
	bool program;

	if (also->mmap && also->mmap(also->arg, pid, start, len, offset, dev, ino, path, err))
		return -ENOMEM;
	/* What we map ourselves (engine/inodes.c) has paths of other mount namespaces. */
	if (path[0] != '/' || !ino || pid == r->p->self)
		return 0;
	x = find_or_add(r->p, pid, err);
	if (!x)
		return -ENOMEM;
	program = !x->program;
	if (program)
		fsc_process_set_program(x, path);
	if (!matters(r, dev, ino, path, program))
		return on_other_file(r, x, program, err);
	x->maps_watched = true;
	/* By now the name and program of a new process are known. */
	if (!x->has_verdict) {
		int rc = fsc_process_decide(r, x, false, err);

		if (rc)
			return rc;
	}
	if (!x->wanted)
		return 0;
	return report_record(r, pid, dev, ino, path, err);
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
	return fsc_process_decide(r, x, true, err);
}

static void on_time(void *arg, uint64_t time_ns)
{
	const struct reading *r = arg;
	const struct fsc_mmaps_to *also = &r->to->also;

	if (also->at)
		also->at(also->arg, time_ns);
}

static int on_fork(void *arg, pid_t parent, pid_t child, struct fsc_err *err)
{
	const struct reading *r = arg;
	const struct fsc_mmaps_to *also = &r->to->also;
	struct process self = {.maps_known = true, .maps_watched = true};
	struct process *was = parent == r->p->self ? &self : find_or_add(r->p, parent, err);
	struct process *x = was ? find_or_add(r->p, child, err) : NULL;

	if (!x || (also->fork && also->fork(also->arg, parent, child, err)))
		return -ENOMEM;
	/* Already known from a call or from /proc, or from later records read first. */
	if ((x->has_verdict || x->of_command || x->comm[0]) && !x->ended)
		return was->of_command ? mark_descendant(r, x, err) : 0;
	/* The pid of a process that exited is reused. */
	if (x->has_verdict && r->to->exited(r->to->arg, child, err))
		return -ENOMEM;
	if (!was->maps_known)
		look_at_maps(r, was);
	free(x->program);
	*x = (struct process){.pid = child,
			      .place = x->place,
			      .listed = x->listed,
			      .of_command = was->of_command,
			      .maps_known = true,
			      .maps_watched = was->maps_watched};
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
	x->maps_known = true;
	return r->to->exec ? r->to->exec(r->to->arg, pid, err) : 0;
}

static int on_renamed(void *arg, pid_t pid, const char *comm, struct fsc_err *err)
{
	const struct reading *r = arg;
	struct process *x = fsc_processes_find(r->p, pid);

	return x && !x->ended ? fsc_process_notice_name(r, x, comm, err) : 0;
}

static void on_exit_of(void *arg, pid_t pid)
{
	const struct reading *r = arg;
	struct process *x = fsc_processes_find(r->p, pid);

	if (r->to->also.exit)
		r->to->also.exit(r->to->also.arg, pid);
	if (!x || x->ended)
		return;
	x->ended = 1;
	fsc_vec_add(&r->p->leaving, &pid, NULL); /* otherwise the next scan finds it */
}

/* Verdicts that could not be made in the last reading. Those that stay pending are added again. */
static int decide_pending(const struct reading *r, struct fsc_err *err)
{
	struct fsc_vec *pending = &r->p->pending;
	size_t n = pending->n, i;
	int rc = 0;

	for (i = 0; !rc && i < n; i++) {
		struct process *x = fsc_processes_find(r->p, *FSC_AT(pid_t, pending, i));

		if (!x)
			continue;
		x->listed = false;
		if (!x->has_verdict && x->pending_since)
			rc = fsc_process_decide(r, x, false, err);
	}
	r->p->relist |= rc != 0;
	drop_first(pending, i);
	return rc;
}

/* last: also those that nobody has asked for. */
static int decide_all(const struct reading *r, bool last, struct fsc_err *err)
{
	int rc = 0;

	r->p->relist = false;
	for (size_t i = 0; !rc && i < r->p->all.n; i++) {
		struct process *x = process_at(r->p, i);

		if (!x->has_verdict && (x->pending_since || last) && !has_no_state(x))
			rc = fsc_process_decide(r, x, last, err);
	}
	r->p->relist |= rc != 0;
	return rc;
}

int fsc_processes_read(struct fsc_processes *p, bool last, const struct fsc_processes_to *to,
		       struct fsc_err *err)
{
	struct reading r = {p, to};
	const struct fsc_mmaps_to handlers = {.arg = &r,
					      .mmap = on_mmap,
					      .fork = on_fork,
					      .exec = on_exec,
					      .renamed = on_renamed,
					      .exit = on_exit_of,
					      .at = on_time};
	int rc = 0;

	p->readings++;
	if (p->mmaps)
		rc = fsc_mmaps_read(p->mmaps, &handlers, err);
	if (!rc)
		rc = last || p->relist ? decide_all(&r, last, err) : decide_pending(&r, err);
	if (!rc)
		rc = fsc_processes_remove_leaving(&r, err);
	return rc ? rc : fsc_processes_remove_kept(p, err);
}

int fsc_processes_pull(struct fsc_processes *p, struct fsc_err *err)
{
	return p->mmaps ? fsc_mmaps_pull(p->mmaps, err) : 0;
}

/* ---- running processes ---- */

static int scan_process(const struct reading *r, pid_t pid, struct fsc_err *err)
{
	struct process *x = find_or_add(r->p, pid, err);
	int rc = x ? fsc_process_notice_exec(r, x, err) : -ENOMEM;

	if (!rc)
		rc = fsc_process_decide(r, x, false, err);
	return rc || !x->wanted ? rc : fsc_process_report_mapped(r, pid, err);
}

static void end_scan(struct fsc_processes *p)
{
	if (p->scanned)
		closedir(p->scanned);
	p->scanned = NULL;
}

/* What matters may have changed. */
void fsc_processes_scan_anew(struct fsc_processes *p)
{
	end_scan(p);
	for (size_t i = 0; i < p->all.n; i++)
		process_at(p, i)->maps_known &= process_at(p, i)->ended != 0;
}

int fsc_processes_scan_part(struct fsc_processes *p, uint64_t ns, const struct fsc_processes_to *to,
			    bool *ret_done, struct fsc_err *err)
{
	const uint64_t start = fsc_clock_mono();
	struct reading r = {p, to};
	struct dirent *e;
	int rc = 0;

	*ret_done = false;
	if (!p->scanned)
		p->scanned = opendir("/proc");
	if (!p->scanned)
		return fsc_err_sys(err, errno, "cannot list the processes in /proc");
	do {
		e = readdir(p->scanned);
		if (e && isdigit((unsigned char)e->d_name[0]) && atoi(e->d_name) != p->self)
			rc = scan_process(&r, (pid_t)atoi(e->d_name), err);
	} while (!rc && e && fsc_clock_mono() - start < ns);
	if (!rc && e)
		return 0;
	end_scan(p);
	*ret_done = !rc;
	return rc ? rc : fsc_processes_remove_exited(&r, err);
}

int fsc_processes_scan(struct fsc_processes *p, const struct fsc_processes_to *to,
		       struct fsc_err *err)
{
	bool done;

	fsc_processes_scan_anew(p);
	return fsc_processes_scan_part(p, UINT64_MAX, to, &done, err);
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
	return x->comm[0] || x->of_command ? fsc_process_decide(&r, x, false, err) : 0;
}
