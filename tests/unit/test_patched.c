/* src/engine/patched.h: which code of this very process differs from that of its file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/vec.h"
#include "engine/patched.h"
#include "proc/maps.h"

#ifdef __x86_64__
/* Two pages, so that an instruction can lie in both: mov $0x12345678, %eax; ret */
__asm__(".pushsection .text.patched, \"ax\", @progbits\n"
	".balign 4096\n"
	".globl patched_first, patched_across, patched_second\n"
	"patched_first: mov $0x12345678, %eax\n"
	"	ret\n"
	"	.fill 4096 - 6 - 2, 1, 0x90\n"
	"patched_across: mov $0x12345678, %eax\n"
	"	ret\n"
	"patched_second: mov $0x12345678, %eax\n"
	"	ret\n"
	"	.fill 4096 - 4 - 6, 1, 0x90\n"
	".popsection\n");
extern char patched_first[], patched_across[], patched_second[];

static uint64_t offset_of(const char *code)
{
	struct fsc_vec maps = FSC_VEC_INIT(struct fsc_mapping);
	const struct fsc_mapping *m;
	uint64_t at = (uint64_t)(uintptr_t)code;

	assert_int_equal(fsc_maps_read(getpid(), true, &maps, NULL), 0);
	m = fsc_maps_find(&maps, at);
	assert_non_null(m);
	at = at - m->start + m->offset;
	fsc_maps_release(&maps);
	return at;
}

static int note_found(size_t id, pid_t pid, void *arg, struct fsc_err *err)
{
	(void)err;
	if (pid == getpid())
		*(unsigned *)arg |= 1u << id;
	return 0;
}

/* A bit for each place that differs. */
static unsigned find_patched(const pid_t *pids, size_t n)
{
	const uint64_t at[] = {offset_of(patched_first), offset_of(patched_across),
			       offset_of(patched_second)};
	struct fsc_patched p;
	unsigned found = 0;

	fsc_patched_init(&p);
	assert_int_equal(fsc_patched_file(&p, "/proc/self/exe", NULL), 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(fsc_patched_place(&p, at[i], i, NULL), 0);
	assert_int_equal(fsc_patched_find(&p, pids, n, note_found, &found, NULL), 0);
	fsc_patched_release(&p);
	return found;
}

static void poke(char *at, char byte)
{
	assert_int_equal(mprotect(patched_first, 8192, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	*at = byte;
	assert_int_equal(mprotect(patched_first, 8192, PROT_READ | PROT_EXEC), 0);
}

static void differences_are_found(void **state)
{
	const pid_t self = getpid();

	(void)state;
	assert_int_equal(find_patched(&self, 1), 0);
	poke(patched_first + 4, 0x13);
	assert_int_equal(find_patched(&self, 1), 1);
	assert_int_equal(find_patched(NULL, 0), 1);
	poke(patched_across + 3, 0x13);
	poke(patched_second, (char)0xe9);
	assert_int_equal(find_patched(&self, 1), 7);
	poke(patched_first + 4, 0x12);
	assert_int_equal(find_patched(NULL, 0), 6);
}

static void a_breakpoint_is_no_difference(void **state)
{
	const pid_t self = getpid();

	(void)state;
	poke(patched_first, (char)0xcc);
	assert_int_equal(find_patched(&self, 1) & 1, 0);
	poke(patched_first + 1, (char)0xcc);
	assert_int_equal(find_patched(&self, 1) & 1, 1);
}

static void processes_that_exited_are_left_out(void **state)
{
	pid_t child = fork();

	(void)state;
	if (!child)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(find_patched(&child, 1), 0);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef __x86_64__
	    cmocka_unit_test(differences_are_found),
	    cmocka_unit_test(a_breakpoint_is_no_difference),
	    cmocka_unit_test(processes_that_exited_are_left_out),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
