# Whose calls count: process, thread, name, cgroup, children; which functions: globs, expressions, exclusions.
load common

setup() { e2e_setup; }
teardown() {
	e2e_teardown
	[[ -z ${CGROUP:-} ]] || eventually rmdir "$CGROUP"
}

@test "-p counts that process only" {
	start_runner
	arm -f json -p "$RUNNER" "$FIXTURES/runner:work"
	ask go 101
	"$FIXTURES/runner" <<<'go 5003' >other
	assert_eq "the other runner" 'done 5003' "$(tail -n 1 other)"
	finish
	books_close
	assert_calls work 101
}

@test "without a filter every process counts" {
	cp "$FIXTURES/runner" mine
	start_runner "$TMP/mine"
	arm -f json "$TMP/mine:work"
	ask go 101
	"$TMP/mine" <<<'go 307' >/dev/null
	finish
	books_close
	assert_calls work 408
}

@test "-p twice, and -p 1,2" {
	cp "$FIXTURES/runner" mine
	start_runner "$TMP/mine"
	mkfifo second
	"$TMP/mine" <second >second.out 3>&- 8>&- 9<&- &
	second=$!
	PIDS+=("$second")
	exec 6>second
	arm -f json --by pid -p "$RUNNER" -p "$second" "$TMP/mine:work"
	ask go 101
	echo 'go 211' >&6
	eventually grep -q 'done 211' second.out
	"$TMP/mine" <<<'go 307' >/dev/null
	finish
	books_close
	assert_eq "of the first" 101 "$(calls "pid=$RUNNER")"
	assert_eq "of the second" 211 "$(calls "pid=$second")"
	assert_eq "of all" 312 "$(summary seen)"
	arm -f json -p "$RUNNER,$second" "$TMP/mine:work"
	ask go 3
	finish
	exec 6>&-
	assert_calls work 3
}

# start_pair: two runners of one file: RUNNER, that answers, and SECOND, which goes with `exec 6>&-`.
start_pair() {
	cp "$FIXTURES/runner" mine
	start_runner "$TMP/mine"
	start_second
}

start_second() {
	rm -f second
	mkfifo second
	"$TMP/mine" <second >second.out 3>&- 8>&- 9<&- &
	SECOND=$!
	PIDS+=("$SECOND")
	exec 6>second
}

# cpu_ticks PID: TICKS of CPU time that it has used.
cpu_ticks() {
	local stat
	read -r stat <"/proc/$1/stat"
	read -ra stat <<<"${stat##*) }"
	TICKS=$((stat[11] + stat[12]))
}

# spins PID: whether it uses the CPU as we do here, who do nothing else; however much others leave to both.
spins() {
	local before until
	cpu_ticks "$1"
	before=$TICKS
	cpu_ticks $BASHPID
	until=$((TICKS + 40))
	while ((TICKS < until)); do cpu_ticks $BASHPID; done
	cpu_ticks "$1"
	((TICKS > before + 10))
}

@test "-p 1,2: the end of one leaves the other counted, and the run asleep" {
	start_pair
	arm -f json -p "$RUNNER,$SECOND" "$TMP/mine:work" 6>&-
	ask go 11
	exec 6>&-
	wait "$SECOND"
	! spins "$FS" || fail "it spins after the end of a process"
	ask go 101
	finish
	books_close
	assert_calls work 112
}

@test "-p --follow: the run is asleep while a child of the process that has exited lives, and ends with it" {
	local shell
	cp "$FIXTURES/runner" mine
	mkfifo orders second
	# shellcheck disable=SC2016 # of the other shell
	"$BASH" -c 'read -r; "$1" <second >second.out & read -r; exit 0' shell "$TMP/mine" <orders 3>&- 8>&- 9<&- &
	shell=$!
	PIDS+=("$shell")
	exec 5>orders
	arm -f json -p "$shell" --follow "$TMP/mine:work" 5>&-
	echo start >&5
	exec 6>second
	echo 'go 11' >&6
	eventually grep -q 'done 11' second.out
	echo leave >&5
	exec 5>&-
	wait "$shell"
	! spins "$FS" || fail "it spins after the end of the process"
	echo 'go 101' >&6
	eventually grep -q 'done 112' second.out
	exec 6>&-
	join
	assert_match note "$(<err)" 'the process has exited'
	books_close
	assert_calls work 112
}

