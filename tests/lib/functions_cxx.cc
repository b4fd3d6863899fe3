// The functions in C++ of functions.h; built with -finstrument-functions.
#include "functions.h"

void throwing(int n)
{
	let_pass(1);
	if (n)
		throwing(n - 1);
	if (!n)
		throw 1;
}

int catching(int n)
{
	try {
		throwing(n);
	} catch (int thrown) {
		let_pass(5);
		return thrown;
	}
	return 0;
}
