/* Shared by the files of this folder. */
#ifndef FSC_WORLD_MACHINE_PRIV_H
#define FSC_WORLD_MACHINE_PRIV_H

#include "base/map.h"
#include "base/vec.h"
#include "kernel/ksyms.h"
#include "probe/target.h"
#include "types/types.h"
#include "world/machine.h"
#include "world/written.h"

struct fsc_btf;

struct fsc_machine {
	struct fsc_world world;
	struct fsc_machine_opts opts;
	struct fsc_vec owned;	/* void *: points, texts, arguments */
	struct fsc_vec targets; /* struct fsc_targets *, one for each question */
	struct fsc_types types; /* what args and types point to */
	struct fsc_btf *btf;	/* the kernel's; see fsc_machine_btf() */
	bool btf_tried;
	struct fsc_vec modules; /* struct fsc_machine_module */
	struct fsc_vec files;	/* struct fsc_machine_file *: see world/files.h */
	int tracefs;		/* -1: not opened yet */
	unsigned kprobes;	/* questions about kernel functions */
	struct fsc_ksyms ksyms; /* all of them, if ksyms_read */
	bool ksyms_read;
};

struct fsc_machine_module {
	char *name;
	struct fsc_btf *btf; /* NULL: it has none */
};

/* Where the points of one question go. */
struct fsc_matches {
	struct fsc_machine *m;
	int (*add)(void *to, const struct fsc_point *point);
	void *to;
	size_t n;
	const char *written; /* the whole probe, for messages */
};

/* Memory that lives as long as m: zeroed; NULL (and err set) if there is none. */
void *fsc_machine_alloc(struct fsc_machine *m, size_t n, struct fsc_err *err);
const char *fsc_machine_text(struct fsc_machine *m, struct fsc_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Hands a copy of the point on. */
int fsc_matches_add(struct fsc_matches *to, const struct fsc_point *point, struct fsc_err *err);
/* A set of targets that lives as long as m. */
struct fsc_targets *fsc_machine_targets(struct fsc_machine *m, struct fsc_err *err);
/* Descriptor of tracefs, owned by m. */
int fsc_machine_tracefs(struct fsc_machine *m, struct fsc_err *err);
/* The kernel's BTF, or NULL where it has none (err may be NULL). Owned by m. */
struct fsc_btf *fsc_machine_btf(struct fsc_machine *m, struct fsc_err *err);
/* The same of a module. */
struct fsc_btf *fsc_machine_module_btf(struct fsc_machine *m, const char *module);

/* Points of a written probe: one function per group of providers. */
typedef int (*fsc_match_fn)(const struct fsc_written *w, struct fsc_matches *to,
			    struct fsc_err *err);
int fsc_match_special(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err);
int fsc_match_self(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err);
int fsc_match_named(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err);
int fsc_match_timer(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err);
int fsc_match_event(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err);
int fsc_match_watch(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err);
int fsc_match_kprobe(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err);
int fsc_match_tracing(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err);
int fsc_match_tracepoint(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err);
int fsc_match_raw(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err);
int fsc_match_bpf(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err);
int fsc_match_iter(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err);
int fsc_match_uprobe(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err);
int fsc_match_usdt(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err);

/* Names of the events of software and hardware, the short ones too. */
void fsc_events_each(enum fsc_point_kind kind, void (*fn)(void *arg, const char *name), void *arg);

/* The members of struct fsc_world; arg is the machine. */
int fsc_machine_match(void *arg, const char *text, int (*add)(void *to, const struct fsc_point *),
		      void *to, struct fsc_err *err);
int fsc_machine_args(void *arg, const struct fsc_point *point, struct fsc_args *ret,
		     struct fsc_err *err);
bool fsc_machine_type(void *arg, const char *name, const struct fsc_point *near,
		      struct fsc_world_type *ret);
bool fsc_machine_enumerator(void *arg, const char *name, const struct fsc_point *near,
			    struct fsc_world_enumerator *ret);
void fsc_machine_nearest_type(void *arg, struct fsc_nearest *nearest);
int fsc_machine_kaddr(void *arg, const char *name, uint64_t *ret, struct fsc_err *err);
int fsc_machine_uaddr(void *arg, const struct fsc_point *point, const char *name,
		      struct fsc_world_symbol *ret, struct fsc_err *err);
int fsc_machine_cgroupid(void *arg, const char *path, uint64_t *ret, struct fsc_err *err);
uint32_t fsc_machine_kfunc(void *arg, const char *name);
uint32_t fsc_machine_kvar(void *arg, const char *name);
int fsc_machine_signal(void *arg, const char *name);

#endif
