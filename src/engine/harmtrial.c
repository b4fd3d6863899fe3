/* Functions of our own whose first instructions represent the classes that tests/harm sweeps: those
 * that funcscope probes, and those that it refuses because kernels execute them wrongly. A child
 * calls each without and with a probe, and the registers, flags and memory afterwards are compared.
 * Only doctor uses this. */
#include "engine/harmtrial.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __x86_64__
#include "base/cleanup.h"
#include "engine/features.h"
#include "engine/self.h"
#include "engine/sys.h"
#include "probe/insn.h"

/* ---- the instructions ---- */

enum need { ANY, AVX2, AVX512 };

#define M "fsc_harm_memory(%rip)"

/* X(name, what the processor needs, assembly): the first instruction is the one tested. */
#define INSNS(X)                                                                                   \
	X(push, ANY, "push %rcx; pop %rdx")                                                        \
	X(push_r15, ANY, "push %r9; pop %rdx")                                                     \
	X(push_memory, ANY, "push " M "; pop %rdx")                                                \
	X(push_number, ANY, "push $77; pop %rdx")                                                  \
	X(pop, ANY, "pop %rdx; push %rdx; xor %edx, %edx")                                         \
	X(enter, ANY, "enter $16, $0; leave")                                                      \
	X(stack, ANY, "sub $24, %rsp; add $24, %rsp")                                              \
	X(endbr, ANY, "endbr64")                                                                   \
	X(nop, ANY, "nop")                                                                         \
	X(long_nop, ANY, "nopl (%rax)")                                                            \
	X(pause, ANY, "pause")                                                                     \
	X(call, ANY, "call 1f; jmp 2f; 1: add $5, %rdx; ret; 2:")                                  \
	X(call_memory, ANY, "call *fsc_harm_code(%rip); inc %rdx")                                 \
	X(call_register, ANY, "call *%r10; inc %rdx")                                              \
	X(jump, ANY, "jmp 1f; inc %rdx; 1:")                                                       \
	X(jump_near, ANY, ".byte 0xe9, 3, 0, 0, 0; inc %rdx")                                      \
	X(jump_memory, ANY, "jmp *fsc_harm_code(%rip)")                                            \
	X(jump_register, ANY, "jmp *%r10")                                                         \
	X(jump_taken, ANY, "jz 1f; inc %rdx; 1:")                                                  \
	X(jump_not_taken, ANY, "jnz 1f; inc %rdx; 1:")                                             \
	X(jump_near_taken, ANY, ".byte 0x0f, 0x84, 3, 0, 0, 0; inc %rdx")                          \
	X(jump_rcx, ANY, "jrcxz 1f; inc %rdx; 1:")                                                 \
	X(loop, ANY, "loop 1f; inc %rdx; 1:")                                                      \
	X(ret, ANY, "ret")                                                                         \
	X(load, ANY, "mov " M ", %rdx")                                                            \
	X(load_rsi, ANY, "mov " M ", %rsi")                                                        \
	X(store, ANY, "mov %rcx, " M)                                                              \
	X(store_number, ANY, "movl $77, " M)                                                       \
	X(add_memory, ANY, "add %rdx, " M)                                                         \
	X(compare_memory, ANY, "cmpl $3, " M)                                                      \
	X(lea, ANY, "lea " M ", %rdx; sub %r10, %rdx")                                             \
	X(exchange, ANY, "xchg %rdx, " M)                                                          \
	X(cmpxchg, ANY, "cmpxchg %rdx, " M)                                                        \
	X(mul, ANY, "mulq " M)                                                                     \
	X(cmov, ANY, "cmovz " M ", %rdx")                                                          \
	X(setcc, ANY, "setz " M)                                                                   \
	X(shift, ANY, "shl %cl, %rdx")                                                             \
	X(bit, ANY, "bt $3, %edx")                                                                 \
	X(movs, ANY, "movsb")                                                                      \
	X(movsd, ANY, "movsd " M ", %xmm1")                                                        \
	X(cvtsi2sd, ANY, "cvtsi2sdl " M ", %xmm1")                                                 \
	X(pxor, ANY, "pxor %xmm2, %xmm1")                                                          \
	X(movd, ANY, "movd %xmm1, %edx")                                                           \
	X(movups, ANY, "movups %xmm1, " M)                                                         \
	X(vaddps, AVX2, "vaddps %xmm1, %xmm2, %xmm0")                                              \
	X(vmovsd, AVX2, "vmovsd " M ", %xmm1")                                                     \
	X(vxorps, AVX2, "vxorps %xmm1, %xmm2, %xmm0")                                              \
	X(vbroadcastss, AVX2, "vbroadcastss " M ", %xmm0")                                         \
	X(vfmadd231sd, AVX2, "vfmadd231sd %xmm1, %xmm2, %xmm0")                                    \
	X(andn, AVX2, "andn %rcx, %rdx, %rdx")                                                     \
	X(mulx, AVX2, "mulx " M ", %rsi, %rdi")                                                    \
	X(vaddps_512, AVX512, "vaddps %zmm1, %zmm2, %zmm0")                                        \
	/* refused */                                                                              \
	X(xchg_r8, ANY, "xchg %rax, %r8")                                                          \
	X(pushf, ANY, "pushfq; pop %rdx")                                                          \
	X(syscall, ANY, "syscall; sub %r10, %rcx")                                                 \
	X(idle_prefix, ANY, ".byte 0xf3; sets " M)                                                 \
	X(vmovd, AVX2, "vmovd %xmm1, %edx")                                                        \
	X(vpshufd, AVX2, "vpshufd $0, %xmm1, %xmm0")                                               \
	X(vpcmpeqb, AVX2, "vpcmpeqb %xmm1, %xmm1, %xmm0")                                          \
	X(vmovdqu, AVX2, "vmovdqu %xmm1, " M)                                                      \
	X(vpor, AVX2, "vpor %xmm1, %xmm2, %xmm0")                                                  \
	X(vcmpps, AVX2, "vcmpltps %xmm1, %xmm2, %xmm0; .nops 16")                                  \
	X(vfnmadd132sd, AVX2, "vfnmadd132sd %xmm1, %xmm2, %xmm0")                                  \
	X(vpbroadcastb, AVX512, "vpbroadcastb %ecx, %ymm0")

