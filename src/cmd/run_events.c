/* One function for each action of a plan (lang/plan.h). */
#include "cmd/run_events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cmd/run_shell.h"

/* An event with its record. */
struct event {
	const struct fsc_plan_event *is;
	const char *record;
	size_t size;
};

typedef int (*act_fn)(struct fsc_run_events *e, const struct event *ev, struct fsc_err *err);

int fsc_run_events_write(struct fsc_run_events *e, FILE *to, struct fsc_buf *b, struct fsc_err *err)
{
	int rc = 0;

	if (b->failed)
		rc = fsc_err_nomem(err);
	else if (b->n && (fwrite(b->s, 1, b->n, to) != b->n || (e->flush && fflush(to))))
		rc = fsc_err_sys(err, errno, "cannot write the script's output");
	fsc_buf_release(b);
	return rc;
}

static int write_data(struct fsc_run_events *e, struct fsc_buf *b, struct fsc_err *err)
{
	return fsc_run_events_write(e, e->out, b, err);
}

static int write_text(struct fsc_run_events *e, enum fsc_script_text what, struct fsc_buf *text,
		      struct fsc_err *err)
{
	struct fsc_buf b = {.failed = text->failed};

	e->sink->text(what, fsc_buf_str(text), text->n, &b);
	fsc_buf_release(text);
	return write_data(e, &b, err);
}

/* A number that is an argument of a fixed size, not a value. */
static uint64_t arg_number(const struct event *ev, size_t i)
{
	const struct fsc_plan_arg *a = i < ev->is->n_args ? &ev->is->args[i] : NULL;
	uint64_t u = 0;
	size_t n = a ? a->type->size : 0;

	if (!a || n > sizeof(u) || a->offset > ev->size || n > ev->size - a->offset)
		return 0;
	memcpy(&u, ev->record + a->offset, n);
	return u;
}

static int format_event(struct fsc_run_events *e, const struct event *ev, struct fsc_buf *b,
			struct fsc_err *err)
{
	struct fsc_value *values;
	int rc = fsc_readings_event(e->readings, ev->is, ev->record, ev->size, &values, err);

	if (!rc)
		fsc_script_format(&e->style, ev->is->format, ev->is->format_size, values,
				  ev->is->n_args, b);
	return rc;
}

static int act_printf(struct fsc_run_events *e, const struct event *ev, struct fsc_err *err)
{
	struct fsc_buf text = {0};
	int rc = format_event(e, ev, &text, err);

	if (!rc)
		return write_text(e, FSC_SCRIPT_PRINTF, &text, err);
	fsc_buf_release(&text);
	return rc;
}

/* ---- messages ---- */

static int write_note(struct fsc_run_events *e, const struct fsc_plan_event *is,
		      struct fsc_script_note *n, struct fsc_err *err)
{
	struct fsc_buf b = {0};

	n->file = e->plan->source_name;
	n->line = is->line;
	n->column = is->column;
	n->column_end = is->column_end;
	e->sink->note(n, &b);
	/* What was printed before it comes before it. */
	if (e->sink->notes_aside && fflush(e->out))
		return fsc_err_sys(err, errno, "cannot write the script's output");
	return fsc_run_events_write(e, e->sink->notes_aside ? stderr : e->out, &b, err);
}

static int write_message(struct fsc_run_events *e, const struct event *ev,
			 enum fsc_script_level level, const char *type, struct fsc_err *err)
{
	struct fsc_script_note n = {.level = level, .type = type};
	struct fsc_buf text = {0};
	int rc = format_event(e, ev, &text, err);

	n.text = fsc_buf_str(&text);
	if (!rc)
		rc = write_note(e, ev->is, &n, err);
	fsc_buf_release(&text);
	return rc;
}

static int act_errorf(struct fsc_run_events *e, const struct event *ev, struct fsc_err *err)
{
	e->errors++;
	return write_message(e, ev, FSC_SCRIPT_ERROR, "errorf", err);
}

static int act_warnf(struct fsc_run_events *e, const struct event *ev, struct fsc_err *err)
{
	return write_message(e, ev, FSC_SCRIPT_WARNING, "warnf", err);
}

