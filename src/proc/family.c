#include "proc/family.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "proc/cputime.h"

/* How deep to look, and at how many processes; what part of the time walking may take. */
enum { DEEPEST = 16, MOST = 4096, WALK_PART = 50 };

/* Clock ticks by which times of children are counted: differences up to that are no loss. */
enum { ROUNDING_NS = 20000000 };

void fsc_family_release(struct fsc_family *f)
{
	fsc_vec_release(&f->roots);
	fsc_vec_release(&f->members);
}

int fsc_family_add(struct fsc_family *f, pid_t root)
{
	f->walked_ns = 0;
	return fsc_vec_add(&f->roots, &root, NULL);
}

static struct fsc_family_member *member_at(const struct fsc_family *f, size_t i)
{
	return FSC_AT(struct fsc_family_member, &f->members, i);
}

static bool is_root(const struct fsc_family *f, pid_t pid)
{
	for (size_t i = 0; i < f->roots.n; i++)
		if (*FSC_AT(pid_t, &f->roots, i) == pid)
			return true;
	return false;
}

static void add_member(struct fsc_family *f, pid_t pid, unsigned depth);

/* Kernels without such lists have no living children here. */
static void add_children(struct fsc_family *f, pid_t pid, const char *thread, unsigned depth)
{
	FSC_AUTO(fsc_fclosep) FILE *list = NULL;
	char path[64];
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children", (int)pid, thread);
	list = fopen(path, "re");
	while (list && fscanf(list, "%d", &child) == 1)
		if (!is_root(f, child))
			add_member(f, child, depth + 1);
}

/* Itself before its children: one that is waited for in between is missing once, not there twice.
 */
static void add_member(struct fsc_family *f, pid_t pid, unsigned depth)
{
	struct fsc_family_member *m = f->members.n < MOST ? fsc_vec_push(&f->members) : NULL;
	struct dirent *thread;
	char path[64];
	DIR *d;

	if (!m)
		return;
	*m = (struct fsc_family_member){pid, fsc_cputime_process(pid)};
	f->waited += fsc_cputime_waited(pid);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = depth < DEEPEST ? opendir(path) : NULL;
	while (d && (thread = readdir(d)))
		if (thread->d_name[0] != '.')
			add_children(f, pid, thread->d_name, depth);
	if (d)
		closedir(d);
}

static int compare_members(const void *a, const void *b)
{
	const struct fsc_family_member *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* What a member has used since it was last seen, or in all if it is new. */
static uint64_t used_since(struct fsc_vec *before, const struct fsc_family_member *m)
{
	struct fsc_family_member *was =
	    before->n ? bsearch(m, before->data, before->n, sizeof(*m), compare_members) : NULL;
	uint64_t used;

	if (!was)
		return m->cpu;
	used = m->cpu > was->cpu ? m->cpu - was->cpu : 0;
	was->cpu = 0; /* it is not gone */
	return used;
}

/* Those gone were counted already: what was waited for since then is more only as far as it is not
 * theirs. Who is never waited for stays owed for one walk, but for what is lost in rounding. */
static uint64_t more_waited(struct fsc_family *f, uint64_t waited, uint64_t gone)
{
	uint64_t more = waited > f->waited ? waited - f->waited : 0;
	uint64_t owed = f->owed + gone, paid = more < owed ? more : owed;
	uint64_t late = f->owed > paid ? f->owed - paid : 0;

	f->owed = owed - paid;
	if (late > ROUNDING_NS)
		f->owed -= late - ROUNDING_NS;
	f->waited = waited;
	return more - paid;
}

static void walk(struct fsc_family *f)
{
	struct fsc_vec before = f->members;
	uint64_t start = fsc_clock_mono(), waited = f->waited, gone = 0, now;

	f->members = FSC_VEC_INIT(struct fsc_family_member);
	f->waited = 0;
	for (size_t i = 0; i < f->roots.n; i++)
		add_member(f, *FSC_AT(pid_t, &f->roots, i), 0);
	now = f->waited;
	f->waited = waited;
	for (size_t i = 0; i < f->members.n; i++)
		f->total += used_since(&before, member_at(f, i));
	for (size_t i = 0; i < before.n; i++)
		gone += FSC_AT(struct fsc_family_member, &before, i)->cpu;
	f->total += more_waited(f, now, gone);
	if (f->members.n)
		qsort(f->members.data, f->members.n, sizeof(struct fsc_family_member),
		      compare_members);
	fsc_vec_release(&before);
	f->walked_ns = fsc_clock_mono();
	f->took_ns = f->walked_ns - start;
}

/* An exited one keeps its time until the next walk. */
static void read_clocks(struct fsc_family *f)
{
	for (size_t i = 0; i < f->members.n; i++) {
		struct fsc_family_member *m = member_at(f, i);
		uint64_t now = fsc_cputime_process(m->pid);

		if (now <= m->cpu)
			continue;
		f->total += now - m->cpu;
		m->cpu = now;
	}
}

uint64_t fsc_family_cpu(struct fsc_family *f)
{
	if (f->walked_ns && fsc_clock_mono() - f->walked_ns < WALK_PART * f->took_ns)
		read_clocks(f);
	else
		walk(f);
	return f->total;
}
