/* Types of the language's values, and how a value lies in memory: in the ring, in a map's key or
 * value, on the BPF stack. One layout everywhere, so that what a program stores is what user space
 * prints. Byte order is the machine's. All of it is constant data that lives as long as the plan
 * (lang/plan.h). */
#ifndef FSC_LANG_TYPE_H
#define FSC_LANG_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fsc_vkind {
	FSC_V_VOID,
	/* Numbers, memory, and what is made of them. */
	FSC_V_INT,     /* size 1, 2, 4, 8; an enum if n_enumerators; is_signed */
	FSC_V_BOOL,    /* 1 byte, 0 or 1 */
	FSC_V_STRING,  /* size bytes; the text ends at the first NUL. No NUL in it: it was cut */
	FSC_V_BUFFER,  /* struct fsc_v_buffer, then size - 4 bytes */
	FSC_V_POINTER, /* 8 bytes; to, space */
	FSC_V_ARRAY,   /* n elements of type to, one after the other */
	FSC_V_RECORD,  /* a struct or union as C lays it out; fields */
	FSC_V_TUPLE,   /* fields at their offsets, padded as a C struct; the padding is zero */
	/* What user space turns into text when it prints. */
	FSC_V_KSTACK,	   /* struct fsc_v_stack, pid 0; stack */
	FSC_V_USTACK,	   /* struct fsc_v_stack; stack */
	FSC_V_KSYM,	   /* uint64_t: an address in the kernel */
	FSC_V_USYM,	   /* struct fsc_v_usym */
	FSC_V_USERNAME,	   /* uint64_t: a uid */
	FSC_V_INET,	   /* struct fsc_v_inet */
	FSC_V_MAC,	   /* 6 bytes */
	FSC_V_TIMESTAMP,   /* struct fsc_v_timestamp */
	FSC_V_CGROUP_PATH, /* struct fsc_v_cgroup_path */
	FSC_V_STRERROR,	   /* int64_t: an errno, positive or negative */
	FSC_V_SYSCALL,	   /* int64_t: the number of a system call, shown by its name */
	/* Aggregations: values of maps only. In maps with a value per CPU (plan: per_cpu) each CPU
	 * has its own of these, and user space merges them. */
	FSC_V_COUNT,   /* uint64_t */
	FSC_V_SUM,     /* uint64_t; is_signed */
	FSC_V_AVG,     /* struct fsc_v_avg; is_signed */
	FSC_V_STATS,   /* struct fsc_v_avg; is_signed */
	FSC_V_MIN,     /* struct fsc_v_extreme; is_signed */
	FSC_V_MAX,     /* struct fsc_v_extreme; is_signed */
	FSC_V_HIST,    /* uint64_t[n] by fsc_v_hist_bucket(); hist_bits */
	FSC_V_LHIST,   /* uint64_t[n]: below min, the steps, from max on; lhist */
	FSC_V_TSERIES, /* struct fsc_v_tslot[n]; tseries */
	FSC_V_KINDS,
};

struct fsc_v_buffer {
	uint32_t length; /* bytes that follow and count */
};

/* id: a key of the plan's stack map stack.map, or a negative errno (-EFAULT: there is no stack). */
struct fsc_v_stack {
	int64_t id;
	uint32_t pid; /* the process's, as the initial namespace counts; 0: the kernel's stack */
	uint32_t zero;
};

struct fsc_v_usym {
	uint64_t address;
	uint32_t pid; /* as in fsc_v_stack */
	uint32_t zero;
};

struct fsc_v_inet {
	uint32_t family; /* AF_INET: 4 bytes count, AF_INET6: 16 */
	uint8_t address[16];
};

/* strftime(): a time and how to write it. */
struct fsc_v_timestamp {
	uint64_t ns;
	uint32_t clock;	 /* enum fsc_v_clock, whose time it is */
	uint32_t format; /* number in the plan's texts */
};

enum fsc_v_clock {
	FSC_CLOCK_BOOT,
	FSC_CLOCK_MONOTONIC,
	FSC_CLOCK_TAI,
	FSC_CLOCK_SW_TAI,
};

struct fsc_v_cgroup_path {
	uint64_t id;
	uint32_t filter; /* number in the plan's texts; FSC_NO_TEXT: any hierarchy */
	uint32_t zero;
};
#define FSC_NO_TEXT UINT32_MAX

