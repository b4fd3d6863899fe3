/* Links are kept and dropped here; a batch that the kernel refuses is halved until the bad places
 * are found. */
#include "engine/attacher.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

struct fsc_link {
	int fd;
	uint32_t tag;
};

static bool is_helper(const struct fsc_link *l)
{
	return l->tag >= FSC_TAG_OWN;
}

static struct fsc_link *link_at(const struct fsc_attacher *a, size_t i)
{
	return FSC_AT(struct fsc_link, &a->links, i);
}

void fsc_attacher_init(struct fsc_attacher *a)
{
	*a = (struct fsc_attacher){.links = FSC_VEC_INIT(struct fsc_link),
				   .closers = FSC_VEC_INIT(pthread_t),
				   .droppers = FSC_VEC_INIT(pthread_t)};
}

int fsc_attacher_keep(struct fsc_attacher *a, int fd, uint32_t tag, struct fsc_err *err)
{
	struct fsc_link *l = fsc_vec_push(&a->links);

	if (!l) {
		close(fd);
		return fsc_err_nomem(err);
	}
	*l = (struct fsc_link){fd, tag};
	return 0;
}

/* ---- dropping ---- */

static uint64_t link_missed(const struct fsc_link *l)
{
	return is_helper(l) ? 0 : fsc_sys_link_missed(l->fd);
}

struct fsc_closing {
	struct fsc_attacher *of; /* NULL: of none, which cannot leave */
	struct fsc_closing *next;
	bool counted; /* among those dropping */
	size_t n;
	int fds[]; /* -1: closed */
};

static struct fsc_closing *new_closing(struct fsc_attacher *a)
{
	struct fsc_closing *c = calloc(1, sizeof(*c) + a->links.n * sizeof(int));

	if (c)
		c->of = a;
	return c;
}

/* One of several threads that share the descriptors. */
struct closer {
	pthread_t thread;
	int *fds;
	size_t first, n, step;
	const struct fsc_attacher *of;
};

static void *close_share(void *arg)
{
	const struct closer *c = arg;

	for (size_t i = c->first; i < c->n; i += c->step) {
		if (c->of && atomic_load(&c->of->leaving))
			break;
		close(c->fds[i]);
		c->fds[i] = -1;
	}
	return NULL;
}

/* The kernel removes a probe at once, and then close() waits for grace periods. On Linux 6.18 with
 * two busy CPUs that took 30 to 90 ms for a multi or session link and 60 to 150 ms for a perf
 * event, and three times 8 to 42 s, with other tracers active. Threads that wait at the same time
 * wait for the same grace periods. */
static void close_together(int *fds, size_t n_fds, const struct fsc_attacher *of)
{
	enum { MOST = 32 };
	struct closer closers[MOST];
	size_t n = n_fds < MOST ? n_fds : MOST, started = 1;

	for (size_t i = 0; i < n; i++)
		closers[i] =
		    (struct closer){.fds = fds, .first = i, .n = n_fds, .step = n, .of = of};
	while (started < n &&
	       !pthread_create(&closers[started].thread, NULL, close_share, &closers[started]))
		started++;
	for (size_t i = started; i < n; i++)
		close_share(&closers[i]);
	if (n)
		close_share(&closers[0]);
	for (size_t i = 1; i < started; i++)
		pthread_join(closers[i].thread, NULL);
}

static void *close_all(void *arg)
{
	struct fsc_closing *c = arg;
	struct fsc_attacher *a = c->of;
	bool counted = c->counted;

	close_together(c->fds, c->n, a);
	if (atomic_load(&a->leaving)) {
		c->next = atomic_load(&a->unclosed);
		while (!atomic_compare_exchange_weak(&a->unclosed, &c->next, c))
			;
	} else {
		free(c);
	}
	if (counted)
		atomic_fetch_sub(&a->dropping, 1);
	return NULL;
}

/* Signals are left to the main thread. */
static void close_in_background(struct fsc_vec *threads, struct fsc_closing *c)
{
	pthread_t *thread = fsc_vec_push(threads);
	pthread_attr_t attr;
	sigset_t all;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setsigmask_np(&attr, &all);
	if (!thread || pthread_create(thread, &attr, close_all, c)) {
		threads->n -= thread != NULL;
		close_all(c);
	}
	pthread_attr_destroy(&attr);
}

static void join_threads(struct fsc_vec *threads)
{
	for (size_t i = 0; i < threads->n; i++)
		pthread_join(*FSC_AT(pthread_t, threads, i), NULL);
	threads->n = 0;
}

static void put_fd(struct fsc_closing *c, int fd)
{
	if (c)
		c->fds[c->n++] = fd;
	else
		close(fd);
}

static bool has_tag(uint32_t tag, const void *arg)
{
	const uint32_t *wanted = arg;

	return *wanted == FSC_TAG_ALL || tag == *wanted;
}

/* Takes these links off the list: helpers to one, probes to the other. A link's missed
 * hits must be read before it is closed. Without memory for the lists they are closed at once. */
static void take_links(struct fsc_attacher *a, bool (*which)(uint32_t tag, const void *arg),
		       const void *arg, struct fsc_closing *helpers, struct fsc_closing *probes)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->links.n; i++) {
		const struct fsc_link *l = link_at(a, i);

		if (!which(l->tag, arg)) {
			*link_at(a, kept++) = *l;
			continue;
		}
		a->missed += link_missed(l);
		put_fd(is_helper(l) ? helpers : probes, l->fd);
	}
	a->links.n = kept;
}

void fsc_attacher_await(struct fsc_attacher *a)
{
	join_threads(&a->droppers);
}

