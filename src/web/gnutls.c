/* The functions of GnuTLS that libmicrohttpd and this file call, as jumps through a table: the
 * build lists them (gnutls.inc), and loading the library fills the table. */
#include "web/gnutls.h"

#include <errno.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "web/library.h"

/* ---- the table ---- */

/* libmicrohttpd initialises GnuTLS whether it is there or not. */
static int not_loaded(void)
{
	return GNUTLS_E_UNIMPLEMENTED_FEATURE;
}

#define CALL(i, name) (void *)not_loaded,
void *fsc_gnutls_at[] = {
#include "gnutls.inc"
};
#undef CALL

static const struct fsc_library_symbol symbols[] = {
#define CALL(i, name) {#name, &fsc_gnutls_at[i]},
#include "gnutls.inc"
#undef CALL
};

#if defined(__x86_64__)
#define JUMP(i) "jmp *fsc_gnutls_at + 8 * " #i "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(i)                                                                                    \
	"adrp x16, fsc_gnutls_at + 8 * " #i "\n"                                                   \
	"ldr x16, [x16, :lo12:fsc_gnutls_at + 8 * " #i "]\n"                                       \
	"br x16\n"
#endif

/* Hidden: libraries that use GnuTLS themselves are not to find these. */
#define CALL(i, name)                                                                              \
	__asm__(".pushsection .text\n.globl " #name "\n.hidden " #name "\n.type " #name            \
		", %function\n" #name ":\n" JUMP(i) ".size " #name ", . - " #name                  \
						    "\n.popsection\n");
#include "gnutls.inc"
#undef CALL

/* A variable, which libmicrohttpd uses for keys without certificates: not here. */
gnutls_alloc_function gnutls_malloc;

/* ---- loading ---- */

static char why_not[200];

static void load_gnutls(void)
{
	if (!fsc_library_load("libgnutls.so.30", symbols, sizeof(symbols) / sizeof(symbols[0]),
			      why_not, sizeof(why_not)) &&
	    gnutls_global_init())
		snprintf(why_not, sizeof(why_not), "does not start here");
}

int fsc_gnutls_load(struct fsc_err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load_gnutls);
	if (!why_not[0])
		return 0;
	fsc_err_set(err, ENOTSUP, "a page with TLS needs libgnutls.so.30, which %s", why_not);
	return fsc_err_hint(err,
			    "use the program that is not static, or listen on the loopback or a "
			    "Unix socket, behind a proxy with TLS");
}

/* ---- checks ---- */

/* Without the full stop that GnuTLS ends its sentences with. */
static const char *reason(int rc, char *buf, size_t size)
{
	snprintf(buf, size, "%s", rc ? gnutls_strerror(rc) : "there is no certificate in it");
	buf[strcspn(buf, ".")] = '\0';
	return buf;
}

static gnutls_datum_t datum(const char *text)
{
	return (gnutls_datum_t){.data = (unsigned char *)text, .size = (unsigned)strlen(text)};
}

/* How many certificates there are; or 0, or a negative error, and then why is why. */
static int count_certificates(const char *pem, char *why, size_t size)
{
	const gnutls_datum_t d = datum(pem);
	gnutls_certificate_credentials_t all;
	int n = gnutls_certificate_allocate_credentials(&all);

	if (n >= 0) {
		n = gnutls_certificate_set_x509_trust_mem(all, &d, GNUTLS_X509_FMT_PEM);
		gnutls_certificate_free_credentials(all);
	}
	if (n <= 0)
		reason(n, why, size);
	return n;
}

static int match_key(const char *cert, const char *key)
{
	const gnutls_datum_t c = datum(cert), k = datum(key);
	gnutls_certificate_credentials_t all;
	int rc = gnutls_certificate_allocate_credentials(&all);

	if (rc < 0)
		return rc;
	rc = gnutls_certificate_set_x509_key_mem(all, &c, &k, GNUTLS_X509_FMT_PEM);
	gnutls_certificate_free_credentials(all);
	return rc;
}

int fsc_gnutls_check_key(const char *cert, const char *cert_file, const char *key,
			 const char *key_file, struct fsc_err *err)
{
	char why[120];
	int rc;

	/* First, since match_key() leaks what it has read of a certificate that is cut off: GnuTLS
	 * 3.7.9. */
	if (count_certificates(cert, why, sizeof(why)) <= 0)
		return fsc_err_set(err, EINVAL, "cannot use the certificate '%s': %s", cert_file,
				   why);
	rc = match_key(cert, key);
	if (rc >= 0)
		return 0;
	fsc_err_set(err, EINVAL, "cannot use the certificate '%s' with the key '%s': %s", cert_file,
		    key_file, reason(rc, why, sizeof(why)));
	return fsc_err_hint(err, "both are PEM files, the key of that certificate has no password");
}

int fsc_gnutls_check_ca(const char *ca, const char *ca_file, struct fsc_err *err)
{
	char why[120];

	if (count_certificates(ca, why, sizeof(why)) > 0)
		return 0;
	return fsc_err_set(err, EINVAL, "cannot check clients with '%s': %s", ca_file, why);
}

bool fsc_gnutls_require_certificate(gnutls_session_t session)
{
	static gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
						.data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT};

	if (!session)
		return false;
	/* libmicrohttpd only asks for one. */
	gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
	gnutls_session_set_verify_cert2(session, &purpose, 1, 0);
	return true;
}
