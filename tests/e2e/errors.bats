# Bad input: one clear sentence on stderr, nothing on stdout, exit status 1 (it failed) or 2 (it was asked wrongly), nothing left attached.
load common

setup() { e2e_setup; }
teardown() { e2e_teardown; }

@test "usage: no command, an unknown one, a near one" {
	fs_error 2 "--help"
	fs_error 2 "no command 'cuont'.*count" cuont
	fs_error 2 "no command 'xyzzy'" xyzzy
}

@test "usage: unknown options, near ones, missing and wrong values" {
	fs_error 2 "--nosuch" count --nosuch c:malloc
	fs_error 2 "--duration" count --duratoin 1 c:malloc
	fs_error 2 "-Q" count -Q c:malloc
	fs_error 2 "-d|--duration" count c:malloc -d
	fs_error 2 "-d|--duration" count -d soon c:malloc
	fs_error 2 "-d|--duration" count -d -1 c:malloc
	fs_error 2 "-d|--duration" count -d 0 c:malloc
	fs_error 2 "-i|--interval" count -i 0 c:malloc
	fs_error 2 "-i|--interval" count -i nan c:malloc
	fs_error 2 "-n|--top" count -n many c:malloc
	fs_error 2 "-f|--format" count -f xml c:malloc
	fs_error 2 "--sort|-s" count --sort size c:malloc
	fs_error 2 "--via" count --via magic c:malloc
	fs_error 2 "--by" count --by colour c:malloc
	fs_error 2 "--by" count --by comm,,pid c:malloc
	fs_error 2 "--max-keys" count --max-keys 0 --by pid c:malloc
	fs_error 2 "--max-keys" count --max-keys 99999999999999 --by pid c:malloc
}

@test "usage: no probe, an empty one, a probe without a function" {
	fs_error 2 "no probe" count
	fs_error 2 "no probe" count -- "$FIXTURES/calls"
	fs_error 2 "empty" count '' -d 0.1
	fs_error 2 "names no function" count "$FIXTURES/calls:" -d 0.1
	fs_error 2 "names no function" count "$FIXTURES/calls" -d 0.1
	fs_error 2 "no kernel function" count k: -d 0.1
	fs_error 2 "no probe" list
}

@test "usage: options that cannot be combined" {
	fs_error 2 "cannot be combined" count -p $$ c:malloc -- true
	fs_error 2 "cannot be combined" count -t $$ c:malloc -- true
	fs_error 2 "cannot be combined" count -t $$ -p $$ c:malloc
	fs_error 2 "cannot be combined" count --follow --no-follow c:malloc -- true
	fs_error 2 "needs a command" count --exit-code c:malloc
	fs_error 2 "--follow" count --follow c:malloc -d 0.1
	fs_error 2 "does not run a command" list c:malloc -- true
}

@test "usage: a bad expression" {
	fs_error 2 "expression|pattern|'\\('|regular" count -r "$FIXTURES/calls:(" -d 0.1
}

@test "usage: --comm longer than the kernel keeps" {
	fs_error 2 "--comm" count --comm abcdefghijklmnopq "$FIXTURES/calls:work" -d 0.1
}

@test "an unknown function answers with the nearest names" {
	fs_error 1 "did you mean.*'work'" count "$FIXTURES/calls:wrok" -d 0.1
	fs_error 1 "did you mean.*'local_work'" count "$FIXTURES/calls:local_wrk" -- "$FIXTURES/calls"
	fs_error 1 "did you mean.*shop::open_door" count "$FIXTURES/cxx:shop::open_dor" -d 0.1
	fs_error 1 "matches 'zzzzzzzzzz'" count "$FIXTURES/calls:zzzzzzzzzz" -d 0.1
	fs_error 1 "did you mean" list c:mallco
}

