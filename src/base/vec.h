/* A growing array of one element type. Elements are addressed by index; a pointer into the array is
 * good until the next push. */
#ifndef FSC_BASE_VEC_H
#define FSC_BASE_VEC_H

#include <stddef.h>

#include "base/err.h"

struct fsc_vec {
	void *data;
	size_t n, cap, size;
};

#define FSC_VEC_INIT(type) ((struct fsc_vec){.size = sizeof(type)})
/* The element at index i, typed. */
#define FSC_AT(type, v, i) (&((type *)(v)->data)[i])

/* A new zeroed element at the end, or NULL when memory is out (the array is then unchanged). */
void *fsc_vec_push(struct fsc_vec *v);
/* Appends a copy of *element; -ENOMEM when memory is out. */
int fsc_vec_add(struct fsc_vec *v, const void *element, struct fsc_err *err);
/* Frees the array, not what its elements own; usable again afterwards. */
void fsc_vec_release(struct fsc_vec *v);
/* The same for elements that are pointers to memory of their own, which is freed, too. */
void fsc_vec_release_owned(struct fsc_vec *v);

#endif
