/* Whether this kernel preempts programs on user functions, and what is done about it. */
#ifndef FSC_ENGINE_PREEMPT_H
#define FSC_ENGINE_PREEMPT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "wire/config.h"

/* Whether kernel code can be preempted; true if unknown. mode (may be NULL) gets the mode in words.
 */
bool fsc_preempt_possible(char *mode, size_t n);
/* How programs that are loaded after this call are to take stacks. */
enum fsc_stack_guard fsc_preempt_guard(void);

/* Whether the kernel gave a loaded program a stack of its own per CPU, which the next thread on
 * that CPU overwrites: 1, 0, or -errno if its code cannot be inspected. */
int fsc_preempt_private_stack(int prog_fd);
/* Fails if it did; prog_fd < 0: no program. */
int fsc_preempt_check(const char *name, int prog_fd, struct fsc_err *err);

#endif
