/* Points that need nothing but their text: the beginning and the end, signals, timers, counted
 * events of the kernel and the processor, watchpoints. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include "base/str.h"
#include "world/machine_priv.h"

#define NS_PER_S 1000000000ull

int fsc_match_special(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err)
{
	struct fsc_point p = {.kind = w->provider->kind, .name = w->provider->name, .btf_fd = -1};

	return fsc_matches_add(to, &p, err);
}

int fsc_match_named(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err)
{
	struct fsc_point p = {.kind = w->provider->kind, .btf_fd = -1};

	if (!w->parts[0][0])
		return fsc_err_usage(err, "%s probes must have a name", w->provider->name);
	p.name = fsc_machine_text(to->m, err, "%s:%s", w->provider->name, w->parts[0]);
	p.func = fsc_machine_text(to->m, err, "%s", w->parts[0]);
	return p.func ? fsc_matches_add(to, &p, err) : -ENOMEM;
}

static const struct {
	const char *name;
	int number;
} own_signals[] = {{"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2}};

int fsc_match_self(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err)
{
	struct fsc_point p = {.kind = FSC_POINT_SELF, .btf_fd = -1};

	if (strcmp(w->parts[0], "signal"))
		return fsc_err_usage(
		    err, "%s is not a supported trigger; write self:signal:SIGUSR1", w->parts[0]);
	for (size_t i = 0; i < sizeof(own_signals) / sizeof(own_signals[0]); i++) {
		if (strcmp(w->parts[1], own_signals[i].name))
			continue;
		p.signal = own_signals[i].number;
		p.func = own_signals[i].name;
		p.name = fsc_machine_text(to->m, err, "self:signal:%s", p.func);
		return fsc_matches_add(to, &p, err);
	}
	return fsc_err_usage(err, "%s is not a supported signal; write self:signal:SIGUSR1",
			     w->parts[1]);
}

/* ---- timers ---- */

static const struct {
	const char *name;
	uint64_t ns; /* 0: a frequency */
} timer_units[] = {{"s", NS_PER_S}, {"ms", 1000000}, {"us", 1000}, {"hz", 0}};

/* "i:1s": the number says its unit, or counts nanoseconds. */
static int timer_by_duration(const struct fsc_written *w, struct fsc_point *p,
			     struct fsc_matches *to, struct fsc_err *err)
{
	const char *kind = w->provider->name;
	uint64_t ns;

	if (!fsc_written_duration(w->parts[0], &ns)) {
		fsc_err_usage(err, "Invalid rate of %s probe: '%s' is not a duration", kind,
			      w->parts[0]);
		return fsc_err_hint(err, "it is written %s:1s, %s:ms:100 or %s:hz:99", kind, kind,
				    kind);
	}
	if (ns < 1000)
		return fsc_err_usage(
		    err,
		    "Invalid rate of %s probe. Minimum is 1000 or 1us. Found: %llu "
		    "nanoseconds",
		    kind, (unsigned long long)ns);
	p->period = ns / 1000 * 1000;
	p->name = fsc_machine_text(to->m, err, "%s:us:%llu", kind,
				   (unsigned long long)(p->period / 1000));
	return fsc_matches_add(to, p, err);
}

int fsc_match_timer(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err)
{
	const char *kind = w->provider->name;
	struct fsc_point p = {.kind = w->provider->kind, .btf_fd = -1};
	uint64_t n;

	if (w->n == 1)
		return timer_by_duration(w, &p, to, err);
	for (size_t i = 0; i < sizeof(timer_units) / sizeof(timer_units[0]); i++) {
		if (strcmp(w->parts[0], timer_units[i].name))
			continue;
		if (!fsc_written_number(w->parts[1], &n))
			return fsc_err_usage(err, "Invalid rate of %s probe: '%s' is not a number",
					     kind, w->parts[1]);
		if (!n)
			return fsc_err_usage(err, "%s frequency should be a positive integer",
					     kind);
		if (!timer_units[i].ns)
			p.frequency = n;
		else if (__builtin_mul_overflow(n, timer_units[i].ns, &p.period) ||
			 p.period > INT64_MAX)
			return fsc_err_usage(err, "%s: %s %s is too long", kind, w->parts[1],
					     w->parts[0]);
		p.name = fsc_machine_text(to->m, err, "%s:%s:%s", kind, w->parts[0], w->parts[1]);
		return fsc_matches_add(to, &p, err);
	}
	return fsc_err_usage(err, "%s is not an accepted unit of time; write us, ms, s or hz",
			     w->parts[0]);
}

