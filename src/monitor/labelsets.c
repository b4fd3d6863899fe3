/* Sets by their values and by their number, and the processes of each. */
#include "monitor/labelsets_priv.h"

#include <stdlib.h>
#include <string.h>

#include "proc/task.h"

/* ---- sets ---- */

/* Names the values that are in the set's buffer. */
static void name_values(const struct fsc_labelsets *s, struct labelset *x)
{
	const char *value = fsc_buf_str(&x->values);
	size_t n = 0;

	for (size_t i = 0; i < FSC_LABELS; i++) {
		if (!(s->o.labels & 1u << i))
			continue;
		x->labels[n++] = (struct fsc_label){fsc_label_names[i], value};
		value += strlen(value) + 1;
	}
}

static void name_constant(const struct fsc_labelsets *s, struct labelset *x, const char *value)
{
	size_t n = 0;

	for (size_t i = 0; i < FSC_LABELS; i++)
		if (s->o.labels & 1u << i)
			x->labels[n++] = (struct fsc_label){fsc_label_names[i], value};
}

static void set_free(struct labelset *x)
{
	fsc_buf_release(&x->values);
	free(x);
}

void labelset_drop(struct fsc_labelsets *s, struct labelset *x)
{
	fsc_map_remove(&s->by_values, x->values.s, x->values.n);
	fsc_map_remove(&s->by_number, &x->number, sizeof(x->number));
	set_free(x);
}

/* Takes the values. NULL: memory is out. */
static struct labelset *add_set(struct fsc_labelsets *s, struct fsc_buf *values)
{
	struct labelset *x = calloc(1, sizeof(*x)), **slot = x ? fsc_vec_push(&s->all) : NULL;
	const uint32_t number = FSC_TALLY_SETS + s->last + 1;
	uint64_t *value_at, *number_at = NULL;

	value_at = slot ? fsc_map_put(&s->by_values, values->s, values->n, NULL) : NULL;
	if (value_at) {
		*value_at = (uintptr_t)x;
		number_at = fsc_map_put(&s->by_number, &number, sizeof(number), NULL);
	}
	if (!number_at) {
		if (value_at)
			fsc_map_remove(&s->by_values, values->s, values->n);
		s->all.n -= slot != NULL;
		free(x);
		return NULL;
	}
	*number_at = (uintptr_t)x;
	*x = (struct labelset){.number = number, .values = *values, .since = s->idled++};
	*values = (struct fsc_buf){0};
	name_values(s, x);
	s->last++;
	*slot = x;
	return x;
}

static bool is_empty(const struct fsc_buf *values)
{
	for (size_t i = 0; i < values->n; i++)
		if (values->s[i])
			return false;
	return true;
}

static bool is_full(const struct fsc_labelsets *s)
{
	const uint32_t numbers = FSC_TALLY_OTHER - FSC_TALLY_SETS - 1;

	return s->all.n >= s->o.most || s->last >= numbers;
}

/* The set of these values; NULL: there is none yet. */
static struct labelset *set_by_values(struct fsc_labelsets *s, const struct fsc_buf *values)
{
	const uint64_t *at;

	if (is_empty(values))
		return &s->none;
	at = fsc_map_get(&s->by_values, values->s, values->n);
	return at ? (struct labelset *)(uintptr_t)*at : NULL;
}

/* NULL: memory is out. */
static struct labelset *find_set(struct fsc_labelsets *s, struct fsc_buf *values)
{
	struct labelset *x = set_by_values(s, values);

	if (x)
		return x;
	if (!is_full(s))
		return add_set(s, values);
	s->folded++;
	return &s->other;
}

struct labelset *labelset_by_number(const struct fsc_labelsets *s, uint32_t number)
{
	const uint64_t *at;

	if (number == FSC_TALLY_OTHER || number == FSC_TALLY_FOLDED)
		return (struct labelset *)&s->other;
	at = fsc_map_get(&s->by_number, &number, sizeof(number));
	return at ? (struct labelset *)(uintptr_t)*at : (struct labelset *)&s->none;
}

static void leave_set(struct fsc_labelsets *s, struct labelset_member *m)
{
	if (!--m->set->users)
		m->set->since = s->idled++;
}

static void join_set(struct fsc_labelsets *s, struct labelset_member *m, struct labelset *x)
{
	x->users++;
	x->marked = false;
	leave_set(s, m);
	m->set = x;
}

