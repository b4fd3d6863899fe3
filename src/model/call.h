/* One traced call: the decoded record from the kernel, and the format to show it with. Pure data;
 * strings are borrowed from the record, the format and the symbolizer. */
#ifndef FSC_MODEL_CALL_H
#define FSC_MODEL_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/format.h"
#include "model/profile.h"
#include "wire/trace.h"

struct fsc_label; /* model/snapshot.h */

struct fsc_call_value {
	uint64_t number;
	const char *text; /* of a %s; for %K and %U the symbol, filled in by the source; or NULL */
	bool cut;	  /* the text is longer */
	bool unreadable;
	bool null; /* unreadable because it is a null pointer */
};

/* How to show a return value. */
enum fsc_ret_as {
	FSC_RET_PLAIN,	    /* type unknown: a register */
	FSC_RET_SIGNED,	    /* a number; ret is extended to 64 bits, also below */
	FSC_RET_UNSIGNED,   /* a number, or an address */
	FSC_RET_NAMED,	    /* as text: enums, bool, char */
	FSC_RET_UNREADABLE, /* not in the register that is read: floating point, structs */
};

struct fsc_call {
	const struct fsc_func *func;
	const struct fsc_format *format;
	enum fsc_call_event event;
	uint64_t time_ns; /* as in the record; the source converts it to wall-clock time */
	uint32_t pid, tid, cpu, uid, gid;
	uint32_t depth;	 /* in the call tree */
	uint64_t cookie; /* of a monitor: the function's index, from 1; 0: none */
	char comm[FSC_COMM_LEN + 1];
	bool has_ret, has_duration;
	bool slow; /* shown because it was slow; its arguments as numbers: */
	uint64_t args[FSC_TRACE_ARGS];
	uint64_t ret, duration_ns;
	enum fsc_ret_as ret_as;
	const char *ret_text; /* formatted by its type; NULL: unknown */
	struct fsc_call_value values[FSC_TRACE_VALUES];
	const char *const *kernel_stack, *const *user_stack; /* the innermost frame first */
	size_t n_kernel, n_user;
	const struct fsc_label *about; /* of a monitor: labels and fields of the process */
	size_t n_about;
};

/* Reads a record of size bytes. format: the one that the row's program was compiled with. -EBADMSG:
 * an inconsistent record. ret borrows from record and format. */
int fsc_call_decode(const void *record, size_t size, const struct fsc_func *func,
		    const struct fsc_format *format, struct fsc_call *ret, struct fsc_err *err);
/* The format filled in. put writes texts from the target's memory, escaped for the output
 * (fsc_buf_puts: as they are). What could not be read is "(unreadable)". */
void fsc_call_message(const struct fsc_call *c, void (*put)(struct fsc_buf *b, const char *s),
		      struct fsc_buf *b);
/* The value a conversion shows; NULL for the task's name. */
const struct fsc_call_value *fsc_call_value(const struct fsc_call *c, const struct fsc_conv *conv);
/* "entry", "return", "call". */
const char *fsc_call_event_name(enum fsc_call_event event);

#endif
