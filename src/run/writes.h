/* Files that are probed, watched for writes. The kernel keeps the instruction that it found at a
 * place when the first probe came: programs that begin after the file was rewritten in place would
 * execute the old one. So probes have to go as soon as a file is written to. A write is heard of
 * just after it happened; nobody who writes has to wait. */
#ifndef FSC_RUN_WRITES_H
#define FSC_RUN_WRITES_H

#include "base/vec.h"

enum { FSC_MOST_WATCHED_FILES = 1024 };

struct fsc_writes {
	int fd;			/* readable after a write; -1: writes are not noticed */
	struct fsc_vec watched; /* struct fsc_watched */
};

/* Without inotify, and for what cannot be watched, a message for -v. */
void fsc_writes_open(struct fsc_writes *w);
void fsc_writes_close(struct fsc_writes *w);
/* tag: by which it is known, not NULL. Several may be the same file. */
void fsc_writes_watch(struct fsc_writes *w, const char *path, const void *tag);
void fsc_writes_unwatch(struct fsc_writes *w, const void *tag);
/* Calls fn for each file that was written to, and does not watch it any more. */
void fsc_writes_read(struct fsc_writes *w, void (*fn)(const void *tag, void *arg), void *arg);

#endif
