/* src/probe/insn.h: which first instructions Linux 6.18 takes for its 5-byte nop, which the kernel
 * emulates, and where a probe goes on functions of this very program. The verdicts on nops are
 * measured: a probe without --fast-uprobes must never be put on an instruction that the kernel
 * turns into a call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "probe/insn.h"

#ifdef __x86_64__
struct code {
	const char *bytes;
	size_t n;
	bool yes;
};

#define CODE(text, yes)                                                                            \
	{                                                                                          \
		text, sizeof(text) - 1, yes                                                        \
	}

static bool is_nop5(const uint8_t *code, size_t n)
{
	return fsc_insn_decode(code, n).nop5;
}

static bool is_emulated(const uint8_t *code, size_t n)
{
	return fsc_insn_decode(code, n).emulated;
}

static bool is_refused(const uint8_t *code, size_t n)
{
	return fsc_insn_decode(code, n).verdict == FSC_INSN_REFUSED;
}

static bool is_mistaken(const uint8_t *code, size_t n)
{
	return fsc_insn_decode(code, n).verdict == FSC_INSN_MISTAKEN;
}

static bool is_unknown(const uint8_t *code, size_t n)
{
	return fsc_insn_decode(code, n).verdict == FSC_INSN_UNKNOWN;
}

static void check(const struct code *c, size_t n, bool (*fn)(const uint8_t *, size_t),
		  const char *name)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t buf[16] = {0};

		memcpy(buf, c[i].bytes, c[i].n);
		memset(buf + c[i].n, 0xc3, sizeof(buf) - c[i].n);
		if (fn(buf, sizeof(buf)) != c[i].yes)
			fail_msg("%s, row %zu, %02x %02x %02x %02x %02x: not %d", name, i, buf[0],
				 buf[1], buf[2], buf[3], buf[4], c[i].yes);
	}
}

static void nops_of_five_bytes(void **state)
{
	static const struct code all[] = {
	    CODE("\x0f\x1f\x44\x00\x00", true), /* nopl 0x0(%rax,%rax,1): the usual one */
	    CODE("\x0f\x1f\x44\x20\x00", true),
	    CODE("\x66\x0f\x1f\x40\x00", true), /* nopw 0x0(%rax) */
	    CODE("\x67\x0f\x1f\x40\x00", true),
	    CODE("\xf2\x0f\x1f\x40\x00", true),
	    CODE("\xf3\x0f\x1f\x40\x00", true),
	    CODE("\x64\x0f\x1f\x40\x00", true),
	    CODE("\x41\x0f\x1f\x40\x00", true), /* REX */
	    CODE("\x48\x0f\x1f\x40\x00", true),
	    CODE("\x66\x66\x0f\x1f\x00", true),
	    CODE("\x66\x66\x0f\x1f\xc0", true), /* nopw %ax */
	    CODE("\x66\x0f\x1f\x04\x00", true), /* SIB, no displacement */
	    CODE("\x66\x66\x66\x66\x90", true), /* data16 ... xchg %ax,%ax */
	    CODE("\x66\x66\x66\x40\x90", true),
	    CODE("\x66\x66\x66\x48\x90", true),
	    CODE("\xf2\x66\x66\x66\x90", true),
	    CODE("\xf3\x66\x66\x66\x90", true), /* pause, and yet the kernel replaces it */
	};

	(void)state;
	check(all, sizeof(all) / sizeof(all[0]), is_nop5, "nop5");
}

