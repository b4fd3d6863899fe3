/* Option tables on top of getopt_long. */
#include "base/opt.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/vec.h"

enum { MAX_OPTS = 64, FIRST_ID = 256 };

/* The tables flattened into what getopt_long wants; an option's id is FIRST_ID + its index. */
struct flat {
	const struct fsc_opt *opt[MAX_OPTS];
	void *values[MAX_OPTS];
	struct option longs[MAX_OPTS + 1];
	char letters[2 * MAX_OPTS + 2];
	int n;
};

static void flatten_tables(const struct fsc_opt_set *sets, struct flat *f)
{
	char *l = f->letters;

	*l++ = ':';
	for (; sets->opts; sets++) {
		for (const struct fsc_opt *o = sets->opts; o->name && f->n < MAX_OPTS; o++) {
			f->opt[f->n] = o;
			f->values[f->n] = sets->values;
			f->longs[f->n] =
			    (struct option){o->name, o->arg ? 1 : 0, NULL, FIRST_ID + f->n};
			f->n++;
			if (!o->letter)
				continue;
			*l++ = o->letter;
			if (o->arg)
				*l++ = ':';
		}
	}
	*l = '\0';
}

static int set_number(const struct fsc_opt *o, void *to, const char *text, struct fsc_err *err)
{
	char *end;
	double v;

	errno = 0;
	v = strtod(text, &end);
	if (end == text || *end || errno || !isfinite(v))
		return fsc_err_usage(err, "--%s takes a number, not '%s'", o->name, text);
	if (o->type == FSC_OPT_SECONDS) {
		if (v <= 0 || v > 1e9)
			return fsc_err_usage(err,
					     "--%s takes seconds, above 0 and up to 1e9, not '%s'",
					     o->name, text);
		*(double *)to = v < 1e-6 ? 1e-6 : v;
		return 0;
	}
	if (v < 0 || v != floor(v))
		return fsc_err_usage(err, "--%s takes a whole number, not '%s'", o->name, text);
	if (v > 4294967295.0)
		return fsc_err_usage(err, "--%s takes a whole number up to 4294967295, not '%s'",
				     o->name, text);
	*(unsigned *)to = (unsigned)v;
	return 0;
}

static int set_choice(const struct fsc_opt *o, int *to, const char *text, struct fsc_err *err)
{
	char all[200] = "";

	for (int i = 0; o->choices[i]; i++) {
		if (!strcmp(o->choices[i], text)) {
			*to = i;
			return 0;
		}
		if (i)
			strncat(all, o->choices[i + 1] ? ", " : " or ",
				sizeof(all) - strlen(all) - 1);
		strncat(all, o->choices[i], sizeof(all) - strlen(all) - 1);
	}
	return fsc_err_usage(err, "--%s takes %s, not '%s'", o->name, all, text);
}

static int set_value(const struct fsc_opt *o, void *values, const char *text, struct fsc_err *err)
{
	void *to = (char *)values + o->offset;

	switch (o->type) {
	case FSC_OPT_FLAG:
		*(bool *)to = true;
		return 0;
	case FSC_OPT_STRING:
		*(const char **)to = text;
		return 0;
	case FSC_OPT_UINT:
	case FSC_OPT_SECONDS:
		return set_number(o, to, text, err);
	case FSC_OPT_CHOICE:
		return set_choice(o, to, text, err);
	case FSC_OPT_LIST:
		return fsc_vec_add(to, &text, err);
	}
	return fsc_err_usage(err, "--%s cannot be set", o->name);
}

static int unknown_option(const struct flat *f, const char *arg, int letter, struct fsc_err *err)
{
	struct fsc_nearest near = {0};
	char name[80], dashed[84], text[540];

	if (letter >= FIRST_ID)
		return fsc_err_usage(err, "option '--%s' takes no argument",
				     f->opt[letter - FIRST_ID]->name);
	if (letter)
		return fsc_err_usage(err, "unknown option '-%c'; see --help", letter);
	snprintf(name, sizeof(name), "%s", arg + strspn(arg, "-"));
	name[strcspn(name, "=")] = '\0';
	near.wanted = dashed;
	snprintf(dashed, sizeof(dashed), "--%s", name);
	for (int i = 0; i < f->n; i++) {
		char known[84];

		snprintf(known, sizeof(known), "--%s", f->opt[i]->name);
		if (f->opt[i]->help)
			fsc_nearest_offer(&near, known);
	}
	fsc_nearest_text(&near, text, sizeof(text));
	if (text[0])
		return fsc_err_usage(err, "unknown option '%s'; did you mean %s?", dashed, text);
	return fsc_err_usage(err, "unknown option '%s'; see --help", dashed);
}

static int find_option(const struct flat *f, int id)
{
	if (id >= FIRST_ID)
		return id - FIRST_ID < f->n ? id - FIRST_ID : -1;
	for (int i = 0; i < f->n; i++)
		if (f->opt[i]->letter == id)
			return i;
	return -1;
}

int fsc_opt_parse(const struct fsc_opt_set *sets, int argc, char **argv, int *ret_n,
		  struct fsc_err *err)
{
	struct flat f = {0};
	int id, i, rc;

	flatten_tables(sets, &f);
	optind = 0;
	opterr = 0;
	while ((id = getopt_long(argc, argv, f.letters, f.longs, NULL)) != -1) {
		if (id == '?')
			return unknown_option(&f, argv[optind - 1], optopt, err);
		if (id == ':') {
			i = find_option(&f, optopt);
			return fsc_err_usage(err, "option '%s' needs %s", argv[optind - 1],
					     i < 0 ? "an argument" : f.opt[i]->arg);
		}
		i = find_option(&f, id);
		if (i < 0)
			return unknown_option(&f, argv[optind - 1], id, err);
		rc = set_value(f.opt[i], f.values[i], optarg, err);
		if (rc)
			return rc;
	}
	*ret_n = argc - optind;
	memmove(argv + 1, argv + optind, (size_t)*ret_n * sizeof(*argv));
	return 0;
}

static void add_row(const struct fsc_opt *o, struct fsc_buf *out)
{
	struct fsc_buf left = {0};

	if (o->letter)
		fsc_buf_printf(&left, "  -%c, --%s", o->letter, o->name);
	else
		fsc_buf_printf(&left, "      --%s", o->name);
	if (o->arg)
		fsc_buf_printf(&left, " %s", o->arg);
	fsc_buf_puts(out, fsc_buf_str(&left));
	if (left.n < 27)
		fsc_buf_pad(out, ' ', 28 - left.n);
	else
		fsc_buf_puts(out, "\n                            ");
	fsc_buf_printf(out, "%s", o->help);
	for (int i = 0; o->choices && o->choices[i]; i++)
		fsc_buf_printf(out, "%s%s", i ? ", " : ": ", o->choices[i]);
	fsc_buf_putc(out, '\n');
	out->failed |= left.failed;
	fsc_buf_release(&left);
}

void fsc_opt_help(const struct fsc_opt *opts, struct fsc_buf *out)
{
	for (const struct fsc_opt *o = opts; o->name; o++)
		if (o->help)
			add_row(o, out);
}
