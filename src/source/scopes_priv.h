/* What the files that read instrumented memory share. */
#ifndef FSC_SOURCE_SCOPES_PRIV_H
#define FSC_SOURCE_SCOPES_PRIV_H

#include "base/map.h"
#include "source/chunks.h"
#include "source/region.h"
#include "source/scopes.h"
#include "source/ticks.h"
#include "elf/elf.h"

struct process {
	pid_t pid;  /* 0: only its files are there */
	char *path; /* of the file, NULL: it runs, or ran when we came */
	bool ended;
	struct fsc_region *region;
	char comm[FSC_COMM_LEN + 1];
	char *binary;
	uint32_t *funcs; /* by the index of a record; 0: not asked yet, else the function's + 1 */
	uint64_t torn, lapped, left_open;
	uint32_t open_func; /* one that is open, if any is */
};

struct file {
	char *path;
	struct fsc_elf *elf; /* NULL: cannot be opened */
};

struct fsc_scopes {
	uint32_t by;
	bool raw;
	struct fsc_tick_clock clock;
	bool ways[2];		  /* free-running, ordered: checkpoints that read the clock so */
	struct fsc_vec processes; /* struct process */
	struct fsc_vec funcs;	  /* struct fsc_func; strings are owned */
	struct fsc_map by_name;
	struct fsc_vec files; /* struct file: whose functions have addresses only */
};

/* scopes_names.c: the number of the function that a checkpoint of the process is, made if it is
 * new. */
int fsc_scopes_func(struct fsc_scopes *s, struct process *p, uint32_t index, uint32_t *ret,
		    struct fsc_err *err);

#endif
