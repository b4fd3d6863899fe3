/* src/engine/attacher.c: batches that the kernel refuses are halved, links are dropped by tag, and
 * what they missed is counted once. Links are made by a function of the test's own, which says no
 * where it is told to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/attacher.h"

enum { PLACES = 100, FDS = 1024, MISSED = 3, NO_BAD = PLACES };

/* Instead of the kernel's: every link has missed something. Only the places' links are asked. */
static unsigned asked[FDS];

uint64_t fsc_sys_link_missed(int link)
{
	asked[link]++;
	return MISSED;
}

struct fake {
	size_t bad; /* this place is refused with code */
	int code;
	bool always; /* not the place is at fault */
	int error;   /* returned by refuse() */
	unsigned calls, refused, linked[PLACES], last;
	int last_code;
};

static int fake_link(const struct fsc_batch *b, size_t first, size_t n)
{
	struct fake *f = b->arg;

	f->calls++;
	if (f->always || (f->bad >= first && f->bad < first + n))
		return -f->code;
	for (size_t i = first; i < first + n; i++)
		f->linked[i]++;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int fake_refuse(const struct fsc_batch *b, size_t i, int code, struct fsc_err *err)
{
	struct fake *f = b->arg;

	(void)err;
	f->refused++;
	f->last = (unsigned)b->ids[i];
	f->last_code = code;
	return f->error;
}

static void fill_batch(struct fsc_batch *b, struct fake *f)
{
	*b = (struct fsc_batch){.link = fake_link, .refuse = fake_refuse, .arg = f};
	assert_int_equal(fsc_batch_init(b, PLACES, NULL), 0);
	for (size_t i = 0; i < PLACES; i++) {
		b->ids[i] = 1000 + i;
		b->tags[i] = i % 10;
		b->cookies[i] = i;
	}
	b->n = PLACES;
}

/* Links a batch, and returns what the attacher does. */
static int attach_fake(struct fsc_attacher *a, struct fake *f, pid_t pid, bool singly)
{
	struct fsc_batch b;
	int rc;

	fill_batch(&b, f);
	b.pid = pid;
	b.singly = singly;
	rc = fsc_attacher_link(a, &b, NULL);
	/* Nothing of the batch may be used later. */
	memset(b.ids, 0xee, (PLACES + 1) * sizeof(*b.ids) * 6);
	fsc_batch_release(&b);
	return rc;
}

static unsigned count_open(void)
{
	unsigned n = 0;

	for (int fd = 3; fd < FDS; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void one_link_takes_all_places(void **state)
{
	struct fake f = {.bad = NO_BAD};
	struct fsc_attacher a;

	(void)state;
	fsc_attacher_init(&a);
	assert_int_equal(attach_fake(&a, &f, 0, false), 0);
	assert_int_equal(f.calls, 1);
	assert_int_equal(a.links.n, 1);
	fsc_attacher_release(&a);
}

static void no_places_need_no_link(void **state)
{
	struct fake f = {.bad = NO_BAD};
	struct fsc_batch b;
	struct fsc_attacher a;

	(void)state;
	fsc_attacher_init(&a);
	fill_batch(&b, &f);
	b.n = 0;
	assert_int_equal(fsc_attacher_link(&a, &b, NULL), 0);
	assert_int_equal(f.calls, 0);
	fsc_batch_release(&b);
	fsc_attacher_release(&a);
}

static void one_bad_place_among_many_is_found(void **state)
{
	(void)state;
	for (size_t bad = 0; bad < PLACES; bad++) {
		struct fake f = {.bad = bad, .code = EINVAL};
		struct fsc_attacher a;

		fsc_attacher_init(&a);
		assert_int_equal(attach_fake(&a, &f, 0, false), 0);
		assert_int_equal(f.refused, 1);
		assert_int_equal(f.last, 1000 + bad);
		assert_int_equal(f.last_code, EINVAL);
		for (size_t i = 0; i < PLACES; i++)
			assert_int_equal(f.linked[i], i != bad);
		assert_true(f.calls <= 15); /* two for each of seven halvings */
		fsc_attacher_release(&a);
	}
}

static void places_are_linked_singly_when_asked(void **state)
{
	struct fake f = {.bad = 7, .code = EINVAL};
	struct fsc_attacher a;

	(void)state;
	fsc_attacher_init(&a);
	assert_int_equal(attach_fake(&a, &f, 0, true), 0);
	assert_int_equal(f.calls, PLACES);
	assert_int_equal(a.links.n, PLACES - 1);
	assert_int_equal(f.refused, 1);
	fsc_attacher_release(&a);
}

static void general_refusals_are_not_halved(void **state)
{
	static const int codes[] = {EPERM, EACCES, EMFILE, ENFILE, EOPNOTSUPP};

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct fake f = {.always = true, .code = codes[i]};
		struct fsc_attacher a;

		fsc_attacher_init(&a);
		assert_int_equal(attach_fake(&a, &f, 0, false), 0);
		assert_int_equal(f.calls, 1);
		assert_int_equal(f.refused, PLACES);
		assert_int_equal(f.last_code, codes[i]);
		fsc_attacher_release(&a);
	}
}

static void a_client_may_end_the_attempt(void **state)
{
	struct fake f = {.always = true, .code = EPERM, .error = -EPERM};
	struct fsc_attacher a;

	(void)state;
	fsc_attacher_init(&a);
	assert_int_equal(attach_fake(&a, &f, 0, false), -EPERM);
	assert_int_equal(f.refused, 1);
	fsc_attacher_release(&a);
}

static void an_exited_process_says_nothing_about_places(void **state)
{
	struct fake f = {.bad = PLACES / 2, .code = ESRCH};
	struct fsc_attacher a;

	(void)state;
	fsc_attacher_init(&a);
	assert_int_equal(attach_fake(&a, &f, 4711, false), -ESRCH);
	assert_int_equal(f.refused, 0);
	assert_int_equal(f.calls, 1);
	/* What was linked before it exited is the attacher's. */
	assert_int_equal(attach_fake(&a, &f, 4711, true), -ESRCH);
	assert_int_equal(a.links.n, PLACES / 2);
	fsc_attacher_release(&a);
}

static void esrch_of_no_process_is_a_refusal(void **state)
{
	struct fake f = {.bad = 5, .code = ESRCH};
	struct fsc_attacher a;

	(void)state;
	fsc_attacher_init(&a);
	assert_int_equal(attach_fake(&a, &f, 0, false), 0);
	assert_int_equal(f.refused, 1);
	assert_int_equal(f.last_code, ESRCH);
	fsc_attacher_release(&a);
}

static void links_are_dropped_by_tag(void **state)
{
	unsigned open_before = count_open();
	struct fake f = {.bad = NO_BAD};
	struct fsc_attacher a;

	(void)state;
	fsc_attacher_init(&a);
	assert_int_equal(attach_fake(&a, &f, 0, true), 0);
	fsc_attacher_drop(&a, 3);
	assert_int_equal(a.links.n, PLACES - PLACES / 10);
	assert_int_equal(count_open() - open_before, PLACES - PLACES / 10);
	fsc_attacher_drop(&a, 3);
	assert_int_equal(a.links.n, PLACES - PLACES / 10);
	fsc_attacher_drop(&a, FSC_TAG_ALL);
	assert_int_equal(a.links.n, 0);
	assert_int_equal(count_open(), open_before);
	fsc_attacher_release(&a);
}

static void what_was_missed_is_counted_once(void **state)
{
	struct fake f = {.bad = NO_BAD};
	struct fsc_attacher a;

	(void)state;
	fsc_attacher_init(&a);
	assert_int_equal(attach_fake(&a, &f, 0, true), 0);
	assert_int_equal(fsc_attacher_missed(&a), MISSED * PLACES);
	fsc_attacher_drop(&a, 3);
	assert_int_equal(fsc_attacher_missed(&a), MISSED * PLACES);
	assert_int_equal(attach_fake(&a, &f, 0, false), 0);
	assert_int_equal(fsc_attacher_missed(&a), MISSED * (PLACES + 1));
	fsc_attacher_drop(&a, FSC_TAG_ALL);
	fsc_attacher_drop(&a, FSC_TAG_ALL);
	assert_int_equal(fsc_attacher_missed(&a), MISSED * (PLACES + 1));
	fsc_attacher_release(&a);
}

/* Helpers: their links are closed when the attacher is released, whoever does it until then, and
 * they miss nothing that counts. */
static void helpers_have_a_drop_of_their_own(void **state)
{
	unsigned open_before = count_open();
	struct fake f = {.bad = NO_BAD};
	struct fsc_attacher a;
	int fd;

	(void)state;
	fsc_attacher_init(&a);
	assert_int_equal(attach_fake(&a, &f, 0, false), 0);
	for (int i = 0; i < 4; i++) {
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		asked[fd] = 0;
		assert_int_equal(
		    fsc_attacher_keep(&a, fd, i % 2 ? FSC_TAG_SCHED : FSC_TAG_CALIBRATION, NULL),
		    0);
	}
	assert_int_equal(fsc_attacher_missed(&a), MISSED);
	fsc_attacher_drop(&a, FSC_TAG_CALIBRATION);
	assert_int_equal(a.links.n, 3);
	fsc_attacher_drop(&a, FSC_TAG_CALIBRATION);
	fsc_attacher_drop(&a, FSC_TAG_ALL);
	assert_int_equal(a.links.n, 0);
	assert_int_equal(fsc_attacher_missed(&a), MISSED);
	assert_int_equal(asked[fd], 0);
	fsc_attacher_release(&a);
	assert_int_equal(count_open(), open_before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_link_takes_all_places),
	    cmocka_unit_test(no_places_need_no_link),
	    cmocka_unit_test(one_bad_place_among_many_is_found),
	    cmocka_unit_test(places_are_linked_singly_when_asked),
	    cmocka_unit_test(general_refusals_are_not_halved),
	    cmocka_unit_test(a_client_may_end_the_attempt),
	    cmocka_unit_test(an_exited_process_says_nothing_about_places),
	    cmocka_unit_test(esrch_of_no_process_is_a_refusal),
	    cmocka_unit_test(links_are_dropped_by_tag),
	    cmocka_unit_test(what_was_missed_is_counted_once),
	    cmocka_unit_test(helpers_have_a_drop_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
