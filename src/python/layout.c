/* The layouts of Python's structures. 3.10 to 3.12 never changed theirs after the first release and
 * are the same on x86-64 and arm64. Since 3.13 Python carries a table for debuggers at the start of
 * _PyRuntime (_Py_DebugOffsets); what is known here is where in that table things stand. */
#include <errno.h>
#include <string.h>

#include "python/python_priv.h"

#define COOKIE "xdebugpy"

/* Text, bytes: common to the versions with fixed layouts, but for the text of 3.12. */
#define OBJECTS_OLD                                                                                \
	.bytes_size = 16, .bytes_data = 32, .text_length = 16, .text_state = 32, .text_ascii = 48, \
	.text_compact = 72

static const struct fsc_python_layout fixed[] = {
    {
	.walk = {.minor = 10,
		 .runtime_interpreters = 32,
		 .interpreter_next = 0,
		 .interpreter_threads = 8,
		 .thread_next = 8,
		 .thread_id = 176,
		 .thread_frame = 24,
		 .cframe_frame = FSC_PYTHON_NONE,
		 .frame_previous = 24,
		 .frame_code = 32,
		 .frame_instr = 96,
		 .frame_instr_size = 4,
		 .frame_owner = FSC_PYTHON_NONE},
	.objects = {OBJECTS_OLD, .code_name = 112, .code_file = 104, .code_lines = 120,
		    .code_first_line = 40},
	.thread_interpreter = 16,
    },
    {
	.walk = {.minor = 11,
		 .runtime_interpreters = 40,
		 .interpreter_next = 0,
		 .interpreter_threads = 16,
		 .thread_next = 8,
		 .thread_id = 160,
		 .pthread_tid = FSC_PYTHON_NONE,
		 .thread_frame = 56,
		 .cframe_frame = 8,
		 .frame_previous = 48,
		 .frame_code = 32,
		 .frame_instr = 56,
		 .frame_instr_size = 8,
		 .frame_owner = 69},
	.objects = {OBJECTS_OLD, .code_name = 128, .code_file = 112, .code_lines = 136,
		    .code_first_line = 72, .code_instrs = 184},
	.thread_interpreter = 16,
    },
    {
	.walk = {.minor = 12,
		 .runtime_interpreters = 40,
		 .interpreter_next = 0,
		 .interpreter_threads = 72,
		 .thread_next = 8,
		 .thread_id = 144,
		 .pthread_tid = FSC_PYTHON_NONE,
		 .thread_frame = 56,
		 .cframe_frame = 0,
		 .frame_previous = 8,
		 .frame_code = 0,
		 .frame_instr = 56,
		 .frame_instr_size = 8,
		 .frame_owner = 70},
	.objects = {.bytes_size = 16,
		    .bytes_data = 32,
		    .text_length = 16,
		    .text_state = 32,
		    .text_ascii = 40,
		    .text_compact = 56,
		    .code_name = 128,
		    .code_file = 112,
		    .code_lines = 136,
		    .code_first_line = 68,
		    .code_instrs = 192},
	.thread_interpreter = 16,
    },
};

/* Words of _Py_DebugOffsets. All versions begin with the cookie, their own number and whether
 * Python was built without its lock. */
enum { WORD_COOKIE, WORD_VERSION, WORD_FREE_THREADED, WORDS_MAX = 96 };

struct words {
	unsigned minor;
	/* Words where a part of the table begins; within it they have one order. */
	uint8_t interpreter, thread, frame, code, bytes, text;
};

static const struct words words[] = {
    {13, .interpreter = 6, .thread = 19, .frame = 28, .code = 34, .bytes = 64, .text = 67},
    {14, .interpreter = 6, .thread = 22, .frame = 31, .code = 39, .bytes = 74, .text = 77},
};

