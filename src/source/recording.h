/* Where data comes from: a recording, the JSON lines that `time -i` (or `attach`) wrote to a file.
 */
#ifndef FSC_SOURCE_RECORDING_H
#define FSC_SOURCE_RECORDING_H

#include "model/blocks.h"

/* Reads the rows of durations of a regular file; rows of other types are passed over. *ret is the
 * caller's to release. ret_cut: the file ends without its summary, or in the middle of a line; what
 * is whole of it was read. Everything in the file is taken for hostile: what is no recording is an
 * error that names file and line. Blocks for as long as the file takes to read. */
int fsc_recording_read(const char *path, struct fsc_recording *ret, bool *ret_cut,
		       struct fsc_err *err);

#endif
