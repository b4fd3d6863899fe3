/* Where a sender's messages go, and how: a copy of its options. */
#ifndef FSC_WEB_DESTINATION_H
#define FSC_WEB_DESTINATION_H

#include "web/sender.h"
#include "web/url.h"

struct fsc_destination {
	char *address, *ca_file;
	struct fsc_url url;
	struct fsc_label *headers;
	size_t n_headers;
	bool gzip;
	double timeout_s;
	uint64_t (*rejected)(const char *body, size_t n);
};

/* Fails on a URL or a header that cannot be used. The caller owns *ret. */
int fsc_destination_new(const struct fsc_sender_opts *opts, struct fsc_destination **ret,
			struct fsc_err *err);
void fsc_destination_free(struct fsc_destination *to);

#endif
