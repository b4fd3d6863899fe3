/* funcscope: how long did this piece of code really take.
 *
 * Two files to put into a project: this header and funcscope.c. They need libc and nothing else;
 * C11 or C++11, gcc or clang, Linux on x86_64 or ARMv8. Times are written into memory that
 * `funcscope attach PID` reads; on its way the program never waits, locks or calls the system.
 *
 *	funcscope_caller_initialize(64, FS_NORMAL);
 *
 *	FUNCSCOPE_ENTER(0);                     a checkpoint by number
 *	...
 *	FUNCSCOPE_EXIT(0);
 *
 *	{
 *		FUNCSCOPE_SCOPE("parse header"); a checkpoint by name, to the end of the block
 *		...
 *	}
 *
 *	FUNCSCOPE_LAPS(t);                      stages one after the other, one clock read each
 *	read_it();
 *	FUNCSCOPE_LAP(t, "read");
 *	send_it();
 *	FUNCSCOPE_LAP(t, "send");
 *
 * Names are constants. Any thread may use any checkpoint, and so may signal handlers and what runs
 * when a thread ends; only, a handler that uses the very checkpoint it interrupts may cost a call.
 *
 * Defines, before the header is included:
 *	FUNCSCOPE_DISABLE
 *		everything here compiles to nothing
 *	FUNCSCOPE_ORDERED
 *		clock reads wait for what stands before them and hold back what stands behind
 *		(LFENCE and RDTSCP, or ISB); otherwise they run freely
 *	FUNCSCOPE_NO_SAMPLES
 *		no ring of raw samples beside the histogram: one cache line less a call
 *	FUNCSCOPE_INSTRUMENT_FUNCTIONS
 *		(funcscope.c only) times every function that is compiled with
 *		-finstrument-functions; nothing else has to be called
 *	FUNCSCOPE_CLOCK
 *		(tests only, both files) the name of a function, uint64_t f(void), that is asked
 *		instead of the processor's clock
 */
