/* For programs: one object per line, the summary last. */
#include "sink/sink.h"

#include <math.h>

#include "base/json.h"
#include "model/tally.h"
#include "sink/stacks.h"

static void add_keys(uint32_t by, const struct fsc_count *c, struct fsc_buf *b)
{
	if (by & FSC_BY_COMM)
		fsc_json_string(b, "comm", c->comm);
	if (by & FSC_BY_PID)
		fsc_json_uint(b, "pid", fsc_tally_pid(c->pid));
	if (by & FSC_BY_TID)
		fsc_json_uint(b, "tid", c->tid);
	if (by & FSC_BY_CPU)
		fsc_json_uint(b, "cpu", c->cpu);
	if (!(by & FSC_BY_CGROUP))
		return;
	fsc_json_uint(b, "cgroup_id", c->cgroup);
	fsc_json_string_if(b, "cgroup", c->cgroup_path);
}

void fsc_json_about(const struct fsc_label *about, size_t n, struct fsc_buf *b)
{
	for (size_t i = 0; i < n; i++)
		fsc_json_string(b, about[i].name, about[i].value);
}

void fsc_json_names(const char *kind, const char *binary, const char *function, struct fsc_buf *b)
{
	fsc_json_string(b, "kind", kind);
	fsc_json_string(b, "binary", binary);
	fsc_json_string(b, "function", function);
}

void fsc_json_function(const struct fsc_func *f, struct fsc_buf *b)
{
	fsc_json_string_if(b, "group", f->group);
	fsc_json_names(f->kind, f->binary, f->name, b);
	fsc_json_string_if(b, "symbol", f->symbol);
	fsc_json_bool_if(b, "sampled", f->sampled.demoted);
}

void fsc_json_cost(double hits, double hit_ns, struct fsc_buf *b)
{
	if (hit_ns > 0)
		fsc_json_real(b, "cost_ns", hits * hit_ns, 0);
	else
		fsc_json_null(b, "cost_ns");
}

static void json_profile(struct fsc_sink *s, const struct fsc_profile *p, struct fsc_buf *b)
{
	for (size_t i = 0; i < p->counts.n; i++) {
		const struct fsc_count *c = FSC_AT(struct fsc_count, &p->counts, i);

		fsc_json_line(b, "count");
		if (s->timestamps || s->intervals)
			fsc_json_uint(b, "time_ns", p->time_ns);
		fsc_json_function(&p->funcs[c->func], b);
		add_keys(p->by, c, b);
		fsc_json_uint(b, "count", c->count);
		if (s->cost)
			fsc_json_cost((double)c->count, p->funcs[c->func].hit_ns, b);
		fsc_json_line_end(b);
	}
}

/* ---- timings ---- */

/* A value of the row in ns; values measured in ticks have decimals. */
static void add_ns(struct fsc_buf *b, const char *key, const struct fsc_latency *l, double ns)
{
	fsc_json_real(b, key, ns, l->ticks.ns ? 3 : 0);
}

/* A duration, or a sum over so many calls; null where it cannot be told. */
static void add_told(struct fsc_buf *b, const char *key, const struct fsc_latency *l, double ns,
		     double calls)
{
	if (fsc_latency_tells(l, ns, calls))
		add_ns(b, key, l, ns);
	else
		fsc_json_null(b, key);
}

static void add_value(struct fsc_buf *b, const char *key, const struct fsc_latency *l, double value)
{
	add_told(b, key, l, fsc_latency_ns(l, value), 1);
}

static void add_buckets(const struct fsc_latency *l, struct fsc_buf *b)
{
	struct fsc_bin bin;
	uint32_t at = 0;

	fsc_json_begin(b, "buckets", '[');
	while (fsc_latency_bucket(l, &at, &bin)) {
		fsc_json_begin(b, NULL, '[');
		add_ns(b, NULL, l, bin.low);
		add_ns(b, NULL, l, bin.high);
		fsc_json_uint(b, NULL, bin.n);
		fsc_json_end(b, ']');
	}
	fsc_json_end(b, ']');
}

