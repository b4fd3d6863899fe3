/* Functions of user space: LIB:NAME, /path:NAME, :NAME (the process's own program), each with
 * +OFFSET, LIB:0xADDRESS, and LIB:FILE.c:LINE. Names are matched as in the symbol table, with a
 * version, or demangled. */
#include "probe/kind.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "probe/begins.h"
#include "probe/files.h"
#include "probe/fragile.h"
#include "probe/insn.h"
#include "probe/loops.h"
#include "probe/match.h"
#include "probe/returns.h"
#include "probe/uprobe.h"
#include "sym/demangle.h"
#include "dwarf/lines.h"
#include "elf/elf.h"
#include "proc/libs.h"

/* "name.c:42" at the end of text: cuts it in two. */
static bool split_line(char *text, unsigned *line)
{
	char *colon = strrchr(text, ':'), *dot, *end;
	unsigned long v;

	if (!colon || colon == text || colon[-1] == ':' || !isdigit((unsigned char)colon[1]))
		return false;
	v = strtoul(colon + 1, &end, 10);
	if (*end || !v || v > 0x7fffffff)
		return false;
	*colon = '\0';
	dot = strrchr(text, '.');
	if (!dot || !isalpha((unsigned char)dot[1])) {
		*colon = ':';
		return false;
	}
	*line = (unsigned)v;
	return true;
}

/* "0x1234", the whole of it. */
static bool is_address(const char *text, uint64_t *ret)
{
	char *end;

	if (strncmp(text, "0x", 2) || !isxdigit((unsigned char)text[2]))
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 16);
	return !*end && !errno;
}

/* Puts what follows the binary into spec: a line, an address, or a function with its offset. */
static int parse_name(char *name, bool regex, struct fsc_spec *spec, struct fsc_err *err)
{
	char **to = &spec->function;

	if (!regex && split_line(name, &spec->line))
		to = &spec->file;
	else if (!regex && !is_address(name, &spec->address))
		fsc_kind_split_offset(name, &spec->offset);
	if (spec->kind->ret && (spec->offset || spec->line))
		return fsc_err_usage(err,
				     "'%s': a return belongs to a whole function, not to an offset "
				     "or line",
				     spec->text);
	*to = strdup(name);
	return *to ? 0 : fsc_err_nomem(err);
}

static int parse_uprobe(char *text, bool regex, struct fsc_spec *spec, struct fsc_err *err)
{
	char *colon = fsc_kind_next_colon(text);
	unsigned line = 0;
	bool whole = false; /* no binary: all of it is the name */

	if (colon && colon[1] == ':' && colon != text && !strchr(text, '/')) {
		if (!spec->own)
			return fsc_err_usage(err,
					     "'%s' is a C++ name without a library; write "
					     "LIBRARY:%s, or give -p PID or a command",
					     text, text);
		whole = true;
	} else if (colon && !regex && !fsc_kind_next_colon(colon + 1) && split_line(text, &line)) {
		text[strlen(text)] =
		    ':'; /* "main.c:42" alone: a line of the process's own program */
		whole = true;
	} else if (!colon || !colon[1]) {
		return fsc_err_usage(err,
				     "probe '%s' names no function; write LIBRARY:FUNCTION, as in "
				     "c:malloc",
				     spec->text);
	}
	if (!whole)
		*colon = '\0';
	spec->binary = strdup(whole ? "" : text);
	if (!spec->binary)
		return fsc_err_nomem(err);
	return parse_name(whole ? text : colon + 1, regex, spec, err);
}

struct search {
	const struct fsc_spec *spec;
	const struct fsc_scope *scope;
	struct fsc_targets *out;
	struct fsc_matcher m;
	struct fsc_nearest near;
	size_t found, excluded, refused;
	uint64_t offset; /* of the place, behind the function's start */
	bool stripped;	 /* the file at hand */
	/* Places and names that were refused: like attached functions, one with several names, or
	 * several of one name, count once. */
	struct fsc_map refusals;
	struct fsc_returns_file returns; /* of the file at hand */
	struct fsc_begins begins;	 /* in it */
};

