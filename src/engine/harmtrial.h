/* Whether probed instructions behave as usual on this kernel: the short form of tests/harm. */
#ifndef FSC_ENGINE_HARMTRIAL_H
#define FSC_ENGINE_HARMTRIAL_H

#include <stddef.h>

/* A trial of hazards.h. In a child it executes representative instructions with and without a probe
 * and compares. 0: all that funcscope would probe behave; why has the counts. */
int fsc_harm_trial(char *why, size_t n);

#endif
