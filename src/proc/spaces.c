/* struct fsc_spaces. A process has one space per program it ran; a forked child shares its
 * parent's until one of them maps something. The mappings of a space are sorted and do not overlap:
 * a new one replaces what it overlaps. */
#include "proc/spaces.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "proc/files.h"

#define PROCESSES_MAX 65536
/* Programs of one process whose addresses can still be looked up. */
#define PROGRAMS_MAX 8

struct space {
	unsigned users;
	struct fsc_vec maps; /* struct fsc_mapping, by address */
};

struct process {
	pid_t pid;
	bool dead;
	uint64_t used; /* time of its last event */
	size_t n;
	struct space *programs[PROGRAMS_MAX]; /* the newest last */
	uint64_t since[PROGRAMS_MAX];	      /* when each began; 0: not known */
};

struct fsc_spaces {
	size_t max;
	uint64_t clock;
	uint64_t now;		  /* of the event at hand */
	struct fsc_vec processes; /* struct process */
	struct fsc_map index;	  /* pid to place + 1 */
	struct fsc_files files;
};

static void space_put(struct space *sp)
{
	if (!sp || --sp->users)
		return;
	fsc_maps_release(&sp->maps);
	free(sp);
}

static struct space *space_new(void)
{
	struct space *sp = calloc(1, sizeof(*sp));

	if (!sp)
		return NULL;
	sp->users = 1;
	sp->maps = FSC_VEC_INIT(struct fsc_mapping);
	return sp;
}

static struct space *space_copy(const struct space *from)
{
	struct space *sp = space_new();

	for (size_t i = 0; sp && i < from->maps.n; i++) {
		if (!fsc_maps_copy(&sp->maps, FSC_AT(struct fsc_mapping, &from->maps, i), NULL))
			continue;
		space_put(sp);
		return NULL;
	}
	return sp;
}

static void process_release(struct process *p)
{
	for (size_t i = 0; i < p->n; i++)
		space_put(p->programs[i]);
	p->n = 0;
}

/* Takes ownership of sp. Drops the oldest program if there are too many. */
static void add_program(struct process *p, struct space *sp, uint64_t since)
{
	if (p->n == PROGRAMS_MAX) {
		space_put(p->programs[0]);
		for (size_t i = 1; i < PROGRAMS_MAX; i++) {
			p->programs[i - 1] = p->programs[i];
			p->since[i - 1] = p->since[i];
		}
		p->n--;
	}
	p->since[p->n] = since;
	p->programs[p->n++] = sp;
}

/* The program that the process was at that time, by its place; 0: now. */
static struct space *program_at(const struct process *p, uint64_t time_ns)
{
	size_t i = p ? p->n : 0;

	while (i > 1 && time_ns && p->since[i - 1] > time_ns)
		i--;
	return i ? p->programs[i - 1] : NULL;
}

int fsc_spaces_new(size_t max, struct fsc_spaces **ret, struct fsc_err *err)
{
	struct fsc_spaces *s = calloc(1, sizeof(*s));

	if (!s)
		return fsc_err_nomem(err);
	s->max = max ? max : PROCESSES_MAX;
	s->processes = FSC_VEC_INIT(struct process);
	fsc_files_init(&s->files);
	*ret = s;
	return 0;
}

void fsc_spaces_free(struct fsc_spaces *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->processes.n; i++)
		process_release(FSC_AT(struct process, &s->processes, i));
	fsc_vec_release(&s->processes);
	fsc_map_release(&s->index);
	fsc_files_release(&s->files);
	free(s);
}

void fsc_spaces_freep(struct fsc_spaces **s)
{
	fsc_spaces_free(*s);
}

static struct process *find_process(const struct fsc_spaces *s, pid_t pid)
{
	const uint64_t *place = fsc_map_get(&s->index, &pid, sizeof(pid));

	return place && *place ? FSC_AT(struct process, &s->processes, *place - 1) : NULL;
}

static int by_use(const void *va, const void *vb)
{
	const struct process *a = va, *b = vb;

	if (a->dead != b->dead)
		return a->dead ? -1 : 1;
	return (a->used > b->used) - (a->used < b->used);
}

