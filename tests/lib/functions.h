/* Functions that are compiled with -finstrument-functions, for test_functions.c, which is not. Each
 * lets the time go by that its comment says, and calls no other function that is measured unless it
 * says so. */
#ifndef FUNCTIONS_H
#define FUNCTIONS_H

#include <setjmp.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void let_pass(uint64_t ticks); /* the test's, not measured */

void leaf(void);   /* 10 */
void twice(void);  /* leaf() two times, and 1 */
int down(int n);   /* itself n times; 1 each */
int even(int n);   /* even and odd in turn; 1 each */
int odd(int n);	   /* likewise */
void leave(int n); /* itself n times, 1 each, then longjmp() to where it began: none ends */
void retry(int n, int top); /* from top down to 0, 1 each; then longjmp() to the first: 100 more */
extern jmp_buf away;

void throwing(int n); /* itself n times, 1 each, then throws an int */
int catching(int n);  /* throwing(n), caught; 5 more */

typedef void plugged_fn(void (*pass)(uint64_t ticks)); /* "plugged" in libplugged.so: 7 */

#ifdef __cplusplus
}
#endif

#endif
