/* Executes every encoding of a library made by encodings.c, each in two states of the processor,
 * and writes what each left behind.
 *
 * usage: harm-runner LIBRARY OUT [raw LIST]
 *
 * The state is complete: general registers, flags, x87, vector and mask registers, the memory that
 * operands point into and the stack, all at fixed addresses. Signals are caught, and are part of
 * the result. Each chunk of encodings runs in a process of its own, so that one that kills it costs
 * one result.
 *
 * With "raw LIST" it first puts a uprobe on every encoding that the kernel takes, whatever
 * funcscope thinks of it. Nothing but this process and its children maps the library. */
#include <asm/prctl.h>
#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/ucontext.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harm/layout.h"
#include "harm/record.h"
#include "harm/state.h"

#define SAVED ((volatile struct harm_saved *)HARM_SAVED)

enum { CHUNK = 4096 };

static struct harm_record *records; /* shared with the children: slot * HARM_STATES + state */
static volatile size_t *progress;   /* the one at work */
static size_t n_slots;
static uint64_t first_offset; /* of slot 0, in the file */
static unsigned char *code;   /* the slots as they are in the file, without breakpoints */
static volatile int32_t caught_signal, caught_code;
static volatile uint64_t caught_at;

static void die(const char *what)
{
	fprintf(stderr, "harm-runner: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- memory ---- */

static void *map_fixed(uint64_t at, size_t size, int prot, int flags, int fd, off_t offset)
{
	void *p = mmap((void *)at, size, prot, flags | MAP_FIXED_NOREPLACE, fd, offset);

	if (p == MAP_FAILED)
		die("cannot map");
	return p;
}

/* The slots, from the segment of the file that is code: behind the page with the magic. */
static void map_library(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *all;

	if (fd < 0 || fstat(fd, &st))
		die(path);
	all = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (all == MAP_FAILED)
		die(path);
	for (int i = 0; i < ((Elf64_Ehdr *)all)->e_phnum; i++) {
		const Elf64_Phdr *p = (Elf64_Phdr *)(all + ((Elf64_Ehdr *)all)->e_phoff) + i;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) ||
		    memcmp(all + p->p_offset, HARM_MAGIC, 16))
			continue;
		first_offset = p->p_offset + 4096;
		n_slots = (p->p_filesz - 4096) / HARM_SLOT_SIZE;
	}
	munmap(all, (size_t)st.st_size);
	if (!n_slots) {
		fprintf(stderr, "harm-runner: %s holds no encodings\n", path);
		exit(1);
	}
	map_fixed(HARM_SLOTS, n_slots * HARM_SLOT_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
		  (off_t)first_offset);
	code = malloc(n_slots * HARM_SLOT_SIZE);
	if (!code || pread(fd, code, n_slots * HARM_SLOT_SIZE, (off_t)first_offset) !=
			 (ssize_t)(n_slots * HARM_SLOT_SIZE))
		die(path);
	close(fd);
}

/* ---- the state an encoding finds ---- */

/* x87, SSE, AVX, masks, both parts of AVX-512: those there are. */
static uint64_t components(void)
{
	uint32_t eax, edx;

	__asm__ volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
	return eax & 0xe7;
}

/* Lane number `lane` of 8 bytes of a vector register. First state: doubles near their number;
 * second: small integers, which also are offsets for gathers. */
static uint64_t lane_value(int state, unsigned reg, unsigned lane)
{
	double d = 1.5 + reg + lane / 8.0;
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	return state ? (reg * 8 + lane) * 0x0000000200000001ull % 0x10000000000ull : bits;
}

static void put_lanes(unsigned char *at, int state, unsigned reg, unsigned lane, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t v = lane_value(state, reg, lane + i);

		memcpy(at + 8 * i, &v, sizeof(v));
	}
}

static uint32_t component_offset(unsigned i)
{
	uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;

	__cpuid_count(0xd, i, eax, ebx, ecx, edx);
	return ebx;
}

