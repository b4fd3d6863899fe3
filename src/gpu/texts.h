/* Strings kept once each, for as long as the run lasts. */
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
/* The one copy of s, or NULL where memory is out. */
const char *fsc_gpu_text(struct fsc_gpu_texts *t, const char *s);

#endif
