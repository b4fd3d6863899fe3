/* The kernel's functions: names and addresses from kallsyms, and which of them ftrace can hook. */
#ifndef FSC_KERNEL_KSYMS_H
#define FSC_KERNEL_KSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct fsc_ksym {
	const char *name;
	const char *module; /* NULL for the kernel itself */
	uint64_t addr;	    /* 0 where kptr_restrict hides it */
};

struct fsc_ksyms {
	struct fsc_ksym *syms; /* in the file's order */
	size_t n;
	char *text; /* what the names point into */
};

/* Reads the text symbols (types t, T, w, W) of path, "/proc/kallsyms" for NULL. If wanted is not
 * NULL, only those for which wanted(name, module, arg) is true are kept (called for 200,000 names:
 * keep it cheap). Caller releases. Also drops names that are never functions to probe: __pfx_*,
 * __cfi_*, *.cold*, __SCT__*, __SCK__*, __kstrtab*, the bpf module's programs ([bpf]) and the
 * trampolines of ftrace and kprobes ([__builtin__*]). */
int fsc_ksyms_load(const char *path,
		   bool (*wanted)(const char *name, const char *module, void *arg), void *arg,
		   struct fsc_ksyms *ret, struct fsc_err *err);
/* Reads all text symbols, those too that are no functions to probe, ordered by address: for looking
 * addresses up. Of several names at one address the one with fewest leading underscores comes
 * first. Caller releases. */
int fsc_ksyms_load_all(const char *path, struct fsc_ksyms *ret, struct fsc_err *err);
/* The symbol that addr lies in, of symbols loaded by fsc_ksyms_load_all(); NULL if there is none.
 */
const struct fsc_ksym *fsc_ksyms_find(const struct fsc_ksyms *k, uint64_t addr);
void fsc_ksyms_release(struct fsc_ksyms *k);

#endif
