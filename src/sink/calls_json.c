/* Traced calls for programs: one object a call. */
#include "sink/sink.h"

#include <string.h>

#include "base/fmt.h"

static void add_string(struct fsc_buf *b, const char *key, const char *value)
{
	fsc_buf_printf(b, ",\"%s\":", key);
	fsc_fmt_json(b, value);
}

static void add_number(struct fsc_buf *b, const char *key, uint64_t value)
{
	fsc_buf_printf(b, ",\"%s\":%llu", key, (unsigned long long)value);
}

/* One character more than asked for was copied, to know that there is more. */
static void add_cut(struct fsc_buf *b, const char *text)
{
	struct fsc_buf shorter = {0};

	fsc_buf_add(&shorter, text, strlen(text) - 1);
	fsc_buf_puts(&shorter, "...");
	fsc_fmt_json(b, fsc_buf_str(&shorter));
	b->failed |= shorter.failed;
	fsc_buf_release(&shorter);
}

static void add_value(const struct fsc_call *c, const struct fsc_conv *conv, struct fsc_buf *b)
{
	const struct fsc_call_value *v = fsc_call_value(c, conv);

	if (!v)
		fsc_fmt_json(b, c->comm);
	else if (v->unreadable)
		fsc_buf_puts(b, "null");
	else if (v->text && v->cut)
		add_cut(b, v->text);
	else if (v->text)
		fsc_fmt_json(b, v->text);
	else if (fsc_conv_signed(conv))
		fsc_buf_printf(b, "%lld", (long long)fsc_conv_number(conv, v->number));
	else
		fsc_buf_printf(b, "%llu", (unsigned long long)fsc_conv_number(conv, v->number));
}

static void add_args(const struct fsc_call *c, struct fsc_buf *b)
{
	bool first = true;

	fsc_buf_puts(b, ",\"args\":[");
	for (size_t i = 0; (c->slow || c->cookie) && i < FSC_TRACE_ARGS; i++)
		fsc_buf_printf(b, "%s%lld", i ? "," : "", (long long)c->args[i]);
	for (size_t i = 0; c->format && i < c->format->convs.n; i++) {
		const struct fsc_conv *conv = FSC_AT(struct fsc_conv, &c->format->convs, i);

		if (!conv->kind)
			continue;
		fsc_buf_puts(b, first ? "" : ",");
		first = false;
		if (conv->name) {
			fsc_buf_puts(b, "{\"name\":");
			fsc_fmt_json(b, conv->name);
			fsc_buf_puts(b, ",\"value\":");
		}
		add_value(c, conv, b);
		fsc_buf_puts(b, conv->name ? "}" : "");
	}
	fsc_buf_putc(b, ']');
}

static void add_message(const struct fsc_call *c, struct fsc_buf *b)
{
	struct fsc_buf message = {0};

	if (!c->format || !c->format->custom)
		return;
	fsc_call_message(c, fsc_buf_puts, &message);
	add_string(b, "message", fsc_buf_str(&message));
	b->failed |= message.failed;
	fsc_buf_release(&message);
}

static void add_stack(struct fsc_buf *b, const char *key, const char *const *frames, size_t n)
{
	if (!n)
		return;
	fsc_buf_printf(b, ",\"%s\":[", key);
	for (size_t i = 0; i < n; i++) {
		fsc_buf_puts(b, i ? "," : "");
		fsc_fmt_json(b, frames[i]);
	}
	fsc_buf_putc(b, ']');
}

static void add_return(const struct fsc_call *c, struct fsc_buf *b)
{
	if (c->ret_as == FSC_RET_UNREADABLE)
		fsc_buf_puts(b, ",\"ret\":null");
	else if (c->ret_as == FSC_RET_NAMED)
		add_string(b, "ret", c->ret_text);
	else if (c->ret_as == FSC_RET_UNSIGNED)
		add_number(b, "ret", c->ret);
	else
		fsc_buf_printf(b, ",\"ret\":%lld", (long long)c->ret);
}

void fsc_json_call(struct fsc_sink *s, const struct fsc_call *c, struct fsc_buf *b)
{
	(void)s;
	fsc_buf_puts(b, c->slow ? "{\"type\":\"call\",\"slow\":true" : "{\"type\":\"call\"");
	add_number(b, "time_ns", c->time_ns);
	add_number(b, "pid", c->pid);
	add_number(b, "tid", c->tid);
	add_string(b, "comm", c->comm);
	add_number(b, "cpu", c->cpu);
	add_number(b, "uid", c->uid);
	if (c->func->group)
		add_string(b, "group", c->func->group);
	add_string(b, "kind", c->func->kind);
	add_string(b, "binary", c->func->binary);
	add_string(b, "function", c->func->name);
	add_string(b, "event", fsc_call_event_name(c->event));
	if (c->cookie)
		add_number(b, "cookie", c->cookie);
	if (c->depth)
		add_number(b, "depth", c->depth);
	add_args(c, b);
	add_message(c, b);
	if (c->has_ret)
		add_return(c, b);
	if (c->has_duration)
		add_number(b, "duration_ns", c->duration_ns);
	if (c->slow) { /* one behind the other in memory */
		add_stack(b, "stack", c->kernel_stack, c->n_kernel + c->n_user);
	} else {
		add_stack(b, "kernel_stack", c->kernel_stack, c->n_kernel);
		add_stack(b, "user_stack", c->user_stack, c->n_user);
	}
	fsc_buf_puts(b, "}\n");
}
