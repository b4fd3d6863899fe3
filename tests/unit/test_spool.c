/* src/web/spool.h: order, limits, what is dropped, what outlives the process, and what a directory
 * must be like. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "web/spool.h"

enum { MIB = 1 << 20, BLOCK = 4096 };

static int make_directory(void **state)
{
	char *dir = strdup("/tmp/test_spool.XXXXXX");

	*state = dir;
	return dir && mkdtemp(dir) ? 0 : -1;
}

static int remove_directory(void **state)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", (char *)*state);
	free(*state);
	return system(command);
}

static struct fsc_spool *open_spool(const char *dir, size_t memory, uint64_t disk)
{
	struct fsc_spool_opts o = {.name = "t", .memory = memory, .directory = dir, .disk = disk};
	struct fsc_spool *s = NULL;
	struct fsc_err err = {0};

	if (fsc_spool_new(&o, &s, &err))
		fail_msg("%s", err.msg);
	return s;
}

static int put(struct fsc_spool *s, const char *text)
{
	return fsc_spool_put(s, "/v1/x", "text/plain", text, strlen(text), NULL);
}

/* A message of n bytes that begin with the number. */
static int put_large(struct fsc_spool *s, int number, size_t n)
{
	char *body = malloc(n);
	int rc;

	memset(body, '.', n);
	snprintf(body, n, "%d", number);
	rc = fsc_spool_put(s, "/v1/x", "text/plain", body, n, NULL);
	free(body);
	return rc;
}

/* The next message's text, gone with that; "" if there is none. */
static const char *next(struct fsc_spool *s)
{
	static char text[100];
	struct fsc_spool_msg m;

	text[0] = '\0';
	if (fsc_spool_take(s, &m, NULL) == 1) {
		assert_string_equal(m.path, "/v1/x");
		assert_string_equal(m.type, "text/plain");
		snprintf(text, sizeof(text), "%.*s", (int)(m.n < 99 ? m.n : 99),
			 (const char *)m.body);
		fsc_spool_done(s, &m, true);
	}
	return text;
}

static struct fsc_spool_counts counts_of(struct fsc_spool *s)
{
	struct fsc_spool_counts c;

	fsc_spool_counts(s, &c);
	assert_int_equal(c.put + c.taken_over, c.gone + c.dropped + c.queued);
	return c;
}

static int files_in(const char *dir, const char *ending)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0;

	assert_non_null(d);
	while ((e = readdir(d))) {
		size_t len = strlen(e->d_name);

		n += len > 4 && !strcmp(e->d_name + len - 4, ending);
	}
	closedir(d);
	return n;
}

static void first_in_first_out(void **state)
{
	struct fsc_spool *s = open_spool(NULL, MIB, 0);

	(void)state;
	assert_false(fsc_spool_ready(s));
	assert_string_equal(next(s), "");
	put(s, "a");
	put(s, "bb");
	put(s, "");
	put(s, "c");
	assert_true(fsc_spool_ready(s));
	assert_int_equal(counts_of(s).queued, 4);
	assert_int_equal(counts_of(s).queued_bytes, 4);
	assert_string_equal(next(s), "a");
	assert_string_equal(next(s), "bb");
	assert_string_equal(next(s), "");
	assert_string_equal(next(s), "c");
	assert_int_equal(counts_of(s).gone, 4);
	fsc_spool_free(s);
}

static void what_was_not_sent_comes_again(void **state)
{
	struct fsc_spool *s = open_spool(NULL, MIB, 0);
	struct fsc_spool_msg m;

	(void)state;
	put(s, "a");
	put(s, "b");
	assert_int_equal(fsc_spool_take(s, &m, NULL), 1);
	fsc_spool_done(s, &m, false);
	assert_string_equal(next(s), "a");
	assert_string_equal(next(s), "b");
	fsc_spool_free(s);
}

static void the_oldest_make_room(void **state)
{
	struct fsc_spool *s = open_spool(NULL, 4 * BLOCK, 0);

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_int_equal(put_large(s, i, BLOCK), 0);
	assert_int_equal(counts_of(s).queued, 3); /* there is a little more to each than its body */
	assert_int_equal(counts_of(s).dropped, 7);
	assert_int_equal(atoi(next(s)), 7);
	assert_int_equal(atoi(next(s)), 8);
	assert_int_equal(atoi(next(s)), 9);
	fsc_spool_free(s);
}

