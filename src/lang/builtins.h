/* The builtins' checkers and generators, by the file that has them; builtins.c lists their names.
 */
#ifndef FSC_LANG_BUILTINS_H
#define FSC_LANG_BUILTINS_H

#include "lang/gen.h"

/* Types that need no look at the arguments. */
void fsc_check_void(struct fsc_lang *c, struct fsc_expr *e);
void fsc_check_u64(struct fsc_lang *c, struct fsc_expr *e);
void fsc_check_u32(struct fsc_lang *c, struct fsc_expr *e);
void fsc_check_bool(struct fsc_lang *c, struct fsc_expr *e);
void fsc_check_i64(struct fsc_lang *c, struct fsc_expr *e);

/* An argument that must be a number, text, ... */
void fsc_want_integer(struct fsc_lang *c, struct fsc_expr *e, unsigned n);
void fsc_want_number(struct fsc_lang *c, struct fsc_expr *e, unsigned n);
void fsc_want_text(struct fsc_lang *c, struct fsc_expr *e, unsigned n);
/* The probe is of one of these kinds (bits), or the builtin is refused by name. */
void fsc_want_kinds(struct fsc_lang *c, struct fsc_expr *e, uint32_t kinds);
#define FSC_KIND(k) (1u << FSC_POINT_##k)

#define FSC_KERNEL_FUNCS                                                                           \
	(FSC_KIND(KPROBE) | FSC_KIND(KRETPROBE) | FSC_KIND(FENTRY) | FSC_KIND(FEXIT))
#define FSC_USER_FUNCS (FSC_KIND(UPROBE) | FSC_KIND(URETPROBE) | FSC_KIND(USDT))
#define FSC_WITH_REGS                                                                              \
	(FSC_KIND(KPROBE) | FSC_KIND(KRETPROBE) | FSC_USER_FUNCS | FSC_KIND(PROFILE) |             \
	 FSC_KIND(INTERVAL) | FSC_KIND(SOFTWARE) | FSC_KIND(HARDWARE) | FSC_KIND(WATCHPOINT) |     \
	 FSC_KIND(ASYNCWATCHPOINT))

/* Where addresses that a probe gets point. */
enum fsc_v_space fsc_point_space(const struct fsc_point *p);

#define FSC_BUILTIN(name)                                                                          \
	void fsc_check_##name(struct fsc_lang *c, struct fsc_expr *e);                             \
	extern const struct fsc_builtin_gen fsc_gen_##name

extern const struct fsc_builtin_gen fsc_gen_none; /* constants: nothing is left to generate */

/* builtin_task.c */
extern const struct fsc_builtin_gen fsc_gen_helper;
FSC_BUILTIN(pid);
FSC_BUILTIN(uid);
FSC_BUILTIN(comm);
FSC_BUILTIN(username);
FSC_BUILTIN(nsecs);
extern const struct fsc_builtin_gen fsc_gen_elapsed;
void fsc_check_ncpus(struct fsc_lang *c, struct fsc_expr *e);
FSC_BUILTIN(cpid);
void fsc_check_has_cpid(struct fsc_lang *c, struct fsc_expr *e);
FSC_BUILTIN(curtask);
FSC_BUILTIN(usermode);
FSC_BUILTIN(ppid);
FSC_BUILTIN(pcomm);
/* builtin_probe.c */
FSC_BUILTIN(probe_name);
FSC_BUILTIN(probetype);
FSC_BUILTIN(func);
FSC_BUILTIN(retval);
FSC_BUILTIN(args_builtin);
FSC_BUILTIN(arg);
FSC_BUILTIN(sarg);
void fsc_check_reg(struct fsc_lang *c, struct fsc_expr *e);
extern const struct fsc_builtin_gen fsc_gen_reg_builtin;
FSC_BUILTIN(ctx);
FSC_BUILTIN(stack);
void fsc_check_kaddr(struct fsc_lang *c, struct fsc_expr *e);
FSC_BUILTIN(uaddr);
FSC_BUILTIN(percpu_kaddr);
FSC_BUILTIN(kptr);
FSC_BUILTIN(signal);
FSC_BUILTIN(override);
FSC_BUILTIN(socket_cookie);
/* builtin_text.c */
FSC_BUILTIN(str);
FSC_BUILTIN(buf);
void fsc_check_strncmp(struct fsc_lang *c, struct fsc_expr *e);
extern const struct fsc_builtin_gen fsc_gen_strncmp_builtin;
FSC_BUILTIN(strcontains);
FSC_BUILTIN(strlen);
FSC_BUILTIN(memcmp);
/* builtin_shown.c: what user space makes text of */
FSC_BUILTIN(ksym);
FSC_BUILTIN(usym);
FSC_BUILTIN(ntop);
FSC_BUILTIN(pton);
FSC_BUILTIN(macaddr);
FSC_BUILTIN(strftime);
FSC_BUILTIN(strerror);
FSC_BUILTIN(cgroup_path);
void fsc_check_cgroupid(struct fsc_lang *c, struct fsc_expr *e);
FSC_BUILTIN(path);
FSC_BUILTIN(bswap);
/* builtin_event.c */
FSC_BUILTIN(printf);
FSC_BUILTIN(print);
FSC_BUILTIN(time);
FSC_BUILTIN(join);
FSC_BUILTIN(exit);
FSC_BUILTIN(unwatch);
FSC_BUILTIN(assert);
FSC_BUILTIN(skboutput);
FSC_BUILTIN(debugf);
/* builtin_map.c */
FSC_BUILTIN(clear);
FSC_BUILTIN(delete);
FSC_BUILTIN(has_key);
FSC_BUILTIN(find);
FSC_BUILTIN(len);
void fsc_check_aggregate(struct fsc_lang *c, struct fsc_expr *e);
void fsc_check_hist(struct fsc_lang *c, struct fsc_expr *e);
void fsc_check_lhist(struct fsc_lang *c, struct fsc_expr *e);
void fsc_check_tseries(struct fsc_lang *c, struct fsc_expr *e);
/* builtin_meta.c: answered while compiling */
void fsc_check_getopt(struct fsc_lang *c, struct fsc_expr *e);
void fsc_check_is_kind(struct fsc_lang *c, struct fsc_expr *e);
void fsc_check_static_assert(struct fsc_lang *c, struct fsc_expr *e);
void fsc_check_fail(struct fsc_lang *c, struct fsc_expr *e);
void fsc_check_kfunc_exist(struct fsc_lang *c, struct fsc_expr *e);
void fsc_check_strcap(struct fsc_lang *c, struct fsc_expr *e);

/* Where a literal is wanted of a text that is known while compiling. */
void fsc_gen_literal(struct fsc_gen *g, const char *text, const struct fsc_val *dest);
/* The process's and the thread's number, as the user's namespace counts. */
fsc_vr fsc_gen_pid_tgid(struct fsc_gen *g);
fsc_vr fsc_gen_tgid_init(struct fsc_gen *g);
fsc_vr fsc_gen_global(struct fsc_gen *g, size_t offset);

#endif
