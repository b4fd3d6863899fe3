/* A flame graph: one SVG that needs nothing else, with its script inside (flamegraph.js, which only
 * adds zooming and searching to what is drawn here). The picture is written with the stacks and
 * closed with the books below it. */
#include "sink/stacks.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/fmt.h"
#include "sink/table.h"

/* In pixels; LEFT, WIDTH and CHAR are in the script, too. */
#define LEFT   10
#define WIDTH  1180
#define ROW    16
#define TOP    48
#define BOTTOM (34 + BOOKS * 15)
#define CHAR   7.25
/* Narrower frames are invisible, and there can be very many of them. */
#define NARROW 0.1
/* Lines kept free for the books. */
#define BOOKS 7

static const char script[] = {
#include "flamegraph.inc"
};

static const char style[] =
    "text{font:12px monospace;fill:#000}text.b{fill:#555}#title{font-size:16px}"
    "g.f{cursor:pointer}g.f text{pointer-events:none}g.f:hover rect{stroke:#000;stroke-width:.6}"
    ".hide{display:none}.above{opacity:.5}g.hit rect{fill:#e060e6}"
    "#reset{cursor:pointer;text-decoration:underline}"
    "input{width:180px;font:12px monospace}";

struct picture {
	const struct fsc_stacks *t;
	const struct fsc_tree *tree;
	uint64_t *x;	/* where each node begins */
	unsigned depth; /* of the deepest node that is drawn */
	size_t left_out;
	struct fsc_buf raw, safe;
	struct fsc_buf *b;
};

static const struct fsc_tree_node *node_at(const struct picture *p, uint32_t i)
{
	return FSC_AT(struct fsc_tree_node, &p->tree->nodes, i);
}

static double width_of(const struct picture *p, uint64_t weight)
{
	uint64_t all = node_at(p, 0)->total;

	return all ? (double)weight / (double)all * WIDTH : 0;
}

/* Where every node begins, how high the picture gets, and what is too narrow to draw. */
static void measure_picture(struct picture *p)
{
	p->x[0] = 0;
	for (uint32_t i = 0; i != FSC_NO_NODE; i = fsc_tree_next(p->tree, i)) {
		const struct fsc_tree_node *n = node_at(p, i);

		if (n->child != FSC_NO_NODE)
			p->x[n->child] = p->x[i];
		if (n->next != FSC_NO_NODE)
			p->x[n->next] = p->x[i] + n->total;
		if (width_of(p, n->total) < NARROW)
			p->left_out++;
		else if (n->depth > p->depth)
			p->depth = n->depth;
	}
}

/* The same name has the same colour in every picture. */
static unsigned hash_name(const char *s)
{
	unsigned h = 2166136261u;

	while (*s)
		h = (h ^ (unsigned char)*s++) * 16777619u;
	return h >> 8 & 0xff;
}

/* Red, green and blue, and how much of the hash is added to each, in 256ths. */
struct colour {
	int base[3], range[3];
};

static const struct colour *colour_of(const struct picture *p, const struct fsc_tree_node *n)
{
	static const struct colour none = {{200, 200, 200}, {25, 25, 25}},
				   process = {{130, 165, 205}, {30, 30, 30}},
				   unknown = {{160, 160, 160}, {40, 40, 40}},
				   kernel = {{215, 130, 40}, {40, 50, 40}},
				   inlined = {{70, 190, 185}, {50, 40, 40}},
				   cplusplus = {{205, 195, 50}, {45, 35, 30}},
				   user = {{215, 80, 60}, {40, 70, 50}};
	const struct fsc_frame *f;

	if (n->kind != FSC_NODE_FRAME)
		return n->kind == FSC_NODE_PROCESS ? &process : &none;
	f = FSC_AT(struct fsc_frame, &p->t->frames, n->id);
	if (f->unknown)
		return &unknown;
	if (f->kernel)
		return &kernel;
	if (f->inlined)
		return &inlined;
	return strstr(f->name, "::") ? &cplusplus : &user;
}

