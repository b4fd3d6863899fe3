/* The requests of the control socket, one function each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "monitor/monitor_priv.h"

static const char *request_text(const json_t *request, const char *key)
{
	return json_string_value(json_object_get(request, key));
}

/* ---- questions ---- */

static void put_missing(const struct fsc_snoop_func *f, void *arg)
{
	struct fsc_buf *b = arg;

	fsc_json_line(b, "missing");
	fsc_json_string(b, "group", f->group);
	fsc_json_string(b, "function", f->name);
	fsc_json_string(b, "symbol", f->symbol);
	fsc_json_line_end(b);
}

static int answer_list(struct fsc_monitor *m, const json_t *request, struct fsc_buf *b,
		       struct fsc_err *err)
{
	size_t n;
	const struct fsc_func *funcs = fsc_hooks_funcs(m->hooks, &n);

	(void)request, (void)err;
	for (uint32_t i = 0; i < n; i++) {
		const struct fsc_snoop_func *e = fsc_hooks_entry(m->hooks, i);
		size_t places = e ? fsc_hooks_places(m->hooks, i) : 0;

		if (!places)
			continue;
		fsc_json_line(b, "function");
		fsc_json_function(&funcs[i], b);
		fsc_json_uint(b, "cookie", i + 1);
		fsc_json_uint(b, "places", places);
		fsc_json_real(b, "slow_ns", e->slow_ns, 0);
		fsc_json_uint(b, "sample", e->sample);
		if (fsc_throttle_is_detached(&m->throttle, i))
			fsc_json_bool(b, "detached", true);
		fsc_json_line_end(b);
	}
	fsc_hooks_missing(m->hooks, put_missing, b);
	return 0;
}

static int put_slow(struct fsc_monitor *m, struct fsc_sink *sink, struct fsc_buf *b,
		    struct fsc_err *err)
{
	struct fsc_vec slow = FSC_VEC_INIT(const struct fsc_noted_call *);
	size_t n;
	int rc = fsc_slow_list(m->slow, fsc_hooks_funcs(m->hooks, &n), -1, &slow, err);

	for (size_t i = 0; !rc && i < slow.n; i++)
		fsc_json_call(sink, (*FSC_AT(const struct fsc_noted_call *, &slow, i))->call, b);
	fsc_vec_release(&slow);
	return rc;
}

static int answer_stats(struct fsc_monitor *m, const json_t *request, struct fsc_buf *b,
			struct fsc_err *err)
{
	bool apart = json_is_true(json_object_get(request, "by_process"));
	struct fsc_sink sink = {.timestamps = true};
	struct fsc_tally total;
	struct fsc_summary books;
	int rc = fsc_ledger_total(m->ledger, apart, &total, err);

	if (rc)
		return rc;
	fsc_ledger_sort_errors(&total.errors, &total.calls);
	fsc_json_report(&sink,
			&(struct fsc_report){.calls = &total.calls,
					     .errors = total.errors.data,
					     .n_errors = total.errors.n,
					     .processes = fsc_processes_count(m->processes, false),
					     .whole = true},
			b);
	fsc_tally_release(&total);
	if (json_is_true(json_object_get(request, "slow")))
		rc = put_slow(m, &sink, b, err);
	if (!rc)
		rc = fsc_monitor_books(m, &books, err);
	if (!rc)
		fsc_sink_json.summary(&sink, &books, b);
	return rc;
}

static int answer_status(struct fsc_monitor *m, const json_t *request, struct fsc_buf *b,
			 struct fsc_err *err)
{
	(void)request, (void)err;
	fsc_json_line(b, "status");
	fsc_json_int(b, "pid", getpid());
	fsc_json_string(b, "config", m->config->path);
	fsc_json_bool(b, "config_ok", m->config_ok);
	fsc_json_uint(b, "reloads", m->reloads);
	fsc_json_uint(b, "failed_reloads", m->failed_reloads);
	if (m->reports_dropped)
		fsc_json_uint(b, "reports_dropped", m->reports_dropped);
	fsc_json_uint(b, "processes", fsc_processes_count(m->processes, false));
	fsc_json_uint(b, "slow_calls", fsc_slow_count(m->slow));
	fsc_json_uint(b, "clients", fsc_control_clients(m->control));
	fsc_json_uint(b, "dropped", fsc_control_dropped(m->control));
	fsc_json_uint(b, "refused", fsc_control_refused(m->control));
	fsc_json_uint(b, "timed_out", fsc_control_timed_out(m->control));
	fsc_json_uint(b, "page_refused", fsc_forward_refused(m->forward));
	fsc_json_line_end(b);
	return 0;
}

/* ---- changes ---- */

static struct fsc_snoop_func *find_func(struct fsc_snoop_config *c, const char *group,
					const char *name, size_t *ret)
{
	for (size_t i = 0; i < c->funcs.n; i++) {
		struct fsc_snoop_func *f = FSC_AT(struct fsc_snoop_func, &c->funcs, i);

		if (strcmp(f->group, group) || strcmp(f->name, name))
			continue;
		*ret = i;
		return f;
	}
	return NULL;
}

static int remove_func(struct fsc_snoop_config *c, const json_t *request, const char *group,
		       const char *name, struct fsc_err *err)
{
	struct fsc_nearest near = {.wanted = name};
	char text[540];
	size_t at;

	(void)request;
	if (find_func(c, group, name, &at)) {
		fsc_snoop_config_remove(c, at);
		return 0;
	}
	for (size_t i = 0; i < c->funcs.n; i++)
		fsc_nearest_offer(&near, FSC_AT(struct fsc_snoop_func, &c->funcs, i)->name);
	fsc_err_set(err, ENOENT, "no function '%s' of group '%s' is watched", name, group);
	fsc_nearest_text(&near, text, sizeof(text));
	return text[0] ? fsc_err_hint(err, "did you mean %s?", text) : -ENOENT;
}

