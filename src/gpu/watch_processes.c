/* Process events in `gpu`: files are hooked, Python is detected, and state is dropped on exit. */
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "gpu/watch_priv.h"
#include "proc/task.h"

/* 1: the process runs Python and its lines can be read; 0: not, or not requested. */
static int note_python(struct fsc_gpu_watching *w, pid_t pid, struct fsc_err *err)
{
	struct fsc_python py;
	int rc;

	if (!w->opts->python)
		return 0;
	rc = fsc_gpu_stacks_python(w->stacks, pid, &py, err);
	if (rc <= 0)
		return rc;
	rc = fsc_gpu_session_python(w->session, pid, &py, err);
	return rc ? rc : 1;
}

/* An older process may have exited when its first record is read: its mappings are read now. */
static int note_older(struct fsc_gpu_watching *w, pid_t pid, struct fsc_err *err)
{
	int rc;

	if (!fsc_map_put(&w->older, &pid, sizeof(pid), NULL))
		return fsc_err_nomem(err);
	rc = fsc_namer_add_process(w->namer, pid, err);
	if (!rc)
		rc = note_python(w, pid, err);
	return rc < 0 ? rc : 0;
}

/* A process that has mapped CUDA's libraries is about to call them: Python must be known by its
 * first call. */
static int on_file(void *arg, pid_t pid, const char *path, struct fsc_err *err)
{
	struct fsc_gpu_watching *w = arg;
	size_t places = fsc_gpu_hooks_places(w->hooks);
	int rc = fsc_gpu_hooks_file(w->hooks, pid, path, err);

	if (rc || fsc_gpu_hooks_places(w->hooks) == places)
		return rc;
	if (w->run->start_ns && fsc_gpu_hooks_is_driver(path))
		fsc_log(FSC_LOG_WARN,
			"process %d had mapped %s before it was hooked: earlier calls were missed",
			(int)pid, path);
	rc = note_python(w, pid, err);
	return rc < 0 ? rc : 0;
}

/* Targets are examined before their first call, which may be the important one. */
static int on_judged(void *arg, pid_t pid, bool wanted, struct fsc_err *err)
{
	struct fsc_gpu_watching *w = arg;
	int rc = fsc_gpu_session_set_verdict(w->session, pid, wanted, err);

	if (rc || !wanted)
		return rc;
	if (!w->run->start_ns && pid != w->run->child.pid)
		return note_older(w, pid, err);
	rc = note_python(w, pid, err);
	return rc < 0 ? rc : 0;
}

/* A program has ended before that time: its records are read, then its state is dropped. */
static int forget_program(struct fsc_gpu_watching *w, pid_t pid, uint64_t until_ns,
			  struct fsc_err *err)
{
	int rc = fsc_gpu_drain(w, until_ns, err);

	if (!rc)
		rc = fsc_gpu_events_settle(w->events, (uint32_t)pid, err);
	fsc_gpu_books_ended(w->books, (uint32_t)pid);
	fsc_gpu_events_forget(w->events, (uint32_t)pid);
	fsc_gpu_stacks_forget(w->stacks, pid);
	return rc;
}

static int on_exited(void *arg, pid_t pid, struct fsc_err *err)
{
	struct fsc_gpu_watching *w = arg;
	/* The kernel's record of the exit was read in an earlier tick. */
	int rc = forget_program(
	    w, pid, fsc_processes_has_events(w->processes) ? fsc_gpu_complete_ns() : UINT64_MAX,
	    err);

	fsc_gpu_session_forget(w->session, pid);
	return rc;
}

/* Memory of the previous program was freed with it. */
static int on_exec(void *arg, pid_t pid, struct fsc_err *err)
{
	struct fsc_gpu_watching *w = arg;

	return fsc_gpu_books_knows(w->books, (uint32_t)pid)
		   ? forget_program(w, pid, fsc_clock_mono(), err)
		   : 0;
}

struct fsc_processes_to fsc_gpu_process_callbacks(struct fsc_gpu_watching *w)
{
	return (struct fsc_processes_to){
	    .arg = w, .file = on_file, .judged = on_judged, .exited = on_exited, .exec = on_exec};
}

/* Whether the process started before this run. */
static bool is_older(const struct fsc_gpu_watching *w, uint32_t pid)
{
	uint64_t ticks;
	pid_t ppid;

	if (!fsc_task_stat((pid_t)pid, &ppid, &ticks))
		return fsc_map_get(&w->older, &(pid_t){(pid_t)pid}, sizeof(pid_t));
	/* It started somewhere within the tick. */
	return (ticks + 1) * 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK) <
	       w->begun_ns + fsc_clock_ns(CLOCK_BOOTTIME) - fsc_clock_mono();
}

int fsc_gpu_on_process(void *arg, uint32_t pid, struct fsc_gpu_process_facts *f,
		       struct fsc_err *err)
{
	struct fsc_gpu_watching *w = arg;
	uint32_t inner = (uint32_t)fsc_task_status((pid_t)pid, "NSpid:");
	int rc = fsc_namer_add_process(w->namer, (pid_t)pid, err);

	f->inner_pid = inner == pid ? 0 : inner;
	f->before = is_older(w, pid);
	if (!rc)
		rc = note_python(w, (pid_t)pid, err);
	f->python = rc > 0;
	return rc < 0 ? rc : 0;
}
