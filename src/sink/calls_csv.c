/* Traced calls for spreadsheets: always the same columns, empty where a call has no value. Stacks
 * are left out. */
#include "sink/sink.h"

#include "base/fmt.h"

static void add_message(const struct fsc_call *c, struct fsc_buf *b)
{
	struct fsc_buf text = {0};

	fsc_call_message(c, fsc_buf_puts, &text);
	fsc_csv_field(b, fsc_buf_str(&text));
	b->failed |= text.failed;
	fsc_buf_release(&text);
}

static void add_return(const struct fsc_call *c, struct fsc_buf *b)
{
	if (c->ret_as == FSC_RET_NAMED)
		fsc_fmt_csv(b, c->ret_text);
	else if (c->ret_as == FSC_RET_UNSIGNED)
		fsc_buf_printf(b, "%llu", (unsigned long long)c->ret);
	else if (c->ret_as != FSC_RET_UNREADABLE)
		fsc_buf_printf(b, "%lld", (long long)c->ret);
}

void fsc_csv_call(struct fsc_sink *s, const struct fsc_call *c, struct fsc_buf *b)
{
	if (!s->begun)
		fsc_buf_puts(b, "time_ns,pid,tid,comm,cpu,uid,kind,binary,function,event,message,"
				"ret,duration_ns\n");
	s->begun = true;
	fsc_buf_printf(b, "%llu,%u,%u,", (unsigned long long)c->time_ns, c->pid, c->tid);
	fsc_csv_field(b, c->comm);
	fsc_buf_printf(b, "%u,%u,", c->cpu, c->uid);
	fsc_csv_names(c->func->kind, c->func->binary, c->func->name, b);
	fsc_csv_field(b, fsc_call_event_name(c->event));
	add_message(c, b);
	if (c->has_ret)
		add_return(c, b);
	fsc_buf_putc(b, ',');
	if (c->has_duration)
		fsc_buf_printf(b, "%llu", (unsigned long long)c->duration_ns);
	fsc_buf_putc(b, '\n');
}
