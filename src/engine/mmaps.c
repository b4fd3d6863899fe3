/* perf's side-band records, from an event that never fires: one buffer per CPU. They are reported
 * in order of time: what a process does on one CPU after it was forked on another must not come
 * first. */
#include "engine/mmaps.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/timeline.h"
#include "base/vec.h"

enum { PAGES = 64, LARGEST = 65536 };

struct buffer {
	int fd;
	struct perf_event_mmap_page *head;
	size_t size; /* of the mapping */
};

struct fsc_mmaps {
	struct fsc_vec buffers; /* struct buffer */
	uint64_t lost;
	char *record; /* room for one that wraps around */
	struct fsc_timeline pending;
};

void fsc_mmaps_free(struct fsc_mmaps *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->buffers.n; i++) {
		struct buffer *b = FSC_AT(struct buffer, &m->buffers, i);

		munmap(b->head, b->size);
		close(b->fd);
	}
	fsc_vec_release(&m->buffers);
	fsc_timeline_release(&m->pending);
	free(m->record);
	free(m);
}

static void fsc_mmaps_freep(struct fsc_mmaps **m)
{
	fsc_mmaps_free(*m);
}

/* Debian's kernels have a level above the others', at which CAP_PERFMON does not count. */
static bool events_need_admin(void)
{
	FSC_AUTO(fsc_fclosep) FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level = 0;

	return f && fscanf(f, "%d", &level) == 1 && level > 2;
}

static int open_refused(int code, struct fsc_err *err)
{
	if (code == EACCES && events_need_admin())
		return fsc_err_sys(err, code,
				   "cannot monitor what processes map without CAP_SYS_ADMIN, or "
				   "sysctl kernel.perf_event_paranoid=2");
	return fsc_err_sys(err, code, "cannot monitor what processes map");
}

static int open_cpu(struct fsc_mmaps *m, int cpu, struct fsc_err *err)
{
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_SOFTWARE,
	    .size = sizeof(attr),
	    .config = PERF_COUNT_SW_DUMMY,
	    .mmap = 1,
	    .mmap2 = 1,
	    .task = 1,
	    .comm = 1,
	    .comm_exec = 1,
	    .sample_type = PERF_SAMPLE_TIME,
	    .sample_id_all = 1, /* every record ends with its time */
	    .use_clockid = 1,
	    .clockid = CLOCK_MONOTONIC,
	    .watermark = 1,
	    .wakeup_watermark = LARGEST,
	};
	size_t size = (PAGES + 1) * (size_t)sysconf(_SC_PAGESIZE);
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	struct buffer *b;
	void *p;

	if (fd < 0 && errno == ENODEV)
		return 0; /* an offline CPU */
	if (fd < 0)
		return open_refused(errno, err);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	b = p == MAP_FAILED ? NULL : fsc_vec_push(&m->buffers);
	if (!b) {
		int code = p == MAP_FAILED ? errno : ENOMEM;

		if (p != MAP_FAILED)
			munmap(p, size);
		close(fd);
		return fsc_err_sys(err, code, "cannot map a buffer for mapping events");
	}
	*b = (struct buffer){fd, p, size};
	return 0;
}

int fsc_mmaps_open(struct fsc_mmaps **ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_mmaps_freep) struct fsc_mmaps *m = calloc(1, sizeof(*m));
	int rc = 0;

	if (!m)
		return fsc_err_nomem(err);
	m->buffers = FSC_VEC_INIT(struct buffer);
	fsc_timeline_init(&m->pending);
	m->record = malloc(LARGEST);
	if (!m->record)
		return fsc_err_nomem(err);
	for (int cpu = 0; !rc && cpu < (int)sysconf(_SC_NPROCESSORS_CONF); cpu++)
		rc = open_cpu(m, cpu, err);
	if (!rc)
		*ret = fsc_take(&m);
	return rc;
}

struct mmap2 {
	struct perf_event_header h;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t major, minor;
	uint64_t ino, generation;
	uint32_t prot, flags;
	char path[];
};

struct task {
	struct perf_event_header h;
	uint32_t pid, ppid, tid, ptid;
};

struct comm {
	struct perf_event_header h;
	uint32_t pid, tid;
	char comm[];
};

struct lost {
	struct perf_event_header h;
	uint64_t id, n;
};

static int report_comm(const struct perf_event_header *h, const struct fsc_mmaps_to *to,
		       struct fsc_err *err)
{
	const struct comm *comm = (const void *)h;

	if (h->size <= sizeof(*comm) || !memchr(comm->comm, 0, h->size - sizeof(*comm)))
		return 0;
	if (h->misc & PERF_RECORD_MISC_COMM_EXEC)
		return to->exec(to->arg, (pid_t)comm->pid, comm->comm, err);
	return to->renamed ? to->renamed(to->arg, (pid_t)comm->pid, comm->comm, err) : 0;
}

