/* Reading BTF from sysfs: mapped where the kernel lets us (6.16), else copied once. Scripts that
 * name a type wait for this, so nothing is copied or indexed twice. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/btf_priv.h"

static int read_whole(int fd, char *to, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got = read(fd, to + done, n - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EIO;
		done += (size_t)got;
	}
	return 0;
}

static int take_bytes(struct fsc_btf *b, int fd, size_t n)
{
	void *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);

	b->size = n;
	if (p != MAP_FAILED) {
		b->data = p;
		b->mapped = true;
		return 0;
	}
	b->data = malloc(n);
	return b->data ? read_whole(fd, b->data, n) : -ENOMEM;
}

/* Bytes behind the head of a type. */
static size_t tail_of(const struct btf_type *t)
{
	static const struct {
		uint8_t fixed, each;
	} sizes[] = {
	    [BTF_KIND_INT] = {4, 0},
	    [BTF_KIND_ARRAY] = {sizeof(struct btf_array), 0},
	    [BTF_KIND_STRUCT] = {0, sizeof(struct btf_member)},
	    [BTF_KIND_UNION] = {0, sizeof(struct btf_member)},
	    [BTF_KIND_ENUM] = {0, sizeof(struct btf_enum)},
	    [BTF_KIND_FUNC_PROTO] = {0, sizeof(struct btf_param)},
	    [BTF_KIND_VAR] = {sizeof(struct btf_var), 0},
	    [BTF_KIND_DATASEC] = {0, sizeof(struct btf_var_secinfo)},
	    [BTF_KIND_DECL_TAG] = {sizeof(struct btf_decl_tag), 0},
	    [BTF_KIND_ENUM64] = {0, sizeof(struct btf_enum64)},
	};
	unsigned kind = btf_kind(t);

	if (kind >= sizeof(sizes) / sizeof(sizes[0]))
		return 0;
	return sizes[kind].fixed + (size_t)sizes[kind].each * btf_vlen(t);
}

/* Walks the types; at: NULL to count them. False: they do not fit. */
static bool walk_types(const struct fsc_btf *b, uint32_t *at, uint32_t *ret_n)
{
	size_t pos = 0;
	uint32_t n = 0;

	for (; pos + sizeof(struct btf_type) <= b->types_size; n++) {
		const struct btf_type *t = (const struct btf_type *)(b->types + pos);

		if (btf_kind(t) > BTF_KIND_ENUM64)
			return false;
		if (at)
			at[n] = (uint32_t)pos;
		pos += sizeof(*t) + tail_of(t);
	}
	*ret_n = n;
	return pos == b->types_size;
}

static bool find_sections(struct fsc_btf *b)
{
	const struct btf_header *h = (const struct btf_header *)b->data;
	uint64_t size = b->size;

	if (size < sizeof(*h) || h->magic != BTF_MAGIC || h->hdr_len < sizeof(*h) ||
	    (uint64_t)h->hdr_len + h->type_off + h->type_len > size ||
	    (uint64_t)h->hdr_len + h->str_off + h->str_len > size || !h->str_len || h->type_off % 4)
		return false;
	b->types = b->data + h->hdr_len + h->type_off;
	b->types_size = h->type_len;
	b->strings = b->data + h->hdr_len + h->str_off;
	b->strings_size = h->str_len;
	return !b->strings[0] && !b->strings[b->strings_size - 1];
}

int fsc_btf_load(struct fsc_btf *b, const char *path, struct fsc_err *err)
{
	FSC_AUTO(fsc_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st = {0};
	uint32_t n;
	int rc = fd < 0 || fstat(fd, &st) ? -errno : 0;

	if (!rc)
		rc = st.st_size > 0 ? take_bytes(b, fd, (size_t)st.st_size) : -ENODATA;
	if (rc == -ENOMEM)
		return fsc_err_nomem(err);
	if (rc && b->module)
		return fsc_err_set(err, ENODATA, "module '%s' has no type information (BTF): %s",
				   b->module, fsc_err_text(-rc));
	if (rc)
		return fsc_err_set(err, ENODATA, "the kernel has no type information (BTF): %s",
				   fsc_err_text(-rc));
	b->first = b->kernel ? b->kernel->end : 1;
	b->first_string = b->kernel ? b->kernel->strings_size : 0;
	if (!find_sections(b) || !walk_types(b, NULL, &n))
		return fsc_err_set(err, ENODATA,
				   "the type information (BTF) in '%s' makes no sense", path);
	b->at = malloc((n + 1) * sizeof(*b->at));
	if (!b->at)
		return fsc_err_nomem(err);
	walk_types(b, b->at, &n);
	b->end = b->first + n;
	return 0;
}
