/* Arguments come from the same sources as those of `trace`: type information of functions, formats
 * of tracepoints, notes of USDT probes. */
#include "cmd/explain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fmt.h"
#include "base/json.h"
#include "base/log.h"
#include "cmd/signatures.h"
#include "engine/session.h"
#include "kernel/tpformat.h"
#include "kernel/tracefs.h"
#include "probe/usdtargs.h"
#include "source/live.h"

enum { TYPE_DEPTH = 0 };

struct fsc_explainer {
	struct fsc_targets *targets;
	struct fsc_types types;
	struct fsc_signature *sigs; /* per place */
	struct fsc_session *session;
	struct fsc_live *live; /* NULL: costs cannot be measured */
	int tracefs;
};

/* One argument, as text that is not escaped yet. */
struct argument {
	const char *name;
	struct fsc_buf type;
};

void fsc_explainer_free(struct fsc_explainer *e)
{
	if (!e)
		return;
	fsc_live_free(e->live);
	fsc_session_free(e->session);
	fsc_types_release(&e->types);
	fsc_closep(&e->tracefs);
	free(e->sigs);
	free(e);
}

/* Without the right to load programs nothing is measured. */
static int measure_costs(struct fsc_explainer *e, struct fsc_err *err)
{
	const struct fsc_session_opts so = {.mode = FSC_MODE_COUNT};
	struct fsc_err why = {0};
	int rc = fsc_session_open(e->targets, &so, &e->session, &why);

	if (!rc)
		rc = fsc_live_new(e->session, e->targets, 0, &e->live, &why);
	if (!rc)
		fsc_live_calibrate(e->live);
	else
		fsc_log(FSC_LOG_DEBUG, "what a hit costs is not measured: %s", why.msg);
	return rc == -ENOMEM ? fsc_err_nomem(err) : 0;
}

int fsc_explainer_new(struct fsc_targets *targets, struct fsc_explainer **ret, struct fsc_err *err)
{
	struct fsc_explainer *e = calloc(1, sizeof(*e));
	int rc;

	if (!e)
		return fsc_err_nomem(err);
	e->targets = targets;
	e->tracefs = -1;
	fsc_types_init(&e->types, TYPE_DEPTH);
	e->sigs = calloc(fsc_targets_count(targets) + 1, sizeof(*e->sigs));
	rc = e->sigs ? fsc_signatures_find(targets, &e->types, e->sigs, err) : fsc_err_nomem(err);
	if (!rc)
		rc = measure_costs(e, err);
	if (rc)
		fsc_explainer_free(e);
	else
		*ret = e;
	return rc;
}

/* ---- arguments ---- */

typedef int (*argument_fn)(const char *name, const char *type, void *arg, struct fsc_err *err);

static int each_param(const struct fsc_explainer *e, size_t place, argument_fn fn, void *arg,
		      struct fsc_err *err)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf type = {0};
	const struct fsc_signature *sig = &e->sigs[place];
	int rc = 0;

	for (size_t i = 0; !rc && i < sig->n_params; i++) {
		fsc_buf_clear(&type);
		fsc_type_name(&type, sig->params[i].type);
		rc = fsc_buf_failed(&type) ? fsc_err_nomem(err)
					   : fn(sig->params[i].name, fsc_buf_str(&type), arg, err);
	}
	return rc;
}

static int each_usdt(const struct fsc_target *t, argument_fn fn, void *arg, struct fsc_err *err)
{
	unsigned n = fsc_usdt_args_count(t->usdt_args);
	int rc = 0;

	for (unsigned i = 1; !rc && i <= n; i++) {
		struct fsc_usdt_arg a;
		char name[16], type[32] = "unreadable";

		snprintf(name, sizeof(name), "arg%u", i);
		if (!fsc_usdt_arg_parse(t->usdt_args, FSC_USDT_HOST, i, &a, NULL))
			snprintf(type, sizeof(type), "%sint%u_t", a.is_signed ? "" : "u",
				 a.size * 8);
		rc = fn(name, type, arg, err);
	}
	return rc;
}

static int each_field(struct fsc_explainer *e, const struct fsc_target *t, argument_fn fn,
		      void *arg, struct fsc_err *err)
{
	FSC_AUTO(fsc_vec_release) struct fsc_vec fields = FSC_VEC_INIT(struct fsc_tp_field);
	const struct fsc_target_row *row = fsc_targets_row(e->targets, t->row);
	int rc = 0;

	if (e->tracefs < 0)
		e->tracefs = fsc_tracefs_open(err);
	if (e->tracefs < 0)
		return e->tracefs;
	rc = fsc_tracepoint_fields(e->tracefs, row->binary, row->name, &fields, err);
	for (size_t i = 0; !rc && i < fields.n; i++) {
		const struct fsc_tp_field *f = FSC_AT(struct fsc_tp_field, &fields, i);

		if (strncmp(f->name, "common_", 7) && strcmp(f->name, "__syscall_nr"))
			rc = fn(f->name, f->decl, arg, err);
	}
	return rc;
}

