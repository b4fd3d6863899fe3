/* What trials found, one line per build of the driver: "BUILDID function=8 kernel=8". The file is
 * replaced as a whole, so that a reader sees the old or the new one. */
#include "gpu/trial_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/slurp.h"

/* Drivers change a few times a year; a larger file was not written by us. */
#define SIZE_MAX_BYTES (64 << 10)
#define LINES_MAX      64

char *fsc_trial_cache_path(void)
{
	/* With file capabilities, the user's environment does not decide where to write. */
	const char *dir = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
	char *path = NULL;
	int n = -1;

	if (!geteuid())
		return strdup("/var/cache/funcscope/driver-names");
	if (dir && dir[0] == '/')
		n = asprintf(&path, "%s/funcscope/driver-names", dir);
	else if (home && home[0] == '/')
		n = asprintf(&path, "%s/.cache/funcscope/driver-names", home);
	return n < 0 ? NULL : path;
}

/* NULL if there is no trusted file. Caller frees. */
static char *read_trusted(const char *file)
{
	FSC_AUTO(fsc_closep) int fd = open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	char *text = NULL;
	size_t n;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > SIZE_MAX_BYTES)
		return NULL;
	if ((st.st_uid && st.st_uid != geteuid()) || st.st_mode & 022) {
		fsc_log(FSC_LOG_DEBUG, "ignoring '%s': other users can write to it", file);
		return NULL;
	}
	return fsc_slurp_fd(fd, file, &text, &n, NULL) ? NULL : text;
}

static bool offset_is_sane(int offset)
{
	return offset >= 0 && offset < FSC_TRIAL_OBJECT_MAX && offset % 8 == 0;
}

/* False for a line that we did not write. */
static bool parse_line(const char *line, char id[192], int *function, int *kernel)
{
	int end = -1;

	return sscanf(line, "%191s function=%d kernel=%d%n", id, function, kernel, &end) == 3 &&
	       end >= 0 && !line[end] && offset_is_sane(*function) &&
	       (*kernel == -1 || offset_is_sane(*kernel));
}

bool fsc_trial_cache_find(const char *file, const char *id, struct fsc_gpu_names *ret)
{
	FSC_AUTO(fsc_freep) char *text = read_trusted(file);
	char *rest = text, *line, own[192];
	int function, kernel;

	while (rest && (line = strsep(&rest, "\n"))) {
		if (!parse_line(line, own, &function, &kernel) || strcmp(own, id))
			continue;
		*ret = (struct fsc_gpu_names){
		    .function_offset = function, .kernel_offset = kernel, .from_cache = true};
		if (kernel < 0)
			snprintf(ret->why, sizeof(ret->why), "an earlier trial found no CUkernel");
		return true;
	}
	return false;
}

/* Copies the other lines, newest last; drops the oldest of too many. */
static void keep_others(char *text, const char *id, struct fsc_buf *out)
{
	char *kept[LINES_MAX], *line, own[192];
	size_t n = 0;
	int function, kernel;

	while (text && (line = strsep(&text, "\n")))
		if (parse_line(line, own, &function, &kernel) && strcmp(own, id))
			kept[n++ % LINES_MAX] = line;
	for (size_t i = n < LINES_MAX ? 0 : n - LINES_MAX + 1; i < n; i++)
		fsc_buf_printf(out, "%s\n", kept[i % LINES_MAX]);
}

static void make_directories(const char *file)
{
	FSC_AUTO(fsc_freep) char *path = strdup(file);

	for (char *p = path ? strchr(path + 1, '/') : NULL; p; p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdir(path, 0755); /* an error shows when the file is created */
		*p = '/';
	}
}

/* 0 or a negative errno. */
static int replace_file(const char *file, const char *text, size_t n)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf tmp = {0};
	int rc = 0;

	fsc_buf_printf(&tmp, "%s.%d.tmp", file, (int)getpid());
	if (fsc_buf_failed(&tmp))
		return -ENOMEM;
	unlink(tmp.s); /* left by an earlier process with this pid */
	FSC_AUTO(fsc_closep)
	int fd = open(tmp.s, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	if (write(fd, text, n) != (ssize_t)n)
		rc = errno ? -errno : -EIO;
	if (!rc && rename(tmp.s, file))
		rc = -errno;
	if (rc)
		unlink(tmp.s);
	return rc;
}

void fsc_trial_cache_put(const char *file, const char *id, const struct fsc_gpu_names *names)
{
	FSC_AUTO(fsc_freep) char *text = read_trusted(file);
	FSC_AUTO(fsc_buf_release) struct fsc_buf out = {0};
	int rc;

	keep_others(text, id, &out);
	fsc_buf_printf(&out, "%s function=%d kernel=%d\n", id, names->function_offset,
		       names->kernel_offset);
	make_directories(file);
	rc = fsc_buf_failed(&out) ? -ENOMEM : replace_file(file, out.s, out.n);
	if (rc)
		fsc_log(FSC_LOG_DEBUG, "cannot write '%s': %s", file, fsc_err_text(-rc));
}
