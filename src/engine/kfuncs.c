/* Looks kernel functions up and inserts calls of them into programs that libbpf is about to load.
 * libbpf could do both from declarations, but would read all of the kernel's BTF at every start of
 * every command. */
#include "engine/kfuncs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "engine/marks.h"
#include "wire/config.h"

static const char *const kfunc_names[FSC_KFUNC_MAX] = {
    [FSC_KFUNC_IS_RETURN] = "bpf_session_is_return",
    [FSC_KFUNC_COOKIE] = "bpf_session_cookie",
    [FSC_KFUNC_PREEMPT_OFF] = "bpf_preempt_disable",
    [FSC_KFUNC_PREEMPT_ON] = "bpf_preempt_enable",
};

uint32_t fsc_kfunc_id(enum fsc_kfunc f)
{
	static uint32_t ids[FSC_KFUNC_MAX];
	static bool read;
	struct btf *btf;

	if (read)
		return ids[f];
	read = true;
	btf = btf__load_vmlinux_btf();
	if (!btf)
		fsc_log(FSC_LOG_DEBUG, "cannot read the kernel's BTF: %s", strerror(errno));
	for (int i = 0; btf && i < FSC_KFUNC_MAX; i++) {
		int id = btf__find_by_name_kind(btf, kfunc_names[i], BTF_KIND_FUNC);

		ids[i] = id > 0 ? (uint32_t)id : 0;
	}
	btf__free(btf);
	return ids[f];
}

static struct {
	bool prepared, wanted;
} guard;

/* The instructions are complete only here, with all the functions that they call. */
static int program_put_guards(struct bpf_program *prog, struct bpf_prog_load_opts *opts,
			      long cookie)
{
	size_t n = bpf_program__insn_cnt(prog), found;
	FSC_AUTO(fsc_freep) struct bpf_insn *insns = calloc(n, sizeof(*insns));

	(void)opts;
	(void)cookie;
	if (!guard.wanted)
		return 0;
	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(prog), n * sizeof(*insns));
	found =
	    fsc_marks_put_call(insns, n, FSC_PREEMPT_OFF_MARK, fsc_kfunc_id(FSC_KFUNC_PREEMPT_OFF));
	found +=
	    fsc_marks_put_call(insns, n, FSC_PREEMPT_ON_MARK, fsc_kfunc_id(FSC_KFUNC_PREEMPT_ON));
	return found ? bpf_program__set_insns(prog, insns, n) : 0;
}

void fsc_kfuncs_prepare(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .prog_prepare_load_fn = program_put_guards);

	if (!guard.prepared)
		guard.prepared = libbpf_register_prog_handler("kprobe", BPF_PROG_TYPE_KPROBE,
							      (enum bpf_attach_type)0, &opts) > 0;
}

bool fsc_kfuncs_guard(void)
{
	guard.wanted = guard.prepared && fsc_kfunc_id(FSC_KFUNC_PREEMPT_OFF) &&
		       fsc_kfunc_id(FSC_KFUNC_PREEMPT_ON);
	return guard.wanted;
}
