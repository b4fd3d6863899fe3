# Every funcscope command line of docs/from-bcc.md and docs/from-bpftrace.md, and every script of bpftrace's in the latter, run as it stands there, but for what
# no test machine has. A comment in the source of the page, behind the command, says what the test needs to know, separated by semicolons:
#
#   needs WORDS      kernel: kernel functions have to be traceable; x86: another machine has no such probe; guest: also run in the
#                    virtual machines, which are slow and run nothing else of these pages; counters: the processor's, which virtual machines lack;
#                    bpftrace: the script is one that run does not take
#   instead A => B   in the command, for programs and processes that are not here ($FIXTURES is known)
#   run PROGRAM ARGS a fixture, as the command after --
#   gives REGEX      has to be found in the output
#
# Besides: the process of -p is one that reads files all the time, -d and -i are fractions of a second, and what has no -p gets
# a command that reads, writes, forks and sleeps. Both use a libc of their own, so that no other process of the machine is probed.
load common

setup_file() { "$FUNCSCOPE" doctor -f json >"$BATS_FILE_TMPDIR/doctor"; }
setup() {
	e2e_setup
	[[ -e $E2E_TOP/docs/from-bcc.md ]] || skip "the pages are not here"
	private_libc
}
teardown() { e2e_teardown; }

# What a command without -p looks at.
workload() {
	printf '%s\n' 'for i in 1 2 3; do read -r x </proc/self/stat; echo "$x" >/dev/null; done' \
		'dd if=/dev/zero of=/dev/null bs=32768 count=1 2>/dev/null; sleep 0.01; cat /etc/passwd | cat >/dev/null'
}

# What a command with -p looks at; its pid is in VICTIM.
start_victim() {
	mkfifo "$TMP/never"
	LD_LIBRARY_PATH=$TMP/lib bash -c 'exec 9<>"$1"; while :; do read -r x </proc/self/stat; read -r -t 0.01 -u 9; done' \
		victim "$TMP/never" >/dev/null 2>&1 3>&- &
	VICTIM=$!
	PIDS+=("$VICTIM")
}

