/* src/web/sender.h against receivers of all kinds: what is sent, tried again, dropped and counted,
 * and that whoever posts never waits for them. Nothing here measures time; what must come is waited
 * for with patience. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <zlib.h>

#include "receiver.h"
#include "web/sender.h"

enum { MIB = 1 << 20 };

static struct fsc_sender_opts opts_for(unsigned port, struct fsc_sender_opts o)
{
	static char url[100];

	snprintf(url, sizeof(url), "http://127.0.0.1:%u/base/", port);
	o.name = "otlp";
	o.url = url;
	o.timeout_s = o.timeout_s > 0 ? o.timeout_s : PATIENCE_S;
	o.memory = o.memory ? o.memory : MIB;
	return o;
}

static struct fsc_sender *open_sender(unsigned port, struct fsc_sender_opts o)
{
	struct fsc_sender *s = NULL;
	struct fsc_err err = {0};

	o = opts_for(port, o);
	if (fsc_sender_new(&o, &s, &err))
		fail_msg("%s", err.msg);
	return s;
}

static void post(struct fsc_sender *s, const char *text)
{
	fsc_sender_post(s, "/v1/x", "text/plain", text, strlen(text));
}

static struct fsc_receiver_state state_of(struct fsc_sender *s)
{
	struct fsc_receiver_state st;

	fsc_sender_state(s, &st);
	return st;
}

static uint64_t settled(const struct fsc_receiver_state *st)
{
	return st->sent + st->dropped_full + st->dropped_refused;
}

/* Waits until the condition holds for what the sender `is`. */
#define AWAIT(s, condition)                                                                        \
	do {                                                                                       \
		uint64_t until_ = fsc_clock_mono() + PATIENCE_S * 1000000000ull;                   \
		struct fsc_receiver_state is = state_of(s);                                        \
                                                                                                   \
		while (!(condition)) {                                                             \
			assert_true(fsc_clock_mono() < until_);                                    \
			usleep(1000);                                                              \
			is = state_of(s);                                                          \
		}                                                                                  \
	} while (0)

/* Ends it and checks the books. */
static struct fsc_receiver_state close_sender(struct fsc_sender *s, double drain_s, uint64_t posted)
{
	struct fsc_receiver_state st;

	fsc_sender_stop(s, drain_s);
	st = state_of(s);
	assert_int_equal(posted, settled(&st) + st.queued);
	st.name = NULL;
	fsc_sender_free(s);
	return st;
}

