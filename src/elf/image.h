/* The bytes and the section table of one ELF file, on disk or in memory: for readers of sections
 * that elf/elf.h does not know. */
#ifndef FSC_ELF_IMAGE_H
#define FSC_ELF_IMAGE_H

#include <elf.h>

#include "elf/elf.h"

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
/* A malloc'ed copy of n bytes at offset, with a terminating zero byte. Caller frees. */
int fsc_image_copy(const struct fsc_image *im, uint64_t offset, uint64_t n, char **ret,
		   struct fsc_err *err);
/* The first section of that name, or of that type, which has bytes in the file; NULL if none. */
const Elf64_Shdr *fsc_image_section(const struct fsc_image *im, const char *name);
const Elf64_Shdr *fsc_image_section_of_type(const struct fsc_image *im, uint32_t type);
const char *fsc_image_section_name(const struct fsc_image *im, const Elf64_Shdr *sh);

/* The file's own image, owned by e. */
const struct fsc_image *fsc_elf_image(const struct fsc_elf *e);
/* The separate debug file found by build id or .gnu_debuglink, opened once; NULL if there is none
 * (errno 0) or out of memory (errno ENOMEM). */
const struct fsc_image *fsc_elf_debug_file(struct fsc_elf *e);
/* Unpacks .gnu_debugdata. 1: *ret is open and the caller releases it; 0: the file has none or it is
 * broken (then a warning was logged); -ENOMEM. */
int fsc_elf_debugdata(const struct fsc_elf *e, struct fsc_image *ret);
/* The load bias of a file whose executable segment, from a file offset on, is mapped at start. */
bool fsc_elf_bias(const struct fsc_elf *e, uint64_t start, uint64_t offset, uint64_t *ret);

#endif
