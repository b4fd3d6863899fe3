/* Compares what encodings left behind, probed and not, and prints the table.
 *
 * usage: harm-compare LIST PLAIN PLAIN PROBED [COUNTS]
 *
 * PLAIN are two runs without a probe: what differs between them (clocks, random numbers) is left
 * out, and named. With COUNTS, the output of `funcscope count -f csv`, an encoding counts as
 * attached if it was hit; without, PROBED is of the runner's raw mode. Exit status 1 when an
 * attached encoding differs; in raw mode always 0. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harm/layout.h"
#include "harm/record.h"

enum verdict { FINE, REFUSED, MISTAKEN, REPEATED, UNKNOWN, VERDICTS };
static const char *const verdict_names[VERDICTS] = {"fine", "refused", "mistaken", "repeated",
						    "unknown"};

struct encoding {
	char class[24], verdict[16], bytes[40], text[96];
	unsigned opcode;
	enum verdict v;
	unsigned long hits;
};

static struct encoding *encodings;
static size_t n;
static struct harm_record *plain, *again, *probed;
static bool raw;

static void die(const char *what)
{
	fprintf(stderr, "harm-compare: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* ---- reading ---- */

static void read_list(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[512];

	if (!f)
		die(path);
	while (fgets(line, sizeof(line), f)) {
		struct encoding *e;

		encodings = realloc(encodings, (n + 1) * sizeof(*encodings));
		if (!encodings)
			die("no memory");
		e = &encodings[n++];
		*e = (struct encoding){0};
		if (sscanf(line, "%*u\t%23[^\t]\t%x\t%15s\t%39s\t%95[^\n]", e->class, &e->opcode,
			   e->verdict, e->bytes, e->text) < 4)
			die(path);
		while (e->v < VERDICTS - 1 && strcmp(e->verdict, verdict_names[e->v]))
			e->v++;
	}
	fclose(f);
}

static struct harm_record *read_records(const char *path)
{
	struct harm_record *r = calloc(n * HARM_STATES, sizeof(*r));
	FILE *f = fopen(path, "r");

	if (!f || !r || fread(r, sizeof(*r), n * HARM_STATES, f) != n * HARM_STATES)
		die(path);
	fclose(f);
	return r;
}

/* FUNCTION,CALLS; a function is named after its number: i00042_add. */
static void read_counts(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[512];

	if (!f)
		die(path);
	while (fgets(line, sizeof(line), f)) {
		const char *name = strstr(line, "i"), *comma = strrchr(line, ',');
		unsigned long i;

		while (name && !(strspn(name + 1, "0123456789") >= 5 &&
				 name[1 + strspn(name + 1, "0123456789")] == '_'))
			name = strstr(name + 1, "i");
		if (!name || !comma)
			continue;
		i = strtoul(name + 1, NULL, 10);
		if (i < n)
			encodings[i].hits = strtoul(comma + 1, NULL, 10);
	}
	fclose(f);
}

/* ---- judging ---- */

static bool same(const struct harm_record *a, const struct harm_record *b)
{
	return !memcmp(&a->exit, &b->exit, sizeof(*a) - offsetof(struct harm_record, exit)) &&
	       a->done == b->done;
}

static bool all_same(const struct harm_record *a, const struct harm_record *b, size_t i)
{
	for (size_t s = 0; s < HARM_STATES; s++)
		if (!same(&a[i * HARM_STATES + s], &b[i * HARM_STATES + s]))
			return false;
	return true;
}

/* Repeatable without a probe, and tried at all: see the runner. */
static bool is_steady(size_t i)
{
	return plain[i * HARM_STATES].done && all_same(plain, again, i);
}

/* It really ran: the processor knows it. */
static bool is_executed(size_t i)
{
	const struct harm_record *r = &plain[i * HARM_STATES];

	return r->done && !(r->exit == 3 && r->signal == SIGILL && r->at == 0);
}

