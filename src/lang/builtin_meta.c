/* Builtins that are answered while compiling. */
#include <string.h>
#include <strings.h>

#include "lang/builtins.h"

static const char *named_value(struct fsc_lang *c, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = c->opts->n_named; i-- > 0;) {
		const char *s = c->opts->named[i];

		if (!strncmp(s, name, n) && (!s[n] || s[n] == '='))
			return s[n] ? s + n + 1 : "";
	}
	return NULL;
}

static void getopt_note(struct fsc_lang *c, struct fsc_expr *e, const char *name)
{
	struct fsc_plan_param *p;

	for (size_t i = 0; i < c->check->getopts.n; i++)
		if (!strcmp(FSC_AT(struct fsc_plan_param, &c->check->getopts, i)->name, name))
			return;
	p = fsc_zone_push(c->keep, &c->check->getopts);
	p->name = name;
	if (e->n_args > 2)
		p->description = fsc_string_arg(c, e, 2);
	if (e->n_args < 2 || e->args[1]->type->kind == FSC_V_BOOL)
		p->value = e->n_args > 1 && e->args[1]->value ? "true" : "false";
	else if (e->args[1]->kind == FSC_E_STRING)
		p->value = e->args[1]->name;
	else
		p->value = fsc_zone_printf(c->keep, "%lld", (long long)e->args[1]->value);
}

static void getopt_bool(struct fsc_lang *c, struct fsc_expr *e, const char *name, const char *given)
{
	bool value = e->n_args > 1 && e->args[1]->value;

	if (given && (!*given || !strcmp(given, "1") || !strcasecmp(given, "true")))
		value = true;
	else if (given && (!strcmp(given, "0") || !strcasecmp(given, "false")))
		value = false;
	else if (given)
		fsc_lang_fail(c, e->at,
			      "Invalid value '%s' for parameter '%s'. Value must be one of: true, "
			      "false, 1, 0",
			      given, name);
	fsc_expr_const(e, &fsc_vt_bool, value);
}

void fsc_check_getopt(struct fsc_lang *c, struct fsc_expr *e)
{
	const char *name = fsc_string_arg(c, e, 0), *given = named_value(c, name);
	bool is_unsigned, overflow, negative;
	uint64_t v;
	size_t used;

	getopt_note(c, e, name);
	if (e->n_args < 2 || e->args[1]->type->kind == FSC_V_BOOL) {
		getopt_bool(c, e, name, given);
		return;
	}
	if (e->args[1]->kind == FSC_E_STRING) {
		given = given ? given : e->args[1]->name;
		fsc_expr_text(c, e, given, strlen(given));
		return;
	}
	v = (uint64_t)fsc_const_arg(c, e, 1);
	negative = given && *given == '-';
	if (given && (!fsc_lex_number(given + negative, strlen(given + negative), &v, &used,
				      &is_unsigned, &overflow) ||
		      overflow || given[negative + used]))
		fsc_lang_fail(c, (struct fsc_loc){0},
			      "program command line option --%s invalid integer (value: %s)", name,
			      given);
	fsc_expr_const(e, v > INT64_MAX && !negative && given ? &fsc_vt_u64 : &fsc_vt_i64,
		       given && negative ? 0 - v : v);
}

void fsc_check_is_kind(struct fsc_lang *c, struct fsc_expr *e)
{
	const struct fsc_expr *a = e->args[0];
	int64_t kind = e->builtin->param;
	bool is;

	(void)c;
	e->type = &fsc_vt_bool;
	if (!a->type)
		return;
	if (kind < 0)
		is = a->literal;
	else
		is = (int64_t)a->type->kind == (kind & 255) &&
		     (!(kind & 256) || !a->type->is_signed);
	e->is_const = true;
	e->value = is;
}

void fsc_check_static_assert(struct fsc_lang *c, struct fsc_expr *e)
{
	const char *text = fsc_string_arg(c, e, 1);

	e->type = &fsc_vt_void;
	if (e->args[0]->type && !fsc_const_arg(c, e, 0))
		fsc_lang_fail(c, e->at, "%s", text);
	e->is_const = true;
}

void fsc_check_fail(struct fsc_lang *c, struct fsc_expr *e)
{
	const char *format = fsc_string_arg(c, e, 0), *made = "";
	size_t n = 1;

	e->type = &fsc_vt_void;
	e->is_const = true;
	if (!c->check->final)
		return;
	for (const char *s = format; *s; s++) {
		const struct fsc_expr *a = *s == '%' && n < e->n_args ? e->args[n] : NULL;

		if (!a) {
			made = fsc_zone_printf(&c->temp, "%s%c", made, *s);
			continue;
		}
		n++;
		s += strcspn(s, "dsux");
		if (a->kind == FSC_E_STRING)
			made = fsc_zone_printf(&c->temp, "%s%s", made, a->name);
		else
			made = fsc_zone_printf(&c->temp, "%s%lld", made, (long long)a->value);
		if (!*s)
			break;
	}
	fsc_lang_fail(c, e->at, "%s", made);
}

void fsc_check_kfunc_exist(struct fsc_lang *c, struct fsc_expr *e)
{
	const char *name = fsc_string_arg(c, e, 0);

	fsc_expr_const(e, &fsc_vt_bool, c->world->kfunc && c->world->kfunc(c->world->arg, name));
}

/* The room that a text has; the one that str() has. */
void fsc_check_strcap(struct fsc_lang *c, struct fsc_expr *e)
{
	if (e->builtin->param) {
		fsc_expr_const(e, &fsc_vt_u64, c->config.max_strlen);
		return;
	}
	fsc_want_text(c, e, 0);
	e->type = &fsc_vt_i64;
	if (!e->args[0]->type)
		return;
	e->is_const = true;
	e->value = e->args[0]->type->size;
}

/* Every parameter that was given must be one that the script asks for. */
void fsc_check_params(struct fsc_lang *c)
{
	const char *known = "", *unknown = "";

	for (size_t i = 0; i < c->check->getopts.n; i++)
		known = fsc_zone_printf(&c->temp, "%s%s--%s", known, *known ? ", " : "",
					FSC_AT(struct fsc_plan_param, &c->check->getopts, i)->name);
	for (size_t i = 0; i < c->opts->n_named; i++) {
		size_t n = strcspn(c->opts->named[i], "=");
		bool found = false;

		for (size_t k = 0; k < c->check->getopts.n; k++) {
			const char *name =
			    FSC_AT(struct fsc_plan_param, &c->check->getopts, k)->name;

			found |= strlen(name) == n && !strncmp(name, c->opts->named[i], n);
		}
		if (!found)
			unknown = fsc_zone_printf(&c->temp, "%s%s--%.*s", unknown,
						  *unknown ? ", " : "", (int)n, c->opts->named[i]);
	}
	if (*unknown)
		fsc_lang_fail_hint(c, (struct fsc_loc){0},
				   fsc_zone_printf(&c->temp, "expected program options: %s", known),
				   "unexpected program command line options: %s", unknown);
}
