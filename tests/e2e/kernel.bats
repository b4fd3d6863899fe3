# Kernel functions, on each rung of the ladder that doctor says works here. The calls are made by the syscalls fixture: N times
# getppid() and N times read() under the name "fixcaller".
load common

setup_file() { "$FUNCSCOPE" doctor -f json >"$BATS_FILE_TMPDIR/doctor"; }
setup() {
	e2e_setup
	need_kernel_functions
	case $(uname -m) in
	x86_64) GETPPID=__x64_sys_getppid ;;
	aarch64) GETPPID=__arm64_sys_getppid ;;
	*) skip "the name of getppid's function on $(uname -m) is not known here" ;;
	esac
}
teardown() { e2e_teardown; }

# proves VIA CHECK RUNG: the rung counts entries and returns exactly, and is the one that was used.
proves() {
	need_check "$2"
	fs_json --via "$1" "$GETPPID" -- "$FIXTURES/syscalls" 1009
	assert_calls "$GETPPID" 1009
	assert_eq "rung" "{\"$3\":1}" "$(summary via)"
	fs_json --via "$1" "r::$GETPPID" -- "$FIXTURES/syscalls" 503
	assert_eq returns 503 "$(calls kind=kretprobe)"
	assert_eq "rung" "{\"$3\":1}" "$(summary via)"
	fs_json --via "$1" --by comm k:vfs_read -- "$FIXTURES/syscalls" 211
	assert_eq "reads" 211 "$(calls comm=fixcaller)"
}

# bats test_tags=guest
@test "kprobe.multi counts exactly (--via multi)" {
	proves multi kprobe.multi kprobe.multi
}

# bats test_tags=guest
@test "fentry and fexit count exactly (--via fentry)" {
	proves fentry fentry fentry
}

# bats test_tags=guest
@test "kprobes and kretprobes count exactly (--via single)" {
	proves single kprobe kprobe
}

# bats test_tags=guest
@test "the best rung is the one doctor names" {
	fs_json "$GETPPID" -- "$FIXTURES/syscalls" 1009
	assert_calls "$GETPPID" 1009
	assert_eq "rung" "{\"$(doctor_rung 'kernel functions')\":1}" "$(summary via)"
}

@test "all spellings mean the same function" {
	for spelling in "p::$GETPPID" "k:$GETPPID" "kprobe:$GETPPID" "k:vmlinux:$GETPPID"; do
		fs_json "$spelling" -- "$FIXTURES/syscalls" 101
		assert_calls "$GETPPID" 101
	done
	for spelling in "kr:$GETPPID" "kretprobe:$GETPPID"; do
		fs_json "$spelling" -- "$FIXTURES/syscalls" 101
		assert_eq "$spelling" 101 "$(calls kind=kretprobe)"
	done
}

# bats test_tags=guest
@test "kprobe:vfs_read by comm: the seed's table" {
	arm --by comm kprobe:vfs_read
	"$FIXTURES/syscalls" 307
	finish
	assert_match header "$(head -n 1 out)" '^COMM +FUNCTION +CALLS$'
	assert_match row "$(<out)" $'\nfixcaller +vfs_read +307\n'
	assert_match books "$(<out)" $'\nseen [0-9]+ = kept [0-9]+'
}

# bats test_tags=guest,long
@test "a glob: vfs_*, and an exclusion" {
	fs_json --by comm 'vfs_*' -- "$FIXTURES/syscalls" 211
	assert_eq "vfs_read" 211 "$(calls comm=fixcaller function=vfs_read)"
	(($(summary attached) > 20)) || fail "only $(summary attached) functions"
	fs_json --by comm 'vfs_[rw]*' -x 'vfs_r*' -- "$FIXTURES/syscalls" 211
	assert_calls vfs_read none
}

@test "a regular expression" {
	fs_json -r --by comm '^vfs_(read|write)$' -- "$FIXTURES/syscalls" 211
	assert_eq "vfs_read" 211 "$(calls comm=fixcaller function=vfs_read)"
	assert_eq functions 2 "$(summary functions)"
}

# bats test_tags=guest
@test "kernel and user functions and tracepoints in one run" {
	fs_json "$GETPPID" "$FIXTURES/syscalls:main" t:syscalls:sys_enter_getppid -- "$FIXTURES/syscalls" 211
	assert_calls "$GETPPID" 211
	assert_calls main 1
	assert_calls sys_enter_getppid 211
}

