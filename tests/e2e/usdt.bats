# USDT probes, written by hand in the usdt fixture.
load common

setup() { e2e_setup; }
teardown() { e2e_teardown; }

# bats test_tags=guest
@test "a probe is counted exactly, all spellings" {
	local spellings=("u:$FIXTURES/usdt:plain" "u:$FIXTURES/usdt:fix:plain" "usdt:$FIXTURES/usdt:fix:plain")
	# What they mean, no kernel decides.
	[[ -z ${IN_VM:-} ]] || spellings=("${spellings[0]}")
	for spelling in "${spellings[@]}"; do
		fs_json "$spelling" -- "$FIXTURES/usdt" loose
		assert_calls fix:plain 101
		assert_eq kind usdt "$(values kind)"
	done
}

@test "two sites of one probe count in one row" {
	fs_json "u:$FIXTURES/usdt:twin" -- "$FIXTURES/usdt" loose
	assert_calls fix:twin 204
	assert_eq functions 1 "$(summary functions)"
	assert_eq places 2 "$(summary places)"
}

@test "a function that begins with a USDT probe has a row of its own" {
	fs_json "u:$FIXTURES/usdt:plain" "$FIXTURES/usdt:hit_plain" -- "$FIXTURES/usdt" 7
	assert_calls fix:plain 7
	assert_calls hit_plain 7
}

# bats test_tags=guest
@test "a semaphore is raised while counting" {
	fs_json "u:$FIXTURES/usdt:guarded" -- "$FIXTURES/usdt" 103
	assert_calls fix:guarded 103
	refute_match stderr "$(<err)" status
}

@test "a semaphore is raised in a running process and lowered again" {
	mkfifo to from
	"$FIXTURES/usdt" serve <to >from 3>&- 8>&- 9<&- &
	pid=$!
	PIDS+=("$pid")
	exec 8>to 9<from
	ask sem
	assert_eq "before" 0 "$ANSWER"
	arm -f json -p "$pid" "u:$FIXTURES/usdt:*"
	ask sem
	assert_eq "while counting" 1 "$ANSWER"
	ask go 11
	assert_eq "guarded hits" 11 "$ANSWER"
	finish
	books_close
	assert_calls fix:plain 11
	assert_calls fix:guarded 11
	assert_calls fix:twin 24
	ask sem
	assert_eq "after" 0 "$ANSWER"
}

@test "globs, -x, the provider" {
	fs_json "u:$FIXTURES/usdt:*" -- "$FIXTURES/usdt" 11
	assert_eq seen 46 "$(summary seen)"
	fs_json "u:$FIXTURES/usdt:*" -x twin -- "$FIXTURES/usdt" 11
	assert_eq seen 22 "$(summary seen)"
	fs_json "u:$FIXTURES/usdt:f?x:*" -x fix:guarded -- "$FIXTURES/usdt" loose
	assert_eq seen 305 "$(summary seen)"
}

# bats test_tags=once
@test "--via single" {
	fs_json --via single "u:$FIXTURES/usdt:*" -- "$FIXTURES/usdt" 11
	assert_eq seen 46 "$(summary seen)"
	assert_calls fix:guarded 11
}

@test "an unknown probe or provider, and a file without any" {
	fs_error 1 "plain" count "u:$FIXTURES/usdt:plian" -d 0.1
	fs_error 1 "no USDT probe" count "u:$FIXTURES/usdt:nosuch:plain" -d 0.1
	fs_error 1 "no USDT probes" count "u:$FIXTURES/calls:plain" -d 0.1
	fs_error 2 "u:LIBRARY:PROBE" count "u:$FIXTURES/usdt" -d 0.1
}
