/* Each place is compiled separately: USDT arguments differ at every site, tracepoints have fields,
 * functions have parameters if there is type information. Types are looked up in bulk, and only if
 * a name other than argN is used, or no format is given. */
#include "cmd/tracing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cmd/signatures.h"
#include "probe/params.h"
#include "probe/tracefields.h"
#include "probe/usdtargs.h"
#include "elf/elf.h"
#include "kernel/tpformat.h"
#include "kernel/tracefs.h"
#include "types/abi.h"

enum { TYPE_DEPTH = 3, MOST_RINGS = 64 };

void fsc_tracing_release(struct fsc_tracing *t)
{
	for (size_t i = 0; i < t->n_specs; i++)
		fsc_tracespec_release(&t->specs[i]);
	for (size_t i = 0; t->formats && i < t->n_rows; i++)
		fsc_format_release(&t->formats[i]);
	free(t->specs);
	free(t->probes);
	free(t->programs);
	free(t->formats);
	free(t->ring_of);
	free(t->returns);
	fsc_types_release(&t->types);
	*t = (struct fsc_tracing){0};
}

/* Whether an entry probe asks for the return value or the duration. */
static bool mentions_return(const struct fsc_tracespec *s)
{
	bool at_return = !strncmp(s->probe, "r:", 2) || strstr(s->probe, "retprobe:") ||
			 !strncmp(s->probe, "kr:", 3) || !strncmp(s->probe, "ur:", 3);
	bool quoted = false;

	for (const char *p = s->text; !at_return && *p; p++) {
		if (*p == '\\' && p[1])
			p++;
		else if (*p == '"')
			quoted = !quoted;
		else if (!quoted && (!strncmp(p, "retval", 6) || !strncmp(p, "$duration", 9)))
			return true;
	}
	return false;
}

int fsc_tracing_parse(char *const *texts, int n, struct fsc_tracing *ret, struct fsc_err *err)
{
	*ret = (struct fsc_tracing){0};
	fsc_types_init(&ret->types, TYPE_DEPTH);
	ret->specs = calloc((size_t)n + 1, sizeof(*ret->specs));
	ret->probes = calloc((size_t)n + 1, sizeof(*ret->probes));
	if (!ret->specs || !ret->probes)
		return fsc_err_nomem(err);
	for (int i = 0; i < n; i++) {
		int rc = fsc_tracespec_parse(texts[i], &ret->specs[i], err);

		if (rc)
			return rc;
		ret->n_specs++;
		ret->probes[i] = ret->specs[i].probe;
		ret->waits |= mentions_return(&ret->specs[i]);
	}
	return 0;
}

/* ---- compiling ---- */

struct compiling {
	struct fsc_tracing *t;
	const struct fsc_targets *targets;
	bool paired;
	struct fsc_signature *sigs; /* per place */
	int tracefs;
	uint32_t go_file; /* the last that was looked at, + 1 */
	enum fsc_elf_go go;
};

/* Functions of Go have dots in their names, which those of C linked to them have not, but for the
 * clones that compilers make. */
static bool is_of_go(const char *name)
{
	static const char *const clones[] = {".part.", ".constprop.", ".isra.", ".cold"};

	for (size_t i = 0; i < sizeof(clones) / sizeof(clones[0]); i++)
		if (strstr(name, clones[i]))
			return false;
	return strchr(name, '.') && name[0] != '.' && name[0] != '_';
}

/* How a function of a Go program finds its arguments. */
static int find_go(struct compiling *c, const struct fsc_target *t, struct fsc_err *err)
{
	const struct fsc_target_file *f =
	    FSC_AT(struct fsc_target_file, &c->targets->files, t->file);
	FSC_AUTO(fsc_elf_freep) struct fsc_elf *e = NULL;

	if (c->go_file == t->file + 1)
		return 0;
	c->go_file = t->file + 1;
	c->go = FSC_ELF_NOT_GO;
	if (fsc_elf_open(f->path, "", &e, err))
		return -ENOMEM;
	c->go = fsc_elf_go(e);
	return 0;
}