# bats test_tags=once
@test "-p: a running process only" {
	start_runner
	arm -f json -p "$RUNNER" "$GETPPID"
	ask getppid 307
	"$FIXTURES/syscalls" 1009
	finish
	books_close
	assert_calls "$GETPPID" 307
}

@test "two probes that name one kernel function attach once" {
	fs_json "$GETPPID" "k:$GETPPID" "$GETPPID*" -- "$FIXTURES/syscalls" 101
	assert_eq seen 101 "$(summary seen)"
}

# Every rung: some functions are refused by all kernels (notrace, on the kprobe blacklist). Named in full they are tried.
# bats test_tags=guest,long
@test "one bad function never sinks the others" {
	bad=$(awk '$2 ~ /^0x/ && $3 != "" { print $3; exit } NF == 2 { print $2; exit }' /sys/kernel/debug/kprobes/blacklist 2>/dev/null || true)
	if [[ -z $bad ]]; then
		bad=$(awk '$3 == "notify_die" || $3 == "do_int3" || $3 == "kprobe_int3_handler" || $3 == "arm64_kernel_unmapped_at_el0" || $3 == "el1h_64_sync_handler" { print $3; exit }' /proc/kallsyms)
	fi
	[[ -n $bad ]] || skip "no function is known that this kernel refuses"
	fs_json "$bad" "$GETPPID" vfs_read -- "$FIXTURES/syscalls" 211
	assert_calls "$GETPPID" 211
	assert_eq refused 1 "$(summary refused)"
	assert_match "the bad one, and why" "$(summary refused_functions)" "^\\[\\{\"function\":\"$bad\",\"why\":\"[^\"]+\"\\}\\]$"
	fs_ok count "$bad" "$GETPPID" -- "$FIXTURES/syscalls" 101
	assert_match footer "$(<out)" "refused.*$bad"
	fs_error 1 "$bad" count "$bad" -- "$FIXTURES/syscalls" 1
}

# bats test_tags=once,deep
@test "one bad function on each rung by itself" {
	for via in multi:kprobe.multi fentry:fentry single:kprobe; do
		[[ $(doctor_says "${via#*:}") == true ]] || continue
		bad=$(awk '$3 == "do_int3" || $3 == "el1h_64_sync_handler" || $3 == "exc_int3" { print $3; exit }' /proc/kallsyms)
		[[ -n $bad ]] || skip "no function is known that this kernel refuses"
		fs_json --via "${via%:*}" "$bad" "$GETPPID" -- "$FIXTURES/syscalls" 101
		assert_calls "$GETPPID" 101
		assert_match "refused by ${via#*:}" "$(summary refused_functions)" "\"$bad\""
	done
}

@test "an unknown kernel function answers with the nearest names" {
	fs_error 1 "vfs_read" count vfs_raed -d 0.1
	fs_error 1 "did you mean" count "k:${GETPPID}x" -d 0.1
}

# bats test_tags=once,deep
@test "every kernel function by glob on the best rung is quick to arm and to leave: a few hundred" {
	need_check kprobe.multi
	fs_json 't*_*' -x '*trace*' -- "$FIXTURES/syscalls" 1
	attached=$(summary attached)
	((attached > 200)) || fail "only $attached attached"
}

# bats test_tags=guest
@test "SIGKILL leaves no kernel probe behind" {
	before=$(find /proc/[0-9]*/fd -lname 'anon_inode:bpf*' 2>/dev/null | wc -l)
	arm "$GETPPID" vfs_read
	kill -KILL "$FS"
	wait "$FS" || true
	eventually no_more_than "$before"
	[[ ! -s /sys/kernel/tracing/enabled_functions ]] || eventually no_bpf_functions
	[[ ! -e /sys/kernel/tracing/kprobe_events ]] || assert_eq "kprobe events" '' "$(</sys/kernel/tracing/kprobe_events)"
}

no_more_than() {
	(($(find /proc/[0-9]*/fd -lname 'anon_inode:bpf*' 2>/dev/null | wc -l) <= $1))
}

no_bpf_functions() {
	! grep -q "$GETPPID\|vfs_read" /sys/kernel/tracing/enabled_functions
}
