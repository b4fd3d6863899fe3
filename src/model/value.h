/* Values as a script prints them: numbers, texts, what is made of them, histograms, time series and
 * whole maps. A tree whose parts lie in an arena, made by a source and written by a sink
 * (sink/script.h). Pure data, no I/O. */
#ifndef FSC_MODEL_VALUE_H
#define FSC_MODEL_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory that is given back all at once. */
struct fsc_values {
	struct fsc_values_chunk *chunks;
	bool failed; /* an allocation did: what was made since the last reset is not whole */
};

/* Zeros, aligned to 8; NULL, and `failed`, if memory is out. */
void *fsc_values_alloc(struct fsc_values *a, size_t size);
/* n bytes and a NUL. */
char *fsc_values_copy(struct fsc_values *a, const char *s, size_t n);
/* Keeps one chunk of memory for what comes next. */
void fsc_values_reset(struct fsc_values *a);
void fsc_values_release(struct fsc_values *a);

enum fsc_value_kind {
	FSC_VALUE_NONE,
	FSC_VALUE_INT,
	FSC_VALUE_UINT,
	FSC_VALUE_BOOL,
	FSC_VALUE_TEXT,
	FSC_VALUE_SYMBOL, /* a number that is shown by a name: an enumerator, a pointer */
	FSC_VALUE_BYTES,
	FSC_VALUE_ARRAY,
	FSC_VALUE_TUPLE,
	FSC_VALUE_RECORD,
	FSC_VALUE_HIST,
	FSC_VALUE_SERIES,
	FSC_VALUE_MAP,
};

struct fsc_value {
	enum fsc_value_kind kind;
	bool stats; /* of avg() or stats(): JSON has a type for these */
	union {
		int64_t i;
		uint64_t u;
		bool b;
		/* TEXT, SYMBOL, BYTES: n bytes, a NUL behind them; and a SYMBOL's number */
		struct {
			const char *s;
			size_t n;
			uint64_t number;
		} text;
		struct { /* ARRAY, TUPLE, RECORD, MAP */
			struct fsc_value *at;
			struct fsc_value *keys; /* MAP */
			const char **names;	/* RECORD */
			size_t n;
		} list;
		struct {
			struct fsc_bucket *at;
			size_t n;
		} hist;
		struct {
			struct fsc_moment *at;
			size_t n;
			uint64_t interval_ns;
		} series;
	};
};

/* [min, max) of a histogram. Each is INT or UINT, or a SYMBOL ("1K"), or NONE where it is open. */
struct fsc_bucket {
	struct fsc_value min, max;
	uint64_t count;
};

/* An interval of a time series: NONE if nothing was recorded in it. */
struct fsc_moment {
	uint64_t wall_ns; /* when it began, since 1970 */
	struct fsc_value value;
};

static inline struct fsc_value fsc_value_int(int64_t i)
{
	return (struct fsc_value){.kind = FSC_VALUE_INT, .i = i};
}

static inline struct fsc_value fsc_value_uint(uint64_t u)
{
	return (struct fsc_value){.kind = FSC_VALUE_UINT, .u = u};
}

static inline struct fsc_value fsc_value_bool(bool b)
{
	return (struct fsc_value){.kind = FSC_VALUE_BOOL, .b = b};
}

/* s is copied. If memory is out, NONE, as the arena says. */
struct fsc_value fsc_value_text(struct fsc_values *a, const char *s, size_t n);
struct fsc_value fsc_value_bytes(struct fsc_values *a, const void *bytes, size_t n);
struct fsc_value fsc_value_symbol(struct fsc_values *a, const char *s, uint64_t number);
/* ARRAY, TUPLE, RECORD (with names, to be filled in) or MAP (with keys), of n values that are NONE.
 */
struct fsc_value fsc_value_list(struct fsc_values *a, enum fsc_value_kind kind, size_t n);

/* The bits of an INT, UINT, BOOL or SYMBOL; false for others. */
bool fsc_value_number(const struct fsc_value *v, uint64_t *ret);

/* How a histogram's buckets are shown: counts of a log-linear one with 2^bits buckets for each
 * power of two (lang/type.h numbers them), or of a linear one. Empty buckets at both ends are left
 * out. */
struct fsc_value fsc_value_hist(struct fsc_values *a, const uint64_t *counts, size_t n,
				unsigned bits);
struct fsc_value fsc_value_lhist(struct fsc_values *a, const uint64_t *counts, size_t n,
				 int64_t min, int64_t max, int64_t step);

#endif
