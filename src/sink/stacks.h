/* What the formats with stacks share. Included by src/sink/ only. */
#ifndef FSC_SINK_STACKS_H
#define FSC_SINK_STACKS_H

#include "sink/sink.h"

/* The stacks of text.c, json.c and csv.c, each in a file of its own. */
void fsc_text_stacks(struct fsc_sink *s, const struct fsc_stacks *t, struct fsc_buf *b);
void fsc_json_stacks(struct fsc_sink *s, const struct fsc_stacks *t, struct fsc_buf *b);
void fsc_csv_stacks(struct fsc_sink *s, const struct fsc_stacks *t, struct fsc_buf *b);

/* Stands for callers that were not recorded. */
#define FSC_TRUNCATED "[truncated]"

/* Appends a frame's name, its bytes not made safe yet: "name", with offsets
 * "name+0x12 (file.c:34)", "[unknown] (libfoo.so+0x1234)". */
void fsc_stack_frame(const struct fsc_stacks *t, const struct fsc_frame *f, struct fsc_buf *b);
/* Appends a node of the tree likewise: a frame, "comm", "comm (pid)", or FSC_TRUNCATED. */
void fsc_stack_node(const struct fsc_stacks *t, const struct fsc_tree_node *n, struct fsc_buf *b);
/* Appends raw to b through a function of base/fmt.h, and empties raw. */
void fsc_stack_flush(struct fsc_buf *raw, void (*fmt)(struct fsc_buf *b, const char *s),
		     struct fsc_buf *b);
/* Appends what flame graph tools expect between semicolons: fsc_stack_frame() with `_[k]` after
 * kernel functions and `_[i]` after inlined ones; semicolons become colons, and bytes are safe. */
void fsc_stack_folded(const struct fsc_stacks *t, const struct fsc_frame *f, struct fsc_buf *b);

#endif
