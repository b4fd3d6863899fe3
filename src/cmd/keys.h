/* What results are kept by besides the function: shared by count and time. */
#ifndef FSC_CMD_KEYS_H
#define FSC_CMD_KEYS_H

#include "base/vec.h"
#include "engine/session.h"

struct fsc_keys {
	struct fsc_vec by; /* const char * */
	unsigned max_keys;
};

#define FSC_KEYS_INIT(most)                                                                        \
	{                                                                                          \
		.by = FSC_VEC_INIT(const char *), .max_keys = (most)                               \
	}
/* Rows for an option table whose struct has a struct fsc_keys of that name. */
#define FSC_KEYS_OPTS(type, member)                                                                \
	{'b',	       "by",                                                                       \
	 FSC_OPT_LIST, offsetof(type, member.by),                                                  \
	 "KEYS",       "also by: comm, pid, tid, cpu, cgroup (comma between)",                     \
	 NULL},                                                                                    \
	{                                                                                          \
		0, "max-keys", FSC_OPT_UINT, offsetof(type, member.max_keys), "N",                 \
		    "room for so many different keys", NULL                                        \
	}

/* Reads them into the session's options; a usage error names what does not exist. */
int fsc_keys_parse(const struct fsc_keys *k, struct fsc_session_opts *ret, struct fsc_err *err);

#endif
