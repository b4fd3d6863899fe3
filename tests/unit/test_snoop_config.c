/* The configuration of snoop: what each key becomes, what is said about each kind of mistake and
 * where, that the examples, the schema and the page know the same keys, and that no input breaks
 * it. Run from the root of the tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "monitor/config_keys.h"
#include "model/errors.h"
#include "monitor/presets.h"

/* ---- words ---- */

static void reads(const char *text, struct fsc_snoop_config *c)
{
	struct fsc_err err = {0};

	if (fsc_snoop_config_parse(text, strlen(text), "f", c, &err))
		fail_msg("%s: %s", text, err.msg);
}

static void fails(const char *text, const char *message)
{
	struct fsc_snoop_config c;
	struct fsc_err err = {0};

	if (!fsc_snoop_config_parse(text, strlen(text), "f", &c, &err))
		fail_msg("%s: was read", text);
	fsc_snoop_config_release(&c);
	if (strcmp(err.msg, message) != 0)
		fail_msg("%s:\n expected: %s\n got:      %s", text, message, err.msg);
	assert_int_equal(err.code, EINVAL);
}

static const struct fsc_snoop_func *func(const struct fsc_snoop_config *c, const char *group,
					 const char *name)
{
	for (size_t i = 0; i < c->funcs.n; i++) {
		const struct fsc_snoop_func *f = FSC_AT(const struct fsc_snoop_func, &c->funcs, i);

		if (!strcmp(f->group, group) && !strcmp(f->name, name))
			return f;
	}
	fail_msg("no %s of %s", name, group);
	return NULL;
}

static const char *text_at(const struct fsc_vec *v, size_t i)
{
	assert_true(i < v->n);
	return *FSC_AT(const char *, v, i);
}

/* ---- what is read ---- */

static void defaults(void **state)
{
	struct fsc_snoop_config c;

	(void)state;
	reads("{}", &c);
	assert_int_equal(c.funcs.n, 0);
	assert_true(c.slow_ns == 100e6 && c.sample == 0 && c.stacks && !c.fast_uprobes);
	assert_true(c.report.every_s == 10 && !c.report.json && !c.report.to && c.report.top == 20);
	assert_true(c.keep_slowest == 10 && c.keep_latest == 10 && c.keep_ended_s == 60);
	assert_true(c.max_processes_rows == 4096 && c.warnings_per_s == 10 && c.max_overhead == 0);
	assert_true(!c.prometheus.listen && c.prometheus.max_series == 2000 && !c.otlp.endpoint);
	assert_true(c.otlp.gzip && !c.otlp.json && !c.otlp.spans && c.otlp.every_s == 10);
	assert_true(c.otlp.timeout_s == 10 && c.alert_every_s == 60 && c.alert_for_s == 300);
	assert_true(c.spool_memory == 16000000 && c.spool_disk == 0 && !c.spool_directory);
	fsc_snoop_config_release(&c);
}

static void has_everything(const struct fsc_snoop_config *c)
{
	const struct fsc_snoop_func *f;

	assert_true(c->slow_ns == 10e6 && c->sample == 10000 && !c->stacks && c->fast_uprobes);
	assert_true(c->warnings_per_s == 0.5 && c->max_overhead == 2.5 && c->labels.n == 2);
	assert_string_equal(FSC_AT(struct fsc_label, &c->labels, 1)->value, "vision");
	f = func(c, "custom", "parse");
	assert_true(f->slow_ns == 2.5e6 && f->sample == 1000 && f->errors == FSC_ERRORS_NULL);
	assert_string_equal(text_at(&f->libraries, 1), "libparse.so*");
	assert_int_equal(f->line, 8);
	f = func(c, "zlib", "inflate");
	assert_true(f->slow_ns == 10e6 && f->sample == 10000 && f->errors == FSC_ERRORS_NONE);
	assert_string_equal(text_at(&f->libraries, 1), "/opt/app/lib/libz.so.1");
	f = func(c, "cuda", "cudaMalloc");
	assert_true(f->errors == FSC_ERRORS_CUDA && f->line == 0 && f->slow_ns == 10e6);
	assert_string_equal(text_at(&f->libraries, 0), "libcudart.so.13*");
	assert_int_equal(*FSC_AT(pid_t, &c->targets.pids, 1), 4321);
	assert_string_equal(text_at(&c->targets.cgroups, 1), "3f4c9d0e5a1b");
	assert_string_equal(text_at(&c->targets.command, 2), "");
	assert_true(c->report.every_s == 30 && c->report.json && !c->report.top);
	assert_true(c->report.by_process && c->keep_ended_s == 300 &&
		    c->max_processes_rows == 1000);
	assert_string_equal(c->stream, "tcp:127.0.0.1:9465");
	assert_true(c->prometheus.pid_label && c->prometheus.max_series == 5000);
	assert_true(c->otlp.json && !c->otlp.gzip && c->otlp.spans && c->otlp.timeout_s == 5);
	assert_string_equal(FSC_AT(struct fsc_label, &c->otlp.headers, 0)->name, "Authorization");
	assert_true(c->alert_every_s == 120 && c->alert_for_s == 600);
	assert_true(c->spool_memory == 32 << 20 && c->spool_disk == 256000000);
}

