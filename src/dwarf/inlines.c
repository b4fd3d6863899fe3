/* Lines and inlined functions, from DWARF. All addresses of a file are looked up in one pass in
 * a child process (contain.c): its units are walked once, and the tree of each unit that has some
 * of the addresses once. The answer comes back as bytes: for each address a struct head, then for
 * each function a struct part and its two texts. */
#include "dwarf/inlines.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "dwarf/debuginfo.h"

/* Deeper than any compiler nests; the tree of a damaged file must not use up our stack. */
#define DEPTH_MAX 200

struct head {
	uint64_t addr;
	uint64_t n; /* functions that follow */
};

struct part {
	uint32_t line, name_size, file_size;
};

/* A function around an address: what is called, and from where. */
struct scope {
	const char *name;
	const char *call_file;
	unsigned call_line;
};

/* One address during the walk of the unit's tree. */
struct spot {
	uint64_t addr;
	struct fsc_vec scopes; /* struct scope, outermost first */
	bool answered;	       /* by a unit; damaged ones overlap */
};

struct lookup {
	const struct fsc_image *image;
	const uint64_t *addrs; /* in order */
	size_t n;
	struct spot *spots; /* one per address */
	bool failed;	    /* out of memory */
	struct fsc_buf out;
};

/* ---- in the child ---- */

/* The mangled name, which has more information than the plain one; also where only the
 * function's declaration or its original has it. */
static const char *name_of(Dwarf_Die *die)
{
	static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		Dwarf_Attribute attr;
		const char *name =
		    dwarf_formstring(dwarf_attr_integrate(die, names[i], &attr) ? &attr : NULL);

		if (name && name[0])
			return name;
	}
	return NULL;
}

static unsigned number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (dwarf_formudata(dwarf_attr(die, name, &attr), &value) || value > UINT32_MAX)
		return 0;
	return (unsigned)value;
}

/* The file in which an inlined function is called. */
static const char *call_file(Dwarf_Die *unit, Dwarf_Die *die)
{
	Dwarf_Files *files;
	size_t n;
	unsigned i = number_of(die, DW_AT_call_file);

	if (dwarf_getsrcfiles(unit, &files, &n) || i >= n)
		return NULL;
	return dwarf_filesrc(files, i, NULL, NULL);
}

/* Adds a function to every address that it covers; whether there are any. */
static bool mark_addresses(struct lookup *l, Dwarf_Die *unit, Dwarf_Die *die)
{
	int tag = dwarf_tag(die);
	bool inlined = tag == DW_TAG_inlined_subroutine, any = false;
	Dwarf_Addr base, start, end;
	struct scope scope = {0};
	ptrdiff_t offset = 0;

	while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
		size_t i = fsc_first_from(l->addrs, l->n, sizeof(*l->addrs), start);

		for (; i < l->n && l->addrs[i] < end; i++) {
			struct scope *place;

			if (!any && tag != DW_TAG_lexical_block)
				scope = (struct scope){
				    .name = name_of(die),
				    .call_file = inlined ? call_file(unit, die) : NULL,
				    .call_line = inlined ? number_of(die, DW_AT_call_line) : 0,
				};
			any = true;
			if (tag == DW_TAG_lexical_block)
				continue;
			place = fsc_vec_push(&l->spots[i].scopes);
			l->failed |= !place;
			if (place)
				*place = scope;
		}
	}
	return any;
}

static void walk_scopes(struct lookup *l, Dwarf_Die *unit, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX || !fsc_die_child(parent, &die))
		return;
	do {
		if (fsc_die_is_scope(&die) ? mark_addresses(l, unit, &die)
					   : fsc_die_nests_functions(&die))
			walk_scopes(l, unit, &die, depth + 1);
	} while (fsc_die_next(&die));
}

static void add_part(struct fsc_buf *out, const char *name, const char *file, unsigned line)
{
	struct part part = {.line = line,
			    .name_size = name ? (uint32_t)strlen(name) : 0,
			    .file_size = file ? (uint32_t)strlen(file) : 0};

	fsc_buf_add(out, (const char *)&part, sizeof(part));
	if (part.name_size)
		fsc_buf_add(out, name, part.name_size);
	if (part.file_size)
		fsc_buf_add(out, file, part.file_size);
}

/* Writes what is known about an address, innermost function first. Each is at the line from
 * which the next inner one is called; the innermost where the line table says. */
static void add_answer(struct lookup *l, Dwarf_Die *unit, struct spot *s)
{
	Dwarf_Line *row = dwarf_getsrc_die(unit, s->addr);
	const char *file = row ? dwarf_linesrc(row, NULL, NULL) : NULL;
	struct head head = {.addr = s->addr, .n = s->scopes.n ? s->scopes.n : 1};
	int line = 0;

	if (row && (dwarf_lineno(row, &line) || line < 0))
		line = 0;
	if (s->answered || (!row && !s->scopes.n))
		return;
	s->answered = true;
	fsc_buf_add(&l->out, (const char *)&head, sizeof(head));
	if (!s->scopes.n)
		add_part(&l->out, NULL, file, (unsigned)line);
	for (size_t i = s->scopes.n; i-- > 0;) {
		const struct scope *scope = FSC_AT(struct scope, &s->scopes, i);

		add_part(&l->out, scope->name, file, (unsigned)line);
		file = scope->call_file;
		line = (int)scope->call_line;
	}
	fsc_vec_release(&s->scopes);
}

