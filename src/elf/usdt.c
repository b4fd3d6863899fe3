/* USDT probes: the notes that <sys/sdt.h> leaves in .note.stapsdt. Addresses in them are those of
 * link time; where a tool moved the file since (prelink), .stapsdt.base says by how much. */
#include "elf/elf.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf_priv.h"

#define NOTE_STAPSDT 3
#define STAPSDT	     "stapsdt"

struct addresses {
	uint64_t pc, base, semaphore;
};

static int broken(const struct fsc_elf *e, const char *why, struct fsc_err *err)
{
	return fsc_err_set(err, EBADMSG, "'%s' has a broken USDT note: %s", e->main.path, why);
}

/* The string at *pos of n bytes; moves *pos past it. NULL if unterminated. */
static const char *take_string(const char *s, size_t n, size_t *pos)
{
	const char *start = s + *pos;
	const char *end = *pos < n ? memchr(start, '\0', n - *pos) : NULL;

	if (!end)
		return NULL;
	*pos = (size_t)(end - s) + 1;
	return start;
}

static int take_places(const struct fsc_elf *e, const struct addresses *at, struct fsc_usdt *u,
		       struct fsc_err *err)
{
	const Elf64_Shdr *base = fsc_image_section(&e->main, ".stapsdt.base");
	uint64_t moved = base && at->base ? base->sh_addr - at->base : 0;

	u->addr = at->pc + moved;
	if (!fsc_elf_offset(e, u->addr, true, &u->offset))
		return broken(e, "its address is not in executable code", err);
	if (at->semaphore && !fsc_elf_offset(e, at->semaphore + moved, false, &u->sem_offset))
		return broken(e, "its semaphore is not in the file", err);
	return 0;
}

static int add_probe(struct fsc_elf *e, const struct fsc_note *note, struct fsc_err *err)
{
	size_t pos = sizeof(struct addresses);
	struct addresses at;
	struct fsc_usdt *u;

	if (note->desc_size < sizeof(at))
		return broken(e, "it is too short", err);
	memcpy(&at, note->desc, sizeof(at));
	u = fsc_vec_push(&e->usdts);
	if (!u)
		return fsc_err_nomem(err);
	u->provider = take_string(note->desc, note->desc_size, &pos);
	u->name = take_string(note->desc, note->desc_size, &pos);
	u->args = take_string(note->desc, note->desc_size, &pos);
	if (!u->provider || !u->name || !u->args)
		return broken(e, "its names are not terminated", err);
	return take_places(e, &at, u, err);
}

static int add_section(struct fsc_elf *e, const Elf64_Shdr *sh, struct fsc_err *err)
{
	struct fsc_note note;
	size_t pos = 0;
	char *notes;
	int rc;

	rc = fsc_image_copy(&e->main, sh->sh_offset, sh->sh_size, &notes, err);
	if (!rc)
		rc = fsc_elf_keep(e, notes, err);
	if (rc)
		return rc;
	while ((rc = fsc_note_next(notes, sh->sh_size, 4, &pos, &note)) > 0) {
		if (note.type != NOTE_STAPSDT || note.name_size != sizeof(STAPSDT) ||
		    memcmp(note.name, STAPSDT, sizeof(STAPSDT)))
			continue;
		rc = add_probe(e, &note, err);
		if (rc)
			return rc;
	}
	return rc ? broken(e, "its sizes are inconsistent", err) : 0;
}

int fsc_elf_usdts(struct fsc_elf *e, const struct fsc_usdt **ret, size_t *ret_n,
		  struct fsc_err *err)
{
	for (size_t i = 0; !e->usdts_read && i < e->main.n_sh; i++) {
		const Elf64_Shdr *sh = &e->main.sh[i];
		int rc;

		if (sh->sh_type != SHT_NOTE ||
		    strcmp(fsc_image_section_name(&e->main, sh), ".note.stapsdt"))
			continue;
		rc = add_section(e, sh, err);
		if (rc) {
			e->usdts.n = 0;
			return rc;
		}
	}
	e->usdts_read = true;
	*ret = e->usdts.data;
	*ret_n = e->usdts.n;
	return 0;
}
