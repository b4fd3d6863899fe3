/* The socket: who gets the descriptors and who does not, and that nobody can make the program wait.
 * Where the tests change what is in /tmp they have one of their own. */
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "reader.h"

enum { NOBODY = 65534, SOMEBODY = 1, OTHER = 1001 };

static void start(void)
{
	CHECK(funcscope_caller_initialize(16, FS_LITE) == 1);
}

static void pair(uint32_t idx)
{
	FUNCSCOPE_ENTER(idx);
	FUNCSCOPE_EXIT(idx);
}

/* A /tmp that nobody else sees. */
static void own_tmp(void)
{
	NEED_ROOT();
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("own", "/tmp", "tmpfs", 0, "mode=1777"))
		SKIP("no mount namespace here: %s", strerror(errno));
}

static void become(uid_t uid)
{
	CHECK(!setresgid(uid, uid, uid));
	CHECK(!setresuid(uid, uid, uid));
}

static void directory_of(char *path, size_t size, uid_t uid)
{
	snprintf(path, size, "/tmp/funcscope-%u", (unsigned)uid);
}

static struct sockaddr_un address_of(uid_t uid, pid_t pid)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	snprintf(to.sun_path, sizeof(to.sun_path), "/tmp/funcscope-%u/%d.sock", (unsigned)uid,
		 (int)pid);
	return to;
}

static int connect_to(uid_t uid, pid_t pid)
{
	struct sockaddr_un to = address_of(uid, pid);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	if (!connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return fd;
	close(fd);
	return -1;
}

static int connect_here(void)
{
	int fd = connect_to(geteuid(), getpid());

	CHECK(fd >= 0);
	return fd;
}

/* What a tool receives; how many descriptors came. */
static int receive(int from, struct reader *r)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(FUNCSCOPE_CHUNKS * sizeof(int))];
	} control;
	struct funcscope_hello hello;
	struct iovec iov = {&hello, sizeof(hello)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.room,
			     .msg_controllen = sizeof(control.room)};
	size_t n;

	memset(r, 0, sizeof(*r));
	for (int i = 0; i < FUNCSCOPE_CHUNKS; i++)
		r->fd[i] = -1;
	if (recvmsg(from, &msg, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(hello))
		return 0;
	EQUAL(hello.magic, FUNCSCOPE_MAGIC);
	EQUAL(hello.layout, FUNCSCOPE_LAYOUT);
	CHECK(CMSG_FIRSTHDR(&msg) && CMSG_FIRSTHDR(&msg)->cmsg_type == SCM_RIGHTS);
	n = (CMSG_FIRSTHDR(&msg)->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	EQUAL(hello.chunks, n);
	memcpy(r->fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), n * sizeof(int));
	reader_map(r);
	EQUAL(r->region->pid, hello.pid);
	return (int)n;
}

/* ---- who is served ---- */

static void nobody_is_there(void)
{
	EQUAL(funcscope_server_poll_and_send_fd(), 0); /* nor any memory */
	start();
	for (int i = 0; i < 100; i++)
		EQUAL(funcscope_server_poll_and_send_fd(), 0);
	CHECK(funcscope_caller_cleanup() == 1);
	EQUAL(funcscope_server_poll_and_send_fd(), 0);
}

static void a_client_gets_everything(void)
{
	static struct funcscope_site_ sites[300];
	static char names[300][16];
	struct reader r;
	int fd;

	start();
	for (uint32_t i = 0; i < 300; i++) { /* several chunks */
		snprintf(names[i], sizeof(names[i]), "name %u", i);
		sites[i] = (struct funcscope_site_){names[i], "", i, FUNCSCOPE_KIND_SCOPE, 0};
		funcscope_ended_(funcscope_site_id_(&sites[i]), 1);
	}
	fd = connect_here();
	EQUAL(funcscope_server_poll_and_send_fd(), 1);
	EQUAL(funcscope_server_poll_and_send_fd(), 0);
	CHECK(receive(fd, &r) > 2);
	EQUAL(r.region->pid, getpid());
	EQUAL(reader_sums(&r, reader_find_name(&r, "name 299", 0)).calls, 1);
	for (uint32_t i = 0; i < r.region->chunks; i++) {
		EQUAL(fcntl(r.fd[i], F_GETFL) & O_ACCMODE, O_RDONLY);
		FAILS(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, r.fd[i], 0), MAP_FAILED,
		      EACCES);
	}
}

/* 0: has read the memory; 1: may not; by the socket. */
static int ask_socket(uid_t target, pid_t pid)
{
	int fd = connect_to(target, pid);
	struct reader r;

	if (fd < 0)
		return 1;
	if (!receive(fd, &r))
		return 1;
	return reader_sums(&r, 1).calls == 1 ? 0 : 2;
}

