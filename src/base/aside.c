#include "base/aside.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

#include "base/clock.h"

enum { STEP_NS = 5000000 };

struct aside {
	int (*job)(void *arg, struct fsc_err *err);
	void *arg;
	struct fsc_err *err;
	int rc;
	sem_t done;
};

static void *run_job(void *arg)
{
	struct aside *a = arg;

	a->rc = a->job(a->arg, a->err);
	sem_post(&a->done);
	return NULL;
}

/* Signals are left to the main thread. */
static int start_thread(struct aside *a, pthread_t *ret)
{
	pthread_attr_t attr;
	sigset_t all;
	int rc;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setsigmask_np(&attr, &all);
	rc = pthread_create(ret, &attr, run_job, a);
	pthread_attr_destroy(&attr);
	return rc;
}

static bool is_done(struct aside *a)
{
	uint64_t until = fsc_clock_mono() + STEP_NS;
	const struct timespec t = {.tv_sec = (time_t)(until / 1000000000),
				   .tv_nsec = (long)(until % 1000000000)};

	return !sem_clockwait(&a->done, CLOCK_MONOTONIC, &t);
}

int fsc_aside(int (*job)(void *arg, struct fsc_err *err), void *arg, const struct fsc_meanwhile *m,
	      struct fsc_err *err)
{
	struct aside a = {.job = job, .arg = arg, .err = err};
	pthread_t thread;

	if (!m->fn)
		return job(arg, err);
	sem_init(&a.done, 0, 0);
	if (start_thread(&a, &thread)) {
		sem_destroy(&a.done);
		return job(arg, err);
	}
	while (!is_done(&a))
		m->fn(m->arg);
	pthread_join(thread, NULL);
	sem_destroy(&a.done);
	return a.rc;
}
