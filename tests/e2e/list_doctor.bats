# list, doctor, help, version, completion.
load common

setup() { e2e_setup; }
teardown() { e2e_teardown; }

@test "list: kind, binary, function, offset" {
	fs_ok list -f json "$FIXTURES/nopie:*work"
	assert_eq functions 'local_work work ' "$(values function | sort | tr '\n' ' ')"
	assert_eq "of one kind and file" 2 "$(rows type=probe kind=uprobe "binary=$FIXTURES/nopie" | grep -c '"offset":[1-9]')"
	fs_ok list "$FIXTURES/nopie:work"
	assert_match header "$(head -n 1 out)" KIND
	assert_match row "$(sed -n 2p out)" "^uprobe +0x[0-9a-f]+ +$FIXTURES/nopie:work$"
}

@test "list: the offset is the one in the file" {
	need_command objdump
	fs_ok list -f json "$FIXTURES/pie:work"
	offset=$(values offset)
	code=$(dd if="$FIXTURES/pie" bs=1 skip="$offset" count=4 status=none | od -An -tx1 | tr -d ' \n')
	want=$(objdump -d "$FIXTURES/pie" --disassemble=work | awk '/<work>:/ { getline; for (i = 2; $i ~ /^[0-9a-f]+$/; i++) printf "%s", $i }')
	assert_eq "code there" "${want:0:2}" "${code:0:2}"
}

@test "list: demangled names beside the symbol" {
	fs_ok list -f json "$FIXTURES/cxx:shop::open_door"
	assert_eq function 'shop::open_door()' "$(values function)"
	assert_eq symbol _ZN4shop9open_doorEv "$(values symbol)"
	fs_ok list "$FIXTURES/rust:mycrate::beta"
	assert_match row "$(sed -n 2p out)" '_ZN7mycrate4beta17h8e5d0f1c2b3a4697E +mycrate::beta'
}

@test "list: -x, -r, several probes, -p" {
	fs_ok list -f json -x 'fix_v*' -x '*pick*' "$FIXTURES/libfix.so.1:fix_*"
	assert_eq left 'fix_alias fix_implementation fix_imports fix_plain ' "$(values function | sort | tr '\n' ' ')"
	fs_ok list -f json -r "$FIXTURES/calls:^.*work\$" "$FIXTURES/recurse:^(even|odd)\$"
	assert_eq lines 4 "$(wc -l <out)"
	start_runner
	fs_ok list -f json -p "$RUNNER" :work
	assert_eq binary "$FIXTURES/runner" "$(values binary)"
}

@test "list: tracepoints and USDT" {
	fs_ok list -f json "u:$FIXTURES/usdt:*"
	assert_eq "probes" 'fix:guarded fix:plain fix:twin fix:twin ' "$(values function | sort | tr '\n' ' ')"
	need_tracepoints
	fs_ok list -f json 't:syscalls:sys_enter_getp*'
	assert_match getppid "$(<out)" '"function":"(syscalls:)?sys_enter_getppid"'
}

@test "list: kernel functions" {
	[[ -r /proc/kallsyms ]] && grep -q ' vfs_read$' /proc/kallsyms || skip "no kallsyms here"
	fs_ok list -f json vfs_read
	assert_eq kernel kernel "$(values binary)"
	fs_ok list -f json 'vfs_*'
	(($(wc -l <out) > 20)) || fail "only $(wc -l <out) lines"
}

@test "list: imports and data are no functions" {
	fs_ok list -f json "$FIXTURES/usdt:*"
	assert_eq "data" 0 "$(values function | grep -c semaphore || true)"
	assert_eq "imports" 0 "$(values function | grep -c '^printf\|^puts' || true)"
}

@test "list: nothing is attached, no privilege is needed for a file of one's own" {
	as_nobody list -f json c:getppid
	assert_eq status 0 "$status"
	assert_eq function getppid "$(values function)"
}

