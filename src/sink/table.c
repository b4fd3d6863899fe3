/* Laying out a table, and the cells that every kind of line begins with. */
#include "sink/table.h"

#include <string.h>

#include "base/fmt.h"
#include "base/str.h"
#include "model/tally.h"

enum { LEAST = 20 }; /* columns a cut cell keeps */

void fsc_table_column(struct fsc_table *t, const char *title, bool number, bool cut)
{
	t->column[t->n].title = title;
	t->column[t->n].number = number;
	t->column[t->n].cut = cut;
	t->column[t->n].width = strlen(title);
	t->n++;
}

struct fsc_buf *fsc_table_cell(struct fsc_table *t)
{
	if (t->n_cells++)
		fsc_buf_putc(&t->cells, '\0');
	return &t->cells;
}

size_t fsc_table_prefix(const char *text, size_t n)
{
	size_t bytes = 0, columns = 0;

	while (text[bytes] && (columns < n || (text[bytes] & 0xc0) == 0x80))
		columns += (text[++bytes] & 0xc0) != 0x80;
	return bytes;
}

static void measure_columns(struct fsc_table *t)
{
	const char *cell = fsc_buf_str(&t->cells);

	for (size_t i = 0; i < t->n_cells; i++, cell += strlen(cell) + 1) {
		size_t w = fsc_fmt_width(cell);

		if (w > t->column[i % t->n].width)
			t->column[i % t->n].width = w;
	}
}

static void fit_columns(struct fsc_table *t, unsigned width)
{
	size_t total = 0;

	for (size_t i = 0; i < t->n; i++)
		total += t->column[i].width + (i ? 2 : 0);
	for (size_t i = 0; width && i < t->n; i++) {
		size_t over = total > width ? total - width : 0, w = t->column[i].width;

		if (t->column[i].cut && over && w > LEAST)
			t->column[i].width = w > over + LEAST ? w - over : LEAST;
	}
}

static void put_cell(const struct fsc_table *t, size_t i, const char *text, struct fsc_buf *b)
{
	size_t width = t->column[i].width, w = fsc_fmt_width(text), pad = w < width ? width - w : 0;
	bool last = i == t->n - 1;

	if (t->column[i].number)
		fsc_buf_pad(b, ' ', pad);
	if (w > width) {
		fsc_buf_add(b, text, fsc_table_prefix(text, width - 1));
		fsc_buf_putc(b, '~');
	} else {
		fsc_buf_puts(b, text);
	}
	if (!t->column[i].number && !last)
		fsc_buf_pad(b, ' ', pad);
	fsc_buf_puts(b, last ? "\n" : "  ");
}

void fsc_table_print(struct fsc_table *t, unsigned width, struct fsc_buf *out)
{
	const char *cell = fsc_buf_str(&t->cells);

	out->failed |= fsc_buf_failed(&t->cells);
	if (!out->failed) {
		measure_columns(t);
		fit_columns(t, width);
		for (size_t i = 0; i < t->n; i++)
			put_cell(t, i, t->column[i].title, out);
		for (size_t i = 0; t->n && i < t->n_cells; i++, cell += strlen(cell) + 1)
			put_cell(t, i % t->n, cell, out);
	}
	fsc_buf_release(&t->cells);
	*t = (struct fsc_table){0};
}

/* ---- which function, which keys ---- */

static const struct {
	uint32_t by;
	const char *title;
	bool number;
} keys[] = {
    {FSC_BY_CGROUP, "CGROUP", false}, {FSC_BY_COMM, "COMM", false}, {FSC_BY_PID, "PID", true},
    {FSC_BY_TID, "TID", true},	      {FSC_BY_CPU, "CPU", true},
};

void fsc_table_key_columns(struct fsc_table *t, uint32_t by)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (by & keys[i].by)
			fsc_table_column(t, keys[i].title, keys[i].number, false);
	fsc_table_column(t, "FUNCTION", false, true);
}

/* Whether the functions come from more than one file, so that names may be ambiguous. */
static bool several_binaries(const struct fsc_func *funcs, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (strcmp(funcs[i].binary, funcs[0].binary))
			return true;
	return false;
}

void fsc_table_keys(struct fsc_table *t, const struct fsc_func *funcs, size_t n_funcs, uint32_t by,
		    const struct fsc_count *c)
{
	const struct fsc_func *f = &funcs[c->func];
	struct fsc_buf *b;

	if (by & FSC_BY_CGROUP && c->cgroup_path)
		fsc_fmt_term(fsc_table_cell(t), c->cgroup_path);
	else if (by & FSC_BY_CGROUP)
		fsc_buf_printf(fsc_table_cell(t), "%llu", (unsigned long long)c->cgroup);
	if (by & FSC_BY_COMM)
		fsc_fmt_term(fsc_table_cell(t), c->comm);
	if (by & FSC_BY_PID)
		fsc_buf_printf(fsc_table_cell(t), "%u", fsc_tally_pid(c->pid));
	if (by & FSC_BY_TID)
		fsc_buf_printf(fsc_table_cell(t), "%u", c->tid);
	if (by & FSC_BY_CPU)
		fsc_buf_printf(fsc_table_cell(t), "%u", c->cpu);
	b = fsc_table_cell(t);
	if (f->binary[0] && several_binaries(funcs, n_funcs) && strcmp(f->binary, "kernel")) {
		fsc_fmt_term(b, fsc_str_base(f->binary));
		fsc_buf_putc(b, ':');
	}
	fsc_fmt_term(b, f->name);
	if (strstr(f->kind, "ret"))
		fsc_buf_puts(b, " (return)");
	if (f->sampled.demoted)
		fsc_buf_puts(b, " (sampled)");
}
