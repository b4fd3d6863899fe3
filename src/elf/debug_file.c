/* Symbols of a stripped file: the separate debug file that the build id or a link names, and the
 * small symbol table that distributions pack into .gnu_debugdata (xz). Both are optional: what is
 * missing or damaged here is not an error. */
#include "elf/elf_priv.h"

#include <errno.h>
#include <limits.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"

/* The largest .gnu_debugdata known unpack to some 10 MB; a bomb could be any size. */
#define UNPACKED_MAX	  (256ull << 20)
#define UNPACK_MEMORY_MAX (256ull << 20)

static size_t round_up(size_t n, size_t align)
{
	return (n + align - 1) & ~(align - 1);
}

int fsc_note_next(const char *notes, size_t size, size_t align, size_t *pos, struct fsc_note *ret)
{
	size_t left, desc_at;
	Elf64_Nhdr nh;

	if (*pos >= size)
		return 0;
	left = size - *pos;
	if (left < sizeof(nh))
		return -1;
	memcpy(&nh, notes + *pos, sizeof(nh));
	/* Both sizes are 32-bit, so the sums cannot overflow. */
	desc_at = round_up(sizeof(nh) + (size_t)nh.n_namesz, align);
	if (desc_at > left || nh.n_descsz > left - desc_at)
		return -1;
	*ret = (struct fsc_note){
	    .type = nh.n_type,
	    .name = notes + *pos + sizeof(nh),
	    .name_size = nh.n_namesz,
	    .desc = notes + *pos + desc_at,
	    .desc_size = nh.n_descsz,
	};
	*pos += round_up(desc_at + (size_t)nh.n_descsz, align);
	return 1;
}

/* Finds the build id in notes; its length, 0 if there is none. */
static size_t find_build_id(const char *notes, size_t size, size_t align, unsigned char *ret)
{
	struct fsc_note note;
	size_t pos = 0;

	while (fsc_note_next(notes, size, align, &pos, &note) > 0) {
		if (note.type != NT_GNU_BUILD_ID || note.name_size != sizeof("GNU") ||
		    memcmp(note.name, "GNU", sizeof("GNU")))
			continue;
		if (note.desc_size < 2 || note.desc_size > FSC_BUILD_ID_MAX)
			return 0;
		memcpy(ret, note.desc, note.desc_size);
		return note.desc_size;
	}
	return 0;
}

/* By sections, not segments: a debug file keeps the segments but their offsets mean nothing. 0
 * where there is none, with errno ENOMEM if out of memory. */
static size_t build_id(const struct fsc_image *im, unsigned char *ret)
{
	errno = 0;
	for (size_t i = 0; i < im->n_sh; i++) {
		FSC_AUTO(fsc_freep) char *notes = NULL;
		const Elf64_Shdr *sh = &im->sh[i];
		size_t n;
		int rc;

		if (sh->sh_type != SHT_NOTE || sh->sh_size > 1 << 16)
			continue;
		rc = fsc_image_copy(im, sh->sh_offset, sh->sh_size, &notes, NULL);
		if (rc == -ENOMEM) {
			errno = ENOMEM;
			return 0;
		}
		if (rc)
			continue;
		n = find_build_id(notes, sh->sh_size, sh->sh_addralign == 8 ? 8 : 4, ret);
		if (n)
			return n;
	}
	return 0;
}

size_t fsc_elf_build_id(const struct fsc_elf *e, unsigned char ret[FSC_BUILD_ID_MAX])
{
	return build_id(&e->main, ret);
}

/* Opens a file if it is of that id; false if it is not there or not of that id, or memory is out
 * (errno ENOMEM). */
static bool open_debug(const struct fsc_buf *path, const unsigned char *id, size_t n,
		       struct fsc_image *ret)
{
	unsigned char own[FSC_BUILD_ID_MAX];
	int rc = fsc_buf_failed(path) ? -ENOMEM : fsc_image_open(ret, path->s, NULL);

	errno = -rc;
	if (rc)
		return false;
	if (build_id(ret, own) == n && !memcmp(own, id, n))
		return true;
	if (errno == ENOMEM) {
		fsc_image_release(ret);
		errno = ENOMEM;
		return false;
	}
	fsc_log(FSC_LOG_WARN, "ignoring '%s': it belongs to another build", path->s);
	fsc_image_release(ret);
	return false;
}

/* Where distributions put it. */
static bool open_below(const char *root, const unsigned char *id, size_t n, struct fsc_image *ret)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf path = {0};

	fsc_buf_printf(&path, "%s/usr/lib/debug/.build-id/%02x/", root, id[0]);
	for (size_t i = 1; i < n; i++)
		fsc_buf_printf(&path, "%02x", id[i]);
	fsc_buf_puts(&path, ".debug");
	return open_debug(&path, id, n, ret);
}

