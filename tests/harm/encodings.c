/* Writes the library that the sweep probes, as an assembler file, and a list of what is in it: one
 * function for each encoding, in a slot of fixed size. Either every class of encodings that the
 * decoder knows, or (with files named) every distinct first instruction and every instruction by
 * which returns are caught of all functions of those files.
 *
 * usage: encodings LIST [--short | ELF...] >FILE.s
 *
 * A line of the list: number, class, opcode, verdict of probe/insn.c, bytes, instruction; tabs
 * between. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "base/map.h"
#include "harm/layout.h"
#include "probe/exits.h"
#include "probe/insn.h"
#include "elf/elf.h"

static ZydisDecoder decoder;
static ZydisFormatter formatter;
static FILE *list;
static unsigned n_slots;
static bool is_short;
static int n_files; /* whose instructions are taken, 0: all classes */
static struct fsc_map seen;

enum { MAX = 15, ROOM = 32 };

/* ---- what is left out ---- */

/* What would leave the process, ask the machine below, or change what the runner itself stands on.
 */
static bool is_out_of_bounds(const ZydisDecodedInstruction *z)
{
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_SYSEXIT:
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_WRFSBASE:
	case ZYDIS_MNEMONIC_WRGSBASE:
	case ZYDIS_MNEMONIC_WRPKRU:
	case ZYDIS_MNEMONIC_GETSEC:
	case ZYDIS_MNEMONIC_TPAUSE:
	case ZYDIS_MNEMONIC_UMWAIT:
	case ZYDIS_MNEMONIC_MWAITX:
		return true;
	case ZYDIS_MNEMONIC_VROUNDSS: /* at these qemu 7.2 ends itself */
	case ZYDIS_MNEMONIC_VROUNDSD:
		return z->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX && z->raw.vex.L;
	default:
		break;
	}
	switch (z->meta.isa_ext) {
	case ZYDIS_ISA_EXT_VTX:
	case ZYDIS_ISA_EXT_SVM:
	case ZYDIS_ISA_EXT_SGX:
	case ZYDIS_ISA_EXT_TDX:
	case ZYDIS_ISA_EXT_SNP:
	case ZYDIS_ISA_EXT_KNC:
		return true;
	default:
		return (z->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED) != 0;
	}
}

/* ---- a slot ---- */

static const char *const verdicts[] = {
    [FSC_INSN_FINE] = "fine",	      [FSC_INSN_UNKNOWN] = "unknown",
    [FSC_INSN_REFUSED] = "refused",   [FSC_INSN_MISTAKEN] = "mistaken",
    [FSC_INSN_REPEATED] = "repeated",
};

static const char *class_of(const ZydisDecodedInstruction *z, char *buf, size_t n)
{
	static const char *const maps[] = {"one byte", "0f",	"0f38",	 "0f3a",
					   "map 4",    "map 5", "map 6", "map 7"};
	static const char *const encodings[] = {"legacy", "3dnow", "xop", "VEX", "EVEX", "MVEX"};

	snprintf(buf, n, "%s %s", encodings[z->encoding], maps[z->opcode_map & 7]);
	return buf;
}

static void put(uint8_t *code, size_t at, size_t size, int64_t value)
{
	for (size_t i = 0; i < size; i++)
		code[at + i] = (uint8_t)(value >> (8 * i));
}

/* Points RIP-relative operands into the data and relative branches at the second stub. */
static void relocate(const ZydisDecodedInstruction *z, uint8_t *code)
{
	int64_t next = HARM_SLOTS + (int64_t)n_slots * HARM_SLOT_SIZE + z->length;

	if ((z->attributes & ZYDIS_ATTRIB_HAS_MODRM) && !z->raw.modrm.mod && z->raw.modrm.rm == 5)
		put(code, z->raw.disp.offset, 4, HARM_DATA + HARM_RIP_AT - next);
	if (z->raw.imm[0].is_relative)
		put(code, z->raw.imm[0].offset, z->raw.imm[0].size / 8, HARM_TARGET - z->length);
}

