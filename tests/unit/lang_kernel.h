/* A plan in the kernel without the runtime: maps and programs by the raw system call, BEGIN probes
 * run by BPF_PROG_TEST_RUN, records read from the ring. And a world of a few types and probes, for
 * scripts that no binary is needed for. */
#ifndef FSC_TESTS_LANG_KERNEL_H
#define FSC_TESTS_LANG_KERNEL_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "lang/plan.h"

enum { LANG_MAPS = 64, LANG_RING = 1 << 20 };

static const struct {
	const char *prefix;
	enum fsc_point_kind kind;
	const char *type;
	int prog;
	int attach;
} lang_kinds[] = {
    {"BEGIN", FSC_POINT_BEGIN, "special", BPF_PROG_TYPE_RAW_TRACEPOINT, 0},
    {"begin", FSC_POINT_BEGIN, "special", BPF_PROG_TYPE_RAW_TRACEPOINT, 0},
    {"END", FSC_POINT_END, "special", BPF_PROG_TYPE_RAW_TRACEPOINT, 0},
    {"kprobe:", FSC_POINT_KPROBE, "kprobe", BPF_PROG_TYPE_KPROBE, 0},
    {"kretprobe:", FSC_POINT_KRETPROBE, "kretprobe", BPF_PROG_TYPE_KPROBE, 0},
    {"uprobe:", FSC_POINT_UPROBE, "uprobe", BPF_PROG_TYPE_KPROBE, 0},
    {"uretprobe:", FSC_POINT_URETPROBE, "uretprobe", BPF_PROG_TYPE_KPROBE, 0},
    {"tracepoint:", FSC_POINT_TRACEPOINT, "tracepoint", BPF_PROG_TYPE_TRACEPOINT, 0},
    {"rawtracepoint:", FSC_POINT_RAWTRACEPOINT, "rawtracepoint", BPF_PROG_TYPE_RAW_TRACEPOINT, 0},
    {"profile:", FSC_POINT_PROFILE, "profile", BPF_PROG_TYPE_PERF_EVENT, 0},
    {"interval:", FSC_POINT_INTERVAL, "interval", BPF_PROG_TYPE_PERF_EVENT, 0},
    {"usdt:", FSC_POINT_USDT, "usdt", BPF_PROG_TYPE_KPROBE, 0},
};

static struct fsc_point lang_points[64];
static size_t lang_n_points;

static int lang_match(void *arg, const char *text, int (*add)(void *to, const struct fsc_point *),
		      void *to, struct fsc_err *err)
{
	(void)arg;
	for (size_t i = 0; i < sizeof(lang_kinds) / sizeof(*lang_kinds); i++) {
		const char *star = strchr(text, '*');

		if (strncmp(text, lang_kinds[i].prefix, strlen(lang_kinds[i].prefix)))
			continue;
		for (int k = 0; k < (star ? 3 : 1); k++) {
			struct fsc_point *p = &lang_points[lang_n_points++ % 64];
			static char names[64][64];
			char *name = names[(lang_n_points - 1) % 64];

			snprintf(name, 64, "%.*s%.0d", star ? (int)(star - text) : 63, text,
				 star ? k + 1 : 0);
			*p = (struct fsc_point){.kind = lang_kinds[i].kind,
						.name = name,
						.type = lang_kinds[i].type,
						.watch_arg = -1,
						.btf_fd = -1};
			p->func = strrchr(name, ':') ? strrchr(name, ':') + 1 : NULL;
			p->usdt_args = lang_kinds[i].kind == FSC_POINT_USDT
					   ? "-4@%edi 8@-16(%rbp) 4@$5"
					   : NULL;
			if (add(to, p))
				return -ENOMEM;
		}
		return 0;
	}
	return fsc_err_set(err, ENOENT, "'%s' matches nothing", text);
}

/* struct pair { int a; unsigned b : 3, c : 5; char name[8]; struct pair *next; short all[3]; } */
static const struct fsc_type lang_int = {
    .kind = FSC_TYPE_INT, .is_signed = true, .name = "int", .size = 4};
static const struct fsc_type lang_uint = {.kind = FSC_TYPE_INT, .name = "unsigned int", .size = 4};
static const struct fsc_type lang_short = {
    .kind = FSC_TYPE_INT, .is_signed = true, .name = "short", .size = 2};
static const struct fsc_type lang_char = {
    .kind = FSC_TYPE_INT, .is_signed = true, .is_char = true, .name = "char", .size = 1};
static const struct fsc_type lang_name = {
    .kind = FSC_TYPE_ARRAY, .to = &lang_char, .n = 8, .size = 8};
static const struct fsc_type lang_all = {
    .kind = FSC_TYPE_ARRAY, .to = &lang_short, .n = 3, .size = 6};