@test "an empty match of a glob, and one that -x has emptied" {
	fs_error 1 "no function of .*calls matches 'zz\\*'" count "$FIXTURES/calls:zz*" -d 0.1
	fs_error 1 "excluded by -x" count "$FIXTURES/calls:work" -x 'w*' -d 0.1
	fs_error 1 "matches 'zz'" count -r "$FIXTURES/calls:zz" -d 0.1
}

@test "one good and one unknown probe: an error, not half an answer" {
	fs_error 1 "wrok" count "$FIXTURES/calls:work" "$FIXTURES/calls:wrok" -- touch "$TMP/ran"
	[[ ! -e ran ]] || fail "the command ran"
}

@test "a missing file" {
	fs_error 1 "/nonexistent/lib.so.*No such file" count /nonexistent/lib.so:f -d 0.1
	fs_error 1 "nosuchlib" count nosuchlib:f -d 0.1
	fs_error 1 "/nonexistent/lib.so" list /nonexistent/lib.so:f
}

@test "a FIFO does not hang" {
	mkfifo fifo
	fs_error 1 "fifo.*(FIFO|regular file|not a (regular )?file)" count ./fifo:f -d 0.1
}

@test "a directory, a device, an unreadable thing" {
	mkdir dir
	fs_error 1 "dir.*director" count ./dir:f -d 0.1
	fs_error 1 "/dev/null" count /dev/null:f -d 0.1
	fs_error 1 "/dev/zero" count /dev/zero:f -d 0.1
}

@test "a file that is no ELF file" {
	echo 'hello world, this is no program at all, but long enough to be one' >text
	fs_error 1 "text.*ELF" count ./text:f -d 0.1
	: >empty
	fs_error 1 "empty.*(ELF|empty)" count ./empty:f -d 0.1
	printf '#!/bin/sh\nexit 0\n' >script
	chmod +x script
	fs_error 1 "script" count ./script:f -d 0.1
}

@test "an ELF file that is cut short, or only a header" {
	head -c 200 "$FIXTURES/calls" >cut
	fs_error 1 "cut" count ./cut:work -d 0.1
	head -c 4000 "$FIXTURES/calls" >cut2
	fs_error 1 "cut2" count ./cut2:work -d 0.1
}

@test "a 32-bit ELF file" {
	{ printf '\177ELF\001\001\001' && head -c 9 /dev/zero && printf '\002\000\003\000\001\000\000\000' && head -c 200 /dev/zero; } >small
	fs_error 1 "small.*32-bit" count ./small:f -d 0.1
}

@test "an ELF file of another machine, and of the other byte order" {
	{ printf '\177ELF\002\002\001' && head -c 9 /dev/zero && printf '\000\002\000\053\000\000\000\001' && head -c 200 /dev/zero; } >big
	fs_error 1 "big" count ./big:f -d 0.1
	machine='\267' # aarch64
	[[ $(uname -m) == x86_64 ]] || machine='\076'
	head -c 18 "$FIXTURES/calls" >other
	printf "$machine" >>other
	tail -c +20 "$FIXTURES/calls" >>other
	fs_error 1 "other" count ./other:work -d 0.1
}

@test "a dead process, a dead thread, words for numbers" {
	(exit 0) &
	dead=$!
	wait "$dead"
	fs_error 1 "no process or thread $dead" count -p "$dead" c:malloc -d 0.1
	fs_error 1 "no process or thread $dead" count -t "$dead" c:malloc -d 0.1
	fs_error 2 "init.*not a process" count -p init c:malloc -d 0.1
	fs_error 2 "not a process" count -p 0 c:malloc -d 0.1
	fs_error 2 "not a process" count -p -5 c:malloc -d 0.1
	fs_error 2 "not a process" count -p 1, c:malloc -d 0.1
}

@test "a process that has no such library" {
	start_runner
	fs_error 1 "libcrypto|crypto" count -p "$RUNNER" /nonexistent/libcrypto.so:EVP_md5 -d 0.1
	fs_error 1 "nosuch" count -p "$RUNNER" nosuch:f -d 0.1
}