/* ---- processes ---- */

static struct labelset_member *find_member(const struct fsc_labelsets *s, pid_t pid)
{
	const uint64_t *at = fsc_map_get(&s->members, &pid, sizeof(pid));

	return at ? (struct labelset_member *)(uintptr_t)*at : NULL;
}

static struct labelset_member *add_member(struct fsc_labelsets *s, pid_t pid)
{
	struct labelset_member *m = calloc(1, sizeof(*m));
	uint64_t *at = m ? fsc_map_put(&s->members, &pid, sizeof(pid), NULL) : NULL;

	if (!at) {
		free(m);
		return NULL;
	}
	*at = (uintptr_t)m;
	m->pid = pid;
	m->set = &s->none;
	s->none.users++;
	return m;
}

static void member_free(struct fsc_labelsets *s, struct labelset_member *m)
{
	leave_set(s, m);
	fsc_buf_release(&m->values);
	fsc_buf_release(&m->texts);
	free(m);
}

/* In version 1 a zombie is in the root. */
static bool is_known_better(const struct labelset_member *m, const struct fsc_buf *values)
{
	return m->values.n && is_empty(values) && fsc_task_is_zombie(m->pid);
}

static bool read_values(const struct fsc_labelsets *s, struct labelset_member *m)
{
	struct fsc_buf values = {0};
	bool ok;

	if (!s->o.labels || !fsc_process_labels(m->pid, s->o.labels, &values))
		return true;
	ok = !fsc_buf_failed(&values);
	if (!ok || is_known_better(m, &values)) {
		fsc_buf_release(&values);
		return ok;
	}
	fsc_buf_release(&m->values);
	m->values = values;
	return true;
}

/* From now on it has the labels that were read last. */
static bool settle_member(struct fsc_labelsets *s, struct labelset_member *m)
{
	struct labelset *x = find_set(s, &m->values);

	if (!x)
		return false;
	join_set(s, m, x);
	fsc_buf_release(&m->values);
	m->settled = true;
	return true;
}

static bool read_fields(const struct fsc_labelsets *s, struct labelset_member *m)
{
	struct fsc_buf texts = {0};
	const char *at;

	if (!s->o.fields || !fsc_process_fields(m->pid, s->o.fields, &texts))
		return !fsc_buf_failed(&texts);
	fsc_buf_release(&m->texts);
	m->texts = texts;
	m->n_fields = 0;
	at = fsc_buf_str(&m->texts);
	for (size_t i = 0; i < FSC_PROCESS_FIELDS; i++) {
		if (!(s->o.fields & 1u << i))
			continue;
		m->fields[m->n_fields++] = (struct fsc_label){fsc_process_field_names[i], at};
		at += strlen(at) + 1;
	}
	return true;
}

int fsc_labelsets_note(struct fsc_labelsets *s, pid_t pid, bool called, struct fsc_err *err)
{
	struct labelset_member *m;

	if (!s->o.labels && !s->o.fields)
		return 0;
	m = find_member(s, pid);
	if (m && m->settled)
		return 0;
	m = m ? m : add_member(s, pid);
	if (!m || !read_values(s, m) || !read_fields(s, m) || (called && !settle_member(s, m)))
		return fsc_err_nomem(err);
	return 0;
}

bool fsc_labelsets_needs_room(struct fsc_labelsets *s, pid_t pid)
{
	const struct labelset_member *m = is_full(s) ? find_member(s, pid) : NULL;

	return m && !m->settled && !set_by_values(s, &m->values);
}

void fsc_labelsets_forget(struct fsc_labelsets *s, pid_t pid)
{
	struct labelset_member *m = find_member(s, pid);

	if (!m)
		return;
	fsc_map_remove(&s->members, &pid, sizeof(pid));
	member_free(s, m);
}

/* ---- questions ---- */

bool fsc_labelsets_on(const struct fsc_labelsets *s)
{
	return s->o.labels;
}

size_t fsc_labelsets_users(const struct fsc_labelsets *s, uint32_t owner)
{
	return labelset_by_number(s, owner)->users;
}

bool fsc_labelsets_knows(const struct fsc_labelsets *s, pid_t pid)
{
	return find_member(s, pid);
}

