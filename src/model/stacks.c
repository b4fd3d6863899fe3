/* Stacks: deduplication, differences, order. The key of a frame is its text, that of a stack its
 * frame numbers. */
#include "model/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

void fsc_stacks_init(struct fsc_stacks *t, const struct fsc_func *funcs, size_t n_funcs)
{
	*t = (struct fsc_stacks){
	    .funcs = funcs,
	    .n_funcs = n_funcs,
	    .frames = FSC_VEC_INIT(struct fsc_frame),
	    .stacks = FSC_VEC_INIT(struct fsc_stack),
	    .ids = FSC_VEC_INIT(uint32_t),
	};
}

static void frame_release(struct fsc_frame *f)
{
	free((char *)f->name);
	free((char *)f->binary);
	free((char *)f->file);
}

void fsc_stacks_release(struct fsc_stacks *t)
{
	for (size_t i = 0; i < t->frames.n; i++)
		frame_release(FSC_AT(struct fsc_frame, &t->frames, i));
	fsc_vec_release(&t->frames);
	fsc_vec_release(&t->stacks);
	fsc_vec_release(&t->ids);
	fsc_map_release(&t->frame_index);
	fsc_map_release(&t->stack_index);
	fsc_stacks_init(t, NULL, 0);
}

/* With the NUL, so that different texts have different keys. */
static void add_text(struct fsc_buf *key, const char *s)
{
	fsc_buf_add(key, s ? s : "", strlen(s ? s : "") + 1);
}

static void frame_key(const struct fsc_frame *f, struct fsc_buf *key)
{
	fsc_buf_putc(key, (char)('0' + f->kernel + 2 * f->inlined + 4 * f->unknown));
	fsc_buf_add(key, (const char *)&f->offset, sizeof(f->offset));
	fsc_buf_add(key, (const char *)&f->line, sizeof(f->line));
	add_text(key, f->name);
	add_text(key, f->binary);
	add_text(key, f->file);
}

static int push_frame(struct fsc_stacks *t, const struct fsc_frame *f, struct fsc_err *err)
{
	struct fsc_frame copy = *f, *place = NULL;

	copy.name = strdup(f->name);
	copy.binary = strdup(f->binary ? f->binary : "");
	copy.file = f->file ? strdup(f->file) : NULL;
	if (copy.name && copy.binary && (copy.file || !f->file))
		place = fsc_vec_push(&t->frames);
	if (!place) {
		frame_release(&copy);
		return fsc_err_nomem(err);
	}
	*place = copy;
	return 0;
}

int fsc_stacks_frame(struct fsc_stacks *t, const struct fsc_frame *f, uint32_t *ret,
		     struct fsc_err *err)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf key = {0};
	struct fsc_frame plain = *f;
	uint64_t *slot;
	int rc;

	if (!t->offsets && !f->unknown) {
		plain.offset = plain.line = 0;
		plain.file = NULL;
	}
	frame_key(&plain, &key);
	slot = fsc_buf_failed(&key) ? NULL : fsc_map_put(&t->frame_index, key.s, key.n, NULL);
	if (!slot)
		return fsc_err_nomem(err);
	/* Stored as number + 1: if copying a frame fails, 0 remains and it is tried again. */
	if (!*slot) {
		rc = push_frame(t, &plain, err);
		if (rc)
			return rc;
		*slot = t->frames.n;
	}
	*ret = (uint32_t)(*slot - 1);
	return 0;
}

static void stack_key(const struct fsc_stack *s, const uint32_t *ids, size_t n, struct fsc_buf *key)
{
	fsc_buf_putc(key, (char)s->truncated);
	fsc_buf_add(key, (const char *)&s->func, sizeof(s->func));
	fsc_buf_add(key, (const char *)&s->pid, sizeof(s->pid));
	add_text(key, s->comm);
	if (n)
		fsc_buf_add(key, (const char *)ids, n * sizeof(*ids));
}

static int push_stack(struct fsc_stacks *t, const struct fsc_stack *s, const uint32_t *ids,
		      size_t n, struct fsc_err *err)
{
	size_t first = t->ids.n;
	struct fsc_stack *place;

	for (size_t i = 0; i < n; i++) {
		uint32_t *id = fsc_vec_push(&t->ids);

		if (!id)
			return fsc_err_nomem(err);
		*id = ids[i];
	}
	place = fsc_vec_push(&t->stacks);
	if (!place)
		return fsc_err_nomem(err);
	*place = *s;
	place->first = (uint32_t)first;
	place->n = (uint32_t)n;
	place->calls = place->time_ns = 0;
	return 0;
}

int fsc_stacks_add(struct fsc_stacks *t, const struct fsc_stack *s, const uint32_t *ids, size_t n,
		   struct fsc_err *err)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf key = {0};
	struct fsc_stack one = *s, *place;
	uint64_t *slot;
	int rc;

	if (!t->per_process)
		one.pid = 0;
	stack_key(&one, ids, n, &key);
	slot = fsc_buf_failed(&key) ? NULL : fsc_map_put(&t->stack_index, key.s, key.n, NULL);
	if (!slot)
		return fsc_err_nomem(err);
	if (!*slot) {
		rc = push_stack(t, &one, ids, n, err);
		if (rc)
			return rc;
		*slot = t->stacks.n;
	}
	place = FSC_AT(struct fsc_stack, &t->stacks, *slot - 1);
	place->calls += s->calls;
	place->time_ns += s->time_ns;
	return 0;
}

