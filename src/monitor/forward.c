/* The page, and what is sent to which receiver, and when. */
#include "monitor/forward.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "monitor/receiver.h"
#include "sink/alerts.h"
#include "sink/otlp.h"
#include "sink/prometheus.h"
#include "web/server.h"

enum { OTLP, ALERTS, RECEIVERS };

static const char *const names[RECEIVERS] = {"otlp", "alertmanager"};

/* What is sent to one of them, and when. */
struct line {
	struct fsc_receiver to;
	uint64_t due_ns;
	uint64_t since; /* the last slow call sent */
};

struct fsc_forward {
	const struct fsc_snoop_config *config;
	struct fsc_slow *slow;
	fsc_forward_view_fn view;
	void *arg;
	struct fsc_server *server; /* NULL: none */
	int ready;		   /* epoll of the server, which reloads replace */
	struct line lines[RECEIVERS];
	struct fsc_receiver_state states[RECEIVERS];
	uint64_t missed;
	uint64_t refused; /* by servers before this one */
};

/* ---- the page ---- */

static void answer_page(const struct fsc_request *req, struct fsc_reply *reply, void *arg)
{
	struct fsc_forward *f = arg;
	const struct fsc_snoop_prometheus *p = &f->config->prometheus;
	struct fsc_ledger_view v;
	struct fsc_err err = {0};
	enum fsc_prometheus_format format;

	if (!strcmp(req->path, "/")) {
		reply->type = "text/html; charset=utf-8";
		fsc_buf_puts(&reply->body, "<!DOCTYPE html><title>funcscope</title><h1>funcscope "
					   "snoop</h1><p><a href=\"/metrics\">metrics</a>\n");
		return;
	}
	reply->type = "text/plain; charset=utf-8";
	if (strcmp(req->path, "/metrics")) {
		reply->status = 404;
		fsc_buf_puts(&reply->body, "there is only /metrics\n");
		return;
	}
	if (f->view(p->pid_label, p->max_series, &v, f->arg, &err)) {
		reply->status = 503;
		fsc_buf_printf(&reply->body, "%s\n", err.msg);
		return;
	}
	format = fsc_prometheus_choose(req->accept);
	reply->type = fsc_prometheus_type(format);
	fsc_prometheus_write(&v.snapshot, format, &reply->body);
	fsc_ledger_view_release(&v);
}

int fsc_forward_fd(const struct fsc_forward *f)
{
	return f->ready;
}

void fsc_forward_serve(struct fsc_forward *f)
{
	if (f->server)
		fsc_server_run(f->server);
}

/* Where this fails, the page is served by the ticks alone. */
static void watch_server(struct fsc_forward *f)
{
	struct epoll_event in = {.events = EPOLLIN};

	if (f->server)
		epoll_ctl(f->ready, EPOLL_CTL_ADD, fsc_server_fd(f->server), &in);
}

uint64_t fsc_forward_refused(const struct fsc_forward *f)
{
	return f->refused + (f->server ? fsc_server_refused(f->server) : 0);
}

/* ---- receivers ---- */

static struct fsc_sender_opts sender_opts(const struct fsc_snoop_config *c, int which)
{
	const struct fsc_snoop_otlp *o = &c->otlp;
	struct fsc_sender_opts opts = {.name = names[which],
				       .url = c->alertmanager,
				       .memory = c->spool_memory,
				       .directory = c->spool_directory,
				       .disk = c->spool_disk,
				       .timeout_s = o->timeout_s};

	if (which != OTLP)
		return opts;
	opts.url = o->endpoint;
	opts.headers = o->headers.data;
	opts.n_headers = o->headers.n;
	opts.ca_file = o->ca_file;
	opts.gzip = o->gzip;
	opts.rejected = fsc_otlp_rejected;
	return opts;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same_labels(const struct fsc_vec *a, const struct fsc_vec *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		const struct fsc_label *x = FSC_AT(struct fsc_label, a, i);
		const struct fsc_label *y = FSC_AT(struct fsc_label, b, i);

		if (strcmp(x->name, y->name) || strcmp(x->value, y->value))
			return false;
	}
	return true;
}

static bool same_receiver(const struct fsc_snoop_config *a, const struct fsc_snoop_config *b,
			  int which)
{
	if (a->spool_memory != b->spool_memory || a->spool_disk != b->spool_disk ||
	    !same_text(a->spool_directory, b->spool_directory) ||
	    a->otlp.timeout_s != b->otlp.timeout_s)
		return false;
	if (which == ALERTS)
		return same_text(a->alertmanager, b->alertmanager);
	return same_text(a->otlp.endpoint, b->otlp.endpoint) &&
	       same_text(a->otlp.ca_file, b->otlp.ca_file) && a->otlp.gzip == b->otlp.gzip &&
	       same_labels(&a->otlp.headers, &b->otlp.headers);
}

