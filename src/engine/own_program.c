/* Programs that serve one place: libbpf has prepared the instructions (maps, configuration), and we
 * load them again under another type with the place's row put in. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "engine/session_priv.h"
#include "func_snoop.skel.h"

/* Puts the row where the mark stands; false if there is no mark. */
static bool put_row(struct bpf_insn *insns, size_t n, uint32_t row)
{
	for (size_t i = 0; i + 1 < n; i++) {
		if (insns[i].code != (BPF_LD | BPF_IMM | BPF_DW) || insns[i].src_reg ||
		    (uint32_t)insns[i].imm != (uint32_t)FSC_ROW_MARK ||
		    (uint32_t)insns[i + 1].imm != (uint32_t)(FSC_ROW_MARK >> 32))
			continue;
		insns[i].imm = (int32_t)row;
		insns[i + 1].imm = 0;
		return true;
	}
	return false;
}

int fsc_attach_own_program(struct fsc_session *s, enum bpf_prog_type type, int attach_type,
			   int btf_id, uint32_t row)
{
	const struct bpf_program *p = s->skel->progs.own_entry;
	size_t n = bpf_program__insn_cnt(p);
	FSC_AUTO(fsc_freep) struct bpf_insn *insns = calloc(n, sizeof(*insns));
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)attach_type,
		    .attach_btf_id = (uint32_t)btf_id);
	int prog;

	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(p), n * sizeof(*insns));
	if (!put_row(insns, n, row))
		return -EPROTO;
	prog = bpf_prog_load(type, "own_entry", "GPL", insns, n, &opts);
	if (prog < 0)
		return -errno;
	return fsc_session_keep(&s->programs, prog, NULL) ? -ENOMEM : prog;
}
