/* What the files of `gpu`'s session share. */
#ifndef FSC_ENGINE_GPU_PRIV_H
#define FSC_ENGINE_GPU_PRIV_H

#include "engine/gpu.h"
#include "engine/session_priv.h"

struct gpuevent_snoop_bpf;
struct ring_buffer;

struct fsc_gpu_session {
	struct gpuevent_snoop_bpf *skel;
	bool multi;
	struct fsc_counts counts;
	struct fsc_attacher attacher;
	struct ring_buffer *rings;
	int (*fn)(const void *rec, size_t size, void *arg);
	void *arg;
	struct fsc_copy_maps copies;
	int (*copy_fn)(const void *copy, size_t size, void *arg);
	void *copy_arg;
	uint64_t full[FSC_GPU_FULL_MAX], damaged;
};

/* The program's descriptor; ret: the one for returns. */
int fsc_gpu_prog(const struct fsc_gpu_session *s, bool ret);

#endif
