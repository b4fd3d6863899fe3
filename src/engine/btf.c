/* Looking names up in BTF. Strings are unique there, so a name is searched as a string first, and
 * types are then compared by a number: 0.3 ms instead of 2 for the 130,000 types of a kernel. */
#include "engine/btf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "engine/btf_priv.h"

/* ---- life ---- */

static void btf_freep(struct fsc_btf **b)
{
	fsc_btf_free(*b);
}

int fsc_btf_open(const char *module, struct fsc_btf *kernel, struct fsc_btf **ret,
		 struct fsc_err *err)
{
	FSC_AUTO(btf_freep) struct fsc_btf *b = calloc(1, sizeof(*b));
	char path[128];
	int rc;

	if (!b)
		return fsc_err_nomem(err);
	b->fd = -1;
	b->module = module ? strdup(module) : NULL;
	if (module && !b->module)
		return fsc_err_nomem(err);
	b->kernel = module ? kernel : NULL;
	snprintf(path, sizeof(path), "/sys/kernel/btf/%s", module ? module : "vmlinux");
	rc = fsc_btf_load(b, path, err);
	if (rc)
		return rc;
	*ret = fsc_take(&b);
	return 0;
}

void fsc_btf_free(struct fsc_btf *b)
{
	if (!b)
		return;
	if (b->mapped)
		munmap(b->data, b->size);
	else
		free(b->data);
	free(b->at);
	fsc_closep(&b->fd);
	free(b->module);
	free(b);
}

/* Whether a descriptor is that module's BTF. */
static bool is_btf_of(int fd, const char *module)
{
	char name[64] = "";
	struct bpf_btf_info info = {.name = (uintptr_t)name, .name_len = sizeof(name)};
	uint32_t len = sizeof(info);

	return !bpf_obj_get_info_by_fd(fd, &info, &len) && info.kernel_btf && !strcmp(name, module);
}

int fsc_btf_fd(struct fsc_btf *b)
{
	uint32_t id = 0;

	if (!b->module || b->fd >= 0)
		return b->fd;
	while (!bpf_btf_get_next_id(id, &id)) {
		int fd = bpf_btf_get_fd_by_id(id);

		if (fd >= 0 && is_btf_of(fd, b->module)) {
			b->fd = fd;
			break;
		}
		if (fd >= 0)
			close(fd);
	}
	return b->fd;
}

/* ---- names ---- */

/* The offset of a name among the strings, 0 if it is not there. */
static uint32_t name_offset(const struct fsc_btf *b, const char *name)
{
	size_t n = strlen(name);
	FSC_AUTO(fsc_freep) char *wanted = n ? malloc(n + 2) : NULL;
	const char *at;

	if (!wanted)
		return 0;
	wanted[0] = '\0';
	memcpy(wanted + 1, name, n + 1);
	at = memmem(b->strings, b->strings_size, wanted, n + 2);
	return at ? b->first_string + (uint32_t)(at + 1 - b->strings) : 0;
}

/* A module's names are counted on from the kernel's, and may be either. */
struct name_key {
	uint32_t own, kernel; /* 0: none */
};

static struct name_key name_key(const struct fsc_btf *b, const char *name)
{
	return (struct name_key){
	    .own = name_offset(b, name),
	    .kernel = b->kernel ? name_offset(b->kernel, name) : 0,
	};
}

static bool key_fits(const struct name_key *k, uint32_t offset)
{
	return offset && (offset == k->own || offset == k->kernel);
}

static const unsigned whats[] = {
    [BTF_KIND_INT] = FSC_BTF_NUMBER,	  [BTF_KIND_FLOAT] = FSC_BTF_NUMBER,
    [BTF_KIND_STRUCT] = FSC_BTF_STRUCT,	  [BTF_KIND_UNION] = FSC_BTF_UNION,
    [BTF_KIND_ENUM] = FSC_BTF_ENUM,	  [BTF_KIND_ENUM64] = FSC_BTF_ENUM,
    [BTF_KIND_TYPEDEF] = FSC_BTF_TYPEDEF, [BTF_KIND_FUNC] = FSC_BTF_FUNC,
    [BTF_KIND_VAR] = FSC_BTF_VAR,
};

