/* The names of frames, in every format. */
#include "sink/stacks.h"

#include "base/fmt.h"
#include "base/str.h"

void fsc_stack_frame(const struct fsc_stacks *t, const struct fsc_frame *f, struct fsc_buf *b)
{
	fsc_buf_puts(b, f->name);
	if (f->unknown && f->binary[0])
		fsc_buf_printf(b, " (%s+0x%llx)", fsc_str_base(f->binary),
			       (unsigned long long)f->offset);
	else if (f->unknown && f->offset)
		fsc_buf_printf(b, " (0x%llx)", (unsigned long long)f->offset);
	if (!t->offsets || f->unknown)
		return;
	if (!f->inlined) /* an inlined function has no start address */
		fsc_buf_printf(b, "+0x%llx", (unsigned long long)f->offset);
	if (f->file && f->line)
		fsc_buf_printf(b, " (%s:%u)", fsc_str_base(f->file), f->line);
}

void fsc_stack_node(const struct fsc_stacks *t, const struct fsc_tree_node *n, struct fsc_buf *b)
{
	const struct fsc_stack *s;

	switch (n->kind) {
	case FSC_NODE_ROOT:
		fsc_buf_puts(b, "all");
		return;
	case FSC_NODE_TRUNCATED:
		fsc_buf_puts(b, FSC_TRUNCATED);
		return;
	case FSC_NODE_FRAME:
		fsc_stack_frame(t, FSC_AT(struct fsc_frame, &t->frames, n->id), b);
		return;
	case FSC_NODE_PROCESS:
		s = FSC_AT(struct fsc_stack, &t->stacks, n->id);
		fsc_buf_puts(b, s->comm);
		if (t->per_process)
			fsc_buf_printf(b, " (%u)", s->pid);
	}
}

void fsc_stack_flush(struct fsc_buf *raw, void (*fmt)(struct fsc_buf *b, const char *s),
		     struct fsc_buf *b)
{
	fmt(b, fsc_buf_str(raw));
	b->failed |= raw->failed;
	fsc_buf_clear(raw);
}

void fsc_stack_folded(const struct fsc_stacks *t, const struct fsc_frame *f, struct fsc_buf *b)
{
	struct fsc_buf raw = {0};
	size_t from = b->n;

	fsc_stack_frame(t, f, &raw);
	fsc_stack_flush(&raw, fsc_fmt_term, b);
	fsc_buf_release(&raw);
	for (size_t i = from; i < b->n; i++)
		if (b->s[i] == ';')
			b->s[i] = ':';
	fsc_buf_puts(b, f->kernel ? "_[k]" : f->inlined ? "_[i]" : "");
}
