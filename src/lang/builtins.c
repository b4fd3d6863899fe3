/* The names of the language's variables and functions. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <linux/bpf.h>

#include "lang/builtins.h"

enum { JIFFIES64 = 118 };

static const struct fsc_builtin builtins[] = {
    /* the task and the machine */
    {"pid", 0, 1, FSC_B_BARE | FSC_B_OWN, fsc_check_pid, &fsc_gen_pid, 0},
    {"tid", 0, 1, FSC_B_BARE | FSC_B_OWN, fsc_check_pid, &fsc_gen_pid, 1},
    {"uid", 0, 0, FSC_B_BARE, fsc_check_uid, &fsc_gen_uid, 0},
    {"gid", 0, 0, FSC_B_BARE, fsc_check_uid, &fsc_gen_uid, 1},
    {"username", 0, 0, FSC_B_BARE, fsc_check_username, &fsc_gen_username, 0},
    {"comm", 0, 0, FSC_B_BARE, fsc_check_comm, &fsc_gen_comm, 0},
    {"cpu", 0, 0, FSC_B_BARE, fsc_check_u32, &fsc_gen_helper, BPF_FUNC_get_smp_processor_id},
    {"numaid", 0, 0, FSC_B_BARE, fsc_check_u32, &fsc_gen_helper, BPF_FUNC_get_numa_node_id},
    {"rand", 0, 0, FSC_B_BARE, fsc_check_u32, &fsc_gen_helper, BPF_FUNC_get_prandom_u32},
    {"cgroup", 0, 0, FSC_B_BARE, fsc_check_u64, &fsc_gen_helper, BPF_FUNC_get_current_cgroup_id},
    {"jiffies", 0, 0, FSC_B_BARE, fsc_check_u64, &fsc_gen_helper, JIFFIES64},
    {"curtask", 0, 0, FSC_B_BARE, fsc_check_curtask, &fsc_gen_curtask, 0},
    {"nsecs", 0, 1, FSC_B_BARE | FSC_B_OWN, fsc_check_nsecs, &fsc_gen_nsecs, 0},
    {"elapsed", 0, 0, FSC_B_BARE, fsc_check_u64, &fsc_gen_elapsed, 0},
    {"ncpus", 0, 0, FSC_B_BARE, fsc_check_ncpus, &fsc_gen_none, 0},
    {"cpid", 0, 0, FSC_B_BARE, fsc_check_cpid, &fsc_gen_cpid, 0},
    {"has_cpid", 0, 0, FSC_B_BARE, fsc_check_has_cpid, &fsc_gen_none, 0},
    {"usermode", 0, 0, FSC_B_BARE, fsc_check_usermode, &fsc_gen_usermode, 0},
    {"ppid", 0, 1, FSC_B_BARE, fsc_check_ppid, &fsc_gen_ppid, 0},
    {"pcomm", 0, 1, FSC_B_BARE, fsc_check_pcomm, &fsc_gen_pcomm, 0},
    /* the probe */
    {"probe", 0, 0, FSC_B_BARE, fsc_check_probe_name, &fsc_gen_probe_name, 0},
    {"probetype", 0, 0, FSC_B_BARE, fsc_check_probetype, &fsc_gen_probetype, 0},
    {"func", 0, 0, FSC_B_BARE, fsc_check_func, &fsc_gen_func, 0},
    {"retval", 0, 0, FSC_B_BARE, fsc_check_retval, &fsc_gen_retval, 0},
    {"args", 0, 0, FSC_B_BARE, fsc_check_args_builtin, &fsc_gen_args_builtin, 0},
    {"reg", 1, 1, 0, fsc_check_reg, &fsc_gen_reg_builtin, 0},
    {"ctx", 0, 0, FSC_B_BARE, fsc_check_ctx, &fsc_gen_ctx, 0},
    {"kstack", 0, 2, FSC_B_BARE | FSC_B_OWN, fsc_check_stack, &fsc_gen_stack, 0},
    {"ustack", 0, 2, FSC_B_BARE | FSC_B_OWN, fsc_check_stack, &fsc_gen_stack, 1},
    {"kaddr", 1, 1, 0, fsc_check_kaddr, &fsc_gen_none, 0},
    {"uaddr", 1, 1, 0, fsc_check_uaddr, &fsc_gen_uaddr, 0},
    {"percpu_kaddr", 1, 2, 0, fsc_check_percpu_kaddr, &fsc_gen_percpu_kaddr, 0},
    {"kptr", 1, 1, 0, fsc_check_kptr, &fsc_gen_kptr, FSC_SPACE_KERNEL},
    {"uptr", 1, 1, 0, fsc_check_kptr, &fsc_gen_kptr, FSC_SPACE_USER},
    {"signal", 1, 1, FSC_B_UNSAFE, fsc_check_signal, &fsc_gen_signal, BPF_FUNC_send_signal},
    {"signal_thread", 1, 1, FSC_B_UNSAFE, fsc_check_signal, &fsc_gen_signal,
     BPF_FUNC_send_signal_thread},
    {"override", 1, 1, FSC_B_UNSAFE, fsc_check_override, &fsc_gen_override, 0},
    {"socket_cookie", 1, 1, 0, fsc_check_socket_cookie, &fsc_gen_socket_cookie, 0},
    /* texts */
    {"str", 1, 2, 0, fsc_check_str, &fsc_gen_str, 0},
    {"buf", 1, 2, 0, fsc_check_buf, &fsc_gen_buf, 0},
    {"strncmp", 3, 3, 0, fsc_check_strncmp, &fsc_gen_strncmp_builtin, 0},
    {"strcontains", 2, 2, 0, fsc_check_strcontains, &fsc_gen_strcontains, 0},
    {"strstr", 2, 2, 0, fsc_check_strcontains, &fsc_gen_strcontains, 1},
    {"strlen", 1, 1, 0, fsc_check_strlen, &fsc_gen_strlen, 0},
    {"strcap", 1, 1, 0, fsc_check_strcap, &fsc_gen_none, 0},
    {"memcmp", 3, 3, 0, fsc_check_memcmp, &fsc_gen_memcmp, 0},
    {"ksym", 1, 1, 0, fsc_check_ksym, &fsc_gen_ksym, 0},
    {"usym", 1, 1, 0, fsc_check_usym, &fsc_gen_usym, 0},
    {"ntop", 1, 2, 0, fsc_check_ntop, &fsc_gen_ntop, 0},
    {"pton", 1, 1, 0, fsc_check_pton, &fsc_gen_pton, 0},
    {"macaddr", 1, 1, 0, fsc_check_macaddr, &fsc_gen_macaddr, 0},
    {"strftime", 2, 2, 0, fsc_check_strftime, &fsc_gen_strftime, 0},
    {"strerror", 1, 1, 0, fsc_check_strerror, &fsc_gen_strerror, FSC_V_STRERROR},
    {"syscall_name", 1, 1, 0, fsc_check_strerror, &fsc_gen_strerror, FSC_V_SYSCALL},
    {"cgroup_path", 1, 2, 0, fsc_check_cgroup_path, &fsc_gen_cgroup_path, 0},
    {"cgroupid", 1, 1, 0, fsc_check_cgroupid, &fsc_gen_none, 0},
    {"path", 1, 2, 0, fsc_check_path, &fsc_gen_path, 0},
    {"bswap", 1, 1, 0, fsc_check_bswap, &fsc_gen_bswap, 0},
    /* events */
    {"printf", 1, -1, 0, fsc_check_printf, &fsc_gen_printf, FSC_ACT_PRINTF},
    {"errorf", 1, -1, 0, fsc_check_printf, &fsc_gen_printf, FSC_ACT_ERRORF},
    {"warnf", 1, -1, 0, fsc_check_printf, &fsc_gen_printf, FSC_ACT_WARNF},
    {"cat", 1, -1, 0, fsc_check_printf, &fsc_gen_printf, FSC_ACT_CAT},
    {"system", 1, -1, FSC_B_UNSAFE, fsc_check_printf, &fsc_gen_printf, FSC_ACT_SYSTEM},
    {"print", 1, 3, FSC_B_OWN, fsc_check_print, &fsc_gen_print, 0},
    {"println", 1, 3, FSC_B_OWN, fsc_check_print, &fsc_gen_print, 0},
    {"time", 0, 1, 0, fsc_check_time, &fsc_gen_time, 0},
    {"join", 1, 2, 0, fsc_check_join, &fsc_gen_join, 0},
    {"exit", 0, 1, 0, fsc_check_exit, &fsc_gen_exit, 0},
    {"unwatch", 1, 1, 0, fsc_check_unwatch, &fsc_gen_unwatch, 0},
    {"assert", 2, 2, 0, fsc_check_assert, &fsc_gen_assert, 0},
    {"debugf", 1, -1, 0, fsc_check_debugf, &fsc_gen_debugf, 0},
    {"skboutput", 4, 4, 0, fsc_check_skboutput, &fsc_gen_skboutput, 0},
    /* maps */
    {"clear", 1, 1, FSC_B_MAP, fsc_check_clear, &fsc_gen_clear, FSC_ACT_CLEAR},
    {"zero", 1, 1, FSC_B_MAP, fsc_check_clear, &fsc_gen_clear, FSC_ACT_ZERO},
    {"delete", 1, 2, FSC_B_MAP, fsc_check_delete, &fsc_gen_delete, 0},
    {"has_key", 2, 2, FSC_B_MAP, fsc_check_has_key, &fsc_gen_has_key, 0},
    {"find", 3, 3, FSC_B_MAP | FSC_B_OWN, fsc_check_find, &fsc_gen_find, 0},
    {"len", 1, 1, FSC_B_OWN, fsc_check_len, &fsc_gen_len, 0},
    {"count", 0, 0, FSC_B_AGG, fsc_check_aggregate, &fsc_gen_none, FSC_V_COUNT},
    {"sum", 1, 1, FSC_B_AGG, fsc_check_aggregate, &fsc_gen_none, FSC_V_SUM},
    {"avg", 1, 1, FSC_B_AGG, fsc_check_aggregate, &fsc_gen_none, FSC_V_AVG},
    {"min", 1, 1, FSC_B_AGG, fsc_check_aggregate, &fsc_gen_none, FSC_V_MIN},
    {"max", 1, 1, FSC_B_AGG, fsc_check_aggregate, &fsc_gen_none, FSC_V_MAX},
    {"stats", 1, 1, FSC_B_AGG, fsc_check_aggregate, &fsc_gen_none, FSC_V_STATS},
    {"hist", 1, 2, FSC_B_AGG, fsc_check_hist, &fsc_gen_none, 0},
    {"lhist", 4, 4, FSC_B_AGG, fsc_check_lhist, &fsc_gen_none, 0},
    {"tseries", 3, 4, FSC_B_AGG, fsc_check_tseries, &fsc_gen_none, 0},
    /* answered while compiling */
    {"getopt", 1, 3, 0, fsc_check_getopt, &fsc_gen_none, 0},
    {"is_integer", 1, 1, 0, fsc_check_is_kind, &fsc_gen_none, FSC_V_INT},
    {"is_unsigned_integer", 1, 1, 0, fsc_check_is_kind, &fsc_gen_none, FSC_V_INT | 256},
    {"is_str", 1, 1, 0, fsc_check_is_kind, &fsc_gen_none, FSC_V_STRING},
    {"is_ptr", 1, 1, 0, fsc_check_is_kind, &fsc_gen_none, FSC_V_POINTER},
    {"is_array", 1, 1, 0, fsc_check_is_kind, &fsc_gen_none, FSC_V_ARRAY},
    {"is_tuple", 1, 1, 0, fsc_check_is_kind, &fsc_gen_none, FSC_V_TUPLE},
    {"is_literal", 1, 1, 0, fsc_check_is_kind, &fsc_gen_none, -1},
    {"static_assert", 2, 2, 0, fsc_check_static_assert, &fsc_gen_none, 0},
    {"fail", 1, -1, 0, fsc_check_fail, &fsc_gen_none, 0},
    {"kfunc_exist", 1, 1, 0, fsc_check_kfunc_exist, &fsc_gen_none, 0},
    {"kfunc_allowed", 1, 1, 0, fsc_check_kfunc_exist, &fsc_gen_none, 0},
    {"default_str_length", 0, 0, FSC_B_BARE, fsc_check_strcap, &fsc_gen_none, 1},
};

