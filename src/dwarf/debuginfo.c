/* Finding and opening the DWARF of a program, and safe steps through its tree. The users are
 * lines.c, scopes.c, functions.c and inlines.c. */
#include "dwarf/debuginfo.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"

static bool has_section(const struct fsc_image *im, const char *section)
{
	char packed[64];

	snprintf(packed, sizeof(packed), ".z%s", section + 1); /* compressed by old compilers */
	return fsc_image_section(im, section) || fsc_image_section(im, packed);
}

int fsc_debug_info_find(struct fsc_elf *e, const char *section, const struct fsc_image **ret,
			struct fsc_err *err)
{
	const struct fsc_image *debug;

	*ret = fsc_elf_image(e);
	if (has_section(*ret, section))
		return 0;
	debug = fsc_elf_debug_file(e);
	if (!debug && errno == ENOMEM)
		return fsc_err_nomem(err);
	*ret = debug;
	if (debug && has_section(debug, section))
		return 0;
	fsc_err_set(err, ENODATA, "'%s' has no debug information", fsc_elf_image(e)->path);
	fsc_err_hint(err, "compile it with -g, or install its debug package");
	return -ENODATA;
}

int fsc_debug_info_contain(const struct fsc_image *im,
			   int (*fn)(void *arg, struct fsc_vec *out, struct fsc_err *err),
			   void *arg, struct fsc_vec *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf what = {0};

	fsc_buf_printf(&what, "the debug information of '%s'", im->path);
	if (fsc_buf_failed(&what))
		return fsc_err_nomem(err);
	return fsc_contain(fn, arg, fsc_buf_str(&what), ret, err);
}

int fsc_debug_info_open(const struct fsc_image *im, struct fsc_debug_info *ret, struct fsc_err *err)
{
	elf_version(EV_CURRENT);
	/* Not mapped: that would copy nothing now, but fault later if the file shrinks. */
	ret->elf = elf_begin(im->fd, ELF_C_READ, NULL);
	ret->dwarf = ret->elf ? dwarf_begin_elf(ret->elf, DWARF_C_READ, NULL) : NULL;
	if (!ret->dwarf)
		return fsc_err_set(err, EBADMSG, "the debug information of '%s' cannot be read: %s",
				   im->path, ret->elf ? dwarf_errmsg(-1) : elf_errmsg(-1));
	return 0;
}

void fsc_debug_info_close(struct fsc_debug_info *d)
{
	if (d->dwarf)
		dwarf_end(d->dwarf);
	if (d->elf)
		elf_end(d->elf);
}

bool fsc_die_child(Dwarf_Die *parent, Dwarf_Die *ret)
{
	Dwarf_Off at = dwarf_dieoffset(parent);

	return !dwarf_child(parent, ret) && dwarf_dieoffset(ret) > at;
}

bool fsc_die_next(Dwarf_Die *die)
{
	Dwarf_Off at = dwarf_dieoffset(die);

	return !dwarf_siblingof(die, die) && dwarf_dieoffset(die) > at;
}

bool fsc_die_is_scope(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_lexical_block;
}

bool fsc_die_nests_functions(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		return true;
	default:
		return false;
	}
}

int fsc_compare_addresses(const void *va, const void *vb)
{
	const uint64_t *a = va, *b = vb;

	return *a < *b ? -1 : *a > *b;
}

size_t fsc_first_from(const void *sorted, size_t n, size_t size, uint64_t addr)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const uint64_t *at = (const void *)((const char *)sorted + mid * size);

		if (*at < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}
