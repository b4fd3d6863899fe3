/* The loop of `gpu`. Everything it acquires is in struct fsc_gpu_watching and released in one
 * place.
 */
#include "gpu/watch.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "gpu/watch_priv.h"
#include "source/cputime.h"
#include "proc/libs.h"

#define TICK 0.02
#define SCAN                                                                                       \
	30.0	 /* seconds between two looks at all that run, where the kernel tells of new ones */
#define LOOK 1.0 /* and where it does not */

static int look(struct fsc_gpu_watching *w, struct fsc_err *err)
{
	const struct fsc_processes_to to = fsc_gpu_told(w);

	return fsc_processes_scan(w->processes, &to, err);
}

/* ---- the loop ---- */

static int on_end(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	(void)n, (void)arg, (void)err;
	loop->stop = true;
	return 0;
}

static int on_child_end(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct fsc_gpu_watching *w = arg;

	(void)n;
	loop->stop = true;
	w->child_ended = true;
	return fsc_child_wait(&w->child, &w->child_status, &w->child_cpu, err);
}

static bool is_due(uint64_t *due_ns, double every_s)
{
	uint64_t now = fsc_clock_mono();

	if (every_s <= 0 || now < *due_ns)
		return false;
	*due_ns = now + (uint64_t)(every_s * 1e9);
	return true;
}

static bool all_ended(const struct fsc_gpu_watching *w)
{
	return w->opts->targets.pids.n && !w->opts->targets.command.n &&
	       fsc_processes_count(w->processes, true) && !fsc_processes_count(w->processes, false);
}

static int take_in(struct fsc_gpu_watching *w, bool last, struct fsc_err *err)
{
	const struct fsc_processes_to to = fsc_gpu_told(w);
	int rc = fsc_processes_read(w->processes, last, &to, err);

	return rc ? rc : fsc_gpu_drain(w, err);
}

static int on_tick(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct fsc_gpu_watching *w = arg;
	int rc = take_in(w, false, err);

	(void)n;
	if (!rc && is_due(&w->cpu_ns, 0.2))
		fsc_processes_cpu(w->processes);
	if (!rc && is_due(&w->scan_ns, fsc_processes_told(w->processes) ? SCAN : LOOK))
		rc = look(w, err);
	if (!rc && all_ended(w)) {
		fsc_log(FSC_LOG_NOTE, "all processes that were asked for have ended");
		loop->stop = true;
	}
	if (!rc && w->opts->every_s > 0 && is_due(&w->report_ns, w->opts->every_s))
		rc = fsc_gpu_tell_report(w, false, err);
	if (w->page)
		fsc_gpu_page_serve(w->page);
	return rc;
}

static int on_full(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	(void)loop, (void)n;
	return fsc_gpu_drain(arg, err);
}

/* ---- beginning ---- */

