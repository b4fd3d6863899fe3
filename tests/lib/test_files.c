/* Memory in files: what is in them after the process was killed, who may read them, and the two
 * functions that map a file for the program itself. */
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#include "reader.h"

static char directory[64];

static void make_directory(void)
{
	strcpy(directory, "/tmp/funcscope-files.XXXXXX");
	CHECK(mkdtemp(directory));
}

static void remove_directory(void)
{
	struct dirent *e;
	DIR *d = opendir(directory);

	CHECK(d);
	while ((e = readdir(d)))
		unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	CHECK(!rmdir(directory));
}

static int files_there(void)
{
	DIR *d = opendir(directory);
	struct dirent *e;
	int n = 0;

	CHECK(d);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static void pair(uint32_t idx)
{
	FUNCSCOPE_ENTER(idx);
	FUNCSCOPE_EXIT(idx);
}

static void start_in(const char *dir)
{
	struct funcscope_options o = {.numbers = 16, .level = FS_LITE, .directory = dir};

	CHECK(funcscope_caller_initialize_with(&o) == 1);
}

/* A few chunks. */
static void use_many_names(void)
{
	static struct funcscope_site_ sites[200];
	static char names[200][16];

	for (uint32_t i = 0; i < 200; i++) {
		snprintf(names[i], sizeof(names[i]), "name %u", i);
		sites[i] = (struct funcscope_site_){names[i], "", i, FUNCSCOPE_KIND_SCOPE, 0};
		funcscope_ended_(funcscope_site_id_(&sites[i]), i);
	}
}

static void read_files(struct reader *r, pid_t pid)
{
	memset(r, 0, sizeof(*r));
	for (int i = 0; i < FUNCSCOPE_CHUNKS; i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/funcscope.%d.%d", directory, (int)pid, i);
		r->fd[i] = open(path, O_RDONLY | O_CLOEXEC);
	}
	reader_map(r);
	EQUAL(r->region->pid, pid);
}

static void files_by_option(void)
{
	char path[128];
	struct stat st;

	make_directory();
	umask(0);
	start_in(directory);
	use_many_names();
	CHECK(books().chunks > 1);
	EQUAL(files_there(), books().chunks);
	for (uint32_t i = 0; i < books().chunks; i++) {
		snprintf(path, sizeof(path), "%s/funcscope.%d.%u", directory, (int)getpid(), i);
		CHECK(!lstat(path, &st));
		EQUAL(st.st_mode, S_IFREG | 0600);
		EQUAL(st.st_size, books().chunk_size[i]);
		CHECK(st.st_blocks * 512 >= st.st_size); /* reserved */
	}
	remove_directory();
}

static void a_strict_umask(void)
{
	char path[128];
	struct stat st;

	make_directory();
	umask(0777);
	start_in(directory);
	umask(022);
	snprintf(path, sizeof(path), "%s/funcscope.%d.0", directory, (int)getpid());
	CHECK(!lstat(path, &st));
	EQUAL(st.st_mode & 07777, 0600);
	remove_directory();
}

static void files_by_environment(void)
{
	make_directory();
	CHECK(!setenv("FUNCSCOPE_DIRECTORY", directory, 1));
	CHECK(funcscope_caller_initialize(16, FS_LITE) == 1);
	pair(1);
	EQUAL(files_there(), 1);
	EQUAL(sums_of(1).calls, 1);
	remove_directory();
}

static void an_empty_environment_variable_is_none(void)
{
	struct reader r;
	char link[64], path[64];

	CHECK(!setenv("FUNCSCOPE_DIRECTORY", "", 1));
	CHECK(funcscope_caller_initialize(16, FS_LITE) == 1);
	CHECK(reader_find(&r, getpid()) == 1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", r.fd[0]);
	CHECK(readlink(path, link, sizeof(link)) > 7 && !strncmp(link, "/memfd:", 7));
}

static void environments_that_are_no_directory(void)
{
	static char endless[10000];

	memset(endless, 'x', sizeof(endless) - 1);
	CHECK(!setenv("FUNCSCOPE_DIRECTORY", "/nonexistent", 1));
	FAILS(funcscope_caller_initialize(16, FS_LITE), 0, ENOENT);
	CHECK(!setenv("FUNCSCOPE_DIRECTORY", endless, 1));
	FAILS(funcscope_caller_initialize(16, FS_LITE), 0, ENAMETOOLONG);
	CHECK(!setenv("FUNCSCOPE_DIRECTORY", "/dev/null", 1));
	FAILS(funcscope_caller_initialize(16, FS_LITE), 0, ENOTDIR);
}

/* The program goes elsewhere; later chunks do not. */
static void a_relative_directory(void)
{
	make_directory();
	CHECK(!chdir(directory));
	start_in(".");
	CHECK(!chdir("/"));
	use_many_names();
	CHECK(books().chunks > 1);
	EQUAL(files_there(), books().chunks);
	EQUAL(books().lost_calls, 0);
	remove_directory();
}

/* The end comes without a warning; every call that was made is in the files. */
static void dies_by(int sig)
{
	int status;
	struct reader r;
	pid_t pid;

	make_directory();
	pid = fork();
	if (!pid) {
		prctl(PR_SET_DUMPABLE, 0); /* no core file */
		start_in(directory);
		for (int i = 0; i < 1000; i++)
			pair(3);
		use_many_names();
		FUNCSCOPE_ENTER(4);
		if (sig == SIGABRT)
			abort();
		raise(sig);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	EQUAL(WTERMSIG(status), sig);
	read_files(&r, pid);
	EQUAL(r.region->exited, 0);
	EQUAL(reader_sums(&r, 3).calls, 1000);
	EQUAL(reader_sums(&r, 4).calls, 0);
	for (uint32_t i = 0; i < 200; i++) {
		char name[16];

		snprintf(name, sizeof(name), "name %u", i);
		EQUAL(reader_sums(&r, reader_find_name(&r, name, 0)).total, i);
	}
	remove_directory();
}

static void a_kill_leaves_everything(void)
{
	dies_by(SIGKILL);
}

static void an_abort_leaves_everything(void)
{
	dies_by(SIGABRT);
}

static void a_clean_up_leaves_the_files(void)
{
	struct reader r;

	make_directory();
	start_in(directory);
	pair(3);
	CHECK(funcscope_caller_cleanup() == 1);
	pair(3);
	read_files(&r, getpid());
	EQUAL(r.region->exited, 1);
	EQUAL(reader_sums(&r, 3).calls, 1);
	remove_directory();
}

static void a_child_has_files_of_its_own(void)
{
	struct reader r;
	pid_t pid;

	make_directory();
	start_in(directory);
	pair(3);
	pid = fork();
	if (!pid) {
		pair(3);
		pair(3);
		_exit(0);
	}
	CHILD_IS_WELL(pid);
	read_files(&r, pid);
	EQUAL(reader_sums(&r, 3).calls, 2);
	reader_close(&r);
	EQUAL(sums_of(3).calls, 1);
	remove_directory();
}

/* Somebody's link must not be followed. */
static void a_link_is_in_the_way(void)
{
	char path[128], victim[128];
	struct stat st;

	make_directory();
	snprintf(victim, sizeof(victim), "%s/victim", directory);
	snprintf(path, sizeof(path), "%s/funcscope.%d.0", directory, (int)getpid());
	close(open(victim, O_CREAT | O_WRONLY, 0600));
	CHECK(!symlink(victim, path));
	start_in(directory);
	CHECK(!lstat(path, &st) && S_ISREG(st.st_mode));
	CHECK(!lstat(victim, &st) && !st.st_size);
	remove_directory();
}

/* ---- files for the program itself ---- */

/* How much is mapped at p, from what /proc says. */
static size_t mapped_at(const void *p)
{
	unsigned long from, to, found = 0;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && from == (unsigned long)(uintptr_t)p)
			found = to - from;
	fclose(f);
	return found;
}

static void a_file_of_4k_pages(void)
{
	static const size_t sizes[][2] = {{0, 4096}, {1, 4096}, {4096, 4096}, {4097, 8192}};

	make_directory();
	for (size_t i = 0; i < 4; i++) {
		char *p = funcscope_file_mmap_4K(directory, sizes[i][0]);

		CHECK(p);
		EQUAL(files_there(), 0); /* it has no name */
		for (size_t at = 0; at < sizes[i][1]; at++)
			EQUAL(p[at], 0);
		memset(p, 1, sizes[i][1]);
		EQUAL(mapped_at(p), sizes[i][1]);
		CHECK(!munmap(p, sizes[i][1]));
	}
	remove_directory();
}

static void files_that_cannot_be(void)
{
	FAILS(funcscope_file_mmap_4K(NULL, 1), NULL, EINVAL);
	FAILS(funcscope_file_mmap_4K("/nonexistent", 1), NULL, ENOENT);
	FAILS(funcscope_file_mmap_4K("/tmp", SIZE_MAX), NULL, ENOMEM);
	FAILS(funcscope_file_mmap_4K("/tmp", SIZE_MAX - 4095), NULL, ENOMEM);
	FAILS(funcscope_hugepage_mmap(NULL, 1), NULL, EINVAL);
	FAILS(funcscope_hugepage_mmap("/nonexistent", 1), NULL, ENOENT);
	FAILS(funcscope_hugepage_mmap("/tmp", 1), NULL, ENODEV);
}

static int hugepages(int n)
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

static void map_hugepages(void)
{
	char *p;

	CHECK((p = funcscope_hugepage_mmap("/mnt", 1)));
	memset(p, 1, 2 << 20);
	EQUAL(mapped_at(p), 2 << 20);
	CHECK(!munmap(p, 2 << 20));
	CHECK((p = funcscope_hugepage_mmap("/mnt", (2 << 20) + 1)));
	memset(p, 1, 4 << 20);
	EQUAL(mapped_at(p), 4 << 20);
	CHECK(!funcscope_hugepage_mmap("/mnt", 16 << 20)); /* more than there are */
	CHECK(errno == ENOSPC || errno == ENOMEM);
	exit(0);
}

static void a_file_of_huge_pages(void)
{
	int status = 0;
	pid_t pid;

	NEED_ROOT();
	NEED_PROCESSOR();
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("huge", "/mnt", "hugetlbfs", 0, "pagesize=2M"))
		SKIP("no hugetlbfs here: %s", strerror(errno));
	if (hugepages(-1) != 0 || hugepages(3) != 3) {
		if (hugepages(-1) < 3)
			hugepages(0);
		SKIP("no huge pages to be had");
	}
	pid = fork();
	if (!pid)
		map_hugepages();
	waitpid(pid, &status, 0);
	hugepages(0);
	EQUAL(status, 0);
}

static const struct check_test tests[] = {
    TEST(files_by_option),
    TEST(a_strict_umask),
    TEST(files_by_environment),
    TEST(an_empty_environment_variable_is_none),
    TEST(environments_that_are_no_directory),
    TEST(a_relative_directory),
    TEST(a_kill_leaves_everything),
    TEST(an_abort_leaves_everything),
    TEST(a_clean_up_leaves_the_files),
    TEST(a_child_has_files_of_its_own),
    TEST(a_link_is_in_the_way),
    TEST(a_file_of_4k_pages),
    TEST(files_that_cannot_be),
    TEST(a_file_of_huge_pages),
};

CHECK_MAIN(tests)
