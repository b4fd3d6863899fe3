/* Rules for the kernel: how to get from a code address to its caller, in one word (wire/stack.h).
 */
#ifndef FSC_DWARF_CFI_H
#define FSC_DWARF_CFI_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>

/* 0: there is none, or it does not fit. Inside fsc_contain() only. */
uint64_t fsc_cfi_rule(Dwfl *dwfl, uint64_t addr, bool is_return);

#endif
