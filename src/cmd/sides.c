/* From paths to recordings. */
#include "cmd/sides.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "source/recording.h"

struct file_id {
	dev_t dev;
	ino_t ino;
};

void fsc_side_release(struct fsc_vec *side)
{
	for (size_t i = 0; i < side->n; i++)
		fsc_recording_release(FSC_AT(struct fsc_recording, side, i));
	fsc_vec_release(side);
}

static int remember_file(const char *path, const struct stat *st, struct fsc_vec *seen,
			 struct fsc_err *err)
{
	const struct file_id own = {st->st_dev, st->st_ino};

	for (size_t i = 0; i < seen->n; i++) {
		const struct file_id *id = FSC_AT(struct file_id, seen, i);

		if (id->dev == own.dev && id->ino == own.ino)
			return fsc_err_usage(
			    err, "'%s' is given twice on one side, but it is only one run", path);
	}
	return fsc_vec_add(seen, &own, err);
}

static int read_file(const char *path, struct fsc_vec *ret, struct fsc_vec *seen,
		     struct fsc_err *err)
{
	struct fsc_recording rec;
	struct stat st;
	bool cut;
	int rc = fsc_recording_read(path, &rec, &cut, err);

	if (rc)
		return rc;
	rc = fsc_vec_add(ret, &rec, err);
	if (rc) {
		fsc_recording_release(&rec);
		return rc;
	}
	if (cut)
		fsc_log(FSC_LOG_WARN, "'%s' is truncated; only its complete part is used", path);
	return stat(path, &st) ? 0 : remember_file(path, &st, seen, err);
}

static int is_recording(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return d->d_name[0] != '.' && n > 5 && !strcmp(d->d_name + n - 5, ".json");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int read_entry(const char *dir, const char *name, struct fsc_vec *ret, struct fsc_vec *seen,
		      struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *path = NULL;

	if (asprintf(&path, "%s/%s", dir, name) < 0) {
		path = NULL;
		return fsc_err_nomem(err);
	}
	return read_file(path, ret, seen, err);
}

static int read_dir(const char *dir, struct fsc_vec *ret, struct fsc_vec *seen, struct fsc_err *err)
{
	struct dirent **list;
	int n = scandir(dir, &list, is_recording, by_name), rc = 0;

	if (n < 0)
		return fsc_err_sys(err, errno, "cannot read the directory '%s'", dir);
	if (!n)
		rc = fsc_err_set(err, ENOENT, "there is no recording (*.json) in '%s'", dir);
	for (int i = 0; i < n; i++) {
		if (!rc)
			rc = read_entry(dir, list[i]->d_name, ret, seen, err);
		free(list[i]);
	}
	free(list);
	return rc;
}

int fsc_side_read(const struct fsc_vec *paths, struct fsc_vec *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_vec_release) struct fsc_vec seen = FSC_VEC_INIT(struct file_id);
	int rc = 0;

	for (size_t i = 0; !rc && i < paths->n; i++) {
		const char *path = *FSC_AT(const char *, paths, i);
		struct stat st;
		bool dir = !stat(path, &st) && S_ISDIR(st.st_mode);

		rc = (dir ? read_dir : read_file)(path, ret, &seen, err);
	}
	return rc;
}
