/* Whether uprobes on this kernel leave instructions alone: the short form of tests/harm. */
#ifndef FSC_ENGINE_HARMTRIAL_H
#define FSC_ENGINE_HARMTRIAL_H

#include <stddef.h>

/* A trial of hazards.h. In a child it executes representative instructions with and without a
 * probe and compares. 0: all that funcscope would attach to behave; why has the numbers. */
int fsc_harm_trial(char *why, size_t n);

#endif
