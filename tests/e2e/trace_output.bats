# trace: what is printed: columns, formats, types, trees, strings that hurt; and what is refused.
load common
load measure

setup_file() { "$FUNCSCOPE" doctor -f json >"$BATS_FILE_TMPDIR/doctor"; }
setup() { e2e_setup; }
teardown() { e2e_teardown; }

@test "text: BCC's columns" {
	fs_ok trace "$FIXTURES/strings:say \"%s %d\", arg1, arg2" -- "$FIXTURES/strings" 3
	assert_match header "$(head -n 1 out)" '^PID +TID +COMM +FUNC'
	assert_match line "$(sed -n 2p out)" '^[0-9]+ +[0-9]+ +strings +say +text number 0 0$'
	assert_match line "$(sed -n 4p out)" '^[0-9]+ +[0-9]+ +strings +say +text number 2 2$'
	assert_match books "$(cat out err)" 'seen 3 = kept 3'
	fs_ok trace -T "$FIXTURES/strings:say \"%d\", arg2" -- "$FIXTURES/strings" 1
	assert_match header "$(head -n 1 out)" '^TIME +PID +TID +COMM +FUNC'
	assert_match line "$(sed -n 2p out)" '^[0-2][0-9]:[0-5][0-9]:[0-9.]+ +[0-9]+ '
}

@test "formats" {
	fs_trace "$FIXTURES/strings:say (arg2 == 65) \"%d|%5d|%-4u|%04x|%X|%o|%c|%lld|%hd|%%|%.4s|%8.3s\", arg2, arg2, arg2, arg2, arg2, arg2, arg2, arg2, arg2, arg1, arg1" \
		-- "$FIXTURES/strings" 70
	expect '65|   65|65  |0041|41|101|A|65|65|%|text|     tex'
}

@test "expressions as C has them" {
	fs_trace "$FIXTURES/strings:say (arg2 == 7) \"%d %d %d %d %d %d %d\", arg2 + 2 * 3, (arg2 + 2) * 3, arg2 << 2, arg2 % 4, -arg2, arg2 > 3 && arg2 < 9, arg2 == 7 ? 10 : 20" \
		-- "$FIXTURES/strings" 10
	expect '13 27 28 3 -7 1 10'
}

