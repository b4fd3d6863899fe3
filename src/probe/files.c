/* Files of every process named, or of the machine. */
#include "probe/files.h"

#include <errno.h>

#include "sym/libs.h"

int fsc_scope_files(const struct fsc_scope *scope, const char *binary, bool mapped,
		    struct fsc_vec *ret, struct fsc_err *err)
{
	struct fsc_libs_scope ls = {.command = scope->command};
	int rc = 0;

	if (!scope->n_pids)
		return fsc_libs_find(binary, &ls, ret, err);
	for (size_t i = 0; i < scope->n_pids; i++) {
		ls.pid = scope->pids[i];
		rc = mapped && !binary[0] ? fsc_libs_mapped(ls.pid, ret, err)
					  : fsc_libs_find(binary, &ls, ret, err);
		if (rc && rc != -ENOENT)
			return rc;
	}
	return ret->n ? 0 : rc;
}