static void fill_vectors(int state)
{
	unsigned char *x = (unsigned char *)SAVED_XIN;
	uint64_t mask = SAVED->mask;

	memset(x, 0, SAVED_XSIZE);
	x[0] = 0x7f; /* x87: all exceptions masked, all registers in use */
	x[1] = 0x03;
	x[4] = 0xff;
	x[24] = 0x80; /* mxcsr */
	x[25] = 0x1f;
	memcpy(x + 512, &mask, sizeof(mask));
	for (unsigned i = 0; i < 8; i++) {
		put_lanes(x + 32 + 16 * i, 0, i, 0, 1);
		x[32 + 16 * i + 7] |= 0x80; /* the integer bit */
		x[32 + 16 * i + 8] = 0xff;
		x[32 + 16 * i + 9] = 0x3f;
	}
	for (unsigned i = 0; i < 16; i++)
		put_lanes(x + 160 + 16 * i, state, i, 0, 2);
	for (unsigned i = 0; mask & 4 && i < 16; i++)
		put_lanes(x + component_offset(2) + 16 * i, state, i, 2, 2);
	for (unsigned i = 0; mask & 0x20 && i < 8; i++)
		put_lanes(x + component_offset(5) + 8 * i, 1, i + 3, i, 1);
	for (unsigned i = 0; mask & 0x40 && i < 16; i++)
		put_lanes(x + component_offset(6) + 32 * i, state, i, 4, 4);
	for (unsigned i = 0; mask & 0x80 && i < 16; i++)
		put_lanes(x + component_offset(7) + 64 * i, state, i + 16, 0, 8);
}

static void fill_registers(int state)
{
	uint64_t *regs = (uint64_t *)SAVED_IN;

	for (unsigned i = 0; i < 16; i++)
		regs[i] = HARM_DATA + HARM_OPERAND + 256 * i;
	regs[4] = HARM_STACK_TOP;
	if (state)
		regs[1] = 5;	      /* a count for what repeats */
	regs[16] = state ? 0x8d7 : 2; /* all arithmetic flags, none */
}

/* The memory: a pattern, and where registers point, and 16 behind, the address of the slot's second
 * stub, for calls, jumps and returns. */
static void fill_memory(uint64_t slot)
{
	static uint64_t data[HARM_DATA_SIZE / 8], stack[HARM_STACK_SIZE / 8];
	static bool made;

	for (size_t i = 0; !made && i < HARM_DATA_SIZE / 8; i++)
		data[i] = i * 0x0101010101010101ull ^ 0x3ff0000000000000ull;
	for (size_t i = 0; !made && i < HARM_STACK_SIZE / 8; i++)
		stack[i] = i * 0x0203050701010101ull | 1;
	made = true;
	for (unsigned i = 0; i < 16; i++)
		data[(HARM_OPERAND + 256 * i) / 8] = data[(HARM_OPERAND + 256 * i + 16) / 8] =
		    slot + HARM_TARGET;
	data[HARM_RIP_AT / 8] = slot + HARM_TARGET;
	stack[(HARM_STACK_TOP - HARM_STACK) / 8] = slot + HARM_TARGET;
	memcpy((void *)HARM_DATA, data, sizeof(data));
	memcpy((void *)HARM_STACK, stack, sizeof(stack));
}

/* ---- what it leaves ---- */

static uint64_t sum_of(const void *at, size_t size, uint64_t sum)
{
	const uint64_t *p = at;

	for (size_t i = 0; i < size / 8; i++)
		sum = (sum ^ p[i]) * 0x9e3779b97f4a7c15ull + (sum >> 29);
	return sum;
}

/* But for where the last x87 instruction was and what it was, and which components the processor
 * calls used. */
static uint64_t sum_of_vectors(void)
{
	unsigned char *x = (unsigned char *)SAVED_XOUT;

	memset(x + 6, 0, 18);
	memset(x + 416, 0, 96);
	memset(x + 512, 0, 64);
	return sum_of(x, SAVED_XSIZE, 1);
}

static void take_record(struct harm_record *r, uint64_t slot)
{
	r->exit = (uint32_t)SAVED->exit;
	r->signal = r->exit == 3 ? caught_signal : 0;
	r->code = r->exit == 3 ? caught_code : 0;
	r->at = r->exit == 3 ? (int64_t)(caught_at - slot) : 0;
	memcpy(r->regs, (void *)SAVED_OUT, sizeof(r->regs));
	r->vectors = sum_of_vectors();
	r->data = sum_of((void *)HARM_DATA, HARM_DATA_SIZE, 2);
	r->stack = sum_of((void *)HARM_STACK, HARM_STACK_SIZE, 3);
	r->done = 1;
}

/* ---- executing ---- */

/* Uses nothing of libc: the encoding may have left anything in fs. */
static void on_signal(int signal, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	caught_signal = signal;
	caught_code = info->si_code;
	caught_at = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)harm_exit_signal;
	uc->uc_mcontext.gregs[REG_EFL] &= ~0x10100; /* TF, RF */
}

static void catch_signals(void)
{
	static const int signals[] = {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGALRM};
	struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	stack_t alt = {.ss_size = 1 << 16};

	alt.ss_sp =
	    mmap(NULL, alt.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigfillset(&sa.sa_mask);
	if (alt.ss_sp == MAP_FAILED || sigaltstack(&alt, NULL))
		die("sigaltstack");
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], &sa, NULL))
			die("sigaction");
}

