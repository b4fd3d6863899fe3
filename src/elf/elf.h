/* One ELF file of this machine's own class and architecture: its function symbols from every table
 * it has or points to, its USDT notes and its bytes. Reads files only, never a process. */
#ifndef FSC_ELF_ELF_H
#define FSC_ELF_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct fsc_elf;

struct fsc_sym {
	const char *name;     /* without the version; owned by the fsc_elf */
	const char *version;  /* "GLIBC_2.2.5", NULL where there is none; owned by the fsc_elf */
	bool version_default; /* the one a plain name links to; true where there is no version */
	bool ifunc;	      /* the address is the resolver's, not the function's */
	bool global;
	uint64_t addr, size;
	uint64_t offset; /* in the file: what a uprobe takes */
};

struct fsc_usdt {
	const char *provider, *name, *args; /* owned by the fsc_elf */
	uint64_t addr, offset;
	uint64_t sem_offset; /* file offset of the semaphore, 0 where there is none */
};

/* A word that the loader fills with the address of a function. */
struct fsc_import {
	uint64_t slot;		    /* its virtual address */
	const char *name, *version; /* of an import; "" if none; owned by the fsc_elf */
};

/* Opens path. root is the root directory of the process the file belongs to ("/proc/PID/root"), ""
 * for our own: separate debug files are looked for there first. Refuses, in one sentence each, what
 * is not a regular file (a FIFO must not block), not ELF, 32-bit, of another machine, or not a
 * program or shared library. The caller owns *ret (fsc_elf_free). */
int fsc_elf_open(const char *path, const char *root, struct fsc_elf **ret, struct fsc_err *err);
void fsc_elf_free(struct fsc_elf *e);
void fsc_elf_freep(struct fsc_elf **e);

/* All functions defined in executable segments, ordered by address; of several names at one address
 * the preferred one comes first (global before local, fewer leading underscores, shorter,
 * then alphabetical). From .symtab and .dynsym of the file, .gnu_debugdata, and the .symtab of a
 * separate debug file found by build id. Undefined symbols (imports) never appear; nor do
 * duplicates (name, address and version; a name without version counts as one of the same name with
 * a version). Read at the first call, owned by e. */
int fsc_elf_symbols(struct fsc_elf *e, const struct fsc_sym **ret, size_t *ret_n,
		    struct fsc_err *err);
/* All USDT probes (.note.stapsdt), in file order, owned by e. Broken notes are an error, not a
 * crash. */
int fsc_elf_usdts(struct fsc_elf *e, const struct fsc_usdt **ret, size_t *ret_n,
		  struct fsc_err *err);
/* File offset of a virtual address inside a PT_LOAD segment; executable: in one that is PF_X. */
bool fsc_elf_offset(const struct fsc_elf *e, uint64_t addr, bool executable, uint64_t *ret);
/* The i-th executable PT_LOAD segment, in the file; false if there are fewer. */
bool fsc_elf_code(const struct fsc_elf *e, size_t i, uint64_t *ret_offset, uint64_t *ret_size);
/* Whether the virtual address lies in a section that is not executable. Linkers may put such a
 * section into an executable segment. */
bool fsc_elf_in_data(const struct fsc_elf *e, uint64_t addr);
/* The virtual address of a file offset inside an executable PT_LOAD segment. */
bool fsc_elf_addr(const struct fsc_elf *e, uint64_t offset, uint64_t *ret);
/* The load bias of a file whose executable segment, from a file offset on, is mapped at start. */
bool fsc_elf_bias(const struct fsc_elf *e, uint64_t start, uint64_t offset, uint64_t *ret);

/* The function that the virtual address lies in, owned by e; *ret is NULL if there is none. A
 * symbol without a size reaches to the next one or to the end of its section. */
int fsc_elf_symbol_at(struct fsc_elf *e, uint64_t addr, const struct fsc_sym **ret,
		      struct fsc_err *err);
