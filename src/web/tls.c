/* libcurl: the few functions needed, looked up once. */
#include "web/tls.h"

#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "web/library.h"

struct curl {
	__typeof__(curl_global_init) *global_init;
	__typeof__(curl_easy_init) *init;
	__typeof__(curl_easy_setopt) *setopt;
	__typeof__(curl_easy_perform) *perform;
	__typeof__(curl_easy_getinfo) *getinfo;
	__typeof__(curl_easy_strerror) *strerror;
	__typeof__(curl_easy_cleanup) *cleanup;
	__typeof__(curl_slist_append) *append;
	__typeof__(curl_slist_free_all) *free_all;
};

static struct curl curl;
static char why_not[200];

static void load_curl(void)
{
	const struct fsc_library_symbol symbols[] = {
	    {"curl_global_init", &curl.global_init}, {"curl_easy_init", &curl.init},
	    {"curl_easy_setopt", &curl.setopt},	     {"curl_easy_perform", &curl.perform},
	    {"curl_easy_getinfo", &curl.getinfo},    {"curl_easy_strerror", &curl.strerror},
	    {"curl_easy_cleanup", &curl.cleanup},    {"curl_slist_append", &curl.append},
	    {"curl_slist_free_all", &curl.free_all},
	};

	if (!fsc_library_load("libcurl.so.4", symbols, sizeof(symbols) / sizeof(symbols[0]),
			      why_not, sizeof(why_not)) &&
	    curl.global_init(CURL_GLOBAL_DEFAULT))
		snprintf(why_not, sizeof(why_not), "does not start here");
}

int fsc_tls_possible(struct fsc_err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load_curl);
	if (!why_not[0])
		return 0;
	fsc_err_set(err, ENOTSUP, "https:// needs libcurl.so.4, which %s", why_not);
	return fsc_err_hint(err, "use http://, or a collector on this machine that forwards");
}

/* The argument of a transfer's callbacks. */
struct transfer {
	struct fsc_response *answer;
	const struct fsc_deadline *deadline;
	bool cut; /* the body is longer than the limit */
};

static size_t on_body(char *bytes, size_t size, size_t n, void *arg)
{
	struct transfer *t = arg;
	struct fsc_buf *body = &t->answer->body;
	size_t room = FSC_RESPONSE_BODY - body->n;

	n *= size;
	t->cut = n > room;
	fsc_buf_add(body, bytes, t->cut ? room : n);
	return t->cut ? room : n; /* returning less ends the transfer */
}

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	const struct transfer *t = arg;
	struct pollfd p = {.fd = t->deadline->stop_fd, .events = POLLIN};

	(void)a, (void)b, (void)c, (void)d;
	return poll(&p, 1, 0) > 0;
}

static void slist_freep(struct curl_slist **list)
{
	if (*list)
		curl.free_all(*list);
}

static void easy_cleanupp(CURL **c)
{
	if (*c)
		curl.cleanup(*c);
}

static bool add_header(struct curl_slist **list, const char *name, const char *value)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf b = {0};
	struct curl_slist *longer;

	/* "name:" would remove the header, "name;" sends it empty. */
	fsc_buf_printf(&b, value[0] ? "%s: %s" : "%s;", name, value);
	if (fsc_buf_failed(&b))
		return false;
	longer = curl.append(*list, b.s);
	if (longer)
		*list = longer;
	return longer != NULL;
}

static bool add_headers(const struct fsc_post *p, struct curl_slist **list)
{
	struct curl_slist *first = curl.append(NULL, "Expect:");
	bool good = first != NULL;

	*list = first;
	good = good && add_header(list, "Content-Type", p->type) &&
	       add_header(list, "User-Agent", "funcscope/" FSC_VERSION);
	if (p->encoding)
		good = good && add_header(list, "Content-Encoding", p->encoding);
	for (size_t i = 0; good && i < p->n_headers; i++)
		good = add_header(list, p->headers[i].name, p->headers[i].value);
	return good;
}

