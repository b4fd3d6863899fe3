/* Type information for a program of ours: its functions, so that the kernel takes the callbacks of
 * loops, and its lines, so that the verifier's log and bpftool show the script. */
#include <string.h>

#include <linux/bpf.h>
#include <linux/btf.h>

#include "lang/gen.h"

struct btf_out {
	struct fsc_lang *c;
	struct fsc_vec types, strings; /* char */
	uint32_t n_types;
};

static void put(struct fsc_lang *c, struct fsc_vec *v, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		*(char *)fsc_zone_push(c->keep, v) = ((const char *)bytes)[i];
}

static uint32_t put_text(struct btf_out *o, const char *s, size_t n)
{
	uint32_t at = (uint32_t)o->strings.n;

	for (size_t i = 0; i < n; i++) {
		char ch = s[i] && (unsigned char)s[i] >= ' ' && s[i] != 127 ? s[i] : ' ';

		*(char *)fsc_zone_push(o->c->keep, &o->strings) = ch;
	}
	*(char *)fsc_zone_push(o->c->keep, &o->strings) = 0;
	return at;
}

static uint32_t put_type(struct btf_out *o, uint32_t name, uint32_t kind, uint32_t vlen,
			 uint32_t of)
{
	struct btf_type t = {.name_off = name, .info = kind << 24 | vlen, .size = of};

	put(o->c, &o->types, &t, sizeof(t));
	return ++o->n_types;
}

/* Parameters have no meaning to the kernel; it wants names for them. */
static uint32_t put_proto(struct btf_out *o, uint32_t n_args, uint32_t of)
{
	uint32_t proto = put_type(o, 0, BTF_KIND_FUNC_PROTO, n_args, of);

	for (uint32_t i = 0; i < n_args; i++) {
		struct btf_param p = {.type = of};
		char name[] = {'a', (char)('0' + i)};

		p.name_off = put_text(o, name, 2);
		put(o->c, &o->types, &p, sizeof(p));
	}
	return proto;
}

static void put_funcs(struct btf_out *o, struct fsc_plan_prog *p, uint32_t number)
{
	struct bpf_func_info *info = FSC_NEW_N(o->c->keep, struct bpf_func_info, p->n_funcs);

	for (size_t i = 0; i < p->n_funcs; i++) {
		uint32_t proto = put_proto(o, p->funcs[i].n_args, number);

		info[i].insn_off = p->funcs[i].insn;
		info[i].type_id =
		    put_type(o, put_text(o, p->funcs[i].name, strlen(p->funcs[i].name)),
			     BTF_KIND_FUNC, BTF_FUNC_STATIC, proto);
	}
	p->func_info = info;
	p->n_func_info = (uint32_t)p->n_funcs;
}

/* Every function needs a line for its first instruction, and none may be in the middle of a wide
 * one: the emitter only makes lines where instructions begin. */
static void put_lines(struct btf_out *o, struct fsc_plan_prog *p, uint32_t file)
{
	struct fsc_vec v = FSC_VEC_INIT(struct bpf_line_info);
	const struct fsc_plan *plan = o->c->plan;
	uint32_t *texts = FSC_NEW_N(&o->c->temp, uint32_t, plan->n_source_lines + 2);
	size_t func = 0;

	for (size_t i = 0; i < p->n_lines; i++) {
		const struct fsc_plan_line *l = &p->lines[i];
		struct bpf_line_info *info;

		while (func < p->n_funcs && p->funcs[func].insn <= l->insn) {
			if (p->funcs[func].insn < l->insn) {
				info = fsc_zone_push(o->c->keep, &v);
				*info = (struct bpf_line_info){.insn_off = p->funcs[func].insn,
							       .file_name_off = file};
			}
			func++;
		}
		if (l->line <= plan->n_source_lines && !texts[l->line])
			texts[l->line] = put_text(o, plan->source_lines[l->line - 1],
						  strlen(plan->source_lines[l->line - 1]));
		info = fsc_zone_push(o->c->keep, &v);
		*info = (struct bpf_line_info){
		    .insn_off = l->insn,
		    .file_name_off = file,
		    .line_off = l->line <= plan->n_source_lines ? texts[l->line] : 0,
		    .line_col = l->line << 10 | (l->column & 1023)};
	}
	if (func == p->n_funcs) {
		p->line_info = v.data;
		p->n_line_info = (uint32_t)v.n;
	}
}

void fsc_btf_build(struct fsc_lang *c, struct fsc_plan_prog *p)
{
	struct btf_out o = {.c = c, .types = FSC_VEC_INIT(char), .strings = FSC_VEC_INIT(char)};
	struct btf_header h = {.magic = BTF_MAGIC, .version = BTF_VERSION, .hdr_len = sizeof(h)};
	uint32_t number, encoding = BTF_INT_SIGNED << 24 | 64, file;
	struct fsc_vec all = FSC_VEC_INIT(char);

	put_text(&o, "", 0);
	number = put_type(&o, put_text(&o, "long", 4), BTF_KIND_INT, 0, 8);
	put(c, &o.types, &encoding, sizeof(encoding));
	put_funcs(&o, p, number);
	file = put_text(&o, c->plan->source_name, strlen(c->plan->source_name));
	put_lines(&o, p, file);
	h.type_len = h.str_off = (uint32_t)o.types.n;
	h.str_len = (uint32_t)o.strings.n;
	put(c, &all, &h, sizeof(h));
	put(c, &all, o.types.data, o.types.n);
	put(c, &all, o.strings.data, o.strings.n);
	p->btf = all.data;
	p->btf_size = (uint32_t)all.n;
}
