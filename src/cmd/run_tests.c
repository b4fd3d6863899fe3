/* Tests and measurements of scripts. */
#include "cmd/run_tests.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fmt.h"

static const struct fsc_plan_prog *next_of(const struct fsc_run_events *e, enum fsc_point_kind kind,
					   size_t *at)
{
	for (; *at < e->plan->n_progs; ++*at)
		if (e->plan->progs[*at].kind == kind)
			return &e->plan->progs[*at];
	return NULL;
}

static const char *name_of(const struct fsc_plan_prog *p)
{
	return p->n_points && p->points[0]->func ? p->points[0]->func : p->title;
}

static void add_line(struct fsc_buf *b, const char *head, const char *name)
{
	fsc_buf_puts(b, head);
	fsc_fmt_term(b, name);
}

/* What the test prints comes before its verdict. */
static int run_test(struct fsc_run_events *e, size_t prog, bool *ret_failed, struct fsc_err *err)
{
	const char *name = name_of(&e->plan->progs[prog]);
	uint64_t errors = e->errors, start;
	struct fsc_buf b = {0};
	uint32_t result = 0;
	int rc;

	add_line(&b, "[ RUN      ] ", name);
	fsc_buf_putc(&b, '\n');
	rc = fsc_run_events_write(e, e->out, &b, err);
	start = fsc_clock_mono();
	if (!rc)
		rc = fsc_script_run_one(e->script, prog, &result, err);
	if (!rc)
		rc = fsc_run_events_drain(e, true, err);
	if (rc)
		return rc;
	*ret_failed = result || e->errors != errors;
	add_line(&b, *ret_failed ? "[  FAILED  ] " : "[       OK ] ", name);
	fsc_buf_puts(&b, " (");
	fsc_fmt_ns(&b, (double)(fsc_clock_mono() - start));
	fsc_buf_puts(&b, ")\n");
	return fsc_run_events_write(e, e->out, &b, err);
}

int fsc_run_tests(struct fsc_run_events *e, size_t *ret_failed, struct fsc_err *err)
{
	struct fsc_buf failures = {0}, b = {0};
	size_t n = 0, at = 0;
	int rc = 0;

	*ret_failed = 0;
	for (; !rc && next_of(e, FSC_POINT_TEST, &at); at++) {
		bool failed = false;

		rc = run_test(e, at, &failed, err);
		n++;
		*ret_failed += failed;
		if (!failed)
			continue;
		add_line(&failures, "[  FAILED  ] ", name_of(&e->plan->progs[at]));
		fsc_buf_putc(&failures, '\n');
	}
	fsc_buf_printf(&b, "[==========] %zu test%s ran.\n[  PASSED  ] %zu test%s.\n", n,
		       n == 1 ? "" : "s", n - *ret_failed, n - *ret_failed == 1 ? "" : "s");
	fsc_buf_puts(&b, fsc_buf_str(&failures));
	fsc_buf_release(&failures);
	if (!rc)
		return fsc_run_events_write(e, e->out, &b, err);
	fsc_buf_release(&b);
	return rc;
}

/* Events of all runs are carried out after them. */
int fsc_run_benches(struct fsc_run_events *e, struct fsc_err *err)
{
	bool first = true;
	size_t at = 0;
	int rc = 0;

	for (; !rc && next_of(e, FSC_POINT_BENCH, &at); at++) {
		uint64_t runs = 0, ns = 0;
		struct fsc_buf b = {0};

		rc = fsc_script_bench(e->script, at, &runs, &ns, err);
		if (rc)
			return rc;
		e->sink->bench(name_of(&e->plan->progs[at]), ns, runs, first, &b);
		first = false;
		rc = fsc_run_events_write(e, e->out, &b, err);
	}
	return rc;
}
