/* What `list -v` says of a place: its arguments, where the probe would sit, what a hit would cost.
 */
#ifndef FSC_CMD_EXPLAIN_H
#define FSC_CMD_EXPLAIN_H

#include "base/buf.h"
#include "base/err.h"
#include "probe/target.h"

struct fsc_explainer;

/* Reads types of arguments, and measures on functions of funcscope's own what hits cost, as far as
 * it may. targets must outlive *ret, which the caller owns. */
int fsc_explainer_new(struct fsc_targets *targets, struct fsc_explainer **ret, struct fsc_err *err);
void fsc_explainer_free(struct fsc_explainer *e);
/* Appends indented lines about a place. */
int fsc_explain_text(struct fsc_explainer *e, size_t place, struct fsc_buf *b, struct fsc_err *err);
/* Appends members of a JSON object. */
int fsc_explain_json(struct fsc_explainer *e, size_t place, struct fsc_buf *b, struct fsc_err *err);

#endif
