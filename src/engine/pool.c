/* The slots of a monitor: chunks of mapped memory, added while programs run. Memory is taken for
 * what is measured, not for what might be. */
#include "engine/pool.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

struct chunk {
	int fd;
	struct fsc_slot *at;
};

static size_t chunk_bytes(const struct fsc_pool *p)
{
	return (size_t)FSC_CHUNK_SLOTS * p->stripes * sizeof(struct fsc_slot);
}

static int add_chunk(struct fsc_pool *p, struct fsc_err *err)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	struct chunk *c = fsc_vec_push(&p->chunks);
	void *at;
	int rc;

	if (!c)
		return fsc_err_nomem(err);
	c->fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "fsc_slots", sizeof(uint32_t),
			       sizeof(struct fsc_slot), FSC_CHUNK_SLOTS * p->stripes, &opts);
	at = c->fd < 0 ? MAP_FAILED
		       : mmap(NULL, chunk_bytes(p), PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);
	if (at != MAP_FAILED) {
		c->at = at;
		return 0;
	}
	rc = fsc_err_sys(err, errno, "cannot allocate %zu kB for measurements",
			 chunk_bytes(p) / 1024);
	if (c->fd >= 0)
		close(c->fd);
	p->chunks.n--;
	return rc;
}

int fsc_pool_init(struct fsc_pool *p, uint32_t stripes, uint32_t most, struct fsc_err *err)
{
	*p = (struct fsc_pool){.chunks = FSC_VEC_INIT(struct chunk),
			       .stripes = stripes,
			       .most = most,
			       .chunks_map = -1,
			       .free_map = -1};
	return add_chunk(p, err);
}

void fsc_pool_release(struct fsc_pool *p)
{
	for (size_t i = 0; i < p->chunks.n; i++) {
		struct chunk *c = FSC_AT(struct chunk, &p->chunks, i);

		munmap(c->at, chunk_bytes(p));
		close(c->fd);
	}
	fsc_vec_release(&p->chunks);
}

int fsc_pool_template(const struct fsc_pool *p)
{
	return FSC_AT(struct chunk, &p->chunks, 0)->fd;
}

/* Tells the programs of a chunk, for which the kernel waits until they all know. Slot 0 is for
 * calibration. */
static int install_chunk(const struct fsc_pool *p, uint32_t i, struct fsc_err *err)
{
	uint32_t slot = i * FSC_CHUNK_SLOTS;
	const struct chunk *c = FSC_AT(struct chunk, &p->chunks, i);

	if (bpf_map_update_elem(p->chunks_map, &i, &c->fd, BPF_ANY))
		return fsc_err_sys(err, errno, "cannot install memory for measurements");
	for (slot += !slot; slot < (i + 1) * FSC_CHUNK_SLOTS; slot++)
		if (bpf_map_update_elem(p->free_map, NULL, &slot, BPF_ANY))
			return fsc_err_sys(err, errno, "cannot allocate counters in the kernel");
	return 0;
}

static int install_new(void *arg, struct fsc_err *err)
{
	struct fsc_pool *p = arg;
	int rc = 0;

	for (; !rc && p->installed < p->chunks.n; p->installed += !rc)
		rc = install_chunk(p, p->installed, err);
	return rc;
}

int fsc_pool_install(struct fsc_pool *p, int chunks_map, int free_map, struct fsc_err *err)
{
	p->chunks_map = chunks_map;
	p->free_map = free_map;
	return install_new(p, err);
}

int fsc_pool_reserve(struct fsc_pool *p, uint32_t taken, size_t spare,
		     const struct fsc_meanwhile *m, struct fsc_err *err)
{
	const size_t wanted = (uint32_t)(taken - p->freed) + spare;
	int rc = 0;

	while (!rc && p->chunks.n * FSC_CHUNK_SLOTS < wanted &&
	       p->chunks.n * FSC_CHUNK_SLOTS < p->most)
		rc = add_chunk(p, err);
	return rc || p->installed == p->chunks.n ? rc : fsc_aside(install_new, p, m, err);
}

struct fsc_slot *fsc_pool_slot(const struct fsc_pool *p, uint32_t slot)
{
	const struct chunk *c;

	if (slot / FSC_CHUNK_SLOTS >= p->chunks.n)
		return NULL;
	c = FSC_AT(struct chunk, &p->chunks, slot / FSC_CHUNK_SLOTS);
	return c->at + (size_t)(slot % FSC_CHUNK_SLOTS) * p->stripes;
}

void fsc_pool_free(struct fsc_pool *p, uint32_t slot)
{
	struct fsc_slot *s = fsc_pool_slot(p, slot);

	memset(s, 0, p->stripes * sizeof(*s));
	bpf_map_update_elem(p->free_map, NULL, &slot, BPF_ANY);
	p->freed++;
}
