/* The session as the files of the engine see it. */
#ifndef FSC_ENGINE_SESSION_PRIV_H
#define FSC_ENGINE_SESSION_PRIV_H

#include <linux/bpf.h>

#include "base/map.h"
#include "engine/attacher.h"
#include "engine/copies.h"
#include "engine/pool.h"
#include "engine/session.h"

struct bpf_map;
struct bpf_program;
struct func_snoop_bpf;

/* The counters of hits, mapped: one array for each CPU. */
struct fsc_counts {
	const uint64_t *at; /* NULL: not mapped */
	size_t size;	    /* bytes */
	uint32_t n_cpus, stride;
};
/* 0, or -errno. */
int fsc_counts_map(struct fsc_counts *c, const struct bpf_map *m, uint32_t n_cpus, uint32_t stride);
void fsc_counts_unmap(struct fsc_counts *c);
uint64_t fsc_counts_sum(const struct fsc_counts *c, uint32_t row);
uint64_t fsc_loss_read(const struct bpf_map *losses, enum fsc_loss which);

/* All elements of a map, one after the other; key and value point to room for one. */
struct fsc_map_walk {
	const struct bpf_map *map;
	void *key, *value;
	bool begun;
};
bool fsc_map_walk_next(struct fsc_map_walk *w);

struct fsc_session {
	struct fsc_targets *targets;
	struct fsc_session_opts opts;
	pid_t *ids;		/* copies for opts.pids and opts.tids */
	struct fsc_session *of; /* the monitor's session that it is a part of; NULL: it is whole */
	uint32_t first_row;	/* in that */
	uint8_t *rows_used;	/* bool, per row of a monitor's session */
	struct func_snoop_bpf *skel; /* of a part: that session's, as are counts, slots and cfg */
	struct fsc_config cfg;
	bool pairs;			  /* every function is probed at entry and return */
	bool user_multi;		  /* user places go into multi links */
	int user_session, kernel_session; /* programs for both ends, -1: none */
	bool no_session;		  /* tried for user places, and failed */
	bool *unusable;			  /* per target: refused */
	bool fast;			  /* 5-byte nops are probed themselves */
	uint32_t n_cpus;
	struct fsc_counts counts;
	struct fsc_slot *slots; /* mapped measurements; NULL: nothing is timed, or in the pool */
	size_t slots_size;
	struct fsc_pool pool;	      /* of a monitor's session */
	struct fsc_attacher attacher; /* a place's tag is its row */
	bool attached;
	struct fsc_vec programs; /* int: programs for single places, and rings */
	struct fsc_vec refused;	 /* struct fsc_refused */
	size_t on_rung[FSC_RUNG_MAX];
	struct ring_buffer *rings;    /* NULL: none */
	struct ring_buffer *own_ring; /* of calibration */
	int own_ring_fd;	      /* owned by programs */
	int (*record_fn)(const void *record, size_t size, void *arg);
	void *record_arg;
	struct fsc_copy_maps copies;
	int (*copy_fn)(const void *copy, size_t size, void *arg); /* NULL: they are dropped */
	void *copy_arg;
	uint64_t records;	    /* of calls, read from the rings */
	uint64_t pids_reported;	    /* by fsc_session_new_pids() */
	bool detached;		    /* permanently */
	const bool *selected;	    /* per row: being attached (again); NULL: all are */
	uint32_t gate;		    /* of the links that are made */
	uint8_t *group_of;	    /* with per_row: see select.c; NULL: never attached */
	uint32_t turn;		    /* of handovers */
	struct fsc_session *moving; /* a part, or itself, whose rows are moving; NULL: none */
	struct fsc_vec retired;	    /* struct fsc_retired */
	struct fsc_map
	    errors_taken; /* struct fsc_error_key -> how many were read and do not count */
};

/* A slot whose key was deleted, and that key. */
struct fsc_retired {
	struct fsc_count_key key;
	uint32_t slot;
};

/* Which end of a function a link is on. */
enum fsc_end {
	FSC_END_RETURN, /* caught by the kernel, which changes the return address */
	FSC_END_INSNS,	/* on the function's return instructions and tail jumps */
	FSC_END_ENTRY,
	FSC_END_BOTH, /* a session */
	FSC_END_MAX,
};
/* The arg of a session's batch. */
struct fsc_session_end {
	struct fsc_session *s;
	enum fsc_end end;
	enum fsc_rung rung;
	bool hidden; /* kernel addresses are unknown: attach by name */
	bool *left;  /* per target: left to another rung. NULL: there is none */
};
/* Whether a place needs a probe at that end. Ends are attached in the order above: once a call's
 * entry is seen, its return is already probed. */
bool fsc_attach_needs_end(const struct fsc_session *s, const struct fsc_target *t,
			  enum fsc_end end);

/* How many places are of that kind. */
size_t fsc_session_sites(const struct fsc_targets *t, enum fsc_site site);
static inline bool fsc_session_follows(const struct fsc_session *s)
{
	return s->opts.follow && s->opts.n_pids;
}
/* Calls follow; with follow_if_may, a missing right only gives a warning and ends following. */
int fsc_session_try_follow(struct fsc_session *s,
			   int (*follow)(struct fsc_session *s, struct fsc_err *err),
			   struct fsc_err *err);
