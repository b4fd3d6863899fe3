/* The memory itself: sealed against everybody else, reserved before it is used, and given back;
 * what happens where there is none to be had. A target never dies of it. */
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "reader.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

static void start(void)
{
	CHECK(funcscope_caller_initialize(16, FS_LITE) == 1);
}

static void pair(uint32_t idx)
{
	FUNCSCOPE_ENTER(idx);
	FUNCSCOPE_EXIT(idx);
}

/* Returns what it was. */
static rlim_t limit(int which, rlim_t value)
{
	struct rlimit l;
	rlim_t before;

	CHECK(!getrlimit((__typeof__(RLIMIT_AS))which, &l));
	before = l.rlim_cur;
	l.rlim_cur = value;
	CHECK(!setrlimit((__typeof__(RLIMIT_AS))which, &l));
	return before;
}

/* The library's own descriptor of a chunk; the reader opens others. */
static int own_descriptor(int chunk)
{
	char path[64], link[256], want[64];

	snprintf(want, sizeof(want), "/memfd:funcscope.%d (deleted)", chunk);
	for (int fd = 0; fd < 1024; fd++) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = '\0';
		if (!strcmp(link, want))
			return fd;
	}
	check_fail(__FILE__, __LINE__, "no descriptor of chunk %d", chunk);
}

/* Uses every checkpoint in so many threads that more memory is needed than the first chunk. */
static pthread_barrier_t gate;

static void use_all(void)
{
	for (uint32_t i = 0; i < 16; i++)
		pair(i);
}

static void *use_together(void *unused)
{
	(void)unused;
	use_all();
	pthread_barrier_wait(&gate);
	return NULL;
}

enum { THREADS = 20 };

static void use_much(void)
{
	pthread_t t[THREADS];

	pthread_barrier_init(&gate, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&t[i], NULL, use_together, NULL));
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static uint64_t all_calls(void)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < 16; i++)
		n += sums_of(i).calls;
	return n;
}

/* ---- seals ---- */

static void the_memory_is_sealed(void)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

	start();
	use_much();
	CHECK(books().chunks > 1);
	for (int i = 0; i < (int)books().chunks; i++)
		EQUAL(fcntl(own_descriptor(i), F_GET_SEALS) & seals, seals);
}

static void nobody_else_can_write(void)
{
	char path[64];
	int ours, again;

	start();
	pair(1);
	ours = own_descriptor(0);
	EQUAL(fcntl(ours, F_GETFL) & O_ACCMODE, O_RDONLY);
	CHECK(fcntl(ours, F_GETFD) & FD_CLOEXEC);
	FAILS(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ours, 0), MAP_FAILED, EACCES);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ours);
	again = open(path, O_RDWR | O_CLOEXEC); /* as root may, or the same user */
	CHECK(again >= 0);
	FAILS(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0), MAP_FAILED, EPERM);
	FAILS(pwrite(again, "x", 1, 0), -1, EPERM);
	FAILS(ftruncate(again, 0), -1, EPERM);
	FAILS(ftruncate(again, 1 << 30), -1, EPERM);
	FAILS(fallocate(again, 0x01 | 0x02 /* a hole */, 0, 4096), -1, EPERM);
	close(again);
	pair(1);
	EQUAL(sums_of(1).calls, 2);
}

/* A mapping for reading stays one. */
static void a_reader_stays_a_reader(void)
{
	struct reader r;

	start();
	reader_open(&r, getpid());
	FAILS(mprotect(r.at, 4096, PROT_READ | PROT_WRITE), -1, EACCES);
}

static void chunks_suit_every_page_size(void)
{
	struct funcscope_region b;

	start();
	use_much();
	b = books();
	for (uint32_t i = 0; i < b.chunks; i++)
		EQUAL(b.chunk_size[i] % (64 << 10), 0);
}

/* ---- beginning and end ---- */

