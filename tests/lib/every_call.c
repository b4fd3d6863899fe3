/* Calls every function of funcscope.h, as a program does that may be built with FUNCSCOPE_DISABLE.
 */
#include "funcscope.h"

int main(void)
{
	struct funcscope_options o = {2, 3, FS_LITE, 0, NULL};
	void *small, *large;

	if (funcscope_caller_initialize(3, FS_NORMAL) != 1 || funcscope_caller_cleanup() != 1 ||
	    funcscope_caller_initialize_with(&o) != 1)
		return 1;
	funcscope_name(0, "zero");
	small = funcscope_file_mmap_4K("/tmp", 1);
	large = funcscope_hugepage_mmap("/nonexistent", 1);
#ifdef FUNCSCOPE_DISABLE
	if (small)
		return 2;
#else
	if (!small)
		return 2;
#endif
	funcscope_after_fork();
	if (large || funcscope_server_poll_and_send_fd() != 0)
		return 3;
	return funcscope_caller_cleanup() != 1;
}
