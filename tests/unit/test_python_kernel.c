/* bpf/python.bpf.h in the kernel: the verifier takes it, and at a call of getppid() it finds the
 * functions that Python is in: in the first thread, in another, and in a forked child; also where
 * the process has another number than here. Needs root; skipped otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "python_child.h"
#include "proc/libs.h"
#include "python/python.h"
#include "wire/config.h"

#include "python_kernel.skel.h"

#define MOST_INSNS 100000

struct taken {
	uint32_t n, tid;
	struct fsc_python_frame frames[FSC_PYTHON_FRAMES];
};

static struct python_kernel_bpf *skel;

static int load(void **state)
{
	(void)state;
	skel = geteuid() ? NULL : python_kernel_bpf__open_and_load();
	return geteuid() || skel ? 0 : -1;
}

static int unload(void **state)
{
	(void)state;
	python_kernel_bpf__destroy(skel);
	return 0;
}

static void the_verifier_is_content(void **state)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	(void)state;
	if (!skel)
		skip();
	assert_int_equal(bpf_obj_get_info_by_fd(bpf_program__fd(skel->progs.on_call), &info, &size),
			 0);
	print_message("%u instructions verified\n", info.verified_insns);
	assert_in_range(info.verified_insns, 1, MOST_INSNS);
}

static struct bpf_link *attach(pid_t pid)
{
	FSC_AUTO(fsc_libs_release) struct fsc_vec libs = FSC_VEC_INIT(struct fsc_libs_file);
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .func_name = "getppid");
	struct fsc_libs_scope scope = {.pid = pid};
	struct bpf_link *link;

	assert_int_equal(fsc_libs_find("libc", &scope, &libs, NULL), 0);
	link = bpf_program__attach_uprobe_opts(
	    skel->progs.on_call, -1, FSC_AT(struct fsc_libs_file, &libs, 0)->path, 0, &opts);
	assert_non_null(link);
	return link;
}

static void tell(struct fsc_pythons *p, pid_t pid, struct fsc_python *py)
{
	struct fsc_err err = {0};

	if (fsc_pythons_find(p, pid, py, &err) != 1)
		fail_msg("%d: %s", (int)pid, err.msg);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.pythons), &pid, py, 0), 0);
}

/* Lets it go on, and compares what is found in getppid(). */
static void check(struct fsc_pythons *p, struct python_child *c, pid_t pid,
		  const struct fsc_python *py, uint32_t *ret_tid)
{
	uint64_t before = skel->bss->hits;
	uint32_t zero = 0;
	struct taken t;

	assert_int_equal(write(c->in, "r", 1), 1);
	for (int i = 0; skel->bss->hits == before && i < 5000; i++)
		poll(NULL, 0, 1);
	assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(skel->maps.taken), &zero, &t), 0);
	assert_int_equal(skel->bss->hits, before + 1);
	for (unsigned i = 0; i < sizeof(python_places) / sizeof(python_places[0]); i++) {
		const char *expected = python_places[i].function, *function, *file;
		unsigned line;

		assert_in_range(t.n, i + 1, FSC_PYTHON_FRAMES);
		assert_int_equal(fsc_pythons_frame(p, pid, t.frames[i].code, t.frames[i].instr,
						   &function, &file, &line, NULL),
				 1);
		if (py->minor == 10 && strchr(expected, '.'))
			expected = strchr(expected, '.') + 1;
		assert_string_equal(function, expected);
		assert_int_equal(line, python_places[i].asks);
	}
	*ret_tid = t.tid;
}

static pid_t child_of(pid_t pid)
{
	char path[64];
	FILE *f;
	int child = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &child), 1);
	fclose(f);
	return child;
}

static void check_python(struct python_child *c, const char *python)
{
	FSC_AUTO(fsc_pythons_freep) struct fsc_pythons *p = NULL;
	struct bpf_link *link = attach(c->pid);
	struct fsc_python py;
	uint32_t tid;
	pid_t child;

	assert_int_equal(fsc_pythons_new(&p, NULL), 0);
	tell(p, c->pid, &py);
	print_message("%s is 3.%u\n", python, py.minor);
	check(p, c, c->pid, &py, &tid);
	assert_int_equal(tid, c->pid);
	assert_true(python_ready(c));
	check(p, c, c->pid, &py, &tid);
	assert_int_not_equal(tid, c->pid);
	assert_true(python_ready(c));
	child = child_of(c->pid);
	tell(p, child, &py);
	check(p, c, child, &py, &tid);
	assert_int_equal(tid, child);
	bpf_link__destroy(link);
}

static void check_all(int contained)
{
	int seen = 0;

	if (!skel)
		skip();
	for (size_t i = 0; i < sizeof(pythons) / sizeof(pythons[0]); i++) {
		struct python_child c;

		if (python_start(pythons[i], contained, &c)) {
			seen++;
			check_python(&c, pythons[i]);
		}
		python_stop(&c);
	}
	if (!seen)
		skip();
}

static void frames(void **state)
{
	(void)state;
	check_all(0);
}

static void frames_in_a_pid_namespace(void **state)
{
	(void)state;
	check_all(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_verifier_is_content),
	    cmocka_unit_test(frames),
	    cmocka_unit_test(frames_in_a_pid_namespace),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, load, unload);
}
