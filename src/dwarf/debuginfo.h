/* The DWARF of one file, opened with libdw. For code inside fsc_contain() only: libdw trusts
 * what it reads. */
#ifndef FSC_DWARF_DEBUGINFO_H
#define FSC_DWARF_DEBUGINFO_H

#include <elfutils/libdw.h>
#include <stdint.h>

#include "base/contain.h"
#include "elf/image.h"

struct fsc_debug_info {
	Elf *elf;
	Dwarf *dwarf;
};

/* The image that has the section (".debug_line" and the like) of a program: its own, or the
 * separate debug file. -ENODATA with a hint: none has. Runs outside the child. */
int fsc_debug_info_find(struct fsc_elf *e, const char *section, const struct fsc_image **ret,
			struct fsc_err *err);
/* fsc_contain() for a function that reads the debug information of the image. */
int fsc_debug_info_contain(const struct fsc_image *im,
			   int (*fn)(void *arg, struct fsc_vec *out, struct fsc_err *err),
			   void *arg, struct fsc_vec *ret, struct fsc_err *err);
/* Call fsc_debug_info_close() also after a failure. */
int fsc_debug_info_open(const struct fsc_image *im, struct fsc_debug_info *ret,
			struct fsc_err *err);
void fsc_debug_info_close(struct fsc_debug_info *d);

/* The first child, and the next sibling in place; false at the end. Only moves forward, so a
 * crafted file cannot cause a loop. */
bool fsc_die_child(Dwarf_Die *parent, Dwarf_Die *ret);
bool fsc_die_next(Dwarf_Die *die);
/* A function, an inlined copy of one, or a block. */
bool fsc_die_is_scope(Dwarf_Die *die);
/* A namespace or type, which has functions inside in C++, Rust and Ada. */
bool fsc_die_nests_functions(Dwarf_Die *die);

/* For arrays whose elements start with their address, a uint64_t: their order, and the index of the
 * first element at or above addr in a sorted one. */
int fsc_compare_addresses(const void *va, const void *vb);
size_t fsc_first_from(const void *sorted, size_t n, size_t size, uint64_t addr);

#endif