static const struct fsc_type lang_pair_p;
static const struct fsc_member lang_members[] = {
    {.name = "a", .type = &lang_int, .size_bits = 32},
    {.name = "b", .type = &lang_uint, .offset_bits = 32, .size_bits = 3, .bitfield = true},
    {.name = "c", .type = &lang_uint, .offset_bits = 35, .size_bits = 5, .bitfield = true},
    {.name = "name", .type = &lang_name, .offset_bits = 64, .size_bits = 64},
    {.name = "next", .type = &lang_pair_p, .offset_bits = 128, .size_bits = 64},
    {.name = "all", .type = &lang_all, .offset_bits = 192, .size_bits = 48},
};
static const struct fsc_type lang_pair = {.kind = FSC_TYPE_STRUCT,
					  .name = "pair",
					  .is_tagged = true,
					  .is_complete = true,
					  .size = 32,
					  .members = lang_members,
					  .n_members = 6};
static const struct fsc_type lang_pair_p = {.kind = FSC_TYPE_POINTER, .to = &lang_pair, .size = 8};
static const struct fsc_enumerator lang_colours[] = {{"RED", 1}, {"GREEN", 2}};
static const struct fsc_type lang_colour = {.kind = FSC_TYPE_ENUM,
					    .name = "colour",
					    .size = 4,
					    .enumerators = lang_colours,
					    .n_enumerators = 2};
static const struct fsc_arg lang_args[] = {
    {.name = "n", .type = &lang_int, .at = FSC_ARG_AT_RECORD, .offset = 16},
    {.name = "comm", .type = &lang_name, .at = FSC_ARG_AT_RECORD, .offset = 24},
    {.name = "text", .type = &lang_char, .at = FSC_ARG_AT_DATA_LOC, .offset = 32, .is_text = true},
    {.name = "p", .type = &lang_pair_p, .at = FSC_ARG_AT_RECORD, .offset = 40, .user = true},
};

static bool lang_type(void *arg, const char *name, const struct fsc_point *near,
		      struct fsc_world_type *ret)
{
	(void)arg;
	(void)near;
	ret->type = !strcmp(name, "struct pair")   ? &lang_pair
		    : !strcmp(name, "enum colour") ? &lang_colour
						   : NULL;
	return ret->type != NULL;
}

static bool lang_enumerator(void *arg, const char *name, const struct fsc_point *near,
			    struct fsc_world_enumerator *ret)
{
	(void)arg;
	(void)near;
	for (int i = 0; i < 2; i++)
		if (!strcmp(name, lang_colours[i].name)) {
			*ret = (struct fsc_world_enumerator){lang_colours[i].value, &lang_colour};
			return true;
		}
	return false;
}

static int lang_args_of(void *arg, const struct fsc_point *point, struct fsc_args *ret,
			struct fsc_err *err)
{
	(void)arg;
	if (point->kind != FSC_POINT_TRACEPOINT)
		return fsc_err_set(err, ENOENT, "nothing is known of '%s'", point->name);
	*ret = (struct fsc_args){.args = lang_args, .n = 4};
	return 0;
}

static int lang_kaddr(void *arg, const char *name, uint64_t *ret, struct fsc_err *err)
{
	(void)arg;
	if (strcmp(name, "jiffies"))
		return fsc_err_set(err, ENOENT, "there is no symbol '%s'", name);
	*ret = 0xffffffff81000000;
	return 0;
}

static struct fsc_world lang_world(void)
{
	struct fsc_world w = {.match = lang_match,
			      .args = lang_args_of,
			      .type = lang_type,
			      .enumerator = lang_enumerator,
			      .kaddr = lang_kaddr,
			      .n_online = (unsigned)get_nprocs(),
			      .n_cpus = (unsigned)get_nprocs_conf()};

	memset(&w.features, 1, sizeof(w.features));
	w.features.preempt_off = false;
	return w;
}

/* A loaded plan. */
struct lang_loaded {
	const struct fsc_plan *plan;
	int maps[LANG_MAPS];
	int progs[256];
	char *log;
};

static int lang_bpf(int cmd, union bpf_attr *attr)
{
	return (int)syscall(__NR_bpf, cmd, attr, sizeof(*attr));
}

static int lang_map_update(int fd, uint32_t key, const void *value)
{
	union bpf_attr attr = {.map_fd = (uint32_t)fd};

	attr.key = (uintptr_t)&key;
	attr.value = (uintptr_t)value;
	return lang_bpf(BPF_MAP_UPDATE_ELEM, &attr);
}

static int lang_map_create(const struct fsc_plan_map *m)
{
	union bpf_attr attr = {.map_type = m->type,
			       .key_size = m->key_size,
			       .value_size = m->value_size,
			       .max_entries = m->max_entries,
			       .map_flags = m->flags};
	int fd;

	if (m->role == FSC_PMAP_RING)
		attr.max_entries = LANG_RING;
	fd = lang_bpf(BPF_MAP_CREATE, &attr);
	for (uint32_t i = 0; fd >= 0 && m->content && i < m->max_entries; i++)
		lang_map_update(fd, i, (const char *)m->content + (size_t)i * m->value_size);
	if (m->frozen) {
		union bpf_attr freeze = {.map_fd = (uint32_t)fd};

		lang_bpf(BPF_MAP_FREEZE, &freeze);
	}
	return fd;
}

