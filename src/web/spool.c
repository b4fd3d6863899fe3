/* One list, in order of arrival; each entry is in memory or in a file, wherever there was room. An
 * entry is queued, marked as being written, before its bytes are copied: that keeps the order, and
 * the lock is never held during I/O. */
#include "web/spool.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "web/spooldir.h"

enum place { NOWHERE, MEMORY, DISK };

struct entry {
	TAILQ_ENTRY(entry) link;
	uint64_t seq, cost;
	enum place place;
	bool writing;		 /* its bytes are not stored yet */
	bool lent;		 /* being sent */
	const char *path, *type; /* behind it, in the same allocation; of a file: in the file */
	void *body;		 /* in memory */
	size_t n;
};

TAILQ_HEAD(entries, entry);

struct fsc_spool {
	pthread_mutex_t lock;
	struct entries entries;
	struct fsc_spooldir dir;
	size_t memory;
	uint64_t disk, used[DISK + 1], next_seq;
	bool closed;
	struct fsc_spool_counts counts;
};

/* ---- the list; under the lock ---- */

static void append_entry(struct fsc_spool *s, struct entry *e)
{
	TAILQ_INSERT_TAIL(&s->entries, e, link);
	s->used[e->place] += e->cost;
	s->counts.queued++;
	s->counts.queued_bytes += e->n;
}

static void remove_entry(struct fsc_spool *s, struct entry *e)
{
	TAILQ_REMOVE(&s->entries, e, link);
	s->used[e->place] -= e->cost;
	s->counts.queued--;
	s->counts.queued_bytes -= e->n;
}

/* Moves the oldest entry of a useful place to the dropped ones; false: there is none. */
static bool drop_oldest(struct fsc_spool *s, const bool *useful, struct entries *dropped)
{
	struct entry *e;

	TAILQ_FOREACH(e, &s->entries, link)
	{
		if (e->writing || e->lent || !useful[e->place])
			continue;
		remove_entry(s, e);
		s->counts.dropped++;
		TAILQ_INSERT_TAIL(dropped, e, link);
		return true;
	}
	return false;
}

static bool fits_in(const struct fsc_spool *s, enum place where, uint64_t cost)
{
	return s->used[where] + cost <= (where == MEMORY ? s->memory : s->disk);
}

/* Finds room for an entry, dropping old ones, and queues it. */
static void place_entry(struct fsc_spool *s, struct entry *e, struct entries *dropped)
{
	const uint64_t costs[] = {
	    [MEMORY] = sizeof(*e) + e->n, [DISK] = fsc_spooldir_cost(e->path, e->type, e->n)};
	const bool useful[] = {[MEMORY] = costs[MEMORY] <= s->memory,
			       [DISK] = s->dir.fd >= 0 && costs[DISK] <= s->disk};

	while (!s->closed && e->place == NOWHERE) {
		if (useful[MEMORY] && fits_in(s, MEMORY, costs[MEMORY]))
			e->place = MEMORY;
		else if (useful[DISK] && fits_in(s, DISK, costs[DISK]))
			e->place = DISK;
		else if (!drop_oldest(s, useful, dropped))
			break;
	}
	if (e->place == NOWHERE) {
		s->counts.dropped++;
		return;
	}
	e->cost = costs[e->place];
	e->seq = s->next_seq++;
	e->writing = true;
	append_entry(s, e);
}

/* ---- entries; without the lock ---- */

static void discard_entry(const struct fsc_spool *s, struct entry *e)
{
	if (e->place == DISK)
		fsc_spooldir_remove(&s->dir, e->seq);
	free(e->body);
	free(e);
}

static void discard_list(const struct fsc_spool *s, struct entries *list)
{
	struct entry *e;

	while ((e = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, e, link);
		discard_entry(s, e);
	}
}

static int store_body(const struct fsc_spool *s, struct entry *e, const void *body,
		      struct fsc_err *err)
{
	if (e->place == DISK)
		return fsc_spooldir_write(&s->dir, e->seq, e->path, e->type, body, e->n, err);
	e->body = malloc(e->n + 1);
	if (!e->body)
		return fsc_err_nomem(err);
	if (e->n)
		memcpy(e->body, body, e->n);
	return 0;
}

/* ---- putting ---- */

static int put_entry(struct fsc_spool *s, struct entry *e, const void *body, struct fsc_err *err)
{
	struct entries dropped = TAILQ_HEAD_INITIALIZER(dropped);
	size_t n = e->n;
	int rc;

	pthread_mutex_lock(&s->lock);
	s->counts.put++;
	place_entry(s, e, &dropped);
	pthread_mutex_unlock(&s->lock);
	discard_list(s, &dropped);
	if (e->place == NOWHERE) {
		free(e);
		return fsc_err_set(err, ENOSPC, "the spool has no room for a message of %zu bytes",
				   n);
	}
	rc = store_body(s, e, body, err);
	pthread_mutex_lock(&s->lock);
	e->writing = false;
	if (rc) {
		remove_entry(s, e);
		s->counts.dropped++;
	}
	pthread_mutex_unlock(&s->lock);
	if (rc)
		discard_entry(s, e);
	return rc;
}

