/* Which container, pod and systemd unit a process belongs to, by the path of its control group:
 * docker, containerd, CRI-O, podman, LXC and Kubernetes with either cgroup driver. Nothing is asked
 * of a runtime. */
#ifndef FSC_PROC_CGROUP_NAMES_H
#define FSC_PROC_CGROUP_NAMES_H

#include <stdbool.h>
#include <sys/types.h>

enum {
	FSC_CGROUP_VALUE = 256,	  /* the longest value, with its NUL */
	FSC_CGROUP_CONTAINER = 12 /* digits of a container's id that are shown */
};

/* "" for what the path does not tell. */
struct fsc_cgroup_names {
	char container[FSC_CGROUP_VALUE]; /* the first digits of its id; LXC: its name */
	char pod[FSC_CGROUP_VALUE];  /* Kubernetes: its uid; podman: the first digits of its id */
	char unit[FSC_CGROUP_VALUE]; /* the innermost service or scope, inside the container if
					there is one */
	char path[FSC_CGROUP_VALUE]; /* below the root of cgroups; a longer one: "..." and its end
				      */
};

/* The names in a path. */
void fsc_cgroup_names_of(const char *path, struct fsc_cgroup_names *ret);
/* The names in the text of a /proc/PID/cgroup: of the hierarchies it lists, the one whose path
 * tells most, version 2 before systemd's own before others. */
void fsc_cgroup_names_parse(const char *text, struct fsc_cgroup_names *ret);
/* Of a process. False: it has exited, or cannot be read. */
bool fsc_cgroup_names_read(pid_t pid, struct fsc_cgroup_names *ret);

#endif
