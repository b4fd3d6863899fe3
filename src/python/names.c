/* Names of Python frames: code objects are read out of the memory of processes, once each, and kept
 * with their tables of lines, so that a process may end before the next question. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "python/python_priv.h"

#define FUNCTION_MAX 256
#define FILE_MAX     1024
#define TABLE_MAX    65536
/* Programs that make functions while they run must not fill our memory. */
#define CODES_MAX 65536
#define UNIT_SIZE 2

struct code {
	const char *function, *file; /* owned by the fsc_pythons */
	unsigned first;
	uint8_t *table;
	size_t n;
};

struct process {
	int rc; /* of fsc_python_describe */
	struct fsc_python_layout layout;
	struct fsc_map index; /* address -> place in codes, from 1 */
	struct fsc_vec codes; /* struct code */
};

struct fsc_pythons {
	struct fsc_map processes; /* pid_t -> struct process *, 0: forgotten */
	struct fsc_map texts;	  /* letters -> char *, the same with an end */
};

int fsc_pythons_new(struct fsc_pythons **ret, struct fsc_err *err)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : fsc_err_nomem(err);
}

static void drop_codes(struct process *proc)
{
	for (size_t i = 0; i < proc->codes.n; i++)
		free(FSC_AT(struct code, &proc->codes, i)->table);
	fsc_vec_release(&proc->codes);
	fsc_map_release(&proc->index);
}

static void process_free(struct process *proc)
{
	if (!proc)
		return;
	drop_codes(proc);
	free(proc);
}

static struct process *as_process(uint64_t value)
{
	return (struct process *)(uintptr_t)value;
}

void fsc_pythons_free(struct fsc_pythons *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->processes.cap; i++)
		process_free(as_process(p->processes.slots[i].value));
	for (size_t i = 0; i < p->texts.cap; i++)
		free((char *)(uintptr_t)p->texts.slots[i].value);
	fsc_map_release(&p->processes);
	fsc_map_release(&p->texts);
	free(p);
}

void fsc_pythons_freep(struct fsc_pythons **p)
{
	fsc_pythons_free(*p);
}

void fsc_pythons_forget(struct fsc_pythons *p, pid_t pid)
{
	uint64_t *slot = fsc_map_get(&p->processes, &pid, sizeof(pid));

	if (!slot)
		return;
	process_free(as_process(*slot));
	*slot = 0;
}

/* A process, examined at the first request; NULL if it is not Python or cannot be read (*rc
 * is then as fsc_python_find returns it). */
static struct process *get_process(struct fsc_pythons *p, pid_t pid, int *rc, struct fsc_err *err)
{
	uint64_t *slot = fsc_map_put(&p->processes, &pid, sizeof(pid), NULL);
	struct process *proc = slot ? as_process(*slot) : NULL;

	if (slot && !proc) {
		proc = calloc(1, sizeof(*proc));
		*slot = (uintptr_t)proc;
		if (proc) {
			proc->codes = FSC_VEC_INIT(struct code);
			proc->rc = fsc_python_describe(pid, &proc->layout, err);
		}
	}
	*rc = proc ? proc->rc : fsc_err_nomem(err);
	return *rc > 0 ? proc : NULL;
}

int fsc_pythons_find(struct fsc_pythons *p, pid_t pid, struct fsc_python *ret, struct fsc_err *err)
{
	struct process *proc;
	int rc;

	fsc_pythons_forget(p, pid);
	proc = get_process(p, pid, &rc, err);
	if (proc)
		*ret = proc->layout.walk;
	return rc;
}

/* An interned copy of the text. NULL: out of memory. */
static const char *keep_text(struct fsc_pythons *p, const struct fsc_buf *text)
{
	const char *s = fsc_buf_str(text);
	uint64_t *slot = fsc_map_put(&p->texts, s, text->n, NULL);

	if (slot && !*slot)
		*slot = (uintptr_t)strdup(s);
	return slot ? (const char *)(uintptr_t)*slot : NULL;
}

/* Adds one letter as UTF-8; false where it would grow beyond max. What is no letter by itself
 * (halves of pairs, undecodable bytes of file names) becomes U+FFFD. */