static void emit_slot(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *ops,
		      const uint8_t *code)
{
	uint64_t address = HARM_SLOTS + (uint64_t)n_slots * HARM_SLOT_SIZE;
	struct fsc_insn in = fsc_insn_decode(code, z->length);
	char class[32], text[128] = "";

	printf(".type i%05u_%s,@function\n.p2align 6, 0xcc\ni%05u_%s: .byte ", n_slots, in.name,
	       n_slots, in.name);
	for (unsigned i = 0; i < z->length; i++)
		printf("%s%#x", i ? "," : "", code[i]);
	/* jmp *HARM_SAVED, and at the second stub jmp *HARM_SAVED + 8 */
	printf("\n.byte 0xff,0x24,0x25\n.long %#x\n.fill %d,1,0xcc\n.byte 0xff,0x24,0x25\n.long "
	       "%#x\n.size i%05u_%s,.-i%05u_%s\n",
	       HARM_SAVED, HARM_TARGET - 7 - z->length, HARM_SAVED + 8, n_slots, in.name, n_slots,
	       in.name);
	ZydisFormatterFormatInstruction(&formatter, z, ops, z->operand_count_visible, text,
					sizeof(text), address, NULL);
	fprintf(list, "%u\t%s\t%02x\t%s\t", n_slots, class_of(z, class, sizeof(class)), z->opcode,
		verdicts[in.verdict]);
	for (unsigned i = 0; i < z->length; i++)
		fprintf(list, "%02x", code[i]);
	fprintf(list, "\t%s\n", text);
	n_slots++;
}

/* The short form has one encoding of each opcode and name, with a RIP operand and without. */
static uint64_t *put_short(const ZydisDecodedInstruction *z, const uint8_t *code, bool *fresh)
{
	bool rip =
	    (z->attributes & ZYDIS_ATTRIB_HAS_MODRM) && !z->raw.modrm.mod && z->raw.modrm.rm == 5;
	const unsigned key[] = {z->encoding, z->opcode_map,
				z->opcode,   z->mnemonic,
				rip,	     fsc_insn_decode(code, z->length).verdict};

	return fsc_map_put(&seen, (const char *)key, sizeof(key), fresh);
}

/* Emits the instruction that the code begins with, unless it is there already; code has room for
 * relocate(). */
static bool offer(const uint8_t *bytes, size_t n)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction z;
	uint8_t code[ROOM] = {0};
	uint64_t *there;
	bool fresh;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, n < MAX ? n : MAX, &z, ops)) ||
	    is_out_of_bounds(&z))
		return false;
	memcpy(code, bytes, z.length);
	if (n_files == 0) /* one of each class: whatever is immediate is the same */
		for (int i = 0; i < 2; i++)
			if (z.raw.imm[i].size)
				memset(code + z.raw.imm[i].offset, 0x11, z.raw.imm[i].size / 8);
	if ((z.attributes & ZYDIS_ATTRIB_HAS_MODRM) && !z.raw.modrm.mod && z.raw.modrm.rm == 5)
		put(code, z.raw.disp.offset, 4, 0);
	if (z.raw.imm[0].is_relative)
		put(code, z.raw.imm[0].offset, z.raw.imm[0].size / 8, 0);
	there = is_short ? put_short(&z, code, &fresh)
			 : fsc_map_put(&seen, (const char *)code, z.length, &fresh);
	if (!there)
		abort();
	if (!fresh)
		return true;
	relocate(&z, code);
	if (ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, z.length, &z, ops)))
		emit_slot(&z, ops, code);
	return true;
}

/* ---- all classes ---- */

/* Registers, [rdi], [rdi + 16], RIP. */
enum form { REGISTER, MEMORY, DISPLACED, RIP, FORMS };

struct head {
	uint8_t bytes[ROOM];
	size_t n;
};

static void append(struct head *h, uint8_t byte)
{
	h->bytes[h->n++] = byte;
}

static struct head with_modrm(const struct head *h, enum form form, unsigned reg)
{
	static const uint8_t modrm[FORMS] = {0xc1, 0x07, 0x47, 0x05};
	struct head all = *h;

