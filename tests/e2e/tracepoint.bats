# Tracepoints of the kernel.
load common

setup_file() { "$FUNCSCOPE" doctor -f json >"$BATS_FILE_TMPDIR/doctor"; }
setup() {
	e2e_setup
	need_tracepoints
}
teardown() { e2e_teardown; }

# bats test_tags=guest
@test "a system call is counted exactly" {
	fs_json t:syscalls:sys_enter_getppid -- "$FIXTURES/syscalls" 1009
	assert_calls sys_enter_getppid 1009
	assert_eq kind tracepoint "$(values kind)"
}

@test "its entries and its exits, long spelling" {
	fs_json tracepoint:syscalls:sys_enter_getppid tracepoint:syscalls:sys_exit_getppid -- "$FIXTURES/syscalls" 503
	assert_calls sys_enter_getppid 503
	assert_calls sys_exit_getppid 503
}

# bats test_tags=guest,deep
@test "all system calls at once" {
	fs_json 't:syscalls:sys_enter_*' -- "$FIXTURES/syscalls" 211
	assert_calls sys_enter_getppid 211
	((211 <= $(calls function=sys_enter_read) && $(calls function=sys_enter_read) < 260)) || fail "$(calls function=sys_enter_read) reads"
	assert_calls sys_enter_prctl 1
	((100 < $(summary attached))) || fail "only $(summary attached) attached"
	assert_eq refused 0 "$(summary refused)"
}

@test "by comm" {
	fs_json --by comm t:syscalls:sys_enter_read -- "$FIXTURES/syscalls" 307
	assert_eq reads 307 "$(calls comm=fixcaller)"
}

# bats test_tags=once
@test "-p: a running process only" {
	start_runner
	arm -f json -p "$RUNNER" t:syscalls:sys_enter_getppid
	ask getppid 307
	"$FIXTURES/syscalls" 1009
	finish
	books_close
	assert_calls sys_enter_getppid 307
}

# links_on NAME: how many links of $FS sit on a raw tracepoint.
links_on() {
	grep -sl "^tp_name:.$1\$" /proc/"$FS"/fdinfo/* | wc -l
}

# Our own measurement of what a hit costs sits on every system call of the machine.
@test "measuring the cost of a hit leaves no link behind" {
	arm -v -f json t:sched:sched_process_exit
	eventually grep -q 'a hit of a tracepoint costs' err
	assert_eq "links on what is counted ($(cat /proc/"$FS"/fdinfo/* | grep tp_name))" 1 "$(links_on sched_process_exit)"
	eventually no_link_on sys_enter
	finish
}

no_link_on() {
	[[ $(links_on "$1") == 0 ]]
}

@test "-t and --comm" {
	start_runner
	ask name fixname
	arm -f json -t "$RUNNER" --comm fixname t:syscalls:sys_enter_getppid
	ask getppid 101
	ask name other
	ask getppid 1009
	finish
	assert_calls sys_enter_getppid 101
}

@test "a glob in the category, -x and -r" {
	fs_json 't:sys*:sys_e*_getppid' -x '*exit*' -- "$FIXTURES/syscalls" 101
	assert_calls sys_enter_getppid 101
	assert_calls sys_exit_getppid none
	fs_json -r 't:syscalls:sys_(enter|exit)_getppid$' -- "$FIXTURES/syscalls" 101
	assert_eq seen 202 "$(summary seen)"
}

# bats test_tags=once
@test "other tracepoints: a fork is a fork" {
	fs_json --no-follow t:sched:sched_process_fork -- "$FIXTURES/forks" 8 7
	assert_calls sched_process_fork 7
}

@test "two probes that name one tracepoint attach once" {
	fs_json t:syscalls:sys_enter_getppid 't:syscalls:sys_enter_getpp*' -- "$FIXTURES/syscalls" 101
	assert_eq seen 101 "$(summary seen)"
	assert_eq attached 1 "$(summary attached)"
}

@test "an unknown tracepoint answers with the nearest names" {
	fs_error 1 "did you mean .*sys_enter_getppid" count t:syscalls:sys_enter_getpppid -d 0.1
	fs_error 1 "no tracepoint" count t:nosuch:nosuch -d 0.1
}

@test "no category, no event: a usage error" {
	fs_error 2 "t:CATEGORY:EVENT" count t:sched: -d 0.1
}
