/* Sealed memory cannot shrink under us and is mapped; a file can, so it is read into our own memory
 * at each update. Either way every access goes through region_at(), which checks the bounds of the
 * chunks. */
#include "source/region.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "wire/hist.h"

enum { UNIT = 64, MOST_CELLS = 1 << 20, RETRIES = 3 };
#define MOST_BYTES (64ull << 30)

struct chunk {
	int fd;
	uint64_t start, size;
	char *bytes;
	bool mapped;
};

struct fsc_region {
	char *name; /* for messages */
	struct chunk chunks[FUNCSCOPE_CHUNKS];
	size_t n_chunks;
	struct funcscope_region head;
	uint64_t skipped, threads;
	uint64_t hist[FUNCSCOPE_HIST_BUCKETS];
	uint64_t samples[1 << 16];
};

static void fsc_region_freep(struct fsc_region **r)
{
	fsc_region_free(*r);
}

static void release_chunk(struct chunk *c)
{
	if (c->mapped)
		munmap(c->bytes, c->size);
	else
		free(c->bytes);
	close(c->fd);
}

void fsc_region_free(struct fsc_region *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_chunks; i++)
		release_chunk(&r->chunks[i]);
	free(r->name);
	free(r);
}

static int bad_region(const struct fsc_region *r, const char *what, struct fsc_err *err)
{
	return fsc_err_set(err, EBADMSG, "the instrumentation memory of %s is damaged: %s", r->name,
			   what);
}

/* ---- access ---- */

/* len bytes at an offset; NULL if they are not within one chunk. */
static const void *region_at(const struct fsc_region *r, uint64_t offset, uint64_t len)
{
	for (size_t i = 0; i < r->n_chunks; i++) {
		const struct chunk *c = &r->chunks[i];

		if (offset >= c->start && offset - c->start < c->size)
			return len <= c->size - (offset - c->start) ? c->bytes + (offset - c->start)
								    : NULL;
	}
	return NULL;
}

static uint64_t load64(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

/* Aligned words are read whole. */
static void copy64(uint64_t *to, const uint64_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = load64(&from[i]);
}

/* ---- chunks ---- */

static bool is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && seals & F_SEAL_SHRINK;
}

static int reread_chunk(const struct fsc_region *r, struct chunk *c, struct fsc_err *err)
{
	for (uint64_t done = 0; done < c->size;) {
		ssize_t n = pread(c->fd, c->bytes + done, c->size - done, (off_t)done);

		if (n < 0)
			return fsc_err_sys(err, errno, "cannot read the memory of %s", r->name);
		if (!n)
			return bad_region(r, "its file has been truncated", err);
		done += (uint64_t)n;
	}
	return 0;
}

/* Takes ownership of the descriptor. */
static int add_chunk(struct fsc_region *r, int fd, struct fsc_err *err)
{
	struct chunk *c = &r->chunks[r->n_chunks], *before = r->n_chunks ? c - 1 : NULL;
	struct stat st;

	*c = (struct chunk){.fd = fd, .start = before ? before->start + before->size : 0};
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(r->head) ||
	    c->start + (uint64_t)st.st_size > MOST_BYTES) {
		close(fd);
		return bad_region(r, "a part of it is not a file, or has an impossible size", err);
	}
	c->size = (uint64_t)st.st_size;
	if (is_sealed(fd)) {
		void *p = mmap(NULL, c->size, PROT_READ, MAP_SHARED, fd, 0);

		c->mapped = p != MAP_FAILED;
		c->bytes = c->mapped ? p : NULL;
	} else {
		c->bytes = malloc(c->size);
	}
	if (!c->bytes) {
		close(fd);
		return fsc_err_nomem(err);
	}
	r->n_chunks++;
	return c->mapped ? 0 : reread_chunk(r, c, err);
}

static int add_chunks(struct fsc_region *r, struct fsc_chunks *chunks, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = r->n_chunks; !rc && i < FUNCSCOPE_CHUNKS && chunks->fd[i] >= 0; i++) {
		rc = add_chunk(r, chunks->fd[i], err);
		chunks->fd[i] = -1;
	}
	fsc_chunks_release(chunks);
	return rc;
}

int fsc_region_extend(struct fsc_region *r, struct fsc_chunks *chunks, struct fsc_err *err)
{
	bool more;
	int rc = add_chunks(r, chunks, err);

	return rc ? rc : fsc_region_update(r, &more, err);
}

/* ---- the header ---- */