	append(&all, (uint8_t)(modrm[form] | reg << 3));
	if (form == DISPLACED)
		append(&all, 0x10);
	/* What follows is an immediate, where there is one. */
	while (all.n < ROOM)
		append(&all, form == RIP && all.n < h->n + 5 ? 0 : 0x11);
	return all;
}

/* The mnemonic of an encoding, 0 if it is none. */
static unsigned mnemonic_of(const struct head *all)
{
	ZydisDecodedInstruction z;

	return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, all->bytes, MAX, &z))
		   ? z.mnemonic
		   : 0;
}

/* One opcode behind its prefixes, with one form of operand. The register is 2; others where they
 * make another instruction of it, and with RIP those that the kernel's scratch register must keep
 * off. */
static bool offer_form(const struct head *h, enum form form)
{
	struct head two = with_modrm(h, form, 2);
	unsigned usual = mnemonic_of(&two);
	bool any = false;

	for (unsigned reg = 0; reg < 8; reg++) {
		struct head all = with_modrm(h, form, reg);
		unsigned mnemonic = mnemonic_of(&all);

		if (mnemonic && (reg == 2 || mnemonic != usual || (form == RIP && reg > 5)))
			any |= offer(all.bytes, ROOM);
	}
	return any;
}

static bool offer_opcode(const struct head *h)
{
	bool any = false;

	for (int form = 0; form < FORMS; form++)
		any |= offer_form(h, (enum form)form);
	return any;
}

static const uint8_t prefixes[] = {0, 0x66, 0xf2, 0xf3};

static bool is_prefix(unsigned op)
{
	static const uint8_t all[] = {0x0f, 0x26, 0x2e, 0x36, 0x3e, 0x62, 0x64, 0x65,
				      0x66, 0x67, 0xc4, 0xc5, 0xf0, 0xf2, 0xf3};

	return (op & 0xf0) == 0x40 || memchr(all, (int)op, sizeof(all));
}

/* One opcode of a legacy map. With the high registers (REX.B, REX.R) only where the kernel looks at
 * them. */
static void offer_legacy_opcode(const struct head *map, uint8_t prefix, uint8_t rex, uint8_t op)
{
	struct head h = {0};

	if (prefix)
		append(&h, prefix);
	if (rex)
		append(&h, rex);
	for (size_t i = 0; i < map->n; i++)
		append(&h, map->bytes[i]);
	append(&h, op);
	if (rex & 5) {
		offer_form(&h, RIP);
		offer_form(&h, REGISTER);
	} else {
		offer_opcode(&h);
	}
}

static void offer_legacy(void)
{
	static const uint8_t rexes[] = {0, 0x48, 0x41, 0x4d};
	static const struct head maps[] = {
	    {.n = 0}, {{0x0f}, 1}, {{0x0f, 0x38}, 2}, {{0x0f, 0x3a}, 2}};

	for (size_t m = 0; m < 4; m++)
		for (size_t p = 0; p < 4; p++)
			for (size_t r = 0; r < (p ? 2 : 4); r++)
				for (unsigned op = 0; op < 256; op++)
					if (m || !is_prefix(op))
						offer_legacy_opcode(&maps[m], prefixes[p], rexes[r],
								    (uint8_t)op);
}

/* One opcode of a VEX map; bits: W, L, pp. */
static void offer_vex_opcode(uint8_t map, unsigned bits, uint8_t op)
{
	static const uint8_t sources[] = {0x78, 0x68, 0x48,
					  0x40}; /* vvvv, inverted: none, 2, 6, 7 */

	for (size_t v = 0; v < 4; v++) {
		uint8_t last = (uint8_t)((bits & 8) << 4 | sources[v] | (bits & 7));
		struct head two = {{0xc5, (uint8_t)(0x80 | last), op}, 3};
		struct head three = {{0xc4, (uint8_t)(0xe0 | map), last, op}, 4};
		struct head high = {{0xc4, (uint8_t)(0xc0 | map), last, op}, 4}; /* B */

		if (v > 1 || bits & 8 || map == 1)
			offer_form(&three, RIP);
		if (v > 1)
			continue;
		if (bits & 8 || map == 1)
			offer_form(&three, REGISTER);
		if (!(bits & 8) && offer_opcode(map == 1 ? &two : &three))
			break;
		offer_form(&high, RIP);
	}
}