static void too_large_for_everything(void **state)
{
	struct fsc_spool *s = open_spool(*state, 2 * BLOCK, 8 * BLOCK);
	struct fsc_err err = {0};

	put(s, "a");
	assert_int_equal(put_large(s, 1, 8 * BLOCK), -ENOSPC);
	assert_int_equal(fsc_spool_put(s, "/", "", "", (size_t)1 << 40, &err), -ENOSPC);
	assert_non_null(strstr(err.msg, "no room for a message of 1099511627776 bytes"));
	assert_int_equal(counts_of(s).dropped, 2);
	assert_string_equal(next(s), "a"); /* it did not have to go for that */
	fsc_spool_free(s);
}

/* What is being sent cannot be dropped: the one behind it is. */
static void what_is_lent_stays(void **state)
{
	struct fsc_spool *s = open_spool(NULL, 4 * BLOCK, 0);
	struct fsc_spool_msg m;

	(void)state;
	for (int i = 0; i < 3; i++)
		put_large(s, i, BLOCK);
	assert_int_equal(fsc_spool_take(s, &m, NULL), 1);
	put_large(s, 3, BLOCK);
	assert_int_equal(atoi(m.body), 0);
	fsc_spool_done(s, &m, true);
	assert_int_equal(atoi(next(s)), 2);
	assert_int_equal(atoi(next(s)), 3);
	assert_int_equal(counts_of(s).dropped, 1);
	fsc_spool_free(s);
}

static void beyond_memory_is_the_disk(void **state)
{
	struct fsc_spool *s = open_spool(*state, 3 * BLOCK, 100 * BLOCK);

	for (int i = 0; i < 20; i++)
		assert_int_equal(put_large(s, i, BLOCK), 0);
	assert_int_equal(counts_of(s).queued, 20);
	assert_int_equal(files_in(*state, ".msg"), 18);
	for (int i = 0; i < 10; i++)
		assert_int_equal(atoi(next(s)), i);
	for (int i = 20; i < 30; i++)
		assert_int_equal(put_large(s, i, BLOCK), 0);
	for (int i = 10; i < 30; i++)
		assert_int_equal(atoi(next(s)), i);
	assert_int_equal(counts_of(s).dropped, 0);
	assert_int_equal(files_in(*state, ".msg"), 0);
	fsc_spool_free(s);
}

static void the_disk_has_an_end_too(void **state)
{
	struct fsc_spool *s = open_spool(*state, 3 * BLOCK, 10 * BLOCK);

	/* Two in memory, five of two blocks each on disk. */
	for (int i = 0; i < 50; i++)
		assert_int_equal(put_large(s, i, BLOCK), 0);
	assert_int_equal(counts_of(s).queued, 7);
	assert_int_equal(files_in(*state, ".msg"), 5);
	for (int i = 43; i < 50; i++)
		assert_int_equal(atoi(next(s)), i);
	fsc_spool_free(s);
}

static void other_limits_drop_only_what_has_no_room(void **state)
{
	struct fsc_spool *s = open_spool(*state, 100 * BLOCK, 100 * BLOCK);

	for (int i = 0; i < 20; i++)
		assert_int_equal(put_large(s, i, BLOCK), 0);
	assert_int_equal(files_in(*state, ".msg"), 0);
	fsc_spool_limit(s, 3 * BLOCK, 100 * BLOCK); /* the oldest go to disk */
	assert_int_equal(counts_of(s).dropped, 0);
	assert_int_equal(files_in(*state, ".msg"), 18);
	fsc_spool_limit(s, 3 * BLOCK, 10 * BLOCK);
	assert_int_equal(counts_of(s).dropped, 13);
	assert_int_equal(files_in(*state, ".msg"), 5);
	for (int i = 13; i < 20; i++)
		assert_int_equal(atoi(next(s)), i);
	fsc_spool_free(s);
}

static void the_next_run_takes_over(void **state)
{
	struct fsc_spool *s = open_spool(*state, 3 * BLOCK, 100 * BLOCK);

	for (int i = 0; i < 10; i++)
		put_large(s, i, BLOCK);
	fsc_spool_close(s);
	assert_false(fsc_spool_ready(s));
	assert_int_equal(put(s, "too late"), -ENOSPC);
	assert_int_equal(counts_of(s).queued, 10);
	fsc_spool_free(s);
	s = open_spool(*state, 3 * BLOCK, 100 * BLOCK);
	assert_int_equal(counts_of(s).taken_over, 10);
	put(s, "10");
	for (int i = 0; i <= 10; i++)
		assert_int_equal(atoi(next(s)), i);
	fsc_spool_free(s);
	s = open_spool(*state, 3 * BLOCK, 100 * BLOCK);
	assert_int_equal(counts_of(s).taken_over, 0);
	fsc_spool_free(s);
}

