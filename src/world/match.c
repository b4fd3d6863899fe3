/* From a written probe to its points: a table with a function for each provider, and patterns that
 * name several providers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "world/machine_priv.h"

static const fsc_match_fn matchers[FSC_POINT_KINDS] = {
    [FSC_POINT_BEGIN] = fsc_match_special,
    [FSC_POINT_END] = fsc_match_special,
    [FSC_POINT_SELF] = fsc_match_self,
    [FSC_POINT_KPROBE] = fsc_match_kprobe,
    [FSC_POINT_KRETPROBE] = fsc_match_kprobe,
    [FSC_POINT_FENTRY] = fsc_match_tracing,
    [FSC_POINT_FEXIT] = fsc_match_tracing,
    [FSC_POINT_UPROBE] = fsc_match_uprobe,
    [FSC_POINT_URETPROBE] = fsc_match_uprobe,
    [FSC_POINT_USDT] = fsc_match_usdt,
    [FSC_POINT_TRACEPOINT] = fsc_match_tracepoint,
    [FSC_POINT_RAWTRACEPOINT] = fsc_match_raw,
    [FSC_POINT_PROFILE] = fsc_match_timer,
    [FSC_POINT_INTERVAL] = fsc_match_timer,
    [FSC_POINT_SOFTWARE] = fsc_match_event,
    [FSC_POINT_HARDWARE] = fsc_match_event,
    [FSC_POINT_WATCHPOINT] = fsc_match_watch,
    [FSC_POINT_ASYNCWATCHPOINT] = fsc_match_watch,
    [FSC_POINT_ITER] = fsc_match_iter,
    [FSC_POINT_TEST] = fsc_match_named,
    [FSC_POINT_BENCH] = fsc_match_named,
};

/* In the words that scripts are tested for; what is near stays in the hint. */
static int no_match(const struct fsc_written *w, const struct fsc_err *why, struct fsc_err *err)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf b = {0};

	for (unsigned i = 0; i < w->n; i++)
		fsc_buf_printf(&b, "%s%s%s%s", i ? ":" : "", w->parts[i], w->plus[i] ? "+" : "",
			       w->plus[i] ? w->plus[i] : "");
	if (fsc_buf_failed(&b))
		return fsc_err_nomem(err);
	fsc_err_set(err, ENOENT, "No matches for %s %s.", w->provider->name, fsc_buf_str(&b));
	if (!strncmp(why->hint, "did you mean", 12))
		return fsc_err_hint(err, "%.*s", (int)strcspn(why->hint, "?") + 1, why->hint);
	if (w->n > 1 && strchr(w->parts[0], '/'))
		return fsc_err_hint(err, "list them with: funcscope run -l '%s:%s:*'",
				    w->provider->name, w->parts[0]);
	return fsc_err_hint(err, "list them with: funcscope run -l '%s:*'", w->provider->name);
}

int fsc_machine_match(void *arg, const char *text, int (*add)(void *to, const struct fsc_point *),
		      void *to, struct fsc_err *err)
{
	struct fsc_matches matches = {.m = arg, .add = add, .to = to, .written = text};
	FSC_AUTO(fsc_written_release) struct fsc_written w = {0};
	struct fsc_err why = {0};
	int rc = fsc_written_parse(text, &w, err);

	if (rc)
		return rc;
	rc = matchers[w.provider->kind](&w, &matches, &why);
	if (!rc && matches.n)
		return 0;
	if (!rc || (rc == -ENOENT && w.provider->kind != FSC_POINT_ITER))
		return no_match(&w, &why, err);
	if (err)
		*err = why;
	return rc;
}