/* arg0, sarg12: a number behind the name. */
static const struct fsc_builtin numbered[] = {
    {"arg", 0, 0, FSC_B_BARE, fsc_check_arg, &fsc_gen_arg, 0},
    {"sarg", 0, 0, FSC_B_BARE, fsc_check_sarg, &fsc_gen_sarg, 0},
};

const struct fsc_builtin *fsc_builtin_find(struct fsc_lang *c, const char *name)
{
	if (!strncmp(name, "__builtin_", 10))
		name += 10;
	for (size_t i = 0; i < sizeof(builtins) / sizeof(*builtins); i++)
		if (!strcmp(builtins[i].name, name))
			return &builtins[i];
	for (size_t i = 0; i < sizeof(numbered) / sizeof(*numbered); i++) {
		size_t n = strlen(numbered[i].name);
		struct fsc_builtin *b;

		if (strncmp(name, numbered[i].name, n) || !isdigit((unsigned char)name[n]) ||
		    strspn(name + n, "0123456789") != strlen(name + n) || strlen(name + n) > 3)
			continue;
		b = FSC_NEW(&c->temp, struct fsc_builtin);
		*b = numbered[i];
		b->param = atoi(name + n);
		return b;
	}
	return NULL;
}

void fsc_builtin_nearest(struct fsc_nearest *nearest)
{
	for (size_t i = 0; i < sizeof(builtins) / sizeof(*builtins); i++)
		fsc_nearest_offer(nearest, builtins[i].name);
}

