/* Kernel functions that our programs call, by their numbers in the kernel's BTF. */
#ifndef FSC_ENGINE_KFUNCS_H
#define FSC_ENGINE_KFUNCS_H

#include <stdbool.h>
#include <stdint.h>

enum fsc_kfunc {
	FSC_KFUNC_IS_RETURN,
	FSC_KFUNC_COOKIE,
	FSC_KFUNC_PREEMPT_OFF,
	FSC_KFUNC_PREEMPT_ON,
	FSC_KFUNC_MAX,
};

/* The function's number; 0 where the kernel lacks it. The first question reads the kernel's BTF,
 * which takes milliseconds. */
uint32_t fsc_kfunc_id(enum fsc_kfunc f);

/* Before an object is opened: the programs in it, when they are loaded, turn preemption off where
 * they say so (guard_begin() in bpf/common.bpf.h), if that was asked for until then. */
void fsc_kfuncs_prepare(void);
/* Asks for it; false where the kernel cannot. */
bool fsc_kfuncs_guard(void);

#endif
