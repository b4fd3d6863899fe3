/* The run of `gpu`. */
#include "gpu/watch.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "gpu/watch_priv.h"
#include "proc/cputime.h"
#include "proc/libs.h"

/* Intervals in seconds: reading records; reading CPU times; scanning /proc, with and without
 * process events from the kernel. */
#define TICK 0.02
#define CPU  0.2
#define SCAN 30.0
#define LOOK 1.0

/* ---- the loop ---- */

static int scan_processes(struct fsc_gpu_watching *w, struct fsc_err *err)
{
	const struct fsc_processes_to to = fsc_gpu_process_callbacks(w);

	return fsc_processes_scan(w->processes, &to, err);
}

static int read_and_drain(struct fsc_gpu_watching *w, bool last, struct fsc_err *err)
{
	const struct fsc_processes_to to = fsc_gpu_process_callbacks(w);
	int rc = fsc_processes_read(w->processes, last, &to, err);

	return rc ? rc : fsc_gpu_drain(w, last ? UINT64_MAX : fsc_gpu_complete_ns(), err);
}

static int on_scan(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	(void)loop, (void)n;
	return scan_processes(arg, err);
}

/* Processes may have exited when their CPU time is needed: the last value read is kept. */
static int on_cpu(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	(void)loop, (void)n, (void)err;
	fsc_processes_cpu(((struct fsc_gpu_watching *)arg)->processes);
	return 0;
}

static int on_full(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	(void)loop, (void)n;
	return fsc_gpu_drain(arg, fsc_gpu_complete_ns(), err);
}

static void on_rewritten(const void *name, void *arg)
{
	fsc_run_rewritten(((struct fsc_gpu_watching *)arg)->run, name);
}

static int on_writes(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct fsc_gpu_watching *w = arg;

	(void)loop, (void)n, (void)err;
	fsc_gpu_hooks_check_writes(w->hooks, on_rewritten, w);
	return 0;
}

static int gpu_tick(struct fsc_run *r, struct fsc_err *err)
{
	struct fsc_gpu_watching *w = r->state;
	int rc = read_and_drain(w, false, err);

	if (!rc && fsc_processes_all_exited(w->processes))
		fsc_run_all_exited(r, fsc_processes_count(w->processes, true));
	if (w->page)
		fsc_gpu_page_serve(w->page);
	return rc;
}

/* ---- beginning ---- */

/* The number of GPUs by the driver's count; 0: unknown. */
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
	struct fsc_gpu_session_opts so = {.calls = w->calls,
					  .n_calls = fsc_gpu_n_rows,
					  .stacks = o->stacks,
					  .copy_stacks = o->dwarf,
					  .python = o->python,
					  .args = o->args,
					  .sample = o->sample,
					  .judged = !fsc_filter_passes_all(&o->targets)};

	for (size_t i = 0; i < fsc_gpu_n_rows; i++) {
		w->calls[i] = fsc_gpu_rows[i].call;
		if (o->hooks.launch_errors && w->calls[i].op >= FSC_GPU_LAUNCH &&
		    w->calls[i].op <= FSC_GPU_GRAPH)
			w->calls[i].flags &= (uint8_t)~FSC_GPU_ENTRY;
	}
	return fsc_gpu_session_open(&so, &w->session, err);
}

enum { MOST_LASTING = 32768 }; /* stacks: twice what the kernel remembers */

static bool add_rule(void *session, const struct fsc_unwind_key *key, uint64_t rule)
{
	return fsc_gpu_session_add_rule(session, key, rule);
}