static unsigned what_of(const struct btf_type *t)
{
	unsigned kind = btf_kind(t);

	return kind < sizeof(whats) / sizeof(whats[0]) ? whats[kind] : 0;
}

static unsigned declared_as(const struct btf_type *t)
{
	if (btf_kind(t) != BTF_KIND_FWD)
		return 0;
	return btf_kflag(t) ? FSC_BTF_UNION : FSC_BTF_STRUCT;
}

uint32_t fsc_btf_find(const struct fsc_btf *b, const char *name, unsigned what)
{
	struct name_key k = name_key(b, name);
	uint32_t declared = 0;

	if (!k.own && !k.kernel)
		return 0;
	for (uint32_t i = b->first; i < b->end; i++) {
		const struct btf_type *t = fsc_btf_at(b, i);

		if (!key_fits(&k, t->name_off))
			continue;
		if (what_of(t) & what)
			return i;
		if (declared_as(t) & what && !declared)
			declared = i;
	}
	return declared;
}

int fsc_btf_each(const struct fsc_btf *b, unsigned what,
		 int (*fn)(void *arg, uint32_t id, const char *name, unsigned what), void *arg)
{
	int rc = 0;

	for (uint32_t i = b->first; !rc && i < b->end; i++) {
		const struct btf_type *t = fsc_btf_at(b, i);

		if (t->name_off && what_of(t) & what)
			rc = fn(arg, i, fsc_btf_name(b, t->name_off), what_of(t));
	}
	return rc;
}

static bool enum_has(const struct btf_type *t, const struct name_key *k, int64_t *ret)
{
	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		if (btf_is_enum64(t) && key_fits(k, btf_enum64(t)[i].name_off)) {
			*ret = (int64_t)btf_enum64_value(btf_enum64(t) + i);
			return true;
		}
		if (!btf_is_enum64(t) && key_fits(k, btf_enum(t)[i].name_off)) {
			*ret = btf_kflag(t) ? btf_enum(t)[i].val
					    : (int64_t)(uint32_t)btf_enum(t)[i].val;
			return true;
		}
	}
	return false;
}

bool fsc_btf_enumerator(const struct fsc_btf *b, const char *name, int64_t *ret, uint32_t *ret_enum)
{
	struct name_key k = name_key(b, name);

	if (!k.own && !k.kernel)
		return false;
	for (uint32_t i = b->first; i < b->end; i++) {
		const struct btf_type *t = fsc_btf_at(b, i);

		if (btf_is_any_enum(t) && enum_has(t, &k, ret)) {
			*ret_enum = i;
			return true;
		}
	}
	return false;
}

/* ---- as C ---- */

static void write_text(void *ctx, const char *fmt, va_list args)
{
	fsc_buf_vprintf(ctx, fmt, args);
}

/* libbpf writes first what a type needs, then the type. */
static int dump_type(const struct btf *btf, uint32_t id, struct fsc_buf *to)
{
	struct btf_dump *d = btf_dump__new(btf, write_text, to, NULL);
	int rc = d ? btf_dump__dump_type(d, id) : -ENOMEM;

	btf_dump__free(d);
	return rc;
}

int fsc_btf_write(struct fsc_btf *b, uint32_t id, struct fsc_buf *to, struct fsc_err *err)
{
	static const char *const words[] = {"struct", "union", "enum"};
	const struct btf_type *t = fsc_btf_at(b, id);
	struct btf *btf = t && !b->kernel ? btf__load_vmlinux_btf() : NULL;
	struct fsc_buf all = {0};
	const char *own = NULL;
	int rc = btf ? dump_type(btf, id, &all) : 0;

	btf__free(btf);
	for (size_t i = 0; btf && !own && i < sizeof(words) / sizeof(words[0]); i++) {
		char begins[200];

		snprintf(begins, sizeof(begins), "%s %s {", words[i], fsc_btf_name(b, t->name_off));
		own = what_of(t) == 1u << i ? strstr(fsc_buf_str(&all), begins) : NULL;
	}
	if (own)
		fsc_buf_add(to, own, (size_t)(strstr(own, "\n};") - own) + 3);
	rc = fsc_buf_failed(&all) || rc == -ENOMEM ? fsc_err_nomem(err) : 0;
	fsc_buf_release(&all);
	return rc;
}
