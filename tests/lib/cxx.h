// Functions of a header that both cxx_a.cc and cxx_b.cc compile: their checkpoints are one each.
#ifndef CXX_H
#define CXX_H

#include "funcscope.h"

extern "C" {
void let_pass(uint64_t ticks);
}

// Two scopes and two laps, so that one may be taken for the other. Each unit has code of its own
// for it, and they share its variables.
__attribute__((always_inline)) inline void in_header()
{
	{
		FUNCSCOPE_SCOPE("first in header");
		let_pass(10);
	}
	{
		FUNCSCOPE_SCOPE("second in header");
		let_pass(1000);
	}
	FUNCSCOPE_LAPS(t);
	let_pass(2);
	FUNCSCOPE_LAP(t, "first lap");
	let_pass(500);
	FUNCSCOPE_LAP(t, "second lap");
}

template <typename T> T in_template(T x)
{
	FUNCSCOPE_SCOPE("in template");
	let_pass(3);
	return x;
}

struct with_methods {
	with_methods()
	{
		FUNCSCOPE_SCOPE("constructor");
		let_pass(1);
	}
	~with_methods()
	{
		FUNCSCOPE_SCOPE("destructor");
		let_pass(2);
	}
	static int function()
	{
		FUNCSCOPE_SCOPE(__func__);
		let_pass(4);
		return 1;
	}
};

#endif
