/* Only pages that a process has to itself can differ from the file. Which these are, pagemap says,
 * so that of most processes no memory is read. */
#include "engine/patched.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "probe/insn.h"
#include "proc/maps.h"
#include "proc/process.h"

enum { LONGEST = 16, BREAKPOINT = 0xcc, CALL = 0xe8 };

struct fsc_patched_file {
	const char *path;
	int fd;
	dev_t dev;
	ino_t ino;
	size_t first, n; /* of the places */
};

struct fsc_patched_place {
	uint64_t offset;
	size_t id;
	uint8_t n; /* bytes of its instruction */
	bool nop5;
	uint8_t bytes[LONGEST]; /* in the file */
};

void fsc_patched_init(struct fsc_patched *p)
{
	*p = (struct fsc_patched){.files = FSC_VEC_INIT(struct fsc_patched_file),
				  .places = FSC_VEC_INIT(struct fsc_patched_place)};
}

static struct fsc_patched_file *file_at(const struct fsc_patched *p, size_t i)
{
	return FSC_AT(struct fsc_patched_file, &p->files, i);
}

/* The last one, whose places were added. */
static void close_file(struct fsc_patched *p)
{
	struct fsc_patched_file *f = p->files.n ? file_at(p, p->files.n - 1) : NULL;

	if (!f)
		return;
	fsc_closep(&f->fd);
	f->fd = -1;
}

void fsc_patched_release(struct fsc_patched *p)
{
	close_file(p);
	fsc_vec_release(&p->files);
	fsc_vec_release(&p->places);
}

int fsc_patched_file(struct fsc_patched *p, const char *path, struct fsc_err *err)
{
	struct fsc_patched_file f = {.path = path, .first = p->places.n};
	struct stat st;
	int rc;

	close_file(p);
	f.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (f.fd < 0 || fstat(f.fd, &st)) {
		rc = fsc_err_sys(err, errno, "cannot read '%s'", path);
		fsc_closep(&f.fd);
		return rc;
	}
	f.dev = st.st_dev;
	f.ino = st.st_ino;
	rc = fsc_vec_add(&p->files, &f, err);
	if (rc)
		close(f.fd);
	return rc;
}

int fsc_patched_place(struct fsc_patched *p, uint64_t offset, size_t id, struct fsc_err *err)
{
	struct fsc_patched_file *f = file_at(p, p->files.n - 1);
	struct fsc_patched_place x = {.offset = offset, .id = id};
	ssize_t n = pread(f->fd, x.bytes, sizeof(x.bytes), (off_t)offset);
	struct fsc_insn in;

	if (n <= 0)
		return 0; /* the kernel will refuse it */
	in = fsc_insn_decode(x.bytes, (size_t)n);
	x.n = in.length ? in.length : 1;
	x.nop5 = in.nop5;
	f->n++;
	return fsc_vec_add(&p->places, &x, err);
}

/* ---- one process ---- */

struct looking {
	const struct fsc_patched *p;
	pid_t pid;
	int mem, pagemap;
	uint64_t page_size;
	uint8_t *page;	   /* the one read last */
	uint64_t at;	   /* its address; 0: none */
	uint64_t *entries; /* of pagemap, for a mapping; NULL: any page may be its own */
	int (*found)(size_t id, pid_t pid, void *arg, struct fsc_err *err);
	void *arg;
};

/* On btrfs and overlayfs the device in maps is not that of stat(). */
static bool is_of_file(const struct fsc_mapping *m, const struct fsc_patched_file *f)
{
	if (m->ino != f->ino)
		return false;
	return m->dev == f->dev || !strncmp(fsc_str_base(m->path), fsc_str_base(f->path),
					    strlen(fsc_str_base(f->path)));
}

/* Bits of pagemap: 63 present, 62 swapped, 61 the page cache's. */
static bool is_own_page(uint64_t entry)
{
	return entry >> 62 && !(entry >> 61 & 1);
}

static void read_pagemap(struct looking *l, const struct fsc_mapping *m)
{
	const size_t each = sizeof(*l->entries), size = (m->end - m->start) / l->page_size * each;
	const off_t from = (off_t)(m->start / l->page_size * each);

	free(l->entries);
	l->entries = malloc(size);
	if (!l->entries || pread(l->pagemap, l->entries, size, from) == (ssize_t)size)
		return;
	free(l->entries);
	l->entries = NULL;
}

static bool may_differ(const struct looking *l, const struct fsc_mapping *m, uint64_t addr,
		       size_t n)
{
	uint64_t first = (addr - m->start) / l->page_size,
		 last = (addr + n - 1 - m->start) / l->page_size;

	return !l->entries || is_own_page(l->entries[first]) || is_own_page(l->entries[last]);
}

