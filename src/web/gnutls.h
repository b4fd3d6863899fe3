/* The machine's GnuTLS, for libmicrohttpd, which is loaded when TLS is asked for: linked, it would
 * treble the memory and the start of every command, and cannot be part of a static program. */
#ifndef FSC_WEB_GNUTLS_H
#define FSC_WEB_GNUTLS_H

#include <gnutls/gnutls.h>
#include <stdbool.h>

#include "base/err.h"

/* Loads it; no function of GnuTLS may be called before. Fails with ENOTSUP and says what to do
 * instead. */
int fsc_gnutls_load(struct fsc_err *err);
/* Whether a certificate and its key, as PEM, can be used; the files are for errors. */
int fsc_gnutls_check_key(const char *cert, const char *cert_file, const char *key,
			 const char *key_file, struct fsc_err *err);
/* Whether there are certificates in it to check clients with. */
int fsc_gnutls_check_ca(const char *ca, const char *ca_file, struct fsc_err *err);
/* Lets the handshake fail unless the client has a certificate that is signed as it should be. */
bool fsc_gnutls_require_certificate(gnutls_session_t session);

#endif
