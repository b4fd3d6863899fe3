/* Interned strings, kept for the whole run. */
#ifndef FSC_GPU_TEXTS_H
#define FSC_GPU_TEXTS_H

#include "base/map.h"
#include "base/vec.h"

struct fsc_gpu_texts {
	struct fsc_map index;
	struct fsc_vec texts; /* char * */
};

void fsc_gpu_texts_init(struct fsc_gpu_texts *t);
void fsc_gpu_texts_release(struct fsc_gpu_texts *t);
/* The interned copy of s; NULL: out of memory. */
const char *fsc_gpu_text(struct fsc_gpu_texts *t, const char *s);

#endif