static int try_receiver(struct fsc_forward *f, const struct fsc_snoop_config *config, int which,
			struct fsc_err *err)
{
	const struct fsc_sender_opts opts = sender_opts(config, which);
	struct fsc_receiver *r = &f->lines[which].to;

	if (!opts.url || (r->sender && same_receiver(f->config, config, which)))
		return 0;
	return fsc_receiver_try(r, &opts, err);
}

static struct fsc_server_opts page_opts(const struct fsc_snoop_config *c)
{
	return (struct fsc_server_opts){.listen = c->prometheus.listen,
					.group = c->prometheus.socket_group,
					.cert_file = c->prometheus.cert_file,
					.key_file = c->prometheus.key_file,
					.client_ca_file = c->prometheus.client_ca_file,
					.token_file = c->prometheus.token_file};
}

static int open_server(struct fsc_forward *f, const struct fsc_snoop_config *c,
		       struct fsc_server **ret, struct fsc_err *err)
{
	const struct fsc_server_opts opts = page_opts(c);

	return opts.listen ? fsc_server_new(&opts, answer_page, f, ret, err) : 0;
}

int fsc_forward_new(const struct fsc_snoop_config *config, struct fsc_slow *slow,
		    fsc_forward_view_fn view, void *arg, struct fsc_forward **ret,
		    struct fsc_err *err)
{
	struct fsc_forward *f = calloc(1, sizeof(*f));
	int rc = 0;

	if (!f)
		return fsc_err_nomem(err);
	f->ready = epoll_create1(EPOLL_CLOEXEC);
	f->config = config;
	f->slow = slow;
	f->view = view;
	f->arg = arg;
	for (int i = 0; !rc && i < RECEIVERS; i++)
		rc = try_receiver(f, config, i, err);
	for (int i = 0; i < RECEIVERS; i++)
		fsc_receiver_commit(&f->lines[i].to, true);
	if (!rc)
		rc = open_server(f, config, &f->server, err);
	watch_server(f);
	if (rc)
		fsc_forward_free(f);
	else
		*ret = f;
	return rc;
}

int fsc_forward_check(const struct fsc_snoop_config *config, struct fsc_err *err)
{
	const struct fsc_server_opts opts = page_opts(config);

	return fsc_server_check(&opts, err);
}

/* Everything new is opened first, so that a failure changes nothing. */
int fsc_forward_reload(struct fsc_forward *f, const struct fsc_snoop_config *config,
		       struct fsc_err *err)
{
	bool same_page = same_text(f->config->prometheus.listen, config->prometheus.listen);
	const struct fsc_server_opts opts = page_opts(config);
	struct fsc_server *server = NULL;
	int rc = same_page ? 0 : open_server(f, config, &server, err);

	for (int i = 0; !rc && i < RECEIVERS; i++)
		rc = try_receiver(f, config, i, err);
	/* Last, since it cannot be undone. */
	if (!rc && same_page && f->server)
		rc = fsc_server_renew(f->server, &opts, err);
	if (rc) {
		for (int i = 0; i < RECEIVERS; i++)
			fsc_receiver_abandon(&f->lines[i].to);
		fsc_server_free(server);
		return rc;
	}
	f->config = config;
	if (!same_page) {
		f->refused = fsc_forward_refused(f);
		fsc_server_free(f->server);
		f->server = server;
	}
	watch_server(f);
	for (int i = 0; i < RECEIVERS; i++)
		fsc_receiver_commit(&f->lines[i].to, sender_opts(config, i).url);
	return 0;
}

/* ---- messages ---- */

static int new_slow_calls(struct fsc_forward *f, struct line *l, const struct fsc_func *funcs,
			  struct fsc_vec *ret, struct fsc_err *err)
{
	struct fsc_vec all = FSC_VEC_INIT(const struct fsc_noted_call *);
	uint64_t missed = 0, before = l->since;
	int rc = fsc_slow_since(f->slow, funcs, &l->since, &all, &missed, err);

	for (size_t i = 0; !rc && i < all.n; i++) {
		struct fsc_noted_call *slot = fsc_vec_push(ret);

		if (!slot)
			rc = fsc_err_nomem(err);
		else
			*slot = **FSC_AT(const struct fsc_noted_call *, &all, i);
	}
	fsc_vec_release(&all);
	if (rc)
		l->since = before; /* they are sent with the next message */
	else
		f->missed += missed;
	return rc;
}

static void post_message(struct line *l, const char *path, const char *type, struct fsc_buf *b)
{
	if (b->n && !fsc_buf_failed(b))
		fsc_sender_post(l->to.sender, path, type, b->s, b->n);
	fsc_buf_clear(b);
}