static void everything(void **state)
{
	struct fsc_snoop_config c, copy;
	struct fsc_err err = {0};

	(void)state;
	if (fsc_snoop_config_read("examples/snoop/everything.json", &c, &err))
		fail_msg("%s", err.msg);
	has_everything(&c);
	assert_int_equal(fsc_snoop_config_copy(&c, &copy, &err), 0);
	assert_int_equal(copy.libraries.n, c.libraries.n);
	fsc_snoop_config_release(&c);
	has_everything(&copy);
	fsc_snoop_config_release(&copy);
}

/* The sample of the module's description, as it is printed there. */
static void printed_sample(void **state)
{
	static const struct {
		const char *group, *name;
		enum fsc_error_rule errors;
	} some[] = {{"cuda", "cudaGetLastError", FSC_ERRORS_CUDA},
		    {"custom", "vectorAdd", FSC_ERRORS_NONE},
		    {"libtorch", "linear_forward", FSC_ERRORS_NONE},
		    {"cudnn", "cudnnConvolutionBackwardData", FSC_ERRORS_CUDNN},
		    {"nccl", "ncclBroadcast", FSC_ERRORS_NCCL}};
	struct fsc_snoop_config c;
	struct fsc_err err = {0};

	(void)state;
	fsc_log_set_level(FSC_LOG_WARN); /* it has dots */
	if (fsc_snoop_config_read("tests/fixtures/snoop-seed.json", &c, &err))
		fail_msg("%s", err.msg);
	fsc_log_set_level(FSC_LOG_NOTE);
	assert_int_equal(c.funcs.n, 14);
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
		assert_int_equal(func(&c, some[i].group, some[i].name)->errors, some[i].errors);
	assert_int_equal(func(&c, "cuda", "cudaFree")->line, 5);
	fsc_snoop_config_release(&c);
}

static void presets(void **state)
{
	struct fsc_snoop_config c, all;
	size_t n;

	(void)state;
	reads("{\"presets\": [\"nccl\"]}", &c);
	n = c.funcs.n;
	assert_true(n > 20);
	fsc_snoop_config_release(&c);
	/* What the file says itself goes first, by its name and by its symbol. */
	reads(
	    "{\"presets\": [\"nccl\"], \"nccl_func_sym\": {\"ncclSend\": {\"symbol\": \"ncclSend\","
	    "\"slow\": \"off\"}, \"receive\": \"ncclRecv\"}, \"slow\": \"3s\"}",
	    &c);
	assert_int_equal(c.funcs.n, n);
	assert_true(func(&c, "nccl", "ncclSend")->slow_ns == 0);
	assert_true(func(&c, "nccl", "ncclReduce")->slow_ns == 3e9);
	fsc_snoop_config_release(&c);
	reads("{\"presets\": [\"cuda\", \"cuda_driver\", \"cublas\", \"cudnn\", \"nccl\", "
	      "\"libtorch\", \"libc\", \"openssl\"]}",
	      &all);
	assert_int_equal(func(&all, "libc", "read")->errors, FSC_ERRORS_NEGATIVE);
	assert_int_equal(func(&all, "cublas", "cublasGemmEx")->errors, FSC_ERRORS_CUBLAS);
	assert_int_equal(func(&all, "cuda_driver", "cuMemMap")->errors, FSC_ERRORS_CU);
	assert_int_equal(func(&all, "openssl", "RAND_bytes")->errors, FSC_ERRORS_NOT_ONE);
	fsc_snoop_config_release(&all);
}

static void added_later(void **state)
{
	struct fsc_snoop_config c;
	struct fsc_err err = {0};
	const struct fsc_snoop_func *f;

	(void)state;
	reads("{\"slow\": \"1s\", \"sample\": 7, \"libraries\": {\"cuda\": \"libx.so\"}}", &c);
	assert_int_equal(fsc_snoop_config_add(&c, "cuda", "free", "cudaFree", &err), 0);
	f = func(&c, "cuda", "free");
	assert_true(f->slow_ns == 1e9 && f->sample == 7 && f->errors == FSC_ERRORS_CUDA);
	assert_string_equal(text_at(&f->libraries, 0), "libx.so");
	assert_int_equal(fsc_snoop_config_add(&c, "cuda", "free", "cudaFree", &err), -EEXIST);
	assert_string_equal(err.msg, "group 'cuda' already has a 'free'");
	assert_int_equal(fsc_snoop_config_add(&c, "a b", "x", "y", &err), -EINVAL);
	assert_int_equal(fsc_snoop_config_add(&c, "a", "", "y", &err), -EINVAL);
	assert_int_equal(fsc_snoop_config_add(&c, "a", "x", "", &err), -EINVAL);
	assert_int_equal(c.funcs.n, 1);
	fsc_snoop_config_release(&c);
}

