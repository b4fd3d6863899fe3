/* An incremental parser of HTTP/1.x answers, which are untrusted input. It does no I/O. */
#ifndef FSC_WEB_RESPONSE_H
#define FSC_WEB_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum {
	FSC_RESPONSE_BODY = 64 << 10,	 /* bytes of the body that are read; the rest is ignored */
	FSC_RESPONSE_HEADERS = 32 << 10, /* bytes; more are an error */
	FSC_RESPONSE_LINE = 8 << 10,
};

struct fsc_response {
	unsigned status;
	double retry_after_s; /* negative: not given */
	struct fsc_buf body;
	/* private */
	int state;
	char line[FSC_RESPONSE_LINE];
	size_t n_line, n_headers;
	bool chunked, has_length;
	uint64_t left; /* of the body or of a chunk */
};

void fsc_response_init(struct fsc_response *a);
void fsc_response_release(struct fsc_response *a);
/* Parses n more bytes. 1: the answer is complete, or its body has reached the limit; 0: not yet;
 * negative: it is not HTTP. */
int fsc_response_feed(struct fsc_response *a, const char *bytes, size_t n, struct fsc_err *err);
/* End of input: 0 if the answer is complete. */
int fsc_response_end(const struct fsc_response *a, struct fsc_err *err);
/* "120" or "Wed, 21 Oct 2015 07:28:00 GMT" as seconds from now (now: since 1970); negative if it is
 * neither. */
double fsc_response_retry_after(const char *value, int64_t now);

#endif
