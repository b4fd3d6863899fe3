/* The table of probe kinds. */
#include "probe/kind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct fsc_kind *const fsc_kinds[] = {
    &fsc_kind_kprobe,
    &fsc_kind_kretprobe,
    &fsc_kind_uprobe,
    &fsc_kind_uretprobe,
    &fsc_kind_tracepoint,
    &fsc_kind_usdt,
    NULL,
};

char *fsc_kind_next_colon(char *s)
{
	for (; *s; s++) {
		if (*s == '\\' && s[1])
			s++;
		else if (*s == ':')
			return s;
	}
	return NULL;
}

void fsc_kind_split_offset(char *text, uint64_t *ret)
{
	char *plus = strrchr(text, '+'), *end;
	uint64_t v;

	*ret = 0;
	if (!plus || plus == text || !strchr("0123456789", plus[1]) || !plus[1])
		return;
	errno = 0;
	v = strtoull(plus + 1, &end, 0);
	if (*end || errno)
		return;
	*plus = '\0';
	*ret = v;
}