@test "a command that cannot be run" {
	fs_error 1 "cannot run './nosuch'.*No such file" count "$FIXTURES/calls:work" -- ./nosuch
	fs_error 1 "cannot run 'nosuchcommand'.*PATH" count "$FIXTURES/calls:work" -- nosuchcommand
	echo text >plain
	fs_error 1 "cannot run './plain'.*[Pp]ermission" count "$FIXTURES/calls:work" -- ./plain
	fs_error 1 "cannot run '\\.'" count "$FIXTURES/calls:work" -- .
}

@test "the process's own program without a process" {
	fs_error '[12]' "':work'.*-p" count :work -d 0.1
	fs_error '[12]' "'u::plain'.*-p" count u::plain -d 0.1
}

@test "a cgroup that is none" {
	fs_error 1 "/nonexistent/group" count --cgroup /nonexistent/group "$FIXTURES/calls:work" -d 0.1
	fs_error 1 "$TMP" count --cgroup "$TMP" "$FIXTURES/calls:work" -d 0.1
}

@test "an offset outside the function" {
	fs_error 2 "ends? before" count "$FIXTURES/calls:work+0x1000" -d 0.1
}

@test "a source line that is not there" {
	fs_error 1 "calls.c:9999|calls.c.*9999" count "$FIXTURES/calls:calls.c:9999" -d 0.1
	fs_error 1 "nosuch.c" count "$FIXTURES/calls:nosuch.c:3" -d 0.1
}

@test "no privilege: the missing capability is named" {
	as_nobody count "$FIXTURES/calls:work" -d 0.1
	check_error 1 'CAP_(BPF|PERFMON|SYS_ADMIN)|root' "count as nobody"
	[[ ! -s out ]] || fail "stdout: $(<out)"
}

@test "no privilege over a process: what is missing is named, and root is not told to be root" {
	need_command setpriv
	start_runner setpriv --reuid=65533 --regid=65533 --clear-groups "$FIXTURES/runner"
	# New kernels let those look, too, who may measure.
	printf '#!/bin/bash\nexec setpriv --bounding-set=-sys_ptrace,-perfmon,-sys_admin "%s" "$@"\n' "$FUNCSCOPE" >less
	chmod 755 less
	FUNCSCOPE=$TMP/less fs_error 1 "may not look at process $RUNNER .*CAP_SYS_PTRACE is missing.*given it" count -p "$RUNNER" :work
	refute_match advice "$(<err)" 'run as root'
	[[ -r /proc/1/maps ]] && cat /proc/1/maps &>/dev/null && return
	fs_error 1 'may not look at process 1 ' count -p 1 :work
	refute_match advice "$(<err)" 'run as root'
}

@test "-p of a thread: whose it is" {
	start_runner
	ask workers 1
	fs_error 2 "$ANSWER is a thread of process $RUNNER; give -p $RUNNER .*-t $ANSWER" count -p "$ANSWER" :work
}

@test "a module that is not loaded: how what is built in is written" {
	fs_error 1 "no loaded module 'nosuchmod'.*written without a module: 'k:nosuchmod_\*'" count 'k:nosuchmod:*'
	fs_error 1 "written without a module: 'k:vfs_read'" count k:nosuchmod:vfs_read
	fs_error 1 "no function of module vmlinux matches.*did you mean 'vfs_read'" count k:vmlinux:vfs_raed
	refute_match hint "$(<err)" LIBRARY
}

@test "what bpftrace has and funcscope does not is named" {
	fs_error 2 'probe of bpftrace that funcscope does not have; .*perf' count software:cpu-clock:100
	fs_error 2 "names several probes; .*'kprobe:a\*' 'kprobe:b\*'" count 'kprobe:a*,kprobe:b*'
	fs_error 2 "names several probes; .*'c:malloc' 'c:free'$" count c:malloc,c:free
	fs_error 2 "names several probes; .*'c:malloc' 'c:free'$" count c:malloc,free
	fs_error 2 "names several probes; .*'vfs_read' 'vfs_write'$" count vfs_read,vfs_write
}

