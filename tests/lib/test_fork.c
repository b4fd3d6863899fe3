/* fork() and its kin: a child has memory of its own or none, never its parent's; whatever the other
 * threads are just doing. And descriptors that a daemon closes without asking. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "reader.h"

static void start(void)
{
	CHECK(funcscope_caller_initialize(16, FS_LITE) == 1);
}

static void pair(uint32_t idx)
{
	FUNCSCOPE_ENTER(idx);
	FUNCSCOPE_EXIT(idx);
}

static void work(int n)
{
	for (int i = 0; i < n; i++) {
		FUNCSCOPE_SCOPE("work");
		pair(2);
	}
}

static void expect(uint64_t calls)
{
	EQUAL(sums_named("work").calls, calls);
	EQUAL(sums_of(2).calls, calls);
	EQUAL(books().lost_calls, 0);
}

static ino_t memory_inode(void)
{
	struct reader r;
	struct stat st;

	reader_open(&r, getpid());
	CHECK(!fstat(r.fd[0], &st));
	reader_close(&r);
	return st.st_ino;
}

static int descriptors(void)
{
	struct reader r;
	int n = reader_find(&r, getpid());

	for (int i = 0; i < FUNCSCOPE_CHUNKS; i++)
		if (r.fd[i] >= 0)
			close(r.fd[i]);
	return n;
}

static struct sockaddr_un socket_name(pid_t pid)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	snprintf(at.sun_path, sizeof(at.sun_path), "/tmp/funcscope-%u/%d.sock", (unsigned)geteuid(),
		 (int)pid);
	return at;
}

static int has_socket_file(pid_t pid)
{
	return !access(socket_name(pid).sun_path, F_OK);
}

/* Somebody listens: a file alone may be of a process that was killed and had the number before. */
static int has_socket(pid_t pid)
{
	struct sockaddr_un at = socket_name(pid);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc = connect(fd, (struct sockaddr *)&at, sizeof(at));

	close(fd);
	return !rc;
}

/* ---- the child's memory ---- */

static void a_child_has_memory_of_its_own(void)
{
	ino_t ours;
	pid_t pid;

	start();
	funcscope_name(2, "two");
	work(10);
	ours = memory_inode();
	pid = fork();
	if (!pid) {
		struct reader r;

		work(3);
		CHECK(memory_inode() != ours);
		EQUAL(books().pid, getpid());
		expect(3);
		EQUAL(descriptors(), 1); /* and none of the parent's */
		reader_open(&r, getpid());
		EQUAL_STRING(reader_record(&r, 2)->name, "two");
		EQUAL(r.region->names, 1);
		reader_close(&r);
		{
			FUNCSCOPE_SCOPE("met in the child");
		}
		EQUAL(sums_named("met in the child").calls, 1);
		exit(0);
	}
	CHILD_IS_WELL(pid);
	expect(10);
	EQUAL(books().names, 1);
	CHECK(memory_inode() == ours);
	work(1);
	expect(11);
}

static void a_child_that_measures_nothing_takes_nothing(void)
{
	pid_t pid;

	start();
	work(1);
	CHECK(has_socket(getpid()));
	pid = fork();
	if (!pid) {
		EQUAL(descriptors(), 0);
		CHECK(!has_socket(getpid()));
		_exit(0);
	}
	CHILD_IS_WELL(pid);
	CHECK(has_socket(getpid()));
}

/* Chunks behind the first are the parent's, too. */
static void a_child_of_many_chunks(void)
{
	static struct funcscope_site_ sites[300];
	static char names[300][16];
	pid_t pid;

	start();
	for (uint32_t i = 0; i < 300; i++) {
		snprintf(names[i], sizeof(names[i]), "name %u", i);
		sites[i] = (struct funcscope_site_){names[i], "", i, FUNCSCOPE_KIND_SCOPE, 0};
		funcscope_ended_(funcscope_site_id_(&sites[i]), 1);
	}
	CHECK(descriptors() > 2);
	pid = fork();
	if (!pid) {
		for (int round = 0; round < 2; round++)
			for (uint32_t i = 0; i < 300; i++)
				funcscope_ended_(funcscope_site_id_(&sites[i]), 1);
		EQUAL(descriptors(), books().chunks);
		EQUAL(sums_named("name 299").calls, 2);
		exit(0);
	}
	CHILD_IS_WELL(pid);
	for (uint32_t i = 0; i < 300; i++)
		EQUAL(sums_of(16 + i).calls, 1);
}

