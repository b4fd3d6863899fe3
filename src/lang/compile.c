/* From text to plan: parsing, macros, configuration, what the probes match, types of everything,
 * then programs. A probe with several points is one program where it can be, and one for each group
 * of points whose arguments are the same where it looks at them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lang/gen.h"

enum { MAX_ROUNDS = 30 };

/* What one action block is attached to. */
struct matched {
	struct fsc_probe *probe;
	struct fsc_vec points; /* const struct fsc_point * */
};

struct group {
	struct fsc_probe *probe;
	struct fsc_vec points; /* const struct fsc_point * */
};

struct compile {
	struct fsc_lang *c;
	struct fsc_vec matched; /* struct matched */
	struct fsc_vec groups;	/* struct group */
};

struct adding {
	struct fsc_plan_arena arena; /* as keep, but without a jump through the world's frames */
	struct fsc_vec *points;
	struct fsc_plan_arena *keep;
};

static int point_add(void *to, const struct fsc_point *p)
{
	struct adding *a = to;
	jmp_buf *before = a->keep->out_of_memory;
	const struct fsc_point **place;

	a->keep->out_of_memory = NULL;
	place = fsc_zone_push(a->keep, a->points);
	a->keep->out_of_memory = before;
	if (!place)
		return -ENOMEM;
	*place = p;
	return 0;
}

/* $1 and ${name} in a probe are parameters as text. */
static const char *attach_params(struct fsc_lang *c, const struct fsc_attach_text *t)
{
	const char *s = t->text, *made = "";

	for (;;) {
		size_t n = strcspn(s, "$");
		char *end;
		unsigned long which;

		if (!s[n])
			return *made ? fsc_zone_printf(c->keep, "%s%s", made, s) : t->text;
		which = strtoul(s + n + 1, &end, 10);
		if (end == s + n + 1 || !which)
			return *made ? fsc_zone_printf(c->keep, "%s%s", made, s) : t->text;
		if (which > c->opts->n_params)
			fsc_lang_fail(c, t->at,
				      "the probe needs parameter $%lu, which is not given", which);
		made = fsc_zone_printf(c->keep, "%s%.*s%s", made, (int)n, s,
				       c->opts->params[which - 1]);
		s = end;
	}
}

static void match_one(struct fsc_lang *c, struct matched *m, const struct fsc_attach_text *t)
{
	struct adding adding = {.points = &m->points, .keep = c->keep};
	const char *text = attach_params(c, t);
	struct fsc_err err = {0};
	int code;

	if (!c->world->match)
		fsc_lang_fail(c, t->at, "there are no probes here");
	code = c->world->match(c->world->arg, text, point_add, &adding, &err);
	if (!code)
		return;
	if (code == -ENOENT && c->config.missing_probes != FSC_MISSING_ERROR) {
		if (c->config.missing_probes == FSC_MISSING_WARN)
			fsc_lang_warn(c, t->at, "%s Skipping.", err.msg);
		return;
	}
	/* A pattern may match nothing where another probe of the block matches. */
	if (code == -ENOENT && strchr(text, '*') && m->probe->texts.n > 1 &&
	    (m->points.n ||
	     t != FSC_AT(struct fsc_attach_text, &m->probe->texts, m->probe->texts.n - 1)))
		return;
	fsc_lang_fail_world(c, t->at, code, &err);
}

static void match_all(struct compile *k)
{
	bool any = false;

	for (struct fsc_probe *p = k->c->probes; p; p = p->next) {
		struct matched *m = fsc_zone_push(&k->c->temp, &k->matched);

		*m = (struct matched){.probe = p, .points = FSC_VEC_INIT(const struct fsc_point *)};
		for (size_t i = 0; i < p->texts.n; i++)
			match_one(k->c, m, FSC_AT(struct fsc_attach_text, &p->texts, i));
		any |= m->points.n > 0;
	}
	if (!any)
		fsc_lang_fail(k->c, (struct fsc_loc){0}, "No probes to attach");
}

