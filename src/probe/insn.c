/* Decoding x86-64 code: how long an instruction is, where control goes after it, and whether a
 * uprobe may be put on it. The last is the tables below: what the kernel refuses, and what it takes
 * and then executes wrongly. docs/harm.md has the evidence, tests/harm/sweep makes it. On other
 * machines every instruction is treated alike. */
#include "probe/insn.h"

#include <stdio.h>
#include <string.h>

#ifdef __x86_64__
#include <Zydis/Zydis.h>

/* ---- what uprobes do with it ---- */

/* The opcodes of the first map that the kernel refuses. A vector instruction (VEX, EVEX) is
 * looked up by its own opcode, of whatever map. */
static bool opcode_is_refused(uint8_t op)
{
	static const uint8_t refused[] = {
	    0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f, 0x37, 0x3f, 0x60, 0x61, 0x62,
	    0x6c, 0x6d, 0x6e, 0x6f, 0x82, 0x9a, 0xcc, 0xcd, 0xce, 0xcf, 0xd4, 0xd5, 0xd6, 0xe4,
	    0xe5, 0xe6, 0xe7, 0xea, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf4, 0xfa, 0xfb,
	};

	return memchr(refused, op, sizeof(refused)) != NULL;
}

/* The opcodes of the first map that the kernel emulates or corrects afterwards: jumps, calls,
 * returns, nop, popf. It looks at the byte and not at the map, so a vector instruction with that
 * byte is taken for one of them. */
static bool opcode_is_special(uint8_t op)
{
	static const uint8_t special[] = {0x90, 0x9a, 0x9d, 0xc2, 0xc3, 0xca,
					  0xcb, 0xe8, 0xe9, 0xea, 0xeb, 0xff};

	return (op & 0xf0) == 0x70 || memchr(special, op, sizeof(special));
}

static bool has_prefix(const ZydisDecodedInstruction *z, uint8_t prefix)
{
	for (ZyanU8 i = 0; i < z->raw.prefix_count; i++)
		if (z->raw.prefixes[i].value == prefix)
			return true;
	return false;
}

static bool has_refused_prefix(const ZydisDecodedInstruction *z)
{
	return has_prefix(z, 0xf0) || has_prefix(z, 0x26) || has_prefix(z, 0x2e) ||
	       has_prefix(z, 0x36) || has_prefix(z, 0x3e);
}

static bool is_vector(const ZydisDecodedInstruction *z)
{
	return z->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX ||
	       z->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
}

static bool is_rip_relative(const ZydisDecodedInstruction *z)
{
	return (z->attributes & ZYDIS_ATTRIB_HAS_MODRM) && !z->raw.modrm.mod &&
	       z->raw.modrm.rm == 5;
}

static bool is_first_map(const ZydisDecodedInstruction *z)
{
	return z->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
	       z->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT;
}

static bool is_second_map(const ZydisDecodedInstruction *z)
{
	return z->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
	       z->opcode_map == ZYDIS_OPCODE_MAP_0F;
}

/* A relative jump or call that the kernel emulates. */
static bool is_branch(const ZydisDecodedInstruction *z)
{
	if (is_second_map(z))
		return (z->opcode & 0xf0) == 0x80;
	return is_first_map(z) && ((z->opcode & 0xf0) == 0x70 || z->opcode == 0xe8 ||
				   z->opcode == 0xe9 || z->opcode == 0xeb);
}

static bool is_looping(const ZydisDecodedInstruction *z)
{
	return is_first_map(z) && (z->opcode & 0xfc) == 0xe0; /* loop, jrcxz */
}

static bool is_indirect_call(const ZydisDecodedInstruction *z)
{
	return is_first_map(z) && z->opcode == 0xff && z->raw.modrm.reg == 2;
}

/* Whether a prefix f2 or f3 is there that the instruction does not need. */
static bool has_idle_repeat(const ZydisDecodedInstruction *z)
{
	for (ZyanU8 i = 0; i < z->raw.prefix_count; i++)
		if ((z->raw.prefixes[i].value | 1) == 0xf3 &&
		    z->raw.prefixes[i].type != ZYDIS_PREFIX_TYPE_MANDATORY)
			return true;
	return false;
}

