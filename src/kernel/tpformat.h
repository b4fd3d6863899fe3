/* The layout of a tracepoint's record, from its format file. */
#ifndef FSC_KERNEL_TPFORMAT_H
#define FSC_KERNEL_TPFORMAT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"

enum fsc_tp_place {
	FSC_TP_FIXED,
	FSC_TP_DATA_LOC, /* the field says where in the record the data lies */
	FSC_TP_REL_LOC,	 /* the same, counted from behind the field */
};

struct fsc_tp_field {
	char name[64];
	char decl[64];	       /* as declared, cut if it is longer; an array with its brackets */
	char type[96];	       /* before the name, of an array its element: "const char *" */
	unsigned offset, size; /* bytes, of the field itself; of one element where count is not 0 */
	bool is_signed;
	bool is_text; /* an array of char, or a pointer to char */
	bool is_pointer;
	bool is_const;	/* what it points to */
	unsigned count; /* elements of an array; 1 for one of unknown length; 0: no array */
	enum fsc_tp_place place;
};

/* The byte offset of a field in the record of category:name. tracefs: a directory descriptor. */
int fsc_tracepoint_field(int tracefs, const char *category, const char *name, const char *field,
			 unsigned *ret, struct fsc_err *err);
/* All fields in the record's order (struct fsc_tp_field), the common ones first. ret must be
 * initialised; the caller releases it. */
int fsc_tracepoint_fields(int tracefs, const char *category, const char *name, struct fsc_vec *ret,
			  struct fsc_err *err);
/* The same from the text of a format file; lines that are no field are skipped. */
int fsc_tracepoint_fields_parse(const char *text, struct fsc_vec *ret, struct fsc_err *err);

#endif
