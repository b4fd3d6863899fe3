/* Labels of processes, from their cgroups. */
#include "monitor/process_labels.h"

#include <stddef.h>

#include "proc/cgroup_names.h"

const char *const fsc_label_names[FSC_LABELS + 1] = {"container", "pod", "cgroup", "unit", NULL};

static const size_t value_offsets[FSC_LABELS] = {
    offsetof(struct fsc_cgroup_names, container), offsetof(struct fsc_cgroup_names, pod),
    offsetof(struct fsc_cgroup_names, path), offsetof(struct fsc_cgroup_names, unit)};

bool fsc_process_labels(pid_t pid, unsigned which, struct fsc_buf *b)
{
	struct fsc_cgroup_names n;

	if (!fsc_cgroup_names_read(pid, &n))
		return false;
	for (size_t i = 0; i < FSC_LABELS; i++) {
		if (!(which & 1u << i))
			continue;
		fsc_buf_puts(b, (const char *)&n + value_offsets[i]);
		fsc_buf_putc(b, '\0');
	}
	return true;
}
