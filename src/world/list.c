/* `-l`: what there is to probe, by patterns like those of scripts. A pattern without a colon is
 * searched for in the names of everything that the kernel has. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "engine/btf.h"
#include "world/machine_priv.h"

struct listing {
	struct fsc_machine *m;
	struct fsc_buf *b;
	struct fsc_vec lines; /* struct line */
	bool verbose, user;
	struct fsc_err *err;
};

struct line {
	char *name;
	const struct fsc_point *point; /* NULL where there is none */
};

/* ---- lines ---- */

static int add_line(struct listing *l, const char *name, const struct fsc_point *point)
{
	struct line *place = fsc_vec_push(&l->lines);

	if (place)
		*place = (struct line){.name = strdup(name), .point = point};
	return place && place->name ? 0 : fsc_err_nomem(l->err);
}

static int add_found(void *to, const struct fsc_point *point)
{
	return add_line(to, point->name, point);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->name, ((const struct line *)b)->name);
}

/* The kernel's as "char * s", programs' as "char* s". */
static void put_arg(struct listing *l, const struct fsc_type *type, const char *name, bool user)
{
	struct fsc_buf text = {0};

	fsc_type_name(&text, type);
	fsc_buf_puts(l->b, "    ");
	for (const char *c = fsc_buf_str(&text); *c; c++)
		if (!user || c[0] != ' ' || c[1] != '*')
			fsc_buf_putc(l->b, *c);
	fsc_buf_printf(l->b, " %s\n", name);
	fsc_buf_release(&text);
}

static void put_args(struct listing *l, const struct fsc_point *point)
{
	struct fsc_args args;
	bool user;

	if (!point || point->kind == FSC_POINT_KPROBE || point->kind == FSC_POINT_KRETPROBE ||
	    fsc_machine_args(l->m, point, &args, NULL))
		return;
	user = point->kind == FSC_POINT_UPROBE || point->kind == FSC_POINT_URETPROBE;
	for (size_t i = 0; i < args.n && point->kind != FSC_POINT_URETPROBE; i++)
		if (args.args[i].name && strncmp(args.args[i].name, "common_", 7))
			put_arg(l, args.args[i].type, args.args[i].name, user);
	if (args.ret && args.ret->kind != FSC_TYPE_VOID && point->kind == FSC_POINT_FEXIT)
		put_arg(l, args.ret, "retval", user);
}

/* Sorted, each name once. */
static void put_lines(struct listing *l)
{
	const char *last = NULL;

	if (l->lines.n)
		qsort(l->lines.data, l->lines.n, l->lines.size, compare_lines);
	for (size_t i = 0; i < l->lines.n; i++) {
		const struct line *line = FSC_AT(struct line, &l->lines, i);

		if (last && !strcmp(last, line->name))
			continue;
		last = line->name;
		fsc_buf_printf(l->b, "%s\n", line->name);
		if (l->verbose)
			put_args(l, line->point);
	}
	for (size_t i = 0; i < l->lines.n; i++)
		free(FSC_AT(struct line, &l->lines, i)->name);
	l->lines.n = 0;
}

/* ---- what has a fixed set of names ---- */

struct named {
	struct listing *l;
	const struct fsc_provider *provider;
	const struct fsc_pattern *pattern; /* of what is behind the colon */
	int rc;
};

static void offer_name(void *arg, const char *name)
{
	struct named *n = arg;
	FSC_AUTO(fsc_freep) char *full = NULL;

	if (n->rc || !fsc_pattern_match(n->pattern, name))
		return;
	if (asprintf(&full, "%s:%s:", n->provider->name, name) < 0)
		n->rc = fsc_err_nomem(n->l->err);
	else
		n->rc = add_line(n->l, full, NULL);
}

static int offer_iter(void *arg, uint32_t id, const char *name, unsigned what)
{
	static const char prefix[] = "bpf_iter__";
	struct named *n = arg;
	FSC_AUTO(fsc_freep) char *full = NULL;

	(void)id;
	(void)what;
	if (strncmp(name, prefix, sizeof(prefix) - 1))
		return 0;
	name += sizeof(prefix) - 1;
	/* bpf_iter__foo_meta and the like are no iterators. */
	if (!fsc_pattern_match(n->pattern, name))
		return 0;
	if (asprintf(&full, "iter:%s", name) < 0)
		return fsc_err_nomem(n->l->err);
	return fsc_machine_match(n->l->m, full, add_found, n->l, NULL) == -ENOMEM ? -ENOMEM : 0;
}

