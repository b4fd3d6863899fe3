/* bpf(2) and perf_event_open(2) as this program uses them. */
#include "engine/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include "base/cleanup.h"

/* BPF_LINK_CREATE's arguments as the kernel lays them out, the parts used here. */
struct link_create {
	uint32_t prog_fd, target_fd, attach_type, flags;
	union {
		struct {
			uint64_t cookie;
		} perf_event;
		struct {
			uint32_t flags, cnt;
			uint64_t syms, addrs, cookies;
		} kprobe_multi;
		struct {
			uint64_t path, offsets, ref_ctr_offsets, cookies;
			uint32_t cnt, flags, pid, pad;
		} uprobe_multi;
		struct {
			uint32_t target_btf_id, pad;
			uint64_t cookie;
		} tracing;
	};
};

static uint64_t ptr_to_u64(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static int link_create(const struct link_create *lc)
{
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, lc, sizeof(*lc));

	return fd < 0 ? -errno : (int)fd;
}

int fsc_sys_load_nothing(enum bpf_prog_type type, int attach_type, int btf_id)
{
	const struct bpf_insn insns[] = {
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
	    {.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)attach_type,
		    .attach_btf_id = (uint32_t)btf_id);
	int fd = bpf_prog_load(type, "fsc_nothing", "GPL", insns, 2, &opts);

	return fd < 0 ? -errno : fd;
}

static int link_uprobes(int prog, const struct fsc_sys_uprobes *u, uint32_t attach_type)
{
	struct link_create lc = {
	    .prog_fd = (uint32_t)prog,
	    .attach_type = attach_type,
	    .uprobe_multi = {.path = ptr_to_u64(u->path),
			     .offsets = ptr_to_u64(u->offsets),
			     .ref_ctr_offsets = ptr_to_u64(u->ref_ctrs),
			     .cookies = ptr_to_u64(u->cookies),
			     .cnt = u->n,
			     .flags = u->ret,
			     .pid = (uint32_t)u->pid},
	};

	return link_create(&lc);
}

int fsc_sys_link_uprobes(int prog, const struct fsc_sys_uprobes *u)
{
	return link_uprobes(prog, u, FSC_ATTACH_UPROBE_MULTI);
}

int fsc_sys_link_uprobe_session(int prog, const struct fsc_sys_uprobes *u)
{
	return link_uprobes(prog, u, FSC_ATTACH_UPROBE_SESSION);
}

/* How the kernel answers a link that it must refuse. */
static int try_link(int prog, uint32_t attach_type, const char *path, pid_t pid)
{
	uint64_t offset = 0;
	struct fsc_sys_uprobes u = {.path = path, .offsets = &offset, .n = 1, .pid = pid};
	FSC_AUTO(fsc_closep) int fd = link_uprobes(prog, &u, attach_type);

	return fd;
}

/* A kernel that supports the link says that "/" is not a file; others say EINVAL. */
bool fsc_sys_knows_uprobes(int prog)
{
	return try_link(prog, FSC_ATTACH_UPROBE_MULTI, "/", 0) == -EBADF;
}

bool fsc_sys_knows_uprobe_session(int prog)
{
	return try_link(prog, FSC_ATTACH_UPROBE_SESSION, "/", 0) == -EBADF;
}

/* A kernel that filters correctly rejects process -1 as invalid; others look for it. */
bool fsc_sys_knows_uprobes_pid(int prog)
{
	return try_link(prog, FSC_ATTACH_UPROBE_MULTI, "/proc/self/exe", -1) == -EINVAL;
}

static int link_kprobes(int prog, const struct fsc_sys_kprobes *k, uint32_t attach_type)
{
	struct link_create lc = {
	    .prog_fd = (uint32_t)prog,
	    .attach_type = attach_type,
	    .kprobe_multi = {.flags = k->ret,
			     .cnt = k->n,
			     .addrs = ptr_to_u64(k->addrs),
			     .syms = k->addrs ? 0 : ptr_to_u64(k->names),
			     .cookies = ptr_to_u64(k->cookies)},
	};

	return link_create(&lc);
}

int fsc_sys_link_kprobes(int prog, const struct fsc_sys_kprobes *k)
{
	return link_kprobes(prog, k, FSC_ATTACH_KPROBE_MULTI);
}

int fsc_sys_link_kprobe_session(int prog, const struct fsc_sys_kprobes *k)
{
	return link_kprobes(prog, k, FSC_ATTACH_KPROBE_SESSION);
}

int fsc_sys_link_tracing(int prog)
{
	int fd = bpf_raw_tracepoint_open(NULL, prog);

	return fd < 0 ? -errno : fd;
}

int fsc_sys_link_tracing_cookie(int prog, int attach_type, uint64_t cookie)
{
	const struct link_create lc = {.prog_fd = (uint32_t)prog,
				       .attach_type = (uint32_t)attach_type,
				       .tracing = {.cookie = cookie}};

	return link_create(&lc);
}

int fsc_sys_link_raw(int prog, const char *name, uint64_t cookie)
{
	/* BPF_RAW_TRACEPOINT_OPEN's arguments; the cookie is newer than the headers. */
	const struct {
		uint64_t name;
		uint32_t prog_fd, pad;
		uint64_t cookie;
	} open_args = {.name = ptr_to_u64(name), .prog_fd = (uint32_t)prog, .cookie = cookie};
	/* Older kernels refuse what they do not know, unless it is 0 and left out. */
	size_t size = cookie ? sizeof(open_args) : offsetof(__typeof__(open_args), cookie);
	long fd = syscall(SYS_bpf, BPF_RAW_TRACEPOINT_OPEN, &open_args, size);

	return fd < 0 ? -errno : (int)fd;
}

