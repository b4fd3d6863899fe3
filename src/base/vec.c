/* struct fsc_vec: growth by doubling. */
#include "base/vec.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *fsc_vec_push(struct fsc_vec *v)
{
	if (v->n == v->cap) {
		size_t cap = v->cap ? v->cap * 2 : 4;
		void *p;

		if (cap > SIZE_MAX / v->size)
			return NULL;
		p = realloc(v->data, cap * v->size);
		if (!p)
			return NULL;
		v->data = p;
		v->cap = cap;
	}
	return memset((char *)v->data + v->size * v->n++, 0, v->size);
}

int fsc_vec_add(struct fsc_vec *v, const void *element, struct fsc_err *err)
{
	void *slot = fsc_vec_push(v);

	if (!slot)
		return fsc_err_nomem(err);
	memcpy(slot, element, v->size);
	return 0;
}

void fsc_vec_release(struct fsc_vec *v)
{
	free(v->data);
	v->data = NULL;
	v->n = v->cap = 0;
}

void fsc_vec_release_owned(struct fsc_vec *v)
{
	for (size_t i = 0; i < v->n; i++)
		free(*FSC_AT(void *, v, i));
	fsc_vec_release(v);
}
