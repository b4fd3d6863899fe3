/* The load of bench/budget, compiled with FUNCTIONS defined: that many functions, the k-th of which
 * is called 1/k as often as the first, with 0.3 us or more of work between two calls, and eight
 * that are called twice. Counts its own calls.
 *
 * crowded ROUNDS [CHILDREN]: with CHILDREN they share the rounds; the parent waits for a byte
 * before it forks. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RARE = 8, TABLE = 1 << 16 };

static volatile unsigned long sink;
static unsigned long *calls; /* shared */
static unsigned table[TABLE];

#include "crowded_functions.h" /* all[], rare[] */

static void fill_table(void)
{
	double sum = 0, at = 0;
	unsigned k = 0, seed = 1;

	for (unsigned i = 0; i < FUNCTIONS; i++)
		sum += 1.0 / (i + 1);
	for (unsigned i = 0; i < TABLE; i++) {
		while (k + 1 < FUNCTIONS && at + TABLE / (k + 1) / sum <= i)
			at += TABLE / (k++ + 1) / sum;
		table[i] = k;
	}
	for (unsigned i = TABLE - 1; i; i--) {
		unsigned j, x = table[i];

		seed = seed * 1103515245 + 12345;
		j = seed / 65536 % (i + 1);
		table[i] = table[j];
		table[j] = x;
	}
}

static void run(unsigned long rounds, unsigned first)
{
	unsigned long s = 1;

	for (unsigned long i = 0; i < rounds; i++) {
		unsigned k = table[(first + i) % TABLE];

		all[k]();
		calls[k]++;
		for (int n = 0; n < 1500; n++)
			s = s * 6364136223846793005u + 1442695040888963407u;
		if (i % (rounds / (2 * RARE) + 1))
			continue;
		k = (unsigned)(i / (rounds / (2 * RARE) + 1)) % RARE;
		rare[k]();
		calls[FUNCTIONS + k]++;
	}
	sink += s;
}

static double used(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* Each child has counters of its own, which are added up at the end. */
static void fork_children(unsigned long rounds, int n, unsigned long *total)
{
	const size_t size = (FUNCTIONS + RARE) * sizeof(*calls);
	unsigned long *of[64];

	for (int i = 0; i < n && i < 64; i++) {
		of[i] = calls =
		    mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (fork())
			continue;
		run(rounds / (unsigned long)n, (unsigned)i * 7919);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	for (int i = 0; i < n && i < 64; i++)
		for (unsigned k = 0; k < FUNCTIONS + RARE; k++)
			total[k] += of[i][k];
	calls = total;
}

int main(int argc, char **argv)
{
	unsigned long rounds = strtoul(argv[1], NULL, 0);
	int children = argc > 2 ? atoi(argv[2]) : 0;
	char c;

	calls = calloc(FUNCTIONS + RARE, sizeof(*calls));
	fill_table();
	if (children && read(STDIN_FILENO, &c, 1) < 0)
		return 1;
	if (children)
		fork_children(rounds, children, calls);
	else
		run(rounds, 0);
	printf("cpu %.4f\n", used(RUSAGE_SELF) + used(RUSAGE_CHILDREN));
	for (unsigned k = 0; k < FUNCTIONS; k++)
		printf("f%u %lu\n", k, calls[k]);
	for (unsigned k = 0; k < RARE; k++)
		printf("rare%u %lu\n", k, calls[FUNCTIONS + k]);
	return 0;
}