#ifndef FUNCSCOPE_H
#define FUNCSCOPE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
extern "C" {
#endif

/* How many raw samples each checkpoint keeps in each thread: 256, 1024, 4096, 16384, 8 bytes each.
 * The totals and the histogram (8.6 kB) hold every call whatever the level. */
enum { FS_LITE, FS_NORMAL, FS_DEEP, FS_FULL };

enum {
	FUNCSCOPE_MOST_NUMBERS = 128, /* of funcscope_caller_initialize() */
	FUNCSCOPE_HUGEPAGES = 1,      /* options: 2 MB pages where there are any */
	FUNCSCOPE_RAW_OFF = 2,	      /* options: no raw samples */
};

struct funcscope_options {
	uint32_t numbers;      /* checkpoints 0 to numbers - 1, for FUNCSCOPE_ENTER and _EXIT */
	uint32_t names;	       /* as many named ones at most; 0: 512 */
	int32_t level;	       /* FS_LITE to FS_FULL */
	uint32_t flags;	       /* FUNCSCOPE_HUGEPAGES, FUNCSCOPE_RAW_OFF */
	const char *directory; /* files there instead of anonymous memory: they outlive a crash */
};

#ifndef FUNCSCOPE_DISABLE

#define FUNCSCOPE_QUIET_ __attribute__((no_instrument_function))

/* Takes memory for this process. 1: done; 0: not, errno says why, and nothing will be measured.
 * Once per process until the clean-up; a child made by fork() gets memory of its own by itself with
 * its first checkpoint, and may ask for it, too. */
int32_t funcscope_caller_initialize(uint8_t num_checkpoints, int32_t level) FUNCSCOPE_QUIET_;
int32_t funcscope_caller_initialize_with(const struct funcscope_options *options) FUNCSCOPE_QUIET_;
/* Gives the memory back and says so to whoever reads it. 1: done; 0: there was nothing. Other
 * threads may still be inside checkpoints: what they write then goes nowhere. */
int32_t funcscope_caller_cleanup(void) FUNCSCOPE_QUIET_;
/* Hands the memory's descriptors to a waiting `funcscope attach` of the same user or of root. Never
 * blocks. 1: sent; 0: nobody there; -1: error, or somebody else was refused. */
int funcscope_server_poll_and_send_fd(void) FUNCSCOPE_QUIET_;
/* The name that a numbered checkpoint is shown under; copied. */
void funcscope_name(uint32_t idx, const char *name) FUNCSCOPE_QUIET_;
/* After a fork that runs no handlers (_Fork(), clone()), in the child, before any checkpoint. */
void funcscope_after_fork(void) FUNCSCOPE_QUIET_;
/* Shared memory in a file below dir, which has no name any more: of hugetlbfs, size rounded up to
 * 2 MB, or of any file system, rounded up to 4 KB. Reserved: writing to it never fails later. NULL:
 * errno says why. The caller owns it, munmap() frees it. */
void *funcscope_hugepage_mmap(const char *dir, size_t size) FUNCSCOPE_QUIET_;
void *funcscope_file_mmap_4K(const char *dir, size_t size) FUNCSCOPE_QUIET_;

#endif /* FUNCSCOPE_DISABLE */

/* ---- what lies in the memory ----
 *
 * The memory is one range of offsets, made of chunks: one descriptor each, one behind the other. It
 * begins with struct funcscope_region, then come the names. A lane is a list member; its cells, one
 * a checkpoint, are written by one thread only. All offsets count units of 64 bytes. Readers
 * compile this part, too; whoever changes it counts FUNCSCOPE_LAYOUT up. */

#define FUNCSCOPE_MAGIC	 0x31504353434e5546ull /* "FUNCSCP1" */
#define FUNCSCOPE_LAYOUT 1u

enum {
	FUNCSCOPE_CHUNKS = 32,
	FUNCSCOPE_HIST_TOP = 38, /* ticks from 2^38 on share the last bucket */
	FUNCSCOPE_HIST_BUCKETS = (FUNCSCOPE_HIST_TOP - 4) * 32 + 1,
	FUNCSCOPE_HIST_LEAST = FUNCSCOPE_HIST_BUCKETS, /* where the last bucket's are */
	FUNCSCOPE_HIST_MOST,
	FUNCSCOPE_HIST_SIZE = (FUNCSCOPE_HIST_BUCKETS * 8 + 16 + 63) / 64 * 64,
	FUNCSCOPE_SAMPLE_BITS = 48, /* of a raw sample; above them the low bits of its number */
	FUNCSCOPE_NAME_LEN = 128,
	FUNCSCOPE_FILE_LEN = 96,
};

/* What a cell's state says; more than FUNCSCOPE_OPEN: recursion, so much deeper. */
enum { FUNCSCOPE_UNUSED, FUNCSCOPE_CLOSED, FUNCSCOPE_OPEN };

enum { FUNCSCOPE_CLOCK_TSC = 1, FUNCSCOPE_CLOCK_CNTVCT };
enum {
	FUNCSCOPE_KIND_NUMBER = 1,
	FUNCSCOPE_KIND_SCOPE,
	FUNCSCOPE_KIND_LAP,
	FUNCSCOPE_KIND_FUNCTION
};
enum { FUNCSCOPE_CELL_ORDERED = 1 };

/* One checkpoint in one thread: its own cache line. The latest duration is not in the histogram
 * yet: it goes there with the next one, so that no address has to wait for the clock. In the
 * beginning `last` is 0 and bucket 0 is -1, which makes the sum right without a question asked.
 * Durations for the last bucket are not in `min` and `span`: their least and greatest stand behind
 * the buckets. */
struct funcscope_cell {
	uint64_t start; /* of the open FUNCSCOPE_ENTER */
	uint64_t span;	/* greatest - least + 1, below the last bucket; 0: none, or just changing */
	uint64_t total; /* ticks, of all calls */
	uint64_t min;	/* ticks */
	uint64_t samples; /* written to the ring so far */
	uint32_t last;	  /* the bucket of the latest duration */
	uint32_t pad;
	uint32_t hist;	    /* its offset from this cell, units of 64 bytes */
	uint32_t ring;	    /* likewise; 0: none */
	uint32_t state;	    /* FUNCSCOPE_UNUSED... */
	uint16_t ring_mask; /* entries - 1 */
	uint16_t flags;	    /* FUNCSCOPE_CELL_... */
};

struct funcscope_lane {
	uint32_t next;	 /* offset of the next lane; 0: the last */
	uint32_t tid;	 /* of the thread that has it, or had it last */
	uint32_t busy;	 /* a thread has it now */
	uint32_t owners; /* threads that have had it so far */
	uint8_t pad[48];
};

struct funcscope_site_record {
	char name[FUNCSCOPE_NAME_LEN]; /* ended by a zero byte */
	char file[FUNCSCOPE_FILE_LEN]; /* source file, or of a function the file it was loaded from
					*/
	uint64_t address;	       /* of a function: where it runs */
	uint64_t offset;	       /* and where it is in the file's own addresses */
	uint32_t line;
	uint32_t kind; /* FUNCSCOPE_KIND_...; 0: not in use yet */
	uint64_t pad;
};

struct funcscope_region {
	uint64_t magic;
	uint32_t layout;
	uint32_t pid;
	uint64_t start_ticks, start_ns; /* read together; ns of CLOCK_MONOTONIC_RAW */
	uint64_t tick_hz;		/* where the processor says it, otherwise 0 */
	uint32_t clock;			/* FUNCSCOPE_CLOCK_... */
	uint32_t level;
	uint32_t cells;	       /* of each lane, and records: numbers, then names */
	uint32_t numbers;      /* the first of them go by number */
	uint32_t names;	       /* as many go by name so far */
	uint32_t sites;	       /* offset of struct funcscope_site_record[cells] */
	uint32_t first_lane;   /* offset; 0: none yet */
	uint32_t lanes;	       /* in the list */
	uint32_t chunks;       /* in use */
	uint32_t exited;       /* cleaned up in order */
	uint64_t used;	       /* bytes of all chunks that are given out */
	uint64_t lost_calls;   /* there was no memory for them */
	uint64_t lost_threads; /* likewise */
	uint64_t lost_names;   /* checkpoints beyond `cells` */
	uint64_t unmatched;    /* exits without an entry, or of a checkpoint that is none */
	uint64_t too_deep;     /* entries nested beyond what can be remembered */
	uint64_t backwards;    /* durations below zero, counted as 0: clocks that disagree */
	uint64_t chunk_size[FUNCSCOPE_CHUNKS]; /* bytes */
	char program[120];		       /* the end of the executable's path */
};

/* What a socket sends along with the descriptors. */
struct funcscope_hello {
	uint64_t magic;
	uint32_t layout;
	uint32_t pid;
	uint32_t chunks;
	uint32_t pad;
};

#ifdef __cplusplus
#define FUNCSCOPE_ASSERT_(what) static_assert(what, #what)
#else
#define FUNCSCOPE_ASSERT_(what) _Static_assert(what, #what)
#endif
FUNCSCOPE_ASSERT_(sizeof(struct funcscope_cell) == 64);
FUNCSCOPE_ASSERT_(sizeof(struct funcscope_lane) == 64);
FUNCSCOPE_ASSERT_(sizeof(struct funcscope_site_record) == 256);
FUNCSCOPE_ASSERT_(sizeof(struct funcscope_region) == 512);
FUNCSCOPE_ASSERT_(sizeof(struct funcscope_hello) == 24);

/* ---- the way in and out ---- */

#define FUNCSCOPE_INLINE_                                                                          \
	static inline __attribute__((always_inline, unused, no_instrument_function))
#define FUNCSCOPE_RARE_(x)	 __builtin_expect(!!(x), 0)
#define FUNCSCOPE_GET_(field)	 __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define FUNCSCOPE_SET_(field, v) __atomic_store_n(&(field), (v), __ATOMIC_RELAXED)

#if defined(__x86_64__) && defined(__LP64__)
FUNCSCOPE_INLINE_ uint64_t funcscope_rdtsc(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high)::"memory");
	return (uint64_t)high << 32 | low;
}
FUNCSCOPE_INLINE_ uint64_t funcscope_begin_ordered_(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high)::"memory");
	return (uint64_t)high << 32 | low;
}
FUNCSCOPE_INLINE_ uint64_t funcscope_end_ordered_(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtscp\n\tlfence" : "=a"(low), "=d"(high)::"ecx", "memory");
	return (uint64_t)high << 32 | low;
}
#elif defined(__aarch64__) && defined(__LP64__)
FUNCSCOPE_INLINE_ uint64_t funcscope_rdtsc(void)
{
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks)::"memory");
	return ticks;
}
FUNCSCOPE_INLINE_ uint64_t funcscope_begin_ordered_(void)
{
	uint64_t ticks;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks)::"memory");
	return ticks;
}
FUNCSCOPE_INLINE_ uint64_t funcscope_end_ordered_(void)
{
	return funcscope_begin_ordered_();
}
#elif defined(FUNCSCOPE_DISABLE)
FUNCSCOPE_INLINE_ uint64_t funcscope_rdtsc(void)
{
	return 0;
}
#else
#error "funcscope knows the clocks of x86_64 and ARMv8 (aarch64) only; define FUNCSCOPE_DISABLE"
#endif

