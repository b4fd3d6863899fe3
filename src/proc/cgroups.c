/* A cgroup's number is the inode number of its directory in the cgroup2 file system. */
#include "proc/cgroups.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"

struct fsc_cgroups {
	char mount[PATH_MAX];
	struct fsc_map ids;   /* number -> index of paths */
	struct fsc_vec paths; /* char * */
};

static int find_mount(char *buf, size_t size)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	int rc = -ENOENT;

	while (f && rc && (m = getmntent(f)))
		if (!strcmp(m->mnt_type, "cgroup2")) {
			snprintf(buf, size, "%s", m->mnt_dir);
			rc = 0;
		}
	if (f)
		endmntent(f);
	return rc;
}

struct fsc_cgroups *fsc_cgroups_new(void)
{
	struct fsc_cgroups *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->paths = FSC_VEC_INIT(char *);
	if (find_mount(c->mount, sizeof(c->mount)))
		c->mount[0] = '\0';
	return c;
}

void fsc_cgroups_free(struct fsc_cgroups *c)
{
	if (!c)
		return;
	fsc_vec_release_owned(&c->paths);
	fsc_map_release(&c->ids);
	free(c);
}

/* nftw() has no argument to pass on. */
static __thread struct fsc_cgroups *walking;

static int visit_directory(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	const char *below = path + strlen(walking->mount);
	uint64_t id = st->st_ino, *slot;
	char **p;
	bool is_new;

	(void)ftw;
	if (type != FTW_D)
		return 0;
	slot = fsc_map_put(&walking->ids, &id, sizeof(id), &is_new);
	if (!slot || !is_new)
		return 0;
	p = fsc_vec_push(&walking->paths);
	if (p)
		*p = strdup(*below ? below : "/");
	*slot = p ? walking->paths.n - 1 : UINT64_MAX;
	return 0;
}

const char *fsc_cgroups_path(struct fsc_cgroups *c, uint64_t id)
{
	uint64_t *slot = fsc_map_get(&c->ids, &id, sizeof(id));

	if (!slot && c->mount[0]) {
		walking = c;
		nftw(c->mount, visit_directory, 16, FTW_PHYS | FTW_MOUNT);
		walking = NULL;
		slot = fsc_map_get(&c->ids, &id, sizeof(id));
		if (!slot) { /* removed: do not walk again for it */
			slot = fsc_map_put(&c->ids, &id, sizeof(id), NULL);
			if (slot)
				*slot = UINT64_MAX;
		}
	}
	return slot && *slot < c->paths.n ? *FSC_AT(char *, &c->paths, *slot) : NULL;
}

int fsc_cgroup_find(const char *path, uint64_t *ret_id, uint32_t *ret_level, struct fsc_err *err)
{
	char mount[PATH_MAX], full[2 * PATH_MAX], real[PATH_MAX];
	struct stat st;
	size_t n;

	if (find_mount(mount, sizeof(mount)))
		return fsc_err_set(err, ENOENT,
				   "no cgroup2 file system is mounted, so --cgroup '%s' "
				   "cannot be looked up",
				   path);
	n = strlen(mount);
	snprintf(full, sizeof(full), "%s", path);
	if (strncmp(path, mount, n) || (path[n] && path[n] != '/'))
		snprintf(full, sizeof(full), "%s/%s", mount, path[0] == '/' ? path + 1 : path);
	if (!realpath(full, real) || stat(real, &st) || !S_ISDIR(st.st_mode))
		return fsc_err_set(err, ENOENT, "there is no cgroup '%s' below %s; see: ls %s",
				   path, mount, mount);
	*ret_id = st.st_ino;
	*ret_level = 0;
	for (const char *p = real + n; *p; p++)
		*ret_level += *p == '/' && p[1];
	return 0;
}
