/* What the first instructions of a place mean for a probe on it. */
#ifndef FSC_PROBE_INSN_H
#define FSC_PROBE_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/target.h"
#include "sym/elf.h"

/* Whether the x86-64 code begins with a no-operation that is exactly five bytes long, in any
 * encoding: Linux 6.18 replaces it under a uprobe by a call. */
bool fsc_insn_nop5(const uint8_t *code, size_t n);
/* Whether it begins with an instruction that the kernel emulates under a uprobe (push, call, jump,
 * nop); any other is copied away and single-stepped, which costs a second exception. */
bool fsc_insn_emulated(const uint8_t *code, size_t n);
/* Whether it begins with an instruction that uprobes refuse: locked, with a segment prefix,
 * privileged, a breakpoint. The kernel itself says so only once a process has the file mapped. */
bool fsc_insn_refused(const uint8_t *code, size_t n);
/* Bytes of ModRM, SIB and displacement for a memory or register operand. */
size_t fsc_insn_operand(const uint8_t *p, size_t n);
/* Length of the x86-64 instruction the code begins with, 0 if it is not known. */
size_t fsc_insn_length(const uint8_t *code, size_t n);
/* Whether an instruction begins at `offset` behind a function's start (both in the file); if not,
 * *before and *after (may be 0) are the nearest offsets where one does. */
bool fsc_insn_boundary(const struct fsc_elf *e, uint64_t start, uint64_t offset, uint64_t *before,
		       uint64_t *after);
/* Fills t's nop5, body and stepped from the code at t->offset. */
void fsc_insn_inspect(const struct fsc_elf *e, struct fsc_target *t);

#endif
