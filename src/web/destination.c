/* Copies of a sender's options. */
#include "web/destination.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "web/client.h"

#define USUAL_TIMEOUT_S 10.0

void fsc_destination_free(struct fsc_destination *to)
{
	if (!to)
		return;
	for (size_t i = 0; i < to->n_headers; i++) {
		free((char *)to->headers[i].name);
		free((char *)to->headers[i].value);
	}
	free(to->headers);
	fsc_url_release(&to->url);
	free(to->address);
	free(to->ca_file);
	free(to);
}

static void destination_freep(struct fsc_destination **to)
{
	fsc_destination_free(*to);
}

static int copy_headers(struct fsc_destination *to, const struct fsc_sender_opts *opts,
			struct fsc_err *err)
{
	to->headers = calloc(opts->n_headers + 1, sizeof(*to->headers));
	if (!to->headers)
		return fsc_err_nomem(err);
	for (size_t i = 0; i < opts->n_headers; i++) {
		int rc = fsc_post_header_check(&opts->headers[i], err);

		if (rc)
			return rc;
		to->headers[i].name = strdup(opts->headers[i].name);
		to->headers[i].value = strdup(opts->headers[i].value);
		to->n_headers++;
		if (!to->headers[i].name || !to->headers[i].value)
			return fsc_err_nomem(err);
	}
	return 0;
}

int fsc_destination_new(const struct fsc_sender_opts *opts, struct fsc_destination **ret,
			struct fsc_err *err)
{
	FSC_AUTO(destination_freep) struct fsc_destination *to = calloc(1, sizeof(*to));
	int rc;

	if (!to)
		return fsc_err_nomem(err);
	rc = fsc_url_parse(opts->url, &to->url, err);
	rc = rc ? rc : fsc_post_possible(&to->url, err);
	rc = rc ? rc : copy_headers(to, opts, err);
	if (rc)
		return rc;
	to->gzip = opts->gzip;
	to->timeout_s = opts->timeout_s > 0 ? opts->timeout_s : USUAL_TIMEOUT_S;
	to->rejected = opts->rejected;
	to->address = strdup(opts->url);
	to->ca_file = opts->ca_file ? strdup(opts->ca_file) : NULL;
	if (!to->address || (opts->ca_file && !to->ca_file))
		return fsc_err_nomem(err);
	to->address[strcspn(to->address, "/") + 2 + strlen(to->url.authority) +
		    strlen(to->url.base)] = '\0';
	*ret = fsc_take(&to);
	return 0;
}
