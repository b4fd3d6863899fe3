/* A script in the kernel: the maps, programs and links of a plan (lang/plan.h), from load to the
 * last value read. Everything it holds is a file descriptor, so that the kernel removes the probes
 * however we die. */
#ifndef FSC_ENGINE_SCRIPT_H
#define FSC_ENGINE_SCRIPT_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "lang/plan.h"

struct fsc_script;

struct fsc_script_opts {
	unsigned n_cpus;       /* possible ones */
	const regex_t *filter; /* only probes with such names, and BEGIN and END; NULL: all */
	pid_t cpid;	       /* the command's process; 0: none. What can be limited is to it. */
};

/* A point that could not be attached, and why. */
struct fsc_script_refused {
	const struct fsc_point *point;
	int code;
};

/* Creates the maps and loads the programs; attaches nothing. A program that the verifier refuses is
 * an error that names the place in the script. plan must outlive *ret, which the caller frees. */
int fsc_script_load(const struct fsc_plan *plan, const struct fsc_script_opts *opts,
		    struct fsc_script **ret, struct fsc_err *err);
void fsc_script_free(struct fsc_script *s);
const struct fsc_plan *fsc_script_plan(const struct fsc_script *s);

/* Runs the programs of a kind that nothing is attached to (BEGIN, END, self:signal with that
 * signal, test, bench), in order, each once. */
int fsc_script_run(struct fsc_script *s, enum fsc_point_kind kind, int signal, struct fsc_err *err);
/* Runs one program of those, by its number in the plan. *ret: what it returned. */
int fsc_script_run_one(struct fsc_script *s, size_t prog, uint32_t *ret, struct fsc_err *err);
/* Runs one so often that it can be measured: how often, and how long on average, in ns. */
int fsc_script_bench(struct fsc_script *s, size_t prog, uint64_t *ret_runs, uint64_t *ret_ns,
		     struct fsc_err *err);
/* Whether the script has a program of that kind (and signal). */
bool fsc_script_has(const struct fsc_script *s, enum fsc_point_kind kind, int signal);
/* Attaches all others. What the kernel refuses fails the call, or with missing_probes=warn and
 * =ignore is only listed, unless nothing is left. */
int fsc_script_attach(struct fsc_script *s, struct fsc_err *err);
/* Detaches everything; maps and programs stay. Blocks for tens of milliseconds. */
void fsc_script_detach(struct fsc_script *s);
/* Points attached, or run by ourselves; several places of one name are one. */
size_t fsc_script_attached(const struct fsc_script *s);
const struct fsc_vec *
fsc_script_refused(const struct fsc_script *s); /* struct fsc_script_refused */
/* The file of a point in user code. */
const char *fsc_script_path(const struct fsc_point *pt);

/* Reads iterators (iter:task) to their end, each once. */
int fsc_script_iterate(struct fsc_script *s, struct fsc_err *err);
/* Sets a watchpoint at an address, and removes those at one. */
int fsc_script_watch(struct fsc_script *s, uint32_t probe, uint64_t address, pid_t pid,
		     struct fsc_err *err);
void fsc_script_unwatch(struct fsc_script *s, uint64_t address);

/* ---- events ---- */

/* Readable when there are records. */
int fsc_script_events_fd(const struct fsc_script *s);
/* Calls fn for each pending record, which is valid until fn returns; a negative return ends it, and
 * -EINTR only leaves the rest for the next call. */
int fsc_script_drain(struct fsc_script *s, int (*fn)(const void *record, size_t size, void *arg),
		     void *arg, struct fsc_err *err);
/* Records read so far. */
uint64_t fsc_script_records(const struct fsc_script *s);

/* Packets of skboutput(), which come another way: likewise. -1: the script has none. The record
 * begins with a struct fsc_plan_skb. */
int fsc_script_packets_fd(const struct fsc_script *s);
int fsc_script_drain_packets(struct fsc_script *s,
			     int (*fn)(const void *record, size_t size, void *arg), void *arg,
			     struct fsc_err *err);

/* ---- maps ---- */

/* Calls fn for each element of a map. A value per CPU: one after the other, each rounded up to 8
 * bytes. Elements added or removed meanwhile may be among them or not. */
int fsc_script_elements(const struct fsc_script *s, uint32_t map,
			int (*fn)(const void *key, const void *value, void *arg), void *arg,
			struct fsc_err *err);
/* The value of one key; false if there is none. value: room as above. */
bool fsc_script_lookup(const struct fsc_script *s, uint32_t map, const void *key, void *value);
/* Bytes of a value as read: of all CPUs, if it is per CPU. */
size_t fsc_script_value_size(const struct fsc_script *s, uint32_t map);
/* CPUs that a value of the map has parts of; 1 if it is not per CPU. */
unsigned fsc_script_parts(const struct fsc_script *s, uint32_t map);
/* Removes all elements; sets all values to 0. */
int fsc_script_clear(struct fsc_script *s, uint32_t map, struct fsc_err *err);
int fsc_script_zero(struct fsc_script *s, uint32_t map, struct fsc_err *err);
/* The addresses of a stack, innermost first; returns how many. */
size_t fsc_script_stack(const struct fsc_script *s, uint32_t map, int64_t id, uint64_t *addrs,
			size_t max);

/* ---- books ---- */

uint64_t fsc_script_loss(const struct fsc_script *s, enum fsc_plan_loss which);
/* Hits for which the kernel did not run a program, up to the last detach. */
uint64_t fsc_script_missed(const struct fsc_script *s);

#endif