@test "--tree: calls inside calls, with durations" {
	fs_ok trace --tree -o data "$FIXTURES/nest:nest_?" -- "$FIXTURES/nest" chain 100 1
	assert_match order "$(<data)" $'nest_f.*\n.* nest_g.*\n.* nest_h'
	f=$(grep -m 1 nest_f data) g=$(grep -m 1 nest_g data) h=$(grep -m 1 nest_h data)
	f=${f%%nest_f*} g=${g%%nest_g*} h=${h%%nest_h*}
	((${#f} < ${#g} && ${#g} < ${#h})) || fail "no steps: $(<data)"
	assert_match durations "$(<data)" '[0-9.]+ ?(ns|us|ms|s)'
}

@test "--tree: calls that are left by an exception or longjmp() keep their depth, and end there" {
	measure trace --tree "$FIXTURES/throws:throw_*" -- "$FIXTURES/throws" 3 2
	assert_eq "depths of throw_outer" "" "$(values depth function=throw_outer)"
	assert_eq "depths of throw_middle" "1 1 1 1" "$(values depth function=throw_middle | xargs)"
	assert_eq "depths of throw_leaf" "2 2 2" "$(values depth function=throw_leaf | xargs)"
	measure trace --tree "$FIXTURES/jumps:jump_*" -- "$FIXTURES/jumps" 2 1 1
	assert_eq "depths of jump_down" "1 2 0 1 0 0 1 0" "$(rows function=jump_down | sed 's/.*"depth":\([0-9]*\).*/\1/;t;s/.*/0/' | xargs)"
}

@test "types: without a format the arguments have names and values" {
	fs_trace "$FIXTURES/enums:paint" -- "$FIXTURES/enums"
	assert_eq calls 4 "$(rows type=call | wc -l)"
	assert_match first "$(rows type=call | sed -n 1p)" '"name":"colour","value":"?RED"?'
	assert_match second "$(rows type=call | sed -n 2p)" '"name":"colour","value":"?GREEN"?'
	assert_match shade "$(rows type=call | sed -n 1p)" '"name":"shade","value":-1'
	assert_match nameless "$(rows type=call | sed -n 4p)" '"name":"colour","value":"?17"?'
	fs_ok trace "$FIXTURES/enums:paint" -- "$FIXTURES/enums"
	assert_match text "$(sed -n 2p out)" 'colour=RED,? shade=-1'
}

@test "types: flags, bools, characters, wide numbers" {
	fs_ok trace "$FIXTURES/enums:permit" "$FIXTURES/enums:letter" "$FIXTURES/enums:wide" -- "$FIXTURES/enums"
	assert_match flags "$(<out)" 'rights=READ ?\| ?WRITE'
	assert_match flags "$(<out)" 'rights=READ ?\| ?EXECUTE'
	assert_match letter "$(<out)" "c='?a'?,? on=(true|1),? small=-1"
	assert_match wide "$(<out)" 'u=18446744073709551615,? s=-9223372036854775808,? h=65535'
	no_control_bytes out
}

@test "types: what is returned, too: signs, sizes, names; what is in no register that is read is ?" {
	local probes=() name
	for name in paint permit letter wide narrow tiny yes half; do probes+=("$FIXTURES/enums:$name"); done
	fs_ok trace --ret "${probes[@]}" -- "$FIXTURES/enums"
	assert_match enum "$(<out)" 'colour=GREEN shade=0 = GREEN  \['
	assert_match int "$(<out)" 'rights=READ = -1  \['
	assert_match char "$(<out)" "= 'a'  \\["
	assert_match uint64_t "$(<out)" 'h=65535 = 18446744073709551615  \['
	assert_match short "$(<out)" 'narrow +n=-3 = -3  \['
	assert_match "signed char" "$(<out)" 'tiny +n=-3 = -3  \['
	assert_match bool "$(<out)" 'yes +n=-3 = true  \['
	assert_match double "$(<out)" 'half +n=-3 = \?  \['
	fs_ok trace "${probes[@]/#/r:}" -- "$FIXTURES/enums"
	assert_match "int at its return" "$(<out)" 'permit +  ?= -1'
	assert_match "double at its return" "$(<out)" 'half +  ?= \?'
	fs_trace --ret "${probes[@]}" -- "$FIXTURES/enums"
	assert_match enum "$(rows function=paint | sed -n 2p)" '"ret":"GREEN",'
	assert_match int "$(rows function=permit | sed -n 2p)" '"ret":-1,'
	assert_match uint64_t "$(rows function=wide)" '"ret":18446744073709551615,'
	assert_match short "$(rows function=narrow)" '"ret":-3,'
	assert_match double "$(rows function=half)" '"ret":null,'
	fs_ok trace -f csv --ret "${probes[@]}" -- "$FIXTURES/enums"
	assert_match csv "$(grep ,wide, out)" ',18446744073709551615,[0-9]+$'
	assert_match csv "$(grep ,half, out)" ',,[0-9]+$'
}

@test "types: structs one level deep, strings, members by name" {
	fs_ok trace "$FIXTURES/structs:plot" -- "$FIXTURES/structs" 2
	assert_match pointer "$(sed -n 3p out)" 'p=.*x ?= ?1.*y ?= ?-1'
	assert_match enum "$(sed -n 3p out)" 'c=BLUE'
	fs_trace "$FIXTURES/structs:plot \"%d %d %s %d\", p->x, p->y, p->name, p->size.second" -- "$FIXTURES/structs" 3
	expect '0 0 point 0 4' '1 -1 point 1 4' '2 -2 point 2 4'
	fs_trace "$FIXTURES/structs:plot (p->x == 1) \"%s\", p->name" -- "$FIXTURES/structs" 3
	expect 'point 1'
	fs_trace "$FIXTURES/structs:plot(struct point *q) \"%d\", q->y" -- "$FIXTURES/structs" 2
	expect 0 -1
}

@test "a text that is nowhere is NULL; texts that nobody formatted are in quotes, what may be an address in hex" {
	fs_ok trace "$FIXTURES/strings:say" -- "$FIXTURES/strings" hostile
	assert_match "empty" "$(<out)" ' s="" i=0'
	assert_match "a null pointer" "$(<out)" ' s=NULL i=6'
	assert_match "nothing there" "$(<out)" ' s=\(unreadable\) i=7'
	fs_trace "$FIXTURES/strings:say (i == 6) \"%s\", s" -- "$FIXTURES/strings" hostile
	expect NULL
	fs_ok trace "u:$FIXTURES/usdtargs:args" -M 1 -- "$FIXTURES/usdtargs"
	assert_match "USDT" "$(<out)" ' arg2=0x[0-9a-f]+ '
	need_tracepoints
	fs_ok trace t:syscalls:sys_enter_openat t:syscalls:sys_enter_read -- cat /dev/null
	assert_match "a text" "$(<out)" ' filename="/dev/null" '
	assert_match "a buffer" "$(<out)" ' buf=0x[0-9a-f]+ '
}

@test "types: a double takes no integer register, a large struct none" {
	fs_trace "$FIXTURES/structs:scale \"%d %d\", p->x, n" -- "$FIXTURES/structs" 3
	expect '0 0' '1 1' '2 2'
	fs_trace "$FIXTURES/structs:weigh \"%d\", n" -- "$FIXTURES/structs" 3
	expect 0 1 2
}

@test "without debug information: six numbers in hex" {
	fs_trace "$FIXTURES/stripped:work" -- "$FIXTURES/stripped" 2
	assert_eq calls 2 "$(rows type=call | wc -l)"
	fs_ok trace "$FIXTURES/stripped:work" -- "$FIXTURES/stripped" 1
	assert_match text "$(sed -n 2p out)" '(arg[1-6]=0(x[0-9a-f]+)? ?){6}'
}

@test "wildcards: every function, each with its own arguments" {
	fs_trace "$FIXTURES/enums:*t*" -x '_*' -x '*main*' -x '*@*' -- "$FIXTURES/enums"
	assert_eq paint 4 "$(rows type=call function=paint | wc -l)"
	assert_eq permit 5 "$(rows type=call function=permit | wc -l)"
	assert_eq letter 3 "$(rows type=call function=letter | wc -l)"
}

@test "strings that hurt" {
	fs_trace "$FIXTURES/strings:say \"%d[%s]\", arg2, arg1" -- "$FIXTURES/strings" hostile
	assert_eq calls 8 "$(rows type=call | wc -l)"
	assert_eq empty '0[]' "$(messages | sed -n 1p)"
	assert_match quotes "$(messages | sed -n 3p)" 'quoted'
	assert_match "UTF-8" "$(messages | sed -n 6p)" '5\[grüß\]'
	no_control_bytes out
	fs_ok trace "$FIXTURES/strings:say \"%d[%s]\", arg2, arg1" -- "$FIXTURES/strings" hostile
	no_control_bytes out
	assert_eq lines 8 "$(grep -c ' say ' out)"
	assert_match escaped "$(<out)" '\\x1b\[31mred'
	assert_match unreadable "$(grep ' say ' out | tail -n 1)" '7\[.*\(?unreadable\)?'
}

@test "-Z: so much of a string" {
	fs_trace -Z 16 "$FIXTURES/strings:say (arg2 == 4) \"%s\", arg1" -- "$FIXTURES/strings" hostile
	assert_match "x" "$(messages)" '^x{15,16}(\.\.\.)?$'
	fs_trace "$FIXTURES/strings:say (arg2 == 4) \"%s\", arg1" -- "$FIXTURES/strings" hostile
	assert_match "x" "$(messages)" '^x{79,80}(\.\.\.)?$'
	fs_trace -Z 400 "$FIXTURES/strings:say (arg2 == 4) \"%s\", arg1" -- "$FIXTURES/strings" hostile
	assert_match "x" "$(messages)" '^x{300}$'
}

@test "CSV: a header, and a line for each call" {
	fs_ok trace -f csv -o data "$FIXTURES/strings:say \"%s, %d\", arg1, arg2" -- "$FIXTURES/strings" 3
	assert_match header "$(head -n 1 data)" 'pid,tid,comm.*function'
	assert_eq lines 4 "$(wc -l <data)"
	assert_match quoted "$(sed -n 2p data)" '"text number 0, 0"'
	assert_match books "$(<err)" 'seen 3 = kept 3'
}

@test "what is no sentence of the language is a usage error that says where" {
	fs_error 2 "." trace "$FIXTURES/strings:say (arg2 >" -d 0.1
	fs_error 2 "arguments are no longer known" trace "r:$FIXTURES/strings:say (arg2 == 1)" -d 0.1
	fs_error 2 "arguments are no longer known" trace "r:$FIXTURES/strings:say \"%d\", arg2" -d 0.1
	fs_error 2 "." trace "$FIXTURES/strings:say \"%d\"" -d 0.1
	fs_error 2 "." trace "$FIXTURES/strings:say \"x\", arg1" -d 0.1
	fs_error 2 "." trace "$FIXTURES/strings:say \"%d\", arg7" -d 0.1
	fs_error 2 "." trace "$FIXTURES/strings:say \"%n\", arg1" -d 0.1
	fs_error 2 "." trace "$FIXTURES/strings:say \"unterminated" -d 0.1
	fs_error 2 "return" trace "u:$FIXTURES/usdt:plain \"%d\", retval" -d 0.1
	fs_error 2 "STRCMP" trace "$FIXTURES/strings:say (STRCMP(arg1, \"x\"))" -d 0.1
	fs_error 2 "no probe" trace -d 0.1
}

@test "unknown names answer with the nearest" {
	need_tracepoints
	fs_error '[12]' "count" trace 't:syscalls:sys_enter_read "%d", args->cuont' -d 0.1
	fs_error '[12]' "colour" trace "$FIXTURES/enums:paint \"%d\", color" -d 0.1
	fs_error 2 "has no field 'foo'; it has dfd, filename, flags, mode" trace 't:syscalls:sys_enter_openat "%s", args->foo' -- true
	fs_error 1 "did you mean .*say" trace "$FIXTURES/strings:sai \"%d\", arg2" -d 0.1
}

@test "an own format gets nothing behind it; --ret and --tree ask for more" {
	fs_ok trace "$FIXTURES/strings:say \"%d %d\", arg2, \$duration < 0" -- "$FIXTURES/strings" 1
	assert_match "with the duration" "$(sed -n 2p out)" ' say +0 0$'
	fs_ok trace "$FIXTURES/strings:say \"%d\", retval" -- "$FIXTURES/strings" 1
	assert_match "with the result" "$(sed -n 2p out)" ' say +-?[0-9]+$'
	fs_ok trace --ret "$FIXTURES/strings:say \"%d\", arg2" -- "$FIXTURES/strings" 1
	assert_match "--ret" "$(sed -n 2p out)" ' say +0 = .*\[.*s\]$'
}

@test "the signed arguments of system calls are signed: AT_FDCWD is -100" {
	need_tracepoints
	fs_trace 't:syscalls:sys_enter_openat' -- cat /dev/null
	assert_match named "$(rows type=call)" '"name":"dfd","value":-100\}'
	fs_ok trace 't:syscalls:sys_enter_openat (args->dfd < 0) "%d|%d", args->dfd, args->flags' -- cat /dev/null
	assert_match formatted "$(sed -n 2p out)" ' -100\|[0-9]+$'
}

@test "-o: what was lost is said on stderr, too" {
	fs_ok trace -f json -o data "$FIXTURES/strings:say (*(int *)1 == 1)" -- "$FIXTURES/strings" 3
	assert_match "the file" "$(<data)" '"unreadable":3'
	assert_match "stderr" "$(<err)" '3 of 3 hits are not in the output: unreadable 3'
	fs_ok trace -o data -M 1 "$FIXTURES/strings:say" -- "$FIXTURES/strings" 3
	refute_match "asked for" "$(<err)" 'not in the output'
}

@test "-M: what becomes of the command; --exit-code waits for it" {
	fs_ok trace -M 1 "$FIXTURES/calls:work" -- sh -c "'$FIXTURES/calls' 2; exec sleep 1000"
	assert_match note "$(<err)" "'sh' \(process [0-9]+\) continues without probes$"
	[[ $(<err) =~ process\ ([0-9]+) ]] && kill "${BASH_REMATCH[1]}"
	mkfifo go
	exec 8<>go
	"$FUNCSCOPE" trace -M 1 --exit-code "$FIXTURES/calls:work" -- sh -c "'$FIXTURES/calls' 2; read -r _ <go; exit 9" >out 2>err 3>&- 8>&- &
	PIDS+=($!)
	until grep -q "waited for" err; do kill -0 $! || fail "it did not wait: $(<err)"; done
	printf 'go\n' >&8
	status=0
	wait $! || status=$?
	assert_eq status 9 "$status"
	assert_match note "$(<err)" "its exit status is waited for.*exited with status 9"
}

# bats test_tags=deep
@test "Go: arguments are read from Go's registers, by the version in the file, or not at all" {
	need_command go
	build_go() { (cd "$TMP" && GOCACHE="$BATS_FILE_TMPDIR/go" GOFLAGS=-trimpath go build "$@" "$E2E_TOP/tests/fixtures/gowork.go"); }
	build_go -o gowork
	build_go -ldflags=-w -o nodwarf
	fs_trace "$PWD/gowork:main.work" -- ./gowork
	assert_eq n "-1 0 1" "$(rows type=call | grep -o '"name":"n","value":-\?[0-9]*' | cut -d: -f3 | xargs)"
	assert_eq ok "true false true" "$(rows type=call | grep -o '"name":"ok","value":"[a-z]*' | cut -d'"' -f8 | xargs)"
	assert_match "behind a pointer" "$(rows type=call)" '"value":1\}.*"value":2\}'
	refute_match "results are no arguments" "$(<out)" 'r0'
	fs_trace "$PWD/nodwarf:main.work \"%d %.4s %d\", arg1, arg2, arg3" -- ./nodwarf
	expect "-1 text 4" "0 text 4" "1 text 4"
	# a version that cannot be read
	objcopy --remove-section .go.buildinfo nodwarf unknown
	fs_error '[12]' 'by which version of Go' trace "$PWD/unknown:main.work \"%d\", arg1" -d 0.1
	fs_trace "$PWD/unknown:main.work" -- ./unknown
	assert_eq "not shown" 3 "$(rows type=call | grep -c '"args":\[\]')"
	# of Go 1.16: on the stack
	sed 's/go1\.[0-9]*\.\?/go1.16./' nodwarf >old || true
	if grep -q 'go1\.16\.' old && cmp -s <(wc -c <nodwarf) <(wc -c <old); then
		fs_error '[12]' 'on the stack' trace "$PWD/old:main.work \"%d\", arg1" -d 0.1
	fi
}
