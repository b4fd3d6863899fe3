/* Reading what systemtap's macros left in .note.stapsdt: SIZE@OPERAND, a blank between arguments,
 * an operand as the assembler writes it. SIZE is negative for signed values and may have a float's
 * 'f', which we refuse. Operands of arm64 contain blanks inside brackets. */
#include "probe/usdtargs.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe/names.h"

struct reg {
	const char *names; /* ",a,b," of the 8, 4, 2 and 1 byte names */
	uint16_t offset;   /* in pt_regs */
};

static const struct reg x86_regs[] = {
    {",r15,r15d,r15w,r15b,", 0},  {",r14,r14d,r14w,r14b,", 8},	{",r13,r13d,r13w,r13b,", 16},
    {",r12,r12d,r12w,r12b,", 24}, {",rbp,ebp,bp,bpl,", 32},	{",rbx,ebx,bx,bl,bh,", 40},
    {",r11,r11d,r11w,r11b,", 48}, {",r10,r10d,r10w,r10b,", 56}, {",r9,r9d,r9w,r9b,", 64},
    {",r8,r8d,r8w,r8b,", 72},	  {",rax,eax,ax,al,ah,", 80},	{",rcx,ecx,cx,cl,ch,", 88},
    {",rdx,edx,dx,dl,dh,", 96},	  {",rsi,esi,si,sil,", 104},	{",rdi,edi,di,dil,", 112},
    {",rip,eip,", 128},		  {",rsp,esp,sp,spl,", 152},
};

static bool x86_reg(const char *name, size_t n, uint16_t *ret)
{
	char key[8];

	if (!n || n + 3 > sizeof(key))
		return false;
	key[0] = ',';
	memcpy(key + 1, name, n);
	memcpy(key + 1 + n, ",", 2);
	for (size_t i = 0; i < sizeof(x86_regs) / sizeof(x86_regs[0]); i++)
		if (strstr(x86_regs[i].names, key)) {
			*ret = x86_regs[i].offset;
			return true;
		}
	return false;
}

/* x0-x30, w0-w30, sp: regs[31], then sp. */
static bool arm64_reg(const char *name, size_t n, uint16_t *ret)
{
	unsigned v = 0;

	if (n == 2 && !memcmp(name, "sp", 2)) {
		*ret = 31 * 8;
		return true;
	}
	if (n < 2 || n > 3 || (name[0] != 'x' && name[0] != 'w'))
		return false;
	for (size_t i = 1; i < n; i++) {
		if (!isdigit((unsigned char)name[i]))
			return false;
		v = v * 10 + (unsigned)(name[i] - '0');
	}
	*ret = (uint16_t)(v * 8);
	return v <= 30;
}

static bool take_int(const char **s, uint64_t *ret)
{
	const char *digits = *s + (**s == '-' || **s == '+');
	char *end;

	if (!isdigit((unsigned char)*digits))
		return false;
	errno = 0;
	*ret = strtoull(digits, &end, 0);
	if (errno || end == digits)
		return false;
	if (**s == '-')
		*ret = -*ret;
	*s = end;
	return true;
}

static size_t name_length(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]))
		n++;
	return n;
}

static bool take_x86_reg(const char **s, uint16_t *ret)
{
	size_t n;

	if (**s != '%')
		return false;
	n = name_length(*s + 1);
	if (!x86_reg(*s + 1, n, ret))
		return false;
	*s += 1 + n;
	return true;
}

/* DISP(%base,%index,scale), each part optional. */
static bool x86_memory(const char *s, struct fsc_usdt_arg *a)
{
	uint64_t scale = 1;

	a->form = FSC_USDT_MEMORY;
	take_int(&s, &a->imm);
	if (*s++ != '(')
		return false;
	a->base = take_x86_reg(&s, &a->base_reg);
	if (a->base && a->base_reg == 128) /* rip: only the assembler knows from where */
		return false;
	if (*s == ',') {
		s++;
		a->index = take_x86_reg(&s, &a->index_reg);
		if (*s == ',' && (s++, !take_int(&s, &scale)))
			return false;
	}
	a->scale = (unsigned)scale;
	return (a->base || a->index) && !strcmp(s, ")") && scale && scale <= 8;
}

static bool x86_operand(const char *s, struct fsc_usdt_arg *a)
{
	a->form = FSC_USDT_CONST;
	if (*s == '$')
		return s++, take_int(&s, &a->imm) && !*s;
	if (*s != '%')
		return x86_memory(s, a);
	a->form = FSC_USDT_REG;
	a->second_byte = a->size == 1 && strlen(s) == 3 && s[2] == 'h';
	return take_x86_reg(&s, &a->base_reg) && !*s;
}

