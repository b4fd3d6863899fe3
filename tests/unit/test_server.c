/* src/web/server.h: what it answers, whom it refuses, and that clients who are slow or too many do
 * not stop it for others. Client and server share this thread: whoever waits for the one runs the
 * other. Nothing here measures time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <zlib.h>

#include "base/clock.h"
#include "web/server.h"

enum { PATIENCE_S = 120, LARGE = 4 << 20 };

static void reply_to(const struct fsc_request *req, struct fsc_reply *reply, void *arg)
{
	int *calls = arg;

	(*calls)++;
	if (!strcmp(req->path, "/small"))
		fsc_buf_printf(&reply->body, "hello, accept '%s'\n", req->accept);
	else if (!strcmp(req->path, "/large"))
		fsc_buf_pad(&reply->body, 'x', LARGE);
	else if (strcmp(req->path, "/empty"))
		reply->status = 404;
	if (!strcmp(req->path, "/large"))
		reply->type = "application/x-large";
}

struct fixture {
	struct fsc_server *server;
	int calls;
};

static void begin(struct fixture *f, const char *address, struct fsc_server_limits limits)
{
	struct fsc_err err = {0};

	f->calls = 0;
	if (fsc_server_new_limited(&(struct fsc_server_opts){.listen = address}, &limits, reply_to,
				   &f->calls, &f->server, &err))
		fail_msg("%s", err.msg);
}

/* Lets the server work for a moment. */
static void pump(struct fixture *f)
{
	struct pollfd p = {.fd = fsc_server_fd(f->server), .events = POLLIN};

	poll(&p, 1, 20);
	fsc_server_run(f->server);
}

