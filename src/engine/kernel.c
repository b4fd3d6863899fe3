/* What every rung of the ladder needs: the cookie of a place. */
#include "engine/kernel.h"

#include <errno.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "base/cleanup.h"

static bool try_cookies(void)
{
	const struct bpf_insn insns[] = {
	    {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_attach_cookie},
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
	    {.code = BPF_JMP | BPF_EXIT},
	};
	FSC_AUTO(fsc_closep)
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "fsc_cookie", "GPL", insns, 3, NULL);

	return fd >= 0 || errno != EINVAL;
}

bool fsc_kernel_has_cookies(void)
{
	static enum { UNTRIED, NO, YES } known;

	if (known == UNTRIED)
		known = try_cookies() ? YES : NO;
	return known == YES;
}

int fsc_kernel_too_old(const char *release, struct fsc_err *err)
{
	fsc_err_set(err, ENOTSUP,
		    "this kernel (Linux %s) is too old: its BPF programs cannot tell which "
		    "function was hit (bpf_get_attach_cookie is missing)",
		    release);
	return fsc_err_hint(err, "funcscope needs Linux " FSC_KERNEL_NEEDED " or newer");
}
