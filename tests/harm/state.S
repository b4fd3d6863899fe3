/* Into an encoding and out of it, without a register that is not part of the state. */
#include "harm/layout.h"
#include "harm/state.h"

	.text
	.globl harm_enter, harm_exit_next, harm_exit_target, harm_exit_signal

harm_enter:
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rsp, SAVED_RUNNER
	mov SAVED_MASK, %eax
	xor %edx, %edx
	mov $SAVED_XIN, %rcx
	xrstor64 (%rcx)
	mov $SAVED_STACK, %rsp
	pushq SAVED_IN + 16 * 8
	popfq
	mov SAVED_IN + 0 * 8, %rax
	mov SAVED_IN + 1 * 8, %rcx
	mov SAVED_IN + 2 * 8, %rdx
	mov SAVED_IN + 3 * 8, %rbx
	mov SAVED_IN + 4 * 8, %rsp
	mov SAVED_IN + 5 * 8, %rbp
	mov SAVED_IN + 6 * 8, %rsi
	mov SAVED_IN + 7 * 8, %rdi
	mov SAVED_IN + 8 * 8, %r8
	mov SAVED_IN + 9 * 8, %r9
	mov SAVED_IN + 10 * 8, %r10
	mov SAVED_IN + 11 * 8, %r11
	mov SAVED_IN + 12 * 8, %r12
	mov SAVED_IN + 13 * 8, %r13
	mov SAVED_IN + 14 * 8, %r14
	mov SAVED_IN + 15 * 8, %r15
	jmp *SAVED_SLOT

harm_exit_next:
	movq $1, SAVED_EXIT
	jmp leave
harm_exit_target:
	movq $2, SAVED_EXIT
	jmp leave
harm_exit_signal:
	movq $3, SAVED_EXIT
leave:
	mov %rsp, SAVED_OUT + 4 * 8
	mov $SAVED_STACK, %rsp
	pushfq
	popq SAVED_OUT + 16 * 8
	pushq $2
	popfq
	mov %rax, SAVED_OUT + 0 * 8
	mov %rcx, SAVED_OUT + 1 * 8
	mov %rdx, SAVED_OUT + 2 * 8
	mov %rbx, SAVED_OUT + 3 * 8
	mov %rbp, SAVED_OUT + 5 * 8
	mov %rsi, SAVED_OUT + 6 * 8
	mov %rdi, SAVED_OUT + 7 * 8
	mov %r8, SAVED_OUT + 8 * 8
	mov %r9, SAVED_OUT + 9 * 8
	mov %r10, SAVED_OUT + 10 * 8
	mov %r11, SAVED_OUT + 11 * 8
	mov %r12, SAVED_OUT + 12 * 8
	mov %r13, SAVED_OUT + 13 * 8
	mov %r14, SAVED_OUT + 14 * 8
	mov %r15, SAVED_OUT + 15 * 8
	mov SAVED_MASK, %eax
	xor %edx, %edx
	mov $SAVED_XOUT, %rcx
	xsave64 (%rcx)
	fninit
	mov SAVED_RUNNER, %rsp
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret
	.section .note.GNU-stack,"",@progbits
