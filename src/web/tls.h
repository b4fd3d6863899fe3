/* POST over TLS with the machine's libcurl, which is loaded at run time so that the program does
 * not depend on it. Called by client.c. */
#ifndef FSC_WEB_TLS_H
#define FSC_WEB_TLS_H

#include "web/client.h"
#include "web/wait.h"

/* Loads libcurl. Fails with ENOTSUP and says what to do instead. */
int fsc_tls_possible(struct fsc_err *err);
int fsc_tls_post(const struct fsc_post *p, const struct fsc_deadline *deadline,
		 struct fsc_response *ret, struct fsc_err *err);

#endif
