/* A library with checkpoints, loaded later: built once with a funcscope.c of its own, and once to
 * use the program's. */
#include <pthread.h>

#include "funcscope.h"

void scoped_work(int n);
int scoped_start(void);
int scoped_clean_up(void);

void scoped_work(int n)
{
	for (int i = 0; i < n; i++) {
		FUNCSCOPE_SCOPE("in the library");
		FUNCSCOPE_ENTER(1);
		FUNCSCOPE_EXIT(1);
	}
}

int scoped_start(void)
{
	return funcscope_caller_initialize(4, FS_LITE);
}

int scoped_clean_up(void)
{
	return funcscope_caller_cleanup();
}