/* Durations to buckets: exact below 64 ticks, then 32 buckets to each power of two. */
FUNCSCOPE_INLINE_ uint32_t funcscope_bucket_(uint64_t ticks)
{
	uint32_t shift = 58u - (uint32_t)__builtin_clzll(ticks | 32);

	return (shift << 5) + (uint32_t)(ticks >> shift);
}

#ifdef FUNCSCOPE_DISABLE

FUNCSCOPE_INLINE_ int32_t funcscope_caller_initialize(uint8_t num_checkpoints, int32_t level)
{
	(void)num_checkpoints;
	(void)level;
	return 1;
}
FUNCSCOPE_INLINE_ int32_t funcscope_caller_initialize_with(const struct funcscope_options *options)
{
	(void)options;
	return 1;
}
FUNCSCOPE_INLINE_ int32_t funcscope_caller_cleanup(void)
{
	return 1;
}
FUNCSCOPE_INLINE_ int funcscope_server_poll_and_send_fd(void)
{
	return 0;
}
FUNCSCOPE_INLINE_ void funcscope_name(uint32_t idx, const char *name)
{
	(void)idx;
	(void)name;
}
FUNCSCOPE_INLINE_ void funcscope_after_fork(void)
{
}
FUNCSCOPE_INLINE_ void *funcscope_hugepage_mmap(const char *dir, size_t size)
{
	(void)dir;
	(void)size;
	return NULL;
}
FUNCSCOPE_INLINE_ void *funcscope_file_mmap_4K(const char *dir, size_t size)
{
	(void)dir;
	(void)size;
	return NULL;
}

