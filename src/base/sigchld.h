/* SIGCHLD may have been inherited as ignored; then the kernel keeps no exit status of our children.
 * It is a disposition of the process, so this is, too. */
#ifndef FSC_BASE_SIGCHLD_H
#define FSC_BASE_SIGCHLD_H

/* At the start: our children are to be waited for. */
void fsc_sigchld_claim(void);
/* In a child that is about to exec: as it was inherited. */
void fsc_sigchld_give_back(void);

#endif
