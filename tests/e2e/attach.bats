#!/usr/bin/env bats
# attach: what instrumented processes measured, against what they know themselves.

load common.bash

setup() { e2e_setup; }
teardown() { e2e_teardown; }

start_scoped() { start_runner "$FIXTURES/scoped"; }

# fs_attach ARGS...: attach -f json; the books must close.
fs_attach() {
	fs_ok attach -f json "$@"
	scopes_close
}

# seen = kept + lost, kept = the sum of the rows.
scopes_close() {
	sed 's/"type":"latency"/"type":"count"/' "$TMP/out" >"$TMP/rows"
	mv "$TMP/rows" "$TMP/out"
	books_close
}

# bats test_tags=arch
@test "a process's calls are counted exactly, and once more when there are more" {
	start_scoped
	ask go 100003
	fs_attach --once "$RUNNER"
	assert_calls numbered 100003
	assert_calls named 100003
	assert_eq threads 1 "$(summary threads)"
	ask go 7
	fs_attach --once scoped
	assert_calls numbered 100010
	assert_eq kind checkpoint "$(values kind function=numbered)"
	assert_eq kind scope "$(values kind function=named)"
}

# bats test_tags=arch
@test "only what comes after the attach counts, unless --all" {
	start_scoped
	ask go 1000
	arm_as attach -f json "$RUNNER"
	ask go 251
	finish
	scopes_close
	assert_calls numbered 251
	arm_as attach -f json --all "$RUNNER"
	ask go 9
	finish
	scopes_close
	assert_calls numbered 1260
}

@test "two threads at full speed: counts are exact, whoever reads" {
	start_scoped
	ask spin 2
	for i in 1 2 3 4 5; do fs_attach --once "$RUNNER"; done
	last=$(calls function=numbered)
	((last > 0)) || fail "nothing was counted"
	ask stop
	((ANSWER >= last)) || fail "$last calls were read, $ANSWER were made"
	fs_attach --once "$RUNNER"
	assert_calls numbered "$ANSWER"
	assert_calls named "$ANSWER"
}

@test "attach and detach many times under load change nothing in the target (ATTACHES times)" {
	start_scoped
	ask spin 2
	fds=$(ls "/proc/$RUNNER/fd" | wc -l)
	maps=$(wc -l <"/proc/$RUNNER/maps")
	for ((i = 0; i < ${ATTACHES:-30}; i++)); do fs_ok attach --once -f json "$RUNNER"; done
	assert_eq descriptors "$fds" "$(ls "/proc/$RUNNER/fd" | wc -l)"
	assert_eq mappings "$maps" "$(wc -l <"/proc/$RUNNER/maps")"
	ask stop
	fs_attach --once "$RUNNER"
	assert_calls numbered "$ANSWER"
}

@test "intervals add up" {
	start_scoped
	arm_as attach -f json -i 0.05 "$RUNNER"
	ask threads 3 40000
	ask go 17
	finish
	scopes_close
	assert_calls numbered 120017
}

@test "threads: each by itself, and lanes that are used again" {
	start_scoped
	ask threads 4 1000
	ask threads 4 500
	fs_attach --once -b tid "$RUNNER"
	assert_calls numbered 6000
	assert_match "threads" "$(summary threads)" '^[1-8]$'
}

# bats test_tags=arch
@test "known durations: every percentile is within the stated error" {
	start_scoped
	ask feed 200000
	read -r p50 p90 p99 p999 min max <<<"$ANSWER"
	fs_attach --once --raw "$RUNNER"
	tick=$(field tick_ns "$(last_line)")
	for pair in "p50_ns $p50" "p90_ns $p90" "p99_ns $p99" "p999_ns $p999"; do
		read -r key ticks <<<"$pair"
		got=$(values "$key" function=fed)
		awk -v got="$got" -v want="$ticks" -v tick="$tick" 'BEGIN {
			off = got / (want * tick) - 1
			exit !(off < 0.017 && off > -0.017) }' || fail "$key is $got, $ticks ticks of $tick ns"
	done
	# A bucket is 1.6 % wide; the tick is written with six digits, and known a little better from one moment to the next.
	awk -v a="$(values min_ns function=fed)" -v b="$(values max_ns function=fed)" -v x="$min" -v y="$max" -v tick="$tick" \
		'BEGIN { exit !(a / tick - x < 0.1 && x - a / tick < 0.1 && b / tick / y - 1 < 1e-3 && 1 - b / tick / y < 1e-3) }' ||
		fail "least and greatest are not exact"
}

