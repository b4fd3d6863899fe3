/* src/sink/otlp.h: the messages as JSON, read back by another library, and as protocol buffers,
 * whose numbers are checked field by field; and answers of receivers, broken ones included. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <unistd.h>

#include "pb_read.h"
#include "sink/otlp.h"
#include "snapshots.h"

/* ---- reading JSON ---- */

static json_t *json_of(struct fsc_buf *b)
{
	json_error_t why;
	json_t *all;

	assert_false(fsc_buf_failed(b));
	all = json_loadb(b->s, b->n, JSON_REJECT_DUPLICATES, &why);
	if (!all)
		fail_msg("%s at %d: %.200s", why.text, why.position, b->s);
	fsc_buf_release(b);
	return all;
}

/* The items inside the two lists around them, which have one element each. */
static json_t *items(json_t *all, const char *resources, const char *scopes, const char *what)
{
	json_t *r = json_array_get(json_object_get(all, resources), 0);
	json_t *list = json_object_get(json_array_get(json_object_get(r, scopes), 0), what);

	assert_int_equal(json_array_size(json_object_get(all, resources)), 1);
	assert_int_equal(json_array_size(json_object_get(r, scopes)), 1);
	assert_true(json_is_array(list));
	return list;
}

/* The value of an attribute as a string, "" where it is not there. */
static const char *attribute(const json_t *of, const char *list, const char *key)
{
	json_t *pair;
	size_t i;

	json_array_foreach(json_object_get(of, list), i, pair)
	{
		json_t *value = json_object_get(pair, "value");
		const char *found = json_string_value(json_object_get(value, "stringValue"));

		if (strcmp(json_string_value(json_object_get(pair, "key")), key) != 0)
			continue;
		if (!found)
			found = json_string_value(json_object_get(value, "intValue"));
		if (!found && json_is_true(json_object_get(value, "boolValue")))
			found = "true";
		assert_non_null(found);
		return found;
	}
	return "";
}

static json_t *metric_named(json_t *metrics, const char *name)
{
	json_t *m;
	size_t i;

	json_array_foreach(metrics, i, m)
	{
		if (!strcmp(json_string_value(json_object_get(m, "name")), name))
			return m;
	}
	return NULL;
}

static json_t *points(json_t *metrics, const char *name, const char *kind)
{
	json_t *data = json_object_get(metric_named(metrics, name), kind);

	assert_int_equal(json_integer_value(json_object_get(data, "aggregationTemporality")), 2);
	return json_object_get(data, "dataPoints");
}

/* 64-bit numbers are strings. */
static uint64_t number(const json_t *of, const char *key)
{
	const char *text = json_string_value(json_object_get(of, key));

	assert_non_null(text);
	return strtoull(text, NULL, 10);
}

/* ---- metrics ---- */

static void check_point(const json_t *p)
{
	json_t *positive = json_object_get(p, "positive"), *n;
	uint64_t sum = number(p, "zeroCount");
	size_t i;

	json_array_foreach(json_object_get(positive, "bucketCounts"), i, n) sum +=
	    strtoull(json_string_value(n), NULL, 10);
	assert_true(sum == number(p, "count"));
	assert_int_equal(json_integer_value(json_object_get(p, "scale")), 3);
	assert_true(number(p, "startTimeUnixNano") == SNAP_START);
	assert_true(number(p, "timeUnixNano") == SNAP_NOW);
}

