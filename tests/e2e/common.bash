# What the end-to-end tests share. A test starts funcscope and a fixture whose calls are known exactly, and compares. Nothing here
# waits for a time to pass: funcscope says when it is armed (--ready-fd), the runner fixture answers each command.
#
#   FUNCSCOPE   the program   (build/funcscope of this tree)
#   FIXTURES    the fixtures  (build/fixtures of this tree)
#   IN_VM, GUEST              set inside a virtual machine
# shellcheck shell=bash

bats_require_minimum_version 1.5.0

E2E_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
FUNCSCOPE=$(realpath -m "${FUNCSCOPE:-$E2E_TOP/build/funcscope}")
FIXTURES=$(realpath -m "${FIXTURES:-$E2E_TOP/build/fixtures}")
# The sanitized program takes several times as long: what it has to keep up with is made less.
SANITIZED=
# shellcheck disable=SC2034 # for the tests
[[ $FUNCSCOPE != */san/funcscope ]] || SANITIZED=1
export LC_ALL=C.UTF-8

# ---- life of a test ----

e2e_setup() {
	TMP=$BATS_TEST_TMPDIR
	PIDS=()
	RUNNER=
	FS=
	sanitizer_reports
	cd "$TMP" || return
}

# Of the sanitized program: to files that fail the test at its end, whatever it expected of the program. Some tests run the program
# as another user.
sanitizer_reports() {
	[[ -z ${IN_VM:-} ]] || return 0
	REPORTS=$(mktemp -d /tmp/funcscope-reports.XXXXXX)
	chmod 1777 "$REPORTS"
	export ASAN_OPTIONS=log_path=$REPORTS/asan UBSAN_OPTIONS=log_path=$REPORTS/ubsan
}

