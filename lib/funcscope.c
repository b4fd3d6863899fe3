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
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef MFD_HUGETLB
#define MFD_HUGETLB 0x0004U
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef HUGETLBFS_MAGIC
#define HUGETLBFS_MAGIC 0x958458f6
#endif

#define UNIT	      64u
#define PAGE_4K	      4096u
#define PAGE_MOST     (64u << 10) /* no kernel has larger ones, apart from huge pages */
#define PAGE_2M	      (2u << 20)
#define LEAST_CHUNK   (256u << 10)
#define DEFAULT_NAMES 512u
#define MOST_CELLS    (1u << 20)
#define MOST_SAVED    65536u /* entries of checkpoints that are entered again */
#define NAMES_FUNCS   8192u  /* -finstrument-functions */
#define NAMES_BLOCK   64u
#define NAMES_BLOCKS  15u
#define ALL_SEALS     (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
/* This file may itself be compiled with -finstrument-functions. */
#define OWN	      static __attribute__((no_instrument_function))
#define OWN_TLS	      __attribute__((tls_model("initial-exec"))) /* the others may call malloc() */

__thread struct funcscope_self_ funcscope_self_;

/* Entries that a recursion put aside, innermost last. */
struct saved {
	uint64_t start;
	uint32_t idx, pad;
};

struct call {
	uint64_t start;
	const void *function;
	uintptr_t frame; /* where the stack was */
	uint32_t id, pad;
};

/* A thread that has a lane. Not in the thread's own memory, which may be gone without a word. */
struct node {
	struct node *next;
	struct funcscope_self_ *self; /* NULL: free */
	uint32_t tid;
};

struct thread {
	struct node *node;
	uint8_t ends;	     /* how often the key's destructor has run */
	uint32_t generation; /* of the memory that the lane is in */
	struct funcscope_lane *lane;
	uint32_t numbers, cells; /* of the lane */
	bool refused;		 /* there was no lane to be had */
	bool starved;		 /* there was no memory for a lane or a cell */
	bool forking;		 /* it holds the lock, from before fork() until after */
	uint32_t tries;		 /* since it is starved */
	struct saved *saved;
	uint32_t n_saved;
	uint32_t dropped;   /* entries within those that found no room in `saved` */
	bool held;	    /* it is in here: nothing is measured */
	struct call *calls; /* -finstrument-functions */
	uint32_t n_calls;
	uint32_t dropped_calls; /* likewise */
};

static __thread struct thread thread OWN_TLS;

/* Names that are none, beyond every lane: nothing was measured when it began; there is no memory.
 */
#define NOT_YET	      UINT32_MAX
#define NOT_EVER      (UINT32_MAX - 1)

enum { FUNCTIONS = 1 << 14, MOST_FUNCTIONS = FUNCTIONS / 4 * 3 };

/* A list that never moves: the children of other threads' forks may be looking at it. */
struct names {
	struct funcscope_site_record *block[NAMES_BLOCKS]; /* each twice the one before */
	size_t n;
};

/* What a thread was before it took the lock. */
struct held {
	sigset_t signals;
	int cancel;
	bool held;
};

static struct {
	uint32_t lock; /* 0: free, 1: taken, 2: and somebody waits */
	bool key_made;
	pthread_key_t key; /* its destructor gives a thread's lane back */
	struct node *nodes;
	bool untracked; /* threads have lanes that are not in that list */
	char *base;	/* of the reserved addresses; those that threads may write to stay mapped */
	size_t reserved;
	struct funcscope_region *region; /* at base; NULL: nothing is measured */
	bool pending;			 /* memory will be taken with the first checkpoint */
	bool by_itself;			 /* nobody asked for it: a child, or a constructor */
	bool renewed;			 /* the child's memory is its own by now */
	pid_t pid;
	struct funcscope_options options;
	char directory[PATH_MAX];
	int fd[FUNCSCOPE_CHUNKS];
	dev_t dev[FUNCSCOPE_CHUNKS]; /* by which descriptors are known again */
	ino_t ino[FUNCSCOPE_CHUNKS];
	int listener;
	dev_t listener_dev;
	ino_t listener_ino;
	char socket_path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	uint32_t times; /* that this process has taken memory */
	uint32_t generation;
	uint32_t refusals;    /* of memory, since some was had */
	struct names known;   /* all places so far */
	struct names numbers; /* and numbers that were given a name; line is the number */
	struct held fork_held;
} here = {.listener = -1};

/* ---- the lock ---- */

/* Handlers may use checkpoints, and no thread may be cancelled in here: close() would do. */
OWN void hold(struct held *h)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &h->signals);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &h->cancel);
	h->held = thread.held;
	thread.held = true;
}

OWN void let_go(const struct held *h)
{
	thread.held = h->held;
	pthread_setcancelstate(h->cancel, NULL);
	pthread_sigmask(SIG_SETMASK, &h->signals, NULL);
}

