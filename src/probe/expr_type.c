/* Types: how C writes them, the built-in ones, and the usual arithmetic conversions. */
#include "probe/expr.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* Integers that are one word. Those of several words are put together from these. */
static const struct {
	const char *name;
	unsigned size;
	bool is_signed, is_text;
} builtins[] = {
    {"bool", 1, false, false},	    {"_Bool", 1, false, false},	   {"size_t", 8, false, false},
    {"ssize_t", 8, true, false},    {"off_t", 8, true, false},	   {"loff_t", 8, true, false},
    {"uintptr_t", 8, false, false}, {"intptr_t", 8, true, false},  {"pid_t", 4, true, false},
    {"uid_t", 4, false, false},	    {"gid_t", 4, false, false},	   {"u8", 1, false, false},
    {"u16", 2, false, false},	    {"u32", 4, false, false},	   {"u64", 8, false, false},
    {"s8", 1, true, false},	    {"s16", 2, true, false},	   {"s32", 4, true, false},
    {"s64", 8, true, false},	    {"__u8", 1, false, false},	   {"__u16", 2, false, false},
    {"__u32", 4, false, false},	    {"__u64", 8, false, false},	   {"__s8", 1, true, false},
    {"__s16", 2, true, false},	    {"__s32", 4, true, false},	   {"__s64", 8, true, false},
    {"uint8_t", 1, false, false},   {"uint16_t", 2, false, false}, {"uint32_t", 4, false, false},
    {"uint64_t", 8, false, false},  {"int8_t", 1, true, false},	   {"int16_t", 2, true, false},
    {"int32_t", 4, true, false},    {"int64_t", 8, true, false},
};

static const char *const base_words[] = {"unsigned", "signed", "char", "short",
					 "int",	     "long",   "void", NULL};
static const char *const tags[] = {"struct", "union", "enum", NULL};
static const char *const ignored[] = {"const",	"volatile",   "restrict",
				      "__user", "__restrict", NULL};

static bool is_among(const char *const *list, const char *s, size_t n)
{
	for (; *list; list++)
		if (strlen(*list) == n && !memcmp(*list, s, n))
			return true;
	return false;
}

static bool is_word(const char *s, size_t n)
{
	for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
		if (strlen(builtins[i].name) == n && !memcmp(builtins[i].name, s, n))
			return true;
	return n > 2 && s[n - 2] == '_' && s[n - 1] == 't';
}

bool fsc_parser_at_type(const char *s)
{
	size_t n;

	s += strspn(s, " \t");
	n = fsc_parser_name(s);
	return n && (is_among(base_words, s, n) || is_among(tags, s, n) ||
		     is_among(ignored, s, n) || is_word(s, n));
}

static bool append_word(struct fsc_ctype_name *t, const char *s, size_t n)
{
	size_t used = strlen(t->base);

	if (used + n + 2 > sizeof(t->base))
		return false;
	if (used)
		t->base[used++] = ' ';
	memcpy(t->base + used, s, n);
	t->base[used + n] = '\0';
	return true;
}

/* The words of the base: "unsigned long", "struct sock", "pid_t"; stops before a parameter's name.
 */
static bool take_words(struct fsc_parser *p, struct fsc_ctype_name *t)
{
	bool ended = false, tag = false;

	for (;;) {
		size_t n;
		bool base, begins_tag;

		fsc_parser_blank(p);
		n = fsc_parser_name(p->s);
		if (!n)
			return t->base[0] && !tag;
		base = is_among(base_words, p->s, n);
		begins_tag = is_among(tags, p->s, n);
		if (is_among(ignored, p->s, n)) {
			p->s += n;
			continue;
		}
		if (t->base[0] && !tag && (ended || !base))
			return true;
		if (!append_word(t, p->s, n))
			return false;
		ended = !base && !begins_tag;
		tag = begins_tag;
		p->s += n;
	}
}