static void streams(void **state)
{
	struct fsc_snoop_config c;

	(void)state;
	reads("{\"stream\": \"tcp:9000\", \"prometheus\": {\"listen\": \"9464\"}}", &c);
	assert_string_equal(c.stream, "tcp:127.0.0.1:9000");
	fsc_snoop_config_release(&c);
	reads("{\"stream\": \"tcp::9000\", \"spool\": {\"directory\": \"/x\"}}", &c);
	assert_string_equal(c.stream, "tcp:127.0.0.1:9000");
	assert_true(c.spool_disk == 64000000);
	fsc_snoop_config_release(&c);
	reads("{\"stream\": \"unix:/run/x\", \"max_overhead\": \"2.5%\"}", &c);
	assert_string_equal(c.stream, "unix:/run/x");
	assert_true(c.max_overhead == 2.5);
	fsc_snoop_config_release(&c);
}

static void headers_file(void **state)
{
	char path[] = "/tmp/fsc-headers-XXXXXX", text[300];
	const int fd = mkstemp(path);
	static const char good[] = "# token\n\nAuthorization: Bearer x:y\r\nX-A:b\n", bad[] = "X\n";
	struct fsc_snoop_config c;
	struct fsc_err err = {0};

	(void)state;
	assert_int_equal(write(fd, good, strlen(good)), strlen(good));
	snprintf(text, sizeof(text),
		 "{\"otlp\": {\"endpoint\": \"http://x\", \"headers_file\": \"%s\"}}", path);
	reads(text, &c);
	assert_int_equal(c.otlp.headers.n, 2);
	assert_string_equal(FSC_AT(struct fsc_label, &c.otlp.headers, 0)->value, "Bearer x:y");
	fsc_snoop_config_release(&c);
	assert_int_equal(pwrite(fd, bad, strlen(bad), 0), strlen(bad));
	assert_int_equal(fsc_snoop_config_parse(text, strlen(text), "f", &c, &err), -EINVAL);
	assert_non_null(strstr(err.msg, ":1: not a header as \"Name: value\""));
	fsc_snoop_config_release(&c);
	close(fd);
	unlink(path);
	fails("{\"otlp\": {\"endpoint\": \"http://x\",\n\"headers_file\": \"/nonexistent\"}}",
	      "f:2:17: cannot open the file of headers '/nonexistent': No such file or directory");
}

/* ---- what is refused, and where ---- */

static void unknown_words(void **state)
{
	(void)state;
	fails("{\n  \"slwo\": \"1s\"\n}", "f:2:3: unknown key \"slwo\"; did you mean 'slow'?");
	fails("{\"cuda_func_syms\": {}}",
	      "f:1:2: unknown key \"cuda_func_syms\"; did you mean 'cuda_func_sym' or "
	      "'cudnn_func_sym'?");
	fails("{\"report\": {\n\"evry\": \"1s\"}}",
	      "f:2:1: unknown key \"evry\"; did you mean 'every'?");
	fails("{\"otlp\": {\"endpoint\": \"http://x\", \"time_out\": \"1s\"}}",
	      "f:1:35: unknown key \"time_out\"; did you mean 'timeout'?");
	fails("{\"cuda_func_sym\": {\"a\": {\"symbl\": \"x\"}}}",
	      "f:1:26: unknown key \"symbl\"; did you mean 'symbol'?");
	fails("{\"presets\": [\"cuda\",\n \"cudn\"]}",
	      "f:2:2: unknown preset \"cudn\"; did you mean 'cuda' or 'cudnn'?");
	fails("{\"x_func_sym\": {\"a\": {\"symbol\": \"a\", \"errors\": \"nul\"}}}",
	      "f:1:48: unknown rule for errors \"nul\"; did you mean 'null'?");
	fails("{\"zlib_func_sym\": {}, \"libraries\": {\"zlob\": \"x\"}}",
	      "f:1:37: unknown group \"zlob\"; did you mean 'zlib'?");
	fails("{\"qqqqqqqqqqqqqqq\": 1}", "f:1:2: unknown key \"qqqqqqqqqqqqqqq\"");
}

static void wrong_types(void **state)
{
	(void)state;
	fails("[]", "f:1:1: a configuration is an object: {...}");
	fails("{\"stacks\": 1}",
	      "f:1:12: \"stacks\" (whether slow calls come with their stack) must "
	      "be true or false, not 1");
	fails("{\"report\": []}",
	      "f:1:12: \"report\" (the periodic report) must be an object, not a list");
	fails("{\"report\": {\"top\": 1.5}}", "f:1:20: \"top\" (lines of each ranking, 0 for all) "
					      "must be a whole number, not 1.5");
	fails("{\"report\": {\"to\": null}}",
	      "f:1:19: \"to\" (the file that reports go to) must be a string, not null");
	fails("{\"cuda_func_sym\": {\"a\": 1}}",
	      "f:1:25: a function is a symbol in quotes, or an object with a \"symbol\", not 1");
	fails("{\"cuda_func_sym\": []}",
	      "f:1:19: \"cuda_func_sym\" must be an object of names and symbols, not a list");
	fails("{\"targets\": {\"pids\": [1, \"2\"]}}",
	      "f:1:26: an item of \"pids\" must be a whole number from 1 to 4194304, not \"2\"");
	fails("{\"targets\": {\"names\": [\"a\", 2]}}",
	      "f:1:29: an item of \"names\" must be a string, not 2");
	fails("{\"presets\": \"cuda\"}", "f:1:13: \"presets\" (predefined sets of functions) must "
					 "be a list of preset names, not \"cuda\"");
	fails("{\"labels\": {\"a\": 1}}", "f:1:18: a label's value must be a string, not 1");
	fails("{\"libraries\": {\"cuda\": 1}}", "f:1:24: a library is a path or a glob such as "
						"\"libcudart.so*\", or a list of them, not 1");
}

