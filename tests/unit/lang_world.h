/* A world of a few types and probes, for scripts that no binary is needed for. */
#ifndef FSC_TESTS_LANG_WORLD_H
#define FSC_TESTS_LANG_WORLD_H

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>

#include <linux/bpf.h>

#include "lang/plan.h"

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

#endif
