/* Shared by the watch*.c files. */
#ifndef FSC_GPU_WATCH_PRIV_H
#define FSC_GPU_WATCH_PRIV_H

#include "base/buf.h"
#include "base/map.h"
#include "gpu/books.h"
#include "gpu/calls.h"
#include "gpu/events.h"
#include "gpu/flames.h"
#include "gpu/page.h"
#include "gpu/stacks.h"
#include "gpu/watch.h"
#include "run/processes.h"
#include "run/run.h"

struct fsc_gpu_watching {
	const struct fsc_gpu_watch_opts *opts;
	struct fsc_run *run;
	struct fsc_gpu_session *session;
	struct fsc_processes *processes;
	struct fsc_namer *namer;
	struct fsc_gpu_texts texts;
	struct fsc_copies *copies; /* NULL: the records have the stacks */
	struct fsc_gpu_stacks *stacks;
	struct fsc_gpu_books *books;
	struct fsc_gpu_hooks *hooks;
	struct fsc_gpu_events *events;
	struct fsc_gpu_flames *flames; /* NULL: not requested */
	struct fsc_gpu_page *page;     /* likewise */
	struct fsc_map older;	       /* processes that ran before this run */
	uint64_t begun_ns;	       /* when the run began */
	uint64_t cpu_start;	       /* of the machine */
	uint64_t unwanted;	       /* records of processes that turned out not to be targets */
	struct fsc_buf held;	       /* size and record, of processes with no verdict yet */
	bool no_doubts;		       /* processes without a verdict count as targets */
	double entry_ns, both_ns;
	bool cost_known;
	struct fsc_gpu_call calls[FSC_GPU_CALLS];
};

/* watch_processes.c: callbacks of the process table. */
struct fsc_processes_to fsc_gpu_process_callbacks(struct fsc_gpu_watching *w);
/* Called at a process's first call. */
int fsc_gpu_on_process(void *arg, uint32_t pid, struct fsc_gpu_process_facts *f,
		       struct fsc_err *err);

/* watch_records.c: reads the rings and publishes the events that ended until then. */
int fsc_gpu_drain(struct fsc_gpu_watching *w, uint64_t until_ns, struct fsc_err *err);
/* Until when the rings have everything that ended. */
uint64_t fsc_gpu_complete_ns(void);
int fsc_gpu_on_event(void *arg, const struct fsc_gpu_event *e, uint32_t stack, struct fsc_err *err);

/* watch_report.c */
void fsc_gpu_fill_books(struct fsc_gpu_watching *w, struct fsc_summary *s);
int fsc_gpu_write_report(struct fsc_gpu_watching *w, bool last, struct fsc_err *err);
/* fsc_gpu_page_fn */
int fsc_gpu_on_page(struct fsc_gpu_report *r, struct fsc_summary *books, void *arg,
		    struct fsc_err *err);

#endif
