// One of two translation units that share cxx.h. This one uses nothing before it.
#include "cxx.h"

extern "C" {
void from_a();
int throwing(int depth);
int catching(int depth);
void numbers();
}

void from_a()
{
	in_header();
	(void)in_template(1);
	(void)in_template(1.0);
	with_methods object;
	(void)with_methods::function();
	auto lambda = [] {
		FUNCSCOPE_SCOPE("in lambda");
		let_pass(6);
	};
	lambda();
	lambda();
}

// Lets one tick pass on the way down at every depth.
int throwing(int depth)
{
	FUNCSCOPE_SCOPE("throwing");
	let_pass(1);
	if (depth)
		return throwing(depth - 1);
	throw 7;
}

int catching(int depth)
{
	FUNCSCOPE_SCOPE("catching");
	try {
		FUNCSCOPE_SCOPE("within try");
		return throwing(depth);
	} catch (int thrown) {
		let_pass(100);
		return thrown;
	}
}

enum class unlike_a_number : unsigned char { five = 5 };

void numbers()
{
	enum { three = 3 };

	FUNCSCOPE_ENTER(three);
	let_pass(5);
	FUNCSCOPE_EXIT(three);
	FUNCSCOPE_ENTER(unlike_a_number::five);
	let_pass(6);
	FUNCSCOPE_EXIT(unlike_a_number::five);
}