static void durations_in_json(void **state)
{
	struct fsc_latencies l = snap_latencies(FSC_BY_PID);
	struct fsc_snapshot s = snapshot(&l);
	struct fsc_buf b = {0};
	json_t *all, *list, *p, *exemplar;
	size_t i;

	(void)state;
	fsc_otlp_metrics(&s, true, &b);
	all = json_of(&b);
	list = points(items(all, "resourceMetrics", "scopeMetrics", "metrics"),
		      "funcscope.call.duration", "exponentialHistogram");
	assert_int_equal(json_array_size(list), 3);
	json_array_foreach(list, i, p) check_point(p);
	p = json_array_get(list, 0);
	assert_string_equal(attribute(p, "attributes", "code.function.name"), "work");
	assert_string_equal(attribute(p, "attributes", "funcscope.group"), "app");
	assert_string_equal(attribute(p, "attributes", "process.pid"), "42");
	assert_true(json_real_value(json_object_get(p, "max")) == 0.025);
	assert_true(json_real_value(json_object_get(p, "min")) == 1e-6);
	/* 1 us is in Prometheus' bucket -159, (2^-20, 2^-19.875] */
	assert_int_equal(
	    json_integer_value(json_object_get(json_object_get(p, "positive"), "offset")), -160);
	assert_int_equal(json_array_size(json_object_get(p, "exemplars")), 1);
	exemplar = json_array_get(json_object_get(p, "exemplars"), 0);
	assert_string_equal(attribute(exemplar, "filteredAttributes", "funcscope.call.id"), "6");
	assert_true(json_real_value(json_object_get(exemplar, "asDouble")) == 0.025);
	assert_null(json_object_get(json_array_get(list, 1), "min")); /* no calls */
	assert_string_equal(attribute(json_array_get(list, 2), "attributes", "code.function.name"),
			    "f\\x1b[2J\"\\\\xff\\x0a{}<img>");
	json_decref(all);
	fsc_latencies_release(&l);
}

static void sums_in_json(void **state)
{
	struct fsc_latencies l = snap_latencies(0);
	struct fsc_snapshot s = snapshot(&l);
	struct fsc_buf b = {0};
	json_t *all, *metrics, *resource, *p;

	(void)state;
	fsc_otlp_metrics(&s, true, &b);
	all = json_of(&b);
	metrics = items(all, "resourceMetrics", "scopeMetrics", "metrics");
	p = json_array_get(points(metrics, "funcscope.call.errors", "sum"), 1);
	assert_int_equal(number(p, "asInt"), 2);
	assert_string_equal(attribute(p, "attributes", "funcscope.error"), "-5");
	p = json_array_get(points(metrics, "funcscope.call.slow", "sum"), 0);
	assert_int_equal(number(p, "asInt"), 2);
	p = json_array_get(points(metrics, "funcscope.calls.lost", "sum"), 1);
	assert_int_equal(number(p, "asInt"), 3);
	assert_string_equal(attribute(p, "attributes", "funcscope.reason"), "too deep");
	p = json_array_get(points(metrics, "funcscope.calls.seen", "sum"), 0);
	assert_int_equal(number(p, "asInt"), 1010);
	resource =
	    json_object_get(json_array_get(json_object_get(all, "resourceMetrics"), 0), "resource");
	assert_string_equal(attribute(resource, "attributes", "service.name"), "funcscope");
	assert_string_equal(attribute(resource, "attributes", "service.version"), FSC_VERSION);
	assert_string_not_equal(attribute(resource, "attributes", "service.instance.id"), "");
	assert_string_equal(attribute(resource, "attributes", "dc"), "north");
	assert_string_equal(attribute(resource, "attributes", "rack"), "r\"1\\\\x0a");
	json_decref(all);
	fsc_latencies_release(&l);
}