#define FUNCSCOPE_ENTER(idx)	  ((void)sizeof(idx))
#define FUNCSCOPE_EXIT(idx)	  ((void)sizeof(idx))
#define FUNCSCOPE_SCOPE(name)	  ((void)sizeof(name))
#define FUNCSCOPE_LAPS(laps)	  uint64_t laps __attribute__((unused))
#define FUNCSCOPE_LAP(laps, name) ((void)sizeof(laps), (void)sizeof(name))
#define FUNCSCOPE_RESTART(laps)	  ((void)sizeof(laps))

#else

#ifdef FUNCSCOPE_ORDERED
#define FUNCSCOPE_CELL_FLAGS_ FUNCSCOPE_CELL_ORDERED
#else
#define FUNCSCOPE_CELL_FLAGS_ 0
#endif

#ifdef FUNCSCOPE_CLOCK
uint64_t FUNCSCOPE_CLOCK(void);
#define FUNCSCOPE_BEGIN_() FUNCSCOPE_CLOCK()
#define FUNCSCOPE_END_()   FUNCSCOPE_CLOCK()
#elif defined(FUNCSCOPE_ORDERED)
#define FUNCSCOPE_BEGIN_() funcscope_begin_ordered_()
#define FUNCSCOPE_END_()   funcscope_end_ordered_()
#else
#define FUNCSCOPE_BEGIN_() funcscope_rdtsc()
#define FUNCSCOPE_END_()   funcscope_rdtsc()
#endif

/* The lane of the thread that asks. None yet, or none to be had: no numbers and names. They are all
 * that another thread ever changes, when it takes the memory away. */
struct funcscope_self_ {
	struct funcscope_cell *cells; /* those that go by number, from 0 */
	struct funcscope_cell *named; /* those that go by name, from 1 */
	uint32_t n, n_named;	      /* the first number and name that are none */
};
extern __thread struct funcscope_self_ funcscope_self_ __attribute__((tls_model("initial-exec")));

/* A place in the source with a name. */
struct funcscope_site_ {
	const char *name, *file;
	uint32_t line, kind;
	uint32_t id; /* 0: not known yet */
};

/* The ways that are rarely taken. */
struct funcscope_cell *funcscope_named_(uint32_t id, uint32_t flags)
    __attribute__((cold, noinline, no_instrument_function));
void funcscope_enter_rare_(uint32_t idx, uint32_t flags)
    __attribute__((cold, noinline, no_instrument_function));
