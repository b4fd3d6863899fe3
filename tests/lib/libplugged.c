/* A library that is loaded later; built with -finstrument-functions. */
#include "functions.h"

plugged_fn plugged;

void plugged(void (*pass)(uint64_t ticks))
{
	pass(7);
}