static void add_weight(const struct picture *p, uint64_t weight)
{
	if (p->t->by_time)
		fsc_fmt_ns(p->b, (double)weight);
	else
		fsc_buf_printf(p->b, "%llu call%s", (unsigned long long)weight,
			       weight == 1 ? "" : "s");
}

/* As much of a safe name as fits. */
static void add_label(struct picture *p, const char *name, double x, double y, double width)
{
	int room = (int)((width - 6) / CHAR);
	bool fits = (double)fsc_fmt_width(name) <= room;

	if (room < 3)
		return;
	fsc_buf_add(&p->raw, name, fsc_table_prefix(name, (size_t)(fits ? room : room - 2)));
	fsc_buf_puts(&p->raw, fits ? "" : "..");
	fsc_buf_printf(p->b, "<text x=\"%.2f\" y=\"%.1f\">", x + 3, y);
	fsc_stack_flush(&p->raw, fsc_fmt_xml, p->b);
	fsc_buf_puts(p->b, "</text>");
}

static void add_node(struct picture *p, uint32_t i)
{
	const struct fsc_tree_node *n = node_at(p, i);
	const struct colour *c = colour_of(p, n);
	double x = LEFT + width_of(p, p->x[i]), width = width_of(p, n->total);
	double y = TOP + (p->depth - n->depth) * (double)ROW;
	const char *name;
	int h;

	fsc_buf_clear(&p->safe);
	fsc_stack_node(p->t, n, &p->raw);
	fsc_stack_flush(&p->raw, fsc_fmt_term, &p->safe);
	p->b->failed |= p->safe.failed;
	name = fsc_buf_str(&p->safe);
	h = (int)hash_name(name);
	fsc_buf_printf(p->b, "<g class=\"f\" data-x=\"%llu\" data-w=\"%llu\" data-d=\"%u\"><title>",
		       (unsigned long long)p->x[i], (unsigned long long)n->total, n->depth);
	fsc_fmt_xml(p->b, name);
	fsc_buf_puts(p->b, " (");
	add_weight(p, n->total);
	fsc_buf_printf(p->b, ", %.2f%%)</title>", 100 * width / WIDTH);
	fsc_buf_printf(p->b,
		       "<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" rx=\"1\" "
		       "fill=\"rgb(%d,%d,%d)\"/>",
		       x, y, width, ROW - 1, c->base[0] + c->range[0] * h / 256,
		       c->base[1] + c->range[1] * h / 256, c->base[2] + c->range[2] * h / 256);
	add_label(p, name, x, y + 11.5, width);
	fsc_buf_puts(p->b, "</g>\n");
}

static void add_title(struct picture *p)
{
	const struct fsc_stacks *t = p->t;

	fsc_buf_puts(p->b, "<text id=\"title\" x=\"10\" y=\"20\">Stacks of ");
	if (t->n_funcs == 1)
		fsc_fmt_xml(p->b, t->funcs[0].name);
	else
		fsc_buf_printf(p->b, "%zu functions", t->n_funcs);
	fsc_buf_printf(p->b, ", by %s</text>\n", t->by_time ? "time" : "calls");
}

static void add_head(struct fsc_sink *s, struct picture *p)
{
	s->height = TOP + (p->depth + 1) * ROW + BOTTOM;
	fsc_buf_printf(p->b,
		       "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		       "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"1200\" "
		       "height=\"%u\" viewBox=\"0 0 1200 %u\">\n"
		       "<style>%s</style>\n"
		       "<rect width=\"100%%\" height=\"100%%\" fill=\"#f8f8f4\"/>\n",
		       s->height, s->height, style);
	add_title(p);
	fsc_buf_puts(p->b, "<text id=\"reset\" class=\"hide\" x=\"10\" y=\"40\">reset zoom</text>\n"
			   "<text id=\"matched\" x=\"870\" y=\"21\"></text>\n"
			   "<foreignObject x=\"1000\" y=\"5\" width=\"195\" height=\"28\">"
			   "<input xmlns=\"http://www.w3.org/1999/xhtml\" id=\"search\" "
			   "placeholder=\"search (Ctrl-F)\"/></foreignObject>\n");
}

