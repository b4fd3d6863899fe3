/* Blocks of memory in a list, cut from the front. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/arena.h"

enum { BLOCK = 16384, ALIGN = 16 };

struct fsc_zone_block {
	struct fsc_zone_block *next;
	size_t used, size;
	_Alignas(ALIGN) char bytes[];
};

static struct fsc_zone_block *arena_grow(struct fsc_plan_arena *a, size_t size)
{
	size_t room = size > BLOCK ? size : BLOCK;
	struct fsc_zone_block *b = calloc(1, sizeof(*b) + room);

	if (!b)
		return NULL;
	b->size = room;
	b->next = a->blocks;
	a->blocks = b;
	return b;
}

void *fsc_zone_alloc(struct fsc_plan_arena *a, size_t size)
{
	struct fsc_zone_block *b = a->blocks;
	void *p;

	if (size <= SIZE_MAX / 2) {
		size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
		if (!b || b->size - b->used < size)
			b = arena_grow(a, size);
	} else {
		b = NULL;
	}
	if (!b) {
		if (a->out_of_memory)
			longjmp(*a->out_of_memory, 1);
		return NULL;
	}
	p = b->bytes + b->used;
	b->used += size;
	return p;
}

char *fsc_zone_copy(struct fsc_plan_arena *a, const char *s, size_t n)
{
	char *copy = fsc_zone_alloc(a, n + 1);

	if (copy && n)
		memcpy(copy, s, n);
	return copy;
}

char *fsc_zone_printf(struct fsc_plan_arena *a, const char *fmt, ...)
{
	va_list ap, again;
	char *s;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	s = fsc_zone_alloc(a, (size_t)n + 1);
	if (s)
		vsnprintf(s, (size_t)n + 1, fmt, again);
	va_end(again);
	return s;
}

void *fsc_zone_push(struct fsc_plan_arena *a, struct fsc_vec *v)
{
	if (v->n == v->cap) {
		size_t cap = v->cap ? v->cap * 2 : 8;
		void *data = fsc_zone_alloc(a, cap * v->size);

		if (!data)
			return NULL;
		if (v->n)
			memcpy(data, v->data, v->n * v->size);
		v->data = data;
		v->cap = cap;
	}
	return (char *)v->data + v->n++ * v->size;
}

void fsc_zone_release(struct fsc_plan_arena *a)
{
	struct fsc_zone_block *next;

	for (struct fsc_zone_block *b = a->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	a->blocks = NULL;
}