/* Most exits are reported. */
static bool enough_dead(const struct fsc_spaces *s, size_t n)
{
	size_t dead = 0;

	for (size_t i = 0; i < s->processes.n; i++)
		dead += FSC_AT(struct process, &s->processes, i)->dead;
	return dead >= n;
}

/* Drops an eighth of the processes: the exited ones longest unused, then others. Not one at a
 * time, because the index must be rebuilt. */
static int forget_some(struct fsc_spaces *s, struct fsc_err *err)
{
	struct process *p = s->processes.data;
	size_t n = s->max / 8 + 1;

	if (!p)
		return 0;
	if (!enough_dead(s, n))
		for (size_t i = 0; i < s->processes.n; i++)
			p[i].dead |= kill(p[i].pid, 0) && errno == ESRCH;
	qsort(p, s->processes.n, sizeof(*p), by_use);
	n = n < s->processes.n ? n : s->processes.n;
	for (size_t i = 0; i < n; i++)
		process_release(&p[i]);
	s->processes.n -= n;
	memmove(p, p + n, s->processes.n * sizeof(*p));
	fsc_map_release(&s->index);
	for (size_t i = 0; i < s->processes.n; i++) {
		uint64_t *slot = fsc_map_put(&s->index, &p[i].pid, sizeof(p[i].pid), NULL);

		if (!slot)
			return fsc_err_nomem(err);
		*slot = i + 1;
	}
	return 0;
}

/* The process, added if it is new. NULL: out of memory. */
static struct process *get_process(struct fsc_spaces *s, pid_t pid, struct fsc_err *err)
{
	struct process *p = find_process(s, pid);
	uint64_t *slot;

	if (!p) {
		if (s->processes.n >= s->max && forget_some(s, err))
			return NULL;
		slot = fsc_map_put(&s->index, &pid, sizeof(pid), NULL);
		p = slot ? fsc_vec_push(&s->processes) : NULL;
		if (!p) {
			fsc_err_nomem(err);
			return NULL;
		}
		p->pid = pid;
		*slot = s->processes.n;
	}
	p->used = ++s->clock;
	p->dead = false;
	return p;
}

/* The newest program's space, unshared. NULL: out of memory. */
static struct space *own_space(struct process *p)
{
	struct space *sp = p->n ? p->programs[p->n - 1] : NULL, *own;

	if (sp && sp->users == 1)
		return sp;
	own = sp ? space_copy(sp) : space_new();
	if (!own)
		return NULL;
	if (!sp) {
		add_program(p, own, 0);
	} else {
		space_put(sp);
		p->programs[p->n - 1] = own;
	}
	return own;
}

static bool is_same(const struct fsc_mapping *a, const struct fsc_mapping *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->dev == b->dev && a->ino == b->ino && !strcmp(a->path, b->path);
}

/* Most mappings are known when maps are read again; those need no change. */
static int add_mapping(struct process *p, const struct fsc_mapping *m, struct fsc_err *err)
{
	struct space *sp = p->n ? p->programs[p->n - 1] : NULL;
	const struct fsc_mapping *was = sp ? fsc_maps_find(&sp->maps, m->start) : NULL;

	if (was && is_same(was, m))
		return 0;
	sp = own_space(p);
	return sp ? fsc_maps_insert(&sp->maps, m, err) : fsc_err_nomem(err);
}

void fsc_spaces_at(struct fsc_spaces *s, uint64_t time_ns)
{
	s->now = time_ns;
}

int fsc_spaces_mmap(struct fsc_spaces *s, pid_t pid, uint64_t start, uint64_t len, uint64_t offset,
		    dev_t dev, ino_t ino, const char *path, struct fsc_err *err)
{
	static char anon[] = "[anon]";
	struct fsc_mapping m = {.start = start,
				.end = start + len,
				.offset = offset,
				.dev = dev,
				.ino = ino,
				.exec = true,
				.path = (char *)path};
	struct process *p = get_process(s, pid, err);

	if (!p)
		return -ENOMEM;
	if (!len || m.end < start)
		return 0; /* no kernel says so */
	if (!path[0] || !strncmp(path, "//anon", 6))
		m.path = anon;
	return add_mapping(p, &m, err);
}

