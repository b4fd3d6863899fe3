/* What cannot stand that the kernel replaces a return address, which is its own way to catch a
 * return: functions that are not entered by a call, and functions through which exceptions,
 * cancelled threads or an error handling of the program's own unwind the stack. The unwinder
 * finds nothing at the replaced address and takes it for the end of the stack: the program is
 * ended, or destructors and cleanup handlers are not run. And programs that change between stacks:
 * the kernel takes the returns of a thread for those of one stack, and sends a coroutine to where
 * another one was to return. */
#ifndef FSC_PROBE_FRAGILE_H
#define FSC_PROBE_FRAGILE_H

#include "sym/elf.h"

enum fsc_fragile {
	FSC_FRAGILE_NOT,
	FSC_FRAGILE_UNWOUND, /* the stack may be unwound through it */
	FSC_FRAGILE_ALWAYS,  /* replacing its return address breaks the program at once */
};

/* Of one function, by the name in the symbol table. */
enum fsc_fragile fsc_fragile_function(const char *name);

/* How exceptions may come through the functions of a file. */
enum fsc_fragile_file {
	FSC_FRAGILE_FILE_NOT,
	FSC_FRAGILE_FILE_CXX, /* it has C++ in it; none leaves the functions of a C interface */
	FSC_FRAGILE_FILE_ANY, /* it uses the unwinder itself: C (LuaJIT), Rust, the unwinder; or it
				 changes between stacks */
};

/* FSC_FRAGILE_FILE_NOT also where the symbols cannot be read. */
enum fsc_fragile_file fsc_fragile_file(struct fsc_elf *e);
/* Whether the file changes between stacks, by any of the ways that are known. */
bool fsc_fragile_switches(struct fsc_elf *e);
/* Whether whoever calls its functions decides what runs inside them: a library of callbacks, and
 * any but the C library's own may be one. */
bool fsc_fragile_shared(struct fsc_elf *e);

#endif