/* [x0], [sp, 12], [x1, x2, lsl 3] is not made by compilers for probes. */
static bool arm64_memory(const char *s, struct fsc_usdt_arg *a)
{
	size_t n = name_length(++s);

	a->form = FSC_USDT_MEMORY;
	a->scale = 1;
	a->base = arm64_reg(s, n, &a->base_reg);
	s += n;
	if (a->base && *s == ',') {
		s += 1 + strspn(s + 1, " #");
		n = name_length(s);
		if (arm64_reg(s, n, &a->index_reg)) {
			a->index = true;
			s += n;
		} else if (!take_int(&s, &a->imm)) {
			return false;
		}
	}
	return a->base && !strcmp(s, "]");
}

static bool arm64_operand(const char *s, struct fsc_usdt_arg *a)
{
	if (*s == '[')
		return arm64_memory(s, a);
	a->form = FSC_USDT_REG;
	if (arm64_reg(s, strlen(s), &a->base_reg))
		return true;
	a->form = FSC_USDT_CONST;
	s += *s == '#';
	return take_int(&s, &a->imm) && !*s;
}

/* The n-th word, blanks inside brackets being part of it; its length, 0 if there is none. */
static size_t nth_word(const char *args, unsigned n, const char **ret)
{
	const char *s = args;

	for (;;) {
		const char *from;
		int inside = 0;

		s += strspn(s, " \t");
		from = s;
		for (; *s && (inside || (*s != ' ' && *s != '\t')); s++)
			inside += (*s == '[') - (*s == ']' && inside);
		if (s == from)
			return 0;
		if (!--n) {
			*ret = from;
			return (size_t)(s - from);
		}
	}
}

unsigned fsc_usdt_args_count(const char *args)
{
	const char *word;
	unsigned n = 0;

	while (nth_word(args, n + 1, &word))
		n++;
	return n;
}

static bool parse_word(const char *s, enum fsc_usdt_machine machine, struct fsc_usdt_arg *a)
{
	uint64_t size = 8;

	if (strchr(s, '@')) {
		a->is_signed = *s == '-';
		if (!take_int(&s, &size) || *s++ != '@')
			return false;
		size = a->is_signed ? -size : size;
	}
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return false;
	a->size = (unsigned)size;
	return machine == FSC_USDT_ARM64 ? arm64_operand(s, a) : x86_operand(s, a);
}

int fsc_usdt_arg_parse(const char *args, enum fsc_usdt_machine machine, unsigned n,
		       struct fsc_usdt_arg *ret, struct fsc_err *err)
{
	const char *word;
	size_t len = n ? nth_word(args, n, &word) : 0;
	char copy[128];

	*ret = (struct fsc_usdt_arg){0};
	if (!len)
		return fsc_err_set(err, ENOENT, "the probe has %u arguments, and no arg%u",
				   fsc_usdt_args_count(args), n);
	if (len < sizeof(copy)) {
		memcpy(copy, word, len);
		copy[len] = '\0';
		if (parse_word(copy, machine, ret))
			return 0;
	}
	return fsc_err_set(err, EOPNOTSUPP, "argument %u of the probe cannot be read: '%.*s'", n,
			   (int)(len > 100 ? 100 : len), word);
}

static int resolve_arg(void *ctx, unsigned n, struct fsc_typed *ret, struct fsc_err *err)
{
	int rc = fsc_usdt_arg_parse(ctx, FSC_USDT_HOST, n, &ret->usdt, err);

	ret->where = FSC_WHERE_USDT;
	ret->type = (struct fsc_ctype){.size = ret->usdt.size, .is_signed = ret->usdt.is_signed};
	return rc;
}

static int list_arg(void *ctx, size_t i, const char **name, struct fsc_typed *ret,
		    struct fsc_err *err)
{
	static const char *const names[] = {"arg1", "arg2", "arg3", "arg4",  "arg5",  "arg6",
					    "arg7", "arg8", "arg9", "arg10", "arg11", "arg12"};

	if (i >= sizeof(names) / sizeof(names[0]) || i >= fsc_usdt_args_count(ctx))
		return -ENOENT;
	*name = names[i];
	return resolve_arg(ctx, (unsigned)i + 1, ret, err);
}

void fsc_usdt_names(const char *args, struct fsc_names *ret)
{
	*ret = (struct fsc_names){
	    .ctx = (void *)args, .user = true, .arg = resolve_arg, .list = list_arg};
}
