# trace: arguments, strings, predicates, returns; every line there, in order, or said to be lost; kernel functions. Formats, types and
# hostile names are in trace_output.bats.
load common
load measure

setup_file() { "$FUNCSCOPE" doctor -f json >"$BATS_FILE_TMPDIR/doctor"; }
setup() { e2e_setup; }
teardown() { e2e_teardown; }

# bats test_tags=guest,long,deep
@test "arguments and strings, on each rung" {
	for n in {0..49}; do printf 'text number %d %d\n' "$n" "$n"; done >expected
	for via in $(ways); do
		fs_trace --via "$via" "$FIXTURES/strings:say \"%s %d\", arg1, arg2" -- "$FIXTURES/strings" 50
		messages >got
		diff expected got
		assert_eq function say "$(values function type=call | sort -u)"
		assert_eq event entry "$(values event type=call | sort -u)"
		assert_eq comm strings "$(values comm type=call | sort -u)"
		assert_eq kind uprobe "$(values kind type=call | sort -u)"
	done
}

@test "a predicate runs in the kernel: what it drops was never kept" {
	fs_trace "$FIXTURES/strings:say (arg2 >= 990) \"%d\", arg2" -- "$FIXTURES/strings" 1000
	expect 990 991 992 993 994 995 996 997 998 999
}

@test "STRCMP" {
	fs_trace "$FIXTURES/strings:say (STRCMP(\"text number 17\", arg1)) \"%d\", arg2" -- "$FIXTURES/strings" 200
	expect 17
	fs_trace "$FIXTURES/strings:say (!STRCMP(\"text number 1\", arg1) && arg2 < 3) \"%s\", arg1" -- "$FIXTURES/strings" 20
	expect 'text number 0' 'text number 2'
}

@test "\$pid \$tid \$comm \$cpu \$uid" {
	fs_trace "$FIXTURES/strings:say (\$uid == $(id -u)) \"%d %d %s %d\", \$pid, \$tid, \$comm, \$uid" -- "$FIXTURES/strings" 2
	pid=$(values pid type=call | head -n 1)
	expect "$pid $pid strings $(id -u)" "$pid $pid strings $(id -u)"
	fs_trace "$FIXTURES/strings:say (\$cpu >= 0) \"%d\", \$cpu" -- "$FIXTURES/strings" 2
	assert_eq "CPU" "$(values cpu type=call)" "$(messages)"
}

# bats test_tags=once,deep
@test "a return and its value" {
	fs_trace "r:$FIXTURES/strings:say \"%d\", retval" -- "$FIXTURES/strings" 4
	expect 0 1 2 3
	assert_eq event return "$(values event type=call | sort -u)"
	fs_trace "r:$FIXTURES/enums:permit ((int)retval < -3) \"%d\", retval" -- "$FIXTURES/enums"
	expect -5 -8
}

# bats test_tags=guest,deep
@test "--ret: entry and return in one line, with the duration" {
	for via in $(ways); do
		fs_trace --via "$via" --ret "$FIXTURES/strings:say \"%s\", arg1" -- "$FIXTURES/strings" 5
		expect 'text number 0' 'text number 1' 'text number 2' 'text number 3' 'text number 4'
		assert_eq event call "$(values event type=call | sort -u)"
		assert_eq returned '0 1 2 3 4' "$(values ret type=call | paste -sd' ')"
		assert_eq durations 5 "$(values duration_ns type=call | grep -c '^[0-9]')"
	done
}

# bats test_tags=guest,long
@test "--ret: several probes on one function, each joined with its return" {
	for via in $(ways); do
		fs_trace --via "$via" --ret "$FIXTURES/nest:nest_dive \"A %d\", d" "$FIXTURES/nest:nest_div* \"B %d\", d" \
			"$FIXTURES/nest:nest_dive \"C %d\", d" -- "$FIXTURES/nest" deep 2
		assert_eq calls 9 "$(rows type=call event=call | wc -l)"
		assert_eq messages "$(printf '%s\n' {A,B,C}' '{0,1,2})" "$(messages | sort)"
		assert_eq "what C 2 returns" 2 "$(rows type=call | grep '"C 2"' | grep -o '"ret":[0-9]*' | cut -d: -f2)"
		assert_eq unmatched 0 "$(summary unmatched_returns)"
	done
	measure trace --tree "$FIXTURES/nest:nest_dive \"A %d\", d" "$FIXTURES/nest:nest_dive \"B %d\", d" -- "$FIXTURES/nest" deep 2
	assert_eq "innermost" 2 "$(rows type=call event=call depth=2 | wc -l)"
	assert_eq "returns of the outermost" 2 "$(rows type=call event=return | grep -vc '"depth"')"
}

