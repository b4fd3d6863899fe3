/* Reading events/CATEGORY/NAME/format, a line per field:
 *   field:pid_t child_pid;	offset:44;	size:4;	signed:1;
 *   field:char comm[16];	offset:8;	size:16;	signed:0;
 *   field:__data_loc char[] filename;	offset:8;	size:4;	signed:0; */
#include "kernel/tpformat.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/slurp.h"

/* "name[16]" at the end of a declaration of n bytes: where the name begins, its length, and how
 * many elements the brackets say (a name of a constant counts as one). */
static size_t declared_name(const char *decl, size_t n, const char **name, unsigned *count)
{
	size_t from;

	while (n && isspace((unsigned char)decl[n - 1]))
		n--;
	if (n && decl[n - 1] == ']') {
		while (n && decl[n - 1] != '[')
			n--;
		*count = (unsigned)strtoul(decl + n, NULL, 10);
		*count += !*count;
		n -= !!n;
	}
	from = n;
	while (from && (isalnum((unsigned char)decl[from - 1]) || decl[from - 1] == '_'))
		from--;
	*name = decl + from;
	return n - from;
}

/* Whether the type, the text before the name, has the word. */
static bool has_word(const char *type, size_t n, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i + len <= n; i++)
		if (!memcmp(type + i, word, len) &&
		    (!i || !(isalnum((unsigned char)type[i - 1]) || type[i - 1] == '_')) &&
		    (i + len == n ||
		     !(isalnum((unsigned char)type[i + len]) || type[i + len] == '_')))
			return true;
	return false;
}

/* System calls keep each argument in 8 bytes, without a sign, whatever its type is: -100 for a
 * directory would be 4294967196. */
static void narrow_to_type(const char *type, size_t n, struct fsc_tp_field *f)
{
	static const struct {
		const char *type;
		unsigned size;
		bool is_signed;
	} known[] = {
	    {"int", 4, true},	    {"unsigned int", 4, false}, {"unsigned", 4, false},
	    {"pid_t", 4, true},	    {"uid_t", 4, false},	{"gid_t", 4, false},
	    {"mqd_t", 4, true},	    {"key_t", 4, true},		{"key_serial_t", 4, true},
	    {"timer_t", 4, true},   {"clockid_t", 4, true},	{"rwf_t", 4, true},
	    {"u32", 4, false},	    {"__u32", 4, false},	{"s32", 4, true},
	    {"__s32", 4, true},	    {"umode_t", 2, false},	{"long", 8, true},
	    {"off_t", 8, true},	    {"loff_t", 8, true},	{"short", 2, true},
	    {"const int", 4, true},
	};

	while (n && isspace((unsigned char)type[n - 1]))
		n--;
	if (f->size != 8)
		return;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i].type) == n && !memcmp(known[i].type, type, n)) {
			f->size = known[i].size;
			f->is_signed = known[i].is_signed;
		}
}

/* The declared type without the words that say where the data lies, and without "[]". */
static void keep_type(const char *type, size_t n, struct fsc_tp_field *f)
{
	static const char *const places[] = {"__data_loc", "__rel_loc"};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (n > strlen(places[i]) && !strncmp(type, places[i], strlen(places[i])))
			type += strlen(places[i]) + 1, n -= strlen(places[i]) + 1;
	while (n && (isspace((unsigned char)type[n - 1]) || strchr("[]", type[n - 1])))
		n--;
	n = n < sizeof(f->type) ? n : sizeof(f->type) - 1;
	memcpy(f->type, type, n);
	f->type[n] = '\0';
}