static int each_argument(struct fsc_explainer *e, size_t place, argument_fn fn, void *arg,
			 struct fsc_err *err)
{
	const struct fsc_target *t = fsc_targets_at(e->targets, place);

	if (t->site == FSC_SITE_TRACEPOINT)
		return each_field(e, t, fn, arg, err);
	return t->usdt_args ? each_usdt(t, fn, arg, err) : each_param(e, place, fn, arg, err);
}

/* ---- the rest ---- */

/* ns; negative: not known. */
static double cost_of(const struct fsc_explainer *e, size_t place)
{
	double ns =
	    e->live ? fsc_live_row_cost(e->live, fsc_targets_at(e->targets, place)->row) : -1;

	return ns > 0 ? ns : -1;
}

static uint64_t sits_at(const struct fsc_target *t)
{
	return t->site == FSC_SITE_USER && t->body ? t->body : t->offset;
}

static const char *how_hit(const struct fsc_target *t)
{
	if (t->site == FSC_SITE_TRACEPOINT)
		return "by the kernel's own call";
	if (t->site == FSC_SITE_KERNEL)
		return "";
	return t->stepped ? "its instruction is single-stepped" : "its instruction is emulated";
}

/* ---- text ---- */

static int put_argument(const char *name, const char *type, void *arg, struct fsc_err *err)
{
	struct fsc_buf *b = arg;

	(void)err;
	fsc_buf_puts(b, "            ");
	fsc_fmt_term(b, type);
	if (name) {
		fsc_buf_putc(b, ' ');
		fsc_fmt_term(b, name);
	}
	fsc_buf_putc(b, '\n');
	return 0;
}

static void put_place(const struct fsc_target *t, struct fsc_buf *b)
{
	if (t->site != FSC_SITE_USER)
		return;
	fsc_buf_printf(b, "            probe at %#" PRIx64 "%s; %s\n", sits_at(t),
		       sits_at(t) > t->offset ? ", behind no-operations" : "", how_hit(t));
}

int fsc_explain_text(struct fsc_explainer *e, size_t place, struct fsc_buf *b, struct fsc_err *err)
{
	const struct fsc_target *t = fsc_targets_at(e->targets, place);
	const struct fsc_signature *sig = &e->sigs[place];
	double ns = cost_of(e, place);
	int rc = each_argument(e, place, put_argument, b, err);

	if (rc)
		return rc;
	if (sig->found && sig->ret->kind != FSC_TYPE_VOID) {
		fsc_buf_puts(b, "            returns ");
		fsc_type_name(b, sig->ret);
		fsc_buf_putc(b, '\n');
	} else if (!sig->found && t->site != FSC_SITE_TRACEPOINT && !t->usdt_args && t->at_entry) {
		fsc_buf_puts(b, "            no types: neither debug information nor BTF\n");
	}
	put_place(t, b);
	if (ns > 0) {
		fsc_buf_puts(b, "            a hit costs ");
		fsc_fmt_ns(b, ns);
		fsc_buf_putc(b, '\n');
	}
	return 0;
}

/* ---- JSON ---- */

static int add_argument(const char *name, const char *type, void *arg, struct fsc_err *err)
{
	struct fsc_buf *b = arg;

	(void)err;
	fsc_json_begin(b, NULL, '{');
	fsc_json_string_if(b, "name", name);
	fsc_json_string(b, "type", type);
	fsc_json_end(b, '}');
	return 0;
}

int fsc_explain_json(struct fsc_explainer *e, size_t place, struct fsc_buf *b, struct fsc_err *err)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf type = {0};
	const struct fsc_target *t = fsc_targets_at(e->targets, place);
	const struct fsc_signature *sig = &e->sigs[place];
	double ns = cost_of(e, place);
	int rc;

	fsc_json_begin(b, "args", '[');
	rc = each_argument(e, place, add_argument, b, err);
	fsc_json_end(b, ']');
	if (sig->found) {
		fsc_type_name(&type, sig->ret);
		fsc_json_buf(b, "returns", &type);
	}
	if (t->site == FSC_SITE_USER) {
		fsc_json_uint(b, "probe_offset", sits_at(t));
		fsc_json_bool(b, "stepped", t->stepped);
	}
	if (ns > 0)
		fsc_json_printf(b, "hit_ns", "%.1f", ns);
	return rc;
}
