#include "probe/returns.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "probe/foreign.h"
#include "proc/libs.h"
#include "sym/demangle.h"

/* The first of the files is the program; of it alone it matters whether it throws: a library with
 * C++ in it rarely lets an exception out. */
static bool any_unwinds(const struct fsc_vec *files)
{
	for (size_t i = 0; i < files->n; i++) {
		const struct fsc_libs_file *f = FSC_AT(struct fsc_libs_file, files, i);
		FSC_AUTO(fsc_elf_freep) struct fsc_elf *e = NULL;

		if (fsc_elf_open(f->path, f->root, &e, NULL))
			continue;
		if (i ? fsc_fragile_switches(e) : fsc_fragile_file(e) != FSC_FRAGILE_FILE_NOT)
			return true;
	}
	return false;
}

bool fsc_returns_callers_unwind(const struct fsc_scope *scope)
{
	struct fsc_vec files = FSC_VEC_INIT(struct fsc_libs_file);
	bool found = false;

	if (scope->command) {
		fsc_libs_needed(scope->command, &files, NULL);
		found = any_unwinds(&files);
		fsc_libs_release(&files);
	}
	for (size_t i = 0; !found && i < scope->n_pids; i++) {
		fsc_libs_mapped(scope->pids[i], &files, NULL);
		found = any_unwinds(&files);
		fsc_libs_release(&files);
	}
	return found;
}

/* How what is thrown may come through the file's functions, by its own code or by its callers'. */
static enum fsc_fragile_file unwinding_in(const struct fsc_returns_file *r, struct fsc_elf *e)
{
	enum fsc_fragile_file own = fsc_fragile_file(e);

	return own == FSC_FRAGILE_FILE_NOT && r->callers_unwind ? FSC_FRAGILE_FILE_ANY : own;
}

void fsc_returns_check_file(struct fsc_returns_file *r, struct fsc_elf *e)
{
	r->go = fsc_elf_has_section(e, ".gopclntab");
	r->unwinding = unwinding_in(r, e);
	r->strangers = r->scope->strangers && fsc_fragile_shared(e);
}

/* A function of a C interface in a file with C++ that ends in a jump to another one, which does its
 * work: its end is that one's, and no exception leaves either. */
static bool hands_over(const struct fsc_returns_file *r, const struct fsc_sym *sym,
		       const struct fsc_target *t)
{
	if (r->unwinding != FSC_FRAGILE_FILE_CXX || fsc_demangle_is_mangled(sym->name))
		return false;
	for (size_t i = 0; i < t->n_exits; i++)
		if (t->exits[i].jump)
			return true;
	return false;
}

/* Whether the return of the function is to be caught at its instructions. */
static bool wants_insns(const struct fsc_returns_file *r, const struct fsc_sym *sym,
			const struct fsc_target *t)
{
	enum fsc_fragile fragile = fsc_fragile_function(sym->name);

	if (fragile == FSC_FRAGILE_ALWAYS || r->scope->returns == FSC_RETURNS_INSNS)
		return true;
	if (r->scope->returns != FSC_RETURNS_BEST)
		return false;
	return fragile == FSC_FRAGILE_UNWOUND ||
	       (r->unwinding != FSC_FRAGILE_FILE_NOT && !hands_over(r, sym, t)) ||
	       (r->strangers && fsc_foreign_may_run(r->exits.elf, sym));
}

static int refuse(const char **ret_why, const char *why)
{
	*ret_why = why;
	return 0;
}

int fsc_returns_choose(const struct fsc_returns_file *r, const struct fsc_sym *sym,
		       struct fsc_target *t, const char **ret_why, struct fsc_err *err)
{
	int rc;

	if (r->go)
		return refuse(ret_why, "return probes crash Go programs");
	if (fsc_exits_is_part(sym->name))
		return refuse(ret_why, "it is part of a function, jumped to and not called");
	rc = fsc_exits_find(&r->exits, sym, t, err);
	if (rc)
		return rc;
	if (t->by_insns && !t->n_exits)
		return refuse(ret_why, "it never returns");
	if (!wants_insns(r, sym, t)) {
		free(t->exits);
		t->exits = NULL;
		t->by_insns = false;
		return 0;
	}
	if (!t->by_insns && fsc_fragile_function(sym->name) == FSC_FRAGILE_ALWAYS)
		return refuse(ret_why, "catching its return would break the program");
	if (!t->by_insns && r->scope->returns == FSC_RETURNS_BEST)
		return refuse(ret_why, "its return instructions cannot be found, and an exception "
				       "could not pass a return probe of the kernel");
	return 0;
}
