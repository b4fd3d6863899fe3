/* The bytes of one ELF file, on disk or in memory, with its header and section table checked. Files
 * are hostile here: every offset is compared with the file's size before it is used, and nothing is
 * mapped. What the sections mean is decided elsewhere (symbols.c, usdt.c, debug_file.c, lines.c).
 */
#include "elf/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#elif defined(__riscv)
#define OWN_MACHINE EM_RISCV
#else
#error "add this machine's EM_ number"
#endif

#define OWN_DATA (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)

/* The largest tables known are the .strtab of browsers with debug information, some 100 MB. */
#define TABLE_MAX    (1ull << 30)
#define SECTIONS_MAX (1u << 20)

static const struct {
	unsigned machine;
	const char *name;
} machines[] = {
    {EM_X86_64, "x86-64"}, {EM_AARCH64, "ARM64"},
    {EM_RISCV, "RISC-V"},  {EM_PPC64, "POWER"},
    {EM_S390, "S/390"},	   {EM_386, "x86"},
    {EM_ARM, "ARM"},	   {EM_CUDA, "NVIDIA GPU"},
    {EM_BPF, "BPF"},	   {EM_LOONGARCH, "LoongArch"},
};

static const char *machine_name(unsigned machine)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		if (machines[i].machine == machine)
			return machines[i].name;
	}
	return "unknown";
}

/* stat first: opening a device may have side effects, opening a FIFO may block. */
static int open_regular(const char *path, uint64_t *ret_size, struct fsc_err *err)
{
	FSC_AUTO(fsc_closep) int fd = -1;
	struct stat st;

	if (stat(path, &st))
		return fsc_err_sys(err, errno, "cannot open '%s'", path);
	if (S_ISDIR(st.st_mode))
		return fsc_err_set(err, EISDIR, "'%s' is a directory", path);
	if (!S_ISREG(st.st_mode))
		return fsc_err_set(err, ENOEXEC, "'%s' is not a regular file", path);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return fsc_err_sys(err, errno, "cannot open '%s'", path);
	if (fstat(fd, &st))
		return fsc_err_sys(err, errno, "cannot look at '%s'", path);
	if (!S_ISREG(st.st_mode))
		return fsc_err_set(err, ENOEXEC, "'%s' is not a regular file", path);
	*ret_size = (uint64_t)st.st_size;
	return fsc_take_fd(&fd);
}

