/* Code that changes to another stack by itself, as coroutines written in assembler do: it stores
 * the stack pointer somewhere and takes another one, within a few instructions. */
#ifndef FSC_PROBE_SWITCHES_H
#define FSC_PROBE_SWITCHES_H

#include "elf/elf.h"

/* Whether the bytes contain such code. Data that looks like it counts, too. */
bool fsc_switches_code(const uint8_t *code, size_t n);
/* The same of a file's executable segments; false also if they cannot be read. */
bool fsc_switches_file(const struct fsc_elf *e);

#endif