@test "-p 1,2: a process that may not be signalled has not ended" {
	start_pair
	chmod 755 "$TMP"
	install -m 755 "$FUNCSCOPE" "$TMP/funcscope"
	FUNCSCOPE=$TMP/capable
	cat >"$FUNCSCOPE" <<-END
		#!/bin/bash
		caps=-all,+bpf,+perfmon,+sys_admin,+sys_ptrace,+dac_read_search
		exec setpriv --reuid=65534 --clear-groups --inh-caps=\$caps --ambient-caps=\$caps $TMP/funcscope "\$@"
	END
	chmod 755 "$FUNCSCOPE"
	arm -f json -p "$RUNNER,$SECOND" "$TMP/mine:work" 6>&-
	ask go 11
	exec 6>&-
	wait "$SECOND"
	! spins "$FS" || fail "it spins after the end of a process"
	ask go 101
	finish
	books_close
	assert_calls work 112
}

@test "-p of a zombie is refused; a process that becomes one has ended" {
	mkfifo in
	# shellcheck disable=SC2016
	bash -c '"$1/runner" <in >out.runner 3>&- & echo $! >pid; exec sleep 1000' - "$FIXTURES" 3>&- &
	PIDS+=("$!") # it never asks for the status of the child it got from the shell
	exec 6>in
	eventually grep -q runner out.runner
	zombie=$(<pid)
	PIDS+=("$zombie")
	arm -f json -p "$zombie" "$FIXTURES/runner:work" 6>&-
	echo 'go 11' >&6
	eventually grep -q 'done 11' out.runner
	exec 6>&-
	eventually grep -q 'State:.Z' "/proc/$zombie/status"
	eventually ended "$FS"
	join
	books_close
	assert_calls work 11
	assert_match note "$(<err)" 'the process has exited'
	fs_error 1 "process $zombie has exited \(a zombie" count -d 1 -p "$zombie" "$FIXTURES/runner:work"
	fs_error 1 "process $zombie has exited \(a zombie" attach "$zombie"
}

@test "snoop and gpu end with a process that becomes a zombie, and refuse one" {
	local how zombie
	for how in "snoop --preset cuda" gpu; do
		rm -f in pid out.runner
		mkfifo in
		# shellcheck disable=SC2016
		bash -c '"$1/runner" <in >out.runner 3>&- & echo $! >pid; exec sleep 1000' - "$FIXTURES" 3>&- &
		PIDS+=("$!") # it never asks for the status of the child it got from the shell
		exec 6>in
		eventually grep -q runner out.runner
		zombie=$(<pid)
		PIDS+=("$zombie")
		# shellcheck disable=SC2086 # a command with its options
		arm_as $how -p "$zombie" 6>&-
		exec 6>&-
		eventually grep -q 'State:.Z' "/proc/$zombie/status"
		eventually ended "$FS"
		join
		assert_match note "$(<err)" 'the process has exited'
		# shellcheck disable=SC2086
		fs_error 1 "process $zombie has exited \(a zombie" $how -p "$zombie"
	done
}

# waits_to_write PID: blocked on stderr, which is full.
waits_to_write() {
	local nr fd rest
	read -r nr fd rest <"/proc/$1/syscall"
	[[ $fd == 0x2 && $nr == 1 ]]
}

@test "-p 1,2: one that ends before the probes are on does not take the other's probes along" {
	[[ $(uname -m) == x86_64 ]] || skip "knows the number of write() on x86-64 only"
	start_pair
	for via in best single; do
		rm -f err
		mkfifo err
		exec 5<>err
		# It says with -v what a hit costs, before it attaches; there it waits until we read.
		dd if=/dev/zero of=err bs=4096 count=16 oflag=nonblock status=none 2>/dev/null || true
		"$FUNCSCOPE" time -v -f json --via "$via" -p "$SECOND,$RUNNER" "$TMP/mine:work" --ready-fd 7 \
			7>armed >out 2>err 3>&- 5>&- 6>&- 8>&- 9<&- </dev/null &
		FS=$!
		PIDS+=("$FS")
		eventually waits_to_write "$FS"
		exec 6>&-
		wait "$SECOND"
		cat <&5 >err.text &
		PIDS+=("$!")
		eventually grep -q armed armed
		ask go 101
		exec 5>&-
		finish
		assert_calls work 101
		assert_eq refused 0 "$(summary refused)"
		start_second
	done
}

