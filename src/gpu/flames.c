/* Events as weighted stacks. */
#include "gpu/flames.h"

#include <stdlib.h>

#include "base/clock.h"

struct fsc_gpu_flames {
	struct fsc_gpu_stacks *stacks;
	enum fsc_gpu_weigh weigh;
	struct fsc_func func;
	struct fsc_stacks model;
	struct fsc_vec ids; /* uint32_t: frames of one stack */
};

int fsc_gpu_flames_new(struct fsc_gpu_stacks *stacks, enum fsc_gpu_weigh weigh,
		       struct fsc_gpu_flames **ret, struct fsc_err *err)
{
	struct fsc_gpu_flames *f = calloc(1, sizeof(*f));

	if (!f)
		return fsc_err_nomem(err);
	f->stacks = stacks;
	f->weigh = weigh;
	f->func.kind = "gpu";
	f->func.binary = "";
	f->func.name = weigh == FSC_GPU_WEIGH_BYTES ? "bytes allocated" : "launches";
	f->ids = FSC_VEC_INIT(uint32_t);
	fsc_stacks_init(&f->model, &f->func, 1);
	*ret = f;
	return 0;
}

void fsc_gpu_flames_free(struct fsc_gpu_flames *f)
{
	if (!f)
		return;
	fsc_stacks_release(&f->model);
	fsc_vec_release(&f->ids);
	free(f);
}

static int push_frame(struct fsc_gpu_flames *f, const char *name, struct fsc_err *err)
{
	const struct fsc_frame frame = {.name = name, .binary = ""};
	uint32_t *id = fsc_vec_push(&f->ids);

	return id ? fsc_stacks_frame(&f->model, &frame, id, err) : fsc_err_nomem(err);
}

static const char *leaf_name(const struct fsc_gpu_event *e)
{
	if (e->type == FSC_GPU_EV_ALLOC)
		return fsc_gpu_mem_names[e->mem];
	if (e->launch == FSC_GPU_GRAPH_LAUNCH)
		return "[graph]";
	return e->kernel ? e->kernel : "[unknown kernel]";
}

int fsc_gpu_flames_add(struct fsc_gpu_flames *f, const struct fsc_gpu_event *e, uint32_t stack,
		       struct fsc_err *err)
{
	struct fsc_gpu_stack s = fsc_gpu_stacks_at(f->stacks, stack);
	bool bytes = f->weigh == FSC_GPU_WEIGH_BYTES;
	struct fsc_stack one = {.calls = bytes ? e->bytes : 1};
	int rc;

	if (e->error || e->type != (bytes ? FSC_GPU_EV_ALLOC : FSC_GPU_EV_LAUNCH))
		return 0;
	f->ids.n = 0;
	rc = push_frame(f, leaf_name(e), err);
	for (size_t i = 0; !rc && !s.n_python && i < s.n; i++)
		rc = push_frame(f, s.frames[i], err);
	for (size_t i = 0; !rc && i < s.n_python; i++)
		rc = push_frame(f, s.python[i], err);
	return rc ? rc : fsc_stacks_add(&f->model, &one, f->ids.data, f->ids.n, err);
}

int fsc_gpu_flames_show(struct fsc_gpu_flames *f, struct fsc_sink *sink, struct fsc_err *err)
{
	f->model.time_ns = fsc_clock_ns(CLOCK_REALTIME);
	fsc_stacks_sort(&f->model, 0);
	return fsc_sink_stacks(sink, &f->model, err);
}