void funcscope_exit_rare_(uint32_t idx, uint64_t now)
    __attribute__((cold, noinline, no_instrument_function));
void funcscope_record_rare_(struct funcscope_cell *c, uint64_t ticks)
    __attribute__((cold, noinline, no_instrument_function));
uint32_t funcscope_register_(struct funcscope_site_ *site)
    __attribute__((cold, noinline, no_instrument_function));

/* Puts a duration into the sums; the histogram gets the one before. What is shorter or longer than
 * all before takes the rare way first. */
FUNCSCOPE_INLINE_ void funcscope_record_(struct funcscope_cell *c, uint64_t ticks)
{
	uint64_t *bucket = (uint64_t *)(void *)((char *)c + (uint64_t)c->hist * 64) + c->last;

	if (FUNCSCOPE_RARE_(ticks - c->min >= c->span)) {
		funcscope_record_rare_(c, ticks);
		return;
	}
	FUNCSCOPE_SET_(*bucket, *bucket + 1);
	FUNCSCOPE_SET_(c->total, c->total + ticks);
	__atomic_store_n(&c->last, funcscope_bucket_(ticks), __ATOMIC_RELEASE);
#ifndef FUNCSCOPE_NO_SAMPLES
	if (c->ring) {
		uint64_t *ring = (uint64_t *)(void *)((char *)c + (uint64_t)c->ring * 64);
		uint64_t number = c->samples;

		FUNCSCOPE_SET_(ring[number & c->ring_mask],
			       ticks | number << FUNCSCOPE_SAMPLE_BITS);
		__atomic_store_n(&c->samples, number + 1, __ATOMIC_RELEASE);
	}
#endif
}

FUNCSCOPE_INLINE_ void funcscope_enter_(uint32_t idx)
{
	struct funcscope_cell *c;

	if (FUNCSCOPE_RARE_(idx >= FUNCSCOPE_GET_(funcscope_self_.n) ||
			    (c = funcscope_self_.cells + idx)->state != FUNCSCOPE_CLOSED)) {
		funcscope_enter_rare_(idx, FUNCSCOPE_CELL_FLAGS_);
		return;
	}
	FUNCSCOPE_SET_(c->state, FUNCSCOPE_OPEN);
	FUNCSCOPE_SET_(c->start, FUNCSCOPE_BEGIN_());
}

FUNCSCOPE_INLINE_ void funcscope_exit_(uint32_t idx)
{
	uint64_t now = FUNCSCOPE_END_();
	struct funcscope_cell *c;

	if (FUNCSCOPE_RARE_(idx >= FUNCSCOPE_GET_(funcscope_self_.n) ||
			    (c = funcscope_self_.cells + idx)->state != FUNCSCOPE_OPEN)) {
		funcscope_exit_rare_(idx, now);
		return;
	}
	FUNCSCOPE_SET_(c->state, FUNCSCOPE_CLOSED);
	funcscope_record_(c, now - c->start);
}

/* The end of a named stretch. Its cell is looked up here: the thread may have become a child. Says
 * whether it was the first time, which takes long. */
FUNCSCOPE_INLINE_ int funcscope_ended_(uint32_t id, uint64_t ticks)
{
	struct funcscope_cell *c;

	if (FUNCSCOPE_RARE_(id >= FUNCSCOPE_GET_(funcscope_self_.n_named) ||
			    !(c = funcscope_self_.named + id)->state)) {
		c = funcscope_named_(id, FUNCSCOPE_CELL_FLAGS_);
		if (c)
			funcscope_record_(c, ticks);
		return 1;
	}
	funcscope_record_(c, ticks);
	return 0;
}

FUNCSCOPE_INLINE_ uint32_t funcscope_site_id_(struct funcscope_site_ *site)
{
	uint32_t id = FUNCSCOPE_GET_(site->id);

	return FUNCSCOPE_RARE_(!id) ? funcscope_register_(site) : id;
}

FUNCSCOPE_INLINE_ uint64_t funcscope_begin_(void)
{
	return FUNCSCOPE_BEGIN_();
}

struct funcscope_open_ {
	uint64_t start;
	uint32_t id;
};

FUNCSCOPE_INLINE_ void funcscope_scope_begin_(struct funcscope_open_ *open,
					      struct funcscope_site_ *site)
{
	open->id = funcscope_site_id_(site);
	open->start = FUNCSCOPE_BEGIN_();
}

