#!/usr/bin/env bats
# A monitor on a busy host: processes that are no targets, binaries that come and go.
# shellcheck disable=SC2030,SC2031  # bats runs each test in a subshell
load common
load measure
load snoop

setup() { e2e_setup; }
teardown() { e2e_teardown; }

# attached_now N: so many functions have probes.
attached_now() {
	ctl stats
	[[ $(grep -o '"attached":[0-9]*' "$TMP/answer") == "\"attached\":$1" ]]
}

# watched_in BINARY: a function of it has probes.
watched_in() {
	ctl list
	grep -q "\"binary\":\"$TMP/$1\"" "$TMP/answer"
}

# The counters of a page, one "NAME{LABELS} VALUE" a line.
counters() {
	grep -E '^funcscope_[a-z_]+(_total|_count|_bucket|_sum)(\{| )' "$1"
}

# never_back BEFORE AFTER: no counter of the first page is smaller, or missing, in the second.
never_back() {
	awk 'NR == FNR { was[$1] = $2; next } { now[$1] = $2 }
		END { for (n in was) if (!(n in now) || now[n] + 0 < was[n] + 0) { print n, was[n], "->", now[n]; bad = 1 } exit bad }' \
		<(counters "$1") <(counters "$2") || fail "a counter went back"
}

@test "fleet: calls of processes that turn out not to be targets are in no counter, and none ever goes back" {
	local i
	not_in_guest
	need_command curl
	cp "$FIXTURES/calls" mine
	cp "$FIXTURES/calls" other
	PAGE_PORT=$(free_port)
	configure '"custom_sym": {"work": {"symbol": "work", "library": ["'"$TMP"'/mine", "'"$TMP"'/other"]}}, "targets": {"names": ["mine"]},
		"prometheus": {"listen": ":'"$PAGE_PORT"'"}'
	snoop
	page text/plain
	cp page before
	for ((i = 0; i < 60; i++)); do
		"$TMP/other" 11 3>&- &
		((i % 3)) || "$TMP/mine" 7 3>&-
		wait $!
		page text/plain
		never_back before page
		cp page before
		! grep '_count{.*binary="[^"]*/other"' page | grep -v ' 0$' || fail "calls of the other were shown"
	done
	eventually monitor_says processes 0
	ended
	assert_eq "calls of targets" 140 "$(calls type=latency "binary=$TMP/mine")"
	assert_eq "calls of others" none "$(calls type=latency "binary=$TMP/other")"
}

@test "fleet: thousands of calls of short processes that are no targets end in no sum, however little room there is" {
	local i
	cp "$FIXTURES/calls" other
	configure '"custom_sym": {"work": {"symbol": "work", "library": "'"$TMP"'/other"}}, "targets": {"names": ["mine"]}, "keep": {"rows": 4}'
	snoop
	for ((i = 0; i < 40; i++)); do
		"$TMP/other" 11 3>&- &
		"$TMP/other" 11 3>&-
		wait $!
	done
	ended
	assert_eq "calls kept" 0 "$(summary kept)"
	assert_eq rows 0 "$(rows type=latency | wc -l)"
}

@test "fleet: a shell that becomes the target: its calls before do not count, those after do" {
	local i
	cp "$FIXTURES/calls" mine
	cp "$FIXTURES/calls" other
	configure '"custom_sym": {"work": {"symbol": "work", "library": ["'"$TMP"'/mine", "'"$TMP"'/other"]}}, "targets": {"names": ["mine"]}'
	snoop
	for ((i = 0; i < 20; i++)); do
		bash -c "'$TMP/other' 5; exec '$TMP/mine' 13" 3>&-
	done
	eventually monitor_says processes 0
	ended
	assert_eq "calls" 260 "$(calls type=latency function=work)"
}

@test "fleet: a process that takes the name of a target is one from then on, and stays one" {
	cp "$FIXTURES/runner" mine
	start_runner "$TMP/mine"
	configure '"custom_sym": {"work": {"symbol": "work", "library": "'"$TMP"'/mine"}}, "targets": {"names": ["renamed"]}'
	snoop
	ask go 5
	eventually monitor_says processes 0
	ask name renamed
	eventually monitor_says processes 1
	ask go 11
	ask name another
	ask go 13
	ended
	assert_timed work 24
}

