/* Instrumented processes as the files of this source see them. */
#ifndef FSC_SOURCE_SCOPES_PRIV_H
#define FSC_SOURCE_SCOPES_PRIV_H

#include "base/map.h"
#include "source/chunks.h"
#include "source/region.h"
#include "source/scopes.h"
#include "source/ticks.h"
#include "elf/elf.h"

struct process {
	pid_t pid;  /* 0: only its files are known */
	char *path; /* of the file; NULL: it runs, or ran when it was added */
	bool ended;
	struct fsc_region *region;
	char comm[FSC_COMM_LEN + 1];
	char *binary;
	uint32_t *funcs; /* by record index; 0: not looked up yet, else function index + 1 */
	uint64_t torn, lapped, left_open;
	uint32_t open_func; /* one that is open, if left_open */
};

struct file {
	char *path;
	struct fsc_elf *elf; /* NULL: cannot be opened */
};

struct fsc_scopes {
	uint32_t by;
	bool raw;
	struct fsc_tick_clock clock;
	bool ways[2];		  /* whether any checkpoint reads the clock free-running, ordered */
	struct fsc_vec processes; /* struct process */
	struct fsc_vec funcs;	  /* struct fsc_func; strings are owned */
	struct fsc_map by_name;
	struct fsc_vec files; /* struct file: to look up functions by address */
};

/* scopes_names.c: the function index of a checkpoint of the process, added if it is new. */
int fsc_scopes_func(struct fsc_scopes *s, struct process *p, uint32_t index, uint32_t *ret,
		    struct fsc_err *err);

#endif
