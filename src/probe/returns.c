#include "probe/returns.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "probe/foreign.h"

/* What may happen inside the functions of a process that has the file: by its own code. */
static enum fsc_returns_world look_at_file(struct fsc_elf *e)
{
	if (fsc_fragile_file(e) != FSC_FRAGILE_FILE_NOT)
		return FSC_WORLD_WILD;
	return fsc_fragile_loads(e) ? FSC_WORLD_LOADS : FSC_WORLD_TAME;
}

/* Most files are looked at for several probes; known keeps the answers, by path. Of a file that
 * cannot be read nothing is known, as of one that is loaded later. */
static enum fsc_returns_world world_of_file(struct fsc_map *known, const struct fsc_libs_file *f)
{
	uint64_t *answer = fsc_map_get(known, f->path, strlen(f->path));
	FSC_AUTO(fsc_elf_freep) struct fsc_elf *e = NULL;
	enum fsc_returns_world w = FSC_WORLD_LOADS;

	if (answer)
		return (enum fsc_returns_world) * answer;
	if (!fsc_elf_open(f->path, f->root, &e, NULL))
		w = look_at_file(e);
	answer = fsc_map_put(known, f->path, strlen(f->path), NULL);
	if (answer)
		*answer = w;
	return w;
}

static enum fsc_returns_world worse(enum fsc_returns_world a, enum fsc_returns_world b)
{
	return a > b ? a : b;
}

static enum fsc_returns_world world_of_files(struct fsc_map *known, const struct fsc_vec *files)
{
	enum fsc_returns_world w = FSC_WORLD_TAME;

	for (size_t i = 0; w < FSC_WORLD_WILD && i < files->n; i++)
		w = worse(w, world_of_file(known, FSC_AT(struct fsc_libs_file, files, i)));
	return w;
}

/* A script and the loader run another program: nothing is known of it. */
static bool runs_another(const struct fsc_vec *files)
{
	FSC_AUTO(fsc_elf_freep) struct fsc_elf *e = NULL;
	const struct fsc_libs_file *f;

	if (!files->n)
		return true;
	f = FSC_AT(struct fsc_libs_file, files, 0);
	return fsc_elf_open(f->path, f->root, &e, NULL) || fsc_fragile_c_library(e);
}

/* A file, a program or library, with all that it needs. */
static enum fsc_returns_world look_at_needed(struct fsc_map *known, const char *path)
{
	struct fsc_vec files = FSC_VEC_INIT(struct fsc_libs_file);
	enum fsc_returns_world w = FSC_WORLD_LOADS;

	if (!fsc_libs_needed(path, &files, NULL))
		w = world_of_files(known, &files);
	if (w == FSC_WORLD_TAME && !fsc_libs_complete(&files))
		w = FSC_WORLD_LOADS;
	if (runs_another(&files))
		w = FSC_WORLD_WILD;
	fsc_libs_release(&files);
	return w;
}

/* Often asked of one program, for each of its processes. */
static enum fsc_returns_world world_of_needed(struct fsc_map *known, const char *path)
{
	FSC_AUTO(fsc_freep) char *key = NULL; /* no path */
	uint64_t *answer = NULL;
	enum fsc_returns_world w;
	int n = asprintf(&key, "with all that it needs: %s", path);

	if (n < 0)
		key = NULL;
	if (key)
		answer = fsc_map_get(known, key, (size_t)n);
	if (answer)
		return (enum fsc_returns_world) * answer;
	w = look_at_needed(known, path);
	answer = key ? fsc_map_put(known, key, (size_t)n, NULL) : NULL;
	if (answer)
		*answer = w;
	return w;
}

/* What it has mapped; and what it needs, because its loader may still be at work. In another root
 * that is not found where it is searched. */
static enum fsc_returns_world world_of_process(struct fsc_map *known, pid_t pid)
{
	struct fsc_vec files = FSC_VEC_INIT(struct fsc_libs_file);
	enum fsc_returns_world w = FSC_WORLD_LOADS, needed;

	if (!fsc_libs_mapped(pid, &files, NULL) && files.n) {
		const struct fsc_libs_file *program = FSC_AT(struct fsc_libs_file, &files, 0);

		w = world_of_files(known, &files);
		needed = world_of_needed(known, program->path);
		if (needed == FSC_WORLD_WILD || !program->root[0])
			w = worse(w, needed);
	}
	fsc_libs_release(&files);
	return w;
}

void fsc_returns_check_targets(struct fsc_returns_file *r)
{
	const struct fsc_scope *scope = r->scope;

	/* What is preloaded into the command is not looked at. */
	if (scope->command && (getenv("LD_PRELOAD") || getenv("LD_AUDIT")))
		r->processes = FSC_WORLD_LOADS;
	for (size_t i = 0; r->processes < FSC_WORLD_WILD && i < scope->n_pids; i++)
		r->processes = worse(r->processes, world_of_process(r->known, scope->pids[i]));
	if (scope->command)
		r->command = world_of_needed(r->known, scope->command);
}

/* Who runs the file's functions: a library's, the programs that are traced, which may be any; a
 * program's, itself with its libraries. The C library runs no code but its own, except in functions
 * known by name; but where exceptions are, so may be callbacks of its streams. */