static void add_recent(const struct fsc_latency *l, struct fsc_buf *b)
{
	fsc_json_uint(b, "recent", l->recent.n);
	fsc_json_begin(b, "slowest_ns", '[');
	for (unsigned i = 0; i < l->recent.n_slow; i++)
		add_ns(b, NULL, l, l->recent.slow[i]);
	fsc_json_end(b, ']');
}

static void add_parts(const struct fsc_latencies *l, const struct fsc_latency *row,
		      struct fsc_buf *b)
{
	const struct fsc_slot *s = row->slot;
	double n = s->count ? (double)s->count : 1;

	if (l->parts.slow)
		fsc_json_uint(b, "slow", s->slow);
	if (l->parts.self) {
		add_told(b, "self_total_ns", row, (double)s->self_total, n);
		add_told(b, "self_avg_ns", row, (double)s->self_total / n, 1);
	}
	if (l->parts.off_cpu) {
		add_told(b, "on_cpu_ns", row, (double)(s->total - s->off_total), n);
		fsc_json_uint(b, "off_cpu_ns", s->off_total);
	}
	if (l->parts.raw) {
		fsc_json_uint(b, "raw_total_ns", s->raw_total);
		fsc_json_real(b, "raw_avg_ns", (double)s->raw_total / n, 0);
	}
}

void fsc_json_latency(struct fsc_sink *s, const struct fsc_latencies *l, struct fsc_buf *b)
{
	for (size_t i = 0; i < l->rows.n; i++) {
		const struct fsc_latency *row = FSC_AT(struct fsc_latency, &l->rows, i);
		const struct fsc_slot *m = row->slot;

		fsc_json_line(b, "latency");
		if (s->timestamps || s->intervals)
			fsc_json_uint(b, "time_ns", l->time_ns);
		fsc_json_function(&l->funcs[row->key.func], b);
		add_keys(l->by, &row->key, b);
		fsc_json_about(row->labels, row->n_labels, b);
		fsc_json_about(row->fields, row->n_fields, b);
		fsc_json_uint(b, "count", m->count);
		if (l->seconds > 0)
			fsc_json_real(b, "rate", (double)m->count / l->seconds, 3);
		if (fsc_latency_tells(row, fsc_latency_total(row), (double)m->count))
			fsc_json_real(b, "total_ns", fsc_latency_total(row), 0);
		else
			fsc_json_null(b, "total_ns");
		add_value(b, "min_ns", row, (double)fsc_slot_min(m));
		add_told(b, "avg_ns", row, fsc_latency_average(row), 1);
		add_value(b, "p50_ns", row, fsc_slot_quantile(m, 0.5));
		add_value(b, "p90_ns", row, fsc_slot_quantile(m, 0.9));
		add_value(b, "p99_ns", row, fsc_slot_quantile(m, 0.99));
		add_value(b, "p999_ns", row, fsc_slot_quantile(m, 0.999));
		add_value(b, "max_ns", row, (double)m->max);
		add_ns(b, "stddev_ns", row, fsc_latency_stddev(row));
		if (row->ticks.ns)
			fsc_json_bool(b, "ordered", row->ticks.ordered);
		add_parts(l, row, b);
		fsc_json_real(b, "floor_ns", row->floor_ns, 0);
		fsc_json_bool(b, "at_floor", fsc_latency_at_floor(row));
		fsc_json_bool(b, "mostly_probes", fsc_latency_mostly_probes(row));
		if (s->cost)
			fsc_json_cost((double)m->count, row->hit_ns, b);
		if (l->parts.recent)
			add_recent(row, b);
		add_buckets(row, b);
		fsc_json_line_end(b);
	}
}

/* ---- the books ---- */

