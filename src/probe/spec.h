/* A probe as typed, parsed. Text only: no file is opened here. */
#ifndef FSC_PROBE_SPEC_H
#define FSC_PROBE_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct fsc_kind;

struct fsc_spec {
	const struct fsc_kind *kind;
	char *text;   /* as typed, for messages */
	char *binary; /* library, program or kernel module; "" for the process's own; NULL: none */
	char *group;  /* tracepoint category or USDT provider; NULL: any */
	char *function; /* name, glob or expression; NULL for FILE:LINE */
	char *file;	/* of FILE:LINE, else NULL */
	unsigned line;
	bool own;	  /* a process or command is given that a bare name can be meant for */
	uint64_t offset;  /* behind the function's start */
	uint64_t address; /* of a place that has no other name, as in the file's symbols; 0: none */
};

/* Parses one probe. regex: the name part is a regular expression, in which '+' and ':' mean nothing
 * to us. own: a process or command is given, so that a bare name can be meant for it. The caller
 * owns what ret holds (fsc_spec_release); errors are usage errors. */
int fsc_spec_parse(const char *text, bool regex, bool own, struct fsc_spec *ret,
		   struct fsc_err *err);
void fsc_spec_release(struct fsc_spec *s);

#endif
