/* Values with checks beyond their type: addresses, labels, headers, processes. */
#include "monitor/config_keys.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "web/client.h"

/* ---- addresses ---- */

int fsc_config_check_url(struct fsc_config_reader *r, struct fsc_jsonc_value v, char **text,
			 struct fsc_err *err)
{
	const char *host = NULL;
	size_t n;

	if (!strncmp(*text, "http://", 7))
		host = *text + 7;
	else if (!strncmp(*text, "https://", 8))
		host = *text + 8;
	n = host ? strcspn(host, "/?#") : 0;
	if (!n || strpbrk(*text, " <>\"") || *host == ':')
		return fsc_jsonc_err(r->doc, v.node->value, err,
				     "\"%.60s\" is not a URL such as \"http://localhost:4318\"",
				     *text);
	if (memchr(host, '@', n))
		return fsc_jsonc_err(r->doc, v.node->value, err,
				     "a URL with a user name or password is not accepted here; "
				     "send a header instead");
	return 0;
}

static bool is_port(const char *s)
{
	return *s && strlen(s) <= 5 && strspn(s, "0123456789") == strlen(s) && atoi(s) <= 65535;
}

/* The port of "PORT", ":PORT", "HOST:PORT" or "[V6]:PORT"; NULL when it is none of them. */
static const char *port_of(const char *address)
{
	const char *colon = strrchr(address, ':');
	const char *port = colon ? colon + 1 : address;
	const size_t host = colon ? (size_t)(colon - address) : 0;

	if (!is_port(port))
		return NULL;
	if (host && address[0] == '[')
		return host > 2 && address[host - 1] == ']' ? port : NULL;
	return memchr(address, ':', host) || strcspn(address, " /[]") < host ? NULL : port;
}

static int socket_path(struct fsc_config_reader *r, struct fsc_jsonc_value v, const char *path,
		       struct fsc_err *err)
{
	const size_t most = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;

	if (!*path || strlen(path) > most)
		return fsc_jsonc_err(r->doc, v.node->value, err,
				     "a socket's path must be from 1 to %zu bytes long", most);
	return 0;
}

int fsc_config_check_listen(struct fsc_config_reader *r, struct fsc_jsonc_value v, char **text,
			    struct fsc_err *err)
{
	if (!strncmp(*text, "unix:", 5))
		return socket_path(r, v, *text + 5, err);
	if (!port_of(*text))
		return fsc_jsonc_err(r->doc, v.node->value, err,
				     "\"%.60s\" is not an address such as \"127.0.0.1:9464\", "
				     "\"[::1]:9464\", \":9464\" or \"unix:PATH\"",
				     *text);
	return 0;
}

int fsc_config_check_socket(struct fsc_config_reader *r, struct fsc_jsonc_value v, char **text,
			    struct fsc_err *err)
{
	return socket_path(r, v, *text, err);
}

/* Without a host, loopback. */
int fsc_config_check_stream(struct fsc_config_reader *r, struct fsc_jsonc_value v, char **text,
			    struct fsc_err *err)
{
	const char *address = *text + 4, *port;
	char *full;

	if (!strncmp(*text, "unix:", 5))
		return socket_path(r, v, *text + 5, err);
	port = strncmp(*text, "tcp:", 4) ? NULL : port_of(address);
	if (!port)
		return fsc_jsonc_err(r->doc, v.node->value, err,
				     "\"%.60s\" is neither \"unix:PATH\" nor \"tcp:HOST:PORT\"",
				     *text);
	if (port > address + 1)
		return 0;
	if (asprintf(&full, "tcp:127.0.0.1:%s", port) < 0)
		return fsc_err_nomem(err);
	free(*text);
	*text = full;
	return 0;
}

/* ---- names and values ---- */

static bool is_label(const char *s)
{
	if (!isalpha((unsigned char)*s) && *s != '_')
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && *s != '_')
			return false;
	return true;
}

/* Names of funcscope's own labels are reserved. */
static int check_label(struct fsc_config_reader *r, size_t at, const char *name,
		       struct fsc_err *err)
{
	static const char *const taken[] = {"group", "function", "binary",   "pid",    "comm",
					    "error", "le",	 "overflow", "reason", "receiver",
					    "state", "result",	 "version",  "step"};

	if (!is_label(name))
		return fsc_jsonc_err(
		    r->doc, at, err,
		    "\"%.60s\" is not a label name: letters, digits and '_', no digit first", name);
	if (!strncmp(name, "__", 2))
		return fsc_jsonc_err(r->doc, at, err,
				     "labels that begin with \"__\" belong to Prometheus");
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (!strcmp(name, taken[i]))
			return fsc_jsonc_err(r->doc, at, err,
					     "the label \"%s\" is reserved for funcscope", name);
	return 0;
}

int fsc_config_read_labels(struct fsc_config_reader *r, const struct fsc_config_key *k,
			   struct fsc_jsonc_value v, void *to, struct fsc_err *err)
{
	struct fsc_jsonc_walk w = fsc_jsonc_members(r->doc, v);
	int rc = 0;

	if (!json_is_object(v.json))
		return fsc_config_wrong(r, k, v, "an object of names and strings", err);
	while (!rc && fsc_jsonc_next(&w)) {
		rc = check_label(r, w.value.node->key, w.key, err);
		if (!rc)
			rc = fsc_config_text(r, w.value, "a label's value", true, err);
		if (!rc)
			rc = fsc_config_push_label(to, w.key, json_string_value(w.value.json), err);
	}
	return rc;
}

