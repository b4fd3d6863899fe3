/* From an instruction of a Python function to its line: the tables that code objects carry
 * (co_linetable). 3.10 has pairs of bytes; since 3.11 there are entries of several forms, of which
 * columns are skipped. */
#include "python/python_priv.h"

#define UNIT_SIZE 2 /* an instruction, or one of the words behind it */

static unsigned as_line(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (unsigned)line : 0;
}

/* Pairs: how many bytes of code, and how many lines further they are. */
unsigned fsc_python_line_310(const uint8_t *table, size_t n, unsigned first, int64_t at)
{
	int64_t line = first, end = 0;

	if (at < 0)
		return first;
	for (size_t i = 0; i + 1 < n; i += 2) {
		int8_t step = (int8_t)table[i + 1];
		bool none = step == INT8_MIN; /* code without a line; the count goes on behind it */

		if (!none)
			line += step;
		end += table[i];
		if (at < end)
			return none ? 0 : as_line(line);
	}
	return 0;
}

enum form { FORM_ONE_LINE = 10, FORM_NO_COLUMNS = 13, FORM_LONG = 14, FORM_NONE = 15 };

/* A number in groups of six bits, lowest first, the sign in the lowest bit. */
static int64_t read_signed(const uint8_t *table, size_t n, size_t i)
{
	uint64_t value = 0;
	uint8_t byte;

	for (unsigned shift = 0; i < n && shift < 60; shift += 6) {
		byte = table[i++];
		value |= (uint64_t)(byte & 0x3f) << shift;
		if (!(byte & 0x40))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static int64_t line_step(const uint8_t *table, size_t n, size_t i, unsigned form)
{
	if (form == FORM_LONG || form == FORM_NO_COLUMNS)
		return read_signed(table, n, i + 1);
	return form >= FORM_ONE_LINE && form < FORM_NO_COLUMNS ? form - FORM_ONE_LINE : 0;
}

/* The first byte of an entry, and no other, has its highest bit set; then four bits of form, and
 * three of length. */
unsigned fsc_python_line_311(const uint8_t *table, size_t n, unsigned first, int64_t at)
{
	int64_t line = first, end = 0;
	size_t i = 0;

	if (at < 0)
		return first;
	while (i < n) {
		unsigned form = table[i] >> 3 & 15;

		line += line_step(table, n, i, form);
		end += ((table[i] & 7) + 1) * UNIT_SIZE;
		if (at < end)
			return form == FORM_NONE ? 0 : as_line(line);
		for (i++; i < n && !(table[i] & 0x80);)
			i++;
	}
	return 0;
}
