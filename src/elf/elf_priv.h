/* Shared by the files behind elf/elf.h: struct fsc_elf, a program's image and what was read from
 * it so far. */
#ifndef FSC_ELF_ELF_PRIV_H
#define FSC_ELF_ELF_PRIV_H

#include "base/vec.h"
#include "elf/image.h"

struct fsc_elf {
	char *root;
	struct fsc_image main;
	Elf64_Phdr *ph;
	size_t n_ph;
	struct fsc_vec loads; /* Elf64_Phdr: the PT_LOADs among them */
	struct fsc_image debug;
	bool debug_tried, has_debug;
	struct fsc_vec blobs;	/* char *: what names point into */
	struct fsc_vec syms;	/* struct fsc_sym */
	struct fsc_vec usdts;	/* struct fsc_usdt */
	struct fsc_vec imports; /* struct fsc_import, by their slots */
	bool syms_read, usdts_read, dynamic_read, imports_read;
	bool dynamic_failed; /* memory was out */
	const char **needed; /* names point into a blob */
	const char *runpath, *soname;
	bool pie;		/* marked as a program */
	bool stripped;		/* see fsc_elf_stripped() */
	struct fsc_vec patched; /* by the loader, in code; textrel.c */
	bool textrel_read, textrel;
	bool patched_unknown; /* the tables could not be read */
};

/* One ELF note, as found. */
struct fsc_note {
	uint32_t type;
	const char *name, *desc;
	size_t name_size, desc_size;
};

/* Reads the note at *pos and moves *pos past it. 1: there was one; 0: the end; -1: broken. */
int fsc_note_next(const char *notes, size_t size, size_t align, size_t *pos, struct fsc_note *ret);

/* The entries of the dynamic section, which the caller frees; how many. 0 for a static program or a
 * broken section. */
size_t fsc_elf_dynamic(struct fsc_elf *e, Elf64_Dyn **ret);
uint64_t fsc_dynamic_value(const Elf64_Dyn *dyn, size_t n, Elf64_Sxword tag);
void fsc_elf_textrel_init(struct fsc_elf *e);
/* e keeps blob and frees it at the end; on failure blob is freed at once. */
int fsc_elf_keep(struct fsc_elf *e, char *blob, struct fsc_err *err);
#endif
