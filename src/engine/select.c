/* Which rows of a session are attached, to stay within a budget. A link holds many places and
 * cannot be shrunk, so the rows that stay move to a new link before the old one is closed. Closing
 * takes the kernel tens of milliseconds, which a thread waits for, attaching a few for thousands of
 * places that have a probe already. Hits at both links meanwhile count once, see FSC_HANDOVER. Rows
 * that have links of their own (single uprobes, kernel functions, tracepoints) need none of this.
 */
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "engine/session_priv.h"
#include "func_snoop.skel.h"

/* Of a row: detached, in links of its own, or the gate of the links that it shares. */
enum { OFF = 0, FIRST_GROUP = 1, OWN_LINKS = FSC_MOVING_GATES };

/* More groups than that are joined by the next change. */
enum { MOST_GROUPS = 8 };

static size_t count_rows(const struct fsc_session *s)
{
	return s->targets->rows.n;
}

static struct fsc_session *whole_of(struct fsc_session *s)
{
	return s->of ? s->of : s;
}

int fsc_select_begin(struct fsc_session *s, struct fsc_err *err)
{
	free(s->group_of);
	s->group_of = calloc(count_rows(s) + 1, sizeof(*s->group_of));
	if (!s->group_of)
		return fsc_err_nomem(err);
	for (size_t i = 0; i < fsc_targets_count(s->targets); i++) {
		const struct fsc_target *t = fsc_targets_at(s->targets, i);

		s->group_of[t->row] =
		    t->site == FSC_SITE_USER && s->user_multi ? FIRST_GROUP : OWN_LINKS;
	}
	s->gate = FIRST_GROUP;
	return 0;
}

/* ---- what changes ---- */

struct change {
	struct fsc_session *s;
	const bool *rows;  /* wanted */
	uint64_t leaving;  /* gates of groups that are replaced or given up */
	uint32_t arriving; /* the gate of the new one */
	bool moves;	   /* rows that stay are among those leaving */
	bool any;	   /* rows to attach */
	bool *attach;	   /* per row */
};

static bool in_group(uint8_t group)
{
	return group != OFF && group != OWN_LINKS;
}

static uint64_t used_gates(const struct fsc_session *s)
{
	uint64_t used = 0;

	for (size_t row = 0; row < count_rows(s); row++)
		if (in_group(s->group_of[row]))
			used |= FSC_GATE_BIT(s->group_of[row]);
	return used;
}

static void find_leaving(struct change *c)
{
	uint64_t used = used_gates(c->s);

	for (size_t row = 0; row < count_rows(c->s); row++)
		if (in_group(c->s->group_of[row]) && !c->rows[row])
			c->leaving |= FSC_GATE_BIT(c->s->group_of[row]);
	if (__builtin_popcountll(used) >= MOST_GROUPS)
		c->leaving = used;
	/* The next one in turn, so that a gate is not used again at once. */
	c->arriving = c->s->gate;
	do
		c->arriving = c->arriving % (FSC_MOVING_GATES - 1) + FIRST_GROUP;
	while (used & FSC_GATE_BIT(c->arriving));
}

static void find_attached(struct change *c)
{
	for (size_t row = 0; row < count_rows(c->s); row++) {
		uint8_t group = c->s->group_of[row];
		bool moves = in_group(group) && c->leaving & FSC_GATE_BIT(group);

		c->attach[row] = c->rows[row] && (group == OFF || moves);
		c->moves |= c->attach[row] && moves;
		c->any |= c->attach[row];
	}
}

/* ---- the handover ---- */

/* Before the new links exist: their programs find it whenever they run. */
static void begin_handover(const struct change *c)
{
	struct fsc_session *s = whole_of(c->s);

	s->skel->bss->turn = ++s->turn;
	__atomic_store_n((volatile __u64 *)&s->skel->bss->handover,
			 FSC_HANDOVER(c->leaving, FSC_GATE_BIT(c->arriving)), __ATOMIC_SEQ_CST);
	s->moving = c->s;
}

/* The links that left are closed: no program of theirs runs any more. */
static void end_handover(struct fsc_session *s)
{
	int map = bpf_map__fd(s->skel->maps.claims);
	uint32_t tid;

	__atomic_store_n((volatile __u64 *)&s->skel->bss->handover, 0, __ATOMIC_SEQ_CST);
	s->moving = NULL;
	for (size_t n = 0; n < bpf_map__max_entries(s->skel->maps.claims); n++)
		if (bpf_map_get_next_key(map, NULL, &tid) || bpf_map_delete_elem(map, &tid))
			break;
}

