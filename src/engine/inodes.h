/* Which files are one inode. The kernel puts uprobes on inodes; on overlayfs, on the inode of the
 * layer below. stat() shows that inode with another device in every mount, so one file of an image
 * has as many identities as the image has containers, and would be probed once for each. */
#ifndef FSC_ENGINE_INODES_H
#define FSC_ENGINE_INODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A file as statx() shows it. Times in ns. */
struct fsc_inode_look {
	uint64_t dev, ino, size;
	int64_t born; /* 0: the file system does not tell */
	int64_t changed, modified;
	bool overlay;
};

/* HARDLY: size and time of modification are equal, but not the birth. So looks a file of an overlay
 * with metacopy=on whose owner or mode was changed: its metadata is a copy, its data is not. */
enum fsc_inode_guess { FSC_INODE_OTHER, FSC_INODE_SAME, FSC_INODE_PERHAPS, FSC_INODE_HARDLY };

/* What the looks of two files say about their inodes. */
enum fsc_inode_guess fsc_inode_compare(const struct fsc_inode_look *a,
				       const struct fsc_inode_look *b);
/* A negative error code if the file cannot be looked at. */
int fsc_inode_look(const char *path, struct fsc_inode_look *ret);

/* The files seen so far. */
struct fsc_inodes;

/* The caller owns *ret, which lives as long as its last reference. */
int fsc_inodes_new(struct fsc_inodes **ret, struct fsc_err *err);
struct fsc_inodes *fsc_inodes_ref(struct fsc_inodes *t);
void fsc_inodes_free(struct fsc_inodes *t);
/* The number of a file's inode, from 1 on in the order in which they are first seen. If it may be
 * one seen before, a trial decides, which may take tens of milliseconds; without overlayfs there is
 * none. Has the type of fsc_targets.inode_of; arg: the struct fsc_inodes. */
int fsc_inodes_number(void *arg, const char *path, uint64_t *ret, struct fsc_err *err);
/* Forgets those that are not used, if more than so many are remembered. Seen again, a file gets
 * another number. */
int fsc_inodes_trim(struct fsc_inodes *t, size_t most, bool (*is_used)(uint64_t number, void *arg),
		    void *arg, struct fsc_err *err);
/* How many inodes have been seen. */
uint64_t fsc_inodes_count(const struct fsc_inodes *t);
/* How many trials were made. */
uint64_t fsc_inodes_trials(const struct fsc_inodes *t);

#endif
