/* Filling the tables of types and carrying them to another process. Making types of them:
 * seal.c. */
#include "types/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Longer names (templates of templates) are cut. */
#define NAME_MAX_ 2000
/* Past this, structs stay without members: some 10 MB. */
#define TYPES_MAX   100000u
#define MEMBERS_MAX 300000u

static const size_t row_sizes[FSC_TAB_N] = {
    [FSC_TAB_TYPES] = sizeof(struct fsc_flat_type),
    [FSC_TAB_MEMBERS] = sizeof(struct fsc_flat_member),
    [FSC_TAB_ENUMERATORS] = sizeof(struct fsc_flat_enumerator),
    [FSC_TAB_PARAMS] = sizeof(struct fsc_flat_param),
    [FSC_TAB_SIGS] = sizeof(struct fsc_flat_sig),
    [FSC_TAB_TEXT] = sizeof(char),
};

static void init_empty(struct fsc_typetab *t)
{
	*t = (struct fsc_typetab){.now = FSC_VEC_INIT(struct fsc_typetab_item),
				  .next = FSC_VEC_INIT(struct fsc_typetab_item)};
	for (int i = 0; i < FSC_TAB_N; i++)
		t->table[i].size = row_sizes[i];
}

int fsc_typetab_init(struct fsc_typetab *t, struct fsc_err *err)
{
	struct fsc_flat_type *unknown;

	init_empty(t);
	fsc_typetab_push(t, FSC_TAB_TEXT);
	fsc_typetab_push(t, FSC_TAB_TYPES);
	unknown = fsc_typetab_push(t, FSC_TAB_TYPES);
	if (!unknown || t->failed)
		return fsc_err_nomem(err);
	unknown->kind = FSC_TYPE_UNKNOWN;
	return 0;
}

void fsc_typetab_release(struct fsc_typetab *t)
{
	for (int i = 0; i < FSC_TAB_N; i++)
		fsc_vec_release(&t->table[i]);
	fsc_vec_release(&t->now);
	fsc_vec_release(&t->next);
	fsc_map_release(&t->ids);
}

void *fsc_typetab_push(struct fsc_typetab *t, enum fsc_typetab_table table)
{
	void *row = t->table[table].n < UINT32_MAX ? fsc_vec_push(&t->table[table]) : NULL;

	t->failed |= !row;
	return row;
}

uint32_t fsc_typetab_text(struct fsc_typetab *t, const char *text)
{
	uint32_t at = (uint32_t)t->table[FSC_TAB_TEXT].n;
	size_t n = text ? strnlen(text, NAME_MAX_) : 0;

	if (!n)
		return 0;
	for (size_t i = 0; i <= n; i++) {
		char *c = fsc_typetab_push(t, FSC_TAB_TEXT);

		if (!c)
			return 0;
		*c = i < n ? text[i] : '\0';
	}
	return at;
}

static void enqueue(struct fsc_typetab *t, struct fsc_vec *queue, struct fsc_origin origin,
		    uint32_t type)
{
	struct fsc_typetab_item *item = fsc_vec_push(queue);

	t->failed |= !item;
	if (item)
		*item = (struct fsc_typetab_item){origin, type};
}

/* Beside the type's number, the map's value says what was done about it. */
#define QUEUED_NOW (1ull << 32)
#define READ	   (1ull << 33)