/* Whether a value of this type can be right for a key. */
static bool may_be(const struct fsc_config_key *k, const char *value)
{
	static const char *const right[] = {
	    [FSC_CONFIG_BOOL] = "true",	 [FSC_CONFIG_UINT] = "7",     [FSC_CONFIG_NUMBER] = "7",
	    [FSC_CONFIG_TEXT] = "\"x\"", [FSC_CONFIG_PERCENT] = "7",  [FSC_CONFIG_TEXTS] = "[]",
	    [FSC_CONFIG_NOTE] = "\"x\"", [FSC_CONFIG_SECTION] = "{}", [FSC_CONFIG_WORDS] = "[]",
	};

	if (k->type == FSC_CONFIG_OTHER) /* their own tests */
		return strchr("\"[{", *value);
	return k->type < sizeof(right) / sizeof(right[0]) && right[k->type] &&
	       !strcmp(right[k->type], value);
}

/* No key takes a value of another type, whatever section it is in. */
static void every_key_has_its_type(void **state)
{
	static const char *const values[] = {"null", "true", "7", "7.5", "\"x\"", "[]", "{}"};
	struct {
		const struct fsc_config_key *keys;
		const char *before, *after;
	} tables[16] = {
	    {fsc_config_keys, "{", "}"},
	    {fsc_config_func_keys, "{\"custom_sym\": {\"a\": {\"symbol\": \"b\",", "}}}"}};
	static char heads[16][200];
	size_t n = 2;

	(void)state;
	for (const struct fsc_config_key *k = fsc_config_keys; k->name; k++)
		if (k->type == FSC_CONFIG_SECTION) {
			snprintf(heads[n], sizeof(heads[n]), "{\"%s\": {%s%s%s", k->name,
				 k->needs ? "\"" : "", k->needs ? k->needs : "",
				 !k->needs		       ? ""
				 : !strcmp(k->needs, "listen") ? "\": \":1\","
							       : "\": \"http://h:1\",");
			tables[n].keys = k->keys;
			tables[n].before = heads[n];
			tables[n++].after = "}}";
		}
	for (size_t t = 0; t < n; t++)
		for (const struct fsc_config_key *k = tables[t].keys; k->name; k++)
			for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
				struct fsc_snoop_config c;
				struct fsc_err err = {0};
				char text[400];
				int rc;

				if (may_be(k, values[i]) ||
				    (k->type == FSC_CONFIG_NUMBER && i == 3) ||
				    (k->type == FSC_CONFIG_PERCENT && i == 3) ||
				    strstr(tables[t].before, k->name))
					continue;
				snprintf(text, sizeof(text), "%s\"%s\": %s%s", tables[t].before,
					 k->name, values[i], tables[t].after);
				rc = fsc_snoop_config_parse(text, strlen(text), "f", &c, &err);
				fsc_snoop_config_release(&c);
				if (!rc)
					fail_msg("%s was read", text);
				if (!strstr(err.msg, k->name) && !strstr(err.msg, "librar"))
					fail_msg("%s: %s", text, err.msg);
			}
}

static void bad_units(void **state)
{
	(void)state;
	fails("{\"slow\": \"10\"}",
	      "f:1:10: \"slow\" (the duration from which a call is slow) must be a duration such "
	      "as \"10ms\" (ns, us, ms, s, m) or \"off\", not \"10\"");
	fails("{\"slow\": 10}",
	      "f:1:10: \"slow\" (the duration from which a call is slow) must be a duration such "
	      "as \"10ms\" (ns, us, ms, s, m) or \"off\", not 10");
	fails("{\"report\": {\"every\": \"10 sec\"}}",
	      "f:1:22: \"every\" (how often a report is written) must be a duration such as "
	      "\"10s\" (ns, us, ms, s, m), not \"10 sec\"");
	fails("{\"spool\": {\"memory\": \"16 apples\"}}",
	      "f:1:22: \"memory\" (memory for messages that a receiver has not accepted yet) must "
	      "be a size such as \"16MB\" (B, kB, MB, GB, TB, KiB, MiB, GiB), not \"16 apples\"");
	fails("{\"max_overhead\": \"2\"}",
	      "f:1:18: \"max_overhead\" (how much of the targets' time may be spent on watching "
	      "them) must be a percentage such as \"2%\", not \"2\"");
	fails("{\"report\": {\"format\": \"xml\"}}",
	      "f:1:23: \"format\" (how a report looks) must be "
	      "\"text\" or \"json\", not \"xml\"");
}

