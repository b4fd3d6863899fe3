/* Reads a recording: the JSON lines that `time -i` (or `attach`) wrote to a file. */
#ifndef FSC_SOURCE_RECORDING_H
#define FSC_SOURCE_RECORDING_H

#include "model/blocks.h"

/* Reads the rows of durations of a regular file and skips other rows. The caller releases *ret.
 * ret_cut: the file ends without its summary, or in the middle of a line; all complete rows were
 * read. The file is not trusted: if it is no recording, the error names file and line. Blocks while
 * the file is read. */
int fsc_recording_read(const char *path, struct fsc_recording *ret, bool *ret_cut,
		       struct fsc_err *err);

#endif
