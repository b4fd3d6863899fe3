/* A machine's life, and the memory of what it has answered. */
#include "world/machine.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/btf.h"
#include "engine/helpers.h"
#include "kernel/tracefs.h"
#include "world/files.h"
#include "world/machine_priv.h"

/* ---- memory ---- */

static int machine_keep(struct fsc_machine *m, void *p, struct fsc_err *err)
{
	void **slot = p ? fsc_vec_push(&m->owned) : NULL;

	if (!slot) {
		free(p);
		return fsc_err_nomem(err);
	}
	*slot = p;
	return 0;
}

void *fsc_machine_alloc(struct fsc_machine *m, size_t n, struct fsc_err *err)
{
	void *p = calloc(1, n ? n : 1);

	return machine_keep(m, p, err) ? NULL : p;
}

const char *fsc_machine_text(struct fsc_machine *m, struct fsc_err *err, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	return machine_keep(m, text, err) ? NULL : text;
}

int fsc_matches_add(struct fsc_matches *to, const struct fsc_point *point, struct fsc_err *err)
{
	struct fsc_point *p = fsc_machine_alloc(to->m, sizeof(*p), err);
	int rc;

	if (!p || !point->name)
		return fsc_err_nomem(err);
	*p = *point;
	p->type = fsc_providers[0].type;
	for (const struct fsc_provider *v = fsc_providers; v->name; v++)
		if (v->kind == p->kind)
			p->type = v->type;
	to->n++;
	rc = to->add(to->to, p);
	return rc == -ENOMEM ? fsc_err_nomem(err) : rc;
}

/* ---- what is opened once ---- */

struct fsc_targets *fsc_machine_targets(struct fsc_machine *m, struct fsc_err *err)
{
	struct fsc_targets *t = malloc(sizeof(*t)), **slot = t ? fsc_vec_push(&m->targets) : NULL;

	if (!slot) {
		free(t);
		fsc_err_nomem(err);
		return NULL;
	}
	fsc_targets_init(t);
	t->apart = true;
	*slot = t;
	return t;
}

int fsc_machine_tracefs(struct fsc_machine *m, struct fsc_err *err)
{
	if (m->tracefs < 0)
		m->tracefs = fsc_tracefs_open(err);
	return m->tracefs;
}

struct fsc_btf *fsc_machine_btf(struct fsc_machine *m, struct fsc_err *err)
{
	if (!m->btf_tried && fsc_btf_open(NULL, NULL, &m->btf, err))
		m->btf = NULL;
	else if (!m->btf)
		fsc_err_set(err, ENODATA, "the kernel has no type information (BTF)");
	m->btf_tried = true;
	return m->btf;
}

struct fsc_btf *fsc_machine_module_btf(struct fsc_machine *m, const char *module)
{
	struct fsc_btf *kernel = fsc_machine_btf(m, NULL);
	struct fsc_machine_module *slot;

	if (!kernel)
		return NULL;
	for (size_t i = 0; i < m->modules.n; i++) {
		slot = FSC_AT(struct fsc_machine_module, &m->modules, i);
		if (!strcmp(slot->name, module))
			return slot->btf;
	}
	slot = fsc_vec_push(&m->modules);
	if (!slot)
		return NULL;
	slot->name = strdup(module);
	if (!slot->name) {
		m->modules.n--;
		return NULL;
	}
	if (fsc_btf_open(module, kernel, &slot->btf, NULL))
		slot->btf = NULL;
	return slot->btf;
}

/* ---- life ---- */

/* The number of CPUs in a list of the kernel's, "0-3,8": of the last, plus 1. */
static unsigned last_cpu(const char *path)
{
	FSC_AUTO(fsc_fclosep) FILE *f = fopen(path, "re");
	char line[256];
	const char *last;

	if (!f || !fgets(line, sizeof(line), f))
		return 0;
	last = line + strlen(line);
	while (last > line && !strchr(",-", last[-1]))
		last--;
	return (unsigned)strtoul(last, NULL, 10) + 1;
}

static void machine_look_around(struct fsc_machine *m)
{
	struct fsc_world *w = &m->world;
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	struct stat st;

	w->n_online = online > 0 ? (unsigned)online : 1;
	w->n_cpus = last_cpu("/sys/devices/system/cpu/possible");
	if (w->n_cpus < w->n_online)
		w->n_cpus = w->n_online;
	/* The initial namespace has this number in every kernel. */
	if (!stat("/proc/self/ns/pid", &st) && st.st_ino != 0xeffffffc) {
		w->pidns_dev = st.st_dev;
		w->pidns_ino = st.st_ino;
	}
	w->big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	fsc_helpers_features(&w->features);
}

int fsc_machine_new(const struct fsc_machine_opts *opts, struct fsc_machine **ret,
		    struct fsc_err *err)
{
	struct fsc_machine *m = malloc(sizeof(*m));

	if (!m)
		return fsc_err_nomem(err);
	*m = (struct fsc_machine){
	    .world = {.arg = m,
		      .match = fsc_machine_match,
		      .args = fsc_machine_args,
		      .type = fsc_machine_type,
		      .enumerator = fsc_machine_enumerator,
		      .nearest_type = fsc_machine_nearest_type,
		      .kaddr = fsc_machine_kaddr,
		      .uaddr = fsc_machine_uaddr,
		      .cgroupid = fsc_machine_cgroupid,
		      .kfunc = fsc_machine_kfunc,
		      .kvar = fsc_machine_kvar,
		      .signal = fsc_machine_signal},
	    .opts = *opts,
	    .owned = FSC_VEC_INIT(void *),
	    .targets = FSC_VEC_INIT(struct fsc_targets *),
	    .modules = FSC_VEC_INIT(struct fsc_machine_module),
	    .files = FSC_VEC_INIT(struct fsc_machine_file *),
	    .tracefs = -1,
	};
	/* What a struct points to is asked for by its name. */
	fsc_types_init(&m->types, 0);
	machine_look_around(m);
	*ret = m;
	return 0;
}

void fsc_machine_free(struct fsc_machine *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->targets.n; i++)
		fsc_targets_release(*FSC_AT(struct fsc_targets *, &m->targets, i));
	fsc_vec_release_owned(&m->targets);
	for (size_t i = 0; i < m->modules.n; i++) {
		fsc_btf_free(FSC_AT(struct fsc_machine_module, &m->modules, i)->btf);
		free(FSC_AT(struct fsc_machine_module, &m->modules, i)->name);
	}
	fsc_vec_release(&m->modules);
	fsc_machine_files_release(m);
	fsc_btf_free(m->btf);
	fsc_ksyms_release(&m->ksyms);
	fsc_types_release(&m->types);
	fsc_vec_release_owned(&m->owned);
	fsc_closep(&m->tracefs);
	free(m);
}

void fsc_machine_freep(struct fsc_machine **m)
{
	fsc_machine_free(*m);
}

const struct fsc_world *fsc_machine_world(struct fsc_machine *m)
{
	return &m->world;
}

void fsc_machine_skipped(const struct fsc_machine *m,
			 void (*fn)(void *arg, const char *name, const char *why), void *arg)
{
	for (size_t i = 0; i < m->targets.n; i++) {
		const struct fsc_targets *t = *FSC_AT(struct fsc_targets *, &m->targets, i);

		for (size_t j = 0; j < t->skipped.n; j++) {
			const struct fsc_skipped *s = FSC_AT(struct fsc_skipped, &t->skipped, j);

			fn(arg, s->name, s->why);
		}
	}
}
