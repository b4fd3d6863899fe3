/* A plan: everything that a script becomes. The maps to create, the programs to load, what each is
 * attached to, and what user space does with the events they send. The compiler makes it
 * (fsc_lang_compile()), the runtime carries it out; it needs nothing else of the script.
 *
 * Events go through one ring buffer (the map with role FSC_PMAP_RING): a record begins with a
 * uint64_t, the number of an fsc_plan_event, and has that event's arguments at their offsets. */
#ifndef FSC_LANG_PLAN_H
#define FSC_LANG_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/bpf.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "lang/point.h"
#include "lang/type.h"
#include "lang/world.h"

/* Maps. Numbers of maps are indices of fsc_plan.maps. */
enum fsc_pmap_role {
	FSC_PMAP_SCRIPT, /* one of the script's, @name */
	FSC_PMAP_RING, /* of events; max_entries 0: the runtime chooses the size (perf_rb_pages) */
	FSC_PMAP_STACKS,  /* stack traces: key uint32_t, value uint64_t[depth] */
	FSC_PMAP_GLOBALS, /* one struct fsc_plan_globals, which the runtime fills before BEGIN */
	FSC_PMAP_LOSSES, /* uint64_t[enum fsc_plan_loss], by which the programs say what was lost */
	FSC_PMAP_TEXTS,	 /* constant bytes: content, to be frozen once written */
	FSC_PMAP_NAMES,	 /* texts by attach cookie: content */
	FSC_PMAP_SCRATCH, /* memory for what the stack has no room for; starts as zeros */
	FSC_PMAP_SKB,	  /* perf event array for skboutput() */
};

struct fsc_plan_map {
	enum fsc_pmap_role role;
	const char *name; /* SCRIPT: as written, "@" or "@bytes"; else a word for the kernel */
	uint32_t type;	  /* enum bpf_map_type */
	uint32_t key_size, value_size, max_entries, flags; /* for BPF_MAP_CREATE */
	bool per_cpu; /* a value per CPU, which user space merges */
	bool scalar;  /* SCRIPT: without keys; the key is a uint32_t 0 in an array, and it was
			 set when `set` below says so */
	/* SCRIPT: NULL where scalar. A key of several parts is a TUPLE. */
	const struct fsc_vtype *key;
	const struct fsc_vtype *value; /* SCRIPT */
	/* Scalar maps lie in arrays, which have no empty state. The value is followed by a uint64_t
	 * at this offset that is not 0 once the script has set it (of any CPU); clear() and
	 * delete() write 0 over the whole, zero() leaves it. 0: the map is no array. */
	uint32_t set_offset;
	const void *content; /* TEXTS, NAMES: max_entries values of value_size bytes */
	bool frozen;	     /* read-only for programs (flags say BPF_F_RDONLY_PROG, too) */
	bool printed;	     /* SCRIPT: shown at the end */
};

struct fsc_plan_globals {
	uint64_t start_ns; /* boot clock when the probes are about to be attached: `elapsed` */
	uint64_t cpid;	   /* the command's pid, 0: none */
	uint64_t stopped;  /* programs set it to 1 at exit(); those that see it do nothing more */
	uint64_t sw_tai_offset; /* TAI minus monotonic */
};

/* Losses by name; the runtime says each that is not 0. */
enum fsc_plan_loss {
	FSC_PLOSS_RING,	   /* an event found the ring full */
	FSC_PLOSS_MAP,	   /* a map was full, or refused an update */
	FSC_PLOSS_SCRATCH, /* no scratch memory: too many programs were interrupted on one CPU */
	FSC_PLOSS_STACK,   /* a stack could not be stored */
	FSC_PLOSS_RACE,	   /* several CPUs wrote at once, and one gave up */
	FSC_PLOSS_MAX,
};
/* "ring full", ...: what the books call it. */
extern const char *const fsc_plan_loss_names[FSC_PLOSS_MAX];

/* Programs. */
enum fsc_reloc_kind {
	FSC_RELOC_MAP,	 /* imm of a BPF_PSEUDO_MAP_FD or _VALUE load: the map's descriptor */
	FSC_RELOC_KFUNC, /* imm is the BTF ID already; listed so that a loader can say its name */
};

struct fsc_plan_reloc {
	enum fsc_reloc_kind kind;
	uint32_t insn;
	uint32_t map;
	const char *name; /* KFUNC */
};

/* From this instruction on (until the next row) the text at line:column, both from 1; length
 * letters of it, for a caret. */
struct fsc_plan_line {
	uint32_t insn;
	uint32_t line, column, length;
};

