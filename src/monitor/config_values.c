/* Reads values by the rows of the tables: a reader for each type, and its errors. */
#include "monitor/config_keys.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum { LONGEST = 4096 }; /* bytes of a text: a path, a mangled name */

/* ---- errors ---- */

static const char *kind_of(const json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "a list";
	case JSON_STRING:
		return "a text";
	case JSON_INTEGER:
	case JSON_REAL:
		return "a number";
	case JSON_NULL:
		return "null";
	default:
		return json_is_true(v) ? "true" : "false";
	}
}

const char *fsc_config_shown(const json_t *v, char *buf, size_t size)
{
	FSC_AUTO(fsc_freep)
	char *text = json_is_number(v) || json_is_string(v)
			 ? json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(12))
			 : NULL;

	snprintf(buf, size, "%s", text ? text : kind_of(v));
	return buf;
}

int fsc_config_wrong(struct fsc_config_reader *r, const struct fsc_config_key *k,
		     struct fsc_jsonc_value v, const char *wanted, struct fsc_err *err)
{
	if (json_is_string(v.json))
		return fsc_jsonc_err(r->doc, v.node->value, err,
				     "\"%s\" (%s) must be %s, not \"%.60s\"", k->name, k->what,
				     wanted, json_string_value(v.json));
	if (json_is_number(v.json))
		return fsc_jsonc_err(r->doc, v.node->value, err,
				     "\"%s\" (%s) must be %s, not %.12g", k->name, k->what, wanted,
				     json_number_value(v.json));
	return fsc_jsonc_err(r->doc, v.node->value, err, "\"%s\" (%s) must be %s, not %s", k->name,
			     k->what, wanted, kind_of(v.json));
}

int fsc_config_unknown(struct fsc_config_reader *r, size_t at, const char *what,
		       const struct fsc_nearest *near, struct fsc_err *err)
{
	char text[300];

	fsc_nearest_text(near, text, sizeof(text));
	if (!text[0])
		return fsc_jsonc_err(r->doc, at, err, "unknown %s \"%.60s\"", what, near->wanted);
	return fsc_jsonc_err(r->doc, at, err, "unknown %s \"%.60s\"; did you mean %s?", what,
			     near->wanted, text);
}

/* A number outside the range of its row, whose bounds have a unit. */
static int out_of_range(struct fsc_config_reader *r, const struct fsc_config_key *k,
			struct fsc_jsonc_value v, const char *unit, struct fsc_err *err)
{
	char text[80];

	return fsc_jsonc_err(r->doc, v.node->value, err,
			     "\"%s\" (%s) must be %sfrom %.12g to %.12g%s, not %s", k->name,
			     k->what, k->or_zero ? "0 or " : "", k->min, k->max, unit,
			     fsc_config_shown(v.json, text, sizeof(text)));
}

int fsc_config_text(struct fsc_config_reader *r, struct fsc_jsonc_value v, const char *what,
		    bool may_be_empty, struct fsc_err *err)
{
	const char *s = json_string_value(v.json);
	char text[80];

	if (!s)
		return fsc_jsonc_err(r->doc, v.node->value, err, "%s must be a string, not %s",
				     what, fsc_config_shown(v.json, text, sizeof(text)));
	if (!*s && !may_be_empty)
		return fsc_jsonc_err(r->doc, v.node->value, err, "%s must not be empty", what);
	if (strlen(s) > LONGEST)
		return fsc_jsonc_err(r->doc, v.node->value, err, "%s is longer than %d bytes", what,
				     LONGEST);
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return fsc_jsonc_err(r->doc, v.node->value, err,
					     "%s must not contain control characters", what);
	return 0;
}

int fsc_config_push_text(struct fsc_config_reader *r, struct fsc_jsonc_value v, const char *what,
			 struct fsc_vec *to, struct fsc_err *err)
{
	int rc = fsc_config_text(r, v, what, false, err);

	return rc ? rc : fsc_config_push(to, json_string_value(v.json), err);
}

/* ---- a reader for each type ---- */

typedef int (*read_fn)(struct fsc_config_reader *r, const struct fsc_config_key *k,
		       struct fsc_jsonc_value v, void *to, struct fsc_err *err);

static int read_bool(struct fsc_config_reader *r, const struct fsc_config_key *k,
		     struct fsc_jsonc_value v, void *to, struct fsc_err *err)
{
	if (!json_is_boolean(v.json))
		return fsc_config_wrong(r, k, v, "true or false", err);
	*(bool *)to = json_is_true(v.json);
	return 0;
}

static int read_uint(struct fsc_config_reader *r, const struct fsc_config_key *k,
		     struct fsc_jsonc_value v, void *to, struct fsc_err *err)
{
	const json_int_t n = json_integer_value(v.json);

	if (!json_is_integer(v.json))
		return fsc_config_wrong(r, k, v, "a whole number", err);
	if ((double)n < k->min || (double)n > k->max)
		return out_of_range(r, k, v, "", err);
	*(unsigned *)to = (unsigned)n;
	return 0;
}

