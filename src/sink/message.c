/* The two ways to write a message: JSON, where names and commas matter, and protocol buffers, where
 * numbers and lengths do. */
#include "sink/message.h"

#include <math.h>
#include <string.h>

#include "base/fmt.h"
#include "base/json.h"
#include "sink/protobuf.h"

void fsc_message_begin(struct fsc_message *m, bool json, struct fsc_buf *b)
{
	*m = (struct fsc_message){.b = b, .ops = json ? &fsc_message_json : &fsc_message_protobuf};
	m->ops->begin(m);
}

void fsc_message_end(struct fsc_message *m)
{
	m->ops->end(m);
}

/* ---- JSON ---- */

static void json_begin(struct fsc_message *m)
{
	fsc_json_begin(m->b, NULL, '{');
}

static void json_end(struct fsc_message *m)
{
	fsc_json_end(m->b, '}');
}

static size_t json_open(struct fsc_message *m, struct fsc_field f, bool in_list)
{
	fsc_json_begin(m->b, in_list ? NULL : f.name, '{');
	return 0;
}

static void json_close(struct fsc_message *m, size_t mark)
{
	(void)mark;
	fsc_json_end(m->b, '}');
}

static void json_list(struct fsc_message *m, struct fsc_field f)
{
	fsc_json_begin(m->b, f.name, '[');
}

static void json_list_end(struct fsc_message *m)
{
	fsc_json_end(m->b, ']');
}

static void json_text(struct fsc_message *m, struct fsc_field f, const char *s)
{
	fsc_json_string(m->b, f.name, s);
}

static void json_bytes(struct fsc_message *m, struct fsc_field f, const void *p, size_t n)
{
	const unsigned char *bytes = p;

	fsc_json_key(m->b, f.name);
	fsc_buf_putc(m->b, '"');
	for (size_t i = 0; i < n; i++)
		fsc_buf_printf(m->b, "%02x", bytes[i]);
	fsc_buf_putc(m->b, '"');
}

static void json_small(struct fsc_message *m, struct fsc_field f, uint32_t v)
{
	fsc_json_uint(m->b, f.name, v);
}

static void json_boolean(struct fsc_message *m, struct fsc_field f, bool v)
{
	fsc_json_bool(m->b, f.name, v);
}

static void json_sint32(struct fsc_message *m, struct fsc_field f, int32_t v)
{
	fsc_json_int(m->b, f.name, v);
}

static void json_int64(struct fsc_message *m, struct fsc_field f, int64_t v)
{
	fsc_json_printf(m->b, f.name, "\"%lld\"", (long long)v);
}

static void json_fixed64(struct fsc_message *m, struct fsc_field f, uint64_t v)
{
	fsc_json_printf(m->b, f.name, "\"%llu\"", (unsigned long long)v);
}

static void json_real(struct fsc_message *m, struct fsc_field f, double v)
{
	fsc_json_key(m->b, f.name);
	if (isfinite(v))
		fsc_fmt_double(m->b, v);
	else
		fsc_fmt_json(m->b, isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity");
}

static void json_counts(struct fsc_message *m, struct fsc_field f, const uint64_t *v, size_t n)
{
	fsc_json_begin(m->b, f.name, '[');
	for (size_t i = 0; i < n; i++)
		fsc_json_printf(m->b, NULL, "\"%llu\"", (unsigned long long)v[i]);
	fsc_json_end(m->b, ']');
}

const struct fsc_message_ops fsc_message_json = {
    .begin = json_begin,
    .end = json_end,
    .open = json_open,
    .close = json_close,
    .list = json_list,
    .list_end = json_list_end,
    .text = json_text,
    .bytes = json_bytes,
    .small = json_small,
    .boolean = json_boolean,
    .sint32 = json_sint32,
    .int64 = json_int64,
    .fixed64 = json_fixed64,
    .real = json_real,
    .counts = json_counts,
};

/* ---- protocol buffers ---- */

/* The outermost message and lists have no encoding of their own. */
static void pb_nothing(struct fsc_message *m)
{
	(void)m;
}

static void pb_list(struct fsc_message *m, struct fsc_field f)
{
	(void)m, (void)f;
}

static size_t pb_open(struct fsc_message *m, struct fsc_field f, bool in_list)
{
	(void)in_list;
	return fsc_pb_begin(m->b, f.number);
}

static void pb_close(struct fsc_message *m, size_t mark)
{
	fsc_pb_end(m->b, mark);
}

/* Safe already; newlines are kept. */
static void pb_text(struct fsc_message *m, struct fsc_field f, const char *s)
{
	fsc_pb_bytes(m->b, f.number, s, strlen(s));
}

static void pb_bytes(struct fsc_message *m, struct fsc_field f, const void *p, size_t n)
{
	fsc_pb_bytes(m->b, f.number, p, n);
}

static void pb_small(struct fsc_message *m, struct fsc_field f, uint32_t v)
{
	fsc_pb_uint(m->b, f.number, v);
}

static void pb_boolean(struct fsc_message *m, struct fsc_field f, bool v)
{
	fsc_pb_uint(m->b, f.number, v);
}

static void pb_sint32(struct fsc_message *m, struct fsc_field f, int32_t v)
{
	fsc_pb_sint(m->b, f.number, v);
}

static void pb_int64(struct fsc_message *m, struct fsc_field f, int64_t v)
{
	fsc_pb_uint(m->b, f.number, (uint64_t)v);
}

static void pb_fixed64(struct fsc_message *m, struct fsc_field f, uint64_t v)
{
	fsc_pb_fixed64(m->b, f.number, v);
}

static void pb_real(struct fsc_message *m, struct fsc_field f, double v)
{
	fsc_pb_double(m->b, f.number, v);
}

static void pb_counts(struct fsc_message *m, struct fsc_field f, const uint64_t *v, size_t n)
{
	size_t mark = fsc_pb_begin(m->b, f.number);

	for (size_t i = 0; i < n; i++)
		fsc_pb_varint(m->b, v[i]);
	fsc_pb_end(m->b, mark);
}

const struct fsc_message_ops fsc_message_protobuf = {
    .begin = pb_nothing,
    .end = pb_nothing,
    .open = pb_open,
    .close = pb_close,
    .list = pb_list,
    .list_end = pb_nothing,
    .text = pb_text,
    .bytes = pb_bytes,
    .small = pb_small,
    .boolean = pb_boolean,
    .sint32 = pb_sint32,
    .int64 = pb_int64,
    .fixed64 = pb_fixed64,
    .real = pb_real,
    .counts = pb_counts,
};
