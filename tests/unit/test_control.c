/* src/monitor/control.h: requests and events over real sockets: many clients, requests in pieces
 * and too long ones, clients that do not read, who may change something, where sockets are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/vec.h"
#include "monitor/control.h"

static char dir[64], path[96];
static unsigned asked;		      /* how often the monitor was */
static size_t answer_size;	      /* of what it answers to "big" */
static struct fsc_control *busy_with; /* "long" serves the others meanwhile */
static bool busy;

/* The monitor: repeats what it was asked, fails when it is told to. */
static int answer(const json_t *request, bool may_change, struct fsc_buf *b, void *arg,
		  struct fsc_err *err)
{
	const char *what = json_string_value(json_object_get(request, "request"));

	assert_ptr_equal(arg, &asked);
	asked++;
	if (!strcmp(what, "fail")) {
		fsc_buf_puts(b, "{\"type\":\"half\"}\n");
		fsc_err_set(err, EINVAL, "it is \"so\"");
		return fsc_err_hint(err, "do it otherwise");
	}
	if (!strcmp(what, "big")) {
		fsc_buf_puts(b, "{\"type\":\"big\",\"text\":\"");
		for (size_t i = 0; i < answer_size; i++)
			fsc_buf_putc(b, 'x');
		fsc_buf_puts(b, "\"}\n");
		return 0;
	}
	if (!strcmp(what, "change") && busy)
		return -EAGAIN;
	if (!strcmp(what, "long")) {
		busy = true;
		for (int i = 0; i < 3; i++)
			assert_int_equal(fsc_control_run(busy_with, err), 0);
		busy = false;
	}
	fsc_buf_printf(b, "{\"type\":\"%s\",\"may_change\":%s}\n", what,
		       may_change ? "true" : "false");
	return 0;
}

static struct fsc_control *make(const char *where)
{
	struct fsc_control *c = NULL;
	struct fsc_err err = {0};

	asked = 0;
	assert_int_equal(fsc_control_new(answer, &asked, &c, &err), 0);
	if (fsc_control_listen(c, where, &err))
		fail_msg("%s", err.msg);
	return c;
}

static void run(struct fsc_control *c)
{
	assert_int_equal(fsc_control_run(c, NULL), 0);
}

