/* What the files of the engine share of a session. */
#ifndef FSC_ENGINE_SESSION_PRIV_H
#define FSC_ENGINE_SESSION_PRIV_H

#include <linux/bpf.h>

#include "engine/session.h"

struct func_snoop_bpf;

struct fsc_session {
	struct fsc_targets *targets;
	struct fsc_session_opts opts;
	struct func_snoop_bpf *skel;
	struct fsc_config cfg;
	bool user_multi; /* user places go into multi links */
	bool fast;	 /* 5-byte nops are probed as they are */
	uint32_t n_cpus;
	const uint64_t *counts; /* the mapped counters */
	size_t counts_size;
	struct fsc_vec links;	   /* int */
	struct fsc_vec late_links; /* int: closed last, being slow to close */
	struct fsc_vec programs;   /* int: programs that belong to one place */
	struct fsc_vec refused;	   /* struct fsc_refused */
	size_t on_rung[FSC_RUNG_MAX];
	uint64_t missed; /* of links that are gone */
};

/* One per class of place: attach_user.c, attach_kernel.c, attach_tracepoint.c. */
int fsc_attach_user(struct fsc_session *s, struct fsc_err *err);
int fsc_attach_kernel(struct fsc_session *s, struct fsc_err *err);
int fsc_attach_tracepoints(struct fsc_session *s, struct fsc_err *err);
int fsc_attach_follow(struct fsc_session *s, struct fsc_err *err);
/* The prepared instructions, loaded once more for one place with its row in them; a descriptor the
 * session owns, or -errno. */
int fsc_attach_own_program(struct fsc_session *s, enum bpf_prog_type type, int attach_type,
			   int btf_id, uint32_t row);
/* An fentry or fexit link on one kernel function by its BTF id; a descriptor the caller owns, or
 * -errno. */
int fsc_attach_fentry(struct fsc_session *s, int btf_id, uint32_t row, bool ret);
/* Whether the probe of a place goes onto its 5-byte nop. */
bool fsc_attach_fast(const struct fsc_session *s, const struct fsc_target *t);
/* Puts a descriptor into a list that owns it; closes it where memory is out. */
int fsc_session_keep(struct fsc_vec *fds, int fd, struct fsc_err *err);
int fsc_session_refuse(struct fsc_session *s, size_t target, int code, struct fsc_err *err);

#endif
