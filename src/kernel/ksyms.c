/* /proc/kallsyms: 200,000 lines "address type name[\tmodule]", read whole and cut in place. */
#include "kernel/ksyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "base/slurp.h"

#define FUNCTION_MAX (1u << 20)

struct filter {
	bool (*wanted)(const char *name, const char *module, void *arg);
	void *arg;
	bool all; /* furniture, too */
};

/* Compiler and linker furniture that carries function types. */
static const char *const dropped_prefixes[] = {"__pfx_", "__cfi_", "__SCT__", "__SCK__",
					       "__kstrtab"};

static bool is_function_name(const char *name)
{
	for (size_t i = 0; i < sizeof(dropped_prefixes) / sizeof(dropped_prefixes[0]); i++) {
		if (!strncmp(name, dropped_prefixes[i], strlen(dropped_prefixes[i])))
			return false;
	}
	return *name && !strstr(name, ".cold");
}

/* BPF programs, and the trampolines of ftrace and kprobes, come and go: no functions to probe. */
static bool is_real_module(const char *module)
{
	return !module || (strcmp(module, "bpf") && strncmp(module, "__builtin__", 11));
}

static bool take_hex(char **pos, uint64_t *ret)
{
	char *p = *pos;
	uint64_t v = 0;

	for (; *p; p++) {
		unsigned digit;

		if (*p >= '0' && *p <= '9')
			digit = (unsigned)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			digit = (unsigned)(*p - 'a') + 10;
		else
			break;
		v = v << 4 | digit;
	}
	if (p == *pos || *p != ' ')
		return false;
	*pos = p + 1;
	*ret = v;
	return true;
}

/* Cuts "[module]" off the end of a line; NULL if there is none. */
static char *take_module(char *name)
{
	char *module = name + strcspn(name, "\t ");

	if (!*module)
		return NULL;
	*module++ = '\0';
	module += strspn(module, "\t [");
	module[strcspn(module, "]")] = '\0';
	return *module ? module : NULL;
}

/* Whether the line is a function to keep. */
static bool parse_line(char *line, const struct filter *f, struct fsc_ksym *ret)
{
	char *pos = line, *module;

	if (!take_hex(&pos, &ret->addr) || !*pos || !strchr("tTwW", pos[0]) || pos[1] != ' ')
		return false;
	pos += 2;
	module = take_module(pos);
	if (!f->all && (!is_function_name(pos) || !is_real_module(module)))
		return false;
	ret->name = pos;
	ret->module = module;
	return !f->wanted || f->wanted(pos, module, f->arg);
}

static int parse_lines(char *text, const struct filter *f, struct fsc_vec *syms,
		       struct fsc_err *err)
{
	char *line = text;

	while (*line) {
		char *end = strchr(line, '\n'), *next = end ? end + 1 : line + strlen(line);
		struct fsc_ksym sym, *place;

		if (end)
			*end = '\0';
		if (parse_line(line, f, &sym)) {
			place = fsc_vec_push(syms);
			if (!place)
				return fsc_err_nomem(err);
			*place = sym;
		}
		line = next;
	}
	return 0;
}

static int load_kallsyms(const char *path, const struct filter *f, struct fsc_ksyms *ret,
			 struct fsc_err *err)
{
	FSC_AUTO(fsc_vec_release) struct fsc_vec syms = FSC_VEC_INIT(struct fsc_ksym);
	FSC_AUTO(fsc_freep) char *text = NULL;
	size_t n;
	int rc;

	rc = fsc_slurp(AT_FDCWD, path ? path : "/proc/kallsyms", &text, &n, err);
	if (!rc)
		rc = parse_lines(text, f, &syms, err);
	if (rc)
		return rc;
	ret->n = syms.n;
	ret->syms = fsc_take(&syms.data);
	ret->text = fsc_take(&text);
	return 0;
}

int fsc_ksyms_load(const char *path,
		   bool (*wanted)(const char *name, const char *module, void *arg), void *arg,
		   struct fsc_ksyms *ret, struct fsc_err *err)
{
	struct filter f = {.wanted = wanted, .arg = arg};

	return load_kallsyms(path, &f, ret, err);
}

static int by_address(const void *va, const void *vb)
{
	const struct fsc_ksym *a = va, *b = vb;
	size_t ua, ub;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	ua = strspn(a->name, "_");
	ub = strspn(b->name, "_");
	if (ua != ub)
		return ua < ub ? -1 : 1;
	return strcmp(a->name, b->name);
}

int fsc_ksyms_load_all(const char *path, struct fsc_ksyms *ret, struct fsc_err *err)
{
	static const struct filter all = {.all = true};
	int rc = load_kallsyms(path, &all, ret, err);

	if (!rc && ret->n)
		qsort(ret->syms, ret->n, sizeof(*ret->syms), by_address);
	return rc;
}

const struct fsc_ksym *fsc_ksyms_find(const struct fsc_ksyms *k, uint64_t addr)
{
	size_t lo = 0, hi = k->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (k->syms[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* kallsyms has no sizes: no function is longer than this. */
	if (!lo || !k->syms[lo - 1].addr || addr - k->syms[lo - 1].addr >= FUNCTION_MAX)
		return NULL;
	for (lo--; lo && k->syms[lo - 1].addr == k->syms[lo].addr;)
		lo--;
	return &k->syms[lo];
}

void fsc_ksyms_release(struct fsc_ksyms *k)
{
	free(k->syms);
	free(k->text);
	*k = (struct fsc_ksyms){0};
}