/* ---- counted events ---- */

struct event_row {
	const char *name, *alias;
	uint64_t config, period;
};

static const struct event_row software[] = {
    {"alignment-faults", NULL, PERF_COUNT_SW_ALIGNMENT_FAULTS, 1},
    {"bpf-output", NULL, PERF_COUNT_SW_BPF_OUTPUT, 1},
    {"context-switches", "cs", PERF_COUNT_SW_CONTEXT_SWITCHES, 1000},
    {"cpu-clock", "cpu", PERF_COUNT_SW_CPU_CLOCK, 1000000},
    {"cpu-migrations", NULL, PERF_COUNT_SW_CPU_MIGRATIONS, 1},
    {"dummy", NULL, PERF_COUNT_SW_DUMMY, 1},
    {"emulation-faults", NULL, PERF_COUNT_SW_EMULATION_FAULTS, 1},
    {"major-faults", NULL, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1},
    {"minor-faults", NULL, PERF_COUNT_SW_PAGE_FAULTS_MIN, 100},
    {"page-faults", "faults", PERF_COUNT_SW_PAGE_FAULTS, 100},
    {"task-clock", NULL, PERF_COUNT_SW_TASK_CLOCK, 1000000},
    {0},
};

static const struct event_row hardware[] = {
    {"backend-stalls", NULL, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, 1000000},
    {"branch-instructions", "branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 100000},
    {"branch-misses", NULL, PERF_COUNT_HW_BRANCH_MISSES, 100000},
    {"bus-cycles", NULL, PERF_COUNT_HW_BUS_CYCLES, 100000},
    {"cache-misses", NULL, PERF_COUNT_HW_CACHE_MISSES, 1000000},
    {"cache-references", NULL, PERF_COUNT_HW_CACHE_REFERENCES, 1000000},
    {"cpu-cycles", "cycles", PERF_COUNT_HW_CPU_CYCLES, 1000000},
    {"frontend-stalls", NULL, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, 1000000},
    {"instructions", NULL, PERF_COUNT_HW_INSTRUCTIONS, 1000000},
    {"ref-cycles", NULL, PERF_COUNT_HW_REF_CPU_CYCLES, 1000000},
    {0},
};

static const struct event_row *event_find(const struct event_row *rows, const char *name,
					  struct fsc_nearest *near)
{
	for (; rows->name; rows++) {
		if (!strcmp(rows->name, name) || (rows->alias && !strcmp(rows->alias, name)))
			return rows;
		fsc_nearest_offer(near, rows->name);
	}
	return NULL;
}

static int no_such_event(const struct fsc_written *w, const struct fsc_nearest *near,
			 struct fsc_err *err)
{
	char names[540];

	if (fsc_written_is_pattern(w->parts[0]))
		return fsc_err_usage(err, "wildcards are not allowed for %s probe type",
				     w->provider->name);
	fsc_err_usage(err, "%s is not a %s probe", w->parts[0], w->provider->name);
	fsc_nearest_text(near, names, sizeof(names));
	if (names[0])
		return fsc_err_hint(err, "did you mean %s?", names);
	return fsc_err_hint(err, "list them with: funcscope run -l '%s:*'", w->provider->name);
}

int fsc_match_event(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err)
{
	bool soft = w->provider->kind == FSC_POINT_SOFTWARE;
	struct fsc_nearest near = {.wanted = w->parts[0]};
	const struct event_row *row = event_find(soft ? software : hardware, w->parts[0], &near);
	struct fsc_point p = {.kind = w->provider->kind, .btf_fd = -1};

	if (!row)
		return no_such_event(w, &near, err);
	p.perf_type = soft ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE;
	p.perf_config = row->config;
	p.period = row->period;
	p.func = row->name;
	if (w->n > 1 && strcmp(w->parts[1], "*") && !fsc_written_number(w->parts[1], &p.period))
		return fsc_err_usage(err, "Invalid count for %s probe: '%s' is not a number",
				     w->provider->name, w->parts[1]);
	if (!p.period)
		p.period = row->period;
	p.name = fsc_machine_text(to->m, err, "%s:%s%s%s", w->provider->name, w->parts[0],
				  w->n > 1 ? ":" : "", w->n > 1 ? w->parts[1] : "");
	return fsc_matches_add(to, &p, err);
}

void fsc_events_each(enum fsc_point_kind kind, void (*fn)(void *arg, const char *name), void *arg)
{
	for (const struct event_row *r = kind == FSC_POINT_SOFTWARE ? software : hardware; r->name;
	     r++) {
		fn(arg, r->name);
		if (r->alias)
			fn(arg, r->alias);
	}
}

/* ---- watchpoints ---- */

static const struct {
	char letter;
	uint8_t bit;
} accesses[] = {{'r', HW_BREAKPOINT_R}, {'w', HW_BREAKPOINT_W}, {'x', HW_BREAKPOINT_X}};

static int parse_access(const char *mode, uint8_t *ret, struct fsc_err *err)
{
	*ret = 0;
	for (const char *c = mode; *c; c++) {
		uint8_t bit = 0;

		for (size_t i = 0; i < sizeof(accesses) / sizeof(accesses[0]); i++)
			bit = accesses[i].letter == *c ? accesses[i].bit : bit;
		if (!bit)
			return fsc_err_usage(
			    err, "watchpoint mode must be combination of (r,w,x), not '%s'", mode);
		if (*ret & bit)
			return fsc_err_usage(err, "watchpoint modes may not be duplicated");
		*ret |= bit;
	}
	if (!*ret)
		return fsc_err_usage(err, "watchpoint mode must be combination of (r,w,x)");
#if defined(__x86_64__)
	/* The processor knows no other. */
	if (*ret == HW_BREAKPOINT_R || (*ret & HW_BREAKPOINT_X && *ret != HW_BREAKPOINT_X)) {
		fsc_err_usage(err, "invalid watchpoint mode: %s", mode);
		return fsc_err_hint(err, "supported modes: rw,w,x");
	}
#endif
	return 0;
}

/* "increment+arg1": the address that this argument has when the function is called. */
static int watch_argument(const struct fsc_written *w, struct fsc_matches *to, struct fsc_point *p,
			  struct fsc_err *err)
{
	const char *arg = w->plus[0];
	uint64_t n;

	if (!arg || strncmp(arg, "arg", 3) || !fsc_written_number(arg + 3, &n) || n > 5)
		return fsc_err_usage(err,
				     "Invalid function/address argument: '%s'; write an address or "
				     "FUNCTION+argN, N from 0 to 5",
				     w->parts[0]);
	if (!to->m->opts.n_pids && !to->m->opts.command)
		return fsc_err_usage(err, "-p PID or -c CMD required for watchpoint on a function");
	p->watch_arg = (int8_t)n;
	p->func = fsc_machine_text(to->m, err, "%s", w->parts[0]);
	return p->func ? 0 : -ENOMEM;
}

int fsc_match_watch(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err)
{
	const struct fsc_machine_opts *o = &to->m->opts;
	struct fsc_point p = {.kind = w->provider->kind, .btf_fd = -1, .watch_arg = -1};
	uint64_t length;
	int rc = 0;

	if (w->plus[0] || !fsc_written_number(w->parts[0], &p.address))
		rc = watch_argument(w, to, &p, err);
	else if (!p.address)
		rc = fsc_err_usage(err, "watchpoint must be attached to a non-zero address");
	if (rc)
		return rc;
	if (!fsc_written_number(w->parts[1], &length) || length > 8 || !length ||
	    length & (length - 1))
		return fsc_err_usage(err, "watchpoint length must be one of (1,2,4,8)");
	rc = parse_access(w->parts[2], &p.access, err);
	if (rc)
		return rc;
	p.length = (uint32_t)length;
	p.pid = o->n_pids ? o->pids[0] : 0;
	p.name = fsc_machine_text(to->m, err, "%s:%s%s%s:%s:%s", w->provider->name, w->parts[0],
				  w->plus[0] ? "+" : "", w->plus[0] ? w->plus[0] : "", w->parts[1],
				  w->parts[2]);
	return fsc_matches_add(to, &p, err);
}
