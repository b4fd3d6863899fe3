# What is watched computes what it computes unwatched: instructions that uprobes execute wrongly get no probe. Libraries are private
# copies: a wrong probe on the machine's own would hurt every process.
load common

setup() { e2e_setup; }
teardown() { e2e_teardown; }

# private_copies [PROGRAM]: libm, libc and the loader into $TMP/private; $RUN begins a command with them.
private_copies() {
	local paths path
	need_fixture harmed
	mapfile -t paths < <("$FIXTURES/harmed" --paths)
	mkdir -p "$TMP/private"
	for path in "${paths[@]}"; do
		cp "$(realpath "$path")" "$TMP/private/$(basename "$path")"
	done
	LIBM=$TMP/private/$(basename "${paths[0]}")
	LIBC=$TMP/private/$(basename "${paths[1]}")
	RUN=("$TMP/private/$(basename "${paths[2]}")" --library-path "$TMP/private" "$FIXTURES/${1:-harmed}")
}

# The short set has each class of encodings; with HARM=full all of them are tried. Where probes go on
# one by one, every fifth must do.
# bats test_tags=guest,deep,harm
@test "of all encodings that funcscope attaches to, none is changed" {
	local set=short
	need_fixture harm/sweep
	need_check uprobe
	[[ ${HARM:-} != full ]] || set=encodings
	[[ $(doctor_says uprobe.multi) == true ]] || export HARM_PATTERN='i????[05]_*'
	FUNCSCOPE=$FUNCSCOPE FIXTURES=$FIXTURES "$FIXTURES/harm/sweep" "$set" >sweep || fail "$(head -40 sweep)"
	assert_match attached "$(grep '^all' sweep)" '^all +[0-9]+ +[0-9]{4,} .* [1-9][0-9]{2,} +0$'
}

# bats test_tags=guest,long,harm
@test "of the instructions of real libraries that funcscope attaches to, none is changed" {
	need_fixture harm/sweep
	need_check uprobe
	FUNCSCOPE=$FUNCSCOPE FIXTURES=$FIXTURES "$FIXTURES/harm/sweep" libraries >sweep || fail "$(head -40 sweep)"
	assert_match attached "$(grep '^all' sweep)" ' [1-9][0-9]{2,} +0$'
}

# bats test_tags=guest,harm
@test "doctor tries the instructions" {
	need_fixture harm/sweep
	need_check uprobe
	fs_ok doctor
	assert_match row "$(grep ' instructions ' out)" 'yes .* ([0-9]+) of ([0-9]+) that funcscope probes work'
}

@test "libm's functions under a pattern compute as before, those left out have a reason" {
	private_copies
	fs list "$LIBM:__*_fma"
	((status == 0)) || skip "no names of libm's implementations (package libc6-dbg)"
	"${RUN[@]}" plain
	fs_json "$LIBM:__*_fma" -- "${RUN[@]}" probed
	cmp plain probed
	assert_match refused "$(tail -1 out)" '"why":"uprobes would execute its first instruction wrongly \(vmov[dq], VEX opcode 7e\)"'
}

@test "every function of libc, and the output is the same" {
	private_copies
	"${RUN[@]}" plain
	fs_json "$LIBC:*" -x '_start' -- "${RUN[@]}" probed
	cmp plain probed
	fs_ok time "$LIBC:*" -- "${RUN[@]}" probed
	cmp plain probed
}

@test "a function that begins with vfnmadd132sd is refused by name" {
	need_fixture harm/sweep
	private_copies
	"${RUN[@]}" plain
	fs_error 1 'victim_fnmadd.*wrongly \(vfnmadd132sd, VEX opcode 9d\)' count "$FIXTURES/harmed:victim_fnmadd" -- "${RUN[@]}" probed
	fs_json "$FIXTURES/harmed:victim_*" "$FIXTURES/harmed:main" -- "${RUN[@]}" probed
	cmp plain probed
	assert_match refused "$(tail -1 out)" 'victim_vmovd.*vmovd, VEX opcode 7e'
}

@test "list names what gets no probe, and why" {
	need_fixture harm/sweep
	fs_ok list "$FIXTURES/harmed:victim_*" "$FIXTURES/harmed:main"
	assert_match text "$(<out)" $'\n''refused +- +victim_vmovd: uprobes would execute its first instruction wrongly \(vmovd'
	fs_ok list -f json "$FIXTURES/harmed:victim_*" "$FIXTURES/harmed:main"
	assert_eq refused 2 "$(rows type=refused | wc -l)"
}

@test "a symbol that is no start of an instruction gets no probe" {
	need_fixture places
	fs_error 1 'hidden.*it begins inside an instruction of around' count "$FIXTURES/places:hidden" -- "$FIXTURES/places"
	fs_error 1 'table.*it is data: its section is not executable' count "$FIXTURES/places:table" -- "$FIXTURES/places"
	fs count -o books "$FIXTURES/places:*" -x around -- "$FIXTURES/places"
	assert_eq "what the program computes: $(<err)" "c0319090 55555555" "$(<out)"
	assert_match calls "$(<books)" 'aligned +5'
}