static bool is_attached(size_t i)
{
	return raw ? !probed[i * HARM_STATES].attach : encodings[i].hits > 0;
}

enum how { SAME, OTHER, SIGNAL, HITS, DIED, HOWS };
static const char *const how_names[HOWS] = {"same", "other result", "signal", "hit more than once",
					    "died"};

/* What probing it changed. */
static enum how difference(size_t i)
{
	enum how how = SAME;

	for (size_t s = 0; s < HARM_STATES; s++) {
		const struct harm_record *a = &plain[i * HARM_STATES + s],
					 *b = &probed[i * HARM_STATES + s];

		if (same(a, b))
			continue;
		if (b->done == 2)
			return DIED;
		if (b->exit == 3 && (a->exit != 3 || a->signal != b->signal))
			return SIGNAL;
		how = OTHER;
	}
	return how == SAME && encodings[i].hits > HARM_STATES ? HITS : how;
}

/* ---- printing ---- */

static void print_fields(const struct harm_record *a, const struct harm_record *b)
{
	static const char *const names[] = {"rax", "rcx", "rdx", "rbx", "rsp",	"rbp",
					    "rsi", "rdi", "r8",	 "r9",	"r10",	"r11",
					    "r12", "r13", "r14", "r15", "flags"};

	if (a->exit != b->exit || a->signal != b->signal || a->code != b->code || a->at != b->at)
		printf(
		    " ended by stub %u signal %d/%d at %+lld, not stub %u signal %d/%d at %+lld;",
		    b->exit, b->signal, b->code, (long long)b->at, a->exit, a->signal, a->code,
		    (long long)a->at);
	for (int r = 0; r < 17; r++)
		if (a->regs[r] != b->regs[r])
			printf(" %s %#llx, not %#llx;", names[r], (unsigned long long)b->regs[r],
			       (unsigned long long)a->regs[r]);
	if (a->vectors != b->vectors)
		printf(" vector registers;");
	if (a->data != b->data)
		printf(" memory;");
	if (a->stack != b->stack)
		printf(" stack;");
}

static void print_difference(size_t i, enum how how)
{
	const struct encoding *e = &encodings[i];

	printf("%s: %s %s (%s): ", raw ? "raw" : "DIFFERS", e->bytes, e->text, how_names[how]);
	if (how == HITS)
		printf(" %lu hits for %d executions", e->hits, HARM_STATES);
	for (size_t s = 0; s < HARM_STATES; s++) {
		const struct harm_record *a = &plain[i * HARM_STATES + s],
					 *b = &probed[i * HARM_STATES + s];

		if (!same(a, b)) {
			printf(" [state %zu]", s);
			print_fields(a, b);
		}
	}
	printf("\n");
}

struct tally {
	char class[24];
	unsigned opcode;
	size_t tried, executed, unsteady, attached, refused[VERDICTS], never_hit, differ, how[HOWS];
	char text[64];
};

static void count(struct tally *t, size_t i)
{
	enum how how;

	t->tried++;
	t->executed += is_executed(i);
	if (!is_steady(i)) {
		t->unsteady++;
		return;
	}
	if (!is_attached(i)) {
		t->refused[encodings[i].v]++;
		t->never_hit += !raw && encodings[i].v == FINE;
		return;
	}
	t->attached++;
	how = difference(i);
	t->how[how]++;
	t->differ += how != SAME;
	if (how != SAME && !strstr(t->text, encodings[i].text))
		snprintf(t->text, sizeof(t->text), "%.*s", (int)strcspn(encodings[i].text, " "),
			 encodings[i].text);
}

static struct tally *tally_of(struct tally *all, size_t *n_all, const char *class, unsigned opcode)
{
	struct tally *t = all;

	for (; t < all + *n_all; t++)
		if (!strcmp(t->class, class) && t->opcode == opcode)
			return t;
	++*n_all;
	*t = (struct tally){.opcode = opcode};
	snprintf(t->class, sizeof(t->class), "%s", class);
	return t;
}

