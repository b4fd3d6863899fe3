/* What the files behind sym/elf.h share: the bytes and section table of one ELF file (struct
 * fsc_image: on disk, or unpacked in memory), and struct fsc_elf, a program's image together with
 * all that was read from it so far. Included by src/sym/ only. */
#ifndef FSC_SYM_ELF_PRIV_H
#define FSC_SYM_ELF_PRIV_H

#include <elf.h>

#include "base/vec.h"
#include "sym/elf.h"

struct fsc_image {
	int fd;	    /* -1 for one in memory */
	char *mem;  /* owned; NULL for one on disk */
	char *path; /* owned; what messages call it */
	uint64_t size;
	Elf64_Ehdr eh;
	Elf64_Shdr *sh;
	size_t n_sh;
	char *names; /* of the sections, always terminated */
	size_t names_size;
};

/* Opens path, or takes over mem, and reads the header and the section table. Accepts 64-bit files
 * of this machine, of any type. On failure the image is released. */
int fsc_image_open(struct fsc_image *im, const char *path, struct fsc_err *err);
int fsc_image_from_mem(struct fsc_image *im, const char *path, char *mem, size_t size,
		       struct fsc_err *err);
void fsc_image_release(struct fsc_image *im);
/* Bytes at a file offset; how many could be read. Never through a mapping: a file that shrinks
 * while we look at it then gives a short read instead of SIGBUS. */
size_t fsc_image_read(const struct fsc_image *im, uint64_t offset, void *buf, size_t n);
/* A malloc'ed copy of n bytes at offset with a zero byte behind it. Caller frees. */
int fsc_image_copy(const struct fsc_image *im, uint64_t offset, uint64_t n, char **ret,
		   struct fsc_err *err);
/* The first section of that name, or of that type, which has bytes in the file; NULL if none. */
const Elf64_Shdr *fsc_image_section(const struct fsc_image *im, const char *name);
const Elf64_Shdr *fsc_image_section_of_type(const struct fsc_image *im, uint32_t type);
const char *fsc_image_section_name(const struct fsc_image *im, const Elf64_Shdr *sh);

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
	bool pie; /* marked as a program */
};

/* One ELF note, as found. */
struct fsc_note {
	uint32_t type;
	const char *name, *desc;
	size_t name_size, desc_size;
};

/* Takes the note at *pos of a table of notes and moves *pos behind it. 1: there was one; 0: the
 * end; -1: broken. */
int fsc_note_next(const char *notes, size_t size, size_t align, size_t *pos, struct fsc_note *ret);

/* e keeps blob and frees it at the end; on failure blob is freed at once. */
int fsc_elf_keep(struct fsc_elf *e, char *blob, struct fsc_err *err);
/* The separate debug file found by build id, opened once; NULL if there is none (errno 0)
 * or memory is out (errno ENOMEM). */
const struct fsc_image *fsc_elf_debug_file(struct fsc_elf *e);
/* Unpacks .gnu_debugdata. 1: *ret is open and the caller releases it; 0: the file has none or it is
 * broken (then a warning was logged); -ENOMEM. */
int fsc_elf_debugdata(const struct fsc_elf *e, struct fsc_image *ret);
/* How much further up than its addresses say a file was loaded whose executable segment, from a
 * file offset on, lies at start. */
bool fsc_elf_bias(const struct fsc_elf *e, uint64_t start, uint64_t offset, uint64_t *ret);

#endif
