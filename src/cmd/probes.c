/* From the command line to resolved targets. */
#include "cmd/probes.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "probe/kind.h"

const struct fsc_opt fsc_probe_opts[] = {
    {'p', "pid", FSC_OPT_LIST, offsetof(struct fsc_probe_opts, pids), "PID",
     "only this process; may be repeated, or 1,2,3", NULL},
    {'x', "exclude", FSC_OPT_LIST, offsetof(struct fsc_probe_opts, excludes), "PATTERN",
     "leave out functions that match; may be repeated", NULL},
    {'r', "regex", FSC_OPT_FLAG, offsetof(struct fsc_probe_opts, regex), NULL,
     "function names are extended regular expressions", NULL},
    {0, "skip-missing", FSC_OPT_FLAG, offsetof(struct fsc_probe_opts, skip_missing), NULL,
     "leave out probes that name nothing, and say so", NULL},
    {0},
};

void fsc_probe_opts_release(struct fsc_probe_opts *o)
{
	fsc_vec_release(&o->pids);
	fsc_vec_release(&o->excludes);
}

static int add_pid(const char *text, size_t n, void *ret, struct fsc_err *err)
{
	struct fsc_vec *pids = ret;
	char number[16], *end;
	pid_t pid;
	long v;

	if (n == 0 || n >= sizeof(number))
		return fsc_err_usage(err, "'%s' is not a process or thread ID", text);
	memcpy(number, text, n);
	number[n] = '\0';
	v = strtol(number, &end, 10);
	if (*end || v <= 0 || v > 0x7fffffff)
		return fsc_err_usage(err, "'%s' is not a process or thread ID", number);
	if (kill((pid_t)v, 0) && errno == ESRCH)
		return fsc_err_set(err, ESRCH, "no process or thread %ld is running; see: ps -eL",
				   v);
	pid = (pid_t)v;
	for (size_t i = 0; i < pids->n; i++)
		if (*FSC_AT(pid_t, pids, i) == pid)
			return 0;
	return fsc_vec_add(pids, &pid, err);
}

int fsc_probes_pids(const struct fsc_vec *texts, struct fsc_vec *ret, struct fsc_err *err)
{
	return fsc_str_each(texts, add_pid, ret, err);
}

/* What a spec names that is not the entry of a function. */
static const char *what_it_names(const struct fsc_spec *spec)
{
	if (spec->kind->ret)
		return "a return alone";
	if (spec->offset || spec->file)
		return "a place inside a function";
	return strcmp(spec->kind->name, "usdt") ? "a tracepoint" : "a USDT probe";
}

static int resolve_one(const char *text, const struct fsc_scope *scope, struct fsc_targets *ret,
		       struct fsc_err *err)
{
	struct fsc_spec spec;
	int rc = fsc_spec_parse(text, scope->regex, scope->n_pids || scope->command, &spec, err);

	if (rc)
		return rc;
	if (scope->pairs && (spec.kind->ret || !spec.kind->returns || spec.offset || spec.file))
		rc = fsc_err_usage(err,
				   "'%s' names %s, but an entry and its return are needed; name a "
				   "function, as in c:malloc",
				   text, what_it_names(&spec));
	else
		rc = spec.kind->resolve(&spec, scope, ret, err);
	fsc_spec_release(&spec);
	return rc;
}

/* With --skip-missing a probe that names nothing there is only warned of. */
static int resolve_or_skip(const char *text, const struct fsc_probe_opts *o,
			   const struct fsc_scope *scope, struct fsc_targets *ret,
			   struct fsc_err *err)
{
	int rc = resolve_one(text, scope, ret, err);

	if (rc != -ENOENT || !o->skip_missing)
		return rc;
	fsc_log(FSC_LOG_WARN, "left out: %s", err->msg);
	*err = (struct fsc_err){0};
	return 0;
}

/* Everything that matched turned out not to be probeable. */
static int nothing_left(const struct fsc_targets *t, struct fsc_err *err)
{
	const struct fsc_skipped *first = FSC_AT(struct fsc_skipped, &t->skipped, 0);

	if (!t->skipped.n)
		return fsc_err_set(err, ENOENT,
				   "nothing is left to probe: all probes were left out");
	if (t->skipped.n == 1)
		fsc_err_set(err, ENOTSUP, "'%s' cannot be probed: %s", first->name, first->why);
	else
		fsc_err_set(err, ENOTSUP,
			    "none of %zu functions can be probed, '%s' for example: %s",
			    t->skipped.n, first->name, first->why);
	return -ENOTSUP;
}

int fsc_probes_resolve(char *const *probes, int n, const struct fsc_probe_opts *o,
		       const struct fsc_scope *in, struct fsc_targets *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) struct fsc_pattern *ex = calloc(o->excludes.n + 1, sizeof(*ex));
	struct fsc_scope scope = *in;
	int rc = ex ? 0 : fsc_err_nomem(err);

	scope.regex = o->regex;
	scope.excludes = ex;
	scope.n_excludes = 0;

	for (size_t i = 0; !rc && i < o->excludes.n; i++) {
		rc =
		    fsc_pattern_init(&ex[i], *FSC_AT(const char *, &o->excludes, i), o->regex, err);
		scope.n_excludes += !rc;
	}
	for (int i = 0; !rc && i < n; i++) {
		ret->probe = (uint32_t)i;
		rc = resolve_or_skip(probes[i], o, &scope, ret, err);
	}
	for (size_t i = 0; i < scope.n_excludes; i++)
		fsc_pattern_release(&ex[i]);
	return rc || fsc_targets_count(ret) ? rc : nothing_left(ret, err);
}