static bool catches_returns(const struct search *s)
{
	return s->scope->pairs || s->spec->kind->ret;
}

/* Whether the name at hand was taken out by -x, by its plain or its shown name. */
static bool is_excluded(const struct search *s, const char *name, const char *shown,
			const char *bare)
{
	return fsc_scope_excluded(s->scope, name) || fsc_scope_excluded(s->scope, shown) ||
	       (bare && fsc_scope_excluded(s->scope, bare));
}

/* Notes a function that matched but cannot be probed. */
static int refuse_function(struct search *s, const struct fsc_target *t, const char *name,
			   const char *why, struct fsc_err *err)
{
	const uint64_t place[] = {t->file, t->offset};
	bool new_place, new_name;

	s->refused++;
	if (!fsc_map_put(&s->refusals, place, sizeof(place), &new_place) ||
	    !fsc_map_put(&s->refusals, name, strlen(name), &new_name))
		return fsc_err_nomem(err);
	return new_place && new_name ? fsc_targets_skip(s->out, name, why, err) : 0;
}

/* Whether an instruction of the function begins at the spec's offset; says why not. */
static bool offset_fits(const struct search *s, const struct fsc_elf *e, const struct fsc_sym *sym,
			char *why, size_t n)
{
	unsigned long long off = s->offset;
	uint64_t before, after;

	if (sym->size && off >= sym->size) {
		snprintf(
		    why, n,
		    "Offset outside the function bounds ('%.40s' size is %llu): it ends before "
		    "+%#llx",
		    sym->name, (unsigned long long)sym->size, off);
		return false;
	}
	if (fsc_insn_boundary(e, sym->offset, off, &before, &after))
		return true;
	if (after)
		snprintf(
		    why, n,
		    "no instruction begins at +%#llx, and a probe inside one would destroy it; the "
		    "nearest are +%#llx and +%#llx",
		    off, (unsigned long long)before, (unsigned long long)after);
	else
		snprintf(why, n, "its code could not be decoded up to +%#llx", off);
	return false;
}

/* For a function named in full this is an error; of many, it is skipped. */
static int refuse_offset(struct search *s, const struct fsc_target *t, const char *shown,
			 const char *why, struct fsc_err *err)
{
	if (fsc_pattern_exact(&s->m.pattern))
		return fsc_err_usage(err, "'%s': %s", shown, why);
	return refuse_function(s, t, shown, "no instruction begins at that offset", err);
}

static int add_symbol(struct search *s, struct fsc_elf *e, uint32_t file, const struct fsc_sym *sym,
		      struct fsc_err *err)
{
	const char *binary = FSC_AT(struct fsc_target_file, &s->out->files, file)->name;
	FSC_AUTO(fsc_freep) char *shown = fsc_match_display(sym);
	FSC_AUTO(fsc_freep) char *bare = fsc_demangle(sym->name, false);
	FSC_AUTO(fsc_freep) char *label = NULL;
	uint64_t off = s->offset;
	const char *unfit = NULL;
	char why[FSC_INSN_WHY];
	int rc = 0;
	struct fsc_target t = {
	    .site = FSC_SITE_USER,
	    .ret = s->spec->kind->ret,
	    .file = file,
	    .offset = sym->offset + off,
	    .at_entry = !off,
	};