@test "fleet: other targets by a reload: what was counted stays, nothing is lost, and nobody waits" {
	cp "$FIXTURES/runner" one
	cp "$FIXTURES/runner" two
	start_runner "$TMP/one"
	configure '"custom_sym": {"work": {"symbol": "work", "library": ["'"$TMP"'/one", "'"$TMP"'/two"]}}, "targets": {"names": ["one"]}'
	snoop
	ask go 101
	configure '"custom_sym": {"work": {"symbol": "work", "library": ["'"$TMP"'/one", "'"$TMP"'/two"]}}, "targets": {"names": ["one", "two"]}'
	ctl reload
	ask go 102
	configure '"custom_sym": {"work": {"symbol": "work", "library": ["'"$TMP"'/one", "'"$TMP"'/two"]}}, "targets": {"names": ["two"]}'
	ctl reload
	ask go 103
	configure '"custom_sym": {"work": {"symbol": "work", "library": ["'"$TMP"'/one", "'"$TMP"'/two"]}}'
	ctl reload
	ask go 104
	ended
	assert_timed work $((101 + 102 + 104))
}

@test "fleet: a file that nobody maps any more is let go, and is found again" {
	local i
	for i in 1 2 3; do cp "$FIXTURES/runner" "bin$i"; done
	configure '"custom_sym": {"work": "work"}, "targets": {"names": ["bin*"]}'
	snoop
	for i in 1 2 3; do
		start_runner "$TMP/bin$i"
		eventually attached_now "$i"
		ask go 10$i
		stop_runner
	done
	eventually monitor_says processes 0
	ctl reload
	eventually attached_now 0
	start_runner "$TMP/bin2"
	eventually attached_now 1
	ask go 1000
	ended
	assert_timed work $((101 + 102 + 103 + 1000))
}

# batch FIRST N: N programs of their own, watched at a time; each calls work() ten times. Afterwards nothing of them is attached.
batch() {
	local i fd fds=() pids=()
	for ((i = $1; i < $1 + $2; i++)); do
		cp "$FIXTURES/runner" "many$i"
		echo "$i" >>"many$i"
		mkfifo "in$i"
		exec {fd}<>"in$i"
		fds+=("$fd")
		"$TMP/many$i" <"in$i" >"said$i" 3>&- &
		pids+=("$!")
		PIDS+=("$!")
	done
	eventually attached_now "$2"
	HELD_KB=$(resident_kb)
	for fd in "${fds[@]}"; do
		echo go 10 >&"$fd"
	done
	eventually all_said "$2"
	kill "${pids[@]}"
	wait "${pids[@]}" || true
	for fd in "${fds[@]}"; do exec {fd}>&-; done
	rm many* in* said*
	eventually nothing_attached
}

all_said() {
	(($(grep -l '^done' said* | wc -l) == $1))
}

nothing_attached() {
	ctl reload
	attached_now 0
}

resident_kb() {
	awk '/^VmRSS/ { print $2 }' "/proc/$FS/status"
}

