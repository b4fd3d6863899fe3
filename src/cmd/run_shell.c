/* Words of a command, and running one. */
#include "cmd/run_shell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"

/* Where the words of a command are written to; text has room for all of them. */
struct words {
	char **at, *text;
	size_t n;
	bool open; /* the last word has begun */
};

static void words_put(struct words *w, char c)
{
	if (!w->open) {
		w->at[w->n++] = w->text;
		w->open = true;
	}
	*w->text++ = c;
}

static void words_end(struct words *w)
{
	if (w->open)
		*w->text++ = '\0';
	w->open = false;
}

/* The letters of a quoted part; returns the closing quote, NULL if there is none. */
static const char *words_quoted(struct words *w, const char *s, char quote)
{
	if (!w->open)
		w->at[w->n++] = w->text; /* '' is a word */
	w->open = true;
	for (; *s && *s != quote; s++) {
		if (quote == '"' && *s == '\\' && (s[1] == '"' || s[1] == '\\'))
			s++;
		words_put(w, *s);
	}
	return *s ? s : NULL;
}

int fsc_run_split(const char *command, char ***ret, struct fsc_err *err)
{
	size_t n = strlen(command), most = n / 2 + 2;
	FSC_AUTO(fsc_freep) char **block = calloc(1, most * sizeof(char *) + n + 2);
	struct words w = {.at = block};

	if (!block)
		return fsc_err_nomem(err);
	w.text = (char *)(block + most);
	for (const char *s = command; *s; s++) {
		if (*s == ' ' || *s == '\t' || *s == '\n') {
			words_end(&w);
		} else if (*s == '\'' || *s == '"') {
			s = words_quoted(&w, s + 1, *s);
			if (!s)
				return fsc_err_usage(err,
						     "a quote in the command of -c is not "
						     "closed: %s",
						     command);
		} else {
			if (*s == '\\' && s[1])
				s++;
			words_put(&w, *s);
		}
	}
	words_end(&w);
	if (!w.n)
		return fsc_err_usage(err, "the command of -c is empty");
	*ret = fsc_take(&block);
	return 0;
}

enum { NO_SHELL = 127 }; /* as shells say it of a command */

static void exec_shell(const char *text, const sigset_t *mask, int out)
{
	dup2(out, STDOUT_FILENO);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execl("/bin/sh", "sh", "-c", text, (char *)NULL);
	_exit(NO_SHELL);
}

int fsc_run_shell(const char *text, const sigset_t *mask, struct fsc_buf *out, struct fsc_err *err)
{
	char part[4096];
	int pipes[2];
	int status = 0;
	ssize_t n;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC))
		return fsc_err_sys(err, errno, "cannot make a pipe");
	pid = fork();
	if (!pid)
		exec_shell(text, mask, pipes[1]);
	close(pipes[1]);
	while (pid > 0 &&
	       ((n = read(pipes[0], part, sizeof(part))) > 0 || (n < 0 && errno == EINTR)))
		if (n > 0)
			fsc_buf_add(out, part, (size_t)n);
	close(pipes[0]);
	if (pid < 0)
		return fsc_err_sys(err, errno, "cannot start a process");
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_SHELL)
		fsc_log(FSC_LOG_WARN, "'%s' was not run: there is no such command, or no /bin/sh",
			text);
	return 0;
}