static int name_go(struct compiling *c, size_t i, struct fsc_names *names, struct fsc_err *err)
{
	const struct fsc_target *t = fsc_targets_at(c->targets, i);
	const struct fsc_target_row *row = fsc_targets_row(c->targets, t->row);

	if (t->site != FSC_SITE_USER)
		return 0;
	if (find_go(c, t, err))
		return -ENOMEM;
	if (c->go == FSC_ELF_NOT_GO || !is_of_go(row->symbol ? row->symbol : row->name))
		return 0;
	if (c->go == FSC_ELF_GO_REGISTERS)
		names->arg_reg = fsc_abi_go_reg;
	else
		names->no_args = c->go == FSC_ELF_GO_STACK
				     ? "this version of Go passes arguments on the stack, where "
				       "they are not read"
				     : "the file does not say by which version of Go it was "
				       "built, so its arguments are not read";
	return 0;
}

/* ---- one place ---- */

/* Gives the conversions of a generated format the names and types of what they show. */
static int name_conversions(struct fsc_format *f, struct fsc_params_shown *shown,
			    struct fsc_err *err)
{
	size_t k = 0;

	f->custom = false;
	for (size_t i = 0; i < f->convs.n && k < shown->names.n; i++) {
		struct fsc_conv *c = FSC_AT(struct fsc_conv, &f->convs, i);

		if (!c->kind)
			continue;
		free(c->name);
		c->name = strdup(*FSC_AT(char *, &shown->names, k));
		if (!c->name)
			return fsc_err_nomem(err);
		c->type = *FSC_AT(const struct fsc_type *, &shown->types, k++);
		c->quoted = c->kind == 's';
	}
	return 0;
}

/* Without a format from the user: all parameters, appended to the spec. */
static int compile_shown(struct compiling *c, const struct fsc_tracespec *spec, size_t i, bool deep,
			 const struct fsc_names *names, enum fsc_trace_at at, struct fsc_err *err)
{
	uint32_t row = fsc_targets_at(c->targets, i)->row;
	struct fsc_params_shown shown;
	struct fsc_tracespec more = {0};
	struct fsc_buf text = {0};
	int rc = fsc_params_show(&c->sigs[i], deep, &shown, err);

	if (rc)
		return rc;
	fsc_buf_puts(&text, spec->text);
	fsc_buf_puts(&text, fsc_buf_str(&shown.format));
	rc = fsc_buf_failed(&text) ? fsc_err_nomem(err)
				   : fsc_tracespec_parse(fsc_buf_str(&text), &more, err);
	if (!rc) {
		rc = fsc_tracespec_compile(&more, names, at, &c->t->programs[row],
					   &c->t->formats[row], err);
		if (!rc)
			rc = name_conversions(&c->t->formats[row], &shown, err);
		fsc_tracespec_release(&more);
	}
	fsc_buf_release(&text);
	fsc_params_shown_release(&shown);
	return rc;
}

static int compile_function(struct compiling *c, const struct fsc_tracespec *spec, size_t i,
			    enum fsc_trace_at at, struct fsc_err *err)
{
	const struct fsc_target *t = fsc_targets_at(c->targets, i);
	struct fsc_names names = {.user = t->site == FSC_SITE_USER};
	bool show = !spec->has_format && at != FSC_AT_RETURN && c->sigs[i].found;
	struct fsc_err ignored = {0};

	if (c->sigs[i].found)
		c->t->returns[t->row] =
		    (struct fsc_returned){c->sigs[i].ret, c->sigs[i].ret_readable};
	if (c->sigs[i].found)
		fsc_params_names(&c->sigs[i], t->site == FSC_SITE_USER, &names);
	if (name_go(c, i, &names, err))
		return -ENOMEM;
	for (int deep = 1; show && deep >= 0; deep--) {
		if (!compile_shown(c, spec, i, deep, &names, at, &ignored))
			return 0;
		c->t->programs[t->row] = (struct fsc_trace_prog){0};
		fsc_format_release(&c->t->formats[t->row]);
	}
	return fsc_tracespec_compile(spec, &names, at, &c->t->programs[t->row],
				     &c->t->formats[t->row], err);
}

static int compile_tracepoint(struct compiling *c, const struct fsc_tracespec *spec, size_t i,
			      struct fsc_err *err)
{
	const struct fsc_target *t = fsc_targets_at(c->targets, i);
	const struct fsc_target_row *row = fsc_targets_row(c->targets, t->row);
	struct fsc_vec fields = FSC_VEC_INIT(struct fsc_tp_field);
	struct fsc_names names;
	int rc = fsc_tracepoint_fields(c->tracefs, row->binary, row->name, &fields, err);

