/* Loading a script's programs. What the verifier refuses is said with the place in the script that
 * made the instruction. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "engine/descriptors.h"
#include "engine/preempt.h"
#include "engine/privilege.h"
#include "engine/script_priv.h"

#ifndef BPF_F_SLEEPABLE
#define BPF_F_SLEEPABLE (1U << 4)
#endif

/* What to do about a refusal, by what the verifier calls it. */
static const struct {
	const char *reason, *hint;
} hints[] = {
    {"program is too large", "make its loops shorter, or the script smaller"},
    {"too many states", "make its loops shorter, or the script smaller"},
    {"infinite loop", "give the loop a bound that does not depend on memory"},
    {"combined stack size", "use shorter strings, or fewer variables (max_strlen)"},
    {"cannot use helper", "this kernel does not allow that function in probes of this kind"},
    {"unknown func", "this kernel lacks the function that the script needs"},
    {"program of this type", "this kernel does not allow that function in probes of this kind"},
    {"invalid mem access 'scalar'", "check the pointer against 0, or cast it to a pointer first"},
};

static const char *hint_of(const char *reason)
{
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
		if (strstr(reason, hints[i].reason))
			return hints[i].hint;
	return NULL;
}

/* "12: (79) r1 = ..." begins what the verifier says of instruction 12. */
static bool log_line_insn(const char *line, uint32_t *ret)
{
	char *end;
	unsigned long n;

	if (!isdigit((unsigned char)*line))
		return false;
	n = strtoul(line, &end, 10);
	if (strncmp(end, ": (", 3))
		return false;
	*ret = (uint32_t)n;
	return true;
}

static bool log_line_is_reason(const char *line)
{
	static const char *const others[] = {
	    "processed ", "verification time", "stack depth", "max_states", "; ", "from "};
	if (!*line || isdigit((unsigned char)*line)) /* an instruction, or what is known there */
		return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strncmp(line, others[i], strlen(others[i])))
			return false;
	return true;
}

/* The last instruction that the verifier looked at, and what it says in the end. Cuts the log up.
 */
static const char *log_read(char *log, uint32_t *insn, bool *known)
{
	const char *reason = "";
	char *line;

	*known = false;
	while ((line = strsep(&log, "\n"))) {
		if (log_line_insn(line, insn))
			*known = true;
		else if (log_line_is_reason(line))
			reason = line;
	}
	return reason;
}

static int say_refusal(const struct fsc_script *s, const struct fsc_plan_prog *p, int code,
		       char *log, struct fsc_err *err)
{
	struct fsc_plan_line at;
	const char *hint;
	uint32_t insn = 0;
	bool known;
	const char *reason = log_read(log, &insn, &known), *line = "";

	if (!known || !fsc_plan_line_of(p, insn, &at))
		at = (struct fsc_plan_line){0};
	if (at.line && at.line <= s->plan->n_source_lines)
		line = s->plan->source_lines[at.line - 1];
	if (at.column && at.column <= strlen(line))
		line += at.column - 1;
	if (!*reason)
		reason = fsc_err_text(code);
	if (at.line)
		fsc_err_set(err, code, "%s:%u:%u: the kernel refuses '%.*s' in %s: %s",
			    s->plan->source_name, at.line, at.column,
			    (int)(at.length ? at.length : strlen(line)), line, p->title, reason);
	else
		fsc_err_set(err, code, "the kernel refuses the program of %s: %s", p->title,
			    reason);
	hint = hint_of(reason);
	return hint ? fsc_err_hint(err, "%s", hint) : -code;
}

static void print_log(char *log)
{
	char *line, *rest = log;

	while ((line = strsep(&rest, "\n")))
		if (*line)
			fsc_log(FSC_LOG_DEBUG, "%s", line);
}

