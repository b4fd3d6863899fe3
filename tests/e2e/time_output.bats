# time: what can be asked for and what is printed.
load common
load measure

setup_file() { "$FUNCSCOPE" doctor -f json >"$BATS_FILE_TMPDIR/doctor"; }
setup() { e2e_setup; }
teardown() { e2e_teardown; }

@test "forked children are timed with a command" {
	not_in_guest
	fs_time "$FIXTURES/forks:work" -- "$FIXTURES/forks" 503 3
	assert_eq calls 503 "$(latency count work)"
	assert_match "stderr" "$(<err)" 'survived 3 of 3'
}

@test "--by pid and comm" {
	not_in_guest
	fs_time --by pid "$FIXTURES/forks:work" -- "$FIXTURES/forks" 803 7
	assert_eq processes 8 "$(distinct pid)"
	fs_time --by comm "$FIXTURES/comms:work" -- "$FIXTURES/comms"
	assert_eq alpha 101 "$(latency count work comm=alpha)"
	assert_eq beta 203 "$(latency count work comm=beta)"
}

@test "--max-keys: what finds no room is lost by name" {
	not_in_guest
	fs_time --by tid --max-keys 2 "$FIXTURES/threads:work" -- "$FIXTURES/threads" 808 8
	assert_eq seen 808 "$(summary seen)"
	(($(summary kept) < 808)) || fail "all were kept"
}

@test "--slow: nothing as slow as that" {
	fs_time --slow 1000s "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" sleep 100 5
	assert_eq slow 0 "$(latency slow timed_call)"
	assert_eq "calls kept" 0 "$(rows type=call | wc -l)"
}

@test "--slow: -K and -U choose the part of the stack" {
	fs_time --slow 3ms -U "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" sleep 5000 1
	assert_match "-U" "$(rows type=call)" '"stack":\["timed_call".*"main"'
	fs_time --slow 3ms -K "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" sleep 5000 1
	refute_match "-K" "$(rows type=call)" '"main"'
	assert_eq "-K: slow calls" 1 "$(rows type=call slow=true | wc -l)"
	fs_time --slow 3ms -K -U "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" sleep 5000 1
	assert_match "-K -U" "$(rows type=call)" '"main"'
	fs_ok time --slow 3ms -U "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" sleep 5000 1
	assert_match "text" "$(<out)" $'\n +main\n'
	fs_error 2 'need --slow' time -K "$FIXTURES/timed:timed_call" -d 0.1
}

@test "--slow: arguments have names, as in trace; without debug information they are numbers" {
	fs_trace "$FIXTURES/nest:nest_?" -- "$FIXTURES/nest" chain 2000 1
	rows type=call | grep -o '"name":"[a-z_]*"' | sort -u >names
	[[ -s names ]] || fail "no names: $(<out)"
	fs_time --slow 100us "$FIXTURES/nest:nest_?" -- "$FIXTURES/nest" chain 2000 1
	assert_eq "the names of trace" "$(<names)" "$(rows type=call | grep -o '"name":"[a-z_]*"' | sort -u)"
	fs_ok time --slow 3ms "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" sleep 5000 1
	assert_match "in text" "$(<out)" 'timed_call +us=5000 how=SLEEP = 5000  \['
	objcopy --strip-debug "$FIXTURES/timed" bare
	fs_time --slow 3ms "$PWD/bare:timed_call" -- ./bare sleep 5000 1
	assert_match "numbers" "$(rows type=call)" '"args":\[5000,1,'
}

@test "--keep: the slowest ones" {
	fs_time --slow 1us --keep 3 "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" mix 500
	assert_eq slow 500 "$(latency slow timed_call)"
	assert_eq "calls kept" 3 "$(rows type=call | wc -l)"
	slowest=$(values duration_ns type=call | sort -n | tail -n 1)
	within "the slowest" "$(latency max_ns timed_call)" "$slowest" "$(latency max_ns timed_call)" "$(latency floor_ns timed_call)"
}

@test "without --slow there is no such key, and no call" {
	fs_time "$FIXTURES/calls:work" -- "$FIXTURES/calls" 7
	refute_match row "$(<out)" '"slow"'
	assert_eq "calls kept" 0 "$(rows type=call | wc -l)"
}

@test "--raw: beside the corrected ones, and larger" {
	fs_time --raw "$FIXTURES/calls:work" -- "$FIXTURES/calls" 500
	(($(latency raw_total_ns work) >= $(latency total_ns work))) || fail "$(<out)"
	(($(latency raw_avg_ns work) >= $(latency avg_ns work))) || fail "$(<out)"
	(($(latency floor_ns work) > 0)) || fail "no floor: $(<out)"
}

@test "an empty function is at the floor, a slow one is not" {
	fs_time "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" sleep 5000 5
	assert_eq "at the floor" false "$(latency at_floor timed_call)"
	fs_time "$FIXTURES/calls:work" -- "$FIXTURES/calls" 2000
	assert_match "at the floor" "$(latency at_floor work)" '^(true|false)$'
	(($(latency min_ns work) <= $(latency floor_ns work))) || fail "an empty function takes longer than nothing: $(<out)"
}

