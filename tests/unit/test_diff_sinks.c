/* src/sink/diff_*.c: comparisons as text, JSON and CSV. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sink/sink.h"

static struct fsc_recorded gone = {.kind = "uprobe", .binary = "prog", .function = "gone\033[1m"};
static struct fsc_recorded fresh = {.kind = "uprobe", .binary = "prog", .function = "fresh"};

static const struct fsc_diff slower = {.before_ns = 1234,
				       .after_ns = 1300,
				       .change = 5.35,
				       .low = 4.2,
				       .high = 6.5,
				       .p = 1e-5,
				       .p_corrected = 4e-5,
				       .units_before = 20,
				       .units_after = 21,
				       .verdict = FSC_SLOWER};
static const struct fsc_diff same = {.before_ns = 1234,
				     .after_ns = 1234,
				     .low = -0.31,
				     .high = 0.3,
				     .p = 0.9,
				     .p_corrected = 1,
				     .units_before = 20,
				     .units_after = 20,
				     .verdict = FSC_SAME};
static const struct fsc_diff open_end = {.before_ns = 1234,
					 .after_ns = 1300,
					 .change = 5.35,
					 .low = -INFINITY,
					 .high = INFINITY,
					 .p = 0.1,
					 .p_corrected = 0.3,
					 .units_before = 3,
					 .units_after = 3,
					 .more = 4,
					 .verdict = FSC_UNDECIDED};
static const struct fsc_diff few = {.why = "too few calls",
				    .before_ns = NAN,
				    .after_ns = NAN,
				    .change = NAN,
				    .low = -INFINITY,
				    .high = INFINITY,
				    .verdict = FSC_UNDECIDED};

static void add_row(struct fsc_comparison *c, const char *function, const struct fsc_diff *d,
		    const struct fsc_diff *tail)
{
	struct fsc_diff_row *r = fsc_vec_push(&c->rows);

	assert_non_null(r);
	*r = (struct fsc_diff_row){.kind = "uprobe",
				   .binary = "prog",
				   .function = function,
				   .n_stats = FSC_STATS,
				   .stat = {*d, *tail, *d},
				   .verdict = d->verdict};
	c->verdicts[d->verdict]++;
}

static void add_only(struct fsc_vec *list, const struct fsc_recorded *f)
{
	const struct fsc_recorded **at = fsc_vec_push(list);

	assert_non_null(at);
	*at = f;
}

static struct fsc_comparison example(void)
{
	struct fsc_comparison c = {.rows = FSC_VEC_INIT(struct fsc_diff_row),
				   .only_before = FSC_VEC_INIT(const struct fsc_recorded *),
				   .only_after = FSC_VEC_INIT(const struct fsc_recorded *),
				   .names = FSC_RECORDING_INIT,
				   .unit = FSC_REPLICATE_RUN,
				   .runs_before = 20,
				   .runs_after = 21,
				   .confidence = 95,
				   .margin = 1,
				   .tests = 8};

	add_row(&c, "parse_the_header", &slower, &few);
	add_row(&c, "evil\033[31m,\"name\"", &same, &slower);
	add_row(&c, "unclear", &open_end, &open_end);
	add_only(&c.only_before, &gone);
	add_only(&c.only_after, &fresh);
	return c;
}

static char *render(const struct fsc_sink_ops *ops, struct fsc_comparison *c, bool wide)
{
	struct fsc_sink s = {.ops = ops, .wide = wide};
	char *text = NULL;
	size_t n;

	s.out = s.side = open_memstream(&text, &n);
	assert_non_null(s.out);
	assert_int_equal(fsc_sink_diff(&s, c, NULL), 0);
	fclose(s.out);
	return text;
}

static void expect(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

static void text_fits_80_columns(void **state)
{
	struct fsc_comparison c = example();
	char *text = render(&fsc_sink_text, &c, false);

	(void)state;
	expect(text, "FUNCTION");
	expect(text, "+5.3 ");
	expect(text, "[+4.2, +6.5]");
	expect(text, "\\x1b[31m");
	expect(text, "undecided: unclear: about 4 more runs per side\n");
	expect(text, "only before: prog:gone\\x1b[1m\n");
	expect(text, "only after: prog:fresh\n");
	expect(text, "3 functions: 1 slower, 0 faster, 1 undecided, 1 same\n");
	expect(text, "20 and 21 runs; 95% confidence over 8 comparisons (Holm), margin 1%\n");
	assert_null(strchr(text, '\033'));
	for (const char *p = text; *p; p += strcspn(p, "\n") + 1)
		assert_true(strcspn(p, "\n") <= 80);
	free(text);
	fsc_comparison_release(&c);
}

static void wide_text_has_all(void **state)
{
	struct fsc_comparison c = example();
	char *text = render(&fsc_sink_text, &c, true);

	(void)state;
	expect(text, "CORRECTED");
	expect(text, "p99 ");
	expect(text, "undecided: too few calls");
	expect(text, "20, 21");
	expect(text, "4e-05");
	free(text);
	fsc_comparison_release(&c);
}

static void json_has_null_for_the_unknown(void **state)
{
	struct fsc_comparison c = example();
	char *text = render(&fsc_sink_json, &c, false);

	(void)state;
	expect(text, "{\"type\":\"diff\",\"kind\":\"uprobe\",\"binary\":\"prog\",\"function\":"
		     "\"parse_the_header\",\"stat\":\"p50\",\"before_ns\":1234.000,\"after_ns\":"
		     "1300.000,\"change_percent\":5.3500,\"low_percent\":4.2000,\"high_percent\":"
		     "6.5000,\"p\":1e-05,\"p_corrected\":4e-05,\"verdict\":\"slower\","
		     "\"units_before\":20,\"units_after\":21,\"unit\":\"run\",\"more\":null}\n");
	expect(text, "\"before_ns\":null,\"after_ns\":null,\"change_percent\":null,"
		     "\"low_percent\":null,\"high_percent\":null,\"p\":null,\"p_corrected\":null,"
		     "\"verdict\":\"undecided\",\"why\":\"too few calls\"");
	expect(text, "\"more\":4}");
	expect(text, "\\u001b[31m,\\\"name\\\"");
	expect(text, "{\"type\":\"summary\",\"functions\":3,\"only_before\":[{\"kind\":\"uprobe\","
		     "\"binary\":\"prog\",\"function\":\"gone\\u001b[1m\"}]");
	expect(text, "\"verdicts\":{\"slower\":1,\"faster\":0,\"mixed\":0,\"undecided\":1,"
		     "\"same\":1}");
	assert_null(strstr(text, "inf"));
	assert_null(strstr(text, "nan"));
	free(text);
	fsc_comparison_release(&c);
}

static void csv_has_a_line_for_each(void **state)
{
	struct fsc_comparison c = example();
	char *text = render(&fsc_sink_csv, &c, false);

	(void)state;
	expect(text, "kind,binary,function,stat,before_ns,");
	expect(text,
	       "uprobe,prog,parse_the_header,p50,1234.000,1300.000,5.3500,4.2000,6.5000,1e-05,"
	       "4e-05,slower,20,21,run,\n");
	expect(text, "uprobe,prog,parse_the_header,p99,,,,,,,,undecided,0,0,run,\n");
	expect(text, "uprobe,prog,\"evil\\x1b[31m,\"\"name\"\"\",p99,");
	expect(text, "uprobe,prog,gone\\x1b[1m,,,,,,,,,only before,,,,\n");
	expect(text, "3 functions: "); /* the summary: aside */
	free(text);
	fsc_comparison_release(&c);
}

