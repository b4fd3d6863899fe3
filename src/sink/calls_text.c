/* Traced calls for people: BCC's columns, one line a call, stacks indented below it. */
#include "sink/sink.h"

#include <string.h>

#include "base/fmt.h"

enum { STACK_INDENT = 8, TREE_INDENT = 2, TREE_MAX = 40 };

static void add_header(const struct fsc_sink *s, struct fsc_buf *b)
{
	if (s->timestamps)
		fsc_buf_printf(b, "%-12s ", "TIME");
	fsc_buf_printf(b, "%-7s %-7s %-15s %-16s -\n", "PID", "TID", "COMM", "FUNC");
}

/* Text from the target, padded to a column. */
static void add_column(struct fsc_buf *b, const char *text, size_t width)
{
	size_t from = b->n, used;

	fsc_fmt_term(b, text);
	used = fsc_fmt_width(fsc_buf_str(b) + from);
	fsc_buf_pad(b, ' ', used < width ? width - used : 0);
	fsc_buf_putc(b, ' ');
}

static void add_return(const struct fsc_call *c, struct fsc_buf *b)
{
	int64_t ret = (int64_t)c->ret;

	if (c->format && (c->format->bare || (c->event == FSC_CALL_RETURN && c->format->custom)))
		return;
	/* Of unknown type: a small value is shown as a number, a large one as an address. */
	if (c->has_ret && c->ret_as == FSC_RET_UNREADABLE) {
		fsc_buf_puts(b, " = ?");
	} else if (c->has_ret && c->ret_text) {
		fsc_buf_puts(b, " = ");
		fsc_fmt_term(b, c->ret_text);
	} else if (c->has_ret && ret >= -4096 && ret <= INT32_MAX) {
		fsc_buf_printf(b, " = %lld", (long long)ret);
	} else if (c->has_ret) {
		fsc_buf_printf(b, " = 0x%llx", (unsigned long long)c->ret);
	}
	if (!c->has_duration)
		return;
	fsc_buf_puts(b, "  [");
	fsc_fmt_ns(b, (double)c->duration_ns);
	fsc_buf_putc(b, ']');
}

static void add_stack(const char *const *frames, size_t n, struct fsc_buf *b)
{
	for (size_t i = 0; i < n; i++) {
		fsc_buf_pad(b, ' ', STACK_INDENT);
		fsc_fmt_term(b, frames[i]);
		fsc_buf_putc(b, '\n');
	}
}

static void add_numbers(const struct fsc_call *c, struct fsc_buf *b)
{
	for (size_t i = 0; i < FSC_TRACE_ARGS; i++)
		fsc_buf_printf(b, "%s%#llx", i ? ", " : "(", (unsigned long long)c->args[i]);
	fsc_buf_putc(b, ')');
}

void fsc_text_call(struct fsc_sink *s, const struct fsc_call *c, struct fsc_buf *b)
{
	size_t indent = (size_t)c->depth * TREE_INDENT;

	if (!s->calls_begun && s->begun)
		fsc_buf_putc(b, '\n');
	if (!s->calls_begun)
		add_header(s, b);
	s->begun = s->calls_begun = true;
	if (s->timestamps) {
		fsc_sink_clock(c->time_ns, b);
		fsc_buf_putc(b, ' ');
	}
	fsc_buf_printf(b, "%-7u %-7u ", c->pid, c->tid);
	add_column(b, c->comm, 15);
	fsc_buf_pad(b, ' ', indent < TREE_MAX ? indent : TREE_MAX);
	add_column(b, c->func->name, 16);
	fsc_call_message(c, fsc_fmt_term, b);
	if (c->slow && !c->format)
		add_numbers(c, b);
	add_return(c, b);
	while (b->n && b->s[b->n - 1] == ' ')
		b->s[--b->n] = '\0';
	fsc_buf_putc(b, '\n');
	add_stack(c->kernel_stack, c->n_kernel, b);
	add_stack(c->user_stack, c->n_user, b);
	if (c->n_kernel + c->n_user)
		fsc_buf_putc(b, '\n');
}