static void labels_of_processes(void **state)
{
	static const struct fsc_label about[] = {{"pod", "uid"}, {"started", "then"}, {"exe", ""}};
	struct fsc_call call = snap_call;
	struct fsc_noted_call noted = {.call = &call, .wall_ns = SNAP_NOW};
	struct fsc_latencies l = snap_labelled();
	struct fsc_snapshot s = {.calls = &l};
	struct fsc_buf b = {0};
	json_t *all, *list, *p;

	(void)state;
	fsc_otlp_metrics(&s, true, &b);
	all = json_of(&b);
	list = points(items(all, "resourceMetrics", "scopeMetrics", "metrics"),
		      "funcscope.call.duration", "exponentialHistogram");
	assert_int_equal(json_array_size(list), 2);
	p = json_array_get(list, 0);
	assert_string_equal(attribute(p, "attributes", "container.id"), "4f1b0a3c5d7e");
	assert_string_equal(attribute(p, "attributes", "systemd.unit"), "we\"i\\rd\\x0a.service");
	p = json_array_get(list, 1);
	assert_int_equal(number(p, "count"), 5);
	assert_string_equal(attribute(p, "attributes", "container.id"), "");
	assert_string_equal(attribute(p, "attributes", "systemd.unit"), "a.service");
	json_decref(all);
	call.about = about;
	call.n_about = 3;
	fsc_otlp_logs(&s, &noted, 1, true, &b);
	all = json_of(&b);
	p = json_array_get(items(all, "resourceLogs", "scopeLogs", "logRecords"), 0);
	assert_string_equal(attribute(p, "attributes", "k8s.pod.uid"), "uid");
	assert_string_equal(attribute(p, "attributes", "process.creation.time"), "then");
	assert_string_equal(attribute(p, "attributes", "process.executable.path"), "");
	json_decref(all);
	fsc_latencies_release(&l);
}

static void folded_rows_overflow(void **state)
{
	struct fsc_latencies l = snap_latencies(FSC_BY_PID);
	struct fsc_snapshot s = snapshot(&l);
	struct fsc_buf b = {0};
	json_t *all, *p;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		FSC_AT(struct fsc_latency, &l.rows, i)->folded = true;
	fsc_otlp_metrics(&s, true, &b);
	all = json_of(&b);
	p = points(items(all, "resourceMetrics", "scopeMetrics", "metrics"),
		   "funcscope.call.duration", "exponentialHistogram");
	assert_int_equal(json_array_size(p), 1);
	p = json_array_get(p, 0);
	check_point(p);
	assert_int_equal(number(p, "count"), 113);
	assert_int_equal(json_array_size(json_object_get(p, "attributes")), 1);
	assert_string_equal(attribute(p, "attributes", "otel.metric.overflow"), "true");
	json_decref(all);
	fsc_latencies_release(&l);
}

static void metrics_in_protobuf(void **state)
{
	struct fsc_latencies l = snap_latencies(0);
	struct fsc_snapshot s = snapshot(&l);
	struct fsc_buf b = {0};
	struct pb scope, data, point, counts;
	struct pb_field metric;
	uint64_t sum;

	(void)state;
	fsc_otlp_metrics(&s, false, &b);
	assert_false(fsc_buf_failed(&b));
	scope = pb_get(pb_get(pb_of(b.s, b.n), 1).inside, 2).inside;
	metric = pb_get(scope, 2);
	assert_true(pb_is(pb_get(metric.inside, 1).inside, "funcscope.call.duration"));
	data = pb_get(metric.inside, 10).inside;
	assert_int_equal(pb_get(data, 2).v, 2);
	assert_int_equal(pb_count(data, 1), 3);
	point = pb_get(data, 1).inside;
	assert_true(pb_get(point, 2).type == 1 && pb_get(point, 2).v == SNAP_START);
	assert_true(pb_get(point, 4).type == 1 && pb_get(point, 4).v == 112);
	assert_int_equal(pb_unzigzag(pb_get(point, 6).v), 3);
	assert_int_equal(pb_unzigzag(pb_get(pb_get(point, 8).inside, 1).v), -160);
	counts = pb_get(pb_get(point, 8).inside, 2).inside;
	sum = pb_get(point, 7).v;
	while (counts.at < counts.end)
		sum += pb_varint(&counts);
	assert_int_equal(sum, 112);
	assert_true(pb_double(point, 13) == 0.025);
	assert_true(pb_find(scope, 2, 1, &metric));
	data = pb_get(metric.inside, 7).inside;
	assert_int_equal(pb_get(data, 3).v, 1);
	assert_true(pb_get(pb_get(data, 1).inside, 6).type == 1);
	fsc_buf_release(&b);
	fsc_latencies_release(&l);
}

/* ---- calls ---- */