/* Nothing waits for helpers: that would delay the start of a run. */
void fsc_attacher_drop(struct fsc_attacher *a, uint32_t tag)
{
	struct fsc_closing *helpers = new_closing(a), *probes = new_closing(a);

	take_links(a, has_tag, &tag, helpers, probes);
	if (helpers && helpers->n)
		close_in_background(&a->closers, helpers);
	else
		free(helpers);
	if (probes)
		close_all(probes);
	if (tag == FSC_TAG_ALL)
		fsc_attacher_await(a);
}

void fsc_attacher_drop_later(struct fsc_attacher *a, uint32_t tag)
{
	fsc_attacher_drop_which(a, has_tag, &tag);
}

void fsc_attacher_drop_which(struct fsc_attacher *a, bool (*which)(uint32_t tag, const void *arg),
			     const void *arg)
{
	struct fsc_closing *c = new_closing(a);

	if (!atomic_load(&a->dropping))
		fsc_attacher_await(a); /* they have ended */
	take_links(a, which, arg, c, c);
	if (!c)
		return;
	c->counted = true;
	atomic_fetch_add(&a->dropping, 1);
	close_in_background(&a->droppers, c);
}

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

void fsc_attacher_close(int *fds, size_t n)
{
	close_together(fds, n, NULL);
}

static size_t count_unclosed(const struct fsc_attacher *a)
{
	size_t n = 0;

	for (const struct fsc_closing *c = atomic_load(&a->unclosed); c; c = c->next)
		n += c->n;
	return n;
}

/* The threads have ended. */
static size_t take_unclosed(struct fsc_attacher *a, int *to)
{
	struct fsc_closing *c = atomic_exchange(&a->unclosed, NULL), *next;
	size_t n = 0;

	for (; c; c = next) {
		next = c->next;
		for (size_t i = 0; i < c->n; i++)
			if (c->fds[i] >= 0)
				to[n++] = c->fds[i];
		free(c);
	}
	return n;
}

int *fsc_attacher_give_up(struct fsc_attacher *a, size_t *ret_n)
{
	int *fds;
	size_t n;

	atomic_store(&a->leaving, true);
	join_threads(&a->droppers);
	join_threads(&a->closers);
	atomic_store(&a->leaving, false);
	fds = calloc(count_unclosed(a) + a->links.n + 1, sizeof(*fds));
	if (!fds)
		return NULL;
	n = take_unclosed(a, fds);
	for (size_t i = 0; i < a->links.n; i++) {
		a->missed += link_missed(link_at(a, i));
		fds[n++] = link_at(a, i)->fd;
	}
	a->links.n = 0;
	qsort(fds, n, sizeof(*fds), compare_fds);
	*ret_n = n;
	return fds;
}

bool fsc_attacher_dropping(const struct fsc_attacher *a)
{
	return atomic_load(&a->dropping);
}

void fsc_attacher_release(struct fsc_attacher *a)
{
	fsc_attacher_drop(a, FSC_TAG_ALL);
	join_threads(&a->closers);
	fsc_vec_release(&a->closers);
	fsc_vec_release(&a->droppers);
	fsc_vec_release(&a->links);
}

uint64_t fsc_attacher_missed(const struct fsc_attacher *a)
{
	uint64_t n = a->missed;

	for (size_t i = 0; i < a->links.n; i++)
		n += link_missed(link_at(a, i));
	return n;
}

/* ---- many places at a time ---- */

int fsc_batch_init(struct fsc_batch *b, size_t max, struct fsc_err *err)
{
	enum { ARRAYS = 6 };
	uint64_t *room = calloc(max + 1, ARRAYS * sizeof(*room));

	if (!room)
		return fsc_err_nomem(err);
	b->ids = room;
	b->tags = room + max;
	b->where = room + 2 * max;
	b->ref_ctrs = room + 3 * max;
	b->cookies = room + 4 * max;
	b->names = (const char **)(room + 5 * max);
	return 0;
}

void fsc_batch_release(struct fsc_batch *b)
{
	free(b->ids);
}

struct fsc_sys_uprobes fsc_batch_uprobes(const struct fsc_batch *b, size_t first, size_t n)
{
	return (struct fsc_sys_uprobes){.path = b->path,
					.offsets = b->where + first,
					.ref_ctrs = b->ref_ctrs + first,
					.cookies = b->cookies + first,
					.n = (uint32_t)n,
					.pid = b->pid};
}

/* Errors that concern every place alike: halving would only repeat them. */
static bool is_general(int rc)
{
	return rc == -EPERM || rc == -EACCES || rc == -EMFILE || rc == -ENFILE || rc == -EOPNOTSUPP;
}

static int refuse_range(const struct fsc_batch *b, size_t first, size_t n, int code,
			struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = first; !rc && i < first + n; i++)
		rc = b->refuse(b, i, code, err);
	return rc;
}

static int link_range(struct fsc_attacher *a, const struct fsc_batch *b, size_t first, size_t n,
		      struct fsc_err *err)
{
	int fd = b->singly && n > 1 ? -E2BIG : b->link(b, first, n), rc;

	if (fd >= 0)
		return fsc_attacher_keep(a, fd, (uint32_t)b->tags[first], err);
	/* The places are fine: other processes may still take them. */
	if (fd == -ESRCH && b->pid)
		return -ESRCH;
	if (n == 1 || is_general(fd))
		return refuse_range(b, first, n, -fd, err);
	rc = link_range(a, b, first, n / 2, err);
	return rc ? rc : link_range(a, b, first + n / 2, n - n / 2, err);
}

int fsc_attacher_link(struct fsc_attacher *a, const struct fsc_batch *b, struct fsc_err *err)
{
	return b->n ? link_range(a, b, 0, b->n, err) : 0;
}
