/* Groups rows and their errors by the labels that receivers will see. */
#include "sink/series.h"

#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "model/tally.h"

/* ---- names ---- */

static void add_name(struct fsc_buf *b, const char *s)
{
	fsc_fmt_term(b, s ? s : "");
	fsc_buf_putc(b, '\0');
}

/* What distinguishes rows: their names, concatenated. */
static void row_key(const struct fsc_latencies *l, const struct fsc_latency *row, struct fsc_buf *b)
{
	const struct fsc_func *f = &l->funcs[row->key.func];

	fsc_buf_clear(b);
	if (row->folded) {
		fsc_buf_putc(b, 'f');
		return;
	}
	add_name(b, f->group);
	add_name(b, f->name);
	add_name(b, f->binary);
	for (size_t i = 0; i < row->n_labels; i++)
		add_name(b, row->labels[i].value);
	if (!(l->by & FSC_BY_PID))
		return;
	add_name(b, row->key.comm);
	fsc_buf_printf(b, "%u", fsc_tally_pid(row->key.pid));
}

/* A copy that lives as long as the set. */
static const char *keep_text(struct fsc_series_set *t, const struct fsc_buf *b)
{
	char *copy = fsc_buf_failed(b) ? NULL : malloc(b->n + 1);
	char **at = copy ? fsc_vec_push(&t->texts) : NULL;

	if (!at) {
		free(copy);
		return NULL;
	}
	memcpy(copy, fsc_buf_str(b), b->n + 1);
	*at = copy;
	return copy;
}

static const char *name_behind(const char *s)
{
	return s + strlen(s) + 1;
}

/* Labels whose values are the names from *at on, which is moved behind them. NULL: memory is out.
 */
static const struct fsc_label *keep_labels(struct fsc_series_set *t, const struct fsc_latency *row,
					   const char **at)
{
	struct fsc_label *labels = calloc(row->n_labels + 1, sizeof(*labels));
	char **slot = labels ? fsc_vec_push(&t->texts) : NULL;

	if (!slot) {
		free(labels);
		return NULL;
	}
	*slot = (char *)labels;
	for (size_t i = 0; i < row->n_labels; i++) {
		labels[i] = (struct fsc_label){row->labels[i].name, *at};
		*at = name_behind(*at);
	}
	return labels;
}

/* ---- rows ---- */

static bool new_series(struct fsc_series_set *t, const struct fsc_latency *row,
		       const struct fsc_buf *key)
{
	const char *text = keep_text(t, key), *rest;
	struct fsc_series *e = text ? fsc_vec_push(&t->series) : NULL;

	if (!e)
		return false;
	*e = (struct fsc_series){
	    .folded = row->folded, .first_row = FSC_SERIES_END, .first_noted = FSC_SERIES_END};
	if (row->folded)
		return true;
	e->group = *text ? text : NULL;
	e->function = name_behind(text);
	e->binary = name_behind(e->function);
	rest = name_behind(e->binary);
	e->n_labels = row->n_labels;
	e->labels = e->n_labels ? keep_labels(t, row, &rest) : NULL;
	if (e->n_labels && !e->labels)
		return false;
	e->has_pid = t->s->calls->by & FSC_BY_PID;
	if (!e->has_pid)
		return true;
	e->comm = rest;
	e->pid = fsc_tally_pid(row->key.pid);
	return true;
}

static bool add_row(struct fsc_series_set *t, uint32_t i, struct fsc_map *index,
		    struct fsc_buf *key)
{
	const struct fsc_latency *row = FSC_AT(struct fsc_latency, &t->s->calls->rows, i);
	struct fsc_series *e;
	uint64_t *at;
	bool is_new;

	row_key(t->s->calls, row, key);
	at = fsc_buf_failed(key) ? NULL : fsc_map_put(index, key->s, key->n, &is_new);
	if (!at || (is_new && !new_series(t, row, key)))
		return false;
	if (is_new)
		*at = t->series.n - 1;
	e = FSC_AT(struct fsc_series, &t->series, *at);
	t->series_of[i] = (uint32_t)*at;
	t->next_row[i] = e->first_row;
	e->first_row = i;
	e->slow += row->slot->slow;
	t->folded += row->folded;
	return true;
}

static bool add_rows(struct fsc_series_set *t, struct fsc_buf *key)
{
	size_t n = t->s->calls ? t->s->calls->rows.n : 0;
	struct fsc_map index = {0};
	bool ok = true;

	t->series_of = calloc(n + 1, sizeof(*t->series_of));
	t->next_row = calloc(n + 1, sizeof(*t->next_row));
	if (!t->series_of || !t->next_row)
		return false;
	for (size_t i = 0; ok && i < n; i++)
		ok = add_row(t, (uint32_t)i, &index, key);
	fsc_map_release(&index);
	return ok;
}

/* ---- exemplars and errors of rows ---- */

/* NULL if there is no such row. */
static struct fsc_series *series_of_row(const struct fsc_series_set *t, uint32_t row)
{
	if (!t->s->calls || row >= t->s->calls->rows.n)
		return NULL;
	return FSC_AT(struct fsc_series, &t->series, t->series_of[row]);
}