static void set_options(CURL *c, const struct fsc_post *p, struct transfer *t)
{
	uint64_t now = fsc_clock_mono(), until = t->deadline->until;
	long ms = now < until ? (long)((until - now) / 1000000u) + 1 : 1;

	curl.setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl.setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
	curl.setopt(c, CURLOPT_SSL_VERIFYPEER, 1L);
	curl.setopt(c, CURLOPT_SSL_VERIFYHOST, 2L);
	curl.setopt(c, CURLOPT_PROXY, "");
	curl.setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl.setopt(c, CURLOPT_TIMEOUT_MS, ms);
	curl.setopt(c, CURLOPT_CONNECTTIMEOUT_MS, ms);
	curl.setopt(c, CURLOPT_POST, 1L);
	curl.setopt(c, CURLOPT_POSTFIELDS, p->n ? p->body : "");
	curl.setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)p->n);
	curl.setopt(c, CURLOPT_WRITEFUNCTION, on_body);
	curl.setopt(c, CURLOPT_WRITEDATA, t);
	curl.setopt(c, CURLOPT_NOPROGRESS, 0L);
	curl.setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl.setopt(c, CURLOPT_XFERINFODATA, t);
	if (p->ca_file)
		curl.setopt(c, CURLOPT_CAINFO, p->ca_file);
}

static int explain_curl(CURLcode rc, const struct fsc_post *p, const char *detail,
			struct fsc_err *err)
{
	static const struct {
		CURLcode rc;
		int code;
	} codes[] = {
	    {CURLE_OPERATION_TIMEDOUT, ETIMEDOUT}, {CURLE_ABORTED_BY_CALLBACK, ECANCELED},
	    {CURLE_COULDNT_CONNECT, ECONNREFUSED}, {CURLE_COULDNT_RESOLVE_HOST, EHOSTUNREACH},
	    {CURLE_OUT_OF_MEMORY, ENOMEM},	   {CURLE_PEER_FAILED_VERIFICATION, EPERM},
	    {CURLE_SSL_CACERT_BADFILE, ENOENT},
	};
	int code = EPROTO;

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].rc == rc)
			code = codes[i].code;
	return fsc_err_set(err, code, "cannot send to https://%s: %s", p->url->authority,
			   detail[0] ? detail : curl.strerror(rc));
}

static void read_outcome(CURL *c, struct fsc_response *a)
{
	curl_off_t wait = 0;
	long status = 0;

	curl.getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	curl.getinfo(c, CURLINFO_RETRY_AFTER, &wait);
	a->status = (unsigned)status;
	a->retry_after_s = wait > 0 ? (double)wait : -1;
}

int fsc_tls_post(const struct fsc_post *p, const struct fsc_deadline *deadline,
		 struct fsc_response *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf url = {0};
	FSC_AUTO(slist_freep) struct curl_slist *headers = NULL;
	FSC_AUTO(easy_cleanupp) CURL *c = NULL;
	struct transfer t = {.answer = ret, .deadline = deadline};
	char detail[CURL_ERROR_SIZE] = "";
	CURLcode rc;

	if (fsc_tls_possible(err))
		return -ENOTSUP;
	fsc_buf_printf(&url, "https://%s%s%s", p->url->authority, p->url->base, p->path);
	c = curl.init();
	if (!c || fsc_buf_failed(&url) || !add_headers(p, &headers))
		return fsc_err_nomem(err);
	set_options(c, p, &t);
	curl.setopt(c, CURLOPT_URL, url.s);
	curl.setopt(c, CURLOPT_HTTPHEADER, headers);
	curl.setopt(c, CURLOPT_ERRORBUFFER, detail);
	rc = curl.perform(c);
	if (fsc_buf_failed(&ret->body))
		return fsc_err_nomem(err);
	if (rc && !(rc == CURLE_WRITE_ERROR && t.cut))
		return explain_curl(rc, p, detail, err);
	read_outcome(c, ret);
	return 0;
}
