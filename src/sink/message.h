/* Writes one tree of messages either as protocol buffers or as the JSON that OTLP makes of them:
 * keys in lowerCamelCase, 64-bit integers as strings, bytes in hex, enums as numbers. Included by
 * src/sink/ only. */
#ifndef FSC_SINK_MESSAGE_H
#define FSC_SINK_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* A field: its number in protocol buffers and its name in JSON. */
struct fsc_field {
	uint32_t number;
	const char *name;
};

struct fsc_message {
	struct fsc_buf *b;
	const struct fsc_message_ops *ops;
};

struct fsc_message_ops {
	void (*begin)(struct fsc_message *m);
	void (*end)(struct fsc_message *m);
	size_t (*open)(struct fsc_message *m, struct fsc_field f, bool in_list);
	void (*close)(struct fsc_message *m, size_t mark);
	void (*list)(struct fsc_message *m, struct fsc_field f);
	void (*list_end)(struct fsc_message *m);
	void (*text)(struct fsc_message *m, struct fsc_field f, const char *s);
	void (*bytes)(struct fsc_message *m, struct fsc_field f, const void *p, size_t n);
	void (*small)(struct fsc_message *m, struct fsc_field f, uint32_t v); /* enum, uint32 */
	void (*boolean)(struct fsc_message *m, struct fsc_field f, bool v);
	void (*sint32)(struct fsc_message *m, struct fsc_field f, int32_t v);
	void (*int64)(struct fsc_message *m, struct fsc_field f, int64_t v);
	void (*fixed64)(struct fsc_message *m, struct fsc_field f, uint64_t v);
	void (*real)(struct fsc_message *m, struct fsc_field f, double v);
	void (*counts)(struct fsc_message *m, struct fsc_field f, const uint64_t *v, size_t n);
};

extern const struct fsc_message_ops fsc_message_json, fsc_message_protobuf;

/* The outermost message. */
void fsc_message_begin(struct fsc_message *m, bool json, struct fsc_buf *b);
void fsc_message_end(struct fsc_message *m);

/* A nested message: what is written up to fsc_message_close() with the returned mark. */
static inline size_t fsc_message_open(struct fsc_message *m, struct fsc_field f)
{
	return m->ops->open(m, f, false);
}

/* One of a list: between ops->list() of the same field and ops->list_end(). */
static inline size_t fsc_message_element(struct fsc_message *m, struct fsc_field f)
{
	return m->ops->open(m, f, true);
}

static inline void fsc_message_close(struct fsc_message *m, size_t mark)
{
	m->ops->close(m, mark);
}

#endif