static void near_misses(void **state)
{
	static const struct code all[] = {
	    CODE("\x90\x90\x90\x90\x90", false), /* five nops of one byte */
	    CODE("\x66\x90\x66\x90\x90", false),
	    CODE("\x90", false),
	    CODE("\x0f\x1f\x00", false),	 /* 3 bytes */
	    CODE("\x0f\x1f\x40\x00", false),	 /* 4 */
	    CODE("\x0f\x1f\x40\x00\x90", false), /* 4 and one more */
	    CODE("\x66\x66\x66\x90", false),
	    CODE("\x66\x0f\x1f\x44\x00\x00", false), /* 6 */
	    CODE("\x66\x66\x66\x66\x66\x90", false),
	    CODE("\x0f\x1f\x80\x00\x00\x00\x00", false), /* 7 */
	    CODE("\x0f\x1f\x84\x00\x00\x00\x00\x00", false),
	    CODE("\x0f\x1f\x05\x00\x00\x00\x00", false),	     /* 7: relative to the next */
	    CODE("\x0f\x1f\x04\x25\x00\x00\x00\x00", false),	     /* 8: SIB without a base */
	    CODE("\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", false), /* 10: the later kernels' */
	    CODE("\xf3\x0f\x1e\xfa", false),			     /* endbr64 */
	    CODE("\xf3\x0f\x1e\x40\x00", false),
	    CODE("\xe8\x00\x00\x00\x00", false), /* call */
	    CODE("\xe9\x00\x00\x00\x00", false), /* jump to the next */
	    CODE("\x48\x8d\x74\x26\x00", false), /* lea 0x0(%rsi),%rsi */
	    CODE("\x66\x66\x48\x89\xc0", false), /* mov %rax,%rax */
	    CODE("\x66\x0f\x18\x78\x00", false), /* a reserved hint */
	    CODE("\x55\x48\x89\xe5", false),
	    CODE("\x66\x66\x66\x66\x66\x66\x66\x66", false), /* prefixes only */
	};

	(void)state;
	check(all, sizeof(all) / sizeof(all[0]), is_nop5, "nop5");
}

/* Code that ends in the middle, at every length: no byte behind the end is read (the sanitizer
 * watches). */
static void cut_code(void **state)
{
	static const char *const starts[] = {"\x0f\x1f\x44\x00\x00", "\x66\x66\x66\x66\x90",
					     "\x66\x66\x0f\x1f\x40", "\x66\x66\x66\x0f\x1f",
					     "\x66\x66\x66\x66\x0f", "\x41\x55\x41\x54\x53",
					     "\x66\x66\x0f\x1f\x04"};

	(void)state;
	for (size_t s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
		for (size_t n = 0; n <= 5; n++) {
			uint8_t *code = test_malloc(n ? n : 1);

			memcpy(code, starts[s], n);
			if (n < 5)
				assert_false(is_nop5(code, n));
			else
				is_nop5(code, n);
			test_free(code);
		}
	}
}

static void emulated_and_stepped(void **state)
{
	static const struct code all[] = {
	    CODE("\x55", true), /* push %rbp */
	    CODE("\x53", true),
	    CODE("\x41\x57", true), /* push %r15 */
	    CODE("\x90", true),
	    CODE("\xe8\x01\x02\x03\x04", true),
	    CODE("\xe9\x01\x02\x03\x04", true),
	    CODE("\xeb\x10", true),
	    CODE("\x74\x10", true),
	    CODE("\x0f\x84\x01\x02\x03\x04", true),
	    CODE("\x48\x83\xec\x08", false), /* sub $8,%rsp */
	    CODE("\xf3\x0f\x1e\xfa", false), /* endbr64 */
	    CODE("\x31\xc0", false),
	    CODE("\xc3", false),
	    CODE("\x58", false), /* pop */
	    CODE("\x41\x58", false),
	    CODE("\x0f\x1f\x44\x00\x00", false),
	    CODE("\x8d\x47\x01", false),
	    CODE("\x48\xe8\x01\x02\x03\x04", true), /* the kernel looks at the opcode alone */
	    CODE("\x66\x50", false),		    /* push %ax */
	};

	(void)state;
	check(all, sizeof(all) / sizeof(all[0]), is_emulated, "emulated");
}

