/* Decodes the record of a call, and formats its message. */
#include "model/call.h"

#include <errno.h>
#include <string.h>

#include "base/fmt.h"

const char *fsc_call_event_name(enum fsc_call_event event)
{
	static const char *const names[] = {"entry", "return", "call"};

	return names[event <= FSC_CALL_BOTH ? event : FSC_CALL_ENTRY];
}

/* The text in slot i, checked to be NUL-terminated within the record. */
static int take_text(const struct fsc_rec_call *rec, size_t size, unsigned i,
		     struct fsc_call_value *v, struct fsc_err *err)
{
	size_t slot = rec->string_size, at = sizeof(*rec) + i * slot;
	const char *text = (const char *)rec + at;

	if (slot < 2 || at + slot > size || !memchr(text, '\0', slot))
		return fsc_err_set(err, EBADMSG,
				   "a record from the kernel has no room for string %u", i);
	v->text = text;
	v->cut = strlen(text) == slot - 1; /* one more than is shown: fsc_trace_slot() */
	return 0;
}

int fsc_call_decode(const void *record, size_t size, const struct fsc_func *func,
		    const struct fsc_format *format, struct fsc_call *ret, struct fsc_err *err)
{
	const struct fsc_rec_call *rec = record;
	int rc = 0;

	if (size < sizeof(*rec) || rec->n_values > FSC_TRACE_VALUES || rec->event > FSC_CALL_BOTH)
		return fsc_err_set(err, EBADMSG,
				   "a record of %zu bytes from the kernel is not a call", size);
	*ret = (struct fsc_call){.func = func,
				 .format = format,
				 .event = (enum fsc_call_event)rec->event,
				 .time_ns = rec->time_ns,
				 .pid = rec->pid,
				 .tid = rec->tid,
				 .cpu = rec->cpu,
				 .uid = rec->uid,
				 .gid = rec->gid,
				 .depth = rec->depth,
				 .has_ret = rec->event != FSC_CALL_ENTRY,
				 .slow = rec->flags & FSC_REC_SLOW,
				 .has_duration = rec->event != FSC_CALL_ENTRY && rec->entry_ns,
				 .ret = rec->ret,
				 .duration_ns = rec->duration_ns};
	memcpy(ret->comm, rec->comm, sizeof(rec->comm));
	memcpy(ret->args, rec->args, sizeof(rec->args));
	for (unsigned i = 0; i < rec->n_values; i++) {
		ret->values[i].number = rec->values[i];
		ret->values[i].unreadable =
		    (rec->unreadable | rec->unreadable >> FSC_TRACE_NO_TEXT) >> i & 1;
		ret->values[i].null = !rec->values[i] &&
				      rec->unreadable >> (i + FSC_TRACE_NO_TEXT) & 1 &&
				      !(rec->unreadable >> i & 1);
	}
	for (size_t i = 0; format && i < format->convs.n && !rc; i++) {
		const struct fsc_conv *c = FSC_AT(struct fsc_conv, &format->convs, i);

		if (c->value >= (int)rec->n_values)
			return fsc_err_set(
			    err, EBADMSG,
			    "a record from the kernel has %u values, fewer than its format shows",
			    rec->n_values);
		if (c->string >= 0 && c->value >= 0)
			rc = take_text(rec, size, (unsigned)c->string, &ret->values[c->value], err);
	}
	return rc;
}

const struct fsc_call_value *fsc_call_value(const struct fsc_call *c, const struct fsc_conv *conv)
{
	return conv->value >= 0 && conv->value < FSC_TRACE_VALUES ? &c->values[conv->value] : NULL;
}

/* One character more than is shown was copied; "..." replaces it and the rest. */
static void put_cut_text(const struct fsc_conv *conv, const char *text,
			 void (*put)(struct fsc_buf *b, const char *s), struct fsc_buf *b)
{
	struct fsc_conv shorter = *conv;
	size_t shown = strlen(text) - 1;

	if (conv->precision != FSC_FORMAT_NONE && (size_t)conv->precision <= shown) {
		fsc_conv_put_text(conv, text, put, b);
		return;
	}
	shorter.precision = (int)shown;
	fsc_conv_put_text(&shorter, text, put, b);
	fsc_buf_puts(b, "...");
}

static void put_text(const struct fsc_conv *conv, const struct fsc_call_value *v,
		     void (*put)(struct fsc_buf *b, const char *s), struct fsc_buf *b)
{
	fsc_buf_puts(b, conv->quoted ? "\"" : "");
	if (v->cut)
		put_cut_text(conv, v->text, put, b);
	else
		fsc_conv_put_text(conv, v->text, put, b);
	fsc_buf_puts(b, conv->quoted ? "\"" : "");
}

static void put_value(const struct fsc_call *c, const struct fsc_conv *conv,
		      void (*put)(struct fsc_buf *b, const char *s), struct fsc_buf *b)
{
	const struct fsc_call_value *v = fsc_call_value(c, conv);

	if (!v)
		fsc_conv_put_text(conv, c->comm, put, b);
	else if (v->null)
		fsc_buf_puts(b, "NULL");
	else if (v->unreadable)
		fsc_buf_puts(b, "(unreadable)");
	else if (v->text)
		put_text(conv, v, put, b);
	else
		fsc_conv_put_number(conv, v->number, put, b);
}

void fsc_call_message(const struct fsc_call *c, void (*put)(struct fsc_buf *b, const char *s),
		      struct fsc_buf *b)
{
	for (size_t i = 0; c->format && i < c->format->convs.n; i++) {
		const struct fsc_conv *conv = FSC_AT(struct fsc_conv, &c->format->convs, i);

		fsc_buf_puts(b, conv->before);
		if (conv->kind)
			put_value(c, conv, put, b);
	}
}
