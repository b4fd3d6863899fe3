/* Symbolizing and storing the stacks of CUDA calls. */
#include "gpu/stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"

enum {
	MOST_STACKS = 65536,
	MOST_ADDRESSES = 65536, /* then the cache is emptied */
};

struct kept {
	const char **frames, **python;
	size_t n, n_python;
};

struct fsc_gpu_stacks {
	struct fsc_namer *namer;
	const struct fsc_copies *copies; /* NULL: records have their stacks */
	struct fsc_gpu_texts *texts;
	struct fsc_pythons *pythons;
	struct fsc_map by_address; /* pid, addresses and lines -> index */
	struct fsc_map by_name;	   /* the text of all frames -> index */
	struct fsc_vec kept;	   /* struct kept; index 0 is none */
	uint64_t lost, n_frames, unknown;
	struct fsc_buf text; /* frames of the stack being symbolized */
};

int fsc_gpu_stacks_new(struct fsc_namer *namer, const struct fsc_copies *copies,
		       struct fsc_gpu_texts *texts, struct fsc_gpu_stacks **ret,
		       struct fsc_err *err)
{
	struct fsc_gpu_stacks *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return fsc_err_nomem(err);
	s->namer = namer;
	s->copies = copies;
	s->texts = texts;
	s->kept = FSC_VEC_INIT(struct kept);
	rc = fsc_vec_push(&s->kept) ? fsc_pythons_new(&s->pythons, err) : fsc_err_nomem(err);
	if (rc)
		fsc_gpu_stacks_free(s);
	else
		*ret = s;
	return rc;
}

void fsc_gpu_stacks_free(struct fsc_gpu_stacks *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->kept.n; i++) {
		free(FSC_AT(struct kept, &s->kept, i)->frames);
		free(FSC_AT(struct kept, &s->kept, i)->python);
	}
	fsc_vec_release(&s->kept);
	fsc_map_release(&s->by_address);
	fsc_map_release(&s->by_name);
	fsc_pythons_free(s->pythons);
	fsc_buf_release(&s->text);
	free(s);
}

/* ---- names ---- */

/* "function", or "[file]" if unknown. */
static int add_frame(const struct fsc_frame *f, void *arg, struct fsc_err *err)
{
	struct fsc_gpu_stacks *s = arg;

	(void)err;
	s->n_frames++;
	s->unknown += f->unknown;
	if (f->unknown)
		fsc_buf_printf(&s->text, "[%s]",
			       f->binary && *f->binary ? fsc_str_base(f->binary) : "unknown");
	else
		fsc_buf_puts(&s->text, f->name);
	fsc_buf_putc(&s->text, '\n');
	return 0;
}

/* A uretprobe replaces the return address of a function by its trampoline's; before Linux 6.11
 * stacks show that. The record has the real ones: the runtime's first, then the library's. */
static void restore_return_addresses(struct fsc_gpu_stacks *s, struct fsc_addrs *a,
				     const struct fsc_gpu_rec *rec)
{
	struct fsc_spaces *spaces = fsc_namer_spaces(s->namer);
	uint64_t callers[2] = {rec->via ? rec->caller : rec->library_caller,
			       rec->via ? rec->library_caller : 0};
	size_t n = 0, used = 0;

	for (size_t i = 0; i < a->n; i++) {
		const struct fsc_mapping *m = fsc_spaces_find(spaces, a->pid, a->at[i]);

		if (!m || strcmp(m->path, "[uprobes]"))
			a->at[n++] = a->at[i];
		else if (used < 2 && callers[used])
			a->at[n++] = callers[used++];
	}
	a->n = n;
}

/* Of the record, or of the copy that it refers to. */
static struct fsc_addrs native_stack(const struct fsc_gpu_stacks *s, const struct fsc_gpu_rec *rec,
				     const struct fsc_gpu_rec_stack *stack)
{
	struct fsc_addrs a = {.pid = (pid_t)rec->pid,
			      .n = rec->n_stack < FSC_STACK_DEPTH ? rec->n_stack : FSC_STACK_DEPTH};
	bool cut;

	if (s->copies && rec->copy > 0)
		fsc_copies_find(s->copies, rec->copy, &a, &cut);
	else
		memcpy(a.at, stack->stack, a.n * sizeof(a.at[0]));
	a.returned = rec->flags & FSC_GPU_REC_RETURN;
	return a;
}

