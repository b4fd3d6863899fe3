/* Types of arguments and return values, wherever they were read (DWARF, dwarf/signatures.h; BTF,
 * engine/btftypes.h): what a function takes, in which register it comes, and how a value of a type
 * is written. Everything is constant data in an arena, struct fsc_types, and goes with it. */
#ifndef FSC_TYPES_TYPES_H
#define FSC_TYPES_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"

/* How many argument registers are read at a probe; later ones count as not readable. */
#define FSC_ARG_MAX 6

enum fsc_type_kind {
	FSC_TYPE_VOID,
	FSC_TYPE_UNKNOWN, /* of an unknown kind */
	FSC_TYPE_INT,
	FSC_TYPE_FLOAT, /* complex numbers too */
	FSC_TYPE_ENUM,
	FSC_TYPE_POINTER,
	FSC_TYPE_STRUCT, /* classes too */
	FSC_TYPE_UNION,
	FSC_TYPE_ARRAY, /* vectors too */
	FSC_TYPE_FUNC,	/* what function pointers point to */
	FSC_TYPE_KINDS,
};

struct fsc_type;

struct fsc_member {
	const char *name; /* NULL: an anonymous struct or union, or a base class */
	const struct fsc_type *type;
	uint64_t offset_bits, size_bits;
	bool bitfield;
};

struct fsc_enumerator {
	const char *name;
	int64_t value; /* the bits of an uint64_t where the type is not signed */
};

/* Typedefs and qualifiers are resolved: a `const size_t` is an INT of 8 bytes that is called size_t
 * and is_const. */
struct fsc_type {
	enum fsc_type_kind kind;
	bool is_signed;		   /* INT, ENUM */
	bool is_bool, is_char;	   /* INT; `unsigned char` is a number */
	bool is_const, is_named;   /* is_named: name is a typedef's */
	bool is_tagged;		   /* written "struct NAME", as C does */
	bool is_reference;	   /* POINTER that the source writes as & or passes unseen */
	bool is_nontrivial;	   /* STRUCT, UNION: C++ passes it by reference */
	bool is_complete;	   /* STRUCT, UNION: members are there (they may be none) */
	const char *name;	   /* NULL where it has none; never with "struct " before it */
	uint64_t size;		   /* bytes; 0 where it is not known */
	const struct fsc_type *to; /* POINTER, ARRAY; never NULL there */
	uint64_t n;		   /* ARRAY: elements, 0 where it is open */
	const struct fsc_member *members;
	size_t n_members;
	const struct fsc_enumerator *enumerators;
	size_t n_enumerators;
};

struct fsc_param {
	const char *name;	     /* NULL where it has none */
	const struct fsc_type *type; /* what is in the register: POINTER where a large or C++
					struct is passed by reference unseen */
	uint8_t arg;   /* 1..FSC_ARG_MAX: argument register; 0: in none that is read */
	uint8_t n_arg; /* how many registers from there it fills: 1, or 2 for 9..16 bytes */
};

struct fsc_signature {
	bool found;	  /* false: the others are zero */
	const char *name; /* NULL where it has none */
	const struct fsc_param *params;
	size_t n_params;
	const struct fsc_type *ret; /* VOID where it returns nothing */
	bool ret_readable;	    /* the return register holds it, whole */
	bool variadic;
	bool go; /* arguments are counted by Go's registers: fsc_abi_go_reg() */
};

/* Owner of all that signatures point to. */
struct fsc_types {
	struct fsc_vec blobs; /* void * */
	unsigned depth;
};

/* depth: how many pointers from an argument on structs are read with their members. 0: only structs
 * passed by value; 1: also those an argument points to; `a->b->c` needs 2. Members that are structs
 * themselves cost nothing. Structs further away have name and size only. */
void fsc_types_init(struct fsc_types *t, unsigned depth);
void fsc_types_release(struct fsc_types *t);

/* The member called name, also one inside anonymous members and base classes: its offset is then
 * from the beginning of type. False if type is no struct or union, or has no such member. */
bool fsc_type_member(const struct fsc_type *type, const char *name, struct fsc_member *ret);

/* Appends the type as C writes it: "const struct file *", "char [16]". Not escaped: names come from
 * the file that was read. */
void fsc_type_name(struct fsc_buf *b, const struct fsc_type *type);

/* Append a value: numbers by their sign, bool as true and false, char as 'c', enums by name (flags
 * as A|B), pointers as 0x1f or NULL, structs one level deep as {.tv_sec = 1, .tv_nsec = 5}, char
 * arrays as "text". What cannot be read is ?. Text and names are not escaped: the caller does that
 * for the place he writes to. */
/* From memory, of which n bytes were read. */
void fsc_type_format(struct fsc_buf *b, const struct fsc_type *type, const void *bytes, size_t n);
/* From a register; bits above the type's size are ignored. */
void fsc_type_format_value(struct fsc_buf *b, const struct fsc_type *type, uint64_t value);
/* The number in a register, cut to the type's size and extended as its sign says. */
uint64_t fsc_type_number(const struct fsc_type *type, uint64_t value);

#endif
