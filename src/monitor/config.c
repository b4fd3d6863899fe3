/* A configuration from its file to struct fsc_snoop_config: defaults, the order of reading, checks
 * across keys, and release. Keys are in config_keys.c. */
#include "monitor/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "monitor/config_keys.h"
#include "monitor/process_fields.h"
#include "monitor/process_labels.h"

static void set_defaults(struct fsc_snoop_config *c)
{
	*c = (struct fsc_snoop_config){
	    .funcs = FSC_VEC_INIT(struct fsc_snoop_func),
	    .libraries = FSC_VEC_INIT(struct fsc_snoop_libraries),
	    .slow_ns = 100e6,
	    .targets = {.pids = FSC_VEC_INIT(pid_t),
			.names = FSC_VEC_INIT(char *),
			.cgroups = FSC_VEC_INIT(char *),
			.command = FSC_VEC_INIT(char *)},
	    .report = {.every_s = 10, .top = 20},
	    .keep_slowest = 10,
	    .keep_latest = 10,
	    .keep_ended_s = 60,
	    .max_processes_rows = 4096,
	    .max_label_sets = 512,
	    .stacks = true,
	    .warnings_per_s = 10,
	    .labels = FSC_VEC_INIT(struct fsc_label),
	    .prometheus = {.max_series = 2000},
	    .otlp = {.gzip = true,
		     .every_s = 10,
		     .timeout_s = 10,
		     .headers = FSC_VEC_INIT(struct fsc_label)},
	    .alert_every_s = 60,
	    .alert_for_s = 300,
	    .spool_memory = 16000000,
	};
}

/* ---- the file ---- */

static int unknown_key(struct fsc_config_reader *r, const struct fsc_jsonc_walk *w,
		       struct fsc_err *err)
{
	static const char *const groups[] = {"cuda_func_sym", "cublas_func_sym",   "cudnn_func_sym",
					     "nccl_func_sym", "libtorch_func_sym", "custom_sym"};
	struct fsc_nearest near = {.wanted = w->key};

	for (const struct fsc_config_key *k = fsc_config_keys; k->name; k++)
		fsc_nearest_offer(&near, k->name);
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		fsc_nearest_offer(&near, groups[i]);
	return fsc_config_unknown(r, w->value.node->key, "key", &near, err);
}

/* Settings first, since they are the defaults of functions; then the groups; then what refers to
 * groups. */
enum pass { SETTINGS, GROUPS, LATE };

static int read_pass(struct fsc_config_reader *r, enum pass pass, struct fsc_err *err)
{
	struct fsc_jsonc_walk w = fsc_jsonc_members(r->doc, fsc_jsonc_root(r->doc));
	char group[80];
	int rc = 0;

	while (!rc && fsc_jsonc_next(&w)) {
		const struct fsc_config_key *k = fsc_config_key_find(fsc_config_keys, w.key);

		if (k && pass == (k->late ? LATE : SETTINGS))
			rc = fsc_config_value(r, k, w.value, r->to, err);
		else if (!k && !fsc_config_is_group(w.key, group, sizeof(group)))
			rc = unknown_key(r, &w, err);
		else if (!k && pass == GROUPS)
			rc = fsc_config_group(r, w.key, w.value, err);
	}
	return rc;
}

static int check_spool(struct fsc_config_reader *r, struct fsc_err *err)
{
	static const char *const path[] = {"spool", "disk", NULL};
	struct fsc_snoop_config *c = r->to;
	struct fsc_jsonc_value disk;
	const bool given = fsc_jsonc_find(r->doc, path, &disk);

	if (given && !c->spool_directory)
		return fsc_jsonc_err(r->doc, disk.node->key, err,
				     "\"disk\" of \"spool\" needs a \"directory\" beside it");
	if (c->spool_directory && !given)
		c->spool_disk = 64000000;
	return 0;
}

