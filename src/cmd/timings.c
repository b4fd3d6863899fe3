#include "cmd/timings.h"

#include <string.h>

#include "base/str.h"

static const char *const sort_names[] = {"total", "count", "avg", "max", "p99", "name", NULL};
static const char *const unit_names[] = {"auto", "ns", "us", "ms", "s", NULL};

const struct fsc_opt fsc_timings_opts[] = {
    {'n', "top", FSC_OPT_UINT, offsetof(struct fsc_timings_opts, top), "N", "only the first N rows",
     NULL},
    {'s', "sort", FSC_OPT_CHOICE, offsetof(struct fsc_timings_opts, sort), "KEY", "order of rows",
     sort_names},
    {0, "reverse", FSC_OPT_FLAG, offsetof(struct fsc_timings_opts, reverse), NULL,
     "reverse the order", NULL},
    {'H', "histogram", FSC_OPT_FLAG, offsetof(struct fsc_timings_opts, histogram), NULL,
     "a histogram for every row", NULL},
    {'w', "wide", FSC_OPT_FLAG, offsetof(struct fsc_timings_opts, wide), NULL,
     "all columns, including min, p99.9 and deviation", NULL},
    {0, "linear", FSC_OPT_STRING, offsetof(struct fsc_timings_opts, linear), "MIN,MAX,STEP",
     "histogram bins of equal width (0,10ms,500us)", NULL},
    {'u', "unit", FSC_OPT_CHOICE, offsetof(struct fsc_timings_opts, unit), "UNIT", "of durations",
     unit_names},
    {0},
};

/* "MIN,MAX,STEP" */
static int parse_linear(const char *text, struct fsc_sink *sink, struct fsc_err *err)
{
	enum { MOST_BINS = 10000 };
	double *to[] = {&sink->linear_min, &sink->linear_max, &sink->linear_step};
	const char *p = text;

	for (size_t i = 0; i < 3; i++) {
		size_t n = strcspn(p, ",");

		if (!fsc_str_duration(p, n, to[i]) || (i < 2) != (p[n] == ','))
			return fsc_err_usage(
			    err, "--linear takes MIN,MAX,STEP, as in 0,10ms,500us, not '%s'", text);
		p += n + 1;
	}
	if (sink->linear_max <= sink->linear_min || sink->linear_step <= 0 ||
	    (sink->linear_max - sink->linear_min) / sink->linear_step > MOST_BINS)
		return fsc_err_usage(err, "--linear '%s' makes no bins or more than %d", text,
				     MOST_BINS);
	return 0;
}

int fsc_timings_apply(const struct fsc_timings_opts *o, struct fsc_sink *sink, struct fsc_err *err)
{
	sink->histograms = o->histogram || o->linear;
	sink->wide = o->wide;
	sink->unit = (enum fsc_unit)o->unit;
	return o->linear ? parse_linear(o->linear, sink, err) : 0;
}

void fsc_timings_sort(const struct fsc_timings_opts *o, struct fsc_latencies *l)
{
	fsc_latencies_sort(l, (enum fsc_latency_sort)o->sort, o->reverse, o->top);
}
