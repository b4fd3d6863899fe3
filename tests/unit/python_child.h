/* A python3 that waits in nested functions, for test_python.c and test_python_kernel.c: in a
 * method, below a function that C code calls (sorted), below a generator. It says "ready" and waits
 * for a letter on its standard input, then calls getppid(); once in its first thread, once in
 * another, once in a forked child, which then waits for the end of its input. */
#ifndef FSC_TESTS_PYTHON_CHILD_H
#define FSC_TESTS_PYTHON_CHILD_H

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char python_program[] = "import os, threading\n"
				     "class Weg:\n"
				     "    def größe(self, n):\n"
				     "        os.write(1, b'ready'); what = os.read(0,\n"
				     "            n)\n"
				     "        os.getppid()\n"
				     "        return what\n"
				     "def each(x):\n"
				     "    return Weg().größe(x)\n"
				     "def outer():\n"
				     "    return sorted([1],\n"
				     "        key=each)\n"
				     "def produce():\n"
				     "    yield outer()\n"
				     "def 寄():\n"
				     "    for _ in produce():\n"
				     "        pass\n"
				     "寄()\n"
				     "thread = threading.Thread(target=寄)\n"
				     "thread.start()\n"
				     "thread.join()\n"
				     "if os.fork():\n"
				     "    os.wait()\n"
				     "寄()\n"
				     "os.read(0, 1)\n";

/* Where it waits, the innermost first; in 3.10 functions come without their class. */
static const struct python_place {
	const char *function;
	unsigned waits, asks; /* lines, while it waits and in getppid() */
} python_places[] = {
    {"Weg.größe", 4, 6}, {"each", 9, 9}, {"outer", 11, 11}, {"produce", 14, 14}, {"寄", 16, 16},
};

/* By name in PATH, or by path. Versions that are not there are passed over. */
static const char *const pythons[] = {"/usr/bin/python3", "python3",	"python3.10", "python3.11",
				      "python3.12",	  "python3.13", "python3.14"};

struct python_child {
	pid_t pid;
	int in, out;
};

static int python_ready(const struct python_child *c)
{
	char said[16] = "";

	return read(c->out, said, 5) == 5 && !strcmp(said, "ready");
}

/* Whether there is such a program and it came to where it waits; contained: in a pid namespace of
 * its own, where it has another number. */
static int python_start(const char *python, int contained, struct python_child *c)
{
	int in[2], out[2], own;

	if (pipe(in) || pipe(out) || (contained && unshare(CLONE_NEWPID)))
		abort();
	c->pid = fork();
	if (!c->pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		if (!freopen("/dev/null", "w", stderr))
			_exit(126);
		for (int i = 3; i < 32; i++)
			close(i);
		/* Leaks of the sanitizers' own runtime are not Python's business. */
		unsetenv("LD_PRELOAD");
		execlp(python, python, "-X", "utf8", "-c", python_program, (char *)NULL);
		_exit(127);
	}
	own = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	if (own < 0 || (contained && setns(own, CLONE_NEWPID)))
		abort();
	close(own);
	close(in[0]);
	close(out[1]);
	c->in = in[1];
	c->out = out[0];
	return python_ready(c);
}

/* Also ends a forked child of it, whose input ends. */
static void python_stop(struct python_child *c)
{
	close(c->in);
	close(c->out);
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
}

#endif
