/* Receivers and when to send to them. */
#include "monitor/forward.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "sink/alerts.h"
#include "sink/otlp.h"
#include "sink/prometheus.h"
#include "web/sender.h"
#include "web/server.h"

enum { OTLP, ALERTS, RECEIVERS };

static const char *const names[RECEIVERS] = {"otlp", "alertmanager"};

#define LEAVING_S 10.0 /* for what a removed receiver has not been sent yet */

struct receiver {
	struct fsc_sender *sender;	  /* NULL: none */
	struct fsc_sender *leaving;	  /* no longer configured: sends the rest; NULL: none */
	struct fsc_receiver_state left;	  /* its state when it was removed */
	struct fsc_receiver_state past;	  /* of those that are gone */
	struct fsc_sender_change *trying; /* while a configuration is tried */
	bool stays;			  /* likewise: it was leaving */
	uint64_t due_ns;
	uint64_t since; /* the last slow call sent */
	bool logged_down;
};

struct fsc_forward {
	const struct fsc_snoop_config *config;
	struct fsc_slow *slow;
	fsc_forward_view_fn view;
	void *arg;
	struct fsc_server *server; /* NULL: none */
	int ready;		   /* epoll of the server, which reloads replace */
	struct receiver to[RECEIVERS];
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

static int open_sender(const struct fsc_snoop_config *c, int which, struct fsc_sender **ret,
		       struct fsc_err *err)
{
	const struct fsc_sender_opts opts = sender_opts(c, which);

	return opts.url ? fsc_sender_new(&opts, ret, err) : 0;
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
		rc = open_sender(config, i, &f->to[i].sender, err);
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

static void add_state(struct fsc_receiver_state *to, const struct fsc_receiver_state *more)
{
	to->sent += more->sent;
	to->retried += more->retried;
	to->dropped_full += more->dropped_full;
	to->dropped_refused += more->dropped_refused;
	to->rejected += more->rejected;
}

/* A removed receiver is done: what became of its messages is logged and stays in its counters. */
static void finish_leaving(struct receiver *r, double seconds)
{
	struct fsc_receiver_state s;

	fsc_sender_stop(r->leaving, seconds);
	fsc_sender_state(r->leaving, &s);
	add_state(&r->past, &s);
	fsc_log(s.dropped_full > r->left.dropped_full ? FSC_LOG_WARN : FSC_LOG_NOTE,
		"%s is no longer a receiver: of %llu waiting messages %llu were sent, %llu "
		"refused, %llu dropped, %llu left in the spool directory",
		s.name, (unsigned long long)r->left.queued,
		(unsigned long long)(s.sent - r->left.sent),
		(unsigned long long)(s.dropped_refused - r->left.dropped_refused),
		(unsigned long long)(s.dropped_full - r->left.dropped_full),
		(unsigned long long)s.queued);
	fsc_sender_free(r->leaving);
	r->leaving = NULL;
}

static void remove_receiver(struct receiver *r)
{
	r->leaving = r->sender;
	r->sender = NULL;
	r->logged_down = false;
	fsc_sender_state(r->leaving, &r->left);
	fsc_sender_leave(r->leaving, r->left.queued ? LEAVING_S : 0);
}

/* What can fail of a change: a new receiver is opened, another address or spool prepared. */
static int try_receiver(struct fsc_forward *f, const struct fsc_snoop_config *config, int which,
			struct fsc_sender **fresh, struct fsc_err *err)
{
	const struct fsc_sender_opts opts = sender_opts(config, which);
	struct receiver *r = &f->to[which];

