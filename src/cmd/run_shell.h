/* What `run` has a shell for, or does like one: the command of -c in words, the output of a command
 * that a script asks for. */
#ifndef FSC_CMD_RUN_SHELL_H
#define FSC_CMD_RUN_SHELL_H

#include <signal.h>

#include "base/buf.h"
#include "base/err.h"

/* Cuts a command into words as a shell would, without expanding anything: blanks separate, quotes
 * and backslashes keep them. The caller frees *ret, one block. */
int fsc_run_split(const char *command, char ***ret, struct fsc_err *err);
/* Runs the text by /bin/sh, with the given signal mask, and appends what it prints. Blocks until it
 * has exited. A command that fails is no error. */
int fsc_run_shell(const char *text, const sigset_t *mask, struct fsc_buf *out, struct fsc_err *err);

#endif