static void out_of_range(void **state)
{
	struct fsc_snoop_config c;

	(void)state;
	reads("{\"report\": {\"every\": \"0\"}}", &c);
	assert_true(c.report.every_s == 0);
	fsc_snoop_config_release(&c);
	fails("{\"report\": {\"every\": \"1ns\"}}",
	      "f:1:22: \"every\" (how often a report is written) must be 0 or from 0.1 to 86400 "
	      "seconds, not \"1ns\"");
	fails("{\"report\": {\"top\": -1}}",
	      "f:1:20: \"top\" (lines of each ranking, 0 for all) must be from 0 to 10000, not -1");
	fails("{\"keep\": {\"rows\": 0}}",
	      "f:1:19: \"rows\" (how many pairs of function and process "
	      "are kept) must be from 1 to 1000000, not 0");
	fails("{\"otlp\": {\"endpoint\": \"http://x\", \"timeout\": \"1ms\"}}",
	      "f:1:46: \"timeout\" (how long one attempt may take) must be from 0.1 to 600 "
	      "seconds, not \"1ms\"");
	fails("{\"spool\": {\"memory\": \"1kB\"}}",
	      "f:1:22: \"memory\" (memory for messages that a receiver has not accepted yet) must "
	      "be from 64000 to 16000000000 bytes, not \"1kB\"");
	fails("{\"max_overhead\": 101}",
	      "f:1:18: \"max_overhead\" (how much of the targets' time may be spent on watching "
	      "them) must be a percentage from 0 to 100, not 101");
	fails("{\"warnings\": -0.5}", "f:1:14: \"warnings\" (lines about slow calls a second) must "
				      "be from 0 to 1000000, not -0.5");
}

static void functions_refused(void **state)
{
	(void)state;
	fails(
	    "{\"cuda_func_sym\": {\"a\": \"\"}}",
	    "f:1:25: \"symbol\" (the function's name in the library, or a glob) must not be empty");
	fails("{\"cuda_func_sym\": {\n\"a\": {}}}", "f:2:6: this function has no \"symbol\"");
	fails("{\"cuda_func_sym\": {\"\": \"x\"}}", "f:1:20: a function needs a display name");
	fails("{\"cuda_func_sym\": {\"a\": \"x[\"}}", "f:1:25: \"x[\" has no ']' for its '['");
	fails("{\"_func_sym\": {}}", "f:1:2: \"_func_sym\" does not name a group: letters, digits "
				     "and _-+. before \"_func_sym\", 40 at most");
	fails("{\"custom_sym\": {\"a\": \"a\"}, \"custom_func_sym\": {\"a\": \"b\"}}",
	      "f:1:48: \"a\" is in group \"custom\" twice");
	fails("{\"cuda_func_sym\": {\"a\": \"a\",\n \"a\": \"b\"}}", "f:2:2: \"a\" is given twice");
	fails("{\"presets\": [\"cuda\", \"cuda\"]}", "f:1:22: the preset \"cuda\" is listed twice");
	fails("{\"targets\": {\"command\": []}}", "f:1:25: \"command\" names no program");
}

static void receivers_refused(void **state)
{
	(void)state;
	fails("{\"otlp\": {}}", "f:1:10: \"otlp\" (sending to an OpenTelemetry receiver) has no "
				"\"endpoint\"");
	fails("{\"otlp\": {\"endpoint\": \"localhost:4318\"}}",
	      "f:1:23: \"localhost:4318\" is not a URL such as \"http://localhost:4318\"");
	fails("{\"alertmanager\": {\"url\": \"http://u:p@x\"}}",
	      "f:1:26: a URL with a user name or password is not accepted here; send a header "
	      "instead");
	fails("{\"prometheus\": {\"listen\": \"x:99999\"}}",
	      "f:1:27: \"x:99999\" is not an address such as \"127.0.0.1:9464\", \"[::1]:9464\", "
	      "\":9464\" or \"unix:PATH\"");
	fails("{\"prometheus\": {\"listen\": \"unix:\"}}",
	      "f:1:27: a socket's path must be from 1 to 107 bytes long");
	fails("{\"prometheus\": {\"listen\": \":1\", \"socket_group\": \"a\"}}",
	      "f:1:33: \"socket_group\" is the group of a Unix socket; \"listen\" is none, as "
	      "\"unix:/run/funcscope/page.sock\" would be");
	fails("{\"prometheus\": {\"listen\": \":1\", \"cert_file\": \"a\"}}",
	      "f:1:33: \"cert_file\" of \"prometheus\" needs a \"key_file\" beside it");
	fails("{\"prometheus\": {\"listen\": \":1\", \"client_ca_file\": \"a\"}}",
	      "f:1:33: \"client_ca_file\" of \"prometheus\" needs a \"cert_file\" beside it");
	fails("{\"stream\": \"udp:1\"}",
	      "f:1:12: \"udp:1\" is neither \"unix:PATH\" nor \"tcp:HOST:PORT\"");
	fails("{\"stream\": \"unix:\"}",
	      "f:1:12: a socket's path must be from 1 to 107 bytes long");
	fails("{\"labels\": {\"1a\": \"\"}}",
	      "f:1:13: \"1a\" is not a label name: letters, digits and '_', no digit first");
	fails("{\"labels\": {\"pid\": \"\"}}",
	      "f:1:13: the label \"pid\" is reserved for funcscope");
	fails("{\"labels\": {\"__a\": \"\"}}",
	      "f:1:13: labels that begin with \"__\" belong to Prometheus");
	fails("{\"otlp\": {\"endpoint\": \"http://x\", \"headers\": {\"A b\": \"c\"}}}",
	      "f:1:47: \"A b\" is not a header name");
	fails("{\"otlp\": {\"endpoint\": \"http://x\", \"headers\": {\"A\": \"b\\nc\"}}}",
	      "f:1:52: a header's value must not contain control characters");
	fails("{\"otlp\": {\"endpoint\": \"http://x\", \"headers\": {\"A\": \"b\"}, "
	      "\"headers_file\": \"x\"}}",
	      "f:1:58: \"headers\" and \"headers_file\" cannot be combined");
	/* No message shows what may be a secret. */
	fails("{\"otlp\": {\"endpoint\": \"http://x\", \"headers\": {\"A\": 12345}}}",
	      "f:1:52: a header's value must be a string");
	fails("{\"otlp\": {\"endpoint\": \"http://x\", \"headers\": \"A: secret\"}}",
	      "f:1:46: \"headers\" (headers to send with every message) must be an object of names "
	      "and strings");
	fails("{\"spool\": {\"disk\": \"1GB\"}}",
	      "f:1:12: \"disk\" of \"spool\" needs a \"directory\" beside it");
}

