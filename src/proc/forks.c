/* Whether a program may fork or exec, by the functions that it and its libraries name. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf.h"
#include "proc/libs_priv.h"

/* Functions that fork, exec, or load code that may. Sorted. */
static const char *const makers[] = {
    "_Fork",   "__clone",     "__clone2",     "__fork", "__libc_fork", "__vfork",      "clone",
    "clone3",  "daemon",      "dlmopen",      "dlopen", "execl",       "execle",       "execlp",
    "execv",   "execve",      "execveat",     "execvp", "execvpe",     "fexecve",      "fork",
    "forkpty", "pidfd_spawn", "pidfd_spawnp", "popen",	"posix_spawn", "posix_spawnp", "syscall",
    "system",  "vfork",	      "wordexp",
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, *(const char *const *)b);
}

static bool makes(const char *name, bool defined, void *arg)
{
	(void)arg;
	return !defined && bsearch(name, makers, sizeof(makers) / sizeof(makers[0]),
				   sizeof(makers[0]), compare_names);
}

static bool file_makes(const char *path, const char *root)
{
	FSC_AUTO(fsc_elf_freep) struct fsc_elf *e = NULL;

	return fsc_elf_open(path, root, &e, NULL) || fsc_elf_mentions(e, makes, NULL);
}

static bool finds_needed(const struct fsc_vec *files, const struct fsc_libs_file *f)
{
	FSC_AUTO(fsc_elf_freep) struct fsc_elf *e = NULL;
	const char *const *needed;

	if (fsc_elf_open(f->path, f->root, &e, NULL))
		return false;
	for (needed = fsc_elf_needed(e); needed && *needed; needed++)
		if (!fsc_libs_has_base(files, *needed))
			return false;
	return needed != NULL;
}

bool fsc_libs_complete(const struct fsc_vec *files)
{
	for (size_t i = 0; i < files->n; i++)
		if (!finds_needed(files, FSC_AT(struct fsc_libs_file, files, i)))
			return false;
	return true;
}

bool fsc_libs_may_fork(const char *program)
{
	struct fsc_vec files = FSC_VEC_INIT(struct fsc_libs_file);
	bool alone;

	/* Most programs do: their libraries need not be searched then. */
	if (getenv("LD_PRELOAD") || getenv("LD_AUDIT") || file_makes(program, ""))
		return true;
	/* A program that needs nothing has the C library inside, or is the loader of another one.
	 */
	alone = !fsc_libs_needed(program, &files, NULL) && files.n > 1 && fsc_libs_complete(&files);
	for (size_t i = 0; alone && i < files.n; i++) {
		const struct fsc_libs_file *f = FSC_AT(struct fsc_libs_file, &files, i);

		alone = !file_makes(f->path, f->root);
	}
	fsc_libs_release(&files);
	return !alone;
}