static void wrong_arguments(void)
{
	struct funcscope_options o = {.numbers = 1, .level = FS_LITE, .directory = "/nonexistent"};

	FAILS(funcscope_caller_initialize(0, FS_LITE), 0, EINVAL);
	FAILS(funcscope_caller_initialize(129, FS_LITE), 0, EINVAL);
	FAILS(funcscope_caller_initialize(255, FS_LITE), 0, EINVAL);
	FAILS(funcscope_caller_initialize(1, -1), 0, EINVAL);
	FAILS(funcscope_caller_initialize(1, FS_FULL + 1), 0, EINVAL);
	FAILS(funcscope_caller_initialize_with(NULL), 0, EINVAL);
	FAILS(funcscope_caller_initialize_with(&o), 0, ENOENT);
	o.directory = NULL;
	o.names = UINT32_MAX;
	FAILS(funcscope_caller_initialize_with(&o), 0, EINVAL);
	o.names = 1 << 20;
	FAILS(funcscope_caller_initialize_with(&o), 0, EINVAL);
	o.names = 1;
	o.numbers = UINT32_MAX;
	FAILS(funcscope_caller_initialize_with(&o), 0, EINVAL);
	CHECK(funcscope_caller_initialize(128, FS_LITE) == 1);
}

static void once_per_process(void)
{
	start();
	pair(1);
	FAILS(funcscope_caller_initialize(16, FS_LITE), 0, EALREADY);
	FAILS(funcscope_caller_initialize(3, FS_DEEP), 0, EALREADY);
	EQUAL(sums_of(1).calls, 1);
	CHECK(funcscope_caller_cleanup() == 1);
	CHECK(funcscope_caller_cleanup() == 0);
}

static void every_level_and_the_most_checkpoints(void)
{
	for (int level = FS_LITE; level <= FS_FULL; level++) {
		CHECK(funcscope_caller_initialize(128, level) == 1);
		for (uint32_t i = 0; i < 128; i++)
			pair(i);
		EQUAL(books().chunks, 1); /* one thread needs no more than was taken at first */
		for (uint32_t i = 0; i < 128; i++)
			EQUAL(sums_of(i).calls, 1);
		CHECK(funcscope_caller_cleanup() == 1);
	}
}

/* What a reader has mapped stays readable, and says that it is over. */
static void a_clean_up_is_seen(void)
{
	struct reader r;

	start();
	pair(1);
	reader_open(&r, getpid());
	EQUAL(r.region->exited, 0);
	CHECK(funcscope_caller_cleanup() == 1);
	EQUAL(r.region->exited, 1);
	EQUAL(reader_sums(&r, 1).calls, 1);
	pair(1);
	EQUAL(reader_sums(&r, 1).calls, 1);
	reader_close(&r);
	EQUAL(reader_find(&r, getpid()), 0);
}

static size_t address_space(void)
{
	size_t pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	CHECK(f && fscanf(f, "%zu", &pages) == 1);
	fclose(f);
	return pages;
}

static void beginnings_and_ends_do_not_add_up(void)
{
	size_t before;

	start();
	use_all();
	CHECK(funcscope_caller_cleanup() == 1);
	before = address_space();
	for (int i = 0; i < 300; i++) {
		start();
		use_all();
		CHECK(funcscope_caller_cleanup() == 1);
	}
	EQUAL(address_space(), before);
}

/* ---- less than wanted ---- */

static void no_descriptor_to_be_had(void)
{
	limit(RLIMIT_NOFILE, 3);
	FAILS(funcscope_caller_initialize(16, FS_LITE), 0, EMFILE);
	pair(1);
	limit(RLIMIT_NOFILE, 64);
	start();
	pair(1);
	EQUAL(sums_of(1).calls, 1);
}

/* The limit is the least that has no place for the read-only descriptor, then for the socket... */
static void few_descriptors_to_be_had(void)
{
	for (rlim_t n = 4; n < 8; n++) {
		limit(RLIMIT_NOFILE, n);
		start();
		pair(1);
		limit(RLIMIT_NOFILE, 64);
		EQUAL(sums_of(1).calls, 1);
		CHECK(funcscope_caller_cleanup() == 1);
	}
}

