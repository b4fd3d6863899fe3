# What an introduction to bpftrace shows (its table of probes, filters, actions, variables, functions of its maps, and its two
# scripts), as it stands there, by funcscope run. Calls are made by fixtures, so every number is known.
load common

setup_file() { "$FUNCSCOPE" doctor -f json >"$BATS_FILE_TMPDIR/doctor"; }
setup() { e2e_setup; }
teardown() { e2e_teardown; }

# script TEXT [OPTIONS...]: runs it quietly; what it prints is in $TMP/out, without the empty lines.
script() {
	fs_ok run -q -e "$@"
	sed -i '/^$/d' "$TMP/out"
}

# prints TEXT: the whole output.
prints() {
	assert_eq output "$1" "$(<"$TMP/out")"
}

has_line() {
	grep -qxF -- "$1" "$TMP/out" || fail "no line '$1' in: $(<"$TMP/out")"
}

matches_line() {
	grep -qE -- "^$1\$" "$TMP/out" || fail "no line /$1/ in: $(<"$TMP/out")"
}

# ---- structure ----

@test "probes, a filter and an action" {
	script "uprobe:$FIXTURES/calls:work /pid/ { @ = count(); }" -c "$FIXTURES/calls 307"
	prints '@: 307'
	script "uprobe:$FIXTURES/calls:work /pid == 1/ { @[pid] = count(); }" -c "$FIXTURES/calls 11"
	prints ''
	script "uprobe:$FIXTURES/calls:work /pid == cpid/ { @ = count(); }" -c "$FIXTURES/calls 11"
	prints '@: 11'
}

@test "statements: one, several with semicolons, scratch variables" {
	# shellcheck disable=SC2016
	script 'BEGIN { $x = 42; printf("$x is %d", $x); exit(); }'
	prints "\$x is 42"
}

@test "unroll(count) { statements }" {
	# shellcheck disable=SC2016
	script 'BEGIN { $i = 1; unroll(20) { @s += $i; $i++; } exit(); }'
	prints '@s: 210'
}

@test "maps carry data between probes: the time between two" {
	# shellcheck disable=SC2016
	script "uprobe:$FIXTURES/structs:plot { @start = nsecs; } uprobe:$FIXTURES/structs:ask { \$duration = nsecs - @start; @n[\$duration > 0] = count(); }" \
		-c "$FIXTURES/structs 5"
	has_line '@n[true]: 5'
}

@test "BEGIN and END run at the start and the end" {
	script 'BEGIN { printf("first\n"); exit(); } END { printf("last\n"); }'
	prints $'first\nlast'
}

# ---- the table of probes ----

# bats test_tags=guest
@test "tracepoint, t" {
	local t
	need_tracepoints
	for t in tracepoint t; do
		script "$t:syscalls:sys_enter_getppid /comm == \"fixcaller\"/ { @ = count(); }" -c "$FIXTURES/syscalls 101"
		prints '@: 101'
	done
	script "t:syscalls:sys_enter_getpp* /comm == \"fixcaller\"/ { @[probe] = count(); }" -c "$FIXTURES/syscalls 7"
	prints '@[tracepoint:syscalls:sys_enter_getppid]: 7'
}

@test "usdt, U" {
	local t
	for t in usdt U; do
		script "$t:$FIXTURES/usdtargs:fix:args { printf(\"%s %d\n\", str(arg1), arg0); }" -c "$FIXTURES/usdtargs 2"
		prints $'item 0 0\nitem 1 -1'
	done
}

@test "uprobe, u, uretprobe, ur" {
	script "u:$FIXTURES/strings:say { @a[str(arg0)] = count(); } ur:$FIXTURES/strings:say { @r = sum(retval); }" -c "$FIXTURES/strings 3"
	has_line '@a[text number 0]: 1'
	has_line '@a[text number 2]: 1'
	has_line '@r: 3'
	script "uprobe:$FIXTURES/strings:sa*,uprobe:$FIXTURES/strings:whis* { @[func] = count(); } uretprobe:$FIXTURES/strings:say { @ret = count(); }" -c "$FIXTURES/strings 3"
	has_line '@[say]: 3'
	has_line '@[whisper]: 1'
	has_line '@ret: 3'
}

