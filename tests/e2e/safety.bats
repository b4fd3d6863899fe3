# Nothing done here may hurt the target: forks on 5-byte nops, SIGKILL in mid-run, probes gone afterwards.
load common

setup() { e2e_setup; }
teardown() { e2e_teardown; }

@test "a forking target with 5-byte nops loses no child" {
	need_fixture nop5forks
	fs_json "$FIXTURES/nop5forks:work" -- "$FIXTURES/nop5forks" 2003 20
	assert_calls work 2003
	assert_match survivors "$(<err)" 'survived 20 of 20'
}

@test "a forking target with 5-byte nops, returns and --via single" {
	need_fixture nop5forks
	fs_json "r:$FIXTURES/nop5forks:work" -- "$FIXTURES/nop5forks" 1009 20
	assert_calls work 1009
	assert_match survivors "$(<err)" 'survived 20 of 20'
	fs_json --via single "$FIXTURES/nop5forks:work" -- "$FIXTURES/nop5forks" 1009 20
	assert_calls work 1009
	assert_match survivors "$(<err)" 'survived 20 of 20'
}

@test "--fast-uprobes warns where a forked child would die" {
	need_fixture nop5forks
	[[ $(doctor_says 'fast uprobe, fork') == false && $(doctor_says 'fast uprobe') == true ]] ||
		skip "forked children do not die of fast uprobes on this kernel"
	fs_json --fast-uprobes "$FIXTURES/nop5forks:work" -- "$FIXTURES/nop5forks" 101 0
	assert_calls work 101
	assert_match warning "$(<err)" 'fast-uprobes.*(child|fork)'
}

@test "--fast-uprobes says so where it changes nothing" {
	fs_json --fast-uprobes "$FIXTURES/calls:work" -- "$FIXTURES/calls" 101
	assert_match note "$(<err)" 'changes nothing'
}

restored() {
	[[ $(memory_at "$RUNNER" "$ADDRESS") == "$ORIGINAL" ]]
}

# bats test_tags=guest
@test "the probe is in the target's code while counting, and gone after" {
	start_runner
	ORIGINAL=$(memory_at "$RUNNER" "$ADDRESS")
	arm -f json -p "$RUNNER" :work
	ask go 11
	! restored || fail "no probe is in the code: this test could not fail"
	finish
	assert_calls work 11
	eventually restored
	ask go 11
	assert_eq total 22 "$ANSWER"
}

# bats test_tags=once,deep
@test "SIGKILL in mid-run leaves the target running and no probe behind (KILLS times)" {
	cp "$FIXTURES/runner" target
	start_runner "$TMP/target"
	ORIGINAL=$(memory_at "$RUNNER" "$ADDRESS")
	ask spin
	for ((i = 0; i < ${KILLS:-10}; i++)); do
		# one process, or all: the links differ
		if ((i % 2)); then scope=(-p "$RUNNER"); else scope=(); fi
		if ((i % 3 == 2)); then scope+=(--by tid "r:$TMP/target:work"); fi
		arm -f json "${scope[@]}" "$TMP/target:work"
		ask total
		before=$ANSWER
		while ((ANSWER == before)); do ask total; done
		! restored || fail "no probe is in the code: this test could not fail"
		kill -KILL "$FS"
		wait "$FS" || true
		eventually restored
		ask total
		before=$ANSWER
		while ((ANSWER == before)); do ask total; done
	done
	ask stop
	ask go 7
	# a new process of the same file has no probe in it either
	stop_runner
	start_runner "$TMP/target"
	assert_eq "code of a new process" "$ORIGINAL" "$(memory_at "$RUNNER" "$ADDRESS")"
}

# bpf_ids PID KIND: the numbers of the BPF objects (prog, map, link) it holds.
bpf_ids() {
	sed -n "s/^$2_id:[[:space:]]*//p" "/proc/$1/fdinfo/"* 2>/dev/null | sort -un
}

all_gone() {
	local kind=$1 id
	shift
	for id; do
		! bpftool "$kind" show id "$id" >/dev/null 2>&1 || return 1
	done
}