/* What only makes sense beside something else. */
static int check_page(struct fsc_config_reader *r, struct fsc_err *err)
{
	static const char *const path[] = {"prometheus", "socket_group", NULL};
	static const char *const pairs[][2] = {
	    {"cert_file", "key_file"}, {"key_file", "cert_file"}, {"client_ca_file", "cert_file"}};
	const struct fsc_snoop_prometheus *p = &r->to->prometheus;
	struct fsc_jsonc_value at, other;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		const char *const one[] = {"prometheus", pairs[i][0], NULL};
		const char *const two[] = {"prometheus", pairs[i][1], NULL};

		if (fsc_jsonc_find(r->doc, one, &at) && !fsc_jsonc_find(r->doc, two, &other))
			return fsc_jsonc_err(r->doc, at.node->key, err,
					     "\"%s\" of \"prometheus\" needs a \"%s\" beside it",
					     one[1], two[1]);
	}
	if (fsc_jsonc_find(r->doc, path, &at) && strncmp(p->listen, "unix:", 5) != 0)
		return fsc_jsonc_err(r->doc, at.node->key, err,
				     "\"socket_group\" is the group of a Unix socket; \"listen\" "
				     "is none, as \"unix:/run/funcscope/page.sock\" would be");
	return 0;
}

/* A label has one meaning. */
static int check_labels(struct fsc_config_reader *r, struct fsc_err *err)
{
	struct fsc_jsonc_value at;

	for (size_t i = 0; i < FSC_LABELS; i++) {
		const char *const path[] = {"labels", fsc_label_names[i], NULL};

		if (r->to->process_labels & 1u << i && fsc_jsonc_find(r->doc, path, &at))
			return fsc_jsonc_err(r->doc, at.node->key, err,
					     "the label \"%s\" is also in \"process_labels\"",
					     path[1]);
	}
	return 0;
}

static int read_document(const struct fsc_jsonc *d, struct fsc_snoop_config *c, struct fsc_err *err)
{
	struct fsc_config_reader r = {.doc = d, .to = c};
	int rc = 0;

	if (!json_is_object(d->root))
		return fsc_jsonc_err(d, fsc_jsonc_root(d).node->value, err,
				     "a configuration is an object: {...}");
	for (enum pass p = SETTINGS; !rc && p <= LATE; p++)
		rc = read_pass(&r, p, err);
	if (!rc)
		rc = check_spool(&r, err);
	if (!rc)
		rc = check_page(&r, err);
	if (!rc)
		rc = check_labels(&r, err);
	if (!rc)
		rc = fsc_config_apply_libraries(c, err);
	fsc_map_release(&r.seen);
	return rc;
}

static void note_dots(const struct fsc_jsonc *d)
{
	if (!d->dots.n)
		return;
	fsc_log(FSC_LOG_NOTE, "%s:%u: '...' stands for entries that were left out%s", d->path,
		*FSC_AT(unsigned, &d->dots, 0), d->dots.n > 1 ? ", here and further down" : "");
}

/* Takes ownership of the text. */
static int read_text(char *text, size_t n, struct fsc_snoop_config *c, struct fsc_err *err)
{
	struct fsc_jsonc d;
	int rc = fsc_jsonc_parse(text, n, c->path, &d, err);

	if (!rc)
		rc = read_document(&d, c, err);
	if (!rc)
		note_dots(&d);
	fsc_jsonc_release(&d);
	return rc;
}

int fsc_snoop_config_parse(const char *text, size_t n, const char *path,
			   struct fsc_snoop_config *ret, struct fsc_err *err)
{
	const size_t most = n > FSC_JSONC_LONGEST ? FSC_JSONC_LONGEST + 1 : n;
	char *own;

	set_defaults(ret);
	ret->path = strdup(path);
	own = ret->path ? malloc(most + 1) : NULL;
	if (!own)
		return fsc_err_nomem(err);
	memcpy(own, text, most);
	own[most] = '\0';
	return read_text(own, most, ret, err);
}

