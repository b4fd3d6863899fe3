/* What a server needs to keep others out: its certificate and key, the certificates of those who
 * may sign its clients', its token. Read from files, at the start and again at each reload. */
#ifndef FSC_WEB_SECRETS_H
#define FSC_WEB_SECRETS_H

#include <stdbool.h>

#include "web/server.h"

struct fsc_secrets {
	char *cert, *key; /* PEM; NULL: no TLS */
	char *client_ca;  /* PEM; NULL: clients need no certificate */
	char *token;	  /* NULL: none is needed */
};

/* Reads and checks the files. The caller releases ret, also after a failure. */
int fsc_secrets_read(const struct fsc_server_opts *opts, struct fsc_secrets *ret,
		     struct fsc_err *err);
void fsc_secrets_release(struct fsc_secrets *s);
bool fsc_secrets_same(const struct fsc_secrets *a, const struct fsc_secrets *b);
/* Whether a request may be answered that has this header Authorization, or "". Takes the same time
 * for every wrong token of a length. */
bool fsc_secrets_admit(const struct fsc_secrets *s, const char *authorization);

#endif
