/* Stacks for programs: one object per stack, frames leaf first. */
#include "sink/stacks.h"

#include "base/json.h"

static void add_frames(const struct fsc_stacks *t, const struct fsc_stack *s, struct fsc_buf *b)
{
	struct fsc_buf frame = {0};
	size_t kernel = 0;

	while (kernel < s->n && fsc_stacks_at(t, s, kernel)->kernel)
		kernel++;
	fsc_json_uint_if(b, "kernel_frames", kernel);
	fsc_json_bool_if(b, "truncated", s->truncated);
	fsc_json_begin(b, "frames", '[');
	for (size_t i = 0; i < s->n; i++) {
		fsc_stack_frame(t, fsc_stacks_at(t, s, i), &frame);
		fsc_json_buf(b, NULL, &frame);
	}
	fsc_json_end(b, ']');
}

void fsc_json_stacks(struct fsc_sink *sink, const struct fsc_stacks *t, struct fsc_buf *b)
{
	for (size_t i = 0; i < t->stacks.n; i++) {
		const struct fsc_stack *s = FSC_AT(struct fsc_stack, &t->stacks, i);
		const struct fsc_func *f = &t->funcs[s->func];

		fsc_json_line(b, "stack");
		/* time_ns is the weight of the stack. */
		if (sink->timestamps || sink->intervals)
			fsc_json_uint(b, "wall_ns", t->time_ns);
		fsc_json_names(f->kind, f->binary, f->name, b);
		if (t->per_process)
			fsc_json_uint(b, "pid", s->pid);
		if (s->comm[0])
			fsc_json_string(b, "comm", s->comm);
		fsc_json_uint(b, "count", s->calls);
		if (t->one_in > 1)
			fsc_json_uint(b, "one_in", t->one_in);
		if (t->by_time)
			fsc_json_uint(b, "time_ns", s->time_ns);
		if (sink->cost)
			fsc_json_cost((double)s->calls, f->hit_ns, b);
		add_frames(t, s, b);
		fsc_json_line_end(b);
	}
}