static int name_native(struct fsc_gpu_stacks *s, const struct fsc_gpu_rec *rec,
		       const struct fsc_gpu_rec_stack *stack, struct fsc_err *err)
{
	struct fsc_addrs a = native_stack(s, rec, stack);

	restore_return_addresses(s, &a, rec);
	return fsc_namer_frames(s->namer, &a, add_frame, s, err);
}

static int name_python(struct fsc_gpu_stacks *s, const struct fsc_gpu_rec *rec,
		       const struct fsc_gpu_rec_stack *stack, struct fsc_err *err)
{
	size_t n = rec->n_python < FSC_PYTHON_FRAMES ? rec->n_python : FSC_PYTHON_FRAMES;

	fsc_buf_putc(&s->text, '\f');
	for (size_t i = 0; i < n; i++) {
		const char *function, *file;
		unsigned line;
		int rc = fsc_pythons_frame(s->pythons, (pid_t)rec->pid, stack->python[i].code,
					   stack->python[i].instr, &function, &file, &line, err);

		if (rc < 0)
			return rc;
		s->n_frames++;
		s->unknown += !rc;
		if (rc)
			fsc_buf_printf(&s->text, "%s (%s:%u)\n", function, file, line);
		else
			fsc_buf_puts(&s->text, "[unknown]\n");
	}
	return 0;
}

/* ---- keeping ---- */

static int split_frames(struct fsc_gpu_stacks *s, char *text, const char ***ret, size_t *ret_n,
			struct fsc_err *err)
{
	char *line;
	size_t n = 0;

	for (const char *c = text; *c; c++)
		n += *c == '\n';
	*ret = calloc(n + 1, sizeof(**ret));
	if (!*ret)
		return fsc_err_nomem(err);
	for (*ret_n = 0; *ret_n < n && (line = strsep(&text, "\n")); ++*ret_n) {
		(*ret)[*ret_n] = fsc_gpu_text(s->texts, line);
		if (!(*ret)[*ret_n])
			return fsc_err_nomem(err);
	}
	return 0;
}

/* Stores the stack in s->text. */
static int keep_stack(struct fsc_gpu_stacks *s, uint32_t *ret, struct fsc_err *err)
{
	char *python = strchr(s->text.s, '\f');
	struct kept *k = fsc_vec_push(&s->kept);
	int rc;

	if (!k)
		return fsc_err_nomem(err);
	*ret = (uint32_t)(s->kept.n - 1);
	*python++ = '\0';
	rc = split_frames(s, s->text.s, &k->frames, &k->n, err);
	return rc ? rc : split_frames(s, python, &k->python, &k->n_python, err);
}

static int name_stack(struct fsc_gpu_stacks *s, const struct fsc_gpu_rec *rec,
		      const struct fsc_gpu_rec_stack *stack, uint32_t *ret, struct fsc_err *err)
{
	uint64_t *at;
	bool fresh;
	int rc;

	fsc_buf_clear(&s->text);
	rc = name_native(s, rec, stack, err);
	if (!rc)
		rc = name_python(s, rec, stack, err);
	if (rc)
		return rc;
	*ret = 0;
	if (fsc_buf_failed(&s->text))
		return fsc_err_nomem(err);
	if (s->text.n == 1)
		return 0;
	at = fsc_map_get(&s->by_name, s->text.s, s->text.n);
	if (at) {
		*ret = (uint32_t)*at;
		return 0;
	}
	if (s->kept.n >= MOST_STACKS) {
		s->lost++;
		return 0;
	}
	at = fsc_map_put(&s->by_name, s->text.s, s->text.n, &fresh);
	if (!at)
		return fsc_err_nomem(err);
	*at = s->kept.n;
	return keep_stack(s, ret, err);
}

struct key {
	uint64_t pid, caller, library_caller;
	uint64_t at[FSC_STACK_DEPTH + 2 * FSC_PYTHON_FRAMES];
};

