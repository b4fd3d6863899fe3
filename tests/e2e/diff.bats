# diff: verdicts and exit codes on recordings made here, sides of several files, what is no recording, a real recording, and commands
# that are run in turn. Nothing depends on fine timing: recordings hold exact numbers, commands differ tenfold.
load common

setup() { e2e_setup; }
teardown() { e2e_teardown; }

# row TIME NS [FUNCTION [BINARY [MORE]]]: 2000 calls around NS, as one row of `time -f json -i`.
row() {
	local ns=$2 w=$(($2 / 32))
	printf '{"type":"latency","time_ns":%d,"kind":"uprobe","binary":"%s","function":"%s"%s,"count":2000,' "$1" "${4:-/bin/prog}" "${3:-work}" "${5:-}"
	printf '"total_ns":%d,"min_ns":%d,"max_ns":%d,' $((1000 * (ns - w / 2) + 970 * (ns + w / 2) + 30 * 2 * ns)) $((ns - w)) $((2 * ns + w))
	printf '"buckets":[[%d,%d,1000],[%d,%d,970],[%d,%d,30]]}\n' $((ns - w)) "$ns" "$ns" $((ns + w)) $((2 * ns)) $((2 * ns + w))
}

# rows_of NS SPREAD BLOCKS [FUNCTION [BINARY]]: blocks around NS, off by up to 5 SPREAD thousandths.
rows_of() {
	local i
	for ((i = 0; i < $3; i++)); do
		row $((i + 1)) $(($1 + $1 * ((i * 7 + $1) % 11 - 5) * $2 / 1000)) "${@:4}"
	done
}

# recording NS SPREAD BLOCKS [FUNCTION [BINARY]]
recording() {
	rows_of "$@"
	echo '{"type":"summary","seen":1}'
}

# verdict STAT [FUNCTION]
verdict() {
	values verdict "stat=$1" "function=${2:-work}"
}

# side DIR NS COUNT: a directory of so many runs.
side() {
	local i
	mkdir -p "$1"
	for ((i = 0; i < $3; i++)); do
		recording $(($2 + $2 * ((i * 7) % 11 - 5) / 1000)) 1 4 >"$1/run$i.json"
	done
}

two_files() {
	recording 100000 1 30 >a.json
	recording 105000 1 30 >b.json
}

@test "slower, faster, same, undecided" {
	two_files
	recording 100010 1 30 >c.json
	recording 100000 40 8 >wild.json
	recording 103000 40 8 >wilder.json
	fs_ok diff -f json a.json b.json
	jq -e -s '.[:3] | all(.type == "diff" and .kind == "uprobe" and .binary == "prog" and .function == "work" and .verdict == "slower" and
		.unit == "block" and .units_before == 30 and .units_after == 30 and .more == null and .p <= .p_corrected and
		.p_corrected < 0.001 and .before_ns > 0 and .after_ns > .before_ns and
		.change_percent > 4 and .change_percent < 6 and .low_percent > 0 and .high_percent >= .change_percent)' out
	jq -e -s 'map(.stat) == ["p50", "p99", "mean", null]' out
	jq -e -s '.[-1] | .type == "summary" and .functions == 1 and .only_before == [] and .only_after == [] and .verdicts.slower == 1 and
		.confidence_percent == 95 and .margin_percent == 1' out
	assert_match "note" "$(<err)" 'one run per side'
	fs_ok diff -f json b.json a.json
	assert_eq p50 faster "$(verdict p50)"
	fs_ok diff -f json a.json c.json
	assert_eq p50 same "$(verdict p50)"
	fs_ok diff -f json wild.json wilder.json
	assert_eq p50 undecided "$(verdict p50)"
	(($(values more stat=p50) > 0)) || fail "$(<out)"
	fs_ok diff wild.json wilder.json
	assert_match advice "$(<out)" 'undecided: work: record about [0-9.]+ times as long'
}

