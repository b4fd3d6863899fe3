/* Programs that serve one place or one purpose: libbpf has prepared the instructions (maps,
 * configuration), and we load them again under another type, with what belongs to the place put in
 * where they carry a mark. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "engine/session_priv.h"

/* Every place where a mark is loaded. fn changes the two instructions; how many it changed. */
static size_t each_mark(struct bpf_insn *insns, size_t n, uint64_t mark,
			void (*fn)(struct bpf_insn *at, uint32_t value), uint32_t value)
{
	size_t found = 0;

	for (size_t i = 0; i + 1 < n; i++) {
		if (insns[i].code != (BPF_LD | BPF_IMM | BPF_DW) || insns[i].src_reg ||
		    (uint32_t)insns[i].imm != (uint32_t)mark ||
		    (uint32_t)insns[i + 1].imm != (uint32_t)(mark >> 32))
			continue;
		fn(&insns[i], value);
		found++;
	}
	return found;
}

static void put_number(struct bpf_insn *at, uint32_t value)
{
	at[0].imm = (int32_t)value;
	at[1].imm = 0;
}

/* A call and a jump to what follows it, in the room of the two halves. */
static void put_call(struct bpf_insn *at, uint32_t btf_id)
{
	at[0] = (struct bpf_insn){
	    .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = (int32_t)btf_id};
	at[1] = (struct bpf_insn){.code = BPF_JMP | BPF_JA};
}

static struct bpf_insn *copy_insns(const struct bpf_program *p, size_t *ret_n)
{
	struct bpf_insn *insns;

	*ret_n = bpf_program__insn_cnt(p);
	insns = calloc(*ret_n, sizeof(*insns));
	if (insns)
		memcpy(insns, bpf_program__insns(p), *ret_n * sizeof(*insns));
	return insns;
}

/* For -v: the end of what the verifier says. Returns code. */
static int refused(const struct fsc_own *own, const struct bpf_insn *insns, size_t n, int code)
{
	enum { ROOM = 1 << 20, SHOWN = 600 };
	FSC_AUTO(fsc_freep) char *log = fsc_log_shows(FSC_LOG_DEBUG) ? calloc(1, ROOM) : NULL;
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)own->attach_type,
		    .attach_btf_id = (uint32_t)own->btf_id, .log_level = 1, .log_size = ROOM,
		    .log_buf = log);
	size_t said;
	int prog;

	if (!log)
		return code;
	prog = bpf_prog_load(own->type, bpf_program__name(own->from), "GPL", insns, n, &opts);
	if (prog >= 0)
		close(prog);
	said = strlen(log);
	fsc_log(FSC_LOG_DEBUG, "%s is refused: %s ... %s", bpf_program__name(own->from),
		strerror(-code), said > SHOWN ? log + said - SHOWN : log);
	return code;
}

static int load(struct fsc_session *s, const struct fsc_own *own, const struct bpf_insn *insns,
		size_t n)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)own->attach_type,
		    .attach_btf_id = (uint32_t)own->btf_id);
	int prog = bpf_prog_load(own->type, bpf_program__name(own->from), "GPL", insns, n, &opts);

	if (prog < 0)
		return refused(own, insns, n, -errno);
	return fsc_session_keep(&s->programs, prog, NULL) ? -ENOMEM : prog;
}

int fsc_own_program(struct fsc_session *s, const struct fsc_own *own)
{
	size_t n;
	FSC_AUTO(fsc_freep) struct bpf_insn *insns = copy_insns(own->from, &n);

	if (!insns)
		return -ENOMEM;
	if (!each_mark(insns, n, FSC_ROW_MARK, put_number, own->row))
		return -EPROTO;
	each_mark(insns, n, FSC_ARGS_MARK, put_number, own->n_args);
	return load(s, own, insns, n);
}

/* The numbers of the two functions in the kernel's type information. */
static int find_session_calls(uint32_t *is_return, uint32_t *cookie)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int a, b;

	if (!btf)
		return -ENOENT;
	a = btf__find_by_name_kind(btf, "bpf_session_is_return", BTF_KIND_FUNC);
	b = btf__find_by_name_kind(btf, "bpf_session_cookie", BTF_KIND_FUNC);
	btf__free(btf);
	*is_return = (uint32_t)a;
	*cookie = (uint32_t)b;
	return a > 0 && b > 0 ? 0 : -ENOENT;
}

int fsc_own_session(struct fsc_session *s, const struct bpf_program *from, int attach_type)
{
	struct fsc_own own = {
	    .from = from, .type = BPF_PROG_TYPE_KPROBE, .attach_type = attach_type};
	FSC_AUTO(fsc_freep) struct bpf_insn *insns = NULL;
	uint32_t is_return, cookie;
	int rc = find_session_calls(&is_return, &cookie);
	size_t n;

	if (rc)
		return rc;
	insns = copy_insns(from, &n);
	if (!insns)
		return -ENOMEM;
	each_mark(insns, n, FSC_IS_RETURN_MARK, put_call, is_return);
	each_mark(insns, n, FSC_COOKIE_MARK, put_call, cookie);
	each_mark(insns, n, FSC_ROW_MARK, put_number, 1);
	return load(s, &own, insns, n);
}