static size_t fill_key(const struct fsc_gpu_stacks *s, const struct fsc_gpu_rec *rec,
		       const struct fsc_gpu_rec_stack *stack, struct key *key)
{
	const struct fsc_addrs a = native_stack(s, rec, stack);
	size_t n = a.n < FSC_STACK_DEPTH ? a.n : FSC_STACK_DEPTH;
	size_t n_python = rec->n_python < FSC_PYTHON_FRAMES ? rec->n_python : FSC_PYTHON_FRAMES;

	key->pid = rec->pid;
	key->caller = rec->caller;
	key->library_caller = rec->library_caller;
	memcpy(key->at, a.at, n * 8);
	memcpy(key->at + n, stack->python, n_python * 16);
	return offsetof(struct key, at) + (n + 2 * n_python) * 8;
}

int fsc_gpu_stacks_prefetch(struct fsc_gpu_stacks *s, const struct fsc_gpu_rec *rec,
			    const struct fsc_gpu_rec_stack *stack, struct fsc_err *err)
{
	struct key key;

	if (!rec->n_python || fsc_map_get(&s->by_address, &key, fill_key(s, rec, stack, &key)))
		return 0;
	for (size_t i = 0; i < rec->n_python && i < FSC_PYTHON_FRAMES; i++) {
		const char *function, *file;
		unsigned line;
		int rc = fsc_pythons_frame(s->pythons, (pid_t)rec->pid, stack->python[i].code,
					   stack->python[i].instr, &function, &file, &line, err);

		if (rc < 0)
			return rc;
	}
	return 0;
}

int fsc_gpu_stacks_take(struct fsc_gpu_stacks *s, const struct fsc_gpu_rec *rec,
			const struct fsc_gpu_rec_stack *stack, uint32_t *ret, struct fsc_err *err)
{
	struct key key;
	uint64_t *at;
	bool fresh;
	int rc;

	if (s->by_address.n >= MOST_ADDRESSES)
		fsc_map_release(&s->by_address);
	at = fsc_map_put(&s->by_address, &key, fill_key(s, rec, stack, &key), &fresh);
	if (!at)
		return fsc_err_nomem(err);
	if (!fresh) {
		*ret = (uint32_t)*at;
		return 0;
	}
	rc = name_stack(s, rec, stack, ret, err);
	*at = *ret;
	return rc;
}

struct fsc_gpu_stack fsc_gpu_stacks_at(const struct fsc_gpu_stacks *s, uint32_t n)
{
	const struct kept *k = FSC_AT(struct kept, &s->kept, n);

	return (struct fsc_gpu_stack){
	    .frames = k->frames, .n = k->n, .python = k->python, .n_python = k->n_python};
}

int fsc_gpu_stacks_python(struct fsc_gpu_stacks *s, pid_t pid, struct fsc_python *ret,
			  struct fsc_err *err)
{
	struct fsc_err why = {0};
	int rc = fsc_pythons_find(s->pythons, pid, ret, &why);

	if (rc == -ENOMEM)
		return fsc_err_nomem(err);
	if (rc <= 0)
		fsc_log(FSC_LOG_DEBUG, "no Python stacks of process %d: %s", (int)pid, why.msg);
	return rc > 0;
}

const char *fsc_gpu_stacks_owner(struct fsc_gpu_stacks *s, pid_t pid, uint64_t addr)
{
	const struct fsc_mapping *m = fsc_spaces_find(fsc_namer_spaces(s->namer), pid, addr);

	return m && *m->path ? fsc_gpu_text(s->texts, fsc_str_base(m->path)) : NULL;
}

void fsc_gpu_stacks_forget(struct fsc_gpu_stacks *s, pid_t pid)
{
	fsc_pythons_forget(s->pythons, pid);
	fsc_map_release(&s->by_address);
}

void fsc_gpu_stacks_books(const struct fsc_gpu_stacks *s, uint64_t *lost, uint64_t *frames,
			  uint64_t *unknown)
{
	*lost = s->lost;
	*frames = s->n_frames;
	*unknown = s->unknown;
}
