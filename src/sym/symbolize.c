/* struct fsc_symbolizer. An address is first located (which file, where in it), then answered, and
 * the answer is kept under that place: thousands of processes that run one library ask once. */
#include "sym/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/map.h"
#include "sym/answer.h"

/* An address to look up in debug information. */
struct wanted {
	const struct fsc_space_file *file;
	uint64_t addr;
};

struct fsc_symbolizer {
	struct fsc_spaces *spaces;
	struct fsc_symbolizer_opts opts;
	struct fsc_ksyms ksyms;
	bool ksyms_tried;
	struct fsc_vec answers; /* struct fsc_answer */
	struct fsc_map index;	/* struct place to number of the answer + 1 */
	struct fsc_vec wanted;	/* struct wanted */
	struct fsc_vec chains;	/* struct fsc_inlined */
	struct fsc_map asked;	/* struct spot to number of the chain + 1; 0: it has none */
	struct fsc_map misses;	/* pids whose maps were read again, since the last resolve() */
};

enum where { IN_KERNEL, IN_FILE, IN_MEMORY, NOWHERE };

/* What answers are kept under. */
struct place {
	uint32_t where, is_return;
	uint64_t space;	 /* number of the file, or pid */
	uint64_t offset; /* into the file, or the address */
};

/* A located address. */
struct located {
	struct place key;
	const struct fsc_space_file *file; /* IN_FILE */
	const char *memory;		   /* IN_MEMORY: its name; NULL: NOWHERE */
	uint64_t in_memory;		   /* into the mapping, or the address */
};

struct spot {
	uint64_t file, addr;
};

int fsc_symbolizer_new(struct fsc_spaces *spaces, const struct fsc_symbolizer_opts *opts,
		       struct fsc_symbolizer **ret, struct fsc_err *err)
{
	struct fsc_symbolizer *y = calloc(1, sizeof(*y));

	if (!y)
		return fsc_err_nomem(err);
	y->spaces = spaces;
	y->opts = *opts;
	y->answers = FSC_VEC_INIT(struct fsc_answer);
	y->wanted = FSC_VEC_INIT(struct wanted);
	y->chains = FSC_VEC_INIT(struct fsc_inlined);
	*ret = y;
	return 0;
}

void fsc_symbolizer_free(struct fsc_symbolizer *y)
{
	if (!y)
		return;
	for (size_t i = 0; i < y->answers.n; i++)
		fsc_answer_release(FSC_AT(struct fsc_answer, &y->answers, i));
	fsc_vec_release(&y->answers);
	fsc_vec_release(&y->wanted);
	fsc_inlines_release(&y->chains);
	fsc_map_release(&y->index);
	fsc_map_release(&y->asked);
	fsc_map_release(&y->misses);
	fsc_ksyms_release(&y->ksyms);
	free(y);
}

void fsc_symbolizer_freep(struct fsc_symbolizer **y)
{
	fsc_symbolizer_free(*y);
}

/* ---- locating ---- */

/* The mapping around an address; if there is none, the process's maps are read again, once. */
static int find_mapping(struct fsc_symbolizer *y, const struct fsc_address *a, uint64_t addr,
			const struct fsc_mapping **ret, struct fsc_err *err)
{
	pid_t pid = a->pid;
	bool fresh = false;

	*ret = fsc_spaces_find_at(y->spaces, pid, addr, a->time_ns);
	if (*ret)
		return 0;
	if (!fsc_map_put(&y->misses, &pid, sizeof(pid), &fresh))
		return fsc_err_nomem(err);
	if (!fresh)
		return 0;
	if (fsc_spaces_read(y->spaces, pid, NULL) == -ENOMEM)
		return fsc_err_nomem(err);
	*ret = fsc_spaces_find(y->spaces, pid, addr);
	return 0;
}

static int locate_address(struct fsc_symbolizer *y, const struct fsc_address *a,
			  struct located *ret, struct fsc_err *err)
{
	uint64_t addr = a->addr - (a->is_return && a->addr);
	const struct fsc_mapping *m = NULL;
	int rc;

	memset(ret, 0, sizeof(*ret)); /* the key is compared as bytes */
	ret->key.is_return = a->is_return;
	ret->key.where = a->kernel ? IN_KERNEL : NOWHERE;
	ret->key.offset = ret->in_memory = addr;
	if (a->kernel)
		return 0;
	rc = find_mapping(y, a, addr, &m, err);
	if (rc || !m)
		return rc;
	rc = fsc_spaces_file(y->spaces, a->pid, m, &ret->file, err);
	if (rc)
		return rc;
	ret->key.where = ret->file ? IN_FILE : IN_MEMORY;
	ret->key.space = ret->file ? ret->file->number : (uint64_t)a->pid;
	ret->in_memory = addr - m->start;
	if (ret->file)
		ret->key.offset = ret->in_memory + m->offset;
	ret->memory = m->path;
	return 0;
}

/* ---- answering ---- */

static int load_kernel(struct fsc_symbolizer *y, struct fsc_err *err)
{
	if (y->ksyms_tried)
		return 0;
	if (fsc_ksyms_load_all(y->opts.kallsyms, &y->ksyms, NULL) == -ENOMEM)
		return fsc_err_nomem(err);
	y->ksyms_tried = true; /* unreadable: every address is unknown */
	return 0;
}

