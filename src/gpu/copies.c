/* Totals of copies: direction, kind of host memory, speed. */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/books_priv.h"
#include "proc/maps.h"

enum { MOST_HOSTS = 65536 }; /* ranges of host memory that are kept */

static int put_host_range(struct fsc_gpu_books *b, const struct fsc_gpu_range *r,
			  struct fsc_err *err)
{
	struct fsc_gpu_range *copy, **at;

	/* Older ranges there are obsolete. */
	while ((at = tfind(r, &b->hosts, fsc_gpu_range_compare))) {
		copy = *at;
		tdelete(copy, &b->hosts, fsc_gpu_range_compare);
		free(copy);
		b->n_hosts--;
	}
	if (b->n_hosts >= MOST_HOSTS)
		return 0;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return fsc_err_nomem(err);
	*copy = *r;
	if (!tsearch(copy, &b->hosts, fsc_gpu_range_compare)) {
		free(copy);
		return fsc_err_nomem(err);
	}
	b->n_hosts++;
	return 0;
}

int fsc_gpu_hosts_pin(struct fsc_gpu_books *b, uint32_t pid, uint64_t addr, uint64_t bytes,
		      struct fsc_err *err)
{
	struct fsc_gpu_range r = {.process = fsc_gpu_books_number(b, pid),
				  .start = addr,
				  .end = addr + bytes,
				  .pinned = true};

	return bytes ? put_host_range(b, &r, err) : 0;
}

static struct fsc_gpu_range *find_host_range(struct fsc_gpu_books *b, uint32_t process,
					     uint64_t addr)
{
	struct fsc_gpu_range key = {.process = process, .start = addr, .end = addr + 1};
	struct fsc_gpu_range **at = tfind(&key, &b->hosts, fsc_gpu_range_compare);

	return at ? *at : NULL;
}

void fsc_gpu_hosts_unpin(struct fsc_gpu_books *b, uint32_t pid, uint64_t addr)
{
	struct fsc_gpu_range *r = find_host_range(b, fsc_gpu_books_number(b, pid), addr);

	if (!r || !r->pinned || r->start != addr)
		return;
	tdelete(r, &b->hosts, fsc_gpu_range_compare);
	free(r);
	b->n_hosts--;
}

/* A process that is older than this run may have pinned memory before it: the driver maps such
 * memory from its device, or as shared anonymous memory. */
static bool is_drivers(const struct fsc_mapping *m)
{
	return !strncmp(m->path, "/dev/nvidia", 11) || !strcmp(m->path, "/dev/zero (deleted)");
}

static int classify_host_memory(struct fsc_gpu_books *b, uint32_t pid, uint64_t addr,
				enum fsc_gpu_host *ret, struct fsc_err *err)
{
	struct fsc_vec maps = FSC_VEC_INIT(struct fsc_mapping);
	const struct fsc_mapping *m = NULL;
	int rc = 0;

	if (!fsc_maps_read((pid_t)pid, false, &maps, NULL))
		m = fsc_maps_find(&maps, addr);
	*ret = FSC_GPU_HOST_UNKNOWN;
	if (m) {
		struct fsc_gpu_range r = {.process = fsc_gpu_books_number(b, pid),
					  .start = addr,
					  .end = addr + 1,
					  .pinned = is_drivers(m)};

		*ret = r.pinned ? FSC_GPU_HOST_PINNED : FSC_GPU_HOST_PAGEABLE;
		rc = put_host_range(b, &r, err);
	}
	fsc_maps_release(&maps);
	return rc;
}

static int fill_host(struct fsc_gpu_books *b, struct fsc_gpu_event *e, struct fsc_err *err)
{
	const struct fsc_gpu_process_row *p = fsc_gpu_books_of(b, e->pid);
	uint64_t addr = e->dir == FSC_GPU_H2D ? e->src : e->addr;
	const struct fsc_gpu_range *r;

	e->host = FSC_GPU_HOST_NONE;
	if (e->dir != FSC_GPU_H2D && e->dir != FSC_GPU_D2H)
		return 0;
	r = find_host_range(b, fsc_gpu_books_number(b, e->pid), addr);
	e->host = r && r->pinned ? FSC_GPU_HOST_PINNED : FSC_GPU_HOST_PAGEABLE;
	if (r || !p || !p->before)
		return 0;
	return classify_host_memory(b, e->pid, addr, &e->host, err);
}

enum side { NOWHERE, HOST, DEVICE };

static enum side side_of(struct fsc_gpu_books *b, uint32_t pid, uint64_t addr)
{
	uint32_t mem;

	if (!fsc_gpu_memory_has(b, pid, addr, &mem))
		return NOWHERE;
	return mem == FSC_GPU_MEM_PINNED || mem == FSC_GPU_MEM_REGISTERED ? HOST : DEVICE;
}

/* The direction of a copy that does not state it, by the memory its addresses lie in. An unknown
 * address is host memory if the process was watched from its start. */
static void infer_direction(struct fsc_gpu_books *b, struct fsc_gpu_event *e)
{
	static const uint32_t dirs[3][3] = {
	    [HOST] = {[HOST] = FSC_GPU_H2H, [DEVICE] = FSC_GPU_H2D},
	    [DEVICE] = {[HOST] = FSC_GPU_D2H, [DEVICE] = FSC_GPU_D2D},
	};
	const struct fsc_gpu_process_row *p = fsc_gpu_books_of(b, e->pid);
	enum side from = side_of(b, e->pid, e->src), to = side_of(b, e->pid, e->addr);

	if (e->dir != FSC_GPU_DIR_UNKNOWN || !e->addr || !e->src || (!from && !to))
		return;
	if (p && !p->before) {
		from = from ? from : HOST;
		to = to ? to : HOST;
	}
	if (from && to)
		e->dir = dirs[from][to];
}

static unsigned speed_class(double bytes_per_s)
{
	double at = 1e6;
	unsigned i = 0;

	while (i < FSC_GPU_SPEEDS - 1 && bytes_per_s >= 2 * at) {
		at *= 2;
		i++;
	}
	return i;
}

int fsc_gpu_copies_add(struct fsc_gpu_books *b, struct fsc_gpu_event *e, struct fsc_err *err)
{
	struct fsc_gpu_process_row *p = fsc_gpu_books_of(b, e->pid);
	unsigned size = fsc_gpu_size_class(e->bytes);
	struct fsc_gpu_copy_row *row;
	int rc;

	infer_direction(b, e);
	rc = fill_host(b, e, err);
	row = &b->copies[e->dir % FSC_GPU_DIR_MAX][e->host][e->async];
	row->dir = e->dir;
	row->host = e->host;
	row->async = e->async;
	row->copies++;
	row->bytes += e->bytes;
	row->sized[size]++;
	if (p)
		p->copies++;
	if (e->async && e->host == FSC_GPU_HOST_PAGEABLE) {
		row->syncs++;
		b->pageable_async++;
	}
	if (!e->timed || e->timing == FSC_GPU_ENQUEUE || !e->dur_ns)
		return rc;
	row->timed_bytes += e->bytes;
	row->timed_ns += e->dur_ns;
	row->speeds[size][speed_class((double)e->bytes * 1e9 / (double)e->dur_ns)]++;
	return rc;
}