/* The first checkpoint takes the memory; whoever comes meanwhile waits, and is counted. */
static pthread_barrier_t gate;

static void *meet_at_once(void *unused)
{
	(void)unused;
	pthread_barrier_wait(&gate);
	work(1);
	return NULL;
}

static void threads_of_a_child_meet_at_once(void)
{
	pthread_t t[8];

	start();
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (!pid) {
			pthread_barrier_init(&gate, NULL, 8);
			for (int n = 0; n < 8; n++)
				CHECK(!pthread_create(&t[n], NULL, meet_at_once, NULL));
			for (int n = 0; n < 8; n++)
				pthread_join(t[n], NULL);
			expect(8);
			exit(0);
		}
		CHILD_IS_WELL(pid);
	}
}

static void forked_inside(void)
{
	pid_t pid;

	start();
	FUNCSCOPE_ENTER(4);
	FUNCSCOPE_ENTER(4);
	{
		FUNCSCOPE_SCOPE("forked inside");
		pid = fork();
	}
	FUNCSCOPE_EXIT(4);
	if (!pid) {
		EQUAL(sums_named("forked inside").calls, 1);
		EQUAL(sums_of(4).calls, 0); /* it was not entered here */
		pair(4);
		EQUAL(sums_of(4).calls, 1);
		exit(0);
	}
	CHILD_IS_WELL(pid);
	FUNCSCOPE_EXIT(4);
	EQUAL(sums_of(4).calls, 2);
	EQUAL(sums_named("forked inside").calls, 1);
	EQUAL(books().unmatched, 0);
}

static void chain(int depth, int calls)
{
	pid_t pid;

	work(calls);
	expect((uint64_t)calls);
	if (!depth)
		return;
	pid = fork();
	if (!pid) {
		chain(depth - 1, calls + 1);
		exit(0);
	}
	CHILD_IS_WELL(pid);
	expect((uint64_t)calls);
}

static void a_chain_of_forks(void)
{
	start();
	chain(3, 1);
}

/* ---- initialize and clean-up in between ---- */

static void forked_without_memory(void)
{
	pid_t pid = fork();

	if (!pid) {
		work(1);
		EQUAL(descriptors(), 0);
		start();
		work(2);
		expect(2);
		pid = fork();
		if (!pid) {
			work(5);
			expect(5);
			exit(0);
		}
		CHILD_IS_WELL(pid);
		expect(2);
		exit(0);
	}
	CHILD_IS_WELL(pid);
	start();
	work(4);
	expect(4);
}

/* A program may initialize in every child, as it is told to do elsewhere. */
static void a_child_may_ask_for_memory(void)
{
	pid_t pid;

	start();
	pid = fork();
	if (!pid) {
		CHECK(funcscope_caller_initialize(4, FS_NORMAL) == 1);
		FAILS(funcscope_caller_initialize(4, FS_NORMAL), 0, EALREADY);
		EQUAL(books().numbers, 4);
		work(2);
		expect(2);
		exit(0);
	}
	CHILD_IS_WELL(pid);
	pid = fork();
	if (!pid) {
		work(2); /* it has some already */
		CHECK(funcscope_caller_initialize(16, FS_LITE) == 1);
		work(1);
		expect(3);
		FAILS(funcscope_caller_initialize(16, FS_LITE), 0, EALREADY);
		exit(0);
	}
	CHILD_IS_WELL(pid);
	pid = fork();
	if (!pid) {
		work(2);
		CHECK(funcscope_caller_initialize(5, FS_LITE) == 1); /* of another kind */
		EQUAL(books().numbers, 5);
		EQUAL(descriptors(), 1);
		work(1);
		expect(1);
		exit(0);
	}
	CHILD_IS_WELL(pid);
}

