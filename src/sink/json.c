/* For programs: one object per line, the summary last. */
#include "sink/sink.h"

#include "base/fmt.h"
#include "sink/stacks.h"

static void add_string(struct fsc_buf *b, const char *key, const char *value)
{
	fsc_buf_printf(b, ",\"%s\":", key);
	fsc_fmt_json(b, value);
}

static void add_number(struct fsc_buf *b, const char *key, uint64_t value)
{
	fsc_buf_printf(b, ",\"%s\":%llu", key, (unsigned long long)value);
}

static void add_keys(uint32_t by, const struct fsc_count *c, struct fsc_buf *b)
{
	if (by & FSC_BY_COMM)
		add_string(b, "comm", c->comm);
	if (by & FSC_BY_PID)
		add_number(b, "pid", c->pid);
	if (by & FSC_BY_TID)
		add_number(b, "tid", c->tid);
	if (by & FSC_BY_CPU)
		add_number(b, "cpu", c->cpu);
	if (!(by & FSC_BY_CGROUP))
		return;
	add_number(b, "cgroup_id", c->cgroup);
	if (c->cgroup_path)
		add_string(b, "cgroup", c->cgroup_path);
}

void fsc_json_function(const struct fsc_func *f, struct fsc_buf *b)
{
	if (f->group)
		add_string(b, "group", f->group);
	add_string(b, "kind", f->kind);
	add_string(b, "binary", f->binary);
	add_string(b, "function", f->name);
	if (f->symbol)
		add_string(b, "symbol", f->symbol);
	if (f->sampled.windows)
		fsc_buf_puts(b, ",\"sampled\":true");
}

static void profile(struct fsc_sink *s, const struct fsc_profile *p, struct fsc_buf *b)
{
	for (size_t i = 0; i < p->counts.n; i++) {
		const struct fsc_count *c = FSC_AT(struct fsc_count, &p->counts, i);

		fsc_buf_puts(b, "{\"type\":\"count\"");
		if (s->timestamps || s->intervals)
			add_number(b, "time_ns", p->time_ns);
		fsc_json_function(&p->funcs[c->func], b);
		add_keys(p->by, c, b);
		add_number(b, "count", c->count);
		fsc_buf_puts(b, "}\n");
	}
}

/* ---- timings ---- */

static void add_ns(struct fsc_buf *b, const char *key, double ns)
{
	fsc_buf_printf(b, ",\"%s\":%.0f", key, ns);
}

/* A value of the row in ns; what was counted in ticks has decimals. */
static void put_value(struct fsc_buf *b, const struct fsc_latency *l, double ns)
{
	fsc_buf_printf(b, "%.*f", l->ticks.ns ? 3 : 0, ns);
}

static void add_value(struct fsc_buf *b, const char *key, const struct fsc_latency *l, double value)
{
	fsc_buf_printf(b, ",\"%s\":", key);
	put_value(b, l, fsc_latency_ns(l, value));
}

static void add_buckets(const struct fsc_latency *l, struct fsc_buf *b)
{
	const char *comma = "";
	struct fsc_bin bin;
	uint32_t at = 0;

	fsc_buf_puts(b, ",\"buckets\":[");
	while (fsc_latency_bucket(l, &at, &bin)) {
		fsc_buf_printf(b, "%s[", comma);
		put_value(b, l, bin.low);
		fsc_buf_putc(b, ',');
		put_value(b, l, bin.high);
		fsc_buf_printf(b, ",%llu]", (unsigned long long)bin.n);
		comma = ",";
	}
	fsc_buf_putc(b, ']');
}

static void add_recent(const struct fsc_latency *l, struct fsc_buf *b)
{
	add_number(b, "recent", l->recent.n);
	fsc_buf_puts(b, ",\"slowest_ns\":[");
	for (unsigned i = 0; i < l->recent.n_slow; i++) {
		if (i)
			fsc_buf_putc(b, ',');
		put_value(b, l, l->recent.slow[i]);
	}
	fsc_buf_putc(b, ']');
}

static void add_parts(const struct fsc_latencies *l, const struct fsc_slot *s, struct fsc_buf *b)
{
	double n = s->count ? (double)s->count : 1;

	if (l->parts.slow)
		add_number(b, "slow", s->slow);
	if (l->parts.self) {
		add_number(b, "self_total_ns", s->self_total);
		add_ns(b, "self_avg_ns", (double)s->self_total / n);
	}
	if (l->parts.off_cpu) {
		add_number(b, "on_cpu_ns", s->total - s->off_total);
		add_number(b, "off_cpu_ns", s->off_total);
	}
	if (l->parts.raw) {
		add_number(b, "raw_total_ns", s->raw_total);
		add_ns(b, "raw_avg_ns", (double)s->raw_total / n);
	}
}

