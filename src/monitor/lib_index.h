/* Which entries of a configuration may be in a file, by its path. Paths and base names are looked
 * up; only globs are compared one by one, each once however many functions name it. */
#ifndef FSC_MONITOR_LIB_INDEX_H
#define FSC_MONITOR_LIB_INDEX_H

#include "monitor/config.h"

struct fsc_lib_index;

/* A path in the configuration. */
struct fsc_lib_name {
	const char *text;
	const char *real; /* without links; NULL: there is no such file */
	bool glob;
};

/* config must stay unchanged. The caller owns *ret. */
int fsc_lib_index_new(const struct fsc_snoop_config *config, struct fsc_lib_index **ret,
		      struct fsc_err *err);
void fsc_lib_index_free(struct fsc_lib_index *x);
/* Calls fn for each entry with this library, for some more than once, until fn returns other than
 * 0, which is returned. Links in the configuration's paths are read again if that was long ago. */
int fsc_lib_index_each(struct fsc_lib_index *x, const char *path,
		       int (*fn)(size_t entry, void *arg), void *arg);
/* Whether an entry has this library. */
bool fsc_lib_index_has(struct fsc_lib_index *x, const char *path);
/* Reads the links now. */
int fsc_lib_index_resolve(struct fsc_lib_index *x, struct fsc_err *err);
/* The i-th path of the configuration, each once; false: there are no more. */
bool fsc_lib_index_name(const struct fsc_lib_index *x, size_t i, struct fsc_lib_name *ret);
/* Whether the configuration names this very path. */
bool fsc_lib_index_names(const struct fsc_lib_index *x, const char *path);

#endif