size_t fsc_image_read(const struct fsc_image *im, uint64_t offset, void *buf, size_t n)
{
	size_t done = 0;

	if (offset >= im->size)
		return 0;
	if (n > im->size - offset)
		n = im->size - offset;
	if (im->mem) {
		memcpy(buf, im->mem + offset, n);
		return n;
	}
	while (done < n) {
		ssize_t got = pread(im->fd, (char *)buf + done, n - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

static int cut_short(const struct fsc_image *im, struct fsc_err *err)
{
	return fsc_err_set(err, ENOEXEC, "'%s' is cut short or damaged", im->path);
}

int fsc_image_copy(const struct fsc_image *im, uint64_t offset, uint64_t n, char **ret,
		   struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *copy = NULL;

	if (offset > im->size || n > im->size - offset)
		return cut_short(im, err);
	if (n > TABLE_MAX)
		return fsc_err_set(err, EFBIG, "'%s' has a table of %llu bytes", im->path,
				   (unsigned long long)n);
	copy = malloc(n + 1);
	if (!copy)
		return fsc_err_nomem(err);
	if (fsc_image_read(im, offset, copy, n) != n)
		return cut_short(im, err);
	copy[n] = '\0';
	*ret = fsc_take(&copy);
	return 0;
}

static int check_ident(const struct fsc_image *im, size_t got, struct fsc_err *err)
{
	const unsigned char *id = im->eh.e_ident;

	if (!im->size)
		return fsc_err_set(err, ENOEXEC, "'%s' is empty", im->path);
	if (got >= 2 && !memcmp(id, "#!", 2)) {
		fsc_err_set(err, ENOEXEC, "'%s' is a script, not a program", im->path);
		return fsc_err_hint(err, "probe the interpreter that its first line names");
	}
	if (got < SELFMAG || memcmp(id, ELFMAG, SELFMAG))
		return fsc_err_set(err, ENOEXEC, "'%s' is not a program or shared library (no ELF)",
				   im->path);
	if (got < sizeof(im->eh))
		return cut_short(im, err);
	if (id[EI_CLASS] == ELFCLASS32)
		return fsc_err_set(err, ENOEXEC,
				   "'%s' is a 32-bit program; funcscope probes 64-bit ones only",
				   im->path);
	if (id[EI_CLASS] != ELFCLASS64)
		return fsc_err_set(err, ENOEXEC, "'%s' is damaged: ELF of class %d", im->path,
				   id[EI_CLASS]);
	if (id[EI_DATA] != OWN_DATA)
		return fsc_err_set(err, ENOEXEC, "'%s' is built for another machine (byte order)",
				   im->path);
	if (im->eh.e_machine != OWN_MACHINE)
		return fsc_err_set(err, ENOEXEC, "'%s' is built for another machine (%s)", im->path,
				   machine_name(im->eh.e_machine));
	return 0;
}

/* More than 65279 sections: the real numbers are in the first entry. */
static int section_counts(const struct fsc_image *im, uint64_t *ret_n, uint32_t *ret_names,
			  struct fsc_err *err)
{
	Elf64_Shdr first;

	*ret_n = im->eh.e_shnum;
	*ret_names = im->eh.e_shstrndx;
	if (im->eh.e_shnum && im->eh.e_shstrndx != SHN_XINDEX)
		return 0;
	if (fsc_image_read(im, im->eh.e_shoff, &first, sizeof(first)) != sizeof(first))
		return cut_short(im, err);
	if (!im->eh.e_shnum)
		*ret_n = first.sh_size;
	if (im->eh.e_shstrndx == SHN_XINDEX)
		*ret_names = first.sh_link;
	return *ret_n <= SECTIONS_MAX ? 0 : cut_short(im, err);
}

static int read_sections(struct fsc_image *im, struct fsc_err *err)
{
	char *table = NULL;
	uint32_t names = SHN_UNDEF;
	uint64_t n = 0;
	int rc;

	if (!im->eh.e_shoff)
		return 0; /* some tools remove the whole table; the program still runs */
	if (im->eh.e_shentsize != sizeof(Elf64_Shdr))
		return cut_short(im, err);
	rc = section_counts(im, &n, &names, err);
	if (!rc)
		rc = fsc_image_copy(im, im->eh.e_shoff, n * sizeof(Elf64_Shdr), &table, err);
	if (rc)
		return rc;
	im->sh = (Elf64_Shdr *)table;
	im->n_sh = n;
	/* NOLINTNEXTLINE(clang-analyzer-core.*): it does not see that fsc_image_copy() filled it */
	if (names == SHN_UNDEF || names >= n || im->sh[names].sh_type != SHT_STRTAB)
		return 0;
	rc = fsc_image_copy(im, im->sh[names].sh_offset, im->sh[names].sh_size, &im->names, err);
	if (!rc)
		im->names_size = im->sh[names].sh_size;
	return rc;
}

static int read_tables(struct fsc_image *im, const char *path, struct fsc_err *err)
{
	size_t got;
	int rc;

	im->path = strdup(path);
	if (!im->path)
		return fsc_err_nomem(err);
	got = fsc_image_read(im, 0, &im->eh, sizeof(im->eh));
	rc = check_ident(im, got, err);
	return rc ? rc : read_sections(im, err);
}

int fsc_image_open(struct fsc_image *im, const char *path, struct fsc_err *err)
{
	int rc;

	*im = (struct fsc_image){.fd = -1};
	rc = open_regular(path, &im->size, err);
	if (rc < 0)
		return rc;
	im->fd = rc;
	rc = read_tables(im, path, err);
	if (rc)
		fsc_image_release(im);
	return rc;
}

int fsc_image_from_mem(struct fsc_image *im, const char *path, char *mem, size_t size,
		       struct fsc_err *err)
{
	int rc;

	*im = (struct fsc_image){.fd = -1, .mem = mem, .size = size};
	rc = read_tables(im, path, err);
	if (rc)
		fsc_image_release(im);
	return rc;
}

void fsc_image_release(struct fsc_image *im)
{
	if (im->fd >= 0)
		close(im->fd);
	free(im->mem);
	free(im->path);
	free(im->sh);
	free(im->names);
	*im = (struct fsc_image){.fd = -1};
}

const char *fsc_image_section_name(const struct fsc_image *im, const Elf64_Shdr *sh)
{
	return im->names && sh->sh_name < im->names_size ? im->names + sh->sh_name : "";
}

const Elf64_Shdr *fsc_image_section(const struct fsc_image *im, const char *name)
{
	for (size_t i = 0; i < im->n_sh; i++) {
		if (im->sh[i].sh_type != SHT_NOBITS && im->sh[i].sh_type != SHT_NULL &&
		    !strcmp(fsc_image_section_name(im, &im->sh[i]), name))
			return &im->sh[i];
	}
	return NULL;
}

const Elf64_Shdr *fsc_image_section_of_type(const struct fsc_image *im, uint32_t type)
{
	for (size_t i = 0; i < im->n_sh; i++) {
		if (im->sh[i].sh_type == type)
			return &im->sh[i];
	}
	return NULL;
}
