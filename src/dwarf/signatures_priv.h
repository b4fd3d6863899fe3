/* Shared by the readers of functions (functions.c), types (types.c) and structs (structs.c).
 * Inside fsc_contain() only. */
#ifndef FSC_DWARF_SIGNATURES_PRIV_H
#define FSC_DWARF_SIGNATURES_PRIV_H

#include <elfutils/libdw.h>

#include "types/table.h"

/* How the functions of a source language are called and its types written. */
struct fsc_dwarf_lang {
	int code;	/* DW_LANG_... */
	bool tagged;	/* structs are called "struct NAME" */
	bool own_rules; /* arguments are not passed as in C */
};

/* The language of the unit that a DIE is in; what is not known is taken for C. */
struct fsc_dwarf_lang fsc_dwarf_lang(Dwarf_Die *die);

/* The number of the type that a DIE refers to: void where it refers to none. */
uint32_t fsc_dwarf_type_of(struct fsc_typetab *tab, Dwarf_Die *die, bool pointed);
/* For fsc_typetab_read(): arg is the struct fsc_typetab. */
struct fsc_flat_type fsc_dwarf_type_read(void *arg, struct fsc_origin origin);
/* Of those, what reads a struct, class or union. */
struct fsc_flat_type fsc_dwarf_struct(struct fsc_typetab *tab, Dwarf_Die *die);

/* A constant attribute; false where it is not there or not constant (*ret is then unchanged). */
bool fsc_die_number(Dwarf_Die *die, unsigned name, uint64_t *ret);
/* The size of a type in bytes, 0 where it has none. */
uint64_t fsc_die_size(Dwarf_Die *die);

#endif