/* How many GPUs there are, as the driver says; 0: it does not. */
static unsigned count_devices(void)
{
	DIR *d = opendir("/proc/driver/nvidia/gpus");
	struct dirent *e;
	unsigned n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

static int open_session(struct fsc_gpu_watching *w, struct fsc_err *err)
{
	const struct fsc_gpu_watch_opts *o = w->opts;
	const struct fsc_snoop_targets *t = &o->targets;
	struct fsc_gpu_session_opts so = {.calls = w->calls,
					  .n_calls = fsc_gpu_n_rows,
					  .stacks = o->stacks,
					  .python = o->python,
					  .args = o->args,
					  .sample = o->sample,
					  .judged = t->pids.n || t->names.n || t->cgroups.n ||
						    t->command.n};

	for (size_t i = 0; i < fsc_gpu_n_rows; i++) {
		w->calls[i] = fsc_gpu_rows[i].call;
		if (o->hooks.launch_errors && w->calls[i].op >= FSC_GPU_LAUNCH &&
		    w->calls[i].op <= FSC_GPU_GRAPH)
			w->calls[i].flags &= (uint8_t)~FSC_GPU_ENTRY;
	}
	return fsc_gpu_session_open(&so, &w->session, err);
}

static int open_events(struct fsc_gpu_watching *w, unsigned devices, struct fsc_err *err)
{
	const struct fsc_gpu_events_to to = {
	    .arg = w, .event = fsc_gpu_on_event, .process = fsc_gpu_on_process};
	struct fsc_gpu_hooks_opts ho = w->opts->hooks;
	struct fsc_gpu_events_opts eo = {.texts = &w->texts,
					 .namer = w->namer,
					 .sizes = w->opts->args,
					 .device = devices == 1 ? 0 : -1};
	int rc = fsc_gpu_stacks_new(w->namer, &w->texts, &w->stacks, err);

	ho.several_devices = devices != 1;
	if (!rc)
		rc = fsc_gpu_books_new(w->stacks, &w->books, err);
	if (!rc)
		rc = fsc_gpu_hooks_new(w->session, &ho, &w->hooks, err);
	eo.stacks = w->stacks;
	eo.books = w->books;
	eo.hooks = w->hooks;
	if (!rc)
		rc = fsc_gpu_events_new(&eo, &to, &w->events, err);
	if (!rc && w->opts->weigh)
		rc = fsc_gpu_flames_new(w->stacks, w->opts->weigh, &w->flames, err);
	return rc;
}

static int start_command(struct fsc_gpu_watching *w, struct fsc_err *err)
{
	const struct fsc_vec *words = &w->opts->targets.command;
	FSC_AUTO(fsc_freep) char *path = NULL;
	char **argv;
	int rc;

	if (!words->n)
		return w->opts->targets.pids.n ? 0 : fsc_gpu_hooks_known(w->hooks, NULL, err);
	argv = calloc(words->n + 1, sizeof(*argv));
	if (!argv)
		return fsc_err_nomem(err);
	memcpy(argv, words->data, words->n * sizeof(*argv));
	rc = fsc_child_start(argv, w->opts->mask, &w->child, err);
	if (!rc)
		path = fsc_libs_which(argv[0]);
	free(argv);
	if (!rc)
		rc = fsc_gpu_hooks_known(w->hooks, path, err);
	if (!rc)
		rc = fsc_loop_watch_fd(&w->loop, w->child.pidfd, on_child_end, w, err);
	return rc ? rc : fsc_processes_command(w->processes, w->child.pid, err);
}

static int prepare(struct fsc_gpu_watching *w, struct fsc_err *err)
{
	const struct fsc_namer_opts no = {0};
	int rc = fsc_loop_init(&w->loop, err);

	if (!rc)
		rc = fsc_loop_signals(&w->loop, w->opts->ends, on_end, w, err);
	/* The session first: who may not load programs shall read that, and nothing else. */
	if (!rc)
		rc = open_session(w, err);
	if (!rc)
		rc = fsc_processes_new(&w->opts->targets, &w->processes, err);
	if (!rc)
		rc = fsc_namer_new(&no, &w->namer, err);
	if (!rc)
		rc = open_events(w, count_devices(), err);
	if (!rc && w->opts->listen)
		rc = fsc_gpu_page_new(w->opts->listen, fsc_gpu_on_page, w, &w->page, err);
	if (!rc)
		rc = start_command(w, err);
	if (!rc)
		rc = look(w, err);
	if (!rc)
		rc = fsc_loop_watch_fd(&w->loop, fsc_gpu_session_fd(w->session), on_full, w, err);
	return rc;
}

static void tell_ready(const struct fsc_gpu_watching *w)
{
	size_t n = 0;

	fsc_gpu_hooks_coverage(w->hooks, &n);
	fsc_log(FSC_LOG_NOTE, "watching %zu places in %zu file%s%s", fsc_gpu_hooks_places(w->hooks),
		n, n == 1 ? "" : "s", n ? "" : "; CUDA's libraries are hooked when they appear");
	if (w->opts->ready_fd && write((int)w->opts->ready_fd, "armed\n", 6) == 6)
		close((int)w->opts->ready_fd);
}

static int run(struct fsc_gpu_watching *w, struct fsc_err *err)
{
	struct fsc_err why = {0};
	uint64_t now = fsc_clock_mono();
	int rc = fsc_loop_timer(&w->loop, TICK, true, on_tick, w, err);

	w->start_ns = now;
	w->cpu_start = fsc_cputime_machine();
	w->scan_ns = now + (uint64_t)(SCAN * 1e9);
	w->report_ns = now + (uint64_t)(w->opts->every_s * 1e9);
	w->cost_known = !fsc_gpu_session_cost(w->session, &w->entry_ns, &w->both_ns, &why);
	if (!w->cost_known)
		fsc_log(FSC_LOG_DEBUG, "%s", why.msg);
	if (!rc && w->opts->duration_s > 0)
		rc = fsc_loop_timer(&w->loop, w->opts->duration_s, false, on_end, w, err);
	tell_ready(w);
	if (!rc && w->child.pid)
		rc = fsc_child_release(&w->child, err);
	return rc ? rc : fsc_loop_run(&w->loop, err);
}

static int end(struct fsc_gpu_watching *w, struct fsc_err *err)
{
	struct fsc_summary books;
	int rc;

	w->end_ns = fsc_clock_mono();
	fsc_gpu_session_detach(w->session);
	/* Once more for those that were not met before. */
	rc = take_in(w, true, err);
	w->no_doubts = true;
	if (!rc)
		rc = take_in(w, true, err);
	if (!rc)
		rc = fsc_gpu_events_settle(w->events, 0, err);
	fsc_gpu_books_look(w->books);
	if (!rc)
		rc = fsc_gpu_tell_report(w, true, err);
	fsc_gpu_fill_books(w, &books);
	if (!rc)
		rc = fsc_sink_summary(w->opts->sink, &books, err);
	if (!rc && w->child_ended && w->child_status)
		fsc_log(FSC_LOG_WARN, "the command ended with %s %d",
			WIFSIGNALED(w->child_status) ? "signal" : "exit code",
			WIFSIGNALED(w->child_status) ? WTERMSIG(w->child_status)
						     : WEXITSTATUS(w->child_status));
	return rc;
}

static void release(struct fsc_gpu_watching *w)
{
	fsc_gpu_page_free(w->page);
	fsc_gpu_flames_free(w->flames);
	fsc_gpu_events_free(w->events);
	fsc_gpu_hooks_free(w->hooks);
	fsc_gpu_books_free(w->books);
	fsc_gpu_stacks_free(w->stacks);
	fsc_namer_free(w->namer);
	fsc_gpu_texts_release(&w->texts);
	fsc_map_release(&w->older);
	fsc_buf_release(&w->held);
	fsc_gpu_session_free(w->session);
	fsc_processes_free(w->processes);
	fsc_child_drop(&w->child);
	fsc_loop_release(&w->loop);
}

int fsc_gpu_watch(const struct fsc_gpu_watch_opts *opts, struct fsc_err *err)
{
	struct fsc_gpu_watching w = {.opts = opts, .loop = {.epoll = -1}, .child = {.pidfd = -1}};
	int rc;

	w.begun_ns = fsc_clock_mono();
	fsc_gpu_texts_init(&w.texts);
	rc = prepare(&w, err);
	if (!rc)
		rc = run(&w, err);
	if (!rc)
		rc = end(&w, err);
	release(&w);
	return rc;
}
