/* Tracepoints of the kernel: t:CATEGORY:EVENT, globs in both. bpftrace's rawtracepoint:EVENT is the
 * same event: how it is attached to is decided elsewhere. */
#include "probe/kind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "kernel/syscalls.h"
#include "kernel/tracefs.h"

static int parse_tracepoint(char *text, bool regex, struct fsc_spec *spec, struct fsc_err *err)
{
	char *colon = fsc_kind_next_colon(text), *name = colon ? colon + 1 : text;

	(void)regex;
	if (!name[0])
		return fsc_err_usage(err, "probe '%s' names no event; write t:CATEGORY:EVENT",
				     spec->text);
	if (colon && colon != text) {
		*colon = '\0';
		spec->group = strdup(text);
		if (!spec->group)
			return fsc_err_nomem(err);
	}
	spec->function = strdup(name);
	return spec->function ? 0 : fsc_err_nomem(err);
}

struct search {
	const struct fsc_spec *spec;
	const struct fsc_scope *scope;
	struct fsc_targets *out;
	struct fsc_pattern name, group;
	struct fsc_nearest near;
	size_t found;
	int tracefs;
};

static int add_event(struct search *s, const struct fsc_tracepoint *tp, struct fsc_err *err)
{
	struct fsc_target t = {
	    .site = FSC_SITE_TRACEPOINT,
	    .syscall = strcmp(tp->category, "syscalls") ? -1 : fsc_syscall_of_event(tp->name),
	};
	FSC_AUTO(fsc_freep) char *full = NULL;

	if (asprintf(&full, "%s:%s", tp->category, tp->name) < 0)
		return fsc_err_nomem(err);
	if (fsc_scope_excluded(s->scope, tp->name) || fsc_scope_excluded(s->scope, full))
		return 0;
	t.event_id = fsc_tracepoint_id(s->tracefs, tp->category, tp->name, err);
	if (t.event_id < 0)
		return fsc_targets_skip(s->out, full, "has no event number", err);
	s->found++;
	return fsc_targets_add(s->out, &t, s->spec->kind->name, tp->category, tp->name, NULL, err);
}

static int search_all(struct search *s, const struct fsc_vec *tps, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < tps->n; i++) {
		const struct fsc_tracepoint *tp = FSC_AT(struct fsc_tracepoint, tps, i);

		fsc_nearest_offer(&s->near, tp->name);
		if (s->group.text && !fsc_pattern_match(&s->group, tp->category))
			continue;
		if (fsc_pattern_match(&s->name, tp->name))
			rc = add_event(s, tp, err);
	}
	if (rc || s->found)
		return rc;
	fsc_err_set(err, ENOENT, "no tracepoint matches '%s'", s->spec->text);
	return fsc_kind_hint(&s->near, "t:", "*", err);
}

static int resolve_tracepoint(const struct fsc_spec *spec, const struct fsc_scope *scope,
			      struct fsc_targets *out, struct fsc_err *err)
{
	struct fsc_vec tps = FSC_VEC_INIT(struct fsc_tracepoint);
	FSC_AUTO(fsc_closep) int tracefs = fsc_tracefs_open(err);
	struct search s = {.spec = spec, .scope = scope, .out = out, .tracefs = tracefs};
	int rc;

	if (tracefs < 0)
		return tracefs;
	s.near.wanted = spec->function;
	rc = fsc_pattern_init(&s.name, spec->function, scope->regex, err);
	if (!rc && spec->group)
		rc = fsc_pattern_init(&s.group, spec->group, false, err);
	if (!rc)
		rc = fsc_tracepoints_list(tracefs, &tps, err);
	if (!rc)
		rc = search_all(&s, &tps, err);
	fsc_tracepoints_release(&tps);
	fsc_pattern_release(&s.name);
	return rc;
}

const struct fsc_kind fsc_kind_tracepoint = {
    .name = "tracepoint",
    .prefixes = (const char *const[]){"t", "tracepoint", "rawtracepoint", NULL},
    .form = "CATEGORY:EVENT",
    .parse = parse_tracepoint,
    .resolve = resolve_tracepoint,
};
