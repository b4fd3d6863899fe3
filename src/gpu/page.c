/* /metrics for Prometheus. */
#include "gpu/page.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "sink/gpu_prometheus.h"
#include "sink/prometheus.h"
#include "web/server.h"

struct fsc_gpu_page {
	struct fsc_server *server;
	fsc_gpu_page_fn fn;
	void *arg;
	struct fsc_map shown; /* kernels that have a series */
};

static void answer_request(const struct fsc_request *req, struct fsc_reply *reply, void *arg)
{
	struct fsc_gpu_page *p = arg;
	struct fsc_gpu_report r;
	struct fsc_summary books;
	struct fsc_err why = {0};
	enum fsc_prometheus_format format;

	if (strcmp(req->path, "/metrics")) {
		reply->status = 404;
		reply->type = "text/plain";
		fsc_buf_puts(&reply->body, "the metrics are at /metrics\n");
		return;
	}
	if (p->fn(&r, &books, p->arg, &why)) {
		reply->status = 503;
		reply->type = "text/plain";
		fsc_buf_printf(&reply->body, "%s\n", why.msg);
		return;
	}
	format = fsc_prometheus_choose(req->accept);
	reply->type = fsc_prometheus_type(format);
	fsc_gpu_prometheus_write(&r, &books, &p->shown, format, &reply->body);
}

int fsc_gpu_page_new(const struct fsc_server_opts *opts, fsc_gpu_page_fn fn, void *arg,
		     struct fsc_gpu_page **ret, struct fsc_err *err)
{
	struct fsc_gpu_page *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return fsc_err_nomem(err);
	p->fn = fn;
	p->arg = arg;
	rc = fsc_server_new(opts, answer_request, p, &p->server, err);
	if (rc) {
		free(p);
		return rc;
	}
	if (fsc_server_port(p->server))
		fsc_log(FSC_LOG_NOTE, "serving /metrics on port %u", fsc_server_port(p->server));
	else
		fsc_log(FSC_LOG_NOTE, "serving /metrics on %s", opts->listen);
	*ret = p;
	return 0;
}

void fsc_gpu_page_free(struct fsc_gpu_page *p)
{
	if (!p)
		return;
	fsc_server_free(p->server);
	fsc_map_release(&p->shown);
	free(p);
}

void fsc_gpu_page_serve(struct fsc_gpu_page *p)
{
	fsc_server_run(p->server);
}
