# What the tests of snoop share, besides common.bash and measure.bash: a configuration in the test's directory, the monitor in the
# background, requests to it, and receivers of what it sends.
# shellcheck shell=bash

# configure TEXT...: the members of the configuration, besides the control socket. Reports come at the end alone.
configure() {
	local every='"report": {"every": "0"},'
	[[ $* != *'"report"'* ]] || every=
	printf '{ "control": "%s/sock", %s\n%s }\n' "$TMP" "$every" "$*" >"$TMP/new.json"
	mv "$TMP/new.json" "$TMP/snoop.json"
}

# snoop ARGS...: starts the monitor; returns when it is armed.
snoop() {
	arm_as snoop -c "$TMP/snoop.json" -f json "$@"
}

# snoop_run ARGS...: to its end, which is that of a command; what that says is in $TMP/truth.
snoop_run() {
	measure snoop -c "$TMP/snoop.json" "$@"
	closed latency
}

# ended: ends the monitor; its books must close.
ended() {
	finish
	[[ -n ${IN_VM:-} ]] || assert_eq "lines of JSON" "$(wc -l <"$TMP/out")" "$(jq -c . "$TMP/out" | wc -l)"
	closed latency
}

# assert_timed FUNCTION N [KEY=VALUE...]: so many calls were timed.
assert_timed() {
	assert_eq "calls of $1" "$2" "$(calls type=latency "function=$1" "${@:3}")"
}

# errors_of FUNCTION ERROR: how many calls returned it.
errors_of() {
	values count type=errors "function=$1" "error=$2"
}

# ---- requests ----

# ctl ARGS...: must succeed; the answer is in $TMP/answer.
ctl() {
	status=0
	timeout 30 "$FUNCSCOPE" ctl --socket "$TMP/sock" "$@" >"$TMP/answer" 2>"$TMP/ctl.err" 3>&- </dev/null || status=$?
	((status == 0)) || fail "exit status $status of: funcscope ctl $* -- $(<"$TMP/ctl.err")"
}

# ctl_error REGEX ARGS...: must fail with one sentence.
ctl_error() {
	local regex=$1
	shift
	status=0
	timeout 30 "$FUNCSCOPE" ctl --socket "$TMP/sock" "$@" >"$TMP/answer" 2>"$TMP/ctl.err" 3>&- </dev/null || status=$?
	((status != 0)) || fail "ctl $* should have failed, said: $(<"$TMP/answer")"
	assert_eq "lines on stderr ($(<"$TMP/ctl.err"))" 1 "$(wc -l <"$TMP/ctl.err")"
	assert_match error "$(<"$TMP/ctl.err")" "$regex"
	no_control_bytes "$TMP/ctl.err"
}

# monitor KEY: of its status.
monitor() {
	ctl status
	field "$1" "$(<"$TMP/answer")"
}

monitor_says() {
	[[ $(monitor "$1") == "$2" ]]
}

reloaded() {
	(($(monitor reloads) >= $1))
}

# counted FUNCTION: what stats says of it now.
counted() {
	local line sum=0
	ctl stats
	while read -r line; do
		! has type=latency "$line" || ! has "function=$1" "$line" || sum=$((sum + $(field count "$line")))
	done <"$TMP/answer"
	echo "$sum"
}

counted_is() {
	[[ $(counted "$1") == "$2" ]]
}

# watched FUNCTION [PLACES]: in so many files, 1 unless told otherwise.
watched() {
	ctl list
	[[ $(grep '"type":"function"' "$TMP/answer" | grep -c "\"function\":\"$1\"") == "${2:-1}" ]]
}

# subscribe ARGS...: events come to $TMP/events from now on.
subscribe() {
	"$FUNCSCOPE" ctl --socket "$TMP/sock" subscribe "$@" >"$TMP/events" 2>"$TMP/events.err" 3>&- 8>&- 9<&- </dev/null &
	PIDS+=("$!")
	eventually grep -q '"type":"subscribed"' "$TMP/events"
}

events() {
	grep -c "\"event\":\"$1\"" "$TMP/events" || true
}

events_are() {
	[[ $(events "$1") == "$2" ]]
}

# ---- the other side ----

# free_port: nobody listens there, a moment ago.
free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# receiver NAME HOW: an HTTP server that answers as HOW says (receiver.py); its port is in PORT, each request a line in $TMP/NAME.log.
receiver() {
	mkfifo "$TMP/$1.port"
	python3 "$E2E_TOP/tests/e2e/receiver.py" "$2" "$TMP/$1.log" >"$TMP/$1.port" 2>"$TMP/$1.err" 3>&- 8>&- 9<&- &
	PIDS+=("$!")
	# shellcheck disable=SC2034 # for the tests
	read -r PORT <"$TMP/$1.port" || fail "no receiver: $(<"$TMP/$1.err")"
}

# requests NAME N: it has seen so many at least.
requests() {
	[[ -e $TMP/$1.log ]] && (($(wc -l <"$TMP/$1.log") >= $2))
}

# page ACCEPT: of Prometheus, in $TMP/page.
page() {
	curl -sS -f -m 10 -H "Accept: $1" "http://127.0.0.1:$PAGE_PORT/metrics" >"$TMP/page"
}

# on_page METRIC [TEXT]: the sum of its lines that have the text.
on_page() {
	page text/plain
	awk -v metric="$1" -v text="${2:-}" 'index($0, metric "{") == 1 || index($0, metric " ") == 1 {
		if (text == "" || index($0, text)) sum += $NF } END { printf "%d\n", sum }' "$TMP/page"
}

page_says() {
	[[ $(on_page "$1" "$2") == "$3" ]]
}
