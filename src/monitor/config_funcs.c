/* The functions of a configuration: groups, presets, and the libraries to search. */
#include "monitor/config_keys.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/errors.h"
#include "monitor/presets.h"

enum { LONGEST_GROUP = 40, LONGEST_NAME = 255 };

/* ---- groups' names ---- */

bool fsc_config_is_group(const char *key, char *buf, size_t size)
{
	static const char suffix[] = "_func_sym";
	const size_t n = strlen(key), m = strlen(suffix);

	if (!strcmp(key, "custom_sym"))
		return snprintf(buf, size, "custom") > 0;
	if (n < m || strcmp(key + n - m, suffix) != 0)
		return false;
	snprintf(buf, size, "%.*s", (int)(n - m), key);
	return true;
}

/* A group's name is used in file names and labels. */
static bool is_group_name(const char *s)
{
	if (!*s || strlen(s) > LONGEST_GROUP)
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("_-+.", *s))
			return false;
	return true;
}

/* ---- names and symbols seen ---- */

/* The key of a word (a name, a symbol) of a group in the reader's map. */
struct word {
	char key[LONGEST_GROUP + 4400];
	size_t n;
};

static struct word word_of(char kind, const char *group, const char *text)
{
	struct word w;

	snprintf(w.key, sizeof(w.key), "%c%.*s/%s", kind, LONGEST_GROUP, group, text);
	w.n = strlen(w.key);
	return w;
}

/* NULL when memory is out. */
static uint64_t *note_word(struct fsc_config_reader *r, char kind, const char *group,
			   const char *text, bool *ret_new)
{
	const struct word w = word_of(kind, group, text);

	return fsc_map_put(&r->seen, w.key, w.n, ret_new);
}

/* ---- one function ---- */

static struct fsc_snoop_func *push_func(struct fsc_snoop_config *c, const char *group,
					const char *name, const char *symbol)
{
	struct fsc_snoop_func *f = fsc_vec_push(&c->funcs);

	if (!f)
		return NULL;
	f->libraries = FSC_VEC_INIT(char *);
	f->slow_ns = c->slow_ns;
	f->sample = c->sample;
	f->group = strdup(group);
	f->name = strdup(name);
	f->symbol = symbol ? strdup(symbol) : NULL;
	return f->group && f->name && (f->symbol || !symbol) ? f : NULL;
}

static int check_pattern(struct fsc_config_reader *r, struct fsc_jsonc_value v, const char *text,
			 struct fsc_err *err)
{
	if (strchr(text, '[') && !strchr(strchr(text, '['), ']'))
		return fsc_jsonc_err(r->doc, v.node->value, err, "\"%.60s\" has no ']' for its '['",
				     text);
	return 0;
}

/* The value of a display name: a symbol, or an object that has one. */
static int read_func(struct fsc_config_reader *r, struct fsc_jsonc_value v,
		     struct fsc_snoop_func *f, struct fsc_err *err)
{
	char text[80];
	int rc;

	if (json_is_object(v.json))
		rc = fsc_config_object(r, fsc_config_func_keys, v, f, err);
	else if (json_is_string(v.json))
		rc = fsc_config_value(r, fsc_config_key_find(fsc_config_func_keys, "symbol"), v, f,
				      err);
	else
		rc = fsc_jsonc_err(r->doc, v.node->value, err,
				   "a function is a symbol in quotes, or an object with a "
				   "\"symbol\", not %s",
				   fsc_config_shown(v.json, text, sizeof(text)));
	if (rc)
		return rc;
	if (!f->symbol)
		return fsc_jsonc_err(r->doc, v.node->value, err, "this function has no \"symbol\"");
	return check_pattern(r, v, f->symbol, err);
}

