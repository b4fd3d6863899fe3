/* Shared by the files that implement the table of processes. */
#ifndef FSC_RUN_PROCESSES_PRIV_H
#define FSC_RUN_PROCESSES_PRIV_H

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "base/vec.h"
#include "run/processes.h"

enum {
	MOST_EXITED = 1024, /* exited processes whose verdicts are kept for their last events */
	MOST_SEEN = 65536,  /* files reported, before all are reported again */
};

/* How long an exited process without a verdict stays known, in case calls of it turn up: longer
 * than the callers take to look for them. */
#define KEPT_EXITED_NS 1000000000ull

struct process {
	pid_t pid;
	size_t place; /* in the table */
	bool has_verdict, wanted;
	bool of_command; /* the command, or one of its descendants */
	/* Its leader has exited: 1 in this reading, 2 in an earlier one, so that all its records
	 * have been read. Other threads may still run. */
	unsigned ended;
	bool maps_known;   /* what it maps has been seen since it began */
	bool maps_watched; /* and it has mapped a file that matters, in this program or before */
	bool listed;	   /* in the list of pending ones */
	uint64_t pending_since; /* the reading since which it has not seemed wanted; 0: it has, or
				   is new */
	char comm[FSC_COMM_LEN + 1];
	char *program;		      /* base name; NULL: not known */
	uint64_t cpu_start, cpu_last; /* ns */
};

/* An exited process that is known for a while. */
struct kept_exited {
	pid_t pid;
	uint64_t until_ns;
};

struct fsc_processes {
	const struct fsc_filter *targets;
	struct fsc_mmaps *mmaps; /* NULL: only /proc */
	pid_t self;
	struct fsc_vec all;	/* struct process *: entries do not move */
	struct fsc_vec pending; /* pid_t: verdicts to be made in the next reading */
	struct fsc_vec leaving; /* pid_t: processes whose leader has exited */
	struct fsc_vec kept;	/* struct kept_exited: among them those without state */
	size_t first_kept;	/* of those; the ones before have left the table */
	bool relist;		/* all may be pending */
	struct fsc_map at;	/* pid -> its entry */
	struct fsc_map seen;	/* files already reported */
	DIR *scanned;		/* /proc, of a scan in parts; NULL: none has begun */
	pid_t command;
	uint64_t readings;
	size_t ended;	   /* wanted ones that have exited */
	uint64_t cpu_past; /* ns they used */
	struct {
		pid_t pid;
		bool wanted;
	} exited[MOST_EXITED]; /* a ring */
	size_t n_exited;
	struct fsc_map exited_at; /* pid -> n_exited before its last exit; only those in the ring */
};

/* Context of one reading. */
struct reading {
	struct fsc_processes *p;
	const struct fsc_processes_to *to;
};

static inline struct process *process_at(const struct fsc_processes *p, size_t i)
{
	return *FSC_AT(struct process *, &p->all, i);
}

void fsc_process_free(struct process *x);
/* NULL: it is not in the table. */
struct process *fsc_processes_find(const struct fsc_processes *p, pid_t pid);

/* By which a file is known to have been reported. */
struct mapped_key {
	uint64_t dev, ino, changed;
};

/* When a file was last changed, in ns. */
static inline uint64_t changed_ns(const struct stat *st)
{
	return (uint64_t)st->st_ctim.tv_sec * 1000000000 + (uint64_t)st->st_ctim.tv_nsec;
}

/* Whether nobody but the table knows of the process: it has mapped nothing that matters, and nobody
 * has asked for it. */
static inline bool has_no_state(const struct process *x)
{
	return !x->has_verdict && !x->pending_since && x->maps_known && !x->maps_watched;
}

/* Whether it is a target by what is known of it without a system call. */
bool fsc_process_is_named(const struct fsc_processes *p, const struct process *x);
/* Its program, by the path of the file. */
void fsc_process_set_program(struct process *x, const char *path);
/* Reports a file unless it was reported before, by the key. */
int fsc_process_report_file(const struct reading *r, pid_t pid, const void *key, size_t n,
			    const char *path, struct fsc_err *err);
/* Reports all files mapped so far; none if the process has exited or we lack permission. */
int fsc_process_report_mapped(const struct reading *r, pid_t pid, struct fsc_err *err);
/* Makes the verdict, or leaves it pending. A process that does not match is checked again after the
 * next reading: records of different CPUs arrive out of order, and the name of a new program may
 * follow its mappings. Nothing is lost: pending processes count. */
int fsc_process_decide(const struct reading *r, struct process *x, bool at_once,
		       struct fsc_err *err);
/* Where the kernel's records of exec cannot be had: a process that was left alone and has another
 * name by now gets a new verdict. */
int fsc_process_notice_exec(const struct reading *r, struct process *x, struct fsc_err *err);
/* It took another name, which may be that of a target. A target stays one, under the name that it
 * was known by. */
int fsc_process_notice_name(const struct reading *r, struct process *x, const char *comm,
			    struct fsc_err *err);
/* Remembers the verdict on a process that exited, in place of the oldest one. */
int fsc_process_remember_exited(struct fsc_processes *p, const struct process *x,
				struct fsc_err *err);

static inline void drop_first(struct fsc_vec *v, size_t n)
{
	v->n -= n;
	if (n && v->n)
		memmove(v->data, (char *)v->data + n * v->size, v->n * v->size);
}

/* processes_exit.c, after a reading: those whose leader has exited, and those that were kept for a
 * while longer. */
int fsc_processes_remove_leaving(const struct reading *r, struct fsc_err *err);
int fsc_processes_remove_kept(struct fsc_processes *p, struct fsc_err *err);
/* After a scan: checks all, since the records of some exits may be lost. */
int fsc_processes_remove_exited(const struct reading *r, struct fsc_err *err);

#endif