static int dial_from(const struct fixture *f, const char *source)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)fsc_server_port(f->server)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in from = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	inet_pton(AF_INET, source, &from.sin_addr);
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static int dial(const struct fixture *f)
{
	return dial_from(f, "127.0.0.1");
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* Reads until the server closes; whatever ended the connection, it ended. */
static struct fsc_buf hear(struct fixture *f, int fd)
{
	uint64_t until = fsc_clock_mono() + PATIENCE_S * 1000000000ull;
	struct fsc_buf got = {0};
	char piece[65536];

	for (;;) {
		ssize_t n = recv(fd, piece, sizeof(piece), MSG_DONTWAIT);

		if (n > 0) {
			fsc_buf_add(&got, piece, (size_t)n);
			continue;
		}
		if (!n || errno != EAGAIN)
			break;
		assert_true(fsc_clock_mono() < until);
		pump(f);
	}
	close(fd);
	return got;
}

static struct fsc_buf ask(struct fixture *f, const char *request)
{
	int fd = dial(f);

	say(fd, request);
	return hear(f, fd);
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

static void assert_status(const struct fsc_buf *got, unsigned status)
{
	char want[32];

	snprintf(want, sizeof(want), "HTTP/1.1 %u ", status);
	if (strncmp(fsc_buf_str(got), want, strlen(want)))
		fail_msg("expected status %u, got '%.100s'", status, fsc_buf_str(got));
}

/* The value of a header; NULL if there is none. */
static char *value_of(const struct fsc_buf *got, const char *name)
{
	static char value[200];
	char key[100];
	const char *at;

	snprintf(key, sizeof(key), "\r\n%s: ", name);
	at = strcasestr(fsc_buf_str(got), key);
	if (!at)
		return NULL;
	at += strlen(key);
	snprintf(value, sizeof(value), "%.*s", (int)strcspn(at, "\r\n"), at);
	return value;
}

static const char *body_of(const struct fsc_buf *got, size_t *n)
{
	const char *at = strstr(fsc_buf_str(got), "\r\n\r\n");

	assert_non_null(at);
	*n = got->n - (size_t)(at + 4 - got->s);
	return at + 4;
}

/* Asks and expects a status. */
static void expect(struct fixture *f, const char *request, unsigned status)
{
	struct fsc_buf got = ask(f, request);

	assert_status(&got, status);
	fsc_buf_release(&got);
}

static void answers(void **state)
{
	struct fixture f;
	struct fsc_buf got;
	size_t n;

	(void)state;
	begin(&f, "127.0.0.1:0", FSC_SERVER_LIMITS);
	assert_true(fsc_server_port(f.server) > 0);
	got = ask(&f, "GET /small?q=1 HTTP/1.1\r\nHost: 127.0.0.1:9\r\nAccept: text/x\r\n"
		      "Connection: close\r\n\r\n");
	assert_status(&got, 200);
	assert_string_equal(body_of(&got, &n), "hello, accept 'text/x'\n");
	assert_string_equal(value_of(&got, "Content-Length"), "23");
	assert_string_equal(value_of(&got, "X-Content-Type-Options"), "nosniff");
	assert_string_equal(value_of(&got, "Content-Type"), "text/plain; charset=utf-8");
	assert_int_equal(f.calls, 1);
	fsc_buf_release(&got);
	expect(&f, GET("/empty"), 200);
	expect(&f, GET("/nothing/here"), 404);
	fsc_server_free(f.server);
}

static void one_connection_serves_several(void **state)
{
	struct fixture f;
	struct fsc_buf got;
	int fd;

	(void)state;
	begin(&f, "127.0.0.1:0", FSC_SERVER_LIMITS);
	fd = dial(&f);
	say(fd, "GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n");
	say(fd, "GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n");
	say(fd, GET("/small"));
	got = hear(&f, fd);
	assert_status(&got, 200);
	assert_int_equal(f.calls, 3);
	fsc_buf_release(&got);
	fsc_server_free(f.server);
}

static void large_bodies_are_whole(void **state)
{
	struct fixture f;
	struct fsc_buf got;
	size_t n;

	(void)state;
	begin(&f, "127.0.0.1:0", FSC_SERVER_LIMITS);
	got = ask(&f, GET("/large"));
	assert_status(&got, 200);
	body_of(&got, &n);
	assert_int_equal(n, LARGE);
	assert_null(value_of(&got, "Content-Encoding"));
	assert_string_equal(value_of(&got, "Content-Type"), "application/x-large");
	fsc_buf_release(&got);
	fsc_server_free(f.server);
}

static void head_has_no_body(void **state)
{
	struct fixture f;
	struct fsc_buf got;
	size_t n;

	(void)state;
	begin(&f, "127.0.0.1:0", FSC_SERVER_LIMITS);
	got = ask(&f, "HEAD /small HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	assert_status(&got, 200);
	body_of(&got, &n);
	assert_int_equal(n, 0);
	assert_string_equal(value_of(&got, "Content-Length"), "17");
	fsc_buf_release(&got);
	fsc_server_free(f.server);
}

#define PACKED(path, codings)                                                                      \
	"GET " path " HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: " codings                    \
	"\r\nConnection: close\r\n\r\n"

static void packs_what_pays(void **state)
{
	static const struct {
		const char *request;
		bool packed;
	} cases[] = {
	    {PACKED("/large", "gzip"), true},
	    {PACKED("/large", "deflate, GZIP;q=0.5, br"), true},
	    {PACKED("/large", "*"), true},
	    {PACKED("/large", "gzip;q=0"), false},
	    {PACKED("/large", "xgzip, gzipx"), false},
	    {PACKED("/large", ",, ,"), false},
	    {PACKED("/small", "gzip"), false},
	};
	struct fixture f;

	(void)state;
	begin(&f, "127.0.0.1:0", FSC_SERVER_LIMITS);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fsc_buf got = ask(&f, cases[i].request);
		const char *coding = value_of(&got, "Content-Encoding");

		assert_status(&got, 200);
		assert_int_equal(coding && !strcmp(coding, "gzip"), cases[i].packed);
		fsc_buf_release(&got);
	}
	fsc_server_free(f.server);
}

static void what_is_packed_is_the_same(void **state)
{
	unsigned char *plain = malloc(LARGE + 1);
	z_stream z = {.next_out = plain, .avail_out = LARGE + 1};
	struct fixture f;
	struct fsc_buf got;
	size_t n;

	(void)state;
	begin(&f, "127.0.0.1:0", FSC_SERVER_LIMITS);
	got = ask(&f, PACKED("/large", "gzip"));
	z.next_in = (unsigned char *)body_of(&got, &n);
	z.avail_in = (unsigned)n;
	assert_int_equal(strtoul(value_of(&got, "Content-Length"), NULL, 10), n);
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.total_out, LARGE);
	for (size_t i = 0; i < LARGE; i++)
		assert_int_equal(plain[i], 'x');
	inflateEnd(&z);
	free(plain);
	fsc_buf_release(&got);
	fsc_server_free(f.server);
}

static void only_get_and_head(void **state)
{
	static const char *const requests[] = {
	    "POST /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc",
	    "PUT /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nabc",
	    "DELETE /small HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
	    "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
	};
	struct fixture f;

	(void)state;
	begin(&f, "127.0.0.1:0", FSC_SERVER_LIMITS);
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		struct fsc_buf got = ask(&f, requests[i]);

		assert_status(&got, 405);
		assert_string_equal(value_of(&got, "Allow"), "GET, HEAD");
		fsc_buf_release(&got);
	}
	assert_int_equal(f.calls, 0);
	fsc_server_free(f.server);
}

