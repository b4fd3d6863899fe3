/* The rare ways of funcscope.h: taking memory, lanes for threads, names, the socket, fork.
 *
 * Memory is a reserved range of addresses into which chunks are mapped one behind the other, each a
 * sealed memfd (or a file) that is reserved in full before it is used. Everything here that changes
 * what threads share happens under one lock, with signals held off: a handler may use checkpoints.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "funcscope.h"

#ifdef FUNCSCOPE_DISABLE
typedef int funcscope_disabled_; /* a translation unit must not be empty */
#else

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef MFD_HUGETLB
#define MFD_HUGETLB 0x0004U
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define UNIT	      64u
#define PAGE_4K	      4096u
#define PAGE_2M	      (2u << 20)
#define LEAST_CHUNK   (256u << 10)
#define DEFAULT_NAMES 512u
#define MOST_CELLS    (1u << 20)
#define MOST_SAVED    65536u /* entries of checkpoints that are entered again */

__thread struct funcscope_self_ funcscope_self_;

/* Entries that a recursion put aside, innermost last. */
struct saved {
	uint64_t start;
	uint32_t idx, pad;
};

struct call {
	uint64_t start;
	const void *function;
	uint32_t id, pad;
};

static __thread struct {
	struct funcscope_lane *lane;
	struct saved *saved;
	uint32_t n_saved;
	uint32_t generation; /* of the memory that the lane is in */
	struct call *calls;  /* -finstrument-functions */
	uint32_t n_calls;
	bool refused; /* there was no lane to be had */
} thread;

static struct {
	uint32_t lock;
	bool key_made;
	pthread_key_t key; /* its destructor gives a thread's lane back */
	char *base;	   /* of the reserved addresses; never given back while threads may write */
	size_t reserved;
	struct funcscope_region *region; /* at base; NULL: nothing is measured */
	struct funcscope_options options;
	char directory[PATH_MAX];
	int fd[FUNCSCOPE_CHUNKS];
	dev_t dev[FUNCSCOPE_CHUNKS]; /* by which descriptors are known again */
	ino_t ino[FUNCSCOPE_CHUNKS];
	int listener;
	dev_t listener_dev;
	ino_t listener_ino;
	char socket_path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	uint32_t generation;
	bool fork_watched;
	char (*numbered)[FUNCSCOPE_NAME_LEN]; /* names of numbers, for a child's memory, too */
	size_t n_numbered;
	struct funcscope_site_record *known; /* all names so far */
	size_t n_known, known_room;
} here = {.listener = -1};

/* ---- the lock ---- */

static void lock(sigset_t *old)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, old);
	while (__atomic_exchange_n(&here.lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void unlock(const sigset_t *old)
{
	__atomic_store_n(&here.lock, 0, __ATOMIC_RELEASE);
	pthread_sigmask(SIG_SETMASK, old, NULL);
}

static void count(uint64_t *what)
{
	__atomic_fetch_add(what, 1, __ATOMIC_RELAXED);
}

/* ---- memory ---- */

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* Reserves the file's space, so that no write to the mapping can fail later. Not every file system
 * can; there zeros are written. */
static int reserve(int fd, size_t size)
{
	static const char zeros[4096];
	int rc = posix_fallocate(fd, 0, (off_t)size);

	if (rc != EOPNOTSUPP && rc != EINVAL)
		return rc;
	for (size_t at = 0; at < size; at += sizeof(zeros))
		if (pwrite(fd, zeros, sizeof(zeros), (off_t)at) != (ssize_t)sizeof(zeros))
			return errno ? errno : EIO;
	return 0;
}

static int set_size(int fd, size_t size)
{
	int rc;

	if (ftruncate(fd, (off_t)size))
		return -1;
	rc = reserve(fd, size);
	if (rc)
		errno = rc;
	return rc ? -1 : 0;
}

static void close_keeping_errno(int fd)
{
	int keep = errno;

	close(fd);
	errno = keep;
}

/* A file without a name below dir, or -1. */
static int nameless_file(const char *dir, size_t size)
{
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof(path), "%s/funcscope.XXXXXX", dir) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -1;
	unlink(path);
	if (set_size(fd, size)) {
		close_keeping_errno(fd);
		return -1;
	}
	return fd;
}

static void *map_nameless(const char *dir, size_t size)
{
	int fd = dir ? nameless_file(dir, size) : (errno = EINVAL, -1);
	void *p;

	if (fd < 0)
		return NULL;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	close_keeping_errno(fd);
	return p == MAP_FAILED ? NULL : p;
}

void *funcscope_hugepage_mmap(const char *dir, size_t size)
{
	return map_nameless(dir, round_up(size ? size : 1, PAGE_2M));
}

void *funcscope_file_mmap_4K(const char *dir, size_t size)
{
	return map_nameless(dir, round_up(size ? size : 1, PAGE_4K));
}

static int chunk_file(uint32_t n, size_t size)
{
	char path[PATH_MAX + 64];
	int fd;

	snprintf(path, sizeof(path), "%s/funcscope.%d.%u", here.directory, (int)getpid(), n);
	unlink(path); /* of a process that had our number */
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && set_size(fd, size)) {
		close_keeping_errno(fd);
		unlink(path);
		return -1;
	}
	return fd;
}

