/* Lines of "name: yes". */
#include "cmd/run_info.h"

#include <sys/utsname.h>

#include "base/cleanup.h"
#include "engine/features.h"
#include "sink/sink.h"
#include "world/machine.h"

static void info_line(struct fsc_buf *b, const char *name, bool has)
{
	fsc_buf_printf(b, "  %s: %s\n", name, has ? "yes" : "no");
}

static void info_helpers(const struct fsc_world_features *f, struct fsc_buf *b)
{
	const struct {
		const char *name;
		bool has;
	} helpers[] = {{"dpath", f->d_path},
		       {"get_func_ip", f->func_ip_kprobe || f->func_ip_uprobe},
		       {"get_ktime_ns", f->boot_ns},
		       {"get_tai_ns", f->tai_ns},
		       {"jiffies64", f->jiffies},
		       {"lookup_percpu_elem", f->percpu_lookup},
		       {"loop", f->loop},
		       {"override_return", f->override},
		       {"send_signal", f->send_signal},
		       {"skboutput", f->skb_output}};

	fsc_buf_puts(b, "\nKernel helpers\n");
	for (size_t i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++)
		info_line(b, helpers[i].name, helpers[i].has);
}

static void info_probes(bool iterators, struct fsc_buf *b)
{
	static const struct {
		const char *name;
		enum fsc_feature feature;
	} probes[] = {{"kprobe", FSC_FEATURE_KPROBE},
		      {"kprobe_multi", FSC_FEATURE_KPROBE_MULTI},
		      {"kprobe_session", FSC_FEATURE_KPROBE_SESSION},
		      {"uprobe_multi", FSC_FEATURE_UPROBE_MULTI},
		      {"fentry", FSC_FEATURE_FENTRY}};

	fsc_buf_puts(b, "\nProbe types\n");
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
		info_line(b, probes[i].name, fsc_feature_works(probes[i].feature));
	info_line(b, "iter", iterators);
}

int fsc_run_info(struct fsc_err *err)
{
	const struct fsc_machine_opts opts = {0};
	FSC_AUTO(fsc_machine_freep) struct fsc_machine *machine = NULL;
	struct fsc_buf b = {0}, iterators = {0};
	int rc = fsc_machine_new(&opts, &machine, err);
	struct utsname u;

	if (!rc)
		rc = fsc_machine_list(machine, "iter:*", false, &iterators, err);
	if (rc) {
		fsc_buf_release(&iterators);
		return rc;
	}
	if (!uname(&u))
		fsc_buf_printf(&b, "System\n  OS: %s %s %s\n  Arch: %s\n", u.sysname, u.release,
			       u.version, u.machine);
	fsc_buf_puts(&b, "\nBuild\n  version: funcscope " FSC_VERSION "\n");
	info_line(&b, "LLVM", false);
	info_line(&b, "libdw (DWARF support)", true);
	info_helpers(&fsc_machine_world(machine)->features, &b);
	fsc_buf_puts(&b, "\nKernel features\n");
	info_line(&b, "btf", iterators.n != 0);
	info_probes(iterators.n != 0, &b);
	fsc_buf_release(&iterators);
	return fsc_sink_print(stdout, &b, err);
}
