/* Types while they are read: tables that point to each other by number, so that they can be filled
 * in any order, carried out of a child process as they are, and checked before anybody follows
 * them. A reader (types.c, engine/btftypes.c) describes signatures, then is asked for the
 * types these mention, level by level; fsc_typetab_seal() makes of it what types/types.h shows.
 *
 * Memory running out is remembered, not returned: fsc_typetab_read() and the others below that take
 * an err say it. */
#ifndef FSC_TYPES_TABLE_H
#define FSC_TYPES_TABLE_H

#include "base/err.h"
#include "base/map.h"
#include "types/types.h"

enum fsc_flat_flag {
	FSC_FLAT_SIGNED = 1 << 0,
	FSC_FLAT_BOOL = 1 << 1,
	FSC_FLAT_CHAR = 1 << 2,
	FSC_FLAT_CONST = 1 << 3,
	FSC_FLAT_TAGGED = 1 << 4,
	FSC_FLAT_REFERENCE = 1 << 5,
	FSC_FLAT_NONTRIVIAL = 1 << 6,
	FSC_FLAT_COMPLETE = 1 << 7,
};

/* A kind of its own: `of` under another name, or const. */
#define FSC_FLAT_ALIAS FSC_TYPE_KINDS

/* Numbers of the two types that every table begins with. */
#define FSC_FLAT_VOID	 0u
#define FSC_FLAT_UNKNOWN 1u

struct fsc_flat_type {
	uint16_t kind, flags;
	uint32_t name;	   /* text */
	uint32_t of;	   /* POINTER, ARRAY, ALIAS: type */
	uint32_t first, n; /* STRUCT, UNION: members; ENUM: enumerators */
	uint64_t size;
	uint64_t count; /* ARRAY */
};

struct fsc_flat_member {
	uint32_t name, type;
	uint64_t offset_bits;
	uint64_t size_bits; /* of a bit field; 0: it is none */
};

struct fsc_flat_enumerator {
	uint32_t name;
	int64_t value;
};

/* Where a parameter is at the first instruction, by its description. */
enum fsc_flat_place {
	FSC_PLACE_UNSAID,	 /* the calling convention decides */
	FSC_PLACE_REG_1 = 1,	 /* whole in argument register 1, ... */
	FSC_PLACE_NOWHERE = 255, /* the compiler removed it */
};

struct fsc_flat_param {
	uint32_t name, type;
	uint8_t place;
	uint8_t reference; /* passed by reference, unseen */
};

struct fsc_flat_sig {
	uint32_t key; /* which one was requested */
	uint32_t name, ret;
	uint32_t first, n; /* params */
	uint8_t variadic;
	uint8_t own_rules; /* not called as C is: only places that are said are known */
	uint8_t go;	   /* these are Go's registers */
};

enum fsc_typetab_table {
	FSC_TAB_TYPES,
	FSC_TAB_MEMBERS,
	FSC_TAB_ENUMERATORS,
	FSC_TAB_PARAMS,
	FSC_TAB_SIGS,
	FSC_TAB_TEXT, /* char; begins and ends with a zero byte */
	FSC_TAB_N,
};

/* What a type is to its reader: a DIE, or a number of BTF. */
struct fsc_origin {
	const void *addr; /* makes it unique */
	void *of;
};

struct fsc_typetab {
	struct fsc_vec table[FSC_TAB_N];
	struct fsc_map ids;	  /* of origins */
	struct fsc_vec now, next; /* struct fsc_typetab_item: still to read */
	bool members_wanted;	  /* whether the struct that is being read is to have its members */
	bool failed;		  /* memory was out */
};

struct fsc_typetab_item {
	struct fsc_origin origin;
	uint32_t type;
};

/* On failure too, fsc_typetab_release() is right. */
int fsc_typetab_init(struct fsc_typetab *t, struct fsc_err *err);
void fsc_typetab_release(struct fsc_typetab *t);

/* The number of a text, 0 for NULL and "". Cut where it is longer than any name has to be. */
uint32_t fsc_typetab_text(struct fsc_typetab *t, const char *text);
/* The number of the type with that origin, which will be asked for later. pointed: it is only
 * pointed to, one level further away. */
uint32_t fsc_typetab_ref(struct fsc_typetab *t, struct fsc_origin origin, bool pointed);
/* A new row at the end of a table, all zero; NULL if out of memory. Good until the next one of
 * that table. */
void *fsc_typetab_push(struct fsc_typetab *t, enum fsc_typetab_table table);

/* Asks read for every type that was mentioned, and those that these mention: with members up to
 * depth pointers away. read must not keep pointers into the tables over fsc_typetab_*(). */
int fsc_typetab_read(struct fsc_typetab *t, unsigned depth,
		     struct fsc_flat_type (*read)(void *arg, struct fsc_origin origin), void *arg,
		     struct fsc_err *err);

/* The tables as one array of uint64_t, and back; -EBADMSG if words are not such an array. */
int fsc_typetab_pack(struct fsc_typetab *t, struct fsc_vec *words, struct fsc_err *err);
int fsc_typetab_unpack(const struct fsc_vec *words, struct fsc_typetab *ret, struct fsc_err *err);

/* Fills ret[key] for every signature with a key below n, all else owned by types. Every number in
 * the tables is checked; -EBADMSG: one is wrong. */
int fsc_typetab_seal(const struct fsc_typetab *t, struct fsc_types *types,
		     struct fsc_signature *ret, size_t n, struct fsc_err *err);

#endif
