/* From FILE:LINE to the addresses where its statements begin, by DWARF line tables (libdw). A
 * compiler spreads one line over many ranges of code; a probe on each would count one execution
 * several times. So only the first place of each scope (function, inlined copy, block) counts, and
 * the hot and cold parts of a function count separately. scopes.c finds the scopes; contain.c
 * protects against a libdw that crashes on a damaged file. */
#include "dwarf/lines.h"

#include <dwarf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "dwarf/debuginfo.h"
#include "dwarf/scopes.h"

struct search {
	struct fsc_elf *e;
	const struct fsc_image
	    *image; /* the file with the debug information: e's own or a separate one */
	const char *file;
	unsigned line;
	struct fsc_vec places; /* struct fsc_place */
	bool file_seen;
	unsigned nearest; /* line with code, 0 while none was seen */
	struct fsc_nearest files;
};

/* Whether path ends in the components of file. */
static bool is_file(const char *path, const char *file)
{
	size_t np = strlen(path), nf = strlen(file);

	return np >= nf && !strcmp(path + np - nf, file) && (np == nf || path[np - nf - 1] == '/');
}

static unsigned distance(unsigned a, unsigned b)
{
	return a > b ? a - b : b - a;
}

static void note_nearest(struct search *s, unsigned line)
{
	unsigned now = distance(line, s->line), best = distance(s->nearest, s->line);

	if (line && (!s->nearest || now < best || (now == best && line > s->nearest)))
		s->nearest = line;
}

/* Checks one row of the table. 1: it belongs to the requested line. */
static int check_row(struct search *s, Dwarf_Line *row)
{
	bool stmt = false, end = false;
	int line = 0;

	if (dwarf_linebeginstatement(row, &stmt) || !stmt || dwarf_lineendsequence(row, &end) ||
	    end || dwarf_lineno(row, &line) || line <= 0)
		return 0;
	note_nearest(s, (unsigned)line);
	return (unsigned)line == s->line;
}

static int add_place(struct search *s, Dwarf_Line *row, struct fsc_err *err)
{
	struct fsc_place *p;
	Dwarf_Addr addr;

	if (dwarf_lineaddr(row, &addr))
		return 0;
	p = fsc_vec_push(&s->places);
	if (!p)
		return fsc_err_nomem(err);
	p->addr = addr;
	return 0;
}

static int search_rows(struct search *s, Dwarf_Lines *rows, size_t n, struct fsc_err *err)
{
	const char *last = NULL;
	bool fits = false, inside = false;

	for (size_t i = 0; i < n; i++) {
		Dwarf_Line *row = dwarf_onesrcline(rows, i);
		const char *path = row ? dwarf_linesrc(row, NULL, NULL) : NULL;
		int rc, hit;

		if (path != last)
			fits = path && is_file(path, s->file);
		last = path;
		s->file_seen |= fits;
		hit = fits && check_row(s, row);
		rc = hit && !inside ? add_place(s, row, err) : 0;
		if (rc)
			return rc;
		inside = hit;
	}
	return 0;
}

static int search_unit(struct search *s, Dwarf_Die *unit, struct fsc_err *err)
{
	size_t before = s->places.n, n = 0;
	const char *name = dwarf_diename(unit);
	Dwarf_Lines *rows;
	int rc;

	if (name)
		fsc_nearest_offer(&s->files, fsc_str_base(name));
	if (dwarf_getsrclines(unit, &rows, &n))
		return 0; /* a unit without code, or a damaged one */
	rc = search_rows(s, rows, n, err);
	if (!rc && s->places.n > before)
		fsc_scopes_mark(unit, FSC_AT(struct fsc_place, &s->places, before),
				s->places.n - before);
	return rc;
}

static int search_units(struct search *s, Dwarf *dwarf, struct fsc_err *err)
{
	Dwarf_Off at = 0, next;
	size_t header;
	int rc = 0;

	while (!rc && !dwarf_nextcu(dwarf, at, &next, &header, NULL, NULL, NULL) && next > at) {
		Dwarf_Die unit;
		int tag = dwarf_offdie(dwarf, at + header, &unit) ? dwarf_tag(&unit) : 0;

		if (tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit)
			rc = search_unit(s, &unit, err);
		at = next;
	}
	return rc;
}

static int not_found(const struct search *s, struct fsc_err *err)
{
	char near[512];

	if (s->file_seen) {
		fsc_err_set(err, ENOENT, "no code at %s:%u in '%s'", s->file, s->line,
			    fsc_elf_image(s->e)->path);
		if (!s->nearest)
			return -ENOENT;
		return fsc_err_hint(err, "the nearest line with code is %u", s->nearest);
	}
	fsc_err_set(err, ENOENT, "'%s' was not built from a file '%s'", fsc_elf_image(s->e)->path,
		    s->file);
	fsc_nearest_text(&s->files, near, sizeof(near));
	return near[0] ? fsc_err_hint(err, "did you mean %s?", near) : -ENOENT;
}

/* Places as file offsets, unique and sorted; addresses outside of code are dropped. */
static int take_offsets(const struct fsc_elf *e, const struct fsc_vec *places, struct fsc_vec *ret,
			struct fsc_err *err)
{
	uint64_t *offsets;
	size_t kept = 0;

	for (size_t i = 0; i < places->n; i++) {
		uint64_t offset, *place;

		if (!fsc_elf_offset(e, FSC_AT(struct fsc_place, places, i)->addr, true, &offset))
			continue;
		place = fsc_vec_push(ret);
		if (!place)
			return fsc_err_nomem(err);
		*place = offset;
	}
	offsets = ret->data;
	if (ret->n)
		qsort(offsets, ret->n, sizeof(*offsets), fsc_compare_addresses);
	for (size_t i = 0; i < ret->n; i++) {
		if (!kept || offsets[kept - 1] != offsets[i])
			offsets[kept++] = offsets[i];
	}
	ret->n = kept;
	return 0;
}

/* The whole search, inside fsc_contain(). */
static int search_in_child(void *arg, struct fsc_vec *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_debug_info_close) struct fsc_debug_info d = {0};
	struct search *s = arg;
	int rc = fsc_debug_info_open(s->image, &d, err);

	if (!rc)
		rc = search_units(s, d.dwarf, err);
	if (!rc) {
		fsc_scopes_keep_first(&s->places);
		rc = take_offsets(s->e, &s->places, ret, err);
	}
	fsc_vec_release(&s->places);
	if (!rc && !ret->n)
		rc = not_found(s, err);
	return rc;
}

int fsc_dwarf_line(struct fsc_elf *e, const char *file, unsigned line, uint64_t **ret,
		   size_t *ret_n, struct fsc_err *err)
{
	FSC_AUTO(fsc_vec_release) struct fsc_vec offsets = FSC_VEC_INIT(uint64_t);
	struct search s = {.e = e, .line = line, .places = FSC_VEC_INIT(struct fsc_place)};
	int rc;

	while (!strncmp(file, "./", 2))
		file += 2;
	s.file = s.files.wanted = file;
	rc = fsc_debug_info_find(e, ".debug_line", &s.image, err);
	if (rc)
		return rc;
	rc = fsc_debug_info_contain(s.image, search_in_child, &s, &offsets, err);
	if (rc)
		return rc;
	*ret_n = offsets.n;
	*ret = fsc_take(&offsets.data);
	return 0;
}