static void other_names_are_refused(void **state)
{
	static const struct {
		const char *host;
		unsigned status;
	} cases[] = {
	    {"localhost", 200},		{"LocalHost:123", 200},
	    {"127.0.0.1:9464", 200},	{"[::1]", 200},
	    {"[::1]:80", 200},		{"127.0.0.2", 403},
	    {"evil.example", 403},	{"localhost.evil", 403},
	    {"127.0.0.1.nip.io", 403},	{"127.0.0.1:80evil", 403},
	    {"localhost@evil:80", 403}, {"", 403},
	};
	struct fixture f;

	(void)state;
	begin(&f, "127.0.0.1:0", FSC_SERVER_LIMITS);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char request[200];

		snprintf(request, sizeof(request),
			 "GET /small HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
			 cases[i].host);
		expect(&f, request, cases[i].status);
	}
	assert_int_equal(f.calls, 5);
	fsc_server_free(f.server);
	/* To whom everybody may come, everybody may come by any name. */
	begin(&f, "0.0.0.0:0", FSC_SERVER_LIMITS);
	expect(&f, "GET /small HTTP/1.1\r\nHost: me.example\r\nConnection: close\r\n\r\n", 200);
	fsc_server_free(f.server);
}

/* None of them gets 200 or hurts; the next good request does. */
static void bad_requests_do_no_harm(void **state)
{
	static const char *const requests[] = {
	    "\r\n\r\n\r\n",
	    "GET\r\n\r\n",
	    "GET /small\r\n\r\n",
	    "GET /small HTTP/9.9\r\n\r\n",
	    "GET /small HTTP/1.1\r\n\r\n",
	    "GET /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
	    "GET /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
	    "99999999999999999999999\r\n\r\n",
	    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello in TLS\r\n\r\n",
	    "\x01\x02\x03\x04\xff\xfe\r\n\r\n",
	};
	struct fixture f;

	(void)state;
	begin(&f, "127.0.0.1:0", (struct fsc_server_limits){64, 16, 1, 600});
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		int fd = dial(&f);
		struct fsc_buf got;

		say(fd, requests[i]);
		shutdown(fd, SHUT_WR);
		got = hear(&f, fd);
		assert_null(strstr(fsc_buf_str(&got), " 200 "));
		fsc_buf_release(&got);
	}
	assert_int_equal(f.calls, 0);
	expect(&f, GET("/small"), 200);
	fsc_server_free(f.server);
}

