/* The `gpu` command: hooks the CUDA calls of processes, reports each event and the totals, until
 * it is stopped. */
#ifndef FSC_GPU_WATCH_H
#define FSC_GPU_WATCH_H

#include "gpu/hooks.h"
#include "run/filter.h"
#include "run/output.h"
#include "web/server.h"

/* How stacks become a flame graph. */
enum fsc_gpu_weigh { FSC_GPU_WEIGH_NONE, FSC_GPU_WEIGH_LAUNCHES, FSC_GPU_WEIGH_BYTES };

struct fsc_gpu_watch_opts {
	struct fsc_filter targets; /* borrowed */
	char *const *command;	   /* NULL: none */
	bool exit_code;		   /* as in struct fsc_run_opts */
	const struct fsc_output_opts *out;
	uint32_t stacks; /* enum fsc_gpu_stacks_of */
	bool dwarf;	 /* unwound by debug information */
	uint32_t sample;
	bool python, args;
	struct fsc_gpu_hooks_opts hooks;
	double leak_age_s;
	unsigned top;
	enum fsc_gpu_weigh weigh;
	struct fsc_server_opts page; /* for Prometheus; its listen is NULL: none */
};

/* Blocks until the run ends; the last report and the footer are written then. */
int fsc_gpu_watch(const struct fsc_gpu_watch_opts *opts, struct fsc_err *err);

#endif
