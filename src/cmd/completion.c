/* funcscope completion bash|zsh: a completion script, made from the command and option tables. */
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "sink/sink.h"

static void each_option(const struct fsc_cmd *c, struct fsc_buf *b,
			void (*fn)(const struct fsc_opt *o, struct fsc_buf *b))
{
	for (const struct fsc_opt *const *t = c->opts; *t; t++)
		for (const struct fsc_opt *o = *t; o->name; o++)
			if (o->help)
				fn(o, b);
}

static void bash_option(const struct fsc_opt *o, struct fsc_buf *b)
{
	fsc_buf_printf(b, " --%s", o->name);
}

static void bash_choice(const struct fsc_opt *o, struct fsc_buf *b)
{
	if (!o->choices)
		return;
	fsc_buf_puts(b, "\t\t");
	if (o->letter)
		fsc_buf_printf(b, "-%c|", o->letter);
	fsc_buf_printf(b, "--%s) words='", o->name);
	for (int i = 0; o->choices[i]; i++)
		fsc_buf_printf(b, "%s%s", i ? " " : "", o->choices[i]);
	fsc_buf_puts(b, "' ;;\n");
}

static void write_bash(struct fsc_buf *b)
{
	fsc_buf_puts(b, "# bash completion for funcscope\n"
			"_funcscope()\n{\n"
			"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
			"\tlocal words=''\n"
			"\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\twords='--help --version");
	for (const struct fsc_cmd *const *c = fsc_cmds; *c; c++)
		fsc_buf_printf(b, " %s", (*c)->name);
	fsc_buf_puts(b, "'\n\telse\n\t\tcase ${COMP_WORDS[1]} in\n");
	for (const struct fsc_cmd *const *c = fsc_cmds; *c; c++) {
		fsc_buf_printf(b, "\t\t%s) words='--help", (*c)->name);
		each_option(*c, b, bash_option);
		fsc_buf_puts(b, "' ;;\n");
	}
	fsc_buf_puts(b, "\t\tesac\n\t\tcase ${COMP_WORDS[1]} in\n\t\thelp) words='");
	for (const struct fsc_cmd *const *c = fsc_cmds; *c; c++)
		fsc_buf_printf(b, "%s ", (*c)->name);
	fsc_buf_puts(b, "' ;;\n\t\tcompletion) words='bash zsh' ;;\n\t\tesac\n");
	for (const struct fsc_cmd *const *c = fsc_cmds; *c; c++) {
		fsc_buf_printf(b, "\t\t[ \"${COMP_WORDS[1]}\" = %s ] && case $prev in\n",
			       (*c)->name);
		each_option(*c, b, bash_choice);
		fsc_buf_puts(b, "\t\t*) ;;\n\t\tesac\n");
	}
	fsc_buf_puts(b, "\tfi\n"
			"\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
			"}\n"
			"complete -o default -F _funcscope funcscope\n");
}

/* Text for a zsh description inside single quotes and brackets. */
static void zsh_text(const char *s, struct fsc_buf *b)
{
	for (; *s; s++) {
		if (*s == '\'')
			fsc_buf_puts(b, "'\\''");
		else if (strchr("[]:", *s))
			fsc_buf_printf(b, "\\%c", *s);
		else
			fsc_buf_putc(b, *s);
	}
}

static void zsh_argument(const struct fsc_opt *o, struct fsc_buf *b)
{
	if (!o->arg)
		return;
	fsc_buf_printf(b, ":%s:", o->arg);
	if (!o->choices) {
		fsc_buf_puts(b, !strcmp(o->arg, "FILE")	 ? "_files"
				: !strcmp(o->arg, "PID") ? "_pids"
							 : "");
		return;
	}
	fsc_buf_putc(b, '(');
	for (int i = 0; o->choices[i]; i++)
		fsc_buf_printf(b, "%s%s", i ? " " : "", o->choices[i]);
	fsc_buf_putc(b, ')');
}

static void zsh_option(const struct fsc_opt *o, struct fsc_buf *b)
{
	for (int longer = !o->letter; longer < 2; longer++) {
		if (longer)
			fsc_buf_printf(b, "\t\t\t'--%s[", o->name);
		else
			fsc_buf_printf(b, "\t\t\t'-%c[", o->letter);
		zsh_text(o->help, b);
		fsc_buf_putc(b, ']');
		zsh_argument(o, b);
		fsc_buf_puts(b, "' \\\n");
	}
}

static void write_zsh(struct fsc_buf *b)
{
	fsc_buf_puts(b, "#compdef funcscope\n"
			"_funcscope() {\n"
			"\tif (( CURRENT == 2 )); then\n"
			"\t\tlocal -a commands\n\t\tcommands=(\n");
	for (const struct fsc_cmd *const *c = fsc_cmds; *c; c++) {
		fsc_buf_printf(b, "\t\t\t'%s:", (*c)->name);
		zsh_text((*c)->summary, b);
		fsc_buf_puts(b, "'\n");
	}
	fsc_buf_puts(b,
		     "\t\t)\n\t\t_describe command commands\n\t\treturn\n\tfi\n"
		     "\tlocal cmd=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n\tcase $cmd in\n");
	for (const struct fsc_cmd *const *c = fsc_cmds; *c; c++) {
		fsc_buf_printf(b, "\t%s)\n\t\t_arguments -s \\\n", (*c)->name);
		each_option(*c, b, zsh_option);
		fsc_buf_puts(b, "\t\t\t'*:operand:_files'\n\t\t;;\n");
	}
	fsc_buf_puts(b, "\tesac\n}\n_funcscope \"$@\"\n");
}

static int run_completion(int argc, char **argv, char **command, struct fsc_err *err)
{
	static const struct {
		const char *name;
		void (*write)(struct fsc_buf *b);
	} shells[] = {{"bash", write_bash}, {"zsh", write_zsh}};
	struct fsc_buf b = {0};

	for (size_t i = 0; argc == 2 && !command && i < 2; i++)
		if (!strcmp(shells[i].name, argv[1]))
			shells[i].write(&b);
	if (!b.n && !b.failed)
		return fsc_err_usage(err, "completion takes bash or zsh");
	return fsc_sink_print(stdout, &b, err);
}

const struct fsc_cmd fsc_cmd_completion = {
    .name = "completion",
    .summary = "print a completion script for bash or zsh",
    .operands = "bash|zsh",
    .example = "source <(funcscope completion bash)",
    .opts = (const struct fsc_opt *const[]){NULL},
    .run = run_completion,
};