/* By name, whatever the operands. */
static bool name_is_mistaken(ZydisMnemonic name)
{
	switch (name) {
	case ZYDIS_MNEMONIC_PUSHF: /* the flag of single-stepping is pushed, too */
	case ZYDIS_MNEMONIC_PUSHFD:
	case ZYDIS_MNEMONIC_PUSHFQ:
	case ZYDIS_MNEMONIC_SYSCALL: /* goes on behind the copy; a new process begins there */
	case ZYDIS_MNEMONIC_PAUSE:   /* emulated up to 7.2; then stepped, which qemu overlooks */
	case ZYDIS_MNEMONIC_SLDT:    /* with UMIP: emulated, and goes on behind the copy */
	case ZYDIS_MNEMONIC_STR:
	case ZYDIS_MNEMONIC_SMSW:
	case ZYDIS_MNEMONIC_SGDT:
	case ZYDIS_MNEMONIC_SIDT:
		return true;
	default:
		return false;
	}
}

/* The kernel's own decoder takes these for other instructions, without an operand, and leaves their
 * RIP as it is. */
static bool rip_is_mistaken(const ZydisDecodedInstruction *z)
{
	if (!is_rip_relative(z) || z->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		return false;
	return z->mnemonic == ZYDIS_MNEMONIC_MOVNTSS || z->mnemonic == ZYDIS_MNEMONIC_MOVNTSD ||
	       (!is_first_map(z) && has_idle_repeat(z));
}

static bool is_mistaken(const ZydisDecodedInstruction *z)
{
	if (is_vector(z))
		return opcode_is_special(z->opcode);
	/* xchg with r8: taken for the nop that the same opcode is without REX. */
	if (is_first_map(z) && z->opcode == 0x90 && z->mnemonic == ZYDIS_MNEMONIC_XCHG)
		return true;
	if (has_prefix(z, 0x66) && (is_looping(z) || is_indirect_call(z)))
		return true;
	return name_is_mistaken(z->mnemonic) || rip_is_mistaken(z);
}

/* A repeated string instruction is hit again at each repetition. */
static bool is_repeated(const ZydisDecodedInstruction *z)
{
	return is_first_map(z) && (has_prefix(z, 0xf2) || has_prefix(z, 0xf3)) &&
	       ((z->opcode >= 0xa4 && z->opcode <= 0xa7) ||
		(z->opcode >= 0xaa && z->opcode <= 0xaf));
}

/* What the kernel's decoder does not know or refuses: instructions of one vendor, and loads of ss,
 * recognised by the byte as above. */
static bool is_unsupported(const ZydisDecodedInstruction *z)
{
	return z->meta.isa_ext == ZYDIS_ISA_EXT_FMA4 || z->meta.isa_ext == ZYDIS_ISA_EXT_XOP ||
	       z->meta.isa_ext == ZYDIS_ISA_EXT_KNC || z->mnemonic == ZYDIS_MNEMONIC_EXTRQ ||
	       z->mnemonic == ZYDIS_MNEMONIC_INSERTQ || z->mnemonic == ZYDIS_MNEMONIC_JKZD ||
	       z->mnemonic == ZYDIS_MNEMONIC_JKNZD ||
	       ((is_vector(z) || is_first_map(z)) && z->opcode == 0x8e && z->raw.modrm.reg == 2);
}

static enum fsc_insn_verdict insn_verdict(const ZydisDecodedInstruction *z)
{
	if (z->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY && !is_vector(z))
		return FSC_INSN_UNKNOWN;
	if (has_refused_prefix(z) || (is_branch(z) && has_prefix(z, 0x66)) || is_unsupported(z))
		return FSC_INSN_REFUSED;
	if ((is_vector(z) || is_first_map(z)) && opcode_is_refused(z->opcode))
		return FSC_INSN_REFUSED;
	if (is_repeated(z))
		return FSC_INSN_REPEATED;
	return is_mistaken(z) ? FSC_INSN_MISTAKEN : FSC_INSN_FINE;
}

static bool is_emulated(const ZydisDecodedInstruction *z)
{
	if (is_branch(z) || (is_first_map(z) && z->opcode == 0x90))
		return true;
	if (!is_first_map(z) || (z->opcode & 0xf8) != 0x50)
		return false;
	return z->length == 1 ||
	       (z->length == 2 && z->raw.rex.B && !z->raw.rex.W && !z->raw.rex.R && !z->raw.rex.X);
}

/* ---- what it is ---- */

static bool is_nop(const ZydisDecodedInstruction *z)
{
	return z->mnemonic == ZYDIS_MNEMONIC_NOP || z->mnemonic == ZYDIS_MNEMONIC_PAUSE ||
	       z->mnemonic == ZYDIS_MNEMONIC_INT3;
}

/* Measured: what Linux 6.18 takes for its 5-byte nop. */
static bool is_nop5(const ZydisDecodedInstruction *z)
{
	if (z->length != 5 || !is_nop(z))
		return false;
	return (is_first_map(z) && z->opcode == 0x90) || (is_second_map(z) && z->opcode == 0x1f);
}

/* The register a 64-bit `add register, register` adds to. */
static int sum_register(const ZydisDecodedInstruction *z)
{
	if (z->mnemonic != ZYDIS_MNEMONIC_ADD || !z->raw.rex.W || z->raw.modrm.mod != 3)
		return -1;
	if (z->opcode == 0x01)
		return z->raw.modrm.rm + 8 * z->raw.rex.B;
	return z->opcode == 0x03 ? z->raw.modrm.reg + 8 * z->raw.rex.R : -1;
}

static enum fsc_insn_flow jump_flow(const ZydisDecodedInstruction *z, struct fsc_insn *in)
{
	if (z->opcode != 0xff) {
		in->to = z->length + z->raw.imm[0].value.s;
		return FSC_FLOW_JUMP;
	}
	if (z->raw.modrm.mod == 3) {
		in->by = z->raw.modrm.rm + 8 * z->raw.rex.B;
		return has_prefix(z, 0x3e) ? FSC_FLOW_SWITCH : FSC_FLOW_INDIRECT;
	}
	/* notrack, or by a table of addresses: an index and no base */
	if (has_prefix(z, 0x3e) || (!z->raw.modrm.mod && z->raw.modrm.rm == 4 &&
				    z->raw.sib.base == 5 && z->raw.sib.index != 4))
		return FSC_FLOW_SWITCH;
	return FSC_FLOW_INDIRECT;
}

static enum fsc_insn_flow insn_flow(const ZydisDecodedInstruction *z, struct fsc_insn *in)
{
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_RET:
		return FSC_FLOW_RETURN;
	case ZYDIS_MNEMONIC_CALL:
		return FSC_FLOW_CALL;
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_UD2:
		return FSC_FLOW_STOP;
	case ZYDIS_MNEMONIC_JMP:
		return jump_flow(z, in);
	default:
		return FSC_FLOW_ON;
	}
}