@test "no privilege: the command is not run" {
	chmod 777 "$TMP"
	as_nobody count "$FIXTURES/calls:work" -- touch "$TMP/ran"
	assert_eq status 1 "$status"
	[[ ! -e ran ]] || fail "the command ran"
}

@test "kernel functions where the kernel has none of the ways: one sentence" {
	[[ $(doctor_rung "kernel functions") == null ]] || skip "kernel functions can be probed here"
	fs_error 1 "kprobe.*doctor" count vfs_read -d 0.1
	fs_error 1 "doctor" count --via fentry vfs_read -d 0.1
}

@test "after an error nothing of the command is left running" {
	fs_error 1 "wrok" count "$FIXTURES/calls:wrok" -- sleep 987654
	! pgrep -f 'sleep 98765[4]' || fail "the command was left"
}

@test "an offset inside an instruction, and returns at offsets, are refused" {
	fs_error 2 "whole function" count "r:$FIXTURES/calls:work+4" -- "$FIXTURES/calls" 3
	fs_error 2 "whole function" count "r:$FIXTURES/calls:calls.c:12" -- "$FIXTURES/calls" 3
	fs_error 2 "destroy" count "$FIXTURES/calls:main+1" "$FIXTURES/calls:main+2" "$FIXTURES/calls:main+3" -- "$FIXTURES/calls" 3
}

@test "nothing is taken for more than it says: empty words, an open bracket, a FIFO nobody reads" {
	fs_error 2 "no command follows" count c:read --
	fs_error 2 "--cgroup" count --cgroup "" c:malloc -d 0.1
	fs_error 2 "--comm" count --comm "" c:malloc -d 0.1
	fs_error 2 "no ']'" count 'c:[' -d 0.1
	fs_error 2 "--max-keys" count --max-keys 4000000000 --by tid c:malloc -d 0.1
	mkfifo fifo
	fs_error 1 "cannot write to 'fifo'" count -o fifo "$FIXTURES/calls:work" -- "$FIXTURES/calls" 3
}

@test "each command advises its own, and helps with what it takes" {
	local command
	for command in count time stack trace; do
		fs_error 2 "try: funcscope $command " "$command"
	done
	for command in count time trace; do
		refute_match "formats of $command" "$("$FUNCSCOPE" "$command" -h)" 'folded|flamegraph'
		fs_error 2 "text, json or csv, not 'folded'" "$command" -f folded "$FIXTURES/calls:work"
	done
	assert_match "formats of stack" "$("$FUNCSCOPE" stack -h)" 'text, json, csv, folded, flamegraph'
	assert_match "-M" "$("$FUNCSCOPE" trace -h)" 'stop after this many calls'
}

@test "what is no function, where entry and return are needed" {
	fs_error 2 "names a USDT probe, but an entry and its return are needed" time "u:$FIXTURES/usdt:twin"
	fs_error 2 "names a tracepoint, but" time t:sched:sched_switch
	fs_error 2 "names a return alone, but" time "r:$FIXTURES/calls:work"
	fs_error 2 "names a place inside a function, but" time "$FIXTURES/calls:work+1"
}

@test "numbers and names that are none" {
	fs_error 2 "up to 4294967295, not '99999999999'" time --keep 99999999999 "$FIXTURES/calls:work"
	fs_error 2 "slow 99999999999999s is out of range: a time up to 9000000000s$" \
		time --slow 99999999999999s "$FIXTURES/calls:work"
	fs_error 2 "whole number, not '1.5'" time --keep 1.5 "$FIXTURES/calls:work"
	fs_error 2 'no \$foo; expected .*\$task' trace "$FIXTURES/calls:work \"%d\", \$foo"
}

