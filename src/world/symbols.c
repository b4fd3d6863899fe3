/* Addresses and numbers by name: symbols of the kernel and of programs, cgroups, signals, and what
 * the kernel's BTF numbers. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "engine/btf.h"
#include "proc/cgroups.h"
#include "proc/libs.h"
#include "world/files.h"
#include "world/machine_priv.h"

/* ---- the kernel's ---- */

/* "ffffffff81000000 T name\t[module]": whether the line is of that name. */
static bool line_names(const char *line, const char *name, uint64_t *ret)
{
	const char *at = strchr(line, ' ');
	size_t n = strlen(name);

	if (!at || !at[1] || at[2] != ' ' || strncmp(at + 3, name, n) ||
	    (at[3 + n] && !strchr(" \t\n", at[3 + n])))
		return false;
	*ret = strtoull(line, NULL, 16);
	return true;
}

int fsc_machine_kaddr(void *arg, const char *name, uint64_t *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_fclosep) FILE *f = fopen("/proc/kallsyms", "re");
	struct fsc_nearest near = {.wanted = name};
	char line[1024], names[540];

	(void)arg;
	if (!f)
		return fsc_err_sys(err, errno, "cannot open /proc/kallsyms");
	while (fgets(line, sizeof(line), f)) {
		if (!line_names(line, name, ret)) {
			line[strcspn(line, "\t\n")] = '\0';
			if (strlen(line) > 19)
				fsc_nearest_offer(&near, line + 19);
			continue;
		}
		if (*ret)
			return 0;
		fsc_err_set(err, EPERM, "the kernel hides the address of '%s'", name);
		return fsc_err_hint(err, "run as root, or set sysctl kernel.kptr_restrict=0");
	}
	fsc_err_set(err, ENOENT, "Failed to resolve kernel symbol: %s", name);
	fsc_nearest_text(&near, names, sizeof(names));
	return names[0] ? fsc_err_hint(err, "did you mean %s?", names) : -ENOENT;
}

uint32_t fsc_machine_kfunc(void *arg, const char *name)
{
	struct fsc_btf *btf = fsc_machine_btf(arg, NULL);

	return btf ? fsc_btf_find(btf, name, FSC_BTF_FUNC) : 0;
}

uint32_t fsc_machine_kvar(void *arg, const char *name)
{
	struct fsc_btf *btf = fsc_machine_btf(arg, NULL);

	return btf ? fsc_btf_find(btf, name, FSC_BTF_VAR) : 0;
}

/* ---- programs' ---- */

static int symbol_of(const struct fsc_machine_file *f, const char *name,
		     struct fsc_world_symbol *ret, struct fsc_err *err)
{
	struct fsc_elf_symbol sym;
	int rc = fsc_elf_symbol_named(f->elf, name, &sym, err);

	if (rc < 0)
		return rc;
	if (!rc)
		return fsc_err_set(err, ENOENT, "Could not resolve symbol: %s:%s", f->path, name);
	*ret = (struct fsc_world_symbol){
	    .address = sym.addr, .size = sym.size, .relocated = fsc_elf_is_relocated(f->elf)};
	return 0;
}

/* Where the program counter is when the probe is hit: behind no-operations that the place begins
 * with, as the attacher has it. */
static bool probed_address(const struct fsc_machine_file *f, const struct fsc_point *point,
			   uint64_t *ret)
{
	const struct fsc_target *at = fsc_targets_at(point->targets, point->place);

	return fsc_elf_addr(f->elf, at->body ? at->body : at->offset, ret);
}

int fsc_machine_uaddr(void *arg, const struct fsc_point *point, const char *name,
		      struct fsc_world_symbol *ret, struct fsc_err *err)
{
	struct fsc_machine *m = arg;
	const char *colon = strrchr(name, ':');
	struct fsc_vec files = FSC_VEC_INIT(struct fsc_libs_file);
	struct fsc_libs_scope scope = {.command = m->opts.command};
	FSC_AUTO(fsc_freep) char *target = NULL;
	struct fsc_machine_file *f;
	int rc = 0;

	if (!colon) {
		f = fsc_machine_file(m, point, err);
		if (!f)
			return err && err->code
				   ? -err->code
				   : fsc_err_set(err, ENOENT,
						 "%s has no program to look '%s' up in",
						 point->name, name);
		rc = symbol_of(f, name, ret, err);
		if (!rc && !probed_address(f, point, &ret->probed))
			rc = fsc_err_set(err, ENOENT, "%s is at no address of its file",
					 point->name);
		return rc;
	}
	target = strndup(name, (size_t)(colon - name));
	if (!target)
		return fsc_err_nomem(err);
	if (m->opts.n_pids)
		scope.pid = m->opts.pids[0];
	rc = fsc_libs_find(target, &scope, &files, err);
	f = rc ? NULL : fsc_machine_file_at(m, FSC_AT(struct fsc_libs_file, &files, 0)->path, err);
	if (!rc)
		rc = f ? symbol_of(f, colon + 1, ret, err) : err ? -err->code : -ENOENT;
	fsc_libs_release(&files);
	return rc;
}

/* ---- cgroups, signals ---- */

int fsc_machine_cgroupid(void *arg, const char *path, uint64_t *ret, struct fsc_err *err)
{
	uint32_t level;

	(void)arg;
	return fsc_cgroup_find(path, ret, &level, err);
}

int fsc_machine_signal(void *arg, const char *name)
{
	(void)arg;
	if (!strncmp(name, "SIG", 3))
		name += 3;
	for (int i = 1; i < NSIG; i++) {
		const char *abbrev = sigabbrev_np(i);

		if (abbrev && !strcmp(abbrev, name))
			return i;
	}
	return -1;
}