static bool is_dropped(uint32_t tag, const void *arg)
{
	const struct change *c = arg;

	if (tag > FSC_TAG_GROUP && tag < FSC_TAG_GROUP + FSC_MOVING_GATES)
		return c->leaving & FSC_GATE_BIT(tag - FSC_TAG_GROUP);
	return tag < count_rows(c->s) && !c->rows[tag];
}

static void note_groups(const struct change *c)
{
	struct fsc_session *s = c->s;
	bool *own = c->attach; /* it is not needed any more */

	memset(own, 0, count_rows(s) * sizeof(*own));
	for (size_t i = 0; i < fsc_targets_count(s->targets); i++) {
		const struct fsc_target *t = fsc_targets_at(s->targets, i);

		own[t->row] = !(t->site == FSC_SITE_USER && s->user_multi);
	}
	for (size_t row = 0; row < count_rows(s); row++) {
		uint8_t *group = &s->group_of[row];

		if (!c->rows[row])
			*group = OFF;
		else if (*group == OFF || (in_group(*group) && c->leaving & FSC_GATE_BIT(*group)))
			*group = own[row] ? OWN_LINKS : (uint8_t)c->arriving;
	}
}

/* One session, or one of its parts, at a time: they share the word. */
static void finish_moving(struct fsc_session *s)
{
	struct fsc_session *whole = whole_of(s);

	fsc_attacher_await(&s->attacher);
	if (!whole->moving)
		return;
	fsc_attacher_await(&whole->moving->attacher);
	end_handover(whole);
}

static bool is_new(uint32_t tag, const void *arg)
{
	const struct change *c = arg;

	return tag == FSC_TAG_GROUP + c->arriving ||
	       (tag < count_rows(c->s) && c->attach[tag] && c->s->group_of[tag] == OFF);
}

/* While the gate is shut, returns come without entries: those are attached last. Rows that move
 * must not be shut out. */
static int attach_places(const struct change *c, struct fsc_err *err)
{
	struct fsc_session *s = c->s;
	uint64_t gate = c->moves ? 0 : FSC_GATE_BIT(c->arriving);
	int rc;

	fsc_session_move_gates(s, 0, gate);
	s->gate = c->arriving;
	s->selected = c->attach;
	rc = fsc_session_attach_places(s, err);
	s->selected = NULL;
	if (s->skel->bss->gates & FSC_GATE_BIT(FSC_GATE_RUN))
		fsc_session_move_gates(s, gate, 0);
	return rc;
}

/* After a failure what was attached before is as it was. */
static int attach_rows(const struct change *c, struct fsc_err *err)
{
	struct fsc_session *s = c->s;
	int rc = c->any ? attach_places(c, err) : 0;

	if (rc) {
		fsc_attacher_drop_which(&s->attacher, is_new, c);
		finish_moving(s);
	}
	return rc;
}

bool fsc_session_selecting(struct fsc_session *s)
{
	if (fsc_attacher_dropping(&s->attacher))
		return true;
	finish_moving(s);
	return false;
}

int fsc_session_select(struct fsc_session *s, const bool *rows, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) bool *attach = calloc(count_rows(s) + 1, sizeof(*attach));
	struct change c = {.s = s, .rows = rows, .attach = attach};
	int rc;

	if (!attach)
		return fsc_err_nomem(err);
	finish_moving(s);
	find_leaving(&c);
	find_attached(&c);
	if (c.leaving)
		begin_handover(&c);
	rc = attach_rows(&c, err);
	if (rc)
		return rc;
	fsc_attacher_drop_which(&s->attacher, is_dropped, &c);
	note_groups(&c);
	return 0;
}

void fsc_select_release(struct fsc_session *s)
{
	struct fsc_session *whole = whole_of(s);

	if (whole->moving == s && whole != s)
		end_handover(whole);
	free(s->group_of);
	s->group_of = NULL;
}

/* ---- one row ---- */

static int select_row(struct fsc_session *s, uint32_t row, bool on, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) bool *rows = calloc(count_rows(s) + 1, sizeof(*rows));

	if (!rows)
		return fsc_err_nomem(err);
	for (size_t i = 0; i < count_rows(s); i++)
		rows[i] = s->group_of[i] != OFF;
	rows[row] = on;
	return fsc_session_select(s, rows, err);
}

int fsc_session_pause_later(struct fsc_session *s, uint32_t row, struct fsc_err *err)
{
	return select_row(s, row, false, err);
}

int fsc_session_pause(struct fsc_session *s, uint32_t row, struct fsc_err *err)
{
	int rc = select_row(s, row, false, err);

	finish_moving(s);
	return rc;
}

int fsc_session_resume(struct fsc_session *s, uint32_t row, struct fsc_err *err)
{
	return select_row(s, row, true, err);
}
