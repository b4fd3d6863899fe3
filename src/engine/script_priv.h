/* A script as the files of the engine see it. */
#ifndef FSC_ENGINE_SCRIPT_PRIV_H
#define FSC_ENGINE_SCRIPT_PRIV_H

#include "engine/attacher.h"
#include "engine/script.h"

struct perf_buffer;
struct ring_buffer;

/* How a program is loaded; what it is attached to decides. */
struct fsc_script_variant {
	enum bpf_prog_type type;
	int attach_type;
	uint32_t btf_id; /* what a tracing program is for */
	int btf_fd;	 /* that module's BTF; -1: the kernel's */
};

/* A watchpoint that the script set. */
struct fsc_script_watch {
	uint64_t address;
	uint32_t tag;
};

struct fsc_script {
	const struct fsc_plan *plan;
	struct fsc_script_opts opts;
	int *map_fds; /* per map, -1: none */
	int *fds;     /* per program: loaded the way it is attached first; -1: for each point */
	bool *many;   /* per program: it was loaded for links on many places */
	struct fsc_vec own;	      /* int: programs loaded for single points */
	struct fsc_vec iters;	      /* int: iterators to be read */
	struct fsc_attacher attacher; /* a link's tag is its program's number */
	struct fsc_vec refused;	      /* struct fsc_script_refused */
	struct fsc_vec watches;	      /* struct fsc_script_watch */
	uint32_t next_tag;
	size_t attached;
	struct ring_buffer *ring;
	int (*record_fn)(const void *record, size_t size, void *arg);
	void *record_arg;
	uint64_t records;
	struct perf_buffer *packets; /* NULL: none */
	int (*packet_fn)(const void *record, size_t size, void *arg);
	void *packet_arg;
	int packet_rc;
	uint64_t packets_lost;
	bool detached;
};

/* script_packets.c: opens and closes the way of skboutput(). */
int fsc_script_open_packets(struct fsc_script *s, struct fsc_err *err);
void fsc_script_close_packets(struct fsc_script *s);

/* script_load.c: a descriptor that the caller owns, or -errno and err. */
int fsc_script_load_prog(struct fsc_script *s, const struct fsc_plan_prog *p,
			 const struct fsc_script_variant *v, struct fsc_err *err);
/* The same, owned by the script. */
int fsc_script_own_prog(struct fsc_script *s, const struct fsc_plan_prog *p,
			const struct fsc_script_variant *v, struct fsc_err *err);

/* How a program is loaded first. false: for each of its points. */
bool fsc_script_variant_of(const struct fsc_script *s, const struct fsc_plan_prog *p,
			   struct fsc_script_variant *ret);

/* The process that a point is limited to: its own, or the command's; 0: none. */
pid_t fsc_script_pid(const struct fsc_script *s, const struct fsc_point *pt);
uint32_t fsc_script_number(const struct fsc_script *s, const struct fsc_plan_prog *p);
/* Keeps a link, or (fd < 0) notes that the kernel refused the point with that code. */
int fsc_script_keep(struct fsc_script *s, const struct fsc_plan_prog *p, size_t point, int fd,
		    struct fsc_err *err);

/* Each attaches the points of a program. */
int fsc_script_attach_user(struct fsc_script *s, const struct fsc_plan_prog *p,
			   struct fsc_err *err);
int fsc_script_attach_kernel(struct fsc_script *s, const struct fsc_plan_prog *p,
			     struct fsc_err *err);
int fsc_script_attach_tracing(struct fsc_script *s, const struct fsc_plan_prog *p,
			      struct fsc_err *err);
int fsc_script_attach_tracepoint(struct fsc_script *s, const struct fsc_plan_prog *p,
				 struct fsc_err *err);
int fsc_script_attach_raw(struct fsc_script *s, const struct fsc_plan_prog *p, struct fsc_err *err);
int fsc_script_attach_perf(struct fsc_script *s, const struct fsc_plan_prog *p,
			   struct fsc_err *err);
int fsc_script_attach_watch(struct fsc_script *s, const struct fsc_plan_prog *p,
			    struct fsc_err *err);
int fsc_script_attach_iter(struct fsc_script *s, const struct fsc_plan_prog *p,
			   struct fsc_err *err);

#endif
