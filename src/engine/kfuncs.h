/* Kernel functions that our programs call, by their IDs in the kernel's BTF. */
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

/* 0 if the kernel lacks it. The first call reads the kernel's BTF, which takes milliseconds. */
uint32_t fsc_kfunc_id(enum fsc_kfunc f);

/* To be called before an object is opened: its programs then turn preemption off where they say so
 * (guard_begin() in bpf/common.bpf.h), if fsc_kfuncs_guard() was called before they are loaded. */
void fsc_kfuncs_prepare(void);
/* false: the kernel cannot. */
bool fsc_kfuncs_guard(void);

#endif