int fsc_sys_link_iter(int prog)
{
	const struct link_create lc = {.prog_fd = (uint32_t)prog, .attach_type = BPF_TRACE_ITER};

	return link_create(&lc);
}

int fsc_sys_open_iter(int link)
{
	int fd = bpf_iter_create(link);

	return fd < 0 ? -errno : fd;
}

int fsc_sys_link_perf(int prog, int perf_fd, uint64_t cookie)
{
	FSC_AUTO(fsc_closep) int perf = perf_fd;
	struct link_create lc = {
	    .prog_fd = (uint32_t)prog,
	    .target_fd = (uint32_t)perf,
	    .attach_type = BPF_PERF_EVENT,
	    .perf_event = {.cookie = cookie},
	};

	return perf < 0 ? perf : link_create(&lc);
}

static int perf_open_on(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	long fd;

	attr->size = sizeof(*attr);
	fd = syscall(SYS_perf_event_open, attr, pid ? pid : -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

static int perf_open(struct perf_event_attr *attr, pid_t pid)
{
	return perf_open_on(attr, pid, pid ? -1 : 0);
}

static int read_text(const char *path, char *buf, size_t size)
{
	FSC_AUTO(fsc_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return 0;
}

/* The perf type of "uprobe" or "kprobe" and the bit that makes it a return probe. */
static int dynamic_type(const char *pmu, bool ret, struct perf_event_attr *attr)
{
	char path[96], text[32];
	unsigned bit = 0;
	int rc;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	rc = read_text(path, text, sizeof(text));
	if (rc)
		return rc;
	attr->type = (uint32_t)strtoul(text, NULL, 10);
	if (!ret)
		return 0;
	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/format/retprobe", pmu);
	rc = read_text(path, text, sizeof(text));
	if (rc)
		return rc;
	if (sscanf(text, "config:%u", &bit) != 1 || bit > 63)
		return -EPROTO;
	attr->config |= 1ull << bit;
	return 0;
}

int fsc_sys_perf_uprobe(const char *path, uint64_t offset, uint64_t ref_ctr, bool ret, pid_t pid)
{
	struct perf_event_attr attr = {0};
	int rc = dynamic_type("uprobe", ret, &attr);

	if (rc)
		return rc;
	attr.config |= ref_ctr << 32; /* format/ref_ctr_offset: config:32-63 since it exists */
	attr.config1 = ptr_to_u64(path);
	attr.config2 = offset;
	return perf_open(&attr, pid);
}

int fsc_sys_link_uprobe(int prog, const struct fsc_sys_uprobes *u)
{
	uint64_t ref_ctr = u->ref_ctrs ? u->ref_ctrs[0] : 0;

	if (u->n != 1)
		return -E2BIG;
	return fsc_sys_link_perf(
	    prog, fsc_sys_perf_uprobe(u->path, u->offsets[0], ref_ctr, u->ret, u->pid),
	    u->cookies ? u->cookies[0] : 0);
}

int fsc_sys_perf_kprobe(const char *name, uint64_t addr, uint64_t offset, bool ret)
{
	struct perf_event_attr attr = {0};
	int rc = dynamic_type("kprobe", ret, &attr);

	if (rc)
		return rc;
	attr.config1 = addr ? 0 : ptr_to_u64(name);
	attr.config2 = addr ? addr + offset : offset;
	return perf_open(&attr, 0);
}

int fsc_sys_perf_tracepoint(int id)
{
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_TRACEPOINT,
	    .config = (uint64_t)id,
	    .sample_period = 1,
	    .wakeup_events = 1,
	};

	return perf_open(&attr, 0);
}

int fsc_sys_perf_sampler(const struct fsc_sys_sampler *e)
{
	struct perf_event_attr attr = {
	    .type = e->type,
	    .config = e->config,
	    .freq = e->frequency != 0,
	    .sample_period = e->frequency ? e->frequency : e->period,
	};

	return perf_open_on(&attr, e->pid, e->cpu);
}

int fsc_sys_perf_breakpoint(const struct fsc_sys_breakpoint *w)
{
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_BREAKPOINT,
	    .bp_type = w->access,
	    .bp_addr = w->address,
	    .bp_len = w->access == HW_BREAKPOINT_X ? sizeof(long) : w->length,
	    .sample_period = 1,
	    .precise_ip = 2,
	    .inherit = w->pid != 0, /* threads that begin later, too */
	};

	return perf_open_on(&attr, w->pid, w->pid ? -1 : w->cpu);
}

uint64_t fsc_sys_prog_missed(int prog)
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(prog, &info, &len))
		return 0;
	return info.recursion_misses;
}

uint64_t fsc_sys_link_missed(int link)
{
	/* struct bpf_link_info of 6.7: `missed` is at different offsets in two members of the
	 * union. */
	struct {
		uint32_t type, id, prog_id, pad;
		union {
			struct {
				uint64_t addrs;
				uint32_t count, flags;
				uint64_t missed, cookies;
			} kprobe_multi;
			struct {
				uint32_t type, pad;
				uint64_t func_name;
				uint32_t name_len, offset;
				uint64_t addr, missed, cookie;
			} kprobe;
		};
	} info = {0};
	uint32_t len = sizeof(info);
	enum { LINK_PERF_EVENT = 7, LINK_KPROBE_MULTI = 8, PERF_KPROBE = 3, PERF_KRETPROBE = 4 };

	if (bpf_obj_get_info_by_fd(link, &info, &len))
		return 0;
	if (info.type == LINK_KPROBE_MULTI)
		return info.kprobe_multi.missed;
	if (info.type == LINK_PERF_EVENT &&
	    (info.kprobe.type == PERF_KPROBE || info.kprobe.type == PERF_KRETPROBE))
		return info.kprobe.missed;
	return 0;
}
