/* -finstrument-functions: every call of the functions in functions.h is counted and timed, by
 * address. funcscope.c is itself compiled so here, and must not measure itself. */
#include <dlfcn.h>
#include <pthread.h>

#include "reader.h"
#include "clock.h"
#include "functions.h"

void let_pass(uint64_t ticks)
{
	__atomic_fetch_add(&fake_now, ticks, __ATOMIC_RELAXED);
}

/* Which checkpoint is the function; fails unless there is one. */
static uint32_t find_function(const struct reader *r, uintptr_t address)
{
	uint32_t found = UINT32_MAX;

	for (uint32_t i = r->region->numbers; i < r->region->numbers + r->region->names; i++) {
		const struct funcscope_site_record *rec = reader_record(r, i);

		if (rec->kind != FUNCSCOPE_KIND_FUNCTION || rec->address != address)
			continue;
		EQUAL(found, UINT32_MAX);
		found = i;
	}
	CHECK(found != UINT32_MAX);
	return found;
}

static struct sums sums_at(uintptr_t address)
{
	struct reader r;
	struct sums s;

	reader_open(&r, getpid());
	s = reader_sums(&r, find_function(&r, address));
	reader_close(&r);
	return s;
}
#define SUMS(function) sums_at((uintptr_t)(function))

static void expect(struct sums s, uint64_t calls, uint64_t total)
{
	EQUAL(s.calls, calls);
	EQUAL(s.total, total);
}

/* Functions known so far, apart from those that the tests name. */
static void nothing_is_amiss(uint32_t functions)
{
	struct funcscope_region b = books();

	EQUAL(b.names, functions);
	EQUAL(b.unmatched, 0);
	EQUAL(b.lost_calls, 0);
	EQUAL(b.lost_names, 0);
	EQUAL(b.too_deep, 0);
}

static void calls_are_counted(void)
{
	for (int i = 0; i < 1000; i++)
		twice();
	leaf();
	expect(SUMS(twice), 1000, 21000);
	expect(SUMS(leaf), 2001, 20010);
	nothing_is_amiss(2); /* and none of the library's own */
}

static void records_say_where(void)
{
	const struct funcscope_site_record *rec;
	char exe[PATH_MAX];
	struct reader r;
	Dl_info info;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	CHECK(n > 0);
	exe[n] = '\0';
	leaf();
	reader_open(&r, getpid());
	rec = reader_record(&r, find_function(&r, (uintptr_t)leaf));
	CHECK(dladdr((void *)(uintptr_t)leaf, &info));
	EQUAL(rec->offset, (uintptr_t)leaf - (uintptr_t)info.dli_fbase);
	if (strlen(exe) < sizeof(rec->file))
		EQUAL_STRING(rec->file, exe);
	else
		EQUAL_STRING(rec->file, "");
}

static void recursion(void)
{
	EQUAL(down(99), 100);
	expect(SUMS(down), 100, 100 * 101 / 2);
	nothing_is_amiss(1);
}

static void mutual_recursion(void)
{
	EQUAL(even(99), 0);
	expect(SUMS(even), 50, 2550);
	expect(SUMS(odd), 50, 2500);
	nothing_is_amiss(2);
}

static void *deepest(void *unused)
{
	(void)unused;
	EQUAL(down(69999), 70000);
	EQUAL(down(9), 10);
	return NULL;
}

/* The outermost 65536 are measured; the others are counted, and nothing else goes wrong. */
static void recursion_of_70000(void)
{
	const uint64_t depth = 70000, lost = depth - 65536;
	pthread_attr_t large;
	pthread_t t;

	CHECK(!pthread_attr_init(&large));
	CHECK(!pthread_attr_setstacksize(&large, 256 << 20));
	CHECK(!pthread_create(&t, &large, deepest, NULL));
	pthread_join(t, NULL);
	EQUAL(books().too_deep, lost);
	EQUAL(books().unmatched, 0);
	expect(SUMS(down), 65536 + 10, (depth * (depth + 1) - lost * (lost + 1)) / 2 + 55);
}

static void longjmp_leaves_calls_without_an_end(void)
{
	for (volatile int i = 0; i < 3; i++)
		if (!setjmp(away))
			leave(5);
	leaf();
	twice();
	EQUAL(SUMS(leave).calls, 0);
	expect(SUMS(leaf), 3, 30);
	expect(SUMS(twice), 1, 21);
	EQUAL(books().unmatched, 0);
}

/* The one that ends is the first, not the last that began. */
static void longjmp_within_a_recursion(void)
{
	retry(3, 3);
	expect(SUMS(retry), 1, 104);
	leaf();
	retry(9, 9);
	expect(SUMS(retry), 2, 104 + 110);
	EQUAL(books().unmatched, 0);
}

