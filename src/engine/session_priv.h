/* What the files of the engine share of a session. */
#ifndef FSC_ENGINE_SESSION_PRIV_H
#define FSC_ENGINE_SESSION_PRIV_H

#include <linux/bpf.h>

#include "base/map.h"
#include "engine/attacher.h"
#include "engine/session.h"

struct func_snoop_bpf;

struct fsc_session {
	struct fsc_targets *targets;
	struct fsc_session_opts opts;
	pid_t *ids; /* of opts.pids and opts.tids: the caller's may go */
	struct func_snoop_bpf *skel;
	struct fsc_config cfg;
	bool pairs;			  /* every place is probed at entry and return */
	bool user_multi;		  /* user places go into multi links */
	int user_session, kernel_session; /* programs for both ends, -1: none */
	bool no_session;		  /* one was tried in vain for user places */
	bool *unusable;			  /* per target: refused */
	bool fast;			  /* 5-byte nops are probed as they are */
	uint32_t n_cpus;
	const uint64_t *counts; /* the mapped counters */
	size_t counts_size;
	struct fsc_slot *slots; /* the mapped measurements; NULL: nothing is timed */
	size_t slots_size;
	struct fsc_attacher attacher; /* a place's tag is its row */
	bool attached;
	struct fsc_vec programs; /* int: programs that belong to one place */
	struct fsc_vec refused;	 /* struct fsc_refused */
	size_t on_rung[FSC_RUNG_MAX];
	struct ring_buffer *rings;    /* NULL: none */
	struct ring_buffer *own_ring; /* of calibration */
	int own_ring_fd;	      /* owned by programs */
	int (*record_fn)(const void *record, size_t size, void *arg);
	void *record_arg;
	uint64_t records;	/* of calls, read from the rings */
	bool detached;		/* for good */
	int64_t resumed_row;	/* only this row is being attached, again; -1: all */
	struct fsc_vec retired; /* struct fsc_retired */
	struct fsc_map
	    errors_taken; /* struct fsc_error_key -> how many were read and do not count */
};

/* A slot that no key leads to any more, and whose it was. */
struct fsc_retired {
	struct fsc_count_key key;
	uint32_t slot;
};

/* Which end of a function a link sits on. */
enum fsc_end {
	FSC_END_RETURN, /* caught by the kernel, which changes the return address */
	FSC_END_INSNS,	/* on the instructions by which the function ends */
	FSC_END_ENTRY,
	FSC_END_BOTH, /* a session */
	FSC_END_MAX,
};
/* What the links of a batch are made for: its arg. */
struct fsc_session_end {
	struct fsc_session *s;
	enum fsc_end end;
	enum fsc_rung rung;
	bool hidden; /* kernel addresses are unknown, go by name */
	bool *left;  /* per target: refused here, another rung may take it. NULL: none does */
};
/* Whether a place takes part in an end. Ends are attached in the order above: a call whose entry
 * is seen finds its return already watched. */
bool fsc_attach_takes(const struct fsc_session *s, const struct fsc_target *t, enum fsc_end end);

/* How many places are of a class. */
size_t fsc_session_sites(const struct fsc_targets *t, enum fsc_site site);
/* Whether children of what is watched are watched. */
static inline bool fsc_session_follows(const struct fsc_session *s)
{
	return s->opts.follow && s->opts.n_pids;
}
/* The children are not followed, because of a missing right: says so. */
void fsc_session_unfollow(struct fsc_session *s, const struct fsc_err *why);
/* Our own pid namespace, where it is not the initial one. */
void fsc_configure_pidns(struct fsc_config *cfg);
/* Where a fork's record has the child; -ENOTSUP where our program does not look for it there. */
int fsc_configure_fork(struct fsc_config *cfg, unsigned offset, struct fsc_err *err);
/* What libbpf says goes to our log. */
void fsc_session_log_libbpf(void);
/* configure.c and programs.c: before and after loading. */
int fsc_configure(struct fsc_session *s, struct fsc_err *err);
/* The programs of a mode, not loaded yet; NULL with errno set. */
struct func_snoop_bpf *fsc_objects_open(enum fsc_mode mode);
int fsc_programs_choose(struct fsc_session *s, struct fsc_err *err);
/* -EAGAIN: to be opened, configured, chosen and loaded again, without a session. */
int fsc_programs_load(struct fsc_session *s, struct fsc_err *err);

