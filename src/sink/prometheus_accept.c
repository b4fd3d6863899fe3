/* Which format a scraper gets: its Accept header, read as RFC 9110 says. Of the ranges that a
 * format matches, the most specific one sets its weight. */
#include "sink/prometheus.h"

#include <stdlib.h>
#include <string.h>

enum { MISS, ANY, ANY_SUBTYPE, TYPE, TYPE_AND_PARAMS };

struct word {
	const char *s;
	size_t n;
};

/* One range of the header: "text/plain;version=0.0.4;q=0.5". */
struct range {
	struct word type; /* with its subtype */
	struct word proto, encoding, version;
	double q; /* 0: not accepted; negative: malformed */
};

static bool word_is(struct word w, const char *s)
{
	return w.n == strlen(s) && !strncasecmp(w.s, s, w.n);
}

static struct word trim_word(const char *s, const char *end)
{
	while (s < end && strchr(" \t", *s))
		s++;
	while (end > s && strchr(" \t", end[-1]))
		end--;
	return (struct word){s, (size_t)(end - s)};
}

/* The end of the piece at s: the first of stops outside quotes, or end. */
static const char *piece_end(const char *s, const char *end, const char *stops)
{
	bool quoted = false;

	for (; s < end && (quoted || !strchr(stops, *s)); s++) {
		if (*s == '\\' && quoted && s + 1 < end)
			s++;
		else if (*s == '"')
			quoted = !quoted;
	}
	return s;
}

static double parse_quality(struct word w)
{
	char text[8];
	double q;

	if (!w.n || w.n >= sizeof(text) || strspn(w.s, "0123456789.") < w.n)
		return -1;
	memcpy(text, w.s, w.n);
	text[w.n] = '\0';
	q = strtod(text, NULL);
	return q <= 1 ? q : -1;
}

static void read_param(struct range *r, const char *s, const char *end)
{
	const char *equals = piece_end(s, end, "=");
	struct word name = trim_word(s, equals), value;

	if (equals == end)
		return;
	value = trim_word(equals + 1, end);
	if (value.n >= 2 && value.s[0] == '"' && value.s[value.n - 1] == '"')
		value = (struct word){value.s + 1, value.n - 2};
	if (word_is(name, "q"))
		r->q = parse_quality(value);
	else if (word_is(name, "proto"))
		r->proto = value;
	else if (word_is(name, "encoding"))
		r->encoding = value;
	else if (word_is(name, "version"))
		r->version = value;
}

static struct range read_range(const char *s, const char *end)
{
	struct range r = {.q = 1};
	const char *at = piece_end(s, end, ";");

	r.type = trim_word(s, at);
	while (at < end) {
		const char *next = piece_end(at + 1, end, ";");

		read_param(&r, at + 1, next);
		at = next;
	}
	return r;
}

/* How closely the range describes the format. */
static int closeness(const struct range *r, enum fsc_prometheus_format f)
{
	static const char *const types[] = {
	    [FSC_PROMETHEUS_TEXT] = "text/plain",
	    [FSC_PROMETHEUS_OPENMETRICS] = "application/openmetrics-text",
	    [FSC_PROMETHEUS_PROTOBUF] = "application/vnd.google.protobuf"};
	static const char *const versions[] = {
	    [FSC_PROMETHEUS_TEXT] = "0.0.4", [FSC_PROMETHEUS_OPENMETRICS] = "1.0.0"};

	if (word_is(r->type, "*/*"))
		return ANY;
	if (word_is(r->type, f == FSC_PROMETHEUS_TEXT ? "text/*" : "application/*"))
		return ANY_SUBTYPE;
	if (!word_is(r->type, types[f]))
		return MISS;
	if (f == FSC_PROMETHEUS_PROTOBUF)
		return word_is(r->proto, "io.prometheus.client.MetricFamily") &&
			       word_is(r->encoding, "delimited")
			   ? TYPE_AND_PARAMS
			   : MISS;
	if (!r->version.n)
		return TYPE;
	return word_is(r->version, versions[f]) ? TYPE_AND_PARAMS : MISS;
}

struct preference {
	int close;
	double q;
};

/* Whether a, a richer format, is preferred. At equal weight it must have been named: a client that
 * accepts anything gets text. */
static bool is_better(struct preference a, struct preference b)
{
	return a.q > b.q || (a.q == b.q && a.close >= TYPE);
}

enum fsc_prometheus_format fsc_prometheus_choose(const char *accept)
{
	struct preference preferences[FSC_PROMETHEUS_PROTOBUF + 1] = {0};
	unsigned best = FSC_PROMETHEUS_TEXT;
	const char *s = accept ? accept : "", *end = s + strlen(s);

	while (s < end) {
		const char *next = piece_end(s, end, ",");
		struct range r = read_range(s, next);

		for (unsigned f = 0; r.q >= 0 && f <= FSC_PROMETHEUS_PROTOBUF; f++) {
			int close = closeness(&r, f);

			if (close > preferences[f].close)
				preferences[f] = (struct preference){close, r.q};
		}
		s = next < end ? next + 1 : end;
	}
	for (unsigned f = 1; f <= FSC_PROMETHEUS_PROTOBUF; f++)
		if (preferences[f].q > 0 && is_better(preferences[f], preferences[best]))
			best = f;
	return best;
}

const char *fsc_prometheus_type(enum fsc_prometheus_format f)
{
	static const char *const types[] = {
	    [FSC_PROMETHEUS_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
	    [FSC_PROMETHEUS_OPENMETRICS] =
		"application/openmetrics-text; version=1.0.0; charset=utf-8",
	    [FSC_PROMETHEUS_PROTOBUF] =
		"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; "
		"encoding=delimited",
	};

	return types[f];
}
