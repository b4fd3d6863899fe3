/* The fields of a tracepoint as names for the expressions of `trace`. */
#ifndef FSC_PROBE_TRACEFIELDS_H
#define FSC_PROBE_TRACEFIELDS_H

#include "base/vec.h"
#include "probe/names.h"

/* fields: struct fsc_tp_field, of kernel/tpformat.h; must outlive the names. */
void fsc_tracefields_names(const struct fsc_vec *fields, struct fsc_names *ret);

#endif
