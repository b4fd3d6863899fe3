/* POST over TLS, by the libcurl of the machine it runs on: loaded at run time, so that the program
 * needs none. client.h is the way in. */
#ifndef FSC_WEB_TLS_H
#define FSC_WEB_TLS_H

#include "web/client.h"
#include "web/wait.h"

/* Loads libcurl. Fails with ENOTSUP and says what to do instead. */
int fsc_tls_possible(struct fsc_err *err);
int fsc_tls_post(const struct fsc_post *p, const struct fsc_patience *patience,
		 struct fsc_response *ret, struct fsc_err *err);

#endif