static void logs_in_json(void **state)
{
	const struct fsc_snapshot s = {.time_ns = SNAP_NOW};
	struct fsc_buf b = {0};
	json_t *all, *list, *r;

	(void)state;
	fsc_otlp_logs(&s, snap_noted, 3, true, &b);
	all = json_of(&b);
	list = items(all, "resourceLogs", "scopeLogs", "logRecords");
	assert_int_equal(json_array_size(list), 3);
	r = json_array_get(list, 0);
	assert_true(number(r, "timeUnixNano") == snap_noted[0].wall_ns);
	assert_int_equal(json_integer_value(json_object_get(r, "severityNumber")), 13);
	assert_string_equal(
	    json_string_value(json_object_get(json_object_get(r, "body"), "stringValue")),
	    "work took 25.0 ms, more than 10.0 ms");
	assert_string_equal(attribute(r, "attributes", "thread.id"), "43");
	assert_string_equal(attribute(r, "attributes", "funcscope.duration_ns"), "25000000");
	assert_string_equal(attribute(r, "attributes", "funcscope.threshold_ns"), "10000000");
	assert_string_equal(attribute(r, "attributes", "funcscope.args"),
			    "0x1, 0x7f0000001000, 0, 0, 0, 0");
	assert_string_equal(attribute(r, "attributes", "funcscope.return"), "-22");
	assert_string_equal(attribute(r, "attributes", "funcscope.error"), "");
	assert_string_equal(attribute(r, "attributes", "code.stacktrace"),
			    "work+0x12 (work.c:34)\nma\\x1bin\n_start\n");
	r = json_array_get(list, 1);
	assert_string_equal(attribute(r, "attributes", "funcscope.error"), "EINVAL");
	r = json_array_get(list, 2);
	assert_string_equal(attribute(r, "attributes", "process.executable.name"),
			    "e\"\\x0avil\\xff");
	assert_string_equal(attribute(r, "attributes", "code.stacktrace"), "");
	json_decref(all);
}

static void spans_in_json(void **state)
{
	const struct fsc_snapshot s = {.time_ns = SNAP_NOW};
	struct fsc_buf b = {0};
	json_t *all, *list, *a, *c;

	(void)state;
	fsc_otlp_spans(&s, snap_noted, 3, true, &b);
	all = json_of(&b);
	list = items(all, "resourceSpans", "scopeSpans", "spans");
	a = json_array_get(list, 0);
	c = json_array_get(list, 1);
	assert_int_equal(json_string_length(json_object_get(a, "traceId")), 32);
	assert_int_equal(json_string_length(json_object_get(a, "spanId")), 16);
	assert_string_not_equal(json_string_value(json_object_get(a, "traceId")),
				json_string_value(json_object_get(c, "traceId")));
	assert_string_equal(json_string_value(json_object_get(a, "name")), "work");
	assert_true(number(a, "endTimeUnixNano") - number(a, "startTimeUnixNano") == 25000000);
	assert_null(json_object_get(a, "status"));
	assert_int_equal(json_integer_value(json_object_get(json_object_get(c, "status"), "code")),
			 2);
	json_decref(all);
}

static void calls_in_protobuf(void **state)
{
	const struct fsc_snapshot s = {.time_ns = SNAP_NOW};
	struct fsc_buf b = {0};
	struct pb scope, item;

	(void)state;
	fsc_otlp_logs(&s, snap_noted, 3, false, &b);
	scope = pb_get(pb_get(pb_of(b.s, b.n), 1).inside, 2).inside;
	assert_int_equal(pb_count(scope, 2), 3);
	item = pb_get(scope, 2).inside;
	assert_true(pb_get(item, 1).type == 1 && pb_get(item, 1).v == snap_noted[0].wall_ns);
	assert_int_equal(pb_get(item, 2).v, 13);
	assert_true(pb_count(item, 6) >= 10);
	fsc_buf_release(&b);
	fsc_otlp_spans(&s, snap_noted, 3, false, &b);
	scope = pb_get(pb_get(pb_of(b.s, b.n), 1).inside, 2).inside;
	item = pb_get(scope, 2).inside;
	assert_int_equal(pb_get(item, 1).inside.end - pb_get(item, 1).inside.at, 16);
	assert_int_equal(pb_get(item, 2).inside.end - pb_get(item, 2).inside.at, 8);
	assert_true(pb_get(item, 8).v == snap_noted[0].wall_ns);
	fsc_buf_release(&b);
}

