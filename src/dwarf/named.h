/* Types of a file's debug information by their names. */
#ifndef FSC_DWARF_NAMED_H
#define FSC_DWARF_NAMED_H

#include "base/err.h"
#include "elf/elf.h"
#include "types/types.h"

/* The type that C calls name ("struct list", "union u", "enum color", or a typedef's, class's or
 * number's name alone); *ret is NULL where the file has none that is complete. Owned by types.
 * -ENODATA: no debug information; -EBADMSG: it is damaged. Works in a child process; 20 seconds at
 * most. */
int fsc_dwarf_named(struct fsc_elf *e, const char *name, struct fsc_types *types,
		    const struct fsc_type **ret, struct fsc_err *err);
/* The enum that has an enumerator of that name. Errors as above. */
int fsc_dwarf_enum_of(struct fsc_elf *e, const char *enumerator, struct fsc_types *types,
		      const struct fsc_type **ret, struct fsc_err *err);

#endif