@test "a forked child is a process of its own" {
	start_scoped
	ask go 10
	ask fork 1000
	fs_attach --once "$RUNNER"
	assert_calls numbered 10
}

# bats test_tags=arch
@test "a command: from its first call to its last, its children, too" {
	printf 'go 100\nfork 11\nthreads 2 50\n' >orders
	status=0
	"$FUNCSCOPE" attach -f json -b pid -- "$FIXTURES/scoped" <orders >"$TMP/all" 2>"$TMP/err" 3>&- || status=$?
	((status == 0)) || fail "$(<"$TMP/err")"
	grep '"type"' "$TMP/all" >"$TMP/out"
	scopes_close
	assert_calls numbered 211
	assert_eq processes 2 "$(summary processes)"
	assert_eq "files left behind" "" "$(find /dev/shm /tmp -maxdepth 1 -name 'funcscope.??????' -newer orders 2>/dev/null)"
}

@test "a crash: the data is there, attached or in files" {
	start_scoped
	ask go 500
	arm_as attach -f json --all "$RUNNER"
	echo crash >&8
	join
	scopes_close
	assert_calls numbered 500
	mkdir files
	(export FUNCSCOPE_DIRECTORY=$PWD/files && printf 'go 321\nopen\ncrash\n' | "$FIXTURES/scoped" >/dev/null 2>&1) || true
	fs_attach files/funcscope.*.0
	assert_calls numbered 321
	assert_eq "entered but not left" 1 "$(summary left_open)"
	assert_eq "where it was" 1 "$(summary open)"
	fs_attach ./files
	assert_calls numbered 321
}

reads_memory() { grep -q memfd:funcscope "/proc/$FS/maps"; }

@test "--wait: a process that is not there yet" {
	arm_as attach -f json --wait scoped
	start_scoped
	ask go 77
	eventually reads_memory
	stop_runner
	join
	scopes_close
	assert_calls numbered 77
}

@test "memory that was given back and taken again counts, too" {
	start_scoped
	arm_as attach -f json --all "$RUNNER"
	ask go 30
	ask again
	ask go 12
	finish
	scopes_close
	assert_calls numbered 42
	printf 'go 5\nagain\ngo 6\nagain\ngo 7\n' >orders
	"$FUNCSCOPE" attach -f json -- "$FIXTURES/scoped" <orders >"$TMP/all" 2>"$TMP/err" 3>&-
	grep '"type"' "$TMP/all" >"$TMP/out"
	scopes_close
	assert_calls numbered 18
}

@test "nothing to read is an error" {
	mkdir empty
	fs_error 1 'nothing to read' attach ./empty
	fs_error 1 'nothing to read' attach --wait -d 0.1 nosuchprogram
}

@test "the end of the process ends it, with everything" {
	start_scoped
	arm_as attach -f json "$RUNNER"
	ask go 44
	stop_runner
	join
	scopes_close
	assert_calls numbered 44
	assert_match note "$(<"$TMP/err")" 'the process has exited'
}