/* What is wrong with a display name; NULL: nothing. */
static const char *name_problem(const char *name)
{
	const char *why = NULL;

	if (!*name)
		why = "a function needs a display name";
	else if (strlen(name) > LONGEST_NAME)
		why = "a function's name is at most 255 bytes long";
	for (const char *p = name; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			why = "a function's name must not contain control characters";
	return why;
}

static int add_func(struct fsc_config_reader *r, const char *group, const char *name,
		    struct fsc_jsonc_value v, struct fsc_err *err)
{
	const char *why = name_problem(name);
	struct fsc_snoop_func *f;
	bool is_new;
	int rc;

	if (why)
		return fsc_jsonc_err(r->doc, v.node->key, err, "%s", why);
	if (!note_word(r, 'n', group, name, &is_new))
		return fsc_err_nomem(err);
	if (!is_new)
		return fsc_jsonc_err(r->doc, v.node->key, err, "\"%.60s\" is in group \"%s\" twice",
				     name, group);
	f = push_func(r->to, group, name, NULL);
	if (!f)
		return fsc_err_nomem(err);
	f->line = fsc_jsonc_line(r->doc, v.node->key);
	rc = read_func(r, v, f, err);
	if (rc)
		return rc;
	if (!f->errors_given)
		f->errors = fsc_error_rule_of(group, f->symbol);
	return note_word(r, 's', group, f->symbol, NULL) ? 0 : fsc_err_nomem(err);
}

int fsc_config_group(struct fsc_config_reader *r, const char *key, struct fsc_jsonc_value v,
		     struct fsc_err *err)
{
	struct fsc_jsonc_walk w = fsc_jsonc_members(r->doc, v);
	char group[LONGEST_GROUP + 2], text[80];
	int rc = 0;

	if (!fsc_config_is_group(key, group, sizeof(group)) || !is_group_name(group))
		return fsc_jsonc_err(r->doc, v.node->key, err,
				     "\"%.60s\" does not name a group: letters, digits and _-+. "
				     "before \"_func_sym\", %d at most",
				     key, LONGEST_GROUP);
	if (!json_is_object(v.json))
		return fsc_jsonc_err(r->doc, v.node->value, err,
				     "\"%s\" must be an object of names and symbols, not %s", key,
				     fsc_config_shown(v.json, text, sizeof(text)));
	if (!note_word(r, 'g', group, "", NULL))
		return fsc_err_nomem(err);
	while (!rc && fsc_jsonc_next(&w))
		rc = add_func(r, group, w.key, w.value, err);
	return rc;
}

int fsc_config_read_errors(struct fsc_config_reader *r, const struct fsc_config_key *k,
			   struct fsc_jsonc_value v, void *to, struct fsc_err *err)
{
	struct fsc_snoop_func *f = to;
	const char *s = json_string_value(v.json);
	struct fsc_nearest near = {.wanted = s};

	if (!s)
		return fsc_config_wrong(r, k, v, "a string such as \"negative\"", err);
	for (int i = 0; fsc_error_rules[i]; i++) {
		if (!strcmp(fsc_error_rules[i], s)) {
			f->errors = (enum fsc_error_rule)i;
			f->errors_given = true;
			return 0;
		}
		fsc_nearest_offer(&near, fsc_error_rules[i]);
	}
	fsc_config_unknown(r, v.node->value, "rule for errors", &near, err);
	return fsc_err_hint(err, "none, nonzero, negative, null, not_one, cuda, cu, cublas, cudnn "
				 "or nccl");
}

/* ---- presets ---- */

static int add_preset_func(struct fsc_config_reader *r, const char *group,
			   const struct fsc_preset_func *row, bool by_name, struct fsc_err *err)
{
	const char *symbol = row->symbol ? row->symbol : row->name;
	bool new_name, new_symbol;
	struct fsc_snoop_func *f;

	if (!note_word(r, 'n', group, row->name, &new_name) ||
	    !note_word(r, 's', group, symbol, &new_symbol))
		return fsc_err_nomem(err);
	if (!new_name || !new_symbol)
		return 0; /* the file takes precedence */
	f = push_func(r->to, group, row->name, symbol);
	if (!f)
		return fsc_err_nomem(err);
	f->errors = by_name ? fsc_error_rule_of(group, symbol) : row->errors;
	f->errors_given = !by_name;
	if (row->waits)
		f->slow_ns = 0;
	return 0;
}

static int add_preset(struct fsc_config_reader *r, const struct fsc_preset *p, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && p->names && p->names[i]; i++)
		rc = add_preset_func(r, p->name, &(struct fsc_preset_func){.name = p->names[i]},
				     true, err);
	for (size_t i = 0; !rc && p->funcs && p->funcs[i].name; i++)
		rc = add_preset_func(r, p->name, &p->funcs[i], false, err);
	return rc;
}

