/* Follows the code of a function inside the file, through jumps and calls, until something not
 * known to be harmless leaves the file, or all code has been visited. */
#include "probe/foreign.h"

#ifdef __x86_64__

#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "probe/fragile.h"
#include "probe/insn.h"

enum {
	MOST = 4000, /* instructions to visit */
	CHUNK = 4096,
	LONGEST = 15, /* of an instruction */
};

struct walk {
	struct fsc_elf *elf;
	struct fsc_vec todo; /* uint64_t: addresses that are reached */
	struct fsc_map seen; /* those visited */
	size_t left;
	uint64_t chunk; /* where in the file the bytes below come from */
	size_t n;
	uint8_t code[CHUNK];
};

static struct fsc_insn decode_at(struct walk *w, uint64_t addr)
{
	struct fsc_insn none = {0};
	uint64_t offset;

	if (!fsc_elf_offset(w->elf, addr, true, &offset))
		return none;
	if (offset < w->chunk || offset + LONGEST > w->chunk + w->n) {
		w->chunk = offset;
		w->n = fsc_elf_read(w->elf, offset, w->code, CHUNK);
	}
	if (offset - w->chunk >= w->n)
		return none;
	return fsc_insn_decode(w->code + (offset - w->chunk), w->n - (offset - w->chunk));
}

static bool reach_address(struct walk *w, uint64_t addr)
{
	return !fsc_vec_add(&w->todo, &addr, NULL);
}

/* Functions of the C library that are harmless themselves, but in which a thread may be cancelled,
 * or which run what the program gave them: the functions of a stream, handlers of signals and of
 * exit(), modules for names of users and hosts. */
static bool may_run_others(const char *name)
{
	static const char *const names[] = {
	    "fgets",	   "fgetc",	     "getc",	       "getchar",	 "getline",
	    "getdelim",	   "fread",	     "fwrite",	       "fputs",		 "fputc",
	    "putc",	   "putchar",	     "puts",	       "fflush",	 "fclose",
	    "fseek",	   "fseeko",	     "rewind",	       "printf",	 "fprintf",
	    "vprintf",	   "vfprintf",	     "dprintf",	       "vdprintf",	 "scanf",
	    "fscanf",	   "vfscanf",	     "getwc",	       "fgetwc",	 "fgetws",
	    "fputwc",	   "fputws",	     "wprintf",	       "fwprintf",	 "perror",
	    "syslog",	   "vsyslog",	     "raise",	       "kill",		 "pthread_kill",
	    "exit",	   "getpwnam",	     "getpwuid",       "getgrnam",	 "getgrgid",
	    "getaddrinfo", "gethostbyname",  "__printf_chk",   "__fprintf_chk",	 "__vprintf_chk",
	    "__fgets_chk", "__vfprintf_chk", "__fread_chk",    "__dprintf_chk",	 "__syslog_chk",
	    "__overflow",  "__uflow",	     "__isoc99_scanf", "__isoc99_fscanf"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* What the loader puts into that word: the C library's functions are known by their names. One of
 * the file's own may be replaced by the program's. */
static bool known_import(struct walk *w, uint64_t slot)
{
	const struct fsc_import *x = fsc_elf_import_at(w->elf, slot);

	return x && !strncmp(x->version, "GLIBC_", 6) &&
	       fsc_fragile_function(x->name) == FSC_FRAGILE_NOT && !may_run_others(x->name);
}

/* False: unknown code may run after the instruction. *onward: the next one may run. */
static bool check_insn(struct walk *w, uint64_t addr, const struct fsc_insn *in, bool *onward)
{
	*onward = in->flow == FSC_FLOW_ON || in->flow == FSC_FLOW_CALL;
	if (!in->length || (in->also && !reach_address(w, addr + (uint64_t)in->also)))
		return false;
	switch (in->flow) {
	case FSC_FLOW_CALL:
		return in->also || (in->slot && known_import(w, addr + (uint64_t)in->slot));
	case FSC_FLOW_JUMP:
		return reach_address(w, addr + (uint64_t)in->to);
	case FSC_FLOW_INDIRECT:
		return in->slot && known_import(w, addr + (uint64_t)in->slot);
	case FSC_FLOW_SWITCH:
		return false;
	default:
		return true;
	}
}

/* One straight line of code, to its end or to visited code. */
static bool follow_code(struct walk *w, uint64_t addr)
{
	bool onward = true, fresh;

	while (onward) {
		struct fsc_insn in;

		if (!fsc_map_put(&w->seen, &addr, sizeof(addr), &fresh))
			return false;
		if (!fresh)
			return true;
		if (!w->left--)
			return false;
		in = decode_at(w, addr);
		if (!check_insn(w, addr, &in, &onward))
			return false;
		addr += in.length;
	}
	return true;
}

bool fsc_foreign_may_run(struct fsc_elf *e, const struct fsc_sym *sym)
{
	struct walk w = {.elf = e, .todo = FSC_VEC_INIT(uint64_t), .left = MOST};
	/* Of code that the loader changes, the file does not say where its calls go. */
	bool harmless = !fsc_elf_has_textrel(e) && reach_address(&w, sym->addr);

	while (harmless && w.todo.n)
		harmless = follow_code(&w, *FSC_AT(uint64_t, &w.todo, --w.todo.n));
	fsc_vec_release(&w.todo);
	fsc_map_release(&w.seen);
	return !harmless;
}

#else

bool fsc_foreign_may_run(struct fsc_elf *e, const struct fsc_sym *sym)
{
	(void)e;
	(void)sym;
	return true;
}

#endif
