/* The lifecycle of a script in the kernel: maps, programs, those that we run ourselves, the ring.
 */
#include "engine/script_priv.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "engine/descriptors.h"
#include "engine/privilege.h"
#include "engine/session_priv.h"

/* ---- maps ---- */

/* Names for the kernel have letters, digits and '_': "@x" becomes "at_x". */
static void kernel_name(const char *name, char ret[BPF_OBJ_NAME_LEN])
{
	size_t n = 0;

	if (*name == '@') {
		n = (size_t)snprintf(ret, BPF_OBJ_NAME_LEN, "at_");
		name++;
	}
	for (; *name && n + 1 < BPF_OBJ_NAME_LEN; name++)
		ret[n++] = isalnum((unsigned char)*name) ? *name : '_';
	ret[n] = '\0';
}

/* A power of two of whole pages. */
static uint32_t ring_bytes(const struct fsc_plan *plan, const struct fsc_plan_map *m)
{
	enum { USUAL = 4 << 20 };
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t wanted = m->max_entries	       ? m->max_entries
			  : plan->config.perf_rb_pages ? plan->config.perf_rb_pages * page
						       : USUAL;
	uint64_t bytes = page;

	while (bytes < wanted && bytes < 1ull << 30)
		bytes *= 2;
	return (uint32_t)bytes;
}

/* What programs only read is frozen, so that the verifier may look at it; it can only in maps of
 * one value, and refuses programs that read others (Linux 6.18: -524, without a word in its log).
 */
static int fill_content(int fd, const struct fsc_plan_map *m, struct fsc_err *err)
{
	for (uint32_t i = 0; m->content && i < m->max_entries; i++)
		if (bpf_map_update_elem(
			fd, &i, (const char *)m->content + (size_t)i * m->value_size, BPF_ANY))
			return fsc_err_sys(err, errno, "cannot fill the map %s", m->name);
	if (m->frozen && m->max_entries == 1 && bpf_map_freeze(fd))
		return fsc_err_sys(err, errno, "cannot freeze the map %s", m->name);
	return 0;
}

static int create_map(struct fsc_script *s, uint32_t i, struct fsc_err *err)
{
	const struct fsc_plan_map *m = &s->plan->maps[i];
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = m->flags);
	uint32_t entries = m->role == FSC_PMAP_RING ? ring_bytes(s->plan, m) : m->max_entries;
	char name[BPF_OBJ_NAME_LEN];
	int fd;

	kernel_name(m->name, name);
	fd = bpf_map_create((enum bpf_map_type)m->type, name, m->key_size, m->value_size, entries,
			    &opts);
	if (fd >= 0) {
		s->map_fds[i] = fd;
		return fill_content(fd, m, err);
	}
	if (errno == EPERM)
		return fsc_privilege_err(err, EPERM, "make the map %s", m->name);
	if (errno == EMFILE)
		return fsc_descriptors_err(err, "the script's maps");
	return fsc_err_sys(err, errno, "cannot make the map %s (%u keys of %u bytes, values of %u)",
			   m->name, entries, m->key_size, m->value_size);
}

/* What the programs read: set when all that takes time is done. */
static int fill_globals(struct fsc_script *s, struct fsc_err *err)
{
	const struct fsc_plan_globals g = {
	    .start_ns = fsc_clock_ns(CLOCK_BOOTTIME),
	    .cpid = (uint64_t)s->opts.cpid,
	    .sw_tai_offset = fsc_clock_ns(CLOCK_TAI) - fsc_clock_mono(),
	};
	uint32_t zero = 0;

	if (bpf_map_update_elem(s->map_fds[s->plan->globals], &zero, &g, BPF_ANY))
		return fsc_err_sys(err, errno, "cannot fill the script's globals");
	return 0;
}

/* ---- programs ---- */

uint32_t fsc_script_number(const struct fsc_script *s, const struct fsc_plan_prog *p)
{
	return (uint32_t)(p - s->plan->progs);
}