/* gcc's functions end by an exception, too; clang's do not. */
static void exceptions(void)
{
	for (int i = 0; i < 10; i++)
		EQUAL(catching(4), 1);
	expect(SUMS(catching), 10, 100);
#ifdef __clang__
	EQUAL(SUMS(throwing).calls, 0);
#else
	expect(SUMS(throwing), 50, 10 * (1 + 2 + 3 + 4 + 5));
#endif
	nothing_is_amiss(2);
}

static void *in_thread(void *unused)
{
	(void)unused;
	for (int i = 0; i < 500; i++) {
		twice();
		(void)down(3);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[8];

	for (int i = 0; i < 8; i++)
		CHECK(!pthread_create(&t[i], NULL, in_thread, NULL));
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	EQUAL(SUMS(twice).calls, 8 * 500);
	EQUAL(SUMS(leaf).calls, 8 * 1000);
	EQUAL(SUMS(down).calls, 8 * 2000);
	nothing_is_amiss(3);
}

static void a_library_loaded_later(void)
{
	char path[PATH_MAX], *end;
	plugged_fn *plugged;
	void *lib;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 20);

	CHECK(n > 0);
	path[n] = '\0';
	end = strrchr(path, '/');
	strcpy(end, "/libplugged.so");
	lib = dlopen(path, RTLD_NOW);
	if (!lib)
		check_fail(__FILE__, __LINE__, "%s", dlerror());
	*(void **)&plugged = dlsym(lib, "plugged");
	CHECK(plugged);
	for (int i = 0; i < 100; i++)
		plugged(let_pass);
	leaf();
	expect(SUMS(plugged), 100, 700);
	nothing_is_amiss(2);
}

static void forks(void)
{
	pid_t pid;

	twice();
	pid = fork();
	if (!pid) {
		leaf();
		expect(SUMS(leaf), 1, 10);
		nothing_is_amiss(2); /* names are inherited */
		exit(0);
	}
	CHILD_IS_WELL(pid);
	expect(SUMS(leaf), 2, 20);
}

/* A program that has checkpoints of its own asks for memory as always. */
static void together_with_checkpoints(void)
{
	leaf();
	CHECK(funcscope_caller_initialize(8, FS_NORMAL) == 1);
	FAILS(funcscope_caller_initialize(8, FS_NORMAL), 0, EALREADY);
	for (int i = 0; i < 10; i++) {
		FUNCSCOPE_SCOPE("around");
		FUNCSCOPE_ENTER(3);
		leaf();
		FUNCSCOPE_EXIT(3);
	}
	EQUAL(books().numbers, 8);
	expect(sums_of(3), 10, 100);
	expect(sums_named("around"), 10, 100);
	expect(SUMS(leaf), 10, 100);
	CHECK(funcscope_caller_cleanup() == 1);
	leaf();
	CHECK(funcscope_caller_initialize(8, FS_NORMAL) == 1);
	leaf();
	expect(SUMS(leaf), 1, 10);
	EQUAL(books().unmatched, 0);
}

static void on_signal(int sig)
{
	(void)sig;
	twice();
}

static int finished;

static void *interrupted(void *n)
{
	for (*(int *)n = 0; !__atomic_load_n(&finished, __ATOMIC_ACQUIRE); ++*(int *)n)
		(void)down(3);
	return NULL;
}

/* Handlers within the hooks, too: their calls are counted, the others go on. */
static void signal_handlers(void)
{
	struct sigaction sa = {.sa_handler = on_signal};
	uint64_t before;
	pthread_t t;
	int n;

	CHECK(!sigaction(SIGUSR1, &sa, NULL));
	twice();
	CHECK(!pthread_create(&t, NULL, interrupted, &n));
	for (int i = 1; i <= 500; i++) {
		before = SUMS(twice).calls;
		CHECK(!pthread_kill(t, SIGUSR1));
		while (SUMS(twice).calls == before)
			;
	}
	__atomic_store_n(&finished, 1, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	EQUAL(SUMS(twice).calls, 501);
	EQUAL(SUMS(leaf).calls, 1002);
	EQUAL(SUMS(down).calls, 4 * (uint64_t)n);
	nothing_is_amiss(3);
}

static const struct check_test tests[] = {
    TEST(calls_are_counted),
    TEST(records_say_where),
    TEST(recursion),
    TEST(mutual_recursion),
    TEST(recursion_of_70000),
    TEST(longjmp_leaves_calls_without_an_end),
    TEST(longjmp_within_a_recursion),
    TEST(exceptions),
    TEST(threads),
    TEST(a_library_loaded_later),
    TEST(forks),
    TEST(together_with_checkpoints),
    TEST(signal_handlers),
};

CHECK_MAIN(tests)
