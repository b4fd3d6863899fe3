/* The arguments of a USDT probe, as its ELF note describes them: "-4@%edi 8@-16(%rbp) 4@$5" on
 * x86-64, "8@x0 -4@[sp, 12]" on arm64. Text only; nothing is read. */
#ifndef FSC_PROBE_USDTARGS_H
#define FSC_PROBE_USDTARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct fsc_names;

enum fsc_usdt_form { FSC_USDT_CONST, FSC_USDT_REG, FSC_USDT_MEMORY };

struct fsc_usdt_arg {
	enum fsc_usdt_form form;
	unsigned size; /* bytes: 1, 2, 4, 8 */
	bool is_signed;
	uint64_t imm;	   /* the constant, or what is added to the address */
	bool base, index;  /* of memory: which registers there are */
	uint16_t base_reg; /* offset in pt_regs; the register itself for FSC_USDT_REG */
	uint16_t index_reg;
	unsigned scale;	  /* of the index */
	bool second_byte; /* %ah and its like */
};

enum fsc_usdt_machine { FSC_USDT_X86_64, FSC_USDT_ARM64 };

#if defined(__aarch64__)
#define FSC_USDT_HOST FSC_USDT_ARM64
#else
#define FSC_USDT_HOST FSC_USDT_X86_64
#endif

/* The n-th argument (from 1) in a note's text. -ENOENT: it has fewer; other failures say in one
 * sentence what cannot be read. */
int fsc_usdt_arg_parse(const char *args, enum fsc_usdt_machine machine, unsigned n,
		       struct fsc_usdt_arg *ret, struct fsc_err *err);
/* How many arguments the text lists. */
unsigned fsc_usdt_args_count(const char *args);
/* Names for expressions: arg1... are the probe's. args must outlive them. */
void fsc_usdt_names(const char *args, struct fsc_names *ret);

#endif
