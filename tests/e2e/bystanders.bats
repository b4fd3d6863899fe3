#!/usr/bin/env bats
# Probes sit in every process that maps the file. Where the kernel can keep them to the processes watched, a process beside pays
# nothing; where it cannot, the footer says who paid. The process beside is the runner, which calls when it is told to.

load common

setup() {
	e2e_setup
	mkfifo hold
	exec 5<>hold
}

# What funcscope let go goes on without it.
teardown() {
	printf '\n\n\n' >&5
	exec 5>&-
	e2e_teardown
}

# hits: of the summary's bystanders
bystanders() {
	field "$1" "$(summary bystanders)"
}

# bats test_tags=guest
@test "a command that is followed: the process beside pays, and the footer says so" {
	start_runner
	arm_as count -f json "$FIXTURES/runner:work" -- sh -c "read -r word <$TMP/hold"
	ask go 300
	finish
	assert_eq "hits" 300 "$(bystanders hits)"
	assert_eq "processes" 1 "$(bystanders processes)"
	((10#$(bystanders ns) > 0)) || fail "no cost: $(last_line)"
	assert_eq seen 0 "$(summary seen)"
}

@test "--no-follow, -p: the process beside has no probe at all" {
	local code
	start_runner
	need_check "uprobe.multi -p"
	code=$(memory_at "$RUNNER" "$ADDRESS")
	arm_as count -f json --no-follow "$FIXTURES/runner:work" -- sh -c "read -r word <$TMP/hold"
	assert_eq "code of the process beside" "$code" "$(memory_at "$RUNNER" "$ADDRESS")"
	ask go 300
	finish
	assert_eq "hits" 0 "$(bystanders hits)"
	arm_as count -f json -p "$$" "$FIXTURES/runner:work"
	assert_eq "code of the process beside" "$code" "$(memory_at "$RUNNER" "$ADDRESS")"
	ask go 300
	finish
	assert_eq "hits" 0 "$(bystanders hits)"
}

@test "a command that cannot fork: the process beside has no probe at all" {
	local code
	start_runner
	need_check "uprobe.multi -p"
	code=$(memory_at "$RUNNER" "$ADDRESS")
	arm_as count -f json "$FIXTURES/runner:work" -- cat "$TMP/hold"
	assert_eq "code of the process beside" "$code" "$(memory_at "$RUNNER" "$ADDRESS")"
	finish
	arm_as count -f json --follow "$FIXTURES/runner:work" -- cat "$TMP/hold"
	ask go 300
	finish
	assert_eq "hits" 300 "$(bystanders hits)"
}

@test "--comm: who has another name pays, in time, stack and trace, too" {
	local command
	start_runner
	for command in count time stack trace; do
		arm_as "$command" -f json --comm nobody "$FIXTURES/runner:work"
		ask go 300
		finish
		assert_eq "$command: hits" 300 "$(bystanders hits)"
		assert_eq "$command: processes" 1 "$(bystanders processes)"
		assert_eq "$command: seen" 0 "$(summary seen)"
	done
}

@test "the text names bystanders, and is silent where there are none" {
	start_runner
	arm_as count --comm nobody "$FIXTURES/runner:work"
	ask go 300
	finish
	assert_match footer "$(<err)$(<out)" 'bystanders: 300 hits by 1 process not watched, about [0-9.]+ [mun]?s of their time'
	fs_ok count "$FIXTURES/calls:work" -- "$FIXTURES/calls" 7
	refute_match footer "$(<err)$(<out)" bystanders
}

@test "everybody is watched: nobody is a bystander" {
	start_runner
	arm_as count -f json "$FIXTURES/runner:work"
	ask go 300
	finish
	assert_eq seen 300 "$(summary seen)"
	refute_match summary "$(last_line)" bystanders
}

# go_on WHAT: runs a program that throws through a library function and one that switches stacks inside it; both must work.
go_on() {
	local got status
	for program in throwsback turns; do
		status=0
		got=$("$FIXTURES/$program" 2>&1) || status=$?
		assert_eq "$program beside $1: status, $got" 7 "$status"
	done
}

# bats test_tags=guest,long
@test "return probes leave unwatched programs alone: exceptions and coroutines work" {
	local command words=() via commands=("time" "count r:" "trace --ret") ways=best
	# In a guest the best is what the host calls multi or single.
	if [[ -z ${IN_VM:-} ]]; then
		commands+=("time --self" "trace r:" "stack --weight time" "stack r:")
		[[ $(doctor_says uprobe.multi) != true ]] || ways="best multi single"
	fi
	for via in $ways; do
		for command in "${commands[@]}"; do
			read -ra words <<<"${command%r:}"
			arm_as "${words[@]}" --via "$via" "${command#"${command%r:}"}$FIXTURES/libback.so:back_*" -- \
				sh -c "read -r word <$TMP/hold"
			go_on "$command --via $via"
			finish
		done
	done
}

@test "return probes in children of a command: exceptions and coroutines work" {
	local command words=()
	for command in "time" "time --self" "count r:" "trace --ret" "stack --weight time"; do
		read -ra words <<<"${command%r:}"
		fs "${words[@]}" -o books "${command#"${command%r:}"}$FIXTURES/libback.so:back_*" -- \
			sh -c "$FIXTURES/throwsback; echo \$?; $FIXTURES/turns; echo \$?"
		assert_eq "$command: $(<err)" "caught 5, returned 5, destroyed 3 7 turned 30 7 " "$(tr '\n' ' ' <out)"
	done
}

@test "return probes in all processes: exceptions and coroutines work" {
	local command words=()
	for command in "time" "count r:" "trace --ret"; do
		read -ra words <<<"${command%r:}"
		arm_as "${words[@]}" "${command#"${command%r:}"}$FIXTURES/libback.so:back_*"
		go_on "$command"
		finish
	done
}

@test "-t: the probes are in the thread's process alone, its other threads are bystanders" {
	local code other
	need_check "uprobe.multi -p"
	start_runner
	code=$(memory_at "$RUNNER" "$ADDRESS")
	sleep 1000 3>&- &
	other=$!
	PIDS+=("$other")
	arm_as count -f json -t "$other" "$FIXTURES/runner:work"
	assert_eq "code of the process beside" "$code" "$(memory_at "$RUNNER" "$ADDRESS")"
	ask go 300
	finish
	assert_eq "hits" 0 "$(bystanders hits)"
	ask workers 2
	# shellcheck disable=SC2086 # a list
	set -- $ANSWER
	arm_as count -f json -t "$1" -t "$2" "$FIXTURES/runner:work"
	ask on 0 30
	ask on 1 4
	ask go 200
	finish
	assert_eq "seen: once, though both are of one process" 34 "$(summary seen)"
	assert_eq "hits" 200 "$(bystanders hits)"
	assert_eq "processes" 0 "$(bystanders processes)"
	arm_as count -t "$1" "$FIXTURES/runner:work"
	ask go 5
	finish
	assert_match footer "$(<err)$(<out)" 'bystanders: 5 hits by other threads of the process watched, about'
}

@test "more processes than links are made for: one link, the others are counted beside" {
	local n=${IN_VM:+2} all
	need_check "uprobe.multi -p"
	relay $((32 + ${n:=8}))
	read -ra all <<<"$RELAY"
	# shellcheck disable=SC2046 # words
	arm_as count -f json $(printf -- '-p %s ' "${all[@]:0:32}") "$FIXTURES/relay:work"
	ask more
	finish
	assert_eq "hits of the others beside 32" 0 "$(bystanders hits)"
	# shellcheck disable=SC2046 # words
	arm_as count -f json --by pid $(printf -- '-p %s ' "${all[@]:0:33}") "$FIXTURES/relay:work"
	ask more
	finish
	books_close
	assert_eq "processes with calls" 33 "$(distinct pid)"
	assert_eq "places of 33 processes" '{"uprobe.multi":1}' "$(summary via)"
	assert_eq "processes beside" $((n - 1)) "$(bystanders processes)"
	(($(bystanders hits) >= 2 * (n - 1))) || fail "no hits: $(last_line)"
}