/* Subprograms (callbacks of loops); the first is the program itself, at instruction 0. */
struct fsc_plan_func {
	const char *name;
	uint32_t insn;
	uint32_t n_args;
	bool callback; /* what a helper calls: it must have a BTF function of static linkage */
};

struct fsc_plan_prog {
	const char *name;	  /* letters, digits and _, at most 15: for the kernel */
	const char *title;	  /* for people: the probe as written */
	enum fsc_point_kind kind; /* of all its points */
	uint32_t probe;		  /* number of the script's action block, from 0, in its order */
	/* What it is attached to; the attach cookie of points[i] is cookies[i]. */
	const struct fsc_point **points;
	uint64_t *cookies;
	size_t n_points;
	bool needs_cookie; /* it reads it: attach only in ways that have one */
	bool sleeps;	   /* to be loaded with BPF_F_SLEEPABLE */
	bool returns;	   /* test: what it returns is looked at */
	bool unsafe;	   /* override(): kprobes must be attached one by one */
	bool in_user; /* attached to user code: it may be preempted. Such programs hold the dead
			 tail call that keeps the JIT from giving them a private stack. */
	struct bpf_insn *insns;
	size_t n_insns;
	struct fsc_plan_reloc *relocs;
	size_t n_relocs;
	struct fsc_plan_line *lines;
	size_t n_lines;
	struct fsc_plan_func *funcs;
	size_t n_funcs;
	/* A BTF blob for BPF_BTF_LOAD with a function for each of funcs and the script's lines, and
	 * what BPF_PROG_LOAD takes beside it. Needed where a func is a callback; else as liked. */
	const void *btf;
	uint32_t btf_size;
	const struct bpf_func_info *func_info;
	uint32_t n_func_info;
	const struct bpf_line_info *line_info;
	uint32_t n_line_info;
};

/* Events: what user space does with a record. */
enum fsc_plan_action {
	FSC_ACT_PRINTF,	     /* args by format */
	FSC_ACT_ERRORF,	     /* the same to stderr, with "FILE:LINE:COLS: ERROR: " before it */
	FSC_ACT_WARNF,	     /* "WARNING: " */
	FSC_ACT_PRINT,	     /* args[0] and a newline; print((1, 2)) */
	FSC_ACT_PRINT_MAP,   /* map; top: args[0], div: args[1] where has_top, has_div (uint64_t) */
	FSC_ACT_PRINT_ENTRY, /* print(@x[k]): args[0] is the value, args[1] the key; map */
	FSC_ACT_CLEAR,	     /* map */
	FSC_ACT_ZERO,	     /* map */
	FSC_ACT_TIME,	     /* strftime() of now by format, as it is (no newline of its own) */
	FSC_ACT_JOIN,	 /* args[0]: uint32_t number of texts that follow; args[1]: them, one after
			    the other, each join_size bytes; text: between them */
	FSC_ACT_CAT,	 /* the file named by format and args */
	FSC_ACT_SYSTEM,	 /* the command by format and args */
	FSC_ACT_EXIT,	 /* args[0] int64_t: the exit code */
	FSC_ACT_UNWATCH, /* args[0] uint64_t: remove the watchpoint at that address */
	FSC_ACT_WATCH,	 /* args[0] uint64_t: set the watchpoint of points[0] there, for the
			    process args[1] (uint32_t); watchpoint: it is stopped, SIGCONT it */
	FSC_ACT_SKBOUTPUT, /* through FSC_PMAP_SKB; text: the file. See struct fsc_plan_skb. */
	FSC_ACT_HELPER,	   /* a helper failed (only compiled with opts.helper_errors): args[0]
			      int32_t its errno, text its name */
	FSC_ACT_RUNTIME,   /* a warning whose text is `text`: "a divisor was 0", ... */
	FSC_ACT_MAX,
};

struct fsc_plan_arg {
	const struct fsc_vtype *type;
	uint32_t offset; /* in the record */
};

struct fsc_plan_event {
	enum fsc_plan_action action;
	uint32_t size;	    /* of the record */
	const char *format; /* PRINTF and its like, TIME: as written, escapes already replaced */
	size_t format_size; /* bytes without the NUL: it may hold NULs */
	const struct fsc_plan_arg *args;
	size_t n_args;
	uint32_t map; /* PRINT_MAP, PRINT_ENTRY, CLEAR, ZERO */
	bool has_top, has_div;
	uint32_t join_size; /* JOIN */
	const char *text;
	uint32_t line, column, column_end; /* of the call, from 1 */
	uint32_t probe;			   /* number of the action block */
};

