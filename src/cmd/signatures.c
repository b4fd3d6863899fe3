/* One look-up for all places of a file: debug information is read once. */
#include "cmd/signatures.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "dwarf/signatures.h"
#include "elf/elf.h"
#include "engine/btftypes.h"

struct finding {
	const struct fsc_targets *targets;
	struct fsc_types *types;
	struct fsc_signature *sigs; /* per place */
};

/* Only functions have a signature; inside one, the arguments are gone. */
static bool has_signature(const struct finding *c, size_t i)
{
	const struct fsc_target *t = fsc_targets_at(c->targets, i);

	return t->site != FSC_SITE_TRACEPOINT && !t->usdt_args && t->at_entry;
}

static int kernel_signatures(struct finding *c, struct fsc_err *err)
{
	size_t n = fsc_targets_count(c->targets), k = 0;
	FSC_AUTO(fsc_freep) const char **names = calloc(n + 1, sizeof(*names));
	FSC_AUTO(fsc_freep) size_t *at = calloc(n + 1, sizeof(*at));
	FSC_AUTO(fsc_freep) struct fsc_signature *sigs = calloc(n + 1, sizeof(*sigs));
	int rc;

	if (!names || !at || !sigs)
		return fsc_err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		const struct fsc_target *t = fsc_targets_at(c->targets, i);

		if (t->site != FSC_SITE_KERNEL || !has_signature(c, i))
			continue;
		at[k] = i;
		names[k++] = fsc_targets_row(c->targets, t->row)->name;
	}
	if (!k)
		return 0;
	rc = fsc_btf_signatures(NULL, names, k, c->types, sigs, err);
	for (size_t i = 0; !rc && i < k; i++)
		c->sigs[at[i]] = sigs[i];
	return rc == -ENOMEM ? rc : 0;
}

/* The virtual address of a place, by its offset in the file. */
static int file_signatures(struct finding *c, uint32_t file, struct fsc_err *err)
{
	const struct fsc_target_file *f = FSC_AT(struct fsc_target_file, &c->targets->files, file);
	size_t n = fsc_targets_count(c->targets), k = 0;
	FSC_AUTO(fsc_freep) uint64_t *addrs = calloc(n + 1, sizeof(*addrs));
	FSC_AUTO(fsc_freep) size_t *at = calloc(n + 1, sizeof(*at));
	FSC_AUTO(fsc_freep) struct fsc_signature *sigs = calloc(n + 1, sizeof(*sigs));
	FSC_AUTO(fsc_elf_freep) struct fsc_elf *e = NULL;
	int rc = fsc_elf_open(f->path, "", &e, err);

	if (!addrs || !at || !sigs)
		return fsc_err_nomem(err);
	for (size_t i = 0; !rc && i < n; i++) {
		const struct fsc_target *t = fsc_targets_at(c->targets, i);

		if (t->site == FSC_SITE_USER && t->file == file && has_signature(c, i) &&
		    fsc_elf_addr(e, t->offset, &addrs[k]))
			at[k++] = i;
	}
	if (!rc && k)
		rc = fsc_dwarf_signatures(e, addrs, k, c->types, sigs, err);
	if (rc == -ENOMEM)
		return rc;
	for (size_t i = 0; i < k; i++)
		c->sigs[at[i]] = sigs[i];
	return 0;
}

int fsc_signatures_find(const struct fsc_targets *targets, struct fsc_types *types,
			struct fsc_signature *sigs, struct fsc_err *err)
{
	struct finding c = {.targets = targets, .types = types, .sigs = sigs};
	struct fsc_err why = {0};
	int rc = kernel_signatures(&c, &why);

	for (uint32_t f = 0; !rc && f < targets->files.n; f++)
		rc = file_signatures(&c, f, &why);
	if (rc)
		return fsc_err_nomem(err);
	if (why.msg[0])
		fsc_log(FSC_LOG_DEBUG, "arguments without types: %s", why.msg);
	return 0;
}