/* NULL when memory is out. */
static struct entry *new_entry(const char *path, const char *type, size_t n)
{
	struct entry *e = calloc(1, sizeof(*e) + strlen(path) + strlen(type) + 2);
	char *text = (char *)(e + 1);

	if (!e)
		return NULL;
	*e = (struct entry){.path = text, .n = n};
	e->type = stpcpy(text, path) + 1;
	memcpy(text + strlen(path) + 1, type, strlen(type) + 1);
	return e;
}

int fsc_spool_put(struct fsc_spool *s, const char *path, const char *type, const void *body,
		  size_t n, struct fsc_err *err)
{
	struct entry *e = new_entry(path, type, n);

	if (e)
		return put_entry(s, e, body, err);
	pthread_mutex_lock(&s->lock);
	s->counts.put++;
	s->counts.dropped++;
	pthread_mutex_unlock(&s->lock);
	return fsc_err_nomem(err);
}

/* ---- taking ---- */

bool fsc_spool_ready(struct fsc_spool *s)
{
	const struct entry *e;
	bool ready;

	pthread_mutex_lock(&s->lock);
	e = TAILQ_FIRST(&s->entries);
	ready = e && !e->writing && !s->closed;
	pthread_mutex_unlock(&s->lock);
	return ready;
}

static struct entry *lend_entry(struct fsc_spool *s)
{
	struct entry *e;

	pthread_mutex_lock(&s->lock);
	e = TAILQ_FIRST(&s->entries);
	if (e && (e->writing || s->closed))
		e = NULL;
	if (e)
		e->lent = true;
	pthread_mutex_unlock(&s->lock);
	return e;
}

static void return_entry(struct fsc_spool *s, struct entry *e, bool remove, uint64_t *count)
{
	pthread_mutex_lock(&s->lock);
	e->lent = false;
	if (remove) {
		remove_entry(s, e);
		(*count)++;
	}
	pthread_mutex_unlock(&s->lock);
	if (remove)
		discard_entry(s, e);
}

static int load_message(struct fsc_spool *s, struct entry *e, struct fsc_spool_msg *ret,
			struct fsc_err *err)
{
	struct fsc_spooled f;
	int rc;

	*ret = (struct fsc_spool_msg){
	    .path = e->path, .type = e->type, .body = e->body, .n = e->n, .entry = e};
	if (e->place == MEMORY)
		return 0;
	rc = fsc_spooldir_read(&s->dir, e->seq, &f, err);
	if (rc)
		return rc;
	ret->path = f.path;
	ret->type = f.type;
	ret->body = f.body;
	ret->n = f.n;
	ret->owned = f.path;
	return 0;
}

int fsc_spool_take(struct fsc_spool *s, struct fsc_spool_msg *ret, struct fsc_err *err)
{
	struct entry *e;

	while ((e = lend_entry(s))) {
		int rc = load_message(s, e, ret, err);

		if (!rc)
			return 1;
		return_entry(s, e, rc == -EBADMSG, &s->counts.dropped);
		if (rc != -EBADMSG)
			return rc;
	}
	return 0;
}

void fsc_spool_done(struct fsc_spool *s, struct fsc_spool_msg *msg, bool gone)
{
	return_entry(s, msg->entry, gone, &s->counts.gone);
	free(msg->owned);
	*msg = (struct fsc_spool_msg){0};
}

/* ---- life ---- */

static int note_file(uint64_t seq, size_t n, uint64_t cost, void *arg)
{
	struct entry **e = fsc_vec_push(arg);

	if (e)
		*e = calloc(1, sizeof(**e));
	if (!e || !*e)
		return -ENOMEM;
	**e = (struct entry){.seq = seq, .n = n, .cost = cost, .place = DISK};
	return 0;
}

static int by_seq(const void *a, const void *b)
{
	uint64_t x = (*(struct entry *const *)a)->seq, y = (*(struct entry *const *)b)->seq;

	return x < y ? -1 : x > y;
}

/* Queues the files in order, and drops the oldest if the limit is lower than it used to be. */
static void queue_files(struct fsc_spool *s, struct fsc_vec *files)
{
	const bool useful[] = {[DISK] = true};
	struct entries dropped = TAILQ_HEAD_INITIALIZER(dropped);

	if (files->n)
		qsort(files->data, files->n, files->size, by_seq);
	for (size_t i = 0; i < files->n; i++) {
		struct entry *e = *FSC_AT(struct entry *, files, i);

		append_entry(s, e);
		s->next_seq = e->seq + 1;
		s->counts.taken_over++;
	}
	while (s->used[DISK] > s->disk && drop_oldest(s, useful, &dropped))
		;
	discard_list(s, &dropped);
}

