/* The rings that carry records: created after the programs are loaded, one per probe that the user
 * named, read by libbpf. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "engine/session_priv.h"
#include "func_snoop.skel.h"

enum {
	MEMORY = 32 << 20,
	LEAST = 256 << 10,
	MOST = 8 << 20,
	OWN = 2 << 20, /* enough for a round of calibration */
};

/* As in bpf/rings.bpf.h. */
struct ring_row {
	uint32_t ring, pad;
	uint64_t lost;
};

uint32_t fsc_rings_bytes(const struct fsc_session *s)
{
	uint32_t bytes = MOST;

	while (bytes > LEAST && (uint64_t)bytes * s->opts.n_rings > MEMORY)
		bytes /= 2;
	return bytes;
}

/* A call whose entry was sent is already counted. */
static bool is_first(const struct fsc_session *s, const struct fsc_rec_call *rec)
{
	return !s->pairs || rec->event != FSC_CALL_RETURN;
}

static int on_record(void *arg, void *record, size_t size)
{
	struct fsc_session *s = arg;

	s->records += is_first(s, record);
	return s->record_fn(record, size, s->record_arg);
}

static int on_own_record(void *arg, void *record, size_t size)
{
	(void)arg, (void)record, (void)size;
	return 0;
}

/* Returns a descriptor that the session owns, or -errno. */
static int make_ring(struct fsc_session *s, uint32_t i, uint32_t bytes, struct fsc_err *err)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "fsc_ring", 0, 0, bytes, NULL);
	int rc;

	if (fd < 0)
		return fsc_err_sys(err, errno, "cannot make a ring buffer of %u bytes", bytes);
	rc = fsc_session_keep_fd(&s->programs, fd, err);
	if (rc)
		return rc;
	if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.rings), &i, &fd, BPF_ANY))
		return fsc_err_sys(err, errno, "cannot install a ring buffer");
	return fd;
}

static int add_ring(struct fsc_session *s, uint32_t i, struct fsc_err *err)
{
	int fd = make_ring(s, i, s->cfg.ring_bytes, err), rc;

	if (fd < 0)
		return fd;
	if (!s->rings) {
		s->rings = ring_buffer__new(fd, on_record, s, NULL);
		return s->rings ? 0 : fsc_err_sys(err, errno, "cannot read a ring buffer");
	}
	rc = ring_buffer__add(s->rings, fd, on_record, s);
	return rc ? fsc_err_sys(err, -rc, "cannot read a ring buffer") : 0;
}

/* Calibration must not take room from the hits of others. */
static int add_own_ring(struct fsc_session *s, struct fsc_err *err)
{
	int fd = make_ring(s, s->opts.n_rings, OWN, err);

	if (fd < 0)
		return fd;
	s->own_ring_fd = fd;
	s->own_ring = ring_buffer__new(fd, on_own_record, s, NULL);
	return s->own_ring ? 0 : fsc_err_sys(err, errno, "cannot read a ring buffer");
}

static int set_ring(struct fsc_session *s, uint32_t row, uint32_t ring, struct fsc_err *err)
{
	struct ring_row r = {.ring = ring};

	if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.ring_rows), &row, &r, BPF_ANY))
		return fsc_err_sys(err, errno, "cannot assign a ring buffer to a function");
	return 0;
}

static int on_copy(void *arg, void *record, size_t size)
{
	const struct fsc_rec_stack *rec = record;
	struct fsc_session *s = arg;

	if (size >= sizeof(*rec) && rec->flags & FSC_COPY_COUNTS &&
	    rec->row != s->cfg.calibrate_row)
		s->records++;
	return s->copy_fn ? s->copy_fn(record, size, s->copy_arg) : 0;
}

/* Copies come last: those of all records that were read before are among them. */
int fsc_rings_open(struct fsc_session *s, struct fsc_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < s->opts.n_rings; i++)
		rc = add_ring(s, i, err);
	if (!rc && s->opts.copy_stacks)
		rc = fsc_copies_open(&s->copies, s->skel->maps.copies, s->skel->maps.unwind_rules,
				     &s->rings, on_copy, s, err);
	if (rc || !s->opts.n_rings)
		return rc;
	rc = add_own_ring(s, err);
	if (!rc)
		rc = set_ring(s, s->cfg.calibrate_row, s->opts.n_rings, err);
	for (uint32_t row = 0; !rc && s->opts.ring_of && row < s->cfg.calibrate_row; row++)
		rc = set_ring(s, row, s->opts.ring_of[row], err);
	return rc;
}

void fsc_rings_empty_own(struct fsc_session *s)
{
	if (s->own_ring)
		ring_buffer__consume(s->own_ring);
}

int fsc_session_events_fd(const struct fsc_session *s)
{
	return s->rings ? ring_buffer__epoll_fd(s->rings) : -1;
}

int fsc_session_drain(struct fsc_session *s, int (*fn)(const void *record, size_t size, void *arg),
		      void *arg, struct fsc_err *err)
{
	int n;

	if (!s->rings)
		return 0;
	s->record_fn = fn;
	s->record_arg = arg;
	n = ring_buffer__consume(s->rings);
	fsc_copies_grow(&s->copies, fsc_session_loss(s, FSC_LOSS_COPIES_FULL));
	if (n == -ENOMEM)
		return fsc_err_nomem(err);
	return n < 0 ? fsc_err_sys(err, -n, "cannot read the records of calls") : 0;
}

void fsc_session_on_copy(struct fsc_session *s, int (*fn)(const void *copy, size_t size, void *arg),
			 void *arg)
{
	s->copy_fn = fn;
	s->copy_arg = arg;
}

bool fsc_session_add_rule(struct fsc_session *s, const struct fsc_unwind_key *key, uint64_t rule)
{
	return fsc_copies_add_rule(&s->copies, key, rule);
}

uint64_t fsc_session_row_lost(const struct fsc_session *s, uint32_t row)
{
	struct ring_row r = {0};

	row += s->first_row;
	if (s->opts.n_rings)
		bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.ring_rows), &row, &r);
	return r.lost;
}
