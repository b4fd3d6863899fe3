/* Processes that run CPython (3.10 to 3.14): where their frames are found, for the walk in the
 * kernel (bpf/python.bpf.h), and the names behind what it brings back. Reads the process's files
 * and memory; changes nothing in it. */
#ifndef FSC_PYTHON_PYTHON_H
#define FSC_PYTHON_PYTHON_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/python.h"

struct fsc_pythons;

/* 1: the process runs a CPython we know, and *ret describes it; 0: it does not, and err says why
 * (ENOENT: no Python in it, or not yet; ENOTSUP: one that we cannot read); negative: failed (-ESRCH
 * for a process that does not run, -EACCES for one we may not look at). A forked child is as its
 * parent; a new program (exec) is not, and before its libraries are loaded has no Python yet. */
int fsc_python_find(pid_t pid, struct fsc_python *ret, struct fsc_err *err);

/* What was read of processes so far. The caller owns *ret. */
int fsc_pythons_new(struct fsc_pythons **ret, struct fsc_err *err);
void fsc_pythons_free(struct fsc_pythons *p);
void fsc_pythons_freep(struct fsc_pythons **p);

/* As fsc_python_find, and remembers the answer for fsc_pythons_frame; what was known of the process
 * before is dropped. */
int fsc_pythons_find(struct fsc_pythons *p, pid_t pid, struct fsc_python *ret, struct fsc_err *err);
/* Names a frame that the walk found in the process. 1: *function (with the classes around it, but
 * in 3.10), *file and *line are filled (line 0: not known); the texts are UTF-8, at most 256 and
 * 1024 bytes, and stay until p is freed. 0: unknown, since the process has ended, may not be read,
 * or has no such code any more. Negative: out of memory. A function is read once: the process must
 * still run then, and not later. */
int fsc_pythons_frame(struct fsc_pythons *p, pid_t pid, uint64_t code, uint64_t instr,
		      const char **function, const char **file, unsigned *line,
		      struct fsc_err *err);
/* The process has ended or became another program: what is known of it is dropped. Texts stay. */
void fsc_pythons_forget(struct fsc_pythons *p, pid_t pid);

#endif