/* Where it may go besides. */
static int64_t insn_also(const ZydisDecodedInstruction *z)
{
	bool call = z->mnemonic == ZYDIS_MNEMONIC_CALL && z->opcode == 0xe8;

	return call || z->meta.category == ZYDIS_CATEGORY_COND_BR
		   ? z->length + z->raw.imm[0].value.s
		   : 0;
}

/* Calls and jumps by an address in memory, RIP-relative. */
static int64_t insn_slot(const ZydisDecodedInstruction *z)
{
	bool by_rip = !z->raw.modrm.mod && z->raw.modrm.rm == 5;

	if ((z->mnemonic != ZYDIS_MNEMONIC_CALL && z->mnemonic != ZYDIS_MNEMONIC_JMP) ||
	    z->opcode != 0xff || !by_rip)
		return 0;
	return z->length + z->raw.disp.value;
}

static const char *encoding_name(const ZydisDecodedInstruction *z)
{
	switch (z->encoding) {
	case ZYDIS_INSTRUCTION_ENCODING_VEX:
		return "VEX";
	case ZYDIS_INSTRUCTION_ENCODING_EVEX:
		return "EVEX";
	default:
		return NULL;
	}
}

struct fsc_insn fsc_insn_decode(const uint8_t *code, size_t n)
{
	struct fsc_insn in = {.verdict = FSC_INSN_UNKNOWN, .by = -1, .sum = -1, .name = ""};
	ZydisDecodedInstruction z;
	ZydisDecoder d;

	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, code, n, &z)))
		return in;
	in.length = z.length;
	in.opcode = z.opcode;
	in.verdict = insn_verdict(&z);
	in.flow = insn_flow(&z, &in);
	in.also = insn_also(&z);
	in.slot = insn_slot(&z);
	in.nop = is_nop(&z);
	in.nop5 = is_nop5(&z);
	in.emulated = is_emulated(&z);
	in.endbr = z.mnemonic == ZYDIS_MNEMONIC_ENDBR64;
	in.locked = has_prefix(&z, 0xf0);
	in.sum = sum_register(&z);
	in.name = ZydisMnemonicGetString(z.mnemonic);
	in.encoding = encoding_name(&z);
	return in;
}