static int client(void)
{
	struct fsc_err err = {0};
	int fd = fsc_control_connect(path, &err);

	if (fd < 0)
		fail_msg("%s", err.msg);
	return fd;
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* What has come for a client by now; static. */
static const char *heard(int fd)
{
	static char text[65536];
	ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static bool is_closed(int fd)
{
	char one;
	ssize_t n = recv(fd, &one, 1, MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno != EAGAIN);
}

static const struct fsc_func work = {.name = "work", .group = "app"};

static void event(struct fsc_control *c, const char *type, uint32_t pid, uint64_t ns)
{
	bool slow = !strcmp(type, "slow");
	const struct fsc_call call = {.func = &work,
				      .pid = pid,
				      .slow = slow,
				      .event = slow ? FSC_CALL_BOTH : FSC_CALL_RETURN,
				      .has_duration = true,
				      .duration_ns = ns};
	struct fsc_buf line = {0};

	fsc_buf_printf(&line, "{\"type\":\"%s\",\"pid\":%u}\n", type, pid);
	fsc_control_call(c, &call, &line);
	fsc_buf_release(&line);
}

/* ---- requests ---- */

static void a_request_is_answered(void **state)
{
	struct fsc_control *c = make(path);
	int fd = client();

	(void)state;
	say(fd, "{\"request\":\"list\"}\n");
	run(c);
	assert_string_equal(heard(fd),
			    "{\"type\":\"list\",\"may_change\":true}\n{\"type\":\"done\"}\n");
	assert_int_equal(fsc_control_clients(c), 1);
	say(fd, "{\"request\":\"a\"}\n{\"request\":\"b\"}\n");
	run(c);
	assert_string_equal(heard(fd),
			    "{\"type\":\"a\",\"may_change\":true}\n{\"type\":\"done\"}\n"
			    "{\"type\":\"b\",\"may_change\":true}\n{\"type\":\"done\"}\n");
	close(fd);
	run(c);
	assert_int_equal(fsc_control_clients(c), 0);
	fsc_control_free(c);
}

/* Questions at once, changes afterwards; clients come and go meanwhile. */
static void others_are_answered_during_a_long_request(void **state)
{
	enum { OTHERS = 20 };
	struct fsc_control *c = busy_with = make(path);
	int fd = client(), change = client(), others[OTHERS];

	(void)state;
	say(fd, "{\"request\":\"long\"}\n{\"request\":\"after\"}\n");
	say(change, "{\"request\":\"change\"}\n{\"request\":\"b\"}\n");
	for (int i = 0; i < OTHERS; i++) {
		others[i] = client();
		say(others[i], "{\"request\":\"a\"}\n");
		shutdown(others[i], SHUT_WR);
	}
	run(c);
	assert_string_equal(heard(fd),
			    "{\"type\":\"long\",\"may_change\":true}\n{\"type\":\"done\"}\n"
			    "{\"type\":\"after\",\"may_change\":true}\n{\"type\":\"done\"}\n");
	assert_string_equal(heard(change),
			    "{\"type\":\"change\",\"may_change\":true}\n{\"type\":\"done\"}\n"
			    "{\"type\":\"b\",\"may_change\":true}\n{\"type\":\"done\"}\n");
	for (int i = 0; i < OTHERS; i++) {
		assert_string_equal(heard(others[i]),
				    "{\"type\":\"a\",\"may_change\":true}\n{\"type\":\"done\"}\n");
		close(others[i]);
	}
	/* The change three times in vain. */
	assert_int_equal(asked, 2 + 3 + 2 + OTHERS);
	run(c);
	assert_int_equal(fsc_control_clients(c), 2);
	close(fd);
	close(change);
	fsc_control_free(c);
}

static void requests_come_in_pieces(void **state)
{
	const char *text = "{\"request\":\"list\"}\n{\"request\":\"stats\"}\n";
	struct fsc_control *c = make(path);
	int fd = client();

	(void)state;
	for (const char *p = text; *p; p++) {
		assert_int_equal(send(fd, p, 1, MSG_NOSIGNAL), 1);
		run(c);
	}
	assert_int_equal(asked, 2);
	assert_non_null(strstr(heard(fd), "\"type\":\"stats\""));
	close(fd);
	fsc_control_free(c);
}

/* It asks and closes its half: the answer comes all the same. */
static void whoever_asks_no_more_may_still_read(void **state)
{
	struct fsc_control *c = make(path);
	int fd = client();

	(void)state;
	say(fd, "{\"request\":\"list\"}\n");
	shutdown(fd, SHUT_WR);
	run(c);
	run(c);
	assert_non_null(strstr(heard(fd), "\"done\""));
	assert_true(is_closed(fd));
	assert_int_equal(fsc_control_clients(c), 0);
	close(fd);
	fsc_control_free(c);
}

static void failures_are_answered_with_their_words(void **state)
{
	static const char *const bad[] = {"\n",
					  "nonsense\n",
					  "[]\n",
					  "7\n",
					  "{}\n",
					  "{\"request\":7}\n",
					  "{\"request\":\"a\",\"request\":\"b\"}\n",
					  "{\"request\":\"a\"} {}\n",
					  "{\"request\":\"subscribe\",\"types\":\"slow\"}\n",
					  "{\"request\":\"subscribe\",\"pids\":[\"1\"]}\n",
					  "{\"request\":\"subscribe\",\"min_duration\":\"5\"}\n",
					  "{\"request\":\"subscribe\",\"min_duration\":5}\n",
					  "{\"request\":\"subscribe\",\"min_duratoin\":\"5s\"}\n",
					  "{\"request\":\"add\",\"name\":[\"a\"]}\n",
					  "{\"request\":\"add\",\"slow\":true}\n",
					  "{\"request\":\"stats\",\"slow\":\"5s\"}\n",
					  "{\"request\":\"stats\",\"by_process\":1}\n",
					  "{\"request\":\"\xff\xfe\"}\n"};
	struct fsc_control *c = make(path);
	int fd = client();

	(void)state;
	say(fd, "{\"request\":\"fail\"}\n");
	run(c);
	assert_string_equal(heard(fd), "{\"type\":\"error\",\"message\":\"it is \\\"so\\\"\","
				       "\"hint\":\"do it otherwise\"}\n");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *text;

		say(fd, bad[i]);
		run(c);
		text = heard(fd);
		assert_memory_equal(text, "{\"type\":\"error\"", 15);
		assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	}
	say(fd, "{\"request\":\"subscribe\",\"min_duration\":5}\n");
	run(c);
	assert_string_equal(heard(fd),
			    "{\"type\":\"error\",\"message\":\"\\\"min_duration\\\" of a "
			    "request must be a string, not 5\"}\n");
	assert_int_equal(asked, 1);
	assert_false(fsc_control_wants(c, "slow"));
	assert_int_equal(fsc_control_clients(c), 1);
	close(fd);
	fsc_control_free(c);
}

static void a_giant_request_ends_its_client_alone(void **state)
{
	struct fsc_control *c = make(path);
	int good = client(), bad = client();
	char chunk[4096];

	(void)state;
	memset(chunk, ' ', sizeof(chunk));
	for (int i = 0; i < 100; i++) {
		send(bad, chunk, sizeof(chunk), MSG_NOSIGNAL | MSG_DONTWAIT);
		run(c);
	}
	assert_true(is_closed(bad));
	say(good, "{\"request\":\"list\"}\n");
	run(c);
	assert_non_null(strstr(heard(good), "\"done\""));
	assert_int_equal(fsc_control_clients(c), 1);
	close(good);
	close(bad);
	fsc_control_free(c);
}

static void there_are_only_so_many_clients(void **state)
{
	struct fsc_control *c = make(path);
	int fds[200];
	size_t n = 0, turned_away = 0;

	(void)state;
	/* a few at a time: the queue of connections has an end, too */
	while (n < 200) {
		for (size_t i = 0; i < 10; i++)
			fds[n++] = client();
		run(c);
	}
	assert_true(fsc_control_clients(c) < 200);
	for (size_t i = 0; i < n; i++)
		turned_away += is_closed(fds[i]);
	assert_int_equal(turned_away + fsc_control_clients(c), n);
	say(fds[0], "{\"request\":\"list\"}\n");
	run(c);
	assert_non_null(strstr(heard(fds[0]), "\"done\""));
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	run(c);
	assert_int_equal(fsc_control_clients(c), 0);
	n = (size_t)client();
	say((int)n, "{\"request\":\"list\"}\n");
	run(c);
	assert_non_null(strstr(heard((int)n), "\"done\""));
	close((int)n);
	fsc_control_free(c);
}

/* Answers are not dropped, so whoever does not read them is not asked for more. */
static void whoever_reads_no_answers_is_held_back(void **state)
{
	struct fsc_control *c = make(path);
	int fd = client(), other = client();

	(void)state;
	answer_size = 256 << 10;
	for (int i = 0; i < 400; i++) {
		send(fd, "{\"request\":\"big\"}\n", 18, MSG_NOSIGNAL | MSG_DONTWAIT);
		run(c);
	}
	assert_true(asked < 100);
	say(other, "{\"request\":\"list\"}\n");
	run(c);
	assert_non_null(strstr(heard(other), "\"done\""));
	close(fd);
	close(other);
	fsc_control_free(c);
}

/* ---- subscriptions ---- */

static void events_go_to_those_who_want_them(void **state)
{
	static const struct {
		const char *request;
		const char *gets; /* of the events below, by their pids */
	} cases[] = {
	    {"{\"request\":\"subscribe\"}\n", "1234"},
	    {"{\"request\":\"subscribe\",\"types\":[\"slow\"]}\n", "12"},
	    {"{\"request\":\"subscribe\",\"types\":[\"call\",\"slow\"]}\n", "1234"},
	    {"{\"request\":\"subscribe\",\"types\":[]}\n", ""},
	    {"{\"request\":\"subscribe\",\"functions\":[\"wo*\"]}\n", "1234"},
	    {"{\"request\":\"subscribe\",\"functions\":[\"other\"]}\n", ""},
	    {"{\"request\":\"subscribe\",\"groups\":[\"app\"]}\n", "1234"},
	    {"{\"request\":\"subscribe\",\"groups\":[\"cuda\"]}\n", ""},
	    {"{\"request\":\"subscribe\",\"pids\":[2,3]}\n", "23"},
	    {"{\"request\":\"subscribe\",\"min_duration\":\"2ms\"}\n", "24"},
	    {"{\"request\":\"list\"}\n", ""},
	};
	enum { N = sizeof(cases) / sizeof(cases[0]) };
	struct fsc_control *c = make(path);
	int fds[N];

	(void)state;
	for (size_t i = 0; i < N; i++) {
		fds[i] = client();
		say(fds[i], cases[i].request);
		run(c);
		heard(fds[i]);
	}
	assert_true(fsc_control_wants(c, "slow") && fsc_control_wants(c, "call"));
	event(c, "slow", 1, 1000000);
	event(c, "slow", 2, 2000000);
	event(c, "call", 3, 1999999);
	event(c, "call", 4, 5000000);
	for (size_t i = 0; i < N; i++) {
		char got[8] = "";
		const char *at = heard(fds[i]);

		while ((at = strstr(at, "\"pid\":")))
			strncat(got, at += 6, 1);
		assert_string_equal(got, cases[i].gets);
		close(fds[i]);
	}
	run(c);
	run(c); /* it may only have asked no more */
	assert_false(fsc_control_wants(c, "slow"));
	assert_int_equal(fsc_control_dropped(c), 0);
	fsc_control_free(c);
}

/* The last subscription counts, with all it says and nothing of the one before it. */
static void a_subscription_replaces_the_one_before(void **state)
{
	struct fsc_control *c = make(path);
	int fd = client();

	(void)state;
	say(fd, "{\"request\":\"subscribe\",\"types\":[\"slow\"],\"min_duration\":\"1s\"}\n");
	run(c);
	say(fd, "{\"request\":\"subscribe\",\"types\":[\"call\"]}\n");
	run(c);
	heard(fd);
	event(c, "slow", 1, 5000000000u);
	event(c, "call", 2, 1000);
	assert_string_equal(heard(fd), "{\"type\":\"call\",\"pid\":2}\n");
	close(fd);
	fsc_control_free(c);
}

/* Whoever subscribes can still ask, and sees where the answer ends. */
static void a_subscriber_can_ask(void **state)
{
	struct fsc_control *c = make(path);
	int fd = client();

	(void)state;
	say(fd, "{\"request\":\"subscribe\"}\n");
	run(c);
	heard(fd);
	say(fd, "{\"request\":\"list\"}\n");
	run(c);
	assert_string_equal(heard(fd),
			    "{\"type\":\"list\",\"may_change\":true}\n{\"type\":\"done\"}\n");
	close(fd);
	fsc_control_free(c);
}

/* Reads all there is; the sum of what "dropped" lines say. */
static uint64_t read_all(struct fsc_control *c, int fd, uint64_t *events)
{
	static char text[1 << 20];
	uint64_t dropped = 0;
	size_t have = 0;

	for (int idle = 0; idle < 3;) {
		ssize_t n = recv(fd, text + have, sizeof(text) - 1 - have, MSG_DONTWAIT);
		char *line = text, *end;

		idle = n > 0 ? 0 : idle + 1;
		have += n > 0 ? (size_t)n : 0;
		text[have] = '\0';
		while ((end = strchr(line, '\n'))) {
			const char *count;

			*end = '\0';
			count = strstr(line, "\"dropped\",\"count\":");
			if (count)
				dropped += strtoull(count + 18, NULL, 10);
			*events += strstr(line, "\"type\":\"slow\"") != NULL;
			line = end + 1;
		}
		have -= (size_t)(line - text);
		memmove(text, line, have + 1);
		run(c);
	}
	return dropped;
}

static void whoever_does_not_read_is_told_what_it_missed(void **state)
{
	enum { MANY = 200000 };
	struct fsc_control *c = make(path);
	int lazy = client(), keen = client();
	uint64_t got = 0, keen_got = 0, dropped;

	(void)state;
	say(lazy, "{\"request\":\"subscribe\"}\n");
	say(keen, "{\"request\":\"subscribe\"}\n");
	run(c);
	for (int i = 0; i < MANY; i++) {
		event(c, "slow", 1, 1);
		if (i % 1000 == 0)
			assert_int_equal(read_all(c, keen, &keen_got), 0);
	}
	assert_int_equal(read_all(c, keen, &keen_got), 0);
	assert_int_equal(keen_got, MANY);
	assert_true(fsc_control_dropped(c) > 0);
	dropped = read_all(c, lazy, &got); /* it is told as soon as it reads on */
	assert_int_equal(dropped, fsc_control_dropped(c));
	assert_int_equal(got + dropped, MANY);
	close(lazy);
	close(keen);
	fsc_control_free(c);
}

/* ---- who, and where ---- */

/* A port that is free, as the address of a stream. */
static struct sockaddr_in free_port(char *where, size_t size)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof(a);
	int probe = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(probe, (void *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(probe, (void *)&a, &n), 0);
	close(probe);
	snprintf(where, size, "tcp:127.0.0.1:%u", ntohs(a.sin_port));
	return a;
}

static int remote_client(const struct sockaddr_in *a)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (const void *)a, sizeof(*a)), 0);
	return fd;
}

