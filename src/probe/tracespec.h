/* What `trace` takes: PROBE[(parameters)] [(predicate)] ["format", expression, ...], in BCC's
 * syntax. Parsing is text work and done once; compiling is done for each place, with whatever is
 * known about names and types there. Evaluation happens in the kernel (bpf/expr.bpf.h). */
#ifndef FSC_PROBE_TRACESPEC_H
#define FSC_PROBE_TRACESPEC_H

#include "base/err.h"
#include "base/format.h"
#include "probe/expr.h"
#include "probe/names.h"
#include "wire/trace.h"

struct fsc_tracespec {
	char *text;  /* as typed, without blanks at the start */
	char *probe; /* the part the other commands take too: for fsc_spec_parse() */
	struct fsc_syntax tree;
	struct fsc_vec params; /* struct fsc_expr_param */
	struct fsc_vec values; /* uint32_t: nodes */
	bool has_predicate, has_format;
	uint32_t predicate;	 /* node */
	struct fsc_slice format; /* without quotes, escapes as typed */
};

/* Usage errors name the column and what was expected. The caller owns ret (fsc_tracespec_release)
 * after success. */
int fsc_tracespec_parse(const char *text, struct fsc_tracespec *ret, struct fsc_err *err);
void fsc_tracespec_release(struct fsc_tracespec *s);

/* Makes the program for one place and the format its values are shown with. Without a format of the
 * user's, the values are what names->list has, or arg1 to arg6 in hexadecimal. prog->needs says
 * what has to be prepared: with FSC_NEED_RETVAL it can be evaluated at the return only. The caller
 * owns format (fsc_format_release) after success; ctx of names is not needed afterwards. */
int fsc_tracespec_compile(const struct fsc_tracespec *s, const struct fsc_names *names,
			  enum fsc_trace_at at, struct fsc_trace_prog *prog,
			  struct fsc_format *format, struct fsc_err *err);

#endif
