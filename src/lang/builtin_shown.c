/* Builtins whose values user space turns into text: symbols, addresses, times, errors. */
#include <arpa/inet.h>
#include <string.h>

#include <linux/bpf.h>

#include "lang/builtins.h"

void fsc_check_ksym(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_want_number(c, e, 0);
	e->type = fsc_vt_new(c, FSC_V_KSYM, 8, 8);
}

static void ksym_into(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest)
{
	fsc_gen_mem_store(g, dest, 8, 0, fsc_gen_number(g, e->args[0]));
}
const struct fsc_builtin_gen fsc_gen_ksym = {.into = ksym_into};

void fsc_check_usym(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_want_number(c, e, 0);
	e->type = fsc_vt_new(c, FSC_V_USYM, sizeof(struct fsc_v_usym), 8);
}

static void usym_into(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest)
{
	fsc_gen_mem_store(g, dest, 8, 0, fsc_gen_number(g, e->args[0]));
	fsc_gen_mem_store(g, dest, 8, 8, fsc_gen_tgid_init(g));
}
const struct fsc_builtin_gen fsc_gen_usym = {.into = usym_into};

/* How many bytes a value has; a record's array of char counts without the NUL that its text has. */
static uint64_t bytes_of(const struct fsc_expr *e)
{
	return e->type->size - (e->type->kind == FSC_V_STRING && e->kind == FSC_E_FIELD);
}

static bool is_bytes(const struct fsc_expr *e, uint64_t n)
{
	const struct fsc_vtype *t = e->type;

	return bytes_of(e) == n && ((t->kind == FSC_V_ARRAY && t->to->size == 1) ||
				    t->kind == FSC_V_STRING || t->kind == FSC_V_RECORD);
}

void fsc_check_ntop(struct fsc_lang *c, struct fsc_expr *e)
{
	const struct fsc_expr *a = e->args[e->n_args - 1];
	const struct fsc_vtype *t = a->type;

	if (e->n_args > 1)
		fsc_want_integer(c, e, 0);
	e->type = fsc_vt_new(c, FSC_V_INET, sizeof(struct fsc_v_inet), 4);
	if (t && !fsc_vt_is_integer(t) && !is_bytes(a, 4) && !is_bytes(a, 16))
		fsc_lang_fail(c, e->at, "ntop() expects an integer or array argument, got %s",
			      fsc_vt_name(c, t));
}

static void ntop_into(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest)
{
	struct fsc_expr *a = e->args[e->n_args - 1];
	struct fsc_val v, to;
	int64_t family = bytes_of(a) == 16 ? AF_INET6 : AF_INET;

	fsc_gen_zero(g, dest, 0, sizeof(struct fsc_v_inet));
	v = fsc_gen_expr(g, a);
	to = fsc_val_part(dest, fsc_vt_int(4, false), 4);
	if (!fsc_vt_is_integer(a->type))
		to.type = fsc_vt_array(g->c, fsc_vt_int(1, false), bytes_of(a));
	fsc_gen_store(g, &to, &v);
	if (e->n_args > 1)
		fsc_gen_mem_store(g, dest, 4, 0, fsc_gen_number(g, e->args[0]));
	else
		fsc_gen_mem_store_imm(g, dest, 4, 0, family);
}
const struct fsc_builtin_gen fsc_gen_ntop = {.into = ntop_into};

void fsc_check_pton(struct fsc_lang *c, struct fsc_expr *e)
{
	const char *text = fsc_string_arg(c, e, 0);
	bool six = strchr(text, ':') != NULL;
	char *bytes = fsc_zone_alloc(&c->temp, 16);

	if (inet_pton(six ? AF_INET6 : AF_INET, text, bytes) != 1)
		fsc_lang_fail(c, e->at, "pton() expects an IPv4 or IPv6 address, got '%s'", text);
	e->more = bytes;
	e->type = fsc_vt_array(c, fsc_vt_int(1, false), six ? 16 : 4);
}

static void pton_into(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest)
{
	for (uint64_t at = 0; at < e->type->size; at += 4) {
		uint32_t word;

		memcpy(&word, (const char *)e->more + at, 4);
		fsc_gen_mem_store_imm(g, dest, 4, (int32_t)at, (int32_t)word);
	}
	fsc_gen_zero(g, dest, e->type->size, dest->type->size);
}
const struct fsc_builtin_gen fsc_gen_pton = {.into = pton_into};

void fsc_check_macaddr(struct fsc_lang *c, struct fsc_expr *e)
{
	const struct fsc_vtype *t = e->args[0]->type;

	if (t && !fsc_vt_is_number(t) && !is_bytes(e->args[0], 6))
		fsc_lang_fail(c, e->at, "macaddr() argument must be 6 bytes in size");
	e->type = fsc_vt_new(c, FSC_V_MAC, 6, 1);
}

static void macaddr_into(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest)
{
	struct fsc_val v = fsc_gen_expr(g, e->args[0]);

	if (fsc_vt_is_number(e->args[0]->type)) {
		fsc_vr at = fsc_gen_reg(g, &v);

		fsc_gen_read(g, dest, 6, (enum fsc_v_space)e->args[0]->type->space, at);
		return;
	}
	v.type = e->type;
	fsc_gen_store(g, dest, &v);
}
const struct fsc_builtin_gen fsc_gen_macaddr = {.into = macaddr_into};

