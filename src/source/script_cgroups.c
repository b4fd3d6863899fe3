/* cgroup_path(): a cgroup's number is the inode of its directory, in each hierarchy that is mounted
 * below /sys/fs/cgroup. The second version's is called "unified", others by their controllers. */
#include <dirent.h>
#include <fnmatch.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "source/script_priv.h"

struct hierarchy {
	char *name, *path;
};

static bool directory_is(const char *path, uint64_t id)
{
	struct stat st;

	return !stat(path, &st) && st.st_ino == id;
}

/* Searches path (of room bytes) and what is below it. True: path is the directory. */
static bool cgroup_search(char *path, size_t room, uint64_t id)
{
	size_t n = strlen(path);
	struct dirent *e;
	bool found = false;
	DIR *d;

	if (directory_is(path, id))
		return true;
	d = opendir(path);
	while (d && !found && (e = readdir(d))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		if (n + 1 + strlen(e->d_name) + 1 > room)
			continue;
		sprintf(path + n, "/%s", e->d_name);
		found = cgroup_search(path, room, id);
		if (!found)
			path[n] = '\0';
	}
	if (d)
		closedir(d);
	return found;
}

static int add_hierarchy(struct fsc_vec *all, const struct mntent *m)
{
	bool v2 = !strcmp(m->mnt_type, "cgroup2");
	struct hierarchy *h;

	if (!v2 && strcmp(m->mnt_type, "cgroup"))
		return 0;
	h = fsc_vec_push(all);
	if (!h)
		return -1;
	h->path = strdup(m->mnt_dir);
	h->name = strdup(v2 ? "unified" : fsc_str_base(m->mnt_dir));
	return h->path && h->name ? 0 : -1;
}

/* "unified" first, the others by name. */
static int hierarchy_compare(const void *a, const void *b)
{
	const struct hierarchy *x = a, *y = b;
	bool ux = !strcmp(x->name, "unified"), uy = !strcmp(y->name, "unified");

	return ux || uy ? uy - ux : strcmp(x->name, y->name);
}

static int read_hierarchies(struct fsc_vec *all)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent m;
	char text[PATH_MAX];
	int rc = 0;

	while (f && !rc && getmntent_r(f, &m, text, sizeof(text)))
		rc = add_hierarchy(all, &m);
	if (f)
		endmntent(f);
	if (!rc && all->n)
		qsort(all->data, all->n, sizeof(struct hierarchy), hierarchy_compare);
	return rc;
}

static void find_in(const struct hierarchy *h, uint64_t id, const char *filter, struct fsc_buf *b)
{
	char path[PATH_MAX];
	size_t n = strlen(h->path);

	if ((filter && fnmatch(filter, h->name, 0)) || n >= sizeof(path))
		return;
	strcpy(path, h->path);
	if (cgroup_search(path, sizeof(path), id))
		fsc_buf_printf(b, "%s%s:%s", b->n ? "," : "", h->name, path[n] ? path + n : "/");
}

char *fsc_readings_find_cgroup(uint64_t id, const char *filter)
{
	struct fsc_vec all = FSC_VEC_INIT(struct hierarchy);
	struct fsc_buf b = {0};
	char *text = NULL;

	if (!read_hierarchies(&all)) {
		for (size_t i = 0; i < all.n; i++)
			find_in(FSC_AT(struct hierarchy, &all, i), id, filter, &b);
		text = b.failed ? NULL : strdup(fsc_buf_str(&b));
	}
	for (size_t i = 0; i < all.n; i++) {
		free(FSC_AT(struct hierarchy, &all, i)->name);
		free(FSC_AT(struct hierarchy, &all, i)->path);
	}
	fsc_vec_release(&all);
	fsc_buf_release(&b);
	return text;
}