static const char *const timer_names[] = {"s:", "ms:", "us:", "hz:"};

static int list_timers(struct named *n)
{
	for (size_t i = 0; i < sizeof(timer_names) / sizeof(timer_names[0]); i++) {
		FSC_AUTO(fsc_freep) char *full = NULL;

		if (asprintf(&full, "%s:%s", n->provider->name, timer_names[i]) < 0)
			return fsc_err_nomem(n->l->err);
		if (fsc_pattern_match(n->pattern, timer_names[i]) && add_line(n->l, full, NULL))
			return -ENOMEM;
	}
	return 0;
}

/* Providers whose probes are not found by matching. 1: it is not one of them. */
static int list_fixed(struct listing *l, const struct fsc_provider *provider, const char *rest)
{
	struct fsc_pattern pattern;
	struct named n = {.l = l, .provider = provider, .pattern = &pattern};
	struct fsc_btf *btf;
	int rc = fsc_pattern_init(&pattern, *rest ? rest : "*", false, l->err);

	if (rc)
		return rc;
	switch (provider->kind) {
	case FSC_POINT_BEGIN:
	case FSC_POINT_END:
		rc = add_line(l, provider->name, NULL);
		break;
	case FSC_POINT_SELF:
		rc = add_line(l, "self:signal:SIGUSR1", NULL);
		break;
	case FSC_POINT_SOFTWARE:
	case FSC_POINT_HARDWARE:
		fsc_events_each(provider->kind, offer_name, &n);
		rc = n.rc;
		break;
	case FSC_POINT_PROFILE:
	case FSC_POINT_INTERVAL:
		rc = list_timers(&n);
		break;
	case FSC_POINT_ITER:
		btf = fsc_machine_btf(l->m, NULL);
		rc = btf ? fsc_btf_each(btf, FSC_BTF_STRUCT, offer_iter, &n) : 0;
		break;
	default:
		rc = 1;
	}
	fsc_pattern_release(&pattern);
	return rc;
}

/* ---- what is matched ---- */

/* What a list of everything has: of the kernel, and where a file is named, of programs. Returns are
 * where the functions are. */
static const enum fsc_point_kind kernels[] = {
    FSC_POINT_FENTRY,	     FSC_POINT_HARDWARE, FSC_POINT_ITER,      FSC_POINT_KPROBE,
    FSC_POINT_RAWTRACEPOINT, FSC_POINT_SOFTWARE, FSC_POINT_TRACEPOINT};
static const enum fsc_point_kind users[] = {FSC_POINT_UPROBE, FSC_POINT_USDT};

static const struct fsc_provider *provider_of(enum fsc_point_kind kind)
{
	const struct fsc_provider *p = fsc_providers;

	while (p->kind != kind)
		p++;
	return p;
}

static int list_provider(struct listing *l, const struct fsc_provider *provider, const char *rest)
{
	FSC_AUTO(fsc_freep) char *full = NULL;
	struct fsc_err why = {0};
	int rc = list_fixed(l, provider, rest);

	if (rc <= 0)
		return rc;
	/* The event's name is what one looks for. */
	if (asprintf(&full, "%s:%s%s", provider->name,
		     provider->kind == FSC_POINT_TRACEPOINT && !strchr(rest, ':') ? "*:" : "",
		     *rest ? rest : "*") < 0)
		return fsc_err_nomem(l->err);
	rc = fsc_machine_match(l->m, full, add_found, l, &why);
	/* That there is nothing is an empty list. */
	if (rc && rc != -ENOENT && rc != -ENOTSUP && rc != -ENODATA) {
		*l->err = why;
		return rc;
	}
	return 0;
}

