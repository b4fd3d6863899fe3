/* Telling inodes apart: by their looks, and where these leave it open by a trial. In the trial a
 * uprobe event for our own process alone is opened on one of the files, in a padding byte of its
 * ELF header, which nobody executes. If that breakpoint then shows in a mapping of the other file,
 * both are one inode. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* statx */
#endif
#include "engine/inodes.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/map.h"
#include "base/vec.h"
#include "engine/sys.h"

#define OVERLAYFS 0x794c7630

enum {
/* The padding of e_ident is at 9 to 15; arm64 needs whole instructions, and nobody reads the byte
 * before in a mapping of ours. Each event has a place of its own, to be told from the others. */
#ifdef __x86_64__
	FIRST_OFFSET = 9,
	OFFSET_STEP = 1,
#else
	FIRST_OFFSET = 8,
	OFFSET_STEP = 4,
#endif
	/* Opening and closing an event takes tens of milliseconds: the last ones stay for the next
	 * container of the image. Each keeps its file in use. */
	MOST_EVENTS = (EI_NIDENT - FIRST_OFFSET) / OFFSET_STEP - 1,
	OWN_EVENT = MOST_EVENTS, /* of a file that is compared with many, for that time */
	MOST_KNOWN = 65536,	 /* looks of files; then all are compared again */
};

/* An inode, as it was first seen. */
struct inode {
	struct fsc_inode_look look;
	char *path;
	uint64_t next;	/* number of another one with the same size and time; 0: none */
	bool untriable; /* the trial does not work on it */
};

struct trial_event {
	uint64_t inode; /* its number; 0: unused */
	int fd;
};

struct fsc_inodes {
	unsigned refs;
	struct fsc_map all;   /* number -> struct inode * */
	uint64_t last;	      /* number of the newest */
	struct fsc_map known; /* struct look_key -> number */
	struct fsc_map alike; /* struct alike_key -> number of the newest */
	struct trial_event events[MOST_EVENTS];
	unsigned next_event;
	uint64_t trials;
};

struct look_key {
	uint64_t dev, ino, since;
};

struct alike_key {
	uint64_t size, modified;
};

static struct inode *inode_at(const struct fsc_inodes *t, uint64_t number)
{
	return (struct inode *)(uintptr_t)*fsc_map_get(&t->all, &number, sizeof(number));
}

/* ---- looks ---- */

static int64_t to_ns(const struct statx_timestamp *t)
{
	return t->tv_sec * 1000000000 + t->tv_nsec;
}

int fsc_inode_look(const char *path, struct fsc_inode_look *ret)
{
	struct statx st;
	struct statfs fs;

	if (statx(AT_FDCWD, path, 0, STATX_BASIC_STATS | STATX_BTIME, &st) || statfs(path, &fs))
		return -errno;
	*ret = (struct fsc_inode_look){
	    .dev = makedev(st.stx_dev_major, st.stx_dev_minor),
	    .ino = st.stx_ino,
	    .size = st.stx_size,
	    .born = st.stx_mask & STATX_BTIME ? to_ns(&st.stx_btime) : 0,
	    .changed = to_ns(&st.stx_ctime),
	    .modified = to_ns(&st.stx_mtime),
	    .overlay = (uint32_t)fs.f_type == OVERLAYFS,
	};
	return 0;
}

/* The numbers of a deleted file, and the device of an unmounted overlay, are used again; the time
 * of birth tells. A file copied up keeps its number, too. The time of change will do where nobody
 * writes. */
static int64_t look_since(const struct fsc_inode_look *l)
{
	return l->born || !l->overlay ? l->born : l->changed;
}

