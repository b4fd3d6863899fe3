#!/usr/bin/env bats
# What a kernel that preempts itself could mix up: tests/harm/hammer, every command on a function that eight threads and eight
# processes call at once. The guests are booted for it with preempt=full (and lazy), slab_debug and panic on every oops:
# there a program with a stack per CPU is a panic, and a stack walked without care is another thread's.
# HAMMER=50 makes it 50 runs each.

load common

setup() { e2e_setup; }
teardown() { e2e_teardown; }

hammer() {
	local script=$E2E_TOP/tests/harm/hammer
	[[ -z ${IN_VM:-} ]] || script=/guest/hammer
	FUNCSCOPE=$FUNCSCOPE FIXTURES=$FIXTURES run "$script" "${HAMMER:-1}" "${HAMMER_CALLS:-2003}" "$@"
	echo "$output"
	assert_eq "exit status" 0 "$status"
	# A kernel that preempts itself, and cannot be kept from it, may lose a stack.
	[[ $(doctor_why "mixed-up stacks") == *twice* ]] || refute_match "losses" "$output" ' lost '
}

# bats test_tags=preempt
@test "preempted: count and time" {
	hammer count time time-self
}

# bats test_tags=preempt
@test "preempted: stacks" {
	hammer stack stack-time
}

# bats test_tags=preempt
@test "preempted: trace" {
	hammer trace-ret
}

# bats test_tags=preempt
@test "preempted: snoop and gpu" {
	hammer snoop gpu
}

# bats test_tags=preempt,deep
@test "preempted: every other way" {
	[[ -n ${IN_VM:-}${HAMMER:-} ]] || skip "in the guests, or with HAMMER=1"
	hammer time-slow time-multi time-single stack-single stack-dwarf trace
}

# bats test_tags=preempt
@test "preempted: doctor says what this kernel does, and that funcscope's programs have no private stack" {
	[[ $(uname -m) == x86_64 ]] || skip "the code that the JIT makes is read on x86-64 alone"
	assert_eq "private BPF stacks" true "$(doctor_says "private BPF stacks")"
	assert_match "private BPF stacks" "$(doctor_why "private BPF stacks")" \
		"(does not give them to programs on user functions|gives programs on user functions a stack per CPU.*programs have none)"
	assert_eq "mixed-up stacks" true "$(doctor_says "mixed-up stacks")"
	[[ -z ${IN_VM:-} ]] || assert_match "mode" "$(doctor_why "mixed-up stacks")" 'preempt=(full|lazy)'
}

# Booted on a processor without cmpxchg16b, where Linux 7.x has no task storage to give.
# bats test_tags=nostorage
@test "no task storage: calls are kept by thread number" {
	[[ -n ${IN_VM:-} ]] || skip "in the guests"
	hammer time time-self trace-ret
}

@test "the trial of forked children leaves nothing in the kernel's log" {
	need_fixture nop5forks
	[[ $(doctor_says "fast uprobe") == true ]] || skip "no optimised uprobes here"
	dmesg >before 2>/dev/null || skip "the kernel's log cannot be read"
	fs_ok count -f json "$FIXTURES/nop5forks:*" -- "$FIXTURES/calls" 3
	dmesg | grep -c 'funcscope.*segfault' >after || true
	assert_eq "segfaults of funcscope" "$(grep -c 'funcscope.*segfault' before || true)" "$(<after)"
}