	if (!shown || (!bare && errno == ENOMEM))
		return fsc_err_nomem(err);
	if (is_excluded(s, sym->name, shown, bare)) {
		s->excluded++;
		return 0;
	}
	if (sym->ifunc)
		return refuse_function(
		    s, &t, shown, "indirect function; its implementations have names of their own",
		    err);
	if (!fsc_begins_code(&s->begins, e, sym, why))
		return refuse_function(s, &t, shown, why, err);
	if (off && !offset_fits(s, e, sym, why, sizeof(why)))
		return refuse_offset(s, &t, shown, why, err);
	if (!fsc_insn_inspect(e, &t, why))
		return refuse_function(s, &t, shown, why, err);
	if (!off)
		rc = fsc_loops_avoid(&s->returns.exits, sym, &t, err);
	if (rc)
		return rc;
	if (off && asprintf(&label, "%s+%#llx", shown, (unsigned long long)off) < 0)
		return fsc_err_nomem(err);
	if (catches_returns(s))
		rc = fsc_returns_choose(&s->returns, sym, &t, &unfit, err);
	if (rc)
		return rc;
	if (unfit) {
		free(t.exits);
		return refuse_function(s, &t, shown, unfit, err);
	}
	s->found++;
	rc = fsc_targets_add(s->out, &t, s->spec->kind->name, binary, label ? label : shown,
			     off ? NULL : sym->name, err);
	free(t.exits);
	return rc;
}

static int add_matches(struct search *s, struct fsc_elf *e, uint32_t file,
		       const struct fsc_sym *syms, size_t n, struct fsc_err *err)
{
	int rc = 0;

	s->begins = (struct fsc_begins){0};
	for (size_t i = 0; !rc && i < n; i++) {
		int match = fsc_matcher_match(&s->m, &syms[i]);

		fsc_begins_visit(&s->begins, syms, i);
		if (match)
			rc = match < 0 ? fsc_err_nomem(err) : add_symbol(s, e, file, &syms[i], err);
	}
	return rc;
}

static int search_symbols(struct search *s, struct fsc_elf *e, uint32_t file, struct fsc_err *err)
{
	const struct fsc_sym *syms;
	size_t n;
	int rc = fsc_elf_symbols(e, &syms, &n, err);

	s->stripped = fsc_elf_stripped(e);
	if (!rc)
		rc = fsc_exits_open(&s->returns.exits, e, err);
	if (rc)
		return rc;
	rc = add_matches(s, e, file, syms, n, err);
	fsc_exits_release(&s->returns.exits);
	if (rc || s->found || s->excluded || s->refused)
		return rc;
	for (size_t i = 0; i < n; i++) {
		FSC_AUTO(fsc_freep) char *d = fsc_demangle(syms[i].name, false);

		if (!d && errno == ENOMEM)
			return fsc_err_nomem(err);
		fsc_nearest_offer(&s->near, d ? d : syms[i].name);
	}
	return 0;
}

/* The function around an address: by the symbols, or without a name by the frame information. */
static int find_around(struct fsc_elf *e, uint64_t addr, char name[20], struct fsc_sym *ret,
		       struct fsc_err *err)
{
	const struct fsc_sym *sym;
	int rc = fsc_elf_symbol_at(e, addr, &sym, err);

	if (rc)
		return rc;
	if (sym) {
		*ret = *sym;
		return 0;
	}
	*ret = (struct fsc_sym){.name = name, .version_default = true};
	if (!fsc_elf_frame_at(e, addr, &ret->addr, &ret->size) ||
	    !fsc_elf_offset(e, ret->addr, true, &ret->offset))
		return -ENOENT;
	snprintf(name, 20, "%#llx", (unsigned long long)ret->addr);
	return 0;
}

/* Where no function is known to begin before it, an instruction may begin anywhere. */
static int search_address(struct search *s, struct fsc_elf *e, uint32_t file, struct fsc_err *err)
{
	struct fsc_sym sym;
	char name[20];
	int rc = find_around(e, s->spec->address, name, &sym, err);

	if (rc == -ENOENT)
		return fsc_err_set(err, ENOENT, "%s has no function at %s",
				   FSC_AT(struct fsc_target_file, &s->out->files, file)->name,
				   s->spec->function);
	if (rc)
		return rc;
	s->offset = s->spec->address - sym.addr;
	if (s->offset && catches_returns(s))
		return fsc_err_usage(err,
				     "'%s' is %#llx bytes inside a function, but an entry and its "
				     "return are needed; name the function, or its first address",
				     s->spec->text, (unsigned long long)s->offset);
	rc = fsc_exits_open(&s->returns.exits, e, err);
	if (rc)
		return rc;
	rc = add_symbol(s, e, file, &sym, err);
	fsc_exits_release(&s->returns.exits);
	return rc;
}

