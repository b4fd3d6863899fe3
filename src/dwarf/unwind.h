/* The callers of a sampled function, for programs without frame pointers: unwound by their call
 * frame information (.eh_frame) from the registers and a copy of the top of the stack. */
#ifndef FSC_DWARF_UNWIND_H
#define FSC_DWARF_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "proc/spaces.h"

/* Registers by their DWARF numbers, and behind them the program counter. Those a callee may change
 * need not be right. */
#ifdef __aarch64__
enum { FSC_UNWIND_FP = 29, FSC_UNWIND_LR, FSC_UNWIND_SP, FSC_UNWIND_PC, FSC_UNWIND_REGS };
#else /* x86-64: rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15 */
enum { FSC_UNWIND_FP = 6, FSC_UNWIND_SP, FSC_UNWIND_PC = 16, FSC_UNWIND_REGS };
#endif

#define FSC_UNWIND_PAGE 4096

struct fsc_unwind_sample {
	uint64_t regs[FSC_UNWIND_REGS];
	uint64_t sp;	   /* the address that stack was copied from */
	const void *stack; /* borrowed */
	size_t n;	   /* bytes of it */
	uint64_t
	    missing; /* bit i: page i of it (0: that of sp, each FSC_UNWIND_PAGE) is not there */
};

struct fsc_unwind {
	pid_t pid;
	uint64_t time_ns; /* when it was taken, if the process may have run exec since; 0: now */
	struct fsc_unwind_sample sample;
	uint64_t *addrs; /* room for the answer: the sampled address, then return addresses */
	size_t max;	 /* of addrs */
	uint64_t
	    *rules; /* as many: the answer for each address, see dwarf/cfi.h; NULL: not asked */
	size_t n;   /* the answer: how many there are, at least one where max is */
	bool whole; /* the answer: the last one is where the thread began */
	bool cut;   /* the answer: the stack went on where the copy did not reach */
};

/* Fills n and addrs of each. It takes a child process, because libdw trusts the files it reads, and
 * opens every file of a process in it: so the more at once the better. Processes whose maps are not
 * known are looked at. What cannot be unwound ends early, or has its first address alone where a
 * damaged file makes the child die; that is no error. Blocks until done, a minute at most for each
 * process with such a file. */
int fsc_unwind(struct fsc_spaces *spaces, struct fsc_unwind *all, size_t n, struct fsc_err *err);

#endif