static void endless_headers_end(void **state)
{
	struct fixture f;
	struct fsc_buf got;
	int fd;

	(void)state;
	begin(&f, "127.0.0.1:0", FSC_SERVER_LIMITS);
	fd = dial(&f);
	say(fd, "GET /small HTTP/1.1\r\nHost: localhost\r\n");
	for (int i = 0; i < 100000; i++) {
		const char line[] = "X-More: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n";

		if (send(fd, line, sizeof(line) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
		    errno != EAGAIN)
			break;
		fsc_server_run(f.server);
	}
	got = hear(&f, fd);
	assert_null(strstr(fsc_buf_str(&got), " 200 "));
	fsc_buf_release(&got);
	expect(&f, GET("/small"), 200);
	fsc_server_free(f.server);
}

/* All connections are taken by clients that say half a request: the next one is answered when they
 * have timed out. */
static void slow_clients_time_out(void **state)
{
	struct fixture f;
	int slow[4];

	(void)state;
	begin(&f, "127.0.0.1:0", (struct fsc_server_limits){4, 16, 1, 600});
	for (int i = 0; i < 4; i++) {
		slow[i] = dial(&f);
		say(slow[i], "GET /small HTTP/1.1\r\nHost: loc");
		pump(&f);
	}
	expect(&f, GET("/small"), 200);
	for (int i = 0; i < 4; i++)
		close(slow[i]);
	fsc_server_free(f.server);
}

/* A byte now and then keeps a connection from being idle, but not for ever. */
static void dripping_clients_end(void **state)
{
	uint64_t until = fsc_clock_mono() + PATIENCE_S * 1000000000ull;
	struct fixture f;
	char c;
	int fd;

	(void)state;
	begin(&f, "127.0.0.1:0", (struct fsc_server_limits){1, 16, 600, 1});
	fd = dial(&f);
	say(fd, "GET /small HTTP/1.1\r\nX: ");
	while (send(fd, "y", 1, MSG_NOSIGNAL) == 1 && recv(fd, &c, 1, MSG_DONTWAIT) < 0 &&
	       errno == EAGAIN) {
		assert_true(fsc_clock_mono() < until);
		pump(&f);
	}
	close(fd);
	expect(&f, GET("/small"), 200);
	fsc_server_free(f.server);
}

/* One address has its share; another one is still served. */
static void one_address_cannot_take_all(void **state)
{
	struct fixture f;
	struct fsc_buf got;
	int held[3];

	(void)state;
	begin(&f, "127.0.0.1:0", (struct fsc_server_limits){16, 3, 600, 600});
	for (int i = 0; i < 3; i++) {
		held[i] = dial(&f);
		pump(&f);
	}
	got = hear(&f, dial(&f));
	assert_int_equal(got.n, 0);
	fsc_buf_release(&got);
	held[0] = (close(held[0]), dial_from(&f, "127.0.0.2"));
	say(held[0], GET("/small"));
	got = hear(&f, held[0]);
	assert_status(&got, 200);
	fsc_buf_release(&got);
	close(held[1]);
	close(held[2]);
	fsc_server_free(f.server);
}

/* A client that never reads what it asked for holds its connection and nothing else. */
static void a_client_that_does_not_read(void **state)
{
	struct fixture f;
	int fd;

	(void)state;
	begin(&f, "127.0.0.1:0", FSC_SERVER_LIMITS);
	fd = dial(&f);
	say(fd, GET("/large"));
	while (!f.calls)
		pump(&f);
	expect(&f, GET("/small"), 200);
	fsc_server_free(f.server);
	close(fd);
}

static void listens_on_version_6(void **state)
{
	struct fsc_server *s = NULL;
	struct fsc_err err = {0};
	int calls = 0;

	(void)state;
	if (fsc_server_new(&(struct fsc_server_opts){.listen = "[::1]:0"}, reply_to, &calls, &s,
			   &err)) {
		print_message("# skip listens_on_version_6: %s\n", err.msg);
		return;
	}
	assert_true(fsc_server_port(s) > 0);
	fsc_server_free(s);
}

static void bad_addresses_are_explained(void **state)
{
	static const struct {
		const char *address, *message;
		bool usage;
	} cases[] = {
	    {"127.0.0.1:http", "cannot listen on '127.0.0.1:http': 'http' is not a port", true},
	    {"127.0.0.1:65536", "cannot listen on '127.0.0.1:65536': '65536' is not a port", true},
	    {":-1", "cannot listen on ':-1': '-1' is not a port", true},
	    {"", "cannot listen on '': '' is not a port", true},
	    {"localhost", "cannot listen on 'localhost': 'localhost' is not a port", true},
	    {"::1:80", "cannot listen on '::1:80': an IPv6 address needs brackets", true},
	    {"[::1]80", "cannot listen on '[::1]80': it is not of the form [ADDRESS]:PORT", true},
	    {"unix:", "cannot listen on 'unix:': the path is missing", true},
	    {"unix:/no/such/directory/sock",
	     "cannot listen on '/no/such/directory/sock': No such file or directory", false},
	    {"192.0.2.1:0", "cannot listen on '192.0.2.1:0': Cannot assign requested address",
	     false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fsc_server *s = NULL;
		struct fsc_err err = {0};

		assert_true(fsc_server_new(&(struct fsc_server_opts){.listen = cases[i].address},
					   reply_to, NULL, &s, &err) < 0);
		assert_string_equal(err.msg, cases[i].message);
		assert_int_equal(err.usage, cases[i].usage);
		assert_null(s);
	}
}

/* ---- Unix sockets ---- */

static char socket_path[64], socket_address[80];

static int make_socket_path(void **state)
{
	char dir[] = "/tmp/server-XXXXXX";

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(socket_path, sizeof(socket_path), "%s/sock", dir);
	snprintf(socket_address, sizeof(socket_address), "unix:%s", socket_path);
	return 0;
}

static int remove_socket_path(void **state)
{
	(void)state;
	unlink(socket_path);
	*strrchr(socket_path, '/') = '\0';
	return rmdir(socket_path);
}

static int dial_unix(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", socket_path);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

static void a_unix_socket_is_the_groups_alone(void **state)
{
	struct fixture f;
	struct fsc_buf got;
	struct stat st;
	int fd;

	(void)state;
	begin(&f, socket_address, FSC_SERVER_LIMITS);
	assert_int_equal(fsc_server_port(f.server), 0);
	assert_int_equal(stat(socket_path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
	fd = dial_unix();
	say(fd, "GET /small HTTP/1.1\r\nHost: any.name\r\nConnection: close\r\n\r\n");
	got = hear(&f, fd);
	assert_status(&got, 200);
	fsc_buf_release(&got);
	fsc_server_free(f.server);
	assert_int_not_equal(stat(socket_path, &st), 0);
}

static void a_unix_socket_in_use_is_refused_one_left_behind_is_not(void **state)
{
	struct fsc_server *s = NULL;
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct fsc_err err = {0};
	struct fixture f;
	int fd;

	(void)state;
	begin(&f, socket_address, FSC_SERVER_LIMITS);
	assert_int_equal(fsc_server_new(&(struct fsc_server_opts){.listen = socket_address},
					reply_to, NULL, &s, &err),
			 -EADDRINUSE);
	assert_non_null(strstr(err.hint, "another path"));
	close(dial_unix());
	fsc_server_free(f.server);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", socket_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	close(fd);
	begin(&f, socket_address, FSC_SERVER_LIMITS);
	close(dial_unix());
	fsc_server_free(f.server);
}

static void a_unix_socket_goes_to_a_group(void **state)
{
	struct fsc_server_opts opts = {.listen = socket_address, .group = "no-such-group"};
	struct fsc_server *s = NULL;
	struct fsc_err err = {0};
	struct stat st;
	char number[16];

	(void)state;
	assert_int_equal(fsc_server_new(&opts, reply_to, NULL, &s, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "no such group"));
	assert_int_not_equal(stat(socket_path, &st), 0);
	snprintf(number, sizeof(number), "%u", geteuid() ? getegid() : 65534);
	opts.group = number;
	assert_int_equal(fsc_server_new(&opts, reply_to, NULL, &s, &err), 0);
	assert_int_equal(stat(socket_path, &st), 0);
	assert_int_equal(st.st_gid, atoi(number));
	fsc_server_free(s);
}

static void a_port_in_use_is_explained(void **state)
{
	struct fsc_server *s = NULL;
	struct fsc_err err = {0};
	struct fixture f;
	char address[32];

	(void)state;
	begin(&f, ":0", FSC_SERVER_LIMITS);
	snprintf(address, sizeof(address), "%u", fsc_server_port(f.server));
	assert_int_equal(
	    fsc_server_new(&(struct fsc_server_opts){.listen = address}, reply_to, NULL, &s, &err),
	    -EADDRINUSE);
	assert_non_null(strstr(err.msg, "Address already in use"));
	assert_non_null(strstr(err.hint, "another port"));
	fsc_server_free(f.server);
}

#define IN_DIRECTORY(test)                                                                         \
	cmocka_unit_test_setup_teardown(test, make_socket_path, remove_socket_path)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(answers),
	    cmocka_unit_test(one_connection_serves_several),
	    cmocka_unit_test(large_bodies_are_whole),
	    cmocka_unit_test(head_has_no_body),
	    cmocka_unit_test(packs_what_pays),
	    cmocka_unit_test(what_is_packed_is_the_same),
	    cmocka_unit_test(only_get_and_head),
	    cmocka_unit_test(other_names_are_refused),
	    cmocka_unit_test(bad_requests_do_no_harm),
	    cmocka_unit_test(endless_headers_end),
	    cmocka_unit_test(slow_clients_time_out),
	    cmocka_unit_test(dripping_clients_end),
	    cmocka_unit_test(one_address_cannot_take_all),
	    cmocka_unit_test(a_client_that_does_not_read),
	    cmocka_unit_test(listens_on_version_6),
	    cmocka_unit_test(bad_addresses_are_explained),
	    cmocka_unit_test(a_port_in_use_is_explained),
	    IN_DIRECTORY(a_unix_socket_is_the_groups_alone),
	    IN_DIRECTORY(a_unix_socket_in_use_is_refused_one_left_behind_is_not),
	    IN_DIRECTORY(a_unix_socket_goes_to_a_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
