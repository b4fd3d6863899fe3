/* The programs on functions, compiled once for each mode: in a short run, loading and verifying the
 * code of all modes would take longer than the run itself. The objects have programs and maps of
 * the same names, so one skeleton serves them all. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "engine/kfuncs.h"
#include "engine/session_priv.h"
#include "func_snoop.skel.h"
#include "func_snoop_stack.skel.h"
#include "func_snoop_time.skel.h"
#include "func_snoop_trace.skel.h"

static const void *object_bytes(enum fsc_mode mode, size_t *ret_size)
{
	switch (mode) {
	case FSC_MODE_TIME:
		return func_snoop_time_bpf__elf_bytes(ret_size);
	case FSC_MODE_STACK:
		return func_snoop_stack_bpf__elf_bytes(ret_size);
	case FSC_MODE_TRACE:
		return func_snoop_trace_bpf__elf_bytes(ret_size);
	default:
		return func_snoop_bpf__elf_bytes(ret_size);
	}
}

struct func_snoop_bpf *fsc_objects_open(enum fsc_mode mode)
{
	struct func_snoop_bpf *skel = calloc(1, sizeof(*skel));
	int rc = skel ? func_snoop_bpf__create_skeleton(skel) : -ENOMEM;

	fsc_kfuncs_prepare();
	if (!rc) {
		skel->skeleton->data = object_bytes(mode, &skel->skeleton->data_sz);
		rc = bpf_object__open_skeleton(skel->skeleton, NULL);
	}
	if (!rc)
		return skel;
	func_snoop_bpf__destroy(skel);
	errno = -rc;
	return NULL;
}
