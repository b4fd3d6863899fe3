/* Reloading the configuration: what is in both stays, a bad one changes nothing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "monitor/monitor_priv.h"

/* The command is started once, and may come from the command line instead of the file. */
static int keep_command(const struct fsc_monitor *m, struct fsc_snoop_config *fresh,
			struct fsc_err *err)
{
	const struct fsc_vec *have = &m->config->targets.command;
	struct fsc_vec *words = &fresh->targets.command;

	if (!words->n && have->n)
		return fsc_snoop_config_command(fresh, have->data, have->n, err);
	if (!fsc_filter_same_texts(words, have))
		fsc_log(FSC_LOG_WARN, "%s: the command cannot be changed while the monitor runs",
			fresh->path);
	return 0;
}

/* Everything that can fail. anew: the targets have changed. */
static int try_config(struct fsc_monitor *m, const struct fsc_snoop_config *fresh, bool anew,
		      struct fsc_new_output *output, struct fsc_err *err)
{
	int rc = fsc_hooks_try(m->hooks, fresh, err);

	if (rc)
		return rc;
	if (anew)
		fsc_processes_retarget(m->processes, &fresh->targets);
	fsc_processes_replay(m->processes);
	rc = fsc_monitor_scan(m, err);
	if (!rc)
		rc = fsc_monitor_try_output(m, fresh, output, err);
	/* Last, since it cannot be undone. */
	if (!rc && m->forward)
		rc = fsc_forward_reload(m->forward, fresh, err);
	return rc;
}

/* Scans again for the configuration that stays in force. */
static void rescan_config(struct fsc_monitor *m, bool anew)
{
	struct fsc_err why = {0};

	if (anew)
		fsc_processes_retarget(m->processes, &m->config->targets);
	fsc_processes_replay(m->processes);
	if (fsc_monitor_scan(m, &why))
		fsc_log(FSC_LOG_WARN, "%s", why.msg);
}

int fsc_monitor_adopt(struct fsc_monitor *m, struct fsc_snoop_config *fresh, struct fsc_err *err)
{
	struct fsc_snoop_config *old = m->config;
	bool anew = !fsc_filter_same(&old->targets, &fresh->targets);
	struct fsc_new_output output = {0};
	struct fsc_err why = {0};
	int rc = fsc_monitor_check_pids(fresh, err);

	if (!rc)
		rc = fsc_monitor_collect(m, err);
	if (rc)
		return rc;
	rc = try_config(m, fresh, anew, &output, err);
	if (rc) {
		fsc_monitor_drop_output(&output);
		fsc_hooks_abandon(m->hooks);
		rescan_config(m, anew);
		return rc;
	}
	fsc_hooks_commit(m->hooks);
	fsc_throttle_reset(&m->throttle);
	m->config = fresh;
	fsc_processes_use(m->processes, &fresh->targets);
	fsc_slow_limit(m->slow, fresh->keep_slowest, fresh->keep_latest);
	fsc_monitor_take_output(m, &output);
	fsc_snoop_config_release(old);
	free(old);
	if (fsc_monitor_labels(m, &why))
		fsc_log(FSC_LOG_WARN, "some processes have no labels: %s", why.msg);
	if (fsc_run_interval(m->run, fsc_monitor_interval(m), &why))
		fsc_log(FSC_LOG_WARN, "reports come at the end alone: %s", why.msg);
	return 0;
}

/* The command and the pids of the command line stay targets. */
static int adopt_file(struct fsc_monitor *m, struct fsc_snoop_config *fresh, struct fsc_err *err)
{
	int rc = keep_command(m, fresh, err);

	if (!rc)
		rc = fsc_snoop_config_pids(fresh, m->opts->pids, m->opts->n_pids, err);
	fresh->dwarf |= m->opts->dwarf;
	return rc ? rc : fsc_monitor_adopt(m, fresh, err);
}

void fsc_monitor_note_file(struct fsc_monitor *m)
{
	if (stat(m->opts->path, &m->file))
		memset(&m->file, 0, sizeof(m->file));
}

int fsc_monitor_reload(struct fsc_monitor *m, struct fsc_err *err)
{
	struct fsc_snoop_config *fresh;
	int rc;

	if (!m->opts->path)
		return fsc_err_set(
		    err, ENOENT, "the monitor was started without a configuration file to reload");
	fresh = calloc(1, sizeof(*fresh));
	if (!fresh)
		return fsc_err_nomem(err);
	fsc_monitor_note_file(m);
	rc = fsc_snoop_config_read(m->opts->path, fresh, err);
	if (!rc)
		rc = adopt_file(m, fresh, err);
	if (!rc) {
		m->reloads++;
		m->config_ok = true;
		return 0;
	}
	m->failed_reloads++;
	m->config_ok = false;
	fsc_snoop_config_release(fresh);
	free(fresh);
	return rc;
}

/* After a signal or a change of the file: the outcome is logged. */
void fsc_monitor_reload_and_log(struct fsc_monitor *m)
{
	struct fsc_err why = {0};
	int rc = fsc_monitor_reload(m, &why);

	if (!rc)
		fsc_log(FSC_LOG_NOTE, "read %s again", m->opts->path);
	else
		fsc_log(FSC_LOG_WARN, "%s%s%s; the previous configuration stays in force", why.msg,
			why.hint[0] ? "; " : "", why.hint);
}

bool fsc_monitor_file_changed(const struct fsc_monitor *m)
{
	struct stat st;

	return !stat(m->opts->path, &st) &&
	       (st.st_dev != m->file.st_dev || st.st_ino != m->file.st_ino ||
		st.st_size != m->file.st_size || st.st_mtim.tv_sec != m->file.st_mtim.tv_sec ||
		st.st_mtim.tv_nsec != m->file.st_mtim.tv_nsec);
}