/* ---- files of the tree ---- */

static char *slurp(const char *path, size_t *ret_n)
{
	struct fsc_err err = {0};
	char *text;

	if (fsc_jsonc_slurp(path, "it", &text, ret_n, &err))
		fail_msg("%s", err.msg);
	return text;
}

static void examples(void **state)
{
	glob_t g;

	(void)state;
	assert_int_equal(glob("examples/snoop/*.json", 0, NULL, &g), 0);
	assert_true(g.gl_pathc >= 4);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct fsc_snoop_config c;
		struct fsc_err err = {0};

		if (fsc_snoop_config_read(g.gl_pathv[i], &c, &err))
			fail_msg("%s", err.msg);
		assert_true(c.funcs.n > 0);
		fsc_snoop_config_release(&c);
	}
	globfree(&g);
}

/* What the schema refuses, too (tests/e2e/snoop_config.bats has that half). */
static void broken_files(void **state)
{
	size_t n, i;
	char *text = slurp("tests/fixtures/snoop-broken.json", &n);
	json_t *all = json_loadb(text, n, 0, NULL), *one;

	(void)state;
	assert_true(json_array_size(all) > 40);
	json_array_foreach(all, i, one)
	{
		char *config = json_dumps(one, 0);
		struct fsc_snoop_config c;
		struct fsc_err err = {0};

		if (fsc_snoop_config_parse(config, strlen(config), "f", &c, &err) != -EINVAL)
			fail_msg("%s: was read, '%s'", config, err.msg);
		fsc_snoop_config_release(&c);
		free(config);
	}
	json_decref(all);
	free(text);
}

static void in_schema(const struct fsc_config_key *keys, const json_t *object)
{
	const json_t *properties = json_object_get(object, "properties");
	size_t n = 0;

	for (; keys->name; keys++, n++) {
		const json_t *p = json_object_get(properties, keys->name);

		if (!p)
			fail_msg("\"%s\" is not in the schema", keys->name);
		if (keys->type == FSC_CONFIG_SECTION)
			in_schema(keys->keys, p);
		if (keys->type == FSC_CONFIG_UINT || keys->type == FSC_CONFIG_NUMBER) {
			assert_true(json_number_value(json_object_get(p, "minimum")) == keys->min);
			assert_true(json_number_value(json_object_get(p, "maximum")) == keys->max);
		}
		if (keys->type == FSC_CONFIG_WORDS)
			p = json_object_get(p, "items");
		for (size_t i = 0; keys->choices && keys->choices[i]; i++)
			assert_string_equal(
			    json_string_value(json_array_get(json_object_get(p, "enum"), i)),
			    keys->choices[i]);
		if (keys->needs)
			assert_string_equal(
			    json_string_value(json_array_get(json_object_get(p, "required"), 0)),
			    keys->needs);
	}
	assert_true(json_is_false(json_object_get(object, "additionalProperties")));
	n += json_object_get(properties, "custom_sym") != NULL;
	assert_int_equal(json_object_size(properties), n);
}

static void schema_has_the_keys(void **state)
{
	size_t n, i = 0;
	char *text = slurp("deploy/snoop.schema.json", &n);
	json_t *schema = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL), *defs, *rules;

	(void)state;
	assert_non_null(schema);
	in_schema(fsc_config_keys, schema);
	defs = json_object_get(schema, "$defs");
	in_schema(fsc_config_func_keys,
		  json_array_get(json_object_get(json_object_get(defs, "function"), "oneOf"), 1));
	rules = json_object_get(json_object_get(defs, "errors"), "enum");
	for (; fsc_error_rules[i]; i++)
		assert_string_equal(json_string_value(json_array_get(rules, i)),
				    fsc_error_rules[i]);
	assert_int_equal(json_array_size(rules), i);
	rules = json_object_get(json_object_get(defs, "preset"), "enum");
	for (i = 0; fsc_presets[i].name; i++)
		assert_string_equal(json_string_value(json_array_get(rules, i)),
				    fsc_presets[i].name);
	assert_int_equal(json_array_size(rules), i);
	json_decref(schema);
	free(text);
}