void fsc_json_latency(struct fsc_sink *s, const struct fsc_latencies *l, struct fsc_buf *b)
{
	for (size_t i = 0; i < l->rows.n; i++) {
		const struct fsc_latency *row = FSC_AT(struct fsc_latency, &l->rows, i);
		const struct fsc_slot *m = row->slot;

		fsc_buf_puts(b, "{\"type\":\"latency\"");
		if (s->timestamps || s->intervals)
			add_number(b, "time_ns", l->time_ns);
		fsc_json_function(&l->funcs[row->key.func], b);
		add_keys(l->by, &row->key, b);
		add_number(b, "count", m->count);
		if (l->seconds > 0)
			fsc_buf_printf(b, ",\"rate\":%.3f", (double)m->count / l->seconds);
		fsc_buf_printf(b, ",\"total_ns\":%.0f", fsc_latency_total(row));
		add_value(b, "min_ns", row, (double)fsc_slot_min(m));
		fsc_buf_puts(b, ",\"avg_ns\":");
		put_value(b, row, fsc_latency_average(row));
		add_value(b, "p50_ns", row, fsc_slot_quantile(m, 0.5));
		add_value(b, "p90_ns", row, fsc_slot_quantile(m, 0.9));
		add_value(b, "p99_ns", row, fsc_slot_quantile(m, 0.99));
		add_value(b, "p999_ns", row, fsc_slot_quantile(m, 0.999));
		add_value(b, "max_ns", row, (double)m->max);
		fsc_buf_puts(b, ",\"stddev_ns\":");
		put_value(b, row, fsc_latency_stddev(row));
		if (row->ticks.ns)
			fsc_buf_printf(b, ",\"ordered\":%s", row->ticks.ordered ? "true" : "false");
		add_parts(l, m, b);
		add_ns(b, "floor_ns", row->floor_ns);
		fsc_buf_printf(b, ",\"at_floor\":%s", fsc_latency_at_floor(row) ? "true" : "false");
		fsc_buf_printf(b, ",\"mostly_probes\":%s",
			       fsc_latency_mostly_probes(row) ? "true" : "false");
		if (l->parts.recent)
			add_recent(row, b);
		add_buckets(row, b);
		fsc_buf_puts(b, "}\n");
	}
}

/* ---- the books ---- */

static void add_named(struct fsc_buf *b, const char *key, const struct fsc_named *n)
{
	fsc_buf_printf(b, ",\"%s\":{", key);
	for (size_t i = 0; n[i].name; i++)
		fsc_buf_printf(b, "%s\"%s\":%llu", i ? "," : "", n[i].name,
			       (unsigned long long)n[i].n);
	fsc_buf_putc(b, '}');
}

static void add_reasons(const char *key, const struct fsc_refusal *refused, size_t n,
			struct fsc_buf *b)
{
	fsc_buf_printf(b, ",\"%s\":[", key);
	for (size_t i = 0; i < n; i++) {
		fsc_buf_puts(b, i ? ",{\"function\":" : "{\"function\":");
		fsc_fmt_json(b, refused[i].function);
		add_string(b, "why", refused[i].why);
		fsc_buf_putc(b, '}');
	}
	fsc_buf_putc(b, ']');
}

static void add_refused(const struct fsc_summary *sum, struct fsc_buf *b)
{
	add_number(b, "refused", sum->n_refused);
	add_reasons("refused_functions", sum->refused, sum->n_refused, b);
	if (sum->n_partly)
		add_reasons("partly_refused_functions", sum->refused + sum->n_refused,
			    sum->n_partly, b);
}

static void add_sampled(const struct fsc_summary *sum, struct fsc_buf *b)
{
	bool any = false;

	for (size_t i = 0; i < sum->n_funcs; i++) {
		const struct fsc_sampled *s = &sum->funcs[i].sampled;

		if (!s->windows)
			continue;
		fsc_buf_puts(b, any ? ",{\"function\":" : ",\"demoted\":[{\"function\":");
		any = true;
		fsc_fmt_json(b, sum->funcs[i].name);
		fsc_buf_printf(b, ",\"windows\":%u,\"armed_percent\":%.3f", s->windows,
			       s->armed_percent);
		fsc_buf_printf(b, ",\"estimated_calls\":%.0f,\"estimate\":\"%s\"", s->calls,
			       s->at_least ? "more than" : "about");
		fsc_buf_putc(b, '}');
	}
	fsc_buf_puts(b, any ? "]" : "");
}

static void add_records_lost(const struct fsc_summary *sum, struct fsc_buf *b)
{
	bool any = false;

	for (size_t i = 0; i < sum->n_funcs; i++) {
		if (!sum->funcs[i].records_lost)
			continue;
		fsc_buf_puts(b, any ? ",{\"function\":" : ",\"records_lost\":[{\"function\":");
		any = true;
		fsc_fmt_json(b, sum->funcs[i].name);
		add_number(b, "count", sum->funcs[i].records_lost);
		fsc_buf_putc(b, '}');
	}
	fsc_buf_puts(b, any ? "]" : "");
}