static void by_tcp_nothing_may_be_changed(void **state)
{
	struct sockaddr_in a;
	struct fsc_control *c;
	struct fsc_err err = {0};
	char where[64];
	int fd;

	(void)state;
	a = free_port(where, sizeof(where));
	c = make(where);
	fd = remote_client(&a);
	say(fd, "{\"request\":\"list\"}\n");
	for (int i = 0; i < 100 && !asked; i++)
		run(c);
	assert_string_equal(heard(fd),
			    "{\"type\":\"list\",\"may_change\":false}\n{\"type\":\"done\"}\n");
	assert_true(fsc_control_listen(c, where, &err) < 0);
	assert_non_null(strstr(err.msg, where));
	close(fd);
	fsc_control_free(c);
}

/* Clients of the network, silent ones and more than there are places: root's requests are answered.
 */
static void remote_clients_take_no_local_place(void **state)
{
	enum { MANY = 80 };
	struct sockaddr_in a;
	struct fsc_control *c;
	char where[64];
	int fds[MANY], fd;
	size_t closed = 0;

	(void)state;
	a = free_port(where, sizeof(where));
	c = make(where);
	assert_int_equal(fsc_control_listen(c, path, NULL), 0);
	for (size_t i = 0; i < MANY; i++) {
		fds[i] = remote_client(&a);
		run(c);
	}
	while (fsc_control_clients(c) + fsc_control_refused(c) < MANY)
		run(c);
	assert_int_equal(fsc_control_clients(c), FSC_CONTROL_LIMITS.remote);
	for (size_t i = 0; i < MANY; i++)
		closed += is_closed(fds[i]);
	assert_int_equal(closed, MANY - FSC_CONTROL_LIMITS.remote);
	fd = client();
	say(fd, "{\"request\":\"list\"}\n");
	run(c);
	assert_non_null(strstr(heard(fd), "\"done\""));
	/* A place that is given back is another's. */
	close(fds[0]);
	while (fsc_control_clients(c) > FSC_CONTROL_LIMITS.remote)
		run(c);
	fds[0] = remote_client(&a);
	say(fds[0], "{\"request\":\"list\"}\n");
	for (asked = 0; !asked;)
		run(c);
	assert_int_equal(fsc_control_refused(c), MANY - FSC_CONTROL_LIMITS.remote);
	for (size_t i = 0; i < MANY; i++)
		close(fds[i]);
	close(fd);
	fsc_control_free(c);
}

