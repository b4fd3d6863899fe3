/* Memory that is freed all at once: what a compilation needs while it runs, and what its plan is
 * made of. Out of memory is not returned: the arena jumps to where its owner has said, so that the
 * compiler's hundred small functions need not pass it on. */
#ifndef FSC_LANG_ARENA_H
#define FSC_LANG_ARENA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "base/vec.h"

struct fsc_plan_arena {
	struct fsc_zone_block *blocks;
	jmp_buf *out_of_memory; /* NULL: then NULL is returned */
};

/* Zeroed memory, aligned for anything. */
void *fsc_zone_alloc(struct fsc_plan_arena *a, size_t size);
char *fsc_zone_copy(struct fsc_plan_arena *a, const char *s, size_t n);
char *fsc_zone_printf(struct fsc_plan_arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* A new zeroed element at the end of an array that lives in the arena (struct fsc_vec, never to be
 * released). NULL only where out_of_memory is NULL. */
void *fsc_zone_push(struct fsc_plan_arena *a, struct fsc_vec *v);
void fsc_zone_release(struct fsc_plan_arena *a);

#define FSC_NEW(a, type)      ((type *)fsc_zone_alloc((a), sizeof(type)))
#define FSC_NEW_N(a, type, n) ((type *)fsc_zone_alloc((a), sizeof(type) * (n)))

#endif
