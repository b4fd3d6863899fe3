/* Files of every process named, or of the machine. */
#include "probe/files.h"

#include <errno.h>

#include "proc/libs.h"

int fsc_scope_files(const struct fsc_scope *scope, const struct fsc_spec *spec, bool mapped,
		    struct fsc_vec *ret, struct fsc_err *err)
{
	struct fsc_libs_scope ls = {.command = scope->command};
	const char *binary = spec->binary;
	int rc = 0;

	if (!binary[0] && !scope->n_pids && !scope->command)
		return fsc_err_usage(
		    err,
		    "'%s' means the process's own program, but no process is given; "
		    "add -p PID or -- COMMAND, or name the program before the ':'",
		    spec->text);
	if (!scope->n_pids)
		return fsc_libs_find(binary, &ls, ret, err);
	for (size_t i = 0; i < scope->n_pids; i++) {
		ls.pid = scope->pids[i];
		rc = mapped && !binary[0] ? fsc_libs_mapped(ls.pid, ret, err)
					  : fsc_libs_find(binary, &ls, ret, err);
		/* A process that has exited meanwhile is ignored while there are others. */
		if (rc && rc != -ENOENT && rc != -ESRCH)
			return rc;
	}
	return ret->n ? 0 : rc;
}