/* The providers that a word names: one of theirs, or a pattern. */
static int list_providers(struct listing *l, const char *word, size_t n, const char *rest,
			  bool all_user)
{
	FSC_AUTO(fsc_freep) char *name = strndup(word, n);
	const struct fsc_provider *one = fsc_provider_find(word, n);
	const enum fsc_point_kind *kinds = all_user ? users : kernels;
	size_t n_kinds =
	    all_user ? sizeof(users) / sizeof(users[0]) : sizeof(kernels) / sizeof(kernels[0]);
	struct fsc_pattern pattern;
	bool any = false;
	int rc;

	if (!name)
		return fsc_err_nomem(l->err);
	if (one)
		return list_provider(l, one, rest);
	rc = fsc_pattern_init(&pattern, name, false, l->err);
	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < n_kinds; i++) {
		const struct fsc_provider *p = provider_of(kinds[i]);

		if (!fsc_pattern_match(&pattern, p->name))
			continue;
		any = true;
		rc = list_provider(l, p, rest);
		put_lines(l);
	}
	fsc_pattern_release(&pattern);
	if (!rc && !any)
		return fsc_err_usage(l->err, "No probe type matched for %s", name);
	return rc;
}

/* ---- types ---- */

static const struct {
	const char *word;
	unsigned what;
} type_words[] = {{"struct ", FSC_BTF_STRUCT}, {"union ", FSC_BTF_UNION}, {"enum ", FSC_BTF_ENUM}};

struct type_search {
	struct listing *l;
	struct fsc_pattern pattern;
	const char *word;
};

static int visit_type(void *arg, uint32_t id, const char *name, unsigned what)
{
	struct type_search *s = arg;
	FSC_AUTO(fsc_freep) char *full = NULL;

	(void)id;
	(void)what;
	if (!fsc_pattern_match(&s->pattern, name))
		return 0;
	if (asprintf(&full, "%s%s", s->word, name) < 0)
		return fsc_err_nomem(s->l->err);
	return add_line(s->l, full, NULL);
}

static void put_types(struct type_search *s, struct fsc_btf *btf, unsigned what)
{
	struct listing *l = s->l;
	const char *last = NULL;

	if (l->lines.n)
		qsort(l->lines.data, l->lines.n, l->lines.size, compare_lines);
	for (size_t i = 0; i < l->lines.n; i++) {
		struct line *line = FSC_AT(struct line, &l->lines, i);

		if (!last || strcmp(last, line->name)) {
			if (l->verbose) {
				fsc_buf_puts(l->b, "vmlinux: ");
				fsc_btf_write(btf,
					      fsc_btf_find(btf, line->name + strlen(s->word), what),
					      l->b, NULL);
			} else {
				fsc_buf_puts(l->b, line->name);
			}
			fsc_buf_puts(l->b, l->verbose ? "\n\n" : "\n");
		}
		last = line->name;
	}
	for (size_t i = 0; i < l->lines.n; i++)
		free(FSC_AT(struct line, &l->lines, i)->name);
	l->lines.n = 0;
}

/* 1: the pattern is no type's. */
static int list_types(struct listing *l, const char *pattern)
{
	for (size_t i = 0; i < sizeof(type_words) / sizeof(type_words[0]); i++) {
		size_t n = strlen(type_words[i].word);
		struct type_search s = {.l = l, .word = type_words[i].word};
		struct fsc_btf *btf;
		int rc;

		if (strncmp(pattern, type_words[i].word, n))
			continue;
		btf = fsc_machine_btf(l->m, l->err);
		rc = btf ? fsc_pattern_init(&s.pattern, pattern + n, false, l->err) : -ENODATA;
		if (rc)
			return rc;
		rc = fsc_btf_each(btf, type_words[i].what, visit_type, &s);
		fsc_pattern_release(&s.pattern);
		put_types(&s, btf, type_words[i].what);
		return rc;
	}
	return 1;
}

int fsc_machine_list(struct fsc_machine *m, const char *pattern, bool verbose, struct fsc_buf *b,
		     struct fsc_err *err)
{
	struct listing l = {
	    .m = m, .b = b, .lines = FSC_VEC_INIT(struct line), .verbose = verbose, .err = err};
	size_t n = pattern ? strcspn(pattern, ":") : 0;
	int rc;

	if (!pattern)
		rc = list_providers(&l, "*", 1, "*", m->opts.n_pids);
	else if (!pattern[n] && (rc = list_types(&l, pattern)) <= 0)
		;
	else if (!pattern[n] && !fsc_provider_find(pattern, n))
		rc = list_providers(&l, "*", 1, pattern, false);
	else
		rc = list_providers(&l, pattern, n, pattern[n] ? pattern + n + 1 : "",
				    pattern[n] && strchr(pattern, '/'));
	put_lines(&l);
	fsc_vec_release(&l.lines);
	if (!rc && fsc_buf_failed(b))
		rc = fsc_err_nomem(err);
	return rc;
}
