/* /etc/ld.so.cache, the dynamic loader's list of libraries: a header, a table of entries with
 * offsets of names, and the names. Only the layout of glibc 2.2 and later; the older one before it
 * is skipped. */
#include "proc/libs.h"

#include <stdint.h>
#include <string.h>

#define MAGIC	  "glibc-ld.so.cache1.1"
#define MAGIC_OLD "ld.so-1.7.0"

/* Low byte 3: a library for glibc; the byte above: which machine. */
#if defined(__x86_64__)
#define OWN_FLAGS 0x0303
#elif defined(__aarch64__)
#define OWN_FLAGS 0x0a03
#elif defined(__riscv)
#define OWN_FLAGS 0x1003
#else
#error "add this machine's ldconfig flags"
#endif

struct header_old {
	char magic[12];
	uint32_t n;
};

struct entry_old {
	uint32_t flags, key, value;
};

struct header {
	char magic[20];
	uint32_t n, strings_size;
	uint32_t unused[5];
};

struct entry {
	uint32_t flags;
	uint32_t key, value; /* offsets of the names, from the header */
	uint32_t os_version;
	uint64_t hwcap;
};

_Static_assert(sizeof(struct header) == 48 && sizeof(struct entry) == 24, "layout of ld.so.cache");

/* Where the header is: behind the old table if there is one. NULL if there is none. */
static const char *find_header(const char *data, size_t size, size_t *ret_size)
{
	struct header_old old;
	uint64_t skip = 0;

	if (size >= sizeof(old) && !memcmp(data, MAGIC_OLD, strlen(MAGIC_OLD))) {
		memcpy(&old, data, sizeof(old));
		skip = sizeof(old) + (uint64_t)old.n * sizeof(struct entry_old);
		skip = (skip + 7) & ~7ull;
	}
	if (skip > size || size - skip < sizeof(struct header) ||
	    memcmp(data + skip, MAGIC, strlen(MAGIC)))
		return NULL;
	*ret_size = size - skip;
	return data + skip;
}

/* The name at an offset, NULL if it lies outside or does not end. */
static const char *name_at(const char *base, size_t size, uint32_t offset)
{
	if (offset >= size || !memchr(base + offset, '\0', size - offset))
		return NULL;
	return base + offset;
}

int fsc_ldcache_each(const void *data, size_t size,
		     int (*fn)(const char *soname, const char *path, void *arg), void *arg)
{
	const char *base = find_header(data, size, &size);
	struct header h;

	if (!base)
		return 0;
	memcpy(&h, base, sizeof(h));
	for (size_t i = 0; i < h.n && (i + 1) * sizeof(struct entry) <= size - sizeof(h); i++) {
		const char *soname, *path;
		struct entry e;
		int rc;

		memcpy(&e, base + sizeof(h) + i * sizeof(e), sizeof(e));
		if (e.flags != OWN_FLAGS)
			continue;
		soname = name_at(base, size, e.key);
		path = name_at(base, size, e.value);
		if (!soname || !path || path[0] != '/')
			continue;
		rc = fn(soname, path, arg);
		if (rc)
			return rc;
	}
	return 0;
}
