/* The manual pages as text; the table is made at build time from docs/man. */
#ifndef FSC_CMD_PAGES_H
#define FSC_CMD_PAGES_H

struct fsc_page {
	const char *name, *text;
};

/* Ended by a NULL name. */
extern const struct fsc_page fsc_pages[];

#endif
