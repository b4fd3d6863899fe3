/* For spreadsheets: a header line, then one line per count. The books go to stderr, since they are
 * not rows of the table. */
#include "sink/sink.h"

#include "base/fmt.h"
#include "sink/stacks.h"

void fsc_csv_field(struct fsc_buf *b, const char *text)
{
	fsc_fmt_csv(b, text);
	fsc_buf_putc(b, ',');
}

void fsc_csv_names(const char *kind, const char *binary, const char *function, struct fsc_buf *b)
{
	fsc_csv_field(b, kind);
	fsc_csv_field(b, binary);
	fsc_csv_field(b, function);
}

static void add_header(struct fsc_sink *s, uint32_t by, const char *rest, struct fsc_buf *b)
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

static void add_keys(uint32_t by, const struct fsc_count *c, struct fsc_buf *b)
{
	if (by & FSC_BY_CGROUP) {
		if (c->cgroup_path)
			fsc_csv_field(b, c->cgroup_path);
		else
			fsc_buf_printf(b, "%llu,", (unsigned long long)c->cgroup);
	}
	if (by & FSC_BY_COMM)
		fsc_csv_field(b, c->comm);
	if (by & FSC_BY_PID)
		fsc_buf_printf(b, "%u,", c->pid);
	if (by & FSC_BY_TID)
		fsc_buf_printf(b, "%u,", c->tid);
	if (by & FSC_BY_CPU)
		fsc_buf_printf(b, "%u,", c->cpu);
}

static void begin_line(const struct fsc_sink *s, uint64_t time_ns, const struct fsc_func *f,
		       struct fsc_buf *b)
{
	if (s->timestamps || s->intervals)
		fsc_buf_printf(b, "%llu,", (unsigned long long)time_ns);
	fsc_csv_names(f->kind, f->binary, f->name, b);
}

void fsc_csv_cost(double hits, double hit_ns, struct fsc_buf *b)
{
	if (hit_ns > 0)
		fsc_buf_printf(b, "%.0f", hits * hit_ns);
}

static void csv_profile(struct fsc_sink *s, const struct fsc_profile *p, struct fsc_buf *b)
{
	if (!s->begun)
		add_header(s, p->by, s->cost ? "count,cost_ns\n" : "count\n", b);
	s->begun = true;
	for (size_t i = 0; i < p->counts.n; i++) {
		const struct fsc_count *c = FSC_AT(struct fsc_count, &p->counts, i);

		begin_line(s, p->time_ns, &p->funcs[c->func], b);
		add_keys(p->by, c, b);
		fsc_buf_printf(b, "%llu", (unsigned long long)c->count);
		fsc_buf_puts(b, s->cost ? "," : "");
		if (s->cost)
			fsc_csv_cost((double)c->count, p->funcs[c->func].hit_ns, b);
		fsc_buf_putc(b, '\n');
	}
}

/* Empty where it cannot be told from the cost of the probes. Values measured in ticks have
 * decimals.
 */
static void add_value(struct fsc_buf *b, const struct fsc_latency *l, double ns)
{
	if (fsc_latency_tells(l, ns, 1))
		fsc_buf_printf(b, ",%.*f", l->ticks.ns ? 3 : 0, ns);
	else
		fsc_buf_putc(b, ',');
}

static void add_sum(struct fsc_buf *b, const struct fsc_latency *l, double ns)
{
	fsc_buf_putc(b, ',');
	if (fsc_latency_tells(l, ns, (double)l->slot->count))
		fsc_buf_printf(b, "%.0f", ns);
}

static void csv_latency(struct fsc_sink *s, const struct fsc_latencies *l, struct fsc_buf *b)
{
	static const double q[] = {0.5, 0.9, 0.99, 0.999};

	if (!s->begun)
		add_header(
		    s, l->by,
		    "count,total_ns,min_ns,avg_ns,max_ns,stddev_ns,p50_ns,p90_ns,p99_ns,p999_ns,"
		    "self_total_ns,off_cpu_ns,slow,floor_ns",
		    b);
	if (!s->begun)
		fsc_buf_puts(b, s->cost ? ",cost_ns\n" : "\n");
	s->begun = true;
	for (size_t i = 0; i < l->rows.n; i++) {
		const struct fsc_latency *row = FSC_AT(struct fsc_latency, &l->rows, i);
		const struct fsc_slot *m = row->slot;

		begin_line(s, l->time_ns, &l->funcs[row->key.func], b);
		add_keys(l->by, &row->key, b);
		fsc_buf_printf(b, "%llu", (unsigned long long)m->count);
		add_sum(b, row, fsc_latency_total(row));
		add_value(b, row, fsc_latency_ns(row, (double)fsc_slot_min(m)));
		add_value(b, row, fsc_latency_average(row));
		add_value(b, row, fsc_latency_ns(row, (double)m->max));
		fsc_buf_printf(b, ",%.*f", row->ticks.ns ? 3 : 0, fsc_latency_stddev(row));
		for (size_t k = 0; k < sizeof(q) / sizeof(q[0]); k++)
			add_value(b, row, fsc_latency_ns(row, fsc_slot_quantile(m, q[k])));
		if (l->parts.self)
			add_sum(b, row, (double)m->self_total);
		else
			fsc_buf_printf(b, ",%llu", (unsigned long long)m->self_total);
		fsc_buf_printf(b, ",%llu,%llu,%.0f", (unsigned long long)m->off_total,
			       (unsigned long long)m->slow, row->floor_ns);
		fsc_buf_puts(b, s->cost ? "," : "");
		if (s->cost)
			fsc_csv_cost((double)m->count, row->hit_ns, b);
		fsc_buf_putc(b, '\n');
	}
}

const struct fsc_sink_ops fsc_sink_csv = {
    .name = "csv",
    .what = "comma-separated values; the books go to stderr",
    .summary_aside = true,
    .profile = csv_profile,
    .latency = csv_latency,
    .stacks = fsc_csv_stacks,
    .call = fsc_csv_call,
    .diff = fsc_csv_diff,
};
