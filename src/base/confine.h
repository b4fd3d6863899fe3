/* Giving up rights, before code runs that may be taken over by what it reads. */
#ifndef FSC_BASE_CONFINE_H
#define FSC_BASE_CONFINE_H

/* From here on the process is nobody: no capability, no user and group of its own, and of the
 * system calls only those that read files it may read, manage its memory and write to what is
 * open. It ends with its parent. For good, so in a child. What the machine does not let us give up
 * stays; the rest is given up all the same. */
void fsc_confine(void);

#endif
