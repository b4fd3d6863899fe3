#include "gpu/texts.h"

#include <string.h>

void fsc_gpu_texts_init(struct fsc_gpu_texts *t)
{
	*t = (struct fsc_gpu_texts){.texts = FSC_VEC_INIT(char *)};
}

void fsc_gpu_texts_release(struct fsc_gpu_texts *t)
{
	fsc_vec_release_owned(&t->texts);
	fsc_map_release(&t->index);
}

const char *fsc_gpu_text(struct fsc_gpu_texts *t, const char *s)
{
	bool fresh;
	uint64_t *at = fsc_map_put(&t->index, s, strlen(s), &fresh);
	char **slot;

	if (!at)
		return NULL;
	if (!fresh)
		return *FSC_AT(char *, &t->texts, *at);
	*at = t->texts.n;
	slot = fsc_vec_push(&t->texts);
	if (slot)
		*slot = strdup(s);
	return slot ? *slot : NULL;
}
