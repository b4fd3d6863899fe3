/* src/web/secrets.h and what the server does with them: which tokens are good, who is admitted,
 * what is said about files that are not right, and that a renewal which fails changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "web/secrets.h"

#define TOKEN "0123456789abcdef"

static char path[64], other[64];

static void write_to(const char *file, const char *text)
{
	FILE *f = fopen(file, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void tokens_are_one_visible_line(void **state)
{
	static const struct {
		const char *text, *token; /* NULL: refused */
	} cases[] = {
	    {TOKEN "\n", TOKEN},
	    {TOKEN, TOKEN},
	    {TOKEN "\r\n", TOKEN},
	    {TOKEN "\nnot read\n", TOKEN},
	    {"", NULL},
	    {"\n", NULL},
	    {"0123456789abcde\n", NULL},
	    {"0123456789 abcdef\n", NULL},
	    {"0123456789abcdef\x01\n", NULL},
	    {"0123456789abcdef\xc3\xa9\n", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fsc_server_opts opts = {.token_file = path};
		struct fsc_err err = {0};
		struct fsc_secrets s;

		write_to(path, cases[i].text);
		if (cases[i].token) {
			assert_int_equal(fsc_secrets_read(&opts, &s, &err), 0);
			assert_string_equal(s.token, cases[i].token);
		} else {
			assert_int_equal(fsc_secrets_read(&opts, &s, &err), -EINVAL);
			assert_non_null(strstr(err.msg, path));
			assert_null(strstr(err.msg, "456789"));
			assert_non_null(strstr(err.hint, "openssl rand"));
		}
		fsc_secrets_release(&s);
	}
}

static void only_the_token_is_admitted(void **state)
{
	static const struct {
		const char *header;
		bool good;
	} cases[] = {
	    {"Bearer " TOKEN, true},
	    {"bearer " TOKEN, true},
	    {"", false},
	    {"Bearer", false},
	    {"Bearer ", false},
	    {TOKEN, false},
	    {"Basic " TOKEN, false},
	    {"Bearer " TOKEN " ", false},
	    {"Bearer  " TOKEN, false},
	    {"Bearer " TOKEN TOKEN, false},
	    {"Bearer 0123456789abcdeF", false},
	    {"Bearer 0123456789abcde", false},
	    {"Bearer x123456789abcdef", false},
	};
	const struct fsc_secrets s = {.token = (char *)TOKEN}, none = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (fsc_secrets_admit(&s, cases[i].header) != cases[i].good)
			fail_msg("'%s'", cases[i].header);
		assert_true(fsc_secrets_admit(&none, cases[i].header));
	}
}

static void files_that_are_not_right_are_named(void **state)
{
	const struct {
		struct fsc_server_opts opts;
		const char *says;
	} cases[] = {
	    {{.token_file = "/no/such/file"}, "cannot open '/no/such/file'"},
	    {{.cert_file = "/no/such/file", .key_file = path}, "cannot open '/no/such/file'"},
	    {{.cert_file = path, .key_file = "/no/such/file"}, "cannot open '/no/such/file'"},
	    {{.cert_file = path, .key_file = path, .client_ca_file = "/no/such/file"},
	     "cannot open '/no/such/file'"},
	    {{.cert_file = path}, "both a certificate and its key"},
	    {{.key_file = path}, "both a certificate and its key"},
	    {{.client_ca_file = path}, "both a certificate and its key"},
	    {{.cert_file = path, .key_file = other}, "cannot use the certificate"},
	};

	(void)state;
	write_to(path, "nothing\n");
	write_to(other, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fsc_err err = {0};
		struct fsc_secrets s;

		assert_true(fsc_secrets_read(&cases[i].opts, &s, &err) < 0);
		fsc_secrets_release(&s);
		if (!strstr(err.msg, cases[i].says) && err.code != ENOTSUP)
			fail_msg("'%s' is not in '%s'", cases[i].says, err.msg);
	}
}

/* ---- the server ---- */

static void reply_to(const struct fsc_request *req, struct fsc_reply *reply, void *arg)
{
	(void)req, (void)arg;
	fsc_buf_puts(&reply->body, "metrics\n");
}

static void ask(struct fsc_server *s, const char *header, unsigned status, bool challenged)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)fsc_server_port(s)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[2000] = "", want[32];
	size_t n = 0;
	ssize_t got = 1;

	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	dprintf(fd, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n", header);
	while (got) {
		struct pollfd p = {.fd = fsc_server_fd(s), .events = POLLIN};

		poll(&p, 1, 20);
		fsc_server_run(s);
		got = recv(fd, text + n, sizeof(text) - 1 - n, MSG_DONTWAIT);
		assert_true(got >= 0 || errno == EAGAIN);
		n += got > 0 ? (size_t)got : 0;
	}
	close(fd);
	snprintf(want, sizeof(want), "HTTP/1.1 %u ", status);
	if (strncmp(text, want, strlen(want)) != 0)
		fail_msg("expected %u, got '%.60s'", status, text);
	assert_int_equal(challenged, strstr(text, "WWW-Authenticate: Bearer ") != NULL);
	assert_int_equal(status == 200, strstr(text, "metrics") != NULL);
}

static void a_server_renews_its_token(void **state)
{
	struct fsc_server_opts opts = {.listen = "127.0.0.1:0", .token_file = path};
	struct fsc_server *s = NULL;
	struct fsc_err err = {0};
	unsigned port;

	(void)state;
	write_to(path, TOKEN);
	assert_int_equal(fsc_server_new(&opts, reply_to, NULL, &s, &err), 0);
	port = fsc_server_port(s);
	ask(s, "", 401, true);
	ask(s, "Authorization: Bearer " TOKEN "x\r\n", 401, true);
	ask(s, "Authorization: Bearer " TOKEN "\r\n", 200, false);
	assert_int_equal(fsc_server_refused(s), 2);
	write_to(path, "short");
	assert_int_equal(fsc_server_renew(s, &opts, &err), -EINVAL);
	ask(s, "Authorization: Bearer " TOKEN "\r\n", 200, false);
	write_to(path, "another-token-of-some-length");
	assert_int_equal(fsc_server_renew(s, &opts, &err), 0);
	assert_int_equal(fsc_server_port(s), port);
	ask(s, "Authorization: Bearer " TOKEN "\r\n", 401, true);
	ask(s, "Authorization: Bearer another-token-of-some-length\r\n", 200, false);
	opts.token_file = NULL;
	assert_int_equal(fsc_server_renew(s, &opts, &err), 0);
	ask(s, "", 200, false);
	assert_int_equal(fsc_server_refused(s), 3);
	fsc_server_free(s);
}

static int make_files(void **state)
{
	char dir[] = "/tmp/secrets-XXXXXX";

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/one", dir);
	snprintf(other, sizeof(other), "%s/two", dir);
	return 0;
}

static int remove_files(void **state)
{
	(void)state;
	unlink(path);
	unlink(other);
	*strrchr(path, '/') = '\0';
	return rmdir(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(tokens_are_one_visible_line),
	    cmocka_unit_test(only_the_token_is_admitted),
	    cmocka_unit_test(files_that_are_not_right_are_named),
	    cmocka_unit_test(a_server_renews_its_token),
	};

	return cmocka_run_group_tests_name("secrets", tests, make_files, remove_files);
}
