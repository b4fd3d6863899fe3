/* The arena of types, members by name, and types as text. Values as text: format.c. */
#include "types/types.h"

#include <string.h>

/* Structs in structs and pointers to pointers; damaged information may be circular. */
#define NESTING_MAX 16
/* Limit of members searched for one name: more than any type has; nested unnamed members can
 * multiply. */
#define VISITS_MAX 100000

void fsc_types_init(struct fsc_types *t, unsigned depth)
{
	*t = (struct fsc_types){.blobs = FSC_VEC_INIT(void *), .depth = depth};
}

void fsc_types_release(struct fsc_types *t)
{
	fsc_vec_release_owned(&t->blobs);
}

static bool is_aggregate(const struct fsc_type *type)
{
	return type->kind == FSC_TYPE_STRUCT || type->kind == FSC_TYPE_UNION;
}

static bool find_member(const struct fsc_type *type, const char *name, int nesting, int *visits,
			struct fsc_member *ret)
{
	if (!is_aggregate(type) || nesting > NESTING_MAX)
		return false;
	for (size_t i = 0; i < type->n_members && (*visits)++ < VISITS_MAX; i++) {
		const struct fsc_member *m = &type->members[i];

		if (m->name && !strcmp(m->name, name)) {
			*ret = *m;
			return true;
		}
	}
	/* The own members hide those of base classes. */
	for (size_t i = 0; i < type->n_members && *visits < VISITS_MAX; i++) {
		const struct fsc_member *m = &type->members[i];

		if (!m->name && find_member(m->type, name, nesting + 1, visits, ret)) {
			ret->offset_bits += m->offset_bits;
			return true;
		}
	}
	return false;
}

bool fsc_type_member(const struct fsc_type *type, const char *name, struct fsc_member *ret)
{
	int visits = 0;

	return find_member(type, name, 0, &visits, ret);
}

static const struct {
	const char *tag, *without_name;
} words[FSC_TYPE_KINDS] = {
    [FSC_TYPE_VOID] = {"", "void"},
    [FSC_TYPE_UNKNOWN] = {"", "?"},
    [FSC_TYPE_INT] = {"", "int"},
    [FSC_TYPE_FLOAT] = {"", "float"},
    [FSC_TYPE_ENUM] = {"enum ", "enum {...}"},
    [FSC_TYPE_STRUCT] = {"struct ", "struct {...}"},
    [FSC_TYPE_UNION] = {"union ", "union {...}"},
    [FSC_TYPE_FUNC] = {"", "function"},
};

static void put_name(struct fsc_buf *b, const struct fsc_type *type, int nesting);

static void put_pointer(struct fsc_buf *b, const struct fsc_type *type, int nesting)
{
	const char *text;

	put_name(b, type->to, nesting + 1);
	text = fsc_buf_str(b);
	if (!b->n || !strchr("*&", text[b->n - 1]))
		fsc_buf_putc(b, ' ');
	fsc_buf_puts(b, type->is_reference ? "&" : "*");
	if (type->is_const)
		fsc_buf_puts(b, " const");
}

static void put_array(struct fsc_buf *b, const struct fsc_type *type, int nesting)
{
	const struct fsc_type *of = type;
	int dims = 0;

	while (of->kind == FSC_TYPE_ARRAY && !of->is_named && dims++ < NESTING_MAX)
		of = of->to;
	put_name(b, of, nesting + 1);
	fsc_buf_putc(b, ' ');
	for (; dims > 0 && type->kind == FSC_TYPE_ARRAY; dims--, type = type->to) {
		if (type->n)
			fsc_buf_printf(b, "[%llu]", (unsigned long long)type->n);
		else
			fsc_buf_puts(b, "[]");
	}
}

static void put_name(struct fsc_buf *b, const struct fsc_type *type, int nesting)
{
	bool own_word =
	    type->is_named || (type->kind != FSC_TYPE_POINTER && type->kind != FSC_TYPE_ARRAY);

	if (nesting > NESTING_MAX) {
		fsc_buf_puts(b, "...");
		return;
	}
	if (!own_word && type->kind == FSC_TYPE_POINTER) {
		put_pointer(b, type, nesting);
		return;
	}
	if (!own_word) {
		put_array(b, type, nesting);
		return;
	}
	if (type->is_const)
		fsc_buf_puts(b, "const ");
	if (type->name && type->is_tagged && !type->is_named)
		fsc_buf_puts(b, words[type->kind].tag);
	fsc_buf_puts(b, type->name ? type->name : words[type->kind].without_name);
}

void fsc_type_name(struct fsc_buf *b, const struct fsc_type *type)
{
	put_name(b, type, 0);
}
