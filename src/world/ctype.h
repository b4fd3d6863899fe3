/* C types as text, as formats of tracepoints and scripts write them: "const struct file *",
 * "unsigned long", "pid_t". Structs are not looked up: they are named, and whoever wants members
 * asks for them by that name. */
#ifndef FSC_WORLD_CTYPE_H
#define FSC_WORLD_CTYPE_H

#include "world/machine_priv.h"

/* What a text says. size, is_signed: of a value whose name is not known. NULL: out of memory. Owned
 * by m. */
const struct fsc_type *fsc_ctype_parse(struct fsc_machine *m, const char *text, unsigned size,
				       bool is_signed, struct fsc_err *err);
/* A number's type by its name: "u32", "unsigned long"; NULL: it is none of C's or the kernel's. */
const struct fsc_type *fsc_ctype_number(const char *name);
/* n elements; NULL: out of memory. */
const struct fsc_type *fsc_ctype_array(struct fsc_machine *m, const struct fsc_type *of, uint64_t n,
				       struct fsc_err *err);
const struct fsc_type *fsc_ctype_pointer(struct fsc_machine *m, const struct fsc_type *to,
					 struct fsc_err *err);

#endif
