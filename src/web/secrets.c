/* The files of a server's secrets. No message shows what is in them. */
#include "web/secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/slurp.h"
#include "web/gnutls.h"

enum { SHORTEST_TOKEN = 16, LONGEST_TOKEN = 4096 };

static int read_secret(const char *path, char **ret, struct fsc_err *err)
{
	size_t n;

	return path ? fsc_slurp(AT_FDCWD, path, ret, &n, err) : 0;
}

/* One line, without what a header cannot hold. */
static int check_token(char *token, const char *path, struct fsc_err *err)
{
	size_t n;

	token[strcspn(token, "\r\n")] = '\0';
	n = strlen(token);
	for (const char *p = token; *p; p++)
		if (*p <= ' ' || *p > '~')
			n = 0;
	if (n >= SHORTEST_TOKEN && n <= LONGEST_TOKEN)
		return 0;
	fsc_err_set(err, EINVAL,
		    "there is no token in '%s': one line of %d to %d visible characters", path,
		    SHORTEST_TOKEN, LONGEST_TOKEN);
	return fsc_err_hint(err, "make one with: openssl rand -hex 32");
}

static int check_tls(const struct fsc_secrets *s, const struct fsc_server_opts *opts,
		     struct fsc_err *err)
{
	int rc = fsc_gnutls_load(err);

	if (!rc)
		rc = fsc_gnutls_check_key(s->cert, opts->cert_file, s->key, opts->key_file, err);
	if (!rc && s->client_ca)
		rc = fsc_gnutls_check_ca(s->client_ca, opts->client_ca_file, err);
	return rc;
}

int fsc_secrets_read(const struct fsc_server_opts *opts, struct fsc_secrets *ret,
		     struct fsc_err *err)
{
	int rc;

	*ret = (struct fsc_secrets){0};
	if (!opts->cert_file != !opts->key_file || (opts->client_ca_file && !opts->cert_file))
		return fsc_err_usage(err, "TLS needs both a certificate and its key");
	rc = read_secret(opts->cert_file, &ret->cert, err);
	if (!rc)
		rc = read_secret(opts->key_file, &ret->key, err);
	if (!rc)
		rc = read_secret(opts->client_ca_file, &ret->client_ca, err);
	if (!rc)
		rc = read_secret(opts->token_file, &ret->token, err);
	if (!rc && ret->token)
		rc = check_token(ret->token, opts->token_file, err);
	return !rc && ret->cert ? check_tls(ret, opts, err) : rc;
}

void fsc_secrets_release(struct fsc_secrets *s)
{
	char *const all[] = {s->cert, s->key, s->client_ca, s->token};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i])
			explicit_bzero(all[i], strlen(all[i]));
		free(all[i]);
	}
	*s = (struct fsc_secrets){0};
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

bool fsc_secrets_same(const struct fsc_secrets *a, const struct fsc_secrets *b)
{
	return same_text(a->cert, b->cert) && same_text(a->key, b->key) &&
	       same_text(a->client_ca, b->client_ca) && same_text(a->token, b->token);
}

bool fsc_secrets_admit(const struct fsc_secrets *s, const char *authorization)
{
	static const char scheme[] = "Bearer ";
	const char *given = authorization + strlen(scheme);
	volatile unsigned differs;
	size_t n, n_given;

	if (!s->token)
		return true;
	if (strncasecmp(authorization, scheme, strlen(scheme)) != 0)
		return false;
	n = strlen(s->token);
	n_given = strlen(given);
	differs = n != n_given;
	for (size_t i = 0; i < n_given; i++)
		differs |= (unsigned char)(given[i] ^ s->token[i % n]);
	return !differs;
}
