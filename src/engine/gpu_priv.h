/* What the files of `gpu`'s session share. */
#ifndef FSC_ENGINE_GPU_PRIV_H
#define FSC_ENGINE_GPU_PRIV_H

#include "engine/attacher.h"
#include "engine/gpu.h"

struct gpuevent_snoop_bpf;
struct ring_buffer;

struct fsc_gpu_session {
	struct gpuevent_snoop_bpf *skel;
	bool multi;
	uint32_t n_cpus, stride;
	uint64_t *counts; /* mapped */
	size_t counts_size;
	struct fsc_attacher attacher;
	struct ring_buffer *rings;
	int (*fn)(const void *rec, size_t size, void *arg);
	void *arg;
	uint64_t full[FSC_GPU_FULL_MAX], damaged;
};

/* The program for an end. */
int fsc_gpu_prog(const struct fsc_gpu_session *s, bool ret);

#endif
