/* Points on kernel functions and tracepoints of any sort. kprobes and tracepoints are found by
 * probe/, which knows what must not be probed; what is loaded for a type of BTF is found there. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "engine/btf.h"
#include "kernel/tracefs.h"
#include "kernel/syscalls.h"
#include "probe/kind.h"
#include "world/machine_priv.h"

#define KERNEL "vmlinux" /* as a module */

/* ---- modules ---- */

/* Calls fn for the kernel itself and each module that fits the pattern, until it fails. */
static int each_module(const char *pattern,
		       int (*fn)(void *arg, const char *module, struct fsc_err *err), void *arg,
		       struct fsc_err *err)
{
	FSC_AUTO(fsc_fclosep) FILE *f = NULL;
	struct fsc_pattern p;
	char line[512];
	int rc = fsc_pattern_init(&p, pattern, false, err);

	if (!rc && fsc_pattern_match(&p, KERNEL))
		rc = fn(arg, KERNEL, err);
	f = fopen("/proc/modules", "re");
	while (!rc && f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, " \n")] = '\0';
		if (fsc_pattern_match(&p, line))
			rc = fn(arg, line, err);
	}
	fsc_pattern_release(&p);
	return rc;
}

static struct fsc_btf *btf_of(struct fsc_machine *m, const char *module)
{
	return strcmp(module, KERNEL) ? fsc_machine_module_btf(m, module)
				      : fsc_machine_btf(m, NULL);
}

/* ---- kprobe, kretprobe ---- */

struct kprobe_search {
	const struct fsc_written *w;
	struct fsc_matches *to;
	const char *func;
	uint64_t offset;
	bool many; /* modules */
};

static bool has_exact(const struct fsc_targets *t, const char *func)
{
	for (size_t i = 0; i < fsc_targets_count(t); i++) {
		const struct fsc_target_row *r = fsc_targets_row(t, fsc_targets_at(t, i)->row);

		if (!strcmp(r->symbol ? r->symbol : r->name, func))
			return true;
	}
	return false;
}

static int add_kprobe(struct kprobe_search *s, const char *module, const struct fsc_targets *t,
		      size_t i, struct fsc_err *err)
{
	const struct fsc_target *at = fsc_targets_at(t, i);
	const struct fsc_target_row *row = fsc_targets_row(t, at->row);
	struct fsc_point p = {
	    .kind = s->w->provider->kind,
	    .func = row->symbol ? row->symbol : row->name,
	    .address = at->addr,
	    .offset = s->offset,
	    .btf_fd = -1,
	    .targets = t,
	    .place = (uint32_t)i,
	};

	if (strcmp(row->binary, "kernel"))
		p.target = row->binary;
	p.name = fsc_machine_text(s->to->m, err, "%s:%s%s%s", s->w->provider->name,
				  module ? module : "", module ? ":" : "", row->name);
	return fsc_matches_add(s->to, &p, err);
}

/* Reading them takes long, keeping them takes memory: the first question reads for itself, a second
 * one for all that follow. */
static int know_functions(struct fsc_machine *m, struct fsc_err *err)
{
	if (!m->kprobes++ || m->ksyms_read)
		return 0;
	m->ksyms_read = true;
	return fsc_ksyms_load(NULL, NULL, NULL, &m->ksyms, err);
}

