/* What the files of a finder share. */
#ifndef FSC_MONITOR_FINDER_PRIV_H
#define FSC_MONITOR_FINDER_PRIV_H

#include "base/map.h"
#include "engine/inodes.h"
#include "monitor/finder.h"
#include "monitor/lib_index.h"

/* A file and the process that mapped it; 0: none yet. */
struct fsc_noted {
	pid_t pid;
	char *path;
	bool program; /* the process's own program */
};

struct fsc_finder {
	const struct fsc_snoop_config *config;
	struct fsc_lib_index *libs;
	struct fsc_vec unlisted; /* size_t: entries that name no libraries */
	struct fsc_vec anywhere; /* size_t: those among them whose group has none either */
	struct fsc_inodes *inodes;
	struct fsc_vec ids;	 /* uint32_t, per entry of the configuration */
	struct fsc_map id_of;	 /* content of an entry -> its id */
	struct fsc_map searched; /* struct search_key -> bool */
	struct fsc_map found;	 /* struct fsc_file_key: files with functions, ever */
	struct fsc_map
	    barren; /* path -> fsc_finder_file_tag() of the file searched in vain lately */
	struct fsc_map ignored; /* paths of files that no entry has for a library */
	struct fsc_map warned;	/* what has been warned of */
	struct fsc_vec noted;	/* struct fsc_noted */
	size_t next;		/* of those, to be searched */
	uint64_t last_inode;	/* of the one searched last */
	uint32_t last_id;
};

/* A file as the kernel's records show it. */
struct fsc_file_key {
	uint64_t dev, ino;
};

enum {
	MOST_FILES = 65536,  /* of each table of them; then it is made anew */
	MOST_INODES = 16384, /* that are remembered though they are not hooked */
};

const struct fsc_snoop_func *fsc_finder_entry(const struct fsc_finder *f, size_t i);
/* Whether entries without a library may be in a file: in any of a target, or only in programs if
 * all processes are targets: into those a library may be linked. */
bool fsc_finder_may_have_unlisted(const struct fsc_finder *f, const struct fsc_noted *file);
/* Tells files with the same path in different file systems apart. */
uint64_t fsc_finder_file_tag(dev_t dev, ino_t ino);
/* Notes a key, if there is memory for it: what is not known is looked at. */
void fsc_finder_remember(struct fsc_map *m, const void *key, size_t n, uint64_t value);
void fsc_finder_warn_once(struct fsc_finder *f, const char *what, const char *why);
void fsc_finder_drop_noted(struct fsc_finder *f);

#endif
