# Exact counts: one thread, many threads, forks, loaded libraries, recursion, and a count begun in the middle of a run.
load common

setup() { e2e_setup; }
teardown() { e2e_teardown; }

# bats test_tags=guest
@test "a program's function is counted exactly" {
	fs_json "$FIXTURES/calls:work" -- "$FIXTURES/calls" 20000
	assert_calls work 20000
	assert_eq binary "$FIXTURES/calls" "$(values binary)"
	assert_eq kind uprobe "$(values kind)"
}

@test "the first and only call is counted" {
	fs_json "$FIXTURES/calls:work" -- "$FIXTURES/calls" 1
	assert_calls work 1
}

@test "8 threads at once lose nothing" {
	fs_json "$FIXTURES/threads:work" -- "$FIXTURES/threads" 20011 8
	assert_calls work 20011
}

@test "8 threads, by thread: eight rows with equal shares" {
	fs_json --by tid "$FIXTURES/threads:work" -- "$FIXTURES/threads" 8008 8
	assert_calls work 8008
	assert_eq "threads" 8 "$(distinct tid)"
	assert_eq "shares" 1001 "$(values count | sort -u)"
}

# bats test_tags=guest
@test "forked children are counted with a command" {
	fs_json "$FIXTURES/forks:work" -- "$FIXTURES/forks" 2003 7
	assert_calls work 2003
	assert_match "stderr" "$(<err)" 'survived 7 of 7'
}

@test "forked children, by process" {
	fs_json --by pid "$FIXTURES/forks:work" -- "$FIXTURES/forks" 2003 7
	assert_calls work 2003
	assert_eq "processes" 8 "$(distinct pid)"
	assert_eq "the parent's calls" 253 "$(values count | sort -n | tail -n 1)"
	assert_eq "a child's calls" 250 "$(values count | sort -n | head -n 1)"
}

@test "--no-follow counts the parent only" {
	fs_json --no-follow "$FIXTURES/forks:work" -- "$FIXTURES/forks" 2003 7
	assert_calls work 253
}

@test "a child by vfork and exec is followed" {
	fs_json "$FIXTURES/vforkexec:work" -- "$FIXTURES/vforkexec" 503 211
	assert_calls work 715
	fs_json --no-follow "$FIXTURES/vforkexec:work" -- "$FIXTURES/vforkexec" 503 211
	assert_calls work 504
}

@test "a library loaded after the start" {
	fs_json "$FIXTURES/libplug.so:plug_work" -- "$FIXTURES/dlopen" 1009
	assert_calls plug_work 1009
}

# bats test_tags=once
@test "recursion: every level is a call, and a return" {
	fs_json "$FIXTURES/recurse:dive" "r:$FIXTURES/recurse:dive" -- "$FIXTURES/recurse" 50
	assert_eq entries 51 "$(calls kind=uprobe)"
	assert_eq returns 51 "$(calls kind=uretprobe)"
}

@test "a loop that begins at the first instruction: counted apart from the call, or said" {
	need_fixture looped
	fs_json "$FIXTURES/looped:loop_*" -- "$FIXTURES/looped" 101
	assert_calls loop_endbr 101
	assert_calls loop_endbr_nop5 101
	assert_calls loop_plain 505
	assert_eq looped '[{"function":"loop_nop5"},{"function":"loop_plain"}]' \
		"$(tail -n 1 "$TMP/out" | jq -c '.looped_functions // [] | sort_by(.function)')"
	fs_ok count "$FIXTURES/looped:loop_plain" "$FIXTURES/looped:loop_endbr" -- "$FIXTURES/looped" 11
	assert_match footer "$(<"$TMP/out")" $'\n'"jumped to from inside: loop_plain: each round of a loop"
}

@test "mutual recursion" {
	fs_json "$FIXTURES/recurse:even" "$FIXTURES/recurse:odd" -- "$FIXTURES/recurse" 101
	assert_calls even 51
	assert_calls odd 51
}

# bats test_tags=guest
@test "returns are counted: r: and uretprobe:" {
	fs_json "r:$FIXTURES/calls:work" -- "$FIXTURES/calls" 1009
	assert_calls work 1009
	assert_eq kind uretprobe "$(values kind)"
	fs_json "uretprobe:$FIXTURES/calls:work" -- "$FIXTURES/calls" 211
	assert_calls work 211
}

