#!/usr/bin/env bats
# funcscope run: what scripts print, and how runs begin and end. Each fixture's calls are known exactly.
# shellcheck disable=SC2016 # the dollars are the scripts'
# shellcheck disable=SC2030,SC2031 # each test has variables of its own

load common

setup_file() { "$FUNCSCOPE" doctor -f json >"$BATS_FILE_TMPDIR/doctor"; }

setup() {
	e2e_setup
}

teardown() {
	e2e_teardown
}

# script ARGS...: must succeed; what was printed, without the empty lines that separate the maps, in $TMP/out.
script() {
	fs_ok run "$@"
	sed -i '/^$/d' "$TMP/out"
}

# expect TEXT: what was printed.
expect() {
	assert_eq output "$1" "$(<"$TMP/out")"
}

# of_fixture FIXTURE ARGS... -- TEXT: runs a script on the fixture, whose path is @ in it.
of_fixture() {
	local command=() text
	while [[ $1 != -- ]]; do
		command+=("$1")
		shift
	done
	text=${2//@\//$FIXTURES/}
	script -e "$text" -c "$FIXTURES/${command[*]}"
}

# ---- beginning and end ----

@test "run: BEGIN prints, exit() ends, END is run afterwards" {
	script -e 'BEGIN { printf("hello %d\n", 1); exit(); } END { printf("bye\n"); }'
	expect $'hello 1\nbye'
	assert_match stderr "$(<"$TMP/err")" 'Attached 2 probes'
}

@test "run: exit() has a status" {
	fs run -q -e 'BEGIN { exit(7); }'
	assert_eq status 7 "$status"
	assert_eq stderr '' "$(<"$TMP/err")"
}

@test "run: the totals are on stderr, and -q keeps them away" {
	script -e 'BEGIN { printf("x\n"); exit(); }'
	expect x
	assert_match totals "$(<"$TMP/err")" 'seen 2 = kept 2; missed by the kernel 0'
	assert_match totals "$(<"$TMP/err")" '1 probe: 1 attached, 0 refused'
	script -q -e 'BEGIN { printf("x\n"); exit(); }'
	expect x
	assert_eq stderr '' "$(<"$TMP/err")"
}

@test "run: a file, standard input, and a link called bpftrace" {
	printf '#!/usr/bin/bpftrace\n// a comment\nBEGIN { printf("%%s\\n", str($1)); exit(); }\n' >hello.bt
	script hello.bt world
	expect world
	"$FUNCSCOPE" run -q - there <hello.bt >out
	assert_eq output there "$(sed '/^$/d' out)"
	ln -s "$FUNCSCOPE" bpftrace
	assert_eq output you "$(./bpftrace -q hello.bt you | sed '/^$/d')"
}

@test "run: parameters by number and by name" {
	script -e 'BEGIN { printf("%d %s %d\n", $1, str($2), $#); exit(); }' 42 hello
	expect '42 hello 2'
	script -e 'BEGIN { printf("%d %d\n", getopt("aa", 1), getopt("bb")); exit(); }' -- --aa=20 --bb
	expect '20 1'
}

@test "run: an error in the script is shown with its place" {
	fs run -e 'BEGIN { printf("%d\n", $x); }'
	assert_eq status 2 "$status"
	assert_match stderr "$(<"$TMP/err")" 'stdin:1:[0-9]+-[0-9]+: ERROR: '
	assert_match stderr "$(<"$TMP/err")" '~'
	fs_error 2 'no script given' run
	fs_error 1 "failed to open file '/nonexistent.bt': No such file" run /nonexistent.bt
	fs_error 2 '-c and -p cannot be combined' run -e 'BEGIN {}' -c true -p 1
	fs_error 2 'not closed' run -e 'BEGIN {}' -c "true 'x"
}

@test "run: Ctrl-C ends it as exit() does" {
	"$FUNCSCOPE" run -e 'BEGIN { @a = 1; } interval:s:100 { } END { printf("end\n"); }' >out 2>err --ready-fd 4 4> >(cat >ready) &
	PIDS+=($!)
	while [[ ! -s ready ]]; do :; done
	kill -INT $!
	wait $!
	assert_eq output $'end\n@a: 1' "$(sed '/^$/d' out)"
}

@test "run: the line that bpftrace's tests wait for" {
	__BPFTRACE_NOTIFY_PROBES_ATTACHED=1 script -q -e 'BEGIN { printf("x\n"); exit(); }'
	expect $'__BPFTRACE_NOTIFY_PROBES_ATTACHED\nx'
}

# ---- what is printed ----

@test "run: JSON is one object per line" {
	script -q -f json -e 'BEGIN { printf("a\n"); print((1, "x")); @c = count(); @m[1, "y"] = 5; exit(); }'
	expect '{"type": "attached_probes", "count": 1, "data": {"probes": 1}}
{"type": "printf", "data": "a\n"}
{"type": "value", "data": [1,"x"]}
{"type": "map", "data": {"@c": 1}}
{"type": "map", "data": {"@m": {"1,y": 5}}}' ||
		expect '{"type": "printf", "data": "a\n"}
{"type": "value", "data": [1,"x"]}
{"type": "map", "data": {"@c": 1}}
{"type": "map", "data": {"@m": {"1,y": 5}}}'
	jq -e . <"$TMP/out" >/dev/null
}

@test "run: maps are in order of their values, or of their keys" {
	script -q -e 'BEGIN { @n["b"] = 2; @n["a"] = 2; @n["c"] = 1; @s[10] = "x"; @s[-3] = "y"; exit(); }'
	expect '@n[c]: 1
@n[a]: 2
@n[b]: 2
@s[-3]: y
@s[10]: x'
}

@test "run: aggregations" {
	script -q -e 'BEGIN { @c = count(); @c = count(); @s = sum(-5); @a = avg(7); @a = avg(8); @i = min(-3); @i = min(4);
		@x = max(9); @x = max(2); @st = stats(4); @st = stats(-9); exit(); }'
	expect '@a: 7
@c: 2
@i: -3
@s: -5
@st: { .count = 2, .average = -2, .total = -5 }
@x: 9'
}