static void refused_by_uprobes(void **state)
{
	static const struct code all[] = {
	    CODE("\xcc", true),			/* int3 */
	    CODE("\xf4", true),			/* hlt */
	    CODE("\xfa", true),			/* cli */
	    CODE("\xec", true),			/* in */
	    CODE("\xf0\x48\x0f\xb1\x0f", true), /* lock cmpxchg */
	    CODE("\x2e\x2e\x48\x89\xc0", true), /* segment prefixes */
	    CODE("\x3e\xff\xe0", true),		/* notrack jmp *%rax */
	    CODE("\x55", false),
	    CODE("\x48\x83\xec\x08", false),
	    CODE("\xf3\x0f\x1e\xfa", false),
	    CODE("\xe9\x01\x02\x03\x04", false),
	    CODE("\x64\x48\x8b\x04\x25\x28\x00\x00\x00", false), /* mov %fs:0x28,%rax */
	    CODE("\x0f\x1f\x44\x00\x00", false),
	    CODE("\xc3", false),
	    CODE("\x66\xe8\x01\x02\x03\x04", true),	/* branches with 66 */
	    CODE("\x66\x48\xe8\x01\x02\x03\x04", true), /* of __tls_get_addr */
	    CODE("\x66\x0f\x84\x01\x02\x03\x04", true),
	    CODE("\xc5\xf9\x6e\xc7", true),	/* vmovd %edi,%xmm0: as if it were outs */
	    CODE("\x8e\xd1", true),		/* mov %ecx,%ss */
	    CODE("\xc4\xe2\x79\x8e\x17", true), /* vpmaskmovd: as if it were */
	    CODE("\xc4\xe2\x79\x8e\x07", false),
	    CODE("\x66\x0f\x79\xd1", true),	    /* extrq */
	    CODE("\xc4\xe3\x79\x68\xd1\x11", true), /* vfmaddps: FMA4 */
	};

	(void)state;
	check(all, sizeof(all) / sizeof(all[0]), is_refused, "refused");
}

/* What the kernel takes and then executes as something else. */
static void mistaken_by_uprobes(void **state)
{
	static const struct code all[] = {
	    CODE("\xc5\xf9\x7e\xc7", true),		    /* vmovd %xmm0,%edi */
	    CODE("\xc4\xe1\xf9\x7e\xc7", true),		    /* vmovq, three bytes of VEX */
	    CODE("\xc5\xf9\x70\xc0\x10", true),		    /* vpshufd $16 */
	    CODE("\xc5\xf8\x77", true),			    /* vzeroupper */
	    CODE("\xc5\xfa\xc2\xc1\x01", true),		    /* vcmpltss */
	    CODE("\xc4\xe2\xf1\x9d\xc2", true),		    /* vfnmadd132sd */
	    CODE("\xc5\xf8\x90\xc9", true),		    /* kmovw */
	    CODE("\xc5\xf9\xeb\xc1", true),		    /* vpor */
	    CODE("\xc5\xf9\xe8\xc1", true),		    /* vpsubsb */
	    CODE("\x62\xf2\x7d\x28\x7a\xc6", true),	    /* vpbroadcastb %esi,%ymm0 */
	    CODE("\x62\xf1\x7d\x48\x7f\x07", true),	    /* vmovdqa32 */
	    CODE("\x62\xf3\x75\x28\x71\xc2\x03", true),	    /* vpshldd */
	    CODE("\xf3\x0f\x2b\x05\x00\x00\x00\x00", true), /* movntss, RIP */
	    CODE("\xf2\x0f\x2b\x05\x00\x00\x00\x00", true),
	    CODE("\xf3\x0f\x2b\x00", false),
	    CODE("\x0f\x2b\x05\x00\x00\x00\x00", false),     /* movntps: as any other */
	    CODE("\x0f\xa4\x15\x00\x00\x00\x00\x11", false), /* shld $17, RIP */
	    CODE("\x49\x90", true),			     /* xchg %rax,%r8: no nop */
	    CODE("\x41\x90", true),
	    CODE("\x48\x90", false),
	    CODE("\x66\x90", false),
	    CODE("\xf3\x90", true), /* pause */
	    CODE("\x9c", true),	    /* pushf */
	    CODE("\x9d", false),
	    CODE("\x0f\x05", true),	/* syscall */
	    CODE("\x0f\x01\xe1", true), /* smsw */
	    CODE("\x66\xe2\x10", true), /* loop, 16 bits */
	    CODE("\xe2\x10", false),
	    CODE("\x66\xff\xd1", true), /* call *%cx */
	    CODE("\xff\xd1", false),
	    CODE("\xff\x25\x00\x00\x00\x00", false),	     /* jmp *0(%rip) */
	    CODE("\xf3\x0f\x98\x05\x00\x00\x00\x00", true),  /* sets, a prefix for nothing */
	    CODE("\xf3\x0f\x10\x05\x00\x00\x00\x00", false), /* movss: the prefix is part of it */
	    CODE("\xc5\xf9\x6f\x07", false),		     /* refused by the kernel itself */
	    CODE("\xc5\xf8\x57\xc0", false),		     /* vxorps */
	    CODE("\xc5\xf8\x28\x07", false),		     /* vmovaps */
	    CODE("\x66\x0f\x7e\xc7", false), /* movd: the second map is told from the first */
	    CODE("\x66\x0f\xeb\xc1", false),
	    CODE("\x0f\xc2\xc1\x01", false),
	    CODE("\xc3", false),
	    CODE("\x74\x10", false),
	};

	(void)state;
	check(all, sizeof(all) / sizeof(all[0]), is_mistaken, "mistaken");
}

