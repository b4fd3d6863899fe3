/* What the expressions of `trace` need to know about the place they are evaluated at: types of
 * values, where a named value lies, and callbacks to look up names. Tracepoint fields, USDT
 * arguments and the parameters of functions with type information each fill a struct fsc_names. */
#ifndef FSC_PROBE_NAMES_H
#define FSC_PROBE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "probe/usdtargs.h"

enum fsc_class {
	FSC_CLASS_INT, /* integers, enumerations, booleans */
	FSC_CLASS_STRUCT,
	FSC_CLASS_VOID,
	FSC_CLASS_OTHER, /* floating point and what else cannot be computed with */
};

/* A C type: an array of count (where count is not 0) of pointers (so many levels) to a base. */
struct fsc_ctype {
	enum fsc_class class; /* of the base, as are the next three */
	unsigned size;	      /* bytes */
	bool is_signed;
	bool is_text; /* a char: pointers to it and arrays of it are shown as text */
	unsigned pointers;
	unsigned count;
	uint64_t id; /* the resolver's own: which struct */
};

/* Bytes of a value of the type. */
static inline unsigned fsc_ctype_size(const struct fsc_ctype *t)
{
	return (t->pointers ? 8 : t->size) * (t->count ? t->count : 1);
}

/* What argN and retval are where nothing is known about them. */
#define FSC_CTYPE_U64 ((struct fsc_ctype){.size = 8})

enum fsc_where {
	FSC_WHERE_ARG,	   /* argument `at` of the call, from 0 */
	FSC_WHERE_RETVAL,  /* what the function returns */
	FSC_WHERE_FIELD,   /* offset `at` of the tracepoint's record */
	FSC_WHERE_DYNAMIC, /* the same, a __data_loc that counts from `from` */
	FSC_WHERE_USDT,	   /* what usdt says */
};

struct fsc_typed {
	struct fsc_ctype type;
	enum fsc_where where;
	uint32_t at, from;
	struct fsc_usdt_arg usdt;
};

struct fsc_cmember {
	struct fsc_ctype type;
	uint64_t offset;	       /* bytes from the start of the struct */
	unsigned bit_offset, bit_size; /* of a bitfield in the bytes at offset; bit_size 0: none */
};

/* Lookups. Each callback may be NULL and returns 0, -ENOENT (no such name, err not set) or
 * another error with err set. Names are borrowed for the call. */
struct fsc_names {
	void *ctx;
	bool user; /* pointers lead into the memory of the process */
	/* Where the i-th argument register is in pt_regs, for functions that are not called as C's
	 * are; NULL: as C's. */
	uint16_t (*arg_reg)(unsigned i);
	const char *no_args; /* why arguments cannot be read at all; NULL: they can */
	/* argN, n from 1; without it arg1..arg6 are the arguments of the call, unsigned long */
	int (*arg)(void *ctx, unsigned n, struct fsc_typed *ret, struct fsc_err *err);
	/* A parameter by name; "retval" is asked for too, for its type. */
	int (*param)(void *ctx, const char *name, struct fsc_typed *ret, struct fsc_err *err);
	/* args->NAME of a tracepoint. */
	int (*field)(void *ctx, const char *name, struct fsc_typed *ret, struct fsc_err *err);
	int (*member)(void *ctx, const struct fsc_ctype *of, const char *name,
		      struct fsc_cmember *ret, struct fsc_err *err);
	/* A type by its C name without pointers: "struct timespec", "pid_t". */
	int (*type)(void *ctx, const char *name, struct fsc_ctype *ret, struct fsc_err *err);
	/* The i-th value to show where the user gave no format, -ENOENT behind the last. */
	int (*list)(void *ctx, size_t i, const char **name, struct fsc_typed *ret,
		    struct fsc_err *err);
	/* Offers every name there is (members of a struct, or where of is NULL parameters and
	 * fields) to the search for the nearest. */
	void (*near)(void *ctx, const struct fsc_ctype *of, struct fsc_nearest *n);
};

#endif