#define CODE(name, need, text)                                                                     \
	"fsc_harm_insn_" #name ": " text "\n\tret\n\t.size fsc_harm_insn_" #name                   \
	", . - fsc_harm_insn_" #name "\n"

/* fsc_harm_call(function, state): loads known values, calls the function, stores the state
 * afterwards. */
__asm__(
    ".data\n.p2align 6\n"
    "fsc_harm_memory: .fill 8, 8, 0x4008000000000003\n"
    "fsc_harm_vectors: .fill 8, 8, 0x3ff8000000000005\n"
    "fsc_harm_code: .quad fsc_harm_return\n"
    ".text\n.p2align 4\n" INSNS(
	CODE) "fsc_harm_return: ret\n"
	      "fsc_harm_call:\n\tpush %rbx\n\tpush %r12\n\tpush %r14\n\tpush %r15\n\tpush %rbp\n"
	      "\tmov %rdi, %r14\n\tmov %rsi, %r15\n\tmov %rsp, %r12\n"
	      "\tmovups fsc_harm_vectors(%rip), %xmm0\n\tmovaps %xmm0, %xmm1\n\tpaddd %xmm0, "
	      "%xmm1\n"
	      "\tmovaps %xmm1, %xmm2\n\tpaddd %xmm0, %xmm2\n"
	      "\tlea fsc_harm_return(%rip), %r10\n\tlea 16+fsc_harm_memory(%rip), %rsi\n"
	      "\tlea 24+fsc_harm_memory(%rip), %rdi\n\tmov $-1, %rax\n\tmov $3, %ecx\n"
	      "\tmov $0x123456789, %rdx\n\tmov $11, %ebx\n\tmov $0x55aa55aa, %r8d\n\tmov $9, %r9d\n"
	      "\tmov %rsp, %rbp\n\tcmp %eax, %eax\n"
	      "\tcall *%r14\n\tpushfq\n\tpopq 72(%r15)\n"
	      "\tmov %rax, (%r15)\n\tmov %rcx, 8(%r15)\n\tmov %rdx, 16(%r15)\n\tmov %rbx, "
	      "24(%r15)\n"
	      "\tmov %rsi, 32(%r15)\n\tmov %rdi, 40(%r15)\n\tmov %r8, 48(%r15)\n\tmov %r9, "
	      "56(%r15)\n"
	      "\tmov %r12, 64(%r15)\n\tsub %rsp, 64(%r15)\n\tmov %r12, %rsp\n"
	      "\tmovups %xmm0, 80(%r15)\n\tmovups %xmm1, 96(%r15)\n\tmovups %xmm2, 112(%r15)\n"
	      "\tmovups fsc_harm_memory(%rip), %xmm0\n\tmovups %xmm0, 128(%r15)\n"
	      "\tmovups 16+fsc_harm_memory(%rip), %xmm0\n\tmovups %xmm0, 144(%r15)\n"
	      "\tpop %rbp\n\tpop %r15\n\tpop %r14\n\tpop %r12\n\tpop %rbx\n\tret\n");

