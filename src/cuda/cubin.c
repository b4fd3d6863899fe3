/* One cubin: a 64-bit ELF file for the GPU, here in memory. For each kernel it has a section
 * ".nv.info." and the kernel's name: a list of attributes, among them one for each parameter. The
 * bytes are hostile: every offset is compared with the cubin's size before it is used. */
#include <string.h>

#include "cuda/fatbin_priv.h"

#define INFO_PREFIX ".nv.info."

/* An attribute is a format, a number and two bytes: a value, or how many bytes of value follow. */
#define FORMAT_SIZED	 4
#define CBANK_PARAM_SIZE 0x19 /* the length of the block of all parameters */
#define KPARAM_INFO	 0x17
#define KPARAM_INFO_V2	 0x45 /* where a block is past 4 KB */
#define KPARAM_SIZE_BIT	 18   /* of the last word of KPARAM_INFO; below: properties */

struct kparam {
	uint32_t index;
	uint16_t ordinal, offset;
	uint32_t word;
};

_Static_assert(sizeof(struct kparam) == 12, "layout of EIATTR_KPARAM_INFO");

struct cubin {
	const unsigned char *bytes;
	size_t size;
	size_t shoff, n_sh;
	const char *names;
	size_t names_size;
	/* What sections and their names may still have: in an honest file they do not overlap, so
	 * that together they are no longer than the file. Keeps the work within the size. */
	size_t left;
};

struct kernel {
	struct fsc_kernel_params params;
	uint64_t seen; /* by ordinal */
	uint32_t end;  /* behind the last parameter */
	uint32_t block;
	bool broken;
};

static bool inside(const struct cubin *c, uint64_t offset, uint64_t n)
{
	return offset <= c->size && n <= c->size - offset;
}

static Elf64_Shdr section(const struct cubin *c, size_t i)
{
	Elf64_Shdr sh;

	memcpy(&sh, c->bytes + c->shoff + i * sizeof(sh), sizeof(sh));
	return sh;
}

/* More than 65279 sections: the true numbers stand in the first entry. */
static bool find_sections(struct cubin *c, const Elf64_Ehdr *eh)
{
	uint64_t n = eh->e_shnum, names = eh->e_shstrndx;
	Elf64_Shdr sh;

	if (eh->e_shentsize != sizeof(sh) || !eh->e_shoff || !inside(c, eh->e_shoff, sizeof(sh)))
		return false;
	c->shoff = eh->e_shoff;
	sh = section(c, 0);
	if (!n)
		n = sh.sh_size;
	if (names == SHN_XINDEX)
		names = sh.sh_link;
	if (n > (c->size - c->shoff) / sizeof(sh) || names >= n)
		return false;
	c->n_sh = n;
	sh = section(c, names);
	if (!inside(c, sh.sh_offset, sh.sh_size))
		return false;
	c->names = (const char *)c->bytes + sh.sh_offset;
	c->names_size = sh.sh_size;
	return true;
}

static bool open_cubin(struct cubin *c)
{
	Elf64_Ehdr eh;

	if (c->size < sizeof(eh))
		return false;
	memcpy(&eh, c->bytes, sizeof(eh));
	return !memcmp(eh.e_ident, ELFMAG, SELFMAG) && eh.e_ident[EI_CLASS] == ELFCLASS64 &&
	       eh.e_ident[EI_DATA] == ELFDATA2LSB && eh.e_machine == EM_CUDA &&
	       find_sections(c, &eh);
}

static bool spend(struct cubin *c, size_t n)
{
	if (n > c->left)
		return false;
	c->left -= n;
	return true;
}

/* The kernel that a section is about, NULL if it is not about one. */
static const char *kernel_of(struct cubin *c, const Elf64_Shdr *sh)
{
	const size_t prefix = strlen(INFO_PREFIX);
	const char *name, *end;
	size_t left;

	if (sh->sh_type == SHT_NOBITS || sh->sh_name >= c->names_size)
		return NULL;
	name = c->names + sh->sh_name;
	left = c->names_size - sh->sh_name;
	if (left <= prefix || memcmp(name, INFO_PREFIX, prefix))
		return NULL;
	end = memchr(name, '\0', left < c->left ? left : c->left);
	if (!end || !spend(c, (size_t)(end - name)) || !name[prefix])
		return NULL;
	return name + prefix;
}

static void take_param(struct kernel *k, const unsigned char *value, size_t n, unsigned attr)
{
	struct kparam p;
	uint32_t size;

	if (n < sizeof(p)) {
		k->broken = true;
		return;
	}
	memcpy(&p, value, sizeof(p));
	size = attr == KPARAM_INFO ? p.word >> KPARAM_SIZE_BIT : p.word & 0xffff;
	if (p.offset + size > k->end)
		k->end = p.offset + size;
	if (p.ordinal >= FSC_KERNEL_PARAMS_MAX)
		return;
	k->broken |= k->seen >> p.ordinal & 1;
	k->seen |= 1ull << p.ordinal;
	k->params.at[p.ordinal].offset = p.offset;
	k->params.at[p.ordinal].size = (uint16_t)size;
}

static void take_attributes(struct kernel *k, const unsigned char *at, size_t n)
{
	while (n >= 4) {
		unsigned format = at[0], attr = at[1];
		size_t value = at[2] | (size_t)at[3] << 8;

		at += 4;
		n -= 4;
		if (attr == CBANK_PARAM_SIZE)
			k->block = (uint32_t)value;
		if (format != FORMAT_SIZED)
			continue;
		if (value > n) {
			k->broken = true;
			return;
		}
		if (attr == KPARAM_INFO || attr == KPARAM_INFO_V2)
			take_param(k, at, value, attr);
		at += value;
		n -= value;
	}
}

/* Counts the parameters. False if one is missing or they do not fit into their block: rather no
 * answer than a wrong one. */
static bool seal_params(struct kernel *k)
{
	while (k->params.n < FSC_KERNEL_PARAMS_MAX && k->seen >> k->params.n & 1)
		k->params.n++;
	if (k->params.n < FSC_KERNEL_PARAMS_MAX && k->seen >> k->params.n)
		return false;
	return !k->broken && (k->params.n ? !k->block || k->end <= k->block : !k->block);
}

int fsc_cubin_each(const void *cubin, size_t size, fsc_kernel_fn fn, void *arg, struct fsc_err *err)
{
	struct cubin c = {.bytes = cubin, .size = size, .left = size};

	if (!open_cubin(&c))
		return 0;
	for (size_t i = 0; i < c.n_sh; i++) {
		Elf64_Shdr sh = section(&c, i);
		const char *name = kernel_of(&c, &sh);
		struct kernel k = {0};
		int rc;

		if (!name || !inside(&c, sh.sh_offset, sh.sh_size) || !spend(&c, sh.sh_size))
			continue;
		take_attributes(&k, c.bytes + sh.sh_offset, sh.sh_size);
		if (!seal_params(&k))
			continue;
		rc = fn(arg, name, &k.params, err);
		if (rc)
			return rc;
	}
	return 0;
}