# few_files_rc LIMIT COMMAND ARGS...: with so many open files at most, and without the right to have
# more; like fs.
few_files_rc() {
	need_command setpriv
	need_command prlimit
	local files=$1
	shift
	status=0
	setpriv --bounding-set=-sys_resource prlimit "--nofile=$files:$files" "$FUNCSCOPE" "$@" \
		>"$TMP/out" 2>"$TMP/err" 3>&- </dev/null || status=$?
}

@test "what there are no descriptors for is refused by name, the rest is measured" {
	for command in count time; do
		# Few links: taking each off waits for the kernel.
		few_files_rc 72 "$command" -f json --via single "$FIXTURES/many:many_*" -- "$FIXTURES/many"
		assert_eq "$command: status ($(<"$TMP/err"))" 0 "$status"
		attached=$(summary attached)
		((attached > 5 && attached < 72)) || fail "$command: $attached attached"
		assert_eq "$command: refused" $((300 - attached)) "$(summary refused)"
		assert_eq "$command: kept" "$attached" "$(summary kept)"
		assert_match "$command: reason" "$(last_line)" 'out of file descriptors \(ulimit -n\)'
	done
}

@test "a closed stdout, stderr or stdin is nobody else's" {
	for command in count time stack; do
		status=0
		"$FUNCSCOPE" "$command" "$FIXTURES/calls:work" -- "$FIXTURES/calls" 7 2>"$TMP/err" >&- 3>&- || status=$?
		assert_eq "$command: status" 1 "$status"
		assert_match "$command" "$(<"$TMP/err")" '^funcscope: cannot write to stdout: it is closed; give -o FILE'
	done
	"$FUNCSCOPE" count -f json -o "$TMP/out" "$FIXTURES/calls:work" -- "$FIXTURES/calls" 7 >&- 2>&- <&- 3>&-
	assert_eq "with -o" 7 "$(summary seen)"
	"$FUNCSCOPE" count -f json "$FIXTURES/calls:work" -- "$FIXTURES/calls" 7 >"$TMP/out" 2>&- <&- 3>&-
	assert_eq "without stderr and stdin" 7 "$(summary seen)"
	status=0
	"$FUNCSCOPE" list "$FIXTURES/calls:work" 2>"$TMP/err" >&- 3>&- || status=$?
	assert_eq "list: status" 1 "$status"
	assert_match list "$(<"$TMP/err")" '^funcscope: cannot write'
}

@test "with few descriptors, every function is attached or refused, once" {
	lib=$TMP/libm.so # ours alone; some of its functions have two places
	cp "$(ldconfig -p | awk '/libm\.so\.6 .*x86-64/ { print $NF; exit }')" "$lib"
	for command in count time stack; do
		few_files_rc 64 "$command" -f json --via single -d 0.1 "$lib:*"
		assert_eq "$command: status ($(<"$TMP/err"))" 0 "$status"
		attached=$(summary attached)
		((attached > 0)) || fail "$command: nothing attached"
		assert_eq "$command: functions" "$(summary functions)" $((attached + $(summary refused)))
		assert_eq "$command: each once" "$(summary refused)" \
			"$(summary refused_functions | grep -o '"why":' | wc -l)"
		assert_match "$command: reason" "$(last_line)" 'out of file descriptors \(ulimit -n\)'
	done
}

@test "a want of descriptors is never blamed on something else" {
	for files in 7 9 12 14 17 20 24; do
		for command in count time stack "time --off-cpu"; do
			# shellcheck disable=SC2086 # a command and its option
			few_files_rc "$files" $command -d 0.1 "$FIXTURES/many:many_*"
			((status == 0)) && continue
			assert_eq "$command, $files: status" 1 "$status"
			assert_match "$command, $files" "$(<"$TMP/err")" '^funcscope: [^;]*; raise the limit on .*ulimit -n'
			assert_eq "$command, $files: one line" 1 "$(wc -l <"$TMP/err")"
		done
	done
}