struct fsc_v_avg {
	uint64_t total, count;
};

struct fsc_v_extreme {
	uint64_t value;
	uint64_t is_set; /* 0: this CPU has seen none */
};

/* A slot of a time series, at index epoch % n. It counts for the interval number epoch, that is
 * from epoch * interval_ns of the boot clock on; 0: never used. */
struct fsc_v_tslot {
	uint64_t epoch;
	uint64_t value; /* by agg; the sum for the average */
	uint64_t count; /* values that went into it */
	uint64_t when;	/* boot clock of the latest: with FSC_TS_LAST the later CPU's counts */
};

enum fsc_v_ts_agg { FSC_TS_LAST, FSC_TS_AVG, FSC_TS_MAX, FSC_TS_MIN, FSC_TS_SUM };

/* Where an address points. */
enum fsc_v_space { FSC_SPACE_NONE, FSC_SPACE_KERNEL, FSC_SPACE_USER };

enum fsc_v_stack_mode {
	FSC_STACK_BPFTRACE, /* "    f+12\n" */
	FSC_STACK_PERF,	    /* "\tffff f+12 (module)\n" */
	FSC_STACK_RAW,
	FSC_STACK_BUILD_ID,
};

struct fsc_vtype;

struct fsc_vfield {
	const char *name; /* NULL in tuples, and of anonymous members */
	const struct fsc_vtype *type;
	uint64_t offset;   /* bytes; of the storage unit for a bit field */
	uint8_t bit_shift; /* bit fields: how far the value of type is to be shifted right, */
	uint8_t bits;	   /* and how many bits it has; 0: no bit field */
};

struct fsc_venumerator {
	const char *name;
	int64_t value;
};

struct fsc_vtype {
	enum fsc_vkind kind;
	bool is_signed;
	bool is_union;		    /* RECORD */
	bool is_char;		    /* INT: an array of it is a text */
	bool is_complete;	    /* RECORD: size and fields are known */
	uint8_t space;		    /* POINTER: enum fsc_v_space */
	uint32_t align;		    /* bytes, a power of two */
	uint64_t size;		    /* bytes, as said at the kind */
	const char *name;	    /* RECORD: "struct x", "union y"; enum: "enum z"; or NULL */
	const struct fsc_vtype *to; /* POINTER, ARRAY */
	uint64_t n;		    /* ARRAY: elements; HIST, LHIST: buckets; TSERIES: slots */
	const struct fsc_vfield *fields; /* RECORD, TUPLE */
	size_t n_fields;
	const struct fsc_venumerator *enumerators;
	size_t n_enumerators;
	struct {
		enum fsc_v_stack_mode mode;
		uint32_t depth; /* frames at most */
		uint32_t map;	/* number in the plan's maps */
	} stack;
	uint8_t hist_bits; /* HIST: 2^hist_bits buckets for each power of two */
	struct {
		int64_t min, max, step;
	} lhist;
	struct {
		uint64_t interval_ns;
		enum fsc_v_ts_agg agg;
	} tseries;
};

static inline bool fsc_vtype_aggregates(const struct fsc_vtype *t)
{
	return t->kind >= FSC_V_COUNT;
}

/* Buckets of a histogram: 0 is for negative numbers; then the numbers below 2^bits one by one; then
 * 2^bits buckets for each power of two. */
static inline unsigned fsc_v_hist_buckets(unsigned bits)
{
	return 1 + ((64 - bits) << bits) + (1u << bits);
}

static inline unsigned fsc_v_hist_bucket(int64_t value, unsigned bits)
{
	uint64_t v = (uint64_t)value;
	unsigned log;

	if (value < 0)
		return 0;
	if (v < 1ull << bits)
		return 1 + (unsigned)v;
	log = 63 - (unsigned)__builtin_clzll(v);
	return 1 + ((log - bits + 1) << bits) +
	       (unsigned)((v >> (log - bits)) & ((1ull << bits) - 1));
}

/* The smallest number of a bucket (1 on); that of the bucket behind it is where it ends. */
static inline uint64_t fsc_v_hist_low(unsigned bucket, unsigned bits)
{
	unsigned i = bucket - 1, power = i >> bits;

	if (!power)
		return i;
	return ((1ull << bits) + (i & ((1u << bits) - 1))) << (power - 1);
}

#endif