static bool is_repeated(const uint8_t *code, size_t n)
{
	return fsc_insn_decode(code, n).verdict == FSC_INSN_REPEATED;
}

static void repeated_strings(void **state)
{
	static const struct code all[] = {
	    CODE("\xf3\xa4", true),				 /* rep movsb */
	    CODE("\xf3\x48\xab", true),				 /* rep stosq */
	    CODE("\xf2\xae", true),				 /* repne scasb */
	    CODE("\xa4", false),	CODE("\xf3\xc3", false), /* rep ret */
	};

	(void)state;
	check(all, sizeof(all) / sizeof(all[0]), is_repeated, "repeated");
}

static void unknown_to_the_decoder(void **state)
{
	static const struct code all[] = {
	    CODE("\x06", true),			    /* not in 64-bit code */
	    CODE("\xd5\x00\x58", true),		    /* REX2 */
	    CODE("\x62\xf4\x7c\x18\x01\xc8", true), /* APX: add with a new destination */
	    CODE("\x8f\xe9\x78\x81\xc1", true),	    /* XOP: vfrczpd */
	    CODE("\x0f\x0f\xc1\x9e", true),	    /* 3DNow: pfadd */
	    CODE("\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x90",
		 true),		     /* 16 bytes */
	    CODE("\x8f\x00", false), /* pop */
	    CODE("\x90", false),
	};

	(void)state;
	check(all, sizeof(all) / sizeof(all[0]), is_unknown, "unknown");
}

static void reasons_name_the_instruction(void **state)
{
	static const struct {
		const char *bytes, *text;
	} all[] = {
	    {"\xc5\xf9\x7e\xc7",
	     "uprobes would execute its first instruction wrongly (vmovd, VEX opcode 7e)"},
	    {"\x62\xf2\x7d\x28\x7a\xc6",
	     "uprobes would execute its first instruction wrongly (vpbroadcastb, EVEX opcode 7a)"},
	    {"\x49\x90\x90\x90", "uprobes would execute its first instruction wrongly (xchg)"},
	    {"\xf4\x90\x90\x90", "uprobes do not support its first instruction (hlt)"},
	    {"\xf0\xff\x07\x90", "uprobes do not support its first instruction (lock inc)"},
	    {"\x06\x90\x90\x90", "its first instruction could not be decoded"},
	};
	char why[FSC_INSN_WHY];

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct fsc_insn in = fsc_insn_decode((const uint8_t *)all[i].bytes, i == 1 ? 6 : 4);

		fsc_insn_why(&in, true, why);
		assert_string_equal(why, all[i].text);
	}
	fsc_insn_why(&(struct fsc_insn){.verdict = FSC_INSN_REFUSED, .name = "hlt"}, false, why);
	assert_string_equal(why, "uprobes do not support the instruction there (hlt)");
}

