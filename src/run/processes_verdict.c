/* Verdicts: which processes are targets, by their name, program, cgroup or pid. */
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "proc/cputime.h"
#include "proc/libs.h"
#include "proc/task.h"
#include "run/processes_priv.h"

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

bool fsc_process_is_named(const struct fsc_processes *p, const struct process *x)
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
	return false;
}

static bool is_target(const struct fsc_processes *p, const struct process *x)
{
	const struct fsc_filter *t = p->targets;

	if (fsc_process_is_named(p, x))
		return true;
	for (size_t i = 0; i < t->cgroups.n; i++)
		if (in_cgroup(x->pid, *FSC_AT(char *, &t->cgroups, i)))
			return true;
	return false;
}

int fsc_process_report_file(const struct reading *r, pid_t pid, const void *key, size_t n,
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

int fsc_process_report_mapped(const struct reading *r, pid_t pid, struct fsc_err *err)
{
	struct fsc_vec files = FSC_VEC_INIT(struct fsc_libs_file);
	int rc = 0;

	fsc_libs_mapped(pid, &files, NULL);
	for (size_t i = 0; !rc && i < files.n; i++) {
		const struct fsc_libs_file *f = FSC_AT(struct fsc_libs_file, &files, i);
		struct mapped_key key;
		struct stat st;

		if (stat(f->path, &st))
			continue;
		key = (struct mapped_key){st.st_dev, st.st_ino, changed_ns(&st)};
		rc = fsc_process_report_file(r, pid, &key, sizeof(key), f->name, err);
	}
	fsc_libs_release(&files);
	return rc;
}

static void read_program(struct process *x)
{
	char exe[PATH_MAX];

	if (fsc_task_exe(x->pid, exe))
		fsc_process_set_program(x, exe);
}

/* Whether the process is the program that is known: the record of an exec may not have arrived. Of
 * one that has exited, all records are read before the last verdict. */
static bool is_up_to_date(struct process *x)
{
	char comm[FSC_COMM_LEN + 1] = "";

	fsc_task_comm(x->pid, comm, sizeof(comm));
	if (!strcmp(comm, x->comm))
		return true;
	if (comm[0]) {
		memcpy(x->comm, comm, sizeof(x->comm));
		free(x->program);
		x->program = NULL;
	}
	return false;
}

/* It is looked at again in the next reading. */
static int list_pending(struct fsc_processes *p, struct process *x, struct fsc_err *err)
{
	int rc = x->listed ? 0 : fsc_vec_add(&p->pending, &x->pid, err);

	x->listed |= !rc;
	return rc;
}

int fsc_process_decide(const struct reading *r, struct process *x, bool at_once,
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
	if (!wanted && !at_once && (x->pending_since == r->p->readings || !is_up_to_date(x)))
		return list_pending(r->p, x, err);
	x->has_verdict = true;
	x->wanted = wanted;
	fsc_log(FSC_LOG_DEBUG, "process %d, %s, program %s: %s", x->pid, x->comm,
		x->program ? x->program : "unknown", wanted ? "watched" : "left alone");
	/* Of all processes, the machine's time counts. */
	if (wanted && !x->cpu_start && !fsc_processes_all(r->p))
		x->cpu_start = x->cpu_last = fsc_cputime_process(x->pid);
	rc = r->to->judged(r->to->arg, x->pid, wanted, err);
	if (!rc && !wanted && !at_once && !is_up_to_date(x)) {
		x->has_verdict = false;
		rc = r->to->exec ? r->to->exec(r->to->arg, x->pid, err) : 0;
		return rc ? rc : list_pending(r->p, x, err);
	}
	/* Files mapped while the verdict was pending have not been reported. */
	return !rc && wanted && late ? fsc_process_report_mapped(r, x->pid, err) : rc;
}

int fsc_process_notice_exec(const struct reading *r, struct process *x, struct fsc_err *err)
{
	if (r->p->mmaps || !x->has_verdict || x->wanted || is_up_to_date(x))
		return 0;
	x->has_verdict = false;
	x->pending_since = 0;
	return r->to->exec ? r->to->exec(r->to->arg, x->pid, err) : 0;
}

int fsc_process_notice_name(const struct reading *r, struct process *x, const char *comm,
			    struct fsc_err *err)
{
	if (x->has_verdict && x->wanted)
		return 0;
	snprintf(x->comm, sizeof(x->comm), "%s", comm);
	if (!x->has_verdict || !fsc_process_is_named(r->p, x))
		return 0;
	x->pending_since = r->p->readings; /* what it maps has not been reported */
	return fsc_process_decide(r, x, true, err);
}

int fsc_process_remember_exited(struct fsc_processes *p, const struct process *x,
				struct fsc_err *err)
{
	const size_t slot = p->n_exited % MOST_EXITED;
	const pid_t oldest = p->exited[slot].pid;
	const uint64_t *last = fsc_map_get(&p->exited_at, &oldest, sizeof(oldest));
	uint64_t *at;

	/* A pid that was used again has a newer entry, which stays. */
	if (last && *last + MOST_EXITED == p->n_exited)
		fsc_map_remove(&p->exited_at, &oldest, sizeof(oldest));
	at = fsc_map_put(&p->exited_at, &x->pid, sizeof(x->pid), NULL);
	if (!at)
		return fsc_err_nomem(err);
	*at = p->n_exited++;
	p->exited[slot].pid = x->pid;
	p->exited[slot].wanted = x->wanted;
	return 0;
}

bool fsc_processes_wanted(const struct fsc_processes *p, pid_t pid)
{
	const struct process *x = fsc_processes_find(p, pid);

	return x && x->has_verdict && x->wanted;
}

int fsc_processes_verdict(const struct fsc_processes *p, pid_t pid)
{
	const struct process *x = fsc_processes_find(p, pid);
	const uint64_t *at;

	if (x)
		return x->has_verdict ? x->wanted : -1;
	at = fsc_map_get(&p->exited_at, &pid, sizeof(pid));
	return at ? p->exited[*at % MOST_EXITED].wanted : -1;
}
