/* Sentences, arguments and stacks of single calls. */
#include "sink/noted.h"

#include "base/fmt.h"

void fsc_noted_sentence(const struct fsc_noted_call *c, struct fsc_buf *b)
{
	fsc_fmt_term(b, c->call->func->name);
	if (c->error) {
		fsc_buf_puts(b, " returned ");
		fsc_fmt_term(b, c->error);
	}
	if (!c->call->has_duration)
		return;
	fsc_buf_puts(b, c->error ? " after " : " took ");
	fsc_fmt_ns(b, (double)c->call->duration_ns);
	if (c->threshold_ns <= 0)
		return;
	fsc_buf_puts(b, ", more than ");
	fsc_fmt_ns(b, c->threshold_ns);
}

void fsc_noted_args(const struct fsc_call *c, struct fsc_buf *b)
{
	if (c->format) {
		fsc_call_message(c, fsc_fmt_term, b);
		return;
	}
	for (size_t i = 0; c->slow && i < FSC_TRACE_ARGS; i++)
		fsc_buf_printf(b, "%s%#llx", i ? ", " : "", (unsigned long long)c->args[i]);
}

void fsc_noted_return(const struct fsc_call *c, struct fsc_buf *b)
{
	if (!c->has_ret || c->ret_as == FSC_RET_UNREADABLE)
		return;
	if (c->ret_text)
		fsc_fmt_term(b, c->ret_text);
	else if (c->ret_as == FSC_RET_UNSIGNED)
		fsc_buf_printf(b, "%llu", (unsigned long long)c->ret);
	else
		fsc_buf_printf(b, "%lld", (long long)c->ret);
}

static void add_frames(const char *const *frames, size_t n, struct fsc_buf *b)
{
	for (size_t i = 0; i < n; i++) {
		fsc_fmt_term(b, frames[i]);
		fsc_buf_putc(b, '\n');
	}
}

void fsc_noted_stack(const struct fsc_call *c, struct fsc_buf *b)
{
	add_frames(c->kernel_stack, c->n_kernel, b);
	add_frames(c->user_stack, c->n_user, b);
}