/* The line about frames and stacks that are not drawn. */
static void add_left_out(struct picture *p, unsigned y)
{
	fsc_buf_printf(p->b, "<text class=\"b\" x=\"10\" y=\"%u\">", y);
	if (!node_at(p, 0)->total)
		fsc_buf_puts(p->b, "no stacks");
	if (p->left_out)
		fsc_buf_printf(p->b, "%zu frame%s too narrow to be drawn. ", p->left_out,
			       p->left_out == 1 ? " is" : "s are");
	if (p->t->left_out) {
		fsc_buf_printf(p->b, "%zu more stack%s left out: ", p->t->left_out,
			       p->t->left_out == 1 ? "" : "s");
		add_weight(p, p->t->left_out_weight);
	}
	fsc_buf_puts(p->b, "</text>\n");
}

static void draw_picture(struct fsc_sink *s, struct picture *p)
{
	unsigned foot;

	measure_picture(p);
	add_head(s, p);
	for (uint32_t i = 0; i != FSC_NO_NODE; i = fsc_tree_next(p->tree, i))
		if (width_of(p, node_at(p, i)->total) >= NARROW)
			add_node(p, i);
	foot = s->height - BOTTOM;
	fsc_buf_printf(p->b, "<text id=\"details\" x=\"10\" y=\"%u\"></text>\n", foot + 15);
	add_left_out(p, foot + 30);
	fsc_buf_printf(p->b, "<script><![CDATA[\n%.*s]]></script>\n", (int)sizeof(script), script);
}

static void flamegraph_stacks(struct fsc_sink *s, const struct fsc_stacks *t, struct fsc_buf *b)
{
	FSC_AUTO(fsc_tree_release) struct fsc_tree tree = {0};
	FSC_AUTO(fsc_freep) uint64_t *x = NULL;
	struct picture p = {.t = t, .tree = &tree, .b = b};

	if (!fsc_tree_make(t, false, &tree, NULL))
		p.x = x = calloc(tree.nodes.n, sizeof(*x));
	if (!x) {
		b->failed = true; /* memory: the only reason there is */
		return;
	}
	s->begun = true;
	draw_picture(s, &p);
	b->failed |= p.raw.failed | p.safe.failed;
	fsc_buf_release(&p.raw);
	fsc_buf_release(&p.safe);
}

/* One line each, with all that does not fit in the last one. */
static void add_books(const struct fsc_summary *sum, unsigned y, struct fsc_buf *b)
{
	struct fsc_buf books = {0};
	const char *line;

	fsc_sink_books(sum, &books);
	line = fsc_buf_str(&books);
	for (unsigned n = 0; *line; n++) {
		size_t len = n < BOOKS - 1 ? strcspn(line, "\n") : strlen(line);
		struct fsc_buf one = {0};

		fsc_buf_add(&one, line, len);
		for (size_t i = 0; i < one.n; i++)
			one.s[i] = one.s[i] == '\n' ? ' ' : one.s[i];
		fsc_buf_printf(b, "<text class=\"b\" x=\"10\" y=\"%u\">", y + n * 15);
		fsc_stack_flush(&one, fsc_fmt_xml, b);
		fsc_buf_puts(b, "</text>\n");
		fsc_buf_release(&one);
		line += len + (line[len] == '\n');
	}
	b->failed |= books.failed;
	fsc_buf_release(&books);
}

static void flamegraph_summary(struct fsc_sink *s, const struct fsc_summary *sum, struct fsc_buf *b)
{
	struct fsc_stacks none;

	if (!s->begun) {
		fsc_stacks_init(&none, NULL, 0);
		flamegraph_stacks(s, &none, b);
	}
	add_books(sum, s->height - BOTTOM + 45, b);
	fsc_buf_puts(b, "</svg>\n");
}

const struct fsc_sink_ops fsc_sink_flamegraph = {
    .name = "flamegraph",
    .what = "stacks as an interactive SVG",
    .single = true,
    .stacks = flamegraph_stacks,
    .summary = flamegraph_summary,
};