static int search_line(struct search *s, struct fsc_elf *e, uint32_t file, struct fsc_err *err)
{
	const char *binary = FSC_AT(struct fsc_target_file, &s->out->files, file)->name;
	FSC_AUTO(fsc_freep) char *label = NULL;
	FSC_AUTO(fsc_freep) uint64_t *offsets = NULL;
	char why[FSC_INSN_WHY];
	size_t n = 0;
	int rc = fsc_dwarf_line(e, s->spec->file, s->spec->line, &offsets, &n, err);

	if (rc)
		return rc;
	if (asprintf(&label, "%s:%u", s->spec->file, s->spec->line) < 0)
		return fsc_err_nomem(err);
	for (size_t i = 0; !rc && i < n; i++) {
		struct fsc_target t = {
		    .site = FSC_SITE_USER,
		    .ret = s->spec->kind->ret,
		    .file = file,
		    .offset = offsets[i],
		};

		if (!fsc_insn_inspect(e, &t, why)) {
			rc = refuse_function(s, &t, label, why, err);
			continue;
		}
		s->found++;
		rc = fsc_targets_add(s->out, &t, s->spec->kind->name, binary, label, NULL, err);
	}
	return rc;
}

static int open_file(struct fsc_targets *out, const struct fsc_libs_file *f, struct fsc_elf **ret,
		     uint32_t *ret_file, struct fsc_err *err)
{
	int rc = fsc_elf_open(f->path, f->root, ret, err);

	return rc ? rc : fsc_targets_file(out, f->path, f->name, ret_file, err);
}

/* How returns are caught in the file. */
static void check_returns(struct fsc_returns_file *r, struct fsc_elf *e,
			  const struct fsc_libs_file *f, struct fsc_target_file *file)
{
	fsc_returns_check_file(r, e, f);
	file->throws = r->unwinding != FSC_FRAGILE_FILE_NOT;
}

static int search_file(struct search *s, const struct fsc_libs_file *f, struct fsc_err *err)
{
	FSC_AUTO(fsc_elf_freep) struct fsc_elf *e = NULL;
	uint32_t file;
	int rc = open_file(s->out, f, &e, &file, err);

	if (rc)
		return rc;
	if (catches_returns(s))
		check_returns(&s->returns, e, f,
			      FSC_AT(struct fsc_target_file, &s->out->files, file));
	if (s->spec->file)
		return search_line(s, e, file, err);
	return s->spec->address ? search_address(s, e, file, err) : search_symbols(s, e, file, err);
}

static int nothing_found(const struct search *s, const struct fsc_vec *files, struct fsc_err *err)
{
	const char *where =
	    files->n ? FSC_AT(struct fsc_libs_file, files, 0)->name : s->spec->binary;
	char near[540], package[128], what[200] = "its debug symbols";

	if (s->excluded)
		return fsc_err_set(err, ENOENT,
				   "every function of %s that matches '%s' is excluded by -x",
				   where, s->spec->function);
	fsc_nearest_text(&s->near, near, sizeof(near));
	if (s->stripped && !near[0]) {
		fsc_err_set(err, ENOENT,
			    "no function of %s matches '%s': the file is stripped, so that only "
			    "functions that it exports have names",
			    where, s->spec->function);
		if (fsc_elf_package(where, package, sizeof(package)))
			snprintf(what, sizeof(what),
				 "the package %s-dbgsym of Debian's debug archive", package);
		return fsc_err_hint(err,
				    "install %s, use a build with symbols, or give an address "
				    "(%s:0x1234)",
				    what, where);
	}
	fsc_err_set(err, ENOENT, "no function of %s matches '%s'", where, s->spec->function);
	return fsc_kind_hint(&s->near, "", s->spec->binary[0] ? s->spec->binary : where, err);
}

