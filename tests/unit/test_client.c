/* src/web/client.h and what it is made of: URLs, answers from friends and from others, deadlines
 * and interruption, TLS. Nothing here measures time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "receiver.h"
#include "web/client.h"

/* ---- URLs ---- */

static void urls_are_taken_apart(void **state)
{
	static const struct {
		const char *text, *host, *port, *authority, *base;
		bool tls;
	} cases[] = {
	    {"http://h", "h", "80", "h", "", false},
	    {"http://h:4318/", "h", "4318", "h:4318", "", false},
	    {"HTTPS://h.example/a/b//", "h.example", "443", "h.example", "/a/b", true},
	    {"http://[::1]:9/x", "::1", "9", "[::1]:9", "/x", false},
	    {"https://[fe80::1]", "fe80::1", "443", "[fe80::1]", "", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fsc_url u;

		assert_int_equal(fsc_url_parse(cases[i].text, &u, NULL), 0);
		assert_string_equal(u.host, cases[i].host);
		assert_string_equal(u.port, cases[i].port);
		assert_string_equal(u.authority, cases[i].authority);
		assert_string_equal(u.base, cases[i].base);
		assert_int_equal(u.tls, cases[i].tls);
		fsc_url_release(&u);
	}
}

static void other_urls_are_refused(void **state)
{
	static const char *const cases[] = {
	    "",
	    "h:80",
	    "ftp://h/",
	    "http://",
	    "http:///x",
	    "http://:80/",
	    "http://h:/",
	    "http://h:0/",
	    "http://h:65536/",
	    "http://h:8x/",
	    "http://u:p@h/",
	    "http://h/x?y",
	    "http://h/x#y",
	    "http://h /",
	    "http://h\r\nX:y",
	    "http://[::1",
	    "http://[::1]x/",
	    "http://::1/",
	    "http://h/\x80",
	    "http://h/a\tb",
	    "http://h:99999/",
	    "http://[]:80/x",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fsc_err err = {0};
		struct fsc_url u;

		if (fsc_url_parse(cases[i], &u, &err) != -EINVAL)
			fail_msg("'%s' was taken for a URL", cases[i]);
		assert_true(err.usage);
		fsc_url_release(&u);
	}
}

static void headers_are_one_line(void **state)
{
	static const struct {
		struct fsc_label header;
		bool good;
	} cases[] = {
	    {{"Authorization", "Bearer a.b-c"}, true},
	    {{"X-Scope-OrgID", ""}, true},
	    {{"X", "a\r\nY: b"}, false},
	    {{"X", "a\nb"}, false},
	    {{"X:", "a"}, false},
	    {{"", "a"}, false},
	    {{"X Y", "a"}, false},
	    {{"X\r\nY", "a"}, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(!fsc_post_header_check(&cases[i].header, NULL), cases[i].good);
}

/* ---- answers ---- */

/* Feeds it in pieces of so many bytes and then the end: 0 if it is an answer. */
static int feed(struct fsc_response *a, const char *text, size_t n, size_t piece)
{
	int rc = 0;

	fsc_response_init(a);
	for (size_t i = 0; i < n && !rc; i += piece)
		rc = fsc_response_feed(a, text + i, n - i < piece ? n - i : piece, NULL);
	if (rc)
		return rc < 0 ? rc : 0;
	return fsc_response_end(a, NULL);
}

#define OK "HTTP/1.1 200 OK\r\n"

static void answers_are_read(void **state)
{
	static const struct {
		const char *text;
		unsigned status;
		const char *body;
	} cases[] = {
	    {OK "Content-Length: 5\r\n\r\nhello", 200, "hello"},
	    {OK "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello and more", 200, "hello"},
	    {OK "Content-Length: 0\r\n\r\nxx", 200, ""},
	    {OK "\r\nuntil the end", 200, "until the end"},
	    {"HTTP/1.0 503\n\nunix lines", 503, "unix lines"},
	    {OK "transfer-encoding: Chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n"
		"T: r\r\n\r\n",
	     200, "abc0123456789"},
	    {OK "Content-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200, ""},
	    {"HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\n", 204, ""},
	    {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" OK
	     "Content-Length: 1\r\n\r\nx",
	     200, "x"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (size_t piece = 1; piece < 80; piece += 13) {
			struct fsc_response a;

			assert_int_equal(feed(&a, cases[i].text, strlen(cases[i].text), piece), 0);
			assert_int_equal(a.status, cases[i].status);
			assert_string_equal(fsc_buf_str(&a.body), cases[i].body);
			fsc_response_release(&a);
		}
	}
}

static void garbage_is_no_answer(void **state)
{
	static const char *const cases[] = {
	    "",
	    "\r\n\r\n",
	    "hello\r\n",
	    "SSH-2.0-OpenSSH_9.2\r\n",
	    "HTTP/2 200\r\n\r\n",
	    "HTTP/1.1 20\r\n\r\n",
	    "HTTP/1.1 2000\r\n\r\n",
	    "HTTP/1.1 -20 OK\r\n\r\n",
	    "HTTP/1.1 999 OK\r\n\r\n",
	    OK,
	    OK "no colon\r\n\r\n",
	    OK "Content-Length: 5\r\n\r\nhell",
	    OK "Content-Length: -5\r\n\r\nhello",
	    OK "Content-Length: 0x5\r\n\r\nhello",
	    OK "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
	    OK "Content-Length: 99999999999999999999\r\n\r\nhello",
	    OK "Transfer-Encoding: gzip, chunked\r\n\r\n",
	    OK "Transfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n0\r\n\r\n",
	    OK "Transfer-Encoding: chunked\r\n\r\n-3\r\nabc\r\n",
	    OK "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nabc\r\n",
	    OK "Transfer-Encoding: chunked\r\n\r\n\r\n",
	    OK "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
	    "HTTP/1.1 100 Continue\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fsc_response a;

		if (!feed(&a, cases[i], strlen(cases[i]), 7))
			fail_msg("taken for an answer: %s", cases[i]);
		fsc_response_release(&a);
	}
}

static void a_zero_byte_is_garbage(void **state)
{
	static const char text[] = "HTTP/1.1 200 OK\r\nX: \0\r\nContent-Length: 0\r\n\r\n";
	struct fsc_response a;

	(void)state;
	assert_int_equal(feed(&a, text, sizeof(text) - 1, 100), -EBADMSG);
	fsc_response_release(&a);
}

/* Good answers with some bytes changed, in pieces of all sizes: whatever they are taken for, they
 * stay within the limits. The sanitizers look on. */
static void changed_bytes_do_no_harm(void **state)
{
	static const char *const good[] = {
	    OK "Content-Length: 5\r\nRetry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n\r\nhello",
	    OK "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n",
	    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 503 Busy\r\nRetry-After: 7\r\n\r\nbusy",
	};
	static const char bytes[] = "\r\n:; 0129afHT\xff-\x01";
	unsigned seed = 1;

	(void)state;
	for (int i = 0; i < 30000; i++) {
		struct fsc_response a;
		char text[200];
		size_t n;

		snprintf(text, sizeof(text), "%s", good[i % 3]);
		n = strlen(text);
		for (int k = rand_r(&seed) % 4; k >= 0; k--)
			text[(size_t)rand_r(&seed) % n] =
			    bytes[(size_t)rand_r(&seed) % sizeof(bytes)];
		feed(&a, text, n, 1 + (size_t)rand_r(&seed) % 40);
		assert_true(a.status <= 599 && a.body.n <= n);
		fsc_response_release(&a);
	}
}

static void both_ways_to_say_when(void **state)
{
	static const struct {
		const char *value;
		double s;
	} cases[] = {
	    {"0", 0},
	    {"120", 120},
	    {"Wed, 21 Oct 2015 07:28:00 GMT", 30},
	    {"Wed, 21 Oct 2015 07:27:00 GMT", 0},
	    {"Thu, 22 Oct 2015 07:27:30 GMT", 86400},
	    {"", -1},
	    {"-5", -1},
	    {"soon", -1},
	    {"1.5", -1},
	    {"Wed, 21 Xyz 2015 07:28:00 GMT", -1},
	    {"Wed, 21 anF 2015 07:28:00 GMT", -1},
	    {"Wed, 21 Oct 2015 07:28:00 CET", -1},
	    {"99999999999999999999", -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_true(fsc_response_retry_after(cases[i].value, 1445412450) == cases[i].s);
}

/* ---- posting ---- */

struct result {
	int rc;
	struct fsc_response answer;
	struct fsc_err err;
};

static struct result post_to(const char *url, struct fsc_post p)
{
	struct result r = {0};
	struct fsc_url u;

	assert_int_equal(fsc_url_parse(url, &u, NULL), 0);
	p.url = &u;
	p.path = p.path ? p.path : "/v1/x";
	p.type = p.type ? p.type : "text/plain";
	p.timeout_s = p.timeout_s > 0 ? p.timeout_s : PATIENCE_S;
	p.stop_fd = p.stop_fd ? p.stop_fd : -1;
	r.rc = fsc_post(&p, &r.answer, &r.err);
	fsc_url_release(&u);
	return r;
}

static struct result post(const struct receiver *to, struct fsc_post p)
{
	char url[100];

	snprintf(url, sizeof(url), "http://127.0.0.1:%u/base/", to->port);
	return post_to(url, p);
}

/* Posts once to a receiver of this kind; fails unless it fails so. */
static void assert_fails(void (*serve)(struct receiver *, int), double timeout_s, int code)
{
	struct receiver to;
	struct result r;

	receiver_begin(&to, serve);
	r = post(&to, (struct fsc_post){.body = "abc", .n = 3, .timeout_s = timeout_s});
	if (r.rc != -code)
		fail_msg("expected %s, got %d: %s", strerror(code), r.rc, r.err.msg);
	assert_true(r.err.msg[0]);
	fsc_response_release(&r.answer);
	receiver_end(&to);
}

static void take_it(struct receiver *r, int fd)
{
	if (receiver_read(r, fd))
		receiver_say(r, fd, OK "Content-Length: 6\r\n\r\nthanks");
}

static void sends_what_it_should(void **state)
{
	const struct fsc_label headers[] = {{"Authorization", "Bearer x"}, {"X-Empty", ""}};
	struct receiver to;
	struct result r;
	char want[400];

	(void)state;
	receiver_begin(&to, take_it);
	r = post(&to, (struct fsc_post){.body = "abc",
					.n = 3,
					.type = "application/json",
					.encoding = "gzip",
					.headers = headers,
					.n_headers = 2});
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.answer.status, 200);
	assert_string_equal(fsc_buf_str(&r.answer.body), "thanks");
	snprintf(want, sizeof(want),
		 "POST /base/v1/x HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUser-Agent: funcscope/%s\r\n"
		 "Content-Type: application/json\r\nContent-Length: 3\r\nContent-Encoding: gzip\r\n"
		 "Authorization: Bearer x\r\nX-Empty: \r\nConnection: close\r\n\r\nabc",
		 to.port, FSC_VERSION);
	assert_string_equal(fsc_buf_str(&to.got), want);
	fsc_response_release(&r.answer);
	receiver_end(&to);
}

static void hosts_have_names(void **state)
{
	struct receiver to;
	struct result r;
	char url[100];

	(void)state;
	receiver_begin(&to, take_it);
	snprintf(url, sizeof(url), "http://localhost:%u", to.port);
	r = post_to(url, (struct fsc_post){.body = "abc", .n = 3});
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.answer.status, 200);
	fsc_response_release(&r.answer);
	receiver_end(&to);
}

static void large_messages_arrive_whole(void **state)
{
	enum { N = 16 << 20 };
	char *body = malloc(N);
	struct receiver to;
	struct result r;

	(void)state;
	memset(body, 'z', N);
	receiver_begin(&to, take_it);
	r = post(&to, (struct fsc_post){.body = body, .n = N});
	assert_int_equal(r.rc, 0);
	assert_int_equal(to.bodies.n, N + 1);
	fsc_response_release(&r.answer);
	receiver_end(&to);
	free(body);
}

/* Answers at once, reads the rest afterwards. */
static void too_large(struct receiver *r, int fd)
{
	receiver_say(r, fd, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
	receiver_hang(r, fd);
}

static void an_early_answer_counts(void **state)
{
	enum { N = 16 << 20 };
	char *body = calloc(1, N);
	struct receiver to;
	struct result r;

	(void)state;
	receiver_begin(&to, too_large);
	r = post(&to, (struct fsc_post){.body = body, .n = N});
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.answer.status, 413);
	fsc_response_release(&r.answer);
	receiver_end(&to);
	free(body);
}

static void elsewhere(struct receiver *r, int fd)
{
	char text[200];

	receiver_read(r, fd);
	snprintf(text, sizeof(text),
		 "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:%u/other\r\n"
		 "Content-Length: 0\r\n\r\n",
		 r->port);
	receiver_say(r, fd, text);
}

static void redirects_are_not_followed(void **state)
{
	struct receiver to;
	struct result r;

	(void)state;
	receiver_begin(&to, elsewhere);
	r = post(&to, (struct fsc_post){.body = "abc", .n = 3});
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.answer.status, 307);
	assert_int_equal(to.connections, 1);
	fsc_response_release(&r.answer);
	receiver_end(&to);
}

static void nobody_listens(void **state)
{
	struct result r;
	char url[100];

	(void)state;
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", port_of_nobody());
	r = post_to(url, (struct fsc_post){.body = "abc", .n = 3});
	assert_int_equal(r.rc, -ECONNREFUSED);
	assert_non_null(strstr(r.err.msg, "cannot connect to 127.0.0.1:"));
	fsc_response_release(&r.answer);
}

static void hang(struct receiver *r, int fd)
{
	receiver_hang(r, fd);
}

static void silence_ends_with_time(void **state)
{
	(void)state;
	assert_fails(hang, 0.2, ETIMEDOUT);
}

static void drip(struct receiver *r, int fd)
{
	receiver_say(r, fd, OK "Content-Length: 10000\r\n\r\n");
	while (receiver_write(fd, ".", 1)) {
		struct pollfd p = {.fd = r->stop, .events = POLLIN};

		if (poll(&p, 1, 1) > 0)
			return;
	}
}

/* Every byte comes soon, the answer does not. */
static void dripping_ends_with_time(void **state)
{
	(void)state;
	assert_fails(drip, 0.3, ETIMEDOUT);
}

static void slowly(struct receiver *r, int fd)
{
	static const char text[] = OK "Content-Length: 5\r\n\r\nhello";

	receiver_read(r, fd);
	for (size_t i = 0; text[i]; i++)
		receiver_write(fd, text + i, 1);
}

static void byte_by_byte_is_fine(void **state)
{
	struct receiver to;
	struct result r;

	(void)state;
	receiver_begin(&to, slowly);
	r = post(&to, (struct fsc_post){.body = "abc", .n = 3});
	assert_int_equal(r.rc, 0);
	assert_string_equal(fsc_buf_str(&r.answer.body), "hello");
	fsc_response_release(&r.answer);
	receiver_end(&to);
}

static void reset_it(struct receiver *r, int fd)
{
	struct linger now = {.l_onoff = 1};

	receiver_read(r, fd);
	receiver_say(r, fd, OK "Content-Length: 100\r\n\r\nhalf of");
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

static void a_reset_is_a_failure(void **state)
{
	struct receiver to;
	struct result r;

	(void)state;
	receiver_begin(&to, reset_it);
	r = post(&to, (struct fsc_post){.body = "abc", .n = 3});
	assert_true(r.rc < 0);
	fsc_response_release(&r.answer);
	receiver_end(&to);
}

static void close_it(struct receiver *r, int fd)
{
	receiver_read(r, fd);
}

static void talk_garbage(struct receiver *r, int fd)
{
	receiver_read(r, fd);
	receiver_say(r, fd, "\x15\x03\x01\xff\xfe\n what?\r\n\r\n");
}

static void headers_without_end(struct receiver *r, int fd)
{
	receiver_read(r, fd);
	receiver_say(r, fd, OK);
	while (receiver_write(fd, "X-More: of the same\r\n", 21))
		;
}

static void a_line_without_end(struct receiver *r, int fd)
{
	receiver_read(r, fd);
	while (receiver_write(fd, "HTTP/1.1 200 OK and so on, and so on", 36))
		;
}

static void nonsense_is_a_failure(void **state)
{
	(void)state;
	assert_fails(close_it, 0, EBADMSG);
	assert_fails(talk_garbage, 0, EBADMSG);
	assert_fails(headers_without_end, 0, EMSGSIZE);
	assert_fails(a_line_without_end, 0, EMSGSIZE);
}

static void a_body_without_end(struct receiver *r, int fd)
{
	receiver_read(r, fd);
	receiver_say(r, fd, OK "\r\n");
	while (receiver_write(fd, "and so on, and so on", 20))
		;
}

static void only_so_much_of_a_body_is_read(void **state)
{
	struct receiver to;
	struct result r;

	(void)state;
	receiver_begin(&to, a_body_without_end);
	r = post(&to, (struct fsc_post){.body = "abc", .n = 3});
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.answer.status, 200);
	assert_int_equal(r.answer.body.n, FSC_RESPONSE_BODY);
	fsc_response_release(&r.answer);
	receiver_end(&to);
}

/* Tells the one who waits for its answer to stop waiting. */
static int told_to_stop;
static void stop_the_other(struct receiver *r, int fd)
{
	receiver_read(r, fd);
	eventfd_write(told_to_stop, 1);
	receiver_hang(r, fd);
}

static void waiting_can_be_interrupted(void **state)
{
	struct receiver to;
	struct result r;

	(void)state;
	told_to_stop = eventfd(0, EFD_NONBLOCK);
	receiver_begin(&to, stop_the_other);
	r = post(&to, (struct fsc_post){.body = "abc", .n = 3, .stop_fd = told_to_stop});
	assert_int_equal(r.rc, -ECANCELED);
	fsc_response_release(&r.answer);
	receiver_end(&to);
	close(told_to_stop);
}

/* ---- TLS ---- */

static const char tls_server[] =
    "import http.server, ssl, sys\n"
    "class H(http.server.BaseHTTPRequestHandler):\n"
    "    def do_POST(self):\n"
    "        body = self.rfile.read(int(self.headers['Content-Length']))\n"
    "        if self.path == '/busy':\n"
    "            self.send_response(503)\n"
    "            self.send_header('Retry-After', '7')\n"
    "        elif self.path == '/moved':\n"
    "            self.send_response(302)\n"
    "            self.send_header('Location', '/elsewhere')\n"
    "        else:\n"
    "            self.send_response(200)\n"
    "        body = body + b' ' + self.headers.get('X-Key', '').encode()\n"
    "        self.send_header('Content-Length', str(len(body)))\n"
    "        self.end_headers()\n"
    "        self.wfile.write(body)\n"
    "    def log_message(self, *args):\n"
    "        pass\n"
    "s = http.server.HTTPServer(('127.0.0.1', 0), H)\n"
    "c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\n"
    "c.load_cert_chain('good.pem', 'good.key')\n"
    "s.socket = c.wrap_socket(s.socket, server_side=True)\n"
    "print(s.server_address[1], flush=True)\n"
    "s.serve_forever()\n";

#define CERTIFICATE(name)                                                                          \
	"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "       \
	"-subj /CN=" name " -addext subjectAltName=IP:127.0.0.1 -keyout " name ".key -out " name   \
	".pem 2>/dev/null"

struct tls {
	char dir[64], url[64], good[96], wrong[96];
	pid_t server;
};

static void tls_child(const char *dir, int out)
{
	if (chdir(dir) || dup2(out, 1) < 0)
		_exit(1);
	execlp("python3", "python3", "-c", tls_server, (char *)NULL);
	_exit(1);
}

/* False where the machine has no means to test it. */
static bool tls_begin(struct tls *t)
{
	char command[1000], line[32] = "";
	int out[2];

	snprintf(t->dir, sizeof(t->dir), "/tmp/test_client.XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	snprintf(t->good, sizeof(t->good), "%s/good.pem", t->dir);
	snprintf(t->wrong, sizeof(t->wrong), "%s/wrong.pem", t->dir);
	snprintf(command, sizeof(command),
		 "cd %s && " CERTIFICATE("good") " && " CERTIFICATE("wrong"), t->dir);
	t->server = 0;
	if (system(command) || system("python3 -c 'import ssl' 2>/dev/null"))
		return false;
	assert_int_equal(pipe(out), 0);
	t->server = fork();
	if (!t->server)
		tls_child(t->dir, out[1]);
	close(out[1]);
	assert_true(read(out[0], line, sizeof(line) - 1) > 0);
	close(out[0]);
	snprintf(t->url, sizeof(t->url), "https://127.0.0.1:%lu", strtoul(line, NULL, 10));
	return true;
}

static void tls_end(struct tls *t)
{
	char command[100];

	if (t->server) {
		kill(t->server, SIGKILL);
		waitpid(t->server, NULL, 0);
	}
	snprintf(command, sizeof(command), "rm -r %s", t->dir);
	assert_int_equal(system(command), 0);
}

static void tls_posts(struct tls *t)
{
	const struct fsc_label key = {"X-Key", "secret"};
	struct fsc_post p = {.body = "abc",
			     .n = 3,
			     .ca_file = t->good,
			     .headers = &key,
			     .n_headers = 1,
			     .path = "/v1/x"};
	struct result r = post_to(t->url, p);

	if (r.rc)
		fail_msg("%s", r.err.msg);
	assert_int_equal(r.answer.status, 200);
	assert_string_equal(fsc_buf_str(&r.answer.body), "abc secret");
	fsc_response_release(&r.answer);
	p.path = "/busy";
	r = post_to(t->url, p);
	assert_int_equal(r.answer.status, 503);
	assert_true(r.answer.retry_after_s == 7);
	fsc_response_release(&r.answer);
	p.path = "/moved";
	r = post_to(t->url, p);
	assert_int_equal(r.answer.status, 302);
	fsc_response_release(&r.answer);
}

static void tls_trusts_whom_it_is_told_to(void **state)
{
	const struct fsc_url https = {.tls = true};
	struct fsc_err err = {0};
	struct result r;
	struct tls t;

	(void)state;
	if (fsc_post_possible(&https, &err)) {
		print_message("# skip tls_trusts_whom_it_is_told_to: %s\n", err.msg);
		return;
	}
	if (!tls_begin(&t)) {
		print_message("# skip tls_trusts_whom_it_is_told_to: no openssl or no python3\n");
		tls_end(&t);
		return;
	}
	tls_posts(&t);
	r = post_to(t.url, (struct fsc_post){.body = "abc", .n = 3, .ca_file = t.wrong});
	assert_int_equal(r.rc, -EPERM);
	fsc_response_release(&r.answer);
	r = post_to(t.url, (struct fsc_post){.body = "abc", .n = 3});
	assert_int_equal(r.rc, -EPERM);
	fsc_response_release(&r.answer);
	r = post_to(t.url, (struct fsc_post){.body = "abc", .n = 3, .ca_file = "/nowhere.pem"});
	assert_true(r.rc < 0);
	fsc_response_release(&r.answer);
	tls_end(&t);
}

static void stop_at_once(struct receiver *r, int fd)
{
	eventfd_write(told_to_stop, 1);
	receiver_hang(r, fd);
}

/* A receiver that does not speak TLS at all: silence, or an end to patience. */
static void tls_can_be_interrupted(void **state)
{
	const struct fsc_url https = {.tls = true};
	struct fsc_err err = {0};
	struct receiver to;
	struct result r;
	char url[100];

	(void)state;
	if (fsc_post_possible(&https, &err)) {
		print_message("# skip tls_can_be_interrupted: %s\n", err.msg);
		return;
	}
	told_to_stop = eventfd(0, EFD_NONBLOCK);
	receiver_begin(&to, stop_at_once);
	snprintf(url, sizeof(url), "https://127.0.0.1:%u", to.port);
	r = post_to(url, (struct fsc_post){.body = "abc", .n = 3, .stop_fd = told_to_stop});
	assert_int_equal(r.rc, -ECANCELED);
	fsc_response_release(&r.answer);
	r = post_to(url, (struct fsc_post){.body = "abc", .n = 3, .timeout_s = 0.2});
	assert_int_equal(r.rc, -ETIMEDOUT);
	fsc_response_release(&r.answer);
	receiver_end(&to);
	close(told_to_stop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(urls_are_taken_apart),
	    cmocka_unit_test(other_urls_are_refused),
	    cmocka_unit_test(headers_are_one_line),
	    cmocka_unit_test(answers_are_read),
	    cmocka_unit_test(garbage_is_no_answer),
	    cmocka_unit_test(a_zero_byte_is_garbage),
	    cmocka_unit_test(changed_bytes_do_no_harm),
	    cmocka_unit_test(both_ways_to_say_when),
	    cmocka_unit_test(sends_what_it_should),
	    cmocka_unit_test(hosts_have_names),
	    cmocka_unit_test(large_messages_arrive_whole),
	    cmocka_unit_test(an_early_answer_counts),
	    cmocka_unit_test(redirects_are_not_followed),
	    cmocka_unit_test(nobody_listens),
	    cmocka_unit_test(silence_ends_with_time),
	    cmocka_unit_test(dripping_ends_with_time),
	    cmocka_unit_test(byte_by_byte_is_fine),
	    cmocka_unit_test(a_reset_is_a_failure),
	    cmocka_unit_test(nonsense_is_a_failure),
	    cmocka_unit_test(only_so_much_of_a_body_is_read),
	    cmocka_unit_test(waiting_can_be_interrupted),
	    cmocka_unit_test(tls_trusts_whom_it_is_told_to),
	    cmocka_unit_test(tls_can_be_interrupted),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