@test "what is too short to be told is less than the floor, not 0: in text, JSON and CSV" {
	local floor
	fs_time "$FIXTURES/calls:work" -- "$FIXTURES/calls" 2000
	assert_eq "median, JSON" null "$(latency p50_ns work)"
	assert_eq "least, JSON" null "$(latency min_ns work)"
	(($(latency floor_ns work) > 0)) || fail "no floor: $(<out)"
	fs_ok time --wide -o data "$FIXTURES/calls:work" -- "$FIXTURES/calls" 2000
	floor='<[0-9.]+ [um]?s|<[0-9.]+ ns'
	assert_match "row" "$(grep '^work' data)" "^work( [*!])? +2000 .* ($floor) .* ($floor) "
	refute_match "text" "$(<data)" '0\.00 ns'
	fs_ok time -f csv -o data "$FIXTURES/calls:work" -- "$FIXTURES/calls" 2000
	# kind,binary,function,count,total,min,avg,max,stddev,p50
	assert_match "line" "$(tail -n 1 data)" '^uprobe,[^,]+,work,2000,[0-9]*,,[0-9]*,[0-9]*,[0-9]+,,'
	fs_ok time -z -o data "$FIXTURES/calls:never" "$FIXTURES/calls:work" -- "$FIXTURES/calls" 3
	assert_match "not called" "$(grep '^never' data)" '^never +0( +-)+$'
}

@test "what is mostly probes is marked: more was taken out than is left" {
	local raw total
	fs_time --raw "$FIXTURES/nest:nest_dive" -- "$FIXTURES/nest" deep 50 0 20
	raw=$(latency raw_total_ns nest_dive) total=$(latency total_ns nest_dive)
	assert_eq "mostly probes in $(rows)" "$([[ $((raw - total > total)) == 1 ]] && echo true || echo false)" \
		"$(latency mostly_probes nest_dive)"
	for kept in cookie storage; do
		fs_time --calls-in $kept "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" sleep 5000 5
		assert_eq "mostly probes, in $kept" false "$(latency mostly_probes timed_call)"
	done
}

@test "intervals: together they are the whole" {
	not_in_guest
	fs_time -i 0.02 "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" spin 500 200
	assert_eq calls 200 "$(calls type=latency)"
	((1 < $(rows type=latency | wc -l))) || fail "one interval only"
	first=$(rows type=latency | head -n 1)
	[[ -n $(field time_ns "$first") ]] || fail "no time in $first"
}

@test "--max-overhead: what is demoted is named" {
	not_in_guest
	fs_ok time --max-overhead 2 -o data "$FIXTURES/timed:timed_hot" -- "$FIXTURES/timed" hot 600000
	assert_match "what was done" "$(cat data err)" 'timed_hot'
	assert_match "what was done" "$(cat data err)" 'demoted|sampled|estimate'
	assert_match "the fixture's own count" "$(<out)" '"count":600000'
}

@test "--max-overhead: calls in all are estimated by an interval, or not at all" {
	not_in_guest
	fs_time --max-overhead 0.5 "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" spin 30 30000
	refute_match "a bound" "$(last_line)" 'more than|about'
	low=$(field estimated_low "$(last_line)") || return 0
	high=$(field estimated_high "$(last_line)")
	((20000 <= high && low <= 45000 && low <= high)) || fail "$low to $high calls estimated, 30000 made"
	(($(latency count timed_call) <= low)) || fail "fewer than were seen: $(last_line)"
}

@test "--max-overhead that is never reached changes nothing" {
	fs_time --max-overhead 90 "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" sleep 1000 30
	assert_eq calls 30 "$(latency count timed_call)"
	refute_match "what was done" "$(<err)" 'demoted'
}

@test "text: one function, its numbers and its histogram" {
	fs_ok time -o data "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" sleep 1000 10
	assert_match header "$(<data)" 'P99'
	assert_match row "$(<data)" 'timed_call'
	assert_match histogram "$(<data)" '[|#@*█▏▎▍▌▋▊▉]'
	assert_match books "$(<data)" 'seen 10 = kept 10'
	assert_match cost "$(<data)" 'cost: '
	assert_eq stderr '' "$(<err)"
	no_control_bytes data
}

@test "text: 80 columns are enough" {
	fs_ok time -H -o data "$FIXTURES/nest:nest_?" -- "$FIXTURES/nest" chain 100 3
	longest=$(awk '{ if (length($0) > n) n = length($0) } END { print n }' data)
	((longest <= 80)) || fail "a line of $longest columns: $(<data)"
}

@test "text: several functions have no histogram unless asked for" {
	fs_ok time -o plain "$FIXTURES/nest:nest_?" -- "$FIXTURES/nest" chain 100 3
	fs_ok time -H -o full "$FIXTURES/nest:nest_?" -- "$FIXTURES/nest" chain 100 3
	(($(wc -l <full) > $(wc -l <plain) + 3)) || fail "no histograms: $(<full)"
}

