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

# closed TYPE: its books.
closed() {
	rows_add_up "$1"
}

# traced: likewise for calls, which are a line each.
traced() {
	local n lost=0
	for n in $(summary lost | grep -o '[0-9]*'); do lost=$((lost + n)); done
	assert_eq "seen = kept + lost in $(last_line)" "$(summary seen)" $(($(summary kept) + lost))
	[[ $(summary lost) != *unexplained* ]] || fail "unexplained: $(last_line)"
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
	told "$@" && printf '%s\n' "$REPLY"
}

# told KEY FUNCTION [KEY=VALUE...]: likewise, into REPLY.
told() {
	local key=$1 line want
	while read -r line; do
		has "function=$2" "$line" || continue
		for want in "${@:3}"; do
			has "$want" "$line" || continue 2
		done
		pick "$key" "$line" || continue
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
	local function=$1 nested=${2:-0} key floor n row
	shift
	((!$#)) || shift
	row=$(rows type=latency "function=$function" "$@")
	[[ -n $row && $row != *$'\n'* ]] || fail "not one row of $function $*: $row"
	pick floor_ns "$row"
	floor=$((REPLY * (nested + 1)))
	pick count "$row"
	n=$REPLY
	told count "$function" "$@"
	assert_eq "calls of $function $*" "$REPLY" "$n"
	for key in min p50 p90 p99 p999 max; do
		agrees_within "$key" "${key}_ns" "$floor" "$@"
	done
	agrees_within total total_ns $((floor * n)) "$@"
}

# agrees_within WHAT KEY SLACK [KEY=VALUE...]: one number of agrees' row.
agrees_within() {
	local what=$1 key=$2 slack=$3 low value
	shift 3
	told "low_$key" "$function" "$@"
	low=$REPLY
	pick "$key" "$row" || fail "no $key in $row"
	value=${REPLY/null/0} # less than the floor
	told "high_$key" "$function" "$@"
	within "$what of $function $*" "$low" "$value" "$REPLY" "$slack"
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
	local line key previous n total least most floor
	while read -r line; do
		pick count "$line" || fail "no count in $line"
		n=$REPLY
		((n)) || continue
		previous=0
		pick floor_ns "$line" || fail "no floor in $line"
		floor=$REPLY
		# what is less than the floor is null
		for key in min_ns p50_ns p90_ns p99_ns p999_ns max_ns; do
			pick "$key" "$line" || fail "no $key in $line"
			[[ $REPLY == null ]] || ((REPLY >= floor)) || fail "$key is below the floor in $line"
			REPLY=${REPLY/null/0}
			((previous <= REPLY)) || fail "$key is less than the one before it in $line"
			previous=$REPLY
			[[ $key != min_ns ]] || least=$REPLY
		done
		most=$previous
		pick total_ns "$line" || fail "no total_ns in $line"
		total=$REPLY
		most=$((most > floor ? most : floor))
		pick avg_ns "$line" || fail "no avg_ns in $line"
		assert_eq "total and average can both be told, or not, in $line" "$([[ $total == null ]] && echo null)" \
			"$([[ $REPLY == null ]] && echo null)"
		if [[ $total != null ]]; then
			((n * least <= total && total <= n * most)) || fail "the total does not fit in $line"
			((n * (${REPLY%.*} - 1) <= total && total <= n * (${REPLY%.*} + 1))) || fail "the average does not fit in $line"
		fi
		pick stddev_ns "$line" || fail "no stddev_ns in $line"
		((${REPLY%.*} <= most - least + 1)) || fail "the deviation does not fit in $line"
		sum_of_buckets "$line"
		assert_eq "sum of the buckets in $line" "$n" "$REPLY"
	done < <(rows type=latency)
}

# sum_of_buckets LINE: of "buckets":[[LOW,HIGH,COUNT],...], into REPLY.
sum_of_buckets() {
	local IFS=, all text high=0 i sum=0 bucket='\[[0-9]+,[0-9]+,[0-9]+\]'
	[[ $1 =~ \"buckets\":\[($bucket(,$bucket)*)\] ]] || fail "no buckets in $1"
	text=${BASH_REMATCH[1]//\[/}
	# shellcheck disable=SC2206 # words
	all=(${text//\]/})
	for ((i = 0; i < ${#all[@]}; i += 3)); do
		((all[i] >= high && all[i + 1] > all[i])) || fail "buckets out of order: $1"
		high=${all[i + 1]}
		sum=$((sum + all[i + 2]))
	done
	REPLY=$sum
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

# Without the layout of struct task_struct every stack is copied.
need_btf_of_tasks() {
	[[ -r /sys/kernel/btf/vmlinux ]] || skip "the kernel has no type information"
}
