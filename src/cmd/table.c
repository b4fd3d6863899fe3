/* The list of commands, and their help texts. */
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "sink/sink.h"

extern const struct fsc_cmd fsc_cmd_count, fsc_cmd_time, fsc_cmd_stack, fsc_cmd_trace, fsc_cmd_gpu,
    fsc_cmd_run, fsc_cmd_attach, fsc_cmd_diff, fsc_cmd_snoop, fsc_cmd_ctl, fsc_cmd_list,
    fsc_cmd_doctor, fsc_cmd_help_row, fsc_cmd_completion;

const struct fsc_cmd *const fsc_cmds[] = {
    &fsc_cmd_count, &fsc_cmd_time,   &fsc_cmd_stack,	&fsc_cmd_trace,	     &fsc_cmd_gpu,
    &fsc_cmd_run,   &fsc_cmd_attach, &fsc_cmd_diff,	&fsc_cmd_snoop,	     &fsc_cmd_ctl,
    &fsc_cmd_list,  &fsc_cmd_doctor, &fsc_cmd_help_row, &fsc_cmd_completion, NULL,
};

const struct fsc_cmd *fsc_cmd_find(const char *name)
{
	for (const struct fsc_cmd *const *c = fsc_cmds; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

int fsc_cmd_help(const struct fsc_cmd *cmd, struct fsc_err *err)
{
	struct fsc_buf b = {0};

	fsc_buf_printf(&b, "usage: funcscope %s [options] %s\n\n%s.\n", cmd->name, cmd->operands,
		       cmd->summary);
	for (const struct fsc_opt *const *t = cmd->opts; *t; t++) {
		if (t == cmd->opts)
			fsc_buf_puts(&b, "\noptions:\n");
		fsc_opt_help(*t, &b);
	}
	fsc_buf_printf(&b, "\nexample: %s\nmore:    funcscope help %s\n", cmd->example, cmd->name);
	return fsc_sink_print(stdout, &b, err);
}

int fsc_cmd_overview(struct fsc_err *err)
{
	struct fsc_buf b = {0};

	fsc_buf_puts(
	    &b, "funcscope: how often is a function called, how long does it take, who calls it?\n"
		"In the kernel, a library or a program; nothing is recompiled or restarted.\n\n"
		"usage: funcscope COMMAND [options] ...\n\n");
	for (const struct fsc_cmd *const *c = fsc_cmds; *c; c++)
		fsc_buf_printf(&b, "  %-11s %s\n", (*c)->name, (*c)->summary);
	fsc_buf_puts(&b,
		     "\nprobes:\n"
		     "  vfs_read  'vfs_*'  k:NAME        kernel functions (r::NAME at return)\n"
		     "  c:malloc  /path/program:work     user functions (r:c:malloc at return)\n"
		     "  t:syscalls:sys_enter_*           tracepoints\n"
		     "  u:LIBRARY:PROBE                  USDT probes\n"
		     "\nexample: funcscope count -d 5 'c:pthread_mutex_*' --by comm\n"
		     "more:    funcscope help COMMAND\n");
	return fsc_sink_print(stdout, &b, err);
}

int fsc_cmd_version(struct fsc_err *err)
{
	struct fsc_buf b = {0};

	fsc_buf_printf(&b, "funcscope %s\n", FSC_VERSION);
	return fsc_sink_print(stdout, &b, err);
}
