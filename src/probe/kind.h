/* A probe kind: how its spelling is read and how it becomes places to attach to. One row of the
 * table in kinds.c, one file each. */
#ifndef FSC_PROBE_KIND_H
#define FSC_PROBE_KIND_H

#include "probe/spec.h"
#include "probe/target.h"

struct fsc_kind {
	const char *name;	     /* as printed: "uprobe" */
	const char *const *prefixes; /* spellings before the first ':', NULL-ended */
	const char *form;	     /* what follows the prefix, for messages and help */
	bool ret;		     /* fires at the function's return */
	bool returns;		     /* what it names is a function, which returns */
	/* Splits what follows the prefix into spec; text is the parser's to cut up. */
	int (*parse)(char *text, bool regex, struct fsc_spec *spec, struct fsc_err *err);
	/* Adds every place the spec means. What matches but cannot be probed is noted as skipped,
	 * with the reason. Finding nothing at all is an error (-ENOENT) that names near misses. */
	int (*resolve)(const struct fsc_spec *spec, const struct fsc_scope *scope,
		       struct fsc_targets *out, struct fsc_err *err);
};

extern const struct fsc_kind fsc_kind_kprobe, fsc_kind_kretprobe;
extern const struct fsc_kind fsc_kind_uprobe, fsc_kind_uretprobe;
extern const struct fsc_kind fsc_kind_tracepoint, fsc_kind_usdt;

/* All kinds, NULL-ended. */
extern const struct fsc_kind *const fsc_kinds[];

/* The next separating colon at or after s, NULL if there is none; "\:" does not separate. */
char *fsc_kind_next_colon(char *s);
/* The hint of an error that nothing matched: similar names, or how to list what there is. */
int fsc_kind_hint(const struct fsc_nearest *near, const char *prefix, const char *binary,
		  struct fsc_err *err);
/* Splits "NAME+0x12" into name and offset; a tail that is no number belongs to the name. */
void fsc_kind_split_offset(char *text, uint64_t *ret);

#endif
