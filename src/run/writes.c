#include "run/writes.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"

struct fsc_watched {
	int wd; /* the same for all tags of a file */
	const void *tag;
};

static struct fsc_watched *watched_at(const struct fsc_writes *w, size_t i)
{
	return FSC_AT(struct fsc_watched, &w->watched, i);
}

void fsc_writes_open(struct fsc_writes *w)
{
	w->watched = FSC_VEC_INIT(struct fsc_watched);
	w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->fd < 0)
		fsc_log(FSC_LOG_DEBUG, "writes to the probed files will not be noticed: %s",
			strerror(errno));
}

void fsc_writes_close(struct fsc_writes *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
	fsc_vec_release(&w->watched);
}

/* A file that is only opened for writing, as touch does, is not changed. */
void fsc_writes_watch(struct fsc_writes *w, const char *path, const void *tag)
{
	struct fsc_watched x = {.wd = -1, .tag = tag};
	const char *why = "there are too many";

	if (w->fd < 0)
		return;
	if (w->watched.n < FSC_MOST_WATCHED_FILES) {
		x.wd = inotify_add_watch(w->fd, path, IN_MODIFY);
		why = strerror(errno);
	}
	if (x.wd < 0)
		fsc_log(FSC_LOG_DEBUG, "writes to %s will not be noticed: %s", path, why);
	else if (fsc_vec_add(&w->watched, &x, NULL))
		inotify_rm_watch(w->fd, x.wd);
}

static bool is_watched(const struct fsc_writes *w, int wd)
{
	for (size_t i = 0; i < w->watched.n; i++)
		if (watched_at(w, i)->wd == wd)
			return true;
	return false;
}

static void forget_watched(struct fsc_writes *w, size_t i)
{
	const int wd = watched_at(w, i)->wd;

	*watched_at(w, i) = *watched_at(w, --w->watched.n);
	if (!is_watched(w, wd))
		inotify_rm_watch(w->fd, wd); /* fails if the file is gone */
}

void fsc_writes_unwatch(struct fsc_writes *w, const void *tag)
{
	for (size_t i = w->watched.n; i-- > 0;)
		if (watched_at(w, i)->tag == tag)
			forget_watched(w, i);
}

static void note_written(struct fsc_writes *w, int wd, void (*fn)(const void *tag, void *arg),
			 void *arg)
{
	for (size_t i = w->watched.n; i-- > 0;) {
		const void *tag = i < w->watched.n ? watched_at(w, i)->tag : NULL;

		if (!tag || watched_at(w, i)->wd != wd)
			continue;
		forget_watched(w, i);
		fn(tag, arg);
	}
}

void fsc_writes_read(struct fsc_writes *w, void (*fn)(const void *tag, void *arg), void *arg)
{
	_Alignas(struct inotify_event) char events[4096];
	ssize_t size;

	while (w->fd >= 0 && (size = read(w->fd, events, sizeof(events))) > 0)
		for (ssize_t at = 0; at < size;) {
			const struct inotify_event *e = (const void *)(events + at);

			at += (ssize_t)(sizeof(*e) + e->len);
			if (e->mask & IN_MODIFY)
				note_written(w, e->wd, fn, arg);
		}
}