static int read_preset(struct fsc_config_reader *r, struct fsc_jsonc_value v, struct fsc_err *err)
{
	const char *s = json_string_value(v.json);
	struct fsc_nearest near = {.wanted = s};
	bool is_new;
	int rc = fsc_config_text(r, v, "an item of \"presets\"", false, err);

	if (rc)
		return rc;
	for (const struct fsc_preset *p = fsc_presets; p->name; p++) {
		fsc_nearest_offer(&near, p->name);
		if (strcmp(p->name, s) != 0)
			continue;
		if (!note_word(r, 'p', s, "", &is_new))
			return fsc_err_nomem(err);
		if (!is_new)
			return fsc_jsonc_err(r->doc, v.node->value, err,
					     "the preset \"%s\" is listed twice", s);
		return add_preset(r, p, err);
	}
	fsc_config_unknown(r, v.node->value, "preset", &near, err);
	return fsc_err_hint(err, "cuda, cuda_driver, cublas, cudnn, nccl, libtorch, libc or "
				 "openssl");
}

int fsc_config_read_presets(struct fsc_config_reader *r, const struct fsc_config_key *k,
			    struct fsc_jsonc_value v, void *to, struct fsc_err *err)
{
	struct fsc_jsonc_walk w = fsc_jsonc_members(r->doc, v);
	int rc = 0;

	(void)to;
	if (!json_is_array(v.json))
		return fsc_config_wrong(r, k, v, "a list of preset names", err);
	while (!rc && fsc_jsonc_next(&w))
		rc = read_preset(r, w.value, err);
	return rc;
}

/* ---- libraries ---- */

static int push_library(struct fsc_config_reader *r, struct fsc_jsonc_value v, struct fsc_vec *to,
			struct fsc_err *err)
{
	int rc = fsc_config_push_text(r, v, "a library", to, err);

	return rc ? rc : check_pattern(r, v, json_string_value(v.json), err);
}

int fsc_config_read_library(struct fsc_config_reader *r, const struct fsc_config_key *k,
			    struct fsc_jsonc_value v, void *to, struct fsc_err *err)
{
	struct fsc_jsonc_walk w = fsc_jsonc_members(r->doc, v);
	char text[80];
	int rc = 0;

	(void)k;
	if (json_is_string(v.json))
		return push_library(r, v, to, err);
	if (!json_is_array(v.json) || !json_array_size(v.json))
		return fsc_jsonc_err(r->doc, v.node->value, err,
				     "a library is a path or a glob such as \"libcudart.so*\", or "
				     "a list of them, not %s",
				     fsc_config_shown(v.json, text, sizeof(text)));
	while (!rc && fsc_jsonc_next(&w))
		rc = push_library(r, w.value, to, err);
	return rc;
}

static int unknown_group(struct fsc_config_reader *r, const char *group, size_t at,
			 struct fsc_err *err)
{
	struct fsc_nearest near = {.wanted = group};
	struct fsc_jsonc_walk w = fsc_jsonc_members(r->doc, fsc_jsonc_root(r->doc));
	char name[LONGEST_GROUP + 2];