static void take_it(struct receiver *r, int fd)
{
	if (receiver_read(r, fd))
		receiver_say(r, fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
}

static void sends_in_order(void **state)
{
	const struct fsc_label key = {"X-Key", "secret"};
	struct receiver to;
	struct fsc_sender *s;
	struct fsc_receiver_state st;
	char why[100] = "x";

	(void)state;
	receiver_begin(&to, take_it);
	s = open_sender(to.port, (struct fsc_sender_opts){.headers = &key, .n_headers = 1});
	assert_string_equal(state_of(s).name, "otlp");
	post(s, "a");
	post(s, "b");
	post(s, "c");
	AWAIT(s, is.sent == 3);
	fsc_sender_failure(s, why, sizeof(why));
	assert_string_equal(why, "");
	assert_true(state_of(s).up);
	st = close_sender(s, PATIENCE_S, 3);
	assert_int_equal(st.sent, 3);
	assert_int_equal(st.retried, 0);
	assert_string_equal(fsc_buf_str(&to.bodies), "a\nb\nc\n");
	assert_non_null(strstr(to.got.s, "POST /base/v1/x HTTP/1.1\r\n"));
	assert_non_null(strstr(to.got.s, "\r\nX-Key: secret\r\n"));
	assert_non_null(strstr(to.got.s, "\r\nContent-Type: text/plain\r\n"));
	receiver_end(&to);
}

static void stopping_sends_what_is_there(void **state)
{
	struct receiver to;
	struct fsc_sender *s;

	(void)state;
	receiver_begin(&to, take_it);
	s = open_sender(to.port, (struct fsc_sender_opts){0});
	for (int i = 0; i < 100; i++)
		post(s, "x");
	assert_int_equal(close_sender(s, PATIENCE_S, 100).sent, 100);
	assert_int_equal(to.requests, 100);
	receiver_end(&to);
}

static void bodies_are_packed(void **state)
{
	unsigned char plain[200] = {0};
	struct receiver to;
	struct fsc_sender *s;
	z_stream z = {.next_out = plain, .avail_out = sizeof(plain) - 1};
	const char *body;

	(void)state;
	receiver_begin(&to, take_it);
	s = open_sender(to.port, (struct fsc_sender_opts){.gzip = true});
	post(s, "hello, hello, hello, hello");
	assert_int_equal(close_sender(s, PATIENCE_S, 1).sent, 1);
	assert_non_null(strstr(to.got.s, "\r\nContent-Encoding: gzip\r\n"));
	body = strstr(to.got.s, "\r\n\r\n") + 4;
	z.next_in = (unsigned char *)body;
	z.avail_in = (unsigned)(to.got.n - (size_t)(body - to.got.s));
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_string_equal(plain, "hello, hello, hello, hello");
	inflateEnd(&z);
	receiver_end(&to);
}

/* ---- tried again ---- */

/* Every other request fails, each in another way; the one behind it is taken. */
static void fail_every_other(struct receiver *r, int fd)
{
	static const char *const failures[] = {
	    "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
	    "HTTP/1.1 429 Too Many\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n",
	    "HTTP/1.1 502 Bad Gateway\r\n\r\n<html>",
	    "HTTP/1.1 504 Late\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	    "",
	    "\x80\x81 garbage\r\n\r\n",
	    "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncut off",
	};
	int n = r->requests, kinds = (int)(sizeof(failures) / sizeof(failures[0]));
	struct linger now = {.l_onoff = 1};

	receiver_read(r, fd);
	if (n % 2)
		receiver_say(r, fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	else if (n / 2 < kinds)
		receiver_say(r, fd, failures[n / 2]);
	else
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)); /* a reset */
}

static void passing_failures_are_tried_again(void **state)
{
	struct fsc_receiver_state st;
	struct receiver to;
	struct fsc_sender *s;

	(void)state;
	receiver_begin(&to, fail_every_other);
	s = open_sender(to.port, (struct fsc_sender_opts){0});
	for (const char *c = "a\0b\0c\0d\0e\0f\0g\0h\0"; *c; c += 2)
		post(s, c);
	AWAIT(s, is.sent == 8);
	st = close_sender(s, 0, 8);
	assert_int_equal(st.retried, 8);
	assert_int_equal(st.dropped_refused, 0);
	assert_string_equal(fsc_buf_str(&to.bodies),
			    "a\na\nb\nb\nc\nc\nd\nd\ne\ne\nf\nf\ng\ng\nh\nh\n");
	receiver_end(&to);
}