@test "-u: units" {
	fs_ok time -u us -o data "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" sleep 2000 5
	assert_match us "$(<data)" 'us'
	fs_ok time -u ms -o data "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" sleep 2000 5
	assert_match ms "$(<data)" 'ms'
	fs_ok time -u ns -o data "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" sleep 2000 5
	assert_match ns "$(<data)" 'timed_call.* 2[0-9]{6}'
}

@test "--linear" {
	fs_ok time --linear 0,20ms,500us -o data "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" sleep 3000 5
	assert_match books "$(<data)" 'seen 5 = kept 5'
	fs_time --linear 0,20ms,500us "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" sleep 3000 5
	assert_eq calls 5 "$(latency count timed_call)"
}

@test "order: --sort, --reverse, --top, --zeros" {
	fs_time "$FIXTURES/nest:nest_?" -- "$FIXTURES/nest" chain 300 4
	assert_eq "by total" "nest_f nest_g nest_h" "$(values function type=latency | paste -sd' ')"
	fs_time -s name --reverse "$FIXTURES/nest:nest_?" -- "$FIXTURES/nest" chain 300 4
	assert_eq "by name, reversed" "nest_h nest_g nest_f" "$(values function type=latency | paste -sd' ')"
	measure time -n 1 "$FIXTURES/nest:nest_?" -- "$FIXTURES/nest" chain 300 4
	assert_eq "top" nest_f "$(values function type=latency)"
	measure time -z "$FIXTURES/nest:nest_f" "$FIXTURES/nest:nest_dive" -- "$FIXTURES/nest" chain 300 4
	assert_eq "zeros" 0 "$(latency count nest_dive)"
}

@test "JSON: the keys that scripts may rely on" {
	not_in_guest
	fs_time "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" sleep 500 5
	jq -e -s --arg binary "$FIXTURES/timed" '.[0] | .type == "latency" and .kind == "uprobe" and .binary == $binary and
		.function == "timed_call" and .count == 5 and (.buckets | length) > 0 and (.at_floor | type) == "boolean" and
		([.total_ns, .min_ns, .avg_ns, .p50_ns, .p90_ns, .p99_ns, .p999_ns, .max_ns, .stddev_ns, .floor_ns] |
		all(type == "number"))' out
	jq -e -s '.[-1] | .type == "summary" and .seen == 5 and .kept == 5 and .unmatched_returns == 0 and
		(.lost.unreturned | type) == "number" and .cost.ns_per_hit > 0' out
}

@test "CSV: a header, and as many columns in each line" {
	fs_ok time -f csv -o data "$FIXTURES/nest:nest_?" -- "$FIXTURES/nest" chain 100 3
	assert_match header "$(head -n 1 data)" 'kind,binary,function.*count.*p99_ns'
	assert_eq lines 4 "$(wc -l <data)"
	assert_eq columns 1 "$(sed 's/[^,]//g' data | sort -u | wc -l)"
	assert_match books "$(<err)" 'seen 9 = kept 9'
}

@test "only functions have a duration" {
	fs_error 2 "return" time "r:$FIXTURES/calls:work" -d 0.1
	fs_error 2 "tracepoint" time t:syscalls:sys_enter_read -d 0.1
	fs_error 2 "usdt" time "u:$FIXTURES/usdt:plain" -d 0.1
}

@test "options that make no sense are usage errors" {
	fs_error 2 "unit" time -u parsec "$FIXTURES/calls:work" -d 0.1
	fs_error 2 "sort" time -s colour "$FIXTURES/calls:work" -d 0.1
	fs_error 2 "linear" time --linear 5ms,1ms,1ms "$FIXTURES/calls:work" -d 0.1
	fs_error 2 "linear" time --linear 0,1ms "$FIXTURES/calls:work" -d 0.1
	fs_error 2 "linear" time --linear 0,1ms,0 "$FIXTURES/calls:work" -d 0.1
	fs_error 2 "slow" time --slow soon "$FIXTURES/calls:work" -d 0.1
	fs_error 2 "max-overhead" time --max-overhead 0 "$FIXTURES/calls:work" -d 0.1
	fs_error 2 "no probe" time -d 0.1
}

@test "an unknown function answers with the nearest names" {
	fs_error 1 "did you mean .*timed_call" time "$FIXTURES/timed:timed_cal" -d 0.1
}

# bats test_tags=guest
@test "--slow --dwarf: stacks of programs without frame pointers" {
	for via in $(ways); do
		fs_ok time --via "$via" --slow 100us -U --dwarf --keep 100 -f json "$FIXTURES/chains-nofp:chain_leaf" -- "$FIXTURES/chains-nofp" 4 3 1000
		assert_eq "over chain_a by $via" 4 "$(rows type=call | grep -c '"stack":\["chain_leaf","chain_c","chain_b","chain_a","main"')"
		assert_eq "over chain_x by $via" 3 "$(rows type=call | grep -c '"stack":\["chain_leaf","chain_x","main"')"
	done
	fs_error 2 'needs --slow' time --dwarf "$FIXTURES/chains-nofp:chain_leaf" -d 0.1
	fs_error 2 'not -K alone' time --dwarf --slow 1ms -K "$FIXTURES/chains-nofp:chain_leaf" -d 0.1
}