OWN void futex(int op, uint32_t value)
{
	syscall(SYS_futex, &here.lock, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

/* In the child of a fork, before the memory was renewed: it is still the parent's. */
OWN bool not_ours(void)
{
	return thread.forking && !here.renewed && here.pid != getpid();
}

OWN void renew(void);

OWN bool try_lock(void)
{
	uint32_t unlocked = 0;

	return __atomic_compare_exchange_n(&here.lock, &unlocked, 1, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* Does not spin: the one who has it may be of lower priority. A thread that has it because it is
 * about to fork comes in, and has its memory renewed if it is the child by now. */
OWN void lock(struct held *h)
{
	hold(h);
	if (thread.forking) {
		if (not_ours())
			renew();
		return;
	}
	if (try_lock())
		return;
	while (__atomic_exchange_n(&here.lock, 2, __ATOMIC_ACQUIRE))
		futex(FUTEX_WAIT, 2);
}

OWN void unlock(const struct held *h)
{
	if (!thread.forking && __atomic_exchange_n(&here.lock, 0, __ATOMIC_RELEASE) == 2)
		futex(FUTEX_WAKE, 1);
	let_go(h);
}

OWN void count(uint64_t *what)
{
	__atomic_fetch_add(what, 1, __ATOMIC_RELAXED);
}

/* ---- memory ---- */

OWN size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* Reserves the file's space, so that no write to the mapping can fail later. Not every file system
 * can; there zeros are written. */
OWN int reserve(int fd, size_t size)
{
	static const char zeros[4096];
	int rc;

	do
		rc = posix_fallocate(fd, 0, (off_t)size);
	while (rc == EINTR);
	if (rc != EOPNOTSUPP && rc != EINVAL)
		return rc;
	for (size_t at = 0; at < size; at += sizeof(zeros)) {
		errno = ENOSPC; /* of a short write */
		if (pwrite(fd, zeros, sizeof(zeros), (off_t)at) != (ssize_t)sizeof(zeros))
			return errno;
	}
	return 0;
}

/* A file larger than the limit would not only fail: SIGXFSZ kills. */
OWN bool beyond_limit(size_t size)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
	       size > limit.rlim_cur;
}

OWN int set_size(int fd, size_t size)
{
	int rc;

	if (beyond_limit(size)) {
		errno = EFBIG;
		return -1;
	}
	if (ftruncate(fd, (off_t)size))
		return -1;
	rc = reserve(fd, size);
	if (rc)
		errno = rc;
	return rc ? -1 : 0;
}

OWN void close_keeping_errno(int fd)
{
	int keep = errno;

	close(fd);
	errno = keep;
}

/* A file without a name below dir, or -1. */
OWN int nameless_file(const char *dir, size_t size)
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

OWN void *map_held(const char *dir, size_t size)
{
	int fd = nameless_file(dir, size);
	void *p;

	if (fd < 0)
		return NULL;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	close_keeping_errno(fd);
	return p == MAP_FAILED ? NULL : p;
}

OWN void *map_nameless(const char *dir, size_t size, size_t page)
{
	struct held h;
	void *p;

	if (!dir || size > PTRDIFF_MAX - page) {
		errno = dir ? ENOMEM : EINVAL;
		return NULL;
	}
	hold(&h); /* a timer's signals could interrupt the reservation for ever */
	p = map_held(dir, round_up(size ? size : 1, page));
	let_go(&h);
	return p;
}

void *funcscope_hugepage_mmap(const char *dir, size_t size)
{
	struct statfs fs;

	if (dir && statfs(dir, &fs))
		return NULL;
	if (dir && (uint32_t)fs.f_type != HUGETLBFS_MAGIC) {
		errno = ENODEV;
		return NULL;
	}
	return map_nameless(dir, size, PAGE_2M);
}

void *funcscope_file_mmap_4K(const char *dir, size_t size)
{
	return map_nameless(dir, size, PAGE_4K);
}

OWN int chunk_file(uint32_t n, size_t size)
{
	char path[PATH_MAX + 64];
	int fd;

	/* Memory taken again after a clean-up does not take the place of what was measured before.
	 */
	if (here.times > 1)
		snprintf(path, sizeof(path), "%s/funcscope.%d-%u.%u", here.directory, (int)getpid(),
			 here.times, n);
	else
		snprintf(path, sizeof(path), "%s/funcscope.%d.%u", here.directory, (int)getpid(),
			 n);
	unlink(path); /* of a process that had our number */
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && (fchmod(fd, 0600) || set_size(fd, size))) { /* whatever the umask is */
		close_keeping_errno(fd);
		unlink(path);
		return -1;
	}
	return fd;
}

/* Readers know the chunks by their names in /proc/PID/fd. */
OWN int chunk_memfd(uint32_t n, size_t size, unsigned flags)
{
	const unsigned always = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "funcscope.%u", n);
	fd = (int)syscall(SYS_memfd_create, name, always | MFD_NOEXEC_SEAL | flags);
	if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
		fd = (int)syscall(SYS_memfd_create, name, always | flags);
	if (fd >= 0 && set_size(fd, size)) {
		close_keeping_errno(fd);
		return -1;
	}
	return fd;
}

/* Not one of the first three: they are somebody's stdin, stdout and stderr sooner or later. */
OWN int above_stdio(int fd)
{
	int higher;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close_keeping_errno(fd);
	return higher;
}

/* Opens the descriptor anew, for reading only. Without /proc the old one has to do. */
OWN int read_only(int fd)
{
	char path[64];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = above_stdio(open(path, O_RDONLY | O_CLOEXEC));
	if (again < 0)
		return fd;
	close(fd);
	return again;
}

OWN int open_chunk(uint32_t n, size_t *size)
{
	int fd = -1;

	if (here.options.flags & FUNCSCOPE_HUGEPAGES)
		*size = round_up(*size, PAGE_2M);
	if (here.directory[0])
		return above_stdio(chunk_file(n, *size));
	if (here.options.flags & FUNCSCOPE_HUGEPAGES)
		fd = chunk_memfd(n, *size, MFD_HUGETLB);
	return above_stdio(fd >= 0 ? fd : chunk_memfd(n, *size, 0));
}

OWN void seal(int fd)
{
	if (fcntl(fd, F_ADD_SEALS, ALL_SEALS | F_SEAL_FUTURE_WRITE))
		fcntl(fd, F_ADD_SEALS, ALL_SEALS); /* before Linux 5.1 */
}

/* Maps the next chunk behind the others. Once it is mapped nobody else can write to it. */
OWN bool add_chunk(uint32_t n, size_t at, size_t size, size_t *made)
{
	struct stat st;
	int fd;

	if (n >= FUNCSCOPE_CHUNKS || at + size + PAGE_MOST > here.reserved) {
		errno = ENOMEM;
		return false;
	}
	fd = open_chunk(n, &size);
	if (fd < 0)
		return false;
	if (at + size + PAGE_MOST > here.reserved ||
	    mmap(here.base + at, size, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0) == MAP_FAILED) {
		here.reserved = at; /* a kernel may have left a hole, which may be another's now */
		close_keeping_errno(fd);
		return false;
	}
	if (!here.directory[0])
		seal(fd);
	fd = read_only(fd);
	if (!fstat(fd, &st)) {
		here.dev[n] = st.st_dev;
		here.ino[n] = st.st_ino;
	}
	here.fd[n] = fd;
	*made = size;
	return true;
}

OWN size_t mapped(const struct funcscope_region *r)
{
	size_t n = 0;

	for (uint32_t i = 0; i < r->chunks; i++)
		n += r->chunk_size[i];
	return n;
}

OWN bool grow(struct funcscope_region *r, size_t size)
{
	size_t end = mapped(r), made;
	size_t chunk = end < LEAST_CHUNK ? LEAST_CHUNK : end; /* twice as much in all */

	chunk = round_up(chunk < size ? size : chunk, PAGE_MOST);
	if (!add_chunk(r->chunks, end, chunk, &made) &&
	    !add_chunk(r->chunks, end, round_up(size, PAGE_MOST), &made))
		return false;
	r->chunk_size[r->chunks] = made;
	__atomic_store_n(&r->chunks, r->chunks + 1, __ATOMIC_RELEASE);
	return true;
}

/* Whether to ask again after so many refusals: ever more rarely, it is expensive. */
OWN bool worth_asking(uint32_t refusals)
{
	return !(refusals & (refusals - 1));
}

/* A piece of memory, all zero, that lies in one chunk; NULL: there is no more. Under the lock. */
OWN void *take(size_t size)
{
	struct funcscope_region *r = here.region;
	size_t end = mapped(r), at = r->used;

	size = round_up(size, UNIT);
	if (at + size > end) {
		if (!worth_asking(here.refusals++) || !grow(r, size))
			return NULL;
		here.refusals = 0;
		at = end;
	}
	r->used = at + size;
	return here.base + at;
}

OWN uint32_t units_between(const void *from, const void *to)
{
	return (uint32_t)(((const char *)to - (const char *)from) / (ptrdiff_t)UNIT);
}

/* As many addresses as may be reserved: of a process that has a limit an eighth. */
OWN size_t most_addresses(void)
{
	struct rlimit limit;
	size_t most = (size_t)64 << 30;

	if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur / 8 < most)
		most = (size_t)limit.rlim_cur / 8;
	return most;
}