	while (fsc_jsonc_next(&w))
		if (fsc_config_is_group(w.key, name, sizeof(name)))
			fsc_nearest_offer(&near, name);
	for (const struct fsc_preset *p = fsc_presets; p->name; p++)
		fsc_nearest_offer(&near, p->name);
	return fsc_config_unknown(r, at, "group", &near, err);
}

/* Groups of the file, "custom" and the presets. */
static int check_group(struct fsc_config_reader *r, const char *group, size_t at,
		       struct fsc_err *err)
{
	const struct word w = word_of('g', group, "");

	if (!strcmp(group, "custom") || (is_group_name(group) && fsc_map_get(&r->seen, w.key, w.n)))
		return 0;
	for (const struct fsc_preset *p = fsc_presets; p->name; p++)
		if (!strcmp(p->name, group))
			return 0;
	return unknown_group(r, group, at, err);
}

int fsc_config_read_libraries(struct fsc_config_reader *r, const struct fsc_config_key *k,
			      struct fsc_jsonc_value v, void *to, struct fsc_err *err)
{
	struct fsc_jsonc_walk w = fsc_jsonc_members(r->doc, v);
	int rc = 0;

	if (!json_is_object(v.json))
		return fsc_config_wrong(r, k, v, "an object of groups and libraries", err);
	while (!rc && fsc_jsonc_next(&w)) {
		struct fsc_snoop_libraries *l;

		rc = check_group(r, w.key, w.value.node->key, err);
		if (rc)
			return rc;
		l = fsc_vec_push(to);
		if (!l)
			return fsc_err_nomem(err);
		l->patterns = FSC_VEC_INIT(char *);
		l->group = strdup(w.key);
		if (!l->group)
			return fsc_err_nomem(err);
		rc = fsc_config_read_library(r, k, w.value, &l->patterns, err);
	}
	return rc;
}

static int apply_libraries(const struct fsc_snoop_config *c, struct fsc_snoop_func *f,
			   struct fsc_err *err)
{
	for (size_t i = 0; !f->libraries.n && i < c->libraries.n; i++) {
		const struct fsc_snoop_libraries *l =
		    FSC_AT(const struct fsc_snoop_libraries, &c->libraries, i);

		for (size_t j = 0; !strcmp(l->group, f->group) && j < l->patterns.n; j++)
			if (fsc_config_push(&f->libraries, *FSC_AT(char *, &l->patterns, j), err))
				return -ENOMEM;
	}
	return 0;
}

int fsc_config_apply_libraries(struct fsc_snoop_config *c, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < c->funcs.n; i++)
		rc = apply_libraries(c, FSC_AT(struct fsc_snoop_func, &c->funcs, i), err);
	return rc;
}

/* ---- at run time ---- */

int fsc_snoop_config_add(struct fsc_snoop_config *c, const char *group, const char *name,
			 const char *symbol, struct fsc_err *err)
{
	struct fsc_snoop_func *f;

	if (!is_group_name(group))
		return fsc_err_set(err, EINVAL,
				   "'%.60s' is not a group: letters, digits and _-+., %d at most",
				   group, LONGEST_GROUP);
	if (name_problem(name))
		return fsc_err_set(err, EINVAL,
				   "a function's name is 1 to %d bytes without "
				   "control characters",
				   LONGEST_NAME);
	if (!*symbol || (strchr(symbol, '[') && !strchr(strchr(symbol, '['), ']')))
		return fsc_err_set(err, EINVAL, "'%.60s' is neither a symbol nor a glob", symbol);
	for (size_t i = 0; i < c->funcs.n; i++) {
		f = FSC_AT(struct fsc_snoop_func, &c->funcs, i);
		if (!strcmp(f->group, group) && !strcmp(f->name, name))
			return fsc_err_set(err, EEXIST, "group '%s' already has a '%s'", group,
					   name);
	}
	f = push_func(c, group, name, symbol);
	if (!f)
		return fsc_err_nomem(err);
	f->errors = fsc_error_rule_of(group, symbol);
	return apply_libraries(c, f, err);
}
