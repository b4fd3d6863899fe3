/* dlopen(), with a reason where it fails. */
#include "web/library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int sees_loader(struct dl_phdr_info *info, size_t size, void *arg)
{
	bool *found = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_INTERP)
			*found = true;
	return 1; /* the first one is the program */
}

/* Never unloaded: TLS libraries do not support that well. */
static void *open_library(const char *name, char *why, size_t size)
{
	bool dynamic = false;
	void *lib;

	dl_iterate_phdr(sees_loader, &dynamic);
	if (!dynamic) {
		snprintf(why, size, "a static program cannot load");
		return NULL;
	}
	lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		snprintf(why, size, "cannot be loaded here (%.100s)", dlerror());
	return lib;
}

int fsc_library_load(const char *name, const struct fsc_library_symbol *symbols, size_t n,
		     char *why, size_t size)
{
	void *lib = open_library(name, why, size);

	for (size_t i = 0; lib && i < n; i++) {
		void *at = dlsym(lib, symbols[i].name);

		if (!at) {
			snprintf(why, size, "has no %s here", symbols[i].name);
			return -1;
		}
		memcpy(symbols[i].to, &at, sizeof(at));
	}
	return lib ? 0 : -1;
}
