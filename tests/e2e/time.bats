# time: durations against what the fixtures measured themselves around the same calls, on each rung; exactness under recursion, threads, longjmp,
# exceptions, tail calls and calls in flight; kernel functions. Nothing here depends on how long a sleep really takes. What is
# printed is in time_output.bats.
load common
load measure

setup_file() { "$FUNCSCOPE" doctor -f json >"$BATS_FILE_TMPDIR/doctor"; }
setup() { e2e_setup; }
teardown() { e2e_teardown; }

# bats test_tags=guest,long,deep
@test "percentiles of a mixed distribution, on each rung" {
	for via in $(ways); do
		fs_time --via "$via" --raw "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" mix 1000
		agrees timed_call
		encloses timed_call
	done
}

@test "calls that sleep" {
	fs_time --raw "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" sleep 700 60
	agrees timed_call
	encloses timed_call
}

@test "calls that use the CPU" {
	fs_time --raw "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" spin 300 60
	agrees timed_call
	encloses timed_call
}

@test "threads at once, by thread: each agrees with its own measurement" {
	fs_time --by tid "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" threads 400 25 4
	assert_eq threads 4 "$(distinct tid)"
	while read -r tid; do
		agrees timed_call 0 "tid=$tid"
	done < <(values tid)
}

@test "8 threads that do nothing else: every call is timed" {
	fs_time "$FIXTURES/threads:work" -- "$FIXTURES/threads" 8011 8
	assert_eq calls 8011 "$(latency count work)"
	assert_eq kept 8011 "$(summary kept)"
}

@test "a function inside a function inside a function: inclusive and self time" {
	for via in $(ways); do
		fs_time --via "$via" --self --raw "$FIXTURES/nest:nest_?" -- "$FIXTURES/nest" chain 500 20
		agrees nest_f 2
		agrees nest_g 1
		agrees nest_h
		for function in nest_f nest_g nest_h; do
			encloses "$function"
			within "self time of $function" "$(truth low_self_ns "$function")" "$(latency self_total_ns "$function")" \
				"$(truth high_self_ns "$function")" $(($(latency floor_ns "$function") * 60))
		done
		assert_eq "self of a leaf" "$(latency total_ns nest_h)" "$(latency self_total_ns nest_h)"
	done
}

# bats test_tags=guest
@test "short functions inside each other: none takes less than what it calls" {
	local way
	for way in "--via best" "--via single" --self "--calls-in hash"; do
		# shellcheck disable=SC2086 # words
		fs_time --raw $way "$FIXTURES/shorts:short_*" -- "$FIXTURES/shorts" 300 10
		assert_eq "$way: calls" "300 3000 3000" "$(latency count short_call) $(latency count short_set) $(latency count short_hash)"
		sums_nest "$way" short_call short_set short_hash
	done
}

# sums_nest WHAT FUNCTION...: the sum of each is no less than that of the next; by the buckets, where the sum is too short to be told.
sums_nest() {
	local what=$1 function last= this
	for function in "${@:2}"; do
		this=$(latency total_ns "$function")
		[[ $this != null ]] || this=0
		[[ -z $last ]] || ((last >= this)) || fail "$what: $function takes $this, its caller $last"
		last=$this
	done
}

@test "self time is only what probed callees take away" {
	fs_time --self "$FIXTURES/nest:nest_f" -- "$FIXTURES/nest" chain 300 5
	assert_eq "self time" "$(latency total_ns nest_f)" "$(latency self_total_ns nest_f)"
}

# bats test_tags=guest,long,deep
@test "recursion to depth 50 is exact to the call, on each rung" {
	for via in $(ways); do
		fs_time --via "$via" --raw "$FIXTURES/nest:nest_dive" -- "$FIXTURES/nest" deep 50 20 3
		assert_eq "calls" 153 "$(latency count nest_dive)"
		assert_eq "seen" 153 "$(summary seen)"
		assert_eq "unmatched returns" 0 "$(summary unmatched_returns)"
		encloses nest_dive
	done
}

