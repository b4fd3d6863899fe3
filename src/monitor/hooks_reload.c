/* Changing the configuration in two steps: first everything that can fail, which can be undone;
 * then the switch. */
#include <stdlib.h>

#include "base/log.h"
#include "monitor/hooks_priv.h"

static int32_t find_entry(const struct fsc_finder *f, const struct fsc_snoop_config *config,
			  uint32_t id)
{
	for (size_t i = 0; i < config->funcs.n; i++)
		if (fsc_finder_id(f, i) == id)
			return (int32_t)i;
	return -1;
}

/* ---- trying ---- */

/* Whether probes must be attached in another way, so that none can stay. */
static bool needs_other_links(const struct fsc_snoop_config *a, const struct fsc_snoop_config *b)
{
	bool limited = fsc_filter_only_pids(&a->targets);

	return limited != fsc_filter_only_pids(&b->targets) ||
	       (limited && !fsc_filter_same(&a->targets, &b->targets)) ||
	       (a->max_overhead > 0) != (b->max_overhead > 0) || a->fast_uprobes != b->fast_uprobes;
}

static void warn_of_fixed(const struct fsc_snoop_config *a, const struct fsc_snoop_config *b)
{
	if (a->stacks != b->stacks || a->dwarf != b->dwarf ||
	    a->max_processes_rows != b->max_processes_rows)
		fsc_log(
		    FSC_LOG_WARN,
		    "%s: \"stacks\", \"dwarf\" and \"rows\" of a running monitor stay as they are",
		    b->path);
}

bool fsc_hooks_will_end(const struct fsc_hooks *h, const struct hooked *f)
{
	for (uint32_t row = 0; !h->was.anew && row < f->targets.rows.n; row++)
		if (find_entry(h->finder, h->config, f->hooks[row].id) >= 0)
			return false;
	return true;
}

void fsc_hooks_forget_searches(struct fsc_finder *finder, const struct hooked *f)
{
	for (size_t i = 0; i < f->targets.files.n; i++)
		for (uint32_t row = 0; row < f->targets.rows.n; row++)
			fsc_finder_forget(finder,
					  FSC_AT(struct fsc_target_file, &f->targets.files, i),
					  f->hooks[row].id);
}

int fsc_hooks_try(struct fsc_hooks *h, const struct fsc_snoop_config *config, struct fsc_err *err)
{
	struct fsc_finder *finder = NULL;
	int rc = fsc_finder_copy(h->finder, config, &finder, err);

	if (rc)
		return rc;
	warn_of_fixed(h->config, config);
	h->trying = true;
	h->was.config = h->config;
	h->was.finder = h->finder;
	h->was.files = h->files.n;
	h->was.anew = needs_other_links(h->config, config);
	h->config = config;
	h->finder = finder;
	for (size_t i = 0; i < h->files.n; i++)
		if (fsc_hooks_will_end(h, hooked_at(h, i)))
			fsc_hooks_forget_searches(finder, hooked_at(h, i));
	return 0;
}

static bool ends_anyway(const struct fsc_hooks *h, const struct hooked *f)
{
	(void)h, (void)f;
	return true;
}

static void warn_if_failed(int rc, const struct fsc_err *why)
{
	if (rc)
		fsc_log(FSC_LOG_WARN, "%s", why->msg);
}

/* What it has counted stays counted. */
static void abandon_file(struct fsc_hooks *h, struct hooked *f)
{
	struct fsc_err why = {0};

	if (f->tried_armed)
		warn_if_failed(fsc_hooks_close_file(h, f, &why), &why);
	else
		fsc_hooks_free_file(h, f);
}

void fsc_hooks_abandon(struct fsc_hooks *h)
{
	fsc_hooks_detach_files(h, h->was.files, h->files.n - h->was.files, ends_anyway);
	while (h->files.n > h->was.files)
		abandon_file(h, hooked_at(h, --h->files.n));
	fsc_finder_free(h->finder);
	h->config = h->was.config;
	h->finder = h->was.finder;
	h->undecided.n = 0;
	h->trying = false;
}

/* ---- taking over ---- */

static void mute_file(struct hooked *f)
{
	struct fsc_err why = {0};
	int rc = 0;

	for (uint32_t row = 0; !rc && row < f->targets.rows.n; row++)
		rc = fsc_session_mute(f->part, row, true, &why);
	warn_if_failed(rc, &why);
}

/* Calls between the two loops are missed; that takes microseconds. */
static void switch_over(struct fsc_hooks *h)
{
	for (size_t i = 0; i < h->was.files; i++)
		if (fsc_hooks_will_end(h, hooked_at(h, i)))
			mute_file(hooked_at(h, i));
	for (size_t i = h->was.files; i < h->files.n; i++) {
		struct fsc_err why = {0};

		warn_if_failed(fsc_live_arm(hooked_at(h, i)->live, &why), &why);
	}
}

/* The verdicts first: as long as all processes count, they change nothing. */
static void judge_anew(struct fsc_hooks *h)
{
	struct fsc_err why = {0};
	int rc = 0;

	for (size_t i = 0; !rc && i < h->undecided.n; i++) {
		const struct verdict *v = FSC_AT(struct verdict, &h->undecided, i);

		rc = fsc_hooks_apply_verdict(h, v->pid, v->wanted, &why);
	}
	h->undecided.n = 0;
	if (!rc)
		rc = fsc_hooks_judge(h, &why);
	warn_if_failed(rc, &why);
}

static int reload_row(struct fsc_hooks *h, struct hooked *f, uint32_t row, struct fsc_err *err)
{
	struct hook *x = &f->hooks[row];
	int32_t was = x->entry;
	int rc = 0;

	x->entry = find_entry(h->finder, h->config, x->id);
	if (x->entry >= 0) {
		fsc_hooks_name_errors(h, f, row, entry_at(h, (size_t)x->entry));
		rc = fsc_hooks_set_rule(h, f, row, entry_at(h, (size_t)x->entry), err);
	}
	if (!rc && (was < 0) != (x->entry < 0))
		rc = fsc_session_mute(f->part, row, x->entry < 0, err);
	if (!rc && x->off && x->entry >= 0) {
		x->off = false;
		rc = fsc_session_resume(f->part, row, err);
	}
	return rc;
}

static void reload_file(struct fsc_hooks *h, struct hooked *f)
{
	for (uint32_t row = 0; row < f->targets.rows.n; row++) {
		struct fsc_err why = {0};

		warn_if_failed(reload_row(h, f, row, &why), &why);
	}
}

/* Closes files without functions of the configuration, and reloads the others. */
static void reload_files(struct fsc_hooks *h)
{
	size_t kept = 0;

	fsc_hooks_detach_files(h, 0, h->was.files, fsc_hooks_will_end);
	for (size_t i = 0; i < h->files.n; i++) {
		struct hooked *f = hooked_at(h, i);
		struct fsc_err why = {0};

		if (i < h->was.files && fsc_hooks_will_end(h, f)) {
			warn_if_failed(fsc_hooks_close_file(h, f, &why), &why);
			continue;
		}
		*FSC_AT(struct hooked *, &h->files, kept++) = f;
		reload_file(h, f);
	}
	h->files.n = kept;
}

/* Verdicts of the old configuration are in force until its files are closed. */
void fsc_hooks_commit(struct fsc_hooks *h)
{
	switch_over(h);
	reload_files(h);
	judge_anew(h);
	fsc_finder_free(h->was.finder);
	h->trying = false;
}