static void add_named(struct fsc_buf *b, const char *key, const struct fsc_named *n)
{
	fsc_json_begin(b, key, '{');
	for (size_t i = 0; n[i].name; i++)
		fsc_json_uint(b, n[i].name, n[i].n);
	fsc_json_end(b, '}');
}

static void add_reasons(const char *key, const struct fsc_refusal *refused, size_t n,
			struct fsc_buf *b)
{
	fsc_json_begin(b, key, '[');
	for (size_t i = 0; i < n; i++) {
		fsc_json_begin(b, NULL, '{');
		fsc_json_string(b, "function", refused[i].function);
		fsc_json_string(b, "why", refused[i].why);
		fsc_json_end(b, '}');
	}
	fsc_json_end(b, ']');
}

static void add_refused(const struct fsc_summary *sum, struct fsc_buf *b)
{
	fsc_json_uint(b, "refused", sum->n_refused);
	add_reasons("refused_functions", sum->refused, sum->n_refused, b);
	if (sum->n_partly)
		add_reasons("partly_refused_functions", sum->refused + sum->n_refused,
			    sum->n_partly, b);
}

/* The list is begun with its first item: an empty one is left out. */
static void begin_function(struct fsc_buf *b, const char *key, bool *begun, const char *name)
{
	if (!*begun)
		fsc_json_begin(b, key, '[');
	*begun = true;
	fsc_json_begin(b, NULL, '{');
	fsc_json_string(b, "function", name);
}

static void add_sampled(const struct fsc_summary *sum, struct fsc_buf *b)
{
	bool begun = false;

	for (size_t i = 0; i < sum->n_funcs; i++) {
		const struct fsc_sampled *s = &sum->funcs[i].sampled;

		if (!s->demoted)
			continue;
		begin_function(b, "demoted", &begun, sum->funcs[i].name);
		fsc_json_real(b, "since_s", s->since_s, 3);
		fsc_json_uint(b, "windows", s->windows);
		fsc_json_real(b, "armed_percent", s->armed_percent, 3);
		if (s->estimated) {
			fsc_json_real(b, "estimated_low", s->low, 0);
			fsc_json_real(b, "estimated_high", s->high, 0);
		}
		fsc_json_end(b, '}');
	}
	if (begun)
		fsc_json_end(b, ']');
}

static void add_records_lost(const struct fsc_summary *sum, struct fsc_buf *b)
{
	bool begun = false;

	for (size_t i = 0; i < sum->n_funcs; i++) {
		if (!sum->funcs[i].records_lost)
			continue;
		begin_function(b, "records_lost", &begun, sum->funcs[i].name);
		fsc_json_uint(b, "count", sum->funcs[i].records_lost);
		fsc_json_end(b, '}');
	}
	if (begun)
		fsc_json_end(b, ']');
}

static void add_looped(const struct fsc_summary *sum, struct fsc_buf *b)
{
	bool begun = false;

	for (size_t i = 0; i < sum->n_funcs; i++) {
		if (!sum->funcs[i].looped)
			continue;
		begin_function(b, "looped_functions", &begun, sum->funcs[i].name);
		fsc_json_end(b, '}');
	}
	if (begun)
		fsc_json_end(b, ']');
}

static void add_cost(const struct fsc_summary *sum, struct fsc_buf *b)
{
	fsc_json_begin(b, "cost", '{');
	fsc_json_real(b, "ns_per_hit", sum->cost_known ? sum->ns_per_hit : NAN, 1);
	fsc_json_real(b, "percent", sum->share_known ? sum->percent : NAN, 3);
	fsc_json_string(b, "of", sum->share_of_machine ? "machine" : "target");
	fsc_json_end(b, '}');
}