static void on_page(const struct fsc_config_key *keys, const char *page)
{
	char quoted[80];

	for (; keys->name; keys++) {
		snprintf(quoted, sizeof(quoted), "`%s`", keys->name);
		if (!strstr(page, quoted))
			fail_msg("%s is not in docs/snoop-config.md", quoted);
		if (keys->keys)
			on_page(keys->keys, page);
	}
}

static void page_has_the_keys(void **state)
{
	size_t n;
	char *page = slurp("docs/snoop-config.md", &n);

	(void)state;
	on_page(fsc_config_keys, page);
	on_page(fsc_config_func_keys, page);
	free(page);
}

/* ---- tables ---- */

static void error_names(void **state)
{
	(void)state;
	for (int rule = 0; rule < FSC_ERRORS_MAX; rule++) {
		int64_t code, before = -1;
		const char *name;
		size_t i;

		for (i = 0; (name = fsc_errors_row((enum fsc_error_rule)rule, i, &code)); i++) {
			assert_true(code > before);
			assert_ptr_equal(fsc_error_name((enum fsc_error_rule)rule, code), name);
			before = code;
		}
		assert_true((i > 0) == (rule >= FSC_ERRORS_CUDA));
	}
	assert_string_equal(fsc_error_name(FSC_ERRORS_CUDA, 100), "cudaErrorNoDevice");
	assert_string_equal(fsc_error_name(FSC_ERRORS_CU, 2), "CUDA_ERROR_OUT_OF_MEMORY");
	assert_string_equal(fsc_error_name(FSC_ERRORS_CUBLAS, 15), "CUBLAS_STATUS_NOT_SUPPORTED");
	assert_string_equal(fsc_error_name(FSC_ERRORS_CUDNN, 5003),
			    "CUDNN_STATUS_EXECUTION_FAILED_CUDART");
	assert_string_equal(fsc_error_name(FSC_ERRORS_NCCL, 5), "ncclInvalidUsage");
	assert_null(fsc_error_name(FSC_ERRORS_CUDA, 10));
	assert_null(fsc_error_name(FSC_ERRORS_CUDA, -1));
	assert_null(fsc_error_name(FSC_ERRORS_NEGATIVE, 1));
	assert_null(fsc_error_name(FSC_ERRORS_NCCL, INT64_MAX));
}

