/* src/python/python.h: tables of lines as Python made them, and damaged ones; processes that run
 * Python, their frames found by the walk that bpf/python.bpf.h does, their names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "base/cleanup.h"
#include "python_child.h"
#include "python/python_priv.h"

/* Up to which byte of the code it is which line. */
struct lines {
	int end;
	unsigned line;
};

typedef unsigned (*line_fn)(const uint8_t *table, size_t n, unsigned first, int64_t at);

static void check(line_fn line, const char *table, size_t n, const struct lines *l)
{
	FSC_AUTO(fsc_freep) uint8_t *copy = malloc(n); /* so that reading beyond it shows */
	int at = 0;

	assert_non_null(copy);
	memcpy(copy, table, n);
	assert_int_equal(line(copy, n, 2, -2), 2);
	for (; l->end; l++) {
		for (; at < l->end; at += 2) {
			if (line(copy, n, 2, at) != l->line)
				fail_msg("%d is line %u, not %u", at, line(copy, n, 2, at),
					 l->line);
		}
	}
	assert_int_equal(line(copy, n, 2, at), 0);
	for (size_t cut = 0; cut < n; cut++)
		line(copy + cut, n - cut, 2, at);
	for (size_t i = 0; i < n; i++) {
		copy[i] ^= 0xff;
		line(copy, n, 2, at);
		copy[i] ^= 0xff;
	}
}

/* co_linetable of one function (a comprehension, try, a call over several lines, a jump of 46
 * lines, with), and what co_lines() or co_positions() of the same Python says. */
static void lines_of_310(void **state)
{
	static const char table[] =
	    "\x12\x02\x02\x02\x02\x01\x02\x01\x06\x01\x0a\xfe\x0c\x04\x06\x01\x02\xff\x0a\x2f\x04"
	    "\x01\x02\x01\x02\xff\x24\xff";
	static const struct lines l[] = {{18, 4},  {20, 6},  {22, 7},  {24, 8},	  {30, 9},
					 {40, 7},  {52, 11}, {58, 12}, {60, 11},  {70, 58},
					 {74, 59}, {76, 60}, {78, 59}, {114, 58}, {0}};
	/* code without a line, and a step back behind it */
	static const char none[] = "\x04\x05\x02\x80\x06\xfe";
	static const struct lines l_none[] = {{4, 7}, {6, 0}, {12, 5}, {0}};

	(void)state;
	check(fsc_python_line_310, table, sizeof(table) - 1, l);
	check(fsc_python_line_310, none, sizeof(none) - 1, l_none);
}

static void lines_of_311(void **state)
{
	static const char table[] =
	    "\xf8\x80\x00\xf0\x04\x01\x09\x13\xf0\x00\x01\x09\x13\xf0\x00\x01\x09\x13\xf0\x00\x01"
	    "\x09\x13\x90\x41\xf0\x00\x01\x09\x13\xf1\x00\x01\x09\x13\xf4\x00\x01\x09\x13\x80\x41"
	    "\xf0\x04\x06\x05\x14\xdd\x0c\x0f\xd8\x0c\x0d\xf0\x02\x01\x11\x13\xf0\x00\x01\x11\x13"
	    "\xf0\x05\x03\x0d\x14\xf1\x00\x03\x0d\x14\xf4\x00\x03\x0d\x14\x88\x01\x88\x01\xf8\xf5"
	    "\x08\x00\x0c\x16\xf0\x00\x01\x05\x14\xf0\x00\x01\x05\x14\xf0\x00\x01\x05\x14\xd8\x0f"
	    "\x13\x88\x74\x88\x74\xf0\x03\x01\x05\x14\xf8\xf8\xf8\xf5\x5e\x01\x00\x0a\x0e\x88\x61"
	    "\x89\x17\x8c\x17\xf0\x00\x02\x05\x0f\x90\x41\xd8\x0f\x10\x8f\x76\x8a\x76\xd8\x0c\x0d"
	    "\xf1\x03\x01\x10\x0f\xf4\x00\x01\x10\x0f";
	static const struct lines l[] = {{2, 0},    {4, 2},    {32, 4},	 {34, 6},   {46, 7},
					 {48, 8},   {52, 9},   {72, 7},	 {74, 0},   {92, 11},
					 {98, 12},  {100, 11}, {106, 0}, {138, 58}, {162, 59},
					 {164, 60}, {178, 59}, {0}};

	(void)state;
	check(fsc_python_line_311, table, sizeof(table) - 1, l);
}

static void lines_of_312(void **state)
{
	static const char table[] =
	    "\x80\x00\xe0\x14\x15\xf6\x00\x01\x09\x13\x88\x71\xd8\x0c\x0d\x90\x01\x8a\x45\xf2\x03"
	    "\x00\x0a\x0b\xf0\x00\x01\x09\x13\x80\x41\xf0\x00\x01\x09\x13\xf0\x04\x06\x05\x14\xdc"
	    "\x0c\x0f\xd8\x0c\x0d\xf1\x02\x01\x11\x13\xf4\x05\x03\x0d\x14\x88\x01\xf4\x66\x01\x00"
	    "\x0a\x0e\x88\x61\x8b\x17\xf0\x00\x02\x05\x0f\x90\x41\xd8\x0f\x10\x8f\x76\x89\x76\xd8"
	    "\x0c\x0d\xf3\x03\x01\x10\x0f\xf7\x03\x02\x05\x0f\xf1\x00\x02\x05\x0f\xf9\xf2\x6d\x01"
	    "\x01\x09\x13\xf8\xf4\x0e\x00\x0c\x16\xf2\x00\x01\x05\x14\xd9\x0f\x13\xf0\x03\x01\x05"
	    "\x14\xfa\xf7\x5e\x01\x02\x05\x0f\xf0\x00\x02\x05\x0f\xfa";
	static const struct lines l[] = {
	    {2, 2},   {20, 4},	 {30, 5},   {42, 4},   {44, 6},	  {54, 7},   {56, 8},  {60, 9},
	    {72, 7},  {96, 58},	 {118, 59}, {120, 60}, {128, 59}, {148, 58}, {152, 0}, {158, 4},
	    {160, 0}, {176, 11}, {180, 12}, {182, 11}, {188, 0},  {206, 58}, {212, 0}, {0}};

	(void)state;
	check(fsc_python_line_311, table, sizeof(table) - 1, l);
}