/* Sets our own pid namespace, unless it is the initial one. */
void fsc_configure_pidns(struct fsc_config *cfg);
/* offset: of the child in a fork's record; -ENOTSUP: our program does not know that layout. */
int fsc_configure_fork(struct fsc_config *cfg, unsigned offset, struct fsc_err *err);
/* Sends libbpf's messages to our log. */
void fsc_session_log_libbpf(void);
/* configure.c and programs.c: before and after loading. */
int fsc_configure(struct fsc_session *s, struct fsc_err *err);
/* The programs of a mode, not loaded yet; NULL with errno set. */
struct func_snoop_bpf *fsc_objects_open(enum fsc_mode mode);
int fsc_programs_choose(struct fsc_session *s, struct fsc_err *err);
/* Whether 5-byte nops are probed themselves. */
void fsc_programs_choose_fast(struct fsc_session *s);
/* -EAGAIN: must be opened, configured, chosen and loaded again, without a session. */
int fsc_programs_load(struct fsc_session *s, struct fsc_err *err);

/* To be called once the programs are loaded: the processes that were asked for are traced. */
int fsc_tasks_fill(struct fsc_session *s, struct fsc_err *err);

/* To be called once the programs are loaded. */
int fsc_rings_open(struct fsc_session *s, struct fsc_err *err);
uint32_t fsc_rings_bytes(const struct fsc_session *s);
/* Empties the ring of calibration. */
void fsc_rings_empty_own(struct fsc_session *s);

/* select.c: all rows are attached; and what it has allocated. */
int fsc_select_begin(struct fsc_session *s, struct fsc_err *err);
void fsc_select_release(struct fsc_session *s);
/* The places that are to be attached, of all kinds. */
int fsc_session_attach_places(struct fsc_session *s, struct fsc_err *err);
/* One per kind of place: attach_user.c, attach_kernel.c, attach_tracepoint.c. */
int fsc_attach_user(struct fsc_session *s, struct fsc_err *err);
int fsc_attach_kernel(struct fsc_session *s, struct fsc_err *err);
int fsc_attach_tracepoints(struct fsc_session *s, struct fsc_err *err);
/* The scheduler's events: forks to follow, switches for --off-cpu. */
int fsc_attach_sched(struct fsc_session *s, struct fsc_err *err);
/* A program to be loaded again for one purpose: as what type, and the values for its marks. */
struct fsc_own {
	const struct bpf_program *from;
	enum bpf_prog_type type;
	int attach_type, btf_id;
	uint32_t row, n_args;
};
/* Loads it for one place; a descriptor that the session owns, or -errno. */
int fsc_own_program(struct fsc_session *s, const struct fsc_own *own);
/* Loads it for both ends, with calls of the kernel functions that this needs; -ENOENT: the kernel
 * lacks them. */
int fsc_own_session(struct fsc_session *s, const struct bpf_program *from, int attach_type);
/* A kernel function in BTF. */
struct fsc_btf_func {
	int id;
	uint32_t n_args;
};
/* Link places, also for calibration; return descriptors that the caller owns, or -errno. The first
 * two set ret. */
int fsc_attach_user_end(const struct fsc_session *s, enum fsc_end end, struct fsc_sys_uprobes *u);
int fsc_attach_kernel_end(const struct fsc_session *s, enum fsc_end end, struct fsc_sys_kprobes *k);
int fsc_attach_raw_tracepoint(struct fsc_session *s, const char *name, uint32_t row);
int fsc_attach_fentry(struct fsc_session *s, const struct fsc_btf_func *f, uint32_t row, bool ret);
/* Whether the probe of a place goes on its 5-byte nop. */
bool fsc_attach_fast(const struct fsc_session *s, const struct fsc_target *t);
/* Adds a descriptor to a list that owns it; closes it if memory is out. */
int fsc_session_keep_fd(struct fsc_vec *fds, int fd, struct fsc_err *err);
int fsc_session_keep_link(struct fsc_session *s, int fd, size_t target, struct fsc_err *err);
/* Adds a place to a batch of struct fsc_session_end. flags: FSC_COOKIE_*. */
void fsc_session_add_place(struct fsc_batch *b, size_t target, uint64_t where, uint64_t flags);
/* The callbacks of such a batch: for a refused place, and for the result of linking n places, which
 * is returned. */
int fsc_session_refuse_place(const struct fsc_batch *b, size_t i, int code, struct fsc_err *err);
int fsc_session_note_link(const struct fsc_batch *b, int fd, size_t n);
/* The kernel's name for the function of a place. */
static inline const char *fsc_session_symbol(const struct fsc_session *s,
					     const struct fsc_target *t)
{
	const struct fsc_target_row *row = fsc_targets_row(s->targets, t->row);

	return row->symbol ? row->symbol : row->name;
}
/* Whether a place is to be attached now. */
bool fsc_session_attaches(const struct fsc_session *s, size_t target);
/* Counts places on a rung, not when they are resumed. */
void fsc_session_count_rung(struct fsc_session *s, enum fsc_rung rung, size_t n);
int fsc_session_refuse(struct fsc_session *s, size_t target, int code, struct fsc_err *err);
/* A process has changed the code there. */
int fsc_session_refuse_patched(struct fsc_session *s, size_t target, pid_t pid,
			       struct fsc_err *err);

#endif
