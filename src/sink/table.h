/* A table for people: columns as wide as their content, the widest cut at the terminal's edge.
 * Fill it cell by cell, row by row, then print it. */
#ifndef FSC_SINK_TABLE_H
#define FSC_SINK_TABLE_H

#include "base/buf.h"
#include "model/profile.h"

enum { FSC_TABLE_COLUMNS = 24 };

struct fsc_table {
	size_t n; /* columns */
	struct {
		const char *title;
		bool number; /* to the right */
		bool cut;    /* may be cut to fit */
		size_t width;
	} column[FSC_TABLE_COLUMNS];
	struct fsc_buf cells; /* each ended by a zero byte */
	size_t n_cells;
};

void fsc_table_column(struct fsc_table *t, const char *title, bool number, bool cut);
/* Begins the next cell; its text is what is written to the buffer before the next call. */
struct fsc_buf *fsc_table_cell(struct fsc_table *t);
/* Writes the table and empties it. width: columns of the terminal, 0 for no limit. */
void fsc_table_print(struct fsc_table *t, unsigned width, struct fsc_buf *out);

/* The length in bytes of the text's first n columns. */
size_t fsc_table_prefix(const char *text, size_t n);

/* The columns and cells of a line's function and keys. */
void fsc_table_key_columns(struct fsc_table *t, uint32_t by);
void fsc_table_keys(struct fsc_table *t, const struct fsc_func *funcs, size_t n_funcs, uint32_t by,
		    const struct fsc_count *c);

#endif