no_sanitizer_report() {
	local text
	[[ -n ${REPORTS:-} ]] || return 0
	# The leak checker could not stop a thread that was ending: no finding.
	text=$(cat "$REPORTS"/* 2>/dev/null | grep -v '==Unable to get registers from thread') || true
	rm -rf "$REPORTS"
	[[ -z $text ]] || fail "$text"
}

e2e_teardown() {
	local pid
	stop_runner
	for pid in "${PIDS[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	no_sanitizer_report
}

fail() {
	printf '%s\n' "$*" >&2
	return 1
}

# assert_eq WHAT EXPECTED GOT
assert_eq() {
	[[ $2 == "$3" ]] || fail "$1: expected '$2', got '$3'"
}

assert_match() {
	[[ $2 =~ $3 ]] || fail "$1: expected /$3/, got: $2"
}

refute_match() {
	[[ ! $2 =~ $3 ]] || fail "$1: did not expect /$3/ in: $2"
}

# ---- running funcscope to its end ----

# fs ARGS...: stdout in $TMP/out, stderr in $TMP/err, exit status in $status.
fs() {
	status=0
	"$FUNCSCOPE" "$@" >"$TMP/out" 2>"$TMP/err" 3>&- </dev/null || status=$?
}

# fs_ok ARGS...: must exit with 0.
fs_ok() {
	fs "$@"
	((status == 0)) || fail "exit status $status of: funcscope $* -- $(<"$TMP/err")"
}

# fs_json ARGS...: count -f json; must succeed and its books must close.
fs_json() {
	fs_ok count -f json "$@"
	books_close
}

# fs_error STATUS REGEX ARGS...: must fail with STATUS, print nothing on stdout and one sentence on stderr.
fs_error() {
	local want=$1 regex=$2
	shift 2
	fs "$@"
	check_error "$want" "$regex" "$*"
}

check_error() {
	local text
	text=$(<"$TMP/err")
	# shellcheck disable=SC2053 # a pattern is welcome
	[[ $status == $1 ]] || fail "exit status $status, expected $1, of: funcscope $3 -- $text"
	[[ ! -s $TMP/out ]] || fail "stdout should be empty, has: $(<"$TMP/out")"
	assert_eq "lines on stderr ($text)" 1 "$(wc -l <"$TMP/err")"
	assert_match "error" "$text" "$2"
	no_control_bytes "$TMP/err"
}

# ---- reading what it says ----
#
# By the shell itself: starting jq takes half a second in an emulated guest. That the lines are JSON is checked by jq outside the
# guests (books_close), and in output.bats everywhere. Strings are compared as they stand in the JSON.

# field KEY LINE: the value, without the quotes of a string; fails if the line has no such key.
field() {
	local value='("(([^"\\]|\\.)*)"|[^]",}]+)'
	[[ $2 =~ \"$1\":$value ]] || return
	if [[ ${BASH_REMATCH[1]} == \"* ]]; then printf '%s\n' "${BASH_REMATCH[2]}"; else printf '%s\n' "${BASH_REMATCH[1]}"; fi
}

# pick KEY LINE: a number or word, into REPLY; fails if the line has no such key. Starts no process, which takes a guest long.
pick() {
	[[ $2 =~ \"$1\":([^]\",{}[]+) ]] || return
	REPLY=${BASH_REMATCH[1]}
}

# pick_lost LINE: the sum of its losses, into REPLY.
pick_lost() {
	local IFS=, part
	REPLY=0
	[[ $1 =~ \"lost\":\{([^}]*)\} ]] || return
	for part in ${BASH_REMATCH[1]}; do REPLY=$((REPLY + ${part##*:})); done
}

# has KEY=VALUE LINE
has() {
	local text="\"${1%%=*}\":"
	# shellcheck disable=SC1083 # a set of two characters
	[[ $2 == *"$text\"${1#*=}\""* || $2 == *"$text${1#*=}"[,}]* ]]
}

# rows [KEY=VALUE...]: the lines of $TMP/out that are no summary and have all of that.
rows() {
	local line want
	while read -r line; do
		[[ $line != *'"type":"summary"'* ]] || continue
		for want; do
			has "$want" "$line" || continue 2
		done
		printf '%s\n' "$line"
	done <"$TMP/out"
}

# values KEY [KEY=VALUE...]: of those rows, one per line, in their order.
values() {
	local key=$1 line
	shift
	rows "$@" | while read -r line; do
		field "$key" "$line" || true
	done
}

# distinct KEY: how many different values there are.
distinct() {
	local value
	local -A seen=()
	while read -r value; do seen[$value]=1; done < <(values "$1")
	echo "${#seen[@]}"
}

# calls [KEY=VALUE...]: the sum of the counts of those rows; "none" if there is no such row.
calls() {
	local n sum=none
	while read -r n; do sum=$((${sum/none/0} + n)); done < <(values count "$@")
	echo "$sum"
}

last_line() {
	tail -n 1 "$TMP/out"
}

# summary KEY: of the last line; objects and arrays as they stand.
summary() {
	local last group='(\{[^}]*\}|\[[^]]*\])'
	last=$(last_line)
	if [[ $last =~ \"$1\":$group ]]; then printf '%s\n' "${BASH_REMATCH[1]}"; else field "$1" "$last"; fi
}

# assert_calls FUNCTION N
assert_calls() {
	assert_eq "calls of $1" "$2" "$(calls "function=$1")"
}

# rows_add_up TYPE: seen = kept + losses; kept = what the rows of that type count.
rows_add_up() {
	local line last='' rows=0 summaries=0 seen kept lost
	while read -r line; do
		last=$line
		case $line in
		*"\"type\":\"$1\""*) pick count "$line" && rows=$((rows + REPLY)) ;;
		*'"type":"summary"'*) summaries=$((summaries + 1)) ;;
		esac
	done <"$TMP/out"
	assert_eq "type of the last line" summary "$(field type "$last")"
	assert_eq "summaries" 1 "$summaries"
	pick_lost "$last" || fail "no losses in $last"
	lost=$REPLY
	pick kept "$last" || fail "nothing kept in $last"
	kept=$REPLY
	pick seen "$last" || fail "nothing seen in $last"
	seen=$REPLY
	assert_eq "seen = kept + lost in $last" "$seen" $((kept + lost))
	[[ $last != *'"unexplained"'* ]] || fail "unexplained: $last"
	assert_eq "kept = the sum of the rows in $(<"$TMP/out")" "$kept" "$rows"
}

# Of count: the summary is the last and only one, and the books close.
books_close() {
	rows_add_up count
	[[ -n ${IN_VM:-} ]] || assert_eq "lines of JSON" "$(wc -l <"$TMP/out")" "$(jq -c . "$TMP/out" | wc -l)"
}

no_control_bytes() {
	! LC_ALL=C grep -q -a $'[\001-\010\013-\037\177]' "$1" || fail "control bytes in: $(cat -v "$1")"
}

# ---- funcscope in the background ----

# arm ARGS...: starts `count ARGS` and returns when its probes are on. Its pid is in FS.
arm() {
	arm_as count "$@"
}

# arm_as COMMAND ARGS...: likewise with another command.
arm_as() {
	local word=
	rm -f "$TMP/ready"
	mkfifo "$TMP/ready"
	"$FUNCSCOPE" "$1" --ready-fd 7 "${@:2}" 7>"$TMP/ready" >"$TMP/out" 2>"$TMP/err" 3>&- 8>&- 9<&- </dev/null &
	FS=$!
	PIDS+=("$FS")
	read -r word <"$TMP/ready" || true
	[[ $word == armed ]] || fail "not armed: funcscope $* -- $(<"$TMP/err")"
}

# finish [SIGNAL]: ends it as Ctrl-C does; it must exit with 0.
finish() {
	kill "-${1:-INT}" "$FS"
	join
}

# join: waits for it; it must exit with 0.
join() {
	status=0
	wait "$FS" || status=$?
	FS=
	((status == 0)) || fail "exit status $status: $(<"$TMP/err")"
}

# ---- the runner ----

# start_runner [PROGRAM [ARGS...]]: the runner fixture, or something that ends up being one. Sets RUNNER (pid) and
# ADDRESS (of work). Commands go through ask.
start_runner() {
	local cmd=("$@") word=
	((${#cmd[@]})) || cmd=("$FIXTURES/runner")
	rm -f "$TMP/to" "$TMP/from"
	mkfifo "$TMP/to" "$TMP/from"
	"${cmd[@]}" <"$TMP/to" >"$TMP/from" 3>&- 8>&- 9<&- &
	PIDS+=("$!")
	exec 8>"$TMP/to" 9<"$TMP/from"
	# shellcheck disable=SC2034 # for the tests
	read -r word RUNNER ADDRESS <&9 || true
	[[ $word == runner ]] || fail "the runner did not start: ${cmd[*]}"
}

# ask COMMAND...: sends a line, reads the answer: first word in WORD, the rest in ANSWER.
ask() {
	printf '%s\n' "$*" >&8
	WORD='' ANSWER=''
	# shellcheck disable=SC2034 # for the tests
	read -r WORD ANSWER <&9 || fail "the runner is gone, at: $*"
	[[ $WORD != 'what?' ]] || fail "the runner does not know: $*"
}

# relay N: starts that fixture, whose processes pass a token round, and is ready when it goes.
relay() {
	local word=
	rm -f "$TMP/to" "$TMP/from"
	mkfifo "$TMP/to" "$TMP/from"
	"$FIXTURES/relay" "$1" <"$TMP/to" >"$TMP/from" 3>&- 8>&- 9<&- &
	PIDS+=("$!")
	exec 8>"$TMP/to" 9<"$TMP/from"
	# shellcheck disable=SC2034 # for the tests
	read -r word RELAY <&9 || true
	[[ $word == relay ]] || fail "the relay did not start"
	ask more
}

stop_runner() {
	exec 8>&- 9<&- || true
	[[ -z $RUNNER ]] || RUNNER=
}

# memory_at PID ADDRESS: four bytes of a process, in hex.
memory_at() {
	dd if="/proc/$1/mem" bs=1 skip="$2" count=4 status=none | od -An -tx1 | tr -d ' \n'
}

# eventually COMMAND...: for what the kernel does a moment later; gives up after about ten seconds.
eventually() {
	local i
	for ((i = 0; i < 200; i++)); do
		! "$@" || return 0
		sleep 0.05
	done
	fail "never came true: $*"
}

# ---- what the machine can do ----

# doctor_line TYPE KEY=VALUE: the line of doctor's report that says so.
doctor_line() {
	[[ -s $BATS_FILE_TMPDIR/doctor ]] || "$FUNCSCOPE" doctor -f json >"$BATS_FILE_TMPDIR/doctor"
	grep -F "{\"type\":\"$1\"" "$BATS_FILE_TMPDIR/doctor" | grep -F "\"${2%%=*}\":\"${2#*=}\""
}

# doctor_says NAME: "true", "false", or nothing if doctor does not speak of it.
doctor_says() {
	field ok "$(doctor_line check "name=$1")"
}

doctor_why() {
	field detail "$(doctor_line check "name=$1")"
}

# doctor_rung FOR: the rung's name, "null" if there is none.
doctor_rung() {
	field rung "$(doctor_line rung "for=$1")"
}

need_check() {
	[[ $(doctor_says "$1") == true ]] || skip "no $1 here: $(doctor_why "$1")"
}

need_kernel_functions() {
	[[ $(doctor_rung "kernel functions") != null ]] ||
		skip "kernel functions cannot be probed here (kprobe: $(doctor_why kprobe))"
}

need_tracepoints() {
	[[ $(doctor_rung tracepoints) != null ]] || skip "no tracepoints here: $(doctor_why tracepoint)"
}

# What the host shows as well as a guest, and a guest would take long for.
not_in_guest() {
	[[ -z ${IN_VM:-} ]] || skip "shown outside the guests"
}

# A libc of the test's own in $TMP/lib, for LD_LIBRARY_PATH: a probe on the system's would be in every process of the machine.
private_libc() {
	local line libc=
	while read -r line; do
		[[ $line != *libc.so.6 ]] || libc=${line##* }
	done </proc/$BASHPID/maps
	[[ $libc == /* ]] || skip "this shell uses no libc.so.6"
	mkdir "$TMP/lib"
	cp -L "$libc" "$TMP/lib/libc.so.6"
}

need_command() {
	command -v "$1" >/dev/null || skip "$1 is not installed"
}

need_fixture() {
	[[ -e $FIXTURES/$1 ]] || skip "fixture $1 is not built for $(uname -m)"
}

# as_capable CAPS ARGS...: funcscope as another user with these capabilities (+bpf,+perfmon) alone; like fs.
as_capable() {
	need_command setpriv
	install -m 755 "$FUNCSCOPE" "/tmp/funcscope-capable.$$"
	status=0
	setpriv --reuid=65534 --clear-groups --inh-caps="-all,$1" --ambient-caps="-all,$1" \
		"/tmp/funcscope-capable.$$" "${@:2}" >"$TMP/out" 2>"$TMP/err" 3>&- </dev/null || status=$?
	rm -f "/tmp/funcscope-capable.$$"
}

# as_nobody ARGS...: funcscope without any privilege; like fs.
as_nobody() {
	need_command setpriv
	install -m 755 "$FUNCSCOPE" /tmp/funcscope-nobody.$$
	status=0
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all \
		"/tmp/funcscope-nobody.$$" "$@" >"$TMP/out" 2>"$TMP/err" 3>&- </dev/null || status=$?
	rm -f "/tmp/funcscope-nobody.$$"
}