@test "run: histograms, and their percentiles when asked for" {
	script -q --percentiles -e 'BEGIN { @ = hist(5); @ = hist(6); @l = lhist(15, 0, 100, 10); exit(); }'
	expect '@:
[4, 8)                 2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
p50 < 8, p90 < 8, p99 < 8
@l:
[10, 20)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
p50 < 20, p90 < 20, p99 < 20'
}

@test "run: clear() and zero(), print() with a limit and a divisor" {
	script -q -e 'BEGIN { @a[1] = 10; @a[2] = 20; @a[3] = 30; print(@a, 2); print(@a, 1, 10); zero(@a); print(@a); clear(@a); exit(); }'
	expect '@a[2]: 20
@a[3]: 30
@a[3]: 3
@a[1]: 0
@a[2]: 0
@a[3]: 0'
}

@test "run: time(), strftime(), cat(), join and system() are carried out here" {
	[[ -x /bin/sh ]] || skip 'no /bin/sh'
	echo content >file
	TZ=UTC script -q --unsafe -e 'BEGIN { time("%Y\n"); cat("%s", "file"); system("echo sys %d", 5); exit(); }'
	assert_eq output "$(date -u +%Y)
content
sys 5" "$(<"$TMP/out")"
	fs run -q -e 'BEGIN { system("echo no"); }'
	assert_match stderr "$(<"$TMP/err")" unsafe
	((status)) || fail 'system() ran without --unsafe'
}

@test "run: texts from outside do not command the terminal" {
	of_fixture strings hostile -- 'uprobe:@/strings:say { @[str(arg0)] = count(); }'
	script -q -e "uprobe:$FIXTURES/strings:say { printf(\"%s\\n\", str(arg0)); }" -c "$FIXTURES/strings hostile"
	grep -q $'\x1b' "$TMP/out" || fail 'a pipe gets what there is'
	script_terminal=$(script_on_terminal "uprobe:$FIXTURES/strings:say { printf(\"%s\\n\", str(arg0)); }" "$FIXTURES/strings hostile")
	refute_match terminal "$script_terminal" $'\x1b'
}