static bool add_letter(struct fsc_buf *b, uint32_t c, size_t max)
{
	char s[4];
	size_t n = 0;

	if ((c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		c = 0xfffd;
	if (c < 0x80) {
		s[n++] = (char)c;
	} else if (c < 0x800) {
		s[n++] = (char)(0xc0 | c >> 6);
	} else if (c < 0x10000) {
		s[n++] = (char)(0xe0 | c >> 12);
		s[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	} else {
		s[n++] = (char)(0xf0 | c >> 18);
		s[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		s[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	}
	if (c >= 0x80)
		s[n++] = (char)(0x80 | (c & 0x3f));
	if (b->n + n > max)
		return false;
	fsc_buf_add(b, s, n);
	return true;
}

static uint32_t letter_at(const char *letters, size_t i, unsigned kind)
{
	uint32_t c = 0;

	memcpy(&c, letters + i * kind, kind); /* little-endian, as all machines we run on */
	return c;
}

/* Reads a str, at most max bytes of it. Whether there was one. */
static bool read_text(pid_t pid, const struct fsc_python_objects *o, uint64_t at, size_t max,
		      struct fsc_buf *ret)
{
	char letters[FILE_MAX * sizeof(uint32_t)];
	uint64_t length;
	uint32_t state;
	unsigned kind;
	bool ascii;

	if (!fsc_python_read(pid, at + o->text_length, &length, sizeof(length)) ||
	    !fsc_python_read(pid, at + o->text_state, &state, sizeof(state)))
		return false;
	/* interned: 2 bits (how), kind: 3 (bytes per letter), compact: 1, ascii: 1 */
	kind = state >> 2 & 7;
	ascii = state >> 6 & 1;
	if (!(state >> 5 & 1) || (kind != 1 && kind != 2 && kind != 4))
		return false;
	length = length < max ? length : max;
	if (!fsc_python_read(pid, at + (ascii ? o->text_ascii : o->text_compact), letters,
			     length * kind))
		return false;
	for (size_t i = 0; i < length; i++) {
		if (!add_letter(ret, letter_at(letters, i, kind), max))
			break;
	}
	return true;
}

/* Reads the str that a field of the code object points to. 1: done; 0: unreadable. */
static int read_name(struct fsc_pythons *p, pid_t pid, const struct fsc_python_objects *o,
		     uint64_t field, size_t max, const char **ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf text = {0};
	uint64_t at;

	if (!fsc_python_read(pid, field, &at, sizeof(at)) || !read_text(pid, o, at, max, &text))
		return 0;
	*ret = fsc_buf_failed(&text) ? NULL : keep_text(p, &text);
	return *ret ? 1 : fsc_err_nomem(err);
}

static int read_table(pid_t pid, const struct fsc_python_objects *o, uint64_t field,
		      struct code *ret, struct fsc_err *err)
{
	uint64_t at, size;

	if (!fsc_python_read(pid, field, &at, sizeof(at)) ||
	    !fsc_python_read(pid, at + o->bytes_size, &size, sizeof(size)))
		return 0;
	ret->n = size < TABLE_MAX ? size : TABLE_MAX;
	ret->table = malloc(ret->n + 1);
	if (!ret->table)
		return fsc_err_nomem(err);
	if (fsc_python_read(pid, at + o->bytes_data, ret->table, ret->n))
		return 1;
	free(ret->table);
	return 0;
}

/* Reads a code object into *ret. 1: done; 0: unreadable. */
static int read_code(struct fsc_pythons *p, pid_t pid, const struct fsc_python_objects *o,
		     uint64_t code, struct code *ret, struct fsc_err *err)
{
	int32_t first;
	int rc;

	if (!fsc_python_read(pid, code + o->code_first_line, &first, sizeof(first)))
		return 0;
	ret->first = first > 0 ? (unsigned)first : 0;
	rc = read_name(p, pid, o, code + o->code_name, FUNCTION_MAX, &ret->function, err);
	if (rc > 0)
		rc = read_name(p, pid, o, code + o->code_file, FILE_MAX, &ret->file, err);
	if (rc > 0)
		rc = read_table(pid, o, code + o->code_lines, ret, err);
	return rc;
}

/* The code object at an address, read if it was not before. 1: *ret is good until the next call;
 * 0: unreadable. */
static int get_code(struct fsc_pythons *p, pid_t pid, struct process *proc, uint64_t addr,
		    const struct code **ret, struct fsc_err *err)
{
	uint64_t *slot = fsc_map_get(&proc->index, &addr, sizeof(addr));
	struct code fresh = {0}, *place;
	int rc;

	if (slot) {
		*ret = FSC_AT(struct code, &proc->codes, *slot - 1);
		return 1;
	}
	rc = read_code(p, pid, &proc->layout.objects, addr, &fresh, err);
	if (rc <= 0)
		return rc;
	if (proc->codes.n >= CODES_MAX) {
		drop_codes(proc);
		proc->codes = FSC_VEC_INIT(struct code);
	}
	place = fsc_vec_push(&proc->codes);
	slot = place ? fsc_map_put(&proc->index, &addr, sizeof(addr), NULL) : NULL;
	if (!slot) {
		proc->codes.n -= place ? 1 : 0;
		free(fresh.table);
		return fsc_err_nomem(err);
	}
	*place = fresh;
	*slot = proc->codes.n;
	*ret = place;
	return 1;
}

static unsigned line_of(const struct fsc_python_layout *l, const struct code *c, uint64_t code,
			uint64_t instr)
{
	if (l->walk.frame_instr_size == sizeof(uint32_t))
		return fsc_python_line_310(c->table, c->n, c->first,
					   (int64_t)(int32_t)instr * UNIT_SIZE);
	return fsc_python_line_311(c->table, c->n, c->first,
				   (int64_t)(instr - (code + l->objects.code_instrs)));
}

int fsc_pythons_frame(struct fsc_pythons *p, pid_t pid, uint64_t code, uint64_t instr,
		      const char **function, const char **file, unsigned *line, struct fsc_err *err)
{
	const struct code *c = NULL;
	struct process *proc;
	int rc;

	proc = get_process(p, pid, &rc, err);
	if (!proc)
		return rc == -ENOMEM ? rc : 0;
	rc = get_code(p, pid, proc, code, &c, err);
	if (rc <= 0 || !c)
		return rc < 0 ? rc : 0;
	*function = c->function;
	*file = c->file;
	*line = line_of(&proc->layout, c, code, instr);
	return 1;
}