static int search_kprobe(void *arg, const char *module, struct fsc_err *err)
{
	struct kprobe_search *s = arg;
	bool ret = s->w->provider->kind == FSC_POINT_KRETPROBE, exact;
	struct fsc_targets *t = fsc_machine_targets(s->to->m, err);
	struct fsc_spec spec = {
	    .kind = ret ? &fsc_kind_kretprobe : &fsc_kind_kprobe,
	    .text = (char *)s->to->written,
	    .binary = (char *)module,
	    .function = (char *)s->func,
	    .offset = s->offset,
	};
	struct fsc_scope scope = {0};
	struct fsc_err why = {0};
	int rc;

	if (!t)
		return -ENOMEM;
	rc = know_functions(s->to->m, err);
	if (rc)
		return rc;
	if (s->to->m->ksyms_read)
		scope.kernel = &s->to->m->ksyms;
	rc = spec.kind->resolve(&spec, &scope, t, &why);
	if (rc == -ENOENT && s->many)
		return 0;
	if (rc && err)
		*err = why;
	if (rc)
		return rc;
	/* What the compiler made of a function counts only if there is nothing of that name. */
	exact = !fsc_written_is_pattern(s->func) && !s->offset && has_exact(t, s->func);
	for (size_t i = 0; !rc && i < fsc_targets_count(t); i++) {
		const struct fsc_target_row *r = fsc_targets_row(t, fsc_targets_at(t, i)->row);

		if (!exact || !strcmp(r->name, s->func))
			rc = add_kprobe(s, module, t, i, err);
	}
	if (!rc && !fsc_targets_count(t) && t->skipped.n && !s->many) {
		const struct fsc_skipped *first = FSC_AT(struct fsc_skipped, &t->skipped, 0);

		return fsc_err_set(err, ENOTSUP, "'%s' cannot be probed: %s", first->name,
				   first->why);
	}
	return rc;
}

static bool is_loaded(const char *module)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/%s", module);
	return !strcmp(module, KERNEL) || !access(path, F_OK);
}

int fsc_match_kprobe(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err)
{
	struct kprobe_search s = {.w = w, .to = to, .func = w->parts[w->n - 1]};
	const char *module = w->n > 1 ? w->parts[0] : NULL, *plus = w->plus[w->n - 1];

	if (!s.func[0])
		return fsc_err_usage(err, "kprobes should be attached to a function");
	if (plus && w->provider->kind == FSC_POINT_KRETPROBE)
		return fsc_err_usage(err,
				     "Offset not allowed: a return belongs to a whole function");
	if (plus && !fsc_written_number(plus, &s.offset))
		return fsc_err_usage(err, "Invalid offset: '%s'", plus);
	if (module && !fsc_written_is_pattern(module) && !is_loaded(module))
		return fsc_err_set(err, ENXIO, "specified module %s in probe %s is not loaded.",
				   module, to->written);
	if (!module || !fsc_written_is_pattern(module))
		return search_kprobe(&s, module, err);
	s.many = true;
	return each_module(module, search_kprobe, &s, err);
}

/* ---- fentry, fexit, rawtracepoint: by a name in BTF ---- */

struct btf_search {
	const struct fsc_written *w;
	struct fsc_matches *to;
	const char *func;
	const char *prefix; /* of the name in BTF */
	unsigned what;
	struct fsc_pattern pattern;
	struct fsc_map hookable; /* what ftrace can hook; empty: not known */
	struct fsc_nearest near;
	/* the module at hand */
	const char *module;
	struct fsc_btf *btf;
	struct fsc_err *err;
};

static int add_typed(struct btf_search *s, uint32_t id, const char *func)
{
	struct fsc_machine *m = s->to->m;
	struct fsc_point p = {
	    .kind = s->w->provider->kind,
	    .btf_id = id,
	    .btf_fd = fsc_btf_fd(s->btf),
	    .func = fsc_machine_text(m, s->err, "%s", func),
	    .target = s->module,
	};

	p.name = fsc_machine_text(m, s->err, "%s:%s:%s", s->w->provider->name, s->module, func);
	return p.func ? fsc_matches_add(s->to, &p, s->err) : -ENOMEM;
}

static int visit_typed(void *arg, uint32_t id, const char *name, unsigned what)
{
	struct btf_search *s = arg;
	size_t n = strlen(s->prefix);

	(void)what;
	if (strncmp(name, s->prefix, n))
		return 0;
	if (s->near.wanted) {
		fsc_nearest_offer(&s->near, name + n);
		return 0;
	}
	if (!fsc_pattern_match(&s->pattern, name + n) ||
	    (s->hookable.n && !fsc_map_get(&s->hookable, name, strlen(name))))
		return 0;
	return add_typed(s, id, name + n);
}