int fsc_spaces_read(struct fsc_spaces *s, pid_t pid, struct fsc_err *err)
{
	struct fsc_vec maps = FSC_VEC_INIT(struct fsc_mapping);
	int rc = fsc_maps_read(pid, true, &maps, err);

	for (size_t i = 0; !rc && i < maps.n; i++) {
		const struct fsc_mapping *m = FSC_AT(struct fsc_mapping, &maps, i);

		rc = fsc_spaces_mmap(s, pid, m->start, m->end - m->start, m->offset, m->dev, m->ino,
				     m->path, err);
	}
	fsc_maps_release(&maps);
	return rc;
}

int fsc_spaces_fork(struct fsc_spaces *s, pid_t parent, pid_t child, struct fsc_err *err)
{
	struct process *from, *to;

	if (parent == child)
		return 0;
	to = get_process(s, child, err);
	if (!to)
		return -ENOMEM;
	from = find_process(s, parent); /* after the child was added, which may drop the parent */
	if (!from || !from->n)
		return 0;
	from->programs[from->n - 1]->users++;
	add_program(to, from->programs[from->n - 1], s->now);
	return 0;
}

int fsc_spaces_exec(struct fsc_spaces *s, pid_t pid, struct fsc_err *err)
{
	struct process *p = get_process(s, pid, err);
	struct space *sp = p ? space_new() : NULL;

	if (!sp)
		return fsc_err_nomem(err);
	add_program(p, sp, s->now);
	return 0;
}

void fsc_spaces_exit(struct fsc_spaces *s, pid_t pid)
{
	struct process *p = find_process(s, pid);

	if (p)
		p->dead = true;
}

bool fsc_spaces_known(const struct fsc_spaces *s, pid_t pid)
{
	return find_process(s, pid) != NULL;
}

const struct fsc_mapping *fsc_spaces_find_at(const struct fsc_spaces *s, pid_t pid, uint64_t addr,
					     uint64_t time_ns)
{
	const struct process *p = find_process(s, pid);
	const struct space *then = time_ns ? program_at(p, time_ns) : NULL;
	const struct fsc_mapping *at = then ? fsc_maps_find(&then->maps, addr) : NULL;

	if (at)
		return at;
	for (size_t i = p ? p->n : 0; i-- > 0;) {
		const struct fsc_mapping *m = fsc_maps_find(&p->programs[i]->maps, addr);

		if (m)
			return m;
	}
	return NULL;
}

const struct fsc_mapping *fsc_spaces_find(const struct fsc_spaces *s, pid_t pid, uint64_t addr)
{
	return fsc_spaces_find_at(s, pid, addr, 0);
}

const struct fsc_mapping *fsc_spaces_all(const struct fsc_spaces *s, pid_t pid, uint64_t time_ns,
					 size_t *ret_n)
{
	const struct space *sp = program_at(find_process(s, pid), time_ns);
	const struct fsc_vec *maps = sp ? &sp->maps : NULL;

	*ret_n = maps ? maps->n : 0;
	return maps ? maps->data : NULL;
}

int fsc_spaces_file(struct fsc_spaces *s, pid_t pid, const struct fsc_mapping *m,
		    const struct fsc_space_file **ret, struct fsc_err *err)
{
	return fsc_files_get(&s->files, pid, m, ret, err);
}

int fsc_spaces_hold(struct fsc_spaces *s, pid_t pid, uint64_t time_ns, struct fsc_err *err)
{
	const struct fsc_space_file *file;
	size_t n;
	const struct fsc_mapping *m = fsc_spaces_all(s, pid, time_ns, &n);
	int rc = 0;

	for (size_t i = 0; !rc && i < n; i++)
		rc = fsc_spaces_file(s, pid, &m[i], &file, err);
	return rc;
}
