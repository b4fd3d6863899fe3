/* Alertmanager's alerts: grouped by function, the slowest call in words. */
#include "sink/alerts.h"

#include "base/fmt.h"
#include "base/json.h"
#include "base/map.h"
#include "sink/noted.h"
#include "sink/series.h"

/* The calls of one function. */
struct alert {
	const struct fsc_noted_call *slowest;
	uint64_t since_ns; /* the first of them */
	uint64_t n;
};

/* ---- JSON ---- */

/* Text from the target is made safe first: annotations end up in terminals and mails. */
static void add_text(struct fsc_buf *b, const char *key, const char *value)
{
	struct fsc_buf safe = {0};

	fsc_fmt_term(&safe, value);
	fsc_json_buf(b, key, &safe);
}

static void add_number(struct fsc_buf *b, const char *key, uint64_t v)
{
	fsc_json_printf(b, key, "\"%llu\"", (unsigned long long)v);
}

static void add_time(struct fsc_buf *b, const char *key, uint64_t ns)
{
	struct fsc_buf text = {0};

	fsc_fmt_time(&text, ns);
	fsc_json_buf(b, key, &text);
}

/* ---- alerts ---- */

static void add_labels(const struct fsc_func *f, const struct fsc_snapshot *s, struct fsc_buf *b)
{
	const struct fsc_label own[] = {{"alertname", "FuncscopeSlowCall"},
					{"group", f->group},
					{"function", f->name},
					{"binary", f->binary},
					{"severity", "warning"}};
	const size_t n = sizeof(own) / sizeof(own[0]);

	fsc_json_begin(b, "labels", '{');
	for (size_t i = 0; i < n; i++)
		if (own[i].value && *own[i].value)
			add_text(b, own[i].name, own[i].value);
	for (size_t i = 0; i < s->n_labels; i++)
		if (fsc_series_label_fits(s->labels, i, own, n))
			add_text(b, s->labels[i].name, s->labels[i].value);
	fsc_json_end(b, '}');
}

static void add_annotations(const struct alert *a, struct fsc_buf *b)
{
	const struct fsc_call *c = a->slowest->call;
	struct fsc_buf words = {0};

	fsc_json_begin(b, "annotations", '{');
	fsc_noted_sentence(a->slowest, &words);
	fsc_buf_printf(&words, " (pid %u, ", c->pid);
	fsc_fmt_term(&words, c->comm);
	fsc_buf_putc(&words, ')');
	if (a->n > 1)
		fsc_buf_printf(&words, ", the slowest of %llu calls", (unsigned long long)a->n);
	fsc_json_buf(b, "summary", &words);
	if (c->has_duration)
		fsc_fmt_ns(&words, (double)c->duration_ns);
	fsc_json_buf_if(b, "duration", &words);
	add_number(b, "pid", c->pid);
	add_number(b, "tid", c->tid);
	add_text(b, "comm", c->comm);
	for (size_t i = 0; i < c->n_about; i++)
		if (c->about[i].value[0])
			add_text(b, c->about[i].name, c->about[i].value);
	add_number(b, "call_id", a->slowest->id);
	fsc_noted_args(c, &words);
	fsc_json_buf_if(b, "args", &words);
	fsc_noted_stack(c, &words);
	fsc_json_buf_if(b, "stack", &words);
	fsc_json_end(b, '}');
}

static void add_alert(const struct alert *a, const struct fsc_snapshot *s, double for_s,
		      struct fsc_buf *b)
{
	fsc_json_begin(b, NULL, '{');
	add_labels(a->slowest->call->func, s, b);
	add_annotations(a, b);
	add_time(b, "startsAt", a->since_ns < s->time_ns ? a->since_ns : s->time_ns);
	add_time(b, "endsAt", s->time_ns + (for_s > 0 ? (uint64_t)(for_s * 1e9) : 0));
	fsc_json_end(b, '}');
}

/* Functions with equal labels share an alert. */
static void function_key(const struct fsc_func *f, struct fsc_buf *b)
{
	const char *const names[] = {f->group, f->name, f->binary};

	fsc_buf_clear(b);
	for (size_t i = 0; i < 3; i++) {
		fsc_fmt_term(b, names[i] ? names[i] : "");
		fsc_buf_putc(b, '\0');
	}
}

static bool note_call(struct fsc_vec *alerts, struct fsc_map *index, struct fsc_buf *key,
		      const struct fsc_noted_call *c)
{
	struct alert *a;
	uint64_t *at;
	bool is_new;

	function_key(c->call->func, key);
	at = fsc_buf_failed(key) ? NULL : fsc_map_put(index, key->s, key->n, &is_new);
	if (!at)
		return false;
	if (is_new)
		*at = alerts->n;
	a = is_new ? fsc_vec_push(alerts) : FSC_AT(struct alert, alerts, *at);
	if (!a)
		return false;
	if (!a->n || c->call->duration_ns > a->slowest->call->duration_ns)
		a->slowest = c;
	if (!a->n || c->wall_ns < a->since_ns)
		a->since_ns = c->wall_ns;
	a->n++;
	return true;
}

void fsc_alerts_write(const struct fsc_noted_call *calls, size_t n, const struct fsc_snapshot *s,
		      double for_s, struct fsc_buf *b)
{
	struct fsc_vec alerts = FSC_VEC_INIT(struct alert);
	struct fsc_map index = {0};
	struct fsc_buf key = {0};

	for (size_t i = 0; i < n; i++)
		if (!note_call(&alerts, &index, &key, &calls[i]))
			b->failed = true;
	fsc_json_begin(b, NULL, '[');
	for (size_t i = 0; !fsc_buf_failed(b) && i < alerts.n; i++)
		add_alert(FSC_AT(struct alert, &alerts, i), s, for_s, b);
	fsc_json_end(b, ']');
	fsc_buf_release(&key);
	fsc_map_release(&index);
	fsc_vec_release(&alerts);
}