# script_on_terminal TEXT COMMAND: what a terminal would get.
script_on_terminal() {
	command -v script >/dev/null || skip 'no script(1)'
	printf '%s' "$1" >text.bt
	command script -qec "$FUNCSCOPE run -q text.bt -c '$2'" /dev/null </dev/null
}

# ---- user functions ----

# bats test_tags=guest
@test "run: calls of a user function are counted, by name and thread" {
	of_fixture threads 1000 4 -- 'uprobe:@/threads:work { @[comm] = count(); @t[tid] = count(); }'
	assert_eq total '@[threads]: 1000' "$(grep '^@\[' "$TMP/out")"
	assert_eq threads 4 "$(grep -c '^@t' "$TMP/out")"
	assert_eq calls 250 "$(sed -n 's/^@t.*: //p' "$TMP/out" | sort -u)"
}

@test "run: arguments, strings and return values" {
	of_fixture strings 3 -- 'uprobe:@/strings:say { printf("%s %d\n", str(arg0), arg1); }
		uretprobe:@/strings:say { printf("= %d\n", retval); }'
	expect 'text number 0 0
= 0
text number 1 1
= 1
text number 2 2
= 2'
}

@test "run: arguments by their names in debug information" {
	of_fixture structs 2 -- 'uprobe:@/structs:plot { printf("%d %d %s\n", args.p->x, args.p->y, str(args.p->name)); }'
	expect '0 0 point 0
1 -1 point 1'
}

@test "run: durations by a map" {
	of_fixture threads 100 2 -- 'uprobe:@/threads:work { @start[tid] = nsecs; }
		uretprobe:@/threads:work /@start[tid]/ { @n = count(); @us = hist((nsecs - @start[tid]) / 1000); delete(@start, tid); }'
	assert_eq returns '@n: 100' "$(grep '^@n' "$TMP/out")"
	assert_eq histogram 100 "$(sed -n '/^\[/s/^.*) *\([0-9]*\) |.*/\1/p; s/^\[[0-9]*\] *\([0-9]*\) |.*/\1/p' "$TMP/out" | paste -sd+ | bc)"
}

@test "run: stacks lead from main() to the function" {
	of_fixture chains 5 2 -- 'uprobe:@/chains:chain_leaf { @[ustack(4)] = count(); }'
	assert_match stacks "$(<"$TMP/out")" '@\[
        chain_leaf\+0
        chain_c\+[0-9]+
        chain_b\+[0-9]+
        chain_a\+[0-9]+
\]: 5'
}

