/* For programs: one object per line, the summary last. */
#include "sink/sink.h"

#include "base/fmt.h"

static void add_string(struct fsc_buf *b, const char *key, const char *value)
{
	fsc_buf_printf(b, ",\"%s\":", key);
	fsc_fmt_json(b, value);
}

static void add_number(struct fsc_buf *b, const char *key, uint64_t value)
{
	fsc_buf_printf(b, ",\"%s\":%llu", key, (unsigned long long)value);
}

static void add_keys(const struct fsc_profile *p, const struct fsc_count *c, struct fsc_buf *b)
{
	if (p->by & FSC_BY_COMM)
		add_string(b, "comm", c->comm);
	if (p->by & FSC_BY_PID)
		add_number(b, "pid", c->pid);
	if (p->by & FSC_BY_TID)
		add_number(b, "tid", c->tid);
	if (p->by & FSC_BY_CPU)
		add_number(b, "cpu", c->cpu);
	if (!(p->by & FSC_BY_CGROUP))
		return;
	add_number(b, "cgroup_id", c->cgroup);
	if (c->cgroup_path)
		add_string(b, "cgroup", c->cgroup_path);
}

static void profile(struct fsc_sink *s, const struct fsc_profile *p, struct fsc_buf *b)
{
	for (size_t i = 0; i < p->counts.n; i++) {
		const struct fsc_count *c = FSC_AT(struct fsc_count, &p->counts, i);
		const struct fsc_func *f = &p->funcs[c->func];

		fsc_buf_puts(b, "{\"type\":\"count\"");
		if (s->timestamps || s->intervals)
			add_number(b, "time_ns", p->time_ns);
		add_string(b, "kind", f->kind);
		add_string(b, "binary", f->binary);
		add_string(b, "function", f->name);
		if (f->symbol)
			add_string(b, "symbol", f->symbol);
		add_keys(p, c, b);
		add_number(b, "count", c->count);
		fsc_buf_puts(b, "}\n");
	}
}

static void add_named(struct fsc_buf *b, const char *key, const struct fsc_named *n)
{
	fsc_buf_printf(b, ",\"%s\":{", key);
	for (size_t i = 0; n[i].name; i++)
		fsc_buf_printf(b, "%s\"%s\":%llu", i ? "," : "", n[i].name,
			       (unsigned long long)n[i].n);
	fsc_buf_putc(b, '}');
}

static void add_refused(const struct fsc_summary *sum, struct fsc_buf *b)
{
	add_number(b, "refused", sum->n_refused);
	fsc_buf_puts(b, ",\"refused_functions\":[");
	for (size_t i = 0; i < sum->n_refused; i++) {
		fsc_buf_puts(b, i ? ",{\"function\":" : "{\"function\":");
		fsc_fmt_json(b, sum->refused[i].function);
		add_string(b, "why", sum->refused[i].why);
		fsc_buf_putc(b, '}');
	}
	fsc_buf_putc(b, ']');
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

static void summary(struct fsc_sink *s, const struct fsc_summary *sum, struct fsc_buf *b)
{
	(void)s;
	fsc_buf_puts(b, "{\"type\":\"summary\"");
	add_number(b, "seen", sum->seen);
	add_number(b, "kept", sum->kept);
	add_named(b, "lost", sum->lost);
	add_number(b, "missed", sum->missed);
	add_number(b, "unfollowed", sum->unfollowed);
	add_number(b, "functions", sum->functions);
	add_number(b, "attached", sum->attached);
	add_number(b, "places", sum->places);
	add_refused(sum, b);
	add_number(b, "shifted", sum->shifted);
	add_named(b, "via", sum->via);
	fsc_buf_printf(b, ",\"duration_s\":%.6f", sum->duration_s);
	add_cost(sum, b);
	fsc_buf_puts(b, "}\n");
}

const struct fsc_sink_ops fsc_sink_json = {
    .name = "json",
    .what = "one object per line",
    .profile = profile,
    .summary = summary,
};