	if (!opts.url || (r->sender && same_receiver(f->config, config, which)))
		return 0;
	if (r->leaving && fsc_sender_stay(r->leaving)) {
		r->sender = fsc_take(&r->leaving);
		r->stays = true;
	} else if (r->leaving) {
		finish_leaving(r, 0);
	}
	return r->sender ? fsc_sender_try(r->sender, &opts, &r->trying, err)
			 : fsc_sender_new(&opts, fresh, err);
}

static void abandon_receiver(struct receiver *r, struct fsc_sender *fresh)
{
	fsc_sender_free(fresh);
	fsc_sender_abandon(fsc_take(&r->trying));
	if (r->stays)
		remove_receiver(r);
	r->stays = false;
}

static void commit_receiver(struct receiver *r, bool wanted, struct fsc_sender *fresh)
{
	uint64_t lost = r->trying ? fsc_sender_commit(r->sender, fsc_take(&r->trying)) : 0;

	if (lost)
		fsc_log(FSC_LOG_WARN,
			"%llu messages could not be moved to the other spool directory and are "
			"dropped",
			(unsigned long long)lost);
	r->stays = false;
	if (fresh)
		r->sender = fresh;
	else if (!wanted && r->sender)
		remove_receiver(r);
}

/* Everything new is opened first, so that a failure changes nothing. */
int fsc_forward_reload(struct fsc_forward *f, const struct fsc_snoop_config *config,
		       struct fsc_err *err)
{
	bool same_page = same_text(f->config->prometheus.listen, config->prometheus.listen);
	struct fsc_sender *fresh[RECEIVERS] = {NULL};
	const struct fsc_server_opts opts = page_opts(config);
	struct fsc_server *server = NULL;
	int rc = same_page ? 0 : open_server(f, config, &server, err);

	for (int i = 0; !rc && i < RECEIVERS; i++)
		rc = try_receiver(f, config, i, &fresh[i], err);
	/* Last, since it cannot be undone. */
	if (!rc && same_page && f->server)
		rc = fsc_server_renew(f->server, &opts, err);
	if (rc) {
		for (int i = 0; i < RECEIVERS; i++)
			abandon_receiver(&f->to[i], fresh[i]);
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
		commit_receiver(&f->to[i], sender_opts(config, i).url, fresh[i]);
	return 0;
}

/* ---- messages ---- */

static int new_slow_calls(struct fsc_forward *f, struct receiver *r, const struct fsc_func *funcs,
			  struct fsc_vec *ret, struct fsc_err *err)
{
	struct fsc_vec all = FSC_VEC_INIT(const struct fsc_noted_call *);
	uint64_t missed = 0, before = r->since;
	int rc = fsc_slow_since(f->slow, funcs, &r->since, &all, &missed, err);