/* Neither silence nor half a request keeps a place; a subscription and a local client do. */
static void idle_remote_clients_are_closed(void **state)
{
	struct sockaddr_in a;
	struct fsc_control *c;
	char where[64];
	int silent, half, subscriber, local;

	(void)state;
	a = free_port(where, sizeof(where));
	c = make(where);
	assert_int_equal(fsc_control_listen(c, path, NULL), 0);
	subscriber = remote_client(&a);
	say(subscriber, "{\"request\":\"subscribe\"}\n");
	while (!fsc_control_wants(c, "slow"))
		run(c);
	silent = remote_client(&a);
	half = remote_client(&a);
	local = client();
	say(half, "{\"request\":");
	while (fsc_control_clients(c) < 4)
		run(c);
	assert_int_equal(fsc_control_timed_out(c), 0);
	fsc_control_limit(c, (struct fsc_control_limits){.local = 2, .remote = 3, .idle_s = 0});
	while (fsc_control_timed_out(c) < 2)
		run(c);
	run(c);
	assert_int_equal(fsc_control_clients(c), 2);
	assert_true(is_closed(silent) && is_closed(half));
	event(c, "slow", 1, 1);
	assert_non_null(strstr(heard(subscriber), "\"pid\":1"));
	say(local, "{\"request\":\"list\"}\n");
	run(c);
	assert_non_null(strstr(heard(local), "\"done\""));
	assert_int_equal(fsc_control_timed_out(c), 2);
	close(silent);
	close(half);
	close(subscriber);
	close(local);
	fsc_control_free(c);
}