static int read_number(struct fsc_config_reader *r, const struct fsc_config_key *k,
		       struct fsc_jsonc_value v, void *to, struct fsc_err *err)
{
	const double n = json_number_value(v.json);

	if (!json_is_number(v.json))
		return fsc_config_wrong(r, k, v, "a number", err);
	if (!(n >= k->min && n <= k->max))
		return out_of_range(r, k, v, "", err);
	*(double *)to = n;
	return 0;
}

static int read_text(struct fsc_config_reader *r, const struct fsc_config_key *k,
		     struct fsc_jsonc_value v, void *to, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *text = NULL;
	char what[200];
	int rc;

	snprintf(what, sizeof(what), "\"%s\" (%s)", k->name, k->what);
	rc = fsc_config_text(r, v, what, false, err);
	if (rc || k->type == FSC_CONFIG_NOTE)
		return rc;
	text = strdup(json_string_value(v.json));
	if (!text)
		return fsc_err_nomem(err);
	rc = k->check ? k->check(r, v, &text, err) : 0;
	if (!rc)
		*(char **)to = fsc_take(&text);
	return rc;
}

static bool duration_of(struct fsc_jsonc_value v, double *ret_ns)
{
	const char *s = json_string_value(v.json);

	return s && fsc_str_duration(s, strlen(s), ret_ns);
}

static int read_seconds(struct fsc_config_reader *r, const struct fsc_config_key *k,
			struct fsc_jsonc_value v, void *to, struct fsc_err *err)
{
	double ns;

	if (!duration_of(v, &ns))
		return fsc_config_wrong(r, k, v, "a duration such as \"10s\" (ns, us, ms, s, m)",
					err);
	if ((ns < k->min * 1e9 || ns > k->max * 1e9) && !(k->or_zero && ns == 0))
		return out_of_range(r, k, v, " seconds", err);
	*(double *)to = ns / 1e9;
	return 0;
}

static int read_slow(struct fsc_config_reader *r, const struct fsc_config_key *k,
		     struct fsc_jsonc_value v, void *to, struct fsc_err *err)
{
	double ns = 0;

	if (!(json_is_string(v.json) && !strcmp(json_string_value(v.json), "off")) &&
	    !duration_of(v, &ns))
		return fsc_config_wrong(
		    r, k, v, "a duration such as \"10ms\" (ns, us, ms, s, m) or \"off\"", err);
	*(double *)to = ns;
	return 0;
}

/* A number of bytes with its unit. */
static bool size_of(const char *s, double *ret)
{
	static const struct {
		const char *name;
		double bytes;
	} units[] = {{"B", 1},	   {"kB", 1e3},	   {"KB", 1e3},	      {"MB", 1e6},    {"GB", 1e9},
		     {"TB", 1e12}, {"KiB", 1024.}, {"MiB", 1048576.}, {"GiB", 0x1p30}};
	const size_t digits = s ? strspn(s, "0123456789.") : 0;
	char number[32], *end;

	if (!digits || digits >= sizeof(number) || *s == '.')
		return false;
	memcpy(number, s, digits);
	number[digits] = '\0';
	*ret = strtod(number, &end);
	if (*end)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(s + digits, units[i].name)) {
			*ret *= units[i].bytes;
			return true;
		}
	return *ret == 0 && !s[digits];
}

static int read_size(struct fsc_config_reader *r, const struct fsc_config_key *k,
		     struct fsc_jsonc_value v, void *to, struct fsc_err *err)
{
	double bytes;

	if (!size_of(json_string_value(v.json), &bytes))
		return fsc_config_wrong(
		    r, k, v, "a size such as \"16MB\" (B, kB, MB, GB, TB, KiB, MiB, GiB)", err);
	if (bytes < k->min || bytes > k->max)
		return out_of_range(r, k, v, " bytes", err);
	*(uint64_t *)to = (uint64_t)bytes;
	return 0;
}

static int read_percent(struct fsc_config_reader *r, const struct fsc_config_key *k,
			struct fsc_jsonc_value v, void *to, struct fsc_err *err)
{
	const char *s = json_string_value(v.json);
	double n = json_number_value(v.json);
	char *end = "";

	if (s)
		n = strspn(s, "0123456789") ? strtod(s, &end) : NAN;
	if ((s && strcmp(end, "%") != 0) || (!s && !json_is_number(v.json)) ||
	    (s && strspn(s, "0123456789.") != strlen(s) - 1))
		return fsc_config_wrong(r, k, v, "a percentage such as \"2%\"", err);
	if (!(n >= 0 && n <= 100))
		return fsc_config_wrong(r, k, v, "a percentage from 0 to 100", err);
	*(double *)to = n;
	return 0;
}

static int read_choice(struct fsc_config_reader *r, const struct fsc_config_key *k,
		       struct fsc_jsonc_value v, void *to, struct fsc_err *err)
{
	const char *s = json_string_value(v.json);
	char wanted[80];

	for (int i = 0; s && k->choices[i]; i++)
		if (!strcmp(k->choices[i], s)) {
			*(bool *)to = i == 1;
			return 0;
		}
	snprintf(wanted, sizeof(wanted), "\"%s\" or \"%s\"", k->choices[0], k->choices[1]);
	return fsc_config_wrong(r, k, v, wanted, err);
}