static void a_childs_clean_up_is_its_own(void)
{
	pid_t pid;

	start();
	work(1);
	for (int calls = 0; calls < 2; calls++) {
		pid = fork();
		if (!pid) {
			work(calls);
			CHECK(funcscope_caller_cleanup() == 1);
			CHECK(funcscope_caller_cleanup() == 0);
			work(1);
			EQUAL(descriptors(), 0);
			exit(0);
		}
		CHILD_IS_WELL(pid);
		CHECK(has_socket(getpid()));
		EQUAL(books().exited, 0);
		expect(1);
	}
}

/* Where a child can have no socket it does not take its parent's away. */
static void a_child_without_a_socket(void)
{
	char dir[64];
	pid_t pid;

	NEED_ROOT();
	start();
	CHECK(has_socket(getpid()));
	pid = fork();
	if (!pid) {
		CHECK(!seteuid(65534)); /* another directory, and one it may not be able to make */
		snprintf(dir, sizeof(dir), "/tmp/funcscope-65534");
		work(1);
		CHECK(!seteuid(0));
		CHECK(funcscope_caller_cleanup() == 1);
		rmdir(dir);
		exit(0);
	}
	CHILD_IS_WELL(pid);
	CHECK(has_socket(getpid()));
}

static void fork_after_a_clean_up(void)
{
	pid_t pid;

	start();
	CHECK(funcscope_caller_cleanup() == 1);
	pid = fork();
	if (!pid) {
		work(1);
		EQUAL(descriptors(), 0);
		exit(0);
	}
	CHILD_IS_WELL(pid);
}

static void sockets_go_with_their_process(void)
{
	pid_t pid;

	start();
	pid = fork();
	if (!pid) {
		work(1);
		CHECK(has_socket(getpid()));
		exit(0);
	}
	CHILD_IS_WELL(pid);
	CHECK(!has_socket_file(pid));
	CHECK(has_socket(getpid()));
}

/* ---- while other threads are busy ---- */

/* The locks of a sanitizer, or of an emulator, may be held for ever in the child of a busy process.
 */
#ifdef __SANITIZE_ADDRESS__
#define NEED_PLAIN_BUILD() SKIP("not with a sanitizer")
#else
#define NEED_PLAIN_BUILD() NEED_PROCESSOR()
#endif

enum { BUSY = 4, FORKS = 60 };
static int stop_now;
static uint64_t done[BUSY];

static void *busy(void *arg)
{
	uint64_t *n = arg;

	while (!__atomic_load_n(&stop_now, __ATOMIC_ACQUIRE)) {
		FUNCSCOPE_SCOPE("busy");
		FUNCSCOPE_ENTER(5);
		pair(5);
		FUNCSCOPE_EXIT(5);
		++*n;
	}
	return NULL;
}

static void *meet_everything(void *arg)
{
	pair((uint32_t)(uintptr_t)arg);
	return NULL;
}

/* Lanes, cells and names all the time: the lock is held more often than not. */
static void *busy_cold(void *arg)
{
	uint64_t *n = arg;
	pthread_t t;

	while (!__atomic_load_n(&stop_now, __ATOMIC_ACQUIRE)) {
		static struct funcscope_site_ site = {"cold", "cold.c", 1, FUNCSCOPE_KIND_SCOPE, 0};
		struct funcscope_site_ copy = site;

		CHECK(!pthread_create(&t, NULL, meet_everything, (void *)6));
		funcscope_ended_(funcscope_site_id_(&copy), 1);
		pthread_join(t, NULL);
		++*n;
	}
	return NULL;
}

static void in_child(void)
{
	pthread_t t;

	work(3);
	expect(3);
	EQUAL(books().unmatched, 0);
	CHECK(!pthread_create(&t, NULL, meet_everything, (void *)7));
	pthread_join(t, NULL);
	EQUAL(sums_of(7).calls, 1);
	EQUAL(sums_of(5).calls, 0);
	_exit(0);
}

