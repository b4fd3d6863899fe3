/* Our effective capabilities, and the message for a refusal. */
#include "engine/privilege.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/capability.h>

#include "base/cleanup.h"

const struct fsc_capability fsc_capabilities[] = {
    {CAP_BPF, "CAP_BPF", "loading BPF programs and maps", true},
    {CAP_PERFMON, "CAP_PERFMON", "attaching them to functions", true},
    {CAP_SYS_ADMIN, "CAP_SYS_ADMIN",
     "tracepoints and following children, where tracefs is root's; single uprobe events", false},
    {CAP_SYSLOG, "CAP_SYSLOG", "seeing kernel addresses", false},
    {CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "reading other users' processes", false},
    {CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", "reading other users' files, tracefs among them",
     false},
    {0, NULL, NULL, false},
};

static uint64_t effective_caps(void)
{
	FSC_AUTO(fsc_fclosep) FILE *f = fopen("/proc/self/status", "re");
	unsigned long long caps = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	return caps;
}

bool fsc_privilege_has(int capability)
{
	uint64_t caps = effective_caps();

	if (caps >> capability & 1)
		return true;
	return (capability == CAP_BPF || capability == CAP_PERFMON) && caps >> CAP_SYS_ADMIN & 1;
}

static int hint_missing(struct fsc_err *err)
{
	if (!geteuid())
		return fsc_err_hint(err,
				    "root does not have it here: the container or service must "
				    "be given it (--cap-add, --privileged); see: funcscope "
				    "doctor");
	return fsc_err_hint(err, "run as root (sudo), or see: funcscope doctor");
}

/* The kernel gives the initial one a fixed number. */
static bool is_in_user_namespace(void)
{
	const ino_t initial = 0xeffffffd;
	struct stat st;

	return !stat("/proc/self/ns/user", &st) && st.st_ino != initial;
}

int fsc_privilege_err(struct fsc_err *err, int code, const char *fmt, ...)
{
	char what[200], missing[120] = "";
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	for (const struct fsc_capability *c = fsc_capabilities; c->name; c++) {
		if (!c->required || fsc_privilege_has(c->number))
			continue;
		if (missing[0])
			strncat(missing, " and ", sizeof(missing) - strlen(missing) - 1);
		strncat(missing, c->name, sizeof(missing) - strlen(missing) - 1);
	}
	if (missing[0]) {
		fsc_err_set(err, code, "may not %s: %s missing", what, missing);
		return hint_missing(err);
	}
	if (!fsc_privilege_has(CAP_SYS_ADMIN)) {
		fsc_err_sys(err, code, "may not %s; CAP_SYS_ADMIN is missing", what);
		return hint_missing(err);
	}
	if (is_in_user_namespace()) {
		fsc_err_sys(err, code,
			    "may not %s: the capabilities of a user namespace do not count for it",
			    what);
		return fsc_err_hint(err, "run funcscope outside, as root of the machine");
	}
	fsc_err_sys(err, code, "may not %s although no capability is missing", what);
	return fsc_err_hint(err, "a container's seccomp filter or kernel lockdown refuses it; see: "
				 "funcscope doctor");
}
