#include "engine/marks.h"

#include <stdbool.h>

static bool is_mark(const struct bpf_insn *at, uint64_t mark)
{
	return at[0].code == (BPF_LD | BPF_IMM | BPF_DW) && !at[0].src_reg &&
	       (uint32_t)at[0].imm == (uint32_t)mark &&
	       (uint32_t)at[1].imm == (uint32_t)(mark >> 32);
}

size_t fsc_marks_put_number(struct bpf_insn *insns, size_t n, uint64_t mark, uint32_t value)
{
	size_t found = 0;

	for (size_t i = 0; i + 1 < n; i++) {
		if (!is_mark(&insns[i], mark))
			continue;
		insns[i].imm = (int32_t)value;
		insns[i + 1].imm = 0;
		found++;
	}
	return found;
}

/* The constant has two halves: a call, and a jump to the next instruction. */
size_t fsc_marks_put_call(struct bpf_insn *insns, size_t n, uint64_t mark, uint32_t btf_id)
{
	size_t found = 0;

	for (size_t i = 0; i + 1 < n; i++) {
		if (!is_mark(&insns[i], mark))
			continue;
		insns[i] = (struct bpf_insn){.code = BPF_JMP | BPF_CALL,
					     .src_reg = BPF_PSEUDO_KFUNC_CALL,
					     .imm = (int32_t)btf_id};
		insns[i + 1] = (struct bpf_insn){.code = BPF_JMP | BPF_JA};
		found++;
	}
	return found;
}
