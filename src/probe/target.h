/* Resolved probes: places to attach to, and the rows (functions) their hits are counted in. Several
 * places may share one row: every site of a USDT probe, two static functions of one name. */
#ifndef FSC_PROBE_TARGET_H
#define FSC_PROBE_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

struct fsc_ksyms;

/* Where a place is: what the engine needs to know to attach there. */
enum fsc_site { FSC_SITE_USER, FSC_SITE_KERNEL, FSC_SITE_TRACEPOINT };

/* An instruction by which a function ends: a return, or a jump to another function. */
struct fsc_exit {
	uint64_t offset; /* in the file */
	bool perhaps;	 /* a jump that may also stay inside */
	bool jump;	 /* to another function (a tail call) */
};

struct fsc_target {
	enum fsc_site site;
	bool ret;
	uint32_t row;
	/* user */
	uint32_t file;	  /* index in fsc_targets.files */
	uint64_t offset;  /* in the file; in the function for a kernel place */
	uint64_t ref_ctr; /* file offset of a USDT semaphore, 0 for none */
	uint64_t nop5; /* file offset of a 5-byte nop the place begins with, 0 if there is none */
	uint64_t body; /* file offset behind the leading no-operations */
	bool stepped;  /* the instruction at body must be single-stepped under a probe */
	bool at_entry; /* offset is a function's first instruction */
	bool looped;   /* the function jumps to the instruction at body: see probe/loops.h */
	bool by_insns; /* returns are taken at exits, else the kernel catches them */
	struct fsc_exit *exits;
	size_t n_exits; /* 0: the function never returns */
	/* kernel */
	uint64_t addr; /* 0 where the kernel hides it: then by the row's symbol */
	/* tracepoint */
	int event_id;
	int syscall;	 /* number of the system call it stands for, -1 for none */
	char *usdt_args; /* as the USDT note has them; owned; NULL: none */
	char *aliases;	 /* other names of the same place, ", " between; NULL for none */
};

/* A function as it is counted and shown. */
struct fsc_target_row {
	const char *kind;
	char *binary;	/* file, kernel module or tracepoint category */
	char *name;	/* demangled where it was mangled */
	char *symbol;	/* as in the symbol table; NULL if the same as name */
	uint32_t probe; /* number of the probe that the user named, where rows are kept apart */
	uint32_t first; /* where they are, the first row of the same function; else its own */
};

struct fsc_target_file {
	char *path;	/* to open */
	char *name;	/* to show */
	uint64_t inode; /* its number, by fsc_targets.inode_of; 0 without */
	dev_t dev;
	ino_t ino;
	bool throws; /* exceptions may pass through its functions (probe/fragile.h) */
};

/* A function that matched but cannot be probed, and why. */
struct fsc_skipped {
	char *name, *why;
};

struct fsc_targets {
	struct fsc_vec at;	/* struct fsc_target */
	struct fsc_vec rows;	/* struct fsc_target_row; index = row = BPF cookie */
	struct fsc_vec files;	/* struct fsc_target_file */
	struct fsc_vec skipped; /* struct fsc_skipped */
	struct fsc_map row_index, site_index;
	/* The number of the inode that the kernel would probe: one file has several devices and
	 * inode numbers if overlays share it. NULL: as stat() shows it. */
	int (*inode_of)(void *arg, const char *path, uint64_t *ret, struct fsc_err *err);
	void *inode_arg;
	struct fsc_map known; /* what probe/returns.c knows of files, by their paths */
	bool apart;	      /* every place has a row of its own, and every probe its places */
	uint32_t probe;	      /* the one that is being resolved */
};

/* How returns of user functions are caught. */
enum fsc_returns {
	FSC_RETURNS_BEST, /* by instructions where an exception may pass, else by the kernel */
	FSC_RETURNS_TRAMPOLINE, /* by the kernel, which changes the return address */
	FSC_RETURNS_INSNS,	/* by probes on the instructions that end the function */
};

/* What resolving needs to know besides the spec. */
struct fsc_scope {
	const pid_t *pids; /* -p */
	size_t n_pids;
	const char *command; /* path of a program about to be run, NULL for none */
	bool regex;
	bool pairs;	/* entry and return will be probed together */
	bool strangers; /* unknown programs would have their return addresses replaced */
	enum fsc_returns returns;
	bool unwinds; /* stacks are unwound, which changed return addresses prevent: instructions
			 are probed wherever they are found */
	const struct fsc_pattern *excludes;
	size_t n_excludes;
	const struct fsc_ksyms *kernel; /* its functions, where they have been read already */
};

void fsc_targets_init(struct fsc_targets *t);
void fsc_targets_release(struct fsc_targets *t);
/* The file's index, added if new; two paths of one inode are one file. */
int fsc_targets_file(struct fsc_targets *t, const char *path, const char *name, uint32_t *ret,
		     struct fsc_err *err);
/* Adds a place. Its row is found or made from (kind, binary, name); a place that is there already
 * only gains an alias. place->row and ->aliases are ignored; its exits and usdt_args, if taken
 * over, are NULL afterwards. */
int fsc_targets_add(struct fsc_targets *t, struct fsc_target *place, const char *kind,
		    const char *binary, const char *name, const char *symbol, struct fsc_err *err);
int fsc_targets_skip(struct fsc_targets *t, const char *name, const char *why, struct fsc_err *err);
/* Whether an -x pattern excludes the name. */
bool fsc_scope_excluded(const struct fsc_scope *scope, const char *name);

static inline size_t fsc_targets_count(const struct fsc_targets *t)
{
	return t->at.n;
}

static inline struct fsc_target *fsc_targets_at(const struct fsc_targets *t, size_t i)
{
	return FSC_AT(struct fsc_target, &t->at, i);
}

static inline struct fsc_target_row *fsc_targets_row(const struct fsc_targets *t, size_t i)
{
	return FSC_AT(struct fsc_target_row, &t->rows, i);
}

#endif
