/* One traced call: what a record of the kernel says, together with the format it is to be shown
 * with. Pure data; strings are borrowed from the record, the format and whoever symbolised. */
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

struct fsc_call_value {
	uint64_t number;
	const char *text; /* of a %s; for %K and %U the symbol, by whoever can find it; or NULL */
	bool cut;	  /* the text goes on */
	bool unreadable;
	bool null; /* unreadable, because it points nowhere */
};

/* What is known of a return value. */
enum fsc_ret_as {
	FSC_RET_PLAIN,	    /* nothing: a register */
	FSC_RET_SIGNED,	    /* a number; ret is widened, as it is below */
	FSC_RET_UNSIGNED,   /* a number, or an address */
	FSC_RET_NAMED,	    /* its text says more than the number: enums, bool, char */
	FSC_RET_UNREADABLE, /* it is in no register that is read: floating point, structs */
};

struct fsc_call {
	const struct fsc_func *func;
	const struct fsc_format *format;
	enum fsc_call_event event;
	uint64_t time_ns; /* as in the record; whoever shows it makes it wall clock */
	uint32_t pid, tid, cpu, uid, gid;
	uint32_t depth;	 /* of the call tree */
	uint64_t cookie; /* of a monitor: the number of the function, from 1; 0: none */
	char comm[FSC_COMM_LEN + 1];
	bool has_ret, has_duration;
	bool slow; /* shown because it took so long; its arguments as numbers: */
	uint64_t args[FSC_TRACE_ARGS];
	uint64_t ret, duration_ns;
	enum fsc_ret_as ret_as;
	const char *ret_text; /* by its type; NULL where nothing is known of it */
	struct fsc_call_value values[FSC_TRACE_VALUES];
	const char *const *kernel_stack, *const *user_stack; /* the innermost frame first */
	size_t n_kernel, n_user;
};

/* Reads a record of size bytes. format: the one the row's program was compiled with. Fails with
 * EBADMSG on a record that contradicts itself. ret borrows from record and format. */
int fsc_call_decode(const void *record, size_t size, const struct fsc_func *func,
		    const struct fsc_format *format, struct fsc_call *ret, struct fsc_err *err);
/* The message: the format filled in. put writes texts that come from memory, escaped for where they
 * go (fsc_buf_puts: as they are). What could not be read is "(unreadable)". */
void fsc_call_message(const struct fsc_call *c, void (*put)(struct fsc_buf *b, const char *s),
		      struct fsc_buf *b);
/* The value a conversion shows; NULL for the task's name. */
const struct fsc_call_value *fsc_call_value(const struct fsc_call *c, const struct fsc_conv *conv);
/* "entry", "return", "call". */
const char *fsc_call_event_name(enum fsc_call_event event);

#endif