static int lang_prog_load(struct lang_loaded *l, const struct fsc_plan_prog *p)
{
	struct bpf_insn *insns = malloc(p->n_insns * sizeof(*insns));
	union bpf_attr btf = {.btf = (uintptr_t)p->btf, .btf_size = p->btf_size}, attr = {0};
	int btf_fd, fd;

	memcpy(insns, p->insns, p->n_insns * sizeof(*insns));
	for (size_t i = 0; i < p->n_relocs; i++)
		if (p->relocs[i].kind == FSC_RELOC_MAP)
			insns[p->relocs[i].insn].imm = l->maps[p->relocs[i].map];
	btf.btf_log_buf = (uintptr_t)l->log;
	btf.btf_log_size = 1 << 20;
	btf.btf_log_level = 1;
	btf_fd = lang_bpf(BPF_BTF_LOAD, &btf);
	if (btf_fd < 0) {
		free(insns);
		return -errno;
	}
	for (size_t i = 0; i < sizeof(lang_kinds) / sizeof(*lang_kinds); i++)
		if (lang_kinds[i].kind == p->kind)
			attr.prog_type = (uint32_t)lang_kinds[i].prog;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = (uint32_t)p->n_insns;
	attr.license = (uintptr_t) "GPL";
	attr.log_buf = (uintptr_t)l->log;
	attr.log_size = 1 << 20;
	attr.log_level = 1;
	attr.prog_btf_fd = (uint32_t)btf_fd;
	attr.func_info = (uintptr_t)p->func_info;
	attr.func_info_cnt = p->n_func_info;
	attr.func_info_rec_size = sizeof(struct bpf_func_info);
	attr.line_info = (uintptr_t)p->line_info;
	attr.line_info_cnt = p->n_line_info;
	attr.line_info_rec_size = sizeof(struct bpf_line_info);
	*l->log = 0;
	fd = lang_bpf(BPF_PROG_LOAD, &attr);
	if (fd < 0 && errno == ENOSPC) {
		attr.log_level = 0;
		attr.log_buf = 0;
		attr.log_size = 0;
		fd = lang_bpf(BPF_PROG_LOAD, &attr);
	}
	fd = fd < 0 ? -errno : fd;
	close(btf_fd);
	free(insns);
	return fd;
}

static void lang_unload(struct lang_loaded *l)
{
	for (size_t i = 0; i < LANG_MAPS; i++)
		if (l->maps[i] > 0)
			close(l->maps[i]);
	for (size_t i = 0; i < 256; i++)
		if (l->progs[i] > 0)
			close(l->progs[i]);
	free(l->log);
	l->log = NULL;
}

/* 0, or the program that was refused, from 1; log is the verifier's. */
static int lang_load(const struct fsc_plan *plan, struct lang_loaded *l)
{
	memset(l, 0, sizeof(*l));
	l->plan = plan;
	l->log = calloc(1, 1 << 20);
	for (size_t i = 0; i < plan->n_maps && i < LANG_MAPS; i++) {
		l->maps[i] = lang_map_create(&plan->maps[i]);
		if (l->maps[i] < 0) {
			sprintf(l->log, "map %s: %s", plan->maps[i].name, strerror(errno));
			return -1;
		}
	}
	for (size_t i = 0; i < plan->n_progs && i < 256; i++) {
		l->progs[i] = lang_prog_load(l, &plan->progs[i]);
		if (l->progs[i] < 0)
			return (int)i + 1;
	}
	return 0;
}

static int lang_run(struct lang_loaded *l, size_t prog)
{
	union bpf_attr attr = {0};
	uint64_t ctx[12] = {0};

	attr.test.prog_fd = (uint32_t)l->progs[prog];
	attr.test.ctx_in = (uintptr_t)ctx;
	attr.test.ctx_size_in = sizeof(ctx);
	return lang_bpf(BPF_PROG_RUN, &attr) ? -errno : (int)attr.test.retval;
}

/* Calls take for each record in the ring, once all programs have run. */
static void lang_records(struct lang_loaded *l,
			 void (*take)(void *arg, const void *record, size_t n), void *arg)
{
	long page = sysconf(_SC_PAGESIZE);
	int fd = l->maps[l->plan->ring];
	char *consumer = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char *producer = mmap(NULL, (size_t)page + 2 * LANG_RING, PROT_READ, MAP_SHARED, fd, page);
	uint64_t at = *(uint64_t *)consumer, end = *(volatile uint64_t *)producer;

	while (at < end) {
		const uint32_t *head = (const uint32_t *)(producer + page + (at & (LANG_RING - 1)));
		uint32_t n = *head & 0x3fffffff;

		if (!(*head & BPF_RINGBUF_DISCARD_BIT))
			take(arg, head + 2, n);
		at += (n + 8 + 7) & ~7u;
	}
	*(uint64_t *)consumer = at;
	munmap(consumer, (size_t)page);
	munmap(producer, (size_t)page + 2 * LANG_RING);
}

#endif