@test "a recording and itself: the same" {
	two_files
	fs_ok diff -f json a.json a.json
	assert_eq verdicts 'same same same ' "$(values verdict | tr '\n' ' ')"
	assert_eq change 0.0000 "$(values change_percent stat=p50)"
}

@test "--fail-if-slower: exit code 3, the table, and one line that names what it was" {
	two_files
	for percent in 2 2% 4.5%; do
		fs diff --fail-if-slower $percent a.json b.json
		assert_eq "status with $percent" 3 "$status"
		assert_match table "$(<out)" 'work .*slower'
		assert_match named "$(<err)" 'slower by more than [0-9.]+%: work \(p50 \+[45]\.[0-9]%, p99'
	done
	fs_ok diff --fail-if-slower 20 a.json b.json
	fs_ok diff --fail-if-slower 0 b.json a.json
	fs_ok diff a.json b.json
	fs diff -n 1 --sort name --fail-if-slower 2 -f json a.json b.json
	assert_eq status 3 "$status"
}

@test "--margin and --confidence" {
	two_files
	fs_ok diff -f json --margin 10% a.json b.json
	assert_eq p50 same "$(verdict p50)"
	fs_ok diff -f json --confidence 99.9 a.json b.json
	assert_eq p50 slower "$(verdict p50)"
	assert_eq confidence 99.9 "$(summary confidence_percent)"
}

@test "several runs a side: the run is the unit" {
	side before 100000 6
	side after 110000 7
	fs_ok diff -f json before after
	assert_eq p50 slower "$(verdict p50)"
	assert_eq units '6 7 run' "$(values units_before stat=p50) $(values units_after stat=p50) $(values unit stat=p50)"
	assert_eq stderr '' "$(<err)"
	fs_ok diff before after
	assert_match runs "$(<out)" '6 and 7 runs'
}

@test "--before and --after add to a side, or make it" {
	side before 100000 6
	side after 110000 6
	fs_ok diff -f json --before before/run0.json --before before/run1.json --after after
	assert_eq units '2 run' "$(values units_before stat=p50) $(values unit stat=p50)"
	assert_eq verdict undecided "$(verdict p50)"
}

@test "--before with a file that the directory has, too: not two runs" {
	side before 100000 2
	side after 110000 2
	fs_error 2 "'before/run1.json' is given twice" diff --before before/run1.json before after
}

@test "too few runs: how many more" {
	side before 100000 3
	side after 200000 3
	fs_ok diff -f json before after
	assert_eq p50 undecided "$(verdict p50)"
	assert_eq more 2 "$(values more stat=p50)"
	fs_ok diff before after
	assert_match advice "$(<out)" 'undecided: work: about 2 more runs per side'
}

@test "too few blocks: what to record" {
	recording 100000 1 4 >a.json
	recording 200000 1 4 >b.json
	fs_ok diff a.json b.json
	assert_match advice "$(<out)" 'undecided: work: too few blocks; record longer, finer \(-i\), or several runs'
	fs_ok diff -f json a.json b.json
	assert_eq why 'too few blocks' "$(values why stat=p50)"
}

@test "directories: *.json, sorted, nothing else" {
	side before 100000 2
	side after 100000 2
	echo rubbish >before/notes.txt
	echo rubbish >before/.hidden.json
	fs_ok diff -f json before after
	assert_eq runs 2 "$(summary runs_before)"
	echo rubbish >after/a.json
	echo rubbish >after/z.json
	fs_error 1 'after/a.json:1: not JSON' diff before after
	mkdir empty
	fs_error 1 "no recording .* in 'empty'" diff empty after
}

@test "functions on one side only are listed" {
	{ rows_of 100000 1 20; recording 50000 1 20 gone; } >a.json
	{ rows_of 100000 1 20; recording 50000 1 20 fresh; } >b.json
	fs_ok diff a.json b.json
	assert_match before "$(<out)" $'\nonly before: prog:gone\n'
	assert_match after "$(<out)" $'\nonly after: prog:fresh\n'
	fs_ok diff -f json a.json b.json
	assert_eq before '[{"kind":"uprobe","binary":"prog","function":"gone"}]' "$(summary only_before)"
	assert_eq functions 1 "$(summary functions)"
	fs_ok diff -f csv a.json b.json
	assert_match csv "$(<out)" $'\nuprobe,prog,fresh,,,,,,,,,only after,,,,'
	recording 50000 1 20 other >c.json
	fs_error 1 'no function is on both sides' diff a.json c.json
}

