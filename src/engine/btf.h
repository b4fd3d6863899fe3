/* The kernel's type information (BTF), opened once for many questions: types, functions and
 * enumerators by name, and what they are. The kernel wrote it. */
#ifndef FSC_ENGINE_BTF_H
#define FSC_ENGINE_BTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "types/types.h"

struct fsc_btf;

/* What a name can be the name of. */
enum fsc_btf_what {
	FSC_BTF_STRUCT = 1 << 0,
	FSC_BTF_UNION = 1 << 1,
	FSC_BTF_ENUM = 1 << 2,
	FSC_BTF_TYPEDEF = 1 << 3,
	FSC_BTF_NUMBER = 1 << 4, /* int, float */
	FSC_BTF_FUNC = 1 << 5,
	FSC_BTF_VAR = 1 << 6, /* a variable with a value per CPU */
};

/* Opens the kernel's (module NULL), or a module's on top of the kernel's, which must outlive it.
 * -ENODATA: there is none. The caller frees. Reads some megabytes. */
int fsc_btf_open(const char *module, struct fsc_btf *kernel, struct fsc_btf **ret,
		 struct fsc_err *err);
void fsc_btf_free(struct fsc_btf *b);
/* A descriptor of a module's BTF, for loading programs on its functions; owned by b. -1 for the
 * kernel's own, or where the kernel has none to give. */
int fsc_btf_fd(struct fsc_btf *b);

/* The number of the first type of that name that is one of what (a set); 0: there is none. Of a
 * module's BTF only its own types are searched. A declaration counts only if nothing else does. */
uint32_t fsc_btf_find(const struct fsc_btf *b, const char *name, unsigned what);
/* Calls fn for every type that is one of what and has a name, until it returns other than 0, which
 * is returned. Of a module: its own. */
int fsc_btf_each(const struct fsc_btf *b, unsigned what,
		 int (*fn)(void *arg, uint32_t id, const char *name, unsigned what), void *arg);
/* An enumerator by name: its value, and the number of its enum. False: there is none. */
bool fsc_btf_enumerator(const struct fsc_btf *b, const char *name, int64_t *ret,
			uint32_t *ret_enum);

/* The type of that number; what it points to is owned by types. */
int fsc_btf_type(struct fsc_btf *b, uint32_t id, struct fsc_types *types,
		 const struct fsc_type **ret, struct fsc_err *err);
/* Appends the definition of a struct, union or enum as C has it, with tabs and no newline behind
 * it.
 */
int fsc_btf_write(struct fsc_btf *b, uint32_t id, struct fsc_buf *to, struct fsc_err *err);
/* The signature of a function, or of what a typedef points to ("btf_trace_..."). ret->found says
 * whether it is one. */
int fsc_btf_proto(struct fsc_btf *b, uint32_t id, struct fsc_types *types,
		  struct fsc_signature *ret, struct fsc_err *err);

#endif