static void among_busy_threads(pid_t (*by)(void))
{
	pthread_t t[BUSY];

	start();
	for (int i = 0; i < BUSY; i++)
		CHECK(!pthread_create(&t[i], NULL, i % 2 ? busy_cold : busy, &done[i]));
	for (int i = 0; i < FORKS; i++) {
		pid_t pid = by();

		if (!pid)
			in_child();
		CHILD_IS_WELL(pid);
		work(1);
	}
	__atomic_store_n(&stop_now, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < BUSY; i++)
		pthread_join(t[i], NULL);
	expect(FORKS);
	EQUAL(sums_of(5).calls, 2 * (done[0] + done[2]));
	EQUAL(sums_named("busy").calls, done[0] + done[2]);
	EQUAL(sums_of(6).calls, done[1] + done[3]);
	EQUAL(sums_named("cold").calls, done[1] + done[3]);
	EQUAL(books().unmatched, 0);
}

static void fork_among_busy_threads(void)
{
	NEED_PLAIN_BUILD();
	among_busy_threads(fork);
}

/* The raw call: what the C library knows about threads stays as it was, so the child makes none. */
static void forks_without_handlers(void)
{
	static uint64_t n[BUSY];
	pthread_t t[BUSY];

	NEED_PLAIN_BUILD();
	start();
	for (int i = 0; i < BUSY; i++)
		CHECK(!pthread_create(&t[i], NULL, i % 2 ? busy_cold : busy, &n[i]));
	for (int i = 0; i < FORKS; i++) {
		pid_t pid = _Fork();

		if (!pid) {
			funcscope_after_fork();
			work(3);
			expect(3);
			_exit(0);
		}
		CHILD_IS_WELL(pid);
		work(1);
	}
	__atomic_store_n(&stop_now, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < BUSY; i++)
		pthread_join(t[i], NULL);
	expect(FORKS);
	EQUAL(sums_of(5).calls, 2 * (n[0] + n[2]));
}

/* Every thread comes out of fork() with the signals it went in with. */
static void *fork_with_mask(void *arg)
{
	int own = (int)(intptr_t)arg;
	sigset_t mask, after;

	sigemptyset(&mask);
	sigaddset(&mask, own);
	CHECK(!pthread_sigmask(SIG_SETMASK, &mask, NULL));
	for (int i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		CHECK(!pthread_sigmask(SIG_SETMASK, NULL, &after));
		for (int s = 1; s < 32; s++)
			EQUAL(sigismember(&after, s), s == own);
		if (!pid)
			_exit(0);
		CHILD_IS_WELL(pid);
	}
	return NULL;
}