/* Addresses for all that may come, `least` bytes of them at once; aligned for huge pages. */
OWN bool reserve_addresses(size_t least)
{
	size_t size = most_addresses();

	least += PAGE_MOST + 2 * PAGE_2M;
	if (here.base && here.reserved >= least)
		return true;
	for (size = size < least ? least : size; size >= least; size /= 4) {
		char *p =
		    mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (p != MAP_FAILED) {
			here.base = p + (PAGE_2M - (uintptr_t)p % PAGE_2M) % PAGE_2M;
			here.reserved = size - (size_t)(here.base - p);
			return true;
		}
	}
	return false;
}

/* ---- the clock's first reading ---- */

/* The pair of readings that lie closest together of a few. */
OWN void read_clocks(struct funcscope_region *r)
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
	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(r->tick_hz));
	r->clock = FUNCSCOPE_CLOCK_CNTVCT;
#else
	r->clock = FUNCSCOPE_CLOCK_TSC;
#endif
}

/* ---- the socket ---- */

OWN bool own_directory(const char *dir)
{
	struct stat st;

	if (mkdir(dir, 0700) && errno != EEXIST)
		return false;
	return !lstat(dir, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 077);
}

/* Without a socket a reader that may look into /proc/PID/fd still finds the memory. */
OWN void open_socket(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct stat st;
	char dir[64];

	here.listener = -1;
	snprintf(dir, sizeof(dir), "/tmp/funcscope-%u", (unsigned)geteuid());
	if (!own_directory(dir))
		return;
	snprintf(to.sun_path, sizeof(to.sun_path), "%s/%d.sock", dir, (int)getpid());
	unlink(to.sun_path); /* of a process that had our number */
	here.listener = above_stdio(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
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
	memcpy(here.socket_path, to.sun_path, sizeof(here.socket_path));
}

OWN bool may_read(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

OWN bool still_ours(int fd, dev_t dev, ino_t ino)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && st.st_dev == dev && st.st_ino == ino;
}

OWN int send_descriptors(int to)
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
	msg.msg_controllen = (__typeof__(msg.msg_controllen))CMSG_SPACE(r->chunks * sizeof(int));
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len =
	    (__typeof__(control.head.cmsg_len))CMSG_LEN(r->chunks * sizeof(int));
	memcpy(CMSG_DATA(&control.head), here.fd, r->chunks * sizeof(int));
	return sendmsg(to, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(hello) ? 1 : -1;
}

OWN bool begin_pending(void);

OWN int serve_one(void)
{
	int fd, rc;

	if (!begin_pending() || !still_ours(here.listener, here.listener_dev, here.listener_ino))
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
	struct held h;
	int rc;

	lock(&h);
	rc = serve_one();
	unlock(&h);
	return rc;
}

/* ---- names ---- */

OWN struct funcscope_site_record *records(const struct funcscope_region *r)
{
	return (struct funcscope_site_record *)(void *)(here.base + (size_t)r->sites * UNIT);
}

OWN void copy_name(char *to, size_t size, const char *from)
{
	size_t n = strlen(from);

	if (n >= size)
		n = size - 1;
	memcpy(to, from, n);
	to[n] = '\0';
}

/* The end of a path says more than its beginning. */
OWN void copy_path(char *to, size_t size, const char *path)
{
	size_t n = strlen(path);

	copy_name(to, size, n < size ? path : path + n - (size - 1));
}

/* Names outlive the memory: places in the source keep their number in a child and after a clean-up.
 * The list is private. Under the lock. */
OWN struct funcscope_site_record *name_at(const struct names *names, size_t i)
{
	uint32_t b = 63u - (uint32_t)__builtin_clzll(i / NAMES_BLOCK + 1);

	return &names->block[b][i - NAMES_BLOCK * (((size_t)1 << b) - 1)];
}

OWN bool names_add(struct names *names, const struct funcscope_site_record *rec)
{
	uint32_t b = 63u - (uint32_t)__builtin_clzll(names->n / NAMES_BLOCK + 1);

	if (b >= NAMES_BLOCKS)
		return false;
	if (!names->block[b]) {
		void *p = mmap(NULL, (sizeof(*rec) * NAMES_BLOCK) << b, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			return false;
		names->block[b] = p;
	}
	*name_at(names, names->n) = *rec;
	names->n++;
	return true;
}

OWN void show_number(struct funcscope_region *r, const struct funcscope_site_record *rec)
{
	if (rec->line < r->numbers)
		copy_name(records(r)[rec->line].name, FUNCSCOPE_NAME_LEN, rec->name);
}

OWN void name_number(const struct funcscope_site_record *rec)
{
	for (size_t i = 0; i < here.numbers.n; i++)
		if (name_at(&here.numbers, i)->line == rec->line) {
			*name_at(&here.numbers, i) = *rec;
			return;
		}
	names_add(&here.numbers, rec);
}

void funcscope_name(uint32_t idx, const char *name)
{
	struct funcscope_site_record rec = {.line = idx, .kind = FUNCSCOPE_KIND_NUMBER};
	int keep = errno;
	struct held h;

	if (!name || idx >= MOST_CELLS)
		return;
	copy_name(rec.name, sizeof(rec.name), name);
	lock(&h);
	name_number(&rec);
	if (here.region)
		show_number(here.region, &rec);
	unlock(&h);
	errno = keep;
}

/* Shows a name to readers, where the memory has room for it; counts it where not. */
OWN void publish(struct funcscope_region *r, size_t i)
{
	if (i >= r->cells - r->numbers) {
		count(&r->lost_names);
		return;
	}
	records(r)[r->numbers + i] = *name_at(&here.known, i);
	__atomic_store_n(&r->names, (uint32_t)i + 1, __ATOMIC_RELEASE);
}

/* The number of a name, from 1 on; 0: there is no memory for it. Under the lock. */
OWN uint32_t add_name(const struct funcscope_site_record *rec)
{
	if (!names_add(&here.known, rec))
		return 0;
	publish(here.region, here.known.n - 1);
	return (uint32_t)here.known.n;
}

/* A name at one place is one checkpoint, however many copies of the place a compiler makes. */
OWN uint32_t find_name(const struct funcscope_site_record *rec)
{
	for (size_t i = 0; i < here.known.n; i++) {
		const struct funcscope_site_record *known = name_at(&here.known, i);

		if (known->line == rec->line && known->kind == rec->kind &&
		    !strcmp(known->name, rec->name) && !strcmp(known->file, rec->file))
			return (uint32_t)i + 1;
	}
	return 0;
}

/* The memory there is, if any. Without the lock it may be taken away at any moment: then what is
 * written to it goes nowhere. */
OWN struct funcscope_region *current(void)
{
	struct funcscope_region *r = __atomic_load_n(&here.region, __ATOMIC_ACQUIRE);

	return r && !not_ours() ? r : NULL;
}

/* Whether anything is or will be measured. In this order: the one becomes false after the other is
 * there. */
OWN bool measuring(void)
{
	return __atomic_load_n(&here.pending, __ATOMIC_ACQUIRE) ||
	       __atomic_load_n(&here.region, __ATOMIC_ACQUIRE);
}

uint32_t funcscope_register_(struct funcscope_site_ *site)
{
	struct funcscope_site_record rec = {.line = site->line, .kind = site->kind};
	uint32_t id = 0;
	int keep = errno;
	struct held h;

	if (!measuring())
		return NOT_YET;
	copy_name(rec.name, sizeof(rec.name), site->name);
	copy_path(rec.file, sizeof(rec.file), site->file);
	lock(&h);
	if (begin_pending()) {
		id = find_name(&rec);
		if (!id)
			id = add_name(&rec);
		FUNCSCOPE_SET_(site->id, id);
	}
	unlock(&h);
	errno = keep;
	return id ? id : NOT_EVER;
}

/* ---- lanes and cells ---- */

OWN void forget_lane(void)
{
	thread.lane = NULL;
	thread.refused = thread.starved = false;
	thread.tries = thread.n_saved = thread.dropped = thread.n_calls = 0;
	thread.dropped_calls = 0;
	FUNCSCOPE_SET_(funcscope_self_.n, 0);
	FUNCSCOPE_SET_(funcscope_self_.n_named, 0);
}

OWN struct node *free_node(void)
{
	enum { NODES = PAGE_4K / sizeof(struct node) };
	struct node *n;

	for (n = here.nodes; n; n = n->next)
		if (!n->self)
			return n;
	n = mmap(NULL, PAGE_4K, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (n == MAP_FAILED)
		return NULL;
	for (int i = 0; i < NODES; i++)
		n[i].next = i + 1 < NODES ? &n[i + 1] : here.nodes;
	here.nodes = n;
	return n;
}

OWN void list_thread(struct node *n)
{
	n->self = &funcscope_self_;
	n->tid = (uint32_t)syscall(SYS_gettid);
	thread.node = n;
}

OWN void unlist_thread(void)
{
	if (thread.node)
		thread.node->self = NULL;
	thread.node = NULL;
}

/* Sees to it that the lane comes back when the thread ends. False: it has ended too often. */
OWN bool watch_thread(void)
{
	struct node *n;

	if (thread.node)
		return true;
	if (thread.ends >= PTHREAD_DESTRUCTOR_ITERATIONS)
		return false;
	n = free_node();
	if (n && here.key_made && !pthread_setspecific(here.key, &here))
		list_thread(n);
	else
		here.untracked = true;
	return true;
}

/* Threads inside checkpoints go on to the addresses they have; the next time they ask. Says whether
 * there are any. Those that ended in a way that runs no destructors are left alone. */
OWN bool turn_threads_away(void)
{
	bool others = here.untracked;

	for (struct node *n = here.nodes; n; n = n->next) {
		if (!n->self || n == thread.node)
			continue;
		others = true;
		if (syscall(SYS_tgkill, getpid(), n->tid, 0))
			continue;
		FUNCSCOPE_SET_(n->self->n, 0);
		FUNCSCOPE_SET_(n->self->n_named, 0);
	}
	return others;
}

OWN void unmap(void *p, size_t size)
{
	if (p)
		munmap(p, size);
}

OWN void release_lane(void *unused)
{
	struct held h;

	(void)unused;
	lock(&h);
	if (thread.lane && thread.generation == here.generation && here.region)
		FUNCSCOPE_SET_(thread.lane->busy, 0);
	unlist_thread();
	forget_lane();
	thread.ends++;
	unmap(thread.saved, MOST_SAVED * sizeof(struct saved));
	unmap(thread.calls, MOST_SAVED * sizeof(struct call));
	thread.saved = NULL;
	thread.calls = NULL;
	unlock(&h);
}

OWN struct funcscope_lane *lane_at(uint32_t offset)
{
	return (struct funcscope_lane *)(void *)(here.base + (size_t)offset * UNIT);
}

OWN struct funcscope_cell *cells_of(struct funcscope_lane *lane)
{
	return (struct funcscope_cell *)(void *)(lane + 1);
}

/* What the thread before has entered and never left is not open in the next. */
OWN void close_cells(struct funcscope_lane *lane, uint32_t n)
{
	for (struct funcscope_cell *c = cells_of(lane); n--; c++)
		if (c->state > FUNCSCOPE_CLOSED)
			FUNCSCOPE_SET_(c->state, FUNCSCOPE_CLOSED);
}

/* A lane that a thread has left goes on with the next one: its sums stay. */
OWN struct funcscope_lane *find_lane(void)
{
	struct funcscope_region *r = here.region;
	struct funcscope_lane *lane;

	for (uint32_t at = r->first_lane; at; at = lane->next) {
		lane = lane_at(at);
		if (lane->busy)
			continue;
		close_cells(lane, r->numbers);
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

OWN void open_way(void)
{
	funcscope_self_.cells = cells_of(thread.lane);
	funcscope_self_.named = funcscope_self_.cells + thread.numbers - 1;
	FUNCSCOPE_SET_(funcscope_self_.n, thread.numbers);
	FUNCSCOPE_SET_(funcscope_self_.n_named, thread.cells - thread.numbers + 1);
}

OWN void occupy(struct funcscope_lane *lane)
{
	thread.lane = lane;
	thread.numbers = here.region->numbers;
	thread.cells = here.region->cells;
	FUNCSCOPE_SET_(lane->tid, (uint32_t)syscall(SYS_gettid));
	FUNCSCOPE_SET_(lane->busy, 1);
	FUNCSCOPE_SET_(lane->owners, lane->owners + 1);
	if (!thread.forking)
		open_way();
}

/* Gives the thread a lane, once. Under the lock. */
OWN bool claim_lane(void)
{
	struct funcscope_lane *lane;

	if (thread.generation != here.generation)
		forget_lane();
	thread.generation = here.generation;
	if (thread.lane)
		return true;
	lane = watch_thread() ? find_lane() : NULL;
	if (lane) {
		occupy(lane);
		thread.refused = false;
		return true;
	}
	if (!thread.refused)
		count(&here.region->lost_threads);
	thread.refused = true;
	return false;
}

/* What a checkpoint needs in this thread besides its line. */
OWN bool fill_cell(struct funcscope_cell *c, uint32_t flags)
{
	static const uint16_t depth[] = {256, 1024, 4096, 16384};
	struct funcscope_region *r = here.region;
	uint64_t *hist = take(FUNCSCOPE_HIST_SIZE);
	bool samples = !(here.options.flags & FUNCSCOPE_RAW_OFF);
	uint64_t *ring = hist && samples ? take(depth[r->level] * sizeof(uint64_t)) : NULL;

	if (!hist)
		return false;
	hist[0] = UINT64_MAX; /* the first call adds the one before it, which never was */
	c->hist = units_between(c, hist);
	if (ring) {
		c->ring = units_between(c, ring);
		c->ring_mask = (uint16_t)(depth[r->level] - 1);
	}
	c->flags = (uint16_t)flags;
	__atomic_store_n(&c->state, FUNCSCOPE_CLOSED, __ATOMIC_RELEASE);
	return true;
}

/* Where a checkpoint's cell is, in cells from the lane's first; false: it is none. */
OWN bool cell_index(uint32_t n, bool named, uint32_t numbers, uint32_t cells, uint32_t *at)
{
	*at = named ? numbers + (n - 1) : n;
	return named ? n - 1 < cells - numbers : n < numbers;
}

/* The cell, if the thread has it already. Takes no lock: whatever the lane is in stays mapped. */
OWN struct funcscope_cell *own_cell(uint32_t n, bool named)
{
	uint32_t at;

	if (!thread.lane || thread.generation != FUNCSCOPE_GET_(here.generation) || not_ours() ||
	    !cell_index(n, named, thread.numbers, thread.cells, &at) ||
	    !cells_of(thread.lane)[at].state)
		return NULL;
	return cells_of(thread.lane) + at;
}

/* A checkpoint's cell made ready, or NULL. What has none is counted, wrong numbers apart: their
 * exits are. Under the lock. */
OWN struct funcscope_cell *make_cell(uint32_t n, bool named, uint32_t flags)
{
	struct funcscope_region *r = here.region;
	struct funcscope_cell *c;
	uint32_t at;

	if (!cell_index(n, named, r->numbers, r->cells, &at)) {
		if (named)
			count(&r->lost_calls);
		return NULL;
	}
	if (claim_lane()) {
		c = cells_of(thread.lane) + at;
		if (c->state || fill_cell(c, flags)) {
			thread.starved = false;
			thread.tries = 0;
			return c;
		}
	}
	thread.starved = true;
	count(&r->lost_calls);
	return NULL;
}

OWN struct funcscope_cell *ready_cell(uint32_t n, bool named, uint32_t flags)
{
	struct funcscope_region *r = current();
	struct funcscope_cell *c = own_cell(n, named);
	int keep = errno;
	struct held h;

	if (c || !measuring())
		return c;
	if (r && thread.starved && !worth_asking(++thread.tries) &&
	    thread.generation == FUNCSCOPE_GET_(here.generation)) {
		count(&r->lost_calls);
		return NULL;
	}
	lock(&h);
	if (begin_pending())
		c = make_cell(n, named, flags);
	unlock(&h);
	errno = keep;
	return c;
}

struct funcscope_cell *funcscope_named_(uint32_t id, uint32_t flags)
{
	struct funcscope_region *r = current();

	if (id == NOT_YET)
		return NULL;
	if (r && (id == NOT_EVER || (thread.lane && id > thread.cells - thread.numbers &&
				     thread.generation == FUNCSCOPE_GET_(here.generation)))) {
		count(&r->lost_calls);
		return NULL;
	}
	return ready_cell(id, true, flags);
}

/* ---- entries and exits that are not the simple case ---- */

/* A list of the thread's own, made when it is first needed; a signal handler may make it meanwhile.
 */
OWN bool private_list(void **list, size_t item)
{
	void *none = NULL, *p;

	if (*list)
		return true;
	p = mmap(NULL, MOST_SAVED * item, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return false;
	if (!__atomic_compare_exchange_n(list, &none, p, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		munmap(p, MOST_SAVED * item);
	return true;
}

/* Puts the entry aside that is open already. Signal handlers may do so in between, and take theirs
 * away again: the place is taken first, then written. */
OWN bool save_entry(struct funcscope_cell *c, uint32_t idx)
{
	uint32_t n = thread.n_saved;

	if (!private_list((void **)&thread.saved, sizeof(struct saved)) || n == MOST_SAVED)
		return false;
	FUNCSCOPE_SET_(thread.n_saved, n + 1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread.saved[n] = (struct saved){.start = c->start, .idx = idx};
	return true;
}

OWN uint64_t begin(uint32_t flags)
{
#ifdef FUNCSCOPE_CLOCK
	(void)flags;
	return FUNCSCOPE_CLOCK();
#else
	return flags & FUNCSCOPE_CELL_ORDERED ? funcscope_begin_ordered_() : funcscope_rdtsc();
#endif
}

void funcscope_enter_rare_(uint32_t idx, uint32_t flags)
{
	struct funcscope_cell *c = ready_cell(idx, false, flags);
	struct funcscope_region *r = current();
	int keep = errno;
	bool deeper = c && c->state >= FUNCSCOPE_OPEN;

	if (!c)
		return;
	if (deeper && !save_entry(c, idx)) {
		/* Its exit comes before those of all that were put aside. */
		FUNCSCOPE_SET_(thread.dropped, thread.dropped + 1);
		FUNCSCOPE_SET_(c->state, c->state + 1);
		if (r)
			count(&r->too_deep);
		errno = keep;
		return;
	}
	FUNCSCOPE_SET_(c->state, deeper ? c->state + 1 : FUNCSCOPE_OPEN);
	errno = keep;
	FUNCSCOPE_SET_(c->start, begin(flags));
}

/* The entry that was put aside last is the open one again. */
OWN void restore_entry(struct funcscope_cell *c, uint32_t idx)
{
	for (uint32_t n = thread.n_saved, i = n; i-- > 0;) {
		if (thread.saved[i].idx != idx)
			continue;
		FUNCSCOPE_SET_(c->start, thread.saved[i].start);
		memmove(&thread.saved[i], &thread.saved[i + 1], (n - 1 - i) * sizeof(struct saved));
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		FUNCSCOPE_SET_(thread.n_saved, n - 1);
		return;
	}
}

/* An exit without an entry; unless the entry was there and found no room, which was counted. */
OWN void count_unmatched(void)
{
	struct funcscope_region *r = current();

	if (r && !thread.starved)
		count(&r->unmatched);
}

void funcscope_exit_rare_(uint32_t idx, uint64_t now)
{
	struct funcscope_cell *c = own_cell(idx, false);
	uint32_t state = c ? c->state : 0;

	if (state <= FUNCSCOPE_CLOSED) {
		count_unmatched();
		return;
	}
	FUNCSCOPE_SET_(c->state, state - 1);
	if (state > FUNCSCOPE_OPEN && thread.dropped) {
		FUNCSCOPE_SET_(thread.dropped, thread.dropped - 1);
		return;
	}
	funcscope_record_(c, now - c->start);
	if (state > FUNCSCOPE_OPEN)
		restore_entry(c, idx);
}

OWN void add_sample(struct funcscope_cell *c, uint64_t ticks)
{
#ifdef FUNCSCOPE_NO_SAMPLES
	(void)c;
	(void)ticks;
#else
	const uint64_t most = ((uint64_t)1 << FUNCSCOPE_SAMPLE_BITS) - 1;
	uint64_t *ring = (uint64_t *)(void *)((char *)c + (uint64_t)c->ring * UNIT);
	uint64_t number = c->samples;

	if (!c->ring)
		return;
	FUNCSCOPE_SET_(ring[number & c->ring_mask],
		       (ticks < most ? ticks : most) | number << FUNCSCOPE_SAMPLE_BITS);
	__atomic_store_n(&c->samples, number + 1, __ATOMIC_RELEASE);
#endif
}

/* Straight into the last bucket; the one before stays where it is. */
OWN void record_long(struct funcscope_cell *c, uint64_t ticks)
{
	uint64_t *hist = (uint64_t *)(void *)((char *)c + (uint64_t)c->hist * UNIT);
	uint64_t *over = &hist[FUNCSCOPE_HIST_BUCKETS - 1];

	if (!*over || ticks < hist[FUNCSCOPE_HIST_LEAST])
		FUNCSCOPE_SET_(hist[FUNCSCOPE_HIST_LEAST], ticks);
	if (ticks > hist[FUNCSCOPE_HIST_MOST])
		FUNCSCOPE_SET_(hist[FUNCSCOPE_HIST_MOST], ticks);
	FUNCSCOPE_SET_(*over, *over + 1);
	FUNCSCOPE_SET_(c->total, c->total + ticks);
	add_sample(c, ticks);
}

/* Makes room for a duration between the least and the greatest. A reader waits while the span is 0.
 */
OWN void widen(struct funcscope_cell *c, uint64_t ticks)
{
	uint64_t least = c->min, most = least + c->span - 1;

	if (!c->span)
		least = most = ticks;
	least = ticks < least ? ticks : least;
	most = ticks > most ? ticks : most;
	FUNCSCOPE_SET_(c->span, 0);
	__atomic_store_n(&c->min, least, __ATOMIC_RELEASE);
	__atomic_store_n(&c->span, most - least + 1, __ATOMIC_RELEASE);
}

/* Durations that are shorter or longer than all before, that the short way has no bits for, or that
 * are none. */
void funcscope_record_rare_(struct funcscope_cell *c, uint64_t ticks)
{
	struct funcscope_region *r = current();

	if ((int64_t)ticks < 0) {
		if (r)
			count(&r->backwards);
		ticks = 0;
	}
	if (ticks >> FUNCSCOPE_HIST_TOP) {
		record_long(c, ticks);
		return;
	}
	if (ticks - c->min >= c->span)
		widen(c, ticks);
	funcscope_record_(c, ticks);
}

/* ---- memory taken and given back ---- */

OWN void forget_descriptors(void)
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

OWN size_t with_guard(size_t n)
{
	return n + PAGE_MOST;
}

/* From now on what is written to the old addresses goes nowhere. A thread that is just writing may
 * find offsets of 0 there: the guard has room for a histogram behind the last cell. */
OWN void blind_addresses(size_t n)
{
	if (n)
		(void)!mmap(here.base, with_guard(n), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/* Threads may be writing there for as long as they live: the next memory lies elsewhere. */
OWN void leave_addresses(size_t n)
{
	n = round_up(with_guard(n), PAGE_2M);
	here.reserved = here.reserved > n ? here.reserved - n : 0;
	here.base += n;
}

OWN void program_path(char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 1);

	path[n > 0 ? n : 0] = '\0';
}

OWN void lay_out(struct funcscope_region *r, size_t size, uint32_t cells)
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
		snprintf(records(r)[i].name, FUNCSCOPE_NAME_LEN, "%u", i);
		records(r)[i].kind = FUNCSCOPE_KIND_NUMBER;
	}
	for (size_t i = 0; i < here.numbers.n; i++)
		show_number(r, name_at(&here.numbers, i));
	for (size_t i = 0; i < here.known.n; i++)
		publish(r, i);
	program_path(path, sizeof(path));
	copy_path(r->program, sizeof(r->program), path);
	read_clocks(r);
	__atomic_store_n(&r->magic, FUNCSCOPE_MAGIC, __ATOMIC_RELEASE);
}

/* Room for one thread in all checkpoints that go by number, and for a few named ones. */
OWN size_t first_size(uint32_t cells)
{
	static const size_t samples[] = {256, 1024, 4096, 16384};
	size_t cell = FUNCSCOPE_HIST_SIZE;

	if (!(here.options.flags & FUNCSCOPE_RAW_OFF))
		cell += samples[here.options.level] * sizeof(uint64_t);
	return round_up(
	    sizeof(struct funcscope_region) +
		cells * (sizeof(struct funcscope_site_record) + sizeof(struct funcscope_cell)) +
		sizeof(struct funcscope_lane) + (here.options.numbers + 4) * cell,
	    PAGE_MOST);
}

/* New memory by the options kept. Under the lock. */
OWN bool start(void)
{
	uint32_t cells = here.options.numbers + here.options.names;
	size_t size = first_size(cells), made;
	struct funcscope_region *r;

	for (uint32_t i = 0; i < FUNCSCOPE_CHUNKS; i++)
		here.fd[i] = -1;
	here.refusals = 0;
	here.times = here.pid == getpid() ? here.times + 1 : 1;
	here.pid = getpid();
	if (!reserve_addresses(size) || !add_chunk(0, 0, size, &made)) {
		FUNCSCOPE_SET_(here.pending, false);
		return false;
	}
	FUNCSCOPE_SET_(here.generation, here.generation + 1);
	open_socket();
	r = (void *)here.base;
	lay_out(r, made, cells);
	__atomic_store_n(&here.region, r, __ATOMIC_RELEASE);
	__atomic_store_n(&here.pending, false, __ATOMIC_RELEASE);
	return true;
}

/* The memory, taken now if it was put off until now. Under the lock. */
OWN bool begin_pending(void)
{
	if (!here.region && here.pending)
		start();
	return here.region != NULL;
}

/* Under the lock. */
OWN void stop(void)
{
	size_t n = mapped(here.region);
	bool others = turn_threads_away();

	__atomic_store_n(&here.region->exited, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&here.region, NULL, __ATOMIC_RELEASE);
	FUNCSCOPE_SET_(here.generation, here.generation + 1);
	blind_addresses(n);
	if (others)
		leave_addresses(n);
	forget_descriptors();
	forget_lane();
	if (here.socket_path[0])
		unlink(here.socket_path);
	here.socket_path[0] = '\0';
}

/* ---- fork ---- */

/* While a thread forks its checkpoints take the long way: in the child the memory is the parent's
 * until it is renewed, and other fork handlers may use checkpoints before that. */
OWN void before_fork(void)
{
	struct held h;

	lock(&h);
	here.fork_held = h;
	here.renewed = false;
	here.pid = getpid();
	thread.forking = true;
	FUNCSCOPE_SET_(funcscope_self_.n, 0);
	FUNCSCOPE_SET_(funcscope_self_.n_named, 0);
}

OWN void after_fork_parent(void)
{
	struct held h = here.fork_held;

	thread.forking = false;
	if (thread.lane && thread.generation == here.generation)
		open_way();
	unlock(&h);
}

/* The child has one thread, and memory of its own from its first checkpoint on, or none. One that
 * only calls exec() takes none. */
OWN void renew(void)
{
	int keep = errno;

	if (here.region) {
		size_t n = mapped(here.region);

		here.region = NULL;
		blind_addresses(n);
		here.pending = here.by_itself = true;
	}
	here.generation++;
	for (struct node *n = here.nodes; n; n = n->next)
		n->self = NULL;
	thread.node = NULL;
	here.untracked = false;
	here.renewed = true;
	here.socket_path[0] = '\0'; /* it is the parent's */
	forget_descriptors();
	forget_lane();
	errno = keep;
}

OWN void after_fork_child(void)
{
	struct held h = here.fork_held;

	if (!here.renewed)
		renew();
	thread.forking = false;
	if (thread.lane)
		open_way();
	unlock(&h);
}

void funcscope_after_fork(void)
{
	__atomic_store_n(&here.lock, 0, __ATOMIC_RELEASE); /* whoever held it is not here */
	thread.forking = false;
	renew();
}

/* ---- beginning and end ---- */

static pthread_once_t watched = PTHREAD_ONCE_INIT;

/* Before the lock is ever taken: a child made meanwhile would never get it back. */
OWN void watch(void)
{
	here.key_made = !pthread_key_create(&here.key, release_lane);
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* The program ends, or what this is part of is unloaded: then the destructor must not be called.
 * Who has the lock may be a thread that is no more. */
__attribute__((destructor, no_instrument_function)) static void unload(void)
{
	struct held h;

	hold(&h);
	if (thread.forking || !try_lock()) {
		let_go(&h);
		return;
	}
	if (here.key_made)
		pthread_key_delete(here.key);
	here.key_made = false;
	if (here.socket_path[0] && here.pid == getpid())
		unlink(here.socket_path);
	unlock(&h);
}

OWN bool same_options(const struct funcscope_options *o, const char *directory)
{
	return here.options.numbers == o->numbers && here.options.names == o->names &&
	       here.options.level == o->level && here.options.flags == o->flags &&
	       !strcmp(here.directory, directory);
}

/* Memory that came by itself gives way to what is asked for. 0, or why not. Under the lock. */
OWN int begin_with(const struct funcscope_options *o, const char *directory)
{
	if (here.region && !here.by_itself)
		return EALREADY;
	here.by_itself = false;
	if (here.region && same_options(o, directory))
		return 0;
	if (here.region)
		stop();
	here.options = *o;
	here.options.directory = NULL;
	strcpy(here.directory, directory);
	return start() ? 0 : errno;
}

/* Its path from the root: the program may change its directory. False: errno says why. */
OWN bool find_directory(const char *named, char path[PATH_MAX])
{
	if (!named)
		named = secure_getenv("FUNCSCOPE_DIRECTORY");
	path[0] = '\0';
	return !named || !*named || realpath(named, path);
}

int32_t funcscope_caller_initialize_with(const struct funcscope_options *options)
{
	struct funcscope_options o;
	char directory[PATH_MAX];
	struct held h;
	int error;

	if (!options) {
		errno = EINVAL;
		return 0;
	}
	o = *options;
	if (!o.names)
		o.names = DEFAULT_NAMES;
#ifdef FUNCSCOPE_INSTRUMENT_FUNCTIONS
	o.names = o.names < NAMES_FUNCS ? NAMES_FUNCS : o.names;
#endif
	if (o.level < FS_LITE || o.level > FS_FULL || o.names > MOST_CELLS ||
	    o.numbers > MOST_CELLS - o.names) {
		errno = EINVAL;
		return 0;
	}
	if (!find_directory(o.directory, directory))
		return 0;
	pthread_once(&watched, watch);
	lock(&h);
	error = begin_with(&o, directory);
	unlock(&h);
	errno = error ? error : errno;
	return !error;
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
	struct held h;
	bool was;

	lock(&h);
	was = here.region || here.pending;
	FUNCSCOPE_SET_(here.pending, false);
	if (here.region)
		stop();
	unlock(&h);
	return was;
}

/* ---- -finstrument-functions ---- */

#ifdef FUNCSCOPE_INSTRUMENT_FUNCTIONS

#define HOOK __attribute__((no_instrument_function, visibility("default")))

/* Functions by address, found without a lock: the number is written before the address. */
static struct {
	const void *address;
	uint32_t id;
} functions[FUNCTIONS];
static uint32_t n_functions;

struct module {
	const char *path;
	uintptr_t address, bias;
};

OWN int find_module(struct dl_phdr_info *info, size_t size, void *arg)
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
OWN uint32_t name_function(const void *function)
{
	struct funcscope_site_record rec = {.kind = FUNCSCOPE_KIND_FUNCTION,
					    .address = (uintptr_t)function};
	struct module m = {.path = "", .address = (uintptr_t)function};
	char exe[PATH_MAX];
	uint32_t id;

	dl_iterate_phdr(find_module, &m);
	if (!*m.path) { /* the program itself */
		program_path(exe, sizeof(exe));
		m.path = exe;
	}
	rec.offset = rec.address - m.bias;
	snprintf(rec.name, sizeof(rec.name), "%#llx", (unsigned long long)rec.offset);
	if (strlen(m.path) < sizeof(rec.file))
		copy_name(rec.file, sizeof(rec.file), m.path);
	id = add_name(&rec);
	return id ? id : NOT_EVER;
}

/* Under the lock. */
OWN uint32_t add_function(const void *function, size_t at)
{
	while (functions[at].address && functions[at].address != function)
		at = (at + 1) % FUNCTIONS;
	if (functions[at].address)
		return functions[at].id;
	if (!here.region || n_functions >= MOST_FUNCTIONS)
		return NOT_EVER;
	functions[at].id = name_function(function);
	FUNCSCOPE_SET_(n_functions, n_functions + 1);
	__atomic_store_n(&functions[at].address, function, __ATOMIC_RELEASE);
	return functions[at].id;
}

OWN uint32_t function_id(const void *function)
{
	size_t at = ((uintptr_t)function >> 4) * 0x9e3779b97f4a7c15u >> 50;
	const void *there;
	struct held h;
	uint32_t id;

	while ((there = __atomic_load_n(&functions[at].address, __ATOMIC_ACQUIRE))) {
		if (there == function)
			return functions[at].id;
		at = (at + 1) % FUNCTIONS;
	}
	if (FUNCSCOPE_GET_(n_functions) >= MOST_FUNCTIONS)
		return NOT_EVER;
	lock(&h);
	id = add_function(function, at);
	unlock(&h);
	return id;
}

/* A lane first, of the memory there is now: what is open belongs to it. */
OWN void join(void)
{
	struct held h;

	lock(&h);
	if (begin_pending())
		claim_lane();
	unlock(&h);
}

/* Puts a call on the thread's stack of them; handlers may do so in between. */
OWN void push_call(struct funcscope_region *r, const void *function, uintptr_t frame)
{
	uint32_t n = thread.n_calls;
	struct call *c;

	if (!private_list((void **)&thread.calls, sizeof(struct call)) || n == MOST_SAVED) {
		FUNCSCOPE_SET_(thread.dropped_calls, thread.dropped_calls + 1);
		count(&r->too_deep);
		return;
	}
	FUNCSCOPE_SET_(thread.n_calls, n + 1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	c = &thread.calls[n];
	c->function = function;
	c->frame = frame;
	c->id = function_id(function);
	c->start = FUNCSCOPE_BEGIN_();
}

/* Calls that found no room end before those that did. */
OWN bool was_dropped(const void *function, uintptr_t frame)
{
	const struct call *top = thread.n_calls ? &thread.calls[thread.n_calls - 1] : NULL;

	if (!thread.dropped_calls)
		return false;
	if (top && top->function == function && top->frame == frame) {
		thread.dropped_calls = 0; /* they were left by longjmp() */
		return false;
	}
	thread.dropped_calls--;
	return true;
}

OWN void pop_call(const void *function, uintptr_t frame, uint64_t now)
{
	uint32_t i = thread.n_calls;
	struct call c;

	if (was_dropped(function, frame))
		return;
	/* Calls above it were left by longjmp() or an exception: they have no end. Those of the
	 * same function are told apart by the stack, which was lower. */
	while (i > 0 &&
	       (thread.calls[i - 1].function != function || thread.calls[i - 1].frame < frame))
		i--;
	if (!i) {
		count_unmatched();
		return;
	}
	c = thread.calls[i - 1];
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	FUNCSCOPE_SET_(thread.n_calls, i - 1); /* from here on a handler may take its place */
	funcscope_ended_(c.id, now - c.start);
}

HOOK void __cyg_profile_func_enter(void *function, void *site);
HOOK void __cyg_profile_func_exit(void *function, void *site);

HOOK void __cyg_profile_func_enter(void *function, void *site)
{
	struct funcscope_region *r;
	int keep = errno;

	(void)site;
	if (thread.held || !measuring())
		return;
	if (thread.generation != FUNCSCOPE_GET_(here.generation) || FUNCSCOPE_GET_(here.pending))
		join();
	r = current();
	if (r)
		push_call(r, function, (uintptr_t)__builtin_frame_address(0));
	errno = keep;
}

HOOK void __cyg_profile_func_exit(void *function, void *site)
{
	uint64_t now = FUNCSCOPE_END_();
	int keep = errno;

	(void)site;
	if (thread.held || !measuring())
		return;
	if (thread.generation == FUNCSCOPE_GET_(here.generation))
		pop_call(function, (uintptr_t)__builtin_frame_address(0), now);
	else
		count_unmatched();
	errno = keep;
}

__attribute__((constructor, no_instrument_function)) static void measure_functions(void)
{
	struct funcscope_options o = {.level = FS_LITE};

	if (funcscope_caller_initialize_with(&o))
		here.by_itself = true;
}

#endif
#endif /* FUNCSCOPE_DISABLE */
