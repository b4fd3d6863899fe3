/* funcscope doctor: tries what this machine supports, and says what is missing. */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fmt.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "engine/features.h"
#include "engine/hazards.h"
#include "engine/kernel.h"
#include "engine/privilege.h"
#include "kernel/tracefs.h"
#include "sink/sink.h"

struct doctor_opts {
	int format;
};

static const char *const format_names[] = {"text", "json", NULL};

static const struct fsc_opt doctor_opts[] = {
    {'f', "format", FSC_OPT_CHOICE, offsetof(struct doctor_opts, format), "FORMAT", "output",
     format_names},
    {0},
};

/* One finding, in either format. */
struct report {
	struct fsc_buf b;
	bool json;
};

static void add_section(struct report *r, const char *title)
{
	if (!r->json)
		fsc_buf_printf(&r->b, "%s%s\n", r->b.n ? "\n" : "", title);
}

/* ok: nothing is missing. detail: what was found; advice: what to do if it is not ok. */
static void add_finding(struct report *r, bool ok, const char *name, const char *detail,
			const char *advice)
{
	if (r->json) {
		fsc_json_line(&r->b, "check");
		fsc_json_bool(&r->b, "ok", ok);
		fsc_json_string(&r->b, "name", name);
		fsc_json_string(&r->b, "detail", detail);
		fsc_json_string_if(&r->b, "advice", ok ? NULL : advice);
		fsc_json_line_end(&r->b);
		return;
	}
	fsc_buf_printf(&r->b, "  %-3s  %-19s  ", ok ? "yes" : "no", name);
	fsc_fmt_term(&r->b, detail);
	fsc_buf_putc(&r->b, '\n');
	if (!ok && advice)
		fsc_buf_printf(&r->b, "%28s-> %s\n", "", advice);
}

static void read_line(const char *path, char *buf, size_t size)
{
	FSC_AUTO(fsc_fclosep) FILE *f = fopen(path, "re");

	buf[0] = '\0';
	if (f && fgets(buf, (int)size, f))
		buf[strcspn(buf, "\n")] = '\0';
}

static void check_privileges(struct report *r)
{
	add_section(r, "privileges");
	for (const struct fsc_capability *c = fsc_capabilities; c->name; c++)
		add_finding(r, fsc_privilege_has(c->number), c->name, c->what,
			    c->required ? "run as root, or: setcap cap_bpf,cap_perfmon+ep funcscope"
					: "only needed for the purpose above");
}

static void check_lockdown(struct report *r)
{
	FSC_AUTO(fsc_freep) char *modes = NULL;
	char detail[160];
	int rc = fsc_lockdown_read(&modes);

	if (rc)
		snprintf(detail, sizeof(detail), "lockdown: %s",
			 rc == -ENOENT || rc == -ENODEV ? "not built in" : "cannot be read");
	else
		snprintf(detail, sizeof(detail), "lockdown: %.*s", (int)strcspn(modes, "\n"),
			 modes);
	add_finding(
	    r, rc || strstr(modes, "[none]"), "no lockdown", detail,
	    "confidentiality mode refuses kernel probes; turn it off at boot (lockdown=none)");
}

static void check_settings(struct report *r)
{
	char line[64], detail[128];

	add_section(r, "kernel settings");
	add_finding(r, access("/sys/kernel/btf/vmlinux", R_OK) == 0, "BTF",
		    "/sys/kernel/btf/vmlinux: the kernel's types, for fentry",
		    "needs CONFIG_DEBUG_INFO_BTF; everything but fentry works without");
	add_finding(
	    r, fsc_tracefs_mounted(), "tracefs mounted", "tracepoints and the function list",
	    fsc_privilege_has(CAP_SYS_ADMIN)
		? "not needed: funcscope makes a private mount; for others: mount -t tracefs "
		  "tracefs /sys/kernel/tracing"
		: "with CAP_SYS_ADMIN a private mount would be made; or mount it so that you "
		  "may read it");
	read_line("/proc/sys/kernel/perf_event_paranoid", line, sizeof(line));
	snprintf(detail, sizeof(detail), "kernel.perf_event_paranoid = %s", line);
	add_finding(
	    r, geteuid() == 0 || strcmp(line, "2") <= 0, "perf events", detail,
	    "above 2 refuses perf events without root: sysctl kernel.perf_event_paranoid=2");
	read_line("/proc/sys/kernel/kptr_restrict", line, sizeof(line));
	snprintf(detail, sizeof(detail), "kernel.kptr_restrict = %s", line);
	add_finding(r, strcmp(line, "2") != 0, "kernel addresses", detail,
		    "2 hides addresses, so functions go by name: sysctl kernel.kptr_restrict=1");
	check_lockdown(r);
}

/* Without privileges, a refusal says nothing about the kernel. */
static const char *refused_advice(void)
{
	for (const struct fsc_capability *c = fsc_capabilities; c->name; c++)
		if (c->required && !fsc_privilege_has(c->number))
			return "a capability is missing (see above): run as root";
	for (const struct fsc_capability *c = fsc_capabilities; c->name; c++)
		if (!fsc_privilege_has(c->number))
			return "one of the capabilities missing above may be needed: run as root; "
			       "until then the next rung is used, if there is one";
	return "this kernel, a seccomp filter or lockdown refuses it; the next rung that works is "
	       "used instead";
}