static const char *source_line(const struct fsc_plan *p, uint32_t line)
{
	return line && line <= p->n_source_lines ? p->source_lines[line - 1] : NULL;
}

const char fsc_run_map_full[] =
    "Map full; can't update element. Try increasing max_map_keys config or manually setting the "
    "max entries in a map declaration e.g. `let @a = hash(5000)`";

static int act_helper(struct fsc_run_events *e, const struct event *ev, struct fsc_err *err)
{
	const char *helper = ev->is->text ? ev->is->text : "";
	int32_t code = (int32_t)arg_number(ev, 0);
	const struct {
		const char *helper;
		int code; /* 0: any */
		const char *text;
	} known[] = {
	    {"map_update_elem", -E2BIG, fsc_run_map_full},
	    {"map_delete_elem", -ENOENT, "Can't delete map element because it does not exist."},
	    {"map_lookup_elem", 0, "Can't lookup map element because it does not exist."},
	};
	struct fsc_script_note n = {.type = "helper_error",
				    .text = strerror(code < 0 ? -code : code),
				    .helper = helper,
				    .code = code,
				    .source = source_line(e->plan, ev->is->line)};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].helper, helper) && (!known[i].code || known[i].code == code))
			n.text = known[i].text;
	return write_note(e, ev->is, &n, err);
}

static int act_runtime(struct fsc_run_events *e, const struct event *ev, struct fsc_err *err)
{
	struct fsc_script_note n = {.type = "runtime_error",
				    .text = ev->is->text ? ev->is->text : "",
				    .source = source_line(e->plan, ev->is->line)};

	return write_note(e, ev->is, &n, err);
}

/* ---- values and maps ---- */

static int act_print(struct fsc_run_events *e, const struct event *ev, struct fsc_err *err)
{
	struct fsc_value *values;
	struct fsc_buf b = {0};
	int rc = fsc_readings_event(e->readings, ev->is, ev->record, ev->size, &values, err);

	if (rc || !ev->is->n_args)
		return rc;
	e->sink->value(&e->style, &values[0], &b);
	return write_data(e, &b, err);
}

static int print_map(struct fsc_run_events *e, uint32_t map, uint64_t top, uint64_t div,
		     bool even_empty, struct fsc_err *err)
{
	struct fsc_buf b = {0};
	struct fsc_value v;
	int rc = fsc_readings_map(e->readings, map, top, div, &v, err);

	if (rc || !v.kind || (v.kind == FSC_VALUE_MAP && !v.list.n && !even_empty))
		return rc;
	e->sink->map(&e->style, e->plan->maps[map].name, &v, &b);
	return write_data(e, &b, err);
}

static int act_print_map(struct fsc_run_events *e, const struct event *ev, struct fsc_err *err)
{
	size_t i = 0;
	uint64_t top = ev->is->has_top ? arg_number(ev, i++) : 0;
	uint64_t div = ev->is->has_div ? arg_number(ev, i) : 0;

	return print_map(e, ev->is->map, top, div, true, err);
}

static int act_clear(struct fsc_run_events *e, const struct event *ev, struct fsc_err *err)
{
	return fsc_script_clear(e->script, ev->is->map, err);
}

static int act_zero(struct fsc_run_events *e, const struct event *ev, struct fsc_err *err)
{
	return fsc_script_zero(e->script, ev->is->map, err);
}

/* ---- texts ---- */

static int act_time(struct fsc_run_events *e, const struct event *ev, struct fsc_err *err)
{
	struct fsc_buf text = {0};
	time_t now = time(NULL);
	char line[512];
	struct tm tm;

	localtime_r(&now, &tm);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	fsc_buf_add(&text, line, strftime(line, sizeof(line), ev->is->format, &tm));
#pragma GCC diagnostic pop
	return write_text(e, FSC_SCRIPT_TIME, &text, err);
}