	if (!rc) {
		fsc_tracefields_names(&fields, &names);
		rc = fsc_tracespec_compile(spec, &names, FSC_AT_ENTRY, &c->t->programs[t->row],
					   &c->t->formats[t->row], err);
	}
	fsc_vec_release(&fields);
	return rc;
}

static int compile_usdt(struct compiling *c, const struct fsc_tracespec *spec, size_t i,
			struct fsc_err *err)
{
	const struct fsc_target *t = fsc_targets_at(c->targets, i);
	struct fsc_names names;

	fsc_usdt_names(t->usdt_args, &names);
	return fsc_tracespec_compile(spec, &names, FSC_AT_ENTRY, &c->t->programs[t->row],
				     &c->t->formats[t->row], err);
}

static int compile_place(struct compiling *c, size_t i, struct fsc_err *err)
{
	const struct fsc_target *t = fsc_targets_at(c->targets, i);
	const struct fsc_tracespec *spec = &c->t->specs[fsc_targets_row(c->targets, t->row)->probe];
	enum fsc_trace_at at = t->ret ? FSC_AT_RETURN : FSC_AT_ENTRY;

	if (t->site == FSC_SITE_TRACEPOINT)
		return compile_tracepoint(c, spec, i, err);
	if (t->usdt_args)
		return compile_usdt(c, spec, i, err);
	if (c->paired && mentions_return(spec))
		at = FSC_AT_BOTH;
	return compile_function(c, spec, i, at, err);
}

static int make_rooms(struct fsc_tracing *t, const struct fsc_targets *targets, struct fsc_err *err)
{
	t->n_rows = targets->rows.n;
	t->programs = calloc(t->n_rows + 1, sizeof(*t->programs));
	t->formats = calloc(t->n_rows + 1, sizeof(*t->formats));
	t->ring_of = calloc(t->n_rows + 1, sizeof(*t->ring_of));
	t->returns = calloc(t->n_rows + 1, sizeof(*t->returns));
	if (!t->programs || !t->formats || !t->ring_of || !t->returns)
		return fsc_err_nomem(err);
	for (size_t i = 0; i < t->n_rows; i++)
		t->ring_of[i] = fsc_targets_row(targets, i)->probe % MOST_RINGS;
	return 0;
}

static int compile_all(struct compiling *c, struct fsc_err *err)
{
	FSC_AUTO(fsc_closep) int tracefs = -1;
	int rc = fsc_signatures_find(c->targets, &c->t->types, c->sigs, err);

	for (size_t i = 0; !rc && i < fsc_targets_count(c->targets); i++) {
		if (tracefs < 0 && fsc_targets_at(c->targets, i)->site == FSC_SITE_TRACEPOINT) {
			tracefs = c->tracefs = fsc_tracefs_open(err);
			rc = tracefs < 0 ? tracefs : 0;
		}
		if (!rc)
			rc = compile_place(c, i, err);
	}
	return rc;
}

/* Whether an address is to be shown as a symbol. */
static bool any_symbols(const struct fsc_tracing *t)
{
	for (size_t i = 0; i < t->n_rows; i++)
		for (size_t k = 0; k < t->formats[i].convs.n; k++) {
			char kind = FSC_AT(struct fsc_conv, &t->formats[i].convs, k)->kind;

			if (kind == 'K' || kind == 'U')
				return true;
		}
	return false;
}

int fsc_tracing_compile(struct fsc_tracing *t, const struct fsc_targets *targets, bool paired,
			unsigned chars, struct fsc_session_opts *opts, struct fsc_err *err)
{
	size_t n = fsc_targets_count(targets);
	FSC_AUTO(fsc_freep) struct fsc_signature *sigs = calloc(n + 1, sizeof(*sigs));
	struct compiling c = {
	    .t = t, .targets = targets, .paired = paired, .sigs = sigs, .tracefs = -1};
	int rc;

	if (!sigs)
		return fsc_err_nomem(err);
	rc = make_rooms(t, targets, err);
	if (!rc)
		rc = compile_all(&c, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < t->n_rows; i++)
		if (t->programs[i].n_strings > opts->n_strings)
			opts->n_strings = t->programs[i].n_strings;
	opts->string_size = opts->n_strings ? fsc_trace_slot(chars) : 0;
	t->symbols = any_symbols(t);
	opts->programs = t->programs;
	opts->ring_of = t->ring_of;
	opts->n_rings = t->n_specs < MOST_RINGS ? (uint32_t)t->n_specs : MOST_RINGS;
	return 0;
}
