/* Many functions of one file at once: its symbols are read a single time. */
#ifndef FSC_PROBE_UPROBE_H
#define FSC_PROBE_UPROBE_H

#include "probe/target.h"
#include "proc/libs.h"

struct fsc_wanted {
	const char *function; /* name or glob, mangled or not */
	size_t found;	      /* functions that match and can be probed */
	size_t refused;	      /* that match and cannot: noted in targets->skipped */
};

/* Adds every place that one of the wanted functions means; the rows say by `probe` which one. A
 * file without any is no failure. */
int fsc_uprobe_search(const struct fsc_libs_file *file, struct fsc_wanted *wanted, size_t n,
		      const struct fsc_scope *scope, struct fsc_targets *out, struct fsc_err *err);

#endif
