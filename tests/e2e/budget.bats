#!/usr/bin/env bats
# --max-overhead against a program that counts its own calls: what is taken off, and that nothing else suffers.

load common

setup() { e2e_setup; }
teardown() { e2e_teardown; }

# truth COMMAND PREFIX ARGS...: runs it on those functions of fixture crowd; prints how many were demoted.
truth() {
	local command=$1 prefix=$2
	shift 2
	fs_ok "$command" -f json -o "$TMP/data" --max-overhead 2 "$FIXTURES/crowd:$prefix*" "$@"
	python3 "$BATS_TEST_DIRNAME/budget_truth.py" "$TMP/data" "$TMP/out" "$prefix" || fail "$(tail -n 1 "$TMP/data")"
}

@test "budget: the few that cost are demoted, all others are exact" {
	not_in_guest
	n=$(truth count crowd_ -- "$FIXTURES/crowd" 3000000)
	((4 <= n && n <= 64)) || fail "$n functions were demoted"
}

@test "budget: likewise for time, whose calls are all paired" {
	not_in_guest
	n=$(truth time crowd_ -- "$FIXTURES/crowd" 3000000)
	((4 <= n && n <= 64)) || fail "$n functions were demoted"
	assert_match "the books" "$(tail -n 1 "$TMP/data")" '"unmatched_returns":[0-9]{1,3},'
}

@test "budget: likewise through a shell, and for a server's children" {
	not_in_guest
	# shellcheck disable=SC2016 # the inner shell's
	truth count crowd_ -- sh -c '"$0" 2000000; true' "$FIXTURES/crowd" >/dev/null
	truth count crowd_ -- "$FIXTURES/crowd" 1000000 3 >/dev/null
}

@test "budget: links of one function each are taken off, too" {
	not_in_guest
	n=$(truth count crowd_hot_ --via single -- "$FIXTURES/crowd" 3000000)
	((n == 4)) || fail "$n functions were demoted"
}

@test "budget: the footer says what was demoted, and what that means" {
	not_in_guest
	fs_ok count --max-overhead 2 -o "$TMP/data" "$FIXTURES/crowd:crowd_*" -- "$FIXTURES/crowd" 3000000
	assert_match row "$(<"$TMP/data")" 'crowd_hot_0 \(sampled\)'
	assert_match "one function" "$(<"$TMP/data")" 'demoted: crowd_hot_0 after [0-9.e-]+ s; then seen in [0-9]+ windows?, in all for [0-9.]+% of the CPU time'
	assert_match "what it means" "$(<"$TMP/data")" 'budget: [0-9]+ functions were demoted, with figures from part of the time \(sampled\); the others are complete'
}