uint32_t fsc_typetab_ref(struct fsc_typetab *t, struct fsc_origin origin, bool pointed)
{
	uint64_t *id;
	bool is_new = false;

	if (t->failed)
		return FSC_FLAT_UNKNOWN;
	id = fsc_map_put(&t->ids, &origin.addr, sizeof(origin.addr), &is_new);
	if (!id) {
		t->failed = true;
		return FSC_FLAT_UNKNOWN;
	}
	if (is_new) {
		struct fsc_flat_type *type = fsc_typetab_push(t, FSC_TAB_TYPES);

		if (!type)
			return FSC_FLAT_UNKNOWN;
		type->kind = FSC_TYPE_UNKNOWN;
		*id = t->table[FSC_TAB_TYPES].n - 1;
	}
	/* Already waiting for the next level, but now part of this one: read as the nearer. */
	if (!pointed && !(*id & (QUEUED_NOW | READ))) {
		enqueue(t, &t->now, origin, (uint32_t)*id);
		*id |= QUEUED_NOW;
	} else if (is_new) {
		enqueue(t, &t->next, origin, (uint32_t)*id);
	}
	return (uint32_t)*id;
}

typedef struct fsc_flat_type (*read_fn)(void *arg, struct fsc_origin origin);

static void read_item(struct fsc_typetab *t, struct fsc_typetab_item item, bool members,
		      read_fn read, void *arg)
{
	uint64_t *id = fsc_map_get(&t->ids, &item.origin.addr, sizeof(item.origin.addr));
	struct fsc_flat_type type;

	if (!id || *id & READ)
		return;
	*id |= READ;
	t->members_wanted = members && t->table[FSC_TAB_TYPES].n < TYPES_MAX &&
			    t->table[FSC_TAB_MEMBERS].n < MEMBERS_MAX;
	type = read(arg, item.origin);
	*FSC_AT(struct fsc_flat_type, &t->table[FSC_TAB_TYPES], item.type) = type;
}

int fsc_typetab_read(struct fsc_typetab *t, unsigned depth, read_fn read, void *arg,
		     struct fsc_err *err)
{
	for (unsigned level = 0; !t->failed && (t->now.n || t->next.n); level++) {
		struct fsc_vec done;

		for (size_t i = 0; i < t->now.n && !t->failed; i++)
			read_item(t, *FSC_AT(struct fsc_typetab_item, &t->now, i), level <= depth,
				  read, arg);
		done = t->now;
		done.n = 0;
		t->now = t->next;
		t->next = done;
	}
	return t->failed ? fsc_err_nomem(err) : 0;
}

/* Rows as whole words, the last one filled with zeros. */
static size_t words_of(size_t bytes)
{
	return (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t);
}

int fsc_typetab_pack(struct fsc_typetab *t, struct fsc_vec *words, struct fsc_err *err)
{
	for (int i = 0; i < FSC_TAB_N; i++) {
		const struct fsc_vec *v = &t->table[i];
		size_t bytes = v->n * v->size;
		uint64_t *word = fsc_vec_push(words);

		if (!word)
			return fsc_err_nomem(err);
		*word = v->n;
		for (size_t at = 0; at < bytes; at += sizeof(*word)) {
			word = fsc_vec_push(words);
			if (!word)
				return fsc_err_nomem(err);
			memcpy(word, (char *)v->data + at,
			       bytes - at < sizeof(*word) ? bytes - at : sizeof(*word));
		}
	}
	return 0;
}

static int damaged(struct fsc_err *err)
{
	return fsc_err_set(err, EBADMSG, "the types that were read make no sense");
}

int fsc_typetab_unpack(const struct fsc_vec *words, struct fsc_typetab *ret, struct fsc_err *err)
{
	size_t at = 0;

	init_empty(ret);
	for (int i = 0; i < FSC_TAB_N; i++) {
		struct fsc_vec *v = &ret->table[i];
		uint64_t n = at < words->n ? *FSC_AT(uint64_t, words, at++) : UINT64_MAX;

		if (n > UINT32_MAX || words_of(n * v->size) > words->n - at)
			return damaged(err);
		v->data = n ? malloc(n * v->size) : NULL;
		if (n && !v->data)
			return fsc_err_nomem(err);
		v->n = v->cap = n;
		if (n)
			memcpy(v->data, FSC_AT(uint64_t, words, at), n * v->size);
		at += words_of(n * v->size);
	}
	return 0;
}
