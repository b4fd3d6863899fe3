/* Tracepoints. Raw ones detach quickly (a perf event waits for several grace periods each); the
 * hundreds of syscalls:* events are two raw tracepoints and a table. Perf events are the fallback.
 */
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "engine/session_priv.h"
#include "engine/sys.h"
#include "func_snoop.skel.h"
#include "kernel/tpformat.h"
#include "kernel/tracefs.h"

static int link_perf(const struct bpf_program *p, int id, uint64_t cookie)
{
	return fsc_sys_link_perf(bpf_program__fd(p), fsc_sys_perf_tracepoint(id), cookie);
}

int fsc_attach_raw_tracepoint(struct fsc_session *s, const char *name, uint32_t row)
{
	int prog = fsc_own_program(s, &(struct fsc_own){.from = s->skel->progs.own_entry,
							.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
							.row = row});
	int fd = prog < 0 ? prog : bpf_raw_tracepoint_open(name, prog);

	return fd < 0 && prog >= 0 ? -errno : fd;
}

/* The two programs are linked once, when all rows are in the table. */
static int add_syscall_row(struct fsc_session *s, const struct fsc_target *t, bool *any)
{
	bool is_exit = !strncmp(fsc_targets_row(s->targets, t->row)->name, "sys_exit_", 9);
	uint32_t key = (uint32_t)t->syscall + (is_exit ? FSC_SYSCALLS : 0), row = t->row + 1;

	if (t->syscall >= FSC_SYSCALLS)
		return -ERANGE;
	if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.syscalls), &key, &row, BPF_ANY))
		return -errno;
	any[is_exit] = true;
	return 0;
}

static int link_syscalls(struct fsc_session *s, const bool *any, size_t first, struct fsc_err *err)
{
	const struct bpf_program *progs[] = {s->skel->progs.syscall_enter,
					     s->skel->progs.syscall_exit};
	static const char *const names[] = {"sys_enter", "sys_exit"};

	for (int i = 0; i < 2; i++) {
		int fd, rc;

		if (!any[i])
			continue;
		fd = bpf_raw_tracepoint_open(names[i], bpf_program__fd(progs[i]));
		if (fd < 0)
			return fsc_err_sys(err, errno, "cannot attach to raw tracepoint %s",
					   names[i]);
		rc = fsc_session_keep_link(s, fd, first, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int attach_tracepoint(struct fsc_session *s, size_t i, bool *any_syscall,
			     struct fsc_err *err)
{
	const struct fsc_target *t = fsc_targets_at(s->targets, i);
	bool raw = s->opts.via != FSC_VIA_SINGLE && s->opts.mode != FSC_MODE_TRACE;
	bool table = raw && !s->opts.per_row; /* one link for many system calls */
	int fd = -ENOENT;

	if (table && t->syscall >= 0 && !add_syscall_row(s, t, any_syscall)) {
		fsc_session_count_rung(s, FSC_RUNG_RAW_TRACEPOINT, 1);
		return 0;
	}
	if (raw && t->syscall < 0)
		fd =
		    fsc_attach_raw_tracepoint(s, fsc_targets_row(s->targets, t->row)->name, t->row);
	fsc_session_count_rung(s, FSC_RUNG_RAW_TRACEPOINT, fd >= 0);
	if (fd < 0) {
		fd = link_perf(s->skel->progs.tracepoint_entry, t->event_id, t->row);
		fsc_session_count_rung(s, FSC_RUNG_TRACEPOINT, fd >= 0);
	}
	return fd < 0 ? fsc_session_refuse(s, i, fd, err) : fsc_session_keep_link(s, fd, i, err);
}

int fsc_attach_tracepoints(struct fsc_session *s, struct fsc_err *err)
{
	bool any_syscall[2] = {false, false};
	size_t first = 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < fsc_targets_count(s->targets); i++)
		if (fsc_targets_at(s->targets, i)->site == FSC_SITE_TRACEPOINT &&
		    fsc_session_attaches(s, i)) {
			first = i;
			rc = attach_tracepoint(s, i, any_syscall, err);
		}
	return rc ? rc : link_syscalls(s, any_syscall, first, err);
}

static int attach_sched_event(struct fsc_session *s, const struct bpf_program *prog,
			      const char *event, struct fsc_err *err)
{
	FSC_AUTO(fsc_closep) int tracefs = fsc_tracefs_open(err);
	int fd, id = tracefs < 0 ? tracefs : fsc_tracepoint_id(tracefs, "sched", event, err);

	if (id < 0)
		return id;
	fd = link_perf(prog, id, 0);
	if (fd < 0)
		return fsc_err_sys(err, -fd, "cannot attach to tracepoint sched:%s", event);
	return fsc_attacher_keep(&s->attacher, fd, FSC_TAG_SCHED, err);
}

/* The two thread IDs have always been at the same offsets; if they ever move, say so. */
static int check_switch_layout(struct fsc_err *err)
{
	FSC_AUTO(fsc_closep) int tracefs = fsc_tracefs_open(err);
	unsigned prev, next;
	int rc;

	if (tracefs < 0)
		return tracefs;
	rc = fsc_tracepoint_field(tracefs, "sched", "sched_switch", "prev_pid", &prev, err);
	if (!rc)
		rc = fsc_tracepoint_field(tracefs, "sched", "sched_switch", "next_pid", &next, err);
	if (!rc && (prev != FSC_SWITCH_PREV || next != FSC_SWITCH_NEXT))
		rc = fsc_err_set(err, ENOTSUP,
				 "tracepoint sched:sched_switch has an unknown layout on this "
				 "kernel; leave out --off-cpu");
	return rc;
}

static int attach_follow(struct fsc_session *s, struct fsc_err *err)
{
	int rc = attach_sched_event(s, s->skel->progs.follow_fork, "sched_process_fork", err);

	if (rc)
		return rc;
	return attach_sched_event(s, s->skel->progs.follow_exit, "sched_process_exit", err);
}

/* The verdict on a process is void once it executes another program. */
static int attach_exec(struct fsc_session *s, struct fsc_err *err)
{
	int fd = bpf_raw_tracepoint_open("sched_process_exec",
					 bpf_program__fd(s->skel->progs.judge_anew));

	if (fd < 0)
		return fsc_err_sys(err, errno,
				   "cannot attach to raw tracepoint sched_process_exec");
	return fsc_attacher_keep(&s->attacher, fd, FSC_TAG_SCHED, err);
}

int fsc_attach_sched(struct fsc_session *s, struct fsc_err *err)
{
	int rc = s->opts.rules ? attach_exec(s, err) : 0;

	if (!rc && fsc_session_follows(s))
		rc = fsc_session_try_follow(s, attach_follow, err);
	if (rc || !s->opts.off_cpu)
		return rc;
	rc = check_switch_layout(err);
	return rc ? rc : attach_sched_event(s, s->skel->progs.sched_switch, "sched_switch", err);
}