# bats test_tags=guest
@test "kprobe, k, kretprobe, kr" {
	need_kernel_functions
	script "kprobe:vfs_read /comm == \"fixcaller\"/ { @in = count(); } kretprobe:vfs_read /comm == \"fixcaller\"/ { @out = sum(retval); }" \
		-c "$FIXTURES/syscalls 101"
	prints $'@in: 101\n@out: 101'
	script "k:vfs_rea* /comm == \"fixcaller\"/ { @[func] = count(); } kr:vfs_read /comm == \"fixcaller\"/ { @r = count(); }" \
		-c "$FIXTURES/syscalls 101"
	prints $'@[vfs_read]: 101\n@r: 101'
}

@test "software, s; profile, p; interval, i" {
	local t
	for t in software:cpu-clock:1000000 s:cpu:1000000 profile:hz:99 p:hz:99 interval:ms:20 i:ms:20; do
		script "$t { printf(\"%s\\n\", probe); exit(); }"
		head -n 1 "$TMP/out" >"$TMP/first"
		mv "$TMP/first" "$TMP/out"
		matches_line '(software:cpu(-clock)?:1000000|profile:hz:99|interval:ms:20)'
	done
}

@test "hardware, h: counts, or says that the machine has no such counter" {
	fs run -q -e 'hardware:cpu-cycles:1000000 { printf("cycles\n"); exit(); }'
	if ((status)); then
		assert_match error "$(<"$TMP/err")" 'hardware:cpu-cycles'
	else
		matches_line cycles
	fi
}

# ---- the table of variables ----

@test "pid, tid, uid, username, cpu, comm" {
	script "uprobe:$FIXTURES/calls:work { printf(\"%d %d %d %s %d %s\\n\", pid == cpid, tid == cpid, uid, username, cpu < ncpus, comm); exit(); }" \
		-c "$FIXTURES/calls 1"
	prints "1 1 $(id -u) $(id -un) 1 calls"
}

@test "nsecs, elapsed" {
	script 'BEGIN { @t = nsecs; @e = elapsed; } i:ms:20 { printf("%d %d\n", nsecs - @t >= 10000000, elapsed > @e); clear(@t); clear(@e); exit(); }'
	has_line '1 1'
}

@test "kstack and ustack" {
	script "uprobe:$FIXTURES/chains:chain_leaf { @[ustack] = count(); }" -c "$FIXTURES/chains 5 0"
	matches_line ' +chain_leaf\+[0-9]+'
	matches_line ' +chain_c\+[0-9]+'
	matches_line ' +main\+[0-9]+'
	has_line ']: 5'
}

# bats test_tags=guest
@test "t:block:block_rq_insert { @[kstack] = count(); }, and with kstack(3), comm" {
	need_tracepoints
	fs_ok run -e 't:block:block_rq_insert { @[kstack] = count(); } i:ms:10 { exit(); }'
	fs_ok run -e 't:block:block_rq_insert { @[kstack(3), comm] = count(); } i:ms:10 { exit(); }'
	script "t:syscalls:sys_enter_getppid /comm == \"fixcaller\"/ { @[kstack(3), comm] = count(); }" -c "$FIXTURES/syscalls 9"
	has_line ', fixcaller]: 9'
	(($(grep -cE '^ +[a-z0-9_.]+\+[0-9]+$' "$TMP/out") <= 3)) || fail "more than 3 frames: $(<"$TMP/out")"
}

@test "arg0...argN, args, retval, func, probe" {
	script "uprobe:$FIXTURES/structs:shift { printf(\"%d %s %s\\n\", arg1, func, probe); exit(); }" -c "$FIXTURES/structs 1"
	prints "1 shift uprobe:$FIXTURES/structs:shift"
	script "uretprobe:$FIXTURES/structs:ask { printf(\"%d\\n\", (int32)retval); exit(); }" -c "$FIXTURES/structs 1"
	prints -2
}

