/* Making and comparing types of values, and from where C types come: the script's own declarations,
 * then the world (the probed file, the kernel). */
#ifndef FSC_LANG_TYPES_PRIV_H
#define FSC_LANG_TYPES_PRIV_H

#include "lang/lang_priv.h"

/* Every RECORD is one of these: its fields are read when somebody asks. */
struct fsc_vrecord {
	struct fsc_vtype t;
	const struct fsc_type *from; /* the world's; NULL: the script's */
	bool read;
};

/* What the script declares. */
struct fsc_ctype {
	const char *name; /* "struct x", "enum y", or a typedef's name */
	const struct fsc_vtype *type;
};

struct fsc_ctypes {
	struct fsc_vec named;	    /* struct fsc_ctype */
	struct fsc_vec enumerators; /* struct fsc_venumerator with type */
	struct fsc_map imported;    /* by const struct fsc_type *: struct fsc_vtype * */
	const struct fsc_point *near;
};

struct fsc_cenumerator {
	const char *name;
	int64_t value;
	const struct fsc_vtype *type;
};

extern const struct fsc_vtype fsc_vt_void, fsc_vt_bool, fsc_vt_i64, fsc_vt_u64, fsc_vt_u32,
    fsc_vt_char;

const struct fsc_vtype *fsc_vt_int(unsigned size, bool is_signed);
const struct fsc_vtype *fsc_vt_string(struct fsc_lang *c, uint64_t size);
const struct fsc_vtype *fsc_vt_buffer(struct fsc_lang *c, uint64_t length);
const struct fsc_vtype *fsc_vt_pointer(struct fsc_lang *c, const struct fsc_vtype *to,
				       enum fsc_v_space space);
const struct fsc_vtype *fsc_vt_array(struct fsc_lang *c, const struct fsc_vtype *of, uint64_t n);
const struct fsc_vtype *fsc_vt_tuple(struct fsc_lang *c, const struct fsc_vtype *const *types,
				     size_t n);
/* The same with names: a record of the script's own. */
const struct fsc_vtype *fsc_vt_named_tuple(struct fsc_lang *c, const struct fsc_vtype *const *types,
					   const char *const *names, size_t n);
/* A kind without parameters, or one to fill in. */
struct fsc_vtype *fsc_vt_new(struct fsc_lang *c, enum fsc_vkind kind, uint64_t size,
			     uint32_t align);
/* The same type with another address space (integers have one, too: they may be addresses). */
const struct fsc_vtype *fsc_vt_in(struct fsc_lang *c, const struct fsc_vtype *t,
				  enum fsc_v_space space);
/* Lays out fields one behind the other as C does; sets size and align. */
void fsc_vt_layout(struct fsc_vtype *t, struct fsc_vfield *fields, size_t n);

const struct fsc_vtype *fsc_vt_import(struct fsc_lang *c, const struct fsc_type *type);
/* The fields of a RECORD, looked up now; false: nobody knows them. */
bool fsc_vt_complete(struct fsc_lang *c, const struct fsc_vtype *t);
/* The same for every record in a value of this type: for what is printed. */
void fsc_vt_complete_all(struct fsc_lang *c, const struct fsc_vtype *t);
/* A member, also one of an anonymous member. False: there is none. */
bool fsc_vt_field(struct fsc_lang *c, const struct fsc_vtype *t, const char *name,
		  struct fsc_vfield *ret);

bool fsc_vt_same(const struct fsc_vtype *a, const struct fsc_vtype *b);
/* Whether every bit of it counts and its address can be a key: no padding to be cleared. */
static inline bool fsc_vt_is_number(const struct fsc_vtype *t)
{
	return t->kind == FSC_V_INT || t->kind == FSC_V_BOOL || t->kind == FSC_V_POINTER;
}

static inline bool fsc_vt_is_integer(const struct fsc_vtype *t)
{
	return t->kind == FSC_V_INT || t->kind == FSC_V_BOOL;
}

/* The type in words, for messages: "uint64", "struct file *", "string[16]". */
const char *fsc_vt_name(struct fsc_lang *c, const struct fsc_vtype *t);

/* names.c: a type by its name, "struct x", "uint64", "size_t"; NULL: there is none. */
const struct fsc_vtype *fsc_vt_named(struct fsc_lang *c, const char *name);
bool fsc_vt_is_builtin_name(const char *name);
/* Fails, naming the nearest, if there is no such type. */
const struct fsc_vtype *fsc_vt_resolve(struct fsc_lang *c, const struct fsc_typeref *ref,
				       enum fsc_v_space space);
bool fsc_vt_enumerator(struct fsc_lang *c, const char *name, struct fsc_cenumerator *ret);
/* constants.c */
bool fsc_constant(const char *name, struct fsc_cenumerator *ret);
void fsc_ctypes_init(struct fsc_lang *c);
void fsc_ctypes_release(struct fsc_lang *c);

#endif