# 2000 entries cost more than 200 hits, whatever a hit costs; the 64 calls that are kept cost less.
@test "recursion deeper than is kept: the caller does not seem to have spent what its probes cost" {
	local how
	for how in "" "--via single" "--returns instructions"; do
		# shellcheck disable=SC2086 # options
		fs_ok time -f json --raw $how "$FIXTURES/recurse:main" "$FIXTURES/recurse:dive" -- "$FIXTURES/recurse" 2000
		jq -s -e '(map(select(.function == "main"))[0] | .raw_total_ns - .total_ns) > 200 * last.cost.ns_per_hit' \
			"$TMP/out" || fail "$how: $(<"$TMP/out")"
	done
}

@test "recursion in several threads at once" {
	fs_time --raw "$FIXTURES/nest:nest_dive" -- "$FIXTURES/nest" deep 30 20 3 4
	assert_eq "calls" 372 "$(latency count nest_dive)"
	assert_eq "unmatched returns" 0 "$(summary unmatched_returns)"
}

# bats test_tags=guest,deep
@test "mutual recursion is exact to the call, on each rung" {
	for via in $(ways); do
		fs_time --via "$via" --raw "$FIXTURES/nest:nest_even" "$FIXTURES/nest:nest_odd" -- "$FIXTURES/nest" mutual 50 20 3
		assert_eq even 78 "$(latency count nest_even)"
		assert_eq odd 75 "$(latency count nest_odd)"
		encloses nest_even
		encloses nest_odd
		assert_eq "unmatched returns" 0 "$(summary unmatched_returns)"
	done
}

# bats test_tags=once,deep
@test "longjmp: calls that never return are named, and spoil no other" {
	for via in $(ways); do
		fs_time --via "$via" --raw "$FIXTURES/jumps:jump_down" -- "$FIXTURES/jumps" 5 7 11
		assert_eq seen 125 "$(summary seen)"
		assert_eq calls 90 "$(latency count jump_down)"
		assert_eq unreturned 35 "$(lost unreturned)"
		encloses jump_down
		assert_eq "unmatched returns" 0 "$(summary unmatched_returns)"
	done
}

@test "longjmp: 200 calls left at one place do not use up the room for others" {
	for via in $(ways); do
		fs_time --via "$via" --raw "$FIXTURES/jumps:jump_down" -- "$FIXTURES/jumps" 2 200 5
		assert_eq calls 410 "$(latency count jump_down)"
		assert_eq unreturned 400 "$(lost unreturned)"
		assert_eq "too deep" 0 "$(lost too_deep)"
	done
}

@test "longjmp: the function jumped to is timed, the one that jumps is not" {
	fs_time "$FIXTURES/jumps:jump_home" "$FIXTURES/jumps:jump_now" -- "$FIXTURES/jumps" 3 9 1
	assert_eq home 9 "$(latency count jump_home)"
	assert_match refused "$(summary refused_functions)" 'jump_now","why":"it never returns'
}

# bats test_tags=once,deep
@test "exceptions through timed functions: the program goes on, what returned is timed" {
	for via in $(ways); do
		fs_time --via "$via" "$FIXTURES/throws:throw_*" -- "$FIXTURES/throws" 100 40
		refute_match "the program's end" "$(<err)" 'signal|status'
		assert_match "the program's own count" "$(<truth)" '"returned":60,"threw":40'
		for function in throw_outer throw_middle throw_leaf; do
			assert_eq "$function" 60 "$(latency count "$function")"
		done
		assert_eq unreturned 120 "$(lost unreturned)"
	done
}

@test "exceptions and cancelled threads of a C++ program, through functions of a C library" {
	local words
	"$FIXTURES/throwsback" >plain || true
	assert_match "untraced" "$(<plain)" '^caught 5, returned 5, destroyed 3$'
	for words in "time $FIXTURES/libback.so:back_*" "time --self $FIXTURES/libback.so:back_*" \
		"trace --ret $FIXTURES/libback.so:back_call" "count r:$FIXTURES/libback.so:back_*"; do
		# shellcheck disable=SC2086 # several words
		fs $words -o books -- "$FIXTURES/throwsback"
		assert_eq "status of $words: $(<err)" 0 "$status"
		assert_match "$words" "$(<out)$(<err)" "exited with status 7"
		assert_match "$words" "$(<out)" '^caught 5, returned 5, destroyed 3'
	done
}