/* Loads it again for the log. */
static int load_failed(const struct fsc_script *s, const struct fsc_plan_prog *p,
		       enum bpf_prog_type type, const struct bpf_insn *insns,
		       struct bpf_prog_load_opts *opts, int code, struct fsc_err *err)
{
	enum { LEAST = 65536 };
	size_t size = s->plan->config.log_size < LEAST ? LEAST : s->plan->config.log_size;
	FSC_AUTO(fsc_freep) char *log = NULL, *copy = NULL;
	int fd;

	if (code == EPERM)
		return fsc_privilege_err(err, code, "load the program of %s", p->title);
	if (code == EMFILE)
		return fsc_descriptors_err(err, "the script's programs");
	log = calloc(1, size);
	if (!log)
		return fsc_err_nomem(err);
	opts->log_buf = log;
	opts->log_size = (uint32_t)size;
	opts->log_level = 1;
	fd = bpf_prog_load(type, p->name, s->plan->config.license, insns, p->n_insns, opts);
	if (fd >= 0)
		close(fd);
	log[size - 1] = '\0';
	copy = strdup(log);
	if (!copy)
		return fsc_err_nomem(err);
	print_log(copy);
	return say_refusal(s, p, code, log, err);
}

/* The instructions with the maps' descriptors; NULL if memory is out. */
static struct bpf_insn *relocate(const struct fsc_script *s, const struct fsc_plan_prog *p)
{
	struct bpf_insn *insns = calloc(p->n_insns + 1, sizeof(*insns));

	if (!insns)
		return NULL;
	memcpy(insns, p->insns, p->n_insns * sizeof(*insns));
	for (size_t i = 0; i < p->n_relocs; i++)
		if (p->relocs[i].kind == FSC_RELOC_MAP)
			insns[p->relocs[i].insn].imm = s->map_fds[p->relocs[i].map];
	return insns;
}

/* Callbacks need it; for others it makes the kernel's own listings readable. */
static int load_btf(const struct fsc_plan_prog *p)
{
	int fd = p->btf_size ? bpf_btf_load(p->btf, p->btf_size, NULL) : -1;

	if (fd < 0 && p->btf_size)
		fsc_log(FSC_LOG_DEBUG, "the kernel does not take the BTF of %s: %s", p->title,
			strerror(errno));
	return fd;
}

int fsc_script_load_prog(struct fsc_script *s, const struct fsc_plan_prog *p,
			 const struct fsc_script_variant *v, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) struct bpf_insn *insns = relocate(s, p);
	FSC_AUTO(fsc_closep) int btf = load_btf(p);
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)v->attach_type,
		    .prog_flags = p->sleeps ? BPF_F_SLEEPABLE : 0, .attach_btf_id = v->btf_id);
	int fd;

	if (!insns)
		return fsc_err_nomem(err);
	if (v->btf_fd > 0)
		opts.attach_btf_obj_fd = (uint32_t)v->btf_fd;
	if (btf >= 0) {
		opts.prog_btf_fd = (uint32_t)btf;
		opts.func_info = p->func_info;
		opts.func_info_cnt = p->n_func_info;
		opts.func_info_rec_size = sizeof(*p->func_info);
		opts.line_info = p->line_info;
		opts.line_info_cnt = p->n_line_info;
		opts.line_info_rec_size = sizeof(*p->line_info);
	}
	fd = bpf_prog_load(v->type, p->name, s->plan->config.license, insns, p->n_insns, &opts);
	if (fd < 0)
		return load_failed(s, p, v->type, insns, &opts, errno, err);
	if (p->in_user && fsc_preempt_check(p->name, fd, err)) {
		close(fd);
		return -ENOTSUP;
	}
	return fd;
}

int fsc_script_own_prog(struct fsc_script *s, const struct fsc_plan_prog *p,
			const struct fsc_script_variant *v, struct fsc_err *err)
{
	int fd = fsc_script_load_prog(s, p, v, err), *place;

	if (fd < 0)
		return fd;
	place = fsc_vec_push(&s->own);
	if (!place) {
		close(fd);
		return fsc_err_nomem(err);
	}
	*place = fd;
	return fd;
}
