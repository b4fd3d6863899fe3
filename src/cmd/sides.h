/* The two sides of a comparison: files and directories named on the command line, read into
 * recordings. */
#ifndef FSC_CMD_SIDES_H
#define FSC_CMD_SIDES_H

#include "base/vec.h"
#include "model/blocks.h"

/* Reads each of paths (const char *), a recording or a directory of them (*.json, sorted), and
 * appends struct fsc_recording to *ret, the caller's to release also after a failure. Warns about
 * truncated ones; the same file twice on a side is a usage error: it would count as two runs. */
int fsc_side_read(const struct fsc_vec *paths, struct fsc_vec *ret, struct fsc_err *err);
void fsc_side_release(struct fsc_vec *side);

#endif