/* As if it had been killed: memory is lost, files are not. */
static void a_death_loses_memory_only(void **state)
{
	struct fsc_spool *s = open_spool(*state, 3 * BLOCK, 100 * BLOCK);

	for (int i = 0; i < 10; i++)
		put_large(s, i, BLOCK);
	fsc_spool_free(s);
	s = open_spool(*state, 0, 6 * BLOCK);
	assert_int_equal(counts_of(s).taken_over, 8);
	assert_int_equal(counts_of(s).dropped, 5); /* there is less room than there was */
	for (int i = 7; i < 10; i++)
		assert_int_equal(atoi(next(s)), i);
	fsc_spool_free(s);
}

static void closing_without_a_disk_drops(void **state)
{
	struct fsc_spool *s = open_spool(NULL, MIB, 0);

	(void)state;
	put(s, "a");
	put(s, "b");
	fsc_spool_close(s);
	assert_int_equal(counts_of(s).dropped, 2);
	assert_int_equal(counts_of(s).queued, 0);
	fsc_spool_free(s);
}

static void when_closing_the_newest_are_kept(void **state)
{
	struct fsc_spool *s = open_spool(*state, MIB, 3 * BLOCK);

	for (int i = 0; i < 5; i++)
		put_large(s, i, 100);
	fsc_spool_close(s);
	assert_int_equal(counts_of(s).dropped, 2);
	fsc_spool_free(s);
	s = open_spool(*state, MIB, 3 * BLOCK);
	for (int i = 2; i < 5; i++)
		assert_int_equal(atoi(next(s)), i);
	fsc_spool_free(s);
}

/* ---- what others did to the files ---- */

static void path_in(const char *dir, const char *name, char *path)
{
	snprintf(path, 200, "%s/%s", dir, name);
}

static void write_file(const char *dir, const char *name, const char *bytes, size_t n)
{
	char path[200];
	FILE *f;

	path_in(dir, name, path);
	f = fopen(path, "w");
	assert_non_null(f);
	fwrite(bytes, 1, n, f);
	fclose(f);
}

static void change_byte(const char *dir, const char *name, long at)
{
	char path[200];
	FILE *f;

	path_in(dir, name, path);
	f = fopen(path, "r+");
	assert_non_null(f);
	fseek(f, at, SEEK_SET);
	fputc('!', f);
	fclose(f);
}

#define FILE_NAME(n) "t-000000000000000" n ".msg"

static void damaged_files_are_counted_and_removed(void **state)
{
	struct fsc_spool *s = open_spool(*state, 0, 100 * BLOCK);
	char path[200];

	for (int i = 1; i <= 8; i++)
		put_large(s, i, 100);
	fsc_spool_free(s);
	path_in(*state, FILE_NAME("2"), path);
	assert_int_equal(truncate(path, 60), 0);
	path_in(*state, FILE_NAME("3"), path);
	assert_int_equal(truncate(path, 0), 0);
	change_byte(*state, FILE_NAME("4"), 3);	  /* the magic */
	change_byte(*state, FILE_NAME("5"), 100); /* the body: seen when it is read */
	change_byte(*state, FILE_NAME("6"), 12);  /* the length of the path */
	change_byte(*state, FILE_NAME("7"), 29);  /* the length of the body */
	write_file(*state, "t-0000000000000009.tmp", "half", 4);
	write_file(*state, "other-0000000000000001.msg", "not ours", 8);
	write_file(*state, "t-1.msg", "not ours", 8);
	s = open_spool(*state, 0, 100 * BLOCK);
	assert_int_equal(counts_of(s).taken_over, 9);
	assert_int_equal(counts_of(s).dropped, 6);
	assert_int_equal(counts_of(s).queued, 3);
	assert_int_equal(atoi(next(s)), 1);
	assert_int_equal(atoi(next(s)), 8);
	assert_string_equal(next(s), "");
	assert_int_equal(counts_of(s).dropped, 7);
	assert_int_equal(files_in(*state, ".msg"), 2);
	assert_int_equal(files_in(*state, ".tmp"), 0);
	fsc_spool_free(s);
}

static void a_file_that_vanished_is_counted(void **state)
{
	struct fsc_spool *s = open_spool(*state, 0, 100 * BLOCK);
	char path[200];

	put(s, "a");
	put(s, "b");
	path_in(*state, FILE_NAME("1"), path);
	assert_int_equal(unlink(path), 0);
	assert_string_equal(next(s), "b");
	assert_int_equal(counts_of(s).dropped, 1);
	fsc_spool_free(s);
}

