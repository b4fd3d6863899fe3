/* The sections of the gpu report that are not tables: leaks, out of memory, findings; and how bytes
 * and places are written. Lines are cut at the terminal's edge, sentences are wrapped. */
#include "sink/gpu_text.h"

#include <string.h>

#include "base/fmt.h"
#include "sink/table.h"

enum { INDENT = 4, DEEPER = 8 };

void fsc_gpu_text_bytes(struct fsc_buf *b, double bytes)
{
	static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
	size_t u = 0;

	/* 1023.9 would be written as 1024. */
	for (; u < 4 && bytes >= (u ? 1023.5 : 1024); u++)
		bytes /= 1024;
	fsc_buf_printf(b, "%.*f %s",
		       !u || bytes >= 99.95 ? 0
		       : bytes < 9.995	    ? 2
					    : 1,
		       bytes, units[u]);
}

void fsc_gpu_text_name(struct fsc_buf *b, const char *name)
{
	fsc_fmt_term(b, name ? name : "-");
}

void fsc_gpu_text_owner(struct fsc_buf *b, const char *owner)
{
	const char *version = owner ? strstr(owner, ".so") : NULL;
	struct fsc_buf name = {0};

	if (!version || version == owner) {
		fsc_gpu_text_name(b, owner);
		return;
	}
	fsc_buf_add(&name, owner, (size_t)(version - owner));
	fsc_fmt_term(b, fsc_buf_str(&name));
	b->failed |= name.failed;
	fsc_buf_release(&name);
}

void fsc_gpu_text_process(struct fsc_buf *b, const char *comm, uint32_t pid)
{
	if (comm)
		fsc_fmt_term(b, comm);
	fsc_buf_printf(b, "%s[%u]", comm ? " " : "", pid);
}

/* ---- places ---- */

/* cuMemAlloc_v2, cudaMalloc, anything in their libraries; not cublasCreate. */
static bool is_cuda(const char *frame)
{
	const char *name = frame + strspn(frame, "_");

	if (strstr(frame, "libcuda.so") || strstr(frame, "libcudart"))
		return true;
	if (strncmp(name, "cu", 2))
		return false;
	name += strncmp(name, "cuda", 4) ? 2 : 4;
	return *name >= 'A' && *name <= 'Z';
}

const char *fsc_gpu_place(const struct fsc_gpu_stack *s)
{
	size_t i = 0;

	if (s->n_python)
		return s->python[0];
	while (i < s->n && is_cuda(s->frames[i]))
		i++;
	if (i < s->n)
		return s->frames[i];
	return s->n ? s->frames[s->n - 1] : NULL;
}

void fsc_gpu_text_where(struct fsc_buf *b, const struct fsc_gpu_stack *s)
{
	fsc_gpu_text_name(b, fsc_gpu_place(s));
}

/* ---- lines ---- */

/* Writes the line, whose text is safe already, and empties it. */
static void put_line(const struct fsc_sink *s, struct fsc_buf *line, struct fsc_buf *b)
{
	const char *text = fsc_buf_str(line);

	if (s->width && fsc_fmt_width(text) > s->width) {
		fsc_buf_add(b, text, fsc_table_prefix(text, s->width - 1));
		fsc_buf_puts(b, "~\n");
	} else {
		fsc_buf_printf(b, "%s\n", text);
	}
	b->failed |= line->failed;
	fsc_buf_clear(line);
}

/* The length of the text's first line if it is wrapped at so many columns. */
static size_t line_length(const char *text, size_t room)
{
	size_t n = 0, seen = 0, space = 0;

	for (; text[n] && seen <= room; n++) {
		space = text[n] == ' ' && seen ? n : space;
		seen += (text[n] & 0xc0) != 0x80;
	}
	if (seen <= room)
		return n;
	return space ? space : strlen(text);
}

/* A wrapped sentence: lead before its first line, blanks before the others. */
static void put_sentence(const struct fsc_sink *s, const char *lead, const char *text,
			 struct fsc_buf *b)
{
	size_t indent = strlen(lead), n;
	size_t room = s->width > indent + 20 ? s->width - indent : SIZE_MAX - 1;
	struct fsc_buf safe = {0};
	const char *p;