@test "list: 5-byte nops are marked" {
	need_fixture nop5forks
	fs_ok list -f json "$FIXTURES/nop5forks:work" "$FIXTURES/calls:work"
	assert_eq nop5 true "$(values nop5 "binary=$FIXTURES/nop5forks")"
	assert_eq nop5 false "$(values nop5 "binary=$FIXTURES/calls")"
}

@test "list -v: parameters, fields and arguments, where the probe would sit, what a hit would cost" {
	fs_ok list -v "$FIXTURES/strings:say" "u:$FIXTURES/usdtargs:*" "$FIXTURES/stripped:work"
	text=$(<out)
	assert_match "a function" "$text" $':say\n +const char \\* s\n +int i\n +returns int\n +probe at 0x[0-9a-f]+; its instruction is [a-z-]+\n +a hit costs [0-9.]+ [mun]s\n'
	assert_match "USDT" "$text" $'usdt.*\n +int32_t arg1\n +uint64_t arg2\n'
	assert_match "without types" "$text" $':work\n +no types: neither'
	fs_ok list -v -f json "$FIXTURES/strings:say"
	assert_match "JSON" "$(<out)" '"args":\[\{"name":"s","type":"const char \*"\},\{"name":"i","type":"int"\}\],"returns":"int","probe_offset":[0-9]+,"stepped":(true|false),"hit_ns":[0-9.]+'
	fs_ok list "$FIXTURES/strings:say"
	refute_match "without -v" "$(<out)" 'const char'
	need_tracepoints
	fs_ok list -v t:syscalls:sys_enter_openat
	assert_match "fields" "$(<out)" $'openat\n +int dfd\n +const char \\* filename\n'
}

@test "list -v: without privileges only the cost is missing" {
	need_command setpriv
	cp "$FUNCSCOPE" /tmp/funcscope-list.$$
	chmod 755 /tmp/funcscope-list.$$
	setpriv --reuid=65533 --regid=65533 --clear-groups --inh-caps=-all /tmp/funcscope-list.$$ list -v "$FIXTURES/strings:say" >out 2>err 3>&- || fail "$(<err)"
	rm -f /tmp/funcscope-list.$$
	assert_match "the parameters" "$(<out)" 'const char \* s'
	refute_match "the cost" "$(<out)" 'a hit costs'
}

