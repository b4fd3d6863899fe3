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

/* Whether no function of a session is in the configuration being tried. */
static bool will_end(const struct fsc_hooks *h, const struct fsc_finder *f,
		     const struct fsc_snoop_config *config, const struct batch *b)
{
	for (uint32_t row = 0; !h->was.anew && row < b->targets.rows.n; row++)
		if (find_entry(f, config, b->id_of[row]) >= 0)
			return false;
	return true;
}

static void forget_searches(struct fsc_finder *f, const struct batch *b)
{
	for (size_t i = 0; i < b->targets.files.n; i++)
		for (uint32_t row = 0; row < b->targets.rows.n; row++)
			fsc_finder_forget(f, FSC_AT(struct fsc_target_file, &b->targets.files, i),
					  b->id_of[row]);
}

int fsc_hooks_try(struct fsc_hooks *h, const struct fsc_snoop_config *config, bool anew,
		  struct fsc_err *err)
{
	struct fsc_finder *finder = NULL;
	int rc = fsc_finder_copy(h->finder, config, &finder, err);

	if (rc)
		return rc;
	h->trying = true;
	h->was.config = h->config;
	h->was.finder = h->finder;
	h->was.batches = h->batches;
	h->was.anew = anew;
	h->was.retired = h->retired.n;
	h->was.stay = 0;
	for (size_t i = 0; i < h->batches.n; i++) {
		if (will_end(h, finder, config, batch_at(h, i)))
			forget_searches(finder, batch_at(h, i));
		else
			h->was.stay++;
	}
	h->config = config;
	h->finder = finder;
	h->batches = FSC_VEC_INIT(struct batch *);
	return 0;
}

static void restore_config(struct fsc_hooks *h)
{
	h->config = h->was.config;
	h->finder = h->was.finder;
	h->batches = h->was.batches;
	h->was.stay = 0;
	h->trying = false;
}

void fsc_hooks_abandon(struct fsc_hooks *h)
{
	for (size_t i = 0; i < h->batches.n; i++)
		fsc_hooks_free_batch(batch_at(h, i));
	fsc_vec_release(&h->batches);
	fsc_finder_free(h->finder);
	restore_config(h);
	if (h->was.anew)
		fsc_hooks_unjudge(h, h->was.retired);
}

/* ---- taking over ---- */

static void warn_if_failed(int rc, const struct fsc_err *why)
{
	if (rc)
		fsc_log(FSC_LOG_WARN, "%s", why->msg);
}

static void mute_batch(struct batch *b)
{
	struct fsc_err why = {0};
	int rc = 0;

	for (uint32_t row = 0; !rc && row < b->targets.rows.n; row++)
		rc = fsc_session_mute(b->session, row, true, &why);
	warn_if_failed(rc, &why);
}

/* Calls between the two loops are missed; that takes microseconds. */
static void switch_over(struct fsc_hooks *h, const struct fsc_finder *finder,
			const struct fsc_snoop_config *config, const struct fsc_vec *fresh)
{
	for (size_t i = 0; i < h->batches.n; i++)
		if (will_end(h, finder, config, batch_at(h, i)))
			mute_batch(batch_at(h, i));
	for (size_t i = 0; i < fresh->n; i++) {
		struct fsc_err why = {0};

		warn_if_failed(fsc_live_arm((*FSC_AT(struct batch *, fresh, i))->live, &why), &why);
	}
}

/* Closes sessions without functions while their calls still have entries. */
static void close_ending(struct fsc_hooks *h, const struct fsc_finder *finder,
			 const struct fsc_snoop_config *config)
{
	for (size_t i = 0; i < h->batches.n;) {
		struct batch *b = batch_at(h, i);
		struct fsc_err why = {0};

		if (!will_end(h, finder, config, b)) {
			i++;
			continue;
		}
		warn_if_failed(fsc_hooks_close(h, b, &why), &why);
		*FSC_AT(struct batch *, &h->batches, i) = batch_at(h, --h->batches.n);
	}
}

static int reload_row(struct fsc_hooks *h, struct batch *b, uint32_t row, struct fsc_err *err)
{
	int32_t was = b->entry_of[row];
	int rc = 0;

	b->entry_of[row] = find_entry(h->finder, h->config, b->id_of[row]);
	if (b->entry_of[row] >= 0) {
		fsc_hooks_name_errors(h, b, row, entry_at(h, (size_t)b->entry_of[row]));
		rc = fsc_hooks_set_rule(h, b, row, entry_at(h, (size_t)b->entry_of[row]), err);
	}
	if (!rc && (was < 0) != (b->entry_of[row] < 0))
		rc = fsc_session_mute(b->session, row, b->entry_of[row] < 0, err);
	if (!rc && b->off[row] && b->entry_of[row] >= 0) {
		b->off[row] = false;
		rc = fsc_session_resume(b->session, row, err);
	}
	return rc;
}

/* The room was reserved by make_room(). */
static void append_batches(struct fsc_hooks *h, const struct fsc_vec *fresh)
{
	for (size_t i = 0; i < fresh->n; i++) {
		struct batch *b = *FSC_AT(struct batch *, fresh, i), **slot;

		for (uint32_t row = 0; row < b->targets.rows.n; row++)
			fsc_hooks_name_errors(h, b, row, entry_at(h, (size_t)b->entry_of[row]));
		slot = fsc_vec_push(&h->batches);
		if (slot) {
			*slot = b;
			continue;
		}
		fsc_log(FSC_LOG_WARN, "no memory for %zu functions: they are not watched",
			b->targets.rows.n);
		fsc_hooks_free_batch(b);
	}
}

void fsc_hooks_commit(struct fsc_hooks *h)
{
	const struct fsc_snoop_config *config = h->config;
	struct fsc_finder *finder = h->finder;
	struct fsc_vec fresh = h->batches;

	restore_config(h);
	switch_over(h, finder, config, &fresh);
	close_ending(h, finder, config);
	fsc_finder_free(h->finder);
	h->finder = finder;
	h->config = config;
	for (size_t i = 0; i < h->batches.n; i++)
		for (uint32_t row = 0; row < batch_at(h, i)->targets.rows.n; row++) {
			struct fsc_err why = {0};

			warn_if_failed(reload_row(h, batch_at(h, i), row, &why), &why);
		}
	append_batches(h, &fresh);
	fsc_vec_release(&fresh);
}
