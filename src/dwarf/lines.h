/* Places in a program by source file and line. */
#ifndef FSC_DWARF_LINES_H
#define FSC_DWARF_LINES_H

#include "elf/elf.h"

/* File offsets of the statements of FILE:LINE (file by its last path components), one per place the
 * compiler put it; from the file's own DWARF or its separate debug file. -ENODATA: no debug
 * information at all; -EBADMSG: it is damaged; -ENOENT: there is, but not of that line (the hint
 * then names the nearest line with code). Works in a child process, up to a minute. The caller
 * frees *ret. */
int fsc_dwarf_line(struct fsc_elf *e, const char *file, unsigned line, uint64_t **ret,
		   size_t *ret_n, struct fsc_err *err);

#endif