/* Readers know the chunks by their names in /proc/PID/fd. */
static int chunk_memfd(uint32_t n, size_t size, unsigned flags)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "funcscope.%u", n);
	fd = (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);
	if (fd >= 0 && set_size(fd, size)) {
		close_keeping_errno(fd);
		return -1;
	}
	return fd;
}

/* Opens the descriptor anew, for reading only. Without /proc the old one has to do. */
static int read_only(int fd)
{
	char path[64];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY | O_CLOEXEC);
	if (again < 0)
		return fd;
	close(fd);
	return again;
}

static int open_chunk(uint32_t n, size_t *size)
{
	int fd = -1;

	if (here.options.flags & FUNCSCOPE_HUGEPAGES)
		*size = round_up(*size, PAGE_2M);
	if (here.directory[0])
		return chunk_file(n, *size);
	if (here.options.flags & FUNCSCOPE_HUGEPAGES)
		fd = chunk_memfd(n, *size, MFD_HUGETLB);
	return fd >= 0 ? fd : chunk_memfd(n, *size, 0);
}

/* Maps the next chunk behind the others. Once it is mapped nobody else can write to it. */
static bool add_chunk(uint32_t n, size_t at, size_t size, size_t *made)
{
	struct stat st;
	int fd;

	if (n >= FUNCSCOPE_CHUNKS || at + size > here.reserved) {
		errno = ENOMEM;
		return false;
	}
	fd = open_chunk(n, &size);
	if (fd < 0)
		return false;
	if (at + size > here.reserved ||
	    mmap(here.base + at, size, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0) == MAP_FAILED) {
		close_keeping_errno(fd);
		return false;
	}
	if (!here.directory[0])
		fcntl(fd, F_ADD_SEALS,
		      F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
	fd = read_only(fd);
	if (!fstat(fd, &st)) {
		here.dev[n] = st.st_dev;
		here.ino[n] = st.st_ino;
	}
	here.fd[n] = fd;
	*made = size;
	return true;
}

static size_t mapped(const struct funcscope_region *r)
{
	size_t n = 0;

	for (uint32_t i = 0; i < r->chunks; i++)
		n += r->chunk_size[i];
	return n;
}

/* A piece of memory, all zero, that lies in one chunk; NULL: there is no more. Under the lock. */
static void *take(size_t size)
{
	struct funcscope_region *r = here.region;
	size_t end = mapped(r), at = r->used, made;

	size = round_up(size, UNIT);
	if (at + size > end) {
		size_t chunk = end < LEAST_CHUNK ? LEAST_CHUNK : end; /* twice as much in all */

		if (chunk < size)
			chunk = size;
		chunk = round_up(chunk, PAGE_4K);
		if (!add_chunk(r->chunks, end, chunk, &made) &&
		    !add_chunk(r->chunks, end, round_up(size, PAGE_4K), &made))
			return NULL;
		r->chunk_size[r->chunks] = made;
		__atomic_store_n(&r->chunks, r->chunks + 1, __ATOMIC_RELEASE);
		at = end;
	}
	r->used = at + size;
	return here.base + at;
}

static uint32_t units_between(const void *from, const void *to)
{
	return (uint32_t)(((const char *)to - (const char *)from) / (ptrdiff_t)UNIT);
}

/* Addresses for all that may come. A process with a limit on them gets fewer. */
static bool reserve_addresses(void)
{
	if (here.base)
		return true;
	for (here.reserved = (size_t)64 << 30; here.reserved >= (size_t)8 << 20;
	     here.reserved /= 4) {
		void *p = mmap(NULL, here.reserved, PROT_NONE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (p != MAP_FAILED) {
			here.base = p;
			return true;
		}
	}
	return false;
}

/* ---- the clock's first reading ---- */

/* The pair of readings that lie closest together of a few. */
static void read_clocks(struct funcscope_region *r)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		struct timespec ts;
		uint64_t before = funcscope_begin_ordered_(), after;

		clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
		after = funcscope_end_ordered_();
		if (after - before >= best)
			continue;
		best = after - before;
		r->start_ticks = before + (after - before) / 2;
		r->start_ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	}
#ifdef __aarch64__
	__asm__("mrs %0, cntfrq_el0" : "=r"(r->tick_hz));
	r->clock = FUNCSCOPE_CLOCK_CNTVCT;
#else
	r->clock = FUNCSCOPE_CLOCK_TSC;
#endif
}

