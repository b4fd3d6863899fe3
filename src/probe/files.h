/* Which files a probe's binary part means. */
#ifndef FSC_PROBE_FILES_H
#define FSC_PROBE_FILES_H

#include "probe/spec.h"
#include "probe/target.h"

/* Appends struct fsc_libs_file for the spec's binary, as each process of the scope sees it, or as
 * this machine does. mapped: an empty binary means every file a process has mapped, not only its
 * program. A binary that some of the processes lack is no error. Caller releases with
 * fsc_libs_release. */
int fsc_scope_files(const struct fsc_scope *scope, const struct fsc_spec *spec, bool mapped,
		    struct fsc_vec *ret, struct fsc_err *err);

#endif