/* In the raw data of a perf sample of FSC_PMAP_SKB, before the packet. */
struct fsc_plan_skb {
	uint64_t event;
	uint64_t ns; /* boot clock */
	uint64_t length;
};

/* Config variables: bpftrace's names, in lower case and without the prefix. The compiler has
 * checked them; those of the environment (opts.config) win over the script's. */
struct fsc_plan_config {
	bool cpp_demangle, lazy_symbolication, show_debug_info, print_maps_on_exit;
	bool cache_user_symbols_set;
	const char *cache_user_symbols; /* "PER_PROGRAM", "PER_PID", "NONE" */
	const char *license;
	const char *str_trunc_trailer; /* what is written behind a string that was cut */
	uint64_t log_size, max_bpf_progs, max_cat_bytes, max_map_keys, max_probes, max_strlen;
	uint64_t on_stack_limit;
	uint64_t perf_rb_pages; /* 0: the runtime chooses */
	enum fsc_v_stack_mode stack_mode;
	enum { FSC_MISSING_ERROR, FSC_MISSING_WARN, FSC_MISSING_IGNORE } missing_probes;
};

/* A named parameter that the script reads with getopt(), for --help. */
struct fsc_plan_param {
	const char *name, *description; /* description may be NULL */
	const char *value;		/* default, as text */
};

struct fsc_plan {
	const struct fsc_plan_map *maps;
	size_t n_maps;
	const struct fsc_plan_prog *progs; /* in the script's order */
	size_t n_progs;
	const struct fsc_plan_event *events;
	size_t n_events;
	/* Texts by number: formats of strftime(), filters of cgroup_path(). */
	const char *const *texts;
	size_t n_texts;
	struct fsc_plan_config config;
	const struct fsc_plan_param *params;
	size_t n_params;
	uint32_t ring, globals, losses;	 /* numbers of these maps; they always exist */
	const char *source_name;	 /* "stdin" for -e, as bpftrace calls it; else the file */
	const char *const *source_lines; /* the text by lines, without newlines; [0] is line 1 */
	size_t n_source_lines;
	struct fsc_plan_arena *arena; /* owns all that is reached from here, but for the points */
};

/* What the command line adds to the text. */
struct fsc_lang_opts {
	const char *source_name;   /* NULL: "stdin" */
	const char *const *params; /* $1... */
	size_t n_params;
	const char *const *named; /* "name=value", or "name" */
	size_t n_named;
	const char *const *config; /* "max_strlen=200": from the environment */
	size_t n_config;
	bool unsafe;	     /* --unsafe */
	bool helper_errors;  /* -k */
	pid_t pid;	     /* -p: programs that the attaching cannot limit do nothing elsewhere */
	bool has_cpid;	     /* -c */
	bool tests, benches; /* --test, --bench: such probes are compiled */
	bool warnings;	     /* false: --no-warnings */
};

/* One error or warning, for people: "stdin:1:9-15: ERROR: ..." and the line with a caret. */
struct fsc_diag {
	bool warning;
	uint32_t line, column, column_end;
	char *text; /* one sentence */
	char *hint; /* NULL, or what to try */
};

struct fsc_diags {
	struct fsc_vec list; /* struct fsc_diag */
};

void fsc_diags_init(struct fsc_diags *d);
void fsc_diags_release(struct fsc_diags *d);
/* Appends all of them as they are printed, with the lines of the text and carets below. */
void fsc_diags_format(const struct fsc_diags *d, const char *source_name, const char *text,
		      size_t n, struct fsc_buf *b);

/* Compiles n bytes of text. 0: *ret is the plan, which the caller frees; diags may hold warnings.
 * -EINVAL: the text is wrong, diags say where (and err the first of them, as a usage error).
 * -ENOMEM and others: as err says. Opens nothing, loads nothing; never blocks but in the world's
 * functions. */
int fsc_lang_compile(const char *text, size_t n, const struct fsc_lang_opts *opts,
		     const struct fsc_world *world, struct fsc_plan **ret, struct fsc_diags *diags,
		     struct fsc_err *err);
void fsc_plan_free(struct fsc_plan *p);
void fsc_plan_freep(struct fsc_plan **p);

/* The script's tree, and a plan's maps, programs and events, for people (-d). */
int fsc_lang_dump_tree(const char *text, size_t n, struct fsc_buf *b, struct fsc_err *err);
void fsc_plan_dump(const struct fsc_plan *p, struct fsc_buf *b);

/* The verifier refused a program at this instruction: where in the text that is. False: nowhere. */
bool fsc_plan_line_of(const struct fsc_plan_prog *p, uint32_t insn, struct fsc_plan_line *ret);

#endif