/* Functions of this program, by the byte. */
#define FUNC(name, bytes)                                                                          \
	__asm__(".pushsection .text\n.globl " #name "\n.type " #name                               \
		",@function\n.balign 16\n" #name ": .byte " bytes "\nret\n.size " #name            \
		",.-" #name "\n.popsection\n")
#define ENDBR "0xf3,0x0f,0x1e,0xfa"
#define NOP5  "0x0f,0x1f,0x44,0,0"
#define PUSH  "0x55"

FUNC(insn_plain, PUSH ",0x5d");
FUNC(insn_stepped, "0x31,0xc0");
FUNC(insn_endbr, ENDBR "," PUSH ",0x5d");
FUNC(insn_nop5, NOP5 "," PUSH ",0x5d");
FUNC(insn_endbr_nop5, ENDBR "," NOP5 ",0x31,0xc0");
FUNC(insn_nops, NOP5 "," NOP5 "," PUSH ",0x5d");
FUNC(insn_endbr_vmovd, ENDBR ",0xc5,0xf9,0x7e,0xc7");
FUNC(insn_endbr_nop5_vmovd, ENDBR "," NOP5 ",0xc5,0xf9,0x7e,0xc7");
FUNC(insn_vmovd, "0xc5,0xf9,0x7e,0xc7");
FUNC(insn_nop5_vmovd, NOP5 ",0xc5,0xf9,0x7e,0xc7");
FUNC(insn_one_byte, "0x90,0x90,0x90,0x90,0x90");
FUNC(insn_twenty,
     NOP5 "," NOP5 "," NOP5 "," NOP5 "," NOP5 "," NOP5 "," NOP5 "," NOP5 "," NOP5 "," NOP5 "," NOP5
	  "," NOP5 "," NOP5 "," NOP5 "," NOP5 "," NOP5 "," NOP5 "," NOP5 "," NOP5 "," NOP5);

static uint64_t offset_of(struct fsc_elf *e, const char *name)
{
	const struct fsc_sym *s;
	size_t n;

	assert_int_equal(fsc_elf_symbols(e, &s, &n, NULL), 0);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(s[i].name, name))
			return s[i].offset;
	fail_msg("no symbol %s", name);
	return 0;
}

static void where_a_probe_goes(void **state)
{
	static const struct {
		const char *name;
		int nop5; /* behind the start, -1 for none */
		unsigned body;
		bool stepped;
	} all[] = {
	    {"insn_plain", -1, 0, false},
	    {"insn_stepped", -1, 0, true},
	    {"insn_endbr", -1, 4, false},
	    {"insn_nop5", 0, 5, false},
	    {"insn_endbr_nop5", 4, 9, true},
	    {"insn_nops", 0, 10, false},
	    {"insn_one_byte", -1, 0, false},
	    /* behind is a bad place, on endbr64 is not */
	    {"insn_endbr_vmovd", -1, 0, true},
	    {"insn_endbr_nop5_vmovd", 4, 0, true},
	};
	char why[FSC_INSN_WHY];
	struct fsc_elf *e = NULL;

	(void)state;
	assert_int_equal(fsc_elf_open("/proc/self/exe", "", &e, NULL), 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		uint64_t at = offset_of(e, all[i].name);
		struct fsc_target t = {.offset = at, .at_entry = true};

		assert_true(fsc_insn_inspect(e, &t, why));
		if (t.nop5 != (all[i].nop5 < 0 ? 0 : at + (uint64_t)all[i].nop5) ||
		    t.body != at + all[i].body || t.stepped != all[i].stepped || t.offset != at)
			fail_msg("%s: nop5 %#llx body %#llx stepped %d, begins at %#llx",
				 all[i].name, (unsigned long long)t.nop5,
				 (unsigned long long)t.body, t.stepped, (unsigned long long)at);
	}
	fsc_elf_free(e);
}

static void where_no_probe_goes(void **state)
{
	static const char *const all[] = {"insn_vmovd", "insn_nop5_vmovd"};
	char why[FSC_INSN_WHY];
	struct fsc_elf *e = NULL;

	(void)state;
	assert_int_equal(fsc_elf_open("/proc/self/exe", "", &e, NULL), 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct fsc_target t = {.offset = offset_of(e, all[i]), .at_entry = true};

		assert_false(fsc_insn_inspect(e, &t, why));
		assert_non_null(strstr(why, "vmovd"));
	}
	fsc_elf_free(e);
}

