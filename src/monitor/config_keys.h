/* The keys of a configuration as tables: a row has a key's name, its type, where its value goes and
 * what it is for. Tests compare them with the schema and the documentation. */
#ifndef FSC_MONITOR_CONFIG_KEYS_H
#define FSC_MONITOR_CONFIG_KEYS_H

#include "base/map.h"
#include "base/str.h"
#include "monitor/config.h"
#include "monitor/jsonc.h"

enum fsc_config_type {
	FSC_CONFIG_BOOL,
	FSC_CONFIG_UINT,    /* unsigned, from min to max */
	FSC_CONFIG_NUMBER,  /* double, from min to max */
	FSC_CONFIG_TEXT,    /* char *: not empty */
	FSC_CONFIG_SECONDS, /* double, of a duration, from min to max seconds */
	FSC_CONFIG_SLOW,    /* double: nanoseconds of a duration, 0 for "off" */
	FSC_CONFIG_SIZE,    /* uint64_t: bytes, from min to max */
	FSC_CONFIG_PERCENT, /* double */
	FSC_CONFIG_CHOICE,  /* bool: whether it is the second of choices */
	FSC_CONFIG_TEXTS,   /* struct fsc_vec of char * */
	FSC_CONFIG_WORDS,   /* unsigned: a bit for each of choices that is listed */
	FSC_CONFIG_NOTE,    /* a text that is ignored */
	FSC_CONFIG_SECTION, /* an object with keys of its own, in the same struct */
	FSC_CONFIG_OTHER,   /* has its own reader */
};

struct fsc_config_reader {
	const struct fsc_jsonc *doc;
	struct fsc_snoop_config *to;
	struct fsc_map seen; /* names and symbols of groups */
};

struct fsc_config_key {
	const char *name;
	enum fsc_config_type type;
	size_t offset; /* of the value in the table's struct */
	const char *what;
	double min, max;
	bool or_zero;			   /* 0 is valid though below min */
	const char *const *choices;	   /* FSC_CONFIG_CHOICE, FSC_CONFIG_WORDS */
	const struct fsc_config_key *keys; /* FSC_CONFIG_SECTION */
	const char *needs; /* FSC_CONFIG_SECTION: this key must be in it; NULL: none */
	bool late;	   /* read when all functions are known */
	/* FSC_CONFIG_TEXT: checks the text, and may replace it; NULL: anything is valid. */
	int (*check)(struct fsc_config_reader *r, struct fsc_jsonc_value v, char **text,
		     struct fsc_err *err);
	/* FSC_CONFIG_OTHER */
	int (*read)(struct fsc_config_reader *r, const struct fsc_config_key *k,
		    struct fsc_jsonc_value v, void *to, struct fsc_err *err);
};

/* Keys of the file, except for groups of functions; in struct fsc_snoop_config. */
extern const struct fsc_config_key fsc_config_keys[];
/* Keys of one function; in struct fsc_snoop_func. */
extern const struct fsc_config_key fsc_config_func_keys[];

/* NULL if the table has no such key. */
const struct fsc_config_key *fsc_config_key_find(const struct fsc_config_key *keys,
						 const char *name);
/* Reads one value into base, the table's struct. */
int fsc_config_value(struct fsc_config_reader *r, const struct fsc_config_key *k,
		     struct fsc_jsonc_value v, void *base, struct fsc_err *err);
/* Reads all members of an object by a table. */
int fsc_config_object(struct fsc_config_reader *r, const struct fsc_config_key *keys,
		      struct fsc_jsonc_value v, void *base, struct fsc_err *err);

/* ---- errors ---- */

/* "must be WANTED (what it is for), not a number", at v. */
int fsc_config_wrong(struct fsc_config_reader *r, const struct fsc_config_key *k,
		     struct fsc_jsonc_value v, const char *wanted, struct fsc_err *err);
/* A value as the file has it, cut if it is long; of a list or an object, what it is. Returns buf.
 */
const char *fsc_config_shown(const json_t *v, char *buf, size_t size);
/* Fails unless v is a string without control characters, not empty unless allowed. */
int fsc_config_text(struct fsc_config_reader *r, struct fsc_jsonc_value v, const char *what,
		    bool may_be_empty, struct fsc_err *err);
/* The same, appended to a struct fsc_vec of char *. */
int fsc_config_push_text(struct fsc_config_reader *r, struct fsc_jsonc_value v, const char *what,
			 struct fsc_vec *to, struct fsc_err *err);
/* Fails with "unknown WHAT NAME; did you mean ...?" at a place in the text. */
int fsc_config_unknown(struct fsc_config_reader *r, size_t at, const char *what,
		       const struct fsc_nearest *near, struct fsc_err *err);

/* ---- values with their own checks: config_checks.c ---- */

int fsc_config_check_url(struct fsc_config_reader *r, struct fsc_jsonc_value v, char **text,
			 struct fsc_err *err);
int fsc_config_check_listen(struct fsc_config_reader *r, struct fsc_jsonc_value v, char **text,
			    struct fsc_err *err);
int fsc_config_check_stream(struct fsc_config_reader *r, struct fsc_jsonc_value v, char **text,
			    struct fsc_err *err);
int fsc_config_check_socket(struct fsc_config_reader *r, struct fsc_jsonc_value v, char **text,
			    struct fsc_err *err);
int fsc_config_read_labels(struct fsc_config_reader *r, const struct fsc_config_key *k,
			   struct fsc_jsonc_value v, void *to, struct fsc_err *err);
int fsc_config_read_headers(struct fsc_config_reader *r, const struct fsc_config_key *k,
			    struct fsc_jsonc_value v, void *to, struct fsc_err *err);
int fsc_config_read_headers_file(struct fsc_config_reader *r, const struct fsc_config_key *k,
				 struct fsc_jsonc_value v, void *to, struct fsc_err *err);
int fsc_config_read_pids(struct fsc_config_reader *r, const struct fsc_config_key *k,
			 struct fsc_jsonc_value v, void *to, struct fsc_err *err);
int fsc_config_read_command(struct fsc_config_reader *r, const struct fsc_config_key *k,
			    struct fsc_jsonc_value v, void *to, struct fsc_err *err);

/* ---- functions: config_funcs.c ---- */

int fsc_config_read_errors(struct fsc_config_reader *r, const struct fsc_config_key *k,
			   struct fsc_jsonc_value v, void *to, struct fsc_err *err);
/* One pattern or a list of them. */
int fsc_config_read_library(struct fsc_config_reader *r, const struct fsc_config_key *k,
			    struct fsc_jsonc_value v, void *to, struct fsc_err *err);
int fsc_config_read_libraries(struct fsc_config_reader *r, const struct fsc_config_key *k,
			      struct fsc_jsonc_value v, void *to, struct fsc_err *err);
int fsc_config_read_presets(struct fsc_config_reader *r, const struct fsc_config_key *k,
			    struct fsc_jsonc_value v, void *to, struct fsc_err *err);
/* Whether a key of the file is that of a group; its name goes into buf. */
bool fsc_config_is_group(const char *key, char *buf, size_t size);
/* Reads a group of functions. */
int fsc_config_group(struct fsc_config_reader *r, const char *key, struct fsc_jsonc_value v,
		     struct fsc_err *err);
/* Gives functions without a library those configured for their group. */
int fsc_config_apply_libraries(struct fsc_snoop_config *c, struct fsc_err *err);

#endif
