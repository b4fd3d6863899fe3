/* Whether a process runs CPython, which version, and where its frames are found. The interpreter is
 * in the program itself or in a libpython; the start of all its data is the variable _PyRuntime. */
#include "python/python.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "elf/elf.h"
#include "proc/libs.h"
#include "proc/process.h"
#include "proc/task.h"
#include "python/python_priv.h"

/* Threads examined to verify offsets. */
#define THREADS_LOOKED_AT 64

/* The file that has the interpreter. */
struct interpreter {
	uint64_t runtime; /* address of _PyRuntime in the process */
	uint64_t version; /* of Py_Version, 0: there is none (before 3.11) */
};

bool fsc_python_read(pid_t pid, uint64_t addr, void *buf, size_t n)
{
	struct iovec to = {.iov_base = buf, .iov_len = n};
	struct iovec from = {.iov_base = (void *)(uintptr_t)addr, .iov_len = n};

	return process_vm_readv(pid, &to, 1, &from, 1, 0) == (ssize_t)n;
}

static uint64_t read_word(pid_t pid, uint64_t addr)
{
	uint64_t word = 0;

	return fsc_python_read(pid, addr, &word, sizeof(word)) ? word : 0;
}

/* 1 if the file has the interpreter's data. */
static int find_runtime(pid_t pid, const struct fsc_mapping *m, struct interpreter *ret,
			struct fsc_err *err)
{
	FSC_AUTO(fsc_libs_release) struct fsc_vec found = FSC_VEC_INIT(struct fsc_libs_file);
	FSC_AUTO(fsc_elf_freep) struct fsc_elf *e = NULL;
	const struct fsc_libs_file *f;
	uint64_t runtime = 0, version = 0, bias = 0;
	char root[32];
	int rc;

	fsc_process_root(pid, root);
	rc = fsc_process_locate(pid, root, m, &found, err);
	if (rc <= 0)
		return rc;
	f = found.data;
	rc = fsc_elf_open(f->path, f->root, &e, err);
	if (!rc)
		rc = fsc_elf_variable(e, "_PyRuntime", &runtime, err);
	if (rc <= 0)
		return rc == -ENOMEM ? rc : 0; /* a program of another sort is not Python */
	if (!fsc_elf_bias(e, m->start, m->offset, &bias))
		return 0;
	ret->runtime = runtime + bias;
	if (fsc_elf_variable(e, "Py_Version", &version, NULL) == 1)
		ret->version = read_word(pid, version + bias);
	return 1;
}

/* The N of "python3.N" in a file's name, 0 if it has none. */
static unsigned minor_of_name(const char *name)
{
	const char *at = strstr(name, "python3.");

	return at ? (unsigned)strtoul(at + strlen("python3."), NULL, 10) : 0;
}

/* Before 3.11 only file names have the version: the interpreter's, then those of loaded modules. */
static unsigned minor_of_files(const struct fsc_vec *files, size_t interpreter)
{
	unsigned minor =
	    minor_of_name(fsc_str_base(FSC_AT(struct fsc_mapping, files, interpreter)->path));

	for (size_t i = 0; !minor && i < files->n; i++)
		minor = minor_of_name(FSC_AT(struct fsc_mapping, files, i)->path);
	return minor;
}

/* Finds the interpreter and its version. */
static int find_interpreter(pid_t pid, struct interpreter *ret, unsigned *ret_minor,
			    struct fsc_err *err)
{
	FSC_AUTO(fsc_maps_release) struct fsc_vec files = FSC_VEC_INIT(struct fsc_mapping);
	int rc = fsc_process_files(pid, &files, err);

	for (size_t i = 0; !rc && i < files.n; i++) {
		const struct fsc_mapping *m = FSC_AT(struct fsc_mapping, &files, i);

		if (i && strncmp(fsc_str_base(m->path), "libpython3", strlen("libpython3")) != 0)
			continue;
		rc = find_runtime(pid, m, ret, err);
		if (rc > 0)
			*ret_minor =
			    ret->version ? ret->version >> 16 & 0xff : minor_of_files(&files, i);
	}
	if (!rc)
		fsc_err_set(err, ENOENT, "process %d does not run CPython", (int)pid);
	return rc;
}

/* 3.10 identifies a thread only by its pthread_t: find where the C library keeps the thread id
 * in it. The C library is recognised by the first thread, whose id is the pid. */
static int find_pthread_tid(pid_t pid, struct fsc_python *py, uint64_t thread, struct fsc_err *err)
{
#ifdef __aarch64__
	static const uint32_t places[] = {208, 32}; /* glibc, musl */
#else
	static const uint32_t places[] = {720, 48};
#endif
	uint32_t own = (uint32_t)fsc_task_status(pid, "NStgid:"); /* its pid as it sees it */

	py->pthread_tid = places[0];
	if (!thread)
		return 1; /* Python is just starting; most have glibc */
	for (int i = 0; thread && i < THREADS_LOOKED_AT; i++) {
		uint64_t self = read_word(pid, thread + py->thread_id);

		for (size_t j = 0; j < sizeof(places) / sizeof(places[0]); j++) {
			py->pthread_tid = places[j];
			if (own && (uint32_t)read_word(pid, self + places[j]) == own)
				return 1;
		}
		thread = read_word(pid, thread + py->thread_next);
	}
	fsc_err_set(err, ENOTSUP,
		    "the threads of process %d cannot be distinguished: its C library is unknown",
		    (int)pid);
	return 0;
}

static int set_namespace(pid_t pid, struct fsc_python *py, struct fsc_err *err)
{
	char path[40];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	if (stat(path, &st))
		return fsc_err_sys(err, errno == ENOENT ? ESRCH : errno, "cannot read '%s'", path);
	py->pidns_dev = st.st_dev;
	py->pidns_ino = st.st_ino;
	return 0;
}

/* Fills what differs between processes, and checks that the layout leads where it should. */
static int fit_layout(pid_t pid, struct fsc_python_layout *l, struct fsc_err *err)
{
	struct fsc_python *py = &l->walk;
	uint64_t interpreter = read_word(pid, py->runtime + py->runtime_interpreters), thread;
	int rc = set_namespace(pid, py, err);

	if (rc)
		return rc;
	thread = interpreter ? read_word(pid, interpreter + py->interpreter_threads) : 0;
	if (thread && read_word(pid, thread + l->thread_interpreter) != interpreter) {
		fsc_err_set(err, ENOTSUP, "the Python 3.%u of process %d has an unknown layout",
			    py->minor, (int)pid);
		return 0;
	}
	return py->minor > 10 ? 1 : find_pthread_tid(pid, py, thread, err);
}

int fsc_python_describe(pid_t pid, struct fsc_python_layout *ret, struct fsc_err *err)
{
	struct interpreter in = {0};
	unsigned minor = 0;
	int rc = find_interpreter(pid, &in, &minor, err);

	if (rc > 0)
		rc = fsc_python_layout(pid, minor, in.runtime, ret, err);
	if (rc <= 0)
		return rc;
	ret->walk.runtime = in.runtime;
	return fit_layout(pid, ret, err);
}

int fsc_python_find(pid_t pid, struct fsc_python *ret, struct fsc_err *err)
{
	struct fsc_python_layout l;
	int rc = fsc_python_describe(pid, &l, err);

	if (rc > 0)
		*ret = l.walk;
	return rc;
}