# table PAGE SECTION: its rows as COMMAND, a tab, the comment.
table() {
	local line section='' command='^`(funcscope [^`]*)`' comment='<!-- (.*) -->'
	while IFS= read -r line; do
		if [[ $line == '## '* ]]; then section=${line#\#\# }; fi
		[[ $section == "$2" && $line == '| '*' | `funcscope '* ]] || continue
		line=${line//\\|/$'\001'}
		line=${line#| * | }
		[[ $line =~ $command ]] || fail "no command in: $line"
		printf '%s\t' "${BASH_REMATCH[1]//$'\001'/|}"
		if [[ $line =~ $comment ]]; then printf '%s' "${BASH_REMATCH[1]//$'\001'/|}"; fi
		printf '\n'
	done <"$E2E_TOP/docs/$1"
}

# read_comment COMMENT: sets NEEDS, RUN, GIVES, and A and B of each replacement in INSTEAD.
read_comment() {
	local part rest=$1
	NEEDS='' RUN='' GIVES='' INSTEAD=()
	while [[ -n $rest ]]; do
		part=${rest%%; *}
		if [[ $part == "$rest" ]]; then rest=; else rest=${rest#*; }; fi
		case $part in
		"needs "*) NEEDS=" ${part#needs } " ;;
		"run "*) RUN=${part#run } ;;
		"gives "*) GIVES=${part#gives } ;;
		"instead "*" =>"*)
			part=${part#instead }
			INSTEAD+=("${part%% =>*}" "${part#* =>}")
			;;
		*) fail "the comment says '$part'" ;;
		esac
	done
}

# scripts_of PAGE SECTION: the scripts in the first column as SCRIPT, a tab, the comment of the row.
scripts_of() {
	local line section='' script='^\| `([^`]*)`' comment='<!-- (.*) -->'
	while IFS= read -r line; do
		if [[ $line == '## '* ]]; then section=${line#\#\# }; fi
		[[ $section == "$2" && $line =~ $script ]] || continue
		[[ ${BASH_REMATCH[1]} == *'{'* ]] || continue
		printf '%s\t' "${BASH_REMATCH[1]//\\|/|}"
		if [[ $line =~ $comment ]]; then printf '%s' "${BASH_REMATCH[1]//\\|/|}"; fi
		printf '\n'
	done <"$E2E_TOP/docs/$1"
}

# try_script SCRIPT: runs it over the load of commands without -p; prints what is wrong. What the comment says of the command's output is not
# what the script prints, but in the section that has scripts alone.
try_script() {
	local text=$1 i
	for ((i = 0; i < ${#INSTEAD[@]}; i += 2)); do text=${text//"${INSTEAD[i]}"/"${INSTEAD[i + 1]# }"}; done
	text=${text//'$FIXTURES'/"$FIXTURES"}
	text=${text//'/root/tick:loop'/"$FIXTURES/usdtargs:args"}
	text=${text//'"/sys/fs/cgroup/unified/mycg"'/'"/sys/fs/cgroup"'}
	text=${text//'kprobe:do_sys_open '/'kprobe:do_sys_openat2 '}
	text=${text//'kretprobe:do_sys_open '/'kretprobe:do_sys_openat2 '}
	text=${text//'tracepoint:syscalls:sys_enter_open '/'tracepoint:syscalls:sys_enter_openat '}
	workload >"$TMP/load"
	status=0
	LD_LIBRARY_PATH=$TMP/lib timeout 60 "$FUNCSCOPE" run -e "$text" -c "bash $TMP/load" >"$TMP/out" 2>"$TMP/err" 3>&- </dev/null || status=$?
	if ((status)); then
		echo "exit status $status: $text"
		cat "$TMP/err"
		return
	fi
	grep -qE 'seen [0-9]+ = kept [0-9]+' "$TMP/err" || echo "no books: $text"
	[[ -z $GIVES || -z ${ALONE:-} ]] || grep -qE -- "$GIVES" "$TMP/out" || echo "no /$GIVES/ in the output of: $text"
	no_control_bytes "$TMP/out" 2>&1 || echo "in the output of: $text"
}

# scripts SECTION CLASS
scripts() {
	local script comment rows=0 wrong=''
	while IFS=$'\t' read -r script comment; do
		((++rows))
		read_comment "$comment"
		[[ $NEEDS != *" counters "* && $NEEDS != *" bpftrace "* ]] || continue
		wanted "$2" || continue
		[[ $2 != kernel || $(doctor_rung "kernel functions") != null ]] || continue
		wrong+=$(try_script "$script")$'\n'
	done < <(scripts_of from-bpftrace.md "$1")
	((rows)) || fail "no scripts under '$1'"
	[[ $2 != kernel || $(doctor_rung "kernel functions") != null ]] || skip "kernel functions cannot be probed here (kprobe: $(doctor_why kprobe))"
	[[ -z ${wrong//$'\n'/} ]] || fail "$wrong"
}

# prepare COMMAND: sets ARGS, the arguments to run it with.
prepare() {
	local text=${1#funcscope } i words
	for ((i = 0; i < ${#INSTEAD[@]}; i += 2)); do
		[[ $text == *"${INSTEAD[i]}"* ]] || fail "there is no '${INSTEAD[i]}' in: $1"
		text=${text//"${INSTEAD[i]}"/"${INSTEAD[i + 1]# }"}
	done
	text=${text//'$FIXTURES'/"$FIXTURES"}
	text=${text//'-p $('*([^\)])')'/-p 0}
	set -f
	eval "words=($text)"
	set +f
	ARGS=()
	local has_pid='' has_end=''
	for ((i = 0; i < ${#words[@]}; i++)); do
		ARGS+=("${words[i]}")
		case ${words[i]} in
		-p) has_pid=1 words[i + 1]=$VICTIM ;;
		-d) has_end=1 words[i + 1]=0.4 ;;
		-i) words[i + 1]=0.2 ;;
		esac
	done
	[[ ${words[0]} != list ]] || return 0
	if [[ -n $has_pid ]]; then
		[[ -n $has_end ]] || ARGS+=(-d 0.3)
	elif [[ -n $RUN ]]; then
		read -ra words <<<"$RUN"
		ARGS+=(-- "$FIXTURES/${words[0]}" "${words[@]:1}")
	else
		ARGS+=(-- bash -c "$(workload)")
	fi
}

# try COMMAND: runs it; prints what is wrong.
try() {
	prepare "$1" 2>&1 || return 0
	status=0
	rm -f "$TMP"/*.svg
	LD_LIBRARY_PATH=$TMP/lib timeout 60 "$FUNCSCOPE" "${ARGS[@]}" >"$TMP/out" 2>"$TMP/err" 3>&- </dev/null || status=$?
	if ((status)); then
		echo "exit status $status: $1"
		cat "$TMP/err"
		return
	fi
	[[ ${ARGS[0]} == list ]] || grep -qE 'seen [0-9]+ = kept [0-9]+' "$TMP/out" "$TMP/err" "$TMP"/*.svg 2>/dev/null ||
		echo "no books: $1"
	[[ -z $GIVES ]] || grep -qE -- "$GIVES" "$TMP/out" || echo "no /$GIVES/ in the output of: $1"
	no_control_bytes "$TMP/out" 2>&1 || echo "in the output of: $1"
}

# wanted CLASS: whether the row that was read belongs to this test and can run here.
wanted() {
	local class=user
	[[ $NEEDS != *" kernel "* ]] || class=kernel
	[[ $class == "$1" ]] || return
	[[ -z ${IN_VM:-} || $NEEDS == *" guest "* ]] || return
	[[ $NEEDS != *" x86 "* || $(uname -m) == x86_64 ]]
}

# pages PAGE SECTION CLASS
pages() {
	local command comment rows=0 names='' wrong=''
	shopt -s extglob
	while IFS=$'\t' read -r command comment; do
		((++rows))
		read_comment "$comment"
		wanted "$3" || continue
		names+="; ${command#funcscope }"
		[[ $3 != kernel || $(doctor_rung "kernel functions") != null ]] || continue
		[[ -n ${VICTIM:-} ]] || start_victim
		wrong+=$(try "$command")$'\n'
	done < <(table "$1" "$2")
	((rows)) || fail "no table under '$2' in $1"
	[[ -n $names ]] || skip "nothing of this is run ${IN_VM:+in a guest}"
	[[ $3 != kernel || $(doctor_rung "kernel functions") != null ]] ||
		skip "kernel functions cannot be probed here (kprobe: $(doctor_why kprobe))$names"
	[[ -z ${wrong//$'\n'/} ]] || fail "$wrong"
}

@test "BCC's funccount: user functions, tracepoints, USDT" { pages from-bcc.md funccount user; }
# bats test_tags=once,deep
@test "BCC's funccount: kernel functions" { pages from-bcc.md funccount kernel; }
@test "BCC's funclatency: user functions" { pages from-bcc.md funclatency user; }
# bats test_tags=once,deep
@test "BCC's funclatency: kernel functions" { pages from-bcc.md funclatency kernel; }
@test "BCC's stackcount: user functions, tracepoints, USDT" { pages from-bcc.md stackcount user; }
# bats test_tags=once,deep
@test "BCC's stackcount: kernel functions" { pages from-bcc.md stackcount kernel; }
@test "BCC's trace: user functions, tracepoints, USDT" { pages from-bcc.md trace user; }
# bats test_tags=once,deep
@test "BCC's trace: kernel functions" { pages from-bcc.md trace kernel; }
@test "bpftrace: listing" { pages from-bpftrace.md Listing user; }
@test "bpftrace: counting, user functions and tracepoints" { pages from-bpftrace.md Counting user; }
@test "bpftrace: counting, kernel functions" { pages from-bpftrace.md Counting kernel; }
@test "bpftrace: timing, user functions" { pages from-bpftrace.md Timing user; }
# bats test_tags=once,deep
@test "bpftrace: timing, kernel functions" { pages from-bpftrace.md Timing kernel; }
@test "bpftrace: stacks, user functions and tracepoints" { pages from-bpftrace.md Stacks user; }
@test "bpftrace: stacks, kernel functions" { pages from-bpftrace.md Stacks kernel; }
@test "bpftrace: printing, user functions, tracepoints, USDT" { pages from-bpftrace.md Printing user; }
# bats test_tags=once,deep
@test "bpftrace: printing, kernel functions" { pages from-bpftrace.md Printing kernel; }
@test "scripts of bpftrace's: counting, user functions and tracepoints" { scripts Counting user; }
# bats test_tags=once,deep
@test "scripts of bpftrace's: counting, kernel functions" { scripts Counting kernel; }
@test "scripts of bpftrace's: timing, user functions" { scripts Timing user; }
# bats test_tags=once,deep
@test "scripts of bpftrace's: timing, kernel functions" { scripts Timing kernel; }
@test "scripts of bpftrace's: stacks, user functions and tracepoints" { scripts Stacks user; }
# bats test_tags=once,deep
@test "scripts of bpftrace's: stacks, kernel functions" { scripts Stacks kernel; }
@test "scripts of bpftrace's: printing, user functions, tracepoints, USDT" { scripts Printing user; }
# bats test_tags=once,deep
@test "scripts of bpftrace's: printing, kernel functions" { scripts Printing kernel; }
@test "scripts of bpftrace's: what only scripts do" { ALONE=1 scripts "Scripts alone" user; }
# bats test_tags=once,deep
@test "scripts of bpftrace's: what only scripts do, kernel functions" { ALONE=1 scripts "Scripts alone" kernel; }
