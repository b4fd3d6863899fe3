/* The memory of instrumented processes: read right when it is right, and without harm when it is
 * anything else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "source/region.h"

enum { CELLS = 4, NUMBERS = 2, DEPTH = 8, SITES = 512, LANE = SITES + CELLS * 256 };
enum { HIST = LANE + 64 + CELLS * 64, RING = HIST + FUNCSCOPE_HIST_SIZE, SIZE = 16384 };

/* Calls of 10, 20 and 2^38 ticks; and the last, of 30, which is not in the histogram yet. */
static void lay_out(char *m)
{
	struct funcscope_region *r = (struct funcscope_region *)m;
	struct funcscope_site_record *site = (struct funcscope_site_record *)(m + SITES);
	struct funcscope_lane *lane = (struct funcscope_lane *)(m + LANE);
	struct funcscope_cell *cell = (struct funcscope_cell *)(lane + 1);
	uint64_t *hist = (uint64_t *)(m + HIST), *ring = (uint64_t *)(m + RING);

	memset(m, 0, SIZE);
	*r = (struct funcscope_region){.magic = FUNCSCOPE_MAGIC,
				       .layout = FUNCSCOPE_LAYOUT,
				       .cells = CELLS,
				       .numbers = NUMBERS,
				       .names = 1,
				       .sites = SITES / 64,
				       .first_lane = LANE / 64,
				       .lanes = 1,
				       .chunks = 1,
				       .used = SIZE,
				       .chunk_size = {SIZE}};
	strcpy(site[2].name, "named");
	site[2].kind = FUNCSCOPE_KIND_SCOPE;
	*lane = (struct funcscope_lane){.tid = 77, .busy = 1, .owners = 2};
	cell[2] = (struct funcscope_cell){.last = 30,
					  .total = 60 + (1ull << 38),
					  .min = 10,
					  .span = 21,
					  .samples = 11,
					  .hist = (HIST - LANE - 64 - 2 * 64) / 64,
					  .ring = (RING - LANE - 64 - 2 * 64) / 64,
					  .state = FUNCSCOPE_CLOSED,
					  .ring_mask = DEPTH - 1};
	hist[10] = hist[20] = hist[FUNCSCOPE_HIST_BUCKETS - 1] = 1;
	hist[FUNCSCOPE_HIST_LEAST] = hist[FUNCSCOPE_HIST_MOST] = 1ull << 38;
	for (uint64_t i = 3; i < 11; i++)
		ring[i % DEPTH] = (100 + i) | i << FUNCSCOPE_SAMPLE_BITS;
}

