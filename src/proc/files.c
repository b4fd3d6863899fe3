/* Opening the files that processes have mapped, each once, and keeping them: an open file outlives
 * its name and its process, and its inode cannot become another file's. What cannot be opened is
 * remembered as well. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "proc/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "proc/libs.h"
#include "proc/process.h"

#define VDSO "[vdso]"

struct file_key {
	uint64_t dev, ino;
};

static void file_free(struct fsc_space_file *f)
{
	if (!f)
		return;
	fsc_elf_free(f->elf);
	free(f->name);
	free(f);
}

static void file_freep(struct fsc_space_file **f)
{
	file_free(*f);
}

void fsc_files_init(struct fsc_files *f)
{
	*f = (struct fsc_files){.all = FSC_VEC_INIT(struct fsc_space_file *), .vdso = -1};
}

void fsc_files_release(struct fsc_files *f)
{
	for (size_t i = 0; i < f->all.n; i++)
		file_free(*FSC_AT(struct fsc_space_file *, &f->all, i));
	fsc_vec_release(&f->all);
	fsc_map_release(&f->index);
	fsc_closep(&f->vdso);
	f->vdso = -1;
}

/* Whether path is the file that the process had mapped. While it runs, fsc_process_locate() has
 * checked its link. Afterwards only inodes can be compared: btrfs and overlayfs show another device
 * in maps than in stat. */
static bool is_still(const char *path, pid_t pid, const struct fsc_mapping *m)
{
	struct stat st;
	char link[96];

	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", (int)pid,
		 (unsigned long long)m->start, (unsigned long long)m->end);
	return !stat(link, &st) || (!stat(path, &st) && st.st_ino == m->ino);
}

/* Opens the file of a mapping; *ret stays NULL on failure. */
static int open_mapped(pid_t pid, const struct fsc_mapping *m, struct fsc_elf **ret,
		       struct fsc_err *err)
{
	struct fsc_vec found = FSC_VEC_INIT(struct fsc_libs_file);
	struct fsc_err why = {0};
	char root[32];
	int rc;

	fsc_process_root(pid, root);
	rc = fsc_process_locate(pid, root, m, &found, err);
	if (rc > 0) {
		const struct fsc_libs_file *f = FSC_AT(struct fsc_libs_file, &found, 0);

		rc = is_still(f->path, pid, m) ? fsc_elf_open(f->path, f->root, ret, &why) : 0;
		if (rc == -ENOMEM)
			rc = fsc_err_nomem(err);
		else if (rc)
			fsc_log(FSC_LOG_DEBUG, "no symbols: %s", why.msg);
	}
	fsc_libs_release(&found);
	return rc == -ENOMEM ? rc : 0;
}

/* A copy of our own vdso, which all processes share, as a memfd; -1: none. */
static int copy_vdso(void)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	struct fsc_vec maps = FSC_VEC_INIT(struct fsc_mapping);
	FSC_AUTO(fsc_closep) int fd = memfd_create("vdso", MFD_CLOEXEC);
	ssize_t put = -1;

	if (!fsc_maps_read(getpid(), true, &maps, NULL)) {
		for (size_t i = 0; fd >= 0 && image && i < maps.n; i++) {
			const struct fsc_mapping *m = FSC_AT(struct fsc_mapping, &maps, i);

			if (m->start == (uint64_t)(uintptr_t)image)
				put = write(fd, image, m->end - m->start);
		}
	}
	fsc_maps_release(&maps);
	return put > 0 ? fsc_take_fd(&fd) : -1;
}

static int open_vdso(struct fsc_files *f, struct fsc_elf **ret, struct fsc_err *err)
{
	char path[32];
	int rc;

	f->vdso = copy_vdso();
	if (f->vdso < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->vdso);
	rc = fsc_elf_open(path, "", ret, err);
	return rc == -ENOMEM ? rc : 0;
}

static int add_file(struct fsc_files *f, pid_t pid, const struct fsc_mapping *m,
		    struct fsc_err *err)
{
	FSC_AUTO(file_freep) struct fsc_space_file *file = calloc(1, sizeof(*file));
	struct fsc_space_file **place;
	int rc;

	if (!file)
		return fsc_err_nomem(err);
	file->name = strdup(m->path);
	file->number = (uint32_t)f->all.n;
	if (!file->name)
		return fsc_err_nomem(err);
	rc = m->ino ? open_mapped(pid, m, &file->elf, err) : open_vdso(f, &file->elf, err);
	if (rc)
		return rc;
	place = fsc_vec_push(&f->all);
	if (!place)
		return fsc_err_nomem(err);
	*place = fsc_take(&file);
	return 0;
}

int fsc_files_get(struct fsc_files *f, pid_t pid, const struct fsc_mapping *m,
		  const struct fsc_space_file **ret, struct fsc_err *err)
{
	struct file_key key = {.dev = m->dev, .ino = m->ino};
	uint64_t *slot;
	int rc;

	*ret = NULL;
	if (!m->ino && strcmp(m->path, VDSO) != 0)
		return 0;
	slot = fsc_map_put(&f->index, &key, sizeof(key), NULL);
	if (!slot)
		return fsc_err_nomem(err);
	if (!*slot) {
		rc = add_file(f, pid, m, err);
		if (rc)
			return rc;
		*slot = f->all.n;
	}
	*ret = *FSC_AT(struct fsc_space_file *, &f->all, *slot - 1);
	return 0;
}
