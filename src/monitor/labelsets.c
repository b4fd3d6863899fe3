/* Sets by their values and by their number, and the processes of each. */
#include "monitor/labelsets.h"

#include <stdlib.h>
#include <string.h>

#include "proc/task.h"

struct set {
	uint32_t number;
	size_t users;	/* processes that made calls, and run or have exited lately */
	uint64_t since; /* of one without: how many had lost theirs before */
	size_t rows;
	bool marked;
	struct fsc_label labels[FSC_LABELS];
	struct fsc_buf values; /* each ended by a NUL */
};

struct member {
	pid_t pid;
	bool settled;	       /* has called a function: labels and fields stay */
	struct fsc_buf values; /* of its labels, before that: most processes never do */
	struct set *set;       /* afterwards */
	struct fsc_label fields[FSC_PROCESS_FIELDS];
	size_t n_fields;
	struct fsc_buf texts; /* of the fields */
};

struct fsc_labelsets {
	struct fsc_labelsets_opts o;
	size_t n_labels;
	struct set none, other; /* not among all */
	struct fsc_vec all;	/* struct set * */
	struct fsc_map by_values, by_number;
	struct fsc_map members; /* pid -> struct member * */
	uint32_t last;		/* number of the newest set */
	uint64_t idled;
	uint64_t folded;
};

/* ---- sets ---- */

/* Names the values that are in the set's buffer. */
static void name_values(const struct fsc_labelsets *s, struct set *x)
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

static void name_constant(const struct fsc_labelsets *s, struct set *x, const char *value)
{
	size_t n = 0;

	for (size_t i = 0; i < FSC_LABELS; i++)
		if (s->o.labels & 1u << i)
			x->labels[n++] = (struct fsc_label){fsc_label_names[i], value};
}

static void set_free(struct set *x)
{
	fsc_buf_release(&x->values);
	free(x);
}

static void drop_set(struct fsc_labelsets *s, struct set *x)
{
	fsc_map_remove(&s->by_values, x->values.s, x->values.n);
	fsc_map_remove(&s->by_number, &x->number, sizeof(x->number));
	set_free(x);
}

/* Takes the values. NULL: memory is out. */
static struct set *add_set(struct fsc_labelsets *s, struct fsc_buf *values)
{
	struct set *x = calloc(1, sizeof(*x)), **slot = x ? fsc_vec_push(&s->all) : NULL;
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
	*x = (struct set){.number = number, .values = *values, .since = s->idled++};
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

/* The set of these values. NULL: memory is out. */
static struct set *find_set(struct fsc_labelsets *s, struct fsc_buf *values)
{
	const uint64_t *at;

	if (is_empty(values))
		return &s->none;
	at = fsc_map_get(&s->by_values, values->s, values->n);
	if (at)
		return (struct set *)(uintptr_t)*at;
	if (!is_full(s))
		return add_set(s, values);
	s->folded++;
	return &s->other;
}

static struct set *set_by_number(const struct fsc_labelsets *s, uint32_t number)
{
	const uint64_t *at;

	if (number == FSC_TALLY_OTHER || number == FSC_TALLY_FOLDED)
		return (struct set *)&s->other;
	at = fsc_map_get(&s->by_number, &number, sizeof(number));
	return at ? (struct set *)(uintptr_t)*at : (struct set *)&s->none;
}

static void leave_set(struct fsc_labelsets *s, struct member *m)
{
	if (!--m->set->users)
		m->set->since = s->idled++;
}

static void join_set(struct fsc_labelsets *s, struct member *m, struct set *x)
{
	x->users++;
	x->marked = false;
	leave_set(s, m);
	m->set = x;
}

/* ---- processes ---- */

static struct member *find_member(const struct fsc_labelsets *s, pid_t pid)
{
	const uint64_t *at = fsc_map_get(&s->members, &pid, sizeof(pid));