static int act_join(struct fsc_run_events *e, const struct event *ev, struct fsc_err *err)
{
	uint64_t n = arg_number(ev, 0), room = ev->is->join_size;
	size_t at = ev->is->n_args > 1 ? ev->is->args[1].offset : ev->size;
	struct fsc_buf text = {0};

	for (uint64_t i = 0; i < n && at + room <= ev->size; i++, at += room) {
		if (i)
			fsc_buf_puts(&text, ev->is->text ? ev->is->text : " ");
		fsc_buf_add(&text, ev->record + at, strnlen(ev->record + at, room));
	}
	return write_text(e, FSC_SCRIPT_JOIN, &text, err);
}

static void read_file(int fd, size_t most, struct fsc_buf *text)
{
	char part[4096];
	ssize_t n;

	while (text->n < most) {
		size_t left = most - text->n;

		n = read(fd, part, left < sizeof(part) ? left : sizeof(part));
		if (n <= 0)
			return;
		fsc_buf_add(text, part, (size_t)n);
	}
}

/* A file that cannot be read is the script's problem, and does not end the run. */
static int act_cat(struct fsc_run_events *e, const struct event *ev, struct fsc_err *err)
{
	struct fsc_buf path = {0}, text = {0};
	int rc = format_event(e, ev, &path, err);
	FSC_AUTO(fsc_closep) int fd = -1;

	if (!rc)
		fd = open(fsc_buf_str(&path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (!rc && fd < 0)
		fsc_log(FSC_LOG_ERROR, "failed to open file '%s' (%s)", fsc_buf_str(&path),
			strerror(errno));
	fsc_buf_release(&path);
	if (rc || fd < 0)
		return rc;
	read_file(fd, e->plan->config.max_cat_bytes, &text);
	return write_text(e, FSC_SCRIPT_CAT, &text, err);
}

static int act_system(struct fsc_run_events *e, const struct event *ev, struct fsc_err *err)
{
	struct fsc_buf command = {0}, text = {0};
	int rc;

	if (e->interrupted) {
		e->not_run++;
		return 0;
	}
	rc = format_event(e, ev, &command, err);
	if (!rc && fflush(e->out))
		rc = fsc_err_sys(err, errno, "cannot write the script's output");
	if (!rc)
		rc = fsc_run_shell(fsc_buf_str(&command), e->mask, &text, err);
	fsc_buf_release(&command);
	if (!rc)
		return write_text(e, FSC_SCRIPT_SYSTEM, &text, err);
	fsc_buf_release(&text);
	return rc;
}

/* ---- the run itself ---- */

static int act_exit(struct fsc_run_events *e, const struct event *ev, struct fsc_err *err)
{
	(void)err;
	if (!e->stop)
		e->exit_code = (int)(arg_number(ev, 0) & 0xff);
	e->stop = true;
	return 0;
}

static int act_watch(struct fsc_run_events *e, const struct event *ev, struct fsc_err *err)
{
	pid_t pid = (pid_t)arg_number(ev, 1);
	int rc = fsc_script_watch(e->script, ev->is->probe, arg_number(ev, 0), pid, err);

	/* The program stopped it before it went on with the memory unwatched. */
	if (pid > 0)
		kill(pid, SIGCONT);
	return rc;
}

static int act_unwatch(struct fsc_run_events *e, const struct event *ev, struct fsc_err *err)
{
	(void)err;
	fsc_script_unwatch(e->script, arg_number(ev, 0));
	return 0;
}

static const act_fn acts[FSC_ACT_MAX] = {
    [FSC_ACT_PRINTF] = act_printf,
    [FSC_ACT_ERRORF] = act_errorf,
    [FSC_ACT_WARNF] = act_warnf,
    [FSC_ACT_PRINT] = act_print,
    [FSC_ACT_PRINT_MAP] = act_print_map,
    [FSC_ACT_PRINT_ENTRY] = act_print,
    [FSC_ACT_CLEAR] = act_clear,
    [FSC_ACT_ZERO] = act_zero,
    [FSC_ACT_TIME] = act_time,
    [FSC_ACT_JOIN] = act_join,
    [FSC_ACT_CAT] = act_cat,
    [FSC_ACT_SYSTEM] = act_system,
    [FSC_ACT_EXIT] = act_exit,
    [FSC_ACT_UNWATCH] = act_unwatch,
    [FSC_ACT_WATCH] = act_watch,
    [FSC_ACT_HELPER] = act_helper,
    [FSC_ACT_RUNTIME] = act_runtime,
};

struct draining {
	struct fsc_run_events *e;
	struct fsc_err *err;
	uint64_t until; /* 0: to the end */
};

static int on_record(const void *record, size_t size, void *arg)
{
	const struct draining *d = arg;
	struct event ev = {.record = record, .size = size};
	uint64_t number;
	act_fn act;
	int rc;

	if (size < sizeof(number))
		return fsc_err_set(d->err, EPROTO, "an event of the script is too short");
	memcpy(&number, record, sizeof(number));
	act = number < d->e->plan->n_events ? acts[d->e->plan->events[number].action] : NULL;
	if (!act)
		return fsc_err_set(d->err, EPROTO, "the script sent an event that nobody knows");
	ev.is = &d->e->plan->events[number];
	rc = act(d->e, &ev, d->err);
	fsc_readings_reset(d->e->readings);
	/* Events may come faster than they are carried out: signals must be heard all the same. */
	if (!rc && d->until && fsc_clock_mono() > d->until)
		rc = -EINTR;
	return rc;
}

/* Of a packet the kernel copies as much as there was room for. */
static int on_packet(const void *record, size_t size, void *arg)
{
	const struct draining *d = arg;
	const struct fsc_plan *p = d->e->plan;
	struct fsc_plan_skb head;

	if (size < sizeof(head))
		return fsc_err_set(d->err, EPROTO, "a packet of the script is too short");
	memcpy(&head, record, sizeof(head));
	if (head.event >= p->n_events || !p->events[head.event].text)
		return fsc_err_set(d->err, EPROTO, "the script sent a packet that nobody knows");
	size -= sizeof(head);
	return fsc_pcaps_write(
	    &d->e->pcaps, p->events[head.event].text, fsc_readings_wall(d->e->readings, head.ns),
	    (const char *)record + sizeof(head),
	    (uint32_t)(head.length < size ? head.length : size), (uint32_t)head.length, d->err);
}

int fsc_run_events_drain(struct fsc_run_events *e, bool all, struct fsc_err *err)
{
	enum { AT_ONCE_NS = 50000000 };
	struct draining d = {e, err, all ? 0 : fsc_clock_mono() + AT_ONCE_NS};
	int rc = fsc_readings_tick(e->readings, err);

	if (!rc)
		rc = fsc_script_drain(e->script, on_record, &d, err);
	if (!rc)
		rc = fsc_script_drain_packets(e->script, on_packet, &d, err);
	if (!rc && fflush(e->out))
		rc = fsc_err_sys(err, errno, "cannot write the script's output");
	return rc;
}

static int compare_names(const void *a, const void *b, void *arg)
{
	const struct fsc_plan *p = arg;

	return strcmp(p->maps[*(const uint32_t *)a].name, p->maps[*(const uint32_t *)b].name);
}

/* By name. */
int fsc_run_events_maps(struct fsc_run_events *e, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) uint32_t *maps = calloc(e->plan->n_maps + 1, sizeof(*maps));
	size_t n = 0;
	int rc = maps ? fsc_readings_tick(e->readings, err) : fsc_err_nomem(err);

	for (uint32_t i = 0; maps && i < e->plan->n_maps; i++)
		if (e->plan->maps[i].role == FSC_PMAP_SCRIPT && e->plan->maps[i].printed)
			maps[n++] = i;
	if (n)
		qsort_r(maps, n, sizeof(*maps), compare_names, (void *)e->plan);
	for (size_t i = 0; !rc && i < n; i++) {
		rc = print_map(e, maps[i], 0, 0, false, err);
		fsc_readings_reset(e->readings);
	}
	if (!rc && fflush(e->out))
		rc = fsc_err_sys(err, errno, "cannot write the script's output");
	return rc;
}
