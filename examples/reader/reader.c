/* reader: a small tool of your own for what lib/funcscope measures. It reads the shared memory by
 * the layout in funcscope.h and needs nothing else of this project: one line a checkpoint, all
 * threads added up. It works on a copy of the memory: of a program that runs, one column may be a
 * call ahead of another. `funcscope attach` has histograms, takes its own cost out, and reads more
 * carefully.
 *
 * usage: reader [-t] PID | DIR/funcscope.PID.0        -t: ticks of the clock, not nanoseconds */
#define FUNCSCOPE_DISABLE /* the layout, without the library */
#include "funcscope.h"

#include <ctype.h>
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define UNIT	 64ull	       /* of offsets */
#define MOST_LEN (64ull << 30) /* of a chunk; nobody has that much */

struct memory {
	char *base; /* all chunks, one behind the other */
	uint64_t size;
	struct funcscope_region head;
};

struct row {
	uint64_t calls, total, min, max; /* ticks */
};

/* The number in "/memfd:funcscope.N (deleted)" or at the end of "DIR/funcscope.PID.N"; -1: none. */
static int chunk_number(const char *link)
{
	const char *name = strrchr(link, '/'), *dot = strrchr(link, '.');

	if (!name || (strncmp(name, "/memfd:funcscope.", 17) && strncmp(name, "/funcscope.", 11)))
		return -1;
	return isdigit((unsigned char)dot[1]) ? atoi(dot + 1) : -1;
}

static void chunks_of_process(const char *pid, int fd[FUNCSCOPE_CHUNKS])
{
	char path[64], link[PATH_MAX];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	d = opendir(path);
	if (!d)
		err(1, "cannot look into process %s", pid);
	while ((e = readdir(d))) {
		ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
		int at;

		link[n > 0 ? n : 0] = '\0';
		at = chunk_number(link);
		if (at >= 0 && at < FUNCSCOPE_CHUNKS && fd[at] < 0)
			fd[at] = openat(dirfd(d), e->d_name, O_RDONLY | O_CLOEXEC);
	}
	closedir(d);
	if (fd[0] < 0)
		errx(1, "process %s has no memory of lib/funcscope", pid);
}

static void chunks_of_files(const char *first, int fd[FUNCSCOPE_CHUNKS])
{
	char path[PATH_MAX];

	fd[0] = open(first, O_RDONLY | O_CLOEXEC);
	if (fd[0] < 0)
		err(1, "cannot open '%s'", first);
	for (int i = 1; i < FUNCSCOPE_CHUNKS && fd[i - 1] >= 0; i++) {
		snprintf(path, sizeof(path), "%.*s%d", (int)strlen(first) - 1, first, i);
		fd[i] = open(path, O_RDONLY | O_CLOEXEC);
	}
}

static void header_load(const char *who, int fd, struct funcscope_region *h)
{
	if (pread(fd, h, sizeof(*h), 0) != (ssize_t)sizeof(*h) || h->magic != FUNCSCOPE_MAGIC)
		errx(1, "%s is no memory of lib/funcscope: it does not begin as one", who);
	if (h->layout != FUNCSCOPE_LAYOUT)
		errx(1, "%s has layout %u, this program reads %u: build both from one release", who,
		     h->layout, FUNCSCOPE_LAYOUT);
	if (!h->chunks || h->chunks > FUNCSCOPE_CHUNKS || h->numbers > h->cells ||
	    h->names > h->cells - h->numbers)
		errx(1, "%s is damaged: its header contradicts itself", who);
}

static void memory_load(const char *who, const int fd[FUNCSCOPE_CHUNKS], struct memory *m)
{
	const uint64_t *length = m->head.chunk_size;

	header_load(who, fd[0], &m->head);
	for (uint32_t i = 0; i < m->head.chunks; i++) {
		struct stat st;

		if (fd[i] < 0 || fstat(fd[i], &st) || (uint64_t)st.st_size != length[i] ||
		    length[i] > MOST_LEN)
			errx(1, "%s is truncated: part %u of %u has not its %llu bytes", who, i + 1,
			     m->head.chunks, (unsigned long long)length[i]);
		m->base = realloc(m->base, m->size + length[i]);
		if (!m->base || pread(fd[i], m->base + m->size, length[i], 0) != (ssize_t)length[i])
			err(1, "cannot read part %u of %s", i + 1, who);
		m->size += length[i];
	}
}

/* What lies at an offset; NULL where that is outside, as in memory taken since. */
static const void *memory_at(const struct memory *m, uint64_t offset, uint64_t length)
{
	return offset <= m->size && length <= m->size - offset ? m->base + offset : NULL;
}

static void row_bounds(struct row *r, uint64_t least, uint64_t most)
{
	r->min = least < r->min ? least : r->min;
	r->max = most > r->max ? most : r->max;
}