static uint64_t word(pid_t pid, uint64_t addr)
{
	uint64_t value = 0;

	assert_true(fsc_python_read(pid, addr, &value, sizeof(value)));
	return value;
}

/* The process's first thread, as bpf/python.bpf.h finds it; its only one. */
static uint64_t first_frame(pid_t pid, const struct fsc_python *py)
{
	uint64_t interpreter = word(pid, py->runtime + py->runtime_interpreters);
	uint64_t thread = word(pid, interpreter + py->interpreter_threads);
	uint64_t id = word(pid, thread + py->thread_id), at;

	if (py->pthread_tid != FSC_PYTHON_NONE)
		id = (uint32_t)word(pid, id + py->pthread_tid);
	assert_int_equal(id, pid);
	assert_int_equal(word(pid, thread + py->thread_next), 0);
	assert_int_equal(word(pid, interpreter + py->interpreter_next), 0);
	at = word(pid, thread + py->thread_frame);
	return py->cframe_frame == FSC_PYTHON_NONE ? at : word(pid, at + py->cframe_frame);
}

static bool is_shim(pid_t pid, const struct fsc_python *py, uint64_t frame)
{
	uint8_t owner;

	if (py->frame_owner == FSC_PYTHON_NONE)
		return false;
	assert_true(fsc_python_read(pid, frame + py->frame_owner, &owner, 1));
	return owner >= FSC_PYTHON_SHIM;
}

static unsigned walk(pid_t pid, const struct fsc_python *py, struct fsc_python_frame *out)
{
	uint64_t frame = first_frame(pid, py);
	unsigned n = 0;

	for (; frame && n < FSC_PYTHON_FRAMES; frame = word(pid, frame + py->frame_previous)) {
		if (is_shim(pid, py, frame))
			continue;
		out[n].code = word(pid, frame + py->frame_code) & ~FSC_PYTHON_TAGS;
		out[n].instr = word(pid, frame + py->frame_instr);
		if (py->frame_instr_size == 4)
			out[n].instr = (uint32_t)out[n].instr;
		n++;
	}
	return n;
}

static void check_names(struct fsc_pythons *p, pid_t pid, const struct fsc_python *py,
			const struct fsc_python_frame *frames)
{
	for (unsigned i = 0; i < sizeof(python_places) / sizeof(python_places[0]); i++) {
		const char *expected = python_places[i].function, *function, *file;
		struct fsc_err err = {0};
		unsigned line;

		if (fsc_pythons_frame(p, pid, frames[i].code, frames[i].instr, &function, &file,
				      &line, &err) != 1)
			fail_msg("frame %u is not known: %s", i, err.msg);
		if (py->minor == 10 && strchr(expected, '.'))
			expected = strchr(expected, '.') + 1;
		assert_string_equal(function, expected);
		assert_string_equal(file, "<string>");
		assert_int_equal(line, python_places[i].waits);
	}
}

static void check_process(struct python_child *c, const char *python)
{
	FSC_AUTO(fsc_pythons_freep) struct fsc_pythons *p = NULL;
	struct fsc_python_frame frames[FSC_PYTHON_FRAMES];
	struct fsc_err err = {0};
	struct fsc_python py;
	const char *text;
	unsigned line;

	assert_int_equal(fsc_pythons_new(&p, &err), 0);
	if (fsc_pythons_find(p, c->pid, &py, &err) != 1)
		fail_msg("%s: %s", python, err.msg);
	print_message("%s is 3.%u\n", python, py.minor);
	/* and the module itself */
	assert_int_equal(walk(c->pid, &py, frames),
			 sizeof(python_places) / sizeof(python_places[0]) + 1);
	check_names(p, c->pid, &py, frames);
	python_stop(c);
	/* The process is gone: what was read stays known, nothing else is. */
	check_names(p, c->pid, &py, frames);
	assert_int_equal(fsc_pythons_frame(p, c->pid, frames[5].code, frames[5].instr, &text, &text,
					   &line, &err),
			 0);
	fsc_pythons_forget(p, c->pid);
	assert_int_equal(fsc_pythons_frame(p, c->pid, frames[0].code, frames[0].instr, &text, &text,
					   &line, &err),
			 0);
}

static void running_pythons(void **state)
{
	int seen = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(pythons) / sizeof(pythons[0]); i++) {
		struct python_child c;

		if (!python_start(pythons[i], 0, &c)) {
			python_stop(&c);
			continue;
		}
		seen++;
		check_process(&c, pythons[i]);
	}
	if (!seen)
		skip();
}

static void others(void **state)
{
	struct fsc_err err = {0};
	struct fsc_python py;

	(void)state;
	assert_int_equal(fsc_python_find(getpid(), &py, &err), 0);
	assert_int_equal(err.code, ENOENT);
	assert_int_equal(fsc_python_find(0x3fffffff, &py, &err), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lines_of_310), cmocka_unit_test(lines_of_311),
	    cmocka_unit_test(lines_of_312), cmocka_unit_test(running_pythons),
	    cmocka_unit_test(others),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
