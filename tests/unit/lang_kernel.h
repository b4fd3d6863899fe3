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

#include "lang_world.h"

enum { LANG_MAPS = 64, LANG_RING = 1 << 20 };

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
