/* Strict about what goes into a request line and a Host header: no header can be injected. */
#include "web/url.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int bad_url(const char *text, const char *why, struct fsc_err *err)
{
	fsc_err_usage(err, "'%s' is not a URL to send to: %s", text, why);
	return fsc_err_hint(err, "write http://HOST:PORT/PATH or https://HOST:PORT/PATH");
}

/* What is wrong with the text as a whole; NULL: nothing. */
static const char *find_objection(const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		if (*c <= ' ' || *c >= 127)
			return "it has a byte in it that must be written as %XX";
	if (strpbrk(text, "?#"))
		return "it has a query or a fragment";
	if (strchr(text, '@'))
		return "a user and a password belong in a header";
	return NULL;
}

static const char *after_scheme(const char *text, bool *tls)
{
	*tls = !strncasecmp(text, "https://", 8);
	if (*tls)
		return text + 8;
	return strncasecmp(text, "http://", 7) ? NULL : text + 7;
}

static bool port_is_good(const char *s, size_t n)
{
	unsigned long v = n && n <= 5 ? strtoul(s, NULL, 10) : 0;

	return strspn(s, "0123456789") >= n && v >= 1 && v <= 65535;
}

/* "HOST", "HOST:PORT", "[V6]" or "[V6]:PORT" in n bytes: where the host and the port are. */
static const char *split_authority(const char *s, size_t n, const char **host, size_t *n_host,
				   const char **port, size_t *n_port)
{
	const char *end = memchr(s, ':', n);

	*host = s;
	if (s[0] == '[') {
		end = memchr(s, ']', n);
		if (!end || (end + 1 < s + n && end[1] != ':'))
			return "the brackets around the address are not closed";
		*host = s + 1;
		*n_host = (size_t)(end - *host);
		end = end + 1 < s + n ? end + 1 : NULL;
	} else {
		*n_host = end ? (size_t)(end - s) : n;
	}
	*port = end ? end + 1 : NULL;
	*n_port = end ? (size_t)(s + n - *port) : 0;
	if (!*n_host)
		return "it has no host";
	if (end && !port_is_good(*port, *n_port))
		return "its port is not a number from 1 to 65535";
	return NULL;
}

int fsc_url_parse(const char *text, struct fsc_url *ret, struct fsc_err *err)
{
	const char *why = find_objection(text), *host, *port, *at;
	size_t n, n_host, n_port;

	*ret = (struct fsc_url){0};
	at = after_scheme(text, &ret->tls);
	if (!at)
		return bad_url(text, "it begins neither with http:// nor with https://", err);
	n = strcspn(at, "/");
	if (!why)
		why = split_authority(at, n, &host, &n_host, &port, &n_port);
	if (why)
		return bad_url(text, why, err);
	ret->host = strndup(host, n_host);
	ret->port = port ? strndup(port, n_port) : strdup(ret->tls ? "443" : "80");
	ret->authority = strndup(at, n);
	ret->base = strdup(at + n);
	if (!ret->host || !ret->port || !ret->authority || !ret->base)
		return fsc_err_nomem(err);
	for (n = strlen(ret->base); n && ret->base[n - 1] == '/'; n--)
		ret->base[n - 1] = '\0';
	return 0;
}

void fsc_url_release(struct fsc_url *u)
{
	free(u->host);
	free(u->port);
	free(u->authority);
	free(u->base);
	*u = (struct fsc_url){0};
}
