/* Functions without names: where the frame information says that they begin. Compilers write it
 * for every function, and strip leaves it. */
#include "elf/elf_priv.h"

/* What every linker writes: a sorted table of pairs, relative to its own address. */
struct header {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
	uint32_t count;
};

struct entry {
	int32_t start, frame;
};

/* A frame's description, as far as it is needed; the start is relative to its own address. */
struct frame {
	uint32_t size, cie;
	int32_t start;
	uint32_t range;
};

enum { PCREL_SDATA4 = 0x1b, UDATA4 = 0x03, DATAREL_SDATA4 = 0x3b };

static const Elf64_Phdr *find_table(const struct fsc_elf *e, struct header *h)
{
	for (size_t i = 0; i < e->n_ph; i++) {
		const Elf64_Phdr *p = &e->ph[i];

		if (p->p_type == PT_GNU_EH_FRAME &&
		    fsc_elf_read(e, p->p_offset, h, sizeof(*h)) == sizeof(*h))
			return h->version == 1 && h->frame_encoding == PCREL_SDATA4 &&
				       h->count_encoding == UDATA4 &&
				       h->table_encoding == DATAREL_SDATA4 &&
				       h->count <= p->p_filesz / sizeof(struct entry)
				   ? p
				   : NULL;
	}
	return NULL;
}

static bool read_entry(const struct fsc_elf *e, const Elf64_Phdr *p, size_t i, struct entry *ret)
{
	return fsc_elf_read(e, p->p_offset + sizeof(struct header) + i * sizeof(*ret), ret,
			    sizeof(*ret)) == sizeof(*ret);
}

bool fsc_elf_frame_at(const struct fsc_elf *e, uint64_t addr, uint64_t *ret_start,
		      uint64_t *ret_size)
{
	struct header h;
	const Elf64_Phdr *p = find_table(e, &h);
	size_t lo = 0, hi = p ? h.count : 0;
	struct entry at;
	struct frame f;
	uint64_t offset;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (!read_entry(e, p, mid, &at))
			return false;
		if (p->p_vaddr + (uint64_t)(int64_t)at.start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || !read_entry(e, p, lo - 1, &at))
		return false;
	*ret_start = p->p_vaddr + (uint64_t)(int64_t)at.start;
	if (!fsc_elf_offset(e, p->p_vaddr + (uint64_t)(int64_t)at.frame, false, &offset) ||
	    fsc_elf_read(e, offset, &f, sizeof(f)) != sizeof(f))
		return false;
	*ret_size = f.range;
	return addr - *ret_start < f.range;
}