struct state {
	uint64_t words[20]; /* registers, stack pointer, flags, three vectors, memory */
};
void fsc_harm_call(void (*fn)(void), struct state *left);
extern uint64_t fsc_harm_memory[8];

#define DECLARE(name, need, text) extern void fsc_harm_insn_##name(void);
INSNS(DECLARE)

static const struct insn_row {
	void (*fn)(void);
	enum need need;
} rows[] = {
#define ROW(name, need, text) {fsc_harm_insn_##name, need},
    INSNS(ROW)};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static bool row_is_supported(const struct insn_row *row)
{
	switch (row->need) {
	case AVX2:
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
		       __builtin_cpu_supports("bmi2");
	case AVX512:
		return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
	default:
		return true;
	}
}

static struct fsc_insn row_insn(const struct insn_row *row)
{
	return fsc_insn_decode((const uint8_t *)(uintptr_t)row->fn, 15);
}

/* ---- the child ---- */

/* The child's results without a probe, and with one. */
struct results {
	struct state plain[ROWS], probed[ROWS];
	int plain_signal[ROWS], probed_signal[ROWS];
};

static sigjmp_buf rescue;

static void on_harm(int signal)
{
	siglongjmp(rescue, signal);
}

static void catch_harm(void)
{
	static const int signals[] = {SIGSEGV, SIGTRAP, SIGILL, SIGBUS, SIGFPE};
	struct sigaction sa = {.sa_handler = on_harm, .sa_flags = SA_ONSTACK};
	static char room[1 << 16];
	stack_t alt = {.ss_sp = room, .ss_size = sizeof(room)};

	sigaltstack(&alt, NULL);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &sa, NULL);
}

static void call_rows(struct state *left, int *caught)
{
	uint64_t memory[8];

	memcpy(memory, fsc_harm_memory, sizeof(memory));
	for (volatile size_t i = 0; i < ROWS; i++) {
		int signal;

		if (!row_is_supported(&rows[i]))
			continue;
		memcpy(fsc_harm_memory, memory, sizeof(memory));
		signal = sigsetjmp(rescue, 1);
		if (!signal)
			fsc_harm_call(rows[i].fn, &left[i]);
		caught[i] = signal;
	}
	memcpy(fsc_harm_memory, memory, sizeof(memory));
}

/* Signals that it is ready for the probes, and waits for them. */
static int child_main(struct results *b, int ready, int go)
{
	char c;

	prctl(PR_SET_DUMPABLE, 0);
	catch_harm();
	call_rows(b->plain, b->plain_signal);
	if (write(ready, "", 1) != 1 || read(go, &c, 1) != 1)
		return 1;
	call_rows(b->probed, b->probed_signal);
	return 0;
}

/* ---- the probes ---- */

struct links {
	int fds[ROWS];
	size_t n;
	bool on[ROWS]; /* probed */
};

static void links_close(struct links *l)
{
	for (size_t i = 0; i < l->n; i++)
		close(l->fds[i]);
	l->n = 0;
}