@test "BCC's p: and bpftrace's uprobe: say the same" {
	fs_json "p:$FIXTURES/calls:work" -- "$FIXTURES/calls" 307
	assert_calls work 307
	fs_json "uprobe:$FIXTURES/calls:work" -- "$FIXTURES/calls" 307
	assert_calls work 307
}

@test "several probes in one run" {
	fs_json "$FIXTURES/calls:work" "$FIXTURES/calls:local_work" c:getenv -- "$FIXTURES/calls" 1009 23
	assert_calls work 1009
	assert_calls local_work 23
	assert_eq "functions attached" 3 "$(summary functions)"
}

@test "two probes that name one function attach once" {
	fs_json "$FIXTURES/calls:work" "$FIXTURES/calls:wor*" "p:$FIXTURES/calls:work" -- "$FIXTURES/calls" 503
	assert_calls work 503
	assert_eq attached 1 "$(summary attached)"
	assert_eq seen 503 "$(summary seen)"
}

@test "a file by two names attaches once" {
	ln -s "$FIXTURES/calls" "$TMP/other-name"
	fs_json "$FIXTURES/calls:work" "$TMP/other-name:work" -- "$FIXTURES/calls" 503
	assert_eq attached 1 "$(summary attached)"
	assert_eq seen 503 "$(summary seen)"
}

# bats test_tags=guest
@test "started in the middle of a run: the difference is exact" {
	start_runner
	ask go 1009
	arm -f json -p "$RUNNER" "$FIXTURES/runner:work"
	ask go 2003
	finish
	ask go 503
	books_close
	assert_calls work 2003
	assert_eq "the runner's own total" 3515 "$ANSWER"
}

@test "started while the target is calling: what it made in between is between the totals" {
	start_runner
	ask spin
	arm -f json -p "$RUNNER" "$FIXTURES/runner:work"
	ask total
	first=$ANSWER
	ask total
	while ((ANSWER < first + 100)); do ask total; done
	ask stop
	second=$ANSWER
	ask go 7
	finish
	books_close
	seen=$(calls function=work)
	((seen >= second - first + 7)) || fail "$seen seen, at least $((second - first + 7)) made"
	((seen <= ANSWER)) || fail "$seen seen, only $ANSWER made ever"
}

@test "the same function counted by two runs at once" {
	start_runner
	arm -f json -p "$RUNNER" "$FIXTURES/runner:work"
	one=$FS
	mv out out.1
	arm -f json -p "$RUNNER" "$FIXTURES/runner:work"
	ask go 307
	finish
	assert_calls work 307
	ask go 11
	FS=$one
	finish
	mv out.1 out
	assert_calls work 318
}

@test "inside a function: FUNC+OFFSET" {
	# behind the 5-byte nop on x86; elsewhere behind "if (!d) return 0", passed at every depth but the last
	program=recurse function=dive offset=8
	if [[ -e $FIXTURES/nop5forks ]]; then program=nop5forks function=work offset=0x5; fi
	fs_json "$FIXTURES/$program:$function+$offset" -- "$FIXTURES/$program" 50
	assert_eq seen 50 "$(summary seen)"
	assert_match name "$(values function)" "^$function[+]0x[58]\$"
}

@test "a source line: FILE.c:LINE" {
	# the only "return 0;" of calls.c
	[[ -e $E2E_TOP/tests/fixtures/calls.c ]] || skip "the fixture's source is not here"
	line=$(grep -n 'return 0;' "$E2E_TOP/tests/fixtures/calls.c" | cut -d: -f1)
	fs_json "$FIXTURES/calls:calls.c:$line" -- "$FIXTURES/calls" 3 5
	assert_eq seen 1 "$(summary seen)"
}

# bats test_tags=guest
@test "--via single counts as exactly as the best way" {
	fs_json --via single "$FIXTURES/calls:work" "$FIXTURES/calls:local_work" -- "$FIXTURES/calls" 1009 23
	assert_calls work 1009
	assert_calls local_work 23
	assert_eq via '{"uprobe":2}' "$(summary via)"
}

@test "--via single: returns, a running process, and forks" {
	fs_json --via single "r:$FIXTURES/forks:work" -- "$FIXTURES/forks" 503 3
	assert_calls work 503
	start_runner
	arm -f json --via single -p "$RUNNER" "$FIXTURES/runner:work"
	ask go 211
	finish
	assert_calls work 211
}

