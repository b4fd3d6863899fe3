/* Every program has a list of its functions' numbers in its BTF. */
#include "engine/bpfprogs.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "base/cleanup.h"

typedef int (*visit_fn)(void *arg, uint32_t prog, uint32_t btf_id, const char *name);

static int visit_functions(int fd, const struct bpf_prog_info *about, visit_fn fn, void *arg)
{
	uint32_t n = about->nr_func_info, len = sizeof(struct bpf_prog_info);
	FSC_AUTO(fsc_freep) struct bpf_func_info *funcs = calloc(n + 1, sizeof(*funcs));
	struct bpf_prog_info info = {
	    .nr_func_info = n, .func_info_rec_size = sizeof(*funcs), .func_info = (uintptr_t)funcs};
	struct btf *btf;
	int rc = 0;

	if (!funcs)
		return -ENOMEM;
	/* The program may have gone meanwhile. */
	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return 0;
	btf = btf__load_from_kernel_by_id(about->btf_id);
	for (uint32_t i = 0; btf && !rc && i < n && i < info.nr_func_info; i++) {
		const struct btf_type *t = btf__type_by_id(btf, funcs[i].type_id);
		const char *name = t ? btf__name_by_offset(btf, t->name_off) : NULL;

		if (name)
			rc = fn(arg, about->id, funcs[i].type_id, name);
	}
	btf__free(btf);
	return rc;
}

int fsc_bpfprogs_each(visit_fn fn, void *arg, struct fsc_err *err)
{
	uint32_t id = 0;
	int rc = 0;

	while (!rc && !bpf_prog_get_next_id(id, &id)) {
		FSC_AUTO(fsc_closep) int fd = bpf_prog_get_fd_by_id(id);
		struct bpf_prog_info info = {0};
		uint32_t len = sizeof(info);

		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) && info.btf_id &&
		    info.nr_func_info)
			rc = visit_functions(fd, &info, fn, arg);
	}
	return rc == -ENOMEM ? fsc_err_nomem(err) : rc;
}
