/* What all OTLP messages share: resource and scope around a list of items, and attributes. Included
 * by src/sink/ only. */
#ifndef FSC_SINK_OTLP_ENVELOPE_H
#define FSC_SINK_OTLP_ENVELOPE_H

#include "model/snapshot.h"
#include "sink/message.h"

/* A kind of message: the JSON names of its three nested lists; their field numbers are the same. */
struct fsc_otlp_signal {
	const char *resources, *scopes, *items;
};

struct fsc_otlp {
	struct fsc_message m;
	const struct fsc_snapshot *s;
	struct fsc_field attributes; /* the list that is being written */
	struct fsc_buf scratch;
	size_t resource, scope; /* marks */
};

/* An item of the list that fsc_otlp_begin() leaves open. */
extern const struct fsc_field fsc_otlp_item;

void fsc_otlp_begin(struct fsc_otlp *o, const struct fsc_otlp_signal *signal,
		    const struct fsc_snapshot *s, bool json, struct fsc_buf *b);
void fsc_otlp_end(struct fsc_otlp *o);

/* A field of the open message: text from the target. */
void fsc_otlp_name(struct fsc_otlp *o, struct fsc_field f, const char *s);

/* A list of attributes, one at a time. */
void fsc_otlp_attributes(struct fsc_otlp *o, uint32_t number, const char *name);
void fsc_otlp_attributes_end(struct fsc_otlp *o);
/* NULL: left out. */
void fsc_otlp_text(struct fsc_otlp *o, const char *key, const char *value);
/* Text that is safe already and may have newlines; "" is left out. */
void fsc_otlp_lines(struct fsc_otlp *o, const char *key, const struct fsc_buf *value);
/* Labels and fields of a process, by the names of the semantic conventions; empty ones are left
 * out.
 */
void fsc_otlp_about(struct fsc_otlp *o, const struct fsc_label *about, size_t n);
void fsc_otlp_int(struct fsc_otlp *o, const char *key, int64_t value);
void fsc_otlp_bool(struct fsc_otlp *o, const char *key, bool value);

#endif