static int load_directory(struct fsc_spool *s, struct fsc_err *err)
{
	struct fsc_vec files = FSC_VEC_INIT(struct entry *);
	uint64_t bad = 0;
	int rc = fsc_spooldir_each(&s->dir, note_file, &files, &bad, err);

	s->counts.taken_over += bad;
	s->counts.dropped += bad;
	if (!rc)
		queue_files(s, &files);
	for (size_t i = 0; rc && i < files.n; i++)
		free(*FSC_AT(struct entry *, &files, i));
	fsc_vec_release(&files);
	return rc == -ENOMEM ? fsc_err_nomem(err) : rc;
}

static void spool_freep(struct fsc_spool **s)
{
	fsc_spool_free(*s);
}

int fsc_spool_new(const struct fsc_spool_opts *opts, struct fsc_spool **ret, struct fsc_err *err)
{
	FSC_AUTO(spool_freep) struct fsc_spool *s = calloc(1, sizeof(*s));
	int rc = 0;

	if (!s)
		return fsc_err_nomem(err);
	pthread_mutex_init(&s->lock, NULL);
	TAILQ_INIT(&s->entries);
	s->dir = FSC_SPOOLDIR_NONE;
	s->memory = opts->memory;
	s->disk = opts->disk;
	s->next_seq = 1;
	if (opts->directory) {
		rc = fsc_spooldir_open(opts->directory, opts->name, &s->dir, err);
		rc = rc ? rc : load_directory(s, err);
	}
	if (rc)
		return rc;
	*ret = fsc_take(&s);
	return 0;
}

void fsc_spool_free(struct fsc_spool *s)
{
	struct entry *e;

	if (!s)
		return;
	while ((e = TAILQ_FIRST(&s->entries))) {
		TAILQ_REMOVE(&s->entries, e, link);
		free(e->body);
		free(e);
	}
	fsc_spooldir_close(&s->dir);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static bool move_to_disk(struct fsc_spool *s, struct entry *e)
{
	uint64_t cost = fsc_spooldir_cost(e->path, e->type, e->n);

	if (s->dir.fd < 0 || !fits_in(s, DISK, cost) ||
	    fsc_spooldir_write(&s->dir, e->seq, e->path, e->type, e->body, e->n, NULL))
		return false;
	free(fsc_take(&e->body));
	pthread_mutex_lock(&s->lock);
	s->used[MEMORY] -= e->cost;
	s->used[DISK] += cost;
	e->place = DISK;
	e->cost = cost;
	pthread_mutex_unlock(&s->lock);
	return true;
}

void fsc_spool_close(struct fsc_spool *s)
{
	struct entry *e, *older;

	pthread_mutex_lock(&s->lock);
	s->closed = true;
	pthread_mutex_unlock(&s->lock);
	/* The newest first: if not all fit, the oldest are dropped. */
	for (e = TAILQ_LAST(&s->entries, entries); e; e = older) {
		older = TAILQ_PREV(e, entries, link);
		if (e->place == MEMORY && !move_to_disk(s, e))
			return_entry(s, e, true, &s->counts.dropped);
	}
}

/* ---- other limits, another directory ---- */

/* The oldest entry in memory; NULL: none. */
static struct entry *oldest_in_memory(struct fsc_spool *s)
{
	struct entry *e;

	TAILQ_FOREACH(e, &s->entries, link)
	{
		if (e->place == MEMORY)
			return e;
	}
	return NULL;
}

void fsc_spool_limit(struct fsc_spool *s, size_t memory, uint64_t disk)
{
	const bool on_disk[] = {[DISK] = true};
	struct entries dropped = TAILQ_HEAD_INITIALIZER(dropped);
	struct entry *e;

	pthread_mutex_lock(&s->lock);
	s->memory = memory;
	s->disk = disk;
	while (s->used[DISK] > s->disk && drop_oldest(s, on_disk, &dropped))
		;
	pthread_mutex_unlock(&s->lock);
	discard_list(s, &dropped);
	while (s->used[MEMORY] > s->memory && (e = oldest_in_memory(s)))
		if (!move_to_disk(s, e))
			return_entry(s, e, true, &s->counts.dropped);
}

bool fsc_spool_is_in(const struct fsc_spool *s, const char *directory)
{
	struct stat have, other;

	if (!directory || s->dir.fd < 0)
		return !directory && s->dir.fd < 0;
	return !fstat(s->dir.fd, &have) && !lstat(directory, &other) &&
	       have.st_dev == other.st_dev && have.st_ino == other.st_ino;
}

void fsc_spool_move(struct fsc_spool *from, struct fsc_spool *to)
{
	struct fsc_spool_msg msg;

	while (fsc_spool_take(from, &msg, NULL) > 0) {
		fsc_spool_put(to, msg.path, msg.type, msg.body, msg.n, NULL);
		fsc_spool_done(from, &msg, true);
	}
}

void fsc_spool_counts(struct fsc_spool *s, struct fsc_spool_counts *ret)
{
	pthread_mutex_lock(&s->lock);
	*ret = s->counts;
	pthread_mutex_unlock(&s->lock);
}
