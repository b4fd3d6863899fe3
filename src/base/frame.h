/* One function on a stack: from symbols and debug information, in stacks and in output. The
 * provider owns the strings. */
#ifndef FSC_BASE_FRAME_H
#define FSC_BASE_FRAME_H

#include <stdbool.h>
#include <stdint.h>

struct fsc_frame {
	const char *name;   /* demangled; "[unknown]" where unknown */
	const char *binary; /* "kernel", a module, or the file as its process sees it; "" */
	const char *file;   /* source, NULL where not known */
	unsigned line;	    /* 0: not known */
	uint64_t offset;    /* into the function; unknown: into the binary, or else the address */
	bool kernel, inlined, unknown;
};

#endif
