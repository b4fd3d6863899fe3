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
/* Fills t's nop5, body and stepped from the code at t->offset. */
void fsc_insn_inspect(const struct fsc_elf *e, struct fsc_target *t);

#endif
