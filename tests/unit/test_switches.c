/* src/probe/switches.h: code that changes stacks, and code that only looks like it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "probe/switches.h"

#define CODE(...) ((const uint8_t[]){__VA_ARGS__}), sizeof((const uint8_t[]){__VA_ARGS__})

#ifdef __x86_64__

static void by_register(void **state)
{
	(void)state;
	/* push %rbx; mov %rsp,(%rdi); mov %rsi,%rsp; pop %rbx; ret */
	assert_true(
	    fsc_switches_code(CODE(0x53, 0x48, 0x89, 0x27, 0x48, 0x89, 0xf4, 0x5b, 0xc3, 0x90)));
	/* the same as mov from the other side: 8b */
	assert_true(fsc_switches_code(CODE(0x48, 0x89, 0x27, 0x48, 0x8b, 0xe6, 0x5b, 0xc3, 0x90)));
}

static void by_memory(void **state)
{
	(void)state;
	/* mov %rsp,8(%rdi); mov %rbp,16(%rdi); mov 8(%rsi),%rsp */
	assert_true(fsc_switches_code(CODE(0x48, 0x89, 0x67, 0x08, 0x48, 0x89, 0x6f, 0x10, 0x48,
					   0x8b, 0x66, 0x08, 0xc3, 0x90)));
	/* mov %rsp,(%r13,%rax); mov (%r12),%rsp */
	assert_true(fsc_switches_code(
	    CODE(0x49, 0x89, 0x64, 0x05, 0x00, 0x49, 0x8b, 0x24, 0x24, 0xc3, 0x90, 0x90)));
}

static void frames_and_ends(void **state)
{
	(void)state;
	/* mov %rsp,-8(%rbp); mov %rax,%rsp: a frame with a variable array */
	assert_false(
	    fsc_switches_code(CODE(0x48, 0x89, 0x65, 0xf8, 0x48, 0x89, 0xc4, 0xc3, 0x90, 0x90)));
	/* mov %rsp,(%rsp); mov %rax,%rsp */
	assert_false(
	    fsc_switches_code(CODE(0x48, 0x89, 0x24, 0x24, 0x48, 0x89, 0xc4, 0xc3, 0x90, 0x90)));
	/* mov %rsp,(%rdi); mov %rbp,%rsp */
	assert_false(fsc_switches_code(CODE(0x48, 0x89, 0x27, 0x48, 0x89, 0xec, 0xc3, 0x90, 0x90)));
	/* mov %r12,(%rdi); mov %rsi,%rsp */
	assert_false(fsc_switches_code(CODE(0x4c, 0x89, 0x27, 0x48, 0x89, 0xf4, 0xc3, 0x90, 0x90)));
	/* mov %rsp,(%rdi); ret; mov %rsi,%rsp: setjmp() and longjmp() */
	assert_false(fsc_switches_code(CODE(0x48, 0x89, 0x27, 0xc3, 0x48, 0x89, 0xf4, 0xc3, 0x90)));
	/* mov %rsp,(%rdi); mov $..,%rax with mov %rsi,%rsp in its number; ret */
	assert_false(fsc_switches_code(
	    CODE(0x48, 0x89, 0x27, 0x48, 0xb8, 0x48, 0x89, 0xf4, 0, 0, 0, 0, 0, 0xc3, 0x90, 0x90)));
}

#else

static void by_register(void **state)
{
	(void)state;
	/* mov x2, sp; str x2, [x0]; mov sp, x1; ret */
	assert_true(fsc_switches_code(CODE(0xe2, 0x03, 0x00, 0x91, 0x02, 0x00, 0x00, 0xf9, 0x3f,
					   0x00, 0x00, 0x91, 0xc0, 0x03, 0x5f, 0xd6)));
}

static void by_memory(void **state)
{
	(void)state;
	/* mov x2, sp; stp x2, x3, [x0, #16]; mov sp, x1 */
	assert_true(fsc_switches_code(CODE(0xe2, 0x03, 0x00, 0x91, 0x02, 0x0c, 0x01, 0xa9, 0x3f,
					   0x00, 0x00, 0x91, 0xc0, 0x03, 0x5f, 0xd6)));
}

static void frames_and_ends(void **state)
{
	(void)state;
	/* mov x2, sp; str x2, [x29, #8]; mov sp, x2: a frame with a variable array */
	assert_false(fsc_switches_code(CODE(0xe2, 0x03, 0x00, 0x91, 0xa2, 0x07, 0x00, 0xf9, 0x5f,
					    0x00, 0x00, 0x91, 0xc0, 0x03, 0x5f, 0xd6)));
	/* mov x2, sp; str x2, [x0]; ret; mov sp, x1 */
	assert_false(fsc_switches_code(CODE(0xe2, 0x03, 0x00, 0x91, 0x02, 0x00, 0x00, 0xf9, 0xc0,
					    0x03, 0x5f, 0xd6, 0x3f, 0x00, 0x00, 0x91)));
}

#endif

static void short_code(void **state)
{
	(void)state;
	assert_false(fsc_switches_code(CODE(0x48, 0x89, 0x27)));
	assert_false(fsc_switches_code(NULL, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(by_register),
	    cmocka_unit_test(by_memory),
	    cmocka_unit_test(frames_and_ends),
	    cmocka_unit_test(short_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
