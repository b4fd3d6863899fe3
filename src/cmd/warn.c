/* Looking over resolved targets for what may hurt the traced program. */
#include "cmd/warn.h"

#include "base/log.h"
#include "engine/features.h"

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

/* The kernel's way to catch a return cannot be unwound through. */
void fsc_warn_throws(const struct fsc_targets *targets, bool pairs)
{
	for (size_t i = 0; i < fsc_targets_count(targets); i++) {
		const struct fsc_target *t = fsc_targets_at(targets, i);
		const struct fsc_target_file *f =
		    FSC_AT(struct fsc_target_file, &targets->files, t->file);

		if (t->site != FSC_SITE_USER || !(t->ret || pairs) || t->by_insns || !f->throws)
			continue;
		fsc_log(FSC_LOG_WARN,
			"return probes on %s: a C++ exception that leaves a probed function "
			"ends the program",
			f->name);
		return;
	}
}
