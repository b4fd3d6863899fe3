/* The probed functions are written in assembly, so that their first instruction is known. */
#include "engine/self.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"

#if defined(__x86_64__)
__asm__(".text\n"
	".globl fsc_self_ordinary\n.type fsc_self_ordinary, @function\n"
	"fsc_self_ordinary:\n\tpushq %rbp\n\tmovq %rsp, %rbp\n\tpopq %rbp\n"
	".globl fsc_self_ordinary_end\nfsc_self_ordinary_end:\n\tret\n"
	".size fsc_self_ordinary, . - fsc_self_ordinary\n"
	".globl fsc_self_stepped\n.type fsc_self_stepped, @function\n"
	"fsc_self_stepped:\n\tleaq 1(%rdi), %rax\n"
	".globl fsc_self_stepped_end\nfsc_self_stepped_end:\n\tret\n"
	".size fsc_self_stepped, . - fsc_self_stepped\n"
	".p2align 4\n"
	".globl fsc_self_nop5\n.type fsc_self_nop5, @function\n"
	"fsc_self_nop5:\n\t.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\tpushq %rbp\n\tpopq %rbp\n\tret\n"
	".size fsc_self_nop5, . - fsc_self_nop5\n");
#elif defined(__aarch64__)
__asm__(".text\n.p2align 2\n"
	".globl fsc_self_ordinary\n.type fsc_self_ordinary, %function\n"
	"fsc_self_ordinary:\n\tstp x29, x30, [sp, #-16]!\n\tmov x29, sp\n"
	"\tldp x29, x30, [sp], #16\n"
	".globl fsc_self_ordinary_end\nfsc_self_ordinary_end:\n\tret\n"
	".size fsc_self_ordinary, . - fsc_self_ordinary\n"
	".globl fsc_self_stepped\n.type fsc_self_stepped, %function\n"
	"fsc_self_stepped:\n\tadd x0, x0, #1\n"
	".globl fsc_self_stepped_end\nfsc_self_stepped_end:\n\tret\n"
	".size fsc_self_stepped, . - fsc_self_stepped\n"
	".globl fsc_self_nop5\n.type fsc_self_nop5, %function\n"
	"fsc_self_nop5:\n\tstp x29, x30, [sp, #-16]!\n\tldp x29, x30, [sp], #16\n\tret\n"
	".size fsc_self_nop5, . - fsc_self_nop5\n");
#else
#error "funcscope runs on x86-64 and arm64"
#endif

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