/* Answers the addresses of one unit, if it has any. The tree of a split unit is in another file,
 * its lines are not. */
static void look_in_unit(struct lookup *l, Dwarf_Die *unit, Dwarf_Die *tree)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;
	bool walked = false;

	while ((offset = dwarf_ranges(unit, offset, &base, &start, &end)) > 0) {
		size_t i = fsc_first_from(l->addrs, l->n, sizeof(*l->addrs), start);

		for (; i < l->n && l->addrs[i] < end; i++) {
			if (!walked)
				walk_scopes(l, tree, tree, 0);
			walked = true;
			add_answer(l, unit, &l->spots[i]);
		}
	}
}

static void look_in_units(struct lookup *l, Dwarf *dwarf)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit, split;
	uint8_t type;

	while (!l->failed && !dwarf_get_units(dwarf, cu, &cu, NULL, &type, &unit, &split)) {
		if (type == DW_UT_compile)
			look_in_unit(l, &unit, &unit);
		else if (type == DW_UT_skeleton)
			look_in_unit(l, &unit, dwarf_tag(&split) > 0 ? &split : &unit);
	}
}

/* Inside fsc_contain(): memory need not be freed. */
static int look_up_in_child(void *arg, struct fsc_vec *ret, struct fsc_err *err)
{
	struct lookup *l = arg;
	struct fsc_debug_info d = {0};
	int rc = fsc_debug_info_open(l->image, &d, err);

	if (rc)
		return rc;
	l->spots = calloc(l->n, sizeof(*l->spots));
	if (!l->spots)
		return fsc_err_nomem(err);
	for (size_t i = 0; i < l->n; i++)
		l->spots[i] =
		    (struct spot){.addr = l->addrs[i], .scopes = FSC_VEC_INIT(struct scope)};
	look_in_units(l, d.dwarf);
	if (l->failed || fsc_buf_failed(&l->out))
		return fsc_err_nomem(err);
	for (size_t i = 0; i < l->out.n; i++) {
		char *byte = fsc_vec_push(ret);

		if (!byte)
			return fsc_err_nomem(err);
		*byte = l->out.s[i];
	}
	return 0;
}

/* ---- outside ---- */

struct reader {
	const char *at;
	size_t left;
};

static const char *take_bytes(struct reader *r, size_t n)
{
	const char *bytes = r->at;

	if (n > r->left)
		return NULL;
	r->at += n;
	r->left -= n;
	return bytes;
}

/* The next n bytes as text; *ret is NULL if there are none. False if out of memory. */
static bool take_text(struct reader *r, size_t n, char **ret)
{
	const char *bytes = take_bytes(r, n);

	*ret = bytes && n ? strndup(bytes, n) : NULL;
	return *ret || !bytes || !n;
}

static bool take_part(struct reader *r, struct fsc_inline *ret)
{
	const char *bytes = take_bytes(r, sizeof(struct part));
	struct part part = {0};

	if (bytes)
		memcpy(&part, bytes, sizeof(part));
	ret->line = part.line;
	return take_text(r, part.name_size, &ret->name) && take_text(r, part.file_size, &ret->file);
}

/* Reads the answers; the child wrote whole ones, or fsc_contain() has failed. */
static int take_answers(struct reader *r, struct fsc_vec *ret, struct fsc_err *err)
{
	const char *bytes;

	while ((bytes = take_bytes(r, sizeof(struct head)))) {
		struct fsc_inlined *one = fsc_vec_push(ret);
		struct head head;

		memcpy(&head, bytes, sizeof(head));
		if (!one)
			return fsc_err_nomem(err);
		one->addr = head.addr;
		if (head.n > r->left / sizeof(struct part))
			return fsc_err_set(err, EBADMSG, "the debug information is damaged");
		one->at = calloc(head.n, sizeof(*one->at));
		if (!one->at)
			return fsc_err_nomem(err);
		for (one->n = 0; one->n < head.n;)
			if (!take_part(r, &one->at[one->n++]))
				return fsc_err_nomem(err);
	}
	return 0;
}

int fsc_inlines_find(struct fsc_elf *e, uint64_t *addrs, size_t n, struct fsc_vec *ret,
		     struct fsc_err *err)
{
	FSC_AUTO(fsc_vec_release) struct fsc_vec bytes = FSC_VEC_INIT(char);
	struct lookup l = {.addrs = addrs, .n = n};
	struct reader r;
	int rc = fsc_debug_info_find(e, ".debug_info", &l.image, err);

	if (rc || !n)
		return rc;
	qsort(addrs, n, sizeof(*addrs), fsc_compare_addresses);
	rc = fsc_debug_info_contain(l.image, look_up_in_child, &l, &bytes, err);
	if (rc)
		return rc;
	r = (struct reader){.at = bytes.data, .left = bytes.n};
	return take_answers(&r, ret, err);
}

void fsc_inlines_release(struct fsc_vec *v)
{
	for (size_t i = 0; i < v->n; i++) {
		struct fsc_inlined *one = FSC_AT(struct fsc_inlined, v, i);

		for (size_t k = 0; k < one->n; k++) {
			free(one->at[k].name);
			free(one->at[k].file);
		}
		free(one->at);
	}
	fsc_vec_release(v);
}