# ended PID: a child of ours, waited for or not.
ended() {
	[[ ! -e /proc/$1 ]] || grep -q 'State:.Z' "/proc/$1/status"
}

@test "-p leaves the children out; --follow takes them in" {
	start_runner
	arm -f json -p "$RUNNER" "$FIXTURES/runner:work"
	ask go 11
	ask fork 101
	assert_eq "the child lived" 112 "$ANSWER"
	finish
	books_close
	assert_calls work 11
	arm -f json -p "$RUNNER" --follow --by pid "$FIXTURES/runner:work"
	ask go 11
	ask fork 101
	ask fork 103
	assert_eq "the children lived" 327 "$ANSWER"
	finish
	books_close
	assert_calls work 215
	assert_eq "of the parent" 11 "$(calls "pid=$RUNNER")"
	assert_eq "processes" 3 "$(distinct pid)"
}

@test "-t counts that thread only" {
	start_runner
	ask workers 3
	read -ra tids <<<"$ANSWER"
	arm -f json --by tid -t "${tids[1]}" "$FIXTURES/runner:work"
	ask go 1009
	ask on 0 101
	ask on 1 103
	ask on 2 107
	finish
	books_close
	assert_calls work 103
	assert_eq tid "${tids[1]}" "$(values tid)"
	arm -f json -t "${tids[0]}" -t "${tids[2]}" "$FIXTURES/runner:work"
	ask on 0 101
	ask on 1 103
	ask on 2 107
	finish
	assert_calls work 208
}

@test "--comm counts tasks of that name only" {
	fs_json --comm beta "$FIXTURES/comms:work" -- "$FIXTURES/comms"
	assert_calls work 203
	fs_json --comm bet "$FIXTURES/comms:work" -- "$FIXTURES/comms"
	assert_eq seen 0 "$(summary seen)"
	fs_json --comm $'\033[31mred\n' "$FIXTURES/comms:work" -- "$FIXTURES/comms"
	assert_calls work 307
}

@test "--comm follows a renaming in mid-run" {
	start_runner
	ask name before
	arm -f json --comm after -p "$RUNNER" "$FIXTURES/runner:work"
	ask go 101
	ask name after
	ask go 11
	finish
	assert_calls work 11
}

@test "--by comm, pid, tid, cpu, and combinations" {
	fs_json --by comm "$FIXTURES/comms:work" -- "$FIXTURES/comms"
	assert_eq alpha 101 "$(calls comm=alpha)"
	assert_eq beta 203 "$(calls comm=beta)"
	assert_eq red 307 "$(calls 'comm=\u001b[31mred\u000a')"
	assert_eq quote 11 "$(calls 'comm=comma,\"quote')"
	fs_json --by comm,tid,pid "$FIXTURES/comms:work" -- "$FIXTURES/comms"
	assert_eq "keys of a row" 4 "$(distinct tid)"
	assert_eq "processes" 1 "$(distinct pid)"
	fs_json --by cpu --by comm "$FIXTURES/comms:work" -- "$FIXTURES/comms"
	assert_calls work 622
	cpus=$(values cpu | sort -n | tail -n 1)
	((cpus < $(nproc --all))) || fail "counted on CPU $cpus of $(nproc --all)"
	fs_json --by function "$FIXTURES/comms:work" -- "$FIXTURES/comms"
	assert_calls work 622
	assert_eq rows 1 "$(rows | wc -l)"
}

# Sets CGROUP to a new one of version 2, or skips.
make_cgroup() {
	local mount
	mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	if [[ -z $mount && -n ${IN_VM:-} ]]; then
		mkdir -p /sys/fs/cgroup
		mount -t cgroup2 cgroup2 /sys/fs/cgroup && mount=/sys/fs/cgroup
	fi
	[[ -n $mount ]] || skip "no cgroup2 is mounted"
	mkdir "$mount/funcscope-e2e.$$" 2>/dev/null || skip "$mount cannot be written"
	CGROUP=$mount/funcscope-e2e.$$
}