/* Start and size of the function that the virtual address lies in, by .eh_frame, which has no
 * names. False: it has none there, or is written as nobody does. */
bool fsc_elf_frame_at(const struct fsc_elf *e, uint64_t addr, uint64_t *ret_start,
		      uint64_t *ret_size);
/* Whether, once the symbols were read, only those were found that the file exports. */
bool fsc_elf_stripped(const struct fsc_elf *e);
/* Whether it is a Go program, and where functions of Go find their arguments. */
enum fsc_elf_go {
	FSC_ELF_NOT_GO,
	FSC_ELF_GO_UNKNOWN, /* the version cannot be read */
	FSC_ELF_GO_STACK,
	FSC_ELF_GO_REGISTERS,
};
enum fsc_elf_go fsc_elf_go(const struct fsc_elf *e);
/* The package that a file of this machine belongs to, by dpkg; false: none, or no dpkg. */
bool fsc_elf_package(const char *path, char *buf, size_t size);
/* The virtual address of a variable that the file defines, from .dynsym or else .symtab. 1: there
 * is one; 0: there is none; negative: the tables cannot be read. */
int fsc_elf_variable(const struct fsc_elf *e, const char *name, uint64_t *ret, struct fsc_err *err);
/* A function or variable that the file defines, by name, from .dynsym or else .symtab (its own, or
 * that of its separate debug file). 1, 0 and negative as above. */
struct fsc_elf_symbol {
	uint64_t addr, size;
	bool function;
};
int fsc_elf_symbol_named(struct fsc_elf *e, const char *name, struct fsc_elf_symbol *ret,
			 struct fsc_err *err);
/* Whether it is loaded at any address (ET_DYN). */
bool fsc_elf_is_relocated(const struct fsc_elf *e);
/* Whether the file names a function or variable for which wanted() is true, in .dynsym or
 * .symtab; defined: only symbols that the file defines, else only imports. False also if the tables
 * cannot be read. */
bool fsc_elf_mentions(const struct fsc_elf *e,
		      bool (*wanted)(const char *name, bool defined, void *arg), void *arg);
/* The import that the loader puts into the word at a virtual address, owned by e; NULL if that
 * is no function's address, or the tables cannot be read. */
const struct fsc_import *fsc_elf_import_at(struct fsc_elf *e, uint64_t slot);
/* Whether the file has a section of that name with bytes in it. */
bool fsc_elf_has_section(const struct fsc_elf *e, const char *name);
/* The build id that the linker gave the file (NT_GNU_BUILD_ID); its length, 0 where there is none
 * (errno 0) or out of memory (errno ENOMEM). */
#define FSC_BUILD_ID_MAX 64
size_t fsc_elf_build_id(const struct fsc_elf *e, unsigned char ret[FSC_BUILD_ID_MAX]);
/* Whether the loader may change code of the file (text relocations), and whether it changes one of
 * n bytes of code at a file offset. Read at the first call; if it cannot be read: yes. */
bool fsc_elf_has_textrel(struct fsc_elf *e);
bool fsc_elf_relocates(struct fsc_elf *e, uint64_t offset, size_t n);
/* Bytes at a file offset; how many could be read. */
size_t fsc_elf_read(const struct fsc_elf *e, uint64_t offset, void *buf, size_t n);
/* The shared objects that the program needs: DT_NEEDED names and DT_RUNPATH/DT_RPATH, NULL-ended
 * arrays owned by e; NULL if out of memory. */
const char *const *fsc_elf_needed(struct fsc_elf *e);
const char *fsc_elf_runpath(struct fsc_elf *e);
/* DT_SONAME, NULL where there is none. */
const char *fsc_elf_soname(struct fsc_elf *e);
/* Whether the file is executable: a program, or a library that can also be run, like libc. */
bool fsc_elf_is_program(struct fsc_elf *e);

#endif
