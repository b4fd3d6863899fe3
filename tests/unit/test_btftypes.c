/* Signatures out of the running kernel's BTF (src/engine/btftypes.h). What is asked for has been in
 * the kernel for long and stays; a kernel without BTF skips the tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "engine/btftypes.h"

static void need_btf(void)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		skip();
}

static void assert_param(const struct fsc_param *p, const char *name, const char *type, int arg)
{
	struct fsc_buf b = {0};

	fsc_type_name(&b, p->type);
	assert_string_equal(p->name, name);
	assert_string_equal(fsc_buf_str(&b), type);
	assert_int_equal(p->arg, arg);
	fsc_buf_release(&b);
}

static void one_function(void **state)
{
	struct fsc_signature sig;
	struct fsc_err err = {0};
	struct fsc_types types;

	(void)state;
	need_btf();
	fsc_types_init(&types, 1);
	assert_int_equal(fsc_btf_signature(NULL, "vfs_read", &types, &sig, &err), 0);
	assert_string_equal(sig.name, "vfs_read");
	assert_int_equal(sig.n_params, 4);
	assert_param(&sig.params[0], "file", "struct file *", 1);
	assert_param(&sig.params[1], "buf", "char *", 2);
	assert_param(&sig.params[2], "count", "size_t", 3);
	assert_param(&sig.params[3], "pos", "loff_t *", 4);
	assert_string_equal(sig.ret->name, "ssize_t");
	assert_true(sig.ret->is_signed && sig.ret_readable && !sig.variadic);
	fsc_types_release(&types);
}

/* file->f_path.dentry->d_name.name: a struct in a struct, and behind a pointer. */
static void members_by_depth(void **state)
{
	struct fsc_signature sig;
	struct fsc_types near, far;
	struct fsc_member m;

	(void)state;
	need_btf();
	fsc_types_init(&near, 1);
	fsc_types_init(&far, 2);
	assert_int_equal(fsc_btf_signature(NULL, "vfs_read", &near, &sig, NULL), 0);
	assert_true(fsc_type_member(sig.params[0].type->to, "f_path", &m));
	assert_true(fsc_type_member(m.type, "dentry", &m));
	assert_int_equal(m.type->kind, FSC_TYPE_POINTER);
	assert_string_equal(m.type->to->name, "dentry");
	assert_false(m.type->to->is_complete);
	assert_int_equal(fsc_btf_signature(NULL, "vfs_read", &far, &sig, NULL), 0);
	assert_true(fsc_type_member(sig.params[0].type->to, "f_path", &m));
	assert_true(fsc_type_member(m.type, "dentry", &m));
	assert_true(m.type->to->is_complete);
	assert_true(fsc_type_member(m.type->to, "d_name", &m));
	assert_true(fsc_type_member(m.type, "name", &m));
	assert_int_equal(m.type->kind, FSC_TYPE_POINTER);
	assert_true(m.type->to->is_const);
	fsc_types_release(&near);
	fsc_types_release(&far);
}

static void many_at_once(void **state)
{
	static const char *const names[] = {"vfs_read", "no_such_function", "_printk",
					    "vfs_read", "do_exit",	    "vfs_write"};
	struct fsc_signature sigs[6];
	struct fsc_types types;

	(void)state;
	need_btf();
	fsc_types_init(&types, 3);
	assert_int_equal(fsc_btf_signatures(NULL, names, 6, &types, sigs, NULL), 0);
	assert_true(sigs[0].found && sigs[3].found && sigs[5].found);
	assert_memory_equal(&sigs[0], &sigs[3], sizeof(sigs[0]));
	assert_false(sigs[1].found);
	if (sigs[2].found) {
		assert_true(sigs[2].variadic);
		assert_int_equal(sigs[2].n_params, 1);
	}
	if (sigs[4].found)
		assert_int_equal(sigs[4].ret->kind, FSC_TYPE_VOID);
	fsc_types_release(&types);
}

static void what_is_missing_is_said(void **state)
{
	struct fsc_signature sig;
	struct fsc_err err = {0};
	struct fsc_types types;

	(void)state;
	need_btf();
	fsc_types_init(&types, 1);
	assert_int_equal(fsc_btf_signature(NULL, "no_such", &types, &sig, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "'no_such'"));
	assert_false(sig.found);
	assert_int_equal(fsc_btf_signature("no_module", "vfs_read", &types, &sig, &err), -ENODATA);
	assert_non_null(strstr(err.msg, "'no_module'"));
	fsc_types_release(&types);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_function),
	    cmocka_unit_test(members_by_depth),
	    cmocka_unit_test(many_at_once),
	    cmocka_unit_test(what_is_missing_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
