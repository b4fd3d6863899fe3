/* What the compiler asks about the outside: what probes match, what functions take, what C types
 * look like, where symbols are. The compiler opens no file and makes no system call; whoever runs
 * it fills in this table. Everything returned by pointer is constant and owned by the world, which
 * must live as long as the plan that was made with it.
 *
 * Each function may be NULL: then there is nothing of that kind. Those with an err set it when they
 * return negative; -ENOENT with a sentence means "there is none", and the compiler adds the place
 * in the script. All may read files and take milliseconds; none is called twice for the same
 * question by one compilation unless said. */
#ifndef FSC_LANG_WORLD_H
#define FSC_LANG_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "lang/point.h"
#include "types/types.h"

/* Where an argument of `args` is found when the program runs. */
enum fsc_arg_at {
	FSC_ARG_AT_REGISTER, /* the index-th integer argument register (0 on), n_regs of them */
	FSC_ARG_AT_SLOT, /* 64-bit word number index of the context: fentry, fexit, rawtracepoint */
	FSC_ARG_AT_RECORD,   /* offset in the tracepoint's record, as type says */
	FSC_ARG_AT_DATA_LOC, /* uint32_t at offset: position (low half) and length in the record */
	FSC_ARG_AT_REL_LOC,  /* the same, the position counting from behind that word */
	FSC_ARG_AT_CONTEXT,  /* offset in the context: iter; a pointer that the verifier trusts */
	FSC_ARG_AT_NOWHERE,  /* known, but it cannot be read; the compiler says so where it is used
			      */
};

struct fsc_arg {
	const char *name;
	const struct fsc_type *type; /* DATA_LOC, REL_LOC: the array's element */
	enum fsc_arg_at at;
	uint32_t index, n_regs; /* REGISTER, SLOT */
	uint32_t offset;	/* RECORD, DATA_LOC, REL_LOC, CONTEXT */
	bool user;		/* pointers in it point to user memory */
	bool is_text;		/* DATA_LOC of char: a string */
};

struct fsc_args {
	const struct fsc_arg *args; /* in order */
	size_t n;
	const struct fsc_type *ret; /* what `retval` is; NULL: not known */
	uint32_t ret_slot;	    /* fexit: its word of the context */
	const char *name;	    /* "struct x_args", for messages; may be NULL */
	bool variadic;
};

/* A C type by its name. */
struct fsc_world_type {
	const struct fsc_type *type; /* complete where the source has it */
};

struct fsc_world_enumerator {
	int64_t value;
	const struct fsc_type *type; /* its enum, or NULL */
};

struct fsc_world_symbol {
	uint64_t address; /* uaddr: as in the file's symbol table */
	uint64_t size;
	bool relocated;	 /* uaddr: the file is loaded anywhere (PIE, library): */
	uint64_t probed; /* then the symbol table's address of the place that the point probes */
};

/* What the kernel has, each found out by trying. */
struct fsc_world_features {
	bool loop;	     /* bpf_loop() */
	bool for_each;	     /* bpf_for_each_map_elem() */
	bool boot_ns;	     /* bpf_ktime_get_boot_ns() */
	bool tai_ns;	     /* bpf_ktime_get_tai_ns() */
	bool jiffies;	     /* bpf_jiffies64() */
	bool func_ip_kprobe; /* bpf_get_func_ip() in kprobes */
	bool func_ip_uprobe; /* the same in uprobe.multi */
	bool cookie;	     /* bpf_get_attach_cookie() in probes on functions and perf events */
	bool cookie_tracing; /* in fentry and fexit */
	bool cookie_raw;     /* in raw tracepoints */
	bool send_signal;    /* bpf_send_signal() */
	bool send_signal_thread;
	bool override; /* bpf_override_return() */
	bool d_path;
	bool ns_pid;	    /* bpf_get_ns_current_pid_tgid() */
	bool percpu_lookup; /* bpf_map_lookup_percpu_elem() */
	bool skb_output;
	bool preempt_off; /* the kfuncs bpf_preempt_disable() and _enable() */
	bool socket_cookie;
};

struct fsc_world {
	void *arg;
	struct fsc_world_features features;
	unsigned n_cpus;	       /* possible ones: what per-CPU memory is sized by */
	unsigned n_online;	       /* what `ncpus` is */
	uint64_t pidns_dev, pidns_ino; /* our pid namespace; 0, 0: the initial one */
	bool big_endian;

	/* A probe as written, without the comma behind it ("kprobe:vfs_*"): calls add for each
	 * place it matches, in the order in which they are to be attached. 0 matches is -ENOENT
	 * with the nearest names in the hint. Positional parameters are replaced already. */
	int (*match)(void *arg, const char *text, int (*add)(void *to, const struct fsc_point *),
		     void *to, struct fsc_err *err);
	/* What args and retval are at a point. -ENOENT: not known (no debug information, no BTF).
	 */
	int (*args)(void *arg, const struct fsc_point *point, struct fsc_args *ret,
		    struct fsc_err *err);
	/* "struct file", "union sigval", "enum pid_type", or a typedef's name ("size_t"). near: the
	 * first point of the probe that mentions it (a uprobe's file has types of its own, which
	 * go before the kernel's), NULL: the kernel. false: there is none. */
	bool (*type)(void *arg, const char *name, const struct fsc_point *near,
		     struct fsc_world_type *ret);
	/* An enumerator of any enum of the kernel, or of near's file, as struct type. */
	bool (*enumerator)(void *arg, const char *name, const struct fsc_point *near,
			   struct fsc_world_enumerator *ret);
	/* Names of types for "did you mean": offers each to nearest. */
	void (*nearest_type)(void *arg, struct fsc_nearest *nearest);
	int (*kaddr)(void *arg, const char *name, uint64_t *ret, struct fsc_err *err);
	/* A symbol of the point's file, or of the file that is written before a colon. */
	int (*uaddr)(void *arg, const struct fsc_point *point, const char *name,
		     struct fsc_world_symbol *ret, struct fsc_err *err);
	int (*cgroupid)(void *arg, const char *path, uint64_t *ret, struct fsc_err *err);
	/* The kernel's BTF IDs of a kernel function that programs may call, and of a per-CPU
	 * variable. 0: none. */
	uint32_t (*kfunc)(void *arg, const char *name);
	uint32_t (*kvar)(void *arg, const char *name);
	/* Names to numbers as the machine has them: -1 if unknown. */
	int (*signal)(void *arg, const char *name); /* "SIGKILL", "KILL" */
};

#endif
