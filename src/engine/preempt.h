/* Whether this kernel preempts programs on user functions, and what is done about it. */
#ifndef FSC_ENGINE_PREEMPT_H
#define FSC_ENGINE_PREEMPT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "wire/config.h"

/* Whether code of the kernel can be preempted; where that cannot be found out, it can. The mode in
 * words goes to mode (may be NULL). */
bool fsc_preempt_possible(char *mode, size_t n);
/* How stacks are to be taken, for programs that are loaded after this. */
enum fsc_stack_guard fsc_preempt_guard(void);

/* Whether the kernel gave a loaded program a stack of its own per CPU, which the next thread on
 * that CPU overwrites: 1, 0, or -errno where its code cannot be looked at. */
int fsc_preempt_private_stack(int prog_fd);
/* Fails if it did; prog_fd < 0 is no program. */
int fsc_preempt_check(const char *name, int prog_fd, struct fsc_err *err);

#endif
