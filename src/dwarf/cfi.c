/* Call frame information of one address, as libdw reads it. What compilers write for ordinary
 * functions fits into a word: the caller's stack pointer is a register and an offset, and what was
 * saved lies at offsets from there. */
#include "dwarf/cfi.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "dwarf/unwind.h"
#include "wire/stack.h"

#ifdef __aarch64__
enum { RETURN_COLUMN = FSC_UNWIND_LR };
#else
enum { RETURN_COLUMN = FSC_UNWIND_PC };
#endif

/* A register's rule: where, in words from the CFA, it was saved. */
enum saved { KEPT, UNDEFINED, SAVED, COMPLICATED };

static enum saved find_saved(Dwarf_Frame *frame, int column, int64_t *ret_words)
{
	Dwarf_Op room[3], *ops;
	size_t n;

	if (dwarf_frame_register(frame, column, room, &ops, &n))
		return COMPLICATED;
	if (!n)
		return ops ? UNDEFINED : KEPT;
	if (ops[0].atom != DW_OP_call_frame_cfa || n > 2 ||
	    (n == 2 && ops[1].atom != DW_OP_plus_uconst))
		return COMPLICATED;
	*ret_words = n == 2 ? (int64_t)ops[1].number : 0;
	if (*ret_words % 8 || *ret_words / 8 < INT16_MIN || *ret_words / 8 > INT16_MAX)
		return COMPLICATED;
	*ret_words /= 8;
	return SAVED;
}

static bool find_cfa(Dwarf_Frame *frame, uint64_t *rule)
{
	Dwarf_Op *ops;
	size_t n;
	int64_t offset;

	if (dwarf_frame_cfa(frame, &ops, &n) || n != 1 || ops[0].atom != DW_OP_bregx)
		return false;
	offset = (int64_t)ops[0].number2;
	if (offset < -(1 << 23) || offset >= 1 << 23 ||
	    (ops[0].number != FSC_UNWIND_SP && ops[0].number != FSC_UNWIND_FP))
		return false;
	*rule |= (uint64_t)(offset & 0xffffff) << 8;
	*rule |= ops[0].number == FSC_UNWIND_FP ? FSC_UNWIND_BY_FP : 0;
	return true;
}

static uint64_t rule_of(Dwarf_Frame *frame)
{
	int64_t ra = 0, fp = 0;
	uint64_t rule = FSC_UNWIND_PLAIN;
	enum saved how = find_saved(frame, RETURN_COLUMN, &ra);

	if (how == UNDEFINED)
		return FSC_UNWIND_END;
	if (how == COMPLICATED || (how == KEPT && (int)RETURN_COLUMN == (int)FSC_UNWIND_PC))
		return 0;
	rule |= how == KEPT ? FSC_UNWIND_IN_LR : (uint64_t)(ra & 0xffff) << 32;
	how = find_saved(frame, FSC_UNWIND_FP, &fp);
	if (how == COMPLICATED || how == UNDEFINED || !find_cfa(frame, &rule))
		return 0;
	if (how == SAVED)
		rule |= FSC_UNWIND_SAVED_FP | (uint64_t)(fp & 0xffff) << 48;
	return rule;
}

uint64_t fsc_cfi_rule(Dwfl *dwfl, uint64_t addr, bool is_return)
{
	FSC_AUTO(fsc_freep) Dwarf_Frame *frame = NULL;
	Dwarf_Addr at = addr - is_return, bias;
	Dwfl_Module *mod = dwfl_addrmodule(dwfl, at);
	Dwarf_CFI *cfi = mod ? dwfl_module_eh_cfi(mod, &bias) : NULL;
	Dwarf_Addr start, end;
	bool is_signal;

	if (!cfi || dwarf_cfi_addrframe(cfi, at - bias, &frame))
		return 0;
	/* What a signal interrupted is no call: its address needs another look-up. */
	dwarf_frame_info(frame, &start, &end, &is_signal);
	return is_signal ? 0 : rule_of(frame);
}
