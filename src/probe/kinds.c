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

int fsc_kind_hint(const struct fsc_nearest *near, const char *prefix, const char *binary,
		  struct fsc_err *err)
{
	char text[540];

	fsc_nearest_text(near, text, sizeof(text));
	if (text[0])
		return fsc_err_hint(err, "did you mean %s?", text);
	return fsc_err_hint(err, "list them with: funcscope list '%s%s:*'", prefix, binary);
}