static enum fsc_returns_world world_around(const struct fsc_returns_file *r, struct fsc_elf *e,
					   const struct fsc_libs_file *f)
{
	enum fsc_returns_world traced = worse(r->processes, r->command);

	if (fsc_fragile_c_library(e))
		return traced == FSC_WORLD_WILD ? FSC_WORLD_LOADS : FSC_WORLD_TAME;
	if (!fsc_fragile_shared(e))
		return worse(r->processes, world_of_needed(r->known, f->path));
	if (r->scope->strangers)
		return FSC_WORLD_WILD;
	return worse(traced, world_of_needed(r->known, f->path));
}

void fsc_returns_check_file(struct fsc_returns_file *r, struct fsc_elf *e,
			    const struct fsc_libs_file *f)
{
	r->go = fsc_elf_has_section(e, ".gopclntab");
	r->unwinding = fsc_fragile_file(e);
	r->c_library = fsc_fragile_c_library(e);
	r->world = FSC_WORLD_TAME;
	if (r->scope->returns == FSC_RETURNS_BEST)
		r->world = world_around(r, e, f);
}

/* Calls of CUDA's libraries, which are C++ inside: no exception leaves their C interface. */
static bool is_gpu_call(const char *name)
{
	static const char *const prefixes[] = {"cuda",	   "cudnn",    "cublas", "cufft", "curand",
					       "cusparse", "cusolver", "nccl",	 "nvrtc", "nvml"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return !strncmp(name, "cu", 2) && isupper((unsigned char)name[2]);
}

/* Such a call that ends in a jump to another function, which does its work: its end is that one's.
 */
static bool hands_over(const struct fsc_returns_file *r, const struct fsc_sym *sym,
		       const struct fsc_target *t)
{
	if (r->unwinding != FSC_FRAGILE_FILE_CXX || !is_gpu_call(sym->name))
		return false;
	for (size_t i = 0; i < t->n_exits; i++)
		if (t->exits[i].jump)
			return true;
	return false;
}

/* What may pass through the function while its return address is replaced. */
static enum fsc_returns_world world_inside(const struct fsc_returns_file *r,
					   const struct fsc_sym *sym, const struct fsc_target *t)
{
	if (fsc_fragile_function(sym->name) == FSC_FRAGILE_UNWOUND)
		return FSC_WORLD_WILD;
	if (r->unwinding != FSC_FRAGILE_FILE_NOT)
		return hands_over(r, sym, t) ? FSC_WORLD_TAME : FSC_WORLD_WILD;
	if (r->world == FSC_WORLD_TAME || r->c_library)
		return r->world;
	return fsc_foreign_may_run(r->exits.elf, sym) ? r->world : FSC_WORLD_TAME;
}

/* Whether the return of the function is to be caught at its instructions; FSC_WORLD_LOADS: if they
 * can be found. */
static enum fsc_returns_world wants_insns(const struct fsc_returns_file *r,
					  const struct fsc_sym *sym, const struct fsc_target *t)
{
	enum fsc_returns_world world;

	if (fsc_fragile_function(sym->name) == FSC_FRAGILE_ALWAYS ||
	    r->scope->returns == FSC_RETURNS_INSNS)
		return FSC_WORLD_WILD;
	if (r->scope->returns != FSC_RETURNS_BEST)
		return FSC_WORLD_TAME;
	world = world_inside(r, sym, t);
	return world == FSC_WORLD_TAME && r->scope->unwinds ? FSC_WORLD_LOADS : world;
}

static int refuse(const char **ret_why, const char *why)
{
	*ret_why = why;
	return 0;
}

int fsc_returns_choose(const struct fsc_returns_file *r, const struct fsc_sym *sym,
		       struct fsc_target *t, const char **ret_why, struct fsc_err *err)
{
	enum fsc_returns_world wants;
	int rc;

	if (r->go)
		return refuse(ret_why, "return probes crash Go programs");
	if (fsc_exits_is_part(sym->name))
		return refuse(ret_why, "it is part of a function, jumped to and not called");
	rc = fsc_exits_find(&r->exits, sym, t, err);
	if (rc)
		return rc;
	if (t->by_insns && !t->n_exits)
		return refuse(ret_why, "it never returns");
	wants = wants_insns(r, sym, t);
	if (wants == FSC_WORLD_TAME) {
		free(t->exits);
		t->exits = NULL;
		t->by_insns = false;
		return 0;
	}
	if (!t->by_insns && fsc_fragile_function(sym->name) == FSC_FRAGILE_ALWAYS)
		return refuse(ret_why, "catching its return would break the program");
	if (t->by_insns || wants != FSC_WORLD_WILD)
		return 0;
	if (r->scope->returns == FSC_RETURNS_INSNS)
		return refuse(ret_why, "its return instructions cannot be found "
				       "(--returns best may catch them in the kernel)");
	return refuse(ret_why, "its return instructions cannot be found, and an exception or a "
			       "coroutine could not pass a return probe of the kernel "
			       "(--returns trampoline risks it)");
}
