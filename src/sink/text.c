/* For people: tables, and the books below them. */
#include "sink/sink.h"

#include "base/fmt.h"
#include "sink/stacks.h"
#include "sink/table.h"

void fsc_text_begin(struct fsc_sink *s, uint64_t time_ns, struct fsc_buf *b)
{
	if (s->begun)
		fsc_buf_putc(b, '\n');
	s->begun = true;
	if (!s->timestamps)
		return;
	fsc_sink_clock(time_ns, b);
	fsc_buf_putc(b, '\n');
}

void fsc_text_cost(double hits, double hit_ns, struct fsc_buf *b)
{
	if (hit_ns > 0 && hits > 0)
		fsc_fmt_ns(b, hits * hit_ns);
	else
		fsc_buf_putc(b, hit_ns > 0 ? '0' : '-');
}

static void text_profile(struct fsc_sink *s, const struct fsc_profile *p, struct fsc_buf *b)
{
	struct fsc_table t = {0};

	fsc_table_key_columns(&t, p->by);
	fsc_table_column(&t, "CALLS", true, false);
	if (s->cost)
		fsc_table_column(&t, "COST", true, false);
	for (size_t i = 0; i < p->counts.n; i++) {
		const struct fsc_count *c = FSC_AT(struct fsc_count, &p->counts, i);

		fsc_table_keys(&t, p->funcs, p->n_funcs, p->by, c);
		fsc_buf_printf(fsc_table_cell(&t), "%llu", (unsigned long long)c->count);
		if (s->cost)
			fsc_text_cost((double)c->count, p->funcs[c->func].hit_ns,
				      fsc_table_cell(&t));
	}
	fsc_text_begin(s, p->time_ns, b);
	fsc_table_print(&t, s->width, b);
}

static void text_summary(struct fsc_sink *s, const struct fsc_summary *sum, struct fsc_buf *b)
{
	(void)s;
	fsc_buf_putc(b, '\n');
	fsc_sink_books(sum, b);
}

const struct fsc_sink_ops fsc_sink_text = {
    .name = "text",
    .what = "a table for people",
    .profile = text_profile,
    .latency = fsc_text_latency,
    .stacks = fsc_text_stacks,
    .call = fsc_text_call,
    .diff = fsc_text_diff,
    .report = fsc_text_report,
    .gpu_report = fsc_text_gpu_report,
    .summary = text_summary,
};
