/* For spreadsheets: a header line, then one line per count. The books go to stderr: a table has no
 * place for them. */
#include "sink/sink.h"

#include "base/fmt.h"
#include "sink/stacks.h"

static void header(struct fsc_sink *s, uint32_t by, const char *rest, struct fsc_buf *b)
{
	static const struct {
		uint32_t by;
		const char *name;
	} keys[] = {{FSC_BY_CGROUP, "cgroup,"},
		    {FSC_BY_COMM, "comm,"},
		    {FSC_BY_PID, "pid,"},
		    {FSC_BY_TID, "tid,"},
		    {FSC_BY_CPU, "cpu,"}};

	if (s->timestamps || s->intervals)
		fsc_buf_puts(b, "time_ns,");
	fsc_buf_puts(b, "kind,binary,function,");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (by & keys[i].by)
			fsc_buf_puts(b, keys[i].name);
	fsc_buf_puts(b, rest);
}

static void keys(uint32_t by, const struct fsc_count *c, struct fsc_buf *b)
{
	if (by & FSC_BY_CGROUP) {
		if (c->cgroup_path)
			fsc_fmt_csv(b, c->cgroup_path);
		else
			fsc_buf_printf(b, "%llu", (unsigned long long)c->cgroup);
		fsc_buf_putc(b, ',');
	}
	if (by & FSC_BY_COMM) {
		fsc_fmt_csv(b, c->comm);
		fsc_buf_putc(b, ',');
	}
	if (by & FSC_BY_PID)
		fsc_buf_printf(b, "%u,", c->pid);
	if (by & FSC_BY_TID)
		fsc_buf_printf(b, "%u,", c->tid);
	if (by & FSC_BY_CPU)
		fsc_buf_printf(b, "%u,", c->cpu);
}

/* What every line begins with. */
static void begin_line(const struct fsc_sink *s, uint64_t time_ns, const struct fsc_func *f,
		       struct fsc_buf *b)
{
	if (s->timestamps || s->intervals)
		fsc_buf_printf(b, "%llu,", (unsigned long long)time_ns);
	fsc_buf_printf(b, "%s,", f->kind);
	fsc_fmt_csv(b, f->binary);
	fsc_buf_putc(b, ',');
	fsc_fmt_csv(b, f->name);
	fsc_buf_putc(b, ',');
}

static void profile(struct fsc_sink *s, const struct fsc_profile *p, struct fsc_buf *b)
{
	if (!s->begun)
		header(s, p->by, "count\n", b);
	s->begun = true;
	for (size_t i = 0; i < p->counts.n; i++) {
		const struct fsc_count *c = FSC_AT(struct fsc_count, &p->counts, i);

		begin_line(s, p->time_ns, &p->funcs[c->func], b);
		keys(p->by, c, b);
		fsc_buf_printf(b, "%llu\n", (unsigned long long)c->count);
	}
}

/* What was counted in ticks has decimals. */
static void value(struct fsc_buf *b, const struct fsc_latency *l, double ns)
{
	fsc_buf_printf(b, ",%.*f", l->ticks.ns ? 3 : 0, ns);
}

static void latency(struct fsc_sink *s, const struct fsc_latencies *l, struct fsc_buf *b)
{
	static const double q[] = {0.5, 0.9, 0.99, 0.999};

	if (!s->begun)
		header(s, l->by,
		       "count,total_ns,min_ns,avg_ns,max_ns,stddev_ns,p50_ns,p90_ns,p99_ns,p999_ns,"
		       "self_total_ns,off_cpu_ns,slow,floor_ns\n",
		       b);
	s->begun = true;
	for (size_t i = 0; i < l->rows.n; i++) {
		const struct fsc_latency *row = FSC_AT(struct fsc_latency, &l->rows, i);
		const struct fsc_slot *m = row->slot;

		begin_line(s, l->time_ns, &l->funcs[row->key.func], b);
		keys(l->by, &row->key, b);
		fsc_buf_printf(b, "%llu,%.0f", (unsigned long long)m->count,
			       fsc_latency_total(row));
		value(b, row, fsc_latency_ns(row, (double)fsc_slot_min(m)));
		value(b, row, fsc_latency_average(row));
		value(b, row, fsc_latency_ns(row, (double)m->max));
		value(b, row, fsc_latency_stddev(row));
		for (size_t k = 0; k < sizeof(q) / sizeof(q[0]); k++)
			value(b, row, fsc_latency_ns(row, fsc_slot_quantile(m, q[k])));
		fsc_buf_printf(b, ",%llu,%llu,%llu,%.0f\n", (unsigned long long)m->self_total,
			       (unsigned long long)m->off_total, (unsigned long long)m->slow,
			       row->floor_ns);
	}
}

static void summary(struct fsc_sink *s, const struct fsc_summary *sum, struct fsc_buf *b)
{
	(void)s;
	fsc_sink_books(sum, b);
}

const struct fsc_sink_ops fsc_sink_csv = {
    .name = "csv",
    .what = "comma-separated values; the books go to stderr",
    .summary_aside = true,
    .profile = profile,
    .latency = latency,
    .stacks = fsc_csv_stacks,
    .call = fsc_csv_call,
    .diff = fsc_csv_diff,
    .summary = summary,
};
