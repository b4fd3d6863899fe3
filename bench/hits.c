/* Calls one of four functions N times and prints the nanoseconds of CPU time one call took, the
 * median of 51 windows, so that neither the start of a tracer nor an interruption counts: an
 * ordinary function (begins with push), one whose first instruction is single-stepped under a
 * probe, and one that begins with a 5-byte nop. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void hit_ordinary(void);
void hit_stepped(void);
void hit_endbr(void);
void hit_nop5(void);

__asm__(".text\n"
	".globl hit_ordinary\n.type hit_ordinary, @function\n"
	"hit_ordinary:\n\tpushq %rbp\n\tmovq %rsp, %rbp\n\tpopq %rbp\n\tret\n"
	".size hit_ordinary, . - hit_ordinary\n.p2align 4\n"
	".globl hit_stepped\n.type hit_stepped, @function\n"
	"hit_stepped:\n\tsubq $8, %rsp\n\taddq $8, %rsp\n\tret\n"
	".size hit_stepped, . - hit_stepped\n.p2align 4\n"
	".globl hit_endbr\n.type hit_endbr, @function\n"
	"hit_endbr:\n\tendbr64\n\tpushq %rbp\n\tpopq %rbp\n\tret\n"
	".size hit_endbr, . - hit_endbr\n.p2align 4\n"
	".globl hit_nop5\n.type hit_nop5, @function\n"
	"hit_nop5:\n\t.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\tpushq %rbp\n\tpopq %rbp\n\tret\n"
	".size hit_nop5, . - hit_nop5\n");

enum { WINDOWS = 51 };

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(void);
	} all[] = {{"ordinary", hit_ordinary},
		   {"stepped", hit_stepped},
		   {"endbr", hit_endbr},
		   {"nop5", hit_nop5}};
	long n = argc > 2 ? atol(argv[2]) : 0;

	for (size_t i = 0; n > 0 && i < sizeof(all) / sizeof(all[0]); i++) {
		double window[WINDOWS];

		if (strcmp(all[i].name, argv[1]))
			continue;
		for (int w = 0; w < 100; w++)
			all[i].fn();
		for (int w = 0; w < WINDOWS; w++) {
			double start = cpu_ns();

			for (long k = 0; k < n / WINDOWS; k++)
				all[i].fn();
			window[w] = (cpu_ns() - start) / (double)(n / WINDOWS);
		}
		qsort(window, WINDOWS, sizeof(window[0]), by_value);
		printf("%.2f\n", window[WINDOWS / 2]);
		return 0;
	}
	fprintf(stderr, "usage: hits ordinary|stepped|endbr|nop5 N\n");
	return 2;
}