	for (size_t i = 0; !rc && i < all.n; i++) {
		struct fsc_noted_call *slot = fsc_vec_push(ret);

		if (!slot)
			rc = fsc_err_nomem(err);
		else
			*slot = **FSC_AT(const struct fsc_noted_call *, &all, i);
	}
	fsc_vec_release(&all);
	if (rc)
		r->since = before; /* they are sent with the next message */
	else
		f->missed += missed;
	return rc;
}

static void post_message(struct receiver *r, const char *path, const char *type, struct fsc_buf *b)
{
	if (b->n && !fsc_buf_failed(b))
		fsc_sender_post(r->sender, path, type, b->s, b->n);
	fsc_buf_clear(b);
}

static int send_otlp(struct fsc_forward *f, const struct fsc_snapshot *s, struct fsc_err *err)
{
	const struct fsc_snoop_otlp *o = &f->config->otlp;
	const char *type = o->json ? "application/json" : "application/x-protobuf";
	struct fsc_vec calls = FSC_VEC_INIT(struct fsc_noted_call);
	struct receiver *r = &f->to[OTLP];
	struct fsc_buf b = {0};
	int rc = new_slow_calls(f, r, s->calls->funcs, &calls, err);

	if (!rc) {
		fsc_otlp_metrics(s, o->json, &b);
		post_message(r, "/v1/metrics", type, &b);
	}
	if (!rc && calls.n && o->spans) {
		fsc_otlp_spans(s, calls.data, calls.n, o->json, &b);
		post_message(r, "/v1/traces", type, &b);
	} else if (!rc && calls.n) {
		fsc_otlp_logs(s, calls.data, calls.n, o->json, &b);
		post_message(r, "/v1/logs", type, &b);
	}
	fsc_buf_release(&b);
	fsc_vec_release(&calls);
	return rc;
}

static int send_alerts(struct fsc_forward *f, const struct fsc_snapshot *s, struct fsc_err *err)
{
	struct fsc_vec calls = FSC_VEC_INIT(struct fsc_noted_call);
	struct receiver *r = &f->to[ALERTS];
	struct fsc_buf b = {0};
	int rc = new_slow_calls(f, r, s->calls->funcs, &calls, err);

	if (!rc && calls.n) {
		fsc_alerts_write(calls.data, calls.n, s, f->config->alert_for_s, &b);
		post_message(r, "/api/v2/alerts", "application/json", &b);
	}
	fsc_buf_release(&b);
	fsc_vec_release(&calls);
	return rc;
}

/* Alerts are only sent for new slow calls. */
static bool has_news(const struct fsc_forward *f, int which)
{
	return which == OTLP || fsc_slow_count(f->slow) > f->to[which].since;
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

/* Logs once that a receiver is down, and once that it is up again. */
static void log_health(struct receiver *r)
{
	struct fsc_receiver_state s;
	char why[300];

	fsc_sender_state(r->sender, &s);
	fsc_sender_failure(r->sender, why, sizeof(why));
	if (why[0] && !r->logged_down)
		fsc_log(FSC_LOG_WARN, "%s: %s; %s", s.name, why,
			s.queued ? "unsent messages wait in the spool"
				 : "refused messages are dropped and counted");
	else if (!why[0] && r->logged_down)
		fsc_log(FSC_LOG_NOTE, "%s answers again", s.name);
	r->logged_down = why[0];
}

int fsc_forward_tick(struct fsc_forward *f, struct fsc_err *err)
{
	const double every[RECEIVERS] = {f->config->otlp.every_s, f->config->alert_every_s};
	uint64_t now = fsc_clock_mono();
	unsigned due = 0;

	for (int i = 0; i < RECEIVERS; i++) {
		struct receiver *r = &f->to[i];

		if (r->leaving && fsc_sender_left(r->leaving))
			finish_leaving(r, 0);
		if (!r->sender || now < r->due_ns)
			continue;
		log_health(r);
		if ((r->due_ns || i == ALERTS) && has_news(f, i))
			due |= 1u << i;
		r->due_ns = now + (uint64_t)(every[i] * 1e9);
	}
	return send_due(f, due, err);
}

const struct fsc_receiver_state *fsc_forward_receivers(struct fsc_forward *f, size_t *ret_n)
{
	*ret_n = 0;
	for (int i = 0; i < RECEIVERS; i++) {
		struct receiver *r = &f->to[i];
		struct fsc_sender *sender = r->sender ? r->sender : r->leaving;
		struct fsc_receiver_state *s = &f->states[*ret_n];

		*s = (struct fsc_receiver_state){.name = names[i]};
		if (sender)
			fsc_sender_state(sender, s);
		add_state(s, &r->past);
		s->removed = !r->sender;
		*ret_n += sender || s->sent || s->retried || s->dropped_full || s->dropped_refused;
	}
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
		if (f->to[i].sender && has_news(f, i))
			due |= 1u << i;
	send_due(f, due, &err);
	for (int i = 0; i < RECEIVERS; i++) {
		if (f->to[i].leaving)
			finish_leaving(&f->to[i], seconds);
		if (f->to[i].sender)
			fsc_sender_stop(f->to[i].sender, seconds);
	}
}

void fsc_forward_free(struct fsc_forward *f)
{
	if (!f)
		return;
	fsc_server_free(f->server);
	fsc_closep(&f->ready);
	for (int i = 0; i < RECEIVERS; i++) {
		fsc_sender_free(f->to[i].leaving);
		fsc_sender_free(f->to[i].sender);
	}
	free(f);
}
