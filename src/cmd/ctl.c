/* funcscope ctl: requests to a running monitor. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <jansson.h>

#include "base/cleanup.h"
#include "base/fmt.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "monitor/control.h"

enum { PATIENCE_MS = 30000 };

struct ctl_opts {
	const char *socket;
	const char *library, *slow, *min_duration;
	struct fsc_vec types, functions; /* const char * */
	bool by_process, with_slow;
};

static const struct fsc_opt ctl_opts[] = {
    {0, "socket", FSC_OPT_STRING, offsetof(struct ctl_opts, socket), "PATH",
     "socket of the monitor, if there are several", NULL},
    {0, "library", FSC_OPT_STRING, offsetof(struct ctl_opts, library), "FILE",
     "add: where the function is, a path or a pattern", NULL},
    {0, "slow", FSC_OPT_STRING, offsetof(struct ctl_opts, slow), "TIME",
     "add: calls that take this long are slow", NULL},
    {0, "by-process", FSC_OPT_FLAG, offsetof(struct ctl_opts, by_process), NULL,
     "stats: each process separately", NULL},
    {0, "slow-calls", FSC_OPT_FLAG, offsetof(struct ctl_opts, with_slow), NULL,
     "stats: also the slow calls that were kept", NULL},
    {0, "type", FSC_OPT_LIST, offsetof(struct ctl_opts, types), "TYPE",
     "subscribe: slow or call; may be repeated", NULL},
    {0, "function", FSC_OPT_LIST, offsetof(struct ctl_opts, functions), "PATTERN",
     "subscribe: only these functions; may be repeated", NULL},
    {0, "min-duration", FSC_OPT_STRING, offsetof(struct ctl_opts, min_duration), "TIME",
     "subscribe: only calls that take this long", NULL},
    {0},
};

static int set(json_t *to, const char *key, json_t *value, struct fsc_err *err)
{
	return json_object_set_new(to, key, value) ? fsc_err_nomem(err) : 0;
}

static int set_text(json_t *to, const char *key, const char *value, struct fsc_err *err)
{
	return value ? set(to, key, json_string(value), err) : 0;
}

static int set_list(json_t *to, const char *key, const struct fsc_vec *texts, struct fsc_err *err)
{
	json_t *all = texts->n ? json_array() : NULL;
	int rc = texts->n && !all ? fsc_err_nomem(err) : 0;

	for (size_t i = 0; !rc && i < texts->n; i++)
		if (json_array_append_new(all, json_string(*FSC_AT(const char *, texts, i))))
			rc = fsc_err_nomem(err);
	if (!rc && all)
		return set(to, key, all, err);
	json_decref(all);
	return rc;
}

/* What each request takes: GROUP NAME [SYMBOL], or nothing. */
static const struct {
	const char *name;
	int least, most;
} requests[] = {{"list", 0, 0}, {"stats", 0, 0},  {"status", 0, 0},   {"reload", 0, 0},
		{"add", 2, 3},	{"remove", 2, 2}, {"subscribe", 0, 0}};

static int check_words(char **words, int n, struct fsc_err *err)
{
	struct fsc_nearest near = {.wanted = n ? words[0] : ""};
	char text[540];

	for (size_t i = 0; n && i < sizeof(requests) / sizeof(requests[0]); i++) {
		fsc_nearest_offer(&near, requests[i].name);
		if (strcmp(requests[i].name, words[0]))
			continue;
		if (n - 1 >= requests[i].least && n - 1 <= requests[i].most)
			return 0;
		return fsc_err_usage(err, "ctl %s takes %s", words[0],
				     requests[i].most == 3   ? "GROUP NAME [SYMBOL]"
				     : requests[i].most == 2 ? "GROUP NAME"
							     : "no arguments");
	}
	fsc_nearest_text(&near, text, sizeof(text));
	fsc_err_usage(err, n ? "'%s' is not a request" : "ctl takes a request", n ? words[0] : "");
	return fsc_err_hint(err, "%s%s%s",
			    text[0] ? "did you mean "
				    : "add, remove, list, stats, status, reload or subscribe",
			    text, text[0] ? "?" : "");
}

static int make_request(const struct ctl_opts *o, char **words, int n, json_t *to,
			struct fsc_err *err)
{
	int rc = set_text(to, "request", words[0], err);