static int search_module(void *arg, const char *module, struct fsc_err *err)
{
	struct btf_search *s = arg;
	FSC_AUTO(fsc_freep) char *name = NULL;
	uint32_t id;

	s->err = err;
	s->module = fsc_machine_text(s->to->m, err, "%s", module);
	if (!s->module)
		return -ENOMEM;
	s->btf = btf_of(s->to->m, module);
	if (!s->btf)
		return 0;
	if (!fsc_pattern_exact(&s->pattern))
		return fsc_btf_each(s->btf, s->what, visit_typed, s);
	if (asprintf(&name, "%s%s", s->prefix, s->func) < 0)
		return fsc_err_nomem(err);
	id = fsc_btf_find(s->btf, name, s->what);
	return id ? add_typed(s, id, s->func) : 0;
}

/* The names that come near, of the kernel itself. */
static int nothing_typed(struct btf_search *s, const char *module, struct fsc_err *err)
{
	char near[540];

	s->near.wanted = s->func;
	s->module = KERNEL;
	s->btf = fsc_machine_btf(s->to->m, NULL);
	if (s->btf)
		fsc_btf_each(s->btf, s->what, visit_typed, s);
	if (module && !fsc_written_is_pattern(module) && strcmp(module, KERNEL))
		fsc_err_set(err, ENOENT, "No BTF found for %s:%s", module, s->func);
	else
		fsc_err_set(err, ENOENT, "No BTF found for %s", s->func);
	fsc_nearest_text(&s->near, near, sizeof(near));
	return near[0] ? fsc_err_hint(err, "did you mean %s?", near) : -ENOENT;
}

static int search_typed(struct btf_search *s, const char *module, struct fsc_err *err)
{
	int rc;

	if (!s->func[0])
		return fsc_err_usage(err, "%s should specify a function", s->w->provider->name);
	if (!fsc_machine_btf(s->to->m, err))
		return -ENODATA;
	rc = fsc_pattern_init(&s->pattern, s->func, false, err);
	if (rc)
		return rc;
	if (module) {
		rc = each_module(module, search_module, s, err);
	} else {
		/* The kernel's own goes before a module's. */
		rc = search_module(s, KERNEL, err);
		if (!rc && !s->to->n)
			rc = each_module("*", search_module, s, err);
	}
	if (!rc && !s->to->n)
		rc = nothing_typed(s, module, err);
	fsc_pattern_release(&s->pattern);
	return rc;
}

int fsc_match_tracing(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err)
{
	struct btf_search s = {
	    .w = w, .to = to, .func = w->parts[w->n - 1], .prefix = "", .what = FSC_BTF_FUNC};
	FSC_AUTO(fsc_closep) int tracefs = -1;
	int rc;

	if (!strcmp(w->parts[0], "bpf") && w->n > 1)
		return fsc_match_bpf(w, to, err);
	if (w->n > 2)
		return fsc_err_usage(err,
				     "Only the 'bpf' variant of this probe supports 3 arguments");
	if (fsc_written_is_pattern(s.func)) {
		tracefs = fsc_tracefs_open(NULL);
		if (tracefs < 0 || fsc_tracefs_filter_functions(tracefs, &s.hookable, NULL))
			fsc_map_release(&s.hookable);
	}
	rc = search_typed(&s, w->n > 1 ? w->parts[0] : NULL, err);
	fsc_map_release(&s.hookable);
	return rc;
}

int fsc_match_raw(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err)
{
	struct btf_search s = {.w = w,
			       .to = to,
			       .func = w->parts[w->n - 1],
			       .prefix = "btf_trace_",
			       .what = FSC_BTF_TYPEDEF};

	return search_typed(&s, w->n > 1 ? w->parts[0] : NULL, err);
}

/* ---- tracepoint ---- */