int fsc_parser_type(struct fsc_parser *p, struct fsc_ctype_name *ret)
{
	const char *at;

	fsc_parser_blank(p);
	at = p->s;
	*ret = (struct fsc_ctype_name){.column = (unsigned)(at - p->text) + 1};
	if (!take_words(p, ret))
		return fsc_parser_error(p, at, "expected a type such as int, u64 or struct sock *");
	for (;;) {
		fsc_parser_blank(p);
		if (*p->s == '*')
			ret->pointers++, p->s++;
		else if (is_among(ignored, p->s, fsc_parser_name(p->s)))
			p->s += fsc_parser_name(p->s);
		else
			return ret->pointers <= 4
				   ? 0
				   : fsc_parser_error(p, at, "too many pointers to pointers");
	}
}

/* "unsigned long long int" and its like: words in any order. */
static bool several_words(const char *name, struct fsc_ctype *ret)
{
	struct fsc_ctype t = {.size = 4, .is_signed = true};
	bool is_signed = false;

	while (*name) {
		size_t n = strcspn(name, " ");

		if (!is_among(base_words, name, n))
			return false;
		switch (name[0]) {
		case 'u':
			t.is_signed = false;
			break;
		case 'v':
			t.class = FSC_CLASS_VOID;
			t.size = 1;
			break;
		case 'c':
			t.size = 1;
			t.is_text = true;
			break;
		case 'l':
			t.size = 8;
			break;
		case 's':
			is_signed |= name[1] == 'i';
			t.size = name[1] == 'h' ? 2 : t.size;
			break;
		}
		name += n + (name[n] == ' ');
	}
#if defined(__aarch64__)
	t.is_signed &= !t.is_text || is_signed; /* a plain char is unsigned there */
#else
	(void)is_signed;
#endif
	*ret = t;
	return true;
}

bool fsc_ctype_builtin(const char *name, struct fsc_ctype *ret)
{
	for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
		if (!strcmp(builtins[i].name, name)) {
			*ret = (struct fsc_ctype){.size = builtins[i].size,
						  .is_signed = builtins[i].is_signed,
						  .is_text = builtins[i].is_text};
			return true;
		}
	return several_words(name, ret);
}

int fsc_gen_type(struct fsc_gen *g, const struct fsc_ctype_name *name, struct fsc_ctype *ret)
{
	int rc = 0;

	if (!fsc_ctype_builtin(name->base, ret)) {
		rc = g->names->type ? g->names->type(g->names->ctx, name->base, ret, g->err)
				    : -ENOENT;
		/* A pointer can be carried around without knowing what it points to. */
		if (rc == -ENOENT && name->pointers) {
			*ret = (struct fsc_ctype){.class = FSC_CLASS_VOID, .size = 1};
			rc = 0;
		}
	}
	if (rc == -ENOENT)
		return fsc_err_usage(g->err, "column %u: unknown type '%s'", name->column,
				     name->base);
	ret->pointers += name->pointers;
	return rc;
}

unsigned fsc_ctype_how(const struct fsc_ctype *t)
{
	if (t->pointers || t->count)
		return 8;
	return (t->size == 1 || t->size == 2 || t->size == 4 ? t->size : 8) |
	       (t->is_signed ? FSC_OP_SIGNED : 0);
}

struct fsc_ctype fsc_ctype_promote(const struct fsc_ctype *t)
{
	if (t->pointers || t->count)
		return FSC_CTYPE_U64;
	if (t->size < 4)
		return (struct fsc_ctype){.size = 4, .is_signed = true};
	return (struct fsc_ctype){.size = t->size > 4 ? 8 : 4, .is_signed = t->is_signed};
}

struct fsc_ctype fsc_ctype_common(const struct fsc_ctype *a, const struct fsc_ctype *b)
{
	struct fsc_ctype x = fsc_ctype_promote(a), y = fsc_ctype_promote(b);

	if (x.size != y.size)
		return x.size > y.size ? x : y;
	x.is_signed &= y.is_signed;
	return x;
}
