/* Traced calls for programs: one object a call. */
#include "sink/sink.h"

#include <string.h>

#include "base/json.h"

/* One character more than the limit was copied, to know that the text is longer. */
static void add_cut(struct fsc_buf *b, const char *key, const char *text)
{
	struct fsc_buf shorter = {0};

	fsc_buf_add(&shorter, text, strlen(text) - 1);
	fsc_buf_puts(&shorter, "...");
	fsc_json_buf(b, key, &shorter);
}

static void add_value(const struct fsc_call *c, const struct fsc_conv *conv, const char *key,
		      struct fsc_buf *b)
{
	const struct fsc_call_value *v = fsc_call_value(c, conv);

	if (!v)
		fsc_json_string(b, key, c->comm);
	else if (v->unreadable)
		fsc_json_null(b, key);
	else if (v->text && v->cut)
		add_cut(b, key, v->text);
	else if (v->text)
		fsc_json_string(b, key, v->text);
	else if (fsc_conv_signed(conv))
		fsc_json_int(b, key, (int64_t)fsc_conv_number(conv, v->number));
	else
		fsc_json_uint(b, key, fsc_conv_number(conv, v->number));
}

static void add_args(const struct fsc_call *c, struct fsc_buf *b)
{
	fsc_json_begin(b, "args", '[');
	for (size_t i = 0; (c->slow || c->cookie) && !c->format && i < FSC_TRACE_ARGS; i++)
		fsc_json_int(b, NULL, (int64_t)c->args[i]);
	for (size_t i = 0; c->format && i < c->format->convs.n; i++) {
		const struct fsc_conv *conv = FSC_AT(struct fsc_conv, &c->format->convs, i);

		if (conv->kind && conv->name) {
			fsc_json_begin(b, NULL, '{');
			fsc_json_string(b, "name", conv->name);
			add_value(c, conv, "value", b);
			fsc_json_end(b, '}');
		} else if (conv->kind)
			add_value(c, conv, NULL, b);
	}
	fsc_json_end(b, ']');
}

static void add_message(const struct fsc_call *c, struct fsc_buf *b)
{
	struct fsc_buf message = {0};

	if (!c->format || !c->format->custom)
		return;
	fsc_call_message(c, fsc_buf_puts, &message);
	fsc_json_buf(b, "message", &message);
}

static void add_return(const struct fsc_call *c, struct fsc_buf *b)
{
	if (c->ret_as == FSC_RET_UNREADABLE)
		fsc_json_null(b, "ret");
	else if (c->ret_as == FSC_RET_NAMED)
		fsc_json_string(b, "ret", c->ret_text);
	else if (c->ret_as == FSC_RET_UNSIGNED)
		fsc_json_uint(b, "ret", c->ret);
	else
		fsc_json_int(b, "ret", (int64_t)c->ret);
}

void fsc_json_call(struct fsc_sink *s, const struct fsc_call *c, struct fsc_buf *b)
{
	(void)s;
	fsc_json_line(b, "call");
	fsc_json_bool_if(b, "slow", c->slow);
	fsc_json_uint(b, "time_ns", c->time_ns);
	fsc_json_uint(b, "pid", c->pid);
	fsc_json_uint(b, "tid", c->tid);
	fsc_json_string(b, "comm", c->comm);
	fsc_json_about(c->about, c->n_about, b);
	fsc_json_uint(b, "cpu", c->cpu);
	fsc_json_uint(b, "uid", c->uid);
	fsc_json_string_if(b, "group", c->func->group);
	fsc_json_names(c->func->kind, c->func->binary, c->func->name, b);
	fsc_json_string(b, "event", fsc_call_event_name(c->event));
	fsc_json_uint_if(b, "cookie", c->cookie);
	fsc_json_uint_if(b, "depth", c->depth);
	add_args(c, b);
	add_message(c, b);
	if (c->has_ret)
		add_return(c, b);
	if (c->has_duration)
		fsc_json_uint(b, "duration_ns", c->duration_ns);
	if (c->slow) { /* user_stack follows kernel_stack in memory */
		fsc_json_strings_if(b, "stack", c->kernel_stack, c->n_kernel + c->n_user);
	} else {
		fsc_json_strings_if(b, "kernel_stack", c->kernel_stack, c->n_kernel);
		fsc_json_strings_if(b, "user_stack", c->user_stack, c->n_user);
	}
	fsc_json_line_end(b);
}
