# What the tests of time, stack and trace share, besides common.bash: runs whose data goes to a file, because the fixture says on stdout
# what it measured itself (tests/fixtures/truth.h); comparing the two; and the books of these commands.
# shellcheck shell=bash

# measure COMMAND ARGS...: -f json into $TMP/out, the fixture's own words in $TMP/truth; must succeed.
measure() {
	local command=$1
	shift
	status=0
	rm -f "$TMP/out"
	"$FUNCSCOPE" "$command" -f json -o "$TMP/out" "$@" >"$TMP/truth" 2>"$TMP/err" 3>&- </dev/null || status=$?
	((status == 0)) || fail "exit status $status of: funcscope $command $* -- $(<"$TMP/err")"
	[[ -n ${IN_VM:-} ]] || assert_eq "lines of JSON" "$(wc -l <"$TMP/out")" "$(jq -c . "$TMP/out" | wc -l)"
}

# fs_time ARGS..., fs_stack ARGS..., fs_trace ARGS...: and the books must close.
fs_time() {
	measure time "$@"
	closed latency
	latencies_add_up
}

fs_stack() {
	measure stack "$@"
	closed stack
}

fs_trace() {
	measure trace "$@"
	traced
}

# closed TYPE: seen = kept + losses; kept = what the rows of that type count.
closed() {
	local line kept lost=0 rows=0 n
	while read -r line; do
		[[ $line != *"\"type\":\"$1\""* ]] || rows=$((rows + $(field count "$line")))
	done <"$TMP/out"
	line=$(last_line)
	assert_eq "type of the last line" summary "$(field type "$line")"
	for n in $(summary lost | grep -o '[0-9]*'); do lost=$((lost + n)); done
	kept=$(summary kept)
	assert_eq "seen = kept + lost in $line" "$(summary seen)" $((kept + lost))
	assert_eq "kept = the sum of the rows in $(<"$TMP/out")" "$kept" "$rows"
}

# traced: likewise for calls, which are a line each.
traced() {
	local n lost=0
	for n in $(summary lost | grep -o '[0-9]*'); do lost=$((lost + n)); done
	assert_eq "seen = kept + lost in $(last_line)" "$(summary seen)" $(($(summary kept) + lost))
	assert_eq "kept = lines" "$(summary kept)" "$(grep -c '"type":"call"' "$TMP/out" || true)"
}

# lost NAME: how many the summary says.
lost() {
	field "$1" "$(summary lost)" || echo 0
}

# ---- latencies ----

# latency KEY FUNCTION [KEY=VALUE...]: of that row.
latency() {
	local key=$1 function=$2
	shift 2
	values "$key" type=latency "function=$function" "$@"
}

# truth KEY FUNCTION [KEY=VALUE...]: what the fixture says.
truth() {
	local key=$1 line want
	while read -r line; do
		has "function=$2" "$line" || continue
		for want in "${@:3}"; do
			has "$want" "$line" || continue 2
		done
		field "$key" "$line" || continue
		return
	done <"$TMP/truth"
	fail "the fixture says no $key of $2: $(<"$TMP/truth")"
}

# within WHAT LOW VALUE HIGH SLACK: LOW and HIGH may be missed by 3 % and SLACK.
within() {
	(($3 >= $2 * 97 / 100 - $5)) || fail "$1: $3 is less than $2 (3 % and $5 off)"
	(($3 <= $4 * 103 / 100 + $5)) || fail "$1: $3 is more than $4 (3 % and $5 off)"
}

