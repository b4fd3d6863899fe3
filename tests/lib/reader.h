/* Reads a process's instrumentation memory as a tool does, written down once more and apart from
 * the tool's own reader: chunks are found by their names in /proc/PID/fd (or come by socket, or as
 * files), mapped for reading one behind the other, and lanes are summed. */
#ifndef READER_H
#define READER_H

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "check.h"
#include "funcscope.h"

struct reader {
	int fd[FUNCSCOPE_CHUNKS];
	char *at; /* all chunks */
	size_t size;
	const struct funcscope_region *region;
	uint32_t first_lane; /* the newest that is within `size` */
};

/* What all threads together say about one checkpoint. */
struct sums {
	uint64_t calls, total, min, max, samples;
	uint64_t hist[FUNCSCOPE_HIST_BUCKETS]; /* `last` is in it */
	uint32_t lanes;			       /* that have used it */
};

static inline int reader_number(const char *link)
{
	const char *dot = strrchr(link, '.');

	if (strncmp(link, "/memfd:funcscope.", 17) && !strstr(link, "/funcscope."))
		return -1;
	return dot && dot[1] >= '0' && dot[1] <= '9' ? atoi(dot + 1) : -1;
}

static inline int reader_same(int a, int b)
{
	struct stat s, t;

	return !fstat(a, &s) && !fstat(b, &t) && s.st_dev == t.st_dev && s.st_ino == t.st_ino;
}

/* Descriptors of the process; how many there are. */
static inline int reader_find(struct reader *r, pid_t pid)
{
	char dir[64];
	struct dirent *e;
	int found = 0;
	DIR *d;

	memset(r, 0, sizeof(*r));
	for (int i = 0; i < FUNCSCOPE_CHUNKS; i++)
		r->fd[i] = -1;
	snprintf(dir, sizeof(dir), "/proc/%d/fd", (int)pid);
	d = opendir(dir);
	CHECK(d);
	while ((e = readdir(d))) {
		char link[PATH_MAX];
		ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
		int at, fd;

		link[n > 0 ? n : 0] = '\0';
		at = reader_number(link);
		if (at < 0 || at >= FUNCSCOPE_CHUNKS)
			continue;
		fd = openat(dirfd(d), e->d_name, O_RDONLY | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT) /* closed since: another holds the same file */
			continue;
		CHECK(fd >= 0);
		if (r->fd[at] >= 0) { /* our own, of the same file */
			CHECK(reader_same(fd, r->fd[at]));
			close(fd);
			continue;
		}
		r->fd[at] = fd;
		found++;
	}
	closedir(d);
	return found;
}

static inline size_t reader_fd_size(int fd)
{
	struct stat st;

	CHECK(!fstat(fd, &st));
	return (size_t)st.st_size;
}

