/* A state for each part of an answer: lines are collected whole, bodies are copied up to a limit.
 * Every length is checked against a limit before it is used. */
#include "web/response.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum state { STATUS, HEADERS, SIZED, UNTIL_CLOSE, CHUNK_SIZE, CHUNK, CHUNK_END, TRAILERS, DONE };

void fsc_response_init(struct fsc_response *a)
{
	*a = (struct fsc_response){.retry_after_s = -1, .state = STATUS};
}

void fsc_response_release(struct fsc_response *a)
{
	fsc_buf_release(&a->body);
}

static int bad_response(struct fsc_err *err, const char *what)
{
	return fsc_err_set(err, EBADMSG, "the answer is not HTTP: %s", what);
}

/* False unless all of s is an unsigned number in the base. */
static bool parse_number(const char *s, int base, uint64_t *ret)
{
	const char *digits = base == 16 ? "0123456789abcdefABCDEF" : "0123456789";
	size_t n = strspn(s, digits);

	if (!n || n > 15 || s[n])
		return false;
	*ret = strtoull(s, NULL, base);
	return true;
}

double fsc_response_retry_after(const char *value, int64_t now)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	struct tm tm = {0};
	char month[4], zone[4];
	const char *at;
	uint64_t s;

	if (parse_number(value, 10, &s))
		return (double)s;
	if (sscanf(value, "%*3s, %2d %3s %4d %2d:%2d:%2d %3s", &tm.tm_mday, month, &tm.tm_year,
		   &tm.tm_hour, &tm.tm_min, &tm.tm_sec, zone) != 7 ||
	    strcmp(zone, "GMT"))
		return -1;
	at = strstr(months, month);
	if (!at || strlen(month) != 3 || (at - months) % 3)
		return -1;
	tm.tm_mon = (int)(at - months) / 3;
	tm.tm_year -= 1900;
	now = timegm(&tm) - now;
	return now < 0 ? 0 : (double)now;
}

static int read_status(struct fsc_response *a, struct fsc_err *err)
{
	const char *s = a->line;
	uint64_t status;
	char digits[4];

	if (strncmp(s, "HTTP/1.", 7) || strlen(s) < 12 || s[8] != ' ' || (s[12] && s[12] != ' '))
		return bad_response(err, "it has no status line");
	snprintf(digits, sizeof(digits), "%s", s + 9);
	if (!parse_number(digits, 10, &status) || status < 100 || status > 599)
		return bad_response(err, "its status is not a number from 100 to 599");
	a->status = (unsigned)status;
	a->state = HEADERS;
	return 0;
}

static int read_length(struct fsc_response *a, const char *value, struct fsc_err *err)
{
	uint64_t n;

	if (!parse_number(value, 10, &n) || (a->has_length && n != a->left))
		return bad_response(err, "its Content-Length is not a length");
	a->has_length = true;
	a->left = n;
	return 0;
}

static int read_coding(struct fsc_response *a, const char *value, struct fsc_err *err)
{
	if (strcasecmp(value, "chunked"))
		return bad_response(err, "its Transfer-Encoding is not chunked");
	a->chunked = true;
	return 0;
}

static int read_wait(struct fsc_response *a, const char *value, struct fsc_err *err)
{
	(void)err;
	a->retry_after_s = fsc_response_retry_after(value, time(NULL));
	return 0;
}

static int read_header(struct fsc_response *a, struct fsc_err *err)
{
	static const struct {
		const char *name;
		int (*read)(struct fsc_response *a, const char *value, struct fsc_err *err);
	} headers[] = {
	    {"Content-Length", read_length},
	    {"Transfer-Encoding", read_coding},
	    {"Retry-After", read_wait},
	};
	char *value = strchr(a->line, ':');

	if (!value)
		return bad_response(err, "one of its headers has no colon");
	*value++ = '\0';
	value += strspn(value, " \t");
	for (size_t n = strlen(value); n && strchr(" \t", value[n - 1]); n--)
		value[n - 1] = '\0';
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		if (!strcasecmp(a->line, headers[i].name))
			return headers[i].read(a, value, err);
	return 0;
}