static void add_scopes(const struct fsc_scope_books *p, struct fsc_buf *b)
{
	fsc_json_uint(b, "processes", p->processes);
	fsc_json_uint(b, "threads", p->threads);
	fsc_json_uint(b, "left_open", p->left_open);
	fsc_json_string_if(b, "open", p->open_name);
	fsc_json_uint(b, "backwards", p->backwards);
	fsc_json_uint(b, "lost_threads", p->lost_threads);
	fsc_json_uint(b, "lost_names", p->lost_names);
	fsc_json_uint(b, "unseen", p->unseen);
	fsc_json_uint(b, "torn", p->torn);
	fsc_json_uint(b, "lapped", p->lapped);
	fsc_json_begin(b, "clock", '{');
	fsc_json_string(b, "name", p->clock);
	fsc_json_string(b, "grade", (const char[]){p->grade, '\0'});
	fsc_json_string(b, "why", p->why);
	fsc_json_real(b, "tick_ns", p->tick_ns, 6);
	fsc_json_real(b, "step_ns", p->step_ns, 3);
	fsc_json_real(b, "empty_ns", p->empty_ns, 3);
	fsc_json_bool(b, "taken_out", !p->raw);
	fsc_json_end(b, '}');
}

static void add_bystanders(const struct fsc_summary *sum, struct fsc_buf *b)
{
	const struct fsc_bystanders *by = &sum->bystanders;

	if (!by->known)
		return;
	fsc_json_begin(b, "bystanders", '{');
	fsc_json_uint(b, "hits", by->hits);
	fsc_json_uint(b, "processes", by->processes);
	fsc_json_uint_if(b, "partly_watched", by->partly);
	if (sum->cost_known)
		fsc_json_real(b, "ns", sum->ns_per_hit * (double)by->hits, 0);
	fsc_json_end(b, '}');
}

static void json_summary(struct fsc_sink *s, const struct fsc_summary *sum, struct fsc_buf *b)
{
	(void)s;
	fsc_json_line(b, "summary");
	fsc_json_uint(b, "seen", sum->seen);
	fsc_json_uint(b, "kept", sum->kept);
	add_named(b, "lost", sum->lost);
	fsc_json_uint(b, "missed", sum->missed);
	if (sum->timed)
		fsc_json_uint(b, "unmatched_returns", sum->unmatched);
	if (sum->frames_known) {
		fsc_json_uint(b, "frames", sum->frames);
		fsc_json_uint(b, "unknown_frames", sum->unknown_frames);
		fsc_json_uint(b, "truncated", sum->truncated);
	}
	fsc_json_uint_if(b, "returns_lost", sum->returns_lost);
	fsc_json_uint_if(b, "unwatched", sum->unwatched);
	fsc_json_uint_if(b, "stacks_lost", sum->stacks_lost);
	fsc_json_uint_if(b, "late", sum->late);
	fsc_json_uint_if(b, "filtered", sum->filtered);
	fsc_json_uint_if(b, "sampled_out", sum->sampled_out);
	if (sum->scopes.known)
		add_scopes(&sum->scopes, b);
	fsc_json_uint(b, "unfollowed", sum->unfollowed);
	fsc_json_uint(b, "functions", sum->functions);
	fsc_json_uint(b, "attached", sum->attached);
	fsc_json_uint(b, "places", sum->places);
	add_refused(sum, b);
	fsc_json_uint(b, "shifted", sum->shifted);
	add_sampled(sum, b);
	add_records_lost(sum, b);
	add_looped(sum, b);
	add_named(b, "via", sum->via);
	fsc_json_real(b, "duration_s", sum->duration_s, 6);
	add_cost(sum, b);
	add_bystanders(sum, b);
	fsc_json_line_end(b);
}

const struct fsc_sink_ops fsc_sink_json = {
    .name = "json",
    .what = "one object per line",
    .profile = json_profile,
    .latency = fsc_json_latency,
    .stacks = fsc_json_stacks,
    .call = fsc_json_call,
    .diff = fsc_json_diff,
    .report = fsc_json_report,
    .gpu_event = fsc_json_gpu_event,
    .gpu_report = fsc_json_gpu_report,
    .summary = json_summary,
};