@test "two builds of a program are the same functions, keys are merged" {
	for ((i = 1; i <= 12; i++)); do
		row "$i" $((100000 + i % 3)) work /old/build/prog ',"pid":1,"comm":"a"'
		row "$i" $((100000 + i % 4)) work /old/build/prog ',"pid":2,"comm":"b"'
	done >a.json
	echo '{"type":"summary"}' >>a.json
	recording 100000 1 12 work /new/prog >b.json
	fs_ok diff -f json a.json b.json
	assert_eq units 12 "$(values units_before stat=p50)"
	assert_eq functions 1 "$(summary functions)"
}

@test "a recording that was cut off is used as far as it is whole" {
	two_files
	rows_of 105000 1 30 >cut.json
	printf '{"type":"latency","kind":"upr' >>cut.json
	fs_ok diff -f json a.json cut.json
	assert_eq p50 slower "$(verdict p50)"
	assert_match warning "$(<err)" "warning: 'cut.json' is truncated"
	assert_eq "lines on stderr" 2 "$(wc -l <err)"
}

@test "text: 80 columns, and what is in them" {
	{ rows_of 100000 1 20 a_rather_long_name; recording 50000 1 20; } >a.json
	{ rows_of 100010 1 20 a_rather_long_name; recording 55000 1 20; } >b.json
	fs_ok diff a.json b.json
	assert_match header "$(sed -n 1p out)" '^FUNCTION +MEDIAN +CHANGE% +INTERVAL +P99% +MEAN% +VERDICT$'
	assert_match first "$(sed -n 2p out)" '^work +[0-9.]+ us +\+(9\.9|10\.[0-9]) +\[\+[0-9.]+, \+[0-9.]+\] .* slower$'
	assert_match second "$(sed -n 3p out)" '^a_rather_long_name .* same$'
	assert_match counts "$(<out)" '2 functions: 1 slower, 0 faster, 0 undecided, 1 same'
	assert_match how "$(<out)" 'blocks of time; 95% confidence over 6 comparisons \(Holm\), margin 1%'
	longest=$(awk '{ if (length($0) > n) n = length($0) } END { print n }' out)
	((longest <= 80)) || fail "a line of $longest columns: $(<out)"
	fs_ok diff -w a.json b.json
	assert_match header "$(sed -n 1p out)" 'STAT .*BEFORE .*AFTER .*CORRECTED .*UNITS .*MORE'
	assert_eq "a row per statistic" 3 "$(grep -c '^work ' out)"
}

@test "-n, --sort, -o, CSV" {
	{ rows_of 100000 1 20 a; recording 50000 1 20 z; } >a.json
	{ rows_of 100010 1 20 a; recording 55000 1 20 z; } >b.json
	fs_ok diff -f json a.json b.json
	assert_eq "by verdict" z "$(values function | head -n 1)"
	fs_ok diff -f json --sort name a.json b.json
	assert_eq "by name" a "$(values function | head -n 1)"
	fs_ok diff -n 1 -o table a.json b.json
	assert_eq stdout '' "$(<out)"
	assert_match hidden "$(<table)" '1 more function not shown'
	fs_ok diff -f csv a.json b.json
	assert_eq header kind,binary,function,stat,before_ns,after_ns,change_percent,low_percent,high_percent,p,p_corrected,verdict,units_before,units_after,unit,more "$(sed -n 1p out)"
	assert_eq lines 7 "$(wc -l <out)"
	assert_match aside "$(<err)" '2 functions: '
	fs diff -o /nonexistent/x a.json b.json
	assert_eq status 1 "$status"
	assert_match error "$(<err)" "cannot write to '/nonexistent/x'"
}

