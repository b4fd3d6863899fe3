/* Fatbins and cubins made by hand, for the tests of src/cuda/fatbin*.c. Include after cmocka.h. */
#ifndef FSC_TESTS_FATBINS_H
#define FSC_TESTS_FATBINS_H

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cuda/fatbin_priv.h"

#if defined(__aarch64__)
#define HOST_MACHINE EM_AARCH64
#else
#define HOST_MACHINE EM_X86_64
#endif

#define KIND_PTX  1
#define KIND_ELF  2
#define FLAG_LZ4  0x2000
#define FLAG_ZSTD 0x8000

/* What note() was called with: how often, and the last one. */
struct seen {
	int n;
	char name[64];
	struct fsc_kernel_params params;
};

static inline int note(void *arg, const char *name, const struct fsc_kernel_params *params,
		       struct fsc_err *err)
{
	struct seen *s = arg;

	(void)err;
	s->n++;
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->params = *params;
	return 0;
}

static inline void assert_params(const struct fsc_kernel_params *p, size_t n,
				 const uint16_t (*want)[2])
{
	assert_int_equal(p->n, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(p->at[i].offset, want[i][0]);
		assert_int_equal(p->at[i].size, want[i][1]);
	}
}

struct part {
	const char *name;
	const void *bytes;
	size_t n;
};

static inline void add(struct fsc_buf *b, const void *bytes, size_t n)
{
	if (n)
		fsc_buf_add(b, bytes, n);
	assert_false(fsc_buf_failed(b));
}

static inline void add16(struct fsc_buf *b, uint16_t v)
{
	add(b, &v, sizeof(v));
}

static inline void add32(struct fsc_buf *b, uint32_t v)
{
	add(b, &v, sizeof(v));
}

static inline void add64(struct fsc_buf *b, uint64_t v)
{
	add(b, &v, sizeof(v));
}

/* An ELF file: header, the parts as sections, their names, the table. Many sections are numbered
 * as the standard says, in the first one's entry. */
static inline void build_elf(struct fsc_buf *out, uint16_t machine, const struct part *parts,
			     size_t n)
{
	Elf64_Ehdr eh = {.e_type = ET_DYN,
			 .e_machine = machine,
			 .e_version = EV_CURRENT,
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_shentsize = sizeof(Elf64_Shdr)};
	Elf64_Shdr *sh = calloc(n + 2, sizeof(*sh));
	struct fsc_buf names = {0};
	const size_t count = n + 2;

	assert_non_null(sh);
	memcpy(eh.e_ident, ELFMAG, SELFMAG);
	eh.e_ident[EI_CLASS] = ELFCLASS64;
	eh.e_ident[EI_DATA] = ELFDATA2LSB;
	eh.e_ident[EI_VERSION] = EV_CURRENT;
	add(&names, "", 1);
	add(out, &eh, sizeof(eh));
	for (size_t i = 0; i < n; i++) {
		sh[i + 1] = (Elf64_Shdr){.sh_name = (uint32_t)names.n,
					 .sh_type = SHT_PROGBITS,
					 .sh_flags = SHF_ALLOC,
					 .sh_offset = out->n,
					 .sh_size = parts[i].n,
					 .sh_addralign = 1};
		add(&names, parts[i].name, strlen(parts[i].name) + 1);
		add(out, parts[i].bytes, parts[i].n);
	}
	sh[n + 1] = (Elf64_Shdr){.sh_name = (uint32_t)names.n,
				 .sh_type = SHT_STRTAB,
				 .sh_offset = out->n,
				 .sh_size = names.n + sizeof(".shstrtab")};
	add(&names, ".shstrtab", sizeof(".shstrtab"));
	add(out, names.s, names.n);
	eh.e_shoff = out->n;
	eh.e_shnum = count < SHN_LORESERVE ? (uint16_t)count : 0;
	eh.e_shstrndx = count < SHN_LORESERVE ? (uint16_t)(count - 1) : SHN_XINDEX;
	if (!eh.e_shnum) {
		sh[0].sh_size = count;
		sh[0].sh_link = (uint32_t)count - 1;
	}
	add(out, sh, count * sizeof(*sh));
	memcpy(out->s, &eh, sizeof(eh));
	free(sh);
	fsc_buf_release(&names);
}

static inline void add_block_size(struct fsc_buf *info, uint16_t size)
{
	add(info, "\x03\x19", 2);
	add16(info, size);
}

static inline void add_param_word(struct fsc_buf *info, const char *head, uint16_t ordinal,
				  uint16_t offset, uint32_t word)
{
	add(info, head, 4);
	add32(info, 0);
	add16(info, ordinal);
	add16(info, offset);
	add32(info, word);
}

static inline void add_param(struct fsc_buf *info, uint16_t ordinal, uint16_t offset, uint16_t size)
{
	add_param_word(info, "\x04\x17\x0c\x00", ordinal, offset, (uint32_t)size << 18 | 0x1f000);
}

static inline void add_param_v2(struct fsc_buf *info, uint16_t ordinal, uint16_t offset,
				uint16_t size)
{
	add_param_word(info, "\x04\x45\x0c\x00", ordinal, offset, size | 0x05000000);
}

/* An entry of a fatbin; unpacked is 0 for one that is not packed. */
static inline void add_entry(struct fsc_buf *fatbin, uint16_t kind, uint64_t flags,
			     const void *bytes, size_t n, uint64_t unpacked)
{
	const size_t padded = (n + 7) & ~(size_t)7;

	add16(fatbin, kind);
	add16(fatbin, 0x101);
	add32(fatbin, 64);
	add64(fatbin, padded);
	add32(fatbin, unpacked ? (uint32_t)n : 0);
	add32(fatbin, 0);
	add32(fatbin, 0x10008);
	add32(fatbin, 75);
	add64(fatbin, 0);
	add64(fatbin, flags | 0x11);
	add64(fatbin, 0);
	add64(fatbin, unpacked);
	add(fatbin, bytes, n);
	add(fatbin, "\0\0\0\0\0\0\0", padded - n);
}

/* A fatbin of these entries, behind what is in out already. */
static inline void add_fatbin(struct fsc_buf *out, const struct fsc_buf *entries)
{
	add32(out, 0xBA55ED50);
	add16(out, 1);
	add16(out, 16);
	add64(out, entries->n);
	add(out, entries->s, entries->n);
}

#endif