# agrees FUNCTION [NESTED [KEY=VALUE...]]: percentiles and sums against what the fixture measured around and inside the same calls: within 3 %
# and the floor, once for the call itself and once for each of the NESTED probed calls inside it.
agrees() {
	local function=$1 nested=${2:-0} key floor n
	shift
	((!$#)) || shift
	floor=$(($(latency floor_ns "$function" "$@") * (nested + 1)))
	n=$(latency count "$function" "$@")
	assert_eq "calls of $function $*" "$(truth count "$function" "$@")" "$n"
	for key in min p50 p90 p99 p999 max; do
		within "$key of $function $*" "$(truth "low_${key}_ns" "$function" "$@")" "$(latency "${key}_ns" "$function" "$@")" \
			"$(truth "high_${key}_ns" "$function" "$@")" "$floor"
	done
	within "total of $function $*" "$(truth low_total_ns "$function" "$@")" "$(latency total_ns "$function" "$@")" \
		"$(truth high_total_ns "$function" "$@")" $((floor * n))
}

# encloses FUNCTION: with --raw, the uncorrected sum lies between the two sums that the fixture measured: no tolerance at all.
encloses() {
	local raw low high
	raw=$(latency raw_total_ns "$1")
	low=$(truth low_total_ns "$1")
	high=$(truth high_total_ns "$1")
	((low <= raw && raw <= high)) || fail "raw total of $1: $raw is not between $low and $high"
}

# Every row is consistent in itself.
latencies_add_up() {
	local line key previous value n total buckets
	while read -r line; do
		previous=0
		for key in min_ns p50_ns p90_ns p99_ns p999_ns max_ns; do
			value=$(field "$key" "$line") || fail "no $key in $line"
			((previous <= value)) || fail "$key is less than the one before it in $line"
			previous=$value
		done
		n=$(field count "$line")
		total=$(field total_ns "$line")
		((n * $(field min_ns "$line") <= total && total <= n * $(field max_ns "$line"))) || fail "the total does not fit in $line"
		value=$(field avg_ns "$line")
		((n * (${value%.*} - 1) <= total && total <= n * (${value%.*} + 1))) || fail "the average does not fit in $line"
		value=$(field stddev_ns "$line")
		((${value%.*} <= $(field max_ns "$line") - $(field min_ns "$line") + 1)) || fail "the deviation does not fit in $line"
		buckets=${line#*\"buckets\":[}
		assert_eq "sum of the buckets in $line" "$n" "$(sum_of_buckets "$buckets")"
	done < <(rows type=latency | grep -v '"count":0,')
}

# sum_of_buckets '[LOW,HIGH,COUNT],...'
sum_of_buckets() {
	local rest=$1 sum=0 high=0
	while [[ $rest =~ ^,?\[([0-9]+),([0-9]+),([0-9]+)\](.*) ]]; do
		((BASH_REMATCH[1] >= high && BASH_REMATCH[2] > BASH_REMATCH[1])) || fail "buckets out of order: $1"
		high=${BASH_REMATCH[2]}
		sum=$((sum + BASH_REMATCH[3]))
		rest=${BASH_REMATCH[4]}
	done
	echo "$sum"
}

# ---- stacks ----

# stacks REGEX: the sum of the counts of the stacks whose frames, leaf first, with commas between, match from the leaf on.
stacks() {
	local line sum=0 frames
	while read -r line; do
		frames=$(frames_of "$line")
		[[ ! $frames =~ ^$1(,|$) ]] || sum=$((sum + $(field count "$line")))
	done < <(rows type=stack)
	echo "$sum"
}

# frames_of LINE: leaf,caller,...
frames_of() {
	local frames=${1#*\"frames\":[}
	frames=${frames%%]*}
	printf '%s\n' "${frames//\"/}"
}

# The two ways to chain_leaf() in the chains fixture, leaf first.
LONG='chain_leaf,chain_c,chain_b,chain_a,main'
SHORT='chain_leaf,(chain_inlined[^,]*,)?chain_x,main'

# both_chains N M: so many calls went each way.
both_chains() {
	assert_eq "stacks over chain_a" "$1" "$(stacks "$LONG")"
	assert_eq "stacks over chain_x" "$2" "$(stacks "$SHORT")"
	assert_eq "seen" $(($1 + $2)) "$(summary seen)"
}

# ---- calls ----

# messages: of the calls, one per line, in their order.
messages() {
	values message type=call
}

# expect LINE...: the messages are these.
expect() {
	assert_eq messages "$(printf '%s\n' "$@")" "$(messages)"
}

# ---- ways ----

# ways: what --via takes here for user functions. In a guest, where each run takes seconds, the best way and, where that is another,
# the last one.
ways() {
	echo best
	[[ -n ${IN_VM:-} && $(doctor_says uprobe.multi) != true ]] || echo single
	[[ -n ${IN_VM:-} || $(doctor_says uprobe.multi) != true ]] || echo multi
}

# kernel_ways: likewise for kernel functions.
kernel_ways() {
	echo best
	[[ $(doctor_says kprobe.multi) != true ]] || echo multi
	[[ $(doctor_says fentry) != true ]] || echo fentry
	[[ $(doctor_says kprobe) != true ]] || echo single
}

# system_call NAME: the kernel's function for it.
system_call() {
	case $(uname -m) in
	x86_64) echo "__x64_sys_$1" ;;
	aarch64) echo "__arm64_sys_$1" ;;
	*) skip "the name of ${1}'s function on $(uname -m) is not known here" ;;
	esac
}