@test "args of a function with debug information" {
	need_command gcc
	printf '%s\n' 'struct p { int x, y; };' '__attribute__((noipa)) int f(struct p *p, int n) { return p->x + n; }' \
		'int main(void) { struct p p = {7, 8}; return f(&p, 1) != 8; }' >a.c
	gcc -g -O1 -o a a.c
	script 'uprobe:./a:f { printf("%d %d %d\n", args.p.x, args.p->y, args.n); }' -c ./a
	prints '7 8 1'
	fs_ok run -lv 'uprobe:./a:f'
	assert_eq list $'uprobe:./a:f\n    struct p* p\n    int n' "$(<out)"
}

# bats test_tags=guest
@test "args of a tracepoint" {
	need_tracepoints
	script "t:syscalls:sys_enter_read /comm == \"fixcaller\"/ { @[args.count] = count(); }" -c "$FIXTURES/syscalls 33"
	prints '@[1]: 33'
	fs_ok run -lv t:syscalls:sys_enter_read
	assert_match list "$(<out)" $'^tracepoint:syscalls:sys_enter_read\n    int __syscall_nr\n    unsigned int fd\n    char \\* buf\n    size_t count$'
}

@test "curtask, cgroup, rand" {
	script 'BEGIN { printf("%d %d\n", curtask != 0, cgroup > 0); exit(); }'
	prints '1 1'
}

@test "\$1...\$N: what is given to the script" {
	# shellcheck disable=SC2016
	script 'BEGIN { printf("%d %s %d\n", $1, str($2), $#); exit(); }' 42 hello
	prints '42 hello 2'
}

# ---- the table of functions ----

@test "printf, time, join" {
	script 'BEGIN { printf("%-5s|%5d|%x\n", "ab", 12, 255); time("%Y\n"); exit(); }'
	assert_eq lines 2 "$(wc -l <out)"
	has_line 'ab   |   12|ff'
	matches_line '20[0-9][0-9]'
}

# bats test_tags=guest
@test "join(char *arr[])" {
	need_tracepoints
	printf '/bin/echo a b\n:\n' >echo.sh
	fs_ok run --unsafe -q -e 't:syscalls:sys_enter_execve { join(args.argv); }' -c "sh echo.sh"
	has_line '/bin/echo a b'
}

@test "str with a length; ntop; reg" {
	script "uprobe:$FIXTURES/strings:say { printf(\"%s %s %d\\n\", str(arg0, 4), ntop(0x0100007f), reg(\"ip\") != 0); exit(); }" -c "$FIXTURES/strings 1"
	matches_line '(text|tex) 127.0.0.1 1'
}

@test "kstack(limit), ustack(limit)" {
	script "uprobe:$FIXTURES/calls:work { @[ustack(1)] = count(); }" -c "$FIXTURES/calls 5"
	matches_line ' +work\+[0-9]+'
	assert_eq lines 3 "$(wc -l <out)"
}

@test "usym, uaddr" {
	script "uprobe:$FIXTURES/calls:work { printf(\"%s %d\\n\", usym(reg(\"ip\")), uaddr(\"work\") != 0); exit(); }" -c "$FIXTURES/calls 5"
	has_line 'work 1'
}

@test "ksym, kaddr" {
	grep -q ' vfs_read$' /proc/kallsyms || skip "kallsyms has no vfs_read"
	script 'BEGIN { printf("%s\n", ksym(kaddr("vfs_read"))); exit(); }'
	prints vfs_read
}

@test "system, cat, exit" {
	fs_ok run --unsafe -q -e 'BEGIN { system("echo %d", 7); cat("/proc/sys/kernel/ostype"); exit(); }'
	has_line 7
	has_line Linux
	fs run -q -e 'BEGIN { system("echo %d", 7); exit(); }'
	((status)) || fail "system() without --unsafe: $(<out)"
	assert_match error "$(<err)" unsafe
}

# ---- the table of map functions ----

