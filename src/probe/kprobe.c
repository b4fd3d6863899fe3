/* Functions of the kernel: NAME, k:[MODULE:]NAME, each with +OFFSET. A glob or expression is
 * limited to what ftrace can hook, where the kernel says what that is. */
#include "probe/kind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "kernel/ksyms.h"
#include "kernel/tracefs.h"

static int parse_kprobe(char *text, bool regex, struct fsc_spec *spec, struct fsc_err *err)
{
	char *colon = regex ? NULL : fsc_kind_next_colon(text);
	char *name = colon ? colon + 1 : text;

	if (text[0] == ':') /* k::NAME */
		name = text + 1, colon = NULL;
	if (!name[0])
		return fsc_err_usage(err, "probe '%s' names no kernel function; write k:FUNCTION",
				     spec->text);
	if (colon) {
		*colon = '\0';
		spec->binary = strdup(text);
		if (!spec->binary)
			return fsc_err_nomem(err);
	}
	if (!regex)
		fsc_kind_split_offset(name, &spec->offset);
	if (spec->offset && spec->kind->ret)
		return fsc_err_usage(err,
				     "'%s': a return belongs to a whole function, not to an offset",
				     spec->text);
	spec->function = strdup(name);
	return spec->function ? 0 : fsc_err_nomem(err);
}

struct search {
	const struct fsc_spec *spec;
	const struct fsc_scope *scope;
	struct fsc_pattern name;
	struct fsc_nearest near;
	bool module_seen; /* there is a function of the module that is asked for */
};

static bool in_module(const struct fsc_spec *spec, const char *module)
{
	if (!spec->binary || !strcmp(spec->binary, "vmlinux"))
		return !spec->binary || !module;
	return module && !strcmp(spec->binary, module);
}

/* GCC renames functions it specialises: foo.isra.0, foo.constprop.0, foo.part.0 match foo. */
static bool is_clone(const char *name, const char *base)
{
	size_t n = strlen(base);

	return !strncmp(name, base, n) &&
	       (!strncmp(name + n, ".isra.", 6) || !strncmp(name + n, ".constprop.", 11) ||
		!strncmp(name + n, ".part.", 6) || !strncmp(name + n, ".llvm.", 6));
}

static bool is_wanted(const char *name, const char *module, void *arg)
{
	const struct search *s = arg;

	return in_module(s->spec, module) &&
	       (fsc_pattern_match(&s->name, name) ||
		(fsc_pattern_exact(&s->name) && is_clone(name, s->spec->function)));
}

/* What wanted() takes of the kernel's functions; the names are borrowed where they were read
 * before. Caller releases. */
static int load_functions(const struct search *s,
			  bool (*wanted)(const char *name, const char *module, void *arg),
			  struct fsc_ksyms *ret, struct fsc_err *err)
{
	const struct fsc_ksyms *all = s->scope->kernel;
	FSC_AUTO(fsc_vec_release) struct fsc_vec syms = FSC_VEC_INIT(struct fsc_ksym);

	if (!all)
		return fsc_ksyms_load(NULL, wanted, (void *)s, ret, err);
	for (size_t i = 0; i < all->n; i++)
		if (wanted(all->syms[i].name, all->syms[i].module, (void *)s) &&
		    fsc_vec_add(&syms, &all->syms[i], err))
			return -ENOMEM;
	ret->n = syms.n;
	ret->syms = fsc_take(&syms.data);
	return 0;
}

static bool offer_near(const char *name, const char *module, void *arg)
{
	struct search *s = arg;

	if (!in_module(s->spec, module))
		return false;
	s->module_seen = true;
	fsc_nearest_offer(&s->near, name);
	return false;
}

/* Of k:MODULE:FUNCTION. */
static int nothing_in_module(const struct search *s, struct fsc_err *err)
{
	const char *module = s->spec->binary;

	if (!s->module_seen) {
		fsc_err_set(err, ENOENT, "no loaded module '%s' has functions", module);
		if (strcmp(s->spec->function, "*"))
			module = ""; /* the function's name says enough */
		return fsc_err_hint(err,
				    "functions that are built into the kernel are written without "
				    "a module: 'k:%s%s%s'",
				    module, module[0] ? "_" : "", s->spec->function);
	}
	fsc_err_set(err, ENOENT, "no function of module %s matches '%s'", module,
		    s->spec->function);
	return fsc_kind_hint(&s->near, "k:", module, err);
}

static int nothing_found(struct search *s, struct fsc_err *err)
{
	struct fsc_ksyms none = {0};
	char text[540];
	int rc = load_functions(s, offer_near, &none, err);

	fsc_ksyms_release(&none);
	if (rc)
		return rc;
	if (s->spec->binary)
		return nothing_in_module(s, err);
	fsc_err_set(err, ENOENT, "no kernel function matches '%s'", s->spec->function);
	fsc_nearest_text(&s->near, text, sizeof(text));
	if (s->spec->kind->ret && (s->scope->n_pids || s->scope->command))
		return fsc_err_hint(
		    err, "the return of a function of the program itself is written ur::%s",
		    s->spec->function);
	if (s->scope->n_pids || s->scope->command)
		return fsc_err_hint(err, "a function of the program itself is written :%s",
				    s->spec->function);
	if (text[0])
		return fsc_err_hint(err,
				    "did you mean %s? (a user function is written %sLIBRARY:%s)",
				    text, s->spec->kind->ret ? "r:" : "", s->spec->function);
	if (s->spec->kind->ret)
		return fsc_err_hint(err,
				    "the return of a user function is written r:LIBRARY:%s or "
				    "r:/path/to/program:%s",
				    s->spec->function, s->spec->function);
	return fsc_err_hint(err, "a user function is written LIBRARY:%s or /path/to/program:%s",
			    s->spec->function, s->spec->function);
}