static int memory(const char *bytes, size_t size, bool sealed)
{
	int fd = memfd_create("funcscope.0", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	if (sealed)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	return fd;
}

static struct fsc_region *open_bytes(const char *bytes, size_t size, bool sealed,
				     struct fsc_err *err, int *ret)
{
	struct fsc_chunks c = FSC_CHUNKS_INIT;
	struct fsc_region *r = NULL;

	c.fd[0] = memory(bytes, size, sealed);
	*ret = fsc_region_open(&c, "process 1", &r, err);
	assert_int_equal(c.fd[0], -1);
	return r;
}

struct got {
	unsigned n;
	struct fsc_region_cell last;
	uint64_t samples[DEPTH];
};

static int take(const struct fsc_region_cell *c, void *arg, struct fsc_err *err)
{
	struct got *g = arg;
	uint64_t sum = 0;

	(void)err;
	g->n++;
	g->last = *c;
	for (size_t i = 0; i < FUNCSCOPE_HIST_BUCKETS; i++)
		sum += c->hist[i];
	assert_true(sum == c->count);
	assert_true(c->n_samples <= 65536);
	for (uint32_t i = 0; i < c->n_samples; i++)
		sum += c->samples[i];
	if (c->n_samples <= DEPTH && c->n_samples)
		memcpy(g->samples, c->samples, c->n_samples * sizeof(uint64_t));
	__asm__ volatile("" ::"r"(sum));
	return 0;
}

static void is_read(void **state)
{
	static char m[SIZE];

	(void)state;
	for (int sealed = 0; sealed < 2; sealed++) {
		struct funcscope_site_record rec;
		struct fsc_err err = {0};
		struct got g = {0};
		struct fsc_region *r;
		int rc;

		lay_out(m);
		r = open_bytes(m, SIZE, sealed, &err, &rc);
		assert_int_equal(rc, 0);
		assert_int_equal(fsc_region_each(r, false, take, &g, &err), 0);
		assert_int_equal(g.n, 1);
		assert_int_equal(g.last.index, 2);
		assert_int_equal(g.last.tid, 77);
		assert_int_equal(g.last.count, 4);
		assert_int_equal(g.last.total, 60 + (1ull << 38));
		assert_int_equal(g.last.min, 10);
		assert_int_equal(g.last.max, 1ull << 38);
		assert_int_equal(g.last.n_samples, DEPTH);
		assert_int_equal(g.samples[0], 103);
		assert_int_equal(g.samples[DEPTH - 1], 110);
		assert_true(fsc_region_record(r, 2, &rec));
		assert_string_equal(rec.name, "named");
		assert_false(fsc_region_record(r, 3, &rec));
		fsc_region_free(r);
	}
}

static void before_the_first_call(void **state)
{
	static char m[SIZE];
	struct funcscope_cell *c = (struct funcscope_cell *)(m + LANE + 64) + 2;
	uint64_t *hist = (uint64_t *)(m + HIST);
	struct fsc_err err = {0};
	struct got g = {0};
	struct fsc_region *r;
	int rc;

	(void)state;
	lay_out(m);
	memset(hist, 0, FUNCSCOPE_HIST_SIZE);
	hist[0] = UINT64_MAX;
	c->last = 0;
	c->total = c->span = c->min = c->samples = 0;
	r = open_bytes(m, SIZE, true, &err, &rc);
	assert_int_equal(fsc_region_each(r, false, take, &g, &err), 0);
	assert_int_equal(g.last.count, 0);
	fsc_region_free(r);
	/* The first call, seen before the histogram was. */
	c->last = 5;
	c->min = c->total = 5;
	c->span = 1;
	r = open_bytes(m, SIZE, true, &err, &rc);
	assert_int_equal(fsc_region_each(r, false, take, &g, &err), 0);
	assert_int_equal(g.last.count, 1);
	assert_int_equal(g.last.min, 5);
	assert_int_equal(g.last.max, 5);
	fsc_region_free(r);
	c->span = 0; /* just changing, or dead there */
	r = open_bytes(m, SIZE, true, &err, &rc);
	assert_int_equal(fsc_region_each(r, false, take, &g, &err), 0);
	assert_int_equal(g.last.min, 5);
	assert_int_equal(g.last.max, 5);
	fsc_region_free(r);
}

static void old_samples_are_known(void **state)
{
	static char m[SIZE];
	uint64_t *ring = (uint64_t *)(m + RING);
	struct fsc_err err = {0};
	struct got g = {0};
	struct fsc_region *r;
	int rc;

	(void)state;
	lay_out(m);
	ring[0] = 7 | 16ull << FUNCSCOPE_SAMPLE_BITS; /* should be number 8, is a lap further */
	r = open_bytes(m, SIZE, true, &err, &rc);
	assert_int_equal(fsc_region_each(r, false, take, &g, &err), 0);
	assert_int_equal(g.last.n_samples, DEPTH - 1);
	assert_int_equal(g.last.lapped, 1);
	fsc_region_free(r);
}

/* What each field may not be; the sentence names it. */
static void damage_is_named(void **state)
{
	static char m[SIZE];
	struct funcscope_region *h = (struct funcscope_region *)m;
	struct funcscope_lane *lane = (struct funcscope_lane *)(m + LANE);
	static const struct {
		const char *says;
		int what;
	} cases[] = {{"no instrumentation memory", 0}, {"its layout is 9", 1},
		     {"number of its parts", 2},       {"size of a part", 3},
		     {"number of its checkpoints", 4}, {"place of its names", 5},
		     {"place of a thread", 6},	       {"list of its threads", 7}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fsc_err err = {0};
		struct got g = {0};
		struct fsc_region *r;
		int rc;

		lay_out(m);
		switch (cases[i].what) {
		case 0:
			h->magic++;
			break;
		case 1:
			h->layout = 9;
			break;
		case 2:
			h->chunks = 33;
			break;
		case 3:
			h->chunk_size[0]++;
			break;
		case 4:
			h->names = 3;
			break;
		case 5:
			h->sites = SIZE / 64 - 8;
			break;
		case 6:
			h->first_lane = SIZE / 64 - 1;
			break;
		case 7:
			lane->next = LANE / 64;
			break;
		}
		r = open_bytes(m, SIZE, true, &err, &rc);
		if (!rc)
			rc = fsc_region_each(r, false, take, &g, &err);
		assert_int_equal(rc, -EBADMSG);
		if (!strstr(err.msg, cases[i].says))
			fail_msg("'%s' does not say '%s'", err.msg, cases[i].says);
		fsc_region_free(r);
	}
}

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Mostly numbers that mean something somewhere. */
static uint64_t nasty(void)
{
	static const uint64_t values[] = {
	    0,	  1,	      2,	  63,	      64,	  255,	      256,	 SIZE / 64,
	    SIZE, 0x7fffffff, 0xffffffff, UINT64_MAX, 1ull << 38, 1ull << 48, 1ull << 63};

	return next_random() % 3 ? values[next_random() % (sizeof(values) / sizeof(values[0]))]
				 : next_random();
}

static void anything_is_survived(void **state)
{
	enum { ROUNDS = 20000 };
	static char m[SIZE];
	unsigned read = 0;

	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct fsc_err err = {0};
		struct funcscope_site_record rec;
		struct got g = {0};
		struct fsc_region *r;
		size_t size = next_random() % 8 ? SIZE : 64 * (1 + next_random() % (SIZE / 64));
		int rc;

		lay_out(m);
		for (unsigned k = next_random() % 6; k > 0; k--) {
			uint64_t v = nasty();
			/* The header, the lane and its cells are where it hurts. */
			size_t at = next_random() % 2 ? next_random() % 128 * 4
						      : LANE + next_random() % 80 * 4;

			memcpy(m + at, &v, next_random() % 2 ? 4 : 8);
		}
		r = open_bytes(m, size, next_random() % 2, &err, &rc);
		if (!rc) {
			rc = fsc_region_each(r, next_random() % 2, take, &g, &err);
			read += !rc;
			fsc_region_record(r, (uint32_t)nasty(), &rec);
		}
		assert_true(rc <= 0);
		fsc_region_free(r);
	}
	assert_true(read > ROUNDS / 10); /* the damage was not always at the door */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(is_read),
	    cmocka_unit_test(before_the_first_call),
	    cmocka_unit_test(old_samples_are_known),
	    cmocka_unit_test(damage_is_named),
	    cmocka_unit_test(anything_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
