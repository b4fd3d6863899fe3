/* Messages as files in a directory, one each: written under another name and then renamed, so that
 * a file is complete or absent if the process dies, and checksummed in case the machine does. The
 * directory belongs to this user, and is locked by one process at a time. */
#ifndef FSC_WEB_SPOOLDIR_H
#define FSC_WEB_SPOOLDIR_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct fsc_spooldir {
	int fd, lock_fd; /* -1: none */
	char *path;
	char *name; /* prefix of its files: several spools may share a directory */
};

#define FSC_SPOOLDIR_NONE ((struct fsc_spooldir){.fd = -1, .lock_fd = -1})

/* A message read from a file. */
struct fsc_spooled {
	char *path, *type, *body; /* one allocation, owned through path */
	size_t n;
};

/* The caller closes ret, also after a failure. */
int fsc_spooldir_open(const char *path, const char *name, struct fsc_spooldir *ret,
		      struct fsc_err *err);
void fsc_spooldir_close(struct fsc_spooldir *d);
/* Calls fn for each message, in no order, until it fails, and returns what it returned. Incomplete
 * messages are removed and counted in *bad. */
int fsc_spooldir_each(struct fsc_spooldir *d,
		      int (*fn)(uint64_t seq, size_t n, uint64_t cost, void *arg), void *arg,
		      uint64_t *bad, struct fsc_err *err);
/* The bytes that a message occupies. */
uint64_t fsc_spooldir_cost(const char *path, const char *type, size_t n);
int fsc_spooldir_write(const struct fsc_spooldir *d, uint64_t seq, const char *path,
		       const char *type, const void *body, size_t n, struct fsc_err *err);
/* Fails with EBADMSG if it is damaged. The caller frees ret->path. */
int fsc_spooldir_read(const struct fsc_spooldir *d, uint64_t seq, struct fsc_spooled *ret,
		      struct fsc_err *err);
void fsc_spooldir_remove(const struct fsc_spooldir *d, uint64_t seq);

#endif