static void check_features(struct report *r)
{
	add_section(r, "kernel features, each tested");
	add_finding(
	    r, fsc_kernel_has_cookies(), "Linux " FSC_KERNEL_NEEDED,
	    fsc_kernel_has_cookies() ? "BPF programs can tell which function was hit (cookies)"
				     : "BPF programs cannot tell which function was hit (cookies)",
	    "too old for funcscope, whatever else works here: it needs Linux " FSC_KERNEL_NEEDED
	    " or newer");
	for (int f = 0; f < FSC_FEATURE_MAX; f++) {
		const struct fsc_feature_row *row = &fsc_features[f];
		const char *why;
		int rc = fsc_feature_try((enum fsc_feature)f, &why);

		add_finding(r, rc == 0, row->name, rc ? why : row->what,
			    rc == -EPERM || rc == -EACCES ? refused_advice() : row->without);
	}
}

/* "yes" means harmless: absent, or never probed. Returns whether none did harm; what could not be
 * tried counts as harmless. */
static bool check_hazards(struct report *r)
{
	bool harmless = true;

	add_section(r, "safety, each tested");
	for (const struct fsc_hazard_row *h = fsc_hazards; h->name; h++) {
		char detail[256];
		int rc = h->trial(detail, sizeof(detail));

		add_finding(r, rc == 0, h->name, detail, h->advice);
		harmless &= rc != -EFAULT;
	}
	return harmless;
}

static void verdict_line(struct report *r, const char *what, const char *rung)
{
	if (r->json) {
		fsc_json_line(&r->b, "rung");
		fsc_json_string(&r->b, "for", what);
		fsc_json_string(&r->b, "rung", rung);
		fsc_json_line_end(&r->b);
		return;
	}
	fsc_buf_printf(&r->b, "  %-18s %s\n", what, rung ? rung : "cannot be probed here");
}

/* The attach method each class of probe will use; false if none works at all. */
static bool add_verdict(struct report *r)
{
	const char *user = fsc_feature_works(FSC_FEATURE_UPROBE_MULTI) ? "uprobe.multi"
			   : fsc_feature_works(FSC_FEATURE_UPROBE)     ? "uprobe"
								       : NULL;
	const char *kernel = fsc_feature_works(FSC_FEATURE_KPROBE_MULTI) ? "kprobe.multi"
			     : fsc_feature_works(FSC_FEATURE_FENTRY)	 ? "fentry"
			     : fsc_feature_works(FSC_FEATURE_KPROBE)	 ? "kprobe"
									 : NULL;
	const char *tp = fsc_feature_works(FSC_FEATURE_RAW_TRACEPOINT) ? "raw_tracepoint"
			 : fsc_feature_works(FSC_FEATURE_TRACEPOINT)   ? "tracepoint"
								       : NULL;

	if (!fsc_kernel_has_cookies())
		user = kernel = tp = NULL;
	add_section(r, "what will be used");
	verdict_line(r, "user functions", user);
	verdict_line(r, "kernel functions", kernel);
	verdict_line(r, "tracepoints", tp);
	return user || kernel || tp;
}

static int examine_machine(struct report *r, struct fsc_err *err)
{
	struct utsname u;
	bool any, harmless;
	int rc;

	if (uname(&u))
		return fsc_err_sys(err, errno, "cannot ask for the kernel's version");
	if (!r->json)
		fsc_buf_printf(&r->b, "Linux %s on %s\n", u.release, u.machine);
	check_privileges(r);
	check_settings(r);
	check_features(r);
	harmless = check_hazards(r);
	any = add_verdict(r);
	rc = fsc_sink_print(stdout, &r->b, err);
	if (rc)
		return rc;
	if (!harmless)
		return fsc_err_set(err, EFAULT,
				   "probes would harm programs on this kernel; the lines marked "
				   "'no' under 'safety' say how");
	if (any)
		return 0;
	if (!fsc_kernel_has_cookies())
		return fsc_kernel_too_old(u.release, err);
	return fsc_err_set(
	    err, ENOTSUP,
	    "nothing can be probed on this machine; the lines marked 'no' say what to do");
}

static int run_doctor(int argc, char **argv, char **command, struct fsc_err *err)
{
	struct doctor_opts o = {0};
	const struct fsc_opt_set sets[] = {{doctor_opts, &o}, {NULL, NULL}};
	struct report r = {0};
	int n, rc = fsc_opt_parse(sets, argc, argv, &n, err);

	if (!rc && (n || command))
		rc = fsc_err_usage(err, "doctor takes no operands");
	if (rc)
		return rc;
	r.json = o.format == 1;
	rc = examine_machine(&r, err);
	fsc_buf_release(&r.b);
	return rc;
}

const struct fsc_cmd fsc_cmd_doctor = {
    .name = "doctor",
    .summary = "show what this machine supports, and what is missing",
    .operands = "",
    .example = "funcscope doctor",
    .opts = (const struct fsc_opt *const[]){doctor_opts, NULL},
    .run = run_doctor,
};