FUNCSCOPE_INLINE_ void funcscope_scope_end_(const struct funcscope_open_ *open)
{
	funcscope_ended_(open->id, FUNCSCOPE_END_() - open->start);
}

FUNCSCOPE_INLINE_ void funcscope_lap_(struct funcscope_site_ *site, uint64_t *since)
{
	uint64_t now = FUNCSCOPE_END_(), ticks = now - *since;

	*since = now;
	if (FUNCSCOPE_RARE_(funcscope_ended_(funcscope_site_id_(site), ticks)))
		*since = FUNCSCOPE_BEGIN_(); /* not at the expense of the next */
}

#ifdef __cplusplus
#define FUNCSCOPE_INDEX_(idx) static_cast<uint32_t>(idx)
#else
#define FUNCSCOPE_INDEX_(idx) (uint32_t)(idx)
#endif
#define FUNCSCOPE_ENTER(idx) funcscope_enter_(FUNCSCOPE_INDEX_(idx))
#define FUNCSCOPE_EXIT(idx)  funcscope_exit_(FUNCSCOPE_INDEX_(idx))

#define FUNCSCOPE_PASTE2_(a, b) a##b
#define FUNCSCOPE_PASTE_(a, b)	FUNCSCOPE_PASTE2_(a, b)
#define FUNCSCOPE_SITE_(var, name, kind)                                                           \
	static struct funcscope_site_ var = {name, __FILE__, __LINE__, kind, 0}

/* Laps begin: declares the variable that remembers the last clock read. */
#define FUNCSCOPE_LAPS(laps) uint64_t laps = funcscope_begin_()
/* What came since the last lap (or since the beginning) was this stage; the next begins. */
#define FUNCSCOPE_LAP(laps, name)                                                                  \
	do {                                                                                       \
		FUNCSCOPE_SITE_(funcscope_site_here_, name, FUNCSCOPE_KIND_LAP);                   \
		funcscope_lap_(&funcscope_site_here_, &(laps));                                    \
	} while (0)
/* Laps begin anew, whatever came before. */
#define FUNCSCOPE_RESTART(laps) ((void)((laps) = funcscope_begin_()))

#ifndef __cplusplus
#define FUNCSCOPE_SCOPE_(name, n)                                                                  \
	FUNCSCOPE_SITE_(FUNCSCOPE_PASTE_(funcscope_site_, n), name, FUNCSCOPE_KIND_SCOPE);         \
	struct funcscope_open_ FUNCSCOPE_PASTE_(funcscope_open_, n)                                \
	    __attribute__((cleanup(funcscope_scope_end_)));                                        \
	funcscope_scope_begin_(&FUNCSCOPE_PASTE_(funcscope_open_, n),                              \
			       &FUNCSCOPE_PASTE_(funcscope_site_, n))
#define FUNCSCOPE_SCOPE(name) FUNCSCOPE_SCOPE_(name, __COUNTER__)
#endif

#endif /* FUNCSCOPE_DISABLE */

#ifdef __cplusplus
}
#pragma GCC diagnostic pop

#ifndef FUNCSCOPE_DISABLE
namespace funcscope
{
/* Times from its construction to its destruction, exceptions included. */
class scope
{
      public:
	__attribute__((always_inline, no_instrument_function)) explicit scope(funcscope_site_ &site)
	{
		funcscope_scope_begin_(&open_, &site);
	}
	__attribute__((always_inline, no_instrument_function)) ~scope()
	{
		funcscope_scope_end_(&open_);
	}
	scope(const scope &) = delete;
	scope &operator=(const scope &) = delete;

      private:
	struct funcscope_open_ open_;
};
} // namespace funcscope

/* By line: the copies of an inline function in several translation units share its variables by
 * name, and have to agree on which is which. */
#define FUNCSCOPE_SCOPE_(name, n)                                                                  \
	FUNCSCOPE_SITE_(FUNCSCOPE_PASTE_(funcscope_site_, n), name, FUNCSCOPE_KIND_SCOPE);         \
	funcscope::scope FUNCSCOPE_PASTE_(funcscope_scope_, n)                                     \
	{                                                                                          \
		FUNCSCOPE_PASTE_(funcscope_site_, n)                                               \
	}
#define FUNCSCOPE_SCOPE(name) FUNCSCOPE_SCOPE_(name, __LINE__)
#endif
#endif

#endif /* FUNCSCOPE_H */
