/* The limit on open files: raised as far as possible, and divided up. */
#include "engine/descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"

/* For the event loop and its timers, rings, calibration, symbol files, output. */
enum { RESERVE = 128 };

static rlim_t machine_limit(void)
{
	FSC_AUTO(fsc_fclosep) FILE *f = fopen("/proc/sys/fs/nr_open", "re");
	unsigned long long n;

	return f && fscanf(f, "%llu", &n) == 1 ? (rlim_t)n : 1 << 20;
}

void fsc_descriptors_raise(size_t wanted)
{
	rlim_t most = machine_limit(), need = wanted < most ? (rlim_t)wanted : most;
	struct rlimit r, more;

	if (getrlimit(RLIMIT_NOFILE, &r))
		return;
	more = (struct rlimit){need, need};
	if (r.rlim_max < need && !setrlimit(RLIMIT_NOFILE, &more))
		return;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

static size_t soft_limit(void)
{
	struct rlimit r;

	return getrlimit(RLIMIT_NOFILE, &r) ? 0 : (size_t)r.rlim_cur;
}

size_t fsc_descriptors_left(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t used = 0, most = soft_limit();

	if (!d)
		return errno == EMFILE ? 0 : most;
	while (readdir(d))
		used++;
	closedir(d);
	used -= 3; /* ".", ".." and the directory */
	return used < most ? most - used : 0;
}

/* Part of what is left, not of the limit: if the programs have used nearly all of it, a link or two
 * that hold every probe still fit. */
static size_t reserve_size(size_t left)
{
	enum { LEAST = 6 }; /* the loop, a timer, signals, a file and its debug file */
	size_t quarter = left / 4, half = left / 2;

	return quarter > LEAST ? quarter : half < LEAST ? half : LEAST;
}

void fsc_descriptors_reserve(size_t tasks, struct fsc_vec *ret)
{
	size_t n = RESERVE + tasks, most = reserve_size(fsc_descriptors_left());
	int first = most ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;

	for (int fd = first; fd >= 0; fd = fcntl(first, F_DUPFD_CLOEXEC, 0)) {
		int *slot = fsc_vec_push(ret);

		if (!slot) {
			close(fd);
			return;
		}
		*slot = fd;
		if (ret->n >= n || ret->n >= most)
			return;
	}
}

void fsc_descriptors_release(struct fsc_vec *held)
{
	for (size_t i = 0; i < held->n; i++)
		close(*FSC_AT(int, held, i));
	fsc_vec_release(held);
}

int fsc_descriptors_err(struct fsc_err *err, const char *what)
{
	return fsc_err_set(
	    err, EMFILE,
	    "out of file descriptors for %s; raise the limit on open files, now %zu (ulimit -n)",
	    what, soft_limit());
}
