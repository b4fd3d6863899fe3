/* Every call above the threshold arrives through the ring; the slowest of each function are kept.
 */
#include "cmd/slowest.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cmd/slow_args.h"
#include "source/calls.h"

struct kept {
	struct fsc_call call;
	const char **frames; /* owned; the names are the namer's */
	char *text;	     /* owned: of values and of the return */
};

struct fsc_slowest {
	unsigned keep, stacks;
	bool copies; /* user stacks are unwound by debug information */
	struct fsc_namer *namer;
	struct fsc_call_source *source;
	struct fsc_slow_args args;
	struct fsc_vec kept; /* struct kept */
};

int fsc_slowest_new(unsigned keep, unsigned stacks, bool copies, struct fsc_slowest **ret,
		    struct fsc_err *err)
{
	struct fsc_slowest *s = calloc(1, sizeof(*s));

	if (!s)
		return fsc_err_nomem(err);
	s->keep = keep;
	s->stacks = stacks;
	s->copies = copies;
	s->kept = FSC_VEC_INIT(struct kept);
	*ret = s;
	return 0;
}

void fsc_slowest_free(struct fsc_slowest *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->kept.n; i++) {
		free(FSC_AT(struct kept, &s->kept, i)->frames);
		free(FSC_AT(struct kept, &s->kept, i)->text);
	}
	fsc_slow_args_release(&s->args);
	fsc_vec_release(&s->kept);
	fsc_call_source_free(s->source);
	fsc_namer_free(s->namer);
	free(s);
}

int fsc_slowest_start(struct fsc_slowest *s, const struct fsc_measure_facts *facts,
		      struct fsc_err *err)
{
	struct fsc_call_opts opts = {.kernel_stack = s->stacks & FSC_STACKS_KERNEL,
				     .user_stack = s->stacks & FSC_STACKS_USER,
				     .copies = s->copies,
				     .own_frame = true};
	struct fsc_namer_opts names = {.pids = facts->pids, .n_pids = facts->n_pids};
	int rc = fsc_slow_args_find(facts->targets, &s->args, err);

	opts.slow_formats = s->args.formats;
	opts.returns = s->args.returns;
	if (!rc)
		rc = fsc_namer_new(&names, &s->namer, err);
	return rc ? rc : fsc_call_source_new(facts->live, s->namer, &opts, &s->source, err);
}

/* The entry for a call: a new one, that of its function's quickest kept call, or NULL. */
static struct kept *find_place(struct fsc_slowest *s, const struct fsc_call *c)
{
	struct kept *quickest = NULL;
	unsigned n = 0;

	for (size_t i = 0; i < s->kept.n; i++) {
		struct kept *k = FSC_AT(struct kept, &s->kept, i);

		if (k->call.func != c->func)
			continue;
		n++;
		if (!quickest || k->call.duration_ns < quickest->call.duration_ns)
			quickest = k;
	}
	if (n < s->keep || !quickest)
		return fsc_vec_push(&s->kept);
	return quickest->call.duration_ns < c->duration_ns ? quickest : NULL;
}

/* Texts are the source's, until its next call: one copy for all. */
static int copy_texts(struct kept *k, const struct fsc_call *c, struct fsc_err *err)
{
	const char *from[FSC_TRACE_VALUES + 1];
	const char **to[FSC_TRACE_VALUES + 1];
	size_t size = 1;
	char *at;

	for (size_t i = 0; i < FSC_TRACE_VALUES; i++) {
		from[i] = c->values[i].text;
		to[i] = &k->call.values[i].text;
	}
	from[FSC_TRACE_VALUES] = c->ret_text;
	to[FSC_TRACE_VALUES] = &k->call.ret_text;
	for (size_t i = 0; i <= FSC_TRACE_VALUES; i++)
		size += from[i] ? strlen(from[i]) + 1 : 0;
	at = k->text = malloc(size);
	if (!at)
		return fsc_err_nomem(err);
	for (size_t i = 0; i <= FSC_TRACE_VALUES; i++) {
		*to[i] = from[i] ? at : NULL;
		at = from[i] ? stpcpy(at, from[i]) + 1 : at;
	}
	return 0;
}

static int keep_call(const struct fsc_call *c, void *arg, struct fsc_err *err)
{
	size_t n = c->n_kernel + c->n_user;
	struct fsc_slowest *s = arg;
	size_t before = s->kept.n;
	struct kept *k = find_place(s, c);
	const char **frames;

	if (!k)
		return before < s->keep ? fsc_err_nomem(err) : 0;
	frames = calloc(n + 1, sizeof(*frames));
	if (!frames)
		return fsc_err_nomem(err);
	if (n)
		memcpy(frames, c->kernel_stack, n * sizeof(*frames));
	free(k->frames);
	free(k->text);
	*k = (struct kept){*c, frames, NULL};
	k->call.slow = true;
	k->call.kernel_stack = frames;
	k->call.user_stack = frames + c->n_kernel;
	return copy_texts(k, c, err);
}

int fsc_slowest_read(struct fsc_slowest *s, bool last, struct fsc_err *err)
{
	return fsc_call_source_read(s->source, last, keep_call, s, err);
}

static int by_duration(const void *pa, const void *pb)
{
	const struct kept *a = pa, *b = pb;

	return (b->call.duration_ns > a->call.duration_ns) -
	       (b->call.duration_ns < a->call.duration_ns);
}

int fsc_slowest_show(struct fsc_slowest *s, struct fsc_sink *sink, struct fsc_err *err)
{
	int rc = 0;

	/* A table whose columns are durations has no place for them. */
	if (sink->ops->summary_aside)
		return 0;
	if (s->kept.n)
		qsort(s->kept.data, s->kept.n, sizeof(struct kept), by_duration);
	for (size_t i = 0; !rc && i < s->kept.n; i++)
		rc = fsc_sink_call(sink, &FSC_AT(struct kept, &s->kept, i)->call, err);
	return rc;
}
