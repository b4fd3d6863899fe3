/* Components of a cgroup's path, from the outermost to the innermost: a container inside a
 * container replaces the outer one, and what is below a container belongs to it. */
#include "proc/cgroup_names.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proc/task.h"

enum {
	ID = 64,      /* digits of a container's id */
	UID = 36,     /* of a pod's, with dashes */
	UID_HASH = 32 /* of a static pod's */
};

static const char deleted[] = " (deleted)";

/* A part of a path. */
struct word {
	const char *s;
	size_t n;
};

static bool word_begins(struct word w, const char *with)
{
	return w.n >= strlen(with) && !strncmp(w.s, with, strlen(with));
}

static bool word_ends(struct word w, const char *with)
{
	const size_t n = strlen(with);

	return w.n > n && !strncmp(w.s + w.n - n, with, n);
}

static struct word word_behind(struct word w, size_t n)
{
	return (struct word){w.s + n, w.n - n};
}

static size_t count_hex(struct word w)
{
	size_t n = 0;

	while (n < w.n && isxdigit((unsigned char)w.s[n]))
		n++;
	return n;
}

static void copy_word(struct word w, char to[FSC_CGROUP_VALUE])
{
	snprintf(to, FSC_CGROUP_VALUE, "%.*s", (int)w.n, w.s);
}

/* ---- containers ---- */

/* The id at the end of "docker-ID.scope", "cri-containerd-ID.scope", "libpod-ID", "...:crio:ID" or
 * "ID". */
static bool find_id(struct word w, struct word *ret)
{
	if (word_ends(w, ".scope"))
		w.n -= strlen(".scope");
	if (w.n < ID || (w.n > ID && w.s[w.n - ID - 1] != '-' && w.s[w.n - ID - 1] != ':'))
		return false;
	*ret = (struct word){w.s + w.n - ID, ID};
	return count_hex(*ret) == ID;
}

/* conmon is the runtime's own process beside a container. */
static bool is_conmon(struct word w)
{
	return word_begins(w, "libpod-conmon-") || word_begins(w, "crio-conmon-");
}

static bool read_container(struct word w, struct fsc_cgroup_names *ret)
{
	static const char lxc[] = "lxc.payload.";
	struct word id;

	if (word_begins(w, lxc) && w.n > strlen(lxc)) {
		copy_word(word_behind(w, strlen(lxc)), ret->container);
		return true;
	}
	if (is_conmon(w) || !find_id(w, &id))
		return false;
	id.n = FSC_CGROUP_CONTAINER;
	copy_word(id, ret->container);
	return true;
}

/* ---- pods ---- */

static size_t length_of_uid(struct word w)
{
	size_t n = 0;

	while (n < w.n && (isxdigit((unsigned char)w.s[n]) || w.s[n] == '-' || w.s[n] == '_'))
		n++;
	if (n == UID_HASH)
		return count_hex(w) == n ? n : 0;
	return n == UID ? n : 0;
}

/* systemd's names cannot have the dashes. */
static void copy_uid(struct word w, char to[FSC_CGROUP_VALUE])
{
	copy_word(w, to);
	for (char *c = to; *c; c++)
		*c = *c == '_' ? '-' : *c;
}

/* "podUID" of the driver cgroupfs, "kubepods-burstable-podUID.slice" of systemd's. */
static bool read_pod(struct word w, struct fsc_cgroup_names *ret)
{
	static const char podman[] = "machine-libpod_pod_";

	if (word_begins(w, podman) && count_hex(word_behind(w, strlen(podman))) == ID) {
		copy_word((struct word){w.s + strlen(podman), FSC_CGROUP_CONTAINER}, ret->pod);
		return true;
	}
	for (size_t i = 0; i + 3 < w.n; i++) {
		const struct word uid = word_behind(w, i + 3);
		const size_t n = strncmp(w.s + i, "pod", 3) ? 0 : length_of_uid(uid);

		if (!n || (i && w.s[i - 1] != '-'))
			continue;
		copy_uid((struct word){uid.s, n}, ret->pod);
		return true;
	}
	return false;
}

/* ---- a path ---- */

static bool is_unit(struct word w)
{
	return word_ends(w, ".service") || word_ends(w, ".scope");
}

static void read_word(struct word w, struct fsc_cgroup_names *ret)
{
	read_pod(w, ret);
	if (read_container(w, ret))
		ret->unit[0] = '\0'; /* what follows is inside */
	else if (is_unit(w))
		copy_word(w, ret->unit);
}

/* The end of a path tells more than its beginning. */
static void copy_path(struct word w, char to[FSC_CGROUP_VALUE])
{
	if (w.n < FSC_CGROUP_VALUE)
		copy_word(w, to);
	else
		snprintf(to, FSC_CGROUP_VALUE, "...%.*s", FSC_CGROUP_VALUE - 4,
			 w.s + w.n - (FSC_CGROUP_VALUE - 4));
}

static void read_path(struct word path, struct fsc_cgroup_names *ret)
{
	*ret = (struct fsc_cgroup_names){0};
	if (word_ends(path, deleted))
		path.n -= strlen(deleted);
	copy_path(path, ret->path);
	while (path.n) {
		const char *slash = memchr(path.s, '/', path.n);
		const struct word w = {path.s, slash ? (size_t)(slash - path.s) : path.n};

		read_word(w, ret);
		path = word_behind(path, slash ? w.n + 1 : w.n);
	}
}

void fsc_cgroup_names_of(const char *path, struct fsc_cgroup_names *ret)
{
	read_path((struct word){path, strlen(path)}, ret);
}

/* ---- /proc/PID/cgroup ---- */

/* How much a line tells. On hosts with both versions a container may be in the hierarchies of
 * version 1 alone. */
static int rank_names(const struct fsc_cgroup_names *n, struct word controllers)
{
	const bool v2 = !controllers.n, own = word_begins(controllers, "name=systemd");

	return 32 * (n->container[0] != '\0') + 16 * (n->pod[0] != '\0') +
	       8 * (n->unit[0] != '\0') + 4 * (strcmp(n->path, "/") != 0) + (v2 ? 2 : own);
}

/* A line is "NUMBER:CONTROLLERS:PATH". */
static bool split_line(struct word line, struct word *ret_controllers, struct word *ret_path)
{
	const char *first = memchr(line.s, ':', line.n);
	const struct word rest = first ? word_behind(line, (size_t)(first + 1 - line.s)) : line;
	const char *second = first ? memchr(rest.s, ':', rest.n) : NULL;

	if (!second)
		return false;
	*ret_controllers = (struct word){rest.s, (size_t)(second - rest.s)};
	*ret_path = word_behind(rest, ret_controllers->n + 1);
	return true;
}

void fsc_cgroup_names_parse(const char *text, struct fsc_cgroup_names *ret)
{
	struct word controllers, path;
	struct fsc_cgroup_names n;
	int best = -1;

	*ret = (struct fsc_cgroup_names){0};
	for (size_t length; *text; text += length + (text[length] == '\n')) {
		length = strcspn(text, "\n");
		if (!split_line((struct word){text, length}, &controllers, &path))
			continue;
		read_path(path, &n);
		if (rank_names(&n, controllers) <= best)
			continue;
		best = rank_names(&n, controllers);
		*ret = n;
	}
}

bool fsc_cgroup_names_read(pid_t pid, struct fsc_cgroup_names *ret)
{
	char text[16384]; /* a dozen hierarchies, each with a path */

	fsc_task_read(pid, "cgroup", text, sizeof(text));
	fsc_cgroup_names_parse(text, ret);
	return text[0];
}