static bool is_header(const char *s)
{
	return !fsc_post_header_check(&(struct fsc_label){s, ""}, NULL);
}

static int check_headers_once(struct fsc_config_reader *r, struct fsc_jsonc_value v,
			      const struct fsc_vec *to, struct fsc_err *err)
{
	if (to->n)
		return fsc_jsonc_err(r->doc, v.node->key, err,
				     "\"headers\" and \"headers_file\" cannot be combined");
	return 0;
}

/* Values are secrets: no message shows one. */
int fsc_config_read_headers(struct fsc_config_reader *r, const struct fsc_config_key *k,
			    struct fsc_jsonc_value v, void *to, struct fsc_err *err)
{
	struct fsc_jsonc_walk w = fsc_jsonc_members(r->doc, v);
	int rc;

	if (!json_is_object(v.json))
		return fsc_jsonc_err(r->doc, v.node->value, err,
				     "\"%s\" (%s) must be an object of names and strings", k->name,
				     k->what);
	rc = check_headers_once(r, v, to, err);
	while (!rc && fsc_jsonc_next(&w)) {
		if (!is_header(w.key))
			return fsc_jsonc_err(r->doc, w.value.node->key, err,
					     "\"%.60s\" is not a header name", w.key);
		if (!json_is_string(w.value.json))
			return fsc_jsonc_err(r->doc, w.value.node->value, err,
					     "a header's value must be a string");
		rc = fsc_config_text(r, w.value, "a header's value", false, err);
		if (!rc)
			rc = fsc_config_push_label(to, w.key, json_string_value(w.value.json), err);
	}
	return rc;
}

/* One line; empty ones and those that begin with '#' are skipped. */
static int header_line(const char *path, unsigned number, char *line, struct fsc_vec *to,
		       struct fsc_err *err)
{
	char *colon = strchr(line, ':'), *value = colon ? colon + 1 : NULL;

	line[strcspn(line, "\r")] = '\0';
	if (!*line || *line == '#')
		return 0;
	if (colon)
		*colon = '\0';
	while (value && (*value == ' ' || *value == '\t'))
		value++;
	if (!colon || !is_header(line) || !*value)
		return fsc_err_set(err, EINVAL, "%s:%u: not a header as \"Name: value\"", path,
				   number);
	for (const char *p = value; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return fsc_err_set(err, EINVAL, "%s:%u: a control character in a header",
					   path, number);
	return fsc_config_push_label(to, line, value, err);
}

int fsc_config_read_headers_file(struct fsc_config_reader *r, const struct fsc_config_key *k,
				 struct fsc_jsonc_value v, void *to, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *text = NULL;
	char *line, *rest;
	size_t n;
	int rc = fsc_config_text(r, v, "\"headers_file\"", false, err);
	struct fsc_err why = {0};

	(void)k;
	if (!rc)
		rc = check_headers_once(r, v, to, err);
	if (rc)
		return rc;
	rc = fsc_jsonc_slurp(json_string_value(v.json), "the file of headers", &text, &n, &why);
	if (rc == -ENOMEM)
		return fsc_err_nomem(err);
	if (rc)
		return fsc_jsonc_err(r->doc, v.node->value, err, "%s", why.msg);
	rest = text;
	for (unsigned i = 1; !rc && (line = strsep(&rest, "\n")); i++)
		rc = header_line(json_string_value(v.json), i, line, to, err);
	return rc;
}

/* ---- targets ---- */

int fsc_config_read_pids(struct fsc_config_reader *r, const struct fsc_config_key *k,
			 struct fsc_jsonc_value v, void *to, struct fsc_err *err)
{
	enum { MOST = 1 << 22 }; /* the kernel's PID_MAX_LIMIT */
	struct fsc_jsonc_walk w = fsc_jsonc_members(r->doc, v);

	if (!json_is_array(v.json))
		return fsc_config_wrong(r, k, v, "a list of numbers", err);
	while (fsc_jsonc_next(&w)) {
		const json_int_t n = json_integer_value(w.value.json);
		char text[80];
		pid_t *pid;

		if (!json_is_integer(w.value.json) || n < 1 || n > MOST)
			return fsc_jsonc_err(r->doc, w.value.node->value, err,
					     "an item of \"pids\" must be a whole number from 1 to "
					     "%d, not %s",
					     MOST,
					     fsc_config_shown(w.value.json, text, sizeof(text)));
		pid = fsc_vec_push(to);
		if (!pid)
			return fsc_err_nomem(err);
		*pid = (pid_t)n;
	}
	return 0;
}

/* An argument may be any string, even empty; the program's name may not. */
static int push_argument(struct fsc_config_reader *r, struct fsc_jsonc_value v,
			 struct fsc_vec *argv, struct fsc_err *err)
{
	const char *s = json_string_value(v.json);

	if (!s || !argv->n)
		return fsc_config_push_text(r, v, "an item of \"command\"", argv, err);
	return fsc_config_push(argv, s, err);
}

int fsc_config_read_command(struct fsc_config_reader *r, const struct fsc_config_key *k,
			    struct fsc_jsonc_value v, void *to, struct fsc_err *err)
{
	struct fsc_jsonc_walk w = fsc_jsonc_members(r->doc, v);
	int rc = 0;

	if (!json_is_array(v.json))
		return fsc_config_wrong(r, k, v, "a list that starts with a program", err);
	if (!json_array_size(v.json))
		return fsc_jsonc_err(r->doc, v.node->value, err, "\"command\" names no program");
	while (!rc && fsc_jsonc_next(&w))
		rc = push_argument(r, w.value, to, err);
	return rc;
}
