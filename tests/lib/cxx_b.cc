// The other of two translation units that share cxx.h: it has scopes of its own before it, so that
// whatever is counted while compiling is elsewhere by then.
#include "funcscope.h"

extern "C" {
void before();
void from_b();
void let_pass(uint64_t ticks);
}

void before()
{
	FUNCSCOPE_SCOPE("before the header");
	let_pass(1);
}

#include "cxx.h"

void from_b()
{
	before();
	in_header();
	(void)in_template(1);
	(void)in_template('x');
	with_methods object;
	(void)with_methods::function();
}
