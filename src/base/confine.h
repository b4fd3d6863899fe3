/* Giving up rights, before running code that malicious input may take over. */
#ifndef FSC_BASE_CONFINE_H
#define FSC_BASE_CONFINE_H

/* Drops all capabilities, user and groups, and all system calls but those that read files, manage
 * memory and write to open descriptors. The process dies with its parent. Cannot be undone, so call
 * it in a child. A step that fails is skipped; the others are still taken. */
void fsc_confine(void);

#endif