const struct fsc_builtin_gen fsc_gen_none = {0};

void fsc_check_void(struct fsc_lang *c, struct fsc_expr *e)
{
	(void)c;
	e->type = &fsc_vt_void;
}

void fsc_check_u64(struct fsc_lang *c, struct fsc_expr *e)
{
	(void)c;
	e->type = &fsc_vt_u64;
}

void fsc_check_i64(struct fsc_lang *c, struct fsc_expr *e)
{
	(void)c;
	e->type = &fsc_vt_i64;
}

void fsc_check_u32(struct fsc_lang *c, struct fsc_expr *e)
{
	(void)c;
	e->type = &fsc_vt_u32;
}

void fsc_check_bool(struct fsc_lang *c, struct fsc_expr *e)
{
	(void)c;
	e->type = &fsc_vt_bool;
}

static _Noreturn void want_fail(struct fsc_lang *c, struct fsc_expr *e, unsigned n,
				const char *what)
{
	fsc_lang_fail(c, e->args[n]->at, "%s() only supports %s arguments (%s provided)", e->name,
		      what, fsc_vt_name(c, e->args[n]->type));
}

void fsc_want_integer(struct fsc_lang *c, struct fsc_expr *e, unsigned n)
{
	if (e->args[n]->type && !fsc_vt_is_integer(e->args[n]->type))
		want_fail(c, e, n, "integer");
}

void fsc_want_number(struct fsc_lang *c, struct fsc_expr *e, unsigned n)
{
	if (e->args[n]->type && !fsc_vt_is_number(e->args[n]->type))
		want_fail(c, e, n, "integer or pointer");
}

void fsc_want_text(struct fsc_lang *c, struct fsc_expr *e, unsigned n)
{
	if (e->args[n]->type && e->args[n]->type->kind != FSC_V_STRING)
		want_fail(c, e, n, "string");
}

void fsc_want_kinds(struct fsc_lang *c, struct fsc_expr *e, uint32_t kinds)
{
	for (size_t i = 0; i < c->check->n_points; i++)
		if (!(kinds >> c->check->points[i]->kind & 1))
			fsc_lang_fail(c, e->at, "%s can not be used with \"%s\" probes", e->name,
				      c->check->points[i]->type);
}
