/* Programs whose debug information was asked for: each is opened once. */
#ifndef FSC_WORLD_FILES_H
#define FSC_WORLD_FILES_H

#include "elf/elf.h"
#include "world/machine_priv.h"

struct fsc_machine_file {
	char *path;
	struct fsc_elf *elf;
	struct fsc_types types;
	/* Types that were looked for by name, found or not: the same answer again. */
	struct fsc_map names;
	struct fsc_vec found; /* const struct fsc_type *, NULL: there is none */
};

/* The file of a point in user code; NULL: it has none, or err says why not. Owned by m. */
struct fsc_machine_file *fsc_machine_file(struct fsc_machine *m, const struct fsc_point *p,
					  struct fsc_err *err);
/* The same by its path. */
struct fsc_machine_file *fsc_machine_file_at(struct fsc_machine *m, const char *path,
					     struct fsc_err *err);
void fsc_machine_files_release(struct fsc_machine *m);

#endif