static int open_copies(struct fsc_gpu_watching *w, struct fsc_err *err)
{
	const struct fsc_copies_opts o = {.namer = w->namer,
					  .most_lasting = MOST_LASTING,
					  .add_rule = add_rule,
					  .of = w->session};
	int rc;

	if (!w->opts->dwarf)
		return 0;
	rc = fsc_copies_new(&o, &w->copies, err);
	if (!rc)
		fsc_gpu_session_on_copy(w->session, fsc_copies_take, w->copies);
	return rc;
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
	int rc = open_copies(w, err);

	if (!rc)
		rc = fsc_gpu_stacks_new(w->namer, w->copies, &w->texts, &w->stacks, err);
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

static int watch_loop(struct fsc_gpu_watching *w, struct fsc_err *err)
{
	struct fsc_loop *loop = &w->run->loop;
	int rc = fsc_loop_timer(loop, fsc_processes_has_events(w->processes) ? SCAN : LOOK, true,
				on_scan, w, err);

	if (!rc)
		rc = fsc_loop_timer(loop, CPU, true, on_cpu, w, err);
	if (!rc && fsc_gpu_hooks_writes_fd(w->hooks) >= 0)
		rc = fsc_loop_watch_fd(loop, fsc_gpu_hooks_writes_fd(w->hooks), on_writes, w, err);
	return rc ? rc : fsc_loop_watch_fd(loop, fsc_gpu_session_fd(w->session), on_full, w, err);
}

static int gpu_open(struct fsc_run *r, struct fsc_err *err)
{
	struct fsc_gpu_watching *w = r->state;
	const struct fsc_namer_opts no = {0};
	int rc;

	w->run = r;
	/* The session first: without the right to load programs, that is the error to report. */
	rc = open_session(w, err);
	if (!rc)
		rc = fsc_processes_new(&w->opts->targets, &w->processes, err);
	if (!rc)
		rc = fsc_namer_new(&no, &w->namer, err);
	if (!rc)
		rc = open_events(w, count_devices(), err);
	if (!rc && w->opts->page.listen)
		rc = fsc_gpu_page_new(&w->opts->page, fsc_gpu_on_page, w, &w->page, err);
	return rc ? rc : watch_loop(w, err);
}

/* Hooks files before they are mapped: those of the command, or all that are known. */
static int hook_known(struct fsc_gpu_watching *w, struct fsc_err *err)
{
	const struct fsc_child *child = &w->run->child;
	FSC_AUTO(fsc_freep) char *path = child->name ? fsc_libs_which(child->name) : NULL;
	int rc;

	if (!child->name && w->opts->targets.pids.n)
		return 0;
	rc = fsc_gpu_hooks_known(w->hooks, path, err);
	if (!rc && child->name)
		rc = fsc_processes_command(w->processes, child->pid, err);
	/* It mapped its program before events were recorded. */
	if (!rc && child->name)
		rc = fsc_namer_add_process(w->namer, child->pid, err);
	return rc;
}

static int gpu_attach(struct fsc_run *r, struct fsc_err *err)
{
	struct fsc_gpu_watching *w = r->state;
	struct fsc_err why = {0};
	int rc = hook_known(w, err);

	if (!rc)
		rc = scan_processes(w, err);
	if (rc)
		return rc;
	w->cpu_start = fsc_cputime_machine();
	w->cost_known = !fsc_gpu_session_cost(w->session, &w->entry_ns, &w->both_ns, &why);
	if (!w->cost_known)
		fsc_log(FSC_LOG_DEBUG, "%s", why.msg);
	return 0;
}

static void gpu_ready(struct fsc_run *r)
{
	const struct fsc_gpu_watching *w = r->state;
	size_t n = 0;

	fsc_gpu_hooks_coverage(w->hooks, &n);
	fsc_log(FSC_LOG_NOTE, "watching %zu places in %zu file%s%s", fsc_gpu_hooks_places(w->hooks),
		n, n == 1 ? "" : "s", n ? "" : "; CUDA's libraries are hooked when they appear");
}

/* ---- the end ---- */

static int gpu_detach(struct fsc_run *r, struct fsc_err *err)
{
	struct fsc_gpu_watching *w = r->state;
	int rc;

	fsc_gpu_hooks_check_writes(w->hooks, on_rewritten, w);
	fsc_gpu_session_detach(w->session);
	/* Twice: the first pass may decide about processes whose records are held. */
	rc = read_and_drain(w, true, err);
	w->no_doubts = true;
	if (!rc)
		rc = read_and_drain(w, true, err);
	if (!rc)
		rc = fsc_gpu_events_settle(w->events, 0, err);
	fsc_gpu_books_find_exited(w->books);
	return rc;
}

static int gpu_report(struct fsc_run *r, bool last, struct fsc_err *err)
{
	return fsc_gpu_write_report(r->state, last, err);
}

static int gpu_books(struct fsc_run *r, struct fsc_summary *ret, struct fsc_err *err)
{
	(void)err;
	fsc_gpu_fill_books(r->state, ret);
	return 0;
}

static const struct fsc_run_ops ops = {.open = gpu_open,
				       .attach = gpu_attach,
				       .ready = gpu_ready,
				       .tick = gpu_tick,
				       .report = gpu_report,
				       .detach = gpu_detach,
				       .books = gpu_books};

static void watch_release(struct fsc_gpu_watching *w)
{
	fsc_gpu_page_free(w->page);
	fsc_gpu_flames_free(w->flames);
	fsc_gpu_events_free(w->events);
	fsc_gpu_hooks_free(w->hooks);
	fsc_gpu_books_free(w->books);
	fsc_gpu_stacks_free(w->stacks);
	fsc_copies_free(w->copies);
	fsc_namer_free(w->namer);
	fsc_gpu_texts_release(&w->texts);
	fsc_map_release(&w->older);
	fsc_buf_release(&w->held);
	fsc_gpu_session_free(w->session);
	fsc_processes_free(w->processes);
}

int fsc_gpu_watch(const struct fsc_gpu_watch_opts *opts, struct fsc_err *err)
{
	struct fsc_gpu_watching w = {.opts = opts, .begun_ns = fsc_clock_mono()};
	const struct fsc_run_opts ro = {.ops = &ops,
					.state = &w,
					.out = opts->out,
					/* Stacks of launches, or of allocations, are what a flame
					 * graph is made of. */
					.data = opts->weigh ? FSC_DATA_STACKS : FSC_DATA_GPU,
					.command = opts->command,
					.exit_code = opts->exit_code,
					.tick_s = TICK};
	int rc;

	fsc_gpu_texts_init(&w.texts);
	rc = fsc_run(&ro, err);
	watch_release(&w);
	return rc;
}