	if (!rc && n > 1)
		rc = set_text(to, "group", words[1], err);
	if (!rc && n > 2)
		rc = set_text(to, "name", words[2], err);
	if (!rc && n > 3)
		rc = set_text(to, "symbol", words[3], err);
	if (!rc)
		rc = set_text(to, "library", o->library, err);
	if (!rc)
		rc = set_text(to, "slow", o->slow, err);
	if (!rc)
		rc = set_text(to, "min_duration", o->min_duration, err);
	if (!rc && o->by_process)
		rc = set(to, "by_process", json_true(), err);
	if (!rc && o->with_slow)
		rc = json_object_set_new(to, "slow", json_true()) ? fsc_err_nomem(err) : 0;
	if (!rc)
		rc = set_list(to, "types", &o->types, err);
	return rc ? rc : set_list(to, "functions", &o->functions, err);
}

/* Whether the line ends the answer; an error in it is returned. */
static bool is_last(const char *line, struct fsc_err *err)
{
	json_t *j = json_loads(line, 0, NULL);
	const char *type = json_string_value(json_object_get(j, "type"));
	const char *hint = json_string_value(json_object_get(j, "hint"));
	bool last = type && (!strcmp(type, "done") || !strcmp(type, "error"));

	if (last && !strcmp(type, "error")) {
		fsc_err_set(err, EINVAL, "%s",
			    json_string_value(json_object_get(j, "message"))
				?: "the request failed");
		if (hint)
			fsc_err_hint(err, "%s", hint);
	}
	json_decref(j);
	return last;
}

/* Prints the answer as it comes. A subscription ends when the monitor or this process does. */
static int read_answer(int fd, bool for_ever, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *line = NULL;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	FILE *f = fdopen(dup(fd), "r");
	size_t cap = 0;
	bool last = false;

	if (!f)
		return fsc_err_sys(err, errno, "cannot read the answer");
	if (!for_ever && poll(&p, 1, PATIENCE_MS) == 0)
		fsc_err_set(err, ETIMEDOUT, "the monitor does not answer");
	while (!err->code && !last && getline(&line, &cap, f) > 0) {
		last = is_last(line, err);
		if (!last && (fputs(line, stdout) < 0 || fflush(stdout)))
			fsc_err_sys(err, errno, "cannot write the output");
	}
	fclose(f);
	if (!err->code && !last && !for_ever)
		fsc_err_set(err, EPIPE, "the monitor exited before it answered");
	return err->code ? -err->code : 0;
}

static int send_request(const struct ctl_opts *o, char **words, int n, struct fsc_err *err)
{
	FSC_AUTO(fsc_closep) int fd = -1;
	FSC_AUTO(fsc_freep) char *text = NULL;
	json_t *request = json_object();
	int rc = request ? make_request(o, words, n, request, err) : fsc_err_nomem(err);

	text = rc ? NULL : json_dumps(request, JSON_COMPACT);
	json_decref(request);
	if (rc || !text)
		return rc ? rc : fsc_err_nomem(err);
	fd = fsc_control_connect(o->socket, err);
	if (fd < 0)
		return fd;
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0 || send(fd, "\n", 1, MSG_NOSIGNAL) < 0)
		return fsc_err_sys(err, errno, "cannot send the request to the monitor");
	return read_answer(fd, !strcmp(words[0], "subscribe"), err);
}

static int run_ctl(int argc, char **argv, char **command, struct fsc_err *err)
{
	struct ctl_opts o = {.types = FSC_VEC_INIT(const char *),
			     .functions = FSC_VEC_INIT(const char *)};
	const struct fsc_opt_set sets[] = {{ctl_opts, &o}, {NULL, NULL}};
	int n, rc = fsc_opt_parse(sets, argc, argv, &n, err);

	if (!rc && command)
		rc = fsc_err_usage(err, "ctl does not run a command");
	if (!rc)
		rc = check_words(argv + 1, n, err);
	if (!rc)
		rc = send_request(&o, argv + 1, n, err);
	fsc_vec_release(&o.types);
	fsc_vec_release(&o.functions);
	return rc;
}

const struct fsc_cmd fsc_cmd_ctl = {
    .name = "ctl",
    .summary = "query a running monitor, or change what it watches",
    .operands = "add|remove|list|stats|status|reload|subscribe [GROUP NAME [SYMBOL]]",
    .example = "funcscope ctl add custom work 'work*' --library /usr/bin/prog",
    .opts = (const struct fsc_opt *const[]){ctl_opts, NULL},
    .run = run_ctl,
};
