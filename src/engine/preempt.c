/* Preemption. Programs on user functions run with preemption on: per-CPU data may have been
 * overwritten by another thread when they continue. The kernel itself has two cases that must be
 * avoided: the per-CPU stack that the JIT gives a program (Linux 6.13), and the buffer for walking
 * stacks (until Linux 7.0). */
#include "engine/preempt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "engine/kfuncs.h"
#include "kernel/tracefs.h"

/* "none voluntary (full) lazy": the one in brackets is in force. */
static bool read_preempt_mode(char *mode, size_t n)
{
	FSC_AUTO(fsc_freep) char *text = NULL;
	char *open, *close;

	if (fsc_debugfs_read("sched/preempt", &text))
		return false;
	open = strchr(text, '(');
	close = open ? strchr(open, ')') : NULL;
	if (!close)
		return false;
	snprintf(mode, n, "%.*s", (int)(close - open - 1), open + 1);
	return true;
}

bool fsc_preempt_possible(char *mode, size_t n)
{
	struct utsname u;
	char word[32] = "";

	if (!read_preempt_mode(word, sizeof(word)))
		snprintf(word, sizeof(word), "%s",
			 uname(&u) || strstr(u.version, "PREEMPT") ? "unknown" : "none");
	if (mode)
		snprintf(mode, n, "%s", word);
	return strcmp(word, "none") && strcmp(word, "voluntary");
}

enum fsc_stack_guard fsc_preempt_guard(void)
{
	if (!fsc_preempt_possible(NULL, 0))
		return FSC_GUARD_NONE;
	return fsc_kfuncs_guard() ? FSC_GUARD_PREEMPT : FSC_GUARD_TWICE;
}

#ifdef __x86_64__
/* The JIT keeps the private stack's address in r9, which it does not use otherwise:
 *   mov $address, %r9; add %gs:offset, %r9 */
static bool code_sets_r9(const uint8_t *code, size_t n)
{
	static const uint8_t add[] = {0x65, 0x4c, 0x03, 0x0c, 0x25};

	for (size_t i = 10; i + sizeof(add) <= n; i++) {
		const uint8_t *p = code + i;

		if (!memcmp(p, add, sizeof(add)) &&
		    (!memcmp(p - 10, "\x49\xb9", 2) || !memcmp(p - 7, "\x49\xc7\xc1", 3)))
			return true;
	}
	return false;
}

int fsc_preempt_private_stack(int prog_fd)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	FSC_AUTO(fsc_freep) uint8_t *code = NULL;

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &size))
		return -errno;
	if (!info.jited_prog_len)
		return -ENODATA;
	code = calloc(1, info.jited_prog_len);
	if (!code)
		return -ENOMEM;
	info = (struct bpf_prog_info){.jited_prog_len = info.jited_prog_len,
				      .jited_prog_insns = (uintptr_t)code};
	size = sizeof(info);
	if (bpf_obj_get_info_by_fd(prog_fd, &info, &size))
		return -errno;
	return info.jited_prog_insns ? code_sets_r9(code, info.jited_prog_len) : -EPERM;
}
#else
int fsc_preempt_private_stack(int prog_fd)
{
	(void)prog_fd;
	return -ENOTSUP;
}
#endif

/* See refuse_private_stack() in bpf/common.bpf.h: a kernel that gives one anyway would panic once
 * the program is preempted. */
int fsc_preempt_check(const char *name, int prog_fd, struct fsc_err *err)
{
	if (prog_fd < 0 || fsc_preempt_private_stack(prog_fd) <= 0)
		return 0;
	return fsc_err_set(err, ENOTSUP,
			   "this kernel gives the BPF program %s a stack that other threads "
			   "overwrite, so nothing is attached; please report the kernel's version",
			   name);
}