static bool runs_in_qemu(void)
{
	uint32_t eax, ebx, ecx, edx;

	__cpuid(0x40000000, eax, ebx, ecx, edx);
	return !memcmp(&ebx, "TCGT", 4);
}

/* What qemu's emulation does wrong itself, probed or not: far returns read the stack as if it were
 * the kernel, which then has a fault of its own; double shifts by a number miss their RIP operand
 * by a byte. */
static bool is_wrong_in_qemu(const unsigned char *slot)
{
	while (*slot == 0x66 || *slot == 0xf2 || *slot == 0xf3 || (*slot & 0xf0) == 0x40)
		slot++;
	if (*slot == 0xca || *slot == 0xcb || *slot == 0xcf)
		return true;
	return slot[0] == 0x0f && (slot[1] == 0xa4 || slot[1] == 0xac) && (slot[2] & 0xc7) == 5;
}

static void execute(size_t i)
{
	uint64_t slot = HARM_SLOTS + i / HARM_STATES * HARM_SLOT_SIZE;
	int state = (int)(i % HARM_STATES);

	fill_registers(state);
	fill_vectors(state);
	fill_memory(slot);
	memset((void *)SAVED_XOUT, 0, SAVED_XSIZE);
	SAVED->slot = slot;
	harm_enter();
	take_record(&records[i], slot);
}

/* In a child: fs and gs point to the data, so that operands with their prefixes are repeatable. */
static void execute_some(size_t first, size_t end)
{
	bool in_qemu = runs_in_qemu();
	unsigned long fs = 0;
	static const struct itimerval limit = {.it_value = {.tv_sec = 5}};

	catch_signals();
	syscall(SYS_arch_prctl, ARCH_GET_FS, &fs);
	syscall(SYS_arch_prctl, ARCH_SET_GS, HARM_DATA + HARM_OPERAND);
	syscall(SYS_arch_prctl, ARCH_SET_FS, HARM_DATA + HARM_OPERAND);
	for (size_t i = first; i < end; i++) {
		*progress = i;
		if (i % 64 == 0) {
			long rc;

			__asm__ volatile("syscall"
					 : "=a"(rc)
					 : "a"(SYS_setitimer), "D"(ITIMER_REAL), "S"(&limit), "d"(0)
					 : "rcx", "r11", "memory");
		}
		if (!records[i].attach &&
		    !(in_qemu && is_wrong_in_qemu(code + i / HARM_STATES * HARM_SLOT_SIZE)))
			execute(i);
	}
	*progress = end;
	__asm__ volatile("syscall" : : "a"(SYS_exit_group), "D"(0));
}

static void execute_all(void)
{
	size_t n = n_slots * HARM_STATES, i = 0;

	while (i < n) {
		size_t end = i + CHUNK < n ? i + CHUNK : n;
		pid_t pid = fork();
		int status;

		if (pid < 0)
			die("fork");
		if (!pid)
			execute_some(i, end);
		if (waitpid(pid, &status, 0) != pid)
			die("waitpid");
		i = *progress;
		if (i < end) {
			records[i].done = 2;
			records[i++].signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
		}
	}
}

/* ---- raw mode ---- */

static int load_program(bool multi)
{
	const struct bpf_insn insns[] = {
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
	    {.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr = {
	    .prog_type = BPF_PROG_TYPE_KPROBE,
	    .insns = (uintptr_t)insns,
	    .insn_cnt = 2,
	    .license = (uintptr_t) "GPL",
	    .expected_attach_type = multi ? 48 : 0, /* BPF_TRACE_UPROBE_MULTI */
	};

	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static int program = -1;
static const char *library;
static uint64_t *offsets;

/* A link on slots [first, first + n) of the list; 0 or the errno. It stays until the process ends.
 */
static int link_multi(size_t first, size_t n)
{
	/* Newer than the installed headers: bpf_attr's link_create with its uprobe_multi. */
	struct {
		uint32_t prog_fd, target_fd, attach_type, flags;
		uint64_t path, offsets, ref_ctrs, cookies;
		uint32_t cnt, multi_flags, pid, path_fd;
	} attr = {
	    .prog_fd = (uint32_t)program,
	    .attach_type = 48,
	    .path = (uintptr_t)library,
	    .offsets = (uintptr_t)(offsets + first),
	    .cnt = (uint32_t)n,
	};

	return syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr)) < 0 ? errno : 0;
}

static uint32_t uprobe_type(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	uint32_t type = 0;

	if (!f || fscanf(f, "%u", &type) != 1)
		die("no uprobe events");
	fclose(f);
	return type;
}

static int link_perf(size_t i)
{
	static uint32_t type;
	struct perf_event_attr attr = {.size = sizeof(attr)};
	int fd;

	if (!type)
		type = uprobe_type();
	attr.type = type;
	attr.config1 = (uintptr_t)library;
	attr.config2 = offsets[i];
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return errno;
	return ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) ? errno : 0;
}