static struct fsc_insn insn_at(const struct fsc_elf *e, uint64_t offset)
{
	uint8_t code[16];

	return fsc_insn_decode(code, fsc_elf_read(e, offset, code, sizeof(code)));
}

bool fsc_insn_inspect(struct fsc_elf *e, struct fsc_target *t, char *why)
{
	const struct fsc_insn first = insn_at(e, t->offset);
	struct fsc_insn in = first;

	t->body = t->offset;
	while ((in.nop5 || (t->at_entry && in.endbr)) && t->body - t->offset <= 64) {
		if (in.nop5 && !t->nop5 && in.verdict == FSC_INSN_FINE)
			t->nop5 = t->body;
		t->body += in.length;
		in = insn_at(e, t->body);
	}
	if (in.verdict == FSC_INSN_FINE && fsc_elf_relocates(e, t->body, in.length))
		in.verdict = FSC_INSN_RELOCATED;
	/* After endbr64 only because that is cheaper. */
	if (in.verdict != FSC_INSN_FINE && first.endbr && t->at_entry) {
		in = first;
		t->body = t->offset;
	}
	t->stepped = !in.emulated;
	if (in.verdict != FSC_INSN_FINE)
		fsc_insn_why(&in, t->at_entry, why);
	return in.verdict == FSC_INSN_FINE;
}

bool fsc_insn_boundary(const struct fsc_elf *e, uint64_t start, uint64_t offset, uint64_t *before,
		       uint64_t *after)
{
	uint64_t at = 0;

	*before = *after = 0;
	while (at < offset) {
		size_t len = insn_at(e, start + at).length;

		if (!len)
			return false;
		*before = at;
		at += len;
	}
	*after = at;
	return at == offset;
}
#else
struct fsc_insn fsc_insn_decode(const uint8_t *code, size_t n)
{
	(void)code;
	return (struct fsc_insn){
	    .length = n < 4 ? 0 : 4, .by = -1, .sum = -1, .name = "", .verdict = FSC_INSN_FINE};
}

bool fsc_insn_inspect(struct fsc_elf *e, struct fsc_target *t, char *why)
{
	const struct fsc_insn in = {.verdict = FSC_INSN_RELOCATED, .name = ""};

	t->body = t->offset;
	t->stepped = true;
	if (!fsc_elf_relocates(e, t->offset, 4))
		return true;
	fsc_insn_why(&in, t->at_entry, why);
	return false;
}

bool fsc_insn_boundary(const struct fsc_elf *e, uint64_t start, uint64_t offset, uint64_t *before,
		       uint64_t *after)
{
	(void)e;
	(void)start;
	*before = offset & ~3ull;
	*after = *before + 4;
	return offset % 4 == 0;
}
#endif

void fsc_insn_why(const struct fsc_insn *in, bool at_entry, char *why)
{
	/* Before and behind the name of the instruction's place. */
	static const struct {
		const char *before, *behind;
	} texts[FSC_INSN_VERDICTS] = {
	    [FSC_INSN_FINE] = {"uprobes support ", ""},
	    [FSC_INSN_UNKNOWN] = {"", " could not be decoded"},
	    [FSC_INSN_REFUSED] = {"uprobes do not support ", ""},
	    [FSC_INSN_MISTAKEN] = {"uprobes would execute ", " wrongly"},
	    [FSC_INSN_REPEATED] = {"each repetition of ", " would be a hit"},
	    [FSC_INSN_RELOCATED] = {"the loader changes ", ", by a text relocation"},
	};
	int n = snprintf(why, FSC_INSN_WHY, "%s%s%s", texts[in->verdict].before,
			 at_entry ? "its first instruction" : "the instruction there",
			 texts[in->verdict].behind);
	size_t room = FSC_INSN_WHY - (size_t)n;

	if (in->name[0] && in->locked)
		snprintf(why + n, room, " (lock %s)", in->name);
	else if (in->name[0] && in->encoding)
		snprintf(why + n, room, " (%s, %s opcode %02x)", in->name, in->encoding,
			 in->opcode);
	else if (in->name[0])
		snprintf(why + n, room, " (%s)", in->name);
}