@test "a call has one stack, taken at its entry: the return's would be counted as lost where there is no room for it" {
	fs_ok trace --tree -U -f json "$FIXTURES/nest:nest_dive" -- "$FIXTURES/nest" deep 3
	assert_eq "entries" 3 "$(grep -c '"event":"entry".*"user_stack":\["nest_dive"' out)"
	assert_eq "calls and returns" 4 "$(grep -c '"event":"\(call\|return\)"' out)"
	assert_eq "returns with a stack" 0 "$(grep '"event":"return"' out | grep -c user_stack)"
}

# bats test_tags=once,deep
@test "--ret: what is filtered or sampled out leaves no return behind, on each rung" {
	for via in $(ways); do
		measure trace --via "$via" --ret "$FIXTURES/strings:say (arg2 == 1)" -- "$FIXTURES/strings" 10
		assert_eq "shown by $via" 1 "$(rows type=call event=call | wc -l)"
		assert_eq "filtered by $via" 9 "$(summary filtered)"
		assert_eq "unmatched by $via" 0 "$(summary unmatched_returns)"
		measure trace --via "$via" --ret --sample 5 "$FIXTURES/strings:say" -- "$FIXTURES/strings" 10
		assert_eq "sampled by $via" 2 "$(rows type=call event=call | wc -l)"
		assert_eq "unmatched of samples by $via" 0 "$(summary unmatched_returns)"
	done
	# Deeper than there is room: of the eight that are wanted, those count as lost that found none.
	measure trace --via single --ret "$FIXTURES/recurse:dive (arg1 % 10 == 0)" -- "$FIXTURES/recurse" 70
	assert_eq "seen" 8 "$(summary seen)"
	assert_eq "kept" 7 "$(summary kept)"
	assert_match "lost" "$(last_line)" '"too_deep":1,'
}

@test "--ret: durations agree with the fixture's own" {
	fs_trace --ret "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" sleep 1000 10
	sum=0
	for ns in $(values duration_ns type=call); do sum=$((sum + ns)); done
	slack=$(($(field ns_per_hit "$(last_line)" | cut -d. -f1) * 40 + 100000))
	within "sum of durations" "$(truth low_total_ns timed_call)" "$sum" "$(truth high_total_ns timed_call)" "$slack"
}

@test "--ret: recursion and longjmp" {
	fs_trace --ret "$FIXTURES/nest:nest_dive" -- "$FIXTURES/nest" deep 50
	assert_eq calls 51 "$(rows type=call | wc -l)"
	measure trace --ret "$FIXTURES/jumps:jump_down" -- "$FIXTURES/jumps" 5 7 11
	assert_eq seen 125 "$(summary seen)"
	assert_eq "returned" 90 "$(rows type=call | grep -c '"duration_ns":[0-9]')"
}

# bats test_tags=once,deep
@test "USDT arguments: registers, memory, constants, signs" {
	for via in $(ways); do
		fs_trace --via "$via" "u:$FIXTURES/usdtargs:args \"%d|%s|%u|%d|%d\", arg1, arg2, arg3, arg4, arg5" -- "$FIXTURES/usdtargs" 3
		expect '0|item 0|4000000000|42|-3' '-1|item 1|4000000001|42|-3' '-2|item 2|4000000002|42|-3'
		assert_eq kind usdt "$(values kind type=call | sort -u)"
	done
	fs_trace "u:$FIXTURES/usdtargs:args (arg1 < 0 && STRCMP(\"item 2\", arg2)) \"%d\", arg1" -- "$FIXTURES/usdtargs" 4
	expect -2
}