static void from_words(const struct words *w, const uint64_t *table, struct fsc_python_layout *ret)
{
	const uint64_t *interpreter = table + w->interpreter, *thread = table + w->thread;
	const uint64_t *frame = table + w->frame, *code = table + w->code;
	const uint64_t *bytes = table + w->bytes, *text = table + w->text;

	*ret = (struct fsc_python_layout){
	    .walk = {.minor = w->minor,
		     .runtime_interpreters = (uint32_t)table[5],
		     .interpreter_next = (uint32_t)interpreter[2],
		     .interpreter_threads = (uint32_t)interpreter[3],
		     .thread_next = (uint32_t)thread[2],
		     .thread_id = (uint32_t)thread[6],
		     .pthread_tid = FSC_PYTHON_NONE,
		     .thread_frame = (uint32_t)thread[4],
		     .cframe_frame = FSC_PYTHON_NONE,
		     .frame_previous = (uint32_t)frame[1],
		     .frame_code = (uint32_t)frame[2],
		     .frame_instr = (uint32_t)frame[3],
		     .frame_instr_size = 8,
		     .frame_owner = (uint32_t)frame[5]},
	    .objects = {.code_file = (uint32_t)code[1],
			.code_name = (uint32_t)code[3],
			.code_lines = (uint32_t)code[4],
			.code_first_line = (uint32_t)code[5],
			.code_instrs = (uint32_t)code[9],
			.bytes_size = (uint32_t)bytes[1],
			.bytes_data = (uint32_t)bytes[2],
			.text_state = (uint32_t)text[1],
			.text_length = (uint32_t)text[2],
			.text_ascii = (uint32_t)text[3],
			/* after two more words: the UTF-8 form and its length */
			.text_compact = (uint32_t)text[3] + 16},
	    .thread_interpreter = (uint32_t)thread[3],
	};
}

/* Parts start with the size of their structure; the offsets used must be below it. */
static bool is_plausible(const struct words *w, const uint64_t *table)
{
	static const uint8_t thread[] = {2, 3, 4, 6}, frame[] = {1, 2, 3, 5},
			     code[] = {1, 3, 4, 5, 9};
	bool good = table[5] < table[3] && table[w->interpreter + 2] < table[w->interpreter] &&
		    table[w->interpreter + 3] < table[w->interpreter];

	for (size_t i = 0; i < sizeof(thread); i++)
		good &= table[w->thread + thread[i]] < table[w->thread];
	for (size_t i = 0; i < sizeof(frame); i++)
		good &= table[w->frame + frame[i]] < table[w->frame];
	for (size_t i = 0; i < sizeof(code); i++)
		good &= table[w->code + code[i]] < table[w->code];
	for (size_t i = 1; i < 3; i++)
		good &=
		    table[w->bytes + i] < table[w->bytes] && table[w->text + i] < table[w->text];
	return good;
}

/* Why the table at the start of _PyRuntime cannot be used, NULL if it can. */
static const char *refusal(pid_t pid, const struct words *w, uint64_t runtime, uint64_t *table)
{
	if (!fsc_python_read(pid, runtime, table, WORDS_MAX * sizeof(*table)))
		return "cannot be read";
	if (memcmp(&table[WORD_COOKIE], COOKIE, sizeof(*table)) ||
	    table[WORD_VERSION] >> 16 != (3u << 8 | w->minor) || !is_plausible(w, table))
		return "has no known table of offsets";
	/* Its objects and bytecode are laid out differently. */
	return table[WORD_FREE_THREADED] ? "is free-threaded, which is not supported" : NULL;
}

static int carried_layout(pid_t pid, const struct words *w, uint64_t runtime,
			  struct fsc_python_layout *ret, struct fsc_err *err)
{
	uint64_t table[WORDS_MAX];
	const char *why = refusal(pid, w, runtime, table);

	if (why) {
		fsc_err_set(err, ENOTSUP, "the Python 3.%u of process %d %s", w->minor, (int)pid,
			    why);
		return 0;
	}
	from_words(w, table, ret);
	return 1;
}

int fsc_python_layout(pid_t pid, unsigned minor, uint64_t runtime, struct fsc_python_layout *ret,
		      struct fsc_err *err)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (words[i].minor == minor)
			return carried_layout(pid, &words[i], runtime, ret, err);
	}
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		if (fixed[i].walk.minor != minor)
			continue;
		*ret = fixed[i];
		return 1;
	}
	fsc_err_set(err, ENOTSUP, "process %d runs Python 3.%u; supported are 3.10 to 3.14",
		    (int)pid, minor);
	return 0;
}
