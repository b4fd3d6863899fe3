/* How long an x86-64 instruction is. Needed because a breakpoint inside an instruction destroys it,
 * uprobes do not look, and no decoder that Debian ships can be linked statically at a reasonable
 * size. Knows the opcode maps of general, SSE, AVX and AVX-512 code; what it does not know has
 * length 0, and is then not probed. */
#include "probe/insn.h"

#include <string.h>

/* One letter per opcode of the first map:
 *   .  nothing follows      m  ModRM            x  not in 64-bit code, or handled before
 *   1  8-bit immediate      2  16-bit           3  24 bits             r  32-bit displacement
 *   4  32-bit (16 with 66)  v  4, 64-bit with REX.W                    o  64-bit address
 *   b  ModRM and 1          w  ModRM and 4      t  ModRM, and 1 for test (f6)    T  and 4 (f7) */
static const char one_byte[] = "mmmm14xxmmmm14xx" /* 00 */
			       "mmmm14xxmmmm14xx" /* 10 */
			       "mmmm14xxmmmm14xx" /* 20 */
			       "mmmm14xxmmmm14xx" /* 30 */
			       "xxxxxxxxxxxxxxxx" /* 40: REX */
			       "................" /* 50 */
			       "xxxmxxxx4w1b...." /* 60 */
			       "1111111111111111" /* 70 */
			       "bwxbmmmmmmmmmmmm" /* 80 */
			       "..........x....." /* 90 */
			       "oooo....14......" /* a0 */
			       "11111111vvvvvvvv" /* b0 */
			       "bb2.xxbw3.2..1x." /* c0 */
			       "mmmmxxx.mmmmmmmm" /* d0 */
			       "11111111rrx1...." /* e0 */
			       "x.xx..tT......mm" /* f0 */;

struct decoder {
	const uint8_t *p;
	size_t n, at;
	bool word, rex_w;
};

static bool has_imm8(int map, uint8_t op)
{
	return map == 3 || (map == 1 && ((op >= 0x70 && op <= 0x73) || op == 0xa4 || op == 0xac ||
					 op == 0xba || op == 0xc2 || (op >= 0xc4 && op <= 0xc6)));
}

/* After the opcode of a map with ModRM. */
static size_t with_modrm(const struct decoder *d, size_t imm)
{
	size_t len;

	if (d->at >= d->n)
		return 0;
	len = d->at + fsc_insn_operand(d->p + d->at, d->n - d->at) + imm;
	return len <= d->n ? len : 0;
}

/* VEX (c4, c5) and EVEX (62): payload, opcode, ModRM. */
static size_t vector(struct decoder *d)
{
	uint8_t lead = d->p[d->at];
	size_t payload = lead == 0xc5 ? 1 : lead == 0xc4 ? 2 : 3;
	int map = lead == 0xc5 ? 1 : d->p[d->at + 1] & (lead == 0xc4 ? 0x1f : 7);
	uint8_t op;

	if (d->at + payload + 2 > d->n || map < 1 || map > 6 || map == 4)
		return 0;
	op = d->p[d->at + payload + 1];
	d->at += payload + 2;
	if (map == 1 && op == 0x77)
		return d->at; /* vzeroupper */
	return with_modrm(d, has_imm8(map, op));
}

/* The maps behind 0f. */
static size_t two_byte(struct decoder *d)
{
	static const uint8_t bare[] = {0x05, 0x06, 0x07, 0x08, 0x09, 0x0b, 0x0e, 0x30, 0x31, 0x32,
				       0x33, 0x34, 0x35, 0x37, 0x77, 0xa0, 0xa1, 0xa2, 0xa8, 0xa9,
				       0xaa, 0xc8, 0xc9, 0xca, 0xcb, 0xcc, 0xcd, 0xce, 0xcf};
	static const uint8_t unknown[] = {0x04, 0x0a, 0x0c, 0x0f, 0x24, 0x25, 0x26,
					  0x27, 0x36, 0x39, 0x3b, 0x3c, 0x3d, 0x3e,
					  0x3f, 0x7a, 0x7b, 0xa6, 0xa7};
	uint8_t op;

	if (d->at + 1 >= d->n)
		return 0;
	op = d->p[++d->at];
	d->at++;
	if (op == 0x38 || op == 0x3a) {
		d->at++;
		return with_modrm(d, op == 0x3a);
	}
	if (memchr(unknown, op, sizeof(unknown)))
		return 0;
	if (memchr(bare, op, sizeof(bare)))
		return d->at;
	if ((op & 0xf0) == 0x80)
		return d->at + 4 <= d->n ? d->at + 4 : 0;
	return with_modrm(d, has_imm8(1, op));
}

static size_t first_map(struct decoder *d)
{
	size_t z = d->word && !d->rex_w ? 2 : 4, imm;
	uint8_t op = d->p[d->at++];
	bool test = d->at < d->n && (d->p[d->at] & 0x30) == 0;

	if (op == 0x8f && d->at < d->n && d->p[d->at] & 0x38)
		return 0; /* XOP */
	switch (one_byte[op]) {
	case '.':
		return d->at;
	case 'm':
		return with_modrm(d, 0);
	case 'b':
		return with_modrm(d, 1);
	case 'w':
		return with_modrm(d, z);
	case 't':
		return with_modrm(d, test ? 1 : 0);
	case 'T':
		return with_modrm(d, test ? z : 0);
	case 'x':
		return 0;
	case 'v':
		imm = d->rex_w ? 8 : z;
		break;
	case 'o':
		imm = 8;
		break;
	case '4':
		imm = z;
		break;
	case 'r':
		imm = 4;
		break;
	default:
		imm = (size_t)(one_byte[op] - '0');
	}
	return d->at + imm <= d->n ? d->at + imm : 0;
}

size_t fsc_insn_length(const uint8_t *code, size_t n)
{
	static const uint8_t prefixes[] = {0x66, 0x67, 0x2e, 0x36, 0x3e, 0x26,
					   0x64, 0x65, 0xf2, 0xf3, 0xf0};
	struct decoder d = {.p = code, .n = n < 15 ? n : 15};

	while (d.at < d.n && memchr(prefixes, d.p[d.at], sizeof(prefixes)))
		d.word |= d.p[d.at++] == 0x66;
	if (d.at < d.n && (d.p[d.at] & 0xf0) == 0x40)
		d.rex_w = d.p[d.at++] & 8;
	if (d.at >= d.n)
		return 0;
	if (d.p[d.at] == 0x0f)
		return two_byte(&d);
	if (d.p[d.at] == 0xc4 || d.p[d.at] == 0xc5 || d.p[d.at] == 0x62)
		return d.at + 1 < d.n ? vector(&d) : 0;
	return first_map(&d);
}
