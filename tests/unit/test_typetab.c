/* The tables that types travel in (src/types/table.h): levels of reading, the way through an array
 * of words and back, and words that somebody changed on the way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "types/table.h"

/* A source of types: number n is a struct of one pointer to n + 1, and of number n + 100, an int
 * called "number"; numbers from 200 on are those pointers. */
#define INTS	 100
#define POINTERS 200

static struct fsc_origin number(uintptr_t n)
{
	return (struct fsc_origin){.addr = (const void *)n};
}

static void add_member(struct fsc_typetab *tab, const char *name, uintptr_t type, uint64_t offset)
{
	struct fsc_flat_member m = {.name = fsc_typetab_text(tab, name),
				    .type = fsc_typetab_ref(tab, number(type), false),
				    .offset_bits = offset};
	struct fsc_flat_member *place = fsc_typetab_push(tab, FSC_TAB_MEMBERS);

	assert_non_null(place);
	*place = m;
}

static struct fsc_flat_type read(void *arg, struct fsc_origin origin)
{
	uintptr_t n = (uintptr_t)origin.addr;
	struct fsc_typetab *tab = arg;
	struct fsc_flat_type t = {.kind = FSC_TYPE_STRUCT, .size = 16};

	if (n >= POINTERS)
		return (struct fsc_flat_type){
		    .kind = FSC_TYPE_POINTER,
		    .size = 8,
		    .of = fsc_typetab_ref(tab, number(n - POINTERS + 1), true)};
	t.name = fsc_typetab_text(tab, n >= INTS ? "number" : "link");
	if (n >= INTS) {
		t.kind = FSC_TYPE_INT;
		t.size = 4;
		return t;
	}
	if (!tab->members_wanted)
		return t;
	t.flags = FSC_FLAT_COMPLETE;
	t.first = (uint32_t)tab->table[FSC_TAB_MEMBERS].n;
	t.n = 2;
	add_member(tab, "next", POINTERS + n, 0);
	add_member(tab, "value", INTS + n, 64);
	return t;
}

/* f(link by value), read to a depth. */
static void fill(struct fsc_typetab *tab, unsigned depth)
{
	struct fsc_flat_param *p;
	struct fsc_flat_sig *s;
	uint32_t name, type;

	assert_int_equal(fsc_typetab_init(tab, NULL), 0);
	name = fsc_typetab_text(tab, "first");
	type = fsc_typetab_ref(tab, number(1), false);
	p = fsc_typetab_push(tab, FSC_TAB_PARAMS);
	assert_non_null(p);
	*p = (struct fsc_flat_param){.name = name, .type = type};
	s = fsc_typetab_push(tab, FSC_TAB_SIGS);
	assert_non_null(s);
	*s = (struct fsc_flat_sig){.name = name, .n = 1};
	assert_int_equal(fsc_typetab_read(tab, depth, read, tab, NULL), 0);
}

/* How many structs from the first on have members. */
static unsigned chain(const struct fsc_type *t)
{
	struct fsc_member m;
	unsigned n = 0;

	while (n < 50 && fsc_type_member(t, "next", &m)) {
		assert_true(t->is_complete);
		t = m.type->to;
		n++;
	}
	assert_int_equal(t->kind, FSC_TYPE_STRUCT);
	assert_string_equal(t->name, "link");
	return n;
}

static void levels(void **state)
{
	(void)state;
	for (unsigned depth = 0; depth < 5; depth++) {
		struct fsc_signature sig;
		struct fsc_types types;
		struct fsc_typetab tab;

		fill(&tab, depth);
		fsc_types_init(&types, depth);
		assert_int_equal(fsc_typetab_seal(&tab, &types, &sig, 1, NULL), 0);
		fsc_typetab_release(&tab);
		assert_true(sig.found);
		assert_int_equal(chain(sig.params[0].type), depth + 1);
		fsc_types_release(&types);
	}
}

static void use(const struct fsc_signature *sig)
{
	static const unsigned char bytes[64];
	struct fsc_buf b = {0};
	struct fsc_member m;

	for (size_t i = 0; i < sig->n_params; i++) {
		fsc_type_name(&b, sig->params[i].type);
		fsc_type_format(&b, sig->params[i].type, bytes, sizeof(bytes));
		fsc_type_member(sig->params[i].type, "none", &m);
	}
	if (sig->ret)
		fsc_type_name(&b, sig->ret);
	fsc_buf_release(&b);
}

/* Both ways, whatever the words are. */
static int take(const struct fsc_vec *words)
{
	struct fsc_typetab tab;
	struct fsc_types types;
	struct fsc_signature sigs[2] = {0};
	struct fsc_err err = {0};
	int rc = fsc_typetab_unpack(words, &tab, &err);

	fsc_types_init(&types, 1);
	if (!rc)
		rc = fsc_typetab_seal(&tab, &types, sigs, 2, &err);
	if (rc)
		assert_true(err.code == EBADMSG && err.msg[0]);
	use(&sigs[0]);
	use(&sigs[1]);
	fsc_typetab_release(&tab);
	fsc_types_release(&types);
	return rc;
}

static void changed_words(void **state)
{
	struct fsc_vec words = FSC_VEC_INIT(uint64_t);
	struct fsc_typetab tab;
	uint64_t *w;

	(void)state;
	fill(&tab, 2);
	assert_int_equal(fsc_typetab_pack(&tab, &words, NULL), 0);
	fsc_typetab_release(&tab);
	assert_int_equal(take(&words), 0);
	w = words.data;
	srand(3);
	for (int i = 0; i < 20000; i++) {
		size_t at = (size_t)rand() % words.n;
		uint64_t old = w[at];

		/* A byte, or half a word to some small number. */
		if (i % 2)
			((unsigned char *)&w[at])[rand() % 8] = (unsigned char)rand();
		else
			((uint32_t *)&w[at])[rand() % 2] = (uint32_t)rand() % 40;
		take(&words);
		w[at] = old;
	}
	while (words.n--)
		assert_int_not_equal(take(&words), 0);
	words.n = 0;
	fsc_vec_release(&words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(levels),
	    cmocka_unit_test(changed_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