# kernel_objects WHAT: how many maps or links the monitor holds.
kernel_objects() {
	grep -ls "^$1_id" /proc/"$FS"/fdinfo/* | wc -l
}

@test "fleet: many different programs: all calls, one set of maps, 20 kB at most for each that is watched, and nothing left of them" {
	local maps links before
	configure '"custom_sym": {"work": {"symbol": "work", "library": "many*"}}'
	snoop
	batch 0 5
	before=$(resident_kb)
	batch 100 60
	[[ -n $SANITIZED ]] || ((HELD_KB - before <= 60 * 20)) || fail "$before kB without, $HELD_KB kB with 60 programs"
	maps=$(kernel_objects map) links=$(kernel_objects link)
	batch 200 60
	assert_eq maps "$maps" "$(kernel_objects map)"
	assert_eq links "$links" "$(kernel_objects link)"
	ended
	assert_eq calls 1250 "$(calls type=latency function=work)"
}

# paid: the page has hits of strangers, and what they cost. Until it is known that one is a stranger, its calls are pending.
paid() {
	ask go 10
	page text/plain
	awk '/^funcscope_bystander_hits_total / { hits = $2 } /^funcscope_bystander_seconds_total / { s = $2 }
		END { exit !(hits > 0 && s > 0 && s < hits) }' page
}

@test "fleet: who else pays is a metric, with what it cost" {
	not_in_guest
	need_command curl
	cp "$FIXTURES/runner" target
	cp "$FIXTURES/runner" other
	PAGE_PORT=$(free_port)
	start_runner "$TMP/other"
	configure '"custom_sym": {"work": {"symbol": "work", "library": ["'"$TMP"'/target", "'"$TMP"'/other"]}}, "targets": {"names": ["target"]},
		"prometheus": {"listen": ":'"$PAGE_PORT"'"}'
	snoop
	eventually paid
	ended
}

@test "fleet: who else pays is counted: hits of processes that use a watched library and are no targets" {
	cp "$FIXTURES/runner" target
	cp "$FIXTURES/runner" other
	start_runner "$TMP/other"
	configure '"custom_sym": {"work": {"symbol": "work", "library": ["'"$TMP"'/target", "'"$TMP"'/other"]}}, "targets": {"names": ["target"]}'
	snoop
	ask go 101
	ended
	# Until it was known not to be one, it counted.
	assert_eq "hits of others" 101 "$(jq -r 'select(.type == "summary") | .bystanders.hits + .lost.not_target' out)"
	assert_eq kept 0 "$(summary kept)"
}

@test "fleet: what others pay is in the budget, also while the targets are idle" {
	cp "$FIXTURES/runner" target
	ln target other
	start_runner "$TMP/other"
	configure '"custom_sym": {"work": {"symbol": "work", "library": "'"$TMP"'/target"}}, "targets": {"names": ["target"]}, "max_overhead": "0.001%"'
	snoop
	ask spin
	eventually grep -q "warning: work is no longer watched: its probes took .* of the machine's CPU time" err
	ask stop
	eventually grep -q 'work is watched again' err
	ended
}

@test "fleet: a watched file under another name, by processes among many that map nothing that is watched" {
	local i k
	cp "$FIXTURES/calls" watched
	ln watched linked
	configure '"custom_sym": {"work": {"symbol": "work", "library": "'"$TMP"'/watched"}}, "targets": {"names": ["linked"]}'
	snoop
	for ((i = 0; i < 20; i++)); do
		for ((k = 0; k < 10; k++)); do /bin/true 3>&-; done
		"$TMP/watched" 11 3>&-
		"$TMP/linked" 7 3>&-
	done
	eventually monitor_says processes 0
	ended
	assert_eq calls 140 "$(calls type=latency function=work)"
}

@test "fleet: children that inherit a watched file" {
	cp "$FIXTURES/forks" forker
	configure '"custom_sym": {"work": {"symbol": "work", "library": "'"$TMP"'/forker"}}, "targets": {"names": ["forker"]}'
	snoop
	"$TMP/forker" 1040 25 3>&-
	eventually monitor_says processes 0
	ended
	assert_timed work 1040
}

@test "fleet: programs that are deleted as soon as they have run do not end the monitor" {
	local i
	configure '"custom_sym": {"work": {"symbol": "work", "library": "brief*"}}'
	snoop
	for ((i = 0; i < 60; i++)); do
		cp "$FIXTURES/calls" "brief$i"
		"$TMP/brief$i" 3 3>&-
		rm "brief$i"
	done
	cp "$FIXTURES/runner" briefing
	start_runner "$TMP/briefing"
	eventually watched_in briefing
	ask go 7
	ended
	assert_eq calls 7 "$(calls type=latency "binary=$TMP/briefing")"
}

# is_zombie PID: its main thread has exited.
is_zombie() {
	[[ $(<"/proc/$1/stat") == *') Z '* ]]
}

@test "fleet: targets by pid whose main threads have exited: files that are attached before it and after" {
	cp "$FIXTURES/runner" one
	start_runner "$TMP/one"
	configure '"custom_sym": {"work": {"symbol": "work", "library": "'"$TMP"'/one"}}, "targets": {"pids": ['"$RUNNER"']}'
	snoop
	ask go 11
	ask leave
	eventually is_zombie "$RUNNER"
	ask go 13
	ctl reload
	ask go 17
	ended
	assert_timed work 41
	snoop
	ask go 19
	ended
	assert_timed work 19
}