static int load_progs(struct fsc_script *s, struct fsc_err *err)
{
	for (size_t i = 0; i < s->plan->n_progs; i++) {
		const struct fsc_plan_prog *p = &s->plan->progs[i];
		struct fsc_script_variant v;

		if (!fsc_script_variant_of(s, p, &v))
			continue; /* with its points */
		s->many[i] = v.attach_type == FSC_ATTACH_UPROBE_MULTI ||
			     v.attach_type == FSC_ATTACH_KPROBE_MULTI;
		s->fds[i] = fsc_script_load_prog(s, p, &v, err);
		if (s->fds[i] < 0)
			return s->fds[i];
	}
	return 0;
}

static int on_record(void *arg, void *record, size_t size)
{
	struct fsc_script *s = arg;

	s->records++;
	return s->record_fn(record, size, s->record_arg);
}

static int open_ring(struct fsc_script *s, struct fsc_err *err)
{
	s->ring = ring_buffer__new(s->map_fds[s->plan->ring], on_record, s, NULL);
	return s->ring ? 0 : fsc_err_sys(err, errno, "cannot read the ring of events");
}

static int open_script(struct fsc_script *s, struct fsc_err *err)
{
	enum { OTHERS = 256 };
	size_t wanted = s->plan->n_maps + s->plan->n_progs + OTHERS;
	int rc = fsc_session_possible(err);

	if (rc)
		return rc;
	for (size_t i = 0; i < s->plan->n_progs; i++)
		wanted += 2 * s->plan->progs[i].n_points;
	fsc_descriptors_raise(wanted);
	fsc_session_log_libbpf();
	for (uint32_t i = 0; !rc && i < s->plan->n_maps; i++)
		rc = create_map(s, i, err);
	if (!rc)
		rc = load_progs(s, err);
	if (!rc)
		rc = open_ring(s, err);
	return rc ? rc : fsc_script_open_packets(s, err);
}

static int *new_fds(size_t n)
{
	int *fds = calloc(n + 1, sizeof(*fds));

	for (size_t i = 0; fds && i < n; i++)
		fds[i] = -1;
	return fds;
}

int fsc_script_load(const struct fsc_plan *plan, const struct fsc_script_opts *opts,
		    struct fsc_script **ret, struct fsc_err *err)
{
	struct fsc_script *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return fsc_err_nomem(err);
	s->plan = plan;
	s->opts = *opts;
	s->own = FSC_VEC_INIT(int);
	s->iters = FSC_VEC_INIT(int);
	s->refused = FSC_VEC_INIT(struct fsc_script_refused);
	s->watches = FSC_VEC_INIT(struct fsc_script_watch);
	s->next_tag = (uint32_t)plan->n_progs;
	fsc_attacher_init(&s->attacher);
	s->map_fds = new_fds(plan->n_maps);
	s->fds = new_fds(plan->n_progs);
	s->many = calloc(plan->n_progs + 1, sizeof(*s->many));
	rc = s->map_fds && s->fds && s->many ? open_script(s, err) : fsc_err_nomem(err);
	if (rc) {
		fsc_script_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

static void close_all(int *fds, size_t n)
{
	for (size_t i = 0; fds && i < n; i++)
		fsc_closep(&fds[i]);
	free(fds);
}

static void close_vec(struct fsc_vec *fds)
{
	for (size_t i = 0; i < fds->n; i++)
		close(*FSC_AT(int, fds, i));
	fsc_vec_release(fds);
}

void fsc_script_free(struct fsc_script *s)
{
	if (!s)
		return;
	fsc_attacher_release(&s->attacher);
	ring_buffer__free(s->ring);
	fsc_script_close_packets(s);
	close_vec(&s->iters);
	close_vec(&s->own);
	fsc_vec_release(&s->refused);
	fsc_vec_release(&s->watches);
	close_all(s->fds, s->plan->n_progs);
	close_all(s->map_fds, s->plan->n_maps);
	free(s->many);
	free(s);
}

const struct fsc_plan *fsc_script_plan(const struct fsc_script *s)
{
	return s->plan;
}

/* ---- programs that we run ourselves ---- */

static bool is_of(const struct fsc_plan_prog *p, enum fsc_point_kind kind, int signal)
{
	return p->kind == kind && p->n_points &&
	       (kind != FSC_POINT_SELF || p->points[0]->signal == signal);
}

bool fsc_script_has(const struct fsc_script *s, enum fsc_point_kind kind, int signal)
{
	for (size_t i = 0; i < s->plan->n_progs; i++)
		if (is_of(&s->plan->progs[i], kind, signal))
			return true;
	return false;
}

int fsc_script_run(struct fsc_script *s, enum fsc_point_kind kind, int signal, struct fsc_err *err)
{
	if (kind == FSC_POINT_BEGIN) {
		int rc = fill_globals(s, err);

		if (rc)
			return rc;
	}
	for (size_t i = 0; i < s->plan->n_progs; i++) {
		int rc = is_of(&s->plan->progs[i], kind, signal)
			     ? fsc_script_run_one(s, i, NULL, err)
			     : 0;

		if (rc)
			return rc;
	}
	return 0;
}

int fsc_script_run_one(struct fsc_script *s, size_t prog, uint32_t *ret, struct fsc_err *err)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);