@test "--cgroup counts what is in it or below; --by cgroup names it" {
	make_cgroup
	mkdir "$CGROUP/below"
	start_runner
	echo "$RUNNER" >"$CGROUP/below/cgroup.procs"
	arm -f json --cgroup "$CGROUP" --by cgroup "$FIXTURES/runner:work"
	ask go 101
	"$FIXTURES/runner" <<<'go 307' >/dev/null
	finish
	books_close
	assert_calls work 101
	assert_match cgroup "$(values cgroup)" "funcscope-e2e.$$/below$"
	stop_runner
	eventually rmdir "$CGROUP/below"
}

@test "--by cgroup tells two groups apart" {
	make_cgroup
	start_runner
	arm -f json --by cgroup -p "$RUNNER" "$FIXTURES/runner:work"
	ask go 101
	echo "$RUNNER" >"$CGROUP/cgroup.procs"
	ask go 11
	finish
	books_close
	group=$(rows | grep "funcscope-e2e.$$")
	assert_eq "in the group" 11 "$(field count "$group")"
	assert_eq "in all" 112 "$(summary kept)"
	stop_runner
}

@test "globs: * ? [] and a set of names" {
	fs_json "$FIXTURES/calls:*work" -- "$FIXTURES/calls" 101 23
	assert_calls work 101
	assert_calls local_work 23
	fs_json "$FIXTURES/calls:?ork" -- "$FIXTURES/calls" 101 23
	assert_calls work 101
	assert_calls local_work none
	fs_json "$FIXTURES/calls:[wxyz]or[a-k]" -- "$FIXTURES/calls" 101 23
	assert_calls work 101
	fs_json "$FIXTURES/calls:[!v]ork" -- "$FIXTURES/calls" 101 23
	assert_calls work 101
}

@test "-r: regular expressions, searched in the name" {
	fs_json -r "$FIXTURES/calls:^(local_)?work\$" -- "$FIXTURES/calls" 101 23
	assert_calls work 101
	assert_calls local_work 23
	fs_json -r "$FIXTURES/calls:^w.rk" -- "$FIXTURES/calls" 101 23
	assert_calls work 101
	assert_calls local_work none
}

@test "-x leaves functions out; repeated; also as expressions" {
	fs_json -x 'local_*' "$FIXTURES/calls:*work" -- "$FIXTURES/calls" 101 23
	assert_calls work 101
	assert_calls local_work none
	fs_json -x '_*' -x local_work -x main "$FIXTURES/calls:*work" -- "$FIXTURES/calls" 101 23
	assert_eq functions 1 "$(summary functions)"
	fs_json -r -x '^local' "$FIXTURES/calls:work" -- "$FIXTURES/calls" 101 23
	assert_calls local_work none
	assert_calls work 101
}

@test "a thousand functions in one run" {
	lib=$(ldconfig -p 2>/dev/null | awk '/libcrypto\.so\.3/ { print $NF; exit }')
	[[ -n $lib ]] || lib=$(find /usr/lib /lib -name 'libcrypto.so.3' 2>/dev/null | head -n 1)
	[[ -n $lib ]] || skip "libcrypto is not installed"
	if [[ $(doctor_rung "user functions") != uprobe.multi ]]; then
		skip "no uprobe.multi here, and one event each would take too long under emulation"
	fi
	fs_json "$lib:*" -- "$FIXTURES/calls" 3
	attached=$(summary attached) refused=$(summary refused)
	((attached > 1000)) || fail "only $attached functions of libcrypto attached"
	# some begin with a locked instruction, which no uprobe can sit on: they are named, with a reason
	((refused * 100 < attached)) || fail "$refused refused"
	assert_eq "named" "$refused" "$(summary refused_functions | grep -o '"why":"[^U"]' | wc -l)"
}

@test "a process named twice counts once" {
	start_runner
	arm -f json -p "$RUNNER,$RUNNER" -p "$RUNNER" "$FIXTURES/runner:work"
	ask go 101
	finish
	assert_calls work 101
}