static bool point_is_wanted(const struct fsc_lang *c, const struct fsc_point *p)
{
	return (p->kind != FSC_POINT_TEST || c->opts->tests) &&
	       (p->kind != FSC_POINT_BENCH || c->opts->benches);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_args(struct fsc_lang *c, const struct fsc_point *a, const struct fsc_point *b)
{
	struct fsc_args x = {0}, y = {0};
	struct fsc_err err;

	if (a->kind == FSC_POINT_USDT)
		return same_text(a->usdt_args, b->usdt_args) && same_text(a->target, b->target);
	if (!same_text(a->target, b->target) &&
	    1u << a->kind & (1u << FSC_POINT_UPROBE | 1u << FSC_POINT_URETPROBE))
		return false;
	if (!c->world->args || c->world->args(c->world->arg, a, &x, &err) ||
	    c->world->args(c->world->arg, b, &y, &err))
		return false;
	if (x.n != y.n || x.ret != y.ret || x.ret_slot != y.ret_slot)
		return false;
	for (size_t i = 0; i < x.n; i++)
		if (strcmp(x.args[i].name, y.args[i].name) || x.args[i].type != y.args[i].type ||
		    x.args[i].at != y.args[i].at || x.args[i].index != y.args[i].index ||
		    x.args[i].offset != y.args[i].offset || x.args[i].user != y.args[i].user)
			return false;
	return true;
}

static struct group *group_of(struct compile *k, size_t first, const struct fsc_point *p,
			      bool apart)
{
	struct fsc_lang *c = k->c;

	for (size_t i = first; i < k->groups.n; i++) {
		struct group *g = FSC_AT(struct group, &k->groups, i);
		const struct fsc_point *other = *FSC_AT(const struct fsc_point *, &g->points, 0);

		if (other->kind == p->kind && (!apart || same_args(c, other, p)))
			return g;
	}
	return NULL;
}

static void groups_add(struct compile *k, const struct matched *m, bool apart)
{
	size_t first = k->groups.n;

	for (size_t i = 0; i < m->points.n; i++) {
		const struct fsc_point *p = *FSC_AT(const struct fsc_point *, &m->points, i);
		struct group *g;

		if (!point_is_wanted(k->c, p))
			continue;
		g = group_of(k, first, p, apart);
		if (!g) {
			g = fsc_zone_push(&k->c->temp, &k->groups);
			*g = (struct group){.probe = m->probe,
					    .points = FSC_VEC_INIT(const struct fsc_point *)};
		}
		*(const struct fsc_point **)fsc_zone_push(k->c->keep, &g->points) = p;
	}
}

static void check_group(struct fsc_lang *c, const struct group *g)
{
	c->check->points = g->points.data;
	c->check->n_points = g->points.n;
	fsc_check_probe(c, g->probe);
}

/* Whether a probe's program depends on its points is only known once it has been looked at. */
static void make_groups(struct compile *k)
{
	struct fsc_lang *c = k->c;

	for (size_t i = 0; i < k->matched.n; i++) {
		struct matched *m = FSC_AT(struct matched, &k->matched, i);
		struct group first = {.probe = m->probe,
				      .points = FSC_VEC_INIT(const struct fsc_point *)};
		bool apart = false;

		if (!m->points.n)
			continue;
		if (m->points.n > 1) {
			*(const struct fsc_point **)fsc_zone_push(&c->temp, &first.points) =
			    *FSC_AT(const struct fsc_point *, &m->points, 0);
			check_group(c, &first);
			apart = c->check->uses_point;
		}
		groups_add(k, m, apart);
	}
}

static void check_all(struct compile *k)
{
	struct fsc_check *check = k->c->check;

	for (int i = 0; i < MAX_ROUNDS; i++) {
		check->changed = false;
		for (size_t g = 0; g < k->groups.n; g++)
			check_group(k->c, FSC_AT(struct group, &k->groups, g));
		if (!check->changed)
			return;
	}
}

static void compile_programs(struct compile *k)
{
	struct fsc_lang *c = k->c;

	c->check->final = true;
	for (size_t i = 0; i < k->groups.n; i++)
		check_group(c, FSC_AT(struct group, &k->groups, i));
	c->check->warned = true;
	fsc_plan_maps_script(c);
	for (size_t i = 0; i < k->groups.n; i++) {
		struct group *g = FSC_AT(struct group, &k->groups, i);

		check_group(c, g);
		fsc_gen_program(c, g->probe);
	}
	fsc_plan_maps_finish(c);
}

static void source_lines(struct fsc_lang *c)
{
	struct fsc_vec v = FSC_VEC_INIT(const char *);

	for (const char *s = c->text, *end = c->text + c->n; s < end;) {
		const char *nl = memchr(s, '\n', (size_t)(end - s));
		size_t n = (size_t)((nl ? nl : end) - s);

		*(const char **)fsc_zone_push(c->keep, &v) = fsc_zone_copy(c->keep, s, n);
		s += n + (nl != NULL);
	}
	c->plan->source_lines = v.data;
	c->plan->n_source_lines = v.n;
	c->plan->source_name = c->opts->source_name ? fsc_zone_copy(c->keep, c->opts->source_name,
								    strlen(c->opts->source_name))
						    : "stdin";
}

static void warn_unused(struct fsc_lang *c)
{
	for (size_t i = 0; i < c->map_decls.n; i++) {
		const struct fsc_map_decl *d = FSC_AT(struct fsc_map_decl, &c->map_decls, i);
		bool used = false;

		for (size_t k = 0; k < c->check->maps.n; k++)
			used |= (*FSC_AT(struct fsc_script_map *, &c->check->maps, k))->decl == d;
		if (!used)
			fsc_lang_warn(c, d->at, "Unused map: %s", d->name);
	}
}

static void plan_fill(struct fsc_lang *c)
{
	const struct fsc_planner *p = c->planner;

	c->plan->maps = p->maps.data;
	c->plan->n_maps = p->maps.n;
	c->plan->progs = p->progs.data;
	c->plan->n_progs = p->progs.n;
	c->plan->events = p->events.data;
	c->plan->n_events = p->events.n;
	c->plan->texts = p->texts.data;
	c->plan->n_texts = p->texts.n;
	c->plan->params = c->check->getopts.data;
	c->plan->n_params = c->check->getopts.n;
	c->plan->config = c->config;
	c->plan->ring = p->ring;
	c->plan->globals = p->globals;
	c->plan->losses = p->losses;
}

static void compile_text(struct fsc_lang *c)
{
	struct compile k = {
	    .c = c, .matched = FSC_VEC_INIT(struct matched), .groups = FSC_VEC_INIT(struct group)};

	source_lines(c);
	fsc_ctypes_init(c);
	fsc_check_init(c);
	fsc_parse(c);
	fsc_config_read(c);
	fsc_macro_expand(c);
	fsc_plan_maps_init(c);
	match_all(&k);
	make_groups(&k);
	check_all(&k);
	fsc_check_params(c);
	compile_programs(&k);
	warn_unused(c);
	plan_fill(c);
}

static int plan_new(struct fsc_plan **ret, struct fsc_err *err)
{
	struct fsc_plan *p = calloc(1, sizeof(*p));

	if (p)
		p->arena = calloc(1, sizeof(*p->arena));
	if (!p || !p->arena) {
		free(p);
		return fsc_err_nomem(err);
	}
	*ret = p;
	return 0;
}

int fsc_lang_compile(const char *text, size_t n, const struct fsc_lang_opts *opts,
		     const struct fsc_world *world, struct fsc_plan **ret, struct fsc_diags *diags,
		     struct fsc_err *err)
{
	/* Read behind longjmp(): not in a register. */
	struct fsc_lang *c = calloc(1, sizeof(*c));
	int code;

	if (!c)
		return fsc_err_nomem(err);
	*c = (struct fsc_lang){
	    .text = text, .n = n, .opts = opts, .world = world, .diags = diags, .err = err};
	if (plan_new(&c->plan, err)) {
		free(c);
		return -ENOMEM;
	}
	c->keep = c->plan->arena;
	c->temp.out_of_memory = c->keep->out_of_memory = &c->failed;
	if (!setjmp(c->failed)) {
		compile_text(c);
		c->keep->out_of_memory = NULL;
		*ret = c->plan;
	} else {
		if (!c->code)
			c->code = fsc_err_nomem(err);
		fsc_plan_free(c->plan);
	}
	fsc_ctypes_release(c);
	fsc_zone_release(&c->temp);
	code = c->code;
	free(c);
	return code;
}