static void config_freep(struct fsc_snoop_config **c)
{
	if (!*c)
		return;
	fsc_snoop_config_release(*c);
	free(*c);
}

/* A copy of the configuration in force; NULL when memory is out. */
static struct fsc_snoop_config *copy_config(const struct fsc_monitor *m, struct fsc_err *err)
{
	struct fsc_snoop_config *c = calloc(1, sizeof(*c));

	if (c && !fsc_snoop_config_copy(m->config, c, err))
		return c;
	free(c);
	fsc_err_nomem(err);
	return NULL;
}

static int read_names(const json_t *request, const char **group, const char **name,
		      struct fsc_err *err)
{
	*group = request_text(request, "group");
	*name = request_text(request, "name");
	if (!*group)
		*group = "custom";
	return *name ? 0 : fsc_err_set(err, EINVAL, "the name of a function is missing");
}

static int add_func(struct fsc_snoop_config *c, const json_t *request, const char *group,
		    const char *name, struct fsc_err *err)
{
	const char *symbol = request_text(request, "symbol"),
		   *library = request_text(request, "library");
	const char *slow = request_text(request, "slow");
	struct fsc_snoop_func *f;
	double slow_ns = 0;
	size_t at;
	int rc = 0;

	if (slow && !fsc_str_duration(slow, strlen(slow), &slow_ns))
		return fsc_err_set(err, EINVAL,
				   "slow takes a time with its unit, as in 10ms, not '%s'", slow);
	rc = fsc_snoop_config_add(c, group, name, symbol ? symbol : name, err);
	f = rc ? NULL : find_func(c, group, name, &at);
	if (f && slow)
		f->slow_ns = slow_ns;
	return f && library ? fsc_config_push(&f->libraries, library, err) : rc;
}

/* Applies a change to a copy of the configuration, and puts the copy in force. */
static int change_config(struct fsc_monitor *m, const json_t *request,
			 int (*change)(struct fsc_snoop_config *c, const json_t *request,
				       const char *group, const char *name, struct fsc_err *err),
			 const char **group, const char **name, struct fsc_err *err)
{
	FSC_AUTO(config_freep) struct fsc_snoop_config *c = NULL;
	int rc = read_names(request, group, name, err);

	if (rc || !*name)
		return rc;
	c = copy_config(m, err);
	rc = c ? change(c, request, *group, *name, err) : -ENOMEM;
	if (!rc)
		rc = fsc_monitor_adopt(m, c, err);
	if (!rc)
		c = NULL; /* the monitor's now */
	return rc;
}

static int answer_add(struct fsc_monitor *m, const json_t *request, struct fsc_buf *b,
		      struct fsc_err *err)
{
	const char *group, *name;
	size_t at;
	int rc = change_config(m, request, add_func, &group, &name, err);

	if (rc)
		return rc;
	fsc_json_line(b, "added");
	fsc_json_string(b, "function", name);
	fsc_json_uint(b, "found",
		      find_func(m->config, group, name, &at) ? fsc_hooks_found(m->hooks, at) : 0);
	fsc_json_line_end(b);
	return 0;
}

static int answer_remove(struct fsc_monitor *m, const json_t *request, struct fsc_buf *b,
			 struct fsc_err *err)
{
	const char *group, *name;
	int rc = change_config(m, request, remove_func, &group, &name, err);

	if (rc)
		return rc;
	fsc_json_line(b, "removed");
	fsc_json_string(b, "function", name);
	fsc_json_line_end(b);
	return 0;
}

static int answer_reload(struct fsc_monitor *m, const json_t *request, struct fsc_buf *b,
			 struct fsc_err *err)
{
	int rc = fsc_monitor_reload(m, err);

	(void)request;
	if (rc)
		return rc;
	fsc_json_line(b, "reloaded");
	fsc_json_line_end(b);
	return 0;
}

/* ---- the table ---- */

static const struct {
	const char *name;
	int (*fn)(struct fsc_monitor *m, const json_t *request, struct fsc_buf *b,
		  struct fsc_err *err);
	bool changes;
} requests[] = {{"list", answer_list, false},	  {"stats", answer_stats, false},
		{"status", answer_status, false}, {"add", answer_add, true},
		{"remove", answer_remove, true},  {"reload", answer_reload, true}};

/* While probes are attached or detached, nothing can be changed; and of two configurations there is
 * no list. */
static bool is_busy(const struct fsc_monitor *m, bool lists, bool changes)
{
	return m->busy && (changes || (lists && fsc_hooks_trying(m->hooks)));
}

int fsc_monitor_answer(const json_t *request, bool may_change, struct fsc_buf *b, void *arg,
		       struct fsc_err *err)
{
	const char *what = request_text(request, "request");
	struct fsc_nearest near = {.wanted = what};
	char text[540];

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		fsc_nearest_offer(&near, requests[i].name);
		if (strcmp(requests[i].name, what))
			continue;
		if (requests[i].changes && !may_change)
			return fsc_err_set(
			    err, EPERM,
			    "%s is not allowed over the network; use the control socket", what);
		if (is_busy(arg, requests[i].fn == answer_list, requests[i].changes))
			return -EAGAIN;
		return requests[i].fn(arg, request, b, err);
	}
	fsc_nearest_text(&near, text, sizeof(text));
	return fsc_err_set(err, EINVAL, "'%s' is not a request%s%s%s", what,
			   text[0] ? "; did you mean " : "", text, text[0] ? "?" : "");
}