# bats test_tags=guest,deep
@test "coroutines work while their own functions, or a library's, are timed" {
	local words via program
	for via in $(ways); do
		for program in turns turns-altstack turns-hand; do
			for words in "time --via $via $FIXTURES/$program:turn" "time --via $via --self $FIXTURES/libback.so:back_call" \
				"count --via $via r:$FIXTURES/$program:turn" "trace --via $via --ret $FIXTURES/libback.so:back_call"; do
				# shellcheck disable=SC2086 # several words
				fs $words -o books -- "$FIXTURES/$program"
				assert_match "$words, $program: $(<err)" "$(<out)$(<err)" "exited with status 7"
				assert_match "$words, $program" "$(<out)" '^turned 30'
			done
		done
	done
}

# bats test_tags=guest,deep
@test "exceptions of a C++ library through a C program, which is linked with it or loads it" {
	local words program how
	for how in $(ways) no-follow; do
		for program in plugged plugged-linked; do
			for words in "time " "trace --ret " "stack --weight time " "count r:"; do
				# shellcheck disable=SC2086 # several words
				if [[ $how == no-follow ]]; then
					fs ${words% *} --no-follow -o books "${words##* }$FIXTURES/$program:carry" \
						"${words##* }$FIXTURES/libback.so:back_call" -- "$FIXTURES/$program"
				else
					fs ${words% *} --via "$how" -o books "${words##* }$FIXTURES/$program:carry" -- "$FIXTURES/$program"
				fi
				assert_match "$words$how $program: $(<err)" "$(<out)$(<err)" "exited with status 7"
				assert_match "$words$how $program" "$(<out)" '^carried 5, caught 5'
			done
		done
	done
}

@test "exceptions through functions of a C interface that end in a jump" {
	local words
	"$FIXTURES/handing" >plain
	for words in "time " "trace --ret " "stack --weight time " "count r:"; do
		# shellcheck disable=SC2086 # several words
		fs ${words% *} -o books "${words##* }$FIXTURES/handing:hand_*" -- "$FIXTURES/handing"
		assert_eq "$words: $(<err)" "$(<plain)" "$(<out)"
	done
}

@test "exceptions of a C++ library through a running C program, loaded before or after the probes" {
	local command
	for command in "time" "trace --ret"; do
		start_runner "$FIXTURES/plugged" ask
		# shellcheck disable=SC2086 # several words
		arm_as $command -p "$RUNNER" "$FIXTURES/plugged:carry"
		ask load
		ask go
		assert_eq "$command, loaded after" "carried 5, caught 5" "$WORD $ANSWER"
		finish
		# shellcheck disable=SC2086 # several words
		arm_as $command -p "$RUNNER" "$FIXTURES/plugged:carry"
		ask go
		assert_eq "$command, loaded before" "carried 5, caught 5" "$WORD $ANSWER"
		finish
		# shellcheck disable=SC2086 # several words
		arm_as $command "$FIXTURES/plugged:carry"
		ask go
		assert_eq "$command, all processes" "carried 5, caught 5" "$WORD $ANSWER"
		finish
		stop_runner
	done
}

runs() {
	[[ $(readlink "/proc/$1/exe") == */"$2" ]]
}

# Its loader waits for a library that is no library, before it maps the others.
@test "exceptions of a C++ library through a C library of a process that has mapped neither yet" {
	local pid status=0
	mkfifo gate
	LD_PRELOAD=$TMP/gate "$FIXTURES/plugged-linked" >told 2>/dev/null 3>&- &
	pid=$!
	PIDS+=("$pid")
	eventually runs "$pid" plugged-linked
	arm_as time -p "$pid" "$FIXTURES/libback.so:back_call"
	: >gate
	wait "$pid" || status=$?
	assert_eq "status: $(<told)" 7 "$status"
	join
}

@test "a function whose end is not known: refused if exceptions may pass, not if they might come later" {
	local how
	fs_error 1 'unsized.*return instructions cannot be found.*--returns trampoline' \
		time "$FIXTURES/plugged-linked:unsized" -- "$FIXTURES/plugged-linked"
	for how in plugged plugged-linked; do
		fs_error 1 'unsized.*return instructions cannot be found.*--returns best' \
			time --returns instructions "$FIXTURES/$how:unsized" -- "$FIXTURES/$how"
	done
	for how in "--returns trampoline $FIXTURES/plugged-linked" "--returns best $FIXTURES/plugged"; do
		# shellcheck disable=SC2086 # several words
		fs time -f json -o books ${how% *} "${how##* }:unsized" -- "${how##* }"
		assert_match "$how: $(<err)" "$(<out)$(<err)" "exited with status 7"
		cp books out
		assert_eq "$how" 1 "$(latency count unsized)"
	done
}