static void offer_vex(void)
{
	for (uint8_t map = 1; map <= 3; map++)
		for (unsigned bits = 0; bits < 16; bits++)
			for (unsigned op = 0; op < 256; op++)
				offer_vex_opcode(map, bits, (uint8_t)op);
}

/* One opcode of an EVEX map; bits: W, pp. Without a mask and by k1, without a second source and
 * with register 2. */
static void offer_evex_opcode(uint8_t map, unsigned bits, unsigned l, uint8_t op)
{
	bool any = false;

	for (unsigned v = 0; v < 4; v++) {
		uint8_t mid = (uint8_t)((bits & 4) << 5 | (v & 1 ? 0x6c : 0x7c) | (bits & 3));
		uint8_t last = (uint8_t)(l << 5 | 8 | v >> 1);
		struct head h = {{0x62, (uint8_t)(0xf0 | map), mid, last, op}, 5};

		if (!any)
			any = offer_opcode(&h);
		else
			offer_form(&h, REGISTER);
	}
}

static void offer_evex(void)
{
	static const uint8_t maps[] = {1, 2, 3, 5, 6};

	for (size_t m = 0; m < 5; m++)
		for (unsigned bits = 0; bits < 8; bits++)
			for (unsigned l = 0; l < 3; l++)
				for (unsigned op = 0; op < 256; op++)
					offer_evex_opcode(maps[m], bits, l, (uint8_t)op);
}

/* ---- the instructions of files ---- */

static void offer_at(struct fsc_elf *e, uint64_t offset)
{
	uint8_t code[16];

	offer(code, fsc_elf_read(e, offset, code, sizeof(code)));
}

static void offer_function(struct fsc_elf *e, const struct fsc_exits_file *f,
			   const struct fsc_sym *sym)
{
	struct fsc_target t = {.offset = sym->offset, .at_entry = true};
	char why[FSC_INSN_WHY];

	fsc_insn_inspect(e, &t, why);
	offer_at(e, t.offset);
	offer_at(e, t.body);
	if (fsc_exits_find(f, sym, &t, NULL))
		abort();
	for (size_t i = 0; i < t.n_exits; i++)
		offer_at(e, t.exits[i].offset);
	free(t.exits);
}

static void offer_file(const char *path)
{
	struct fsc_exits_file f;
	struct fsc_elf *e = NULL;
	struct fsc_err err = {0};

	if (fsc_elf_open(path, "", &e, &err) || fsc_exits_open(&f, e, &err)) {
		fprintf(stderr, "encodings: left out: %s\n", err.msg);
		fsc_elf_free(e);
		return;
	}
	for (size_t i = 0; i < f.n_syms; i++)
		if (!f.syms[i].ifunc)
			offer_function(e, &f, &f.syms[i]);
	fsc_exits_release(&f);
	fsc_elf_free(e);
}

int main(int argc, char **argv)
{
	if (argc < 2 || !(list = fopen(argv[1], "w"))) {
		fprintf(stderr, "usage: encodings LIST [--short | ELF...] >FILE.s\n");
		return 2;
	}
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_ATT);
	printf(".text\n.balign 4096\n.ascii \"%s\"\n.balign 4096\n", HARM_MAGIC);
	is_short = argc == 3 && !strcmp(argv[2], "--short");
	n_files = is_short ? 0 : argc - 2;
	if (n_files) {
		for (int i = 2; i < argc; i++)
			offer_file(argv[i]);
	} else {
		offer_legacy();
		offer_vex();
		offer_evex();
	}
	printf(".p2align 6, 0xcc\n.section .note.GNU-stack,\"\",@progbits\n");
	fsc_map_release(&seen);
	if (fclose(list) || fflush(stdout) || ferror(stdout)) {
		perror("encodings");
		return 1;
	}
	return 0;
}