static void a_socket_is_for_its_owner_alone(void **state)
{
	struct fsc_control *c = make(path);
	struct stat st;

	(void)state;
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0600);
	fsc_control_free(c);
	assert_int_not_equal(stat(path, &st), 0);
}

static void a_socket_in_use_is_left_alone_one_left_behind_is_not(void **state)
{
	struct fsc_control *one = make(path), *two = NULL;
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct fsc_err err = {0};
	int fd;

	(void)state;
	assert_int_equal(fsc_control_new(answer, &asked, &two, NULL), 0);
	assert_true(fsc_control_listen(two, path, &err) < 0);
	assert_non_null(strstr(err.msg, path));
	fsc_control_free(two);
	fd = client();
	close(fd);
	fsc_control_free(one);
	/* bound, and nobody listens any more */
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	assert_int_equal(bind(fd, (void *)&a, sizeof(a)), 0);
	close(fd);
	one = make(path);
	close(client());
	fsc_control_free(one);
}

static void what_is_no_socket_is_not_touched(void **state)
{
	struct fsc_control *c = NULL;
	struct fsc_err err = {0};
	struct stat st;
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	(void)state;
	close(fd);
	assert_int_equal(fsc_control_new(answer, &asked, &c, NULL), 0);
	assert_true(fsc_control_listen(c, path, &err) < 0);
	fsc_control_free(c);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	unlink(path);
}