static void stdio_is_nobodys_but_stdios(void)
{
	int out = dup(STDOUT_FILENO);

	CHECK(out > 2);
	close(0);
	close(1);
	close(2);
	start();
	use_much();
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) >= 0) {
			dup2(out, 1);
			check_fail(__FILE__, __LINE__, "descriptor %d is in use", fd);
		}
	CHECK(dup2(out, 1) == 1);
}

/* Counted, not silently lost; and no call is both. */
static void lost_for_want_of(int which, rlim_t value)
{
	struct funcscope_region b;
	rlim_t before;

	start();
	before = limit(which, value);
	for (int i = 0; i < 3; i++)
		use_much();
	limit(which, before);
	b = books();
	EQUAL(b.chunks, 1);
	CHECK(b.lost_calls > 0 && b.lost_threads > 0);
	EQUAL(all_calls() + b.lost_calls, 3 * THREADS * 16);
	EQUAL(b.unmatched, 0);
	/* and it goes on when there is some again */
	for (int i = 0; i < 5; i++)
		use_much();
	CHECK(books().chunks > 1);
	EQUAL(all_calls() + books().lost_calls, 8 * THREADS * 16);
}

static void no_descriptors_later(void)
{
	lost_for_want_of(RLIMIT_NOFILE, 3);
}

/* SIGXFSZ would kill: it is not raised. */
static void no_file_sizes_later(void)
{
	lost_for_want_of(RLIMIT_FSIZE, 0);
}

static void no_file_size_to_be_had(void)
{
	struct funcscope_options o = {.numbers = 1, .level = FS_LITE, .directory = "/tmp"};

	limit(RLIMIT_FSIZE, 0);
	FAILS(funcscope_caller_initialize(16, FS_LITE), 0, EFBIG);
	FAILS(funcscope_caller_initialize_with(&o), 0, EFBIG);
	FAILS(funcscope_file_mmap_4K("/tmp", 10), NULL, EFBIG);
	pair(1);
	limit(RLIMIT_FSIZE, RLIM_INFINITY);
	start();
}

/* The program keeps most of what it may have. */
static void few_addresses_to_be_had(void)
{
	size_t before = address_space() * 4096;
	void *p;

	if (before > 60 << 20)
		SKIP("this process has %zu MB of addresses before it begins", before >> 20);
	limit(RLIMIT_AS, 100 << 20);
	start();
	use_all();
	EQUAL(all_calls(), 16);
	p = malloc((100 << 20) - before - (24 << 20));
	CHECK(p);
	free(p);
}

static void too_few_addresses(void)
{
	size_t before = address_space() * 4096;

	if (before > 60 << 20)
		SKIP("this process has %zu MB of addresses before it begins", before >> 20);
	limit(RLIMIT_AS, before + (1 << 20));
	if (funcscope_caller_initialize(16, FS_LITE))
		SKIP("the limit has no effect here");
	EQUAL(errno, ENOMEM);
	pair(1);
}

static void nothing_may_be_locked(void)
{
	limit(RLIMIT_MEMLOCK, 0);
	start();
	use_much();
	EQUAL(all_calls(), 16 * THREADS);
}

static void hugepages_where_there_are_none(void)
{
	struct funcscope_options o = {
	    .numbers = 16, .level = FS_LITE, .flags = FUNCSCOPE_HUGEPAGES};
	struct funcscope_region b;

	CHECK(funcscope_caller_initialize_with(&o) == 1);
	use_much();
	EQUAL(all_calls(), 16 * THREADS);
	b = books();
	for (uint32_t i = 0; i < b.chunks; i++)
		EQUAL(b.chunk_size[i] % (2 << 20), 0);
}

/* Sets aside so many huge pages of the machine (-1: asks only). How many there are; -1: none ever.
 */
