/* For spreadsheets: a header line, then one line per count. The books go to stderr: a table has no
 * place for them. */
#include "sink/sink.h"

#include "base/fmt.h"

static void header(struct fsc_sink *s, const struct fsc_profile *p, struct fsc_buf *b)
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
		if (p->by & keys[i].by)
			fsc_buf_puts(b, keys[i].name);
	fsc_buf_puts(b, "count\n");
}

static void keys(const struct fsc_profile *p, const struct fsc_count *c, struct fsc_buf *b)
{
	if (p->by & FSC_BY_CGROUP) {
		if (c->cgroup_path)
			fsc_fmt_csv(b, c->cgroup_path);
		else
			fsc_buf_printf(b, "%llu", (unsigned long long)c->cgroup);
		fsc_buf_putc(b, ',');
	}
	if (p->by & FSC_BY_COMM) {
		fsc_fmt_csv(b, c->comm);
		fsc_buf_putc(b, ',');
	}
	if (p->by & FSC_BY_PID)
		fsc_buf_printf(b, "%u,", c->pid);
	if (p->by & FSC_BY_TID)
		fsc_buf_printf(b, "%u,", c->tid);
	if (p->by & FSC_BY_CPU)
		fsc_buf_printf(b, "%u,", c->cpu);
}

static void profile(struct fsc_sink *s, const struct fsc_profile *p, struct fsc_buf *b)
{
	if (!s->begun)
		header(s, p, b);
	s->begun = true;
	for (size_t i = 0; i < p->counts.n; i++) {
		const struct fsc_count *c = FSC_AT(struct fsc_count, &p->counts, i);
		const struct fsc_func *f = &p->funcs[c->func];

		if (s->timestamps || s->intervals)
			fsc_buf_printf(b, "%llu,", (unsigned long long)p->time_ns);
		fsc_buf_printf(b, "%s,", f->kind);
		fsc_fmt_csv(b, f->binary);
		fsc_buf_putc(b, ',');
		fsc_fmt_csv(b, f->name);
		fsc_buf_putc(b, ',');
		keys(p, c, b);
		fsc_buf_printf(b, "%llu\n", (unsigned long long)c->count);
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
    .summary = summary,
};