# bats test_tags=guest,deep
@test "a tracepoint's fields by name" {
	need_tracepoints
	fs_trace 't:syscalls:sys_enter_prctl (args->option == 15) "%d %s", args->option, args->arg2' -- "$FIXTURES/syscalls" 3
	expect '15 fixcaller'
	fs_trace 't:syscalls:sys_exit_getppid "%d", args->ret > 0' -- "$FIXTURES/syscalls" 2
	expect 1 1
	fs_trace --no-follow 't:sched:sched_process_fork "%s %s", args->parent_comm, args->child_comm' -- "$FIXTURES/forks" 3 2
	expect 'forks forks' 'forks forks'
}

@test "several probes: lines are in the order of time" {
	fs_trace "$FIXTURES/strings:say \"say %d\", arg2" "$FIXTURES/strings:whisper \"whisper %d\", arg2" -- "$FIXTURES/strings" 3
	expect 'whisper 0' 'say 0' 'say 1' 'say 2'
}

# All there means: every number is there, each thread's in rising order, all in the order of time; whatever is not, the summary counts.
all_there() {
	local said kept
	kept=$(summary kept)
	said=$(jq -r 'select(.type == "call" and .function == "say") | 1' out | wc -l)
	assert_eq "seen" "$1" "$(summary seen)"
	jq -r 'select(.type == "call") | "\(.time_ns) \(.tid) \(.function) \(.message)"' out >lines
	awk '$1 < last { print "time goes back at line " NR; exit 1 } { last = $1 }' lines
	awk '$3 == "say" { if ($2 in last && $NF <= last[$2]) { print "out of order at line " NR; exit 1 } last[$2] = $NF }' lines
	awk '$3 == "say" && $(NF - 1) != $NF { print "wrong text at line " NR ": " $0; exit 1 }' lines
	assert_eq "different lines" "$said" "$(awk '$3 == "say" { print $NF }' lines | sort -un | wc -l)"
	assert_eq "lines" "$kept" "$(wc -l <lines)"
}

@test "100,000 lines with strings: complete and in order, or counted" {
	not_in_guest
	fs_trace "$FIXTURES/strings:say \"%s %d\", arg1, arg2" -- "$FIXTURES/strings" 100000
	all_there 100000
}

@test "100,000 lines of four threads" {
	not_in_guest
	fs_trace "$FIXTURES/strings:say \"%s %d\", arg1, arg2" -- "$FIXTURES/strings" 100000 4
	all_there 100000
}

@test "a few thousand lines in a guest, too" {
	[[ -n ${IN_VM:-} ]] || skip "the host takes a hundred thousand"
	fs_trace "$FIXTURES/strings:say \"%s %d\", arg1, arg2" -- "$FIXTURES/strings" 3000 2
	assert_eq seen 3000 "$(summary seen)"
}

@test "a flood on one probe does not hide another" {
	not_in_guest
	fs_trace "$FIXTURES/strings:say \"%s\", arg1" "$FIXTURES/strings:whisper \"%s\", arg1" -- "$FIXTURES/strings" 100000 2
	assert_eq seen 100100 "$(summary seen)"
	assert_eq whispers 100 "$(grep -c '"function":"whisper"' out)"
}

@test "-M: so many, and the run ends" {
	start_runner
	ask spin
	fs_ok trace -f json -M 10 -p "$RUNNER" "$FIXTURES/runner:work"
	assert_eq calls 10 "$(rows type=call | wc -l)"
	ask stop
}

@test "--sample: one in so many" {
	fs_trace --sample 10 "$FIXTURES/strings:say \"%d\", arg2" -- "$FIXTURES/strings" 1000
	assert_eq calls 100 "$(rows type=call | wc -l)"
}

@test "-U: where from" {
	fs_trace -U "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains" 1 1
	assert_match first "$(rows type=call | sed -n 1p)" '"user_stack":\["chain_leaf[^"]*","chain_c[^"]*","chain_b[^"]*","chain_a[^"]*","main'
	fs_ok trace -U -o data "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains" 1 0
	assert_match text "$(<data)" $'chain_c[^\n]*\n +chain_b[^\n]*\n +chain_a[^\n]*\n +main'
}

@test "-K: a tracepoint's kernel stack" {
	need_tracepoints
	fs_trace -K t:sched:sched_switch -M 5 -- "$FIXTURES/timed" sleep 1000 20
	assert_match frames "$(rows type=call | head -n 1)" '"kernel_stack":\[.*schedule'
}