static int check_header(const struct fsc_region *r, struct fsc_err *err)
{
	const struct funcscope_region *h = &r->head;

	if (h->magic != FUNCSCOPE_MAGIC)
		return fsc_err_set(err, EBADMSG, "%s has no instrumentation memory of funcscope",
				   r->name);
	if (h->layout != FUNCSCOPE_LAYOUT)
		return fsc_err_set(err, EBADMSG,
				   "%s uses another version of lib/funcscope: its layout is %u, "
				   "this program reads %u; take both from one release",
				   r->name, h->layout, FUNCSCOPE_LAYOUT);
	if (!h->chunks || h->chunks > FUNCSCOPE_CHUNKS)
		return bad_region(r, "the number of its parts", err);
	for (size_t i = 0; i < r->n_chunks && i < h->chunks; i++)
		if (h->chunk_size[i] != r->chunks[i].size)
			return bad_region(r, "the size of a part", err);
	if (h->cells > MOST_CELLS || h->numbers > h->cells || h->names > h->cells - h->numbers)
		return bad_region(r, "the number of its checkpoints", err);
	if (h->cells && !region_at(r, (uint64_t)h->sites * UNIT,
				   (uint64_t)h->cells * sizeof(struct funcscope_site_record)))
		return bad_region(r, "the place of its names", err);
	return 0;
}

int fsc_region_update(struct fsc_region *r, bool *ret_more, struct fsc_err *err)
{
	int rc = 0;

	*ret_more = false;
	for (size_t i = 0; !rc && i < r->n_chunks; i++)
		if (!r->chunks[i].mapped)
			rc = reread_chunk(r, &r->chunks[i], err);
	if (rc)
		return rc;
	copy64((uint64_t *)&r->head, (const uint64_t *)r->chunks[0].bytes,
	       sizeof(r->head) / sizeof(uint64_t));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	r->head.program[sizeof(r->head.program) - 1] = '\0';
	rc = check_header(r, err);
	*ret_more = !rc && r->head.chunks > r->n_chunks;
	return rc;
}

int fsc_region_open(struct fsc_chunks *chunks, const char *name, struct fsc_region **ret,
		    struct fsc_err *err)
{
	FSC_AUTO(fsc_region_freep) struct fsc_region *r = calloc(1, sizeof(*r));
	bool more;
	int rc;

	if (r)
		r->name = strdup(name);
	if (!r || !r->name) {
		fsc_chunks_release(chunks);
		return fsc_err_nomem(err);
	}
	rc = add_chunks(r, chunks, err);
	if (!rc && !r->n_chunks)
		rc = bad_region(r, "there is none", err);
	if (!rc)
		rc = fsc_region_update(r, &more, err);
	if (rc)
		return rc;
	*ret = fsc_take(&r);
	return 0;
}

const struct funcscope_region *fsc_region_header(const struct fsc_region *r)
{
	return &r->head;
}

bool fsc_region_record(const struct fsc_region *r, uint32_t index,
		       struct funcscope_site_record *ret)
{
	const struct funcscope_site_record *rec;

	if (index >= r->head.numbers + r->head.names)
		return false;
	rec = region_at(r, (uint64_t)r->head.sites * UNIT + (uint64_t)index * sizeof(*rec),
			sizeof(*rec));
	if (!rec)
		return false;
	memcpy(ret, rec, sizeof(*ret));
	ret->name[sizeof(ret->name) - 1] = '\0';
	ret->file[sizeof(ret->file) - 1] = '\0';
	return true;
}

/* ---- cells ---- */

/* Minimum and maximum change together: the span is 0 meanwhile. If the writer died there, or
 * changes them all the time, the histogram gives the bounds. */
static void read_bounds(const struct fsc_region *r, const struct funcscope_cell *c,
			const uint64_t *hist, struct fsc_region_cell *ret)
{
	uint64_t span = 0, least = UINT64_MAX, most = 0;
	uint32_t first = 0, last = FUNCSCOPE_HIST_BUCKETS - 1;

	for (int i = 0; i < RETRIES && !span; i++) {
		span = __atomic_load_n(&c->span, __ATOMIC_ACQUIRE);
		least = __atomic_load_n(&c->min, __ATOMIC_ACQUIRE);
		if (span && load64(&c->span) != span)
			span = 0;
	}
	if (span) {
		most = least + span - 1;
	} else {
		while (first < last && !r->hist[first])
			first++;
		least = fsc_hist_low(first);
		for (uint32_t i = first; i < last; i++)
			most = r->hist[i] ? fsc_hist_low(i + 1) - 1 : most;
	}
	if (r->hist[last]) {
		uint64_t low = load64(&hist[FUNCSCOPE_HIST_LEAST]);

		least = low < least ? low : least;
		most = load64(&hist[FUNCSCOPE_HIST_MOST]);
	}
	ret->min = least;
	ret->max = most;
}

/* The writer sets `last` after it has counted the previous bucket, so the histogram is read first:
 * nothing is counted twice. */
static void read_sums(struct fsc_region *r, const struct funcscope_cell *c, const uint64_t *hist,
		      struct fsc_region_cell *ret)
{
	uint64_t before, total = 0;
	uint32_t last = 0;

