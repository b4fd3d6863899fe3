/* Reads JSON lines into blocks. Each line is parsed on its own, so that memory is bounded by the
 * longest line allowed and not by the file; rows are validated only here. */
#include "source/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

enum { LONGEST = 1 << 20 }; /* bytes of a line: ten times the largest histogram */

/* Above any possible duration (584 years) and number of calls. */
#define MOST_NS	   1.9e19
#define MOST_CALLS 1000000000000000

struct reader {
	const char *path;
	FILE *in;
	char *line; /* LONGEST bytes */
	size_t n;   /* bytes of the line, without its end */
	bool ended; /* by a newline */
	size_t number;
	bool summary; /* seen: nothing may follow */
	struct fsc_recording *to;
};

static int bad_row(const struct reader *r, struct fsc_err *err, const char *what, const char *key)
{
	return fsc_err_set(err, EINVAL, "%s:%zu: not a row of a recording: \"%s\" %s", r->path,
			   r->number, key, what);
}

/* ---- a row ---- */

static int get_text(const struct reader *r, const json_t *row, const char *key, const char **ret,
		    struct fsc_err *err)
{
	*ret = json_string_value(json_object_get(row, key));
	return *ret ? 0 : bad_row(r, err, "is missing or not a string", key);
}

/* NAN where it could not be told. */
static int get_ns(const struct reader *r, const json_t *row, const char *key, double *ret,
		  struct fsc_err *err)
{
	const json_t *v = json_object_get(row, key);

	*ret = json_is_null(v) ? NAN : json_number_value(v);
	if (json_is_null(v))
		return 0;
	if (!json_is_number(v) || !(*ret >= 0 && *ret <= MOST_NS))
		return bad_row(r, err, "is missing or not a duration", key);
	return 0;
}

/* Optional; 0 where it is missing. */
static int get_time(const struct reader *r, const json_t *row, uint64_t *ret, struct fsc_err *err)
{
	const json_t *v = json_object_get(row, "time_ns");

	*ret = (uint64_t)json_integer_value(v);
	if (v && (!json_is_integer(v) || json_integer_value(v) < 0))
		return bad_row(r, err, "is not a point in time", "time_ns");
	return 0;
}

static int get_calls(const struct reader *r, const json_t *v, const char *key, json_int_t *ret,
		     struct fsc_err *err)
{
	*ret = json_integer_value(v);
	if (!json_is_integer(v) || *ret < 0 || *ret > MOST_CALLS)
		return bad_row(r, err, "is missing or not a number of calls", key);
	return 0;
}

static int get_bins(const struct reader *r, const json_t *row, struct fsc_block *b,
		    struct fsc_err *err)
{
	const json_t *list = json_object_get(row, "buckets"), *item;
	double before = -1;
	size_t i;

	if (!json_is_array(list))
		return bad_row(r, err, "is missing or not a list", "buckets");
	json_array_foreach(list, i, item)
	{
		double low = json_number_value(json_array_get(item, 0));
		double high = json_number_value(json_array_get(item, 1));
		json_int_t n;

		if (json_array_size(item) != 3 || !json_is_number(json_array_get(item, 0)) ||
		    !json_is_number(json_array_get(item, 1)) || !(low >= 0) || !(high > low) ||
		    !(high <= MOST_NS) || low <= before)
			return bad_row(r, err,
				       "holds something other than [LOW,HIGH,CALLS] in order",
				       "buckets");
		if (get_calls(r, json_array_get(item, 2), "buckets", &n, err))
			return -EINVAL;
		before = low;
		if (n && !fsc_block_bin(b, low, high, (uint64_t)n))
			return fsc_err_nomem(err);
	}
	return 0;
}

/* What was too short to be told, according to the buckets. */
static void fill_untold(struct fsc_block *b)
{
	const struct fsc_bin *bins = b->bins.data;
	double total = 0;

	for (size_t i = 0; i < b->bins.n; i++)
		total += (double)bins[i].n * (bins[i].low + bins[i].high) / 2;
	if (isnan(b->total_ns))
		b->total_ns = total;
	if (isnan(b->min_ns))
		b->min_ns = b->bins.n ? bins[0].low : 0;
	if (isnan(b->max_ns))
		b->max_ns = b->bins.n ? bins[b->bins.n - 1].high : 0;
}

static int get_block(const struct reader *r, const json_t *row, struct fsc_block *b,
		     struct fsc_err *err)
{
	json_int_t count;
	int rc = get_calls(r, json_object_get(row, "count"), "count", &count, err);

	if (!rc)
		rc = get_ns(r, row, "total_ns", &b->total_ns, err);
	if (!rc)
		rc = get_ns(r, row, "min_ns", &b->min_ns, err);
	if (!rc)
		rc = get_ns(r, row, "max_ns", &b->max_ns, err);
	if (!rc)
		rc = get_time(r, row, &b->time_ns, err);
	if (!rc)
		rc = get_bins(r, row, b, err);
	if (!rc)
		fill_untold(b);
	if (!rc && b->min_ns > b->max_ns)
		rc = bad_row(r, err, "is above max_ns", "min_ns");
	b->count = (double)count;
	return rc;
}