@test "names with control bytes" {
	recording 100000 1 20 $'evil\\u001b[31m\\n' >a.json
	fs_ok diff a.json a.json
	assert_match escaped "$(<out)" 'evil\\x1b\[31m\\x0a'
	no_control_bytes out
}

@test "wrong words" {
	two_files
	fs_error 2 'two sides' diff
	fs_error 2 'two sides' diff a.json
	fs_error 2 'more than two' diff a.json b.json a.json
	fs_error 2 'two sides' diff --before a.json
	fs_error 2 'twice' diff --run true
	fs_error 2 'twice' diff --run true --run true --run true
	fs_error 2 'cannot be combined' diff --run true --run true a.json b.json
	fs_error 2 '--margin takes a percentage' diff --margin x a.json b.json
	fs_error 2 '--confidence takes a percentage' diff --confidence 0.95 a.json b.json
	fs_error 2 '--fail-if-slower takes a percentage' diff --fail-if-slower -1 a.json b.json
	fs_error 2 '--pairs takes 1' diff --pairs 0 --run true --run true
	fs_error 2 'cannot show comparisons' diff -f folded a.json b.json
	fs_error 2 "by --run, not after '--'" diff a.json b.json -- true
}

@test "what is no recording: one sentence, file and line" {
	two_files
	fs_error 1 "cannot open the recording 'nosuch'" diff a.json nosuch
	: >empty
	fs_error 1 "'empty' holds no durations" diff empty a.json
	mkfifo fifo
	fs_error 1 "'fifo' is not a file" diff a.json fifo
	head -c 3000 /dev/urandom | tr -d '\n' >noise
	echo >>noise
	fs_error 1 'noise:1: not JSON' diff a.json noise
	head -c 3000000 /dev/zero | tr '\0' '[' >deep
	fs_error 1 'deep:1: a line of more than' diff a.json deep
	printf '{"type":"latency","kind":"\033[31m","x":1e999}\n' >hostile
	fs_error 1 'hostile:1: not JSON' diff a.json hostile
	{ row 1 1000; row 2 1000 | sed 's/"count":2000/"count":-1/'; } >negative
	fs_error 1 'negative:2: not a row of a recording: "count"' diff a.json negative
}

@test "no privilege is needed" {
	two_files
	chmod 755 . && chmod 644 a.json b.json
	as_nobody diff -f json a.json b.json
	assert_eq status 0 "$status"
}

@test "recordings of time: itself, and three times the work" {
	for us in 20 60; do
		fs_ok time -f json -i 0.01 -o $us.json "$FIXTURES/timed:timed_call" -- "$FIXTURES/timed" spin $us $((600000 / us))
	done
	fs_ok diff -f json 20.json 20.json
	refute_match itself "$(values verdict)" 'slower|faster'
	fs_ok diff -f json 20.json 60.json
	assert_eq p50 slower "$(verdict p50 timed_call)"
}

# ---- commands ----

count_to() {
	echo "i=0; while [ \$i -lt $1 ]; do i=\$((i+1)); done"
}

@test "--run: ten times the work is slower" {
	fs_ok diff -f json --pairs 10 --run "$(count_to 4000)" --run "$(count_to 40000)"
	assert_eq kinds 'command command ' "$(values kind | tr '\n' ' ')"
	assert_eq "CPU time" slower "$(verdict p50 'CPU time')"
	assert_eq units '10 10 run' "$(values units_before 'function=CPU time') $(values units_after 'function=CPU time') $(values unit 'function=CPU time')"
	assert_match "A/A" "$(last_line)" '"a_against_a":\{"unfit":(true|false),"change_percent":'
	fs_ok diff --pairs 6 --run "$(count_to 4000)" --run "$(count_to 40000)"
	assert_match "A/A" "$(<out)" 'A against A: [-+][0-9.]+% \[[-+][0-9.]+, [-+][0-9.]+\]: '
	assert_match pairs "$(<out)" '6 pairs of runs'
}