	for (int i = 0; i < RETRIES; i++) {
		before = load64(&c->total);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		copy64(r->hist, hist, FUNCSCOPE_HIST_BUCKETS);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		last = __atomic_load_n(&c->last, __ATOMIC_RELAXED);
		total = load64(&c->total);
		ret->torn = total != before;
		if (!ret->torn)
			break;
	}
	ret->total = total;
	if (r->hist[0] == UINT64_MAX && last)
		r->hist[0] = 0; /* the first call is the latest */
	if (last < FUNCSCOPE_HIST_BUCKETS)
		r->hist[last]++;
	for (size_t i = 0; i < FUNCSCOPE_HIST_BUCKETS; i++)
		ret->count += r->hist[i];
	read_bounds(r, c, hist, ret);
	ret->hist = r->hist;
}

/* Each word carries the low bits of its sequence number, which show whether it was overwritten. */
static void read_samples(struct fsc_region *r, const struct funcscope_cell *c, uint64_t offset,
			 struct fsc_region_cell *ret)
{
	uint64_t depth = (uint64_t)c->ring_mask + 1;
	uint64_t end = __atomic_load_n(&c->samples, __ATOMIC_ACQUIRE);
	uint64_t n = end < depth ? end : depth;
	const uint64_t *ring;

	if (!c->ring || depth & (depth - 1))
		return;
	ring = region_at(r, offset + (uint64_t)c->ring * UNIT, depth * sizeof(*ring));
	if (!ring)
		return;
	for (uint64_t i = end - n; i < end; i++) {
		uint64_t word = load64(&ring[i & (depth - 1)]);

		if (word >> FUNCSCOPE_SAMPLE_BITS != (i & 0xffff)) {
			ret->lapped++;
			continue;
		}
		r->samples[ret->n_samples++] = word & ((1ull << FUNCSCOPE_SAMPLE_BITS) - 1);
	}
	ret->samples = r->samples;
}

struct walk {
	struct fsc_region *r;
	bool skip;
	int (*fn)(const struct fsc_region_cell *c, void *arg, struct fsc_err *err);
	void *arg;
};

static int walk_lane(struct walk *w, const struct funcscope_lane *lane, uint64_t offset,
		     struct fsc_err *err)
{
	struct fsc_region *r = w->r;
	const struct funcscope_cell *cells = (const struct funcscope_cell *)(lane + 1);
	uint32_t used = r->head.numbers + r->head.names;
	int rc = 0;

	offset += sizeof(*lane);
	for (uint32_t i = 0; !rc && i < used; i++, offset += sizeof(*cells)) {
		const struct funcscope_cell *c = &cells[i];
		uint32_t state = __atomic_load_n(&c->state, __ATOMIC_ACQUIRE);
		struct fsc_region_cell out = {.index = i,
					      .tid = lane->tid,
					      .busy = lane->busy,
					      .owners = lane->owners,
					      .ordered = c->flags & FUNCSCOPE_CELL_ORDERED,
					      .open = state >= FUNCSCOPE_OPEN};
		const uint64_t *hist;

		if (!state)
			continue;
		hist = region_at(r, offset + (uint64_t)c->hist * UNIT, FUNCSCOPE_HIST_SIZE);
		if (!hist && !w->skip)
			return -EAGAIN;
		if (!hist) {
			r->skipped++;
			continue;
		}
		read_sums(r, c, hist, &out);
		read_samples(r, c, offset, &out);
		rc = w->fn(&out, w->arg, err);
	}
	return rc;
}

/* Newer lanes are at higher offsets, and the list goes from new to old, so it ends. */
int fsc_region_each(struct fsc_region *r, bool skip,
		    int (*fn)(const struct fsc_region_cell *c, void *arg, struct fsc_err *err),
		    void *arg, struct fsc_err *err)
{
	uint64_t size =
	    sizeof(struct funcscope_lane) + (uint64_t)r->head.cells * sizeof(struct funcscope_cell);
	uint64_t offset = (uint64_t)r->head.first_lane * UNIT, next;
	struct walk w = {r, skip, fn, arg};
	int rc = 0;

	r->skipped = r->threads = 0;

	for (; !rc && offset; offset = next) {
		const struct funcscope_lane *lane = region_at(r, offset, size);

		if (!lane && r->head.chunks > r->n_chunks) {
			r->skipped += skip;
			return skip ? 0 : -EAGAIN;
		}
		if (!lane)
			return bad_region(r, "the place of a thread", err);
		next = (uint64_t)__atomic_load_n(&lane->next, __ATOMIC_RELAXED) * UNIT;
		if (next && next + size > offset)
			return bad_region(r, "the list of its threads", err);
		r->threads += lane->owners;
		rc = walk_lane(&w, lane, offset, err);
	}
	return rc;
}

uint64_t fsc_region_threads(const struct fsc_region *r)
{
	return r->threads;
}

uint64_t fsc_region_skipped(const struct fsc_region *r)
{
	return r->skipped;
}
