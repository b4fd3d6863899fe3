/* Which argument registers a parameter is passed in, by the C calling convention. */
#ifndef FSC_TYPES_ABI_H
#define FSC_TYPES_ABI_H

#include "types/types.h"

/* What a value of some type takes when it is passed. */
struct fsc_abi_need {
	uint8_t n;	/* argument registers; 0: none (memory, floating point registers) */
	bool whole;	/* they hold all of it */
	bool even;	/* begins at an even register (x0, x2, ...) */
	bool memory;	/* a struct that goes through memory, as a result too */
	bool reference; /* passed as a pointer to a copy */
	bool unknown;	/* then nothing is known about later ones either */
};

struct fsc_abi {
	unsigned n_regs;
	bool ret_is_arg; /* the place for a large result is passed as the first argument */
	bool fills_gaps; /* registers that one did not fit into are left for later ones */
	struct fsc_abi_need (*need)(const struct fsc_type *type);
};

extern const struct fsc_abi fsc_abi_x86_64, fsc_abi_arm64;
/* This machine's. */
extern const struct fsc_abi *const fsc_abi_own;

/* Fills arg and n_arg of each parameter from its type. */
void fsc_abi_place(const struct fsc_abi *abi, const struct fsc_type *ret, struct fsc_param *params,
		   size_t n);
/* Whether the (first) return register holds a value of that type whole. */
bool fsc_abi_returns(const struct fsc_abi *abi, const struct fsc_type *ret);
/* Whether the type is passed as a pointer to a copy. */
bool fsc_abi_by_reference(const struct fsc_abi *abi, const struct fsc_type *type);

/* The argument register that DWARF's numbers mean on this machine: 1.., 0 if it is none. */
unsigned fsc_abi_dwarf_reg(unsigned number);
/* The same of Go's functions (ABIInternal), which count other registers; up to FSC_ARG_MAX. */
unsigned fsc_abi_go_dwarf_reg(unsigned number);
/* Where the n-th of them, from 0, is in the kernel's pt_regs: a byte offset. */
uint16_t fsc_abi_go_reg(unsigned n);

#endif