static void row_add(struct row *r, const struct funcscope_cell *c, const uint64_t *hist)
{
	/* Each duration gets into the histogram with the next call: one is always missing. Bucket
	 * 0 begins at -1, for the time before the first. */
	r->calls += 1;
	for (int i = 0; i < FUNCSCOPE_HIST_BUCKETS; i++)
		r->calls += hist[i];
	r->total += c->total;
	if (c->span) /* 0: none below the last bucket, or just changing */
		row_bounds(r, c->min, c->min + c->span - 1);
	if (hist[FUNCSCOPE_HIST_MOST]) /* some were for the last bucket */
		row_bounds(r, hist[FUNCSCOPE_HIST_LEAST], hist[FUNCSCOPE_HIST_MOST]);
}

/* A thread's lane has a cell for each checkpoint. Newer lanes lie behind older ones, and the list
 * goes from the newest on: that it ends is certain. */
static void rows_read(const char *who, const struct memory *m, struct row *rows)
{
	uint64_t size = (m->head.cells + 1ull) * sizeof(struct funcscope_cell), next;

	for (uint64_t at = m->head.first_lane * UNIT; at; at = next) {
		const struct funcscope_lane *lane = memory_at(m, at, size);
		const struct funcscope_cell *cells = (const struct funcscope_cell *)(lane + 1);

		next = lane ? lane->next * UNIT : at;
		if (next >= at)
			errx(1, "%s is damaged: its list of threads does not end", who);
		for (uint32_t i = 0; i < m->head.numbers + m->head.names; i++) {
			const uint64_t *hist = memory_at(
			    m, at + (i + 1) * UNIT + cells[i].hist * UNIT, FUNCSCOPE_HIST_SIZE);

			if (cells[i].state != FUNCSCOPE_UNUSED && hist)
				row_add(&rows[i], &cells[i], hist);
		}
	}
}

/* How long a tick is: both clocks were read together when the process began. */
static double tick_ns(const struct funcscope_region *h)
{
	uint64_t ticks = funcscope_rdtsc() - h->start_ticks;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	if (h->tick_hz)
		return 1e9 / (double)h->tick_hz;
	return ((double)now.tv_sec * 1e9 + (double)now.tv_nsec - (double)h->start_ns) /
	       (double)ticks;
}

static void row_print(const struct row *r, uint32_t number, const char *called, double unit)
{
	char name[FUNCSCOPE_NAME_LEN];
	double total = (double)r->total * unit;

	snprintf(name, sizeof(name), "%.*s", FUNCSCOPE_NAME_LEN - 1, called);
	if (!*name)
		snprintf(name, sizeof(name), "%u", number);
	for (char *p = name; *p; p++)
		*p = iscntrl((unsigned char)*p) ? '?' : *p;
	printf("%-24s %10llu %14.0f %10.1f %10.0f %12.0f\n", name, (unsigned long long)r->calls,
	       total, total / (double)r->calls, r->min > r->max ? 0 : (double)r->min * unit,
	       (double)r->max * unit);
}

static void memory_print(const char *who, const struct memory *m, double unit)
{
	const struct funcscope_region *h = &m->head;
	const struct funcscope_site_record *sites =
	    memory_at(m, h->sites * UNIT, h->cells * sizeof(*sites));
	struct row *rows = calloc(h->cells + 1ull, sizeof(*rows));

	if (!sites || !rows)
		errx(1, "%s is damaged: its names are not there", who);
	for (uint32_t i = 0; i < h->cells; i++)
		rows[i].min = UINT64_MAX;
	rows_read(who, m, rows);
	printf("%-24s %10s %14s %10s %10s %12s\n", "CHECKPOINT", "CALLS", "TOTAL", "AVG", "MIN",
	       "MAX");
	for (uint32_t i = 0; i < h->numbers + h->names; i++)
		if (rows[i].calls)
			row_print(&rows[i], i, sites[i].name, unit);
	printf("process %u; lost: %llu calls\n", h->pid,
	       (unsigned long long)(h->lost_calls + h->too_deep));
	free(rows);
}

int main(int argc, char **argv)
{
	bool ticks = argc == 3 && !strcmp(argv[1], "-t");
	const char *who = argv[argc - 1];
	struct memory m = {0};
	int fd[FUNCSCOPE_CHUNKS];

	if (argc != 2 + ticks || !*who)
		errx(2, "usage: reader [-t] PID | DIR/funcscope.PID.0");
	memset(fd, 0xff, sizeof(fd)); /* -1 */
	if (strspn(who, "0123456789") == strlen(who))
		chunks_of_process(who, fd);
	else
		chunks_of_files(who, fd);
	memory_load(who, fd, &m);
	memory_print(who, &m, ticks ? 1 : tick_ns(&m.head));
	free(m.base);
	return 0;
}
