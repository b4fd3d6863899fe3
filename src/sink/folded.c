/* For flame graph tools: "comm;outermost;...;leaf weight", one line per stack. The books go to
 * stderr: the tools would read them as stacks. */
#include "sink/stacks.h"

#include "base/fmt.h"

static void add_comm(const struct fsc_stack *s, struct fsc_buf *b)
{
	size_t from = b->n;

	if (!s->comm[0])
		return;
	fsc_fmt_term(b, s->comm);
	for (size_t i = from; i < b->n; i++)
		if (b->s[i] == ';')
			b->s[i] = ':';
	fsc_buf_putc(b, ';');
}

static void folded_stacks(struct fsc_sink *sink, const struct fsc_stacks *t, struct fsc_buf *b)
{
	(void)sink;
	for (size_t i = 0; i < t->stacks.n; i++) {
		const struct fsc_stack *s = FSC_AT(struct fsc_stack, &t->stacks, i);

		add_comm(s, b);
		if (s->truncated)
			fsc_buf_puts(b, s->n ? FSC_TRUNCATED ";" : FSC_TRUNCATED);
		for (size_t k = s->n; k-- > 0;) {
			fsc_stack_folded(t, fsc_stacks_at(t, s, k), b);
			fsc_buf_puts(b, k ? ";" : "");
		}
		if (!s->n && !s->truncated)
			fsc_buf_puts(b, "[no stack]");
		fsc_buf_printf(b, " %llu\n", (unsigned long long)fsc_stacks_weight(t, s));
	}
}

const struct fsc_sink_ops fsc_sink_folded = {
    .name = "folded",
    .what = "stacks, a line each, for flame graph tools",
    .summary_aside = true,
    .stacks = folded_stacks,
};
