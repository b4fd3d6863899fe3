/* What happens when memory is out, or the disk is full, while the monitor runs: what cannot be done
 * now is left out, counted, logged once and once when it works again, and everything else goes on.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "monitor/monitor_priv.h"

/* ---- memory ---- */

static const struct {
	const char *name, *what;
} steps[] = {
    [FSC_STEP_EVENTS] = {"events",
			 "some events of processes are lost, and all processes are looked "
			 "at again"},
    [FSC_STEP_COLLECT] = {"collect", "the numbers of exited processes wait"},
    [FSC_STEP_SCAN] = {"scan", "a search for new processes and libraries is left out"},
    [FSC_STEP_REPORT] = {"report", "a report is left out, the next one covers its time"},
    [FSC_STEP_SEND] = {"send", "a message to the receivers is left out"},
    [FSC_STEP_SLOW] = {"slow_call", "a slow call is counted, but not kept"},
    [FSC_STEP_CLIENT] = {"client", "a client of the control socket is turned away"},
};
_Static_assert(sizeof(steps) / sizeof(steps[0]) == FSC_STEPS, "a row for each step");

int fsc_monitor_spare(struct fsc_monitor *m, enum fsc_step step, int rc, struct fsc_err *err)
{
	struct fsc_shortage *s = &m->shortages[step];

	if (rc != -ENOMEM) {
		if (!rc && s->now)
			fsc_log(FSC_LOG_NOTE, "memory suffices again (%s; left out: %llu)",
				steps[step].name, (unsigned long long)s->n);
		s->now = s->now && rc;
		return rc;
	}
	s->n++;
	m->rescan |= step == FSC_STEP_EVENTS || step == FSC_STEP_SCAN;
	if (!s->now)
		fsc_log(FSC_LOG_WARN, "out of memory: %s", steps[step].what);
	s->now = true;
	if (err)
		*err = (struct fsc_err){0};
	return 0;
}

void fsc_monitor_shortages(struct fsc_monitor *m, struct fsc_snapshot *s)
{
	for (int i = 0; i < FSC_STEPS; i++)
		m->skipped[i] = (struct fsc_named){steps[i].name, m->shortages[i].n};
	s->skipped = m->skipped;
	s->n_skipped = FSC_STEPS;
	s->reports_dropped = m->reports_dropped;
}

/* ---- the output ---- */

static const char *output_name(const struct fsc_monitor *m)
{
	return m->out.output && strcmp(m->out.output, "-") ? m->out.output : "standard output";
}

/* A reader that has gone ends the monitor, as it does any program; a full disk does not. */
int fsc_monitor_wrote(struct fsc_monitor *m, int64_t mark, int rc, struct fsc_err *err)
{
	struct fsc_sink *sink = &m->run->sink;

	if (!rc) {
		if (m->output_down)
			fsc_log(FSC_LOG_NOTE, "reports are written to %s again; %llu were not",
				output_name(m), (unsigned long long)m->reports_dropped);
		m->output_down = false;
		return 0;
	}
	if (!ferror(sink->out) || rc == -EPIPE)
		return rc;
	fsc_output_undo(sink, mark);
	m->reports_dropped++;
	if (!m->output_down)
		fsc_log(FSC_LOG_WARN,
			"a report could not be written to %s: %s; the next one that can covers its "
			"time",
			output_name(m), fsc_err_text(-rc));
	m->output_down = true;
	*err = (struct fsc_err){0};
	return 0;
}

static void use_output(struct fsc_monitor *m, FILE *out)
{
	FILE *old = m->run->sink.out;

	m->run->sink.out = out;
	if (old != stdout && fclose(old))
		fsc_log(FSC_LOG_WARN, "the end of the previous output was not written: %s",
			fsc_err_text(errno));
}

/* After log rotation the file is another one. */
void fsc_monitor_reopen(struct fsc_monitor *m)
{
	struct fsc_sink fresh = {0};
	struct fsc_err err = {0};

	if (!fsc_output_moved(m->out.output, &m->run->sink))
		return;
	if (fsc_output_append(m->out.output, &fresh, &err)) {
		fsc_log(FSC_LOG_WARN, "%s; the file that was moved is written to", err.msg);
		return;
	}
	use_output(m, fresh.out);
	fsc_log(FSC_LOG_NOTE, "opened %s again", m->out.output);
}

static bool same_path(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

int fsc_monitor_try_output(struct fsc_monitor *m, const struct fsc_snoop_config *fresh,
			   struct fsc_new_output *ret, struct fsc_err *err)
{
	struct fsc_sink sink = {0};
	int rc;

	*ret = (struct fsc_new_output){0};
	if (m->opts->out->output || same_path(m->to, fresh->report.to))
		return 0; /* -o takes precedence */
	ret->to = fresh->report.to ? strdup(fresh->report.to) : NULL;
	if (fresh->report.to && !ret->to)
		return fsc_err_nomem(err);
	rc = fsc_output_append(ret->to, &sink, err);
	if (rc)
		free(ret->to);
	else
		ret->out = sink.out;
	return rc;
}

void fsc_monitor_take_output(struct fsc_monitor *m, const struct fsc_new_output *o)
{
	if (!o->out)
		return;
	use_output(m, o->out);
	free(m->to);
	m->to = o->to;
	m->out.output = m->to;
	m->output_down = false;
}

void fsc_monitor_drop_output(const struct fsc_new_output *o)
{
	if (o->out && o->out != stdout)
		fclose(o->out);
	if (o->out)
		free(o->to);
}