static int set_hugepages(int n)
{
	FILE *f = fopen("/proc/sys/vm/nr_hugepages", "r+");
	int got = -1;

	if (!f)
		return -1;
	if (n >= 0) {
		fprintf(f, "%d", n);
		fflush(f);
		rewind(f);
	}
	if (fscanf(f, "%d", &got) != 1)
		got = -1;
	fclose(f);
	return got;
}

static void use_hugepages(void)
{
	struct funcscope_options o = {
	    .numbers = 16, .level = FS_LITE, .flags = FUNCSCOPE_HUGEPAGES};
	struct stat st;

	CHECK(funcscope_caller_initialize_with(&o) == 1);
	pair(1);
	CHECK(!fstat(own_descriptor(0), &st));
	EQUAL(st.st_blksize, 2 << 20);
	use_much();
	EQUAL(all_calls(), 16 * THREADS + 1);
	CHECK(fcntl(own_descriptor(0), F_GET_SEALS) & F_SEAL_SEAL);
	CHECK(funcscope_caller_cleanup() == 1);
	exit(0);
}

static void hugepages_where_there_are_some(void)
{
	int status = 0;
	pid_t pid;

	NEED_ROOT();
	NEED_PROCESSOR();
	if (set_hugepages(-1) != 0) /* somebody has some: leave them alone */
		SKIP("no huge pages to be had");
	if (set_hugepages(4) == 4) {
		pid = fork();
		if (!pid)
			use_hugepages();
		waitpid(pid, &status, 0);
		EQUAL(set_hugepages(0), 0); /* whatever came of it */
		EQUAL(status, 0);
		return;
	}
	set_hugepages(0);
	SKIP("no huge pages to be had");
}

/* ---- a small file system ---- */

static void mount_small(const char *size)
{
	char options[32];

	NEED_ROOT();
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		SKIP("no mount namespace here: %s", strerror(errno));
	snprintf(options, sizeof(options), "size=%s", size);
	if (mount("small", "/mnt", "tmpfs", 0, options))
		SKIP("no tmpfs here: %s", strerror(errno));
}

static void a_file_system_that_is_too_small(void)
{
	struct funcscope_options o = {.numbers = 16, .level = FS_LITE, .directory = "/mnt"};

	mount_small("64k");
	FAILS(funcscope_caller_initialize_with(&o), 0, ENOSPC);
	FAILS(funcscope_file_mmap_4K("/mnt", 1 << 20), NULL, ENOSPC);
	pair(1);
	CHECK(funcscope_file_mmap_4K("/mnt", 4096)); /* nothing was left behind */
}

static void a_file_system_that_becomes_too_small(void)
{
	struct funcscope_options o = {.numbers = 16, .level = FS_LITE, .directory = "/mnt"};

	mount_small("1m");
	CHECK(funcscope_caller_initialize_with(&o) == 1);
	for (int i = 0; i < 3; i++)
		use_much();
	CHECK(books().lost_calls > 0);
	EQUAL(all_calls() + books().lost_calls, 3 * THREADS * 16);
}

static const struct check_test tests[] = {
    TEST(the_memory_is_sealed),
    TEST(nobody_else_can_write),
    TEST(a_reader_stays_a_reader),
    TEST(chunks_suit_every_page_size),
    TEST(wrong_arguments),
    TEST(once_per_process),
    TEST(every_level_and_the_most_checkpoints),
    TEST(a_clean_up_is_seen),
    TEST(beginnings_and_ends_do_not_add_up),
    TEST(no_descriptor_to_be_had),
    TEST(few_descriptors_to_be_had),
    TEST(stdio_is_nobodys_but_stdios),
    TEST(no_descriptors_later),
    TEST(no_file_sizes_later),
    TEST(no_file_size_to_be_had),
    TEST(few_addresses_to_be_had),
    TEST(too_few_addresses),
    TEST(nothing_may_be_locked),
    TEST(hugepages_where_there_are_none),
    TEST(hugepages_where_there_are_some),
    TEST(a_file_system_that_is_too_small),
    TEST(a_file_system_that_becomes_too_small),
};

CHECK_MAIN(tests)