static int report_record(struct fsc_mmaps *m, const struct perf_event_header *h,
			 const struct fsc_mmaps_to *to, struct fsc_err *err)
{
	const struct mmap2 *map = (const void *)h;
	const struct task *task = (const void *)h;

	switch (h->type) {
	case PERF_RECORD_MMAP2:
		if (h->size <= sizeof(*map) ||
		    memchr(map->path, 0, h->size - sizeof(*map)) == NULL ||
		    !(map->prot & PROT_EXEC) ||
		    (h->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
			return 0;
		return to->mmap(to->arg, (pid_t)map->pid, map->addr, map->len, map->pgoff,
				makedev(map->major, map->minor), map->ino,
				strcmp(map->path, "//anon") ? map->path : "", err);
	case PERF_RECORD_FORK:
		return to->fork(to->arg, (pid_t)task->ppid, (pid_t)task->pid, err);
	case PERF_RECORD_EXIT:
		to->exit(to->arg, (pid_t)task->pid);
		return 0;
	case PERF_RECORD_COMM:
		return report_comm(h, to, err);
	case PERF_RECORD_LOST:
		m->lost += ((const struct lost *)(const void *)h)->n;
		return 0;
	default:
		return 0;
	}
}

/* The record at that offset, in one piece. */
static const struct perf_event_header *record_at(struct fsc_mmaps *m, const char *data, size_t size,
						 uint64_t at)
{
	const struct perf_event_header *h = (const void *)(data + at % size);
	size_t whole = size - at % size;

	if (h->size <= whole)
		return h;
	memcpy(m->record, h, whole);
	memcpy(m->record + whole, data, h->size - whole);
	return (const void *)m->record;
}

/* Threads come and go far more often than processes. */
static bool is_of_thread(const struct perf_event_header *h)
{
	const struct task *task = (const void *)h;
	const struct comm *comm = (const void *)h;

	return (h->type == PERF_RECORD_FORK && task->pid == task->ppid) ||
	       (h->type == PERF_RECORD_EXIT && task->pid != task->tid) ||
	       (h->type == PERF_RECORD_COMM && comm->pid != comm->tid);
}

static int queue_record(struct fsc_mmaps *m, const struct perf_event_header *h, struct fsc_err *err)
{
	uint64_t time_ns; /* every record ends with it */

	if (is_of_thread(h))
		return 0;
	memcpy(&time_ns, (const char *)h + h->size - sizeof(time_ns), sizeof(time_ns));
	return fsc_timeline_add(&m->pending, time_ns, h, h->size, err);
}

static int read_buffer(struct fsc_mmaps *m, struct buffer *b, struct fsc_err *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = PAGES * page;
	uint64_t head = __atomic_load_n(&b->head->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = b->head->data_tail;
	const char *data = (const char *)b->head + page;
	int rc = 0;

	while (!rc && tail < head) {
		const struct perf_event_header *h = record_at(m, data, size, tail);

		if (h->size < sizeof(*h) + sizeof(uint64_t))
			break;
		rc = queue_record(m, h, err);
		tail += h->size;
	}
	__atomic_store_n(&b->head->data_tail, tail, __ATOMIC_RELEASE);
	return rc;
}

struct reporting {
	struct fsc_mmaps *m;
	const struct fsc_mmaps_to *to;
};

static int report_next(void *record, size_t size, void *arg, struct fsc_err *err)
{
	const struct reporting *t = arg;
	uint64_t time_ns;

	memcpy(&time_ns, (const char *)record + size - sizeof(time_ns), sizeof(time_ns));
	if (t->to->at)
		t->to->at(t->to->arg, time_ns);
	return report_record(t->m, record, t->to, err);
}

int fsc_mmaps_pull(struct fsc_mmaps *m, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < m->buffers.n; i++)
		rc = read_buffer(m, FSC_AT(struct buffer, &m->buffers, i), err);
	return rc;
}

/* Records may arrive in a buffer that was already read while others are read: only those from
 * before the start of the reading are complete. */
int fsc_mmaps_read(struct fsc_mmaps *m, const struct fsc_mmaps_to *to, struct fsc_err *err)
{
	struct reporting t = {m, to};
	uint64_t began_ns = fsc_clock_mono();
	int rc = fsc_mmaps_pull(m, err);

	return rc ? rc : fsc_timeline_take(&m->pending, began_ns, report_next, &t, err);
}

uint64_t fsc_mmaps_lost(const struct fsc_mmaps *m)
{
	return m->lost;
}