@test "a program that looks at its stack finds all its frames" {
	local words
	"$FIXTURES/frames" >plain || true
	for words in "time " "trace --ret " "count r:"; do
		# shellcheck disable=SC2086 # several words
		fs ${words% *} -o books "${words##* }$FIXTURES/frames:frames_*" -- "$FIXTURES/frames"
		assert_match "$words: $(<err)" "$(<out)$(<err)" "exited with status 7"
		assert_match "$words" "$(<out)" "^$(<plain)"
	done
}

@test "tail calls: each function has its own time" {
	for via in $(ways); do
		fs_time --via "$via" --raw "$FIXTURES/tails:tail_?" -- "$FIXTURES/tails" 40 300
		agrees tail_f 2
		agrees tail_g 1
		agrees tail_h
		for function in tail_f tail_g tail_h; do encloses "$function"; done
		assert_eq "unmatched returns" 0 "$(summary unmatched_returns)"
	done
}

@test "a call in flight when the probes come is no latency" {
	start_runner "$FIXTURES/inflight"
	ask enter
	arm_as time -f json -p "$RUNNER" "$FIXTURES/inflight:linger"
	ask leave
	ask go 5
	finish
	closed latency
	assert_eq calls 5 "$(latency count linger)"
	assert_eq seen 5 "$(summary seen)"
	(($(summary unmatched_returns) <= 1)) || fail "$(summary unmatched_returns) unmatched returns"
	ask go 3
	assert_eq "the target's own total" 9 "$ANSWER"
}

@test "a call in flight when the probes go is named, and goes on" {
	start_runner "$FIXTURES/inflight"
	arm_as time -f json -p "$RUNNER" "$FIXTURES/inflight:linger"
	ask enter
	ask enter
	ask go 5
	finish
	closed latency
	assert_eq calls 5 "$(latency count linger)"
	assert_eq seen 7 "$(summary seen)"
	assert_eq unreturned 2 "$(lost unreturned)"
	ask leave
	ask leave
	assert_eq "the target's own total" 7 "$ANSWER"
}

@test "both at once: one leaves that came before, one stays that came after" {
	start_runner "$FIXTURES/inflight"
	ask enter
	arm_as time -f json --via single -p "$RUNNER" "$FIXTURES/inflight:linger"
	ask enter
	ask leave
	ask go 2
	finish
	closed latency
	assert_eq calls 2 "$(latency count linger)"
	assert_eq unreturned 1 "$(lost unreturned)"
}

@test "a function that begins with a 5-byte nop, and forks" {
	need_fixture nop5forks
	fs_time "$FIXTURES/nop5forks:work" -- "$FIXTURES/nop5forks" 503 3
	assert_eq calls 503 "$(latency count work)"
	assert_match "stderr" "$(<err)" 'survived 3 of 3'
}

# bats test_tags=guest,long,deep
@test "a child forked inside a timed function returns from what it did not enter" {
	local how
	for how in $(ways | sed 's/^/--via=/') --self; do
		fs_time "$how" "$FIXTURES/forkinside:fork_inside" -- "$FIXTURES/forkinside" 20
		assert_eq "calls ($how)" 20 "$(latency count fork_inside)"
		assert_eq "returns of children ($how)" 20 "$(summary unmatched_returns)"
	done
}

@test "a running process: only what it calls meanwhile" {
	start_runner
	ask go 11
	arm_as time -f json -p "$RUNNER" "$FIXTURES/runner:work"
	ask go 307
	finish
	ask go 5
	closed latency
	latencies_add_up
	assert_eq calls 307 "$(latency count work)"
}