static void bad_places_are_errors(void **state)
{
	static const char *const bad[] = {"tcp:", "tcp:nowhere",
					  "tcp:127.0.0.1:", "tcp:127.0.0.1:http:x",
					  "unix:/no/such/directory/sock"};
	struct fsc_control *c = NULL;
	struct fsc_err err = {0};
	char longer[300];

	(void)state;
	assert_int_equal(fsc_control_new(answer, &asked, &c, NULL), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err = (struct fsc_err){0};
		assert_true(fsc_control_listen(c, bad[i], &err) < 0);
		assert_true(err.msg[0] != '\0');
	}
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_true(fsc_control_listen(c, longer, &err) < 0);
	assert_true(fsc_control_connect(longer, &err) < 0);
	assert_true(fsc_control_connect(path, &err) < 0);
	fsc_control_free(c);
}

static int make_directory(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/test_control.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/sock", dir);
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

/* In a directory of its own. */
#define ALONE(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    ALONE(a_request_is_answered),
	    ALONE(others_are_answered_during_a_long_request),
	    ALONE(requests_come_in_pieces),
	    ALONE(whoever_asks_no_more_may_still_read),
	    ALONE(failures_are_answered_with_their_words),
	    ALONE(a_giant_request_ends_its_client_alone),
	    ALONE(there_are_only_so_many_clients),
	    ALONE(whoever_reads_no_answers_is_held_back),
	    ALONE(events_go_to_those_who_want_them),
	    ALONE(a_subscription_replaces_the_one_before),
	    ALONE(a_subscriber_can_ask),
	    ALONE(whoever_does_not_read_is_told_what_it_missed),
	    ALONE(by_tcp_nothing_may_be_changed),
	    ALONE(remote_clients_take_no_local_place),
	    ALONE(idle_remote_clients_are_closed),
	    ALONE(a_socket_is_for_its_owner_alone),
	    ALONE(a_socket_in_use_is_left_alone_one_left_behind_is_not),
	    ALONE(what_is_no_socket_is_not_touched),
	    ALONE(bad_places_are_errors),
	};

	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
