/* Marks in prepared instructions: 16-byte constants that stand for what only user space knows at
 * run time (wire/config.h lists them). */
#ifndef FSC_ENGINE_MARKS_H
#define FSC_ENGINE_MARKS_H

#include <stddef.h>
#include <stdint.h>

#include <linux/bpf.h>

/* Replaces each mark by a number; how many there were. */
size_t fsc_marks_put_number(struct bpf_insn *insns, size_t n, uint64_t mark, uint32_t value);
/* Replaces each mark by a call of the kernel function with that number in the kernel's BTF; how
 * many there were. */
size_t fsc_marks_put_call(struct bpf_insn *insns, size_t n, uint64_t mark, uint32_t btf_id);

#endif
