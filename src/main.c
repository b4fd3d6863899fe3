/* Finds the command's row, runs it, prints the error, sets the exit code: 0 done, 1 failed, 2
 * usage, 3 a regression (what the command returns). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/sigchld.h"
#include "base/str.h"
#include "cmd/cmd.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static int unknown_command(const char *name)
{
	struct fsc_nearest near = {.wanted = name};
	struct fsc_err err = {0};
	char text[540];

	for (const struct fsc_cmd *const *c = fsc_cmds; *c; c++)
		fsc_nearest_offer(&near, (*c)->name);
	fsc_nearest_text(&near, text, sizeof(text));
	if (text[0])
		fsc_err_usage(&err, "there is no command '%s'; did you mean %s?", name, text);
	else
		fsc_err_usage(&err, "there is no command '%s'; see: funcscope --help", name);
	fsc_log_err(&err);
	return EXIT_USAGE;
}

/* Cuts argv at "--"; returns what follows it (an empty list if nothing does), NULL if there is
 * none. */
static char **split_command(int *argc, char **argv)
{
	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--"))
			continue;
		argv[i] = NULL;
		*argc = i;
		return &argv[i + 1];
	}
	return NULL;
}

/* The exit code of what returned rc. */
static int exit_code(int rc, const struct fsc_err *err)
{
	if (rc >= 0)
		return rc;
	fsc_log_err(err);
	return err->usage ? EXIT_USAGE : EXIT_FAILED;
}

static int run(const struct fsc_cmd *cmd, int argc, char **argv)
{
	char **command = split_command(&argc, argv);
	struct fsc_err err = {0};
	int rc;

	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return exit_code(fsc_cmd_help(cmd, &err), &err);
	if (command && !command[0])
		rc = fsc_err_usage(&err, "no command follows '--'");
	else
		rc = cmd->run(argc, argv, command, &err);
	return exit_code(rc, &err);
}

/* A descriptor that we were started without would be the next file's or BPF map's, and what is
 * printed would go there. Output is not lost in silence: of a descriptor held like this, writing
 * fails. */
static void hold_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", O_RDONLY); /* the lowest that is free: this one */
}

/* ---- called bpftrace ---- */

static bool is_called_bpftrace(const char *path)
{
	return path && !strcmp(fsc_str_base(path), "bpftrace");
}

static int print_bpftrace_help(FILE *to, struct fsc_err *err)
{
	const struct fsc_cmd *cmd = fsc_cmd_find("run");
	struct fsc_buf b = {0};

	fsc_buf_puts(&b,
		     "USAGE:\n    bpftrace [options] FILE [PARAMETER...]\n"
		     "    bpftrace [options] -e TEXT [PARAMETER...]\n    bpftrace -l [PATTERN]\n\n"
		     "OPTIONS:\n");
	for (const struct fsc_opt *const *t = cmd->opts; *t; t++)
		fsc_opt_help(*t, &b);
	fsc_buf_puts(&b, "\nThis is funcscope run; more: funcscope help run\n");
	if (!b.failed && fwrite(b.s, 1, b.n, to) == b.n && !fflush(to)) {
		fsc_buf_release(&b);
		return 0;
	}
	fsc_buf_release(&b);
	return fsc_err_sys(err, errno, "cannot write the help");
}

/* By a symbolic link of that name, scripts that begin with #!/usr/bin/bpftrace, and programs that
 * call it, work as they are: errors begin as they do there. */
static int run_bpftrace(int argc, char **argv)
{
	static const char *const prefixes[] = {"ERROR: ", "WARNING: ", "", "DEBUG: "};
	const char *name = argc > 1 ? argv[1] : "";
	struct fsc_err err = {0};
	char **after;
	int rc;

	fsc_log_set_prefixes(prefixes);
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		return exit_code(print_bpftrace_help(stdout, &err), &err);
	if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
		printf("bpftrace v0.27 (funcscope %s)\n", FSC_VERSION);
		return EXIT_DONE;
	}
	after = split_command(&argc, argv);
	rc = fsc_cmd_find("run")->run(argc, argv, after, &err);
	if (rc < 0 && err.usage && !strncmp(err.msg, "unknown option", 14))
		print_bpftrace_help(stderr, NULL);
	return exit_code(rc, &err);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	const struct fsc_cmd *cmd;
	struct fsc_err err = {0};

	hold_standard_descriptors();
	fsc_sigchld_claim();
	if (is_called_bpftrace(argv[0]))
		return run_bpftrace(argc, argv);
	if (!name)
		return exit_code(fsc_err_usage(&err, "no command given; see: funcscope --help"),
				 &err);
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		return exit_code(fsc_cmd_overview(&err), &err);
	if (!strcmp(name, "--version") || !strcmp(name, "-V"))
		return exit_code(fsc_cmd_version(&err), &err);
	cmd = fsc_cmd_find(name);
	return cmd ? run(cmd, argc - 1, argv + 1) : unknown_command(name);
}