/* Makes every slot that no function owns free for a key. */
int fsc_rules_open(struct fsc_session *s, struct fsc_err *err);

/* The rings, once the programs are loaded. */
int fsc_rings_open(struct fsc_session *s, struct fsc_err *err);
uint32_t fsc_rings_bytes(const struct fsc_session *s);
/* Makes room in the ring of calibration. */
void fsc_rings_empty_own(struct fsc_session *s);

/* One per class of place: attach_user.c, attach_kernel.c, attach_tracepoint.c. */
int fsc_attach_user(struct fsc_session *s, struct fsc_err *err);
int fsc_attach_kernel(struct fsc_session *s, struct fsc_err *err);
int fsc_attach_tracepoints(struct fsc_session *s, struct fsc_err *err);
/* The scheduler's events: forks to follow, switches for --off-cpu. */
int fsc_attach_sched(struct fsc_session *s, struct fsc_err *err);
/* A program loaded once more for one purpose: what it is loaded as, and what is put in where its
 * instructions carry a mark. */
struct fsc_own {
	const struct bpf_program *from;
	enum bpf_prog_type type;
	int attach_type, btf_id;
	uint32_t row, n_args;
};
/* The prepared instructions loaded for one place; a descriptor the session owns, or -errno. */
int fsc_own_program(struct fsc_session *s, const struct fsc_own *own);
/* The same for a session, with the kernel functions a session calls; -ENOENT where the kernel lacks
 * them. */
int fsc_own_session(struct fsc_session *s, const struct bpf_program *from, int attach_type);
/* A kernel function in BTF. */
struct fsc_btf_func {
	int id;
	uint32_t n_args;
};
/* Links, as a session makes them for its places and for calibration; descriptors the caller owns,
 * or -errno. The first two set ret. */
int fsc_attach_user_end(const struct fsc_session *s, enum fsc_end end, struct fsc_sys_uprobes *u);
int fsc_attach_kernel_end(const struct fsc_session *s, enum fsc_end end, struct fsc_sys_kprobes *k);
int fsc_attach_raw_tracepoint(struct fsc_session *s, const char *name, uint32_t row);
int fsc_attach_fentry(struct fsc_session *s, const struct fsc_btf_func *f, uint32_t row, bool ret);
/* Whether the probe of a place goes onto its 5-byte nop. */
bool fsc_attach_fast(const struct fsc_session *s, const struct fsc_target *t);
/* Puts a descriptor into a list that owns it; closes it where memory is out. */
int fsc_session_keep(struct fsc_vec *fds, int fd, struct fsc_err *err);
/* Keeps a link on a place. */
int fsc_session_keep_link(struct fsc_session *s, int fd, size_t target, struct fsc_err *err);
/* Adds a place to a batch of struct fsc_session_end. flags: FSC_COOKIE_*, put beside the row. */
void fsc_session_add(struct fsc_batch *b, size_t target, uint64_t where, uint64_t flags);
/* What such a batch does with a place that is refused, and with the descriptor of a link on n
 * places, or -errno, which it returns. */
int fsc_session_refuse_place(const struct fsc_batch *b, size_t i, int code, struct fsc_err *err);
int fsc_session_linked(const struct fsc_batch *b, int fd, size_t n);
/* What the kernel calls the function of a place. */
static inline const char *fsc_session_symbol(const struct fsc_session *s,
					     const struct fsc_target *t)
{
	const struct fsc_target_row *row = fsc_targets_row(s->targets, t->row);

	return row->symbol ? row->symbol : row->name;
}
/* Whether a place is to be attached now. */
bool fsc_session_attaches(const struct fsc_session *s, size_t target);
/* Notes places on a rung, once. */
void fsc_session_stand(struct fsc_session *s, enum fsc_rung rung, size_t n);
int fsc_session_refuse(struct fsc_session *s, size_t target, int code, struct fsc_err *err);

#endif
