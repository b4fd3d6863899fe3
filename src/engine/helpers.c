/* A program that calls a helper without arguments: a kernel that has none of that number, or not
 * for programs of that type, answers EINVAL; one that has it goes on to the missing arguments
 * (EACCES), or loads it. */
#include "engine/helpers.h"

#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "engine/sys.h"

#define FUNC_KTIME_GET_TAI_NS 208

static bool helper_works(enum bpf_prog_type type, int attach_type, int helper)
{
	const struct bpf_insn insns[] = {
	    {.code = BPF_JMP | BPF_CALL, .imm = helper},
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
	    {.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)attach_type);
	int fd = bpf_prog_load(type, "fsc_helper", "GPL", insns, 3, &opts);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || fd == -EACCES;
}

static bool in_kprobe(int helper)
{
	return helper_works(BPF_PROG_TYPE_KPROBE, 0, helper);
}

static bool uprobe_multi_loads(void)
{
	int fd = fsc_sys_load_nothing(BPF_PROG_TYPE_KPROBE, FSC_ATTACH_UPROBE_MULTI, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

void fsc_helpers_features(struct fsc_world_features *ret)
{
	static struct fsc_world_features f;
	static bool tried;

	if (!tried) {
		f.loop = in_kprobe(BPF_FUNC_loop);
		f.for_each = in_kprobe(BPF_FUNC_for_each_map_elem);
		f.boot_ns = in_kprobe(BPF_FUNC_ktime_get_boot_ns);
		f.tai_ns = in_kprobe(FUNC_KTIME_GET_TAI_NS);
		f.jiffies = in_kprobe(BPF_FUNC_jiffies64);
		f.func_ip_kprobe = in_kprobe(BPF_FUNC_get_func_ip);
		f.func_ip_uprobe = uprobe_multi_loads();
		f.cookie = in_kprobe(BPF_FUNC_get_attach_cookie);
		f.cookie_raw =
		    helper_works(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, BPF_FUNC_get_attach_cookie);
		f.send_signal = in_kprobe(BPF_FUNC_send_signal);
		f.send_signal_thread = in_kprobe(BPF_FUNC_send_signal_thread);
		f.override = in_kprobe(BPF_FUNC_override_return);
		f.ns_pid = in_kprobe(BPF_FUNC_get_ns_current_pid_tgid);
		f.percpu_lookup = in_kprobe(BPF_FUNC_map_lookup_percpu_elem);
		/* These exist in programs that cannot be loaded without a function to trace, so
		 * that a trial would read all of BTF: they are older than a helper that can be
		 * tried. The loader has the last word. */
		f.cookie_tracing = f.tai_ns;
		f.d_path = f.loop;
		f.skb_output = f.loop;
		f.socket_cookie = f.loop;
		/* Whether the functions are there is what fsc_world.kfunc() answers. */
		f.preempt_off = f.tai_ns;
		tried = true;
	}
	*ret = f;
}