/* Translates the frames of s, a stack of `from`, to numbers of t. */
static int carry_ids(const struct fsc_stacks *from, const struct fsc_stack *s, struct fsc_stacks *t,
		     struct fsc_vec *ret, struct fsc_err *err)
{
	ret->n = 0;
	for (size_t i = 0; i < s->n; i++) {
		uint32_t *id = fsc_vec_push(ret);
		int rc = id ? fsc_stacks_frame(t, fsc_stacks_at(from, s, i), id, err)
			    : fsc_err_nomem(err);

		if (rc)
			return rc;
	}
	return 0;
}

/* Adds every stack of `from` to t, or subtracts it: unsigned sums wrap. */
static int carry_stacks(const struct fsc_stacks *from, bool negative, struct fsc_stacks *t,
			struct fsc_err *err)
{
	FSC_AUTO(fsc_vec_release) struct fsc_vec ids = FSC_VEC_INIT(uint32_t);
	int rc = 0;

	for (size_t i = 0; !rc && i < from->stacks.n; i++) {
		struct fsc_stack s = *FSC_AT(struct fsc_stack, &from->stacks, i);

		if (negative) {
			s.calls = -s.calls;
			s.time_ns = -s.time_ns;
		}
		rc = carry_ids(from, &s, t, &ids, err);
		if (!rc)
			rc = fsc_stacks_add(t, &s, ids.data, ids.n, err);
	}
	return rc;
}

int fsc_stacks_subtract(const struct fsc_stacks *later, const struct fsc_stacks *earlier,
			struct fsc_stacks *ret, struct fsc_err *err)
{
	struct fsc_stack *s;
	size_t kept = 0;
	int rc;

	fsc_stacks_init(ret, later->funcs, later->n_funcs);
	ret->one_in = later->one_in;
	ret->per_process = later->per_process;
	ret->by_time = later->by_time;
	ret->offsets = later->offsets;
	ret->time_ns = later->time_ns;
	rc = carry_stacks(later, false, ret, err);
	if (!rc)
		rc = carry_stacks(earlier, true, ret, err);
	if (rc) {
		fsc_stacks_release(ret);
		return rc;
	}
	s = ret->stacks.data;
	for (size_t i = 0; i < ret->stacks.n; i++)
		if (s[i].calls || s[i].time_ns)
			s[kept++] = s[i];
	ret->stacks.n = kept;
	fsc_map_release(&ret->stack_index); /* its indices are out of date */
	return 0;
}

const struct fsc_frame *fsc_stacks_at(const struct fsc_stacks *t, const struct fsc_stack *s,
				      size_t i)
{
	return FSC_AT(struct fsc_frame, &t->frames, *FSC_AT(uint32_t, &t->ids, s->first + i));
}

static int compare_frames(const struct fsc_stacks *t, const struct fsc_stack *a,
			  const struct fsc_stack *b)
{
	for (size_t i = 0; i < a->n && i < b->n; i++) {
		const struct fsc_frame *fa = fsc_stacks_at(t, a, i), *fb = fsc_stacks_at(t, b, i);
		int r = fa == fb ? 0 : strcmp(fa->name, fb->name);

		if (!r)
			r = strcmp(fa->binary, fb->binary);
		if (!r)
			r = fsc_compare_u64(fa->offset, fb->offset);
		if (r)
			return r;
	}
	return fsc_compare_u64(a->n, b->n);
}

static int compare_stacks(const void *va, const void *vb, void *arg)
{
	const struct fsc_stacks *t = arg;
	const struct fsc_stack *a = va, *b = vb;
	int r = fsc_compare_u64(fsc_stacks_weight(t, b), fsc_stacks_weight(t, a));

	if (!r)
		r = fsc_compare_u64(a->func, b->func);
	if (!r)
		r = strcmp(a->comm, b->comm);
	if (!r)
		r = fsc_compare_u64(a->pid, b->pid);
	if (!r)
		r = compare_frames(t, a, b);
	return r ? r : a->truncated - b->truncated;
}

void fsc_stacks_sort(struct fsc_stacks *t, size_t top)
{
	if (t->stacks.n)
		qsort_r(t->stacks.data, t->stacks.n, sizeof(struct fsc_stack), compare_stacks, t);
	fsc_map_release(&t->stack_index);
	if (!top || top >= t->stacks.n)
		return;
	for (size_t i = top; i < t->stacks.n; i++)
		t->left_out_weight += fsc_stacks_weight(t, FSC_AT(struct fsc_stack, &t->stacks, i));
	t->left_out += t->stacks.n - top;
	t->stacks.n = top;
}

uint64_t fsc_stacks_total(const struct fsc_stacks *t)
{
	uint64_t sum = t->left_out_weight;

	for (size_t i = 0; i < t->stacks.n; i++)
		sum += fsc_stacks_weight(t, FSC_AT(struct fsc_stack, &t->stacks, i));
	return sum;
}