static void wait_a_little(struct receiver *r, int fd)
{
	bool first = !r->requests;

	receiver_read(r, fd);
	receiver_say(r, fd,
		     first ? "HTTP/1.1 429 Slow down\r\nRetry-After: 1\r\nContent-Length: 9\r\n\r\n"
			     "slow down"
			   : "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
}

static void told_to_wait_it_waits_and_says_why(void **state)
{
	struct receiver to;
	struct fsc_sender *s;
	char why[200], want[200];

	(void)state;
	receiver_begin(&to, wait_a_little);
	s = open_sender(to.port, (struct fsc_sender_opts){0});
	post(s, "a");
	AWAIT(s, is.retried == 1);
	snprintf(want, sizeof(want), "http://127.0.0.1:%u/base/v1/x answered 429: slow down",
		 to.port);
	fsc_sender_failure(s, why, sizeof(why));
	if (why[0]) /* else the second attempt was faster */
		assert_string_equal(why, want);
	AWAIT(s, is.sent == 1 && is.up);
	close_sender(s, 0, 1);
	assert_int_equal(to.requests, 2);
	receiver_end(&to);
}

static void come_tomorrow(struct receiver *r, int fd)
{
	receiver_read(r, fd);
	receiver_say(r, fd, "HTTP/1.1 503 Busy\r\nRetry-After: 86400\r\nContent-Length: 0\r\n\r\n");
}

/* It does not wait for a moment that comes after the end: this test would not end. */
static void stopping_does_not_wait_in_vain(void **state)
{
	struct receiver to;
	struct fsc_sender *s;

	(void)state;
	receiver_begin(&to, come_tomorrow);
	s = open_sender(to.port, (struct fsc_sender_opts){0});
	post(s, "a");
	AWAIT(s, is.retried == 1);
	assert_int_equal(close_sender(s, 100, 1).dropped_full, 1);
	assert_int_equal(to.requests, 1);
	receiver_end(&to);
}

static void nobody_listens(void **state)
{
	struct fsc_receiver_state st;
	struct fsc_sender *s = open_sender(port_of_nobody(), (struct fsc_sender_opts){0});
	char why[200];

	(void)state;
	post(s, "a");
	post(s, "b");
	AWAIT(s, is.retried >= 2);
	fsc_sender_failure(s, why, sizeof(why));
	assert_non_null(strstr(why, "Connection refused"));
	assert_false(state_of(s).up);
	assert_int_equal(state_of(s).queued, 2);
	assert_int_equal(state_of(s).queued_bytes, 2);
	st = close_sender(s, 0, 2);
	assert_int_equal(st.dropped_full, 2);
}

static void hang(struct receiver *r, int fd)
{
	receiver_hang(r, fd);
}

static void silence_is_tried_again(void **state)
{
	struct receiver to;
	struct fsc_sender *s;

	(void)state;
	receiver_begin(&to, hang);
	s = open_sender(to.port, (struct fsc_sender_opts){.timeout_s = 0.05});
	post(s, "a");
	AWAIT(s, is.retried >= 2);
	assert_int_equal(close_sender(s, 0, 1).dropped_full, 1);
	receiver_end(&to);
}

/* ---- not tried again ---- */

static void refuse_odd_ones(struct receiver *r, int fd)
{
	static const char *const refusals[] = {
	    "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
	    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	    "HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
	    "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
	    "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n",
	    "HTTP/1.1 204 No Content\r\n\r\n",
	    "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n",
	};
	size_t i = (size_t)r->requests;

	receiver_read(r, fd);
	receiver_say(r, fd, refusals[i % (sizeof(refusals) / sizeof(refusals[0]))]);
}

static void what_is_refused_is_dropped(void **state)
{
	struct fsc_receiver_state st;
	struct receiver to;
	struct fsc_sender *s;

	(void)state;
	receiver_begin(&to, refuse_odd_ones);
	s = open_sender(to.port, (struct fsc_sender_opts){0});
	for (int i = 0; i < 7; i++)
		post(s, "x");
	st = close_sender(s, PATIENCE_S, 7);
	assert_int_equal(st.dropped_refused, 4);
	assert_int_equal(st.sent, 3);
	assert_int_equal(st.retried, 0);
	assert_false(st.up);
	assert_int_equal(to.requests, 7);
	receiver_end(&to);
}

static void take_part(struct receiver *r, int fd)
{
	receiver_read(r, fd);
	receiver_say(r, fd, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nrejected 3");
}

static atomic_int signals_blocked;

/* Called in the sender's thread. */
static uint64_t rejected_in(const char *body, size_t n)
{
	sigset_t set;

	pthread_sigmask(SIG_BLOCK, NULL, &set);
	signals_blocked = sigismember(&set, SIGTERM) && sigismember(&set, SIGPIPE) &&
			  sigismember(&set, SIGINT) && sigismember(&set, SIGCHLD);
	return n == 10 && !memcmp(body, "rejected ", 9) ? strtoul(body + 9, NULL, 10) : 99;
}

static void partly_taken_is_taken(void **state)
{
	struct fsc_receiver_state st;
	struct receiver to;
	struct fsc_sender *s;

	(void)state;
	receiver_begin(&to, take_part);
	s = open_sender(to.port, (struct fsc_sender_opts){.rejected = rejected_in});
	post(s, "a");
	post(s, "b");
	st = close_sender(s, PATIENCE_S, 2);
	assert_int_equal(st.sent, 2);
	assert_int_equal(st.rejected, 6);
	assert_int_equal(st.retried, 0);
	assert_true(st.up);
	assert_true(signals_blocked);
	receiver_end(&to);
}

/* ---- the one who posts ---- */

/* Thousands of posts end while the receiver has provably answered none of them. */
static void posting_does_not_wait(void **state)
{
	enum { N = 5000, SIZE = 1000 };
	char body[SIZE];
	struct fsc_receiver_state st;
	struct receiver to;
	struct fsc_sender *s;

	(void)state;
	memset(body, 'b', sizeof(body));
	receiver_begin(&to, hang);
	s = open_sender(to.port, (struct fsc_sender_opts){.timeout_s = 10 * PATIENCE_S});
	post(s, "first");
	while (!to.connections)
		usleep(1000);
	for (int i = 0; i < N; i++)
		fsc_sender_post(s, "/v1/x", "text/plain", body, sizeof(body));
	assert_int_equal(to.answers, 0);
	assert_int_equal(to.connections, 1);
	assert_int_equal(state_of(s).sent, 0);
	assert_true(state_of(s).dropped_full > N / 2); /* a MiB does not hold them */
	assert_true(state_of(s).queued_bytes <= MIB);
	st = close_sender(s, 0, N + 1); /* interrupts the attempt */
	assert_int_equal(st.queued, 0);
	receiver_end(&to);
}

/* Ends an attempt that would last longer than anyone waits for this test. */
static void stopping_interrupts(void **state)
{
	struct receiver to;
	struct fsc_sender *s;

	(void)state;
	receiver_begin(&to, hang);
	s = open_sender(to.port, (struct fsc_sender_opts){.timeout_s = 100 * PATIENCE_S});
	post(s, "a");
	while (!to.connections)
		usleep(1000);
	assert_int_equal(close_sender(s, 0.05, 1).dropped_full, 1);
	receiver_end(&to);
}

static void *post_many(void *arg)
{
	for (int i = 0; i < 500; i++)
		post(arg, "many");
	return NULL;
}

static void flaky(struct receiver *r, int fd)
{
	int n = r->requests;

	receiver_read(r, fd);
	if (n % 7 != 3)
		receiver_say(r, fd,
			     n % 5 ? "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
				   : "HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n");
}

static void the_books_balance(void **state)
{
	struct receiver to;
	struct fsc_sender *s;
	pthread_t threads[4];

	(void)state;
	receiver_begin(&to, flaky);
	s = open_sender(to.port, (struct fsc_sender_opts){.memory = 20000});
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, post_many, s), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	AWAIT(s, is.sent >= 3 && is.dropped_refused >= 1 && is.retried >= 1);
	close_sender(s, 0, 2000);
	receiver_end(&to);
}

/* ---- on disk ---- */

static void what_is_left_waits_on_disk(void **state)
{
	char dir[] = "/tmp/test_sender.XXXXXX", command[100];
	struct fsc_sender_opts o = {.directory = dir, .disk = 10 * MIB};
	struct fsc_receiver_state st;
	struct receiver to;
	struct fsc_sender *s;

	(void)state;
	assert_non_null(mkdtemp(dir));
	s = open_sender(port_of_nobody(), o);
	post(s, "a");
	post(s, "b");
	post(s, "c");
	st = close_sender(s, 0, 3);
	assert_int_equal(st.queued, 3);
	assert_int_equal(st.dropped_full, 0);
	receiver_begin(&to, take_it);
	s = open_sender(to.port, o);
	post(s, "d");
	st = close_sender(s, PATIENCE_S, 4);
	assert_int_equal(st.sent, 4);
	assert_string_equal(fsc_buf_str(&to.bodies), "a\nb\nc\nd\n");
	receiver_end(&to);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
}

/* ---- changes ---- */

static void change(struct fsc_sender *s, unsigned port, struct fsc_sender_opts o)
{
	struct fsc_sender_change *c = NULL;
	struct fsc_err err = {0};

	o = opts_for(port, o);
	if (fsc_sender_try(s, &o, &c, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(fsc_sender_commit(s, c), 0);
}

static void remove_tree(const char *dir)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
}

/* The queue goes to the new address, in order, whether or not an attempt is in progress and
 * wherever the messages are; nothing is dropped. */
static void another_address_gets_what_is_queued(void **state)
{
	char dir[] = "/tmp/test_sender.XXXXXX", slashed[sizeof(dir) + 1];
	const struct fsc_sender_opts ways[] = {
	    {0},
	    {.directory = dir, .disk = 10 * MIB},
	    {.directory = dir, .disk = 10 * MIB, .memory = 1}, /* all in files */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct fsc_sender_opts o = ways[i];
		struct receiver deaf, to;
		struct fsc_sender *s;

		strcpy(strstr(dir, "sender.") + 7, "XXXXXX");
		assert_non_null(mkdtemp(dir));
		receiver_begin(&deaf, hang);
		receiver_begin(&to, take_it);
		s = open_sender(deaf.port, o);
		post(s, "a");
		post(s, "b");
		while (!deaf.connections)
			usleep(1000);
		if (o.directory) { /* the same one */
			snprintf(slashed, sizeof(slashed), "%s/", dir);
			o.directory = slashed;
		}
		change(s, to.port, o);
		post(s, "c");
		assert_int_equal(close_sender(s, PATIENCE_S, 3).sent, 3);
		assert_string_equal(fsc_buf_str(&to.bodies), "a\nb\nc\n");
		receiver_end(&to);
		receiver_end(&deaf);
		remove_tree(dir);
	}
}

static void another_directory_gets_what_is_queued(void **state)
{
	char one[] = "/tmp/test_sender.XXXXXX", other[] = "/tmp/test_sender.XXXXXX";
	const struct fsc_sender_opts none = {0},
				     a = {.directory = one, .disk = 10 * MIB, .memory = 1},
				     b = {.directory = other, .disk = 10 * MIB, .memory = 1};
	const struct fsc_sender_opts ways[] = {none, a, b, none, b, a, none};
	unsigned nobody = port_of_nobody();
	struct fsc_receiver_state st;
	struct receiver to;
	struct fsc_sender *s;

	(void)state;
	assert_non_null(mkdtemp(one));
	assert_non_null(mkdtemp(other));
	s = open_sender(nobody, none);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		change(s, nobody, ways[i]);
		post(s, (const char[]){(char)('a' + i), '\0'});
	}
	st = state_of(s);
	assert_int_equal(st.queued, 7);
	assert_int_equal(st.dropped_full, 0);
	receiver_begin(&to, take_it);
	change(s, to.port, none);
	assert_int_equal(close_sender(s, PATIENCE_S, 7).sent, 7);
	assert_string_equal(fsc_buf_str(&to.bodies), "a\nb\nc\nd\ne\nf\ng\n");
	receiver_end(&to);
	remove_tree(one);
	remove_tree(other);
}

static void what_cannot_be_changed_stays(void **state)
{
	struct receiver to;
	struct fsc_sender *s;
	struct fsc_sender_change *c = NULL;
	struct fsc_sender_opts o =
	    opts_for(1, (struct fsc_sender_opts){.directory = "/nonexistent"});
	struct fsc_err err = {0};

	(void)state;
	receiver_begin(&to, take_it);
	s = open_sender(to.port, (struct fsc_sender_opts){0});
	assert_true(fsc_sender_try(s, &o, &c, &err) < 0);
	assert_null(c);
	assert_non_null(strstr(err.msg, "cannot open spool directory"));
	post(s, "a");
	assert_int_equal(close_sender(s, PATIENCE_S, 1).sent, 1);
	receiver_end(&to);
}

/* A removed receiver is sent what is queued, or not; one that is wanted again goes on. */
static void leaving_does_not_wait(void **state)
{
	struct receiver to, deaf;
	struct fsc_sender *s;

	(void)state;
	receiver_begin(&to, take_it);
	receiver_begin(&deaf, hang);
	s = open_sender(deaf.port, (struct fsc_sender_opts){0});
	post(s, "a");
	fsc_sender_leave(s, PATIENCE_S);
	assert_false(fsc_sender_left(s));
	assert_true(fsc_sender_stay(s));
	change(s, to.port, (struct fsc_sender_opts){0});
	post(s, "b");
	AWAIT(s, is.sent == 2);
	assert_false(fsc_sender_left(s));
	fsc_sender_leave(s, PATIENCE_S); /* nothing is queued: it ends at once */
	while (!fsc_sender_left(s))
		usleep(1000);
	assert_false(fsc_sender_stay(s));
	assert_int_equal(close_sender(s, 0, 2).sent, 2);
	s = open_sender(deaf.port, (struct fsc_sender_opts){0});
	post(s, "c");
	fsc_sender_leave(s, 0.05);
	while (!fsc_sender_left(s))
		usleep(1000);
	assert_int_equal(close_sender(s, 0, 1).dropped_full, 1);
	receiver_end(&deaf);
	receiver_end(&to);
}

/* ---- what cannot be ---- */

static void mistakes_are_explained(void **state)
{
	const struct fsc_label two_lines = {"X", "a\r\nY: b"};
	const struct {
		struct fsc_sender_opts opts;
		const char *why;
	} cases[] = {
	    {{.url = "otel:4318"}, "begins neither with http://"},
	    {{.url = "http://me:secret@h"}, "belong in a header"},
	    {{.url = "http://h", .headers = &two_lines, .n_headers = 1}, "control character"},
	    {{.url = "http://h", .directory = "/nonexistent"}, "cannot open spool directory"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fsc_sender_opts o = cases[i].opts;
		struct fsc_sender *s = NULL;
		struct fsc_err err = {0};

		o.name = "otlp";
		assert_true(fsc_sender_new(&o, &s, &err) < 0);
		assert_null(s);
		if (!strstr(err.msg, cases[i].why))
			fail_msg("expected '%s' in '%s'", cases[i].why, err.msg);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sends_in_order),
	    cmocka_unit_test(stopping_sends_what_is_there),
	    cmocka_unit_test(bodies_are_packed),
	    cmocka_unit_test(passing_failures_are_tried_again),
	    cmocka_unit_test(told_to_wait_it_waits_and_says_why),
	    cmocka_unit_test(stopping_does_not_wait_in_vain),
	    cmocka_unit_test(nobody_listens),
	    cmocka_unit_test(silence_is_tried_again),
	    cmocka_unit_test(what_is_refused_is_dropped),
	    cmocka_unit_test(partly_taken_is_taken),
	    cmocka_unit_test(posting_does_not_wait),
	    cmocka_unit_test(stopping_interrupts),
	    cmocka_unit_test(the_books_balance),
	    cmocka_unit_test(what_is_left_waits_on_disk),
	    cmocka_unit_test(another_address_gets_what_is_queued),
	    cmocka_unit_test(another_directory_gets_what_is_queued),
	    cmocka_unit_test(what_cannot_be_changed_stays),
	    cmocka_unit_test(leaving_does_not_wait),
	    cmocka_unit_test(mistakes_are_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
