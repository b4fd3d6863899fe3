/* A deep copy of a configuration, to be changed and then put in force or dropped. */
#include <stdlib.h>
#include <string.h>

#include "monitor/config.h"

static bool copy_text(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return !from || *to;
}

static bool copy_texts(struct fsc_vec *to, const struct fsc_vec *from)
{
	*to = FSC_VEC_INIT(char *);
	for (size_t i = 0; i < from->n; i++)
		if (fsc_config_push(to, *FSC_AT(char *, from, i), NULL))
			return false;
	return true;
}

static bool copy_labels(struct fsc_vec *to, const struct fsc_vec *from)
{
	*to = FSC_VEC_INIT(struct fsc_label);
	for (size_t i = 0; i < from->n; i++) {
		const struct fsc_label *l = FSC_AT(struct fsc_label, from, i);

		if (fsc_config_push_label(to, l->name, l->value, NULL))
			return false;
	}
	return true;
}

static bool copy_funcs(struct fsc_vec *to, const struct fsc_vec *from)
{
	*to = FSC_VEC_INIT(struct fsc_snoop_func);
	for (size_t i = 0; i < from->n; i++) {
		const struct fsc_snoop_func *f = FSC_AT(struct fsc_snoop_func, from, i);
		struct fsc_snoop_func *slot = fsc_vec_push(to);

		if (!slot)
			return false;
		*slot = *f;
		slot->group = slot->name = slot->symbol = NULL;
		if (!copy_texts(&slot->libraries, &f->libraries) ||
		    !copy_text(&slot->group, f->group) || !copy_text(&slot->name, f->name) ||
		    !copy_text(&slot->symbol, f->symbol))
			return false;
	}
	return true;
}

static bool copy_libraries(struct fsc_vec *to, const struct fsc_vec *from)
{
	*to = FSC_VEC_INIT(struct fsc_snoop_libraries);
	for (size_t i = 0; i < from->n; i++) {
		const struct fsc_snoop_libraries *l = FSC_AT(struct fsc_snoop_libraries, from, i);
		struct fsc_snoop_libraries *slot = fsc_vec_push(to);

		if (!slot || !copy_text(&slot->group, l->group) ||
		    !copy_texts(&slot->patterns, &l->patterns))
			return false;
	}
	return true;
}

static bool copy_targets(struct fsc_snoop_config *c, const struct fsc_filter *from)
{
	struct fsc_filter *to = &c->targets;

	to->pids = FSC_VEC_INIT(pid_t);
	return !fsc_snoop_config_pids(c, from->pids.data, from->pids.n, NULL) &&
	       copy_texts(&to->names, &from->names) && copy_texts(&to->cgroups, &from->cgroups) &&
	       copy_texts(&to->command, &from->command);
}

static bool copy_page(struct fsc_snoop_prometheus *to, const struct fsc_snoop_prometheus *from)
{
	return copy_text(&to->listen, from->listen) &&
	       copy_text(&to->socket_group, from->socket_group) &&
	       copy_text(&to->cert_file, from->cert_file) &&
	       copy_text(&to->key_file, from->key_file) &&
	       copy_text(&to->client_ca_file, from->client_ca_file) &&
	       copy_text(&to->token_file, from->token_file);
}

/* Everything that is owned; the rest was copied by assignment. */
static bool copy_owned(struct fsc_snoop_config *to, const struct fsc_snoop_config *from)
{
	return copy_text(&to->path, from->path) && copy_text(&to->report.to, from->report.to) &&
	       copy_text(&to->control, from->control) && copy_text(&to->stream, from->stream) &&
	       copy_page(&to->prometheus, &from->prometheus) &&
	       copy_text(&to->otlp.endpoint, from->otlp.endpoint) &&
	       copy_text(&to->otlp.ca_file, from->otlp.ca_file) &&
	       copy_text(&to->alertmanager, from->alertmanager) &&
	       copy_text(&to->spool_directory, from->spool_directory) &&
	       copy_funcs(&to->funcs, &from->funcs) &&
	       copy_libraries(&to->libraries, &from->libraries) &&
	       copy_targets(to, &from->targets) && copy_labels(&to->labels, &from->labels) &&
	       copy_labels(&to->otlp.headers, &from->otlp.headers);
}

int fsc_snoop_config_copy(const struct fsc_snoop_config *from, struct fsc_snoop_config *ret,
			  struct fsc_err *err)
{
	*ret = *from;
	ret->path = ret->report.to = ret->control = ret->stream = NULL;
	ret->prometheus.listen = ret->prometheus.socket_group = NULL;
	ret->prometheus.cert_file = ret->prometheus.key_file = NULL;
	ret->prometheus.client_ca_file = ret->prometheus.token_file = NULL;
	ret->otlp.endpoint = ret->otlp.ca_file = ret->alertmanager = ret->spool_directory = NULL;
	ret->funcs = ret->libraries = ret->labels = ret->otlp.headers = (struct fsc_vec){0};
	ret->targets = (struct fsc_filter){0};
	if (copy_owned(ret, from))
		return 0;
	fsc_snoop_config_release(ret);
	return fsc_err_nomem(err);
}
