/* Stacks for people: a list in the shape of BCC's stackcount, or the tree of calls from either
 * end. */
#include "sink/stacks.h"

#include "base/cleanup.h"
#include "base/fmt.h"

static void add_weight(const struct fsc_stacks *t, uint64_t weight, struct fsc_buf *b)
{
	if (t->by_time)
		fsc_fmt_ns(b, (double)weight);
	else
		fsc_buf_printf(b, "%llu", (unsigned long long)weight);
}

static void add_frame(const struct fsc_stacks *t, const struct fsc_frame *f, struct fsc_buf *raw,
		      struct fsc_buf *b)
{
	fsc_stack_frame(t, f, raw);
	fsc_stack_flush(raw, fsc_fmt_term, b);
	fsc_buf_puts(b, f->inlined ? " (inlined)" : "");
}

static void add_stack(const struct fsc_stacks *t, const struct fsc_stack *s, bool cost,
		      struct fsc_buf *raw, struct fsc_buf *b)
{
	if (t->n_funcs > 1) {
		fsc_fmt_term(b, t->funcs[s->func].name);
		fsc_buf_putc(b, '\n');
	}
	for (size_t i = 0; i < s->n; i++) {
		fsc_buf_puts(b, "  ");
		add_frame(t, fsc_stacks_at(t, s, i), raw, b);
		fsc_buf_putc(b, '\n');
	}
	if (s->truncated)
		fsc_buf_puts(b, "  " FSC_TRUNCATED "\n");
	if (!s->n)
		fsc_buf_puts(b, "  [no stack]\n");
	if (s->comm[0]) {
		fsc_buf_puts(b, "    ");
		fsc_fmt_term(b, s->comm);
		if (t->per_process)
			fsc_buf_printf(b, " [%u]", s->pid);
		fsc_buf_putc(b, '\n');
	}
	fsc_buf_puts(b, "    ");
	add_weight(t, fsc_stacks_weight(t, s), b);
	if (t->by_time)
		fsc_buf_printf(b, " in %llu call%s", (unsigned long long)s->calls,
			       s->calls == 1 ? "" : "s");
	if (cost) {
		fsc_buf_puts(b, ", cost ");
		fsc_text_cost((double)s->calls, t->funcs[s->func].hit_ns, b);
	}
	fsc_buf_putc(b, '\n');
}

static void add_list(const struct fsc_stacks *t, bool cost, struct fsc_buf *raw, struct fsc_buf *b)
{
	for (size_t i = 0; i < t->stacks.n; i++) {
		fsc_buf_puts(b, i ? "\n" : "");
		add_stack(t, FSC_AT(struct fsc_stack, &t->stacks, i), cost, raw, b);
	}
}

static const struct fsc_tree_node *node_at(const struct fsc_tree *tree, uint32_t i)
{
	return FSC_AT(struct fsc_tree_node, &tree->nodes, i);
}

static bool is_alone(const struct fsc_tree *tree, const struct fsc_tree_node *n)
{
	return n->next == FSC_NO_NODE && node_at(tree, node_at(tree, n->parent)->child) == n;
}

/* The tree lines before a node: one for each ancestor with more siblings to come. A chain of single
 * children is not indented: stacks are deep and terminals narrow. */
static void add_lead(const struct fsc_tree *tree, const struct fsc_tree_node *n,
		     struct fsc_buf *raw, struct fsc_buf *b)
{
	/* From the node outwards, so all is written backwards. */
	static const char *const pieces[] = {"    ", "   |", " --+", " --|"};
	bool own = true;

	for (; n->depth > 1; n = node_at(tree, n->parent), own = false)
		if (!is_alone(tree, n))
			fsc_buf_puts(raw, pieces[2 * own + (n->next != FSC_NO_NODE)]);
	for (size_t i = raw->n; i-- > 0;)
		fsc_buf_putc(b, raw->s[i]);
	b->failed |= raw->failed;
	fsc_buf_clear(raw);
}

static void add_node(const struct fsc_stacks *t, const struct fsc_tree *tree,
		     const struct fsc_tree_node *n, struct fsc_buf *raw, struct fsc_buf *b)
{
	uint64_t all = node_at(tree, 0)->total + t->left_out_weight;
	size_t width;

	fsc_buf_printf(b, "%6.2f%% ", all ? 100.0 * (double)n->total / (double)all : 0);
	fsc_buf_printf(b, "%6.2f%%  ", all ? 100.0 * (double)n->self / (double)all : 0);
	add_weight(t, n->total, raw);
	width = fsc_fmt_width(fsc_buf_str(raw));
	fsc_buf_pad(b, ' ', width < 10 ? 10 - width : 0);
	fsc_stack_flush(raw, fsc_fmt_term, b);
	fsc_buf_puts(b, "  ");
	add_lead(tree, n, raw, b);
	fsc_stack_node(t, n, raw);
	fsc_stack_flush(raw, fsc_fmt_term, b);
	if (n->kind == FSC_NODE_FRAME && FSC_AT(struct fsc_frame, &t->frames, n->id)->inlined)
		fsc_buf_puts(b, " (inlined)");
	fsc_buf_putc(b, '\n');
}

static void add_tree(const struct fsc_stacks *t, bool bottom_up, struct fsc_buf *raw,
		     struct fsc_buf *b)
{
	FSC_AUTO(fsc_tree_release) struct fsc_tree tree = {0};
	uint32_t i;

	if (fsc_tree_make(t, bottom_up, &tree, NULL)) {
		b->failed = true; /* memory: the only reason there is */
		return;
	}
	fsc_buf_printf(b, "%7s %7s  %10s  FUNCTION\n", "TOTAL", "SELF",
		       t->by_time ? "TIME" : "CALLS");
	for (i = fsc_tree_next(&tree, 0); i != FSC_NO_NODE; i = fsc_tree_next(&tree, i))
		add_node(t, &tree, node_at(&tree, i), raw, b);
}

void fsc_text_stacks(struct fsc_sink *s, const struct fsc_stacks *t, struct fsc_buf *b)
{
	struct fsc_buf raw = {0};

	fsc_text_begin(s, t->time_ns, b);
	if (s->view == FSC_VIEW_LIST)
		add_list(t, s->cost, &raw, b);
	else
		add_tree(t, s->view == FSC_VIEW_BOTTOM_UP, &raw, b);
	if (t->left_out) {
		fsc_buf_printf(b, "\nand %zu more stack%s: ", t->left_out,
			       t->left_out == 1 ? "" : "s");
		add_weight(t, t->left_out_weight, b);
		fsc_buf_puts(b, t->by_time ? "\n" : " calls\n");
	}
	b->failed |= raw.failed;
	fsc_buf_release(&raw);
}