	if (bpf_prog_test_run_opts(s->fds[prog], &run))
		return fsc_err_sys(err, errno, "the kernel does not run %s",
				   s->plan->progs[prog].title);
	if (ret)
		*ret = run.retval;
	return 0;
}

/* The kernel measures each run itself while somebody holds a descriptor for that. */
int fsc_script_bench(struct fsc_script *s, size_t prog, uint64_t *ret_runs, uint64_t *ret_ns,
		     struct fsc_err *err)
{
	enum { BENCH_NS = 100000000, STEP = 500 };
	FSC_AUTO(fsc_closep) int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	uint64_t until = fsc_clock_mono() + BENCH_NS;
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	if (stats < 0)
		return fsc_err_sys(err, errno, "the kernel does not measure programs");
	do {
		for (int i = 0; i < STEP; i++) {
			int rc = fsc_script_run_one(s, prog, NULL, err);

			if (rc)
				return rc;
		}
	} while (fsc_clock_mono() < until);
	if (bpf_obj_get_info_by_fd(s->fds[prog], &info, &size))
		return fsc_err_sys(err, errno, "cannot read how long %s took",
				   s->plan->progs[prog].title);
	*ret_runs = info.run_cnt;
	*ret_ns = info.run_cnt ? info.run_time_ns / info.run_cnt : 0;
	return 0;
}

/* ---- events ---- */

int fsc_script_events_fd(const struct fsc_script *s)
{
	return ring_buffer__epoll_fd(s->ring);
}

int fsc_script_drain(struct fsc_script *s, int (*fn)(const void *record, size_t size, void *arg),
		     void *arg, struct fsc_err *err)
{
	int n;

	s->record_fn = fn;
	s->record_arg = arg;
	n = ring_buffer__consume(s->ring);
	if (n >= 0 || n == -EINTR)
		return 0;
	if (err && err->code)
		return n;
	return fsc_err_sys(err, -n, "cannot read the events of the script");
}

uint64_t fsc_script_records(const struct fsc_script *s)
{
	return s->records;
}

/* ---- books ---- */

/* One value that has all of them. */
uint64_t fsc_script_loss(const struct fsc_script *s, enum fsc_plan_loss which)
{
	uint64_t *values = calloc(1, fsc_script_value_size(s, s->plan->losses) + sizeof(*values));
	uint64_t n = which == FSC_PLOSS_RING ? s->packets_lost : 0;
	uint32_t key = 0;

	if (values && (which + 1) * sizeof(*values) <= s->plan->maps[s->plan->losses].value_size &&
	    fsc_script_lookup(s, s->plan->losses, &key, values))
		n += values[which];
	free(values);
	return n;
}

uint64_t fsc_script_missed(const struct fsc_script *s)
{
	uint64_t n = fsc_attacher_missed(&s->attacher);

	for (size_t i = 0; i < s->plan->n_progs; i++)
		if (s->fds[i] >= 0)
			n += fsc_sys_prog_missed(s->fds[i]);
	for (size_t i = 0; i < s->own.n; i++)
		n += fsc_sys_prog_missed(*FSC_AT(int, &s->own, i));
	return n;
}