@test "count, sum, avg, min, max, stats" {
	local f
	for f in 'count():5' 'sum(arg1):10' 'avg(arg1):2' 'min(arg1):0' 'max(arg1):4' \
		'stats(arg1):{ .count = 5, .average = 2, .total = 10 }'; do
		script "uprobe:$FIXTURES/strings:say { @x = ${f%%:*}; }" -c "$FIXTURES/strings 5"
		prints "@x: ${f#*:}"
	done
}

@test "hist: powers of two" {
	script "uprobe:$FIXTURES/strings:say { @us = hist(arg1); }" -c "$FIXTURES/strings 8"
	assert_eq "hist" "@us:
[0]                    1 |@@@@@@@@@@@@@                                       |
[1]                    1 |@@@@@@@@@@@@@                                       |
[2, 4)                 2 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |
[4, 8)                 4 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|" "$(<out)"
}

@test "lhist: equal steps" {
	script "uprobe:$FIXTURES/strings:say { @ = lhist(arg1, 0, 6, 2); }" -c "$FIXTURES/strings 8"
	assert_eq "lhist" "@:
[0, 2)                 2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
[2, 4)                 2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
[4, 6)                 2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
[6, ...)               2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|" "$(<out)"
}

@test "delete, clear, zero, print with top and divisor" {
	script 'BEGIN { @a[1] = 10; @a[2] = 20; delete(@a[1]); @b[1] = 1; clear(@b); @c[1] = 5; zero(@c); exit(); }'
	prints $'@a[2]: 20\n@c[1]: 0'
	script 'BEGIN { @m[1] = sum(10); @m[2] = sum(20); @m[3] = sum(30); print(@m, 2, 10); clear(@m); exit(); }'
	prints $'@m[2]: 2\n@m[3]: 3'
}

# ---- its scripts ----

# bats test_tags=guest
@test "calls of a kernel function by process name: fcount.bt" {
	need_kernel_functions
	printf '%s\n' '#!/usr/bin/bpftrace' '' 'kprobe:vfs_read' '{' '    @cnts[comm] = count();' '}' >fcount.bt
	fs_ok run fcount.bt -c "$FIXTURES/syscalls 307"
	has_line '@cnts[fixcaller]: 307'
}

# bats test_tags=guest
@test "the durations of a kernel function: a script of two probes" {
	need_kernel_functions
	cat >durations.bt <<-'END'
		#!/usr/bin/bpftrace

		kprobe:vfs_read
		{
		    @start[tid] = nsecs;
		}

		kretprobe:vfs_read
		/@start[tid]/
		{
		    $duration_us = (nsecs - @start[tid]) / 1000;
		    @us = hist($duration_us);
		    delete(@start[tid]);
		}
	END
	fs_ok run durations.bt -c "$FIXTURES/syscalls 307"
	matches_line '@us: ?'
	local line n=0
	while read -r line; do
		[[ $line =~ \ +([0-9]+)\ \| ]] || continue
		n=$((n + BASH_REMATCH[1]))
	done <out
	((n >= 307)) || fail "only $n durations in: $(<out)"
	# A read that had not returned at the end may be left.
	(($(grep -c '^@start' out) <= 64)) || fail "too many left: $(<out)"
}

@test "the same of a user function" {
	# shellcheck disable=SC2016
	script "uprobe:$FIXTURES/calls:work { @start[tid] = nsecs; } uretprobe:$FIXTURES/calls:work /@start[tid]/ { \$d = (nsecs - @start[tid]) / 1000; @us = hist(\$d); @n = count(); delete(@start[tid]); }" \
		-c "$FIXTURES/calls 203"
	has_line '@n: 203'
	has_line '@us:'
}

@test "#! runs a script" {
	printf '%s\n' "#!/usr/bin/env -S $FUNCSCOPE run -q" 'BEGIN { printf("hello\n"); exit(); }' >hello.bt
	chmod +x hello.bt
	assert_eq output hello "$(./hello.bt | sed '/^$/d')"
}

@test "exit() ends the command, too" {
	script 'i:ms:10 { printf("%d\n", cpid); exit(); }' -c "sleep 1000"
	matches_line '[0-9]+'
	! kill -0 "$(head -n 1 out)" 2>/dev/null || fail "the command goes on"
}