# bats test_tags=guest
@test "SIGKILL leaves no BPF object behind" {
	cp "$FIXTURES/runner" target
	start_runner "$TMP/target"
	arm -p "$RUNNER" --follow "$TMP/target:work"
	links=$(bpf_ids "$FS" link) progs=$(bpf_ids "$FS" prog) maps=$(bpf_ids "$FS" map)
	[[ -n $links && -n $progs && -n $maps ]] || fail "no BPF object is open: this test could not fail"
	if [[ -z ${IN_VM:-} ]]; then
		need_command bpftool
		# shellcheck disable=SC2086 # several numbers
		! all_gone link $links || fail "bpftool does not see the links: this test could not fail"
	fi
	kill -KILL "$FS"
	wait "$FS" || true
	if [[ -n ${IN_VM:-} ]]; then
		assert_eq "held by others" '' "$(find /proc/[0-9]*/fd -lname 'anon_inode:bpf*' 2>/dev/null)"
		return
	fi
	# shellcheck disable=SC2086 # several numbers
	{
		eventually all_gone link $links
		eventually all_gone prog $progs
		eventually all_gone map $maps
	}
}

@test "SIGKILL while a command is held or running: the command goes on or was never begun" {
	arm -f json "$FIXTURES/runner:work" -- bash -c "echo \$\$ >$TMP/pid; until [[ -e $TMP/go ]]; do read -t 0.05 <> <(:) || true; done; touch $TMP/ended"
	eventually test -s pid
	kill -KILL "$FS"
	wait "$FS" || true
	kill -0 "$(<pid)"
	touch go
	eventually test -e ended
}

@test "Ctrl-C ends the command as well: it is not said to go on" {
	not_in_guest
	local child
	arm_as count "$FIXTURES/calls:work" -- sleep 30
	child=$(pgrep -P "$FS")
	kill -INT "$FS"
	kill -TERM "$child" # as the terminal does, to both
	join
	assert_match "how it ended" "$(<err)" "'sleep' was killed by signal 15"
	refute_match "how it ended" "$(<err)" 'goes on'
	arm_as count "$FIXTURES/calls:work" -- sleep 30
	child=$(pgrep -P "$FS")
	finish
	assert_match "left alone" "$(<err)" "process $child\) continues without probes"
	kill "$child"
}

@test "attaching and leaving 20 times under running threads does no harm" {
	start_runner
	ask spin
	for ((i = 0; i < 20; i++)); do
		arm -f json -p "$RUNNER" :work
		finish
	done
	ask stop
	ask go 11
	[[ $WORD == done ]] || fail "the runner is gone"
}

# bats test_tags=once
@test "an exec of another program in the target ends nothing" {
	fs_json "$FIXTURES/calls:work" -- bash -c "exec $FIXTURES/calls 101"
	assert_calls work 101
}

@test "many short-lived processes of one file, all counted" {
	cp "$FIXTURES/calls" mine
	arm -f json "$TMP/mine:work"
	for ((i = 0; i < 20; i++)); do "$TMP/mine" 53; done
	finish
	assert_calls work 1060
}

# A pipe that nobody reads: `less` at its first page, a terminal that was stopped.
@test "output that nobody reads: a signal ends it all the same" {
	local pid status=0 full
	mkfifo out.pipe told
	python3 - out.pipe >told 3>&- <<-'END' &
		import array, fcntl, sys, termios, time
		left = array.array("i", [0])
		with open(sys.argv[1]) as f:
		    while left[0] < 60000:
		        fcntl.ioctl(f, termios.FIONREAD, left)
		        time.sleep(0.01)
		    print("full", flush=True)
		    time.sleep(600)
	END
	PIDS+=("$!")
	"$FUNCSCOPE" trace "$FIXTURES/calls:work" -- "$FIXTURES/calls" 20000 >out.pipe 2>err 3>&- &
	pid=$!
	PIDS+=("$pid")
	read -r full <told
	assert_eq "the pipe" full "$full"
	gone() { kill -TERM "$pid" 2>/dev/null; ! [[ -e /proc/$pid ]] || grep -q 'State:.Z' "/proc/$pid/status"; }
	eventually gone
	wait "$pid" || status=$?
	assert_eq "status: $(<err)" 143 "$status"
}
