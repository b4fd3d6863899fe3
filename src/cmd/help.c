/* funcscope help [COMMAND]: the manual page of a command, carried in the program. */
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/pages.h"
#include "sink/sink.h"

static int run_help(int argc, char **argv, char **command, struct fsc_err *err)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (argc > 2 || command)
		return fsc_err_usage(err, "help takes one command");
	if (!name)
		return fsc_cmd_overview(err);
	for (const struct fsc_page *p = fsc_pages; p->name; p++)
		if (!strcmp(p->name, name)) {
			struct fsc_buf b = {0};

			fsc_buf_puts(&b, p->text);
			return fsc_sink_print(stdout, &b, err);
		}
	return fsc_err_usage(err, "there is no command '%s'; see: funcscope help", name);
}

const struct fsc_cmd fsc_cmd_help_row = {
    .name = "help",
    .summary = "show the manual page of a command",
    .operands = "[COMMAND]",
    .example = "funcscope help count",
    .opts = (const struct fsc_opt *const[]){NULL},
    .run = run_help,
};