int fsc_snoop_config_read(const char *path, struct fsc_snoop_config *ret, struct fsc_err *err)
{
	char *text;
	size_t n;
	int rc;

	set_defaults(ret);
	ret->path = strdup(path);
	if (!ret->path)
		return fsc_err_nomem(err);
	rc = fsc_jsonc_slurp(path, "the configuration", &text, &n, err);
	return rc ? rc : read_text(text, n, ret, err);
}

/* ---- release ---- */

static void release_pairs(struct fsc_vec *v)
{
	for (size_t i = 0; i < v->n; i++) {
		free((char *)FSC_AT(struct fsc_label, v, i)->name);
		free((char *)FSC_AT(struct fsc_label, v, i)->value);
	}
	fsc_vec_release(v);
}

static void release_func(struct fsc_snoop_func *f)
{
	free(f->group);
	free(f->name);
	free(f->symbol);
	fsc_vec_release_owned(&f->libraries);
}

static void release_funcs(struct fsc_vec *v)
{
	for (size_t i = 0; i < v->n; i++)
		release_func(FSC_AT(struct fsc_snoop_func, v, i));
	fsc_vec_release(v);
}

void fsc_snoop_config_remove(struct fsc_snoop_config *c, size_t i)
{
	struct fsc_snoop_func *f = FSC_AT(struct fsc_snoop_func, &c->funcs, i);

	release_func(f);
	c->funcs.n--;
	memmove(f, f + 1, (c->funcs.n - i) * sizeof(*f));
}

int fsc_config_push(struct fsc_vec *texts, const char *text, struct fsc_err *err)
{
	char **slot = fsc_vec_push(texts);

	if (slot)
		*slot = strdup(text);
	return slot && *slot ? 0 : fsc_err_nomem(err);
}

int fsc_config_push_label(struct fsc_vec *labels, const char *name, const char *value,
			  struct fsc_err *err)
{
	struct fsc_label *l = fsc_vec_push(labels);

	if (!l)
		return fsc_err_nomem(err);
	l->name = strdup(name);
	l->value = strdup(value);
	return l->name && l->value ? 0 : fsc_err_nomem(err);
}

int fsc_snoop_config_pids(struct fsc_snoop_config *c, const pid_t *pids, size_t n,
			  struct fsc_err *err)
{
	for (size_t i = 0; i < n; i++) {
		pid_t *slot = fsc_vec_push(&c->targets.pids);

		if (!slot)
			return fsc_err_nomem(err);
		*slot = pids[i];
	}
	return 0;
}

int fsc_snoop_config_command(struct fsc_snoop_config *c, char *const *argv, size_t n,
			     struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < n; i++)
		rc = fsc_config_push(&c->targets.command, argv[i], err);
	return rc;
}

static void release_libraries(struct fsc_vec *v)
{
	for (size_t i = 0; i < v->n; i++) {
		free(FSC_AT(struct fsc_snoop_libraries, v, i)->group);
		fsc_vec_release_owned(&FSC_AT(struct fsc_snoop_libraries, v, i)->patterns);
	}
	fsc_vec_release(v);
}

static void release_page(struct fsc_snoop_prometheus *p)
{
	free(p->listen);
	free(p->socket_group);
	free(p->cert_file);
	free(p->key_file);
	free(p->client_ca_file);
	free(p->token_file);
}

void fsc_snoop_config_release(struct fsc_snoop_config *c)
{
	char *const texts[] = {c->path,		c->report.to,	   c->control,
			       c->stream,	c->otlp.endpoint,  c->otlp.ca_file,
			       c->alertmanager, c->spool_directory};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		free(texts[i]);
	release_page(&c->prometheus);
	release_funcs(&c->funcs);
	release_libraries(&c->libraries);
	fsc_vec_release(&c->targets.pids);
	fsc_vec_release_owned(&c->targets.names);
	fsc_vec_release_owned(&c->targets.cgroups);
	fsc_vec_release_owned(&c->targets.command);
	release_pairs(&c->labels);
	release_pairs(&c->otlp.headers);
	*c = (struct fsc_snoop_config){0};
}
