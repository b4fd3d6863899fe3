/* funcscope list: what a probe would match, without attaching anything. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "cmd/explain.h"
#include "cmd/probes.h"
#include "sink/sink.h"

struct list_opts {
	int format;
	bool verbose;
};

static const char *const format_names[] = {"text", "json", NULL};

static const struct fsc_opt list_opts[] = {
    {'f', "format", FSC_OPT_CHOICE, offsetof(struct list_opts, format), "FORMAT", "output",
     format_names},
    {'v', "verbose", FSC_OPT_FLAG, offsetof(struct list_opts, verbose), NULL,
     "with arguments, the place of the probe and its cost", NULL},
    {0},
};

/* Where the place is: an address of the kernel, an offset in a file, the number of an event. */
static void add_where(const struct fsc_target *t, struct fsc_buf *b)
{
	if (t->site == FSC_SITE_TRACEPOINT)
		fsc_buf_printf(b, "%d", t->event_id);
	else
		fsc_buf_printf(b, "%#" PRIx64, t->addr + t->offset);
}

static void add_text(const struct fsc_target *t, const struct fsc_target_row *r, struct fsc_buf *b)
{
	struct fsc_buf where = {0};

	add_where(t, &where);
	fsc_buf_printf(b, "%-10s  %-18s  ", r->kind, fsc_buf_str(&where));
	fsc_buf_release(&where);
	fsc_fmt_term(b, r->binary);
	fsc_buf_putc(b, ':');
	fsc_fmt_term(b, r->symbol ? r->symbol : r->name);
	if (r->symbol) {
		fsc_buf_puts(b, "  ");
		fsc_fmt_term(b, r->name);
	}
	if (t->aliases) {
		fsc_buf_puts(b, "  = ");
		fsc_fmt_term(b, t->aliases);
	}
	fsc_buf_putc(b, '\n');
}

static void add_json(const struct fsc_target *t, const struct fsc_target_row *r, struct fsc_buf *b)
{
	fsc_json_line(b, "probe");
	fsc_json_string(b, "kind", r->kind);
	fsc_json_string(b, "binary", r->binary);
	fsc_json_string(b, "function", r->name);
	fsc_json_string_if(b, "symbol", r->symbol);
	fsc_json_string_if(b, "aliases", t->aliases);
	/* A JSON number cannot hold all 64 bits of an address: a string. */
	if (t->site == FSC_SITE_KERNEL)
		fsc_json_printf(b, "address", "\"%#" PRIx64 "\"", t->addr + t->offset);
	else if (t->site == FSC_SITE_TRACEPOINT)
		fsc_json_uint(b, "event_id", (uint64_t)t->event_id);
	else
		fsc_json_uint(b, "offset", t->offset);
	if (t->site == FSC_SITE_USER)
		fsc_json_bool(b, "nop5", t->nop5);
}

/* A function that matches but would not be probed, and why. */
static void add_skipped(const struct fsc_skipped *k, int format, struct fsc_buf *b)
{
	if (!format) {
		fsc_buf_printf(b, "%-10s  %-18s  ", "refused", "-");
		fsc_fmt_term(b, k->name);
		fsc_buf_puts(b, ": ");
		fsc_fmt_term(b, k->why);
		fsc_buf_putc(b, '\n');
		return;
	}
	fsc_json_line(b, "refused");
	fsc_json_string(b, "function", k->name);
	fsc_json_string(b, "why", k->why);
	fsc_json_line_end(b);
}

/* e: NULL without -v. */
static int add_target(const struct fsc_targets *t, size_t i, int format, struct fsc_explainer *e,
		      struct fsc_buf *b, struct fsc_err *err)
{
	const struct fsc_target *at = fsc_targets_at(t, i);
	int rc = 0;

	if (!format) {
		add_text(at, fsc_targets_row(t, at->row), b);
		return e ? fsc_explain_text(e, i, b, err) : 0;
	}
	add_json(at, fsc_targets_row(t, at->row), b);
	if (e)
		rc = fsc_explain_json(e, i, b, err);
	fsc_json_line_end(b);
	return rc;
}

static int print_targets(struct fsc_targets *t, const struct list_opts *lo, struct fsc_err *err)
{
	struct fsc_explainer *e = NULL;
	struct fsc_buf b = {0};
	int rc = lo->verbose ? fsc_explainer_new(t, &e, err) : 0;

	if (!lo->format)
		fsc_buf_puts(
		    &b, "KIND        WHERE               BINARY:SYMBOL  DEMANGLED  = ALIASES\n");
	for (size_t i = 0; !rc && i < fsc_targets_count(t); i++)
		rc = add_target(t, i, lo->format, e, &b, err);
	for (size_t i = 0; i < t->skipped.n; i++)
		add_skipped(FSC_AT(struct fsc_skipped, &t->skipped, i), lo->format, &b);
	fsc_explainer_free(e);
	if (!rc)
		return fsc_sink_print(stdout, &b, err);
	fsc_buf_release(&b);
	return rc;
}

static int list_targets(int argc, char **argv, struct fsc_probe_opts *po, struct fsc_vec *pids,
			struct fsc_targets *t, struct fsc_err *err)
{
	struct list_opts lo = {0};
	const struct fsc_opt_set sets[] = {{fsc_probe_opts, po}, {list_opts, &lo}, {NULL, NULL}};
	int n, rc = fsc_opt_parse(sets, argc, argv, &n, err);

	if (!rc && !n)
		rc = fsc_err_usage(err, "no probe given; try: funcscope list 'c:pthread_*'");
	if (!rc)
		rc = fsc_probes_pids(&po->pids, pids, err);
	if (!rc)
		rc = fsc_probes_resolve(argv + 1, n, po,
					&(struct fsc_scope){.pids = pids->data, .n_pids = pids->n},
					t, err);
	return rc ? rc : print_targets(t, &lo, err);
}

static int run_list(int argc, char **argv, char **command, struct fsc_err *err)
{
	struct fsc_probe_opts po = FSC_PROBE_OPTS_INIT;
	struct fsc_vec pids = FSC_VEC_INIT(pid_t);
	struct fsc_targets t;
	int rc;

	if (command)
		return fsc_err_usage(
		    err, "list does not run a command; leave out '--' and what follows");
	fsc_targets_init(&t);
	rc = list_targets(argc, argv, &po, &pids, &t, err);
	fsc_targets_release(&t);
	fsc_vec_release(&pids);
	fsc_probe_opts_release(&po);
	return rc;
}

const struct fsc_cmd fsc_cmd_list = {
    .name = "list",
    .summary = "show what a probe would match",
    .operands = "PROBE...",
    .example = "funcscope list 'libcrypto:EVP_*' -x 'EVP_PKEY_*'",
    .opts = (const struct fsc_opt *const[]){fsc_probe_opts, list_opts, NULL},
    .run = run_list,
};