static int add_tracepoints(const struct fsc_targets *t, struct fsc_matches *to, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < fsc_targets_count(t); i++) {
		const struct fsc_target *at = fsc_targets_at(t, i);
		const struct fsc_target_row *row = fsc_targets_row(t, at->row);
		struct fsc_point p = {
		    .kind = FSC_POINT_TRACEPOINT,
		    .target = row->binary,
		    .func = row->name,
		    .event_id = at->event_id,
		    .btf_fd = -1,
		    .targets = t,
		    .place = (uint32_t)i,
		};

		p.name = fsc_machine_text(to->m, err, "tracepoint:%s:%s", row->binary, row->name);
		rc = fsc_matches_add(to, &p, err);
	}
	return rc;
}

/* One event in full, without listing the others. 0: it is not there. */
static int add_event(struct fsc_machine *m, const struct fsc_written *w, struct fsc_targets *t,
		     struct fsc_err *err)
{
	const char *category = w->parts[0], *name = w->parts[1];
	struct fsc_target target = {.site = FSC_SITE_TRACEPOINT};

	target.event_id = fsc_tracepoint_id(fsc_machine_tracefs(m, err), category, name, NULL);
	if (target.event_id < 0)
		return 0;
	target.syscall = strcmp(category, "syscalls") ? -1 : fsc_syscall_of_event(name);
	return fsc_targets_add(t, &target, "tracepoint", category, name, NULL, err);
}

int fsc_match_tracepoint(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err)
{
	struct fsc_targets *t = fsc_machine_targets(to->m, err);
	struct fsc_spec spec = {
	    .kind = &fsc_kind_tracepoint,
	    .text = (char *)to->written,
	    .group = w->parts[0],
	    .function = w->parts[1],
	};
	int rc = 0;

	if (!t)
		return -ENOMEM;
	if (!w->parts[0][0] || !w->parts[1][0])
		return fsc_err_usage(err, "tracepoint probe must have a target");
	if (fsc_machine_tracefs(to->m, err) < 0)
		return to->m->tracefs;
	if (!fsc_written_is_pattern(w->parts[0]) && !fsc_written_is_pattern(w->parts[1]) &&
	    !strchr(w->parts[0], '/') && !strchr(w->parts[1], '/'))
		rc = add_event(to->m, w, t, err);
	if (!rc && !fsc_targets_count(t))
		rc = spec.kind->resolve(&spec, &(struct fsc_scope){0}, t, err);
	return rc ? rc : add_tracepoints(t, to, err);
}

/* ---- iter ---- */

int fsc_match_iter(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err)
{
	struct fsc_btf *btf = fsc_machine_btf(to->m, err);
	struct fsc_point p = {.kind = FSC_POINT_ITER, .btf_fd = -1};
	const char *pin = w->n > 1 ? w->parts[1] : NULL;
	char name[128];

	if (!btf)
		return -ENODATA;
	if (!w->parts[0][0])
		return fsc_err_usage(err, "iter should specify a iterator's name");
	if (fsc_written_is_pattern(w->parts[0]) || (pin && fsc_written_is_pattern(pin)))
		return fsc_err_usage(err, "iter probe type does not support wildcards");
	snprintf(name, sizeof(name), "bpf_iter_%s", w->parts[0]);
	p.btf_id = fsc_btf_find(btf, name, FSC_BTF_FUNC);
	snprintf(name, sizeof(name), "bpf_iter__%s", w->parts[0]);
	if (!p.btf_id || !fsc_btf_find(btf, name, FSC_BTF_STRUCT)) {
		fsc_err_set(err, ENOENT, "iter %s not available for your kernel version",
			    w->parts[0]);
		return fsc_err_hint(err, "list them with: funcscope run -l 'iter:*'");
	}
	p.func = fsc_machine_text(to->m, err, "%s", w->parts[0]);
	p.target = pin ? fsc_machine_text(to->m, err, "%s", pin) : NULL;
	p.name = fsc_machine_text(to->m, err, "iter:%s%s%s", w->parts[0], pin ? ":" : "",
				  pin ? pin : "");
	return p.func ? fsc_matches_add(to, &p, err) : -ENOMEM;
}
