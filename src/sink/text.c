/* For people: a table whose columns fit what is in them, and the books under it. */
#include "sink/sink.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/fmt.h"
#include "base/vec.h"

enum { MAX_COLUMNS = 8 };

struct column {
	const char *title;
	bool number;
	size_t width;
	void (*cell)(const struct fsc_profile *p, const struct fsc_count *c, struct fsc_buf *b);
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Whether the functions come from more than one file, so that a name alone does not tell them
 * apart. */
static bool mixed(const struct fsc_profile *p)
{
	for (size_t i = 1; i < p->n_funcs; i++)
		if (strcmp(p->funcs[i].binary, p->funcs[0].binary) ||
		    strcmp(p->funcs[i].kind, p->funcs[0].kind))
			return true;
	return false;
}

static void cell_function(const struct fsc_profile *p, const struct fsc_count *c, struct fsc_buf *b)
{
	const struct fsc_func *f = &p->funcs[c->func];

	if (mixed(p) && strcmp(f->binary, "kernel")) {
		fsc_fmt_term(b, base_name(f->binary));
		fsc_buf_putc(b, ':');
	}
	fsc_fmt_term(b, f->name);
	if (strstr(f->kind, "ret"))
		fsc_buf_puts(b, " (return)");
}

static void cell_comm(const struct fsc_profile *p, const struct fsc_count *c, struct fsc_buf *b)
{
	(void)p;
	fsc_fmt_term(b, c->comm);
}

static void cell_pid(const struct fsc_profile *p, const struct fsc_count *c, struct fsc_buf *b)
{
	(void)p;
	fsc_buf_printf(b, "%u", c->pid);
}

static void cell_tid(const struct fsc_profile *p, const struct fsc_count *c, struct fsc_buf *b)
{
	(void)p;
	fsc_buf_printf(b, "%u", c->tid);
}

static void cell_cpu(const struct fsc_profile *p, const struct fsc_count *c, struct fsc_buf *b)
{
	(void)p;
	fsc_buf_printf(b, "%u", c->cpu);
}

static void cell_cgroup(const struct fsc_profile *p, const struct fsc_count *c, struct fsc_buf *b)
{
	(void)p;
	if (c->cgroup_path)
		fsc_fmt_term(b, c->cgroup_path);
	else
		fsc_buf_printf(b, "%llu", (unsigned long long)c->cgroup);
}

static void cell_count(const struct fsc_profile *p, const struct fsc_count *c, struct fsc_buf *b)
{
	(void)p;
	fsc_buf_printf(b, "%llu", (unsigned long long)c->count);
}

static size_t choose_columns(const struct fsc_profile *p, struct column *cols)
{
	static const struct {
		uint32_t by;
		struct column col;
	} all[] = {
	    {FSC_BY_CGROUP, {"CGROUP", false, 0, cell_cgroup}},
	    {FSC_BY_COMM, {"COMM", false, 0, cell_comm}},
	    {FSC_BY_PID, {"PID", true, 0, cell_pid}},
	    {FSC_BY_TID, {"TID", true, 0, cell_tid}},
	    {FSC_BY_CPU, {"CPU", true, 0, cell_cpu}},
	    {0, {"FUNCTION", false, 0, cell_function}},
	    {0, {"CALLS", true, 0, cell_count}},
	};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!all[i].by || p->by & all[i].by)
			cols[n++] = all[i].col;
	return n;
}

/* Cuts the function column so that the line fits the terminal. */
static void fit(const struct fsc_sink *s, struct column *cols, size_t n)
{
	size_t total = 0, least = 20;

	for (size_t i = 0; i < n; i++)
		total += cols[i].width + (i ? 2 : 0);
	for (size_t i = 0; s->width && i < n; i++) {
		size_t over = total > s->width ? total - s->width : 0;

		if (cols[i].cell == cell_function && over && cols[i].width > least)
			cols[i].width = cols[i].width > over + least ? cols[i].width - over : least;
	}
}

static void put(struct fsc_buf *b, const struct column *c, const char *text, bool last)
{
	size_t w = fsc_fmt_width(text), pad = w < c->width ? c->width - w : 0;
	size_t cut = 0, seen = 0;

	if (c->number)
		fsc_buf_pad(b, ' ', pad);
	if (w > c->width) {
		while (text[cut] && (seen + 1 < c->width || (text[cut] & 0xc0) == 0x80))
			seen += (text[++cut] & 0xc0) != 0x80;
		fsc_buf_add(b, text, cut);
		fsc_buf_putc(b, '~');
	} else {
		fsc_buf_puts(b, text);
	}
	if (!c->number && !last)
		fsc_buf_pad(b, ' ', pad);
	fsc_buf_puts(b, last ? "\n" : "  ");
}

static void profile(struct fsc_sink *s, const struct fsc_profile *p, struct fsc_buf *b)
{
	struct column cols[MAX_COLUMNS];
	size_t n = choose_columns(p, cols);
	struct fsc_buf cell = {0};

	for (size_t i = 0; i < n; i++)
		cols[i].width = strlen(cols[i].title);
	for (size_t r = 0; r < p->counts.n * n; r++) {
		struct column *c = &cols[r % n];

		b->failed |= cell.failed;
		fsc_buf_clear(&cell);
		c->cell(p, FSC_AT(struct fsc_count, &p->counts, r / n), &cell);
		if (fsc_fmt_width(fsc_buf_str(&cell)) > c->width)
			c->width = fsc_fmt_width(fsc_buf_str(&cell));
	}
	fit(s, cols, n);
	if (s->begun)
		fsc_buf_putc(b, '\n');
	s->begun = true;
	if (s->timestamps) {
		fsc_sink_clock(p->time_ns, b);
		fsc_buf_putc(b, '\n');
	}
	for (size_t i = 0; i < n; i++)
		put(b, &cols[i], cols[i].title, i == n - 1);
	for (size_t r = 0; r < p->counts.n * n; r++) {
		b->failed |= cell.failed;
		fsc_buf_clear(&cell);
		cols[r % n].cell(p, FSC_AT(struct fsc_count, &p->counts, r / n), &cell);
		put(b, &cols[r % n], fsc_buf_str(&cell), r % n == n - 1);
	}
	b->failed |= cell.failed;
	fsc_buf_release(&cell);
}

static void summary(struct fsc_sink *s, const struct fsc_summary *sum, struct fsc_buf *b)
{
	(void)s;
	fsc_buf_putc(b, '\n');
	fsc_sink_books(sum, b);
}

const struct fsc_sink_ops fsc_sink_text = {
    .name = "text",
    .what = "a table for people",
    .profile = profile,
    .summary = summary,
};