static void error_rules(void **state)
{
	static const struct {
		const char *group, *symbol;
		enum fsc_error_rule rule;
	} rows[] = {
	    {"cuda", "cudaMalloc", FSC_ERRORS_CUDA},
	    {"cuda", "cudaGetErrorString", FSC_ERRORS_NONE},
	    {"cuda", "cudaPeekAtLastError", FSC_ERRORS_CUDA},
	    {"cuda", "__cudaLaunchKernel_ptsz", FSC_ERRORS_CUDA},
	    {"cuda", "__cudaRegisterFatBinary", FSC_ERRORS_NONE},
	    {"cuda", "cuLaunchKernel", FSC_ERRORS_CU},
	    {"cuda", "cuda*", FSC_ERRORS_CUDA},
	    {"cuda", "cu*", FSC_ERRORS_NONE},
	    {"gpu", "cublasSgemm_v2", FSC_ERRORS_CUBLAS},
	    {"cublas", "cublasSgemm", FSC_ERRORS_NONE},
	    {"cublas", "cublasIsamax", FSC_ERRORS_NONE},
	    {"cublas", "cublasInit", FSC_ERRORS_CUBLAS},
	    {"cublas", "cublasSgeam", FSC_ERRORS_CUBLAS},
	    {"cublas", "cublasHgemm", FSC_ERRORS_CUBLAS},
	    {"cublas", "cublasSgemmBatched", FSC_ERRORS_CUBLAS},
	    {"cublas", "cublasLtMatmul", FSC_ERRORS_CUBLAS},
	    {"cublas", "cublasLtGetVersion", FSC_ERRORS_NONE},
	    {"cudnn", "cudnnGetVersion", FSC_ERRORS_NONE},
	    {"cudnn", "cudnnCreate", FSC_ERRORS_CUDNN},
	    {"nccl", "pncclSend", FSC_ERRORS_NCCL},
	    {"nccl", "pncclGetLastError", FSC_ERRORS_NONE},
	    {"custom", "cudaThing", FSC_ERRORS_NONE},
	    {"zlib", "custom", FSC_ERRORS_NONE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (fsc_error_rule_of(rows[i].group, rows[i].symbol) != rows[i].rule)
			fail_msg("%s", rows[i].symbol);
}

static void libraries(void **state)
{
	(void)state;
	assert_null(fsc_group_libraries("custom"));
	assert_string_equal(fsc_group_libraries("cuda")[1], "libcuda.so*");
	assert_null(fsc_group_libraries("cuda")[2]);
	assert_null(fsc_group_libraries("cudnn")[1]);
	assert_string_equal(fsc_group_libraries("libtorch")[5], "libtorch_python.so*");
	assert_null(fsc_group_libraries("libtorch")[6]);
	assert_string_equal(fsc_group_libraries("zmq")[0], "libzmq.so*");
	assert_string_equal(fsc_group_libraries("libfoo")[0], "libfoo.so*");
	assert_null(fsc_group_libraries("libfoo")[1]);
}

/* ---- hostile input ---- */

static uint32_t seed = 1;

static uint32_t any(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

/* Some bytes become others, a piece is copied over another, the end is cut off. */
static size_t mutate(char *text, size_t n)
{
	static const char signs[] = "{}[]\",:./*\\\n 0-9eE.tfn\0\xff\xc3\x01";
	const uint32_t changes = 1 + any(4);

	for (uint32_t i = 0; i < changes && n > 20; i++) {
		const size_t at = any((uint32_t)n), from = any((uint32_t)n), len = any(16);

		switch (any(4)) {
		case 0:
			text[at] = signs[any(sizeof(signs))];
			break;
		case 1:
			text[at] = (char)any(256);
			break;
		case 2:
			memmove(text + at, text + from,
				len < n - (at > from ? at : from) ? len : 0);
			break;
		default:
			n -= any(8) ? 0 : any(20);
		}
	}
	return n;
}

static void mutations(void **state)
{
	static const char *const files[] = {"examples/snoop/everything.json",
					    "tests/fixtures/snoop-seed.json",
					    "examples/snoop/training.json"};
	unsigned refused = 0;

	(void)state;
	fsc_log_set_level(FSC_LOG_ERROR);
	for (unsigned round = 0; round < 6000; round++) {
		struct fsc_snoop_config c;
		struct fsc_err err = {0};
		size_t n;
		char *text = slurp(files[round % 3], &n);

		n = mutate(text, n);
		if (fsc_snoop_config_parse(text, n, "f", &c, &err)) {
			refused++;
			assert_true(err.code == EINVAL && strlen(err.msg) > 10);
			assert_false(strncmp(err.msg, "f:", 2));
		}
		fsc_snoop_config_release(&c);
		free(text);
	}
	fsc_log_set_level(FSC_LOG_NOTE);
	assert_true(refused > 1000);
}

/* Thirty thousand functions are read in no time, and no name is too long to be refused. */
static void large(void **state)
{
	char *text = malloc(FSC_JSONC_LONGEST + 1);
	struct fsc_snoop_config c;
	struct fsc_err err = {0};
	size_t n = (size_t)sprintf(text, "{\"a_func_sym\": {");

	(void)state;
	for (int i = 0; n < FSC_JSONC_LONGEST - 100; i++)
		n += (size_t)sprintf(text + n, "\"f%d\": \"function_%d\",\n", i, i);
	n += (size_t)sprintf(text + n, "}}");
	assert_int_equal(fsc_snoop_config_parse(text, n, "f", &c, &err), 0);
	assert_true(c.funcs.n > 30000);
	fsc_snoop_config_release(&c);
	memset(text, ' ', FSC_JSONC_LONGEST); /* dots and nothing else, all in one line */
	text[0] = '{';
	for (n = 4; n < FSC_JSONC_LONGEST - 4; n += 4)
		memset(text + n, '.', 3);
	text[n] = '}';
	fsc_log_set_level(FSC_LOG_ERROR);
	assert_int_equal(fsc_snoop_config_parse(text, n + 1, "f", &c, &err), 0);
	fsc_log_set_level(FSC_LOG_NOTE);
	fsc_snoop_config_release(&c);
	n = (size_t)sprintf(text, "{\"");
	memset(text + n, 'k', 500000);
	snprintf(text + n + 500000, 10, "\": 1}");
	assert_int_equal(fsc_snoop_config_parse(text, strlen(text), "f", &c, &err), -EINVAL);
	assert_false(strncmp(err.msg, "f:1:2: unknown key \"kkk", 22));
	fsc_snoop_config_release(&c);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(defaults),
	    cmocka_unit_test(everything),
	    cmocka_unit_test(printed_sample),
	    cmocka_unit_test(presets),
	    cmocka_unit_test(added_later),
	    cmocka_unit_test(streams),
	    cmocka_unit_test(headers_file),
	    cmocka_unit_test(unknown_words),
	    cmocka_unit_test(wrong_types),
	    cmocka_unit_test(every_key_has_its_type),
	    cmocka_unit_test(bad_units),
	    cmocka_unit_test(out_of_range),
	    cmocka_unit_test(functions_refused),
	    cmocka_unit_test(receivers_refused),
	    cmocka_unit_test(examples),
	    cmocka_unit_test(broken_files),
	    cmocka_unit_test(schema_has_the_keys),
	    cmocka_unit_test(page_has_the_keys),
	    cmocka_unit_test(error_names),
	    cmocka_unit_test(error_rules),
	    cmocka_unit_test(libraries),
	    cmocka_unit_test(mutations),
	    cmocka_unit_test(large),
	};

	return cmocka_run_group_tests_name("snoop_config", tests, NULL, NULL);
}