static const struct fsc_inlined *chain_of(const struct fsc_symbolizer *y,
					  const struct fsc_space_file *file, uint64_t offset)
{
	struct spot spot = {.file = file->number};
	const uint64_t *slot;

	if (!file->elf || !fsc_elf_addr(file->elf, offset, &spot.addr))
		return NULL;
	slot = fsc_map_get(&y->asked, &spot, sizeof(spot));
	return slot && *slot ? FSC_AT(struct fsc_inlined, &y->chains, *slot - 1) : NULL;
}

static int find_answer(struct fsc_symbolizer *y, const struct located *at, struct fsc_answer *ret,
		       struct fsc_err *err)
{
	const struct place *k = &at->key;
	int rc;

	switch ((enum where)k->where) {
	case IN_KERNEL:
		rc = load_kernel(y, err);
		return rc ? rc : fsc_answer_kernel(&y->ksyms, k->offset, k->is_return, ret, err);
	case IN_FILE:
		return fsc_answer_file(at->file, k->offset, k->is_return,
				       chain_of(y, at->file, k->offset), ret, err);
	default:
		return fsc_answer_memory(at->memory, at->in_memory + k->is_return, ret, err);
	}
}

/* ---- debug information ---- */

/* Queues an address of a file for the next resolve(), unless it was before. */
static int want_debug_info(struct fsc_symbolizer *y, const struct located *at, struct fsc_err *err)
{
	struct wanted *w;
	struct spot spot;
	bool fresh;

	if (!y->opts.dwarf || at->key.where != IN_FILE || !at->file->elf ||
	    !fsc_elf_addr(at->file->elf, at->key.offset, &spot.addr))
		return 0;
	spot.file = at->file->number;
	if (!fsc_map_put(&y->asked, &spot, sizeof(spot), &fresh))
		return fsc_err_nomem(err);
	w = fresh ? fsc_vec_push(&y->wanted) : NULL;
	if (fresh && !w)
		return fsc_err_nomem(err);
	if (fresh)
		*w = (struct wanted){.file = at->file, .addr = spot.addr};
	return 0;
}

static int by_file(const void *va, const void *vb)
{
	const struct wanted *a = va, *b = vb;

	return a->file->number < b->file->number ? -1 : a->file->number > b->file->number;
}

static int keep_chains(struct fsc_symbolizer *y, const struct fsc_space_file *file, size_t before,
		       struct fsc_err *err)
{
	for (size_t i = before; i < y->chains.n; i++) {
		struct spot spot = {.file = file->number,
				    .addr = FSC_AT(struct fsc_inlined, &y->chains, i)->addr};
		uint64_t *slot = fsc_map_put(&y->asked, &spot, sizeof(spot), NULL);

		if (!slot)
			return fsc_err_nomem(err);
		*slot = i + 1;
	}
	return 0;
}

static int resolve_file(struct fsc_symbolizer *y, const struct wanted *w, size_t n,
			struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) uint64_t *addrs = calloc(n, sizeof(*addrs));
	size_t before = y->chains.n;
	struct fsc_err why = {0};
	int rc;

	if (!addrs)
		return fsc_err_nomem(err);
	for (size_t i = 0; i < n; i++)
		addrs[i] = w[i].addr;
	rc = fsc_inlines_find(w->file->elf, addrs, n, &y->chains, &why);
	if (rc == -ENOMEM)
		return fsc_err_nomem(err);
	if (rc && rc != -ENODATA)
		fsc_log(FSC_LOG_WARN, "no inlined functions: %s", why.msg);
	return keep_chains(y, w->file, before, err);
}

int fsc_symbolizer_want(struct fsc_symbolizer *y, const struct fsc_address *a, struct fsc_err *err)
{
	struct located at;
	int rc = locate_address(y, a, &at, err);

	if (!rc && !fsc_map_get(&y->index, &at.key, sizeof(at.key)))
		rc = want_debug_info(y, &at, err);
	return rc;
}

int fsc_symbolizer_resolve(struct fsc_symbolizer *y, struct fsc_err *err)
{
	struct wanted *w = y->wanted.data;
	size_t n = y->wanted.n, end;
	int rc = 0;

	if (n)
		qsort(w, n, sizeof(*w), by_file);
	for (size_t i = 0; !rc && i < n; i = end) {
		for (end = i; end < n && w[end].file == w[i].file;)
			end++;
		rc = resolve_file(y, w + i, end - i, err);
	}
	y->wanted.n = 0;
	fsc_map_release(&y->misses);
	return rc;
}

int fsc_symbolizer_frames(struct fsc_symbolizer *y, const struct fsc_address *a,
			  const struct fsc_frame **ret, size_t *ret_n, struct fsc_err *err)
{
	struct fsc_answer one = {0}, *place;
	struct located at;
	uint64_t *slot;
	int rc = locate_address(y, a, &at, err);

	if (rc)
		return rc;
	slot = fsc_map_put(&y->index, &at.key, sizeof(at.key), NULL);
	if (!slot)
		return fsc_err_nomem(err);
	if (!*slot) {
		rc = want_debug_info(y, &at, err);
		if (!rc && y->wanted.n)
			rc = fsc_symbolizer_resolve(y, err);
		if (!rc)
			rc = find_answer(y, &at, &one, err);
		place = rc ? NULL : fsc_vec_push(&y->answers);
		if (!place) {
			fsc_answer_release(&one);
			return rc ? rc : fsc_err_nomem(err);
		}
		*place = one;
		*slot = y->answers.n;
	}
	place = FSC_AT(struct fsc_answer, &y->answers, *slot - 1);
	*ret = place->frames;
	*ret_n = place->n;
	return 0;
}