static void begin_body(struct fsc_response *a)
{
	if (a->status < 200) { /* an interim answer; the final one follows */
		a->state = STATUS;
		a->chunked = a->has_length = false;
		return;
	}
	if (a->status == 204 || a->status == 304)
		a->state = DONE;
	else if (a->chunked)
		a->state = CHUNK_SIZE;
	else if (a->has_length)
		a->state = a->left ? SIZED : DONE;
	else
		a->state = UNTIL_CLOSE;
}

static int begin_chunk(struct fsc_response *a, struct fsc_err *err)
{
	a->line[strcspn(a->line, " \t;")] = '\0'; /* extensions */
	if (!parse_number(a->line, 16, &a->left))
		return bad_response(err, "a chunk of it has no size");
	a->state = a->left ? CHUNK : TRAILERS;
	return 0;
}

static int take_line(struct fsc_response *a, struct fsc_err *err)
{
	switch (a->state) {
	case STATUS:
		return read_status(a, err);
	case HEADERS:
		if (a->line[0])
			return read_header(a, err);
		begin_body(a);
		return 0;
	case CHUNK_SIZE:
		return begin_chunk(a, err);
	case CHUNK_END:
		a->state = CHUNK_SIZE;
		return a->line[0] ? bad_response(err, "a chunk of it is longer than its size") : 0;
	default: /* TRAILERS */
		if (!a->line[0])
			a->state = DONE;
		return 0;
	}
}

/* Collects a line; returns the bytes consumed, or negative. */
static ssize_t feed_line(struct fsc_response *a, const char *bytes, size_t n, struct fsc_err *err)
{
	const char *end = memchr(bytes, '\n', n);
	size_t some = end ? (size_t)(end - bytes) + 1 : n;
	int rc;

	/* Chunk sizes are bounded by the limit of the body, not of the headers. */
	if (a->state != CHUNK_SIZE && a->state != CHUNK_END)
		a->n_headers += some;
	if (a->n_line + some > sizeof(a->line) || a->n_headers > FSC_RESPONSE_HEADERS)
		return fsc_err_set(err, EMSGSIZE, "the answer's headers are not terminated");
	memcpy(a->line + a->n_line, bytes, some);
	a->n_line += some;
	if (!end)
		return (ssize_t)some;
	a->n_line--;
	if (a->n_line && a->line[a->n_line - 1] == '\r')
		a->n_line--;
	a->line[a->n_line] = '\0';
	if (strlen(a->line) != a->n_line)
		return bad_response(err, "there is a zero byte in its headers");
	a->n_line = 0;
	rc = take_line(a, err);
	return rc ? rc : (ssize_t)some;
}

/* Copies the body up to the limit; returns the bytes consumed. */
static ssize_t feed_body(struct fsc_response *a, const char *bytes, size_t n)
{
	size_t room = FSC_RESPONSE_BODY - a->body.n;

	if (a->state != UNTIL_CLOSE && n > a->left)
		n = (size_t)a->left;
	if (n >= room) {
		fsc_buf_add(&a->body, bytes, room);
		a->state = DONE;
		return (ssize_t)n;
	}
	fsc_buf_add(&a->body, bytes, n);
	if (a->state == UNTIL_CLOSE)
		return (ssize_t)n;
	a->left -= n;
	if (!a->left)
		a->state = a->state == CHUNK ? CHUNK_END : DONE;
	return (ssize_t)n;
}

int fsc_response_feed(struct fsc_response *a, const char *bytes, size_t n, struct fsc_err *err)
{
	while (n && a->state != DONE) {
		bool body = a->state == SIZED || a->state == UNTIL_CLOSE || a->state == CHUNK;
		ssize_t took = body ? feed_body(a, bytes, n) : feed_line(a, bytes, n, err);

		if (took < 0)
			return (int)took;
		bytes += took;
		n -= (size_t)took;
	}
	if (fsc_buf_failed(&a->body))
		return fsc_err_nomem(err);
	return a->state == DONE;
}

int fsc_response_end(const struct fsc_response *a, struct fsc_err *err)
{
	if (a->state == DONE || a->state == UNTIL_CLOSE)
		return 0;
	return fsc_err_set(err, EBADMSG,
			   a->state == STATUS && !a->n_line
			       ? "the connection was closed without an answer"
			       : "the connection was closed in the middle of the answer");
}
