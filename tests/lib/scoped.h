/* libscoped.so and its kin, next to the program, as test_shared.c and test_loaded.c load them. */
#ifndef SCOPED_H
#define SCOPED_H

#include <dlfcn.h>
#include <limits.h>

#include "check.h"

struct scoped {
	void *lib;
	void (*work)(int n);
	int (*start)(void), (*clean_up)(void);
};

static inline void *scoped_symbol(void *lib, const char *name)
{
	void *p = dlsym(lib, name);

	CHECK(p);
	return p;
}

static inline struct scoped scoped_load(const char *name)
{
	char path[PATH_MAX];
	struct scoped s;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 64);

	CHECK(n > 0);
	path[n] = '\0';
	strcpy(strrchr(path, '/') + 1, name);
	s.lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!s.lib)
		check_fail(__FILE__, __LINE__, "%s", dlerror());
	*(void **)&s.work = scoped_symbol(s.lib, "scoped_work");
	*(void **)&s.start = scoped_symbol(s.lib, "scoped_start");
	*(void **)&s.clean_up = scoped_symbol(s.lib, "scoped_clean_up");
	return s;
}

#endif
