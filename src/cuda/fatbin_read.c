/* The sections of a program or library that hold GPU code: consecutive fatbins, each a
 * header and entries, each entry a header and a cubin or PTX text, often packed. Cubins are taken
 * out, unpacked and handed on; where to is decided in fatbin.c, what they say in cubin.c.
 *
 * nvcc puts one cubin for each GPU architecture into a fatbin, with the same kernels, whose
 * parameters cannot differ. So the smallest answers nearly every question, and the others are read
 * only when it does not: libraries unpack to several GB otherwise. Fatbins in other sections wait
 * for that too: in __nv_relfatbin is what linked ones were made of, and NVIDIA's own libraries have
 * some among their data (.cask_resource of cuBLASLt and cuDNN, .ldata of cuFFT). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/fatbin_priv.h"

#define SECTION_LINKED ".nv_fatbin"
#define SECTION_MAX    (2ull << 30)
#define CUBIN_MAX      (1ull << 30)
/* The largest library of CUDA 13 (cuDNN's) unpacks to 2 GB; a bomb to anything. */
#define UNPACKED_MAX (16ull << 30)

#define MAGIC	     0xBA55ED50u
#define VERSION	     1
#define ALIGN	     4 /* 8 where the linker puts them, 4 in cuFFT's data */
#define KIND_ELF     2
#define KIND_ELF_NEW 0x10
#define FLAG_LZ4     0x2000
#define FLAG_ZSTD    0x8000

struct header {
	uint32_t magic;
	uint16_t version, header_size;
	uint64_t size; /* of the entries */
};

struct entry {
	uint16_t kind, version;
	uint32_t header_size;
	uint64_t size; /* with padding */
	uint32_t packed_size;
	uint32_t options_offset;
	uint32_t code_version, arch;
	uint32_t name_offset, name_size;
	uint64_t flags;
	uint64_t zero;
	uint64_t unpacked_size;
};

_Static_assert(sizeof(struct header) == 16 && sizeof(struct entry) == 64, "layout of a fatbin");

/* A cubin in the file. */
struct piece {
	uint64_t at, n; /* as it lies there */
	uint64_t unpacked;
	bool packed;
	enum fsc_packing packing;
};

struct room {
	char *bytes;
	size_t cap;
};

struct reader {
	const struct fsc_image *im;
	struct room packed, unpacked;
	uint64_t total; /* unpacked so far */
	char window[4096];
	uint64_t window_at;
	size_t window_n;
	enum fsc_fatbin_pass pass;
	bool others; /* this is not SECTION_LINKED */
	fsc_kernel_fn fn;
	void *arg;
};

/* Copies a header from the file, through a window: headers are small and near each other. */
static bool peek(struct reader *r, uint64_t at, void *ret, size_t n)
{
	if (at < r->window_at || at - r->window_at > r->window_n ||
	    n > r->window_n - (at - r->window_at)) {
		r->window_at = at;
		r->window_n = fsc_image_read(r->im, at, r->window, sizeof(r->window));
		if (n > r->window_n)
			return false;
	}
	memcpy(ret, r->window + (at - r->window_at), n);
	return true;
}

static bool make_room(struct room *room, size_t n)
{
	char *p;

	if (n <= room->cap)
		return true;
	p = malloc(n); /* what was there is not needed */
	if (!p)
		return false;
	free(room->bytes);
	*room = (struct room){.bytes = p, .cap = n};
	return true;
}

/* Moves *pos behind the entry there. False at the end of the fatbin, and where it makes no sense
 * any more. */
static bool next_entry(struct reader *r, uint64_t *pos, uint64_t end, struct entry *ret,
		       uint64_t *ret_at)
{
	if (end - *pos < sizeof(*ret) || !peek(r, *pos, ret, sizeof(*ret)))
		return false;
	if (ret->header_size < sizeof(*ret) || ret->header_size > end - *pos)
		return false;
	*ret_at = *pos + ret->header_size;
	if (ret->size > end - *ret_at)
		return false;
	*pos = *ret_at + ret->size;
	return true;
}

/* The next cubin of a fatbin from *pos on. */
static bool next_cubin(struct reader *r, uint64_t *pos, uint64_t end, struct piece *ret)
{
	struct entry e;
	uint64_t at;

	while (next_entry(r, pos, end, &e, &at)) {
		if (e.kind != KIND_ELF && e.kind != KIND_ELF_NEW)
			continue;
		*ret = (struct piece){.at = at, .n = e.size, .unpacked = e.size};
		if (e.flags & (FLAG_LZ4 | FLAG_ZSTD)) {
			ret->packed = true;
			ret->packing = e.flags & FLAG_LZ4 ? FSC_PACKING_LZ4 : FSC_PACKING_ZSTD;
			ret->n = e.packed_size;
			ret->unpacked = e.unpacked_size;
		}
		if (ret->n <= e.size && ret->n <= CUBIN_MAX && ret->unpacked <= CUBIN_MAX)
			return true;
	}
	return false;
}

