/* Names for what a script's programs only have numbers of. */
#include <arpa/inet.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fmt.h"
#include "kernel/syscalls.h"
#include "source/script_priv.h"

/* ---- addresses ---- */

/* "name [module]" of the kernel's without the module. */
static void frame_name(const struct fsc_frame *f, struct fsc_buf *b)
{
	const char *module = f->kernel ? strstr(f->name, " [") : NULL;
	char *name = module ? strndup(f->name, (size_t)(module - f->name)) : NULL;

	fsc_fmt_term(b, name ? name : f->name);
	free(name);
}

/* A probe behind a function's leading no-operations stands for the function's beginning. */
static uint64_t frame_offset(const struct fsc_readings *r, const struct fsc_frame *f, bool is_leaf)
{
	const uint64_t *moved =
	    is_leaf && !f->kernel ? fsc_map_get(&r->moved, f->name, strlen(f->name)) : NULL;

	return moved && *moved == f->offset ? 0 : f->offset;
}

static void frame_unknown(uint64_t addr, enum fsc_v_stack_mode mode, struct fsc_buf *b)
{
	unsigned long long a = addr;

	if (mode == FSC_STACK_PERF)
		fsc_buf_printf(b, "\t%llx 0x%llx ([unknown])\n", a, a);
	else
		fsc_buf_printf(b, "        0x%llx\n", a);
}

static void frame_perf(const struct fsc_frame *f, uint64_t addr, uint64_t offset, struct fsc_buf *b)
{
	fsc_buf_printf(b, "\t%llx ", (unsigned long long)addr);
	frame_name(f, b);
	fsc_buf_printf(b, "+%llu", (unsigned long long)offset);
	if (!f->kernel) {
		fsc_buf_puts(b, " (");
		fsc_fmt_term(b, f->binary);
		fsc_buf_putc(b, ')');
	}
	fsc_buf_putc(b, '\n');
}

static void frame_usual(const struct fsc_frame *f, uint64_t offset, struct fsc_buf *b)
{
	fsc_buf_puts(b, "        ");
	frame_name(f, b);
	fsc_buf_printf(b, "+%llu", (unsigned long long)offset);
	if (f->inlined)
		fsc_buf_puts(b, " [inlined]");
	fsc_buf_putc(b, '\n');
}

static int stack_frame(struct fsc_readings *r, const struct fsc_vtype *t,
		       const struct fsc_address *a, struct fsc_buf *b, struct fsc_err *err)
{
	const struct fsc_frame *frames;
	size_t n;
	int rc;

	if (t->stack.mode == FSC_STACK_RAW) {
		fsc_buf_printf(b, "%llx\n", (unsigned long long)a->addr);
		return 0;
	}
	rc = fsc_namer_at(r->namer, a, &frames, &n, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++)
		if (frames[i].unknown)
			frame_unknown(a->addr, t->stack.mode, b);
		else if (t->stack.mode == FSC_STACK_PERF)
			frame_perf(&frames[i], a->addr, frame_offset(r, &frames[i], !a->is_return),
				   b);
		else
			frame_usual(&frames[i], frame_offset(r, &frames[i], !a->is_return), b);
	return 0;
}

int fsc_readings_stack(struct fsc_readings *r, const struct fsc_vtype *t,
		       const struct fsc_v_stack *stack, struct fsc_value *ret, struct fsc_err *err)
{
	enum { DEEPEST = 1024 };
	uint64_t addrs[DEEPEST];
	size_t max = t->stack.depth < DEEPEST ? t->stack.depth : DEEPEST;
	size_t n = fsc_script_stack(r->script, t->stack.map, stack->id, addrs, max);
	struct fsc_buf b = {0};
	int rc = 0;

	fsc_buf_putc(&b, '\n');
	for (size_t i = 0; !rc && i < n; i++) {
		const struct fsc_address a = {.addr = addrs[i],
					      .pid = (pid_t)stack->pid,
					      .kernel = t->kind == FSC_V_KSTACK,
					      .is_return = i > 0};

		rc = stack_frame(r, t, &a, &b, err);
	}
	if (!rc && b.failed)
		rc = fsc_err_nomem(err);
	if (!rc)
		*ret = fsc_value_text(&r->arena, fsc_buf_str(&b), b.n);
	fsc_buf_release(&b);
	return rc;
}

int fsc_readings_symbol(struct fsc_readings *r, uint64_t addr, pid_t pid, bool kernel,
			struct fsc_value *ret, struct fsc_err *err)
{
	const struct fsc_address a = {.addr = addr, .pid = pid, .kernel = kernel};
	const struct fsc_frame *frames;
	struct fsc_buf b = {0};
	size_t n;
	int rc = fsc_namer_at(r->namer, &a, &frames, &n, err);

	if (rc)
		return rc;
	if (frames[n - 1].unknown)
		fsc_buf_printf(&b, "0x%llx", (unsigned long long)addr);
	else
		frame_name(&frames[n - 1], &b);
	*ret = fsc_value_text(&r->arena, fsc_buf_str(&b), b.n);
	fsc_buf_release(&b);
	return 0;
}

/* ---- times ---- */

