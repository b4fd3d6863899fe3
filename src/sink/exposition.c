/* What the formats of a page share: order, constant labels. */
#include "sink/exposition.h"

#include <math.h>

#include "sink/series.h"

const struct fsc_exposition_ops *const fsc_exposition_formats[] = {
    [FSC_PROMETHEUS_TEXT] = &fsc_exposition_text,
    [FSC_PROMETHEUS_OPENMETRICS] = &fsc_exposition_openmetrics,
    [FSC_PROMETHEUS_PROTOBUF] = &fsc_exposition_protobuf,
};

void fsc_exposition_begin(struct fsc_exposition *e, const struct fsc_family *f)
{
	e->family = f;
	e->begun = false;
}

/* The value's own labels, then the constant ones. */
static void next_value(struct fsc_exposition *e, const struct fsc_label *l, size_t n)
{
	if (!e->begun)
		e->ops->begin(e);
	e->begun = true;
	fsc_buf_clear(&e->labels);
	for (size_t i = 0; i < n; i++)
		e->ops->label(e, l[i].name, l[i].value);
	for (size_t i = 0; i < e->s->n_labels; i++)
		if (fsc_series_label_fits(e->s->labels, i, l, n))
			e->ops->label(e, e->s->labels[i].name, e->s->labels[i].value);
	e->b->failed |= e->labels.failed;
}

void fsc_exposition_value(struct fsc_exposition *e, const struct fsc_label *l, size_t n, double v)
{
	if (!isfinite(v))
		return;
	next_value(e, l, n);
	e->ops->value(e, v);
}

void fsc_exposition_histogram(struct fsc_exposition *e, const struct fsc_label *l, size_t n,
			      const struct fsc_spread *d)
{
	next_value(e, l, n);
	e->ops->histogram(e, d);
}

void fsc_exposition_end(struct fsc_exposition *e)
{
	if (e->begun && e->ops->end)
		e->ops->end(e);
}

void fsc_exposition_finish(struct fsc_exposition *e)
{
	if (e->ops->finish)
		e->ops->finish(e);
	fsc_buf_release(&e->labels);
	fsc_buf_release(&e->scratch);
}
