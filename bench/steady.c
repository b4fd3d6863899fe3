/* The same work again and again, in a scope: what a comparison with itself is made of, and with a
 * little more of it.
 *
 * usage: steady WORK CALLS */
#include <stdlib.h>

#include "funcscope.h"

int main(int argc, char **argv)
{
	long work = argc > 1 ? atol(argv[1]) : 1000, calls = argc > 2 ? atol(argv[2]) : 100000;

	if (!funcscope_caller_initialize(1, FS_LITE))
		return 1;
	for (long i = 0; i < calls; i++) {
		FUNCSCOPE_SCOPE("work");
		for (long k = 0; k < work; k++)
			__asm__ volatile("" ::: "memory");
	}
	return 0;
}
