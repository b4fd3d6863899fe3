/* Finds the functions of a configuration: files are queued as processes map them, and searched once
 * for each function that may be in them. */
#ifndef FSC_MONITOR_FINDER_H
#define FSC_MONITOR_FINDER_H

#include "monitor/config.h"
#include "probe/target.h"

struct fsc_finder;

int fsc_finder_new(struct fsc_finder **ret, struct fsc_err *err);
void fsc_finder_free(struct fsc_finder *f);
/* The configuration to search for; it must stay unchanged until the next one is set. */
int fsc_finder_use(struct fsc_finder *f, const struct fsc_snoop_config *config,
		   struct fsc_err *err);
/* A finder for another configuration that knows what this one has searched and warned of; queued
 * files are not copied. The caller owns *ret. */
int fsc_finder_copy(const struct fsc_finder *f, const struct fsc_snoop_config *config,
		    struct fsc_finder **ret, struct fsc_err *err);
/* An id of an entry's content (group, name, symbol, libraries): the same in every configuration. */
uint32_t fsc_finder_id(const struct fsc_finder *f, size_t entry);
/* Whether fsc_finder_note() of a file that a process maps would lead to a search, or has led to
 * functions, as far as is known without a look at it. program: it is the program of the process. */
bool fsc_finder_matters(struct fsc_finder *f, dev_t dev, ino_t ino, const char *path, bool program);
/* Queues a file that a process (0: none) has mapped; the path is as the process sees it. */
int fsc_finder_note(struct fsc_finder *f, pid_t pid, const char *path, struct fsc_err *err);
/* Queues the files named by the configuration and the loader's cache. */
int fsc_finder_note_libraries(struct fsc_finder *f, struct fsc_err *err);
/* Queues the libraries that a program will load when it starts, directly or indirectly. */
int fsc_finder_note_needed(struct fsc_finder *f, const char *program, struct fsc_err *err);
/* Whether files are queued. */
bool fsc_finder_busy(const struct fsc_finder *f);
/* Searches the next queued file. The rows' `probe` is the index of the entry in the configuration.
 */
int fsc_finder_search_next(struct fsc_finder *f, struct fsc_targets *ret, struct fsc_err *err);
/* The number of the inode of the file that was searched last; 0: it could not be opened. */
uint64_t fsc_finder_last_inode(const struct fsc_finder *f);
/* If very many files and searches are remembered, only those of files that are hooked stay; the
 * others are made again when a process maps the file. */
int fsc_finder_trim(struct fsc_finder *f, bool (*is_open)(uint64_t inode, void *arg), void *arg,
		    struct fsc_err *err);
/* The entry is detached: it shall be searched for again in this file. */
void fsc_finder_forget(struct fsc_finder *f, const struct fsc_target_file *file, uint32_t id);

#endif
