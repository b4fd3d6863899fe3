/* Aggregations: each CPU has a part, and what is printed is their sum, average, extreme or
 * histogram. */
#include <stdlib.h>
#include <string.h>

#include "source/script_priv.h"

static const void *part_at(const struct fsc_parts *parts, unsigned i)
{
	return (const char *)parts->bytes + i * parts->stride;
}

static uint64_t word_at(const struct fsc_parts *parts, unsigned i, size_t n)
{
	uint64_t u;

	memcpy(&u, (const char *)part_at(parts, i) + n * sizeof(u), sizeof(u));
	return u;
}

static uint64_t sum_of(const struct fsc_parts *parts, size_t word)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < parts->n; i++)
		sum += word_at(parts, i, word);
	return sum;
}

static bool is_less(const struct fsc_vtype *t, uint64_t a, uint64_t b)
{
	return t->is_signed ? (int64_t)a < (int64_t)b : a < b;
}

/* The least or the most of the CPUs that have seen one. */
static uint64_t extreme_of(const struct fsc_vtype *t, const struct fsc_parts *parts)
{
	uint64_t best = 0;
	bool any = false;

	for (unsigned i = 0; i < parts->n; i++) {
		uint64_t v = word_at(parts, i, 0);

		if (!word_at(parts, i, 1))
			continue;
		if (!any || (t->kind == FSC_V_MIN ? is_less(t, v, best) : is_less(t, best, v)))
			best = v;
		any = true;
	}
	return best;
}

static uint64_t divide(const struct fsc_vtype *t, uint64_t a, uint64_t by)
{
	if (!by)
		return 0;
	return t->is_signed ? (uint64_t)((__int128)(int64_t)a / (__int128)by) : a / by;
}

static uint64_t average_of(const struct fsc_vtype *t, const struct fsc_parts *parts)
{
	return divide(t, sum_of(parts, 0), sum_of(parts, 1));
}

static struct fsc_value number_value(const struct fsc_vtype *t, uint64_t u)
{
	return t->is_signed ? fsc_value_int((int64_t)u) : fsc_value_uint(u);
}

static struct fsc_value stats_value(struct fsc_readings *r, const struct fsc_vtype *t,
				    const struct fsc_parts *parts, uint64_t div)
{
	struct fsc_value v = fsc_value_list(&r->arena, FSC_VALUE_RECORD, 3);

	if (!v.kind)
		return v;
	v.list.names[0] = "count";
	v.list.names[1] = "average";
	v.list.names[2] = "total";
	v.list.at[0] = fsc_value_uint(sum_of(parts, 1));
	v.list.at[1] = number_value(t, divide(t, average_of(t, parts), div));
	v.list.at[2] = number_value(t, sum_of(parts, 0));
	v.stats = true;
	return v;
}

static struct fsc_value hist_value(struct fsc_readings *r, const struct fsc_vtype *t,
				   const struct fsc_parts *parts, uint64_t div)
{
	uint64_t *counts = fsc_values_alloc(&r->arena, t->n * sizeof(*counts));

	if (!counts)
		return (struct fsc_value){0};
	for (size_t i = 0; i < t->n; i++)
		counts[i] = sum_of(parts, i);
	if (t->kind == FSC_V_LHIST)
		return fsc_value_lhist(&r->arena, counts, t->n, t->lhist.min, t->lhist.max,
				       t->lhist.step);
	for (size_t i = 0; i < t->n; i++)
		counts[i] = counts[i] && counts[i] < div ? 0 : counts[i] / div;
	return fsc_value_hist(&r->arena, counts, t->n, t->hist_bits);
}

void fsc_readings_merge(struct fsc_readings *r, const struct fsc_vtype *t,
			const struct fsc_parts *parts, uint64_t div, struct fsc_value *ret)
{
	if (!div)
		div = 1;
	switch (t->kind) {
	case FSC_V_COUNT:
		*ret = fsc_value_uint(sum_of(parts, 0) / div);
		break;
	case FSC_V_SUM:
		*ret = number_value(t, divide(t, sum_of(parts, 0), div));
		break;
	case FSC_V_AVG:
		*ret = number_value(t, divide(t, average_of(t, parts), div));
		ret->stats = true;
		break;
	case FSC_V_STATS:
		*ret = stats_value(r, t, parts, div);
		break;
	case FSC_V_MIN:
	case FSC_V_MAX:
		*ret = number_value(t, divide(t, extreme_of(t, parts), div));
		break;
	case FSC_V_HIST:
	case FSC_V_LHIST:
		*ret = hist_value(r, t, parts, div);
		break;
	case FSC_V_TSERIES:
		*ret = fsc_readings_series(r, t, parts, fsc_readings_last_epoch(t, parts));
		break;
	default:
		*ret = (struct fsc_value){0};
	}
}