/* Probes all but those that the kernel itself refuses. */
static int link_rows(struct links *l)
{
	bool multi = fsc_feature_works(FSC_FEATURE_UPROBE_MULTI);
	FSC_AUTO(fsc_closep)
	int prog =
	    fsc_sys_load_nothing(BPF_PROG_TYPE_KPROBE, multi ? FSC_ATTACH_UPROBE_MULTI : 0, 0);
	uint64_t offsets[ROWS];
	struct fsc_sys_uprobes u = {.path = FSC_SELF_PATH};
	size_t n = 0;

	if (prog < 0)
		return prog;
	for (size_t i = 0; i < ROWS; i++) {
		int rc = fsc_self_offset(rows[i].fn, &offsets[n], NULL);

		if (rc)
			return rc;
		l->on[i] =
		    row_is_supported(&rows[i]) && row_insn(&rows[i]).verdict != FSC_INSN_REFUSED;
		n += l->on[i];
	}
	for (size_t i = 0; i < n; i += u.n) {
		u.offsets = offsets + i;
		u.n = multi ? (uint32_t)n : 1;
		l->fds[l->n] =
		    multi ? fsc_sys_link_uprobes(prog, &u) : fsc_sys_link_uprobe(prog, &u);
		if (l->fds[l->n] < 0)
			return l->fds[l->n];
		l->n++;
	}
	return 0;
}

/* ---- the verdict ---- */

static bool row_differs(const struct results *b, size_t i)
{
	return b->plain_signal[i] != b->probed_signal[i] ||
	       (!b->plain_signal[i] && memcmp(&b->plain[i], &b->probed[i], sizeof(b->plain[i])));
}

static int compare_results(const struct results *b, const struct links *l, char *why, size_t n)
{
	unsigned taken = 0, good = 0, refused = 0, wrong = 0;
	char first[FSC_INSN_WHY] = "";

	for (size_t i = 0; i < ROWS; i++) {
		struct fsc_insn in = row_insn(&rows[i]);
		bool differs = l->on[i] && row_differs(b, i);

		if (!l->on[i])
			continue;
		if (in.verdict != FSC_INSN_FINE) {
			refused++;
			wrong += differs;
			continue;
		}
		taken++;
		good += !differs;
		if (differs && !first[0])
			snprintf(first, sizeof(first), "%s", in.name);
	}
	if (good < taken) {
		snprintf(why, n, "%u of %u that funcscope probes are executed wrongly, '%s' first",
			 taken - good, taken, first);
		return -EFAULT;
	}
	snprintf(why, n,
		 "%u of %u that funcscope probes work; of %u that it refuses, this kernel executes "
		 "%u wrongly",
		 good, taken, refused, wrong);
	return 0;
}

static int run_trial(struct results *b, struct links *l)
{
	int ready[2], go[2], status = 0, rc;
	char c;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC))
		return -errno;
	if (pipe2(go, O_CLOEXEC)) {
		rc = -errno;
		close(ready[0]);
		close(ready[1]);
		return rc;
	}
	pid = fork();
	if (!pid) {
		close(ready[0]);
		close(go[1]);
		_exit(child_main(b, ready[1], go[0]));
	}
	rc = pid < 0 ? -errno : 0;
	close(ready[1]);
	close(go[0]);
	if (!rc && read(ready[0], &c, 1) != 1)
		rc = -EIO;
	if (!rc)
		rc = link_rows(l);
	if (!rc && write(go[1], "", 1) != 1)
		rc = -EPIPE;
	close(go[1]);
	close(ready[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	links_close(l);
	return rc ? rc : WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EFAULT;
}

int fsc_harm_trial(char *why, size_t n)
{
	struct results *b =
	    mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct links l = {0};
	int rc;

	if (b == MAP_FAILED) {
		snprintf(why, n, "no memory");
		return -ENOMEM;
	}
	rc = run_trial(b, &l);
	if (rc)
		snprintf(why, n, "could not be tested: %s", strerror(-rc));
	else
		rc = compare_results(b, &l, why, n);
	munmap(b, sizeof(*b));
	return rc;
}
#else
int fsc_harm_trial(char *why, size_t n)
{
	snprintf(why, n, "only x86-64 has instructions that uprobes execute wrongly");
	return 0;
}
#endif
