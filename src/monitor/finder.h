/* Where the functions of a configuration are: files are noted as processes map them, and searched
 * once for each function that may be in them. */
#ifndef FSC_MONITOR_FINDER_H
#define FSC_MONITOR_FINDER_H

#include "monitor/config.h"
#include "probe/target.h"

struct fsc_finder;

int fsc_finder_new(struct fsc_finder **ret, struct fsc_err *err);
void fsc_finder_free(struct fsc_finder *f);
/* The configuration to look for; it must stay as it is until the next one is given. */
int fsc_finder_use(struct fsc_finder *f, const struct fsc_snoop_config *config,
		   struct fsc_err *err);
/* Another finder for another configuration, that knows what this one has looked for and said; files
 * that are noted and not searched are not taken over. The caller owns *ret. */
int fsc_finder_copy(const struct fsc_finder *f, const struct fsc_snoop_config *config,
		    struct fsc_finder **ret, struct fsc_err *err);
/* The number of an entry that stays the same in every configuration that has it: group, name,
 * symbol and libraries. */
uint32_t fsc_finder_id(const struct fsc_finder *f, size_t entry);
/* Notes a file that a process (0: nobody) has mapped; the path is as the process sees it. */
int fsc_finder_note(struct fsc_finder *f, pid_t pid, const char *path, struct fsc_err *err);
/* Notes the files that the configuration and the loader's cache name. */
int fsc_finder_note_libraries(struct fsc_finder *f, struct fsc_err *err);
/* Notes the libraries that a program will load when it starts. */
int fsc_finder_note_needed(struct fsc_finder *f, const char *program, struct fsc_err *err);
/* Whether files are noted. */
bool fsc_finder_busy(const struct fsc_finder *f);
/* Searches what was noted. The rows' `probe` is the number of the entry in the configuration. */
int fsc_finder_search(struct fsc_finder *f, struct fsc_targets *ret, struct fsc_err *err);
/* The entries of these numbers are to be looked for again in this file: their probes are off. */
void fsc_finder_unlook(struct fsc_finder *f, const struct fsc_target_file *file, uint32_t id);

#endif
