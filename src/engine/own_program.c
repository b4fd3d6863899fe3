/* Programs for one place or one purpose: libbpf has prepared the instructions (maps,
 * configuration), and we load them again as another type, with the marks replaced by what belongs
 * to the place. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "engine/kfuncs.h"
#include "engine/marks.h"
#include "engine/session_priv.h"

static struct bpf_insn *copy_insns(const struct bpf_program *p, size_t *ret_n)
{
	struct bpf_insn *insns;

	*ret_n = bpf_program__insn_cnt(p);
	insns = calloc(*ret_n, sizeof(*insns));
	if (insns)
		memcpy(insns, bpf_program__insns(p), *ret_n * sizeof(*insns));
	return insns;
}

/* For -v: the end of the verifier's log. Returns code. */
static int log_refusal(const struct fsc_own *own, const struct bpf_insn *insns, size_t n, int code)
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

static int load_insns(struct fsc_session *s, const struct fsc_own *own,
		      const struct bpf_insn *insns, size_t n)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)own->attach_type,
		    .attach_btf_id = (uint32_t)own->btf_id);
	int prog = bpf_prog_load(own->type, bpf_program__name(own->from), "GPL", insns, n, &opts);

	if (prog < 0)
		return log_refusal(own, insns, n, -errno);
	return fsc_session_keep_fd(&s->programs, prog, NULL) ? -ENOMEM : prog;
}

int fsc_own_program(struct fsc_session *s, const struct fsc_own *own)
{
	size_t n;
	FSC_AUTO(fsc_freep) struct bpf_insn *insns = copy_insns(own->from, &n);

	if (!insns)
		return -ENOMEM;
	if (!fsc_marks_put_number(insns, n, FSC_ROW_MARK, own->row))
		return -EPROTO;
	fsc_marks_put_number(insns, n, FSC_ARGS_MARK, own->n_args);
	return load_insns(s, own, insns, n);
}

int fsc_own_session(struct fsc_session *s, const struct bpf_program *from, int attach_type)
{
	struct fsc_own own = {
	    .from = from, .type = BPF_PROG_TYPE_KPROBE, .attach_type = attach_type};
	uint32_t is_return = fsc_kfunc_id(FSC_KFUNC_IS_RETURN);
	uint32_t cookie = fsc_kfunc_id(FSC_KFUNC_COOKIE);
	FSC_AUTO(fsc_freep) struct bpf_insn *insns = NULL;
	size_t n;

	if (!is_return || !cookie)
		return -ENOENT;
	insns = copy_insns(from, &n);
	if (!insns)
		return -ENOMEM;
	/* Without the first or the last the program would silently do nothing. */
	if (!fsc_marks_put_call(insns, n, FSC_IS_RETURN_MARK, is_return) ||
	    !fsc_marks_put_number(insns, n, FSC_ROW_MARK, 1))
		return -EPROTO;
	if (!fsc_marks_put_call(insns, n, FSC_COOKIE_MARK, cookie) &&
	    s->cfg.keep == FSC_KEEP_COOKIE)
		return -EPROTO;
	return load_insns(s, &own, insns, n);
}