static __int128 as_rank(const struct fsc_vtype *t, uint64_t u)
{
	return t->is_signed ? (__int128)(int64_t)u : (__int128)u;
}

__int128 fsc_readings_rank(const struct fsc_vtype *t, const struct fsc_parts *parts)
{
	__int128 sum = 0;

	switch (t->kind) {
	case FSC_V_COUNT:
	case FSC_V_SUM:
		return as_rank(t, sum_of(parts, 0));
	case FSC_V_AVG:
	case FSC_V_STATS:
		return as_rank(t, average_of(t, parts));
	case FSC_V_MIN:
	case FSC_V_MAX:
		return as_rank(t, extreme_of(t, parts));
	case FSC_V_TSERIES:
		return fsc_readings_last_epoch(t, parts);
	case FSC_V_HIST:
	case FSC_V_LHIST:
		for (size_t i = 0; i < t->n; i++)
			sum += sum_of(parts, i);
		return sum;
	default:
		return 0;
	}
}

/* ---- time series ---- */

static struct fsc_v_tslot slot_at(const struct fsc_parts *parts, unsigned cpu, size_t i)
{
	struct fsc_v_tslot s;

	memcpy(&s, (const char *)part_at(parts, cpu) + i * sizeof(s), sizeof(s));
	return s;
}

uint64_t fsc_readings_last_epoch(const struct fsc_vtype *t, const struct fsc_parts *parts)
{
	uint64_t last = 0;

	for (unsigned cpu = 0; cpu < parts->n; cpu++)
		for (size_t i = 0; i < t->n; i++) {
			struct fsc_v_tslot s = slot_at(parts, cpu, i);

			if (s.count && s.epoch > last)
				last = s.epoch;
		}
	return last;
}

static void merge_slot(const struct fsc_vtype *t, struct fsc_v_tslot *sum,
		       const struct fsc_v_tslot *s)
{
	bool takes = !sum->count;

	switch (t->tseries.agg) {
	case FSC_TS_LAST:
		takes = takes || s->when > sum->when;
		break;
	case FSC_TS_MAX:
		takes = takes || is_less(t, sum->value, s->value);
		break;
	case FSC_TS_MIN:
		takes = takes || is_less(t, s->value, sum->value);
		break;
	case FSC_TS_AVG:
	case FSC_TS_SUM:
		sum->value += s->value;
		takes = false;
		break;
	}
	if (takes) {
		sum->value = s->value;
		sum->when = s->when;
	}
	sum->count += s->count;
}

/* All CPUs' values of one interval; count 0: there are none. */
static struct fsc_v_tslot merge_epoch(const struct fsc_vtype *t, const struct fsc_parts *parts,
				      uint64_t epoch)
{
	struct fsc_v_tslot sum = {.epoch = epoch};

	for (unsigned cpu = 0; cpu < parts->n; cpu++) {
		struct fsc_v_tslot s = slot_at(parts, cpu, epoch % t->n);

		if (s.epoch == epoch && s.count)
			merge_slot(t, &sum, &s);
	}
	if (t->tseries.agg == FSC_TS_AVG)
		sum.value = divide(t, sum.value, sum.count);
	return sum;
}

struct fsc_value fsc_readings_series(struct fsc_readings *r, const struct fsc_vtype *t,
				     const struct fsc_parts *parts, uint64_t last_epoch)
{
	uint64_t first = last_epoch >= t->n ? last_epoch - t->n + 1 : 0;
	struct fsc_value v = {.kind = FSC_VALUE_SERIES,
			      .series = {.interval_ns = t->tseries.interval_ns}};

	v.series.at = fsc_values_alloc(&r->arena, t->n * sizeof(struct fsc_moment));
	if (!v.series.at)
		return (struct fsc_value){0};
	for (uint64_t epoch = first; epoch <= last_epoch; epoch++) {
		struct fsc_v_tslot s = merge_epoch(t, parts, epoch);
		struct fsc_moment *m;

		if (!s.count && !v.series.n)
			continue; /* it begins with the first that has a value */
		m = &v.series.at[v.series.n++];
		m->wall_ns =
		    epoch * t->tseries.interval_ns + (uint64_t)r->wall_minus[FSC_CLOCK_BOOT];
		if (s.count)
			m->value = number_value(t, s.value);
	}
	return v;
}