@test "a hard limit on open files is raised where that is allowed" {
	(ulimit -n 200 && ulimit -n 300) 2>/dev/null || skip "CAP_SYS_RESOURCE is missing"
	(
		ulimit -n 200
		fs_ok count -f json --via single "$FIXTURES/many:many_*" -- "$FIXTURES/many"
	)
	assert_eq attached 300 "$(summary attached)"
	assert_eq kept 300 "$(summary kept)"
}

@test "a stripped file says so, and a near name comes first" {
	cp "$FIXTURES/calls" bare
	strip -s bare
	fs_error 1 "no function of .*bare matches 'work': the file is stripped, .*; install its debug symbols" count "$TMP/bare:work"
	fs_error 1 "matches '\*': the file is stripped" list "$TMP/bare:*"
	fs_error 1 "did you mean 'work'" count "$FIXTURES/stripped:wurk"
}

@test "help that cannot be written is an error" {
	local what
	for what in "help count" help --help "count --help" --version "snoop --check $E2E_TOP/examples/snoop/sample.json"; do
		status=0
		# shellcheck disable=SC2086 # words
		"$FUNCSCOPE" $what >/dev/full 2>err || status=$?
		assert_eq "status of $what" 1 "$status"
		assert_eq "message of $what" "funcscope: cannot write the output: No space left on device" "$(<err)"
	done
	fs_error 1 "cannot write to '/dev/full': No space left" count -o /dev/full "$FIXTURES/calls:work" -- "$FIXTURES/calls" 3
}

@test "snoop: no function to watch, and no such preset" {
	echo '{}' >empty.json
	fs_error 1 'empty.json names no function to watch' snoop --check empty.json
	fs_error 1 'empty.json names no function to watch' snoop -c empty.json
	fs_error 2 "there is no preset 'foo'; there are cuda, .* and openssl$" snoop --preset foo
}

@test "--via fentry is not for user functions; the return of an own function has a hint of its own" {
	fs_error 2 '--via fentry is for kernel functions' count --via fentry "$FIXTURES/calls:work" -- "$FIXTURES/calls" 3
	fs_error 1 'the return of a function of the program itself is written ur::work' count r::work -- "$FIXTURES/calls" 3
	fs_ok count -f json ur::work -- "$FIXTURES/calls" 3
	assert_calls work 3
}

@test "the same functions, whatever is done with them: refused names of one place count once" {
	local command
	cp "$(ldconfig -p | awk '/libm\.so\.6 .*x86-64/ { print $NF; exit }')" libm.so
	for command in count time stack trace; do
		fs_ok "$command" -f json -d 0.01 "$TMP/libm.so:*"
		tail -n 1 out | jq -r .functions >>functions
	done
	assert_eq "numbers of functions ($(tr '\n' ' ' <functions))" 1 "$(sort -u functions | wc -l)"
}

@test "a command that the kernel kills while it starts it" {
	head -c 1000 "$FIXTURES/calls" >cut
	chmod +x cut
	fs_error 1 "killed './cut' by signal 11.*damaged" count "$FIXTURES/calls:work" -- ./cut
}

# As daemons and inits leave it to their children, who would not know then how theirs ended.
@test "SIGCHLD ignored from outside: status, counts and recordings are there, and the command has it as it was" {
	fs_ok_without_children() {
		(trap '' CHLD && exec "$FUNCSCOPE" "$@" >"$TMP/out" 2>"$TMP/err")
	}
	fs_ok_without_children count -f json --exit-code "$FIXTURES/calls:work" -- "$FIXTURES/calls" 100 || fail "$(<err)"
	assert_eq calls 100 "$(jq 'select(.function == "work").count' out)"
	fs_ok_without_children count -o books "$FIXTURES/calls:work" -- grep SigIgn /proc/self/status || fail "$(<err)"
	((0x$(awk '{ print $2 }' out) & 1 << 16)) || fail "$(<out)"
	fs_ok_without_children diff --pairs 2 --run true --run true || fail "$(<err)"
}

