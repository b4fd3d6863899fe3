/* Making values. */
#include "model/value.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 16384 };

struct fsc_values_chunk {
	struct fsc_values_chunk *next;
	size_t used, size;
	_Alignas(8) char bytes[];
};

static struct fsc_values_chunk *arena_add_chunk(struct fsc_values *a, size_t least)
{
	size_t size = least > CHUNK ? least : CHUNK;
	struct fsc_values_chunk *c = malloc(sizeof(*c) + size);

	if (!c)
		return NULL;
	*c = (struct fsc_values_chunk){.next = a->chunks, .size = size};
	a->chunks = c;
	return c;
}

void *fsc_values_alloc(struct fsc_values *a, size_t size)
{
	struct fsc_values_chunk *c = a->chunks;
	size_t whole = (size + 7) & ~(size_t)7;
	void *p;

	if (!c || c->size - c->used < whole)
		c = whole < size ? NULL : arena_add_chunk(a, whole);
	if (!c) {
		a->failed = true;
		return NULL;
	}
	p = c->bytes + c->used;
	c->used += whole;
	return memset(p, 0, whole);
}

char *fsc_values_copy(struct fsc_values *a, const char *s, size_t n)
{
	char *copy = fsc_values_alloc(a, n + 1);

	if (copy && n)
		memcpy(copy, s, n);
	return copy;
}

static void arena_free_after(struct fsc_values_chunk *c)
{
	while (c) {
		struct fsc_values_chunk *next = c->next;

		free(c);
		c = next;
	}
}

void fsc_values_reset(struct fsc_values *a)
{
	a->failed = false;
	if (!a->chunks)
		return;
	arena_free_after(a->chunks->next);
	a->chunks->next = NULL;
	a->chunks->used = 0;
}

void fsc_values_release(struct fsc_values *a)
{
	arena_free_after(a->chunks);
	*a = (struct fsc_values){0};
}

static struct fsc_value value_of_bytes(struct fsc_values *a, enum fsc_value_kind kind,
				       const void *s, size_t n, uint64_t number)
{
	const char *copy = fsc_values_copy(a, s, n);

	if (!copy)
		return (struct fsc_value){0};
	return (struct fsc_value){.kind = kind, .text = {copy, n, number}};
}

struct fsc_value fsc_value_text(struct fsc_values *a, const char *s, size_t n)
{
	return value_of_bytes(a, FSC_VALUE_TEXT, s, n, 0);
}

struct fsc_value fsc_value_bytes(struct fsc_values *a, const void *bytes, size_t n)
{
	return value_of_bytes(a, FSC_VALUE_BYTES, bytes, n, 0);
}

struct fsc_value fsc_value_symbol(struct fsc_values *a, const char *s, uint64_t number)
{
	return value_of_bytes(a, FSC_VALUE_SYMBOL, s, strlen(s), number);
}

struct fsc_value fsc_value_list(struct fsc_values *a, enum fsc_value_kind kind, size_t n)
{
	struct fsc_value v = {.kind = kind, .list = {.n = n}};

	v.list.at = fsc_values_alloc(a, n * sizeof(struct fsc_value));
	if (kind == FSC_VALUE_MAP)
		v.list.keys = fsc_values_alloc(a, n * sizeof(struct fsc_value));
	if (kind == FSC_VALUE_RECORD)
		v.list.names = fsc_values_alloc(a, n * sizeof(char *));
	return a->failed ? (struct fsc_value){0} : v;
}

bool fsc_value_number(const struct fsc_value *v, uint64_t *ret)
{
	switch (v->kind) {
	case FSC_VALUE_INT:
	case FSC_VALUE_UINT:
		*ret = v->u;
		return true;
	case FSC_VALUE_BOOL:
		*ret = v->b;
		return true;
	case FSC_VALUE_SYMBOL:
		*ret = v->text.number;
		return true;
	default:
		return false;
	}
}