void fsc_check_strftime(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_string_arg(c, e, 0);
	fsc_want_integer(c, e, 1);
	e->type = fsc_vt_new(c, FSC_V_TIMESTAMP, sizeof(struct fsc_v_timestamp), 8);
}

static bool is_nsecs(const struct fsc_expr *e)
{
	return (e->kind == FSC_E_NAME || e->kind == FSC_E_CALL) && !strcmp(e->name, "nsecs");
}

static void strftime_into(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest)
{
	struct fsc_expr *at = e->args[1];
	int64_t clock = is_nsecs(at) ? (int64_t)at->value : FSC_CLOCK_BOOT;

	fsc_gen_mem_store(g, dest, 8, 0, fsc_gen_number(g, at));
	fsc_gen_mem_store_imm(g, dest, 4, 8, clock);
	fsc_gen_mem_store_imm(g, dest, 4, 12, fsc_gen_text(g, e->args[0]->name));
}
const struct fsc_builtin_gen fsc_gen_strftime = {.into = strftime_into};

void fsc_check_strerror(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_want_integer(c, e, 0);
	e->type = fsc_vt_new(c, (enum fsc_vkind)e->builtin->param, 8, 8);
}

static void strerror_into(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest)
{
	fsc_gen_mem_store(g, dest, 8, 0, fsc_gen_number(g, e->args[0]));
}
const struct fsc_builtin_gen fsc_gen_strerror = {.into = strerror_into};

void fsc_check_cgroup_path(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_want_integer(c, e, 0);
	if (e->n_args > 1)
		fsc_string_arg(c, e, 1);
	e->type = fsc_vt_new(c, FSC_V_CGROUP_PATH, sizeof(struct fsc_v_cgroup_path), 8);
}

static void cgroup_path_into(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest)
{
	uint32_t filter = e->n_args > 1 ? fsc_gen_text(g, e->args[1]->name) : FSC_NO_TEXT;

	fsc_gen_mem_store(g, dest, 8, 0, fsc_gen_number(g, e->args[0]));
	fsc_gen_mem_store_imm(g, dest, 4, 8, (int32_t)filter);
	fsc_gen_mem_store_imm(g, dest, 4, 12, 0);
}
const struct fsc_builtin_gen fsc_gen_cgroup_path = {.into = cgroup_path_into};

void fsc_check_cgroupid(struct fsc_lang *c, struct fsc_expr *e)
{
	const char *path = fsc_string_arg(c, e, 0);
	struct fsc_err err = {0};
	uint64_t id = 0;
	int code = c->world->cgroupid ? c->world->cgroupid(c->world->arg, path, &id, &err)
				      : fsc_err_set(&err, 2, "there are no cgroups here");

	if (code)
		fsc_lang_fail_world(c, e->at, code, &err);
	fsc_expr_const(e, &fsc_vt_u64, id);
}

void fsc_check_path(struct fsc_lang *c, struct fsc_expr *e)
{
	uint64_t most = c->config.max_strlen;

	if (!c->world->features.d_path)
		fsc_lang_fail(c, e->at,
			      "BPF_FUNC_d_path not available for your kernel version (Linux 5.10)");
	fsc_want_kinds(c, e, FSC_KIND(FENTRY) | FSC_KIND(FEXIT) | FSC_KIND(ITER));
	if (e->n_args > 1 && fsc_const_arg(c, e, 1) > 0 && e->args[1]->value < most)
		most = e->args[1]->value;
	e->type = fsc_vt_string(c, most);
}

/* The verifier must know the pointer: from the context on, nothing may have been read by helpers
 * but as it allows. */
static fsc_vr path_pointer(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_val v;
	const struct fsc_vfield *f = e->more;
	fsc_vr base;

	if (e->kind != FSC_E_FIELD || e->builtin) {
		v = fsc_gen_expr(g, e);
		if (e->type->kind == FSC_V_RECORD)
			return fsc_gen_address(g, &v);
		return fsc_gen_reg(g, &v);
	}
	base = path_pointer(g, e->a);
	if (e->type->kind == FSC_V_RECORD)
		return fsc_ir_alu_imm(g->f, BPF_ADD, base, (int64_t)f->offset);
	return fsc_ir_load(g->f, 8, base, (int32_t)f->offset);
}

static void path_into(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest)
{
	enum { D_PATH = 147 };
	fsc_vr p;

	fsc_gen_zero(g, dest, 0, dest->type->size);
	p = path_pointer(g, e->args[0]);
	fsc_ir_call(g->f, D_PATH, FSC_A_VR(p), fsc_gen_address_arg(g, dest),
		    FSC_A_IMM(e->type->size));
}
const struct fsc_builtin_gen fsc_gen_path = {.into = path_into};

void fsc_check_bswap(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_want_integer(c, e, 0);
	e->type = e->args[0]->type ? fsc_vt_int((unsigned)e->args[0]->type->size, false) : NULL;
}

static struct fsc_val bswap_value(struct fsc_gen *g, struct fsc_expr *e)
{
	fsc_vr v = fsc_gen_number(g, e->args[0]);
	struct fsc_ir *i;

	if (e->type->size == 1)
		return fsc_val_reg(e->type, v);
	i = fsc_ir_push(g->f, FSC_IR_SWAP);
	i->size = (uint8_t)e->type->size;
	i->a = v;
	i->dst = fsc_ir_vr(g->f);
	return fsc_val_reg(e->type, i->dst);
}
const struct fsc_builtin_gen fsc_gen_bswap = {.value = bswap_value};
