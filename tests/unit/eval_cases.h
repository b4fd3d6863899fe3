/* Expressions that C evaluates while this is compiled and the evaluator while it is tested: the
 * same text for both. arg1 to arg6 are unsigned long, as they are in `trace`. */
#ifndef FSC_TEST_EVAL_CASES_H
#define FSC_TEST_EVAL_CASES_H

#include <stddef.h>
#include <stdint.h>

#define EVAL_ARGS                                                                                  \
	{                                                                                          \
		5, 0xffffffffffffffff, 0x123456789abcdef0, 0, 0xfffffff6, 97                       \
	}

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

/* clang-format off */
#define EVAL_CASES(C) \
	C(1) C(-1) C(0x7fffffff) C(0x80000000) C(2147483648) C(-2147483648) C(0xffffffff) C(017) C(10u) C(10UL) \
	C('a') C('\n') C('\'') C('\xff') C(0xffffffffffffffff) C(-1L) C(1 == 1) \
	C(arg1) C(arg2) C(arg1 + 1) C(arg1 - 6) C(arg1 * 3) C(arg3 / 7) C(arg3 % 7) C(arg1 / 2) C(arg2 / 2) C(-7 / 2) \
	C(-7 % 2) C(7 / -2) C(7 % -2) C(-7 / -2) C((int)arg5 / 3) C((int)arg5 % 3) C((long)arg2 / 1) C((int)arg5 * (int)arg5) \
	C((int)arg5) C((unsigned)arg2) C((unsigned int)arg2) C((char)arg5) C((unsigned char)arg5) C((short)arg5) \
	C((u8)arg3) C((u16)arg3) C((u32)arg3) C((u64)arg3) C((s8)arg3) C((s16)arg3) C((s32)arg3) C((s64)arg3) \
	C((long)(int)arg5) C((unsigned long)(int)arg5) C((long long)arg2) C((unsigned short)arg2) C((signed char)arg2) \
	C((int)arg5 < 0) C(arg5 < 0) C((int)arg2 == -1) C(arg2 == -1) C((unsigned)arg2 == -1) C((u16)arg2 == -1) \
	C((int)arg2 < arg1) C((int)arg2 < (int)arg1) C((int)arg2 < (unsigned)arg1) C((int)arg2 < 5u) C((u8)arg2 > (s8)arg2) \
	C((int)arg2 > 5) C((int)arg2 >= -1) C(arg1 <= 5) C(arg1 >= 6) C(arg1 != 5) C(5 > arg1) C(4 < arg1) C(arg1 > 4) \
	C(1 + 2 * 3) C((1 + 2) * 3) C(10 - 3 - 2) C(100 / 10 / 2) C(2 - 3 * 4 + 5) C(1 << 2 + 1) C(1 + 2 << 3) \
	C(arg1 & 4 == 4) C((arg1 & 4) == 4) C(arg1 | 2 ^ 3 & 1) C(arg1 ^ arg6 | 8) C(~arg1) C(~0) C(~0u) C(!arg1) C(!arg4) \
	C(!!arg3) C(-arg1) C(-(int)arg1) C(+(char)arg5) C(- -3) C(~-1) C(!-1) C(-(unsigned)arg1) \
	C(arg1 << 3) C(arg3 >> 4) C((long)arg2 >> 4) C(arg2 >> 60) C((int)arg5 >> 1) C((unsigned)arg5 >> 1) C(1u << 31) \
	C(1UL << 63) C((u8)arg3 << 4) C((u8)0xff + 1) C((s8)-1 == 255) C((u16)arg2 + (u16)arg2) \
	C(arg4 && arg1 / arg4) C(arg1 && arg3) C(arg4 || arg1) C(arg4 || arg4) C(arg1 || arg1 / arg4) C(arg1 && arg4 || 1) \
	C(1 || 0 && 0) C((1 || 0) && 0) C(arg1 > 3 && arg1 < 7 && arg6 == 'a') C(!(arg1 > 3) || !arg4) \
	C(arg1 ? 10 : 20) C(arg4 ? 10 : 20) C(arg4 ? 1 : arg1 ? 2 : 3) C((arg1 ? 1 : 2) + 3) C(arg1 ? arg4 ? 1 : 2 : 3) \
	C(arg4 ? 1 : -1) C(arg1 ? -1 : 1u) C(arg1 ? -1 : 1UL) C(1 + (arg4 ? 5 : 6) * 2) C((arg4 && 1) + (arg1 || 0)) \
	C(arg1 - (arg6 - (arg1 - (arg6 - (arg1 - (arg6 - (arg1 - (arg6 - (arg1 - (arg6 - arg1)))))))))) \
	C(arg6 / (arg1 - (arg6 % (arg1 + 1)))) C(arg1 << (arg1 - (arg1 - 2))) C((arg1 + arg6) * (arg1 - arg6) - (arg1 ^ arg6) * (arg1 | arg6)) \
	C(((arg1 + 1) * (arg6 + 2) + (arg1 + 3) * (arg6 + 4)) * ((arg1 + 5) * (arg6 + 6) + (arg1 + 7) * (arg6 + 8))) \
	C(((((((((((arg1))))))))))) C(arg3 & 0xff00 | arg1 << 16) C((arg3 >> 8 & 0xff) == 0xde)
/* clang-format on */

struct eval_case {
	const char *text;
	uint64_t want;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wint-in-bool-context"
#pragma GCC diagnostic ignored "-Wbool-operation"
#define EVAL_CASE(e) {#e, (uint64_t)(e)},
/* Fills cases; how many there are. */
static size_t eval_cases(struct eval_case *cases, size_t room)
{
	static volatile const unsigned long a[] = EVAL_ARGS;
	const unsigned long arg1 = a[0], arg2 = a[1], arg3 = a[2], arg4 = a[3], arg5 = a[4],
			    arg6 = a[5];
	const struct eval_case all[] = {EVAL_CASES(EVAL_CASE)};
	size_t n = sizeof(all) / sizeof(all[0]);

	for (size_t i = 0; i < n && i < room; i++)
		cases[i] = all[i];
	return n < room ? n : room;
}
#pragma GCC diagnostic pop

#endif