/* Inside a function endbr64 is the target of a jump somebody asked to see: it is not stepped over.
 */
static void inside_a_function(void **state)
{
	struct fsc_elf *e = NULL;
	char why[FSC_INSN_WHY];
	struct fsc_target t;

	(void)state;
	assert_int_equal(fsc_elf_open("/proc/self/exe", "", &e, NULL), 0);
	t = (struct fsc_target){.offset = offset_of(e, "insn_endbr")};
	fsc_insn_inspect(e, &t, why);
	assert_int_equal(t.body, t.offset);
	t = (struct fsc_target){.offset = offset_of(e, "insn_nop5")};
	fsc_insn_inspect(e, &t, why);
	assert_int_equal(t.nop5, t.offset);
	/* a long row of nops ends somewhere, and a place behind the file's end is no crash */
	t = (struct fsc_target){.offset = offset_of(e, "insn_twenty"), .at_entry = true};
	fsc_insn_inspect(e, &t, why);
	assert_true(t.body - t.offset >= 64 && t.body - t.offset <= 100);
	t = (struct fsc_target){.offset = UINT64_MAX - 3, .at_entry = true};
	fsc_insn_inspect(e, &t, why);
	assert_int_equal(t.nop5, 0);
	fsc_elf_free(e);
}

/* Every instruction of this very program, as objdump cuts it: a wrong length is a failure, an
 * unknown one is not probed and so no harm. */
static void lengths_agree_with_objdump(void **state)
{
	FILE *f = popen("objdump -d -w -j .text /proc/$PPID/exe 2>/dev/null", "r");
	size_t known = 0, all = 0;
	char line[512];

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		uint8_t code[32] = {0};
		char *p = strchr(line, '\t');
		size_t n = 0, len;
		unsigned byte;
		int used;

		while (p && n < 16 && sscanf(p, " %2x%n", &byte, &used) == 1 && (p[used] == ' ')) {
			code[n++] = (uint8_t)byte;
			p += used;
		}
		if (n < 2 || strstr(line, "(bad)"))
			continue;
		len = fsc_insn_decode(code, sizeof(code)).length;
		if (len && len != n)
			fail_msg("%zu bytes, not %zu: %s", len, n, line);
		known += len != 0;
		all++;
	}
	pclose(f);
	if (!all)
		skip();
	assert_true(known * 1000 >= all * 999);
}

static void boundaries(void **state)
{
	struct fsc_elf *e = NULL;
	uint64_t before, after, start;

	(void)state;
	assert_int_equal(fsc_elf_open("/proc/self/exe", "", &e, NULL), 0);
	start = offset_of(e, "insn_nop5");
	assert_true(fsc_insn_boundary(e, start, 5, &before, &after));
	for (uint64_t inside = 1; inside < 5; inside++) {
		assert_false(fsc_insn_boundary(e, start, inside, &before, &after));
		assert_int_equal(before, 0);
		assert_int_equal(after, 5);
	}
	assert_false(fsc_insn_boundary(e, UINT64_MAX - 3, 7, &before, &after));
	fsc_elf_free(e);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef __x86_64__
	    cmocka_unit_test(nops_of_five_bytes),
	    cmocka_unit_test(near_misses),
	    cmocka_unit_test(cut_code),
	    cmocka_unit_test(emulated_and_stepped),
	    cmocka_unit_test(refused_by_uprobes),
	    cmocka_unit_test(mistaken_by_uprobes),
	    cmocka_unit_test(repeated_strings),
	    cmocka_unit_test(unknown_to_the_decoder),
	    cmocka_unit_test(reasons_name_the_instruction),
	    cmocka_unit_test(where_a_probe_goes),
	    cmocka_unit_test(where_no_probe_goes),
	    cmocka_unit_test(inside_a_function),
	    cmocka_unit_test(lengths_agree_with_objdump),
	    cmocka_unit_test(boundaries),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