	return at ? (struct member *)(uintptr_t)*at : NULL;
}

static struct member *add_member(struct fsc_labelsets *s, pid_t pid)
{
	struct member *m = calloc(1, sizeof(*m));
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

static void member_free(struct fsc_labelsets *s, struct member *m)
{
	leave_set(s, m);
	fsc_buf_release(&m->values);
	fsc_buf_release(&m->texts);
	free(m);
}

/* In version 1 a zombie is in the root. */
static bool is_known_better(const struct member *m, const struct fsc_buf *values)
{
	return m->values.n && is_empty(values) && fsc_task_is_zombie(m->pid);
}

static bool read_values(const struct fsc_labelsets *s, struct member *m)
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
static bool settle_member(struct fsc_labelsets *s, struct member *m)
{
	struct set *x = find_set(s, &m->values);

	if (!x)
		return false;
	join_set(s, m, x);
	fsc_buf_release(&m->values);
	m->settled = true;
	return true;
}

static bool read_fields(const struct fsc_labelsets *s, struct member *m)
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
	struct member *m;

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

void fsc_labelsets_forget(struct fsc_labelsets *s, pid_t pid)
{
	struct member *m = find_member(s, pid);

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
	return set_by_number(s, owner)->users;
}

bool fsc_labelsets_knows(const struct fsc_labelsets *s, pid_t pid)
{
	return find_member(s, pid);
}

uint32_t fsc_labelsets_owner(const struct fsc_labelsets *s, pid_t pid)
{
	const struct member *m = find_member(s, pid);

	return m ? m->set->number : FSC_TALLY_NOBODY;
}

const struct fsc_label *fsc_labelsets_of(const struct fsc_labelsets *s, uint32_t owner,
					 size_t *ret_n)
{
	const struct member *m = owner < FSC_TALLY_SETS ? find_member(s, (pid_t)owner) : NULL;

	*ret_n = s->n_labels;
	if (!s->n_labels)
		return NULL;
	return m ? m->set->labels : set_by_number(s, owner)->labels;
}

const struct fsc_label *fsc_labelsets_fields(const struct fsc_labelsets *s, uint32_t pid,
					     size_t *ret_n)
{
	const struct member *m = pid < FSC_TALLY_SETS ? find_member(s, (pid_t)pid) : NULL;

	*ret_n = m ? m->n_fields : 0;
	return *ret_n ? m->fields : NULL;
}

/* ---- folding ---- */

size_t fsc_labelsets_most(const struct fsc_labelsets *s)
{
	return s->o.most;
}

size_t fsc_labelsets_count(const struct fsc_labelsets *s)
{
	return s->all.n;
}

uint64_t fsc_labelsets_folded(const struct fsc_labelsets *s)
{
	return s->folded;
}

void fsc_labelsets_count_row(struct fsc_labelsets *s, uint32_t owner)
{
	if (owner >= FSC_TALLY_SETS)
		set_by_number(s, owner)->rows++;
}

static int oldest_first(const void *pa, const void *pb)
{
	const struct set *const *a = pa, *const *b = pb;

	return fsc_compare_u64((*a)->since, (*b)->since);
}

int fsc_labelsets_mark(struct fsc_labelsets *s, size_t sets, size_t rows, size_t *ret,
		       struct fsc_err *err)
{
	struct set **idle = calloc(s->all.n + 1, sizeof(struct set *));
	size_t n = 0, have = 0;

	*ret = 0;
	if (!idle)
		return fsc_err_nomem(err);
	for (size_t i = 0; i < s->all.n; i++) {
		struct set *x = *FSC_AT(struct set *, &s->all, i);

		have += x->rows;
		x->marked = false;
		if (!x->users)
			idle[n++] = x;
	}
	qsort(idle, n, sizeof(struct set *), oldest_first);
	for (; *ret < n && (s->all.n - *ret > sets || have > rows); ++*ret) {
		idle[*ret]->marked = true;
		have -= idle[*ret]->rows;
	}
	free(idle);
	for (size_t i = 0; i < s->all.n; i++)
		(*FSC_AT(struct set *, &s->all, i))->rows = 0;
	return 0;
}

bool fsc_labelsets_marked(const struct fsc_labelsets *s, uint32_t owner)
{
	return owner >= FSC_TALLY_SETS && set_by_number(s, owner)->marked;
}

void fsc_labelsets_drop_marked(struct fsc_labelsets *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->all.n; i++) {
		struct set *x = *FSC_AT(struct set *, &s->all, i);

		s->folded += x->marked;
		if (x->marked)
			drop_set(s, x);
		else
			*FSC_AT(struct set *, &s->all, kept++) = x;
	}
	s->all.n = kept;
}

/* ---- all of them ---- */

int fsc_labelsets_new(struct fsc_labelsets **ret, struct fsc_err *err)
{
	struct fsc_labelsets *s = calloc(1, sizeof(*s));

	if (!s)
		return fsc_err_nomem(err);
	s->all = FSC_VEC_INIT(struct set *);
	s->none.number = FSC_TALLY_NOBODY;
	s->other.number = FSC_TALLY_OTHER;
	*ret = s;
	return 0;
}

/* All members have left them. */
static void drop_sets(struct fsc_labelsets *s)
{
	for (size_t i = 0; i < s->all.n; i++)
		set_free(*FSC_AT(struct set *, &s->all, i));
	s->all.n = 0;
	fsc_map_release(&s->by_values);
	fsc_map_release(&s->by_number);
}

static struct member *member_at(const struct fsc_labelsets *s, size_t i)
{
	return s->members.slots[i].key ? (struct member *)(uintptr_t)s->members.slots[i].value
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

static void empty_member(struct fsc_labelsets *s, struct member *m, bool labels, bool fields)
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

static bool read_member(struct fsc_labelsets *s, struct member *m, bool labels, bool fields)
{
	if (labels && (!read_values(s, m) || (m->settled && !settle_member(s, m))))
		return false;
	return !fields || read_fields(s, m);
}

/* Also of those that have called a function: what is shown of them changes anyway. */
static int read_again(struct fsc_labelsets *s, bool labels, bool fields, struct fsc_err *err)
{
	for (size_t i = 0; i < s->members.cap; i++) {
		struct member *m = member_at(s, i);

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
