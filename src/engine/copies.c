#include "engine/copies.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/log.h"

enum {
	FIRST_RING = 64 << 20, /* 3,000 copies */
	LAST_RING = 256 << 20,
	GROWS = 4,
	MOST_RULES = 1 << 16,
};

/* ---- the kernel's structures ---- */

/* Members of a structure may lie in anonymous ones. 0: not found. */
static uint32_t find_member(const struct btf *btf, const struct btf_type *t, const char *name,
			    int depth)
{
	const struct btf_member *m = btf_members(t);

	for (unsigned i = 0; depth && i < btf_vlen(t); i++) {
		uint32_t at = btf_member_bit_offset(t, i) / 8, inside;
		const char *is = btf__name_by_offset(btf, m[i].name_off);
		const struct btf_type *of;

		if (is && !strcmp(is, name))
			return at;
		of = is && *is ? NULL : btf__type_by_id(btf, m[i].type);
		inside = of && btf_is_composite(of) ? find_member(btf, of, name, depth - 1) : 0;
		if (inside)
			return at + inside;
	}
	return 0;
}

void fsc_copies_configure(struct fsc_config *cfg)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, "task_struct", BTF_KIND_STRUCT) : -1;
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	if (t) {
		cfg->task_leader = find_member(btf, t, "group_leader", 3);
		cfg->task_start = find_member(btf, t, "start_time", 3);
		cfg->task_execs = find_member(btf, t, "self_exec_id", 3);
	}
	btf__free(btf);
	if (!cfg->task_leader || !cfg->task_start || !cfg->task_execs)
		fsc_log(FSC_LOG_DEBUG,
			"address spaces cannot be told apart: every stack is copied");
}

/* ---- maps ---- */

static void want(struct bpf_map *m, bool wanted, uint32_t n)
{
	bpf_map__set_autocreate(m, wanted);
	if (wanted && n)
		bpf_map__set_max_entries(m, n);
}

void fsc_copies_size(struct bpf_map *copies, struct bpf_map *rules, struct bpf_map *chains,
		     struct bpf_map *ids, bool wanted, uint32_t most_stacks)
{
	want(copies, wanted, 0);
	want(rules, wanted, MOST_RULES);
	want(chains, wanted, most_stacks);
	want(ids, wanted, 0);
}

/* 0, or -errno. */
static int make_ring(struct fsc_copy_maps *m, uint32_t bytes)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "fsc_copies", 0, 0, bytes, NULL);
	int *slot = fd < 0 ? NULL : fsc_vec_push(&m->fds), rc = 0;
	uint32_t zero = 0;

	if (fd < 0)
		return -errno;
	if (!slot) {
		close(fd);
		return -ENOMEM;
	}
	*slot = fd;
	if (*m->rings)
		rc = ring_buffer__add(*m->rings, fd, m->fn, m->arg);
	else if (!(*m->rings = ring_buffer__new(fd, m->fn, m->arg, NULL)))
		rc = -errno;
	if (rc)
		return rc;
	return bpf_map_update_elem(m->copies, &zero, &fd, BPF_ANY) ? -errno : 0;
}

int fsc_copies_open(struct fsc_copy_maps *m, const struct bpf_map *copies,
		    const struct bpf_map *rules, struct ring_buffer **rings,
		    int (*fn)(void *arg, void *record, size_t size), void *arg, struct fsc_err *err)
{
	int rc;

	m->copies = bpf_map__fd(copies);
	m->rules = bpf_map__fd(rules);
	m->rings = rings;
	m->fn = fn;
	m->arg = arg;
	m->bytes = FIRST_RING;
	rc = make_ring(m, m->bytes);
	return rc ? fsc_err_sys(err, -rc, "cannot make a ring buffer for stacks") : 0;
}

void fsc_copies_close(struct fsc_copy_maps *m)
{
	for (size_t i = 0; i < m->fds.n; i++)
		close(*FSC_AT(int, &m->fds, i));
	if (m->fds.size)
		fsc_vec_release(&m->fds);
}

void fsc_copies_grow(struct fsc_copy_maps *m, uint64_t lost)
{
	int rc;

	if (m->copies < 0 || lost <= m->lost || m->bytes >= LAST_RING)
		return;
	rc = make_ring(m, m->bytes * GROWS);
	m->lost = lost;
	/* Without memory for more, this one has to do. */
	m->bytes = rc ? LAST_RING : m->bytes * GROWS;
	fsc_log(FSC_LOG_DEBUG, "the ring for stacks %s",
		rc ? "cannot be made larger" : "is four times as large now");
}

bool fsc_copies_add_rule(const struct fsc_copy_maps *m, const struct fsc_unwind_key *key,
			 uint64_t rule)
{
	return m->rules >= 0 &&
	       (!bpf_map_update_elem(m->rules, key, &rule, BPF_NOEXIST) || errno == EEXIST);
}