@test "doctor: every no has an advice, every rung is named" {
	fs_ok doctor -f json
	(($(rows | wc -l) > 10)) || fail "only $(rows | wc -l) lines"
	assert_eq "no without advice" '' "$(rows type=check ok=false | grep -v '"advice":"[^"]' || true)"
	assert_eq rungs 'kernel functions tracepoints user functions ' "$(values for | sort | tr '\n' ' ')"
	for name in CAP_BPF CAP_PERFMON BTF bpf uprobe uprobe.multi kprobe.multi fentry kprobe tracepoint 'fast uprobe' 'perf events' 'no lockdown'; do
		[[ -n $(values ok "name=$name") ]] || fail "doctor does not speak of $name"
	done
}

@test "doctor: text" {
	fs_ok doctor
	assert_eq kernel "Linux $(uname -r) on $(uname -m)" "$(head -n 1 out)"
	assert_match rungs "$(<out)" 'user functions +uprobe'
	no_control_bytes out
}

@test "doctor: it leaves nothing behind" {
	start_runner
	original=$(memory_at "$RUNNER" "$ADDRESS")
	fs_ok doctor
	assert_eq "code of another process" "$original" "$(memory_at "$RUNNER" "$ADDRESS")"
	assert_eq "children left" '' "$(pgrep -P $$ funcscope || true)"
}

@test "doctor: whether the kernel is new enough for anything" {
	fs_ok doctor -f json
	assert_eq "new enough" true "$(values ok "name=Linux 5.15")"
	# Who may not try does not know, and does not blame the kernel.
	as_nobody doctor -f json
	assert_eq "as nobody" true "$(values ok "name=Linux 5.15")"
	refute_match error "$(<err)" 'too old'
}

@test "doctor: without privilege it says which capability is missing" {
	as_nobody doctor -f json
	assert_eq "nothing can be probed" 1 "$status"
	assert_eq "lines on stderr" 1 "$(wc -l <err)"
	assert_eq CAP_BPF false "$(values ok name=CAP_BPF)"
	assert_eq CAP_PERFMON false "$(values ok name=CAP_PERFMON)"
	assert_match advice "$(values advice name=CAP_BPF)" 'root|setcap'
	as_nobody doctor
	assert_match text "$(<out)" 'no +CAP_BPF'
}

@test "doctor: what only lacks privilege is not blamed on the kernel" {
	as_nobody doctor -f json
	blamed=$(rows ok=false | grep 'not permitted\|Permission denied' | grep '"advice":".*\(CONFIG_\|Linux [0-9]\)' || true)
	assert_eq "blamed" '' "$blamed"
}

@test "doctor: wrong words" {
	fs_error 2 "operand|nosuch" doctor nosuch
	fs_error 2 "csv" doctor -f csv
}

@test "help, --help, --version" {
	fs_ok --help
	for command in count list doctor help completion; do
		assert_match "$command" "$(<out)" "$command"
	done
	fs_ok --version
	assert_match version "$(<out)" '^funcscope [0-9]+\.[0-9]+\.[0-9]+$'
	for command in count list doctor; do
		fs_ok "$command" --help
		assert_match usage "$(<out)" "usage: funcscope $command"
		fs_ok help "$command"
		assert_match page "$(<out)" "funcscope.$command"
		no_control_bytes out
	done
	fs_error 2 "nosuch" help nosuch
	fs_ok help
}

@test "--help shows no hidden option, the manual page has every other one" {
	fs_ok count --help
	refute_match hidden "$(<out)" ready-fd
	options=$(grep -o -e '--[a-z-]*' out | sort -u)
	fs_ok help count
	for option in $options; do
		[[ $option == -- || $option == --help ]] || grep -q -e "$option" out || fail "$option is not in the manual page"
	done
}

@test "completion: bash and zsh scripts that parse and know the commands" {
	fs_ok completion bash
	bash -n out
	assert_match count "$(<out)" count
	fs_ok completion zsh
	[[ -s out ]]
	! command -v zsh >/dev/null || zsh -n out
	fs_error 2 "bash or zsh" completion fish
}

@test "with CAP_BPF and CAP_PERFMON alone: functions of a command are counted, its children are not followed, and that is said" {
	not_in_guest
	install -m 755 "$FIXTURES/calls" "/tmp/calls.$$"
	# a shell may have children, calls may not
	as_capable +bpf,+perfmon count "/tmp/calls.$$:work" -- sh -c "exec /tmp/calls.$$ 7"
	assert_eq "exit status: $(<err)" 0 "$status"
	assert_match counted "$(<out)" 'work +7'
	assert_match said "$(<err)" 'children are not followed: .*CAP_SYS_ADMIN and CAP_DAC_READ_SEARCH'
	as_capable +bpf,+perfmon count "/tmp/calls.$$:work" -- "/tmp/calls.$$" 7
	assert_eq "exit status: $(<err)" 0 "$status"
	refute_match "nothing to say" "$(<err)" 'not followed'
	as_capable +bpf,+perfmon count --follow "/tmp/calls.$$:work" -- "/tmp/calls.$$" 7
	rm -f "/tmp/calls.$$"
	assert_eq "asked for, it is an error" 1 "$status"
	as_capable +bpf,+perfmon doctor
	assert_match doctor "$(<out)" 'no +CAP_SYS_ADMIN +tracepoints and following children'
	refute_match doctor "$(<out)" 'not needed: funcscope makes a private mount'
}
