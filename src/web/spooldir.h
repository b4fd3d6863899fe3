/* Messages as files in a directory, one each: written under another name and then renamed, so that
 * a file is whole or not there when this process dies; checked when read, for when the machine
 * does. Nobody else may write there: its owner is this user, and one process at a time. */
#ifndef FSC_WEB_SPOOLDIR_H
#define FSC_WEB_SPOOLDIR_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct fsc_spooldir {
	int fd, lock_fd; /* -1: there is none */
	char *path;
	char *name; /* begins the names of its files: several may share a directory */
};

#define FSC_SPOOLDIR_NONE ((struct fsc_spooldir){.fd = -1, .lock_fd = -1})

/* A message as it comes out of a file. */
struct fsc_spooled {
	char *path, *type, *body; /* in one piece of memory, owned through path */
	size_t n;
};

/* The caller closes ret, also after a failure. */
int fsc_spooldir_open(const char *path, const char *name, struct fsc_spooldir *ret,
		      struct fsc_err *err);
void fsc_spooldir_close(struct fsc_spooldir *d);
/* Calls fn for each message that is there, in no order, until it fails, and returns what it
 * returned. What is no whole message is removed; *bad is how many. */
int fsc_spooldir_each(struct fsc_spooldir *d,
		      int (*fn)(uint64_t seq, size_t n, uint64_t cost, void *arg), void *arg,
		      uint64_t *bad, struct fsc_err *err);
/* The bytes that a message takes up there. */
uint64_t fsc_spooldir_cost(const char *path, const char *type, size_t n);
int fsc_spooldir_write(const struct fsc_spooldir *d, uint64_t seq, const char *path,
		       const char *type, const void *body, size_t n, struct fsc_err *err);
/* Fails with EBADMSG where it is not what was written. The caller frees ret->path. */
int fsc_spooldir_read(const struct fsc_spooldir *d, uint64_t seq, struct fsc_spooled *ret,
		      struct fsc_err *err);
void fsc_spooldir_remove(const struct fsc_spooldir *d, uint64_t seq);

#endif
