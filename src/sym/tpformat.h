/* The layout of a tracepoint's record, from its format file. */
#ifndef FSC_SYM_TPFORMAT_H
#define FSC_SYM_TPFORMAT_H

#include "base/err.h"

/* The byte offset of a field in the record of category:name. tracefs: a directory descriptor. */
int fsc_tracepoint_field(int tracefs, const char *category, const char *name, const char *field,
			 unsigned *ret, struct fsc_err *err);

#endif