# The bystander maps the library beside probes that are in every process.
@test "an instruction that the loader changes (text relocations) is refused by name" {
	need_fixture textrel
	"$FIXTURES/textrel" >plain
	assert_eq truth "42 42 1" "$(head -1 plain)"
	fs_error 1 'text_value.*the loader changes its first instruction, by a text relocation' \
		count "$FIXTURES/libtextrel.so:text_value" -- "$FIXTURES/textrel"
	fs time -o books "$FIXTURES/libtextrel.so:text_*" -- "$FIXTURES/textrel"
	cmp plain out || fail "$(<out) $(<err)"
	assert_match books "$(<books)" 'refused, the loader changes its first instruction, by a text relocation \(mov\): text_value'
	arm --comm nobody "$FIXTURES/libtextrel.so:text_*"
	"$FIXTURES/textrel" >beside
	finish
	cmp plain beside
}

# Ten calls of the replacement (0 to 90) and of the function beside (3 to 12).
still_hooked() {
	ask go
	assert_eq "$1: what the hooked process computes" "sum 525" "$WORD $ANSWER"
}

@test "a function that the target has patched in its memory is refused, and goes on as before" {
	need_fixture patched
	start_runner "$FIXTURES/patched"
	still_hooked before
	fs_error 1 "hooked cannot be probed: process $RUNNER has changed its code in memory" \
		count -p "$RUNNER" "$FIXTURES/patched:hooked" -d 0.1
	still_hooked after
	for command in count time; do
		arm_as "$command" -f json -p "$RUNNER" "$FIXTURES/patched:hooked" "$FIXTURES/patched:beside"
		still_hooked "$command"
		finish
		assert_eq "$command: calls" 10 "$(calls function=beside)"
		assert_match "$command" "$(last_line)" '"function":"hooked","why":"process '"$RUNNER"' has changed its code'
	done
}

@test "a function that a bystander has patched in its memory gets no probe in all processes" {
	need_fixture patched
	start_runner "$FIXTURES/patched"
	fs_error 1 "hooked cannot be probed: process $RUNNER has changed its code in memory" \
		count --comm nobody "$FIXTURES/patched:hooked" -d 0.1
	fs_error 1 'cannot attach uprobe:.*hooked: a process has changed its code in memory' \
		run -e "uprobe:$FIXTURES/patched:hooked { exit(); }"
	still_hooked alone
	arm -f json --comm nobody "$FIXTURES/patched:hooked" "$FIXTURES/patched:beside"
	still_hooked beside
	finish
	assert_match refused "$(last_line)" '"function":"hooked","why":"process '"$RUNNER"' has changed its code'
	echo '{"custom_sym": {"hooked": {"symbol": "hooked", "library": "'"$FIXTURES/patched"'"},
		"beside": {"symbol": "beside", "library": "'"$FIXTURES/patched"'"}}, "report": {"every": "0"}}' >snoop.json
	arm_as snoop -c "$TMP/snoop.json" -f json --no-socket
	still_hooked snoop
	finish
	assert_eq "snoop: calls" 10 "$(calls type=latency function=beside)"
	assert_match snoop "$(last_line)" '"function":"hooked","why":"process '"$RUNNER"' has changed its code'
}

# The kernel keeps the instructions of the first build for its places: of the second one another function begins there.
@test "a probed file that is rewritten: the run ends, and programs started later compute as they should" {
	local command
	"$FIXTURES/rewritten-second" >truth
	for command in count time stack trace; do
		cp "$FIXTURES/rewritten" p
		arm_as "$command" -d 20 -f json "$TMP/p:work"
		./p >/dev/null
		cp "$FIXTURES/rewritten-second" p
		status=0
		wait "$FS" || status=$?
		assert_eq "$command: exit status" 1 "$status"
		assert_match "$command" "$(<err)" "^funcscope: $TMP/p was written to after [0-9.]+ s, which ended the run"
		assert_eq "$command: the report" 10 "$(summary seen)"
		./p >got
		cmp truth got || fail "$command: $(<got)"
	done
}

@test "a script ends when a file that it probes is rewritten" {
	cp "$FIXTURES/rewritten" p
	arm_as run -q -e "uprobe:$TMP/p:work { @ = count(); }"
	cp "$FIXTURES/rewritten-second" p
	status=0
	wait "$FS" || status=$?
	assert_eq "exit status" 1 "$status"
	assert_match why "$(<err)" "$TMP/p was written to after [0-9.]+ s, which ended the run"
}

@test "touching a probed file and replacing it by another one end nothing" {
	cp "$FIXTURES/rewritten" p
	arm -f json "$TMP/p:work"
	touch p
	./p >/dev/null
	cp "$FIXTURES/rewritten-second" other
	mv other p
	./p >got
	finish
	cmp got <("$FIXTURES/rewritten-second")
	assert_eq seen 10 "$(summary seen)"
}

@test "functions of the C library that look who called them still find out" {
	private_copies nextsym
	fs time -o books "$LIBC:dl*sym" "$LIBC:dl*open" -- "${RUN[@]}"
	assert_match "$(<err)" "$(<out)$(<err)" "exited with status 7"
	assert_match found "$(<out)" '^found'
	assert_match calls "$(<books)" 'dlsym .* 1 '
}