static bool add_noted(struct fsc_series_set *t)
{
	t->next_noted = calloc(t->s->n_noted + 1, sizeof(*t->next_noted));
	if (!t->next_noted)
		return false;
	for (size_t i = 0; i < t->s->n_noted; i++) {
		struct fsc_series *e = series_of_row(t, t->s->noted[i].row);

		if (!e)
			continue;
		t->next_noted[i] = e->first_noted;
		e->first_noted = (uint32_t)i;
	}
	return true;
}

/* The index of the series, and the name of the error unless the series is folded. */
static void error_key(uint32_t series, bool folded, const struct fsc_call_errors *from,
		      struct fsc_buf *b)
{
	fsc_buf_clear(b);
	fsc_buf_add(b, (const char *)&series, sizeof(series));
	if (folded)
		return;
	if (from->name && *from->name)
		fsc_fmt_term(b, from->name);
	else
		fsc_buf_printf(b, "%lld", (long long)from->code);
}

static bool add_error(struct fsc_series_set *t, const struct fsc_call_errors *from,
		      struct fsc_map *index, struct fsc_buf *key)
{
	const struct fsc_series *e = series_of_row(t, from->row);
	struct fsc_series_error *sum;
	const char *text;
	uint32_t series;
	uint64_t *at;
	bool is_new, folded;

	if (!e)
		return true;
	folded = e->folded || from->folded;
	series = folded ? FSC_SERIES_END : t->series_of[from->row];
	t->folded += folded && !e->folded;
	error_key(series, folded, from, key);
	at = fsc_buf_failed(key) ? NULL : fsc_map_put(index, key->s, key->n, &is_new);
	if (!at)
		return false;
	if (!is_new) {
		FSC_AT(struct fsc_series_error, &t->errors, *at)->n += from->n;
		return true;
	}
	*at = t->errors.n;
	text = keep_text(t, key);
	sum = text ? fsc_vec_push(&t->errors) : NULL;
	if (!sum)
		return false;
	*sum = (struct fsc_series_error){
	    .series = series, .error = folded ? NULL : text + sizeof(uint32_t), .n = from->n};
	return true;
}

const struct fsc_series *fsc_series_of_error(const struct fsc_series_set *t,
					     const struct fsc_series_error *e)
{
	static const struct fsc_series folded = {
	    .folded = true, .first_row = FSC_SERIES_END, .first_noted = FSC_SERIES_END};

	return e->series == FSC_SERIES_END ? &folded
					   : FSC_AT(struct fsc_series, &t->series, e->series);
}

static bool add_errors(struct fsc_series_set *t, struct fsc_buf *key)
{
	struct fsc_map index = {0};
	bool ok = true;

	for (size_t i = 0; ok && i < t->s->n_errors; i++)
		ok = add_error(t, &t->s->errors[i], &index, key);
	fsc_map_release(&index);
	return ok;
}

/* ---- the set ---- */

bool fsc_series_build(const struct fsc_snapshot *s, struct fsc_series_set *ret)
{
	struct fsc_buf key = {0};
	bool ok;

	*ret = (struct fsc_series_set){.s = s,
				       .series = FSC_VEC_INIT(struct fsc_series),
				       .errors = FSC_VEC_INIT(struct fsc_series_error),
				       .texts = FSC_VEC_INIT(char *)};
	ok = add_rows(ret, &key) && add_noted(ret) && add_errors(ret, &key);
	fsc_buf_release(&key);
	return ok;
}

void fsc_series_release(struct fsc_series_set *t)
{
	fsc_vec_release_owned(&t->texts);
	fsc_vec_release(&t->series);
	fsc_vec_release(&t->errors);
	free(t->series_of);
	free(t->next_row);
	free(t->next_noted);
}

void fsc_series_spread(const struct fsc_series_set *t, const struct fsc_series *e,
		       struct fsc_spread *ret)
{
	fsc_spread_init(ret);
	for (uint32_t i = e->first_row; i != FSC_SERIES_END; i = t->next_row[i])
		fsc_spread_add(ret, FSC_AT(struct fsc_latency, &t->s->calls->rows, i));
	for (uint32_t i = e->first_noted; i != FSC_SERIES_END; i = t->next_noted[i])
		fsc_spread_note(ret, &t->s->noted[i]);
}

/* ---- constant labels ---- */

static bool is_label_name(const char *s)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	static const char digits[] = "0123456789";
	size_t n = strspn(s, letters);

	while (n && s[n] && (strchr(letters, s[n]) || strchr(digits, s[n])))
		n++;
	return n && !s[n] && strncmp(s, "__", 2) != 0 && strcmp(s, "le") != 0;
}

static bool has_name(const struct fsc_label *labels, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (labels[i].name && !strcmp(labels[i].name, name))
			return true;
	return false;
}

bool fsc_series_label_fits(const struct fsc_label *labels, size_t i, const struct fsc_label *own,
			   size_t n_own)
{
	const char *name = labels[i].name;

	return name && labels[i].value && is_label_name(name) && !has_name(labels, i, name) &&
	       !has_name(own, n_own, name);
}
