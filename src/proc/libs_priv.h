/* Shared by the files behind proc/libs.h: one search for a library and its steps. */
#ifndef FSC_PROC_LIBS_PRIV_H
#define FSC_PROC_LIBS_PRIV_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/str.h"
#include "proc/libs.h"
#include "proc/process.h"

/* A search for a short name. */
struct fsc_search {
	const char *what;
	const char *root;	 /* "" or "/proc/PID/root" */
	const char *const *only; /* if not NULL, only these file names match */
	struct fsc_vec *ret;	 /* struct fsc_libs_file */
	struct fsc_vec seen;	 /* struct fsc_file_id of the files found */
	struct fsc_nearest near;
};

struct fsc_file_id {
	dev_t dev;
	ino_t ino;
};

/* Whether a file of that base name is among them (struct fsc_libs_file). */
bool fsc_libs_has_base(const struct fsc_vec *files, const char *name);
/* Whether `what` can mean the file of that base name. */
bool fsc_libname_match(const char *base, const char *what);
/* Whether this base name matches; if not, it is a candidate for a suggestion. */
bool fsc_search_match(struct fsc_search *s, const char *base);
/* Adds the ELF file called name inside the root, if it is there and was not added before. */
int fsc_search_add(struct fsc_search *s, const char *name, struct fsc_err *err);
/* Adds the matching libraries of one directory of the root. */
int fsc_search_dir(struct fsc_search *s, const char *dir, struct fsc_err *err);
/* Adds the matching libraries of the first directory that has any, of a list separated by ':'.
 * $ORIGIN stands for origin; other variables are skipped. */
int fsc_search_path(struct fsc_search *s, const char *list, const char *origin,
		    struct fsc_err *err);
/* Adds what the root's ld.so.cache lists, or else what lies in the usual directories. */
int fsc_search_system(struct fsc_search *s, struct fsc_err *err);

/* Appends a file; copies all three strings. */
int fsc_libs_push(struct fsc_vec *ret, const char *path, const char *name, const char *root,
		  struct fsc_err *err);
#endif