@test "--slow: how many, and the calls with arguments, return value and stack" {
	fs_time --slow 3ms "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" sleep 5000 4
	assert_eq slow 4 "$(latency slow timed_call)"
	assert_eq "calls kept" 4 "$(rows type=call slow=true | wc -l)"
	rows type=call >calls
	while read -r line; do
		assert_eq function timed_call "$(field function "$line")"
		assert_eq comm timed "$(field comm "$line")"
		assert_eq tid "$(truth tid timed_call)" "$(field tid "$line")"
		assert_match arguments "$line" '"args":\[\{"name":"[a-z_]+","value":5000\}'
		refute_match registers "$line" '"args":\[[0-9]'
		assert_eq returned 5000 "$(field ret "$line")"
		(($(field duration_ns "$line") >= 3000000)) || fail "too short: $line"
		assert_match stack "$line" '"stack":\["timed_call'
		assert_match stack "$line" '"main'
	done <calls
}

# bats test_tags=once,deep
@test "--off-cpu: asleep is not running" {
	need_tracepoints
	fs_time --off-cpu "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" sleep 2000 20
	slack=$(($(latency floor_ns timed_call) * 20))
	off=$(latency off_cpu_ns timed_call) on=$(latency on_cpu_ns timed_call) total=$(latency total_ns timed_call)
	low=$(($(truth low_total_ns timed_call) - $(truth high_cpu_ns timed_call)))
	high=$(($(truth high_total_ns timed_call) - $(truth low_cpu_ns timed_call)))
	# what is charged to the thread while it goes to sleep and wakes up, the scheduler's own time, lies on either side
	slack=$((slack + $(truth high_cpu_ns timed_call)))
	within "off CPU" "$low" "$off" "$high" "$slack"
	within "on and off CPU" "$total" $((on + off)) "$total" "$slack"
}

@test "--off-cpu: running is not asleep" {
	need_tracepoints
	fs_time --off-cpu "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" spin 1000 20
	on=$(latency on_cpu_ns timed_call)
	within "on CPU" "$(truth low_cpu_ns timed_call)" "$on" "$(truth high_total_ns timed_call)" \
		$(($(latency floor_ns timed_call) * 20))
}

# bats test_tags=guest,long
@test "a kernel function: exact calls on each rung" {
	need_kernel_functions
	function=$(system_call getppid)
	for via in $(kernel_ways); do
		fs_time --via "$via" "$function" -- "$FIXTURES/syscalls" 211
		assert_eq "calls by $via" 211 "$(latency count "$function")"
		assert_eq "kind" kprobe "$(latency kind "$function")"
		assert_eq "unmatched returns" 0 "$(summary unmatched_returns)"
	done
}

# The fixture measures around the system call; a sleep is never shorter than asked for.
# bats test_tags=guest,deep
@test "a kernel function that sleeps: percentiles on each rung" {
	need_kernel_functions
	function=$(system_call clock_nanosleep)
	for via in $(kernel_ways); do
		fs_time --via "$via" "$function" -- "$FIXTURES/timed" sleep 3000 40
		assert_eq "calls by $via" 40 "$(latency count "$function")"
		floor=$(latency floor_ns "$function")
		for key in min p50 p90 p99 p999 max; do
			within "$key by $via" 3000000 "$(latency "${key}_ns" "$function")" "$(truth "high_${key}_ns" timed_call)" "$floor"
		done
	done
}

# bats test_tags=once
@test "kernel functions inside each other: inclusive and self time" {
	need_kernel_functions
	function=$(system_call clock_nanosleep)
	fs_time --self "$function" do_nanosleep -- "$FIXTURES/timed" sleep 3000 20
	outer=$(latency total_ns "$function") inner=$(latency total_ns do_nanosleep)
	slack=$(($(latency floor_ns "$function") * 40))
	((outer + slack >= inner)) || fail "$outer outside, $inner inside"
	within "self time" $((outer - inner)) "$(latency self_total_ns "$function")" $((outer - inner)) "$slack"
}

# bats test_tags=guest
@test "a user function and the kernel function below it in one run" {
	need_kernel_functions
	function=$(system_call clock_nanosleep)
	fs_time "$FIXTURES/timed:timed_call" "$function" -- "$FIXTURES/timed" sleep 3000 20
	assert_eq user 20 "$(latency count timed_call)"
	assert_eq kernel 20 "$(latency count "$function")"
	agrees timed_call 1
}