/* Maps the descriptors found, as many as the first chunk says there are. */
static inline void reader_map(struct reader *r)
{
	uint32_t chunks;
	size_t at = 0;

	CHECK(r->fd[0] >= 0);
	r->region = mmap(NULL, sizeof(*r->region), PROT_READ, MAP_SHARED, r->fd[0], 0);
	CHECK(r->region != MAP_FAILED);
	chunks = __atomic_load_n(&r->region->chunks, __ATOMIC_ACQUIRE);
	munmap((void *)r->region, sizeof(*r->region));
	CHECK(chunks >= 1 && chunks <= FUNCSCOPE_CHUNKS);
	while (r->fd[chunks - 1] < 0) /* one more meanwhile */
		chunks--;
	for (uint32_t i = 0; i < chunks; i++)
		r->size += reader_fd_size(r->fd[i]);
	r->at = mmap(NULL, r->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(r->at != MAP_FAILED);
	for (uint32_t i = 0; i < chunks; at += reader_fd_size(r->fd[i++]))
		CHECK(mmap(r->at + at, reader_fd_size(r->fd[i]), PROT_READ, MAP_SHARED | MAP_FIXED,
			   r->fd[i], 0) != MAP_FAILED);
	r->region = (const struct funcscope_region *)r->at;
	EQUAL(r->region->magic, FUNCSCOPE_MAGIC);
	EQUAL(r->region->layout, FUNCSCOPE_LAYOUT);
	r->first_lane = __atomic_load_n(&r->region->first_lane, __ATOMIC_ACQUIRE);
}

static inline void reader_close(struct reader *r)
{
	if (r->at)
		munmap(r->at, r->size);
	for (int i = 0; i < FUNCSCOPE_CHUNKS; i++)
		if (r->fd[i] >= 0)
			close(r->fd[i]);
}

/* Whether all chunks were found that there are now. */
static inline int reader_complete(const struct reader *r)
{
	struct funcscope_region head;

	CHECK(pread(r->fd[0], &head, sizeof(head), 0) == (ssize_t)sizeof(head));
	return head.chunks >= 1 && head.chunks <= FUNCSCOPE_CHUNKS && r->fd[head.chunks - 1] >= 0;
}

/* Memory may grow meanwhile: tries again until the newest lane of then is in it. */
static inline void reader_open(struct reader *r, pid_t pid)
{
	for (;;) {
		CHECK(reader_find(r, pid) > 0);
		if (reader_complete(r)) {
			reader_map(r);
			if ((size_t)r->first_lane * 64 < r->size)
				break;
		}
		reader_close(r);
	}
	EQUAL(r->region->pid, pid);
}

static inline const struct funcscope_lane *reader_lane(const struct reader *r, uint32_t offset)
{
	return offset ? (const struct funcscope_lane *)(r->at + (size_t)offset * 64) : NULL;
}

static inline const struct funcscope_lane *reader_next(const struct reader *r,
						       const struct funcscope_lane *l)
{
	return reader_lane(r, l ? l->next : r->first_lane);
}

static inline const struct funcscope_cell *reader_cell(const struct funcscope_lane *l, uint32_t n)
{
	const struct funcscope_cell *c = (const struct funcscope_cell *)(l + 1) + n;

	return __atomic_load_n(&c->state, __ATOMIC_ACQUIRE) ? c : NULL;
}

static inline const uint64_t *reader_ring(const struct funcscope_cell *c)
{
	return c->ring ? (const uint64_t *)((const char *)c + (size_t)c->ring * 64) : NULL;
}

static inline const struct funcscope_site_record *reader_record(const struct reader *r, uint32_t n)
{
	return (const struct funcscope_site_record *)(r->at + (size_t)r->region->sites * 64) + n;
}

static inline void reader_add(struct sums *s, const struct funcscope_cell *c)
{
	const uint64_t *hist = (const uint64_t *)((const char *)c + (size_t)c->hist * 64);

	for (int i = 0; i < FUNCSCOPE_HIST_BUCKETS; i++)
		s->hist[i] += __atomic_load_n(&hist[i], __ATOMIC_RELAXED);
	s->hist[__atomic_load_n(&c->last, __ATOMIC_RELAXED)]++;
	s->total += __atomic_load_n(&c->total, __ATOMIC_RELAXED);
	s->samples += __atomic_load_n(&c->samples, __ATOMIC_RELAXED);
	if (c->span) {
		s->min = c->min < s->min ? c->min : s->min;
		s->max = c->min + c->span - 1 > s->max ? c->min + c->span - 1 : s->max;
	}
	if (hist[FUNCSCOPE_HIST_BUCKETS - 1]) {
		s->min = hist[FUNCSCOPE_HIST_LEAST] < s->min ? hist[FUNCSCOPE_HIST_LEAST] : s->min;
		s->max = hist[FUNCSCOPE_HIST_MOST] > s->max ? hist[FUNCSCOPE_HIST_MOST] : s->max;
	}
	s->lanes++;
}

/* Whether a cell's histogram is in what was mapped, or newer. */
static inline int reader_has(const struct reader *r, const struct funcscope_cell *c)
{
	return (size_t)((const char *)c - r->at) + (size_t)c->hist * 64 < r->size;
}

/* Checkpoint n, counted over numbers and then names. */
static inline struct sums reader_sums(const struct reader *r, uint32_t n)
{
	struct sums s = {.min = UINT64_MAX};
	const struct funcscope_cell *c;

	CHECK(n < r->region->cells);
	for (const struct funcscope_lane *l = NULL; (l = reader_next(r, l));)
		if ((c = reader_cell(l, n)) && reader_has(r, c))
			reader_add(&s, c);
	for (int i = 0; i < FUNCSCOPE_HIST_BUCKETS; i++)
		s.calls += s.hist[i];
	return s;
}

/* Which checkpoint has the name (and, if it is not 0, the line); fails unless there is one. */
static inline uint32_t reader_find_name(const struct reader *r, const char *name, uint32_t line)
{
	uint32_t found = UINT32_MAX, n = r->region->numbers + r->region->names;

	for (uint32_t i = r->region->numbers; i < n; i++) {
		const struct funcscope_site_record *rec = reader_record(r, i);

		if (strcmp(rec->name, name) || (line && rec->line != line))
			continue;
		if (found != UINT32_MAX)
			check_fail(__FILE__, __LINE__, "'%s' is there twice", name);
		found = i;
	}
	if (found == UINT32_MAX)
		check_fail(__FILE__, __LINE__, "there is no '%s'", name);
	return found;
}

/* For a glance at this process: opens, sums, closes. */
static inline struct sums sums_of(uint32_t n)
{
	struct reader r;
	struct sums s;

	reader_open(&r, getpid());
	s = reader_sums(&r, n);
	reader_close(&r);
	return s;
}

static inline struct sums sums_named(const char *name)
{
	struct reader r;
	struct sums s;

	reader_open(&r, getpid());
	s = reader_sums(&r, reader_find_name(&r, name, 0));
	reader_close(&r);
	return s;
}

/* A copy of the region's head: the books. */
static inline struct funcscope_region books(void)
{
	struct funcscope_region copy;
	struct reader r;

	reader_open(&r, getpid());
	memcpy(&copy, r.region, sizeof(copy));
	reader_close(&r);
	return copy;
}

#endif