static void add_cost(const struct fsc_summary *sum, struct fsc_buf *b)
{
	fsc_buf_puts(b, ",\"cost\":{\"ns_per_hit\":");
	if (sum->cost_known)
		fsc_buf_printf(b, "%.1f", sum->ns_per_hit);
	else
		fsc_buf_puts(b, "null");
	fsc_buf_puts(b, ",\"percent\":");
	if (sum->share_known)
		fsc_buf_printf(b, "%.3f", sum->percent);
	else
		fsc_buf_puts(b, "null");
	add_string(b, "of", sum->share_of_machine ? "machine" : "target");
	fsc_buf_putc(b, '}');
}

static void add_scopes(const struct fsc_scope_books *p, struct fsc_buf *b)
{
	add_number(b, "processes", p->processes);
	add_number(b, "threads", p->threads);
	add_number(b, "left_open", p->left_open);
	if (p->open_name)
		add_string(b, "open", p->open_name);
	add_number(b, "backwards", p->backwards);
	add_number(b, "lost_threads", p->lost_threads);
	add_number(b, "lost_names", p->lost_names);
	add_number(b, "unseen", p->unseen);
	add_number(b, "torn", p->torn);
	add_number(b, "lapped", p->lapped);
	fsc_buf_puts(b, ",\"clock\":{\"name\":");
	fsc_fmt_json(b, p->clock);
	fsc_buf_printf(b, ",\"grade\":\"%c\",\"why\":", p->grade);
	if (p->why)
		fsc_fmt_json(b, p->why);
	else
		fsc_buf_puts(b, "null");
	fsc_buf_printf(b, ",\"tick_ns\":%.6f,\"step_ns\":%.3f,\"empty_ns\":%.3f,\"taken_out\":%s}",
		       p->tick_ns, p->step_ns, p->empty_ns, p->raw ? "false" : "true");
}

static void add_bystanders(const struct fsc_summary *sum, struct fsc_buf *b)
{
	const struct fsc_bystanders *by = &sum->bystanders;

	if (!by->known)
		return;
	fsc_buf_printf(b, ",\"bystanders\":{\"hits\":%llu,\"processes\":%zu",
		       (unsigned long long)by->hits, by->processes);
	if (by->partly)
		add_number(b, "partly_watched", by->partly);
	if (sum->cost_known)
		fsc_buf_printf(b, ",\"ns\":%.0f", sum->ns_per_hit * (double)by->hits);
	fsc_buf_putc(b, '}');
}

static void summary(struct fsc_sink *s, const struct fsc_summary *sum, struct fsc_buf *b)
{
	(void)s;
	fsc_buf_puts(b, "{\"type\":\"summary\"");
	add_number(b, "seen", sum->seen);
	add_number(b, "kept", sum->kept);
	add_named(b, "lost", sum->lost);
	add_number(b, "missed", sum->missed);
	if (sum->timed)
		add_number(b, "unmatched_returns", sum->unmatched);
	if (sum->frames_known) {
		add_number(b, "frames", sum->frames);
		add_number(b, "unknown_frames", sum->unknown_frames);
		add_number(b, "truncated", sum->truncated);
	}
	if (sum->returns_lost)
		add_number(b, "returns_lost", sum->returns_lost);
	if (sum->unwatched)
		add_number(b, "unwatched", sum->unwatched);
	if (sum->stacks_lost)
		add_number(b, "stacks_lost", sum->stacks_lost);
	if (sum->late)
		add_number(b, "late", sum->late);
	if (sum->filtered)
		add_number(b, "filtered", sum->filtered);
	if (sum->sampled_out)
		add_number(b, "sampled_out", sum->sampled_out);
	if (sum->scopes.known)
		add_scopes(&sum->scopes, b);
	add_number(b, "unfollowed", sum->unfollowed);
	add_number(b, "functions", sum->functions);
	add_number(b, "attached", sum->attached);
	add_number(b, "places", sum->places);
	add_refused(sum, b);
	add_number(b, "shifted", sum->shifted);
	add_sampled(sum, b);
	add_records_lost(sum, b);
	add_named(b, "via", sum->via);
	fsc_buf_printf(b, ",\"duration_s\":%.6f", sum->duration_s);
	add_cost(sum, b);
	add_bystanders(sum, b);
	fsc_buf_puts(b, "}\n");
}

const struct fsc_sink_ops fsc_sink_json = {
    .name = "json",
    .what = "one object per line",
    .profile = profile,
    .latency = fsc_json_latency,
    .stacks = fsc_json_stacks,
    .call = fsc_json_call,
    .diff = fsc_json_diff,
    .report = fsc_json_report,
    .gpu_event = fsc_json_gpu_event,
    .gpu_report = fsc_json_gpu_report,
    .summary = summary,
};