void fsc_readings_clocks(struct fsc_readings *r)
{
	static const clockid_t clocks[] = {
	    [FSC_CLOCK_BOOT] = CLOCK_BOOTTIME,
	    [FSC_CLOCK_MONOTONIC] = CLOCK_MONOTONIC,
	    [FSC_CLOCK_TAI] = CLOCK_TAI,
	    [FSC_CLOCK_SW_TAI] = CLOCK_TAI,
	};

	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		r->wall_minus[i] =
		    (int64_t)(fsc_clock_ns(CLOCK_REALTIME) - fsc_clock_ns(clocks[i]));
}

/* strftime() does not know %f, the microseconds. */
static void expand_microseconds(const char *format, uint64_t ns, struct fsc_buf *b)
{
	for (const char *s = format; *s; s++) {
		if (*s != '%' || !s[1]) {
			fsc_buf_putc(b, *s);
			continue;
		}
		s++;
		if (*s == 'f')
			fsc_buf_printf(b, "%06llu", (unsigned long long)(ns % 1000000000 / 1000));
		else
			fsc_buf_printf(b, "%%%c", *s);
	}
}

struct fsc_value fsc_readings_time(struct fsc_readings *r, const struct fsc_v_timestamp *t)
{
	uint32_t clock = t->clock <= FSC_CLOCK_SW_TAI ? t->clock : FSC_CLOCK_BOOT;
	uint64_t ns = t->ns + (uint64_t)r->wall_minus[clock];
	const char *format = t->format < r->plan->n_texts ? r->plan->texts[t->format] : "";
	time_t seconds = (time_t)(ns / 1000000000);
	struct fsc_buf expanded = {0};
	char text[512];
	struct tm tm;
	size_t n;

	expand_microseconds(format, ns, &expanded);
	localtime_r(&seconds, &tm);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	n = strftime(text, sizeof(text), fsc_buf_str(&expanded), &tm);
#pragma GCC diagnostic pop
	fsc_buf_release(&expanded);
	return fsc_value_text(&r->arena, text, n);
}

/* ---- users, cgroups, networks, system calls ---- */

/* The text is kept for the next who asks. Takes it over; NULL: memory is out. */
static struct fsc_value keep_named(struct fsc_readings *r, uint64_t *index, char *text)
{
	char **place = text ? fsc_vec_push(&r->named) : NULL;

	if (!place) {
		free(text);
		r->arena.failed = true;
		return (struct fsc_value){0};
	}
	*place = text;
	*index = r->named.n - 1;
	return fsc_value_text(&r->arena, text, strlen(text));
}

/* Found before, or *ret_index is where to say what it is. */
static bool find_named(struct fsc_readings *r, struct fsc_map *m, const void *key, size_t len,
		       uint64_t **ret_index, struct fsc_value *ret)
{
	const uint64_t *known = fsc_map_get(m, key, len);
	const char *text;

	if (!known) {
		*ret_index = fsc_map_put(m, key, len, NULL);
		if (!*ret_index)
			r->arena.failed = true;
		return !*ret_index;
	}
	text = *FSC_AT(char *, &r->named, *known);
	*ret = fsc_value_text(&r->arena, text, strlen(text));
	return true;
}

/* From the file: a static program cannot ask the name service. */
static char *read_user(uint64_t uid)
{
	FSC_AUTO(fsc_fclosep) FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *p;
	char *text = NULL;

	while (f && (p = fgetpwent(f)))
		if (p->pw_uid == uid)
			return strdup(p->pw_name);
	if (asprintf(&text, "%llu", (unsigned long long)uid) < 0)
		return NULL;
	return text;
}

struct fsc_value fsc_readings_user(struct fsc_readings *r, uint64_t uid)
{
	struct fsc_value v = {0};
	uint64_t *index;

	if (find_named(r, &r->users, &uid, sizeof(uid), &index, &v))
		return v;
	return keep_named(r, index, read_user(uid));
}

struct fsc_value fsc_readings_cgroup(struct fsc_readings *r, const struct fsc_v_cgroup_path *c)
{
	const struct fsc_v_cgroup_path key = {.id = c->id, .filter = c->filter};
	const char *filter = c->filter < r->plan->n_texts ? r->plan->texts[c->filter] : NULL;
	struct fsc_value v = {0};
	uint64_t *index;

	if (find_named(r, &r->cgroups, &key, sizeof(key), &index, &v))
		return v;
	return keep_named(r, index, fsc_readings_find_cgroup(c->id, filter));
}

struct fsc_value fsc_readings_inet(struct fsc_readings *r, const struct fsc_v_inet *a)
{
	char text[INET6_ADDRSTRLEN] = "";

	if ((a->family == AF_INET || a->family == AF_INET6) &&
	    !inet_ntop((int)a->family, a->address, text, sizeof(text)))
		text[0] = '\0';
	return fsc_value_text(&r->arena, text, strlen(text));
}

struct fsc_value fsc_readings_syscall(struct fsc_readings *r, int64_t number)
{
	const char *name = fsc_syscall_name(number);

	if (!name)
		name = "Unknown syscall";
	return fsc_value_text(&r->arena, name, strlen(name));
}
