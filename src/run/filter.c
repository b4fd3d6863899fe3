#include "run/filter.h"

#include <string.h>
#include <sys/types.h>

bool fsc_filter_passes_all(const struct fsc_filter *f)
{
	return !f->pids.n && !f->names.n && !f->cgroups.n && !f->command.n;
}

bool fsc_filter_only_pids(const struct fsc_filter *f)
{
	return f->pids.n && !f->names.n && !f->cgroups.n && !f->command.n;
}

bool fsc_filter_same_texts(const struct fsc_vec *a, const struct fsc_vec *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(*FSC_AT(char *, a, i), *FSC_AT(char *, b, i)))
			return false;
	return true;
}

bool fsc_filter_same(const struct fsc_filter *a, const struct fsc_filter *b)
{
	return a->pids.n == b->pids.n &&
	       (!a->pids.n || !memcmp(a->pids.data, b->pids.data, a->pids.n * sizeof(pid_t))) &&
	       fsc_filter_same_texts(&a->names, &b->names) &&
	       fsc_filter_same_texts(&a->cgroups, &b->cgroups) &&
	       fsc_filter_same_texts(&a->command, &b->command);
}
