/* The functions in C of functions.h; built with -finstrument-functions. */
#include "functions.h"

jmp_buf away;

void leaf(void)
{
	let_pass(10);
}

void twice(void)
{
	leaf();
	let_pass(1);
	leaf();
}

int down(int n)
{
	let_pass(1);
	return n ? 1 + down(n - 1) : 1;
}

int even(int n)
{
	let_pass(1);
	return n ? odd(n - 1) : 1;
}

int odd(int n)
{
	let_pass(1);
	return n ? even(n - 1) : 0;
}

void leave(int n)
{
	let_pass(1);
	if (n)
		leave(n - 1);
	if (!n)
		longjmp(away, 1);
}

/* The same function ends at the top that began at the bottom, too. */
void retry(int n, int top)
{
	let_pass(1);
	if (!n)
		longjmp(away, 1);
	if (n < top) {
		retry(n - 1, top);
		return;
	}
	if (!setjmp(away))
		retry(n - 1, top);
	let_pass(100);
}