static void mark(size_t slot, int code)
{
	for (size_t s = 0; s < HARM_STATES; s++)
		records[slot * HARM_STATES + s].attach = code;
}

static void attach_some(const size_t *slots, size_t first, size_t n, bool multi)
{
	int code = multi ? link_multi(first, n) : n == 1 ? link_perf(first) : E2BIG;

	if (!code)
		return;
	if (n == 1) {
		mark(slots[first], code);
		return;
	}
	attach_some(slots, first, n / 2, multi);
	attach_some(slots, first + n / 2, n - n / 2, multi);
}

/* The encodings that probe/insn.c says the kernel refuses, or the others, into slots and offsets;
 * how many. */
static size_t choose(FILE *list, bool refused, size_t *slots)
{
	char line[512], verdict[32];
	size_t found = 0;

	rewind(list);
	while (fgets(line, sizeof(line), list)) {
		size_t slot = strtoul(line, NULL, 10);

		if (sscanf(line, "%*u\t%*[^\t]\t%*s\t%31s", verdict) != 1 || slot >= n_slots ||
		    refused != !strcmp(verdict, "refused"))
			continue;
		slots[found] = slot;
		offsets[found++] = first_offset + slot * HARM_SLOT_SIZE;
	}
	return found;
}

/* Tries each alone. A refusal makes the caller wait for some ten milliseconds, so many processes do
 * it at once; what they attach goes when they end. */
static void try_each(const size_t *slots, size_t found, bool multi)
{
	enum { PROCESSES = 64 };

	for (size_t p = 0; p < PROCESSES; p++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid)
			continue;
		for (size_t i = p; i < found; i += PROCESSES)
			attach_some(slots, i, 1, multi);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
}

static bool use_multi(void)
{
	program = load_program(true);
	offsets[0] = first_offset;
	if (program >= 0 && !link_multi(0, 1))
		return true;
	program = load_program(false);
	if (program < 0)
		die("cannot load a BPF program");
	return false;
}

static void attach_all(const char *list)
{
	FILE *f = fopen(list, "r");
	size_t *slots = calloc(n_slots, sizeof(*slots)), found, step;
	struct rlimit all = {1 << 20, 1 << 20};
	bool multi;

	setrlimit(RLIMIT_NOFILE, &all);
	offsets = calloc(n_slots, sizeof(*offsets));
	if (!f || !slots || !offsets)
		die(list);
	multi = use_multi();
	found = choose(f, true, slots);
	try_each(slots, found, multi);
	found = choose(f, false, slots);
	for (size_t i = 0; i < found; i += step) {
		step = !multi ? 1 : found - i < 512 ? found - i : 512;
		attach_some(slots, i, step, multi);
	}
	fclose(f);
	free(slots);
}

/* ---- the run ---- */

static void write_records(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f ||
	    fwrite(records, sizeof(*records), n_slots * HARM_STATES, f) != n_slots * HARM_STATES ||
	    fclose(f))
		die(path);
}

static void *shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("no memory");
	return p;
}

/* The heap of a program without a random place begins behind it; with one it may lie where the
 * slots must. */
static void place_heap(char **argv)
{
	int was = personality(0xffffffff);

	if (was < 0 || was & ADDR_NO_RANDOMIZE)
		return;
	personality((unsigned long)was | ADDR_NO_RANDOMIZE);
	execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
	cpu_set_t one;

	if (argc != 3 && !(argc == 5 && !strcmp(argv[3], "raw"))) {
		fprintf(stderr, "usage: harm-runner LIBRARY OUT [raw LIST]\n");
		return 2;
	}
	place_heap(argv);
	CPU_ZERO(&one);
	CPU_SET(0, &one); /* some instructions tell which it is */
	sched_setaffinity(0, sizeof(one), &one);
	library = argv[1];
	map_library(library);
	records = shared(n_slots * HARM_STATES * sizeof(*records));
	progress = shared(sizeof(*progress));
	map_fixed(HARM_DATA, HARM_DATA_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		  -1, 0);
	map_fixed(HARM_STACK, HARM_STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		  -1, 0);
	map_fixed(HARM_SAVED, SAVED_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		  0);
	SAVED->stub[0] = (uintptr_t)harm_exit_next;
	SAVED->stub[1] = (uintptr_t)harm_exit_target;
	SAVED->mask = components();
	if (argc == 5)
		attach_all(argv[4]);
	execute_all();
	write_records(argv[2]);
	return 0;
}
