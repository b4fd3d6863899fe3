/* Types and enumerators by name: of the probed program first, where it has debug information, then
 * of the module, then of the kernel. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "dwarf/named.h"
#include "engine/btf.h"
#include "world/ctype.h"
#include "world/files.h"
#include "world/machine_priv.h"

static const struct {
	const char *word;
	unsigned what;
} words[] = {
    {"struct ", FSC_BTF_STRUCT},
    {"union ", FSC_BTF_UNION},
    {"enum ", FSC_BTF_ENUM},
    {"", FSC_BTF_TYPEDEF | FSC_BTF_NUMBER},
};

/* ---- of programs ---- */

/* NULL: the file has none, or no debug information. Asked once for each name of a sort. */
static const struct fsc_type *ask_file(struct fsc_machine_file *f, const char *name, char sort,
				       int (*ask)(struct fsc_elf *e, const char *name,
						  struct fsc_types *types,
						  const struct fsc_type **ret, struct fsc_err *err))
{
	const struct fsc_type *type = NULL, **slot;
	uint64_t *known;
	char key[256];
	bool is_new;

	snprintf(key, sizeof(key), "%c%s", sort, name);
	known = fsc_map_put(&f->names, key, strlen(key), &is_new);
	if (!known)
		return NULL;
	if (!is_new)
		return *FSC_AT(const struct fsc_type *, &f->found, *known);
	*known = f->found.n;
	if (ask(f->elf, name, &f->types, &type, NULL))
		type = NULL;
	slot = fsc_vec_push(&f->found);
	if (!slot) {
		fsc_map_remove(&f->names, key, strlen(key));
		return type;
	}
	*slot = type;
	return type;
}

static struct fsc_machine_file *file_near(struct fsc_machine *m, const struct fsc_point *near)
{
	return near ? fsc_machine_file(m, near, NULL) : NULL;
}

/* ---- of the kernel ---- */

static bool type_in(struct fsc_machine *m, struct fsc_btf *btf, const char *name,
		    struct fsc_world_type *ret)
{
	for (size_t i = 0; btf && i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i].word);
		uint32_t id;

		if (strncmp(name, words[i].word, n))
			continue;
		id = fsc_btf_find(btf, name + n, words[i].what);
		return id && !fsc_btf_type(btf, id, &m->types, &ret->type, NULL) && ret->type;
	}
	return false;
}

static struct fsc_btf *module_near(struct fsc_machine *m, const struct fsc_point *near)
{
	bool kernel =
	    near && (near->kind == FSC_POINT_KPROBE || near->kind == FSC_POINT_KRETPROBE ||
		     near->kind == FSC_POINT_FENTRY || near->kind == FSC_POINT_FEXIT ||
		     near->kind == FSC_POINT_RAWTRACEPOINT);

	if (!kernel || !near->target || !strcmp(near->target, "vmlinux"))
		return NULL;
	return fsc_machine_module_btf(m, near->target);
}

bool fsc_machine_type(void *arg, const char *name, const struct fsc_point *near,
		      struct fsc_world_type *ret)
{
	struct fsc_machine *m = arg;
	struct fsc_machine_file *f = file_near(m, near);

	ret->type = f ? ask_file(f, name, 't', fsc_dwarf_named) : NULL;
	if (ret->type)
		return true;
	/* What every C program has needs no file. */
	ret->type = fsc_ctype_number(name);
	return ret->type || type_in(m, module_near(m, near), name, ret) ||
	       type_in(m, fsc_machine_btf(m, NULL), name, ret);
}

static bool enumerator_in(struct fsc_machine *m, struct fsc_btf *btf, const char *name,
			  struct fsc_world_enumerator *ret)
{
	uint32_t id;

	return btf && fsc_btf_enumerator(btf, name, &ret->value, &id) &&
	       !fsc_btf_type(btf, id, &m->types, &ret->type, NULL);
}

bool fsc_machine_enumerator(void *arg, const char *name, const struct fsc_point *near,
			    struct fsc_world_enumerator *ret)
{
	struct fsc_machine *m = arg;
	struct fsc_machine_file *f = file_near(m, near);

	ret->type = f ? ask_file(f, name, 'e', fsc_dwarf_enum_of) : NULL;
	for (size_t i = 0; ret->type && i < ret->type->n_enumerators; i++) {
		if (strcmp(ret->type->enumerators[i].name, name))
			continue;
		ret->value = ret->type->enumerators[i].value;
		return true;
	}
	return enumerator_in(m, module_near(m, near), name, ret) ||
	       enumerator_in(m, fsc_machine_btf(m, NULL), name, ret);
}

static int offer_type(void *arg, uint32_t id, const char *name, unsigned what)
{
	char full[160];

	(void)id;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].what & what)
			snprintf(full, sizeof(full), "%s%s", words[i].word, name);
	fsc_nearest_offer(arg, full);
	return 0;
}

void fsc_machine_nearest_type(void *arg, struct fsc_nearest *nearest)
{
	struct fsc_btf *btf = fsc_machine_btf(arg, NULL);

	if (btf)
		fsc_btf_each(btf, FSC_BTF_STRUCT | FSC_BTF_UNION | FSC_BTF_ENUM | FSC_BTF_TYPEDEF,
			     offer_type, nearest);
}
