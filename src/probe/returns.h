/* How the returns of a file's functions are caught: by the kernel, which replaces the return
 * address, or at the return instructions where that would break the program. */
#ifndef FSC_PROBE_RETURNS_H
#define FSC_PROBE_RETURNS_H

#include "probe/exits.h"
#include "probe/files.h"
#include "probe/fragile.h"
#include "proc/libs.h"

/* What the files of a process may do to frames that are not their own: a C++ exception may pass
 * through C libraries that call back, a cancelled thread is unwound through all its frames, and
 * coroutines switch inside them. In order of danger. */
enum fsc_returns_world {
	FSC_WORLD_TAME,	 /* nothing */
	FSC_WORLD_LOADS, /* nothing known, but files may be loaded later that do */
	FSC_WORLD_WILD,	 /* they throw, use the unwinder or switch stacks; or nothing is known */
};

struct fsc_returns_file {
	const struct fsc_scope *scope;		   /* borrowed */
	struct fsc_map *known;			   /* files looked at, borrowed */
	enum fsc_returns_world processes, command; /* of the scope */
	bool go;				   /* the file is a Go program */
	bool c_library;
	enum fsc_fragile_file unwinding; /* by the file's own code */
	enum fsc_returns_world world;	 /* where its functions run */
	struct fsc_exits_file exits;	 /* of the file */
};

/* Looks at the processes and the command of the scope, before the first file is checked. */
void fsc_returns_check_targets(struct fsc_returns_file *r);
/* What the whole file says about catching returns in it; f is where e came from. */
void fsc_returns_check_file(struct fsc_returns_file *r, struct fsc_elf *e,
			    const struct fsc_libs_file *f);
/* Decides for a function: t->exits (the caller's) and t->by_insns. *ret_why is set if its return
 * cannot be caught. */
int fsc_returns_choose(const struct fsc_returns_file *r, const struct fsc_sym *sym,
		       struct fsc_target *t, const char **ret_why, struct fsc_err *err);

#endif