static void nothing_to_say(void **state)
{
	const struct fsc_snapshot s = {0};

	(void)state;
	for (int json = 0; json < 2; json++) {
		struct fsc_buf b[3] = {0};

		fsc_otlp_metrics(&s, json, &b[0]);
		fsc_otlp_logs(&s, NULL, 0, json, &b[1]);
		fsc_otlp_spans(&s, NULL, 0, json, &b[2]);
		for (int i = 0; i < 3; i++) {
			if (json)
				json_decref(json_of(&b[i]));
			assert_false(fsc_buf_failed(&b[i]));
			fsc_buf_release(&b[i]);
		}
	}
}

/* ---- answers ---- */

static void answers_in_json(void **state)
{
	static const struct {
		const char *body;
		uint64_t rejected;
	} cases[] = {
	    {"", 0},
	    {"{}", 0},
	    {"[]", 0},
	    {"null", 0},
	    {"{\"partialSuccess\":{}}", 0},
	    {"{\"partialSuccess\":[5]}", 0},
	    {" \n{\"partialSuccess\":{\"rejectedDataPoints\":\"5\",\"errorMessage\":\"x\"}}", 5},
	    {"{\"partialSuccess\":{\"rejectedSpans\":7}}", 7},
	    {"{\"partialSuccess\":{\"rejectedLogRecords\":\"9\"}}", 9},
	    {"{\"partialSuccess\":{\"rejectedLogRecords\":\"-9\"}}", 0},
	    {"{\"partialSuccess\":{\"rejectedSpans\":1.5}}", 0},
	    {"{\"partialSuccess\":{\"rejectedSpans\":\"x\"}}", 0},
	    {"{\"x\":{\"partialSuccess\":{\"rejectedSpans\":7}}}", 0},
	    {"{\"partialSuccess\":{\"rejectedSpans\":7}", 0},
	    {"<html>502</html>", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (fsc_otlp_rejected(cases[i].body, strlen(cases[i].body)) != cases[i].rejected)
			fail_msg("%s", cases[i].body);
}

static void answers_in_protobuf(void **state)
{
	static const char five[] = "\x0a\x05\x08\x05\x12\x01x",
			  negative[] = "\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
			  other[] = "\x15\0\0\0\0\x19\0\0\0\0\0\0\0\0\x20\x07\x0a\x03\x08\x80\x01";
	char body[64];

	(void)state;
	assert_int_equal(fsc_otlp_rejected(five, sizeof(five) - 1), 5);
	assert_int_equal(fsc_otlp_rejected(negative, sizeof(negative) - 1), 0);
	assert_int_equal(fsc_otlp_rejected(other, sizeof(other) - 1), 128);
	/* cut anywhere, and with every byte wrong: never more than memory holds */
	for (size_t n = 0; n < sizeof(other) - 1; n++)
		assert_int_equal(fsc_otlp_rejected(memcpy(body, other, n), n), 0);
	for (size_t i = 0; i < sizeof(other) - 1; i++)
		for (int c = 0; c < 256; c++) {
			memcpy(body, other, sizeof(other) - 1);
			body[i] = (char)c;
			fsc_otlp_rejected(body, sizeof(other) - 1);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(durations_in_json),   cmocka_unit_test(sums_in_json),
	    cmocka_unit_test(labels_of_processes), cmocka_unit_test(folded_rows_overflow),
	    cmocka_unit_test(metrics_in_protobuf), cmocka_unit_test(logs_in_json),
	    cmocka_unit_test(spans_in_json),	   cmocka_unit_test(calls_in_protobuf),
	    cmocka_unit_test(nothing_to_say),	   cmocka_unit_test(answers_in_json),
	    cmocka_unit_test(answers_in_protobuf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