static void print_row(const struct tally *t)
{
	if (raw)
		printf("%-16s %7zu %9zu %9zu %9zu %9zu %7zu\n", t->class, t->tried, t->executed,
		       t->unsteady, t->tried - t->unsteady - t->attached, t->attached, t->differ);
	else
		printf("%-16s %7zu %9zu %9zu %9zu %9zu %9zu %9zu %7zu\n", t->class, t->tried,
		       t->executed, t->unsteady, t->refused[REFUSED],
		       t->tried - t->unsteady - t->attached - t->refused[REFUSED] - t->never_hit,
		       t->never_hit, t->attached, t->differ);
}

/* By class; the sum is the last row. */
static size_t print_table(void)
{
	struct tally *all = calloc(n + 1, sizeof(*all)), sum = {.class = "all"};
	size_t n_all = 0;

	if (!all)
		die("no memory");
	for (size_t i = 0; i < n; i++) {
		count(tally_of(all, &n_all, encodings[i].class, 0), i);
		count(&sum, i);
	}
	printf(raw ? "%-16s %7s %9s %9s %9s %9s %7s\n" : "%-16s %7s %9s %9s %9s %9s %9s %9s %7s\n",
	       "class", "tried", "executed", "unsteady", raw ? "refused" : "not-taken",
	       raw ? "attached" : "mistaken", raw ? "differ" : "never-hit", "attached", "differ");
	for (size_t i = 0; i < n_all; i++)
		print_row(&all[i]);
	print_row(&sum);
	free(all);
	return sum.differ;
}

/* Raw mode: by class and opcode, what the kernel does wrong. */
static void print_opcodes(void)
{
	struct tally *all = calloc(n + 1, sizeof(*all));
	size_t n_all = 0;

	if (!all)
		die("no memory");
	for (size_t i = 0; i < n; i++)
		count(tally_of(all, &n_all, encodings[i].class, encodings[i].opcode + 1), i);
	printf("\n%-16s %-6s %9s %7s %7s %7s %7s  %s\n", "class", "opcode", "attached", "differ",
	       "result", "signal", "died", "such as");
	for (size_t i = 0; i < n_all; i++)
		if (all[i].differ)
			printf("%-16s %02x     %9zu %7zu %7zu %7zu %7zu  %s\n", all[i].class,
			       all[i].opcode - 1, all[i].attached, all[i].differ, all[i].how[OTHER],
			       all[i].how[SIGNAL], all[i].how[DIED], all[i].text);
	free(all);
}

/* Names, once each, of what is not repeatable. */
static void print_unsteady(void)
{
	char names[4096] = " ";

	for (size_t i = 0; i < n; i++) {
		char name[64];

		if (is_steady(i))
			continue;
		snprintf(name, sizeof(name), " %.*s ", (int)strcspn(encodings[i].text, " "),
			 encodings[i].text);
		if (!strstr(names, name) && strlen(names) + strlen(name) < sizeof(names))
			strcat(names, name + 1);
	}
	printf("left out, not repeatable without a probe:%s\n", names[1] ? names : " none");
}

int main(int argc, char **argv)
{
	bool all = getenv("HARM_ALL") != NULL;
	size_t differ, shown = 0;

	if (argc != 5 && argc != 6) {
		fprintf(stderr, "usage: harm-compare LIST PLAIN PLAIN PROBED [COUNTS]\n");
		return 2;
	}
	raw = argc == 5;
	read_list(argv[1]);
	plain = read_records(argv[2]);
	again = read_records(argv[3]);
	probed = read_records(argv[4]);
	if (!raw)
		read_counts(argv[5]);
	for (size_t i = 0; i < n; i++)
		if (is_steady(i) && is_attached(i) && difference(i) != SAME &&
		    (all || (!raw && shown++ < 100)))
			print_difference(i, difference(i));
	differ = print_table();
	if (raw)
		print_opcodes();
	print_unsteady();
	return !raw && differ;
}