	fsc_fmt_term(&safe, text);
	for (p = fsc_buf_str(&safe); *p; p += n + (p[n] == ' ')) {
		n = line_length(p, room);
		if (p == fsc_buf_str(&safe))
			fsc_buf_puts(b, lead);
		else
			fsc_buf_pad(b, ' ', indent);
		fsc_buf_add(b, p, n);
		fsc_buf_putc(b, '\n');
	}
	b->failed |= safe.failed;
	fsc_buf_release(&safe);
}

/* ---- leaks ---- */

enum { MOST_LEAKS = 10, MOST_FRAMES = 16 };

static void put_frames(const struct fsc_sink *s, const char *const *frames, size_t n,
		       struct fsc_buf *line, struct fsc_buf *b)
{
	for (size_t i = 0; i < n && i < MOST_FRAMES; i++) {
		fsc_buf_pad(line, ' ', DEEPER);
		fsc_fmt_term(line, frames[i]);
		put_line(s, line, b);
	}
	if (n <= MOST_FRAMES)
		return;
	fsc_buf_pad(line, ' ', DEEPER);
	fsc_buf_printf(line, "... %zu more", n - MOST_FRAMES);
	put_line(s, line, b);
}

static void put_leak(const struct fsc_sink *s, const struct fsc_gpu_leak_row *l,
		     struct fsc_buf *line, struct fsc_buf *b)
{
	fsc_gpu_text_bytes(line, (double)l->bytes);
	fsc_buf_printf(line, " in %llu allocation%s of %s memory", (unsigned long long)l->allocs,
		       l->allocs == 1 ? "" : "s", fsc_gpu_mem_names[l->mem]);
	if (l->owner) {
		fsc_buf_puts(line, " by ");
		fsc_fmt_term(line, l->owner);
	}
	put_line(s, line, b);
	fsc_buf_pad(line, ' ', INDENT);
	fsc_gpu_text_process(line, l->comm, l->pid);
	fsc_buf_puts(line, l->ended ? ", ended; oldest " : "; oldest ");
	fsc_fmt_ns(line, l->oldest_s * 1e9);
	if (l->allocs > 1) {
		fsc_buf_puts(line, ", newest ");
		fsc_fmt_ns(line, l->newest_s * 1e9);
	}
	if (l->growth > 0) {
		fsc_buf_puts(line, "; grows by ");
		fsc_gpu_text_bytes(line, l->growth);
		fsc_buf_puts(line, "/s");
	}
	put_line(s, line, b);
	put_frames(s, l->stack.python, l->stack.n_python, line, b);
	put_frames(s, l->stack.frames, l->stack.n, line, b);
}

void fsc_gpu_text_leaks(const struct fsc_sink *s, const struct fsc_gpu_report *r, struct fsc_buf *b)
{
	struct fsc_buf line = {0};
	uint64_t rest = 0;

	if (r->n_leaks)
		fsc_buf_puts(b, "\nleaks\n");
	for (size_t i = 0; i < r->n_leaks && i < MOST_LEAKS; i++)
		put_leak(s, &r->leaks[i], &line, b);
	for (size_t i = MOST_LEAKS; i < r->n_leaks; i++)
		rest += r->leaks[i].bytes;
	if (r->n_leaks > MOST_LEAKS) {
		fsc_buf_printf(&line, "and ");
		fsc_gpu_text_bytes(&line, (double)rest);
		fsc_buf_printf(&line, " from %zu other stacks (-f json has all)",
			       r->n_leaks - MOST_LEAKS);
		put_line(s, &line, b);
	}
	fsc_buf_release(&line);
}

/* ---- out of memory ---- */

static uint64_t asked_for(const struct fsc_gpu_event *e)
{
	return e->bytes ? e->bytes : e->delta > 0 ? (uint64_t)e->delta : 0;
}

static void put_request(const struct fsc_sink *s, const struct fsc_gpu_event *e,
			struct fsc_buf *line, struct fsc_buf *b)
{
	fsc_gpu_text_process(line, e->comm, e->pid);
	fsc_buf_puts(line, " asked for ");
	fsc_gpu_text_bytes(line, (double)asked_for(e));
	if (e->type == FSC_GPU_EV_ALLOC)
		fsc_buf_printf(line, " of %s memory", fsc_gpu_mem_names[e->mem]);
	if (e->device >= 0)
		fsc_buf_printf(line, " on GPU %d", e->device);
	put_line(s, line, b);
	fsc_buf_pad(line, ' ', INDENT);
	fsc_gpu_text_name(line, e->via ? e->via : e->api);
	fsc_buf_puts(line, " said ");
	fsc_gpu_text_name(line, e->error);
	put_line(s, line, b);
	if (!e->stack.n && !e->stack.n_python)
		return;
	fsc_buf_pad(line, ' ', INDENT);
	fsc_buf_puts(line, "at ");
	fsc_gpu_text_where(line, &e->stack);
	put_line(s, line, b);
}

