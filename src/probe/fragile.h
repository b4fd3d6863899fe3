/* What breaks if the kernel replaces a return address, as uretprobes do: functions that are not
 * entered by a call, and functions through which exceptions, cancelled threads or an error handling
 * of the program's own unwind the stack. The unwinder finds nothing at the replaced address and
 * takes it for the end of the stack: the program is aborted, or destructors and cleanup handlers
 * are not run. And programs that switch stacks: the kernel assumes one stack per thread, and sends
 * a coroutine to another one's return address. */
#ifndef FSC_PROBE_FRAGILE_H
#define FSC_PROBE_FRAGILE_H

#include "elf/elf.h"

enum fsc_fragile {
	FSC_FRAGILE_NOT,
	FSC_FRAGILE_UNWOUND, /* the stack may be unwound through it, or it reads its return address
			      */
	FSC_FRAGILE_ALWAYS,  /* replacing its return address breaks the program at once */
};

/* Of one function, by the name in the symbol table. */
enum fsc_fragile fsc_fragile_function(const char *name);

/* How exceptions may come through the functions of a file. */
enum fsc_fragile_file {
	FSC_FRAGILE_FILE_NOT,
	FSC_FRAGILE_FILE_CXX, /* it has C++ in it; none leaves the functions of a C interface */
	FSC_FRAGILE_FILE_ANY, /* it uses the unwinder itself: C (LuaJIT, backtrace()), Rust, the
				 unwinder; or it switches stacks */
};

/* FSC_FRAGILE_FILE_NOT also where the symbols cannot be read. */
enum fsc_fragile_file fsc_fragile_file(struct fsc_elf *e);
/* Whether the file switches stacks, in any of the known ways. */
bool fsc_fragile_switches(struct fsc_elf *e);
/* Whether it may load further files into the process, or run another program in it. */
bool fsc_fragile_loads(struct fsc_elf *e);
/* Whether it is part of the C library, whose functions are known by name. */
bool fsc_fragile_c_library(struct fsc_elf *e);
/* Whether callers may decide what runs inside its functions, by callbacks: any library but the C
 * library, whose functions are known by name. */
bool fsc_fragile_shared(struct fsc_elf *e);

#endif