static int resolve_in(struct search *s, struct fsc_vec *files, struct fsc_err *err)
{
	int rc = fsc_scope_files(s->scope, s->spec, false, files, err);

	if (s->scope->returns == FSC_RETURNS_BEST && catches_returns(s))
		fsc_returns_check_targets(&s->returns);
	for (size_t i = 0; !rc && i < files->n; i++)
		rc = search_file(s, FSC_AT(struct fsc_libs_file, files, i), err);
	if (!rc && !s->found && !s->refused)
		return nothing_found(s, files, err);
	return rc;
}

static int resolve_uprobe(const struct fsc_spec *spec, const struct fsc_scope *scope,
			  struct fsc_targets *out, struct fsc_err *err)
{
	struct fsc_vec files = FSC_VEC_INIT(struct fsc_libs_file);
	struct search s = {.spec = spec,
			   .scope = scope,
			   .out = out,
			   .returns = {.scope = scope, .known = &out->known}};
	int rc = 0;

	s.near.wanted = spec->function;
	s.offset = spec->offset;
	if (spec->function)
		rc = fsc_matcher_init(&s.m, spec->function, scope->regex, err);
	if (!rc)
		rc = resolve_in(&s, &files, err);
	fsc_libs_release(&files);
	fsc_matcher_release(&s.m);
	fsc_map_release(&s.refusals);
	return rc;
}

/* One of the wanted functions, in a file that is open. */
static int search_wanted(struct fsc_elf *e, uint32_t file, const struct fsc_returns_file *returns,
			 struct fsc_wanted *w, struct fsc_targets *out, struct fsc_err *err)
{
	char *function = (char *)w->function;
	struct fsc_spec spec = {.kind = &fsc_kind_uprobe, .text = function, .function = function};
	struct search s = {.spec = &spec, .scope = returns->scope, .out = out, .returns = *returns};
	int rc = fsc_matcher_init(&s.m, function, false, err);

	if (rc)
		return rc;
	rc = add_matches(&s, e, file, returns->exits.syms, returns->exits.n_syms, err);
	w->found += s.found;
	w->refused += s.refused;
	fsc_map_release(&s.refusals);
	fsc_matcher_release(&s.m);
	return rc;
}

int fsc_uprobe_search(const struct fsc_libs_file *f, struct fsc_wanted *wanted, size_t n,
		      const struct fsc_scope *scope, struct fsc_targets *out, struct fsc_err *err)
{
	FSC_AUTO(fsc_elf_freep) struct fsc_elf *e = NULL;
	struct fsc_returns_file returns = {.scope = scope, .known = &out->known};
	uint32_t file;
	int rc = open_file(out, f, &e, &file, err);

	if (!rc)
		rc = fsc_exits_open(&returns.exits, e, err);
	if (rc)
		return rc;
	if (scope->pairs)
		check_returns(&returns, e, f, FSC_AT(struct fsc_target_file, &out->files, file));
	for (size_t i = 0; !rc && i < n; i++) {
		out->probe = (uint32_t)i;
		rc = search_wanted(e, file, &returns, &wanted[i], out, err);
	}
	fsc_exits_release(&returns.exits);
	return rc;
}

const struct fsc_kind fsc_kind_uprobe = {
    .name = "uprobe",
    .returns = true,
    .prefixes = (const char *const[]){"uprobe", NULL},
    .form = "LIBRARY:FUNCTION",
    .parse = parse_uprobe,
    .resolve = resolve_uprobe,
};

const struct fsc_kind fsc_kind_uretprobe = {
    .name = "uretprobe",
    .prefixes = (const char *const[]){"uretprobe", "ur", NULL},
    .form = "LIBRARY:FUNCTION",
    .ret = true,
    .parse = parse_uprobe,
    .resolve = resolve_uprobe,
};