/* Brings the cubin into memory. 1: *ret is good until the next call; 0: it is damaged. */
static int fetch(struct reader *r, const struct piece *p, const char **ret, struct fsc_err *err)
{
	if (!make_room(&r->packed, p->n))
		return fsc_err_nomem(err);
	if (!p->n || fsc_image_read(r->im, p->at, r->packed.bytes, p->n) != p->n)
		return 0;
	*ret = r->packed.bytes;
	if (!p->packed)
		return 1;
	if (!p->unpacked || !fsc_fatbin_unpackable(p->packing, r->packed.bytes, p->n, p->unpacked))
		return 0;
	if (!make_room(&r->unpacked, p->unpacked))
		return fsc_err_nomem(err);
	*ret = r->unpacked.bytes;
	return fsc_fatbin_unpack(p->packing, r->packed.bytes, p->n, r->unpacked.bytes, p->unpacked);
}

static int read_cubin(struct reader *r, const struct piece *p, struct fsc_err *err)
{
	const char *cubin = NULL;
	int rc;

	r->total += p->unpacked;
	if (r->total > UNPACKED_MAX)
		return fsc_err_set(err, EFBIG, "the GPU code of '%s' unpacks to more than %llu GB",
				   r->im->path, UNPACKED_MAX >> 30);
	rc = fetch(r, p, &cubin, err);
	if (rc <= 0)
		return rc;
	return fsc_cubin_each(cubin, p->unpacked, r->fn, r->arg, err);
}

/* The position of the smallest cubin of a fatbin; 0: none, or no preference. */
static uint64_t find_smallest(struct reader *r, uint64_t pos, uint64_t end)
{
	uint64_t at = 0, size = UINT64_MAX;
	struct piece p;

	while (!r->others && next_cubin(r, &pos, end, &p)) {
		if (p.unpacked >= size)
			continue;
		at = p.at;
		size = p.unpacked;
	}
	return at;
}

static int read_fatbin(struct reader *r, uint64_t pos, uint64_t end, struct fsc_err *err)
{
	uint64_t smallest = find_smallest(r, pos, end);
	struct piece p;

	while (next_cubin(r, &pos, end, &p)) {
		int rc;

		if ((p.at == smallest) != (r->pass == FSC_FATBIN_FIRST))
			continue;
		rc = read_cubin(r, &p, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* Fatbins from start on. The linker may leave room between them; damage is skipped likewise, up
 * to the next magic number. */
static int read_fatbins(struct reader *r, uint64_t start, uint64_t end, struct fsc_err *err)
{
	uint64_t pos = start;
	struct header h;
	int rc = 0;

	while (!rc && end - pos >= sizeof(h) && peek(r, pos, &h, sizeof(h))) {
		uint64_t stop;

		if (h.magic != MAGIC || h.version != VERSION || h.header_size < sizeof(h) ||
		    h.header_size > end - pos) {
			pos += ALIGN;
			continue;
		}
		pos += h.header_size;
		stop = h.size < end - pos ? pos + h.size : end;
		rc = read_fatbin(r, pos, stop, err);
		pos = stop + (start - stop) % ALIGN;
		if (pos > end)
			break;
	}
	return rc;
}

static int read_section(struct reader *r, const Elf64_Shdr *sh, struct fsc_err *err)
{
	uint64_t size;

	if (sh->sh_offset >= r->im->size)
		return 0;
	if (sh->sh_size > SECTION_MAX)
		return fsc_err_set(err, EFBIG, "section %s of '%s' is longer than %llu GB",
				   fsc_image_section_name(r->im, sh), r->im->path,
				   SECTION_MAX >> 30);
	size = r->im->size - sh->sh_offset;
	if (size > sh->sh_size)
		size = sh->sh_size;
	return read_fatbins(r, sh->sh_offset, sh->sh_offset + size, err);
}

static bool may_hold_fatbins(const Elf64_Shdr *sh)
{
	return sh->sh_type == SHT_PROGBITS && sh->sh_flags & SHF_ALLOC &&
	       !(sh->sh_flags & SHF_EXECINSTR);
}

/* Everything else that is loaded as data. */
static int read_others(struct reader *r, const Elf64_Shdr *linked, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < r->im->n_sh; i++) {
		const Elf64_Shdr *sh = &r->im->sh[i];

		if (sh != linked && may_hold_fatbins(sh))
			rc = read_section(r, sh, err);
	}
	return rc;
}

int fsc_fatbin_each(const struct fsc_image *im, enum fsc_fatbin_pass pass, fsc_kernel_fn fn,
		    void *arg, struct fsc_err *err)
{
	const Elf64_Shdr *linked = fsc_image_section(im, SECTION_LINKED);
	struct reader *r = calloc(1, sizeof(*r));
	int rc = 0;

	if (!r)
		return fsc_err_nomem(err);
	r->im = im;
	r->pass = pass;
	r->fn = fn;
	r->arg = arg;
	if (linked)
		rc = read_section(r, linked, err);
	r->others = true;
	if (!rc && pass == FSC_FATBIN_REST)
		rc = read_others(r, linked, err);
	free(r->packed.bytes);
	free(r->unpacked.bytes);
	free(r);
	return rc;
}
