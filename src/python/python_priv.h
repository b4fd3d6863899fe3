/* Shared by the files behind python/python.h: the layout of Python's structures in one process. */
#ifndef FSC_PYTHON_PYTHON_PRIV_H
#define FSC_PYTHON_PYTHON_PRIV_H

#include <stdbool.h>
#include <stddef.h>

#include "python/python.h"

/* Where things are in a PyCodeObject and in what it points to. */
struct fsc_python_objects {
	uint32_t code_name, code_file;
	uint32_t code_lines; /* bytes object: the table of lines */
	uint32_t code_first_line;
	uint32_t code_instrs; /* the first instruction */
	uint32_t bytes_size, bytes_data;
	uint32_t text_length, text_state;
	uint32_t text_ascii;   /* the letters of an ASCII text */
	uint32_t text_compact; /* and of any other */
};

struct fsc_python_layout {
	struct fsc_python walk;
	struct fsc_python_objects objects;
	uint32_t thread_interpreter; /* a PyThreadState's PyInterpreterState: to check the rest */
};

/* Fills *ret for 3.10 to 3.12, whose layouts are known, or from the table that Python carries since
 * 3.13 at the start of _PyRuntime, which lies at runtime. Values as fsc_python_find. */
int fsc_python_layout(pid_t pid, unsigned minor, uint64_t runtime, struct fsc_python_layout *ret,
		      struct fsc_err *err);
/* fsc_python_find, with all that is known. */
int fsc_python_describe(pid_t pid, struct fsc_python_layout *ret, struct fsc_err *err);

/* Copies n bytes of a process's memory; whether all could be read. */
bool fsc_python_read(pid_t pid, uint64_t addr, void *buf, size_t n);

/* The line of an instruction, at so many bytes behind the first one; 0 where there is none. first
 * is the function's line. Tables may be damaged. */
unsigned fsc_python_line_310(const uint8_t *table, size_t n, unsigned first, int64_t at);
unsigned fsc_python_line_311(const uint8_t *table, size_t n, unsigned first, int64_t at);

#endif