/* Likewise by /proc. */
static int ask_proc(uid_t target, pid_t pid)
{
	int readable = 0;
	char path[64];

	(void)target;
	for (int fd = 0; fd < 256; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
		readable += open(path, O_RDONLY) >= 0;
	}
	return readable ? 0 : 1;
}

/* What a client of one user gets to know of a target of another, by `ask`, when the target does
 * nothing. */
static int asked(uid_t target, uid_t client, int (*ask)(uid_t target, pid_t pid))
{
	int up[2], down[2], status = 0;
	pid_t pid, asking;
	char c = 0;

	CHECK(!pipe(up) && !pipe(down));
	pid = fork();
	if (!pid) {
		become(target);
		start();
		pair(1);
		CHECK(write(up[1], "x", 1) == 1);
		CHECK(read(down[0], &c, 1) == 1);
		exit(0);
	}
	CHECK(read(up[0], &c, 1) == 1);
	asking = fork();
	if (!asking) {
		become(client);
		_exit(ask(target, pid));
	}
	CHECK(waitpid(asking, &status, 0) == asking && WIFEXITED(status));
	CHECK(write(down[1], "x", 1) == 1);
	CHILD_IS_WELL(pid);
	return WEXITSTATUS(status);
}

static void another_user_cannot_read_proc(void)
{
	own_tmp();
	EQUAL(asked(SOMEBODY, NOBODY, ask_proc), 1);
	EQUAL(asked(SOMEBODY, OTHER, ask_proc), 1);
	EQUAL(asked(SOMEBODY, 0, ask_proc), 0);
}

static void another_user_cannot_reach_the_socket(void)
{
	own_tmp();
	EQUAL(asked(SOMEBODY, NOBODY, ask_socket), 1);
	EQUAL(asked(SOMEBODY, OTHER, ask_socket), 1);
}

/* The client waits for the answer, so the target is asked to look until there is a client. */
static void serve_one_client(uid_t target, uid_t client, int wanted, int answer)
{
	int up[2], down[2];
	pid_t pid, asking;
	char c = 0;

	CHECK(!pipe(up) && !pipe(down));
	pid = fork();
	if (!pid) {
		char dir[64];
		int result;

		become(target);
		start();
		pair(1);
		directory_of(dir, sizeof(dir), target);
		CHECK(!chmod(dir, 0711)); /* as if it were careless */
		CHECK(!chmod(address_of(target, getpid()).sun_path, 0777));
		CHECK(write(up[1], "x", 1) == 1);
		while (!(result = funcscope_server_poll_and_send_fd()))
			sched_yield();
		if (result < 0)
			EQUAL(errno, EPERM);
		EQUAL((unsigned)result, (unsigned)wanted);
		CHECK(read(down[0], &c, 1) == 1);
		exit(0);
	}
	CHECK(read(up[0], &c, 1) == 1);
	asking = fork();
	if (!asking) {
		become(client);
		_exit(ask_socket(target, pid) != answer);
	}
	CHILD_IS_WELL(asking);
	CHECK(write(down[1], "x", 1) == 1);
	CHILD_IS_WELL(pid);
}

static void the_same_user_is_served(void)
{
	own_tmp();
	serve_one_client(SOMEBODY, SOMEBODY, 1, 0);
}

static void root_is_served(void)
{
	own_tmp();
	serve_one_client(SOMEBODY, 0, 1, 0);
}

static void another_user_is_refused(void)
{
	own_tmp();
	serve_one_client(SOMEBODY, NOBODY, -1, 1);
	serve_one_client(0, NOBODY, -1, 1);
}

/* ---- clients that do nothing, or too much ---- */

static void a_client_that_does_nothing(void)
{
	int fd;

	start();
	fd = connect_here();
	EQUAL(funcscope_server_poll_and_send_fd(), 1);
	for (int i = 0; i < 10; i++)
		EQUAL(funcscope_server_poll_and_send_fd(), 0);
	close(fd);
}

static void a_client_that_leaves_at_once(void)
{
	struct reader r;
	int fd, rc;

	start();
	for (int i = 0; i < 5; i++) {
		close(connect_here());
		rc = funcscope_server_poll_and_send_fd();
		CHECK(rc == -1 || rc == 1); /* and no SIGPIPE */
	}
	fd = connect_here();
	EQUAL(funcscope_server_poll_and_send_fd(), 1);
	CHECK(receive(fd, &r) == 1);
}

