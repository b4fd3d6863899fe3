/* src/sink/alerts.h: one alert for each function, with the same labels every time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>

#include "sink/alerts.h"
#include "snapshots.h"

static json_t *alerts_of(const struct fsc_noted_call *calls, size_t n, const struct fsc_snapshot *s,
			 double for_s)
{
	struct fsc_buf b = {0};
	json_error_t why;
	json_t *all;

	fsc_alerts_write(calls, n, s, for_s, &b);
	assert_false(fsc_buf_failed(&b));
	all = json_loadb(b.s, b.n, JSON_REJECT_DUPLICATES, &why);
	if (!all)
		fail_msg("%s at %d: %s", why.text, why.position, b.s);
	fsc_buf_release(&b);
	return all;
}

static const char *text(const json_t *alert, const char *part, const char *key)
{
	const char *s = json_string_value(json_object_get(json_object_get(alert, part), key));

	return s ? s : "";
}

static void none(void **state)
{
	const struct fsc_snapshot s = {0};
	struct fsc_buf b = {0};

	(void)state;
	fsc_alerts_write(NULL, 0, &s, 60, &b);
	assert_string_equal(fsc_buf_str(&b), "[]");
	fsc_buf_release(&b);
}

static void one_for_each_function(void **state)
{
	const struct fsc_snapshot s = {.time_ns = SNAP_NOW, .labels = snap_labels, .n_labels = 2};
	struct fsc_call slower = snap_call;
	struct fsc_noted_call calls[4];
	json_t *all, *a;

	(void)state;
	memcpy(calls, snap_noted, sizeof(snap_noted));
	calls[3] = snap_noted[0];
	calls[3].call = &slower;
	slower.func = &snap_funcs[3]; /* another one that looks the same */
	slower.duration_ns = 31000000;
	slower.pid = 77;
	all = alerts_of(calls, 4, &s, 90);
	assert_int_equal(json_array_size(all), 2);
	a = json_array_get(all, 0);
	assert_string_equal(text(a, "labels", "alertname"), "FuncscopeSlowCall");
	assert_string_equal(text(a, "labels", "group"), "app");
	assert_string_equal(text(a, "labels", "function"), "work");
	assert_string_equal(text(a, "labels", "binary"), "/usr/bin/prog");
	assert_string_equal(text(a, "labels", "severity"), "warning");
	assert_string_equal(text(a, "labels", "dc"), "north");
	assert_int_equal(json_object_size(json_object_get(a, "labels")), 7);
	assert_string_equal(
	    text(a, "annotations", "summary"),
	    "work took 31.0 ms, more than 10.0 ms (pid 77, prog), the slowest of 3 calls");
	assert_string_equal(text(a, "annotations", "duration"), "31.0 ms");
	assert_string_equal(text(a, "annotations", "pid"), "77");
	assert_string_equal(text(a, "annotations", "tid"), "43");
	assert_string_equal(text(a, "annotations", "stack"),
			    "work+0x12 (work.c:34)\nma\\x1bin\n_start\n");
	assert_string_equal(json_string_value(json_object_get(a, "startsAt")),
			    "2023-11-14T22:14:18.500Z");
	assert_string_equal(json_string_value(json_object_get(a, "endsAt")),
			    "2023-11-14T22:15:50.500Z");
	a = json_array_get(all, 1);
	assert_string_equal(text(a, "labels", "function"), "f\\x1b[2J\"\\\\xff\\x0a{}<img>");
	assert_string_equal(text(a, "annotations", "comm"), "e\"\\x0avil\\xff");
	json_decref(all);
}

/* A clock that went back, a kernel function without a group, a constant label by the name of an own
 * one. */
static void odd_ones(void **state)
{
	const struct fsc_label labels[] = {{"severity", "page"}, {"a b", "x"}};
	const struct fsc_snapshot s = {.time_ns = SNAP_START, .labels = labels, .n_labels = 2};
	struct fsc_call call = snap_call;
	const struct fsc_noted_call noted = {.call = &call, .wall_ns = SNAP_NOW, .error = "EIO"};
	json_t *all, *a;

	(void)state;
	call.func = &snap_funcs[1];
	call.has_duration = false;
	call.n_user = 0;
	all = alerts_of(&noted, 1, &s, -5);
	a = json_array_get(all, 0);
	assert_int_equal(json_object_size(json_object_get(a, "labels")), 4);
	assert_string_equal(text(a, "labels", "severity"), "warning");
	assert_string_equal(text(a, "annotations", "summary"),
			    "vfs_read returned EIO (pid 42, prog)");
	assert_string_equal(json_string_value(json_object_get(a, "startsAt")),
			    json_string_value(json_object_get(a, "endsAt")));
	json_decref(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(none),
	    cmocka_unit_test(one_for_each_function),
	    cmocka_unit_test(odd_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
