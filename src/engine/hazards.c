/* The table of hazards. Trials load programs like those of a run and inspect what the kernel made
 * of them; no other process is probed. */
#include "engine/hazards.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "engine/harmtrial.h"
#include "engine/kfuncs.h"
#include "engine/preempt.h"
#include "engine/sys.h"

/* Whether a program on a user function that needs 128 bytes of stack gets a private one; with an
 * unreachable tail call in it, or without. See refuse_private_stack() in bpf/common.bpf.h. */
static int program_private_stack(bool tail_call)
{
	const struct bpf_insn insns[] = {
	    {.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -128},
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
	    {.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_0, .off = 1},
	    {.code = BPF_JMP | BPF_CALL,
	     .imm = tail_call ? BPF_FUNC_tail_call : BPF_FUNC_ktime_get_ns},
	    {.code = BPF_JMP | BPF_EXIT},
	};
	bool multi = true;
	FSC_AUTO(fsc_closep) int fd = -1;

	for (int i = 0; fd < 0 && i < 2; i++, multi = false) {
		LIBBPF_OPTS(bpf_prog_load_opts, opts,
			    .expected_attach_type =
				(enum bpf_attach_type)(multi ? FSC_ATTACH_UPROBE_MULTI : 0));

		fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "fsc_stack", "GPL", insns,
				   sizeof(insns) / sizeof(insns[0]), &opts);
	}
	return fd < 0 ? -errno : fsc_preempt_private_stack(fd);
}

static int try_private_stack(char *detail, size_t n)
{
	int given = program_private_stack(false), ours = program_private_stack(true);

	if (given < 0 || ours < 0)
		snprintf(detail, n,
			 "cannot be determined here (%s); funcscope's programs do not ask for them",
			 strerror(given < 0 ? -given : -ours));
	else if (!given)
		snprintf(detail, n, "this kernel does not give them to programs on user functions");
	else
		snprintf(detail, n,
			 "this kernel gives programs on user functions a stack per CPU, which "
			 "preemption corrupts; funcscope's programs %s",
			 ours ? "have one too" : "have none");
	return ours > 0 ? -EFAULT : 0;
}

static int try_stack_guard(char *detail, size_t n)
{
	char mode[32];

	if (!fsc_preempt_possible(mode, sizeof(mode)))
		snprintf(detail, n, "this kernel does not preempt itself (preempt=%s)", mode);
	else if (fsc_kfunc_id(FSC_KFUNC_PREEMPT_OFF))
		snprintf(detail, n,
			 "this kernel may preempt itself (preempt=%s); stacks are taken with "
			 "preemption off",
			 mode);
	else
		snprintf(detail, n,
			 "this kernel may preempt itself (preempt=%s); stacks are taken twice and "
			 "dropped if they differ",
			 mode);
	return 0;
}

const struct fsc_hazard_row fsc_hazards[] = {
    {"instructions", fsc_harm_trial,
     "do not probe anything important on this kernel, and please report its version"},
    {"private BPF stacks", try_private_stack,
     "nothing will be attached to user functions; please report the kernel's version"},
    {"mixed-up stacks", try_stack_guard, NULL},
    {0},
};