/* Memory that PyTorch has reserved but does not use is often all that was missing. */
static void put_held(const struct fsc_sink *s, const struct fsc_gpu_oom *o, struct fsc_buf *line,
		     struct fsc_buf *b)
{
	fsc_buf_pad(line, ' ', INDENT);
	fsc_buf_puts(line, "it held ");
	fsc_gpu_text_bytes(line, (double)o->live_bytes);
	put_line(s, line, b);
	if (!o->reserved)
		return;
	fsc_buf_pad(line, ' ', INDENT);
	fsc_buf_puts(line, "PyTorch had reserved ");
	fsc_gpu_text_bytes(line, (double)o->reserved);
	fsc_buf_puts(line, ", ");
	fsc_gpu_text_bytes(line, (double)o->allocated);
	fsc_buf_puts(line, " of it in use");
	put_line(s, line, b);
}

static void put_holders(const struct fsc_sink *s, const struct fsc_gpu_oom *o, struct fsc_buf *line,
			struct fsc_buf *b)
{
	if (o->n_holders)
		fsc_buf_puts(b, "    held by\n");
	for (size_t i = 0; i < o->n_holders; i++) {
		const struct fsc_gpu_leak_row *h = &o->holders[i];

		fsc_buf_pad(line, ' ', DEEPER);
		fsc_gpu_text_bytes(line, (double)h->bytes);
		fsc_buf_printf(line, " %s, %llu allocation%s", fsc_gpu_mem_names[h->mem],
			       (unsigned long long)h->allocs, h->allocs == 1 ? "" : "s");
		if (h->pid != o->event.pid) {
			fsc_buf_puts(line, ", ");
			fsc_gpu_text_process(line, h->comm, h->pid);
		}
		if (h->owner) {
			fsc_buf_puts(line, ", ");
			fsc_gpu_text_owner(line, h->owner);
		}
		fsc_buf_puts(line, ": ");
		fsc_gpu_text_where(line, &h->stack);
		put_line(s, line, b);
	}
}

static void put_last(const struct fsc_sink *s, const struct fsc_gpu_oom *o, struct fsc_buf *line,
		     struct fsc_buf *b)
{
	if (o->n_last)
		fsc_buf_puts(b, "    allocations before it, newest first\n");
	for (size_t i = 0; i < o->n_last; i++) {
		const struct fsc_gpu_event *e = &o->last[i];

		fsc_buf_pad(line, ' ', DEEPER);
		fsc_gpu_text_bytes(line, (double)asked_for(e));
		fsc_buf_printf(line, " %s: ", fsc_gpu_mem_names[e->mem]);
		fsc_gpu_text_where(line, &e->stack);
		put_line(s, line, b);
	}
}

void fsc_gpu_text_ooms(const struct fsc_sink *s, const struct fsc_gpu_report *r, struct fsc_buf *b)
{
	struct fsc_buf line = {0};

	if (r->n_ooms)
		fsc_buf_puts(b, "\nout of memory\n");
	for (size_t i = 0; i < r->n_ooms; i++) {
		const struct fsc_gpu_oom *o = &r->ooms[i];

		put_request(s, &o->event, &line, b);
		put_held(s, o, &line, b);
		put_holders(s, o, &line, b);
		put_last(s, o, &line, b);
		if (o->retried)
			put_sentence(
			    s, "    ",
			    "it then freed memory and got the same size: slow, but not a failure",
			    b);
	}
	fsc_buf_release(&line);
}

/* ---- findings ---- */

void fsc_gpu_text_findings(const struct fsc_sink *s, const struct fsc_gpu_report *r,
			   struct fsc_buf *b)
{
	if (r->n_findings)
		fsc_buf_puts(b, "\nfindings\n");
	for (size_t i = 0; i < r->n_findings; i++)
		put_sentence(s, "- ", r->findings[i], b);
}