@test "more keys than the kernel has memory for" {
	[[ -z $SANITIZED ]] || skip "a sanitized program ends when memory is out"
	(($(awk '$1 == "MemTotal:" { print $2 }' /proc/meminfo) < 64 << 20)) || skip "this machine may have room for 84 GB"
	fs_error 1 "no room for 10000000 keys.*--max-keys" time --max-keys 10000000 --by pid "$FIXTURES/calls:work" -- "$FIXTURES/calls" 5
}

@test "a stripped program has no names: it says so, and which package has them" {
	fs_error 1 "matches 'foo': the file is stripped.*install its debug symbols.*stripped:0x1234" count "$FIXTURES/stripped:foo" -d 0.1
	if command -v dpkg >/dev/null && dpkg -S /bin/ls >/dev/null 2>&1; then
		fs_error 1 "stripped.*the package coreutils-dbgsym" count /bin/ls:no_such_function_at_all_here -d 0.1
	fi
}

# Its mode is one for all mounts of the machine: where it is mounted already, it is left as it is.
@test "tracefs of mode 0700: it is mounted, but not for this user" {
	local mount=: at
	need_command setpriv
	at=$(awk '$3 == "tracefs" { print $2; exit }' /proc/mounts)
	if [[ -z $at ]]; then
		mount='mount -t tracefs -o mode=0700 tracefs /sys/kernel/tracing'
	elif [[ $(stat -c %a "$at") != 700 ]]; then
		skip "tracefs is mounted here, and open to all"
	fi
	cp "$FUNCSCOPE" /tmp/funcscope-closed.$$
	chmod 755 /tmp/funcscope-closed.$$
	unshare --mount sh -c "$mount"' && exec setpriv --reuid=65533 --regid=65533 --clear-groups "$@"' \
		x /tmp/funcscope-closed.$$ list t:sched:sched_switch >out 2>err 3>&- && fail "it could: $(<out)"
	rm -f /tmp/funcscope-closed.$$
	refute_match mounted "$(<err)" 'not mounted'
	assert_match mounted "$(<err)" 'is mounted, but this user may not open it'
}

@test "a process that /proc does not show is not 'run as root'" {
	need_command setpriv
	start_runner setpriv --reuid=65533 --regid=65533 --clear-groups "$FIXTURES/runner"
	setpriv --bounding-set=-sys_ptrace "$FUNCSCOPE" attach --once "$RUNNER" >out 2>err 3>&- && fail "it could: $(<out)"
	assert_match why "$(<err)" "may not look at process $RUNNER \(CAP_SYS_PTRACE is missing\)"
	refute_match advice "$(<err)" 'as root'
}

# What is nested so is compiled for seconds, and takes all the memory there is.
@test "a signal ends a search that takes long" {
	local pid status=0
	[[ -z $SANITIZED ]] || skip "a sanitized program cannot be given little memory"
	busy() { (($(awk '{ print $14 + $15 }' "/proc/$pid/stat") > 30)); }
	(ulimit -v 4000000 && exec "$FUNCSCOPE" count -r "$FIXTURES/calls:^(((((w{1,255}){1,255}){1,255}){1,255}){1,255})$" -d 0.1) \
		>out 2>err 3>&- &
	pid=$!
	PIDS+=("$pid")
	eventually busy
	kill -TERM "$pid"
	wait "$pid" || status=$?
	assert_eq "status: $(<err)" 143 "$status"
}

@test "root of a user namespace is told so" {
	unshare --user --map-root-user true 2>/dev/null || skip "no user namespaces here"
	unshare --user --map-root-user "$FUNCSCOPE" count "$FIXTURES/calls:work" -- "$FIXTURES/calls" 5 >out 2>err 3>&- && fail "it could: $(<out)"
	assert_match why "$(<err)" 'capabilities of a user namespace do not count'
}

@test "--comm with a pattern: it is taken literally, with a warning" {
	fs_ok count --comm 'c*' "$FIXTURES/calls:work" -- "$FIXTURES/calls" 5
	assert_match warning "$(<err)" "--comm takes a name, not a pattern: 'c\*'"
}