# bats test_tags=once
@test "--via multi is used where doctor says it works" {
	need_check uprobe.multi
	fs_json --via multi "$FIXTURES/calls:*work" -- "$FIXTURES/calls" 1009 23
	assert_calls work 1009
	assert_eq via '{"uprobe.multi":2}' "$(summary via)"
}

@test "the exit status of the command is told, and is not funcscope's" {
	fs_ok count -f json "$FIXTURES/calls:work" -- bash -c 'exit 3'
	assert_match stderr "$(<err)" "exited with status 3"
	fs_ok count -f json "$FIXTURES/calls:work" -- bash -c 'kill -TERM $$'
	assert_match stderr "$(<err)" "signal 15"
}

@test "--exit-code: it is funcscope's, unless that fails itself" {
	fs count --exit-code "$FIXTURES/calls:work" -- sh -c "'$FIXTURES/calls' 3; exit 7"
	assert_eq status 7 "$status"
	assert_match table "$(<out)" 'work +3'
	fs gpu --exit-code -- sh -c 'kill -TERM $$'
	assert_eq "by a signal" 143 "$status"
	fs_ok count --exit-code "$FIXTURES/calls:work" -- true
	fs_error 1 "matches 'wrok'" count --exit-code "$FIXTURES/calls:wrok" -- sh -c 'exit 7'
}

@test "--skip-missing: what is not there is named and left out, the rest is counted" {
	fs_ok count --skip-missing "$FIXTURES/calls:wrok" "$FIXTURES/calls:work" nosuchlib:f -- "$FIXTURES/calls" 5
	assert_match table "$(<out)" 'work +5'
	assert_match "a function" "$(<err)" "left out: no function of .*calls matches 'wrok'"
	assert_match "a library" "$(<err)" "left out: no library or program 'nosuchlib'"
	fs count --skip-missing "$FIXTURES/calls:wrok" -- "$FIXTURES/calls" 5
	assert_eq "nothing is left" 1 "$status"
	assert_match "nothing is left" "$(<err)" "nothing is left to probe"
	fs_error 1 "matches 'wrok'" count "$FIXTURES/calls:wrok" "$FIXTURES/calls:work" -- "$FIXTURES/calls" 5
	fs_error 2 "names no function" count --skip-missing c: "$FIXTURES/calls:work" -- "$FIXTURES/calls" 5
}

@test "the command sees its own arguments, environment and stdin" {
	printf 'from stdin\n' >in
	VALUE='a b' "$FUNCSCOPE" count -o data "$FIXTURES/calls:work" -- \
		bash -c 'printf "%s|" "$@" "$VALUE"; cat' x '-p' '--' 'q r' <in >out 2>err 3>&-
	assert_eq output '-p|--|q r|a b|from stdin' "$(<out)"
}

# as_often PROCESSES: each has a row, and none has more than one call more than another.
as_often() {
	local counts
	mapfile -t counts < <(values count | sort -n)
	assert_eq "processes with calls" "$1" "${#counts[@]}"
	((counts[0] >= 2 && counts[-1] - counts[0] <= 1)) || fail "not counted over the same time: ${counts[*]}"
}

# bats test_tags=guest
@test "all processes are counted over the same time, however long it takes to attach to them" {
	local n=${IN_VM:+8}
	relay "${n:=60}"
	# shellcheck disable=SC2046,SC2086 # words
	arm_as count -f json --by pid $(printf -- '-p %s ' $RELAY) "$FIXTURES/relay:work"
	ask more
	finish
	books_close
	as_often "$n"
	# shellcheck disable=SC2046,SC2086 # words
	arm_as count -f json --by pid --via single $(printf -- '-p %s ' $RELAY) "$FIXTURES/relay:work"
	ask more
	finish
	books_close
	as_often "$n"
}

@test "what the probes cost: said when it has been too much for a second, and measured again meanwhile" {
	start_runner
	ask spin
	arm -v -f json -p "$RUNNER" "$FIXTURES/runner:work"
	eventually grep -q 'warning: the probes cost' err
	finish
	ask stop
	[[ $(summary duration_s) != 0.* ]] || fail "said after $(summary duration_s) s: $(<err)"
	assert_match "stderr" "$(tail -n 3 err)" 'a hit of a user function[^(]* costs ([0-9]+) ns \(\1 to [0-9]+ in ([4-9]|[1-9][0-9]+) calibrations\)'
}
