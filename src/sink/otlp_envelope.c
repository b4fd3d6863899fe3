/* Resource, scope and attributes of OTLP messages. */
#include "sink/otlp_envelope.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fmt.h"
#include "sink/series.h"

const struct fsc_field fsc_otlp_item = {2, "item"};

void fsc_otlp_name(struct fsc_otlp *o, struct fsc_field f, const char *s)
{
	fsc_buf_clear(&o->scratch);
	fsc_fmt_term(&o->scratch, s);
	o->m.ops->text(&o->m, f, fsc_buf_str(&o->scratch));
	o->m.b->failed |= o->scratch.failed;
}

/* ---- attributes ---- */

void fsc_otlp_attributes(struct fsc_otlp *o, uint32_t number, const char *name)
{
	o->attributes = (struct fsc_field){number, name};
	o->m.ops->list(&o->m, o->attributes);
}

void fsc_otlp_attributes_end(struct fsc_otlp *o)
{
	o->m.ops->list_end(&o->m);
}

struct marks {
	size_t pair, value;
};

static struct marks open_pair(struct fsc_otlp *o, const char *key)
{
	struct marks at;

	at.pair = fsc_message_element(&o->m, o->attributes);
	o->m.ops->text(&o->m, (struct fsc_field){1, "key"}, key);
	at.value = fsc_message_open(&o->m, (struct fsc_field){2, "value"});
	return at;
}

static void close_pair(struct fsc_otlp *o, struct marks at)
{
	fsc_message_close(&o->m, at.value);
	fsc_message_close(&o->m, at.pair);
}

static const struct fsc_field string_value = {1, "stringValue"};

void fsc_otlp_text(struct fsc_otlp *o, const char *key, const char *value)
{
	struct marks at;

	if (!value)
		return;
	at = open_pair(o, key);
	fsc_otlp_name(o, string_value, value);
	close_pair(o, at);
}

void fsc_otlp_lines(struct fsc_otlp *o, const char *key, const struct fsc_buf *value)
{
	struct marks at;

	o->m.b->failed |= value->failed;
	if (!value->n)
		return;
	at = open_pair(o, key);
	o->m.ops->text(&o->m, string_value, fsc_buf_str(value));
	close_pair(o, at);
}

void fsc_otlp_about(struct fsc_otlp *o, const struct fsc_label *about, size_t n)
{
	static const struct fsc_label keys[] = {
	    {"container", "container.id"},	  {"pod", "k8s.pod.uid"},
	    {"cgroup", "process.linux.cgroup"},	  {"unit", "systemd.unit"},
	    {"started", "process.creation.time"}, {"exe", "process.executable.path"},
	    {"cmdline", "process.command_line"}};

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			if (about[i].value[0] && !strcmp(about[i].name, keys[k].name))
				fsc_otlp_text(o, keys[k].value, about[i].value);
}

void fsc_otlp_int(struct fsc_otlp *o, const char *key, int64_t value)
{
	struct marks at = open_pair(o, key);

	o->m.ops->int64(&o->m, (struct fsc_field){3, "intValue"}, value);
	close_pair(o, at);
}

void fsc_otlp_bool(struct fsc_otlp *o, const char *key, bool value)
{
	struct marks at = open_pair(o, key);

	o->m.ops->boolean(&o->m, (struct fsc_field){2, "boolValue"}, value);
	close_pair(o, at);
}

/* ---- the resource ---- */

/* Host and process identify this monitor while it runs. */
static void put_resource(struct fsc_otlp *o)
{
	size_t mark = fsc_message_open(&o->m, (struct fsc_field){1, "resource"});
	char host[HOST_NAME_MAX + 1] = "", instance[HOST_NAME_MAX + 32];

	gethostname(host, sizeof(host) - 1);
	snprintf(instance, sizeof(instance), "%s:%d", host, (int)getpid());
	fsc_otlp_attributes(o, 1, "attributes");
	fsc_otlp_text(o, "service.name", "funcscope");
	fsc_otlp_text(o, "service.version", FSC_VERSION);
	fsc_otlp_text(o, "service.instance.id", instance);
	fsc_otlp_text(o, "host.name", host);
	fsc_otlp_text(o, "telemetry.sdk.name", "funcscope");
	fsc_otlp_text(o, "telemetry.sdk.language", "c");
	fsc_otlp_text(o, "telemetry.sdk.version", FSC_VERSION);
	for (size_t i = 0; i < o->s->n_labels; i++)
		if (fsc_series_label_fits(o->s->labels, i, NULL, 0))
			fsc_otlp_text(o, o->s->labels[i].name, o->s->labels[i].value);
	fsc_otlp_attributes_end(o);
	fsc_message_close(&o->m, mark);
}

static void put_scope(struct fsc_otlp *o)
{
	size_t mark = fsc_message_open(&o->m, (struct fsc_field){1, "scope"});

	o->m.ops->text(&o->m, (struct fsc_field){1, "name"}, "funcscope");
	o->m.ops->text(&o->m, (struct fsc_field){2, "version"}, FSC_VERSION);
	fsc_message_close(&o->m, mark);
}

void fsc_otlp_begin(struct fsc_otlp *o, const struct fsc_otlp_signal *signal,
		    const struct fsc_snapshot *s, bool json, struct fsc_buf *b)
{
	const struct fsc_field resources = {1, signal->resources}, scopes = {2, signal->scopes};

	*o = (struct fsc_otlp){.s = s};
	fsc_message_begin(&o->m, json, b);
	o->m.ops->list(&o->m, resources);
	o->resource = fsc_message_element(&o->m, resources);
	put_resource(o);
	o->m.ops->list(&o->m, scopes);
	o->scope = fsc_message_element(&o->m, scopes);
	put_scope(o);
	o->m.ops->list(&o->m, (struct fsc_field){2, signal->items});
}

void fsc_otlp_end(struct fsc_otlp *o)
{
	o->m.ops->list_end(&o->m);
	fsc_message_close(&o->m, o->scope);
	o->m.ops->list_end(&o->m);
	fsc_message_close(&o->m, o->resource);
	o->m.ops->list_end(&o->m);
	fsc_message_end(&o->m);
	fsc_buf_release(&o->scratch);
}
