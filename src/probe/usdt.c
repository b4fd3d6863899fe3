/* USDT: probes that authors put into their programs. u:LIB:PROBE, u:LIB:PROVIDER:PROBE, u::PROBE
 * with -p. Every site of one probe counts in one row. */
#include "probe/kind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "probe/files.h"
#include "probe/insn.h"
#include "elf/elf.h"
#include "proc/libs.h"

static int parse_usdt(char *text, bool regex, struct fsc_spec *spec, struct fsc_err *err)
{
	char *first = fsc_kind_next_colon(text);
	char *second = first ? fsc_kind_next_colon(first + 1) : NULL;

	(void)regex;
	if (!first || !first[1] || (second && !second[1]))
		return fsc_err_usage(err, "probe '%s' names no USDT probe; write u:LIBRARY:PROBE",
				     spec->text);
	*first = '\0';
	spec->binary = strdup(text);
	if (second && second != first + 1) {
		*second = '\0';
		spec->group = strdup(first + 1);
		if (!spec->group)
			return fsc_err_nomem(err);
	}
	spec->function = strdup(second ? second + 1 : first + 1);
	return spec->binary && spec->function ? 0 : fsc_err_nomem(err);
}

struct search {
	const struct fsc_spec *spec;
	const struct fsc_scope *scope;
	struct fsc_targets *out;
	struct fsc_pattern name, group;
	struct fsc_nearest near;
	size_t found, refused, probes;
};

static int add_site(struct search *s, struct fsc_elf *e, uint32_t file, const struct fsc_usdt *u,
		    struct fsc_err *err)
{
	const char *binary = FSC_AT(struct fsc_target_file, &s->out->files, file)->name;
	FSC_AUTO(fsc_freep) char *label = NULL;
	struct fsc_target t = {
	    .site = FSC_SITE_USER,
	    .file = file,
	    .offset = u->offset,
	    .ref_ctr = u->sem_offset,
	};
	char why[FSC_INSN_WHY];
	int rc;

	if (asprintf(&label, "%s:%s", u->provider, u->name) < 0)
		return fsc_err_nomem(err);
	if (fsc_scope_excluded(s->scope, u->name) || fsc_scope_excluded(s->scope, label))
		return 0;
	if (!fsc_insn_inspect(e, &t, why)) {
		s->refused++;
		return fsc_targets_skip(s->out, label, why, err);
	}
	s->found++;
	t.usdt_args = strdup(u->args ? u->args : "");
	if (!t.usdt_args)
		return fsc_err_nomem(err);
	rc = fsc_targets_add(s->out, &t, s->spec->kind->name, binary, label, NULL, err);
	free(t.usdt_args);
	return rc;
}

static int search_file(struct search *s, const struct fsc_libs_file *f, struct fsc_err *err)
{
	FSC_AUTO(fsc_elf_freep) struct fsc_elf *e = NULL;
	const struct fsc_usdt *u;
	uint32_t file;
	size_t n;
	int rc = fsc_elf_open(f->path, f->root, &e, err);

	if (!rc)
		rc = fsc_elf_usdts(e, &u, &n, err);
	if (rc || !n)
		return rc;
	s->probes += n;
	rc = fsc_targets_file(s->out, f->path, f->name, &file, err);
	for (size_t i = 0; !rc && i < n; i++) {
		fsc_nearest_offer(&s->near, u[i].name);
		if (s->group.text && !fsc_pattern_match(&s->group, u[i].provider))
			continue;
		if (fsc_pattern_match(&s->name, u[i].name))
			rc = add_site(s, e, file, &u[i], err);
	}
	return rc;
}

static int nothing_found(const struct search *s, const struct fsc_vec *files, struct fsc_err *err)
{
	const char *where = s->spec->binary[0] && files->n
				? FSC_AT(struct fsc_libs_file, files, 0)->name
				: "the process";

	if (!s->probes)
		return fsc_err_set(err, ENOENT, "%s has no USDT probes", where);
	fsc_err_set(err, ENOENT, "no USDT probe of %s matches '%s'", where, s->spec->function);
	return fsc_kind_hint(&s->near, "u:", s->spec->binary, err);
}

static int resolve_in(struct search *s, struct fsc_vec *files, struct fsc_err *err)
{
	int rc = fsc_scope_files(s->scope, s->spec, true, files, err);

	for (size_t i = 0; !rc && i < files->n; i++)
		rc = search_file(s, FSC_AT(struct fsc_libs_file, files, i), err);
	if (!rc && !s->found && !s->refused)
		return nothing_found(s, files, err);
	return rc;
}

static int resolve_usdt(const struct fsc_spec *spec, const struct fsc_scope *scope,
			struct fsc_targets *out, struct fsc_err *err)
{
	struct fsc_vec files = FSC_VEC_INIT(struct fsc_libs_file);
	struct search s = {.spec = spec, .scope = scope, .out = out};
	int rc = fsc_pattern_init(&s.name, spec->function, scope->regex, err);

	s.near.wanted = spec->function;
	if (!rc && spec->group)
		rc = fsc_pattern_init(&s.group, spec->group, false, err);
	if (!rc)
		rc = resolve_in(&s, &files, err);
	fsc_libs_release(&files);
	fsc_pattern_release(&s.name);
	return rc;
}

const struct fsc_kind fsc_kind_usdt = {
    .name = "usdt",
    .prefixes = (const char *const[]){"u", "U", "usdt", NULL},
    .form = "LIBRARY:[PROVIDER:]PROBE",
    .parse = parse_usdt,
    .resolve = resolve_usdt,
};