@test "run: predicates and wildcards; func and probe say which" {
	of_fixture chains 3 1 -- 'uprobe:@/chains:chain_? { @[func] = count(); @p[probe] = count(); }'
	assert_eq functions '@[chain_x]: 1
@[chain_a]: 3
@[chain_b]: 3
@[chain_c]: 3' "$(grep '^@\[' "$TMP/out")"
	assert_match probes "$(<"$TMP/out")" "@p\[uprobe:$FIXTURES/chains:chain_a\]: 3"
	of_fixture strings 100 -- 'uprobe:@/strings:say /arg1 % 10 == 3/ { @ = count(); }'
	expect '@: 10'
}

@test "run: USDT probes, with their semaphore" {
	of_fixture usdt 7 -- 'usdt:@/usdt:fix:guarded { @g = count(); } usdt:@/usdt:fix:twin { @t = count(); }'
	expect '@g: 7
@t: 16'
}

@test "run: -p limits a script to a process and ends with it" {
	sleep 60 &
	PIDS+=($!)
	"$FUNCSCOPE" run -q -e 'interval:ms:50 { printf("tick\n"); @ = count(); } END { printf("end\n"); }' -p $! >out 2>err &
	local pid=$!
	PIDS+=("$pid")
	while [[ ! -s out ]]; do :; done
	kill "${PIDS[0]}"
	wait "$pid"
	assert_match output "$(<out)" $'tick\n.*end\n'
}

# ---- other probes ----

@test "run: tracepoints and their fields" {
	of_fixture syscalls 50 -- 'tracepoint:syscalls:sys_enter_getppid /comm == "fixcaller"/ { @ = count(); }
		tracepoint:syscalls:sys_enter_read /comm == "fixcaller"/ { @n[args.count] = count(); }'
	expect '@: 50
@n[1]: 50'
}

@test "run: raw tracepoints, software events, timers" {
	script -q -e 'rawtracepoint:sys_enter { @r = count(); } software:page-faults:1 { @f = count(); } profile:hz:99 { @p = count(); }
		interval:ms:300 { exit(); }'
	assert_eq maps 3 "$(grep -c '^@[rfp]: [1-9]' "$TMP/out")"
}

@test "run: iterators run once, and end a run that has nothing else" {
	script -q -e 'iter:task { @ = count(); }'
	assert_match tasks "$(<"$TMP/out")" '^@: [1-9]'
}

@test "run: a signal to funcscope itself" {
	"$FUNCSCOPE" run -q -e 'self:signal:SIGUSR1 { printf("usr1\n"); exit(); }' --ready-fd 4 4> >(cat >ready) >out 2>err &
	PIDS+=($!)
	while [[ ! -s ready ]]; do :; done
	kill -USR1 $!
	wait $!
	assert_eq output usr1 "$(sed '/^$/d' out)"
}

@test "run: what cannot be attached is named" {
	fs run -e 'uprobe:/nonexistent:f { @ = count(); }'
	((status)) || fail 'it ran'
	assert_match stderr "$(<"$TMP/err")" '/nonexistent'
	fs run -e "uprobe:$FIXTURES/threads:wrok { @ = count(); }"
	((status)) || fail 'it ran'
	assert_match stderr "$(<"$TMP/err")" 'work'
}

@test "run: a command ends with its script" {
	fs_ok run -q -e "uprobe:$FIXTURES/threads:work { exit(); }" -c 'sleep 0'
	fs_ok run -q -e 'BEGIN { printf("%d\n", cpid); exit(); }' -c 'sleep 1000'
	assert_match pid "$(<"$TMP/out")" '^[1-9][0-9]*'
	[[ ! -e /proc/$(head -n 1 "$TMP/out") ]] || fail 'the command still runs'
}

@test "run: nothing stays attached, and the program runs as before" {
	of_fixture threads 10 1 -- 'uprobe:@/threads:work { @ = count(); }'
	expect '@: 10'
	[[ ! -e /sys/kernel/tracing/uprobe_events ]] || assert_eq uprobes '' "$(</sys/kernel/tracing/uprobe_events)"
	"$FIXTURES/threads" 10 1
}

@test "run: -d shows what a script becomes, --dry-run attaches nothing" {
	fs_ok run -d all -e 'BEGIN { printf("x\n"); }'
	assert_match dump "$(<"$TMP/out")" 'printf'
	fs_ok run --dry-run -e 'BEGIN { printf("x\n"); }'
	assert_eq output '' "$(<"$TMP/out")"
}

@test "run: --info says what there is" {
	fs_ok run --info
	assert_match info "$(<"$TMP/out")" '  kprobe_session: (yes|no)'
	assert_match info "$(<"$TMP/out")" '  loop: (yes|no)'
}

@test "run: -l lists probes, with -v their arguments" {
	fs_ok run -l "uprobe:$FIXTURES/strings:s*y"
	assert_eq list "uprobe:$FIXTURES/strings:say" "$(<"$TMP/out")"
	fs_ok run -lv 'tracepoint:sched:sched_process_exit'
	assert_match fields "$(<"$TMP/out")" 'pid_t pid'
}

# ---- kernel functions ----

# bats test_tags=guest
@test "run: how long a kernel function takes" {
	need_kernel_functions
	of_fixture syscalls 211 -- 'kprobe:vfs_read /comm == "fixcaller"/ { @start[tid] = nsecs; }
		kretprobe:vfs_read /@start[tid]/ { @n = count(); @us = hist((nsecs - @start[tid]) / 1000); delete(@start, tid); }'
	assert_eq returns '@n: 211' "$(grep '^@n' "$TMP/out")"
	assert_match histogram "$(<"$TMP/out")" '@us:'
}

# bats test_tags=guest
@test "run: typed arguments of kernel functions" {
	need_kernel_functions
	need_check fentry
	of_fixture syscalls 50 -- 'fentry:vfs_read /comm == "fixcaller"/ { @[args.count] = count(); }
		fexit:vfs_read /comm == "fixcaller"/ { @r[retval] = count(); }'
	expect '@[1]: 50
@r[1]: 50'
}

# bats test_tags=guest
@test "run: kernel stacks, and programs at one function in their order" {
	need_kernel_functions
	of_fixture syscalls 3 -- 'kprobe:vfs_read /comm == "fixcaller"/ { @[kstack(2)] = count(); printf("1"); }
		kprobe:vfs_read /comm == "fixcaller"/ { printf("2"); }'
	assert_match order "$(<"$TMP/out")" '^121212'
	assert_match stack "$(<"$TMP/out")" '        vfs_read\+[0-9]+'
}

@test "run: where kernel functions cannot be probed, that is said" {
	[[ $(doctor_rung 'kernel functions') == null ]] || skip 'they can'
	fs run -e 'kprobe:vfs_read { @ = count(); }'
	((status)) || fail 'it ran'
	assert_match stderr "$(<"$TMP/err")" 'vfs_read'
}

# ---- tests and measurements of scripts ----

@test "run: --test runs a script's tests, --bench measures" {
	fs run -q --test -e 'test:good { printf("x\n"); } test:bad { errorf("no"); }'
	assert_eq status 1 "$status"
	assert_match verdicts "$(<"$TMP/out")" '\[       OK \] good .*\[  FAILED  \] bad .*2 tests ran\.'
	fs_ok run -q --bench -f json -e 'bench:a { @ = count(); } bench:b { @c = count(); }'
	assert_match bench "$(<"$TMP/out")" '"benchmark_result", "data": \{"a": \{"average": [1-9][0-9]*, "iters": [1-9][0-9]*\}\}'
}

@test "run: --probe-filter leaves out probes, an option that no script reads is an error" {
	script -q --probe-filter ':200' -e 'BEGIN { printf("begin\n"); } interval:ms:100 { printf("bad\n"); exit(); }
		interval:ms:200 { printf("hit\n"); exit(); } END { printf("end\n"); }'
	expect $'begin\nhit\nend'
	fs_error 1 'No probes to attach' run -q --probe-filter nothing -e 'interval:ms:1 { exit(); }'
	fs_error 2 'Invalid --probe-filter regex' run -q --probe-filter '[x' -e 'interval:ms:1 { exit(); }'
	fs run -q -e 'BEGIN { print(getopt("aa", 10, "how many")); exit(); }' -- --bb=20
	assert_eq status 2 "$status"
	assert_match options "$(<"$TMP/err")" 'unexpected program command line options: --bb.*expected program options: --aa'
}

@test "run: Ctrl-C is heard while events come faster than they are carried out" {
	"$FUNCSCOPE" run --unsafe -e 'tracepoint:sched:sched_switch { system("echo foo"); } END { printf("end\n"); }' --ready-fd 4 4> >(cat >ready) >out 2>err &
	local pid=$!
	PIDS+=("$pid")
	while [[ ! -s out ]]; do :; done
	kill -INT "$pid"
	wait "$pid"
	assert_match output "$(tail -c 100 out)" 'end'
}

@test "run: a map that is full is warned of, and counted" {
	fs_ok run -e 'config = { max_map_keys=4 } BEGIN { for ($i : 0..10) { @[$i] = 1; } exit(); }'
	assert_match warning "$(<"$TMP/err")" 'Map full'
	assert_match books "$(<"$TMP/err")" 'map full 6'
}