/* Links, pipes and the like under the names of messages do not lead anywhere. */
static void what_is_no_file_is_removed(void **state)
{
	struct fsc_spool *s;
	char path[200];

	path_in(*state, FILE_NAME("1"), path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	path_in(*state, FILE_NAME("2"), path);
	assert_int_equal(mkfifo(path, 0600), 0);
	s = open_spool(*state, 0, 100 * BLOCK);
	assert_int_equal(counts_of(s).dropped, 2);
	assert_int_equal(files_in(*state, ".msg"), 0);
	/* One that waits where a message is to be written is not written through. */
	path_in(*state, "t-0000000000000001.tmp", path);
	assert_int_equal(symlink("victim", path), 0);
	assert_true(put(s, "a") < 0);
	path_in(*state, "victim", path);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(put(s, "b"), 0);
	assert_string_equal(next(s), "b");
	fsc_spool_free(s);
}

static void files_are_private(void **state)
{
	struct fsc_spool *s = open_spool(*state, 0, 100 * BLOCK);
	struct stat st;
	char path[200];

	put(s, "a");
	path_in(*state, FILE_NAME("1"), path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	fsc_spool_free(s);
}

/* ---- the directory ---- */

static void assert_refused(const char *dir, const char *why)
{
	struct fsc_spool_opts o = {.name = "t", .memory = 1, .directory = dir, .disk = MIB};
	struct fsc_spool *s = NULL;
	struct fsc_err err = {0};

	assert_true(fsc_spool_new(&o, &s, &err) < 0);
	assert_null(s);
	if (!strstr(err.msg, why))
		fail_msg("expected '%s' in '%s'", why, err.msg);
}

static void a_directory_must_be_ours_alone(void **state)
{
	struct fsc_spool *s;
	char link[100];

	assert_refused("/nonexistent/spool", "No such file or directory");
	assert_refused("/etc/passwd", "Not a directory");
	snprintf(link, sizeof(link), "%s.link", (char *)*state);
	assert_int_equal(symlink(*state, link), 0);
	assert_refused(link, "cannot open spool directory");
	unlink(link);
	chmod(*state, 0777);
	assert_refused(*state, "can be written by other users");
	chmod(*state, 0700);
	s = open_spool(*state, 1, MIB);
	assert_refused(*state, "in use by another process");
	fsc_spool_free(s);
	if (geteuid()) {
		assert_refused("/", "belongs to another user");
		return;
	}
	assert_int_equal(chown(*state, 65534, 65534), 0);
	assert_refused(*state, "belongs to another user");
}

/* ---- threads ---- */

enum { THREADS = 4, EACH = 2000 };

static atomic_int posters;

static void *put_many(void *arg)
{
	for (int i = 0; i < EACH; i++)
		put_large(arg, i, 200);
	posters--;
	return NULL;
}

static void several_put_one_takes(void **state)
{
	struct fsc_spool *s = open_spool(*state, 8 * BLOCK, 20 * BLOCK);
	pthread_t threads[THREADS];
	struct fsc_spool_msg m;
	uint64_t taken = 0;

	posters = THREADS;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, put_many, s), 0);
	while (posters || fsc_spool_ready(s)) {
		if (fsc_spool_take(s, &m, NULL) != 1)
			continue;
		assert_int_equal(m.n, 200);
		fsc_spool_done(s, &m, true);
		taken++;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	while (*next(s))
		taken++;
	assert_int_equal(counts_of(s).put, THREADS * EACH);
	assert_int_equal(counts_of(s).gone, taken);
	assert_int_equal(counts_of(s).queued, 0);
	assert_int_equal(files_in(*state, ".msg"), 0);
	fsc_spool_free(s);
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(first_in_first_out),
	    cmocka_unit_test(what_was_not_sent_comes_again),
	    cmocka_unit_test(the_oldest_make_room),
	    IN_DIRECTORY(too_large_for_everything),
	    cmocka_unit_test(what_is_lent_stays),
	    IN_DIRECTORY(beyond_memory_is_the_disk),
	    IN_DIRECTORY(the_disk_has_an_end_too),
	    IN_DIRECTORY(the_next_run_takes_over),
	    IN_DIRECTORY(other_limits_drop_only_what_has_no_room),
	    IN_DIRECTORY(a_death_loses_memory_only),
	    cmocka_unit_test(closing_without_a_disk_drops),
	    IN_DIRECTORY(when_closing_the_newest_are_kept),
	    IN_DIRECTORY(damaged_files_are_counted_and_removed),
	    IN_DIRECTORY(a_file_that_vanished_is_counted),
	    IN_DIRECTORY(what_is_no_file_is_removed),
	    IN_DIRECTORY(files_are_private),
	    IN_DIRECTORY(a_directory_must_be_ours_alone),
	    IN_DIRECTORY(several_put_one_takes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