/* ---- the socket ---- */

static bool own_directory(const char *dir)
{
	struct stat st;

	if (mkdir(dir, 0700) && errno != EEXIST)
		return false;
	return !lstat(dir, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 077);
}

/* Without a socket a reader that may look into /proc/PID/fd still finds the memory. */
static void open_socket(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct stat st;
	char dir[64];

	here.listener = -1;
	snprintf(dir, sizeof(dir), "/tmp/funcscope-%u", (unsigned)geteuid());
	if (!own_directory(dir))
		return;
	snprintf(to.sun_path, sizeof(to.sun_path), "%s/%d.sock", dir, (int)getpid());
	memcpy(here.socket_path, to.sun_path, sizeof(here.socket_path));
	unlink(here.socket_path);
	here.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (here.listener < 0)
		return;
	if (bind(here.listener, (struct sockaddr *)&to, sizeof(to)) || listen(here.listener, 16) ||
	    fstat(here.listener, &st)) {
		close(here.listener);
		here.listener = -1;
		return;
	}
	here.listener_dev = st.st_dev;
	here.listener_ino = st.st_ino;
}

static bool may_read(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

static bool still_ours(int fd, dev_t dev, ino_t ino)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && st.st_dev == dev && st.st_ino == ino;
}

static int send_descriptors(int to)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(here.fd))];
	} control;
	struct funcscope_region *r = here.region;
	struct funcscope_hello hello = {FUNCSCOPE_MAGIC, FUNCSCOPE_LAYOUT, r->pid, r->chunks, 0};
	struct iovec iov = {&hello, sizeof(hello)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	for (uint32_t i = 0; i < r->chunks; i++)
		if (!still_ours(here.fd[i], here.dev[i], here.ino[i])) {
			errno = EBADF; /* the program closed it */
			return -1;
		}
	memset(&control, 0, sizeof(control));
	msg.msg_control = control.room;
	msg.msg_controllen = CMSG_SPACE(r->chunks * sizeof(int));
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(r->chunks * sizeof(int));
	memcpy(CMSG_DATA(&control.head), here.fd, r->chunks * sizeof(int));
	return sendmsg(to, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(hello) ? 1 : -1;
}

static int serve_one(void)
{
	int fd, rc;

	if (!here.region || !still_ours(here.listener, here.listener_dev, here.listener_ino))
		return 0;
	fd = accept4(here.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return errno == EAGAIN || errno == ECONNABORTED || errno == EINTR ? 0 : -1;
	if (may_read(fd)) {
		rc = send_descriptors(fd);
	} else {
		rc = -1;
		errno = EPERM;
	}
	close_keeping_errno(fd);
	return rc;
}

int funcscope_server_poll_and_send_fd(void)
{
	sigset_t old;
	int rc;

	lock(&old);
	rc = serve_one();
	unlock(&old);
	return rc;
}

/* ---- names ---- */

static struct funcscope_site_record *records(const struct funcscope_region *r)
{
	return (struct funcscope_site_record *)(here.base + (size_t)r->sites * UNIT);
}

static void copy_name(char *to, size_t size, const char *from)
{
	size_t n = strlen(from);

	if (n >= size)
		n = size - 1;
	memcpy(to, from, n);
	to[n] = '\0';
}

/* The end of a path says more than its beginning. */
static void copy_path(char *to, size_t size, const char *path)
{
	size_t n = strlen(path);

	copy_name(to, size, n < size ? path : path + n - (size - 1));
}

void funcscope_name(uint32_t idx, const char *name)
{
	sigset_t old;

	lock(&old);
	if (here.region && idx < here.n_numbered) {
		copy_name(here.numbered[idx], FUNCSCOPE_NAME_LEN, name);
		copy_name(records(here.region)[idx].name, FUNCSCOPE_NAME_LEN, name);
	}
	unlock(&old);
}

/* Names outlive the memory: places in the source keep their number in a child and after a clean-up.
 * The list is private memory that grows by moving. Under the lock. */
static bool room_for_name(void)
{
	size_t room = here.n_known == here.known_room ? here.known_room * 2 : here.known_room;
	void *p;

	if (here.known && room == here.known_room)
		return true;
	room = room ? room : 64;
	p = here.known ? mremap(here.known, here.known_room * sizeof(*here.known),
				room * sizeof(*here.known), MREMAP_MAYMOVE)
		       : mmap(NULL, room * sizeof(*here.known), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	here.known = p;
	here.known_room = room;
	return true;
}

/* Shows a name to readers, where the memory has room for it. */
static void publish(size_t i)
{
	struct funcscope_region *r = here.region;

	if (i >= r->cells - r->numbers)
		return;
	records(r)[r->numbers + i] = here.known[i];
	__atomic_store_n(&r->names, (uint32_t)i + 1, __ATOMIC_RELEASE);
}

/* The number of a name, from 1 on; what has none is lost, and counted. Under the lock. */
static uint32_t add_name(const struct funcscope_site_record *rec)
{
	struct funcscope_region *r = here.region;

	if (here.n_known >= r->cells - r->numbers || !room_for_name()) {
		count(&r->lost_names);
		return UINT32_MAX;
	}
	here.known[here.n_known++] = *rec;
	publish(here.n_known - 1);
	return (uint32_t)here.n_known;
}

/* A name at one place is one checkpoint, however many copies of the place a compiler makes. */
static uint32_t find_name(const struct funcscope_site_record *rec)
{
	for (size_t i = 0; i < here.n_known; i++)
		if (here.known[i].line == rec->line && here.known[i].kind == rec->kind &&
		    !strcmp(here.known[i].name, rec->name) &&
		    !strcmp(here.known[i].file, rec->file))
			return (uint32_t)i + 1;
	return 0;
}

uint32_t funcscope_register_(struct funcscope_site_ *site)
{
	struct funcscope_site_record rec = {.line = site->line, .kind = site->kind};
	uint32_t id = UINT32_MAX; /* beyond every lane */
	int keep = errno;
	sigset_t old;

	if (!__atomic_load_n(&here.region, __ATOMIC_ACQUIRE))
		return id; /* perhaps later */
	copy_name(rec.name, sizeof(rec.name), site->name);
	copy_path(rec.file, sizeof(rec.file), site->file);
	lock(&old);
	if (here.region) {
		id = find_name(&rec);
		if (!id)
			id = add_name(&rec);
		FUNCSCOPE_SET_(site->id, id);
	}
	unlock(&old);
	errno = keep;
	return id;
}

/* ---- lanes and cells ---- */

static void forget_lane(void)
{
	thread.lane = NULL;
	thread.n_saved = 0;
	funcscope_self_ = (struct funcscope_self_){.cells = NULL};
}

static void release_lane(void *unused)
{
	sigset_t old;

	(void)unused;
	lock(&old);
	if (thread.lane && thread.generation == here.generation && here.region)
		FUNCSCOPE_SET_(thread.lane->busy, 0);
	forget_lane();
	unlock(&old);
	if (thread.saved)
		munmap(thread.saved, MOST_SAVED * sizeof(struct saved));
	if (thread.calls)
		munmap(thread.calls, MOST_SAVED * sizeof(struct call));
	thread.saved = NULL;
	thread.calls = NULL;
}

static struct funcscope_lane *lane_at(uint32_t offset)
{
	return (struct funcscope_lane *)(here.base + (size_t)offset * UNIT);
}

/* A lane that a thread has left goes on with the next one: its sums stay. */
static struct funcscope_lane *find_lane(void)
{
	struct funcscope_region *r = here.region;
	struct funcscope_lane *lane;

	for (uint32_t at = r->first_lane; at; at = lane->next) {
		lane = lane_at(at);
		if (!lane->busy)
			return lane;
	}
	lane = take(sizeof(*lane) + (size_t)r->cells * sizeof(struct funcscope_cell));
	if (!lane)
		return NULL;
	lane->next = r->first_lane;
	__atomic_store_n(&r->first_lane, units_between(here.base, lane), __ATOMIC_RELEASE);
	__atomic_store_n(&r->lanes, r->lanes + 1, __ATOMIC_RELEASE);
	return lane;
}

/* Gives the thread a lane, once. Under the lock. */
static bool claim_lane(void)
{
	struct funcscope_region *r = here.region;

	if (thread.generation != here.generation) {
		thread.refused = false;
		forget_lane();
	}
	if (!r || thread.refused || thread.lane)
		return thread.lane && r;
	thread.generation = here.generation;
	thread.lane = find_lane();
	if (!thread.lane) {
		thread.refused = true;
		count(&r->lost_threads);
		return false;
	}
	FUNCSCOPE_SET_(thread.lane->tid, (uint32_t)syscall(SYS_gettid));
	FUNCSCOPE_SET_(thread.lane->busy, 1);
	FUNCSCOPE_SET_(thread.lane->owners, thread.lane->owners + 1);
	if (here.key_made)
		pthread_setspecific(here.key, &here);
	funcscope_self_.cells = (struct funcscope_cell *)(thread.lane + 1);
	funcscope_self_.named = funcscope_self_.cells + r->numbers - 1;
	funcscope_self_.n = r->numbers;
	funcscope_self_.n_named = r->cells - r->numbers + 1;
	return true;
}

/* What a checkpoint needs in this thread besides its line. */
static bool fill_cell(struct funcscope_cell *c, uint32_t flags)
{
	static const uint16_t depth[] = {256, 1024, 4096, 16384};
	struct funcscope_region *r = here.region;
	uint64_t *hist = take(FUNCSCOPE_HIST_SIZE);
	bool samples = !(here.options.flags & FUNCSCOPE_RAW_OFF);
	uint64_t *ring = hist && samples ? take(depth[r->level] * sizeof(uint64_t)) : NULL;

	if (!hist)
		return false;
	hist[0] = UINT64_MAX; /* the first call adds the one before it, which never was */
	c->min = UINT64_MAX;
	c->hist = units_between(c, hist);
	if (ring) {
		c->ring = units_between(c, ring);
		c->ring_mask = (uint16_t)(depth[r->level] - 1);
	}
	c->flags = (uint16_t)flags;
	__atomic_store_n(&c->state, FUNCSCOPE_CLOSED, __ATOMIC_RELEASE);
	return true;
}

/* The cell of this thread that lies so far behind its first; NULL: none, and counted. */
static struct funcscope_cell *ready_cell(uint32_t at, uint32_t flags)
{
	struct funcscope_cell *c = NULL;
	struct funcscope_region *r;
	int keep = errno;
	sigset_t old;

	lock(&old);
	r = here.region;
	if (r) {
		c = claim_lane() ? funcscope_self_.cells + at : NULL;
		if (!c || (!c->state && !fill_cell(c, flags))) {
			count(&r->lost_calls);
			c = NULL;
		}
	}
	unlock(&old);
	errno = keep;
	return c;
}

struct funcscope_cell *funcscope_named_(uint32_t id, uint32_t flags)
{
	struct funcscope_region *r = __atomic_load_n(&here.region, __ATOMIC_ACQUIRE);

	if (!r)
		return NULL;
	if (id > r->cells - r->numbers) {
		count(&r->lost_calls);
		return NULL;
	}
	return ready_cell(r->numbers + id - 1, flags);
}

/* ---- entries and exits that are not the simple case ---- */

/* Puts the entry aside that is open already. */
static bool save_entry(struct funcscope_cell *c, uint32_t idx)
{
	if (!thread.saved) {
		void *p = mmap(NULL, MOST_SAVED * sizeof(struct saved), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (p == MAP_FAILED)
			return false;
		thread.saved = p;
	}
	if (thread.n_saved == MOST_SAVED)
		return false;
	thread.saved[thread.n_saved++] = (struct saved){.start = c->start, .idx = idx};
	return true;
}

void funcscope_enter_rare_(uint32_t idx, uint32_t flags)
{
	struct funcscope_cell *c = idx < funcscope_self_.n ? funcscope_self_.cells + idx : NULL;
	int keep = errno;

	if (!c || !c->state)
		c = here.region && idx < here.options.numbers ? ready_cell(idx, flags) : NULL;
	if (!c)
		return;
	if (c->state >= FUNCSCOPE_OPEN && !save_entry(c, idx)) {
		/* The outer entry is given up: its exit will find none. */
		count(&here.region->too_deep);
		FUNCSCOPE_SET_(c->state, c->state - 1);
	}
	FUNCSCOPE_SET_(c->state, c->state + 1);
	errno = keep;
	FUNCSCOPE_SET_(c->start, flags & FUNCSCOPE_CELL_ORDERED ? funcscope_begin_ordered_()
								: funcscope_rdtsc());
}

/* The entry that was put aside last is the open one again. */
static void restore_entry(struct funcscope_cell *c, uint32_t idx)
{
	for (uint32_t i = thread.n_saved; i-- > 0;) {
		if (thread.saved[i].idx != idx)
			continue;
		FUNCSCOPE_SET_(c->start, thread.saved[i].start);
		thread.n_saved--;
		memmove(&thread.saved[i], &thread.saved[i + 1],
			(thread.n_saved - i) * sizeof(struct saved));
		return;
	}
}

void funcscope_exit_rare_(uint32_t idx, uint64_t now)
{
	struct funcscope_cell *c = idx < funcscope_self_.n ? funcscope_self_.cells + idx : NULL;
	struct funcscope_region *r = __atomic_load_n(&here.region, __ATOMIC_ACQUIRE);

	if (!r)
		return;
	if (!c || c->state <= FUNCSCOPE_CLOSED) {
		/* Its entry found no room, and was counted there; or there was none. */
		if (!thread.refused && (!c || c->state))
			count(&r->unmatched);
		return;
	}
	FUNCSCOPE_SET_(c->state, c->state - 1);
	funcscope_record_(c, now - c->start);
	restore_entry(c, idx);
}

/* Durations that the short way has no bits for, or that are none. */
void funcscope_record_rare_(struct funcscope_cell *c, uint64_t ticks)
{
	uint64_t *hist = (uint64_t *)((char *)c + (uint64_t)c->hist * UNIT);
	struct funcscope_region *r = __atomic_load_n(&here.region, __ATOMIC_ACQUIRE);

	if ((int64_t)ticks < 0) {
		if (r)
			count(&r->backwards);
		funcscope_record_(c, 0);
		return;
	}
	/* Straight into the last bucket; the one before stays where it is. */
	FUNCSCOPE_SET_(hist[FUNCSCOPE_HIST_BUCKETS - 1], hist[FUNCSCOPE_HIST_BUCKETS - 1] + 1);
	FUNCSCOPE_SET_(c->total, c->total + ticks);
	if (ticks < c->min)
		FUNCSCOPE_SET_(c->min, ticks);
	if (ticks > c->max)
		FUNCSCOPE_SET_(c->max, ticks);
}

/* ---- beginning and end ---- */

static void forget_descriptors(void)
{
	for (uint32_t i = 0; i < FUNCSCOPE_CHUNKS; i++) {
		if (still_ours(here.fd[i], here.dev[i], here.ino[i]))
			close(here.fd[i]);
		here.fd[i] = -1;
	}
	if (still_ours(here.listener, here.listener_dev, here.listener_ino))
		close(here.listener);
	here.listener = -1;
}

/* From now on what is written to the old addresses goes nowhere. */
static void blind_addresses(size_t n)
{
	if (n)
		(void)!mmap(here.base, n, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static void program_path(char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 1);

	path[n > 0 ? n : 0] = '\0';
}

static void lay_out(struct funcscope_region *r, size_t size, uint32_t cells)
{
	char path[PATH_MAX];

	r->layout = FUNCSCOPE_LAYOUT;
	r->pid = (uint32_t)getpid();
	r->level = (uint32_t)here.options.level;
	r->cells = cells;
	r->numbers = here.options.numbers;
	r->sites = sizeof(*r) / UNIT;
	r->used = sizeof(*r) + (size_t)cells * sizeof(struct funcscope_site_record);
	r->chunk_size[0] = size;
	r->chunks = 1;
	for (uint32_t i = 0; i < r->numbers; i++) {
		if (here.numbered[i][0])
			memcpy(records(r)[i].name, here.numbered[i], FUNCSCOPE_NAME_LEN);
		else
			snprintf(records(r)[i].name, FUNCSCOPE_NAME_LEN, "%u", i);
		records(r)[i].kind = FUNCSCOPE_KIND_NUMBER;
	}
	for (size_t i = 0; i < here.n_known; i++)
		publish(i);
	program_path(path, sizeof(path));
	copy_path(r->program, sizeof(r->program), path);
	read_clocks(r);
	__atomic_store_n(&r->magic, FUNCSCOPE_MAGIC, __ATOMIC_RELEASE);
}

/* Room for one thread in all checkpoints that go by number, and for a few named ones. */
static size_t first_size(uint32_t cells)
{
	static const size_t samples[] = {256, 1024, 4096, 16384};
	size_t cell = FUNCSCOPE_HIST_SIZE;

	if (!(here.options.flags & FUNCSCOPE_RAW_OFF))
		cell += samples[here.options.level] * sizeof(uint64_t);
	return round_up(
	    sizeof(struct funcscope_region) +
		cells * (sizeof(struct funcscope_site_record) + sizeof(struct funcscope_cell)) +
		sizeof(struct funcscope_lane) + (here.options.numbers + 4) * cell,
	    PAGE_4K);
}

/* New memory by the options kept. Under the lock. */
static bool start(void)
{
	uint32_t cells = here.options.numbers + here.options.names;
	size_t size = first_size(cells), made;

	for (uint32_t i = 0; i < FUNCSCOPE_CHUNKS; i++)
		here.fd[i] = -1;
	if (!reserve_addresses() || !add_chunk(0, 0, size, &made))
		return false;
	here.generation++;
	open_socket();
	__atomic_store_n(&here.region, (struct funcscope_region *)here.base, __ATOMIC_RELEASE);
	lay_out(here.region, made, cells);
	return true;
}

/* Room for the names of numbers, all empty. */
static bool number_names(void)
{
	size_t n = here.options.numbers;
	void *p = NULL;

	if (here.numbered)
		munmap(here.numbered, here.n_numbered * sizeof(*here.numbered));
	if (n)
		p = mmap(NULL, n * sizeof(*here.numbered), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	here.numbered = p == MAP_FAILED ? NULL : p;
	here.n_numbered = here.numbered ? n : 0;
	return here.n_numbered == n;
}

/* ---- fork ---- */

static sigset_t fork_signals;

static void before_fork(void)
{
	lock(&fork_signals);
}

static void after_fork_parent(void)
{
	unlock(&fork_signals);
}

/* The child has one thread, and memory of its own or none. */
static void renew(void)
{
	int keep = errno;
	size_t n = here.region ? mapped(here.region) : 0;
	bool measured = here.region != NULL;

	here.region = NULL;
	blind_addresses(n);
	forget_descriptors();
	forget_lane();
	thread.refused = false;
	if (measured)
		start();
	errno = keep;
}

static void after_fork_child(void)
{
	renew();
	unlock(&fork_signals);
}

void funcscope_after_fork(void)
{
	__atomic_store_n(&here.lock, 0, __ATOMIC_RELEASE); /* whoever held it is not here */
	renew();
}

int32_t funcscope_caller_initialize_with(const struct funcscope_options *o)
{
	uint32_t names = o->names ? o->names : DEFAULT_NAMES;
	bool done = false;
	sigset_t old;

	if (o->level < FS_LITE || o->level > FS_FULL || names > MOST_CELLS ||
	    o->numbers > MOST_CELLS - names ||
	    (o->directory && strlen(o->directory) >= sizeof(here.directory))) {
		errno = EINVAL;
		return 0;
	}
	lock(&old);
	if (here.region) {
		errno = EALREADY;
	} else {
		const char *dir = o->directory ? o->directory : getenv("FUNCSCOPE_DIRECTORY");

		here.options = *o;
		here.options.names = names;
		snprintf(here.directory, sizeof(here.directory), "%s", dir ? dir : "");
		if (!here.key_made)
			here.key_made = !pthread_key_create(&here.key, release_lane);
		if (!here.fork_watched)
			here.fork_watched =
			    !pthread_atfork(before_fork, after_fork_parent, after_fork_child);
		done = number_names() && start();
	}
	unlock(&old);
	return done;
}

int32_t funcscope_caller_initialize(uint8_t num_checkpoints, int32_t level)
{
	struct funcscope_options o = {.numbers = num_checkpoints, .level = level};

	if (!num_checkpoints || num_checkpoints > FUNCSCOPE_MOST_NUMBERS) {
		errno = EINVAL;
		return 0;
	}
	return funcscope_caller_initialize_with(&o);
}

int32_t funcscope_caller_cleanup(void)
{
	sigset_t old;
	size_t n;

	lock(&old);
	if (!here.region) {
		unlock(&old);
		return 0;
	}
	n = mapped(here.region);
	__atomic_store_n(&here.region->exited, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&here.region, NULL, __ATOMIC_RELEASE);
	here.generation++;
	blind_addresses(n);
	forget_descriptors();
	forget_lane();
	if (here.socket_path[0])
		unlink(here.socket_path);
	unlock(&old);
	return 1;
}

/* ---- -finstrument-functions ---- */

#ifdef FUNCSCOPE_INSTRUMENT_FUNCTIONS

#define HOOK __attribute__((no_instrument_function, visibility("default")))

enum { FUNCTIONS = 1 << 14, MOST_FUNCTIONS = FUNCTIONS / 2 };

/* Functions by address, found without a lock: the number is written before the address. */
static struct {
	const void *address;
	uint32_t id;
} functions[FUNCTIONS];

struct module {
	const char *path;
	uintptr_t address, bias;
};

static int find_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct module *m = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD &&
		    m->address - info->dlpi_addr - ph->p_vaddr < ph->p_memsz) {
			m->path = info->dlpi_name;
			m->bias = info->dlpi_addr;
			return 1;
		}
	}
	return 0;
}

/* Readers name it: by the address while the process lives, by file and offset afterwards. */
static uint32_t name_function(const void *function)
{
	struct funcscope_site_record rec = {.kind = FUNCSCOPE_KIND_FUNCTION,
					    .address = (uintptr_t)function};
	struct module m = {.path = "", .address = (uintptr_t)function};
	char exe[PATH_MAX];

	dl_iterate_phdr(find_module, &m);
	if (!*m.path) { /* the program itself */
		program_path(exe, sizeof(exe));
		m.path = exe;
	}
	rec.offset = rec.address - m.bias;
	snprintf(rec.name, sizeof(rec.name), "%#llx", (unsigned long long)rec.offset);
	if (strlen(m.path) < sizeof(rec.file))
		copy_name(rec.file, sizeof(rec.file), m.path);
	return add_name(&rec);
}

static uint32_t function_id(const void *function)
{
	size_t at = ((uintptr_t)function >> 4) * 0x9e3779b97f4a7c15u >> 50;
	const void *there;
	uint32_t id = UINT32_MAX;
	sigset_t old;

	while ((there = __atomic_load_n(&functions[at].address, __ATOMIC_ACQUIRE))) {
		if (there == function)
			return functions[at].id;
		at = (at + 1) % FUNCTIONS;
	}
	lock(&old);
	while (functions[at].address && functions[at].address != function)
		at = (at + 1) % FUNCTIONS;
	if (functions[at].address) {
		id = functions[at].id;
	} else if (here.region && here.n_known < MOST_FUNCTIONS) {
		id = functions[at].id = name_function(function);
		__atomic_store_n(&functions[at].address, function, __ATOMIC_RELEASE);
	}
	unlock(&old);
	return id;
}

static bool room_for_call(void)
{
	void *p;

	if (thread.calls)
		return thread.n_calls < MOST_SAVED;
	p = mmap(NULL, MOST_SAVED * sizeof(struct call), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return false;
	thread.calls = p;
	return true;
}

static __thread bool inside_hook; /* this file may itself be compiled so */

HOOK void __cyg_profile_func_enter(void *function, void *site);
HOOK void __cyg_profile_func_exit(void *function, void *site);

HOOK void __cyg_profile_func_enter(void *function, void *site)
{
	struct funcscope_region *r = __atomic_load_n(&here.region, __ATOMIC_ACQUIRE);
	struct call *c;

	(void)site;
	if (!r || inside_hook)
		return;
	inside_hook = true;
	if (!room_for_call()) {
		count(&r->too_deep);
	} else {
		c = &thread.calls[thread.n_calls++];
		c->function = function;
		c->id = function_id(function);
		c->start = FUNCSCOPE_BEGIN_();
	}
	inside_hook = false;
}

HOOK void __cyg_profile_func_exit(void *function, void *site)
{
	uint64_t now = FUNCSCOPE_END_();
	struct funcscope_region *r = __atomic_load_n(&here.region, __ATOMIC_ACQUIRE);
	uint32_t i = thread.n_calls;

	(void)site;
	if (!r || inside_hook)
		return;
	inside_hook = true;
	/* Calls above it were left by longjmp() or an exception: they have no end. */
	while (i > 0 && thread.calls[i - 1].function != function)
		i--;
	if (i > 0) {
		thread.n_calls = i - 1;
		funcscope_ended_(thread.calls[i - 1].id, now - thread.calls[i - 1].start);
	} else {
		count(&r->unmatched);
	}
	inside_hook = false;
}

__attribute__((constructor, no_instrument_function)) static void measure_functions(void)
{
	struct funcscope_options o = {.names = MOST_FUNCTIONS, .level = FS_LITE};

	funcscope_caller_initialize_with(&o);
}

#endif
#endif /* FUNCSCOPE_DISABLE */
