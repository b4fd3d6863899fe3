/* Stacks for programs: one object per stack, frames leaf first. */
#include "sink/stacks.h"

#include "base/fmt.h"

static void add_string(struct fsc_buf *b, const char *key, const char *value)
{
	fsc_buf_printf(b, ",\"%s\":", key);
	fsc_fmt_json(b, value);
}

static void add_number(struct fsc_buf *b, const char *key, uint64_t value)
{
	fsc_buf_printf(b, ",\"%s\":%llu", key, (unsigned long long)value);
}

static void add_frames(const struct fsc_stacks *t, const struct fsc_stack *s, struct fsc_buf *raw,
		       struct fsc_buf *b)
{
	size_t kernel = 0;

	while (kernel < s->n && fsc_stacks_at(t, s, kernel)->kernel)
		kernel++;
	if (kernel)
		add_number(b, "kernel_frames", kernel);
	if (s->truncated)
		fsc_buf_puts(b, ",\"truncated\":true");
	fsc_buf_puts(b, ",\"frames\":[");
	for (size_t i = 0; i < s->n; i++) {
		fsc_buf_puts(b, i ? "," : "");
		fsc_stack_frame(t, fsc_stacks_at(t, s, i), raw);
		fsc_stack_flush(raw, fsc_fmt_json, b);
	}
	fsc_buf_putc(b, ']');
}

void fsc_json_stacks(struct fsc_sink *sink, const struct fsc_stacks *t, struct fsc_buf *b)
{
	struct fsc_buf raw = {0};

	for (size_t i = 0; i < t->stacks.n; i++) {
		const struct fsc_stack *s = FSC_AT(struct fsc_stack, &t->stacks, i);
		const struct fsc_func *f = &t->funcs[s->func];

		fsc_buf_puts(b, "{\"type\":\"stack\"");
		/* time_ns is what the stack weighs. */
		if (sink->timestamps || sink->intervals)
			add_number(b, "wall_ns", t->time_ns);
		add_string(b, "kind", f->kind);
		add_string(b, "binary", f->binary);
		add_string(b, "function", f->name);
		if (t->per_process)
			add_number(b, "pid", s->pid);
		if (s->comm[0])
			add_string(b, "comm", s->comm);
		add_number(b, "count", s->calls);
		if (t->by_time)
			add_number(b, "time_ns", s->time_ns);
		add_frames(t, s, &raw, b);
		fsc_buf_puts(b, "}\n");
	}
	b->failed |= raw.failed;
	fsc_buf_release(&raw);
}