enum fsc_inode_guess fsc_inode_compare(const struct fsc_inode_look *a,
				       const struct fsc_inode_look *b)
{
	if (a->dev == b->dev)
		return a->ino == b->ino && look_since(a) == look_since(b) ? FSC_INODE_SAME
									  : FSC_INODE_OTHER;
	if (!a->overlay && !b->overlay)
		return FSC_INODE_OTHER;
	if (a->size != b->size || a->modified != b->modified)
		return FSC_INODE_OTHER;
	if (a->born && b->born ? a->born != b->born : a->changed != b->changed)
		return FSC_INODE_HARDLY;
	return FSC_INODE_PERHAPS;
}

/* ---- trials ---- */

static void *close_event(void *arg)
{
	close((int)(intptr_t)arg);
	return NULL;
}

/* The kernel takes its time to remove a probe: nobody needs to wait. */
static void close_aside(int fd)
{
	pthread_attr_t attr;
	pthread_t thread;
	int rc = pthread_attr_init(&attr);

	if (!rc) {
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		rc = pthread_create(&thread, &attr, close_event, (void *)(intptr_t)fd);
		pthread_attr_destroy(&attr);
	}
	if (rc)
		close(fd);
}

/* Copies from a mapping of a file, which may be truncated at any time: touching it could kill us.
 */
static bool read_mapped(void *from, unsigned char *to, size_t n)
{
	const struct iovec local = {to, n}, remote = {from, n};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)n;
}

static unsigned event_offset(size_t event)
{
	return FIRST_OFFSET + OFFSET_STEP * (unsigned)event;
}

/* Whether the breakpoint of an event is in the file's header: 1, 0, or -1 if that cannot be seen.
 * The kernel puts it into private mappings that may be executed. */
