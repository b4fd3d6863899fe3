/* Running two commands in turn. The order is ABBA, so that what drifts (heat, frequency, the page
 * cache) hits both alike; each pair is one unit, and before A is compared with B it is compared
 * with itself, which shows how small a difference this machine can resolve. */
#include "cmd/pairs.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cmd/sides.h"
#include "model/stats.h"
#include "source/command.h"
#include "source/recording.h"
#include "source/scopes.h"

enum { CHECK_PAIRS = 6, ERROR_LINES = 20 };

struct pairs {
	const struct fsc_pairs_opts *o;
	struct fsc_command_guard guard;
	bool bare;   /* the command's times alone, not what it recorded */
	bool warned; /* about files that are not recordings */
};

/* The files of one run, in a directory of their own. */
struct run_files {
	char dir[PATH_MAX], record[PATH_MAX + 16], errors[PATH_MAX + 16];
};

/* ---- files of a run ---- */

static int make_files(struct run_files *f, struct fsc_err *err)
{
	const char *tmp = getenv("TMPDIR");
	int n = snprintf(f->dir, sizeof(f->dir), "%s/funcscope-XXXXXX", tmp && *tmp ? tmp : "/tmp");

	if (n < 0 || (size_t)n >= sizeof(f->dir) || !mkdtemp(f->dir))
		return fsc_err_sys(err, errno, "cannot make a directory in '%s'",
				   tmp && *tmp ? tmp : "/tmp");
	snprintf(f->record, sizeof(f->record), "%s/record.json", f->dir);
	snprintf(f->errors, sizeof(f->errors), "%s/stderr", f->dir);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

static void remove_files(const struct run_files *f)
{
	nftw(f->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* The last lines of output of a command that failed. */
static void show_errors(const char *path)
{
	FSC_AUTO(fsc_fclosep) FILE *in = fopen(path, "re");
	char line[500];
	size_t n = 0, at = 0;

	while (in && fgets(line, sizeof(line), in))
		n++;
	if (!n)
		return;
	rewind(in);
	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		if (++at + ERROR_LINES > n)
			fsc_log(FSC_LOG_NOTE, "| %s", line);
	}
}

/* ---- one run ---- */

/* A value of the whole command, as a function that was called once. */
static int add_value(struct fsc_recording *r, const char *name, uint64_t ns, struct fsc_err *err)
{
	struct fsc_recorded *f = fsc_recording_function(r, FSC_KIND_COMMAND, "", name);
	double v = (double)ns;
	struct fsc_block b = {.count = 1,
			      .total_ns = v,
			      .min_ns = v,
			      .max_ns = v,
			      .bins = FSC_VEC_INIT(struct fsc_bin)};

	if (!f || !fsc_block_bin(&b, v, v + 1, 1))
		return fsc_err_nomem(err);
	return fsc_recorded_append(f, &b, err);
}

/* The recording the command made itself, if any. */
static int take_record(struct pairs *p, const struct run_files *f, struct fsc_recording *ret,
		       struct fsc_err *err)
{
	struct fsc_err why = {0};
	bool cut;
	int rc;

	*ret = (struct fsc_recording)FSC_RECORDING_INIT;
	if (p->bare || access(f->record, F_OK))
		return 0;
	rc = fsc_recording_read(f->record, ret, &cut, &why);
	if (!rc || rc == -ENOMEM) {
		*err = rc ? why : *err;
		return rc;
	}
	if (!p->warned)
		fsc_log(FSC_LOG_WARN,
			"the recording that a command wrote to " FSC_COMMAND_RECORD
			" is not used: %s",
			why.msg);
	p->warned = true;
	*ret = (struct fsc_recording)FSC_RECORDING_INIT;
	return 0;
}

/* Timings of the command's processes that use lib/funcscope. */
static int take_scopes(struct pairs *p, const struct run_files *f, struct fsc_recording *r,
		       struct fsc_err *err)
{
	struct fsc_scopes *s = NULL;
	struct fsc_latencies l;
	int rc = p->bare ? 0 : fsc_scopes_new(0, false, &s, err);

	if (!s)
		return rc;
	rc = fsc_scopes_add_directory(s, f->dir, err);
	if (!rc)
		rc = fsc_scopes_read(s, &l, err);
	if (!rc) {
		rc = fsc_recording_add(r, &l, err);
		fsc_latencies_release(&l);
	}
	fsc_scopes_free(s);
	return rc;
}

static int command_failed(const struct fsc_command_opts *c, int status, struct fsc_err *err)
{
	if (c->errors)
		show_errors(c->errors);
	if (WIFSIGNALED(status))
		return fsc_err_set(err, ECHILD, "the command '%s' was killed by signal %d", c->text,
				   WTERMSIG(status));
	return fsc_err_set(err, ECHILD, "the command '%s' failed with status %d", c->text,
			   WEXITSTATUS(status));
}

static int run_in(struct pairs *p, const char *text, const struct run_files *f,
		  struct fsc_recording *ret, struct fsc_err *err)
{
	const struct fsc_command_opts c = {.text = text,
					   .record = f->record,
					   .memory = f->dir,
					   .errors = p->o->verbose ? NULL : f->errors};
	struct fsc_command_end end;
	int rc = fsc_command_run(&c, &p->guard, &end, err);

	if (!rc && end.status)
		rc = command_failed(&c, end.status, err);
	if (!rc)
		rc = take_record(p, f, ret, err);
	if (rc)
		return rc;
	rc = take_scopes(p, f, ret, err);
	if (!rc)
		rc = add_value(ret, "wall time", end.wall_ns, err);
	if (!rc)
		rc = add_value(ret, "CPU time", end.cpu_ns, err);
	if (rc)
		fsc_recording_release(ret);
	return rc;
}

/* Runs it once; the recording is appended to side, if there is one. */
static int run_once(struct pairs *p, const char *text, struct fsc_vec *side, struct fsc_err *err)
{
	struct fsc_recording rec = FSC_RECORDING_INIT, *slot;
	struct run_files f;
	int rc = make_files(&f, err);

	if (rc)
		return rc;
	rc = run_in(p, text, &f, &rec, err);
	remove_files(&f);
	if (rc)
		return rc;
	slot = side ? fsc_vec_push(side) : NULL;
	if (slot)
		*slot = rec;
	else
		fsc_recording_release(&rec);
	return slot || !side ? 0 : fsc_err_nomem(err);
}

static int run_pairs(struct pairs *p, const char *a, const char *b, size_t n,
		     struct fsc_vec *before, struct fsc_vec *after, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < n; i++) {
		bool turned = i % 2;

		rc = run_once(p, turned ? b : a, turned ? after : before, err);
		if (!rc)
			rc = run_once(p, turned ? a : b, turned ? before : after, err);
	}
	return rc;
}

/* ---- the whole ---- */

static void log_progress(const char *what, size_t n)
{
	if (isatty(STDERR_FILENO))
		fsc_log(FSC_LOG_NOTE, "%s, %zu pairs", what, n);
}

/* Wall time is what is shown; that either of the two times differs makes the machine unfit. */
static void conclude_check(const struct fsc_comparison *c, size_t pairs, struct fsc_self_check *ret)
{
	/* Intervals shrink with the square root of the pairs, and there will be more of them. */
	double shrink = sqrt((double)c->runs_before / (double)pairs);

	ret->done = true;
	for (size_t i = 0; i < c->rows.n; i++) {
		const struct fsc_diff_row *r = FSC_AT(struct fsc_diff_row, &c->rows, i);
		const struct fsc_diff *d = &r->stat[FSC_STAT_P50];
		bool different = r->verdict == FSC_SLOWER || r->verdict == FSC_FASTER;

		ret->unfit |= different;
		if (different || !strcmp(r->function, "wall time")) {
			ret->change = d->change;
			ret->low = d->low;
			ret->high = d->high;
			ret->resolution = fmax(fabs(d->low), fabs(d->high)) * shrink;
		}
	}
	if (ret->unfit)
		fsc_log(FSC_LOG_WARN,
			"THIS MACHINE IS UNFIT: the first command differs from itself by %+.1f%% "
			"[%+.1f, %+.1f]; do not trust the verdicts below",
			ret->change, ret->low, ret->high);
}

static int check_self(struct pairs *p, struct fsc_self_check *ret, struct fsc_err *err)
{
	const struct fsc_compare_opts *co = &p->o->compare;
	struct fsc_vec x = FSC_VEC_INIT(struct fsc_recording),
		       y = FSC_VEC_INIT(struct fsc_recording);
	/* Two times are compared, so each gets half of the error probability. */
	size_t n = fsc_shift_least(true, (1 - co->confidence / 100) / 2);
	struct fsc_comparison c;
	int rc;

	n = n > CHECK_PAIRS ? n : CHECK_PAIRS;
	n = n > p->o->pairs / 3 ? n : p->o->pairs / 3;
	log_progress("A against A", n);
	p->bare = true;
	rc = run_pairs(p, p->o->commands[0], p->o->commands[0], n, &x, &y, err);
	p->bare = false;
	if (!rc)
		rc = fsc_compare(&x, &y, co, &c, err);
	if (!rc) {
		conclude_check(&c, p->o->pairs, ret);
		fsc_comparison_release(&c);
	}
	fsc_side_release(&x);
	fsc_side_release(&y);
	return rc;
}

static int run_all(struct pairs *p, struct fsc_vec *before, struct fsc_vec *after,
		   struct fsc_comparison *ret, struct fsc_err *err)
{
	struct fsc_self_check check = {0};
	int rc = run_once(p, p->o->commands[0], NULL, err);

	if (!rc)
		rc = run_once(p, p->o->commands[1], NULL, err);
	if (!rc)
		rc = check_self(p, &check, err);
	if (!rc)
		log_progress("A against B", p->o->pairs);
	if (!rc)
		rc = run_pairs(p, p->o->commands[0], p->o->commands[1], p->o->pairs, before, after,
			       err);
	if (!rc)
		rc = fsc_compare(before, after, &p->o->compare, ret, err);
	if (!rc)
		ret->check = check;
	return rc;
}

int fsc_pairs_run(const struct fsc_pairs_opts *o, struct fsc_vec *before, struct fsc_vec *after,
		  struct fsc_comparison *ret, struct fsc_err *err)
{
	struct pairs p = {.o = o};
	int rc;

	fsc_command_guard_begin(&p.guard);
	rc = run_all(&p, before, after, ret, err);
	fsc_command_guard_end(&p.guard);
	return rc;
}
