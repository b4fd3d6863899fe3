/* What results are grouped by besides the function: shared by count and time. */
#ifndef FSC_CMD_KEYS_H
#define FSC_CMD_KEYS_H

#include "base/opt.h"
#include "base/vec.h"
#include "engine/session.h"

struct fsc_keys {
	struct fsc_vec by; /* const char * */
	unsigned max_keys;
};

/* Their rows: values go to a struct fsc_keys. */
extern const struct fsc_opt fsc_keys_opts[];

/* Reads them into the session's options; a usage error names what does not exist. */
int fsc_keys_parse(const struct fsc_keys *k, struct fsc_session_opts *ret, struct fsc_err *err);

#endif
