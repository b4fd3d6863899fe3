/* Checks resolved targets for what may harm the traced program. */
#include "cmd/warn.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "engine/features.h"
#include "proc/maps.h"

void fsc_warn_fast(const struct fsc_targets *targets, bool asked)
{
	const char *why;

	if (!asked)
		return;
	for (size_t i = 0; i < fsc_targets_count(targets); i++) {
		if (!fsc_targets_at(targets, i)->nop5)
			continue;
		if (fsc_feature_try(FSC_FEATURE_FAST_UPROBE_FORK, &why))
			fsc_log(FSC_LOG_WARN, "--fast-uprobes: on this kernel %s", why);
		return;
	}
	fsc_log(FSC_LOG_NOTE, "--fast-uprobes changes nothing: no function here begins with a "
			      "5-byte nop");
}

/* An exception cannot be unwound through a uretprobe. */
void fsc_warn_throws(const struct fsc_targets *targets, bool pairs)
{
	for (size_t i = 0; i < fsc_targets_count(targets); i++) {
		const struct fsc_target *t = fsc_targets_at(targets, i);
		const struct fsc_target_file *f =
		    FSC_AT(struct fsc_target_file, &targets->files, t->file);

		if (t->site != FSC_SITE_USER || !(t->ret || pairs) || t->by_insns || !f->throws)
			continue;
		fsc_log(FSC_LOG_WARN,
			"return probes on %s: a C++ exception that leaves a probed function will "
			"end the program",
			f->name);
		return;
	}
}

static bool is_mapped(const struct fsc_vec *maps, const struct fsc_target_file *f)
{
	for (size_t i = 0; i < maps->n; i++) {
		const struct fsc_mapping *m = FSC_AT(struct fsc_mapping, maps, i);

		if (m->ino == f->ino && m->dev == f->dev)
			return true;
	}
	return false;
}

void fsc_warn_own(const struct fsc_targets *targets)
{
	FSC_AUTO(fsc_maps_release) struct fsc_vec maps = FSC_VEC_INIT(struct fsc_mapping);

	if (fsc_maps_read(getpid(), true, &maps, NULL))
		return;
	for (size_t i = 0; i < targets->files.n; i++) {
		const struct fsc_target_file *f =
		    FSC_AT(struct fsc_target_file, &targets->files, i);

		if (!is_mapped(&maps, f))
			continue;
		fsc_log(FSC_LOG_WARN,
			"funcscope itself uses %s, and the probes slow it down; limit them by -p "
			"or --no-follow, or use the static program (make STATIC=1)",
			f->name);
		return;
	}
}

void fsc_warn_lost(const struct fsc_summary *sum)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf names = {0};
	uint64_t n = 0;

	for (const struct fsc_named *l = sum->lost; l->name; l++) {
		/* A call that has not returned yet is not lost, and -M leaves out what it was
		 * asked to. */
		if (!l->n || !strcmp(l->name, "unreturned") || !strcmp(l->name, "not_shown"))
			continue;
		fsc_buf_printf(&names, "%s%s %llu", n ? ", " : "", l->name,
			       (unsigned long long)l->n);
		n += l->n;
	}
	if (n)
		fsc_log(FSC_LOG_WARN, "%llu of %llu hits are not in the output: %s",
			(unsigned long long)n, (unsigned long long)sum->seen, fsc_buf_str(&names));
}