static void describe(const char *type, size_t n, struct fsc_tp_field *f)
{
	bool is_char = has_word(type, n, "char");

	keep_type(type, n, f);
	f->place = has_word(type, n, "__data_loc")  ? FSC_TP_DATA_LOC
		   : has_word(type, n, "__rel_loc") ? FSC_TP_REL_LOC
						    : FSC_TP_FIXED;
	f->is_pointer = f->place == FSC_TP_FIXED && memchr(type, '*', n);
	f->is_const = has_word(type, n, "const");
	f->is_text = is_char && (f->count || f->is_pointer || f->place != FSC_TP_FIXED);
	if (f->place == FSC_TP_FIXED && !f->count && !f->is_pointer)
		narrow_to_type(type, n, f);
	if (f->place != FSC_TP_FIXED) {
		f->count = 1;
		f->size = is_char ? 1 : 4;
	} else if (f->count && is_char && !f->is_pointer) {
		f->count = f->size; /* the brackets may hold a name */
		f->size = 1;
	} else if (f->count > 1) {
		f->size /= f->count;
	}
}

/* The declaration without the name: "char [16]". */
static void note_decl(const char *decl, size_t n, const char *behind, const char *end,
		      struct fsc_tp_field *f)
{
	while (n && isspace((unsigned char)decl[n - 1]))
		n--;
	while (behind < end && isspace((unsigned char)*behind))
		behind++;
	snprintf(f->decl, sizeof(f->decl), "%.*s%s%.*s", (int)n, decl, behind < end ? " " : "",
		 (int)(end - behind), behind);
}

/* One line; false if it declares no field. */
static bool parse_line(const char *line, size_t len, struct fsc_tp_field *f)
{
	char text[512];
	const char *decl, *end, *rest, *name;
	int is_signed = 0;
	size_t n;

	if (len >= sizeof(text))
		return false;
	memcpy(text, line, len);
	text[len] = '\0';
	decl = strstr(text, "field:");
	end = decl ? strchr(decl, ';') : NULL;
	rest = end ? strstr(end, "offset:") : NULL;
	if (!rest ||
	    sscanf(rest, "offset:%u; size:%u; signed:%d", &f->offset, &f->size, &is_signed) < 2)
		return false;
	decl += strlen("field:");
	f->is_signed = is_signed;
	n = declared_name(decl, (size_t)(end - decl), &name, &f->count);
	if (!n || n >= sizeof(f->name))
		return false;
	memcpy(f->name, name, n);
	f->name[n] = '\0';
	describe(decl, (size_t)(name - decl), f);
	note_decl(decl, (size_t)(name - decl), name + n, end, f);
	return true;
}

int fsc_tracepoint_fields_parse(const char *text, struct fsc_vec *ret, struct fsc_err *err)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		struct fsc_tp_field f = {0}, *slot;

		if (parse_line(text, n, &f)) {
			slot = fsc_vec_push(ret);
			if (!slot)
				return fsc_err_nomem(err);
			*slot = f;
		}
		text += n + (text[n] == '\n');
	}
	return 0;
}

int fsc_tracepoint_fields(int tracefs, const char *category, const char *name, struct fsc_vec *ret,
			  struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *text = NULL;
	struct fsc_err why = {0};
	char path[300];
	size_t n;
	int rc;

	snprintf(path, sizeof(path), "events/%s/%s/format", category, name);
	rc = fsc_slurp(tracefs, path, &text, &n, &why);
	if (rc == -ENOMEM)
		return fsc_err_nomem(err);
	if (rc)
		return fsc_err_sys(err, -rc, "cannot read the format of tracepoint %s:%s", category,
				   name);
	return fsc_tracepoint_fields_parse(text, ret, err);
}

int fsc_tracepoint_field(int tracefs, const char *category, const char *name, const char *field,
			 unsigned *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_vec_release) struct fsc_vec fields = FSC_VEC_INIT(struct fsc_tp_field);
	int rc = fsc_tracepoint_fields(tracefs, category, name, &fields, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < fields.n; i++) {
		const struct fsc_tp_field *f = FSC_AT(struct fsc_tp_field, &fields, i);

		if (!strcmp(f->name, field)) {
			*ret = f->offset;
			return 0;
		}
	}
	return fsc_err_set(err, ENOENT, "tracepoint %s:%s has no field '%s'", category, name,
			   field);
}
