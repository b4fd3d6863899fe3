/* The probed functions are written in assembly, so that their first instruction is known. */
#include "engine/self.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"

#define STR(x)	   #x
#define TYPE(name) ".globl " STR(name) "\n.type " STR(name) ", " FUNCTION "\n" STR(name) ":\n"
#define SIZE(name) ".size " STR(name) ", . - " STR(name) "\n"
/* The last instruction has a symbol, too. */
#define WHOLE(name, body)                                                                          \
	TYPE(name) body ".globl " STR(name##_end) "\n" STR(name##_end) ":\n\tret\n" SIZE(name)

#if defined(__x86_64__)
#define FUNCTION "@function"
#define ORDINARY "\tpushq %rbp\n\tmovq %rsp, %rbp\n\tpopq %rbp\n"
#define STEPPED	 "\tleaq 1(%rdi), %rax\n"
#define NOP5	 "\t.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\tpushq %rbp\n\tpopq %rbp\n"
#elif defined(__aarch64__)
#define FUNCTION "%function"
#define ORDINARY "\tstp x29, x30, [sp, #-16]!\n\tmov x29, sp\n\tldp x29, x30, [sp], #16\n"
#define STEPPED	 "\tadd x0, x0, #1\n"
#define NOP5	 "\tstp x29, x30, [sp, #-16]!\n\tldp x29, x30, [sp], #16\n"
#else
#error "funcscope runs on x86-64 and arm64"
#endif

__asm__(".text\n.p2align 4\n" WHOLE(fsc_self_ordinary, ORDINARY) WHOLE(fsc_self_stepped, STEPPED)
	    WHOLE(fsc_self_ordinary_ret, ORDINARY) WHOLE(fsc_self_stepped_ret, STEPPED)
		WHOLE(fsc_self_ordinary_insns, ORDINARY)
		    WHOLE(fsc_self_stepped_insns, STEPPED) ".p2align 4\n" WHOLE(fsc_self_nop5,
										NOP5));

int fsc_self_offset(void (*fn)(void), uint64_t *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_fclosep) FILE *f = fopen("/proc/self/maps", "re");
	uint64_t addr = (uint64_t)(uintptr_t)fn, start, end, offset;
	char line[512];

	if (!f)
		return fsc_err_sys(err, errno, "cannot read /proc/self/maps");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) != 3)
			continue;
		if (addr >= start && addr < end) {
			*ret = addr - start + offset;
			return 0;
		}
	}
	return fsc_err_set(err, ENOENT, "cannot find our own code in /proc/self/maps");
}
