#include "cmd/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int fsc_scratch_make(struct fsc_scratch *s, struct fsc_err *err)
{
	static const char *const below[] = {"/dev/shm", "/tmp"};

	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		snprintf(s->path, sizeof(s->path), "%s/funcscope.XXXXXX", below[i]);
		if (mkdtemp(s->path))
			return 0;
	}
	s->path[0] = '\0';
	return fsc_err_sys(err, errno, "cannot make a directory below /dev/shm or /tmp");
}

void fsc_scratch_remove(struct fsc_scratch *s)
{
	DIR *d = s->path[0] ? opendir(s->path) : NULL;
	struct dirent *e;

	while (d && (e = readdir(d)))
		unlinkat(dirfd(d), e->d_name, 0); /* "." and ".." refuse */
	if (d)
		closedir(d);
	if (s->path[0])
		rmdir(s->path);
	s->path[0] = '\0';
}
