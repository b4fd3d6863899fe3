/* The books of a script, as lines under its output. */
#include "sink/script.h"

void fsc_script_books(const struct fsc_script_books *books, struct fsc_buf *b)
{
	fsc_buf_printf(b, "events: seen %llu = kept %llu",
		       (unsigned long long)(books->kept + books->lost[0].n),
		       (unsigned long long)books->kept);
	if (books->lost[0].n)
		fsc_buf_printf(b, " + %s %llu", books->lost[0].name,
			       (unsigned long long)books->lost[0].n);
	fsc_buf_printf(b, "; missed by the kernel %llu", (unsigned long long)books->missed);
	for (size_t i = 1; i < sizeof(books->lost) / sizeof(books->lost[0]); i++)
		if (books->lost[i].name && books->lost[i].n)
			fsc_buf_printf(b, "; %s %llu", books->lost[i].name,
				       (unsigned long long)books->lost[i].n);
	if (books->cut)
		fsc_buf_printf(b, "; strings cut %llu", (unsigned long long)books->cut);
	fsc_buf_printf(
	    b, "\n%zu probe%s: %zu attached, %zu refused\n", books->attached + books->refused,
	    books->attached + books->refused == 1 ? "" : "s", books->attached, books->refused);
}
