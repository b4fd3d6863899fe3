/* A whole text file of /proc, tracefs or /etc in memory. */
#ifndef FSC_BASE_SLURP_H
#define FSC_BASE_SLURP_H

#include <stddef.h>

#include "base/err.h"

/* Reads path (relative to dirfd, AT_FDCWD for here) to its end; its size need not be known. The
 * text is zero-terminated; the caller frees it. Never waits on a FIFO. Fails with the errno of the
 * system, or EFBIG past 1 GB. */
int fsc_slurp(int dirfd, const char *path, char **ret, size_t *ret_n, struct fsc_err *err);
/* The rest of an open file or pipe, called path in messages; blocks if the descriptor does. */
int fsc_slurp_fd(int fd, const char *path, char **ret, size_t *ret_n, struct fsc_err *err);

#endif
