/* What the members of a request may be. Whatever a request has no use for, or is of another type,
 * is an error: a filter that is silently ignored would let everything through. */
#include "monitor/control_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

enum kind { TEXT, TEXTS, NUMBERS, BOOL };

static const char *const wanted[] = {[TEXT] = "a string",
				     [TEXTS] = "a list of strings",
				     [NUMBERS] = "a list of whole numbers",
				     [BOOL] = "true or false"};

static const struct {
	const char *name;
	enum kind kind;
	const char *only; /* of this request; NULL: of any */
} keys[] = {
    {"request", TEXT, NULL},	  {"group", TEXT, NULL},      {"name", TEXT, NULL},
    {"symbol", TEXT, NULL},	  {"library", TEXT, NULL},    {"slow", BOOL, "stats"},
    {"slow", TEXT, NULL},	  {"by_process", BOOL, NULL}, {"types", TEXTS, NULL},
    {"functions", TEXTS, NULL},	  {"groups", TEXTS, NULL},    {"pids", NUMBERS, NULL},
    {"min_duration", TEXT, NULL},
};

static bool is_list_of(const json_t *v, json_type type)
{
	size_t i;
	json_t *one;

	if (!json_is_array(v))
		return false;
	json_array_foreach(v, i, one) if (json_typeof(one) != type) return false;
	return true;
}

static bool is_of_kind(const json_t *v, enum kind kind)
{
	switch (kind) {
	case TEXT:
		return json_is_string(v);
	case BOOL:
		return json_is_boolean(v);
	case TEXTS:
		return is_list_of(v, JSON_STRING);
	default:
		return is_list_of(v, JSON_INTEGER);
	}
}

static int wrong_type(const char *key, enum kind kind, const json_t *v, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);

	return fsc_err_set(err, EINVAL, "\"%s\" of a request must be %s, not %.60s", key,
			   wanted[kind], text ? text : "what it is");
}

static int unknown_key(const char *key, struct fsc_err *err)
{
	struct fsc_nearest near = {.wanted = key};
	char text[540];

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		fsc_nearest_offer(&near, keys[i].name);
	fsc_nearest_text(&near, text, sizeof(text));
	return fsc_err_set(err, EINVAL, "a request has no \"%.60s\"%s%s%s", key,
			   text[0] ? "; did you mean " : "", text, text[0] ? "?" : "");
}

static int check_key(const char *what, const char *key, const json_t *v, struct fsc_err *err)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(keys[i].name, key) || (keys[i].only && strcmp(keys[i].only, what)))
			continue;
		return is_of_kind(v, keys[i].kind) ? 0 : wrong_type(key, keys[i].kind, v, err);
	}
	return unknown_key(key, err);
}

int fsc_control_check(const json_t *request, const char *what, struct fsc_err *err)
{
	const char *key;
	json_t *v;
	int rc = 0;

	json_object_foreach((json_t *)request, key, v) if (!rc) rc = check_key(what, key, v, err);
	return rc;
}
