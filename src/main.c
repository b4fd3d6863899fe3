/* Finds the command's row, runs it, prints the error, sets the exit code: 0 done, 1 failed, 2
 * usage, 3 a regression (what the command returns). */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
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

/* By a symbolic link of that name, scripts that begin with #!/usr/bin/bpftrace run as they are. */
static bool is_called_bpftrace(const char *path)
{
	return path && !strcmp(fsc_str_base(path), "bpftrace");
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	const struct fsc_cmd *cmd;
	struct fsc_err err = {0};

	hold_standard_descriptors();
	if (!name)
		return exit_code(fsc_err_usage(&err, "no command given; see: funcscope --help"),
				 &err);
	if (!is_called_bpftrace(argv[0]) && (!strcmp(name, "--help") || !strcmp(name, "-h")))
		return exit_code(fsc_cmd_overview(&err), &err);
	if (!strcmp(name, "--version") || !strcmp(name, "-V"))
		return exit_code(fsc_cmd_version(&err), &err);
	if (is_called_bpftrace(argv[0]))
		return run(fsc_cmd_find("run"), argc, argv);
	cmd = fsc_cmd_find(name);
	return cmd ? run(cmd, argc - 1, argv + 1) : unknown_command(name);
}