@test "-p, -t, --comm" {
	start_runner
	ask workers 2
	read -r one two <<<"$ANSWER"
	arm_as trace -f json -t "$one" "$FIXTURES/runner:work \"x\""
	ask on 0 3
	ask on 1 5
	finish
	assert_eq "of one thread" 3 "$(rows type=call "tid=$one" | wc -l)"
	assert_eq "of the other" 0 "$(rows type=call "tid=$two" | wc -l)"
	ask name fixname
	arm_as trace -f json --comm fixname "$FIXTURES/runner:work \"x\""
	ask go 4
	finish
	assert_eq "of that name" 4 "$(rows type=call comm=fixname | wc -l)"
}

@test "lines come while it runs" {
	start_runner
	arm_as trace -f json -p "$RUNNER" "$FIXTURES/runner:work \"x\""
	ask go 3
	eventually came 3
	ask go 2
	eventually came 5
	finish
}

came() {
	(($(grep -c '"type":"call"' "$TMP/out") == $1))
}

# bats test_tags=guest,deep
@test "a kernel function: arguments, return value, on each rung" {
	need_kernel_functions
	fs_trace "$(system_call getppid) \"x\"" -- "$FIXTURES/syscalls" 5
	expect x x x x x
	for via in $(kernel_ways); do
		[[ $via != best ]] || continue
		fs_trace --via "$via" --comm fixcaller "r::$(system_call getppid) \"%d\", retval > 0" -- "$FIXTURES/syscalls" 5
		expect 1 1 1 1 1
	done
}

# bats test_tags=once,deep
@test "a kernel function: a string of the user's, a predicate, joined with its return" {
	need_kernel_functions
	fs_trace --ret 'do_sys_openat2 (STRCMP("/proc/self/stat", arg2)) "%s", arg2' -- bash -c 'read -r x </proc/self/stat'
	expect /proc/self/stat
	(($(values ret type=call) >= 3)) || fail "returned $(values ret type=call)"
	fs_trace 'ksys_read (arg3 == 4321) "%d bytes", arg3' -- dd if=/dev/zero of=/dev/null bs=4321 count=2
	expect '4321 bytes' '4321 bytes'
}

# bats test_tags=once,deep
@test "a kernel function's types" {
	need_kernel_functions
	[[ -e /sys/kernel/btf/vmlinux ]] || skip "this kernel has no BTF"
	fs_ok trace -o data -M 1 vfs_read -- "$FIXTURES/syscalls" 3
	assert_match names "$(<data)" 'file=.*buf=.*count=[0-9]+'
	fs_trace 'vfs_open(struct path *path) "%s", path->dentry->d_name.name' -- bash -c 'read -r x </proc/self/stat'
	assert_match path "$(messages)" $'(^|\n)stat(\n|$)'
}

@test "a library that funcscope itself uses: a warning, unless the probes are limited to a process" {
	local libc
	ldd "$FUNCSCOPE" >libs || skip "a static program"
	libc=$(awk '/libc\.so/ { print $3 }' libs)
	fs_ok trace -d 0.01 --comm nobody "$libc:lfind"
	assert_match warning "$(<err)" "funcscope itself uses .*libc.*, and the probes slow it down"
	fs_ok trace -d 0.01 -p $$ "$libc:lfind"
	refute_match warning "$(<err)" "funcscope itself uses"
}

# bats test_tags=guest
@test "-U --dwarf: programs without frame pointers, at the entry, with the return, on each rung" {
	for via in $(ways); do
		for how in "" --ret --tree; do
			# shellcheck disable=SC2086 # none, or one word
			fs_ok trace --via "$via" -U --dwarf $how -f json "$FIXTURES/chains-nofp:chain_leaf" -- "$FIXTURES/chains-nofp" 20 10
			assert_eq "over chain_a by $via $how" 20 "$(rows type=call | grep -c '"user_stack":\["chain_leaf","chain_c","chain_b","chain_a","main"')"
			assert_eq "over chain_x by $via $how" 10 "$(rows type=call | grep -c '"user_stack":\["chain_leaf","chain_x","main"')"
		done
	done
	fs_error 2 'needs -U' trace --dwarf "$FIXTURES/chains-nofp:chain_leaf" -d 0.1
}