static int send_otlp(struct fsc_forward *f, const struct fsc_snapshot *s, struct fsc_err *err)
{
	const struct fsc_snoop_otlp *o = &f->config->otlp;
	const char *type = o->json ? "application/json" : "application/x-protobuf";
	struct fsc_vec calls = FSC_VEC_INIT(struct fsc_noted_call);
	struct line *l = &f->lines[OTLP];
	struct fsc_buf b = {0};
	int rc = new_slow_calls(f, l, s->calls->funcs, &calls, err);

	if (!rc) {
		fsc_otlp_metrics(s, o->json, &b);
		post_message(l, "/v1/metrics", type, &b);
	}
	if (!rc && calls.n && o->spans) {
		fsc_otlp_spans(s, calls.data, calls.n, o->json, &b);
		post_message(l, "/v1/traces", type, &b);
	} else if (!rc && calls.n) {
		fsc_otlp_logs(s, calls.data, calls.n, o->json, &b);
		post_message(l, "/v1/logs", type, &b);
	}
	fsc_buf_release(&b);
	fsc_vec_release(&calls);
	return rc;
}

static int send_alerts(struct fsc_forward *f, const struct fsc_snapshot *s, struct fsc_err *err)
{
	struct fsc_vec calls = FSC_VEC_INIT(struct fsc_noted_call);
	struct line *l = &f->lines[ALERTS];
	struct fsc_buf b = {0};
	int rc = new_slow_calls(f, l, s->calls->funcs, &calls, err);

	if (!rc && calls.n) {
		fsc_alerts_write(calls.data, calls.n, s, f->config->alert_for_s, &b);
		post_message(l, "/api/v2/alerts", "application/json", &b);
	}
	fsc_buf_release(&b);
	fsc_vec_release(&calls);
	return rc;
}

/* Alerts are only sent for new slow calls. */
static bool has_news(const struct fsc_forward *f, int which)
{
	return which == OTLP || fsc_slow_count(f->slow) > f->lines[which].since;
}

/* One snapshot for all receivers that are due: a bit for each. */
static int send_due(struct fsc_forward *f, unsigned due, struct fsc_err *err)
{
	const struct fsc_snoop_prometheus *p = &f->config->prometheus;
	struct fsc_ledger_view v;
	int rc = due ? f->view(p->pid_label, p->max_series, &v, f->arg, err) : 0;

	if (rc || !due)
		return rc;
	if (due & 1 << OTLP)
		rc = send_otlp(f, &v.snapshot, err);
	if (!rc && due & 1 << ALERTS)
		rc = send_alerts(f, &v.snapshot, err);
	fsc_ledger_view_release(&v);
	return rc;
}

int fsc_forward_tick(struct fsc_forward *f, struct fsc_err *err)
{
	const double every[RECEIVERS] = {f->config->otlp.every_s, f->config->alert_every_s};
	uint64_t now = fsc_clock_mono();
	unsigned due = 0;

	for (int i = 0; i < RECEIVERS; i++) {
		struct line *l = &f->lines[i];

		fsc_receiver_tick(&l->to);
		if (!l->to.sender || now < l->due_ns)
			continue;
		fsc_receiver_log_health(&l->to);
		if ((l->due_ns || i == ALERTS) && has_news(f, i))
			due |= 1u << i;
		l->due_ns = now + (uint64_t)(every[i] * 1e9);
	}
	return send_due(f, due, err);
}

const struct fsc_receiver_state *fsc_forward_receivers(struct fsc_forward *f, size_t *ret_n)
{
	*ret_n = 0;
	for (int i = 0; i < RECEIVERS; i++)
		*ret_n += fsc_receiver_state(&f->lines[i].to, names[i], &f->states[*ret_n]);
	return f->states;
}

uint64_t fsc_forward_missed(const struct fsc_forward *f)
{
	return f->missed;
}

void fsc_forward_stop(struct fsc_forward *f, double seconds)
{
	struct fsc_err err = {0};
	unsigned due = 0;

	for (int i = 0; i < RECEIVERS; i++)
		if (f->lines[i].to.sender && has_news(f, i))
			due |= 1u << i;
	send_due(f, due, &err);
	for (int i = 0; i < RECEIVERS; i++)
		fsc_receiver_stop(&f->lines[i].to, seconds);
}

void fsc_forward_free(struct fsc_forward *f)
{
	if (!f)
		return;
	fsc_server_free(f->server);
	fsc_closep(&f->ready);
	for (int i = 0; i < RECEIVERS; i++)
		fsc_receiver_release(&f->lines[i].to);
	free(f);
}