static void forks_of_several_threads_at_once(void)
{
	pthread_t t[4];

	start();
	for (intptr_t i = 0; i < 4; i++)
		CHECK(!pthread_create(&t[i], NULL, fork_with_mask, (void *)(SIGUSR1 + 4 * i % 5)));
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

/* ---- the program's own fork handlers ---- */

static void prepare(void)
{
	pair(8);
	{
		FUNCSCOPE_SCOPE("prepare");
	}
}

static void parent(void)
{
	pair(9);
	{
		FUNCSCOPE_SCOPE("parent");
	}
}

static void child(void)
{
	pair(10);
	{
		FUNCSCOPE_SCOPE("child");
	}
}

static void fork_with_handlers(uint64_t times)
{
	for (uint64_t i = 1; i <= 3; i++) {
		pid_t pid = fork();

		if (!pid) {
			EQUAL(sums_of(10).calls, times);
			EQUAL(sums_named("child").calls, times);
			EQUAL(sums_of(8).calls, 0);
			EQUAL(books().unmatched, 0);
			work(2);
			expect(2);
			exit(0);
		}
		CHILD_IS_WELL(pid);
		EQUAL(sums_of(8).calls, times * i);
		EQUAL(sums_of(9).calls, times * i);
		EQUAL(sums_of(10).calls, 0);
		EQUAL(sums_named("prepare").calls, times * i);
		EQUAL(sums_named("parent").calls, times * i);
		EQUAL(books().unmatched, 0);
	}
	work(3);
	expect(3);
}

/* Handlers registered before the library's run inside of its own, those after it outside. */
static void checkpoints_in_fork_handlers(void)
{
	CHECK(!pthread_atfork(prepare, parent, child));
	start();
	CHECK(!pthread_atfork(prepare, parent, child));
	fork_with_handlers(2);
}

/* ---- other ways to start a process ---- */

static void vfork_and_exec(void)
{
	static char *const args[] = {(char *)"true", NULL};
	pid_t pid;

	start();
	for (int i = 0; i < 20; i++) {
		FUNCSCOPE_SCOPE("work");
		pair(2);
		pid = vfork();
		if (!pid) {
			execv("/bin/true", args);
			_exit(1);
		}
		CHILD_IS_WELL(pid);
	}
	expect(20);
	CHECK(has_socket(getpid()));
}

static void posix_spawn_and_system(void)
{
	static char *const args[] = {(char *)"true", NULL};
	pid_t pid;

	start();
	work(1);
	CHECK(!posix_spawn(&pid, "/bin/true", NULL, NULL, args, NULL));
	CHILD_IS_WELL(pid);
	CHECK(!system("exit 0"));
	work(1);
	expect(2);
}

static void fork_and_exec_leaves_no_descriptors(void)
{
	pid_t pid;

	start();
	work(1);
	pid = fork();
	if (!pid) {
		work(1);
		execl("/bin/sh", "sh", "-c", "! ls -l /proc/self/fd/ | grep funcscope", NULL);
		_exit(1);
	}
	CHILD_IS_WELL(pid);
}

/* ---- a daemon that closes all descriptors ---- */

enum { OPENED = 40 };

static void close_everything(void)
{
	if (syscall(SYS_close_range, 3u, ~0u, 0u))
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
}

/* Files that now have the numbers which the library's descriptors had. */
static void open_files(int fd[OPENED])
{
	for (int i = 0; i < OPENED; i++)
		CHECK((fd[i] = open("/dev/null", O_RDONLY)) >= 0);
}

static void files_are_open(const int fd[OPENED])
{
	for (int i = 0; i < OPENED; i++)
		CHECK(fcntl(fd[i], F_GETFD) >= 0);
}

static void *meet_in_thread(void *unused)
{
	(void)unused;
	for (uint32_t i = 0; i < 16; i++)
		pair(i);
	return NULL;
}

static void descriptors_closed_by_the_program(void)
{
	int fd[OPENED];
	pthread_t t[20];
	pid_t pid;

	start();
	work(1);
	close_everything();
	open_files(fd);
	work(1);
	EQUAL(funcscope_server_poll_and_send_fd(), 0);
	for (int i = 0; i < 20; i++)
		CHECK(!pthread_create(&t[i], NULL, meet_in_thread, NULL));
	for (int i = 0; i < 20; i++)
		pthread_join(t[i], NULL);
	files_are_open(fd);
	pid = fork();
	if (!pid) {
		files_are_open(fd);
		work(2);
		expect(2);
		CHECK(funcscope_caller_cleanup() == 1);
		files_are_open(fd);
		exit(0);
	}
	CHILD_IS_WELL(pid);
	CHECK(funcscope_caller_cleanup() == 1);
	files_are_open(fd);
	start();
	work(1);
	expect(1);
	files_are_open(fd);
}

static const struct check_test tests[] = {
    TEST(a_child_has_memory_of_its_own),
    TEST(a_child_that_measures_nothing_takes_nothing),
    TEST(a_child_of_many_chunks),
    TEST(threads_of_a_child_meet_at_once),
    TEST(forked_inside),
    TEST(a_chain_of_forks),
    TEST(forked_without_memory),
    TEST(a_child_may_ask_for_memory),
    TEST(a_childs_clean_up_is_its_own),
    TEST(a_child_without_a_socket),
    TEST(fork_after_a_clean_up),
    TEST(sockets_go_with_their_process),
    TEST(fork_among_busy_threads),
    TEST(forks_without_handlers),
    TEST(forks_of_several_threads_at_once),
    TEST(checkpoints_in_fork_handlers),
    TEST(vfork_and_exec),
    TEST(posix_spawn_and_system),
    TEST(fork_and_exec_leaves_no_descriptors),
    TEST(descriptors_closed_by_the_program),
};

CHECK_MAIN(tests)
