/* This machine's registers, as struct pt_regs has them: by name, and those of the calling
 * convention. */
#include <stddef.h>
#include <string.h>

#include "lang/gen.h"

#if defined(__aarch64__)
const uint16_t fsc_reg_args[] = {0, 8, 16, 24, 32, 40, 48, 56};
const uint16_t fsc_reg_ret = 0, fsc_reg_ip = 256, fsc_reg_sp = 248;

static const struct fsc_reg_name names[] = {
    {"r0", 0},	  {"r1", 8},	{"r2", 16},   {"r3", 24},      {"r4", 32},   {"r5", 40},
    {"r6", 48},	  {"r7", 56},	{"r8", 64},   {"r9", 72},      {"r10", 80},  {"r11", 88},
    {"r12", 96},  {"r13", 104}, {"r14", 112}, {"r15", 120},    {"r16", 128}, {"r17", 136},
    {"r18", 144}, {"r19", 152}, {"r20", 160}, {"r21", 168},    {"r22", 176}, {"r23", 184},
    {"r24", 192}, {"r25", 200}, {"r26", 208}, {"r27", 216},    {"r28", 224}, {"r29", 232},
    {"r30", 240}, {"sp", 248},	{"pc", 256},  {"pstate", 264},
};
#else
const uint16_t fsc_reg_args[] = {112, 104, 96, 88, 72, 64};
const uint16_t fsc_reg_ret = 80, fsc_reg_ip = 128, fsc_reg_sp = 152;

static const struct fsc_reg_name names[] = {
    {"r15", 0},	    {"r14", 8},	 {"r13", 16}, {"r12", 24},	 {"bp", 32},  {"bx", 40},
    {"r11", 48},    {"r10", 56}, {"r9", 64},  {"r8", 72},	 {"ax", 80},  {"cx", 88},
    {"dx", 96},	    {"si", 104}, {"di", 112}, {"orig_rax", 120}, {"ip", 128}, {"cs", 136},
    {"flags", 144}, {"sp", 152}, {"ss", 160},
};
#endif

const unsigned fsc_reg_n_args = sizeof(fsc_reg_args) / sizeof(*fsc_reg_args);

int fsc_reg_find(const char *name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i].name, name))
			return names[i].offset;
	return -1;
}
