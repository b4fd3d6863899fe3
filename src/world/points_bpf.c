/* fentry:bpf:[ID:]NAME: points on programs that are loaded, and their functions. */
#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "engine/bpfprogs.h"
#include "world/machine_priv.h"

struct bpf_search {
	const struct fsc_written *w;
	struct fsc_matches *to;
	struct fsc_pattern name;
	uint64_t id; /* 0: any */
	struct fsc_err *err;
};

static int visit_function(void *arg, uint32_t prog, uint32_t btf_id, const char *name)
{
	struct bpf_search *s = arg;
	struct fsc_machine *m = s->to->m;
	struct fsc_point p = {
	    .kind = s->w->provider->kind, .target = "bpf", .address = prog, .btf_id = btf_id};

	if ((s->id && s->id != prog) || !fsc_pattern_match(&s->name, name))
		return 0;
	p.btf_fd = -1;
	p.func = fsc_machine_text(m, s->err, "%s", name);
	p.name = fsc_machine_text(m, s->err, "%s:bpf:%u:%s", s->w->provider->name, prog, name);
	return p.func ? fsc_matches_add(s->to, &p, s->err) : -ENOMEM;
}

int fsc_match_bpf(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err)
{
	struct bpf_search s = {.w = w, .to = to, .err = err};
	const char *name = w->parts[w->n - 1];
	int rc;

	if (w->n == 3 && strcmp(w->parts[1], "*") && !fsc_written_number(w->parts[1], &s.id))
		return fsc_err_usage(err, "bpf program id must be a number or '*'");
	rc = fsc_pattern_init(&s.name, name, false, err);
	if (rc)
		return rc;
	rc = fsc_bpfprogs_each(visit_function, &s, err);
	fsc_pattern_release(&s.name);
	if (rc || to->n)
		return rc;
	fsc_err_set(err, ENOENT, "no loaded BPF program has a function '%s'", name);
	return fsc_err_hint(err, "list them with: funcscope run -l 'fentry:bpf:*'");
}
