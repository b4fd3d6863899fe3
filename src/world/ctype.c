/* Types that C and the kernel's headers have in every program, and those made of them. */
#include "world/ctype.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"

#define NUMBER(text, bytes, sign)                                                                  \
	{                                                                                          \
		.kind = FSC_TYPE_INT, .name = (text), .size = (bytes), .is_signed = (sign)         \
	}

static const struct fsc_type numbers[] = {
    {.kind = FSC_TYPE_INT, .name = "char", .size = 1, .is_signed = true, .is_char = true},
    {.kind = FSC_TYPE_INT, .name = "bool", .size = 1, .is_bool = true},
    {.kind = FSC_TYPE_INT, .name = "_Bool", .size = 1, .is_bool = true},
    NUMBER("signed char", 1, true),
    NUMBER("unsigned char", 1, false),
    NUMBER("short", 2, true),
    NUMBER("unsigned short", 2, false),
    NUMBER("int", 4, true),
    NUMBER("unsigned int", 4, false),
    NUMBER("unsigned", 4, false),
    NUMBER("long", 8, true),
    NUMBER("unsigned long", 8, false),
    NUMBER("long int", 8, true),
    NUMBER("unsigned long int", 8, false),
    NUMBER("long long", 8, true),
    NUMBER("unsigned long long", 8, false),
    NUMBER("u8", 1, false),
    NUMBER("s8", 1, true),
    NUMBER("u16", 2, false),
    NUMBER("s16", 2, true),
    NUMBER("u32", 4, false),
    NUMBER("s32", 4, true),
    NUMBER("u64", 8, false),
    NUMBER("s64", 8, true),
    NUMBER("__u8", 1, false),
    NUMBER("__s8", 1, true),
    NUMBER("__u16", 2, false),
    NUMBER("__s16", 2, true),
    NUMBER("__u32", 4, false),
    NUMBER("__s32", 4, true),
    NUMBER("__u64", 8, false),
    NUMBER("__s64", 8, true),
    NUMBER("uint8_t", 1, false),
    NUMBER("int8_t", 1, true),
    NUMBER("uint16_t", 2, false),
    NUMBER("int16_t", 2, true),
    NUMBER("uint32_t", 4, false),
    NUMBER("int32_t", 4, true),
    NUMBER("uint64_t", 8, false),
    NUMBER("int64_t", 8, true),
    NUMBER("size_t", 8, false),
    NUMBER("ssize_t", 8, true),
    NUMBER("loff_t", 8, true),
    NUMBER("pid_t", 4, true),
    NUMBER("uid_t", 4, false),
    NUMBER("gid_t", 4, false),
    NUMBER("dev_t", 4, false),
    NUMBER("ino_t", 8, false),
    NUMBER("sector_t", 8, false),
    NUMBER("gfp_t", 4, false),
    NUMBER("umode_t", 2, false),
};

static const struct fsc_type void_type = {.kind = FSC_TYPE_VOID};

const struct fsc_type *fsc_ctype_number(const char *name)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!strcmp(numbers[i].name, name))
			return &numbers[i];
	return NULL;
}

static const struct fsc_type *put_type(struct fsc_machine *m, const struct fsc_type *type,
				       struct fsc_err *err)
{
	struct fsc_type *t = fsc_machine_alloc(m, sizeof(*t), err);

	if (t)
		*t = *type;
	return t;
}

const struct fsc_type *fsc_ctype_array(struct fsc_machine *m, const struct fsc_type *of, uint64_t n,
				       struct fsc_err *err)
{
	const struct fsc_type t = {.kind = FSC_TYPE_ARRAY, .to = of, .n = n, .size = n * of->size};

	return put_type(m, &t, err);
}

const struct fsc_type *fsc_ctype_pointer(struct fsc_machine *m, const struct fsc_type *to,
					 struct fsc_err *err)
{
	const struct fsc_type t = {.kind = FSC_TYPE_POINTER, .to = to, .size = 8};

	return put_type(m, &t, err);
}

/* Words that say nothing about the value. */
static bool is_qualifier(const char *word, size_t n)
{
	static const char *const words[] = {"const",	"volatile",   "__user",	  "__rcu",
					    "restrict", "__restrict", "__percpu", "__iomem"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == n && !strncmp(words[i], word, n))
			return true;
	return false;
}

/* Puts the words of the base type into base, one blank between; returns how many stars follow. */
static unsigned cut_stars(const char *text, char *base, size_t size, bool *ret_const)
{
	unsigned stars = 0;
	size_t used = 0;

	while (*text) {
		size_t n = 1;

		if (*text == '*') {
			stars++;
		} else if (isalnum((unsigned char)*text) || *text == '_') {
			for (n = 1; isalnum((unsigned char)text[n]) || text[n] == '_';)
				n++;
			*ret_const |= n == 5 && !strncmp(text, "const", n);
			if (!is_qualifier(text, n) && used + n + 2 < size) {
				if (used)
					base[used++] = ' ';
				memcpy(base + used, text, n);
				used += n;
			}
		}
		text += n;
	}
	base[used] = '\0';
	return stars;
}

static const struct {
	const char *word;
	enum fsc_type_kind kind;
} tags[] = {{"struct ", FSC_TYPE_STRUCT}, {"union ", FSC_TYPE_UNION}};

static const struct fsc_type *named_type(struct fsc_machine *m, const char *name, unsigned size,
					 bool is_signed, struct fsc_err *err)
{
	const struct fsc_type *number = fsc_ctype_number(name);
	struct fsc_world_type found;
	struct fsc_type t = {.kind = FSC_TYPE_INT, .size = size, .is_signed = is_signed};

	if (!strcmp(name, "void"))
		return &void_type;
	if (number && (!size || number->size == size))
		return number;
	/* System calls have their arguments in longs, whatever they are called. */
	if (number)
		t.is_signed = number->is_signed;
	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		if (strncmp(name, tags[i].word, strlen(tags[i].word)))
			continue;
		t.kind = tags[i].kind;
		t.is_tagged = true;
		t.name = fsc_machine_text(m, err, "%s", name + strlen(tags[i].word));
		return t.name ? put_type(m, &t, err) : NULL;
	}
	/* What lies in a record is as large as the format says, whatever its name. */
	if ((!size || !strncmp(name, "enum ", 5)) && fsc_machine_type(m, name, NULL, &found) &&
	    (!size || found.type->size == size))
		return found.type;
	if (!size)
		return &void_type;
	t.is_named = true;
	t.name = fsc_machine_text(m, err, "%s", name);
	return t.name ? put_type(m, &t, err) : NULL;
}

const struct fsc_type *fsc_ctype_parse(struct fsc_machine *m, const char *text, unsigned size,
				       bool is_signed, struct fsc_err *err)
{
	bool is_const = false;
	char base[160];
	unsigned stars = cut_stars(text, base, sizeof(base), &is_const);
	const struct fsc_type *t = named_type(m, base, stars ? 0 : size, is_signed, err);

	if (t && is_const && !t->is_const) {
		struct fsc_type constant = *t;

		constant.is_const = true;
		t = put_type(m, &constant, err);
	}
	for (; t && stars; stars--)
		t = fsc_ctype_pointer(m, t, err);
	return t;
}