@test "a process that becomes a zombie has ended" {
	mkfifo in
	# shellcheck disable=SC2016
	bash -c '"$1/scoped" <in >out.scoped 3>&- & echo $! >pid; exec sleep 1000' - "$FIXTURES" 3>&- &
	PIDS+=("$!") # it never asks for the status of the child it got from the shell
	exec 6>in
	eventually grep -q runner out.scoped
	arm_as attach -f json "$(<pid)" 6>&-
	echo 'go 44' >&6
	eventually grep -q 'done' out.scoped
	exec 6>&-
	eventually grep -q 'State:.Z' "/proc/$(<pid)/status"
	eventually grep -q 'the process has exited' err
	join
	scopes_close
	assert_calls numbered 44
}

@test "the socket: a reader that may not look into /proc gets the descriptors from the process itself" {
	need_command setpriv
	chmod 755 "$TMP"
	install -m 755 "$FUNCSCOPE" /tmp/funcscope-nobody.$$
	# shellcheck disable=SC2016
	start_runner setpriv --reuid=65533 --regid=65533 --clear-groups "$FIXTURES/scoped"
	ask go 12
	# The same user, but /proc/PID/fd of a process that changed its user is root's.
	setpriv --reuid=65533 --regid=65533 --clear-groups /tmp/funcscope-nobody.$$ attach -f json --once "$RUNNER" \
		>"$TMP/out" 2>"$TMP/err" 3>&- </dev/null &
	pid=$!
	echo serve >&8
	status=0
	wait "$pid" || status=$?
	rm -f /tmp/funcscope-nobody.$$
	if ((status)); then fail "$(<"$TMP/err")"; fi
	scopes_close
	assert_calls numbered 12
}

@test "another user gets nothing" {
	start_scoped
	as_nobody attach --once "$RUNNER"
	check_error 1 'may not look at process|does not answer' "attach as nobody"
}

@test "more names than there is room: the calls are counted as lost" {
	start_scoped
	ask names 600
	fs_attach --once "$RUNNER"
	assert_match lost "$(summary lost)" '"no_memory":8[89]'
	assert_calls "name 3" 1
}

@test "functions that the compiler instruments, by name" {
	fs_attach -- "$FIXTURES/instrumented" 1000
	assert_calls inner 3000
	assert_calls outer 1000
	assert_calls fibonacci 177
	assert_calls main 1
	assert_eq kind function "$(values kind function=inner)"
}

@test "text: the table, the clock, what was taken out, the slowest" {
	start_scoped
	ask go 5000
	fs_ok attach --once --tail "$RUNNER"
	assert_match text "$(<"$TMP/out")" 'FUNCTION +CALLS +RATE +AVG +P50'
	assert_match text "$(<"$TMP/out")" 'named: slowest of the last 1024: '
	assert_match text "$(<"$TMP/out")" 'clock: (tsc|cntvct), grade [A-D]'
	assert_match text "$(<"$TMP/out")" 'an empty checkpoint reads [0-9.]+ ns, taken out'
	fs_ok attach --once --raw -f csv "$RUNNER"
	assert_match csv "$(head -1 "$TMP/out")" '^kind,binary,function,'
}

@test "mistakes are one sentence" {
	fs_error 2 'no process given' attach
	fs_error 1 'there is no process 4194305' attach 4194305
	fs_error 1 'no process named .nosuchprogram. uses' attach nosuchprogram
	fs_error 1 'process 1 has no instrumentation memory|not ours|may not look at process 1 ' attach 1
	fs_error 1 'cannot open' attach ./nowhere/funcscope.1.0
	fs_error 2 'not the first file' attach ./nowhere/file
	fs_error 2 'cannot be combined' attach --once -i 1 1
	fs_error 2 'comm, pid and tid' attach --by cpu 1
	fs_error 2 'not a process ID' attach 99999999999
	fs_error 1 'left no instrumentation memory' attach -- true
	head -c 5000 /dev/urandom >funcscope.1.0
	fs_error 1 'no instrumentation memory of funcscope' attach ./funcscope.1.0
	: >funcscope.2.0
	fs_error 1 'damaged' attach ./funcscope.2.0
	mkfifo funcscope.3.0
	fs_error 1 'damaged' attach ./funcscope.3.0
}
