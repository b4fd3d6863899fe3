/* Stacks for spreadsheets: one line per stack, its frames in one field, leaf first. */
#include "sink/stacks.h"

#include "base/fmt.h"

static void add_header(const struct fsc_sink *s, const struct fsc_stacks *t, struct fsc_buf *b)
{
	fsc_buf_puts(b, s->timestamps || s->intervals ? "wall_ns," : "");
	fsc_buf_puts(b, "kind,binary,function,");
	fsc_buf_puts(b, t->per_process ? "pid," : "");
	fsc_buf_puts(b, "comm,count,");
	fsc_buf_puts(b, t->by_time ? "time_ns," : "");
	fsc_buf_puts(b, s->cost ? "cost_ns,frames\n" : "frames\n");
}

static void add_frames(const struct fsc_stacks *t, const struct fsc_stack *s, struct fsc_buf *raw,
		       struct fsc_buf *b)
{
	for (size_t i = 0; i < s->n; i++) {
		fsc_buf_puts(raw, i ? ";" : "");
		fsc_stack_folded(t, fsc_stacks_at(t, s, i), raw);
	}
	if (s->truncated)
		fsc_buf_puts(raw, s->n ? ";" FSC_TRUNCATED : FSC_TRUNCATED);
	fsc_stack_flush(raw, fsc_fmt_csv, b);
}

void fsc_csv_stacks(struct fsc_sink *sink, const struct fsc_stacks *t, struct fsc_buf *b)
{
	struct fsc_buf raw = {0};

	if (!sink->begun)
		add_header(sink, t, b);
	sink->begun = true;
	for (size_t i = 0; i < t->stacks.n; i++) {
		const struct fsc_stack *s = FSC_AT(struct fsc_stack, &t->stacks, i);
		const struct fsc_func *f = &t->funcs[s->func];

		if (sink->timestamps || sink->intervals)
			fsc_buf_printf(b, "%llu,", (unsigned long long)t->time_ns);
		fsc_csv_names(f->kind, f->binary, f->name, b);
		if (t->per_process)
			fsc_buf_printf(b, "%u,", s->pid);
		fsc_csv_field(b, s->comm);
		fsc_buf_printf(b, "%llu,", (unsigned long long)s->calls);
		if (t->by_time)
			fsc_buf_printf(b, "%llu,", (unsigned long long)s->time_ns);
		if (sink->cost)
			fsc_csv_cost((double)s->calls, f->hit_ns, b);
		fsc_buf_puts(b, sink->cost ? "," : "");
		add_frames(t, s, &raw, b);
		fsc_buf_putc(b, '\n');
	}
	b->failed |= raw.failed;
	fsc_buf_release(&raw);
}