static int shows_breakpoint(const char *path, size_t event)
{
	const unsigned at = event_offset(event);
	FSC_AUTO(fsc_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char was[EI_NIDENT], is[EI_NIDENT];
	void *page;
	int rc = -1;

	if (fd < 0 || pread(fd, was, sizeof(was), 0) != sizeof(was) || memcmp(was, ELFMAG, SELFMAG))
		return -1;
	page = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (page == MAP_FAILED)
		return -1;
	if (read_mapped(page, is, sizeof(is)))
		rc = memcmp(is + at, was + at, OFFSET_STEP) != 0;
	munmap(page, size);
	return rc;
}

static bool is_still(const struct inode *i)
{
	struct fsc_inode_look now;

	return !fsc_inode_look(i->path, &now) &&
	       fsc_inode_compare(&i->look, &now) == FSC_INODE_SAME;
}

/* Opens the event of an inode, if its file is still there and a breakpoint shows in a mapping of
 * that very file. -1: it cannot be tried. */
static int open_event(struct inode *i, size_t event)
{
	FSC_AUTO(fsc_closep) int fd = -1;

	if (i->untriable || !is_still(i) || shows_breakpoint(i->path, event))
		return -1;
	fd = fsc_sys_perf_uprobe(i->path, event_offset(event), 0, false, getpid());
	if (fd >= 0 && shows_breakpoint(i->path, event) == 1)
		return fsc_take_fd(&fd);
	i->untriable = true;
	return -1;
}

/* The event of an inode; -1: it cannot be tried. */
static int find_event(struct fsc_inodes *t, uint64_t number)
{
	const unsigned next = t->next_event;
	struct trial_event *e = &t->events[next];
	int fd;

	for (int i = 0; i < MOST_EVENTS; i++)
		if (t->events[i].inode == number)
			return i;
	fd = open_event(inode_at(t, number), next);
	if (fd < 0)
		return -1;
	if (e->inode)
		close_aside(e->fd);
	*e = (struct trial_event){number, fd};
	t->next_event = (next + 1) % MOST_EVENTS;
	return (int)next;
}

/* The file by which an inode is known may be that of a container that has gone. */
static void renew_inode(struct inode *i, const char *path, const struct fsc_inode_look *look)
{
	char *copy = is_still(i) ? NULL : strdup(path);

	if (!copy)
		return;
	free(i->path);
	i->path = copy;
	i->look = *look;
}

/* Whether a file that looks like an inode is that inode. Where no trial can be made, an equal inode
 * number beside the equal times decides. */
static bool is_inode(struct fsc_inodes *t, uint64_t number, const char *path,
		     const struct fsc_inode_look *look)
{
	struct inode *i = inode_at(t, number);
	enum fsc_inode_guess guess = fsc_inode_compare(&i->look, look);
	int event, shown;
	bool same;

	if (guess != FSC_INODE_PERHAPS)
		return guess == FSC_INODE_SAME;
	t->trials++;
	event = find_event(t, number);
	shown = event < 0 ? -1 : shows_breakpoint(path, (size_t)event);
	fsc_log(FSC_LOG_DEBUG, "'%s' and '%s' %s", path, i->path,
		shown > 0    ? "are one inode"
		: shown == 0 ? "are two inodes"
			     : "look alike; no trial is possible");
	same = shown < 0 ? i->look.ino == look->ino : shown;
	if (same)
		renew_inode(i, path, look);
	return same;
}

static bool read_head(const char *path, unsigned char *to, size_t n)
{
	FSC_AUTO(fsc_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd >= 0 && pread(fd, to, n, 0) == (ssize_t)n;
}

/* Spares a trial where programs of one size and time have each their own build id. */
static bool have_same_head(const char *a, const char *b)
{
	unsigned char x[1024], y[1024];

	return read_head(a, x, sizeof(x)) && read_head(b, y, sizeof(y)) && !memcmp(x, y, sizeof(x));
}

/* Each of a hundred containers may have a copy of its own of a file whose owner it changed: one
 * event on the new file is looked for in all the others. The number of the one that it is; 0: none.
 */
static uint64_t find_hardly(struct fsc_inodes *t, uint64_t first, const char *path,
			    const struct fsc_inode_look *look)
{
	struct inode self = {.look = *look, .path = (char *)path};
	FSC_AUTO(fsc_closep) int fd = -1;

	for (uint64_t n = first; n; n = inode_at(t, n)->next) {
		const struct inode *i = inode_at(t, n);

		if (fsc_inode_compare(&i->look, look) != FSC_INODE_HARDLY || !is_still(i) ||
		    !have_same_head(i->path, path))
			continue;
		t->trials += fd < 0;
		fd = fd < 0 ? open_event(&self, OWN_EVENT) : fd;
		if (fd < 0)
			return 0;
		if (shows_breakpoint(i->path, OWN_EVENT) != 1)
			continue;
		fsc_log(FSC_LOG_DEBUG, "'%s' and '%s' are one inode", path, i->path);
		return n;
	}
	return 0;
}

/* ---- numbers ---- */

int fsc_inodes_new(struct fsc_inodes **ret, struct fsc_err *err)
{
	struct fsc_inodes *t = calloc(1, sizeof(*t));

	if (!t)
		return fsc_err_nomem(err);
	t->refs = 1;
	*ret = t;
	return 0;
}

struct fsc_inodes *fsc_inodes_ref(struct fsc_inodes *t)
{
	t->refs++;
	return t;
}

static void inode_free(struct inode *i)
{
	free(i->path);
	free(i);
}

void fsc_inodes_free(struct fsc_inodes *t)
{
	if (!t || --t->refs)
		return;
	for (size_t i = 0; i < MOST_EVENTS; i++)
		if (t->events[i].inode)
			close_aside(t->events[i].fd);
	for (size_t i = 0; i < t->all.cap; i++)
		if (t->all.slots[i].key)
			inode_free((struct inode *)(uintptr_t)t->all.slots[i].value);
	fsc_map_release(&t->all);
	fsc_map_release(&t->known);
	fsc_map_release(&t->alike);
	free(t);
}

static int add_inode(struct fsc_inodes *t, const char *path, const struct fsc_inode_look *look,
		     uint64_t *alike, uint64_t *ret, struct fsc_err *err)
{
	struct inode *i = calloc(1, sizeof(*i));
	const uint64_t number = t->last + 1;
	uint64_t *slot = NULL;

	if (i)
		*i = (struct inode){.look = *look, .path = strdup(path), .next = *alike};
	if (i && i->path)
		slot = fsc_map_put(&t->all, &number, sizeof(number), NULL);
	if (!slot) {
		if (i)
			inode_free(i);
		return fsc_err_nomem(err);
	}
	*slot = (uintptr_t)i;
	*alike = *ret = t->last = number;
	return 0;
}

static struct alike_key alike_key_of(const struct fsc_inode_look *look)
{
	return (struct alike_key){look->size, (uint64_t)look->modified};
}

/* The inode among those that look alike; a new one if it is none of them. */
static int find_inode(struct fsc_inodes *t, const char *path, const struct fsc_inode_look *look,
		      uint64_t *ret, struct fsc_err *err)
{
	const struct alike_key key = alike_key_of(look);
	uint64_t *alike = fsc_map_put(&t->alike, &key, sizeof(key), NULL);

	if (!alike)
		return fsc_err_nomem(err);
	for (uint64_t n = *alike; n; n = inode_at(t, n)->next)
		if (is_inode(t, n, path, look)) {
			*ret = n;
			return 0;
		}
	*ret = find_hardly(t, *alike, path, look);
	return *ret ? 0 : add_inode(t, path, look, alike, ret, err);
}

int fsc_inodes_number(void *arg, const char *path, uint64_t *ret, struct fsc_err *err)
{
	struct fsc_inodes *t = arg;
	struct fsc_inode_look look = {0};
	uint64_t *known;
	struct look_key key;
	int rc = fsc_inode_look(path, &look);

	if (rc)
		return fsc_err_sys(err, -rc, "cannot look at '%s'", path);
	key = (struct look_key){look.dev, look.ino, (uint64_t)look_since(&look)};
	if (t->known.n >= MOST_KNOWN)
		fsc_map_release(&t->known);
	known = fsc_map_put(&t->known, &key, sizeof(key), NULL);
	if (!known)
		return fsc_err_nomem(err);
	if (!*known)
		rc = find_inode(t, path, &look, known, err);
	*ret = *known;
	return rc;
}

/* ---- forgetting ---- */

static void drop_inode(struct fsc_inodes *t, uint64_t number)
{
	struct inode *i = inode_at(t, number);
	const struct alike_key key = alike_key_of(&i->look);
	uint64_t *at = fsc_map_get(&t->alike, &key, sizeof(key));

	while (*at != number)
		at = &inode_at(t, *at)->next;
	*at = i->next;
	if (!*fsc_map_get(&t->alike, &key, sizeof(key)))
		fsc_map_remove(&t->alike, &key, sizeof(key));
	fsc_map_remove(&t->all, &number, sizeof(number));
	inode_free(i);
}

int fsc_inodes_trim(struct fsc_inodes *t, size_t most, bool (*is_used)(uint64_t number, void *arg),
		    void *arg, struct fsc_err *err)
{
	FSC_AUTO(fsc_vec_release) struct fsc_vec unused = FSC_VEC_INIT(uint64_t);
	int rc = 0;

	if (t->all.n <= most)
		return 0;
	for (size_t i = 0; !rc && i < t->all.cap; i++) {
		const uint64_t *number = t->all.slots[i].key;

		if (number && !is_used(*number, arg))
			rc = fsc_vec_add(&unused, number, err);
	}
	for (size_t i = 0; !rc && i < unused.n; i++)
		drop_inode(t, *FSC_AT(uint64_t, &unused, i));
	fsc_map_release(&t->known); /* it names them, too */
	return rc;
}

uint64_t fsc_inodes_count(const struct fsc_inodes *t)
{
	return t->last;
}

uint64_t fsc_inodes_trials(const struct fsc_inodes *t)
{
	return t->trials;
}