/* The file that .gnu_debuglink names, beside the program as objcopy's users put it. */
static bool open_linked(const struct fsc_elf *e, const unsigned char *id, size_t n,
			struct fsc_image *ret)
{
	static const char *const folders[] = {".debug/", ""};
	const Elf64_Shdr *sh = fsc_image_section(&e->main, ".gnu_debuglink");
	const char *slash = strrchr(e->main.path, '/');
	FSC_AUTO(fsc_freep) char *name = NULL;
	int rc;

	if (!sh || !slash || sh->sh_size > PATH_MAX)
		return false;
	rc = fsc_image_copy(&e->main, sh->sh_offset, sh->sh_size, &name, NULL);
	errno = -rc;
	if (rc || !name[0] || strchr(name, '/'))
		return false;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		FSC_AUTO(fsc_buf_release) struct fsc_buf path = {0};

		fsc_buf_printf(&path, "%.*s/%s%s", (int)(slash - e->main.path), e->main.path,
			       folders[i], name);
		if (open_debug(&path, id, n, ret))
			return true;
		if (errno == ENOMEM)
			return false;
	}
	return false;
}

const struct fsc_image *fsc_elf_debug_file(struct fsc_elf *e)
{
	unsigned char id[FSC_BUILD_ID_MAX];
	size_t n;

	errno = 0;
	if (e->debug_tried)
		return e->has_debug ? &e->debug : NULL;
	n = build_id(&e->main, id);
	if (n)
		e->has_debug =
		    open_below(e->root, id, n, &e->debug) ||
		    (e->root[0] && errno != ENOMEM && open_below("", id, n, &e->debug)) ||
		    (errno != ENOMEM && open_linked(e, id, n, &e->debug));
	e->debug_tried = e->has_debug || errno != ENOMEM;
	return e->has_debug ? &e->debug : NULL;
}

/* Grows the output buffer. False at the limit, or out of memory. */
static bool grow_output(lzma_stream *z, char **out, size_t *cap)
{
	size_t used = *cap - z->avail_out, bigger = *cap * 2;
	char *p;

	if (bigger > UNPACKED_MAX)
		return false;
	p = realloc(*out, bigger);
	if (!p)
		return false;
	*out = p;
	*cap = bigger;
	z->next_out = (uint8_t *)p + used;
	z->avail_out = bigger - used;
	return true;
}

/* Unpacks one xz stream; NULL if it is broken or too big, or out of memory (errno ENOMEM). Caller
 * frees. */
static char *unpack(const char *packed, size_t n, size_t *ret_n)
{
	lzma_stream z = LZMA_STREAM_INIT;
	size_t cap = n * 4 + 4096;
	char *out = malloc(cap);
	lzma_ret rc;

	if (!out || lzma_stream_decoder(&z, UNPACK_MEMORY_MAX, 0) != LZMA_OK) {
		free(out);
		errno = ENOMEM;
		return NULL;
	}
	errno = 0;
	z.next_in = (const uint8_t *)packed;
	z.avail_in = n;
	z.next_out = (uint8_t *)out;
	z.avail_out = cap;
	do {
		rc = lzma_code(&z, LZMA_FINISH);
	} while ((rc == LZMA_OK || rc == LZMA_BUF_ERROR) && !z.avail_out &&
		 grow_output(&z, &out, &cap));
	*ret_n = cap - z.avail_out;
	lzma_end(&z);
	if (rc == LZMA_STREAM_END)
		return out;
	free(out);
	if (rc == LZMA_MEM_ERROR)
		errno = ENOMEM;
	return NULL;
}

int fsc_elf_debugdata(const struct fsc_elf *e, struct fsc_image *ret)
{
	const Elf64_Shdr *sh = fsc_image_section(&e->main, ".gnu_debugdata");
	FSC_AUTO(fsc_freep) char *packed = NULL;
	FSC_AUTO(fsc_buf_release) struct fsc_buf name = {0};
	char *plain = NULL;
	size_t n;
	int rc;

	if (!sh)
		return 0;
	fsc_buf_printf(&name, "%s (.gnu_debugdata)", e->main.path);
	rc = fsc_buf_failed(&name) ? -ENOMEM : sh->sh_size > UNPACKED_MAX ? -EFBIG : 0;
	if (!rc)
		rc = fsc_image_copy(&e->main, sh->sh_offset, sh->sh_size, &packed, NULL);
	if (!rc) {
		plain = unpack(packed, sh->sh_size, &n);
		rc = plain ? fsc_image_from_mem(ret, fsc_buf_str(&name), plain, n, NULL)
			   : -(errno == ENOMEM ? ENOMEM : EBADMSG);
	}
	if (!rc)
		return 1;
	if (rc == -ENOMEM)
		return rc;
	fsc_log(FSC_LOG_WARN, "ignoring .gnu_debugdata of '%s': it is damaged or too large",
		e->main.path);
	return 0;
}
