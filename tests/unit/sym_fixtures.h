/* What the unit tests of src/elf, dwarf, proc, python and sym share: the files that
 * tests/unit/make-fixtures built, and short ways to ask for one symbol or one damaged copy of a
 * file. Include after cmocka.h. */
#ifndef FSC_TESTS_SYM_FIXTURES_H
#define FSC_TESTS_SYM_FIXTURES_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/elf.h"

/* The path of a fixture; skips the test where there are none. Good for four calls. */
static inline const char *fixture(const char *name)
{
	static char paths[4][512];
	static unsigned next;
	const char *dir = getenv("UNIT_FIXTURES");
	char *path = paths[next++ % 4];

	if (!dir)
		skip();
	snprintf(path, sizeof(paths[0]), "%s/%s", dir ? dir : "", name);
	return path;
}

/* A file of our own in the fixtures' directory with these bytes. */
static inline const char *make_file(const char *name, const void *bytes, size_t n)
{
	const char *path = fixture(name);
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
	return path;
}

/* The bytes of a fixture; caller frees. */
static inline unsigned char *fixture_bytes(const char *name, size_t *ret_n)
{
	FILE *f = fopen(fixture(name), "rb");
	unsigned char *bytes = malloc(4u << 20);

	assert_non_null(f);
	assert_non_null(bytes);
	*ret_n = fread(bytes, 1, 4u << 20, f);
	fclose(f);
	return bytes;
}

static inline struct fsc_elf *open_fixture(const char *name, const char *root)
{
	struct fsc_err err = {0};
	struct fsc_elf *e = NULL;

	assert_int_equal(fsc_elf_open(fixture(name), root, &e, &err), 0);
	assert_int_equal(err.code, 0);
	return e;
}

/* The first symbol of that name (and version, if not NULL), NULL if there is none. */
static inline const struct fsc_sym *find_symbol(struct fsc_elf *e, const char *name,
						const char *version)
{
	const struct fsc_sym *s = NULL;
	struct fsc_err err = {0};
	size_t n = 0;

	assert_int_equal(fsc_elf_symbols(e, &s, &n, &err), 0);
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(s[i].name, name) &&
		    (!version || (s[i].version && !strcmp(s[i].version, version))))
			return &s[i];
	}
	return NULL;
}

#endif