static void many_clients(void)
{
	int fd[50], connected = 0;
	struct sockaddr_un to;
	struct reader r;

	start();
	to = address_of(geteuid(), getpid());
	for (int i = 0; i < 50; i++) { /* more than the queue takes */
		fd[connected] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		CHECK(fd[connected] >= 0);
		if (connect(fd[connected], (struct sockaddr *)&to, sizeof(to))) {
			EQUAL(errno, EAGAIN);
			close(fd[connected]);
			EQUAL(funcscope_server_poll_and_send_fd(), 1);
			i--;
		} else {
			connected++;
		}
	}
	while (funcscope_server_poll_and_send_fd() == 1)
		;
	for (int i = 0; i < 50; i++) {
		EQUAL(receive(fd[i], &r), 1);
		reader_close(&r);
	}
}

static void a_client_that_talks(void)
{
	static char much[100000];
	struct reader r;
	int fd;

	start();
	fd = connect_here();
	CHECK(send(fd, much, sizeof(much), MSG_DONTWAIT | MSG_NOSIGNAL) > 0);
	EQUAL(funcscope_server_poll_and_send_fd(), 1);
	CHECK(receive(fd, &r) == 1);
}

/* ---- the directory ---- */

static void works_without_a_socket(void)
{
	struct funcscope_options o = {.numbers = 1, .level = FS_LITE};

	start();
	pair(1);
	EQUAL(sums_of(1).calls, 1);
	EQUAL(funcscope_server_poll_and_send_fd(), 0);
	EQUAL(connect_to(0, getpid()), -1);
	CHECK(funcscope_caller_cleanup() == 1);
	CHECK(funcscope_caller_initialize_with(&o) == 1);
}

static void a_directory_of_somebody_else(void)
{
	own_tmp();
	CHECK(!mkdir("/tmp/funcscope-0", 0700));
	CHECK(!chown("/tmp/funcscope-0", SOMEBODY, SOMEBODY));
	works_without_a_socket();
}

static void a_directory_that_is_a_link(void)
{
	own_tmp();
	CHECK(!mkdir("/tmp/elsewhere", 0700));
	CHECK(!symlink("/tmp/elsewhere", "/tmp/funcscope-0"));
	works_without_a_socket();
	CHECK(!rmdir("/tmp/elsewhere")); /* nothing was made there */
}

static void a_directory_open_to_all(void)
{
	own_tmp();
	CHECK(!mkdir("/tmp/funcscope-0", 0777) && !chmod("/tmp/funcscope-0", 0777));
	works_without_a_socket();
	CHECK(!rmdir("/tmp/funcscope-0"));
}

static void a_directory_that_is_a_file(void)
{
	int fd;

	own_tmp();
	fd = open("/tmp/funcscope-0", O_CREAT | O_WRONLY, 0600);
	CHECK(fd >= 0);
	works_without_a_socket();
}

static void a_directory_is_made(void)
{
	struct stat st;

	own_tmp();
	umask(0);
	start();
	CHECK(!lstat("/tmp/funcscope-0", &st));
	EQUAL(st.st_mode & 07777, 0700);
	CHECK(connect_to(0, getpid()) >= 0);
}

/* An old socket of a process that had our number is in the way; a file likewise. */
static void an_old_socket_is_in_the_way(void)
{
	struct sockaddr_un at = address_of(0, getpid());
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	own_tmp();
	CHECK(!mkdir("/tmp/funcscope-0", 0700));
	CHECK(!bind(fd, (struct sockaddr *)&at, sizeof(at)));
	start();
	CHECK(connect_to(0, getpid()) >= 0);
	EQUAL(funcscope_server_poll_and_send_fd(), 1);
}

static void the_socket_is_gone_after_the_clean_up(void)
{
	struct sockaddr_un at = address_of(geteuid(), getpid());

	start();
	CHECK(!access(at.sun_path, F_OK));
	CHECK(funcscope_caller_cleanup() == 1);
	FAILS(access(at.sun_path, F_OK), -1, ENOENT);
	EQUAL(connect_to(geteuid(), getpid()), -1);
}

static const struct check_test tests[] = {
    TEST(nobody_is_there),
    TEST(a_client_gets_everything),
    TEST(the_same_user_is_served),
    TEST(root_is_served),
    TEST(another_user_is_refused),
    TEST(another_user_cannot_reach_the_socket),
    TEST(another_user_cannot_read_proc),
    TEST(a_client_that_does_nothing),
    TEST(a_client_that_leaves_at_once),
    TEST(many_clients),
    TEST(a_client_that_talks),
    TEST(a_directory_of_somebody_else),
    TEST(a_directory_that_is_a_link),
    TEST(a_directory_open_to_all),
    TEST(a_directory_that_is_a_file),
    TEST(a_directory_is_made),
    TEST(an_old_socket_is_in_the_way),
    TEST(the_socket_is_gone_after_the_clean_up),
};

CHECK_MAIN(tests)
