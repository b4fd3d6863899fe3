/* Splits what was typed into probe, parameters, predicate, format and values. As in BCC, the probe
 * ends at the first blank or parenthesis, and a parenthesis right behind it declares parameters;
 * one that holds no declaration is taken for the predicate. */
#include "probe/tracespec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* BCC's "::f" and ":lib:f" leave out the p. */
static char *probe_text(const char *s, size_t n)
{
	const char *second = n && s[0] == ':' ? memchr(s + 1, ':', n - 1) : NULL;
	char *probe = NULL;

	if (asprintf(&probe, "%s%.*s", second ? "p" : "", (int)n, s) < 0)
		return NULL;
	return probe;
}

static bool declares_params(const char *s)
{
	s++;
	s += strspn(s, " \t");
	return *s == ')' || fsc_parser_at_type(s);
}

static int parse_parameter(struct fsc_parser *p, struct fsc_tracespec *s)
{
	struct fsc_expr_param *param;
	int rc;

	if (s->params.n == FSC_EXPR_PARAMS)
		return fsc_parser_error(p, p->s, "too many parameters");
	param = fsc_vec_push(&s->params);
	if (!param)
		return fsc_err_nomem(p->err);
	rc = fsc_parser_type(p, &param->type);
	if (rc)
		return rc;
	fsc_parser_blank(p);
	param->name = (struct fsc_slice){p->s, fsc_parser_name(p->s)};
	if (param->name.n >= FSC_EXPR_NAME)
		return fsc_parser_error(p, p->s, "the name is too long");
	p->s += param->name.n;
	return 0;
}

static int parse_parameters(struct fsc_parser *p, struct fsc_tracespec *s)
{
	int rc = 0;

	if (*p->s != '(' || !declares_params(p->s))
		return 0;
	fsc_parser_accept(p, "(");
	if (fsc_parser_accept(p, ")"))
		return 0;
	do {
		if (fsc_parser_accept(p, "..."))
			break;
		rc = parse_parameter(p, s);
	} while (!rc && fsc_parser_accept(p, ","));
	if (!rc && !fsc_parser_accept(p, ")"))
		rc = fsc_parser_expected(p, "',' or ')' after the parameter");
	return rc;
}

static int parse_value(struct fsc_parser *p, struct fsc_tracespec *s)
{
	uint32_t node = 0;
	int rc = fsc_parser_expr(p, &node);

	return rc ? rc : fsc_vec_add(&s->values, &node, p->err);
}

static int parse_action(struct fsc_parser *p, struct fsc_tracespec *s)
{
	int rc;

	fsc_parser_blank(p);
	if (!*p->s)
		return 0;
	if (*p->s != '"')
		return fsc_parser_expected(
		    p, s->has_predicate
			   ? "an operator, a format in double quotes or nothing more"
			   : "a predicate in parentheses or a format in double quotes");
	rc = fsc_parser_string(p, &s->format);
	s->has_format = true;
	while (!rc && fsc_parser_accept(p, ","))
		rc = parse_value(p, s);
	fsc_parser_blank(p);
	if (!rc && *p->s)
		rc = fsc_parser_expected(p, "',' and a value, or nothing more");
	return rc;
}

static int parse_spec(struct fsc_tracespec *s, struct fsc_err *err)
{
	struct fsc_parser p = {.text = s->text, .s = s->text, .tree = &s->tree, .err = err};
	size_t n = strcspn(s->text, " \t\n(");
	int rc;

	if (!n)
		return fsc_parser_expected(&p, "a probe such as c:malloc");
	s->probe = probe_text(s->text, n);
	if (!s->probe)
		return fsc_err_nomem(err);
	p.s += n;
	rc = parse_parameters(&p, s);
	fsc_parser_blank(&p);
	if (!rc && *p.s == '(') {
		s->has_predicate = true;
		rc = fsc_parser_expr(&p, &s->predicate);
	}
	return rc ? rc : parse_action(&p, s);
}

int fsc_tracespec_parse(const char *text, struct fsc_tracespec *ret, struct fsc_err *err)
{
	struct fsc_tracespec s = {
	    .tree = {.nodes = FSC_VEC_INIT(struct fsc_node),
		     .types = FSC_VEC_INIT(struct fsc_ctype_name)},
	    .params = FSC_VEC_INIT(struct fsc_expr_param),
	    .values = FSC_VEC_INIT(uint32_t),
	};
	int rc;

	s.text = strdup(text + strspn(text, " \t\n"));
	rc = s.text ? parse_spec(&s, err) : fsc_err_nomem(err);
	if (rc) {
		fsc_tracespec_release(&s);
		return rc;
	}
	*ret = s;
	return 0;
}

void fsc_tracespec_release(struct fsc_tracespec *s)
{
	free(s->text);
	free(s->probe);
	fsc_vec_release(&s->tree.nodes);
	fsc_vec_release(&s->tree.types);
	fsc_vec_release(&s->params);
	fsc_vec_release(&s->values);
	s->text = s->probe = NULL;
}