uint32_t fsc_labelsets_owner(const struct fsc_labelsets *s, pid_t pid)
{
	const struct labelset_member *m = find_member(s, pid);

	return m ? m->set->number : FSC_TALLY_NOBODY;
}

const struct fsc_label *fsc_labelsets_of(const struct fsc_labelsets *s, uint32_t owner,
					 size_t *ret_n)
{
	const struct labelset_member *m =
	    owner < FSC_TALLY_SETS ? find_member(s, (pid_t)owner) : NULL;

	*ret_n = s->n_labels;
	if (!s->n_labels)
		return NULL;
	return m ? m->set->labels : labelset_by_number(s, owner)->labels;
}

const struct fsc_label *fsc_labelsets_fields(const struct fsc_labelsets *s, uint32_t pid,
					     size_t *ret_n)
{
	const struct labelset_member *m = pid < FSC_TALLY_SETS ? find_member(s, (pid_t)pid) : NULL;

	*ret_n = m ? m->n_fields : 0;
	return *ret_n ? m->fields : NULL;
}

/* ---- all of them ---- */

int fsc_labelsets_new(struct fsc_labelsets **ret, struct fsc_err *err)
{
	struct fsc_labelsets *s = calloc(1, sizeof(*s));

	if (!s)
		return fsc_err_nomem(err);
	s->all = FSC_VEC_INIT(struct labelset *);
	s->none.number = FSC_TALLY_NOBODY;
	s->other.number = FSC_TALLY_OTHER;
	*ret = s;
	return 0;
}

/* All members have left them. */
static void drop_sets(struct fsc_labelsets *s)
{
	for (size_t i = 0; i < s->all.n; i++)
		set_free(*FSC_AT(struct labelset *, &s->all, i));
	s->all.n = 0;
	fsc_map_release(&s->by_values);
	fsc_map_release(&s->by_number);
}

static struct labelset_member *member_at(const struct fsc_labelsets *s, size_t i)
{
	return s->members.slots[i].key
		   ? (struct labelset_member *)(uintptr_t)s->members.slots[i].value
		   : NULL;
}

static void drop_members(struct fsc_labelsets *s)
{
	for (size_t i = 0; i < s->members.cap; i++)
		if (member_at(s, i))
			member_free(s, member_at(s, i));
	fsc_map_release(&s->members);
}

void fsc_labelsets_free(struct fsc_labelsets *s)
{
	if (!s)
		return;
	drop_members(s);
	drop_sets(s);
	fsc_vec_release(&s->all);
	free(s);
}

bool fsc_labelsets_differ(const struct fsc_labelsets *s, const struct fsc_labelsets_opts *o)
{
	return s->o.labels != o->labels;
}

static void empty_member(struct fsc_labelsets *s, struct labelset_member *m, bool labels,
			 bool fields)
{
	if (labels) {
		join_set(s, m, &s->none);
		fsc_buf_release(&m->values);
	}
	if (!fields)
		return;
	fsc_buf_release(&m->texts);
	m->n_fields = 0;
}

static bool read_member(struct fsc_labelsets *s, struct labelset_member *m, bool labels,
			bool fields)
{
	if (labels && (!read_values(s, m) || (m->settled && !settle_member(s, m))))
		return false;
	return !fields || read_fields(s, m);
}

/* Also of those that have called a function: what is shown of them changes anyway. */
static int read_again(struct fsc_labelsets *s, bool labels, bool fields, struct fsc_err *err)
{
	for (size_t i = 0; i < s->members.cap; i++) {
		struct labelset_member *m = member_at(s, i);

		if (m && !read_member(s, m, labels, fields))
			return fsc_err_nomem(err);
	}
	return 0;
}

int fsc_labelsets_use(struct fsc_labelsets *s, const struct fsc_labelsets_opts *o,
		      struct fsc_err *err)
{
	const bool labels = fsc_labelsets_differ(s, o), fields = s->o.fields != o->fields;

	if (!o->labels && !o->fields)
		drop_members(s);
	for (size_t i = 0; i < s->members.cap; i++)
		if (member_at(s, i))
			empty_member(s, member_at(s, i), labels, fields);
	if (labels)
		drop_sets(s);
	s->o = *o;
	s->n_labels = (size_t)__builtin_popcount(o->labels);
	name_constant(s, &s->none, "");
	name_constant(s, &s->other, "other");
	return read_again(s, labels, fields, err);
}