/* Each page once, as the places come in order. */
static bool read_code(struct looking *l, uint64_t addr, uint8_t *to, size_t n)
{
	for (; n; n--, addr++) {
		uint64_t page = addr & ~(l->page_size - 1);

		if (l->at != page &&
		    pread(l->mem, l->page, l->page_size, (off_t)page) != (ssize_t)l->page_size)
			return false;
		l->at = page;
		*to++ = l->page[addr - page];
	}
	return true;
}

/* The first byte may be another tracer's breakpoint; Linux 6.18 makes a call of a nop there. */
static bool is_same_code(const struct fsc_patched_place *x, const uint8_t *now)
{
	if (x->nop5 && now[0] == CALL)
		return true;
	return (x->bytes[0] == now[0] || now[0] == BREAKPOINT) &&
	       !memcmp(x->bytes + 1, now + 1, x->n - 1u);
}

static int look_at_place(struct looking *l, const struct fsc_mapping *m,
			 const struct fsc_patched_place *x, struct fsc_err *err)
{
	uint64_t addr = m->start + (x->offset - m->offset);
	uint8_t now[LONGEST];
	size_t n = x->n;

	if (x->offset < m->offset || addr + n > m->end || !may_differ(l, m, addr, n) ||
	    !read_code(l, addr, now, n) || is_same_code(x, now))
		return 0;
	return l->found(x->id, l->pid, l->arg, err);
}

static int look_at_mapping(struct looking *l, const struct fsc_mapping *m, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < l->p->files.n; i++) {
		const struct fsc_patched_file *f = file_at(l->p, i);

		if (!f->n || !is_of_file(m, f))
			continue;
		read_pagemap(l, m);
		for (size_t k = f->first; !rc && k < f->first + f->n; k++)
			rc = look_at_place(l, m, FSC_AT(struct fsc_patched_place, &l->p->places, k),
					   err);
	}
	return rc;
}

static bool has_file(const struct fsc_patched *p, const struct fsc_vec *maps)
{
	for (size_t k = 0; k < maps->n; k++)
		for (size_t i = 0; i < p->files.n; i++)
			if (is_of_file(FSC_AT(struct fsc_mapping, maps, k), file_at(p, i)))
				return true;
	return false;
}

static int open_of(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Of our own memory or descriptors: then it is not known what the process has. */
static bool is_shortage(int code)
{
	return code == ENOMEM || code == EMFILE || code == ENFILE;
}

static int look_at_process(struct looking *l, pid_t pid, struct fsc_err *err)
{
	FSC_AUTO(fsc_maps_release) struct fsc_vec maps = FSC_VEC_INIT(struct fsc_mapping);
	FSC_AUTO(fsc_closep) int mem = -1;
	FSC_AUTO(fsc_closep) int pagemap = -1;
	int rc = fsc_maps_read(pid, true, &maps, NULL);

	if (rc || !has_file(l->p, &maps))
		return is_shortage(-rc) ? fsc_err_sys(err, -rc, "cannot look at process %d", pid)
					: 0;
	l->pagemap = pagemap = open_of(pid, "pagemap");
	l->mem = mem = open_of(pid, "mem");
	if (mem < 0 && is_shortage(errno))
		return fsc_err_sys(err, errno, "cannot look at process %d", pid);
	l->pid = pid;
	l->at = 0;
	for (size_t i = 0; mem >= 0 && !rc && i < maps.n; i++)
		rc = look_at_mapping(l, FSC_AT(struct fsc_mapping, &maps, i), err);
	return rc;
}

static int look_at_all(struct looking *l, struct fsc_err *err)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int rc = 0;

	if (!d)
		return fsc_err_sys(err, errno, "cannot read /proc");
	while (!rc && (e = readdir(d)))
		if (atoi(e->d_name) > 0)
			rc = look_at_process(l, (pid_t)atoi(e->d_name), err);
	closedir(d);
	return rc;
}

int fsc_patched_find(struct fsc_patched *p, const pid_t *pids, size_t n_pids,
		     int (*found)(size_t id, pid_t pid, void *arg, struct fsc_err *err), void *arg,
		     struct fsc_err *err)
{
	struct looking l = {
	    .p = p, .page_size = (uint64_t)sysconf(_SC_PAGESIZE), .found = found, .arg = arg};
	int rc = 0;

	if (!p->places.n)
		return 0;
	close_file(p);
	l.page = malloc(l.page_size);
	if (!l.page)
		return fsc_err_nomem(err);
	for (size_t i = 0; !rc && i < n_pids; i++)
		rc = look_at_process(&l, pids[i], err);
	if (!n_pids)
		rc = look_at_all(&l, err);
	free(l.entries);
	free(l.page);
	return rc;
}

char *fsc_patched_why(pid_t pid)
{
	char *why;

	return asprintf(&why, "process %d has changed its code in memory", (int)pid) < 0 ? NULL
											 : why;
}
