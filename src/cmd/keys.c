/* The words of --by. */
#include "cmd/keys.h"

#include <string.h>

#include "base/str.h"

enum { MOST_KEYS = 1 << 24 };

const struct fsc_opt fsc_keys_opts[] = {
    {'b', "by", FSC_OPT_LIST, offsetof(struct fsc_keys, by), "KEYS",
     "also group by: comm, pid, tid, cpu, cgroup", NULL},
    {0, "max-keys", FSC_OPT_UINT, offsetof(struct fsc_keys, max_keys), "N",
     "maximum number of different keys", NULL},
    {0},
};

static const struct {
	const char *name;
	uint32_t bit;
} keys[] = {
    {"function", 0},	 {"comm", FSC_BY_COMM}, {"pid", FSC_BY_PID},
    {"tid", FSC_BY_TID}, {"cpu", FSC_BY_CPU},	{"cgroup", FSC_BY_CGROUP},
};

static int parse_key(const char *text, size_t n, void *arg, struct fsc_err *err)
{
	uint32_t *by = arg;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strlen(keys[i].name) == n && !strncmp(keys[i].name, text, n)) {
			*by |= keys[i].bit;
			return 0;
		}
	return fsc_err_usage(err, "--by takes function, comm, pid, tid, cpu or cgroup, not '%.*s'",
			     (int)n, text);
}

int fsc_keys_parse(const struct fsc_keys *k, struct fsc_session_opts *ret, struct fsc_err *err)
{
	if (!k->max_keys || k->max_keys > MOST_KEYS)
		return fsc_err_usage(err, "--max-keys takes 1 to %d", MOST_KEYS);
	ret->max_keys = k->max_keys;
	return fsc_str_each(&k->by, parse_key, &ret->by, err);
}
