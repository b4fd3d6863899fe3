/* Marks in prepared instructions: 64-bit constants in place of values that are only known at run
 * time (listed in wire/config.h). */
#ifndef FSC_ENGINE_MARKS_H
#define FSC_ENGINE_MARKS_H

#include <stddef.h>
#include <stdint.h>

#include <linux/bpf.h>

/* Replaces each mark with a number; returns how many there were. */
size_t fsc_marks_put_number(struct bpf_insn *insns, size_t n, uint64_t mark, uint32_t value);
/* Replaces each mark with a call of the kernel function of that BTF ID; returns how many there
 * were. */
size_t fsc_marks_put_call(struct bpf_insn *insns, size_t n, uint64_t mark, uint32_t btf_id);

#endif
