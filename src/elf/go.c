/* How a Go program calls its functions: by the version of Go in its build information. Since 1.17
 * (1.18 on arm64) arguments are in registers, in Go's own order; before they were on the stack. */
#include <stdlib.h>
#include <string.h>

#include "elf/elf.h"
#include "elf/elf_priv.h"

#ifdef __aarch64__
enum { FIRST_WITH_REGISTERS = 18 };
#else
enum { FIRST_WITH_REGISTERS = 17 };
#endif

enum { HEAD = 32, LONGEST = 64 };

/* Up to Go 1.17 the version is a string elsewhere, of which the address is given. */
static bool read_elsewhere(const struct fsc_elf *e, const unsigned char *head, char *version)
{
	uint64_t at, string[2], offset;

	memcpy(&at, head + 16, sizeof(at));
	if (!fsc_elf_offset(e, at, false, &offset) ||
	    fsc_elf_read(e, offset, string, sizeof(string)) != sizeof(string) ||
	    string[1] >= LONGEST || !fsc_elf_offset(e, string[0], false, &offset))
		return false;
	return fsc_elf_read(e, offset, version, string[1]) == string[1];
}

/* The version, as in "go1.19.8"; false: there is none. */
static bool read_version(const struct fsc_elf *e, char version[LONGEST + 1])
{
	const Elf64_Shdr *sh = fsc_image_section(&e->main, ".go.buildinfo");
	unsigned char head[HEAD + 1];

	memset(version, 0, LONGEST + 1);
	if (!sh || fsc_elf_read(e, sh->sh_offset, head, sizeof(head)) != sizeof(head) ||
	    memcmp(head, "\xff Go buildinf:", 14))
		return false;
	if (!(head[15] & 2))
		return head[14] == 8 && !(head[15] & 1) && read_elsewhere(e, head, version);
	/* A length of one byte: versions are short. */
	return head[HEAD] < LONGEST &&
	       fsc_elf_read(e, sh->sh_offset + HEAD + 1, version, head[HEAD]) == head[HEAD];
}

enum fsc_elf_go fsc_elf_go(const struct fsc_elf *e)
{
	char version[LONGEST + 1];
	const char *go;

	if (!fsc_elf_has_section(e, ".gopclntab") && !fsc_elf_has_section(e, ".go.buildinfo"))
		return FSC_ELF_NOT_GO;
	go = read_version(e, version) ? strstr(version, "go1.") : NULL;
	if (!go)
		return FSC_ELF_GO_UNKNOWN;
	return strtoul(go + 4, NULL, 10) >= FIRST_WITH_REGISTERS ? FSC_ELF_GO_REGISTERS
								 : FSC_ELF_GO_STACK;
}
