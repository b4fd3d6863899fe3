/* What a script prints, as text or as one JSON object per line: maps, values, formatted texts,
 * messages. A sink writes into a buffer; whoever has it writes that out. Output of scripts is data
 * of the script's author: it is written as it is, but for texts from outside on a terminal. */
#ifndef FSC_SINK_SCRIPT_H
#define FSC_SINK_SCRIPT_H

#include "base/buf.h"
#include "model/value.h"

/* What made a text. */
enum fsc_script_text {
	FSC_SCRIPT_PRINTF,
	FSC_SCRIPT_TIME,
	FSC_SCRIPT_CAT,
	FSC_SCRIPT_JOIN,
	FSC_SCRIPT_SYSTEM,
	FSC_SCRIPT_TEXTS,
};

enum fsc_script_level { FSC_SCRIPT_WARNING, FSC_SCRIPT_ERROR };

/* A message of the script's about itself, with its place in the script. */
struct fsc_script_note {
	enum fsc_script_level level;
	const char *type; /* in JSON: "errorf" */
	const char *text;
	const char *file;
	uint32_t line, column, column_end; /* from 1; line 0: none */
	const char *source;		   /* that line of the script; NULL: it is not shown */
	const char *helper;		   /* the kernel's function that failed; NULL: none did */
	int32_t code;			   /* what it returned */
};

struct fsc_script_style {
	bool terminal;	  /* control characters from outside are shown as \xNN */
	bool percentiles; /* under each histogram */
};

struct fsc_script_sink {
	const char *name;
	bool notes_aside; /* messages go to stderr, not to where the data goes */
	void (*map)(const struct fsc_script_style *s, const char *name, const struct fsc_value *v,
		    struct fsc_buf *b);
	void (*value)(const struct fsc_script_style *s, const struct fsc_value *v,
		      struct fsc_buf *b);
	void (*text)(enum fsc_script_text what, const char *s, size_t n, struct fsc_buf *b);
	void (*note)(const struct fsc_script_note *n, struct fsc_buf *b);
	void (*attached)(size_t n, struct fsc_buf *b);
	/* One of several measurements; first: what stands above them comes before it. */
	void (*bench)(const char *name, uint64_t ns, uint64_t runs, bool first, struct fsc_buf *b);
	void (*lost)(uint64_t n, struct fsc_buf *b);
	void (*end)(struct fsc_buf *b); /* before what is printed on exit; NULL: nothing */
};

extern const struct fsc_script_sink fsc_script_sink_text, fsc_script_sink_json;
/* Names in the order of fsc_script_sinks, NULL-ended, for option tables. */
extern const char *const fsc_script_sink_names[];
extern const struct fsc_script_sink *const fsc_script_sinks[];

/* A value in the text format, on one line but for stacks, histograms and the like. */
void fsc_script_value(const struct fsc_script_style *s, const struct fsc_value *v,
		      struct fsc_buf *b);
/* A key as it stands between brackets: the parts of a tuple without its parentheses. */
void fsc_script_key(const struct fsc_script_style *s, const struct fsc_value *v, struct fsc_buf *b);
void fsc_script_series(const struct fsc_value *v, struct fsc_buf *b);
/* Fractions of seconds that an interval of a series needs: 0, 3, 6 or 9 digits. */
unsigned fsc_script_digits(uint64_t interval_ns);

void fsc_script_gfp(uint64_t flags, struct fsc_buf *b);

/* Appends n bytes of a format with the values in place of its conversions: those of printf(), and
 * %r, %rh and %rx for bytes, %gr for flags of the kernel's allocator. A conversion that does not
 * fit its value shows the value. Values missing are nothing, values left over are not shown. */
void fsc_script_format(const struct fsc_script_style *s, const char *format, size_t n,
		       const struct fsc_value *values, size_t n_values, struct fsc_buf *b);

/* The books of a script. */
struct fsc_script_loss {
	const char *name; /* NULL: none */
	uint64_t n;
};

struct fsc_script_books {
	uint64_t kept; /* events that were read */
	/* [0] are events, the others are what else could not be stored. */
	struct fsc_script_loss lost[16];
	uint64_t missed;  /* hits that the kernel did not deliver */
	uint64_t cut;	  /* strings */
	uint64_t not_run; /* commands that were pending at Ctrl-C */
	size_t attached, refused;
};

void fsc_script_books(const struct fsc_script_books *books, struct fsc_buf *b);

#endif