static void the_self_check_is_told(void **state)
{
	struct fsc_comparison c = example();
	char *text;

	(void)state;
	c.unit = FSC_REPLICATE_PAIR;
	c.check = (struct fsc_self_check){
	    .done = true, .change = 0.3, .low = -0.8, .high = 1.1, .resolution = 0.9};
	text = render(&fsc_sink_text, &c, false);
	expect(text, "A against A: +0.30% [-0.80, +1.1]: changes below about 0.90% cannot be "
		     "detected here\n");
	expect(text, "\n20 pairs of runs; 95%");
	free(text);
	c.check.unfit = true;
	text = render(&fsc_sink_text, &c, false);
	expect(text, "slower (unfit)");
	expect(text, "this machine is unfit");
	free(text);
	text = render(&fsc_sink_json, &c, false);
	expect(text, "\"unfit\":true}\n");
	expect(text, "\"a_against_a\":{\"unfit\":true,\"change_percent\":0.3000");
	free(text);
	fsc_comparison_release(&c);
}

static void pictures_have_no_place_for_it(void **state)
{
	struct fsc_sink s = {.ops = &fsc_sink_folded};
	struct fsc_err err = {0};

	(void)state;
	assert_int_equal(fsc_sink_takes(&s, FSC_DATA_DIFFS, &err), -EINVAL);
	assert_true(err.usage);
	assert_string_equal(err.hint, "use one of: text, json, csv");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(text_fits_80_columns),
	    cmocka_unit_test(wide_text_has_all),
	    cmocka_unit_test(json_has_null_for_the_unknown),
	    cmocka_unit_test(csv_has_a_line_for_each),
	    cmocka_unit_test(the_self_check_is_told),
	    cmocka_unit_test(pictures_have_no_place_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
