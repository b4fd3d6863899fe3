/* Scopes in C++: one checkpoint for what a header defines, whoever compiles it; exceptions end
 * them.
 */
#include "reader.h"
#include "clock.h"

void let_pass(uint64_t ticks);
void from_a(void);
void from_b(void);
int catching(int depth);
void numbers(void);

void let_pass(uint64_t ticks)
{
	pass(ticks);
}

static void start(void)
{
	CHECK(funcscope_caller_initialize(8, FS_LITE) == 1);
}

static void expect(const char *name, uint64_t calls, uint64_t total)
{
	struct sums s = sums_named(name);

	if (s.calls != calls || s.total != total)
		check_fail(__FILE__, __LINE__, "%s: %llu calls of %llu, not %llu of %llu", name,
			   (unsigned long long)s.calls, (unsigned long long)s.total,
			   (unsigned long long)calls, (unsigned long long)total);
}

static void a_header_in_two_units(void)
{
	start();
	for (int i = 0; i < 10; i++) {
		from_a();
		from_b();
	}
	expect("first in header", 20, 200);
	expect("second in header", 20, 20000);
	expect("first lap", 20, 40);
	expect("second lap", 20, 10000);
	expect("in template", 40, 120);
	expect("constructor", 20, 20);
	expect("destructor", 20, 40);
	expect("function", 20, 80);
	expect("in lambda", 20, 120);
	expect("before the header", 10, 10);
	EQUAL(books().names, 10);
}

/* Whoever comes first. */
static void the_other_unit_first(void)
{
	start();
	from_b();
	from_a();
	expect("first in header", 2, 20);
	expect("second in header", 2, 2000);
	expect("in template", 4, 12);
}

static void exceptions_end_scopes(void)
{
	start();
	for (int i = 0; i < 10; i++)
		EQUAL(catching(4), 7);
	expect("throwing", 50, 10 * (1 + 2 + 3 + 4 + 5));
	expect("within try", 10, 50);
	expect("catching", 10, 1050);
}

static void numbers_of_any_type(void)
{
	start();
	numbers();
	EQUAL(sums_of(3).total, 5);
	EQUAL(sums_of(5).total, 6);
}

static const struct check_test tests[] = {
    TEST(a_header_in_two_units),
    TEST(the_other_unit_first),
    TEST(exceptions_end_scopes),
    TEST(numbers_of_any_type),
};

CHECK_MAIN(tests)