@test "--run: functions that the commands recorded" {
	mkdir t
	recording 100000 1 4 >a.json
	recording 110000 1 4 >b.json
	TMPDIR=$TMP/t fs diff -f json --pairs 8 --fail-if-slower 5 --run 'cp a.json "$FUNCSCOPE_RECORD"' --run 'cp b.json "$FUNCSCOPE_RECORD"'
	[[ $status == 3 || $(last_line) == *'"unfit":true'* ]] || fail "status $status: $(<err)"
	assert_eq p50 slower "$(verdict p50)"
	assert_eq p99 slower "$(verdict p99)"
	assert_eq units '8 run' "$(values units_before stat=p50 function=work) $(values unit stat=p50 function=work)"
	assert_eq "left behind" '' "$(ls t)"
}

@test "--run: what is no recording is not used" {
	fs_ok diff -f json --pairs 2 --run 'echo rubbish >"$FUNCSCOPE_RECORD"' --run true
	assert_match warning "$(<err)" 'FUNCSCOPE_RECORD is not used: .*not JSON'
	assert_eq functions 2 "$(summary functions)"
}

@test "--run: a command that fails stops everything, its stderr is shown" {
	fs diff --run true --run 'echo out; echo broken >&2; exit 7'
	assert_eq status 1 "$status"
	assert_eq stdout '' "$(<out)"
	assert_match stderr "$(<err)" '\| broken'
	assert_match status "$(<err)" "the command 'echo out; echo broken >&2; exit 7' failed with status 7"
	fs diff --run 'kill -KILL $$' --run true
	assert_match killed "$(<err)" 'was killed by signal 9'
}

@test "--run: output goes nowhere, with -v to stderr; input is empty" {
	fs_ok diff -f json --pairs 1 --run 'echo loud; cat' --run true
	refute_match out "$(<out)$(<err)" loud
	fs_ok diff -f json --pairs 1 -v --run 'echo loud' --run true
	refute_match out "$(<out)" loud
	assert_match err "$(<err)" loud
}

@test "--run: what a command leaves running is ended" {
	fs_ok diff -f json --pairs 1 --run 'sleep 3141 & true' --run true
	eventually gone 'sleep 3141'
}

gone() {
	! pgrep -f "^$1" >/dev/null
}

running() {
	pgrep -f "^$1" >/dev/null
}

@test "--run: Ctrl-C ends the command and what it started" {
	mkdir t
	TMPDIR=$TMP/t "$FUNCSCOPE" diff --run 'sleep 2718; true' --run true >out 2>err 3>&- </dev/null &
	FS=$!
	PIDS+=("$FS")
	eventually running 'sleep 2718'
	kill -INT "$FS"
	status=0
	wait "$FS" || status=$?
	FS=
	assert_eq status 1 "$status"
	assert_match error "$(<err)" "interrupted while 'sleep 2718; true' ran"
	eventually gone 'sleep 2718'
	assert_eq "left behind" '' "$(ls t)"
}

@test "--run: what instrumented programs measured of themselves is compared, under one name for two builds" {
	cp "$FIXTURES/scoped" ./before
	cp "$FIXTURES/scoped" ./after
	fs_ok diff -f json --pairs 6 --run 'echo go 2000 | ./before' --run 'echo go 2000 | ./after'
	assert_eq "functions" 4 "$(values function stat=p50 | sort -u | wc -l)"
	assert_eq "named" 3 "$(rows function=named | wc -l)"
}

@test "recordings of two builds with two names" {
	cp "$FIXTURES/scoped" ./before
	cp "$FIXTURES/scoped" ./after
	for side in before after; do
		printf 'go 2000\nfork 1\n' | "$FUNCSCOPE" attach -f json -o $side.json -- ./$side >/dev/null
	done
	fs_ok diff -f json before.json after.json
	assert_eq "named" 3 "$(rows function=named | wc -l)"
}