static int read_texts(struct fsc_config_reader *r, const struct fsc_config_key *k,
		      struct fsc_jsonc_value v, void *to, struct fsc_err *err)
{
	struct fsc_jsonc_walk w = fsc_jsonc_members(r->doc, v);
	char what[80];
	int rc = 0;

	if (!json_is_array(v.json))
		return fsc_config_wrong(r, k, v, "a list of strings", err);
	snprintf(what, sizeof(what), "an item of \"%s\"", k->name);
	while (!rc && fsc_jsonc_next(&w))
		rc = fsc_config_push_text(r, w.value, what, to, err);
	return rc;
}

/* The word's number in the table, or the nearest ones in a message. */
static int read_word(struct fsc_config_reader *r, const struct fsc_config_key *k,
		     struct fsc_jsonc_value v, unsigned *bits, struct fsc_err *err)
{
	struct fsc_nearest near = {.wanted = json_string_value(v.json)};
	char what[80];
	int rc;

	snprintf(what, sizeof(what), "an item of \"%s\"", k->name);
	rc = fsc_config_text(r, v, what, false, err);
	for (unsigned i = 0; !rc && k->choices[i]; i++) {
		fsc_nearest_offer(&near, k->choices[i]);
		if (strcmp(k->choices[i], near.wanted))
			continue;
		if (*bits & 1u << i)
			return fsc_jsonc_err(r->doc, v.node->value, err,
					     "\"%s\" is listed twice in \"%s\"", near.wanted,
					     k->name);
		*bits |= 1u << i;
		return 0;
	}
	snprintf(what, sizeof(what), "item of \"%s\"", k->name);
	return rc ? rc : fsc_config_unknown(r, v.node->value, what, &near, err);
}

static int read_words(struct fsc_config_reader *r, const struct fsc_config_key *k,
		      struct fsc_jsonc_value v, void *to, struct fsc_err *err)
{
	struct fsc_jsonc_walk w = fsc_jsonc_members(r->doc, v);
	char wanted[120] = "a list of";
	int rc = 0;

	for (int i = 0; k->choices[i]; i++) {
		const size_t n = strlen(wanted);

		snprintf(wanted + n, sizeof(wanted) - n, "%s \"%s\"", i ? "," : "", k->choices[i]);
	}
	if (!json_is_array(v.json))
		return fsc_config_wrong(r, k, v, wanted, err);
	while (!rc && fsc_jsonc_next(&w))
		rc = read_word(r, k, w.value, to, err);
	return rc;
}

static int read_section(struct fsc_config_reader *r, const struct fsc_config_key *k,
			struct fsc_jsonc_value v, void *to, struct fsc_err *err)
{
	if (!json_is_object(v.json))
		return fsc_config_wrong(r, k, v, "an object", err);
	if (k->needs && !json_object_get(v.json, k->needs))
		return fsc_jsonc_err(r->doc, v.node->value, err, "\"%s\" (%s) has no \"%s\"",
				     k->name, k->what, k->needs);
	return fsc_config_object(r, k->keys, v, to, err);
}

static const read_fn readers[] = {
    [FSC_CONFIG_BOOL] = read_bool,	 [FSC_CONFIG_UINT] = read_uint,
    [FSC_CONFIG_NUMBER] = read_number,	 [FSC_CONFIG_TEXT] = read_text,
    [FSC_CONFIG_SECONDS] = read_seconds, [FSC_CONFIG_SLOW] = read_slow,
    [FSC_CONFIG_SIZE] = read_size,	 [FSC_CONFIG_PERCENT] = read_percent,
    [FSC_CONFIG_CHOICE] = read_choice,	 [FSC_CONFIG_TEXTS] = read_texts,
    [FSC_CONFIG_WORDS] = read_words,	 [FSC_CONFIG_NOTE] = read_text,
    [FSC_CONFIG_SECTION] = read_section,
};

int fsc_config_value(struct fsc_config_reader *r, const struct fsc_config_key *k,
		     struct fsc_jsonc_value v, void *base, struct fsc_err *err)
{
	const read_fn read = k->type == FSC_CONFIG_OTHER ? k->read : readers[k->type];

	return read(r, k, v, (char *)base + k->offset, err);
}

int fsc_config_object(struct fsc_config_reader *r, const struct fsc_config_key *keys,
		      struct fsc_jsonc_value v, void *base, struct fsc_err *err)
{
	struct fsc_jsonc_walk w = fsc_jsonc_members(r->doc, v);
	int rc = 0;

	while (!rc && fsc_jsonc_next(&w)) {
		const struct fsc_config_key *k = fsc_config_key_find(keys, w.key);
		struct fsc_nearest near = {.wanted = w.key};

		if (k) {
			rc = fsc_config_value(r, k, w.value, base, err);
			continue;
		}
		for (k = keys; k->name; k++)
			fsc_nearest_offer(&near, k->name);
		return fsc_config_unknown(r, w.value.node->key, "key", &near, err);
	}
	return rc;
}
