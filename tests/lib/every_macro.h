/* Functions that use every macro of funcscope.h, for the tests that look at the object code and for
 * those that only compile. With BARE the macros are not there at all; only the variable of laps is,
 * which a program may hand around (unoptimized, clang gives it a place on the stack). */
#ifdef BARE
#define FUNCSCOPE_ENTER(idx)
#define FUNCSCOPE_EXIT(idx)
#define FUNCSCOPE_SCOPE(name)
#define FUNCSCOPE_LAPS(laps) unsigned long laps __attribute__((unused))
#define FUNCSCOPE_LAP(laps, name)
#define FUNCSCOPE_RESTART(laps)
#else
#include "funcscope.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

extern volatile int something;

int by_number(int idx);
int by_constant(void);
int by_name(int n);
int in_laps(int n);

int by_number(int idx)
{
	FUNCSCOPE_ENTER(idx);
	something = something + 1;
	FUNCSCOPE_EXIT(idx);
	return something;
}

int by_constant(void)
{
	FUNCSCOPE_ENTER(5);
	something = something + 1;
	FUNCSCOPE_EXIT(5);
	return something;
}

int by_name(int n)
{
	FUNCSCOPE_SCOPE("by name");
	something = something + 1;
	if (n) {
		FUNCSCOPE_SCOPE("within");
		something = something + 1;
		return n;
	}
	return something;
}

int in_laps(int n)
{
	FUNCSCOPE_LAPS(t);
	something = something + 1;
	FUNCSCOPE_LAP(t, "one");
	for (int i = 0; i < n; i++) {
		something = something + 1;
		FUNCSCOPE_LAP(t, "two");
	}
	FUNCSCOPE_RESTART(t);
	something = something + 1;
	FUNCSCOPE_LAP(t, "three");
	return something;
}

#ifdef __cplusplus
}
#endif