static int add_row(struct reader *r, const json_t *row, struct fsc_err *err)
{
	const char *kind, *binary, *function;
	struct fsc_block b = FSC_BLOCK_INIT;
	struct fsc_recorded *f;
	int rc = get_text(r, row, "kind", &kind, err);

	if (!rc)
		rc = get_text(r, row, "binary", &binary, err);
	if (!rc)
		rc = get_text(r, row, "function", &function, err);
	if (!rc)
		rc = get_block(r, row, &b, err);
	if (rc || b.count <= 0) {
		fsc_block_release(&b);
		return rc;
	}
	f = fsc_recording_function(r->to, kind, binary, function);
	if (!f) {
		fsc_block_release(&b);
		return fsc_err_nomem(err);
	}
	f->at_floor |= json_is_true(json_object_get(row, "at_floor"));
	return fsc_recorded_append(f, &b, err);
}

/* ---- lines ---- */

static void json_freep(json_t **j)
{
	json_decref(*j);
}

static int take_line(struct reader *r, struct fsc_err *err)
{
	json_error_t why;
	FSC_AUTO(json_freep)
	json_t *row = json_loadb(r->line, r->n, JSON_REJECT_DUPLICATES, &why);
	const char *type = json_string_value(json_object_get(row, "type"));

	if (!row && json_error_code(&why) == json_error_out_of_memory)
		return fsc_err_nomem(err);
	if (!row) {
		fsc_err_set(err, EINVAL, "%s:%zu: not JSON: %.200s", r->path, r->number, why.text);
		return fsc_err_hint(err, "a recording is what funcscope time -f json -i 1 -o FILE "
					 "writes");
	}
	if (!type)
		return bad_row(r, err, "is missing or not a string", "type");
	if (r->summary)
		return fsc_err_set(err, EINVAL,
				   "%s:%zu: continues after its summary; a file is one recording",
				   r->path, r->number);
	r->summary = !strcmp(type, "summary");
	return strcmp(type, "latency") ? 0 : add_row(r, row, err);
}

/* The next line; 0 at the end of the file, negative on failure. */
static int next_line(struct reader *r, struct fsc_err *err)
{
	int c = 0;

	r->n = 0;
	r->number++;
	while ((c = getc_unlocked(r->in)) != EOF && c != '\n') {
		if (r->n == LONGEST)
			return fsc_err_set(err, EINVAL,
					   "%s:%zu: a line of more than %d bytes: not a recording",
					   r->path, r->number, LONGEST);
		r->line[r->n++] = (char)c;
	}
	r->ended = c == '\n';
	if (ferror(r->in))
		return fsc_err_sys(err, errno, "cannot read '%s'", r->path);
	return r->ended || r->n;
}

static bool is_blank(const struct reader *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (!strchr(" \t\r", r->line[i]) || !r->line[i])
			return false;
	return true;
}

static int take_lines(struct reader *r, bool *ret_cut, struct fsc_err *err)
{
	int rc;

	while ((rc = next_line(r, err)) > 0) {
		if (is_blank(r))
			continue;
		rc = take_line(r, err);
		/* Half a line at the end of the file: the writer was interrupted. */
		if (rc == -EINVAL && !r->ended && r->to->functions.n) {
			*ret_cut = true;
			rc = 0;
		}
		if (rc < 0)
			return rc;
	}
	*ret_cut |= !r->summary;
	if (rc || r->to->functions.n)
		return rc;
	fsc_err_set(err, EINVAL, "'%s' holds no durations", r->path);
	return fsc_err_hint(err, "record with funcscope time -f json -i 1 -o FILE");
}

static int open_file(const char *path, FILE **ret, struct fsc_err *err)
{
	/* Nonblocking: a FIFO may never have a writer. */
	FSC_AUTO(fsc_closep)
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return fsc_err_sys(err, errno, "cannot open the recording '%s'", path);
	if (!S_ISREG(st.st_mode))
		return fsc_err_set(err, EINVAL, "'%s' is not a file, so it is not a recording",
				   path);
	*ret = fdopen(fd, "r");
	if (!*ret)
		return fsc_err_nomem(err);
	fsc_take_fd(&fd);
	return 0;
}

int fsc_recording_read(const char *path, struct fsc_recording *ret, bool *ret_cut,
		       struct fsc_err *err)
{
	FSC_AUTO(fsc_fclosep) FILE *in = NULL;
	FSC_AUTO(fsc_freep) char *line = malloc(LONGEST);
	struct reader r = {.path = path, .line = line, .to = ret};
	int rc;

	*ret = (struct fsc_recording)FSC_RECORDING_INIT;
	*ret_cut = false;
	if (!line)
		return fsc_err_nomem(err);
	rc = open_file(path, &in, err);
	r.in = in;
	if (!rc)
		rc = take_lines(&r, ret_cut, err);
	if (rc)
		fsc_recording_release(ret);
	return rc;
}