static int add_function(const struct search *s, struct fsc_targets *out, const struct fsc_ksym *k,
			struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *label = NULL;
	struct fsc_target t = {
	    .site = FSC_SITE_KERNEL,
	    .ret = s->spec->kind->ret,
	    .addr = k->addr,
	    .offset = s->spec->offset,
	    .at_entry = !s->spec->offset,
	};

	if (t.offset && asprintf(&label, "%s+%#llx", k->name, (unsigned long long)t.offset) < 0)
		return fsc_err_nomem(err);
	return fsc_targets_add(out, &t, s->spec->kind->name, k->module ? k->module : "kernel",
			       label ? label : k->name, label ? k->name : NULL, err);
}

/* What may be probed. The blacklist applies to every attach method: a probe inside the kernel's own
 * breakpoint code crashes the machine. The list of what ftrace can hook narrows patterns; a
 * function named in full is tried. */
struct hookable {
	struct fsc_map denied; /* names */
	struct fsc_map ftrace; /* names; empty where the kernel has no list */
	struct fsc_map places; /* addresses of those names: a function has one name in the list, but
				  may have more */
};

static void hookable_release(struct hookable *h)
{
	fsc_map_release(&h->denied);
	fsc_map_release(&h->ftrace);
	fsc_map_release(&h->places);
}

static void hookable_load(struct hookable *h, bool pattern)
{
	FSC_AUTO(fsc_closep) int tracefs = pattern ? fsc_tracefs_open(NULL) : -1;

	if (fsc_kprobe_blacklist(&h->denied, NULL))
		fsc_map_release(&h->denied);
	if (tracefs < 0 || fsc_tracefs_filter_functions(tracefs, &h->ftrace, NULL))
		fsc_map_release(&h->ftrace);
}

/* Reads all of kallsyms, so only for a name that is not in the list itself. */
static void hookable_load_places(struct hookable *h)
{
	struct fsc_ksyms all = {0};

	if (fsc_ksyms_load(NULL, NULL, NULL, &all, NULL))
		return;
	for (size_t i = 0; i < all.n; i++) {
		const struct fsc_ksym *k = &all.syms[i];

		if (k->addr && fsc_map_get(&h->ftrace, k->name, strlen(k->name)))
			fsc_map_put(&h->places, &k->addr, sizeof(k->addr), NULL);
	}
	fsc_ksyms_release(&all);
}

/* Why a function cannot be hooked, NULL if it can. */
static const char *hookable_why_not(struct hookable *h, const struct fsc_ksym *k)
{
	size_t n = strlen(k->name);

	if (fsc_map_get(&h->denied, k->name, n))
		return "on the kernel's list of functions that must not be probed";
	if (!h->ftrace.n || fsc_map_get(&h->ftrace, k->name, n))
		return NULL;
	if (!h->places.n)
		hookable_load_places(h);
	return k->addr && fsc_map_get(&h->places, &k->addr, sizeof(k->addr))
		   ? NULL
		   : "the kernel's tracer cannot hook it";
}

static int add_all(const struct search *s, const struct fsc_ksyms *k, struct fsc_targets *out,
		   struct fsc_err *err)
{
	struct hookable h = {0};
	size_t excluded = 0;
	int rc = 0;

	hookable_load(&h, !fsc_pattern_exact(&s->name));
	for (size_t i = 0; !rc && i < k->n; i++) {
		const char *why;

		if (fsc_scope_excluded(s->scope, k->syms[i].name)) {
			excluded++;
			continue;
		}
		why = hookable_why_not(&h, &k->syms[i]);
		rc = why ? fsc_targets_skip(out, k->syms[i].name, why, err)
			 : add_function(s, out, &k->syms[i], err);
	}
	hookable_release(&h);
	if (rc || excluded < k->n)
		return rc;
	return fsc_err_set(err, ENOENT, "every kernel function that matches '%s' is excluded by -x",
			   s->spec->function);
}

static int resolve_kprobe(const struct fsc_spec *spec, const struct fsc_scope *scope,
			  struct fsc_targets *out, struct fsc_err *err)
{
	struct search s = {.spec = spec, .scope = scope, .near = {.wanted = spec->function}};
	struct fsc_ksyms k = {0};
	int rc = fsc_pattern_init(&s.name, spec->function, scope->regex, err);

	if (rc)
		return rc;
	rc = load_functions(&s, is_wanted, &k, err);
	if (!rc)
		rc = k.n ? add_all(&s, &k, out, err) : nothing_found(&s, err);
	fsc_ksyms_release(&k);
	fsc_pattern_release(&s.name);
	return rc;
}

const struct fsc_kind fsc_kind_kprobe = {
    .name = "kprobe",
    .returns = true,
    .prefixes = (const char *const[]){"k", "kprobe", "kfunc", "fentry", NULL},
    .form = "[MODULE:]FUNCTION",
    .parse = parse_kprobe,
    .resolve = resolve_kprobe,
};

const struct fsc_kind fsc_kind_kretprobe = {
    .name = "kretprobe",
    .prefixes = (const char *const[]){"kr", "kretprobe", "kretfunc", "fexit", NULL},
    .form = "[MODULE:]FUNCTION",
    .ret = true,
    .parse = parse_kprobe,
    .resolve = resolve_kprobe,
};
