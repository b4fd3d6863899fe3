/* Reading a file of unknown size: files of /proc and tracefs report 0. */
#include "base/slurp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"

#define FIRST_SIZE (64u << 10)
#define SIZE_LIMIT (1u << 30)

/* Doubles the text's memory. */
static int grow_text(char **text, size_t *cap, const char *path, struct fsc_err *err)
{
	size_t bigger = *cap ? *cap * 2 : FIRST_SIZE;
	char *p;

	if (bigger > SIZE_LIMIT)
		return fsc_err_set(err, EFBIG, "'%s' is longer than 1 GB", path);
	p = realloc(*text, bigger);
	if (!p)
		return fsc_err_nomem(err);
	*text = p;
	*cap = bigger;
	return 0;
}

int fsc_slurp_fd(int fd, const char *path, char **ret, size_t *ret_n, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *text = NULL;
	size_t n = 0, cap = 0;

	for (;;) {
		ssize_t got;
		int rc;

		if (cap - n < 2) {
			rc = grow_text(&text, &cap, path, err);
			if (rc)
				return rc;
		}
		got = read(fd, text + n, cap - n - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fsc_err_sys(err, errno, "cannot read '%s'", path);
		if (!got)
			break;
		n += (size_t)got;
	}
	text[n] = '\0';
	*ret = fsc_take(&text);
	*ret_n = n;
	return 0;
}

int fsc_slurp(int dirfd, const char *path, char **ret, size_t *ret_n, struct fsc_err *err)
{
	FSC_AUTO(fsc_closep)
	int fd = openat(dirfd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return fsc_err_sys(err, errno, "cannot open '%s'", path);
	return fsc_slurp_fd(fd, path, ret, ret_n, err);
}
